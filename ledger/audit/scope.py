"""Which rounds are meant, and up to which moment of the log."""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

from ledger.events import RoundOpened


class Scope(NamedTuple):
    """Rounds of a gaming day, of a table, or a single one; all that is given has to hold. Empty: every round."""

    day: date | None = None
    table: str | None = None
    round: UUID | None = None
    until: int | datetime | None = None
    """The log as it stood after this position or at this time, between two reports. None: as it is now."""

    @property
    def whole(self) -> bool:
        """Whether every round is meant."""
        return (self.day, self.table, self.round) == (None, None, None)

    def takes(self, stream: UUID, opened: RoundOpened) -> bool:
        """Whether a round is meant."""
        return (
            (self.day is None or opened.gaming_day == self.day)
            and (self.table is None or opened.table == self.table)
            and (self.round is None or stream == self.round)
        )


EVERYTHING = Scope()
