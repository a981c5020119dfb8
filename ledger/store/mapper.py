"""The mapper that `eventsourcing` calls: a round's envelopes to stored events and back."""

from __future__ import annotations

from uuid import UUID

from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent

from ledger.round import RoundEvent
from ledger.store import codec


class RoundMapper(Mapper[UUID]):
    """Stores payloads by `ledger.store.codec`; no cipher, no compressor: the bytes are for anybody to read."""

    def __init__(self) -> None:
        super().__init__(JSONTranscoder())

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """The stored form of a RoundEvent."""
        assert isinstance(domain_event, RoundEvent)
        body = domain_event.body
        return StoredEvent(domain_event.originator_id, domain_event.originator_version, body.TOPIC, codec.encode(body))

    def to_domain_event(self, stored_event: StoredEvent) -> RoundEvent:
        """The RoundEvent of a stored form; Refusal LGR-0504 names stream and version of one that cannot be read."""
        stream, version = stored_event.originator_id, stored_event.originator_version
        assert isinstance(stream, UUID)
        where = f" (stream {stream}, version {version})"
        return RoundEvent(stream, version, codec.decode(stored_event.topic, stored_event.state, where=where))
