"""The recorder: how `eventsourcing` writes and reads this ledger's log.

A subclass through the library's own extension points (release 9.5). The library's append takes a table lock and sends a NOTIFY in
five round trips; this one is a single statement without either, since readers do not depend on the order of commits
(`ledger.store.log`). The library's "DB functions" mode stays off: it loses events for its readers.
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from types import MappingProxyType
from typing import Any, NamedTuple, cast
from uuid import UUID

import msgspec
import psycopg
from eventsourcing.persistence import (
    ApplicationRecorder,
    DatabaseError,
    DataError,
    InfrastructureFactory,
    IntegrityError,
    InterfaceError,
    Notification,
    OperationalError,
    PersistenceError,
    StoredEvent,
    Subscription,
)
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore, PostgresFactory
from eventsourcing.utils import Environment
from psycopg.rows import dict_row, tuple_row
from psycopg_pool import ConnectionPool

from ledger.errors import Refusal
from ledger.events import Event
from ledger.store import codec, log, session, waits
from ledger.store.pause import collector_paused
from ledger.store.session import Session
from ledger.store.subscription import LogSubscription
from ledger.store.wake import Bell

SCHEMA = "ledger"
_NOT_THE_LIBRARYS = (struct.error, psycopg.Error)
_INT8 = psycopg.postgres.types["int8"].oid
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A report's hold on its event id, stored on the first event that it caused."""

    event_id: UUID
    fingerprint: bytes
    """The first 128 bits of the SHA-256 of the report's canonical form."""
    caused: int
    """How many events the report brought about, from that one on."""


class Rejection(NamedTuple):
    """The final verdict on a report that caused no event."""

    event_id: UUID
    terminal: str
    epoch: int | None
    sequence: int | None
    round: UUID
    fingerprint: bytes
    refusal: Refusal


class Receipt(NamedTuple):
    """What the log says of a report: accepted, with the positions of what it caused, or rejected, with the reason."""

    fingerprint: bytes
    round: UUID
    positions: tuple[int, ...]
    refusal: Refusal | None


class Occupancy(NamedTuple):
    """How an append changes which round each table has open."""

    closed: Sequence[UUID] = ()
    opened: Sequence[tuple[str, UUID]] = ()


UNCHANGED = Occupancy()
"""Of an append that changes none of it."""


class Closing(NamedTuple):
    """A gaming day that an append closes: nothing may come to it meanwhile."""

    property: str
    gaming_day: date
    as_of: int
    """The position up to which its figures were read."""


class Hindrance(NamedTuple):
    """What keeps a gaming day from being closed."""

    what: str
    """`open`: a round of it, or of a day before, is not settled. `later`: something came to it after its figures were read.
    `ahead`: its figures claim to be read up to a position that the log does not have yet."""
    stream: UUID | None
    """The round; of what is later its stream."""
    table: str | None
    position: int | None
    """Of what is later; of what is ahead, where the log ends."""


class LeaseLost(IntegrityError):
    """The append named an epoch that has passed: another process has taken the table since. Nothing was stored."""


class SequenceBehind(DatabaseError):
    """The position that was drawn is taken: the sequence was set back. Nothing was stored, and to decide again does not help."""

    def __init__(self) -> None:
        super().__init__("the sequence ledger.positions gives positions that the log has already")


class Occupied(Exception):
    """Tables that were to be without a round have one open."""

    def __init__(self, rounds: Mapping[str, UUID]) -> None:
        super().__init__(*rounds)
        self.rounds = rounds
        """Table → its open round."""


class WouldWait(BaseException):
    """The database would have to be asked by a caller who may not wait for it; nothing was asked.

    No Exception: it says nothing of what was to be done, and whoever handles whatever goes wrong has not to do with it.
    """


class LedgerDatastore(PostgresDatastore):
    """The library's datastore, reached by a libpq connection string and with bounded waits."""

    def __init__(self, conninfo: str, *, pool_size: int = 8) -> None:
        # The parent builds a pool from parts; a connection string can say more (service files, TLS), so its pool is replaced
        # before it is ever opened.
        super().__init__("", "", "", "", "", schema=SCHEMA, originator_id_type="uuid")
        self.pool = ConnectionPool(  # type: ignore[assignment]  # the library's own subclass only adds a password callback
            waits.patient(conninfo),
            kwargs={"row_factory": dict_row, "autocommit": True, "application_name": "roundledger"},
            min_size=1,
            max_size=pool_size,
            open=False,
            configure=waits.bound,
            check=waits.alive,
            timeout=waits.POOL,
            reconnect_timeout=waits.RECONNECT,
            reconnect_failed=ConnectionPool.check,
            name="ledger",
        )
        self.appends = Session(waits.patient(conninfo), _STATEMENTS, waits.bound, "roundledger append")
        self.bell = Bell(waits.patient(conninfo))
        self.conninfo = conninfo
        self._callers = threading.local()

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """In the block, in this thread, nobody is kept waiting: whoever would ask the database raises WouldWait."""
        self._callers.hurried = True
        try:
            yield
        finally:
            self._callers.hurried = False

    @property
    def may_wait(self) -> bool:
        """Whether the caller may wait for the database."""
        return not getattr(self._callers, "hurried", False)

    def verify_may_wait(self) -> None:
        """Raises WouldWait where the caller may not."""
        if not self.may_wait:
            raise WouldWait

    def close(self) -> None:
        """Closes all its connections."""
        self.appends.close()
        self.bell.close()
        super().close()

    @contextmanager
    def get_connection(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        """A connection of the pool, with the library's errors. Where it turns out to be dead, all others are looked at too: a
        database that was away costs one failure and not one for each."""
        self.verify_may_wait()
        conn = None
        try:
            with super().get_connection() as conn:
                yield conn
        except (OperationalError, InterfaceError):
            if conn is not None and conn.closed:
                self.appends.close()
                self.pool.check()
            raise


_APPEND_ONE = b"append one"
"""The commonest append by far, a bet: half the server's work of the general one."""
_APPEND = b"append"
_APPEND_ON_PREMISES = b"append on premises"
_APPEND_CLOSING = b"append closing"
_HELD = b"held"
_CALL = b"""ledger.append($1::text[], $2::bigint[],
                     $3::uuid[], $4::bigint[], $5::text[], $6::bytea[], $7::uuid[], $8::integer[], $9::bytea[],
                     $10::uuid[], $11::text[], $12::uuid[],
                     $13::uuid[], $14::text[], $15::bigint[], $16::bigint[], $17::uuid[], $18::bytea[], $19::text[],
                     $20::uuid[], $21::bigint[])"""
_STATEMENTS = {
    _APPEND_ONE: b"""
INSERT INTO ledger.events (originator_id, originator_version, topic, state, cause, caused, fingerprint)
SELECT $1::uuid, $2::bigint, $3::text, $4::bytea, $5::uuid, $6::integer, $7::bytea
FROM ledger.leases WHERE table_id = $8::text AND epoch = $9::bigint
AND NOT EXISTS (SELECT FROM ledger.rejections WHERE event_id = $5)
RETURNING notification_id
""",
    _APPEND: b"SELECT " + _CALL,
    # The lock is had before the function looks: each of its statements sees what was committed when that statement began.
    _APPEND_ON_PREMISES: b"""
WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(hashtextextended('round-ledger premises', 0)))
SELECT """
    + _CALL
    + b" FROM locked",
    # Whoever posts to a day names the stream of days as a premise: all of them come before this, or see that the day is closed.
    _APPEND_CLOSING: b"""
WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended('round-ledger premises', 0))),
     free AS MATERIALIZED (SELECT ledger.verify_closing($22::text, $23::text::date, $24::bigint) FROM locked)
SELECT """
    + _CALL
    + b" FROM free",
    _HELD: b"SELECT FROM ledger.leases WHERE table_id = $1::text AND epoch = $2::bigint",
}

_HAPPENED = """
SELECT originator_version, topic, state FROM ledger.events
WHERE originator_id = %s AND originator_version > %s ORDER BY originator_version LIMIT %s
"""

# What a report brought about may lie in two streams, and events of others in between: each names the report that caused it.
_RECEIPTS = """
SELECT e.cause AS event_id, e.fingerprint, e.originator_id AS round, NULL::jsonb AS refusal,
       CASE WHEN e.caused = 1 THEN ARRAY[e.notification_id] ELSE ARRAY(
           SELECT c.notification_id FROM ledger.events AS c
           WHERE c.notification_id >= e.notification_id AND convert_from(c.state, 'UTF8')::jsonb ->> 'cause' = e.cause::text
           ORDER BY c.notification_id LIMIT e.caused) END AS positions
FROM ledger.events AS e WHERE e.cause = ANY (%(asked)s)
UNION ALL
SELECT r.event_id, r.fingerprint, r.round, r.refusal, NULL FROM ledger.rejections AS r WHERE r.event_id = ANY (%(asked)s)
"""


_NUMBERED = """
SELECT true FROM ledger.events
WHERE topic IN ('FillRecorded.v1', 'CreditRecorded.v1') AND topic = %s AND ledger.key_in_kind(topic, state, notification_id) = %s
"""
# What an event says is canonical JSON, and no reference has a character that would be escaped in it.
_UNDER_WAY = """
SELECT o.round FROM ledger.open_rounds AS o
WHERE EXISTS (
    SELECT FROM ledger.events AS e
    WHERE e.originator_id = o.round
      AND (position(%(player)s::bytea IN e.state) > 0 OR position(%(shooter)s::bytea IN e.state) > 0)
) ORDER BY o.table_id LIMIT 1
"""
_STREAM = (
    "SELECT originator_id, originator_version, topic, state FROM ledger.events WHERE originator_id = %s "
    "AND originator_version > %s AND originator_version <= %s ORDER BY originator_version ASC LIMIT %s"
)
_STREAM_BACK = _STREAM.replace("ASC", "DESC")
_ALL = 2**63 - 1
_PIECE = 500
"""Events of a stream that are read and made at a time."""

_PAGE = (
    "SELECT originator_id, originator_version, topic, state, notification_id FROM ledger.events "
    "WHERE notification_id > %s AND notification_id <= %s AND (%s::text[] = '{}' OR topic = ANY (%s)) "
    "ORDER BY notification_id LIMIT %s"
)


class LedgerRecorder(PostgresApplicationRecorder):
    """Appends by `ledger.append`, reads by the log's horizon."""

    datastore: LedgerDatastore

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        claims: Mapping[int, Claim] = _NOTHING,
        rejections: Sequence[Rejection] = (),
        occupancy: Occupancy = UNCHANGED,
        leases: Mapping[str, int] = _NOTHING,
        premises: Mapping[UUID, int] = _NOTHING,
        closing: Closing | None = None,
        **_: Any,
    ) -> list[int]:
        """Appends events, rejections and the tables' open rounds in one transaction; returns the positions in order.

        `claims`: index of the event that bears it → claim. `leases`: table → epoch, for the tables written. `premises`: stream →
        the latest version that the events were decided by. `closing`: the gaming day that the events close, which nothing may
        hinder. Raises LeaseLost where a lease has passed on, and the library's IntegrityError where a premise no longer holds or
        a version, an event id or a table's open round is already there, and its DataError where the database cannot hold
        something of it, now or ever; nothing is stored then. Unlike the library's method it never retries by itself: whether a
        lost answer was a commit is for the caller to find out by the receipts.
        """
        try:
            if len(stored_events) == len(claims) == len(leases) == 1 and occupancy is UNCHANGED and not (rejections or premises):
                stored = self.datastore.appends.call(*_one_of(stored_events[0], claims[0], leases))
                if not stored.ntuples:
                    raise self._turned_away(leases)
                positions = [session.int8_of(stored.get_value(0, 0))]
            else:
                given = _all_of(stored_events, claims, rejections, occupancy, leases, premises, closing)
                positions = session.int8s_of(self.datastore.appends.call(*given).get_value(0, 0))
        except _NOT_THE_LIBRARYS as error:
            raise self._as_the_library(error) from error
        self.datastore.bell.ring()
        return positions

    def begin_events(
        self, stored_events: Sequence[StoredEvent], *, claims: Mapping[int, Claim], leases: Mapping[str, int]
    ) -> int | None:
        """As `insert_events`, without waiting for what comes of it: `events_begun` has that, once the descriptor can be read.

        None, and nothing was sent, where it would have to wait. Raises what `insert_events` raises.
        """
        try:
            if len(stored_events) == len(claims) == len(leases) == 1:
                given = _one_of(stored_events[0], claims[0], leases)
            else:
                given = _all_of(stored_events, claims, (), UNCHANGED, leases, _NOTHING, None)
            return self.datastore.appends.begin(*given)
        except _NOT_THE_LIBRARYS as error:
            raise self._as_the_library(error) from error

    def events_begun(self) -> list[int] | None:
        """The positions of the events that were begun; None where that is not known yet.

        Raises what `insert_events` raises, and an IntegrityError also where the lease has passed on: whoever asks again is told.
        """
        try:
            stored = self.datastore.appends.result()
        except _NOT_THE_LIBRARYS as error:
            raise self._as_the_library(error) from error
        if stored is None:
            return None
        if not stored.ntuples:
            raise IntegrityError("the table was taken over, or the event id was rejected before")
        self.datastore.bell.ring()
        found = stored.get_value(0, 0)
        return [session.int8_of(found)] if stored.ftype(0) == _INT8 else session.int8s_of(found)

    def without_waiting(self) -> AbstractContextManager[None]:
        """See `LedgerDatastore.without_waiting`."""
        return self.datastore.without_waiting()

    def verify_may_wait(self) -> None:
        """Raises WouldWait within `without_waiting`."""
        self.datastore.verify_may_wait()

    def _turned_away(self, leases: Mapping[str, int]) -> IntegrityError:
        """Why the append of one event under one lease stored nothing."""
        [(table, epoch)] = leases.items()
        if not self.datastore.appends.call(_HELD, [table.encode(), session.int8(epoch)]).ntuples:
            return LeaseLost(f"table {table} was taken over")
        return IntegrityError("the event id was rejected before")

    def _as_the_library(self, error: struct.error | psycopg.Error) -> PersistenceError:
        """The library's error in the place of psycopg's, as its own methods raise it."""
        if isinstance(error, struct.error):
            return DataError(f"a number does not fit its column: {error}")
        if isinstance(error, psycopg.errors.UniqueViolation):
            if _is_of_a_position(error):
                return SequenceBehind()
            return (LeaseLost if error.diag.constraint_name == "leases_pkey" else IntegrityError)(str(error))
        if isinstance(error, psycopg.DataError | psycopg.IntegrityError | psycopg.errors.ProgramLimitExceeded):
            return DataError(str(error))
        if not isinstance(error, psycopg.OperationalError):
            return DatabaseError(str(error))
        busy = isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.QueryCanceled)
        if not busy and self.datastore.may_wait:  # else each is looked at when it is taken from the pool
            self.datastore.pool.check()
        return OperationalError(str(error))

    def insert_premise(self, stored_event: StoredEvent, *, unoccupied: Collection[str] = ()) -> None:
        """Appends an event that others are decided by: whoever names its stream as a premise comes wholly before it or after it.

        Raises Occupied where one of the tables `unoccupied` has a round open, and the library's IntegrityError where the version
        is there already; nothing is stored then.
        """
        try:
            with self.datastore.transaction(commit=True) as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('round-ledger premises', 0))")
                cursor.execute(
                    "SELECT table_id, round FROM ledger.open_rounds WHERE table_id = ANY(%s) ORDER BY table_id",
                    (list(unoccupied),),
                )
                occupied = {row["table_id"]: row["round"] for row in cursor.fetchall()}
                if occupied:
                    raise Occupied(occupied)
                cursor.execute(
                    "INSERT INTO ledger.events (originator_id, originator_version, topic, state) VALUES (%s, %s, %s, %s)",
                    (stored_event.originator_id, stored_event.originator_version, stored_event.topic, stored_event.state),
                )
        except IntegrityError as error:
            if _is_of_a_position(error.__cause__):
                raise SequenceBehind from error
            raise
        self.datastore.bell.ring()

    def hindrances(self, closing: Closing) -> list[Hindrance]:
        """What keeps a gaming day from being closed, as far as it is committed."""
        with self.datastore.get_connection() as conn, conn.cursor(row_factory=tuple_row) as cursor:
            cursor.execute("SELECT what, stream, table_id, position FROM ledger.hindrances(%s, %s, %s)", closing)
            return [Hindrance(*row) for row in cursor.fetchall()]

    def slip_is_numbered(self, topic: str, house: str, number: int) -> bool:
        """Whether the property has used the number for a slip of this topic."""
        with self.datastore.get_connection() as conn:
            return conn.execute(_NUMBERED, (topic, f"{house}/{number}")).fetchone() is not None

    def round_under_way(self, player: str) -> UUID | None:
        """A round that some table has open and that names the player; None where there is none."""
        named = {field: f'"{field}":"{player}"'.encode() for field in ("player", "shooter")}
        with self.datastore.get_connection() as conn:
            row = conn.execute(_UNDER_WAY, named).fetchone()
        return None if row is None else row["round"]

    def receipts(self, event_ids: Sequence[UUID]) -> dict[UUID, Receipt]:
        """Event id → what became of it, for those of `event_ids` that were judged for good."""
        if not event_ids:
            return {}
        with self.datastore.get_connection() as conn:
            rows = conn.execute(_RECEIPTS, {"asked": list(event_ids)}).fetchall()
        # Two processes may have judged two bodies under one id in the same instant, and one accepted what the other refused. What
        # was accepted moved money: it is what became of the id.
        rows.sort(key=lambda row: row["refusal"] is None)
        return {row["event_id"]: _receipt(row) for row in rows}

    def open_rounds(self, tables: Sequence[str]) -> dict[str, UUID]:
        """Table → its open round, for those of `tables` that have one."""
        with self.datastore.get_connection() as conn:
            rows = conn.execute("SELECT table_id, round FROM ledger.open_rounds WHERE table_id = ANY(%s)", (list(tables),))
            return {row["table_id"]: row["round"] for row in rows}

    # Reading. The library's own methods try ten times over; where a lock or the database stands in the way, ten timeouts would
    # follow each other, and whoever asks knows better whether to ask again.

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """The events of one stream, in the order of their versions."""
        asked = (originator_id, -1 if gt is None else gt, _ALL if lte is None else lte, limit)
        with self.datastore.get_connection() as conn, conn.cursor(row_factory=tuple_row) as cursor:
            rows = cursor.execute(_STREAM_BACK if desc else _STREAM, asked, prepare=True, binary=True)
            return [StoredEvent(*row) for row in rows]

    def stream(self, stream: UUID, after: int = 0) -> list[Event]:
        """The events of a stream after version `after`, oldest first; empty where there is none. Raises as `pieces` does."""
        with collector_paused():
            return [event for piece in self.pieces(stream, after) for event in piece]

    def pieces(self, stream: UUID, after: int = 0) -> Generator[list[Event], None, None]:
        """The same piece by piece, none of them empty: who folds one before the next is made finds it near at hand, and has never
        all of them at once. Keeps a connection until it is closed or has come to the end.

        As `select_events` and the mapper, without the two objects that they make of each event on the way. Raises Refusal
        LGR-0504 at an event that cannot be read, and where one is missing.
        """
        with self.datastore.get_connection() as conn, conn.cursor(row_factory=tuple_row) as cursor:
            full = True
            while full:
                rows = cursor.execute(_HAPPENED, (stream, after, _PIECE), prepare=True, binary=True).fetchall()
                full = len(rows) == _PIECE
                piece = []
                for version, (stored, topic, state) in enumerate(rows, after + 1):
                    if stored != version:
                        raise Refusal("LGR-0504", f"stream {stream} has no version {version}", value=str(stream))
                    piece.append(codec.decode(topic, state, " (stream %s, version %d)", stream, version))
                if piece:
                    yield piece
                after += len(piece)

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """The library's reading of the log, held to the horizon so that it never skips an event either.

        Waits for writers that are older than the question, ten seconds at most; then raises the library's OperationalError.
        """
        after = 0 if start is None else start - inclusive_of_start
        with self.datastore.get_connection() as conn, conn.cursor(row_factory=tuple_row) as cursor:
            final = _head(cursor)
            return self.select_final(cursor, after, final if stop is None else min(stop, final), limit, topics)

    def select_final(
        self, cursor: psycopg.Cursor[Any], after: int, upto: int, limit: int, topics: Sequence[str] = ()
    ) -> list[Notification]:
        """A page of the log after position `after`, up to `upto`, which must be final; of `topics` only where there are any."""
        asked = (after, upto, list(topics), list(topics), limit)
        return [Notification(*row) for row in cursor.execute(_PAGE, asked, prepare=True, binary=True)]

    def max_notification_id(self) -> int | None:
        """The last position that a reader may go on from: nothing at or below it can still appear."""
        with self.datastore.get_connection() as conn, conn.cursor(row_factory=tuple_row) as cursor:
            cursor.execute("SELECT max(notification_id) FROM ledger.events WHERE notification_id <= %s", (_head(cursor),))
            row = cursor.fetchone()
        assert row is not None
        return row[0]  # type: ignore[no-any-return]  # a bigint or null

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> Subscription[ApplicationRecorder]:
        """The library's subscription after position `gt`."""
        return LogSubscription(self, gt, topics)


def _is_of_a_position(error: BaseException | None) -> bool:
    """Whether what is there already is a position, which are drawn so that none is given twice."""
    return isinstance(error, psycopg.errors.UniqueViolation) and error.diag.constraint_name == "events_position"


def _one_of(event: StoredEvent, claim: Claim, leases: Mapping[str, int]) -> tuple[bytes, list[bytes]]:
    """The statement that appends one event of one report under one lease, and its parameters."""
    [(table, epoch)] = leases.items()
    stream: UUID = event.originator_id  # type: ignore[assignment]  # this store's streams are known by UUIDs
    return _APPEND_ONE, [
        stream.bytes,
        session.int8(event.originator_version),
        event.topic.encode(),
        event.state,
        claim.event_id.bytes,
        session.int4(claim.caused),
        claim.fingerprint,
        table.encode(),
        session.int8(epoch),
    ]


def _all_of(
    stored_events: Sequence[StoredEvent],
    claims: Mapping[int, Claim],
    rejections: Sequence[Rejection],
    occupancy: Occupancy,
    leases: Mapping[str, int],
    premises: Mapping[UUID, int],
    closing: Closing | None,
) -> tuple[bytes, list[bytes]]:
    """The statement that appends all this, and its parameters."""
    closes = (
        []
        if closing is None
        else [closing.property.encode(), closing.gaming_day.isoformat().encode(), session.int8(closing.as_of)]
    )
    held = [claims.get(n) for n in range(len(stored_events))]
    return (
        _APPEND_CLOSING if closes else _APPEND_ON_PREMISES if premises else _APPEND,
        [
            session.texts(leases),
            session.int8s(leases.values()),
            session.repeated_uuids([cast(UUID, e.originator_id) for e in stored_events]),
            session.int8s([e.originator_version for e in stored_events]),
            session.words([e.topic for e in stored_events]),
            session.byteas([e.state for e in stored_events]),
            session.uuids([None if claim is None else claim.event_id for claim in held]),
            session.int4s([None if claim is None else claim.caused for claim in held]),
            session.byteas([None if claim is None else claim.fingerprint for claim in held]),
            session.uuids(occupancy.closed),
            session.texts([table for table, _ in occupancy.opened]),
            session.uuids([round_ for _, round_ in occupancy.opened]),
            session.uuids([r.event_id for r in rejections]),
            session.texts([r.terminal for r in rejections]),
            session.int8s([r.epoch for r in rejections]),
            session.int8s([r.sequence for r in rejections]),
            session.uuids([r.round for r in rejections]),
            session.byteas([r.fingerprint for r in rejections]),
            session.texts([_refusal_text(r.refusal) for r in rejections]),
            session.uuids(premises),
            session.int8s(premises.values()),
            *closes,
        ],
    )


def _head(cursor: psycopg.Cursor[Any]) -> int:
    try:
        return log.head(cursor)
    except Refusal as refusal:
        raise OperationalError(str(refusal)) from refusal


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
    refusal = None if said is None else Refusal(said.pop("code"), said.pop("detail"), **said)
    if refusal is not None:
        refusal.final = True  # else it would not have been stored
    return Receipt(bytes(row["fingerprint"]), row["round"], tuple(row["positions"] or ()), refusal)


class LedgerFactory(PostgresFactory):
    """Builds the recorder on a connection string. `env` is what the library's other parts are configured by (mapper, cipher,
    snapshots); without it nothing is read from the environment, where a stray variable could stand."""

    def __init__(self, conninfo: str, env: Environment | None = None) -> None:
        InfrastructureFactory.__init__(self, Environment("ledger", {}) if env is None else env)
        self.datastore = LedgerDatastore(conninfo)

    def application_recorder(self) -> ApplicationRecorder:
        """The recorder on `ledger.events`; its tables are made by `roundledger db init`, never here."""
        return LedgerRecorder(self.datastore, events_table_name="events")
