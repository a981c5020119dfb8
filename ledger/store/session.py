"""A session of the server for statements that are run again and again: prepared once, binary, one call of libpq each.

Most of what a one-row append costs a client is not the query but what stands around it: a connection is taken from the pool and
given back, a cursor made, the statement looked up, the type of every value found out, the socket waited for in Python. So the
append has a session of its own and runs its statements by `PQexecPrepared`, as psycopg hands it out (`psycopg.pq`), with
parameters that are bytes already. Where the server is lost, so is the session; the next call makes another.

The binary forms are those of PostgreSQL's `uuid_send`, `int8send`, `textsend` and `array_send`, the same in every release.
"""

from __future__ import annotations

import select
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any
from uuid import UUID

import psycopg
from psycopg import pq

_BINARY = 1
_AT_ONCE = 1 << 16
"""Bytes of parameters that the socket takes without waiting for its other end: none is smaller on Linux."""
_LATELY = 0.01
"""Seconds for which a session that has answered is taken to be there still. To look costs a system call, a twentieth of the
append of a bet; where the server ends within that time, the append is one more that was sent and not answered."""
_DONE = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)
_OK = pq.ConnStatus.OK


class Session:
    """One session, made at the first call. Calls from several threads wait for each other."""

    def __init__(
        self, conninfo: str, statements: Mapping[bytes, bytes], configure: Callable[[psycopg.Connection[Any]], None], name: str
    ) -> None:
        """`statements`: name → SQL, which says the types of its parameters. `configure` is called with each new session."""
        self._conninfo = conninfo
        self._statements = statements
        self._configure = configure
        self._name = name
        self._lock = Lock()
        self._conn: psycopg.Connection[Any] | None = None
        self._poll = select.poll()
        self._answered = 0.0
        """When a statement last came to a good end, by the monotonic clock; 0 from when one is sent to when it has."""
        self._found: pq.abc.PGresult | None = None
        """The result of the statement that was begun, of which the end is still to come."""

    def open(self) -> None:
        """Makes the session where there is none: a call does so too."""
        with self._lock:
            self._connected()

    def call(self, statement: bytes, parameters: Sequence[bytes]) -> pq.abc.PGresult:
        """Runs a statement with its parameters in binary form; the result's values are in binary form too.

        Raises what psycopg raises. After an OperationalError it is not known whether the statement was committed.
        """
        with self._lock:
            libpq = self._connected().pgconn
            self._answered = 0.0
            try:
                done = _done(libpq, libpq.exec_prepared(statement, parameters, [_BINARY] * len(parameters), _BINARY))
                self._answered = time.monotonic()
                return done
            except BaseException:
                self._close_if_lost(libpq)
                raise

    def begin(self, statement: bytes, parameters: Sequence[bytes]) -> int | None:
        """Sends a statement without waiting for what comes of it: `result` has that, once the descriptor can be read.

        None, and nothing was sent, where it would have to wait after all: for another's call, for a new session, or for the
        server to take so much. Raises what psycopg raises, after which nobody knows what became of the statement. From here until
        `result` has ended it, all who call wait.
        """
        if sum(map(len, parameters)) > _AT_ONCE or not self._lock.acquire(blocking=False):
            return None
        begun = False
        try:
            if self._conn is None or self._ended(self._conn):
                return None
            libpq = self._conn.pgconn
            self._answered = 0.0
            try:
                libpq.send_query_prepared(statement, parameters, [_BINARY] * len(parameters), _BINARY)
                begun = True
            finally:
                if not begun:
                    self._close_if_lost(libpq)
            return self._conn.fileno()
        finally:
            if not begun:
                self._lock.release()

    def result(self) -> pq.abc.PGresult | None:
        """What came of the statement that was begun; None where it is not all here yet. Raises what `call` raises."""
        assert self._conn is not None
        libpq, over = self._conn.pgconn, True
        try:
            libpq.consume_input()
            while not libpq.is_busy():
                each = libpq.get_result()
                if each is None:
                    found, self._found = self._found, None
                    assert found is not None
                    done = _done(libpq, found)
                    self._answered = time.monotonic()
                    return done
                self._found = self._found or each
            over = False
            return None
        finally:
            if over:
                self._found = None
                self._close_if_lost(libpq)
                self._lock.release()

    def close(self) -> None:
        """Ends the session; a later call would make another."""
        with self._lock:
            self._close()

    def _connected(self) -> psycopg.Connection[Any]:
        if self._conn is not None and self._ended(self._conn):
            self._close()  # nothing has been sent yet, so a new session is no repetition
        if self._conn is None:
            conn = psycopg.connect(self._conninfo, autocommit=True, client_encoding="UTF8", application_name=self._name)
            try:
                self._configure(conn)
                for name, statement in self._statements.items():
                    _done(conn.pgconn, conn.pgconn.prepare(name, statement))
            except BaseException:
                conn.close()
                raise
            self._conn = conn
            self._poll = select.poll()
            self._poll.register(conn.fileno(), select.POLLIN)
        return self._conn

    def _ended(self, conn: psycopg.Connection[Any]) -> bool:
        """Whether the server has ended the session since the last call: between two calls it has nothing to say but that."""
        if time.monotonic() - self._answered < _LATELY:
            return False
        try:
            while self._poll.poll(0):  # its farewell first, then the end of the stream
                conn.pgconn.consume_input()
                if conn.pgconn.status != _OK:
                    return True
        except psycopg.OperationalError:
            return True
        return False

    def _close_if_lost(self, libpq: pq.abc.PGconn) -> None:
        """However it shows: by the answer, or already when the question could not be sent."""
        if libpq.status != _OK:
            self._close()

    def _close(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.close()


def _done(libpq: pq.abc.PGconn, result: pq.abc.PGresult) -> pq.abc.PGresult:
    """The result, where it is one; raises what it says otherwise.

    What has no SQLSTATE is libpq's own word and no server's: there was no answer, though libpq may take the session for whole
    where it read the server's last notice before it saw that the server is gone.
    """
    if result.status in _DONE:
        return result
    if libpq.status != _OK or result.error_field(pq.DiagnosticField.SQLSTATE) is None:
        raise psycopg.OperationalError(result.get_error_message())
    raise psycopg.errors.error_from_result(result)


# Values in binary form.

_OID = {name: psycopg.postgres.types[name].oid for name in ("int4", "int8", "uuid", "text", "bytea")}

int4 = struct.Struct("!i").pack
int8 = struct.Struct("!q").pack
_int4_element = struct.Struct("!ii").pack
_int8_element = struct.Struct("!iq").pack
_head = struct.Struct("!iiiii").pack
_head_of_none = struct.Struct("!iii").pack
_NULL = int4(-1)
_OF_16 = int4(16)


def int8_of(value: bytes | None) -> int:
    """The value of a bigint that is not null."""
    assert value is not None
    return int.from_bytes(value, signed=True)


def int8s_of(value: bytes | None) -> list[int]:
    """The values of a bigint[] of one dimension without nulls."""
    assert value is not None
    return [number for _, number in struct.iter_unpack("!iq", value[20:])]


def int4s(values: Iterable[int | None]) -> bytes:
    return _array("int4", [_NULL if value is None else _int4_element(4, value) for value in values])


def int8s(values: Iterable[int | None]) -> bytes:
    return _array("int8", [_NULL if value is None else _int8_element(8, value) for value in values])


def uuids(values: Iterable[UUID | None]) -> bytes:
    return _array("uuid", [_NULL if value is None else _OF_16 + value.bytes for value in values])


def repeated_uuids(values: Iterable[UUID]) -> bytes:
    """As `uuids`, of values that mostly are the one before: a group's events are of few rounds."""
    elements: list[bytes] = []
    last, element = None, b""
    for value in values:
        if value is not last:
            last, element = value, _OF_16 + value.bytes
        elements.append(element)
    return _array("uuid", elements)


def texts(values: Iterable[str]) -> bytes:
    return byteas([value.encode() for value in values], "text")


def words(values: Iterable[str]) -> bytes:
    """As `texts`, of values that come again and again, as topics do."""
    return _array("text", list(map(_word, values)))


@lru_cache(maxsize=256)
def _word(value: str) -> bytes:
    encoded = value.encode()
    return int4(len(encoded)) + encoded


def byteas(values: Iterable[bytes | None], type: str = "bytea") -> bytes:
    return _array(type, [_NULL if value is None else int4(len(value)) + value for value in values])


def _array(type: str, elements: Sequence[bytes]) -> bytes:
    """Elements come with their length before them."""
    if not elements:
        return _head_of_none(0, 0, _OID[type])
    return _head(1, _NULL in elements, _OID[type], len(elements), 1) + b"".join(elements)
