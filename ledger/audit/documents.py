"""The documents of the log: the regulations and configurations that its rounds name, by their hashes.

Only what the log holds counts. A regulation is read from the content that was logged, never from a file of today.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from ledger.audit.findings import Finding, finding
from ledger.errors import Refusal
from ledger.events import DocumentRecorded, GamingDayClosed, Recorded, RoundOpened
from ledger.money import parse_plain
from ledger.rules import Regulation, regulations

NEVER = timedelta(days=999_999_999)
"""The tolerance of a house that flags no clock: `timedelta.max` has no negative."""


class Terms(NamedTuple):
    """What a property's configuration says of one table."""

    game: str
    currency: str
    payable_unit: int
    """Minor units."""
    pit: str


class House:
    """A property's configuration, as far as an audit asks it."""

    def __init__(self, content: str) -> None:
        data: Any = json.loads(content)
        self.id: str = data["id"]
        self.opt_ins = frozenset(each["regulation"] for each in data.get("opt_ins", ()))
        """Orders that the house applies beyond their repeal."""
        self.zone = ZoneInfo(data["zone"])
        self.day_starts = time.fromisoformat(data["gaming_day_start"])
        tolerance = data.get("clock_tolerance")
        self.tolerance = NEVER if tolerance is None else timedelta(seconds=tolerance)
        """By how much a terminal's clock may be off before its reports are flagged."""
        self.tables: dict[str, Terms] = {each["id"]: _terms(each) for each in data["tables"]}

    def gaming_day(self, at: datetime) -> date:
        """The book day to which the instant belongs: it begins when the clock first shows its starting hour, or a later one."""
        local = at.astimezone(self.zone)
        begun = local.time() >= self.day_starts
        if not begun and local.fold:  # the clock was put back over the starting hour, after the day had begun
            begun = at >= datetime.combine(local.date(), self.day_starts, self.zone).astimezone(UTC)
        return local.date() if begun else local.date() - timedelta(days=1)


def _terms(table: Any) -> Terms:
    unit = parse_plain(table["payable_unit"], table["currency"])
    return Terms(table["game"], table["currency"], unit, table.get("pit", ""))


class Documents:
    """What the log holds of documents, and what is wrong with them."""

    def __init__(self) -> None:
        self.regulations: dict[str, Regulation] = {}
        """By hash; each is of the content that has this hash."""
        self.houses: dict[str, House] = {}
        """By hash."""
        self.findings: list[Finding] = []
        self._seen: set[int] = set()
        self._closed: list[tuple[int, str, date]] = []

    @classmethod
    def of_log(cls, events: Iterable[Recorded]) -> Documents:
        """What a log holds: its documents, and the days that were closed."""
        documents = cls()
        for recorded in events:
            documents.take(recorded)
        return documents

    def take(self, recorded: Recorded) -> None:
        """Keeps a document, or that a day was closed; the same event may come more than once.

        A document whose content is not what its hash says becomes a finding, and is not kept.
        """
        body = recorded.body
        if recorded.position in self._seen:
            return
        if isinstance(body, GamingDayClosed):
            self._seen.add(recorded.position)
            self._closed.append((recorded.position, body.property, body.gaming_day))
            return
        if not isinstance(body, DocumentRecorded):
            return
        self._seen.add(recorded.position)
        digest = hashlib.sha256(body.content.encode()).hexdigest()
        if digest != body.sha256:
            self._refuse(recorded, body, "its content has another hash than it says", body.sha256, digest)
            return
        try:
            self._keep(body)
        except (Refusal, ValueError, LookupError, TypeError) as error:
            self._refuse(recorded, body, f"it cannot be read: {error}", body.kind, None)

    def _keep(self, body: DocumentRecorded) -> None:
        if body.kind == "regulation":
            regulation = Regulation.from_content(body.content)
            if regulation.order != body.name:
                raise ValueError(f"it is {regulation.order}")
            self.regulations[body.sha256] = regulation
        else:
            house = House(body.content)
            if house.id != body.name:
                raise ValueError(f"it is of {house.id}")
            self.houses[body.sha256] = house

    def _refuse(self, recorded: Recorded, body: DocumentRecorded, why: str, expected: str, found: str | None) -> None:
        self.findings.append(
            finding(
                "DOCUMENT_ALTERED",
                f"{body.kind} {body.name}: {why}",
                stream=recorded.stream,
                expected=expected,
                found=found,
                evidence=[recorded],
                command="roundledger rules list" if body.kind == "regulation" else "roundledger property show",
            )
        )

    def days_closed(self, position: int) -> int:
        """How many gaming days were closed before a position."""
        return sum(at < position for at, _, _ in self._closed) if self._closed else 0

    def open_day(self, house: House, at: datetime, position: int) -> date:
        """The book day to which what happens at a time is posted: of those that are closed by a position, the one after."""
        closed = max((day for closed_at, of, day in self._closed if of == house.id and closed_at < position), default=None)
        today = house.gaming_day(at)
        return today if closed is None else max(today, closed + timedelta(days=1))

    def of(self, opened: RoundOpened) -> Regulation | None:
        """The regulation that a round names, where the log has it."""
        return self.regulations.get(opened.regulation_hash)

    def others(self, regulation: Regulation) -> Iterator[Regulation]:
        """Other regulations of the same game: those of the log, then those that this release holds."""
        for each in (*self.regulations.values(), *self._held):
            if each.game == regulation.game and each.sha256 != regulation.sha256:
                yield each

    @cached_property
    def _held(self) -> tuple[Regulation, ...]:
        return regulations()

    def units(self, table: str) -> set[int]:
        """The payable units that any configuration of the log gives the table, in minor units."""
        return {house.tables[table].payable_unit for house in self.houses.values() if table in house.tables}
