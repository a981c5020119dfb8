"""Corrections of craps: the round is thrown again, with each bet placed, changed and taken back when it was (53/2010)."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.errors import Refusal
from ledger.events import BetCorrected, Event, OutcomeCorrected, RoundVoided
from ledger.round import Status, Successor
from ledger.round.replay import thrown_again
from ledger.round.standing import effect, stake_back
from ledger.rules import regulation
from tests.proofs.life_model import Coup
from tests.unit.test_corrections import Table, moved, origin, refused, summed


def table() -> Table:
    return Table("craps", unverified=True)


def corrected(events: list[Event]) -> dict[UUID, tuple[str, str]]:
    return {event.bet: (event.before.result, event.after.result) for event in events if isinstance(event, BetCorrected)}


def reopened(at: Table) -> None:
    at.round.reopen_betting(origin())


def test_53_2010_art_5_2_a_miskeyed_throw_changes_the_point_and_with_it_the_line() -> None:
    at = table()
    line = at.bet("pass")
    at.throw("2-4", "void", "1-1", "3-4")
    events = at.correct("outcome", outcome="2-4,void,1-5")
    [_, outcome, *_] = events
    assert isinstance(outcome, OutcomeCorrected)
    assert (outcome.was, outcome.outcome) == ("2-4,void,1-1,3-4", "2-4,void,1-5")
    assert corrected(events) == {line: ("lost", "won")}
    assert moved(events) == {"player/P-1": 200_00, "win": -200_00}
    assert (at.round.throws, at.round.valid_throws) == (("2-4", "void", "1-5"), 2)


def test_void_throws_do_not_count_for_when_a_bet_was_placed() -> None:
    at = table()
    at.bet("pass")
    at.throw("2-4", "void")
    reopened(at)
    odds = at.bet("pass_odds", 50_00)
    at.throw("3-3")
    assert corrected(at.correct("outcome", outcome="void,2-4,3-4"))[odds] == ("won", "lost")


@pytest.mark.parametrize(
    ("throws", "reason"),
    [
        ("2-4,1-1", "the line is not decided"),
        ("2-4,3-4,5-5", "throw 2 decides the line"),
        ("2-4,3-4,void", "throw 2 decides the line"),
        ("2-4,7", "told by its sum"),
    ],
)
def test_throws_that_are_not_one_whole_round_are_refused(throws: str, reason: str) -> None:
    at = table()
    at.bet("pass")
    at.throw("2-4", "1-1", "3-4")
    with pytest.raises(Refusal, match=reason) as caught:
        at.propose("outcome", outcome=throws)
    assert (caught.value.code, caught.value.value) == ("LGR-0244", throws)


def test_a_bet_that_could_not_have_been_placed_under_the_throws_is_named() -> None:
    at = table()
    at.bet("pass")
    at.throw("2-4")
    reopened(at)
    odds = at.bet("pass_odds")
    at.throw("2-4")
    with pytest.raises(Refusal, match=str(odds)) as caught:
        at.propose("outcome", outcome="3-4")
    assert caught.value.code == "LGR-0244"
    with refused("LGR-0244"):
        at.propose("outcome", outcome="1-1")
    at.correct("bet_void", bet=odds)
    at.correct("outcome", outcome="3-4")
    assert at.balances() == {"player/P-1": 100_00, "win": -100_00}


@pytest.mark.parametrize("spot", ["field", "place:8", "come", "pass_odds"])
@pytest.mark.parametrize("throws", ["3-4", "1-1"])
def test_nothing_is_placed_once_the_line_is_decided(spot: str, throws: str) -> None:
    """A bet that came after the last of the right throws was none of the round, and so is no bet that they leave undecided."""
    at, model = table(), Coup("craps")
    model.place(at.bet("pass"), "P-1", "pass", 100_00)
    at.throw("2-4")
    model.close()
    model.throw("2-4", None)
    reopened(at)
    model.reopen()
    late = at.bet(spot)
    model.place(late, "P-1", spot, 100_00)
    at.throw("3-4")
    model.close()
    model.throw("3-4", None)
    with pytest.raises(Refusal, match=f"bet {late} on {spot} could not have been placed: the line is decided") as caught:
        at.propose("outcome", outcome=throws)
    assert caught.value.code == "LGR-0244"
    assert "LGR-0244" in model.propose(uuid4(), "outcome", {"outcome": throws}, "S-1"), "the proof of the life says the same"


def test_a_come_bet_is_followed_to_the_number_that_the_right_throw_gives_it() -> None:
    at = table()
    at.bet("pass")
    at.throw("2-4")
    reopened(at)
    come = at.bet("come")
    at.throw("4-5", "3-5", "3-4")
    assert at.round.bets[come].standing.spot == "come:9"
    at.correct("outcome", outcome="2-4,3-5,3-5,3-4")
    assert (at.round.bets[come].standing.spot, at.round.bets[come].result) == ("come:8", "won")
    assert at.round.bets[come].placed_on == "come"
    at.correct("outcome", outcome="2-4,4-5,3-5,3-4")
    assert (at.round.bets[come].standing.spot, at.round.bets[come].result) == ("come:9", "lost")


def test_a_change_after_the_bet_would_have_been_decided_changes_nothing() -> None:
    """120.00 on place 8, raised to 300.00 after a nine that was in truth an eight: 120.00 had won, no more was at risk."""
    at = table()
    at.bet("pass", player="P-2")
    at.throw("2-4")
    reopened(at)
    place = at.bet("place:8", 120_00)
    at.throw("4-5")
    reopened(at)
    at.round.change_bet(at.rules, place, origin(), stake="30000")
    at.throw("3-4")
    at.correct("outcome", outcome="2-4,3-5,3-4")
    standing = at.round.bets[place].standing
    assert (standing.result, standing.stake, standing.net_prize) == ("won", "12000", "14000")
    at.correct("outcome", outcome="2-4,4-5,3-4")
    assert at.round.bets[place].standing.stake == "30000"


def test_what_was_taken_back_stays_taken_back() -> None:
    at = table()
    at.bet("pass", player="P-2")
    at.throw("2-4")
    reopened(at)
    place = at.bet("place:8", 120_00)
    at.throw("4-5")
    reopened(at)
    at.round.withdraw_bet(at.rules, place, origin())
    at.throw("3-4")
    assert place not in corrected(at.correct("outcome", outcome="2-4,3-5,3-4"))
    with refused("LGR-0242"):
        at.propose("bet_void", bet=place)


def test_a_wrong_spot_is_followed_from_the_throw_after_which_it_was_placed() -> None:
    """Keyed as the field, laid on place 6: it stands through the nine that the field won by, and wins with the six."""
    at = table()
    at.bet("pass", player="P-2")
    at.throw("2-4")
    reopened(at)
    bet = at.bet("field", 60_00)
    at.throw("4-5")
    assert at.round.bets[bet].result == "won"
    [_, change] = at.correct("bet", bet=bet, spot="place:6")
    assert isinstance(change, BetCorrected)
    assert (change.before.result, change.after.result) == ("won", "open")
    assert moved([change]) == {"player/P-1": -120_00, "win": 60_00, "escrow": 60_00}
    at.throw("3-3")
    assert at.round.bets[bet].standing.net_prize == "7000"
    assert "escrow" not in at.balances()


def test_a_wrong_spot_has_to_be_open_when_the_bet_was_placed() -> None:
    at = table()
    bet = at.bet("pass")
    at.throw("3-4")
    with refused("LGR-0244"):
        at.propose("bet", bet=bet, spot="come")


def test_a_player_is_corrected_bet_by_bet_line_and_odds() -> None:
    at = table()
    line = at.bet("pass")
    at.throw("2-4")
    reopened(at)
    odds = at.bet("pass_odds")
    at.throw("2-4")
    with refused("LGR-0244"):
        at.propose("bet", bet=odds, player="P-2")
    at.correct("bet", bet=line, player="P-2")
    at.correct("bet", bet=odds, player="P-2")
    assert at.balances() == {"player/P-2": 220_00, "win": -220_00}


def test_bets_that_the_next_round_has_must_stand_where_it_has_them() -> None:
    at = table()
    at.bet("pass", player="P-2")
    at.throw("2-4")
    reopened(at)
    come = at.bet("come")
    at.throw("4-5")
    successor = Successor(uuid4(), date(2026, 11, 29))
    at.throw("2-4", successor=successor)
    assert at.round.gone[come].left == "carried"
    with pytest.raises(Refusal, match=str(successor.id)) as caught:
        at.propose("outcome", outcome="2-4,3-5,2-4")
    assert caught.value.code == "LGR-0244"
    at.correct("outcome", outcome="2-4,4-5,1-5")
    with pytest.raises(Refusal, match=str(successor.id)) as caught:
        at.propose("bet_void", bet=come)
    assert caught.value.code == "LGR-0241"


def test_a_return_between_two_throws_undoes_what_was_decided_and_gives_back_what_is_open() -> None:
    at = table()
    line, field = at.bet("pass"), at.bet("field", 5_00, player="P-2")
    at.throw("2-2")
    events = at.correct("return", reason="table_closed")
    assert corrected(events) == {field: ("won", "void")}
    assert isinstance(events[-1], RoundVoided)
    assert [line.bet for line in events[-1].returned] == [line]
    assert at.round.status is Status.RETURNED
    assert at.balances() == {}


def test_an_outcome_of_an_older_release_is_corrected_as_the_one_outcome_that_it_was() -> None:
    """Until throws were recorded one by one, a round of craps had all of them as one outcome."""
    from ledger.events import BetPlaced, BettingClosed, OutcomeRecorded, PayoutMade, RoundSettled

    at = Table("craps")
    line, odds = uuid4(), uuid4()
    by: dict[str, Any] = origin()._asdict()
    for id, spot in ((line, "pass"), (odds, "pass_odds")):
        at.round.apply(BetPlaced(**by, bet=id, player="P-1", spot=spot, stake="10000", currency="MOP"))
    at.round.apply(BettingClosed(**by))
    at.round.apply(OutcomeRecorded(**by, raw="6,8,6", outcome="6,8,6", shown="6, 8, 6", currency="MOP"))
    for id, spot, prize in ((line, "pass", "10000"), (odds, "pass_odds", "12000")):
        paid: dict[str, Any] = {"prize_exact": prize, "prize": prize, "net_prize": prize, "returned": str(int(prize) + 10000)}
        said: dict[str, Any] = {"odds": "1", "commission": "0", "breakage": "0", "edge": "0", "article": "-", "stake": "10000"}
        at.round.apply(PayoutMade(**by, bet=id, player="P-1", spot=spot, result="won", currency="MOP", **paid, **said))
    sums: dict[str, Any] = {"handle": "20000", "prizes": "22000", "commission": "0", "breakage": "0", "returned": "42000"}
    at.round.apply(RoundSettled(**by, currency="MOP", bets=2, **sums))
    assert moved(at.correct("outcome", outcome="6,8,7")) == {"player/P-1": -420_00, "win": 420_00}
    with refused("LGR-0408"):
        at.propose("outcome", outcome="7")


DICE = st.tuples(st.integers(1, 6), st.integers(1, 6)).map(lambda dice: f"{min(dice)}-{max(dice)}")
SPOTS = st.sampled_from([spot.text for spot in regulation("53/2010").with_unverified().spots()])
LINES = st.sampled_from(["pass", "dont_pass", "come", "dont_come", "pass_odds", "field", "place:6", "come_odds:6"])
PLAYERS = st.sampled_from(["P-1", "P-2"])


@st.composite
def thrown(draw: st.DrawFn) -> Table:
    """A settled round of craps with bets placed, changed and taken back between its throws."""
    at = table()
    successor = Successor(uuid4(), date(2026, 11, 29))
    for _ in range(8):
        for spot, player in draw(st.lists(st.tuples(st.one_of(SPOTS, LINES), PLAYERS), max_size=3)):
            _unless_refused(lambda spot=spot, player=player: at.bet(spot, 60_00, player))
        for bet in list(at.round.bets):
            what = draw(st.sampled_from(["stay", "stay", "stay", "raise", "move", "leave"]))
            if what == "raise":
                _unless_refused(lambda bet=bet: at.round.change_bet(at.rules, bet, origin(), stake="9000"))
            elif what == "move":
                spot = draw(LINES)
                _unless_refused(lambda bet=bet, spot=spot: at.round.change_bet(at.rules, bet, origin(), spot=spot))
            elif what == "leave":
                _unless_refused(lambda bet=bet: at.round.withdraw_bet(at.rules, bet, origin()))
        at.throw(draw(st.one_of(DICE, st.just("void"))), successor=successor)
        if at.round.status is Status.SETTLED:
            return at
        reopened(at)
    while at.round.status is not Status.SETTLED:
        at.throw("3-4", successor=successor)
        if at.round.can_reopen():
            reopened(at)
    return at


def _unless_refused(act: Any) -> None:
    try:
        act()
    except Refusal:
        return


@given(thrown())
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
def test_thrown_again_as_it_was_every_bet_is_what_it_was(at: Table) -> None:
    """The replay and the play are two programs; they agree in every field of every bet."""
    round_ = at.round
    bets = [*round_.bets.values(), *round_.gone.values()]
    throws = at.rules.outcome(round_.outcome or "").throws
    again = thrown_again(at.rules, throws, bets, 1, {bet.id for bet in bets})
    assert again == {bet.id: bet.standing for bet in bets if bet.left in (None, "carried")}


@given(thrown(), st.lists(st.lists(st.one_of(DICE, st.just("void")), max_size=6), max_size=5))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_other_throws_move_the_difference_and_no_more(at: Table, others: list[list[str]]) -> None:
    posted = [at.balances()]
    for throws in [*others, ["3-4"], ["1-1"], [*at.round.throws[:-1], "2-6"], list(at.round.throws)]:
        try:
            posted.append(moved(at.correct("outcome", outcome=",".join(throws) or "void")))
        except Refusal as refusal:
            assert refusal.code in ("LGR-0242", "LGR-0244", "LGR-0409"), refusal  # noqa: PT017
            continue
        standings = [bet.standing for bet in at.round.bets.values()]
        assert summed(posted) == summed(effect(each) for each in standings)
        assert at.round.returned <= at.round.taken
        back = sum(stake_back(each) for each in standings)
        left = sum(bet.stake for bet in at.round.gone.values() if bet.left in ("withdrawn", "void"))
        assert back + left <= at.round.returned


@pytest.mark.parametrize(
    "changed", [{"spot": "place:8"}, {"spot": "place:8", "player": "P-9"}, {"spot": "place:8", "stake": "20000"}]
)
def test_a_throw_that_decides_the_bet_as_corrected_overtakes_its_correction(changed: dict[str, str]) -> None:
    """What was proposed moved nothing but the bet; what would be approved pays a prize that nobody was shown."""
    at = table()
    at.bet("pass")
    at.throw("2-2")
    reopened(at)
    bet = at.bet("place:6", player="P-2")
    at.throw("1-2")
    waiting = at.propose("bet", bet=bet, **changed)
    later = at.propose("bet", bet=bet, **changed)
    at.throw("2-3", "void")  # neither 6 nor 8: nothing has changed
    assert at.round.can_approve(at.rules, waiting, origin("S-2"))
    at.throw("4-4")
    with refused("LGR-0250") as caught:
        at.approve(waiting)
    assert at.round.bets[bet].result == "open"
    at.round.decline_correction(later, origin("S-2"))
    at.approve(at.propose("bet", bet=bet, **changed))
    assert at.round.bets[bet].result == "won"
    assert "thrown since" in caught.value.detail


def test_a_throw_that_decides_nothing_of_the_bet_overtakes_no_correction_of_it() -> None:
    at = table()
    at.bet("pass")
    at.throw("2-2")
    reopened(at)
    come = at.bet("come", player="P-2")
    at.throw("4-4")  # it travels
    waiting = at.propose("bet", bet=come, spot="dont_come")
    at.throw("2-3")
    assert corrected(at.approve(waiting)) == {come: ("open", "open")}
    assert at.round.bets[come].result == "open"


@pytest.mark.parametrize("spot", ["pass", "come", "dont_pass", "dont_come"])
def test_a_bet_that_has_its_number_is_voided_by_two_whichever_side_it_is_on(spot: str) -> None:
    """Against the shooter, its player is the favourite from then on: to void it takes that away."""
    at = table()
    at.bet("pass", player="P-9")
    bet = at.bet(spot, player="P-2") if spot.endswith("pass") else None
    at.throw("2-2")
    reopened(at)
    if bet is None:
        bet = at.bet(spot, player="P-2")
        assert at.round.can_void_bet(at.rules, bet, origin("S-1"))
        at.throw("4-4")
        reopened(at)
    assert at.round.can_withdraw(at.rules, bet) is spot.startswith("dont")
    with refused("LGR-0214"):
        at.round.void_bet(at.rules, bet, origin("S-1"), reason="spilt")
    assert corrected(at.correct("bet_void", bet=bet)) == {bet: ("open", "void")}
