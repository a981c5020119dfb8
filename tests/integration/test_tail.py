"""The log's order: a reader never skips, whoever commits when; what is recorded is never changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger.errors import Refusal
from ledger.store import log
from tests.support import Terminal, house

INSERT = (
    "INSERT INTO ledger.events (originator_id, originator_version, topic, state) VALUES (%s, 1, 't', '{}') "
    "RETURNING notification_id"
)


@pytest.fixture
def three(dsn: str) -> Iterator[list[psycopg.Connection[Any]]]:
    """Two writers with transactions of their own, and a reader."""
    conns = [psycopg.connect(dsn), psycopg.connect(dsn), psycopg.connect(dsn, autocommit=True)]
    yield conns
    for conn in conns:
        conn.close()


def reaches(tail: log.Tail, conn: psycopg.Connection[Any], position: int) -> bool:
    """Whether the horizon gets there soon. Transaction ids are the cluster's, and other tests write in it at the same time."""
    deadline = time.monotonic() + 20
    while tail.final(conn) < position:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def insert(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute(INSERT, (uuid4(),)).fetchone()
    assert row is not None
    return int(row[0])


def test_a_later_commit_with_a_lower_position_is_not_skipped(three: list[psycopg.Connection[Any]]) -> None:
    """B31: position 8 commits before 7, and the reader waits for 7."""
    slow, quick, reader = three
    tail = log.Tail()
    low = insert(slow)
    high = insert(quick)
    quick.commit()
    assert low < high
    for _ in range(3):
        assert tail.final(reader) < low, "the reader passed a position whose transaction is still running"
    slow.commit()
    assert reaches(tail, reader, high)


def test_an_older_transaction_that_draws_the_higher_position_is_not_skipped(three: list[psycopg.Connection[Any]]) -> None:
    """B31: the inverted order: the older transaction id holds the higher position."""
    older, younger, reader = three
    tail = log.Tail()
    older.execute("SELECT pg_current_xact_id()")
    low = insert(younger)
    high = insert(older)
    assert low < high
    older.commit()
    for _ in range(3):
        assert tail.final(reader) < low
    younger.commit()
    assert reaches(tail, reader, high)


def test_a_rolled_back_position_is_a_silent_gap(three: list[psycopg.Connection[Any]]) -> None:
    lost, kept, reader = three
    insert(lost)
    high = insert(kept)
    kept.commit()
    lost.rollback()
    assert reaches(log.Tail(), reader, high)


def test_a_horizon_does_not_outlive_the_server_that_drew_it(three: list[psycopg.Connection[Any]], dsn: str) -> None:
    """A server that crashed draws again the positions that nobody had flushed; a reader comes back over a new connection."""
    slow, quick, reader = three
    for _ in range(5):
        insert(quick)
    quick.rollback()
    tail = log.Tail()
    assert reaches(tail, reader, 5)
    quick.execute("SELECT setval('ledger.positions', 1)")
    quick.commit()
    assert insert(slow) == 2
    assert insert(quick) == 3
    quick.commit()
    with psycopg.connect(dsn, autocommit=True) as again:
        for _ in range(3):
            assert tail.final(again) < 2, "believed a horizon from before the crash"
        slow.commit()
        assert reaches(tail, again, 3)


def test_the_end_of_the_log_waits_for_older_writers_but_not_for_ever(three: list[psycopg.Connection[Any]]) -> None:
    slow, _, reader = three
    insert(slow)
    with pytest.raises(Refusal, match="LGR-0505"):
        log.head(reader, timeout=0.05)


def test_a_reader_with_an_alarm_unplugged_does_skip(three: list[psycopg.Connection[Any]]) -> None:
    """B31: the canary: read by the highest visible position instead of the horizon, and the event is lost."""
    slow, quick, reader = three
    low = insert(slow)
    high = insert(quick)
    quick.commit()
    naive = reader.execute("SELECT max(notification_id) FROM ledger.events").fetchone()
    assert naive == (high,)
    assert high > low


@pytest.mark.parametrize(
    "change", ["UPDATE ledger.events SET topic = 'x'", "DELETE FROM ledger.events", "TRUNCATE ledger.events CASCADE"]
)
def test_what_is_recorded_is_never_changed(three: list[psycopg.Connection[Any]], change: str) -> None:
    writer, _, _ = three
    insert(writer)
    writer.commit()
    with pytest.raises(psycopg.errors.RestrictViolation):
        writer.execute(change)


def test_the_horizon_is_not_asked_for_in_a_transaction_that_has_written(three: list[psycopg.Connection[Any]]) -> None:
    """Its own id would be older than the question: a fence that stands too low."""
    writer, _, _ = three
    insert(writer)
    with pytest.raises(psycopg.errors.ActiveSqlTransaction):
        log.head(writer)


def test_a_reader_at_rest_takes_no_transaction_id(three: list[psycopg.Connection[Any]]) -> None:
    writer, _, reader = three
    insert(writer)
    writer.commit()
    tail = log.Tail()
    end = 1
    assert reaches(tail, reader, end)
    with reader.transaction():
        assert tail.final(reader) == end
        assert reader.execute("SELECT pg_current_xact_id_if_assigned()").fetchone() == (None,)


def test_a_cursor_survives_as_text_and_resumes(dsn: str) -> None:
    rounds = house(dsn)
    rounds.post(Terminal().whole_round([("red", "100")], "17"))
    rounds.close()
    with psycopg.connect(dsn, autocommit=True) as conn:
        for recorded in log.read_all(conn):
            assert log.resume(conn, log.Cursor.parse(str(_cursor(conn, recorded.position)))) == recorded.position


def test_after_a_restore_to_an_earlier_point_older_cursors_are_told_so(dsn: str) -> None:
    rounds = house(dsn)
    rounds.post([Terminal().open()])
    rounds.close()
    with psycopg.connect(dsn, autocommit=True) as conn:
        cursor = _cursor(conn, list(log.read_all(conn))[-1].position)
        beyond_the_end = cursor._replace(position=cursor.position + 1000)
        another_event_there = cursor._replace(stream=uuid4())
        the_same_sent_again_later = cursor._replace(digest="0123456789abcdef")
        for lost in (beyond_the_end, another_event_there, the_same_sent_again_later):
            with pytest.raises(Refusal, match="LGR-0522"):
                log.resume(conn, lost)


def _cursor(conn: psycopg.Connection[Any], position: int) -> log.Cursor:
    return log.marked(conn, [position], position)[1]


NO_CURSORS = [
    "",
    "12",
    "12.x.1",
    "12.00000000-0000-0000-0000-000000000000.1",
    "-1.00000000-0000-0000-0000-000000000000.1.0123456789abcdef",
    "１.00000000-0000-0000-0000-000000000000.1.0123456789abcdef",
]


@pytest.mark.parametrize("text", NO_CURSORS)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="LGR-0108"):
        log.Cursor.parse(text)
