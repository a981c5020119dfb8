"""The golden logs as an audit reads them, without a database; and how something is planted in one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec

from ledger.audit.documents import Documents
from ledger.audit.findings import Finding
from ledger.audit.gathering import Row
from ledger.audit.judging import judge
from ledger.audit.plain import Looking, Plain
from ledger.events import DocumentRecorded, Event, GamingDayClosed, Recorded, RoundOpened
from ledger.store import codec
from tests.golden import rows


class Log:
    """The rounds of a golden log, each as its events in order."""

    def __init__(self, release: str) -> None:
        read = [
            Recorded(int(row["position"]), UUID(row["stream"]), row["version"], codec.decode(row["topic"], row["state"].encode()))
            for row in rows(release, "events")
        ]
        self.house = [each for each in read if isinstance(each.body, DocumentRecorded | GamingDayClosed)]
        streams: dict[UUID, list[Recorded]] = defaultdict(list)
        for each in read:
            streams[each.stream].append(each)
        self.rounds = {id_: events for id_, events in streams.items() if isinstance(events[0].body, RoundOpened)}

    def findings(self) -> list[Finding]:
        """What the judgement of every round finds, and what is wrong with the documents."""
        documents = Documents.of_log(self.house)
        found = [each for id_, events in self.rounds.items() for each in judge(events, documents, id_).findings]
        return documents.findings + found

    def codes(self) -> list[str]:
        """The reason codes of all findings."""
        return [each.code for each in self.findings()]

    def looks(self) -> dict[UUID, Plain | None]:
        """What the quick look says of each round."""
        looking = Looking(Documents.of_log(self.house))
        return {id_: looking.passes([_row(each) for each in events]) for id_, events in self.rounds.items()}

    # Planting.

    def first(self, kind: type[Event], wanted: Callable[[Any], bool] = lambda body: True) -> Any:
        """The first event (Recorded) of a kind of which something is true; its body is of that kind."""
        return next(
            each for events in self.rounds.values() for each in events if isinstance(each.body, kind) and wanted(each.body)
        )

    def change(self, target: Recorded, **values: Any) -> None:
        """Other values in an event, as if somebody had written over it."""
        self.put(target, msgspec.structs.replace(target, body=msgspec.structs.replace(target.body, **values)))

    def put(self, target: Recorded, *instead: Recorded) -> None:
        """Other events in the place of one; the versions are left as they are given."""
        events = self.rounds[target.stream]
        at = events.index(target)
        events[at : at + 1] = instead

    def insert(self, behind: Recorded, *bodies: Event) -> None:
        """Events put behind one, with those that follow moved on, as somebody would who knows of the versions."""
        events = self.rounds[behind.stream]
        at = events.index(behind) + 1
        new = [Recorded(0, behind.stream, 0, body) for body in bodies]
        events[at:at] = new
        self._number(events)

    def remove(self, target: Recorded, *, cover: bool = False) -> None:
        """An event is lost; with `cover` those that follow are moved up, so that no version is missing."""
        events = self.rounds[target.stream]
        events.remove(target)
        if cover:
            self._number(events)

    def _number(self, events: list[Recorded]) -> None:
        first = events[0].position
        events[:] = [msgspec.structs.replace(each, position=first + n, version=n + 1) for n, each in enumerate(events)]


def _row(recorded: Recorded) -> Row:
    """The event as it is stored."""
    body = recorded.body
    return Row(recorded.position, str(recorded.stream), recorded.version, body.TOPIC, codec.encode(body), None)
