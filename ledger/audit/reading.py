"""Rounds of a log one after another, wherever the log is: in a database or in an export.

    with reading(dsn) as log:
        for judgement in log.judgements():
            for bet in judgement.told.bets.values():
                ...

Each round comes once and whole: as it was settled and with all that came after. `Judgement.told` has its bets with what the log
says of them (`standing`) and what should be true (`want`); `Told.due` says what any other regulation or payable unit would give.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar
from uuid import UUID

from ledger import erasure
from ledger.audit.documents import Documents
from ledger.audit.findings import Finding
from ledger.audit.from_export import ExportSource
from ledger.audit.gathering import Gatherer, Row, readable
from ledger.audit.judging import Judgement, judge
from ledger.audit.scope import EVERYTHING, Scope
from ledger.events import Recorded

Part = TypeVar("Part")


class Source(Protocol[Part]):
    """Where a log is read from."""

    def parts(self, number: int) -> list[Part]:
        """The scope in at most so many parts, in the order of the log."""

    def rows(self, part: Part) -> Iterator[Row]:
        """The events of a part, those of one stream in its order."""

    def survey(self) -> tuple[list[Recorded], Mapping[UUID, int]]:
        """The documents, days that were closed and players that were erased; and stream → events behind a round's end, where rows
        do not say.
        """

    def whole_rounds(self, streams: Collection[UUID]) -> Iterator[Row]:
        """The events of these rounds, whatever the scope."""


class Reading:
    """A log that is being read, each round once."""

    def __init__(self, source: Source[Part], scope: Scope) -> None:
        self._source = source
        house, following = source.survey()
        self.documents = Documents.of_log(house)
        """The regulations and configurations that the log holds."""
        self._erased = erasure.names_of(each.body for each in house)
        self.findings: list[Finding] = []
        """Events that cannot be read; complete once all rounds have come."""
        self._gatherer = Gatherer(wanted=scope.takes, afterwards=following)

    @property
    def events(self) -> int:
        """How many events have been read."""
        return self._gatherer.events

    @property
    def position(self) -> int:
        """The position of the event read last."""
        return self._gatherer.position

    def rounds(self) -> Iterator[list[Recorded]]:
        """The events of each round of the scope; one that is still under way comes at the end, as far as it has gone."""
        for part in self._source.parts(1):
            for rows in self._gatherer.whole(self._source.rows(part)):
                yield readable(rows, self.findings, self._erased)
        for rows in self._gatherer.rest():
            yield readable(rows, self.findings, self._erased)

    def judgements(self) -> Iterator[Judgement]:
        """Each round of the scope, judged."""
        for events in self.rounds():
            if events:
                yield judge(events, self.documents, events[0].stream)


@contextmanager
def reading(where: str | Path, scope: Scope = EVERYTHING) -> Iterator[Reading]:
    """A log to be read: that of the database with this connection string, or of an export at this path.

    Raises psycopg.Error where the database cannot be used, and Refusal LGR-0740 or LGR-0741 for a file that is no export.
    """
    if isinstance(where, Path):
        yield Reading(ExportSource(where, scope), scope)
        return
    from ledger.audit.from_log import LogSource

    with LogSource(where, scope) as source:
        yield Reading(source, scope)
