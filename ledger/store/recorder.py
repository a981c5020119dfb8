"""The recorder: how `eventsourcing` writes and reads this ledger's log.

A subclass through the library's own extension points (release 9.5). The library's append takes a table lock and sends a NOTIFY in
five round trips; this one is a single statement without either, since readers do not depend on the order of commits
(`ledger.store.log`). The library's "DB functions" mode stays off: it loses events for its readers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from eventsourcing.persistence import (
    ApplicationRecorder,
    InfrastructureFactory,
    Notification,
    StoredEvent,
)
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore, PostgresFactory
from eventsourcing.utils import Environment
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from ledger.errors import Refusal
from ledger.store import log

SCHEMA = "ledger"


class Receipt(NamedTuple):
    """The verdict on one reported event, kept with the events it caused as long as they are kept."""

    terminal: str
    event_id: UUID
    fingerprint: bytes
    """SHA-256 of the reported event's canonical form."""
    sequence: int | None
    round: UUID
    first_version: int | None
    last_version: int | None
    refusal: Refusal | None
    positions: tuple[int, ...] = ()
    """Filled when a receipt is read back."""


class Occupancy(NamedTuple):
    """How an append changes which round each table has open."""

    closed: Sequence[UUID] = ()
    opened: Sequence[tuple[str, UUID]] = ()


class LedgerDatastore(PostgresDatastore):
    """The library's datastore, reached by a libpq connection string and with bounded waits."""

    def __init__(self, conninfo: str, *, pool_size: int = 8) -> None:
        # The parent builds a pool from parts; a connection string can say more (service files, TLS), so its pool is replaced
        # before it is ever opened.
        super().__init__("", "", "", "", "", schema=SCHEMA, originator_id_type="uuid")
        self.pool = ConnectionPool(  # type: ignore[assignment]  # the library's own subclass only adds a password callback
            conninfo,
            kwargs={"row_factory": dict_row, "autocommit": True, "application_name": "roundledger"},
            min_size=1,
            max_size=pool_size,
            open=False,
            configure=_bound_waits,
            timeout=10.0,
            name="ledger",
        )


def _bound_waits(conn: psycopg.Connection[Any]) -> None:
    """No statement, lock or forgotten transaction holds a terminal for longer than this (milliseconds)."""
    conn.execute(
        "SELECT set_config('lock_timeout', '5000', false), set_config('statement_timeout', '30000', false), "
        "set_config('idle_in_transaction_session_timeout', '10000', false), set_config('timezone', 'UTC', false)"
    )


_APPEND = (
    "SELECT ledger.append(%b::uuid[], %b::bigint[], %t::text[], %b::bytea[], "
    "%t::text[], %b::uuid[], %b::bytea[], %b::bigint[], %b::uuid[], %b::bigint[], %b::bigint[], %t::text[], "
    "%b::uuid[], %t::text[], %b::uuid[]) AS positions"
)

_RECEIPTS = """
SELECT t.terminal, t.event_id, t.fingerprint, t.sequence, t.round, t.first_version, t.last_version, t.refusal,
       (SELECT array_agg(e.notification_id ORDER BY e.originator_version) FROM ledger.events AS e
        WHERE e.originator_id = t.round AND e.originator_version BETWEEN t.first_version AND t.last_version) AS positions
FROM ledger.terminal_events AS t JOIN unnest(%s::text[], %s::uuid[]) AS asked(terminal, event_id) USING (terminal, event_id)
"""


class LedgerRecorder(PostgresApplicationRecorder):
    """Appends by `ledger.append`, reads by the log's horizon."""

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        receipts: Sequence[Receipt] = (),
        occupancy: Occupancy = Occupancy(),  # noqa: B008 - an immutable tuple
        **_: Any,
    ) -> list[int]:
        """Appends events, receipts and the tables' open rounds in one transaction; returns the positions in order.

        Raises the library's IntegrityError where a version, a receipt or a table's open round is already there; nothing is stored
        then. Unlike the library's method it never retries by itself: whether a lost answer was a commit is for the caller to
        find out by the receipts.
        """
        closed, opened = occupancy
        params = [
            [e.originator_id for e in stored_events],
            [e.originator_version for e in stored_events],
            [e.topic for e in stored_events],
            [e.state for e in stored_events],
            [r.terminal for r in receipts],
            [r.event_id for r in receipts],
            [r.fingerprint for r in receipts],
            [r.sequence for r in receipts],
            [r.round for r in receipts],
            [r.first_version for r in receipts],
            [r.last_version for r in receipts],
            [None if r.refusal is None else _refusal_text(r.refusal) for r in receipts],
            list(closed),
            [table for table, _ in opened],
            [round_ for _, round_ in opened],
        ]
        with self.datastore.get_connection() as conn:
            row = conn.execute(_APPEND, params, prepare=True, binary=True).fetchone()
        assert row is not None
        return list(row["positions"])

    def receipts(self, asked: Sequence[tuple[str, UUID]]) -> dict[tuple[str, UUID], Receipt]:
        """The receipts that exist among the (terminal, event id) pairs."""
        if not asked:
            return {}
        with self.datastore.get_connection() as conn:
            rows = conn.execute(_RECEIPTS, ([t for t, _ in asked], [e for _, e in asked])).fetchall()
        return {(row["terminal"], row["event_id"]): _receipt(row) for row in rows}

    def open_rounds(self, tables: Sequence[str]) -> dict[str, UUID]:
        """Table → its open round, for those of `tables` that have one."""
        with self.datastore.get_connection() as conn:
            rows = conn.execute("SELECT table_id, round FROM ledger.open_rounds WHERE table_id = ANY(%s)", (list(tables),))
            return {row["table_id"]: row["round"] for row in rows}

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """The library's reading of the log, held to the horizon so that it never skips an event either."""
        with self.datastore.get_connection() as conn, conn.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
            final = log.head(cursor)
        found: Sequence[Notification] = super().select_notifications(
            start, limit, final if stop is None else min(stop, final), topics, inclusive_of_start=inclusive_of_start
        )
        return found


def _refusal_text(refusal: Refusal) -> str:
    said = {
        "code": refusal.code,
        "detail": refusal.detail,
        "field": refusal.field,
        "value": refusal.value,
        "help": refusal.help,
        "cite": refusal.cite,
    }
    return json.dumps({key: value for key, value in said.items() if value is not None}, ensure_ascii=True)


def _receipt(row: dict[str, Any]) -> Receipt:
    said = row["refusal"]
    return Receipt(
        terminal=row["terminal"],
        event_id=row["event_id"],
        fingerprint=bytes(row["fingerprint"]),
        sequence=row["sequence"],
        round=row["round"],
        first_version=row["first_version"],
        last_version=row["last_version"],
        refusal=None if said is None else Refusal(said.pop("code"), said.pop("detail"), **said),
        positions=tuple(row["positions"] or ()),
    )


class LedgerFactory(PostgresFactory):
    """Builds the recorder on a connection string; reads nothing from the environment, so no stray variable can change the store."""

    def __init__(self, conninfo: str) -> None:
        InfrastructureFactory.__init__(self, Environment("ledger", {}))
        self.datastore = LedgerDatastore(conninfo)

    def application_recorder(self) -> ApplicationRecorder:
        """The recorder on `ledger.events`; its tables are made by `roundledger db init`, never here."""
        return LedgerRecorder(self.datastore, events_table_name="events")
