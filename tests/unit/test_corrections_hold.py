"""What must hold after any chain of corrections of any round."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ledger.errors import Refusal
from ledger.events import RoundResettled
from ledger.round.settling import totals
from ledger.round.standing import difference, effect, stake_back
from tests.unit.test_corrections import Table, moved, summed

GAMES = ("roulette", "cussec", "fantan")
OUTCOMES = {
    "roulette": st.integers(0, 36).map(str),
    "cussec": st.tuples(*[st.integers(1, 6)] * 3).map(lambda dice: "-".join(map(str, dice))),
    "fantan": st.integers(40, 120).map(str),
}
PLAYERS = st.sampled_from(["P-1", "P-2", "P-3"])
STAKES = st.integers(1, 10**7)


@st.composite
def settled(draw: st.DrawFn) -> Table:
    """A settled round with a few bets; its events are kept."""
    game = draw(st.sampled_from(GAMES))
    table = Table(game, unit=draw(st.sampled_from([1, 50, 1000])))
    spots = st.sampled_from([spot.text for spot in table.rules.spots()])
    for spot, stake, player in draw(st.lists(st.tuples(spots, STAKES, PLAYERS), max_size=6)):
        table.bet(spot, stake, player)
    table.settle(draw(OUTCOMES[game]))
    return table


def _wish(kind: str, bet: UUID, wrong: dict[str, str] | None = None) -> dict[str, Any]:
    return {"kind": kind, "bet": bet, **(wrong or {})}


@given(st.data())
@settings(max_examples=90, suppress_health_check=[HealthCheck.too_slow])
def test_all_that_moved_is_what_the_standings_now_say(data: st.DataObject) -> None:
    """Whatever is corrected, in any order and again: the differences sum to the effect of the final standings, the totals are
    those of the standings, and no more of the stakes goes back than was taken, at any step."""
    table = data.draw(settled())
    rules = table.rules
    posted = [table.balances()]
    bets = list(table.round.bets)
    spots = st.sampled_from([spot.text for spot in rules.spots()])
    asked: list[st.SearchStrategy[dict[str, Any]]] = [
        st.fixed_dictionaries({"kind": st.just("outcome"), "outcome": OUTCOMES[rules.game]}),
        st.just({"kind": "return"}),
    ]
    if bets:
        bet = st.sampled_from(bets)
        wrong = {"player": PLAYERS, "spot": spots, "stake": STAKES.map(str)}
        asked += [
            st.builds(_wish, st.just("bet"), bet, st.fixed_dictionaries({}, optional=wrong)),
            st.builds(_wish, st.sampled_from(["bet_void", "late_bet"]), bet),
        ]
    waiting = []
    for wish in data.draw(st.lists(st.one_of(asked), max_size=8)):
        try:
            waiting.append(table.propose(**wish))
        except Refusal:
            continue
        if data.draw(st.booleans()):
            continue  # it waits, and is judged on what the round is by then
        for correction in [waiting.pop(), *waiting]:
            try:
                events = table.approve(correction)
            except Refusal:
                continue
            posted.append(moved(events))
            standings = [each.standing for each in table.round.bets.values()]
            assert summed(posted) == summed(effect(each) for each in standings)
            assert sum(stake_back(each) for each in standings) == table.round.returned <= table.round.taken
            assert table.round.taken == sum(int(each.stake) for each in standings)
            for event in events:
                if isinstance(event, RoundResettled):
                    said = totals(standings)
                    assert said == {figure: getattr(event, figure) for figure in said}


@given(settled())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_to_another_outcome_and_back_is_where_it_was(table: Table) -> None:
    """The re-settlement of the outcome on record is the settlement, in every field of every bet."""
    first = {id: bet.standing for id, bet in table.round.bets.items()}
    told = table.round.totals
    assert told is not None
    assert totals(first.values()) == {figure: getattr(told, figure) for figure in totals(())}
    was, other = table.round.raw or "", {"roulette": "0", "cussec": "1-1-1", "fantan": "60"}[table.rules.game]
    assume(table.rules.outcome(other).text != table.round.outcome)
    there = table.correct("outcome", outcome=other)
    back = table.correct("outcome", outcome=was)
    assert {id: bet.standing for id, bet in table.round.bets.items()} == first
    assert moved([*there, *back]) == {}
    for each in first.values():
        assert difference(each, each) == {}
