"""What a round is told from outside: who reports, and what it is played under."""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

from ledger.limits import Limits
from ledger.rules import Regulation


class Origin(NamedTuple):
    """Who reported an event, under which id, and when; every event carries it."""

    cause: UUID
    terminal: str
    sequence: int | None
    occurred_at: datetime
    received_at: datetime
    epoch: int | None = None
    by: str | None = None
    flags: tuple[str, ...] = ()

    def flagged(self, flag: str) -> Origin:
        """The same with one more oddity that did not stop it."""
        return self if flag in self.flags else self._replace(flags=(*self.flags, flag))


class Terms(NamedTuple):
    """What a round is played under, fixed when it opens."""

    property: str
    property_hash: str
    pit: str
    table: str
    currency: str
    payable_unit: int
    """Minor units."""
    regulation: Regulation
    applied: str | None
    gaming_day: date
    shift: str | None = None
    dealer: str | None = None
    supervisor: str | None = None
    limits: Limits | None = None
