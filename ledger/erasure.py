"""As what players are shown: an erased reference gives way to the pseudonym that its erasure drew (docs/adr/0023).

The log keeps what was recorded. Whoever shows something of it, or folds it into tables that are shown, looks at events through
`veiled`: amounts, ids and times are as they were, and who was one player stays one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args
from uuid import UUID

import msgspec

from ledger.events import Event, PlayerErased, Recorded
from ledger.reports import PLAYERS_STREAM
from ledger.store import codec

if TYPE_CHECKING:
    import psycopg  # which an audit of an export has no use for

Names = Mapping[str, str]
"""Erased reference → what is shown in its place."""
NOBODY: Names = {}

NAMING = ("player", "shooter")
"""The fields of events that hold a player's reference."""

Said = TypeVar("Said", bound=msgspec.Struct)

_ERASED = """
SELECT topic, state FROM ledger.events
WHERE originator_id = %s AND topic = %s AND (%s::bigint IS NULL OR notification_id <= %s) ORDER BY originator_version
"""


def names(conn: psycopg.Connection[Any] | psycopg.Cursor[Any], upto: int | None = None) -> Names:
    """The erased references by the log, up to a position or as far as it goes."""
    rows = conn.execute(_ERASED, (PLAYERS_STREAM, PlayerErased.TOPIC, upto, upto)).fetchall()
    return names_of(codec.decode(topic, bytes(state)) for topic, state in rows)


def names_of(events: Iterable[Event]) -> Names:
    """The references that these events erase."""
    return {body.player: body.shown for body in events if isinstance(body, PlayerErased)}


def stream(conn: psycopg.Connection[Any], stream_id: UUID) -> list[Recorded]:
    """All events of one stream as they are shown, oldest first; empty where there is none."""
    from ledger.store import log

    erased = names(conn)
    return [shown(each, erased) for each in log.stream(conn, stream_id)]


def shown(recorded: Recorded, erased: Names) -> Recorded:
    """The event as it is shown."""
    if not erased:
        return recorded
    body = veiled(recorded.body, erased)
    return recorded if body is recorded.body else Recorded(recorded.position, recorded.stream, recorded.version, body)


def veiled(body: Said, erased: Names) -> Said:
    """An event, or a part of one, with what is shown in the place of erased references; the very same where it names none."""
    changed: dict[str, Any] = {}
    parts = _parts(type(body))
    for name in parts.naming:
        value = getattr(body, name)
        if value in erased:
            changed[name] = erased[value]
    for name in parts.single:
        value = getattr(body, name)
        if value is not None and (seen := veiled(value, erased)) is not value:
            changed[name] = seen
    for name in parts.several:
        values = getattr(body, name)
        seen_all = tuple(veiled(value, erased) for value in values)
        if any(after is not before for after, before in zip(seen_all, values, strict=True)):
            changed[name] = seen_all
    return msgspec.structs.replace(body, **changed) if changed else body


def in_words(text: str, erased: Names) -> str:
    """A sentence or an account's name with what is shown in the place of erased references, where they stand as whole words."""
    return _WORD.sub(lambda word: erased.get(word[0], word[0]), text) if erased else text


_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:-]*[A-Za-z0-9_])?")
"""A reference as it stands in a sentence, without the point at its end."""


class _Parts(NamedTuple):
    """The fields of a kind of event that hold players' references, or structs that do."""

    naming: tuple[str, ...]
    single: tuple[str, ...]
    several: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.naming or self.single or self.several)


@cache
def _parts(kind: type[msgspec.Struct]) -> _Parts:
    naming: list[str] = []
    single: list[str] = []
    several: list[str] = []
    for field in msgspec.structs.fields(kind):
        if field.name in NAMING:
            naming.append(field.name)
            continue
        for of in (field.type, *get_args(field.type)):
            if isinstance(of, type) and issubclass(of, msgspec.Struct) and _parts(of):
                (several if getattr(field.type, "__origin__", None) is tuple else single).append(field.name)
    return _Parts(tuple(naming), tuple(single), tuple(several))
