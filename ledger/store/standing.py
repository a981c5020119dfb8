"""Where the log stands: its last position, whether its end is final, and whom readers wait for."""

from __future__ import annotations

import time
from typing import Any, LiteralString

import msgspec
import psycopg

from ledger.store import log
from ledger.store.server import session

Connection = psycopg.Connection[Any]


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that is writing, somewhere in the cluster. Readers of any log in it wait for the oldest one."""

    session: str
    """`process 123`, or the name of a prepared transaction."""
    database: str
    user: str
    application: str
    state: str
    seconds: float


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where the log stands."""

    drawn: str
    """The last position that was drawn."""
    stored: str
    """The highest position that can be seen; "0" where the log is empty."""
    final: bool
    """Whether all up to `drawn` is final, so that readers are at the end."""
    waited: float
    """Seconds until it was, or for which was waited in vain."""
    oldest: Writing | None
    """The oldest transaction that was writing when it was asked."""


def standing(dsn: str, *, wait: float = 1.0) -> Standing:
    """Where the log at `dsn` stands; asks for `wait` seconds at most."""
    with session(dsn) as conn:
        oldest = oldest_writing(conn)
        tail, began = log.Tail(), time.monotonic()
        drawn = log.drawn(conn)
        while (final := tail.final(conn)) < drawn and time.monotonic() - began < wait:
            time.sleep(0.005)
        stored = _one(conn, "SELECT coalesce(max(notification_id), 0) FROM ledger.events")
        waited = time.monotonic() - began
        return Standing(drawn=str(drawn), stored=str(stored), final=final >= drawn, waited=waited, oldest=oldest)


def oldest_writing(conn: Connection) -> Writing | None:
    """The transaction of the cluster that has been writing for longest, our own apart."""
    row = conn.execute(
        """
        SELECT * FROM (
            SELECT 'process ' || pid, datname, usename, application_name, state, backend_xid AS xid, xact_start
            FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
            UNION ALL
            SELECT 'prepared transaction ' || gid, database, owner, '', 'prepared', transaction, prepared FROM pg_prepared_xacts
        ) AS writing ORDER BY age(xid) DESC LIMIT 1
        """
    ).fetchone()
    if row is None:
        return None
    name, database, user, application, state, _, since = row
    seconds = _one(conn, "SELECT extract(epoch FROM clock_timestamp() - %s)::float8", since)
    return Writing(
        session=name,
        database=database or "",
        user=user or "",
        application=application or "",
        state=state or "",
        seconds=max(0.0, seconds or 0.0),
    )


def _one(conn: Connection, query: LiteralString, *params: object) -> Any:
    row = conn.execute(query, params).fetchone()
    assert row is not None
    return row[0]
