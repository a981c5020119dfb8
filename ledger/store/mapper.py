"""The mapper that `eventsourcing` calls: envelopes to stored events and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast
from uuid import UUID

import msgspec
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent

from ledger.events import Event
from ledger.store import codec


class Envelope(Protocol):
    """An event in its place, as the aggregate's module defines it."""

    originator_id: UUID
    originator_version: int
    body: Event


class Stored(msgspec.Struct, frozen=True, gc=False):
    """As the library's StoredEvent, made in a fraction of its time: a group makes thousands."""

    originator_id: UUID
    originator_version: int
    topic: str
    state: bytes


class EventMapper(Mapper[UUID]):
    """Stores payloads by `ledger.store.codec`; no cipher, no compressor: the bytes are for anybody to read."""

    def __init__(self, envelope: Callable[[UUID, int, Event], DomainEventProtocol[UUID]]) -> None:
        super().__init__(JSONTranscoder())
        self._envelope = envelope

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """The stored form of an envelope."""
        body: Event = domain_event.body  # type: ignore[attr-defined]  # an Envelope
        return Stored(  # type: ignore[return-value]  # what the library reads of a StoredEvent, it has
            domain_event.originator_id, domain_event.originator_version, body.TOPIC, codec.encode(body)
        )

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[UUID]:
        """The envelope of a stored form; Refusal LGR-0504 names stream and version of one that cannot be read."""
        stream, version = cast(UUID, stored_event.originator_id), stored_event.originator_version
        body = codec.decode(stored_event.topic, stored_event.state, " (stream %s, version %d)", stream, version)
        return self._envelope(stream, version, body)
