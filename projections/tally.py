"""The fold of the table report: events of the log to what each table did, without a database.

`count_up` is a pure function in the manner of `projections.fold.keep_books`: any run of events, with the rounds known before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import msgspec

from ledger.events import (
    BetCorrected,
    Event,
    LostBet,
    OutcomeCorrected,
    OutcomeRecorded,
    PayoutMade,
    PlayerAdjusted,
    Recorded,
    RoundOpened,
    RoundSettled,
    Standing,
    ThrowRecorded,
)
from projections.checks import Contradiction, amount, verify_currency, verify_payout, verify_standing

COUNTED: frozenset[type[Event]] = frozenset(
    {
        RoundOpened,
        OutcomeRecorded,
        ThrowRecorded,
        PayoutMade,
        RoundSettled,
        OutcomeCorrected,
        BetCorrected,
        PlayerAdjusted,
    }
)
"""What is counted here; nothing else that is on record changes a figure of the report."""


class Heading(NamedTuple):
    """Under what a round is counted. The fields are the leading columns of the report's tables, in order."""

    gaming_day: date
    """Of the round, for its corrections too as long as the day is open: what was counted under it is put right where it was."""
    table_id: str
    game: str
    regulation: str
    applied: str
    """Empty unless the regulation is applied beyond its repeal."""
    currency: str


class Line(msgspec.Struct):
    """What happened under one heading, in minor units of its currency; the fields are the columns after the heading."""

    rounds: int = 0
    bets: int = 0
    lost: int = 0
    won: int = 0
    pushed: int = 0
    prizes: int = 0
    commission: int = 0
    breakage: int = 0
    adjusted: int = 0
    """Paid to players beside the regulation, less what was taken from them; no part of the figures above."""
    earlier: int = 0
    """What corrections of closed days, posted to this one, add to the win; no part of the figures above."""

    def __iadd__(self, other: Line) -> Line:
        for field in self.__struct_fields__:
            setattr(self, field, getattr(self, field) + getattr(other, field))
        return self


class Tally(NamedTuple):
    """What a run of events adds."""

    opened: dict[UUID, Heading]
    lines: dict[Heading, Line]
    stakes: dict[tuple[Heading, str], int]
    """(heading, house edge as a fraction in lowest terms) → stakes resolved, pushes included."""
    outcomes: dict[tuple[date, str, str, str], int]
    """(gaming day, table, game, outcome) → how often."""


def count_up(events: Iterable[Recorded], known: Mapping[UUID, Heading] | None = None) -> Tally:
    """Folds events, in the order of the log; `known` are the rounds opened by the events before them.

    Raises Contradiction at an event that does not follow from those before it.
    """
    counter = _Counter(known or {})
    for recorded in events:
        counter.take(recorded)
    return Tally(counter.opened, dict(counter.lines), dict(counter.stakes), dict(counter.outcomes))


class _Counter:
    """The sums of a run so far."""

    def __init__(self, known: Mapping[UUID, Heading]) -> None:
        self._known = known
        self.opened: dict[UUID, Heading] = {}
        self.lines: dict[Heading, Line] = defaultdict(Line)
        self.stakes: dict[tuple[Heading, str], int] = defaultdict(int)
        self.outcomes: dict[tuple[date, str, str, str], int] = defaultdict(int)

    def take(self, recorded: Recorded) -> None:
        """Counts the next event."""
        body, stream = recorded.body, recorded.stream
        if isinstance(body, RoundOpened):
            if stream in self.opened or stream in self._known:
                raise Contradiction(recorded, "the round was opened before")
            self.opened[stream] = Heading(
                body.gaming_day, body.table, body.game, body.regulation, body.applied or "", body.currency
            )
            return
        if type(body) not in COUNTED:
            return
        heading = self.opened.get(stream) or self._known.get(stream)
        if heading is None:
            raise Contradiction(recorded, "the round was never opened")
        verify_currency(recorded, heading.currency)
        match body:
            case PayoutMade():
                verify_payout(recorded, body)
                self._count(recorded, heading, body, 1)
            case OutcomeRecorded():
                self._showed(heading, body.outcome, 1)
                self._lost(recorded, heading, body.lost)
            case ThrowRecorded():
                self._showed(heading, body.outcome, 1)
                self._lost(recorded, heading, body.lost)
            case OutcomeCorrected() if body.gaming_day is None:
                self._showed(heading, body.was, -1)
                self._showed(heading, body.outcome, 1)
            case BetCorrected():
                for standing, sign in ((body.before, -1), (body.after, 1)):
                    verify_standing(recorded, standing)
                    if body.gaming_day is not None:
                        self.lines[heading._replace(gaming_day=body.gaming_day)].earlier += sign * _win(standing)
                    elif standing.result in ("lost", "won", "push"):
                        self._count(recorded, heading, standing, sign)
            case PlayerAdjusted():
                minor = amount(recorded, body.amount)
                heading = heading._replace(gaming_day=body.gaming_day or heading.gaming_day)
                self.lines[heading].adjusted += minor if body.direction == "to_player" else -minor
            case RoundSettled():
                self.lines[heading].rounds += 1

    def _count(self, recorded: Recorded, heading: Heading, body: PayoutMade | Standing, sign: int) -> None:
        """Adds a bet that was resolved, or takes it out."""
        line, stake = self.lines[heading], sign * int(body.stake)
        line.bets += sign
        if body.result == "lost":
            line.lost += stake
        elif body.result == "push":
            line.pushed += stake
        else:
            line.won += stake
            line.prizes += sign * int(body.net_prize)
            line.commission += sign * int(body.commission)
            line.breakage += sign * int(body.breakage)
        self.stakes[heading, edge(recorded, body.edge)] += stake

    def _lost(self, recorded: Recorded, heading: Heading, lost: Iterable[LostBet]) -> None:
        line = self.lines[heading]
        for bet in lost:
            stake = amount(recorded, bet.stake)
            line.bets += 1
            line.lost += stake
            self.stakes[heading, edge(recorded, bet.edge)] += stake

    def _showed(self, heading: Heading, outcome: str, sign: int) -> None:
        """Adds what the table showed, or takes it out: of craps each throw that counted, of any other game the outcome."""
        for shown in outcome.split(","):
            if shown != "void":
                self.outcomes[heading.gaming_day, heading.table_id, heading.game, shown] += sign


def _win(standing: Standing) -> int:
    """What a bet of which this is true adds to the win."""
    if standing.result == "lost":
        return int(standing.stake)
    return -int(standing.net_prize) if standing.result == "won" else 0


def edge(recorded: Recorded, text: str) -> str:
    """A house edge of an event, as a fraction in lowest terms. Raises Contradiction where it is none."""
    try:
        return _lowest(text)
    except (ValueError, ZeroDivisionError):
        raise Contradiction(recorded, f"{text!r} is not a house edge") from None


@lru_cache(maxsize=1024)
def _lowest(text: str) -> str:
    return str(Fraction(text))
