"""Reading the log so that no event is ever missed, however many writers there are.

The hazard: positions are drawn while transactions run, and a transaction that drew 7 may commit after one that drew 8. A reader
that has seen 8 and goes on from there never sees 7. Holding a lock from the draw to the commit would cure it and make all writers
wait for each other's flush. This log is read up to a horizon instead:

1. A transaction takes its transaction id before it draws its first position (the column's default sees to it).
2. A reader asks for the last position drawn, H, and only then takes a transaction id of its own, F. Ids are given out in order,
   and whoever drew a position up to H had its id by then: it is below F. H must never be a position that nobody has drawn yet,
   which is what a scan of the sequence shows now and then: see `ledger.drawn` in the migrations.
3. When the oldest transaction still running has reached F, every transaction with an id below F has ended: what it drew up to H
   is visible if it committed, and will never be if it did not.
4. So everything at or below H is final. The reader delivers up to H, in order, and no further.

Draws above H are the business of a later horizon. When no other transaction is writing, 3 holds at once, in the same round trip;
when nothing new was drawn, not even an id is taken.
"""

from __future__ import annotations

import hashlib
import re
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg import sql

from ledger.errors import Refusal
from ledger.events import Recorded
from ledger.store import codec

Connection = psycopg.Connection[Any] | psycopg.Cursor[Any]
"""Anything that executes a statement and gives tuple rows."""


class Tail:
    """The horizon of one reader over one connection. Keep it: it remembers the fence at which it waits between calls.

    Over another connection it starts anew. A server that crashed gives the ids and positions again that it had not flushed, so
    a fence from before the crash says nothing afterwards; and no connection outlives a crash.
    """

    def __init__(self, *, schema: str = "ledger") -> None:
        self._horizon = _horizon(schema)
        self._session: Callable[[], object] = lambda: None
        self._final = 0
        self._waiting: tuple[int, int] | None = None

    @property
    def waiting(self) -> bool:
        """Whether the last answer stood still for a transaction older than its question: worth asking again soon."""
        return self._waiting is not None

    def final(self, conn: Connection) -> int:
        """The highest position up to which everything is final; never waits.

        It stands still while a writing transaction older than the last question is running, in any database of the cluster.
        `conn` must not be inside a transaction that has written. What a reader keeps across connections is the position of the
        last event it was given, never this: positions that nobody came to use may be used after a crash.
        """
        session = conn.connection if isinstance(conn, psycopg.Cursor) else conn
        if self._session() is not session:
            self._session, self._final, self._waiting = weakref.ref(session), 0, None
        if self._waiting is None:
            up_to, fence, oldest = _asked(conn, self._horizon, self._final)
            if fence is None:
                return self._final
            self._waiting = (up_to, fence)
        else:
            oldest = _oldest(conn)
        up_to, fence = self._waiting
        if oldest >= fence:
            self._final, self._waiting = up_to, None
        return self._final


def head(conn: Connection, *, timeout: float = 10.0) -> int:
    """The position up to which the log is final, at or above all that was committed before the call.

    Waits for older writing transactions to end, `timeout` seconds at most, then raises Refusal LGR-0505. `conn` must not be
    inside a transaction that has written.
    """
    up_to, fence, oldest = _asked(conn, _horizon("ledger"), 0)
    deadline = time.monotonic() + timeout
    while fence is not None and oldest < fence:
        if time.monotonic() > deadline:
            raise Refusal(
                "LGR-0505",
                f"a transaction older than {fence} has been writing for {timeout:g} s; the log's end is not final yet",
                help="see pg_stat_activity for a session that is idle in transaction",
            )
        time.sleep(0.002)
        oldest = _oldest(conn)
    return up_to


def last(conn: Connection) -> int:
    """The position of the last event that can be seen now, 0 in an empty log.

    It shows how far a reader is behind; to read up to it is to miss events, for below it some may still appear.
    """
    row = conn.execute("SELECT coalesce(max(notification_id), 0) FROM ledger.events").fetchone()
    assert row is not None
    return int(row[0])


def drawn(conn: Connection) -> int:
    """The last position that was ever given out, whatever became of it."""
    row = conn.execute("SELECT ledger.drawn()").fetchone()
    assert row is not None
    return int(row[0])


def age(conn: psycopg.Connection[Any], position: int) -> float | None:
    """Seconds since the first event after a position was received; 0 where there is none, None where it cannot be read."""
    try:
        with conn.transaction():
            row = conn.execute(
                "SELECT extract(epoch FROM clock_timestamp() - coalesce(body->>'received_at', body->>'recorded_at')::timestamptz)"
                "::float8 FROM ledger.log WHERE position > %s ORDER BY position LIMIT 1",
                (position,),
            ).fetchone()
    except (psycopg.DataError, psycopg.errors.ProgramLimitExceeded, psycopg.errors.StatementTooComplex):
        return None
    if row is None:
        return 0.0
    return None if row[0] is None else max(0.0, float(row[0]))


def verify_sequence(conn: Connection) -> None:
    """Whether the positions that will be drawn are free. Raises Refusal LGR-0525 where the sequence is behind the log."""
    stored = last(conn)  # first: whoever appends meanwhile draws before anybody sees it
    if (given := drawn(conn)) < stored:
        raise Refusal(
            "LGR-0525",
            f"the sequence ledger.positions is at {given}, and the log goes up to position {stored}",
            help=f"with nothing running: SELECT setval('ledger.positions', {stored}); then roundledger verify",
        )


@cache
def _horizon(schema: str) -> str:
    asked = sql.SQL("SELECT up_to, fence::text::bigint, oldest::text::bigint FROM {}.horizon(%s)")
    return asked.format(sql.Identifier(schema)).as_string()


def _asked(conn: Connection, horizon: str, known: int) -> tuple[int, int | None, int]:
    row = conn.execute(horizon, (known,)).fetchone()
    assert row is not None
    up_to, fence, oldest = row
    return up_to, fence, oldest


def _oldest(conn: Connection) -> int:
    row = conn.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint").fetchone()
    assert row is not None
    return int(row[0])


_CURSOR = re.compile(r"([0-9]{1,18})\.([0-9a-f-]{36})\.([0-9]{1,18})\.([0-9a-f]{16})")


class Cursor(NamedTuple):
    """What a reader has read last. Names the event, not only its position, so that a log restored to an earlier point shows.

    As text: `1234.0193a0c2-….7.1f9c02b7d4e8a356` (position, stream, version, digest). A reader that has read nothing yet has no
    cursor. The digest is there for a restored log to which terminals sent again what it had lost: it may have the same round's
    event at the same position, but not one that was received at the same time, and so not the same events before it either.
    """

    position: int
    stream: UUID
    version: int
    digest: str
    """The first 64 bits of the SHA-256 of the payload, in hex."""

    def __str__(self) -> str:
        return f"{self.position}.{self.stream}.{self.version}.{self.digest}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The cursor that `text` writes. Raises Refusal LGR-0108 where it is none."""
        try:
            match = _CURSOR.fullmatch(text)
            if match is None:
                raise ValueError("it has a position, a stream, a version and a digest, with points between")
            position, stream, version, digest = match.groups()
            return cls(int(position), UUID(stream), int(version), digest)
        except ValueError as error:
            raise Refusal("LGR-0108", f"not a cursor: {error}", field="cursor", value=text) from None


def resume(conn: Connection, cursor: Cursor) -> int:
    """The position after which the reader goes on.

    Raises Refusal LGR-0522 where the log holds another event there, or none: it was restored to an earlier point, and what the
    reader has seen beyond that point is no longer in it.
    """
    row = conn.execute(
        "SELECT originator_id, originator_version, state FROM ledger.events WHERE notification_id = %s", (cursor.position,)
    ).fetchone()
    if row is None or (row[0], row[1], _digest(row[2])) != cursor[1:]:
        raise Refusal(
            "LGR-0522",
            f"the log {'has another event' if row else 'has no event'} at position {cursor.position}",
            field="cursor",
            value=str(cursor),
            help="the log was restored to an earlier point: read again from a position before that",
        )
    return cursor.position


_SELECT = "SELECT notification_id, originator_id, originator_version, topic, state FROM ledger.events "


def read(conn: Connection, after: int, limit: int, upto: int | None = None) -> list[Recorded]:
    """Events after position `after`, at most `limit` of them, in order; up to `upto`, which must be final.

    Without `upto` the log's end is asked first (`head`), so nothing is ever skipped. Raises Refusal LGR-0504 at an event that
    cannot be read.
    """
    if upto is None:
        upto = head(conn)
    cursor = conn.execute(
        _SELECT + "WHERE notification_id > %s AND notification_id <= %s ORDER BY notification_id LIMIT %s",
        (after, upto, limit),
        binary=True,
    )
    return list(map(_recorded, cursor))


def read_all(conn: Connection, after: int = 0, upto: int | None = None, page: int = 5000) -> Iterator[Recorded]:
    """Every event after `after` up to `upto` (default: the log's end now), in pages: memory does not grow with the log."""
    if upto is None:
        upto = head(conn)
    while events := read(conn, after, page, upto):
        yield from events
        after = events[-1].position


def has_since(conn: Connection, after: int, topics: Sequence[str]) -> bool:
    """Whether an event under one of these topics can be seen after position `after`."""
    row = conn.execute(
        "SELECT FROM ledger.events WHERE notification_id > %s AND topic = ANY (%s) LIMIT 1", (after, list(topics))
    ).fetchone()
    return row is not None


def has_round_at(conn: Connection, table: str) -> bool:
    """Whether a round was ever opened at a table; goes through all openings where none was."""
    row = conn.execute(
        "SELECT FROM ledger.events WHERE topic LIKE 'RoundOpened.%%' "
        "AND convert_from(state, 'UTF8')::jsonb ->> 'table' = %s LIMIT 1",
        (table,),
    ).fetchone()
    return row is not None


class Key(NamedTuple):
    """An event without its payload."""

    position: int
    stream: UUID
    version: int
    topic: str
    size: int
    """Bytes of its payload."""


def keys(conn: Connection, after: int, limit: int, upto: int) -> list[Key]:
    """As `read`, without the payloads: for whoever wants few of the events."""
    rows = conn.execute(
        "SELECT notification_id, originator_id, originator_version, topic, octet_length(state) FROM ledger.events "
        "WHERE notification_id > %s AND notification_id <= %s ORDER BY notification_id LIMIT %s",
        (after, upto, limit),
        binary=True,
    )
    return [Key(*row) for row in rows]


def at(conn: Connection, positions: Sequence[int]) -> list[Recorded]:
    """The events at these positions, in order. Raises Refusal LGR-0504 at one that cannot be read."""
    return list(map(_recorded, _at(conn, positions)))


def marked(conn: Connection, positions: Sequence[int], passed: int) -> tuple[list[tuple[Recorded, Cursor]], Cursor]:
    """The events at these positions, in order, each with the cursor of a reader that has just read it; and the cursor of one that
    has passed the event at `passed`, the last of these positions or one beyond.

    Ends before an event that cannot be read; raises Refusal LGR-0504 where that is the first.
    """
    wanted = frozenset(positions)
    found: list[tuple[Recorded, Cursor]] = []
    for row in _at(conn, [*positions, passed]):
        position, stream_id, version, _, state = row
        cursor = Cursor(position, stream_id, version, _digest(state))
        if position not in wanted:
            return found, cursor
        try:
            found.append((_recorded(row), cursor))
        except Refusal:
            if not found:
                raise
            break
    return found, found[-1][1]


def _at(conn: Connection, positions: Sequence[int]) -> Iterable[tuple[int, UUID, int, str, bytes]]:
    return conn.execute(_SELECT + "WHERE notification_id = ANY(%s) ORDER BY notification_id", (list(positions),), binary=True)


def _digest(state: bytes) -> str:
    return hashlib.sha256(state).hexdigest()[:16]


def stream(conn: Connection, stream_id: UUID) -> list[Recorded]:
    """All events of one stream, oldest first; empty where there is none."""
    cursor = conn.execute(_SELECT + "WHERE originator_id = %s ORDER BY originator_version", (stream_id,), binary=True)
    return list(map(_recorded, cursor))


def _recorded(row: tuple[int, UUID, int, str, bytes]) -> Recorded:
    position, stream_id, version, topic, state = row
    return Recorded(position, stream_id, version, codec.decode(topic, state, " at position %d", position))
