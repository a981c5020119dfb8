"""The session of the append: however it is lost, the next call makes another."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import pq

from ledger.store import session, waits
from ledger.store.session import Session

_ADD = {b"add": b"SELECT $1::bigint + $2::bigint", b"end": b"SELECT pg_terminate_backend(pg_backend_pid())"}


class Watched(Session):
    """Lets a test at the connection."""

    @property
    def conn(self) -> psycopg.Connection[Any]:
        return self._connected()


@pytest.fixture
def adding(dsn: str) -> Iterator[Watched]:
    found = Watched(dsn, _ADD, waits.bound, "adding")
    assert three(found) == 3
    yield found
    found.close()


def three(of: Session) -> int:
    return session.int8_of(of.call(b"add", [session.int8(1), session.int8(2)]).get_value(0, 0))


def _terminated(of: Watched, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'adding'"
        )


def _noticed(of: Watched, dsn: str) -> None:
    """libpq has read of the end already, so that it refuses to send anything."""
    _terminated(of, dsn)
    deadline = time.monotonic() + 5
    while of.conn.pgconn.status == pq.ConnStatus.OK and time.monotonic() < deadline:
        try:
            of.conn.pgconn.consume_input()
        except psycopg.OperationalError:
            break


def _shut(of: Watched, dsn: str) -> None:
    with socket.socket(fileno=socket.dup(of.conn.fileno())) as own:
        own.shutdown(socket.SHUT_RDWR)


def _ended_in_a_call(of: Watched, dsn: str) -> None:
    with pytest.raises(psycopg.OperationalError):
        of.call(b"end", [])


@pytest.mark.parametrize("lose", [_terminated, _noticed, _shut, _ended_in_a_call])
def test_a_lost_session_costs_one_call_at_most(adding: Watched, dsn: str, lose: Callable[[Watched, str], None]) -> None:
    lose(adding, dsn)
    try:
        assert three(adding) == 3
    except psycopg.OperationalError:
        assert three(adding) == 3


def test_what_no_server_has_said_is_an_answer_that_is_missing(adding: Watched) -> None:
    """A backend that ends because another one was killed says so in a notice, and libpq takes the session for whole."""
    libpq = adding.conn.pgconn
    with pytest.raises(psycopg.OperationalError):
        session._done(libpq, libpq.make_empty_result(pq.ExecStatus.FATAL_ERROR))
    assert libpq.status == pq.ConnStatus.OK


def test_after_a_call_that_failed_the_next_one_looks_at_once(adding: Watched, dsn: str) -> None:
    assert three(adding) == 3
    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        adding.call(b"add", [session.int8(2**63 - 1), session.int8(1)])
    _terminated(adding, dsn)
    assert three(adding) == 3


def test_a_server_that_goes_away_while_a_session_is_made_is_one_that_did_not_answer(dsn: str) -> None:
    """Whoever asked is told to send it again, and not that the ledger has a fault: the server did not say why it went."""
    going = True

    def configure(conn: psycopg.Connection[Any]) -> None:
        waits.bound(conn)
        if going:
            with socket.socket(fileno=socket.dup(conn.fileno())) as own:
                own.shutdown(socket.SHUT_RDWR)

    found = Session(dsn, _ADD, configure, "adding")
    for _ in range(2):
        with pytest.raises(psycopg.OperationalError):
            three(found)
    going = False
    assert three(found) == 3
    found.close()


def test_an_error_of_a_statement_is_not_the_session_s_end(adding: Watched) -> None:
    pid = adding.conn.info.backend_pid
    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        adding.call(b"add", [session.int8(2**63 - 1), session.int8(1)])
    assert three(adding) == 3
    assert adding.conn.info.backend_pid == pid
