"""The log in pages, as whoever follows it reads it: from a cursor on, up to the horizon, through a filter.

A page looks at some thousand events and holds some hundred; what is filtered out moves the cursor on as well, so that nobody has
to look at it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, TypeVar

import msgspec
import psycopg
from psycopg_pool import ConnectionPool

from ledger.errors import Refusal
from ledger.feed.envelope import NOWHERE, Envelope, envelope
from ledger.feed.horizon import Horizon
from ledger.feed.places import Places
from ledger.feed.wanted import ALL, Wanted
from ledger.store import log, waits
from ledger.store.log import Cursor, Key

T = TypeVar("T")

Mark = Cursor | int
"""After what somebody reads on: the event read last; or a mere position, of which it cannot be told whether it was restored."""

PAGE = 500
"""Events of a page where nobody asks for fewer."""
PAGE_MOST = 1000
PAGE_BYTES = 1 << 20
"""Bytes of payload after which a page is full; it holds one event, however large."""
SCAN = 5000
"""Events that are looked at for one page."""
_CONNECTIONS = 4
_STATEMENT_SECONDS = 10


class Item(NamedTuple):
    """An event, and the cursor of whoever has read it."""

    cursor: Cursor
    event: Envelope

    @property
    def message(self) -> str:
        """An id for a message that holds it: position and digest, so that no other event of any restored log has it."""
        return f"evt_{self.cursor.position}_{self.cursor.digest}"

    def json(self, most: int | None = None) -> bytes:
        """The event in structured mode, on one line.

        One of more than `most` bytes comes without its data, and says where that is (the extension `dataref` of CloudEvents).
        """
        whole = msgspec.json.encode(self.event)
        if most is None or len(whole) <= most:
            return whole
        thin = {name: value for name, value in msgspec.to_builtins(self.event).items() if name not in ("data", "datacontenttype")}
        return msgspec.json.encode(thin | {"dataref": f"/v1/feed?after={self.cursor.position - 1}&limit=1"})


class Page(NamedTuple):
    """Some events in order."""

    items: Sequence[Item]
    cursor: Mark
    """Where the next page begins: behind what was looked at, wanted or not."""
    more: bool
    """Whether the next page may have something now."""


def mark(text: str, field: str) -> Mark:
    """The cursor or position that is written so. Raises Refusal LGR-0108."""
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    try:
        return Cursor.parse(text)
    except Refusal as refusal:
        raise Refusal(
            "LGR-0108", refusal.detail, field=field, value=text, help="a position such as 0, or a cursor as the feed gives it"
        ) from None


def position_of(mark: Mark) -> int:
    """The position after which to read."""
    return mark if isinstance(mark, int) else mark.position


class Source:
    """Where the pages come from: one database, for the length of its `with`. Calls block; from any thread."""

    def __init__(self, dsn: str) -> None:
        self.horizon = Horizon(dsn)
        self._places = Places()
        self._pool = ConnectionPool(
            waits.patient(dsn),
            min_size=0,
            max_size=_CONNECTIONS,
            timeout=waits.POOL,
            reconnect_timeout=waits.RECONNECT,
            reconnect_failed=ConnectionPool.check,
            configure=_configure,
            check=ConnectionPool.check_connection,
            kwargs={"autocommit": True, "application_name": "roundledger feed"},
            open=False,
            name="ledger-feed",
        )

    def __enter__(self) -> Self:
        self._pool.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.horizon.close()
        self._pool.close()

    def verify(self, after: Mark) -> None:
        """Raises Refusal LGR-0522 where the log does not hold what was read so far."""
        with self._pool.connection() as conn:
            verify(conn, after)

    def page(self, after: Mark, wanted: Wanted = ALL, limit: int = PAGE, *, patience: float = 0.0) -> Page:
        """The events behind `after`, with all that were committed before the call unless a transaction that is older than one of
        them goes on for more than `patience` seconds.

        Raises Refusal LGR-0522 where the log does not hold what was read so far, LGR-0504 at an event that cannot be read, and
        psycopg.OperationalError or PoolTimeout where the database does not answer.
        """
        upto = self.horizon.head(patience)
        with self._pool.connection() as conn:
            verify(conn, after)
            return read(conn, self._places, after, upto, wanted, limit)

    def write(self, change: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Has `change` write down how far somebody has come. It may be lost with the server: then it is read once more."""
        with self._pool.connection() as conn:
            conn.execute("SET synchronous_commit = off")
            return change(conn)


def read(conn: psycopg.Connection[Any], places: Places, after: Mark, upto: int, wanted: Wanted, limit: int) -> Page:
    """As `Source.page`, up to `upto`, which is final."""
    scan = limit if wanted == ALL else SCAN
    keys = log.keys(conn, position_of(after), scan, upto)
    if not keys:
        return Page((), after, more=False)
    likely = [key for key in keys if wanted.takes_key(key.topic, key.stream)]
    found = dict(zip((key.position for key in likely), places.of(conn, likely), strict=True))
    chosen, passed = _bounded([key for key in likely if wanted.takes_place(found[key.position])], keys, limit)
    events, last = log.marked(conn, [key.position for key in chosen], passed.position)
    items = [Item(cursor, envelope(recorded, found[recorded.position] or NOWHERE)) for recorded, cursor in events]
    return Page(items, last, more=last.position != keys[-1].position or len(keys) == scan)


def _bounded(chosen: Sequence[Key], keys: Sequence[Key], limit: int) -> tuple[Sequence[Key], Key]:
    """As many as a page holds, and the last that was looked at for it."""
    size = 0
    for n, key in enumerate(chosen):
        if n == limit or (n and size + key.size > PAGE_BYTES):
            return chosen[:n], chosen[n - 1]
        size += key.size
    return chosen, keys[-1]


def end(conn: psycopg.Connection[Any]) -> Mark:
    """The cursor of whoever has read all that was committed before the call. Raises Refusal LGR-0505 as `log.head` does."""
    row = conn.execute("SELECT max(notification_id) FROM ledger.events WHERE notification_id <= %s", (log.head(conn),)).fetchone()
    return 0 if row is None or row[0] is None else log.marked(conn, [], row[0])[1]


def verify(conn: psycopg.Connection[Any], after: Mark) -> None:
    """Raises Refusal LGR-0522 where the log does not hold what was read so far."""
    if isinstance(after, Cursor):
        log.resume(conn, after)
    elif after > (end := log.drawn(conn)):
        raise Refusal(
            "LGR-0522",
            f"the log ends at position {end}",
            field="after",
            value=str(after),
            help="the log was restored to an earlier point, or the position is another log's: read again from an earlier one",
        )


def _configure(conn: psycopg.Connection[Any]) -> None:
    conn.execute(f"SET statement_timeout = '{_STATEMENT_SECONDS}s'")
