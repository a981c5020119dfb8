"""A batch in which nothing is out of the ordinary, read in one step by the types of what it holds.

The careful reader (`ledger.api.intake`) names every fault of every item, and takes most of a post's time for it. Nearly all
batches have no fault. This one reads those, and gives up at anything else, whether it is wrong or only unusual; what it reads, it
reads as the careful one does.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache, reduce
from operator import or_
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

from ledger.reports import ABOUT_PLAYERS, ABOUT_PROPERTIES, ABOUT_TABLES, TYPES, Data

_Id = Annotated[str, msgspec.Meta(min_length=36, max_length=36)]
"""Of the forms of a UUID that msgspec reads, only that with hyphens has this length."""

_Epoch = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,15}$")]
_Sequence = Annotated[str, msgspec.Meta(pattern=r"^[1-9][0-9]{0,14}$")]
"""Events are numbered from 1."""


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True, forbid_unknown_fields=True):
    """A CloudEvent as terminals send it. What is left out stays out when it is written again, as a null does not."""

    specversion: Literal["1.0"]
    id: _Id
    source: str
    """See `_terminal`: the events of a batch mostly have one, and so it is looked at once."""
    subject: _Id
    time: Annotated[datetime, msgspec.Meta(tz=True)]
    epoch: _Epoch | None = None
    sequence: _Sequence | None = None
    datacontenttype: Literal["application/json"] | None = None
    data: Any


class Plain(msgspec.Struct, frozen=True):
    """What an event says."""

    event_id: UUID
    round: UUID
    terminal: str
    type: str
    occurred_at: datetime
    """In UTC."""
    epoch: int | None
    sequence: int | None
    data: Data


OF_TABLES = frozenset(type_ for type_, model in TYPES.items() if model in ABOUT_TABLES)
OF_PLAYERS = frozenset(type_ for type_, model in TYPES.items() if model in ABOUT_PLAYERS)
"""Types of events about a player's reference; their subject is a property."""
OF_PROPERTIES = frozenset(type_ for type_, model in TYPES.items() if model in ABOUT_PROPERTIES)
"""Types of events whose subject is a table or a property and no round; they come a few times a shift, and are not read here."""
_TYPED = [
    msgspec.defstruct(model.__name__, [("data", model)], bases=(_Event,), tag=type_, frozen=True, kw_only=True)
    for type_, model in TYPES.items()
    if type_ not in OF_TABLES | OF_PROPERTIES
]
_decode = msgspec.json.Decoder(list[reduce(or_, _TYPED)]).decode  # type: ignore[misc]  # a union made of a table
_encode = msgspec.json.Encoder().encode


_TYPE_OF = {typed: str(typed.__struct_config__.tag) for typed in _TYPED}
_SOURCE = re.compile(r"/terminals/([A-Za-z0-9][A-Za-z0-9._-]{0,63})")


@lru_cache(maxsize=1024)
def _terminal(source: str) -> str | None:
    """The terminal that a source names; None where it names none."""
    named = _SOURCE.fullmatch(source)
    return None if named is None else named[1]


def utc(at: datetime) -> datetime:
    """The same moment in UTC, in which most are written."""
    return at if at.tzinfo is UTC else at.astimezone(UTC)


def read(raw: bytes) -> list[Plain] | None:
    """The events of a batch in order; None where it is none, or one that has to be looked at item by item."""
    # No character of a string is escaped then, and all can be printed: JSON has no others below the delete.
    if not raw.isascii() or b"\\" in raw or b"\x7f" in raw:
        return None
    try:
        events: list[Any] = _decode(raw)
        # A key that stands twice leaves no trace in what was read, but the text has more quotes than it needs.
        if raw.count(b'"') != _encode(events).count(b'"'):
            return None
        terminals = [named for event in events if (named := _terminal(event.source)) is not None]
        if len(terminals) < len(events):
            return None
        ids = msgspec.convert([event.id for event in events], list[UUID])
        # Each round is one object, however many events are about it: so it is quickly found to be the one before.
        rounds = {subject: msgspec.convert(subject, UUID) for subject in {event.subject for event in events}}
        return [
            Plain(
                id_,
                rounds[event.subject],
                terminal,
                _TYPE_OF[type(event)],
                utc(event.time),
                None if event.epoch is None else int(event.epoch),
                None if event.sequence is None else int(event.sequence),
                event.data,
            )
            for event, id_, terminal in zip(events, ids, terminals, strict=True)
        ]
    except (msgspec.DecodeError, OverflowError):
        return None
