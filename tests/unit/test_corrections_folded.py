"""What decides corrections and what reads them are two programs that share no line; they agree on every pataca."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.errors import Refusal
from ledger.events import Event, Recorded
from ledger.round.standing import effect
from projections.fold import Books, keep_books
from tests.unit.test_corrections import Table, summed
from tests.unit.test_corrections_hold import OUTCOMES, PLAYERS, STAKES, settled
from tests.unit.test_corrections_of_craps import DICE, thrown

QUICK = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)


def folded(round_: UUID, events: Sequence[Event]) -> Books:
    return keep_books(Recorded(place, round_, place, body) for place, body in enumerate(events, 1))


def agree(at: Table) -> None:
    """The books have on each account what the standings of the round's bets leave there, and each bet as the round has it."""
    at.new()
    books = folded(at.round.id, at.events)
    here = {account.removesuffix("/T01"): amount for (account, _), amount in books.balances.items() if amount}
    carried = {f"player/{bet.player}": 0 for bet in at.round.gone.values()}
    left = [effect(bet.standing) for bet in [*at.round.bets.values(), *at.round.gone.values()]]
    adjusted = [
        {f"player/{each.player}": sign * int(each.amount), each.kind: -sign * int(each.amount)}
        for each in at.round.adjustments
        for sign in [1 if each.direction == "to_player" else -1]
    ]
    assert {**carried, **here} == {**carried, **summed([*left, *adjusted])}
    for bet in at.round.bets.values():
        row = books.bets[at.round.id, bet.id]
        assert (row.player, row.spot, row.stake, row.result) == (bet.player, bet.spot, bet.stake, bet.result)


def tried(at: Table, wish: dict[str, Any]) -> None:
    try:
        at.correct(**wish)
    except Refusal:
        return


@given(st.data())
@QUICK
def test_the_books_follow_any_chain_of_corrections(data: st.DataObject) -> None:
    at = data.draw(settled())
    spots = st.sampled_from([spot.text for spot in at.rules.spots()])
    for _ in range(data.draw(st.integers(0, 6))):
        wishes: list[st.SearchStrategy[dict[str, Any]]] = [
            st.fixed_dictionaries({"kind": st.just("outcome"), "outcome": OUTCOMES[at.rules.game]}),
            st.sampled_from([{"kind": "return"}, {"kind": "outcome", "outcome": "nonsense"}]),
        ]
        if at.round.bets:
            bet = {"bet": st.sampled_from(list(at.round.bets))}
            wrong: dict[str, st.SearchStrategy[Any]] = {"player": PLAYERS, "spot": spots, "stake": STAKES.map(str)}
            paid: dict[str, st.SearchStrategy[Any]] = {
                "amount": STAKES.map(str),
                "direction": st.sampled_from(["to_player", "from_player"]),
            }
            wishes += [
                st.fixed_dictionaries({"kind": st.just("bet"), **bet}, optional=wrong),
                st.fixed_dictionaries({"kind": st.just("bet_void"), **bet}),
                st.fixed_dictionaries({"kind": st.just("mispay"), **bet, **paid}),
            ]
        tried(at, data.draw(st.one_of(wishes)))
    agree(at)


@given(thrown(), st.lists(st.lists(DICE, min_size=1, max_size=4), max_size=3), st.booleans())
@QUICK
def test_the_books_follow_rounds_that_are_thrown_again(at: Table, others: list[list[str]], returned: bool) -> None:
    for throws in [*others, ["3-4"], [*at.round.throws[:-1], "2-6"]]:
        tried(at, {"kind": "outcome", "outcome": ",".join(throws)})
    if returned:
        tried(at, {"kind": "return"})
    agree(at)
