"""What drives the projections over the log: in batches, each batch's rows and position in one transaction.

The row of `positions` is locked for the length of a batch. So two runners never apply one batch twice (the second waits, then
reads where the first has come to), and a crash at any moment leaves rows and position as they were after some whole batch.

An event that a projection cannot fold stops that projection, by name and position with the reason, until `resume`; the others go
on. A batch in which something cannot be folded is halved until that one event is alone, so everything before it is folded.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, Self

import psycopg
from psycopg import sql

from ledger.errors import Refusal
from ledger.events import Event, Recorded
from ledger.store import codec, log
from ledger.store.pause import collector_paused
from ledger.store.server import UNFIT
from ledger.store.wake import Listener
from projections.tables import PROJECTIONS, Projection

Connection = psycopg.Connection[Any]

BATCH = 5000
"""Events a transaction. A batch holds a transaction id for as long as it lasts, and readers of the log's end wait for it."""

APPLICATION = "roundledger projections"
"""How the session of whoever runs the projections shows in pg_stat_activity."""
_POLL = 0.05
_POLL_IDLE = 0.4
_REST, _REST_AN_EVENT, _REST_LONGEST = 0.01, 0.0001, 0.25
"""Seconds after a batch before the next, and for each event that a projection passed in it: a stream of bets makes batches then
that are worth their transactions, and the more there is to write, the more of the processor the writer has. A tenth of a second
behind at some four thousand bets a second, it may be a third where there are more. What comes after a pause is folded at once."""
_RETRY = 0.2
_RETRY_LONGEST = 5.0
_LOCK_TIMEOUT = "5s"

_log = logging.getLogger(__name__)


def catch_up(
    conn: Connection,
    schema: str = "projection",
    limit: int | None = None,
    *,
    upto: int | None = None,
    projections: Sequence[Projection] = PROJECTIONS,
    batch: int = BATCH,
) -> int:
    """Folds what is new in the log, up to position `upto` (default: everything committed before the call).

    `limit` bounds the events that each projection takes in this call. Returns how many events were passed, added up over the
    projections; 0 means that there is nothing to do, or that what is left is stopped (see `queries.positions`). `conn` has to be
    in autocommit mode. Raises psycopg.Error where the database is gone or not as a ledger needs it, or another runner holds a
    batch for too long.
    """
    if not conn.autocommit:
        raise ValueError("catch_up commits batch by batch: it needs a connection in autocommit mode")
    if upto is None:
        upto = log.head(conn)
    followers = [_Follower(projection, schema, upto, limit, batch) for projection in projections]
    pages, going = _Pages(), followers
    while going:
        going = [follower for follower in going if follower.step(conn, pages)]
    return sum(follower.passed for follower in followers)


def resume(conn: Connection, schema: str = "projection") -> list[str]:
    """Lets every stopped projection try its event once more; returns their names. For after a new release or a repair."""
    with conn.transaction(), conn.cursor() as cursor:
        _prepare(cursor, schema)
        cursor.execute(
            "UPDATE positions SET stopped_at = NULL, stopped_by = NULL, stop_reason = NULL, updated_at = clock_timestamp() "
            "WHERE stopped_at IS NOT NULL RETURNING name"
        )
        return sorted(name for (name,) in cursor)


def wait_for(conn: Connection, position: int, timeout: float, schema: str = "projection") -> bool:
    """Waits until every projection has folded the log up to `position` or has stopped; False after `timeout` seconds.

    Somebody else has to drive them: a Runner, here or in another process.
    """
    if not position:
        return True
    there = sql.SQL("SELECT count(*) FROM {} WHERE position >= %s OR stopped_at IS NOT NULL").format(
        sql.Identifier(schema, "positions")
    )
    deadline = time.monotonic() + timeout
    while True:
        row = conn.execute(there, (position,)).fetchone()
        assert row is not None
        if row[0] >= len(PROJECTIONS):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)


class _Follower:
    """One projection on its way to `upto`, batch by batch."""

    def __init__(self, projection: Projection, schema: str, upto: int, limit: int | None, batch: int) -> None:
        self.passed = 0
        self._projection = projection
        self._schema = schema
        self._upto = upto
        self._limit = limit
        self._batch = batch
        self._size = batch

    def step(self, conn: Connection, pages: _Pages) -> bool:
        """One batch; False when there is no more to do: at `upto`, at the limit, or stopped."""
        left = self._size if self._limit is None else self._limit - self.passed
        size = min(self._size, left)
        if size <= 0:
            return False
        try:
            with collector_paused():
                more = self._apply(conn, pages, size)
        except (psycopg.OperationalError, psycopg.InterfaceError, *UNFIT):
            raise  # no event's fault
        except Exception as error:  # noqa: BLE001 - whatever a fold raises at one event is that projection's stop
            if size > 1:
                self._size = size // 2
                return True
            _stop(conn, self._projection, self._schema, error)
            return False
        self._size = min(self._batch, self._size * 2)
        return more

    def _apply(self, conn: Connection, pages: _Pages, size: int) -> bool:
        """One batch in one transaction; whether there may be more."""
        projection, upto = self._projection, self._upto
        with conn.transaction(), conn.cursor() as cursor:
            _prepare(cursor, self._schema)
            position, stopped = _claim(cursor, projection)
            if stopped or position >= upto:
                return False
            events, reached = _read(conn, projection, pages, position, size, upto)
            wanted = [recorded for recorded in events if type(recorded.body) in projection.events]
            if wanted:
                projection.apply(cursor, wanted)
            cursor.execute(
                "UPDATE positions SET position = %s, updated_at = clock_timestamp() WHERE name = %s", (reached, projection.name)
            )
        self.passed += len(events)
        return reached < upto


class _Pages:
    """The page of the log read last: projections that go along side by side read and decode it once."""

    def __init__(self) -> None:
        self._asked: tuple[int, int, int] | None = None
        self._events: list[Recorded] = []

    def read(self, conn: Connection, after: int, size: int, upto: int) -> list[Recorded]:
        """See ledger.store.log.read; `upto` has to be final, which makes a page as good later as when it was read."""
        if self._asked != (after, size, upto):
            self._events = log.read(conn, after, size, upto)
            self._asked = after, size, upto
        return self._events


def _read(
    conn: Connection, projection: Projection, pages: _Pages, after: int, size: int, upto: int
) -> tuple[list[Recorded], int]:
    """The next events and the position that they reach.

    An event that cannot be read is passed over by the projections that do not fold its kind; of an unknown kind nobody can tell.
    """
    try:
        events = pages.read(conn, after, size, upto)
    except Refusal:
        position, kind = _next(conn, after)
        if size > 1 or kind is None or kind in projection.events:
            raise
        return [], position
    # A page that is not full has reached the horizon: positions above its last event were drawn and never used.
    return events, events[-1].position if len(events) == size else upto


def _next(conn: Connection, after: int) -> tuple[int, type[Event] | None]:
    """Position and kind of the first event after a position; the kind is None where no topic of this release is its."""
    row = conn.execute(
        "SELECT notification_id, topic FROM ledger.events WHERE notification_id > %s ORDER BY notification_id LIMIT 1", (after,)
    ).fetchone()
    assert row is not None
    return row[0], codec.kind(row[1])


def _prepare(cursor: psycopg.Cursor[Any], schema: str) -> None:
    # A projection's rows and position vanish together if the machine dies before they are flushed, and are folded again: so no
    # batch waits for the disk. pg_temp stands last or a temporary table would hide the one that is meant.
    path = sql.Identifier(schema).as_string(cursor)
    cursor.execute(
        "SELECT set_config('search_path', %s, true), set_config('synchronous_commit', 'off', true), "
        "set_config('lock_timeout', %s, true)",
        (path if schema == "pg_temp" else f"{path}, pg_temp", _LOCK_TIMEOUT),
    )


def _claim(cursor: psycopg.Cursor[Any], projection: Projection) -> tuple[int, bool]:
    """Locks the projection to this transaction: its position, and whether it is stopped."""
    statement = "SELECT position, stopped_at IS NOT NULL FROM positions WHERE name = %s FOR UPDATE"
    row = cursor.execute(statement, (projection.name,)).fetchone()
    if row is None:
        cursor.execute("INSERT INTO positions (name) VALUES (%s) ON CONFLICT DO NOTHING", (projection.name,))
        row = cursor.execute(statement, (projection.name,)).fetchone()
        assert row is not None
    position, stopped = row
    return position, stopped


def _stop(conn: Connection, projection: Projection, schema: str, error: Exception) -> None:
    """Stops the projection at its next event."""
    reason = f"{error}; {error.help}" if isinstance(error, Refusal) else f"{type(error).__name__}: {error}"
    with conn.transaction(), conn.cursor() as cursor:
        _prepare(cursor, schema)
        position, stopped = _claim(cursor, projection)
        if stopped:
            return
        at, _ = _next(conn, position)
        cursor.execute(
            "UPDATE positions SET stopped_at = clock_timestamp(), stopped_by = %s, stop_reason = %s, "
            "updated_at = clock_timestamp() WHERE name = %s",
            (at, reason, projection.name),
        )
    known = isinstance(error, Refusal)  # of what the code foresaw its words say all; where it did not, a trace says where
    _log.error("projection %s stopped at position %d: %s", projection.name, at, reason, exc_info=None if known else error)


class Runner:
    """Follows the log in a thread of its own, until stopped; survives a database that goes away and comes back.

    `with Runner(dsn): …`, or `start()` and `stop()`. Woken by the appends of any process, and polls, so that nothing depends on a
    wake-up that may be lost; `wake()` is the short way for a writer of the same process. A start lets stopped projections try
    once more: it comes after a repair.
    """

    def __init__(self, dsn: str, *, schema: str = "projection", poll: float = _POLL) -> None:
        self._dsn = dsn
        self._schema = schema
        self._poll = poll
        self._awake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread."""
        assert self._thread is None, "a runner starts once"
        self._thread = threading.Thread(target=self.run, name="projections", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Says that there is something new in the log. Cheap; from any thread."""
        self._awake.set()

    def stop(self, timeout: float = 10.0) -> None:
        """Ends the loop after its current batch and waits for it, `timeout` seconds at most."""
        self._stopping.set()
        self._awake.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(self) -> None:
        """The loop itself, for a process that does nothing else; returns after `stop`."""
        with Listener(self._dsn, self.wake):
            self._run()

    def _run(self) -> None:
        resumed, pause = False, _RETRY
        while not self._stopping.is_set():
            try:
                with psycopg.connect(self._dsn, autocommit=True, application_name=APPLICATION) as conn:
                    if not resumed:
                        for name in resume(conn, self._schema):
                            _log.warning("projection %s tries the event that stopped it once more", name)
                        resumed = True
                    pause = _RETRY
                    self._tail(conn)
            except Exception as error:  # noqa: BLE001 - the loop is the last one to hear of it
                _log.warning("projections try again in %.1f s: %s", pause, error)
                self._stopping.wait(pause)
                pause = min(pause * 2, _RETRY_LONGEST)

    def _tail(self, conn: Connection) -> None:
        tail, reached, wait = log.Tail(), 0, self._poll
        while True:
            self._awake.clear()
            if self._stopping.is_set():
                return
            waited = tail.waiting
            upto = tail.final(conn)
            if upto > reached:
                # Who passes less than it may has come to the end: nobody asks a second time after a handful of bets.
                while (passed := catch_up(conn, self._schema, BATCH, upto=upto)) >= BATCH and not self._stopping.is_set():
                    pass
                reached, wait = upto, self._poll
                self._stopping.wait(min(_REST + passed * _REST_AN_EVENT, _REST_LONGEST))
            # A wake-up that came while an older transaction was being waited for is spent, and nobody wakes when that one ends.
            self._awake.wait(min(wait, _POLL) if waited or tail.waiting else wait)
            wait = min(wait * 2, max(self._poll, _POLL_IDLE))
