"""An event of the log as it travels: a CloudEvent 1.0 in structured JSON."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from ledger.events import DocumentRecorded, Event, Recorded
from ledger.reports import type_of

SOURCE = "/ledger"


class Place(NamedTuple):
    """Where something happened, as far as that can be said of it."""

    table: str | None = None
    property: str | None = None


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the log as a CloudEvent."""

    specversion: str = "1.0"
    id: str
    """Its position in the log, which is its own: a consumer that has seen an id has seen the event."""
    source: str = SOURCE
    type: str
    """`roundledger.` and the topic under which it is stored."""
    subject: UUID
    """Its stream: the id of its round, or that of a table or document."""
    time: datetime
    """When the ledger received what brought it about, by the service's clock."""
    position: str
    """Its place in the log's one order; gaps are normal."""
    version: str
    """Its place in its stream, from 1 without gaps."""
    table: str | msgspec.UnsetType = msgspec.UNSET
    """The table it is about, where it is about one."""
    property: str | msgspec.UnsetType = msgspec.UNSET
    """The property that it belongs to, where it belongs to one: of a round, the one under which it was opened."""
    datacontenttype: str = "application/json"
    data: Event


NOWHERE = Place()


def envelope(recorded: Recorded, place: Place = NOWHERE) -> Envelope:
    """The event as it travels."""
    body = recorded.body
    return Envelope(
        id=str(recorded.position),
        type=type_of(type(body)),
        subject=recorded.stream,
        time=body.recorded_at if isinstance(body, DocumentRecorded) else body.received_at,
        position=str(recorded.position),
        version=str(recorded.version),
        table=msgspec.UNSET if place.table is None else place.table,
        property=msgspec.UNSET if place.property is None else place.property,
        data=body,
    )
