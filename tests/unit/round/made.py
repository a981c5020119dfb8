"""Rounds to try decisions on, and reports that number themselves as a terminal does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from uuid import UUID, uuid4

import pytest

from ledger.errors import Refusal
from ledger.events import Event
from ledger.round import Origin, Round, Successor, Terms
from ledger.round.state import RoundState
from ledger.rules import Regulation, regulation

DAY = date(2026, 11, 29)
MOMENT = datetime(2026, 11, 29, 12, tzinfo=UTC)


def origin(sequence: int | None = None, *, epoch: int | None = None, by: str | None = None, terminal: str = "T-1") -> Origin:
    """A report of a terminal, or of a person."""
    return Origin(uuid4(), terminal, sequence, MOMENT, MOMENT, epoch, by)


def person() -> Origin:
    """A report of somebody who has proved to be the one."""
    return origin(by="S-1")


def following() -> Successor:
    """A next round."""
    return Successor(uuid4(), DAY, "D-2", "S-2")


class Play:
    """A round under one order, and the short way to each of its decisions."""

    def __init__(self, order: str, *, unverified: bool = False) -> None:
        held = regulation(order)
        self.rules: Regulation = held.with_unverified() if unverified else held
        self.round = Round.open(uuid4(), Terms("H", "0" * 64, "A", "X01", "MOP", 1, self.rules, None, DAY), origin(1, epoch=1))

    def bet(self, spot: str, stake: int = 10000, player: str = "P-1", by: Origin | None = None) -> UUID:
        """Places a bet."""
        bet = uuid4()
        self.round.place_bet(self.rules, bet, by or origin(), player=player, spot=spot, stake=str(stake), currency="MOP")
        return bet

    def close(self, sequence: int | None = None, epoch: int | None = None) -> None:
        """Rings the bell."""
        self.round.close_betting(self.rules, origin(sequence, epoch=epoch))

    def reopen(self, sequence: int | None = None, epoch: int | None = None) -> None:
        """Craps: opens betting again."""
        self.round.reopen_betting(origin(sequence, epoch=epoch))

    def throw(self, dice: str | None = None, *, void: str | None = None, successor: Successor | None = None) -> Round | None:
        """Craps: one throw."""
        return self.round.record_throw(self.rules, origin(), dice=dice, void=void, successor=successor)

    def roll(self, dice: str, *, successor: Successor | None = None) -> Round | None:
        """Craps: closes betting, throws, and opens betting again where the round goes on."""
        self.close()
        begun = self.throw(dice, successor=successor)
        if not self.round.status.ended:
            self.reopen()
        return begun

    def outcome(self, raw: str) -> None:
        """Records the outcome."""
        self.round.record_outcome(self.rules, raw, origin())

    def void(self, reason: str, successor: Successor | None = None) -> Round | None:
        """A launch or shake without result."""
        return self.round.void(self.rules, origin(), reason=reason, successor=successor)

    def become(self, begun: Round | None) -> Play:
        """Goes on with the round that follows."""
        assert begun is not None
        self.round = begun
        return self

    def result(self, bet: UUID) -> str:
        """What became of a bet."""
        return self.round.bets[bet].result


def happened(round_: Round) -> list[Event]:
    """What was decided since the last time."""
    return [event.body for event in round_.collect_events()]


def refused(code: str, round_: Round, act: Callable[[], object]) -> Refusal:
    """The refusal of a decision, which must have changed nothing."""
    before = state_of(round_)
    with pytest.raises(Refusal) as caught:
        act()
    assert caught.value.code == code, caught.value
    assert state_of(round_) == before
    return caught.value


def state_of(round_: Round) -> dict[str, object]:
    """All that is true of a round, for comparison; bets and all else as they stand now."""
    return {name: repr(getattr(round_, name)) for name in RoundState.__slots__}
