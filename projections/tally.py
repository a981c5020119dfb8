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

from ledger.events import OutcomeRecorded, PayoutMade, Recorded, RoundOpened, RoundSettled
from projections.fold import Contradiction, amount, verify_currency, verify_payout


class Heading(NamedTuple):
    """Under what a round is counted. The fields are the leading columns of the report's tables, in order."""

    gaming_day: date
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
    known = known or {}
    opened: dict[UUID, Heading] = {}
    lines: dict[Heading, Line] = defaultdict(Line)
    stakes: dict[tuple[Heading, str], int] = defaultdict(int)
    outcomes: dict[tuple[date, str, str, str], int] = defaultdict(int)
    for recorded in events:
        body, stream = recorded.body, recorded.stream
        if isinstance(body, RoundOpened):
            if stream in opened or stream in known:
                raise Contradiction(recorded, "the round was opened before")
            opened[stream] = Heading(body.gaming_day, body.table, body.game, body.regulation, body.applied or "", body.currency)
            continue
        if not isinstance(body, PayoutMade | OutcomeRecorded | RoundSettled):
            continue
        heading = opened.get(stream) or known.get(stream)
        if heading is None:
            raise Contradiction(recorded, "the round was never opened")
        verify_currency(recorded, heading.currency)
        line = lines[heading]
        if isinstance(body, PayoutMade):
            verify_payout(recorded, body)
            stake = int(body.stake)
            line.bets += 1
            if body.result == "push":
                line.pushed += stake
            else:
                line.won += stake
                line.prizes += int(body.net_prize)
                line.commission += int(body.commission)
                line.breakage += int(body.breakage)
            stakes[heading, edge(recorded, body.edge)] += stake
        elif isinstance(body, OutcomeRecorded):
            outcomes[heading.gaming_day, heading.table_id, heading.game, body.outcome] += 1
            for lost in body.lost:
                stake = amount(recorded, lost.stake)
                line.bets += 1
                line.lost += stake
                stakes[heading, edge(recorded, lost.edge)] += stake
        else:
            line.rounds += 1
    return Tally(opened, dict(lines), dict(stakes), dict(outcomes))


def edge(recorded: Recorded, text: str) -> str:
    """A house edge of an event, as a fraction in lowest terms. Raises Contradiction where it is none."""
    try:
        return _lowest(text)
    except (ValueError, ZeroDivisionError):
        raise Contradiction(recorded, f"{text!r} is not a house edge") from None


@lru_cache(maxsize=1024)
def _lowest(text: str) -> str:
    return str(Fraction(text))
