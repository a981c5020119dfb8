"""Where things happened: the table and the property of each event, which only the first event of a round says itself."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg

from ledger import houses
from ledger.errors import Refusal
from ledger.events import DocumentRecorded, NumbersGivenUp, RoundOpened, StaffSignedOff, StaffSignedOn
from ledger.feed.envelope import Place
from ledger.store import codec, log
from ledger.store.log import Key

_KNOWN = 20_000
"""Streams that are remembered; the one asked for longest ago is forgotten first."""

_APART = (DocumentRecorded, StaffSignedOn, StaffSignedOff, NumbersGivenUp)
"""Events that belong to no round, and name at most a table."""

_FIRST = "SELECT originator_id, topic, state FROM ledger.events WHERE originator_id = ANY(%s) AND originator_version = 1"


class Places:
    """The places of streams, remembered: a stream's first event never changes. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[UUID, Place] = OrderedDict()

    def of(self, conn: psycopg.Connection[Any], keys: Sequence[Key]) -> list[Place | None]:
        """The place of each event, in order; None where what would say it cannot be read."""
        apart = [key for key in keys if codec.kind(key.topic) in _APART]
        told = self._apart(conn, apart) if apart else {}
        streams = self._streams(conn, {key.stream for key in keys if key.position not in told})
        return [told[key.position] if key.position in told else streams.get(key.stream) for key in keys]

    def _streams(self, conn: psycopg.Connection[Any], asked: set[UUID]) -> dict[UUID, Place | None]:
        with self._lock:
            found: dict[UUID, Place | None] = {stream: self._known[stream] for stream in asked if stream in self._known}
            for stream in found:
                self._known.move_to_end(stream)
        missing = [stream for stream in asked if stream not in found]
        if missing:
            read = {stream: _opened(topic, state) for stream, topic, state in conn.execute(_FIRST, (missing,))}
            found |= read
            with self._lock:
                self._known |= {stream: place for stream, place in read.items() if place is not None}
                while len(self._known) > _KNOWN:
                    self._known.popitem(last=False)
        return found

    def _apart(self, conn: psycopg.Connection[Any], keys: Sequence[Key]) -> dict[int, Place]:
        """What belongs to no round. A table belongs to the property whose configuration had it at that position."""
        configured = houses.configurations(conn)
        found: dict[int, Place] = {}
        for recorded in log.at(conn, [key.position for key in keys]):
            body = recorded.body
            if isinstance(body, DocumentRecorded):
                found[recorded.position] = Place(property=body.name if body.kind == "property" else None)
            elif isinstance(body, StaffSignedOn | StaffSignedOff | NumbersGivenUp):
                tables = {
                    config.id: {table.id for table in config.tables}
                    for position, config in configured
                    if position < recorded.position
                }
                having = next((id for id, those in tables.items() if body.table in those), None)
                found[recorded.position] = Place(body.table, having)
        return found


def _opened(topic: str, state: bytes) -> Place | None:
    try:
        first = codec.decode(topic, state)
    except Refusal:
        return None  # whoever reads on comes to that event, and is told
    return Place(first.table, first.property) if isinstance(first, RoundOpened) else Place()
