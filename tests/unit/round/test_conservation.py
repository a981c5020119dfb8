"""What holds in every life of a round, whatever is reported and in whatever order: not a unit appears or disappears."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.errors import Refusal
from ledger.events import BetsCarried, Event, PayoutMade, RoundSettled
from ledger.round import Round, Status
from tests.unit.round.made import Play, following, happened, origin, person, state_of

GAMES = {
    "30/2003": (["straight:17", "red", "split:17-20", "dozen:2"], ["17", "0", "36"], "golpe_nulo"),
    "31/2003": (["small", "total:6", "any_triple", "triple:2"], ["2-2-2", "1-2-3", "6-5-4"], "bridged_dice"),
    "58/2004": (["fan:1", "nim:1/3", "sshong:123", "nga:12/4"], ["1", "3", "64"], "none"),
    "53/2010": (
        [
            "pass",
            "pass_odds",
            "dont_pass",
            "come",
            "dont_come",
            "dont_odds:6",
            "come_odds:6",
            "place:6",
            "field",
            "any7",
            "hard:8",
        ],
        ["4-2", "6-2", "4-3", "3-3", "6-5", "1-1", "6-6", "5-5"],
        "off_layout",
    ),
}


class Life:
    """One table from its first round on; every act may be refused, and then nothing has changed."""

    def __init__(self, order: str) -> None:
        self.play = Play(order, unverified=order == "53/2010")
        self.spots, self.outcomes, self.clause = GAMES[order]
        self.rounds = [self.play.round]
        self.events: dict[UUID, list[Event]] = {self.play.round.id: happened(self.play.round)}
        self.ids: list[UUID] = []
        self.held: list[UUID] = []
        self.sequence = 0
        self.acts: list[Callable[[int, int], object]] = [
            self.bet,
            self.bet,
            self.bet,
            self.late,
            self.withdraw,
            self.change,
            self.void_bet,
            self.close,
            self.close,
            self.reopen,
            self.outcome,
            self.outcome,
            self.void,
            self.hold,
            self.release,
        ]

    def do(self, act: int, a: int, b: int) -> None:
        """Does one thing, and holds what must hold."""
        before = [state_of(each) for each in self.rounds]
        try:
            self.acts[act % len(self.acts)](a, b)
        except Refusal:
            assert [state_of(each) for each in self.rounds] == before
        for each in self.rounds:
            self.events.setdefault(each.id, []).extend(happened(each))

    def next(self) -> int:
        self.sequence += 1
        return self.sequence

    def bet(self, a: int, b: int) -> None:
        by = origin(self.next() * 10)
        self.ids.append(self.play.bet(self.spots[a % len(self.spots)], 1 + b % 1000, f"P-{b % 2}", by))

    def late(self, a: int, b: int) -> None:
        """A bet with an older number, to any round of the table."""
        round_ = self.rounds[a % len(self.rounds)]
        at, self.play.round = self.play.round, round_
        try:
            bet = self.play.bet(self.spots[a % len(self.spots)], 1 + b % 1000, by=origin(max(1, self.sequence * 10 - 1 - b % 50)))
        finally:
            self.play.round = at
        self.ids.append(bet)
        heir = round_
        while heir.status is Status.CARRIED:
            heir = next(each for each in self.rounds if each.id == heir.successor)
        if heir is not round_:
            heir.carry_late(self.play.rules, origin(), round_, bet)

    def _some(self, a: int) -> UUID:
        return self.ids[a % len(self.ids)] if self.ids else UUID(int=0)

    def withdraw(self, a: int, _: int) -> None:
        self.play.round.withdraw_bet(self.play.rules, self._some(a), origin())

    def change(self, a: int, b: int) -> None:
        spot = self.spots[b % len(self.spots)] if b % 3 else None
        self.play.round.change_bet(
            self.play.rules, self._some(a), origin(), spot=spot, stake=str(1 + b % 1000) if b % 2 else None
        )

    def void_bet(self, a: int, _: int) -> None:
        self.play.round.void_bet(self.play.rules, self._some(a), person(), reason="miskeyed")

    def close(self, *_: int) -> None:
        self.play.close(self.next() * 10)

    def reopen(self, *_: int) -> None:
        self.play.reopen(self.next() * 10)

    def outcome(self, a: int, _: int) -> None:
        shown = self.outcomes[a % len(self.outcomes)]
        if self.play.round.terms.game == "craps":
            self._go_on(self.play.throw(shown, successor=following()))
        else:
            self.play.outcome(shown)
        if self.play.round.status is Status.SETTLED:
            play = Play(self.play.rules.order, unverified=self.play.rules.unverified_on)
            self.rounds.append(play.round)
            self.play.round = play.round

    def void(self, a: int, _: int) -> None:
        if self.play.round.terms.game == "craps":
            self.play.throw(void=self.clause)
        else:
            self._go_on(self.play.void(self.clause, following() if self.clause == "bridged_dice" else None))

    def _go_on(self, begun: Round | None) -> None:
        if begun is not None:
            self.rounds.append(begun)
            self.play.round = begun

    def hold(self, a: int, b: int) -> None:
        by = person()
        self.play.round.hold(by, reason="dispute", bet=self._some(a) if b % 2 else None)
        self.held.append(by.cause)

    def release(self, a: int, _: int) -> None:
        hold = self.held.pop() if self.held else UUID(int=0)
        self.play.round.release(person(), hold, finding="stands")


def assert_conserved(round_: Round) -> None:
    """Each stake that came in went back, went to the house, went on to the next round, or is still in escrow."""
    lost = sum(bet.stake for bet in round_.bets.values() if bet.result == "lost")
    still = sum(bet.stake for bet in round_.open_bets)
    assert round_.taken == round_.returned + round_.carried + lost + still
    assert 0 <= round_.returned <= round_.taken
    for bet in round_.bets.values():
        back = int(bet.standing.returned) - int(bet.standing.net_prize)
        assert 0 <= back <= bet.stake
    if round_.status is Status.CARRIED:
        assert still == 0


def assert_events_say_it(round_: Round, events: list[Event]) -> None:
    """The events alone make the same round, and its totals are the sums of what they paid and took."""
    again = Round(round_.id)
    again.fold(events)
    assert state_of(again) == state_of(round_)
    paid = [event for event in events if isinstance(event, PayoutMade)]
    assert len({event.bet for event in paid}) == len(paid)
    for event in events:
        if isinstance(event, RoundSettled):
            assert int(event.returned) == sum(int(each.returned) for each in paid)
            decided = [bet for bet in round_.bets.values() if bet.result in ("won", "lost")]
            assert int(event.handle) == sum(bet.stake for bet in decided)


@pytest.mark.parametrize("order", GAMES)
@given(steps=st.lists(st.tuples(st.integers(0, 14), st.integers(0, 40), st.integers(0, 1200)), min_size=5, max_size=60))
@settings(max_examples=60, deadline=None)
def test_money_is_conserved_and_stakes_returned_never_exceed_stakes_taken(order: str, steps: list[tuple[int, int, int]]) -> None:
    life = Life(order)
    for step in steps:
        life.do(*step)
        for round_ in life.rounds:
            assert_conserved(round_)
    for round_ in life.rounds:
        assert_events_say_it(round_, life.events[round_.id])
    carried_in = sum(
        int(line.stake)
        for events in life.events.values()
        for event in events
        if isinstance(event, BetsCarried)
        for line in event.bets
    )
    assert carried_in == sum(round_.carried for round_ in life.rounds)
