"""The log's order: a reader never skips, whoever commits when; what is recorded is never changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger.errors import Refusal
from ledger.store import log
from tests.support import ROOT, Terminal, house

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


_AHEAD = """
DO $$
DECLARE
    told bigint; there bigint;
BEGIN
    CREATE TEMP TABLE IF NOT EXISTS ahead AS SELECT 0::bigint AS told, 0::bigint AS there WHERE false;
    FOR i IN 1..30000 LOOP
        told := {asked};
        there := pg_sequence_last_value('ledger.positions');
        IF told > there THEN
            INSERT INTO ahead VALUES (told, there);
        END IF;
    END LOOP;
END
$$
"""
_DRAW = "DO $$ BEGIN PERFORM pg_current_xact_id(); FOR i IN 1..20000 LOOP PERFORM ledger.next_position(); END LOOP; END $$"


def told_ahead(dsn: str, asked: str, seconds: float) -> int:
    """How often a reader beside a writer is told of a position that nobody has drawn yet."""
    until = time.monotonic() + seconds

    def draw() -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            while time.monotonic() < until:
                conn.execute(_DRAW)

    with psycopg.connect(dsn, autocommit=True) as conn, ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(draw) for _ in range(2)]
        conn.execute("SELECT ledger.next_position()")
        found = 0
        while time.monotonic() < until and not found:
            conn.execute(_AHEAD.format(asked=asked).encode())
            [(found,)] = conn.execute("SELECT count(*) FROM ahead").fetchall()
        until = 0.0
        for writer in writers:
            writer.result()
    return int(found)


def test_a_position_that_nobody_has_drawn_is_never_taken_for_the_logs_end(dsn: str) -> None:
    """A scan of the sequence shows, now and then, the value for the WAL that lies 32 ahead: what came there was passed over."""
    assert told_ahead(dsn, "ledger.drawn()", 2) == 0


def test_a_scan_of_the_sequence_is_seen_to_show_such_a_position(dsn: str) -> None:
    """Or else the test before proves nothing."""
    assert told_ahead(dsn, "(SELECT last_value FROM ledger.positions)", 20) > 0


def test_nobody_reads_the_sequence_but_by_the_function_that_waits_for_who_draws(dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        scanning = conn.execute(
            "SELECT proname FROM pg_proc WHERE prosrc ~ '(?<!pg_sequence_)last_value' AND pronamespace = 'ledger'::regnamespace "
            "UNION ALL SELECT c.relname FROM pg_class AS c WHERE relkind = 'v' AND pg_get_viewdef(c.oid) ~ 'last_value' "
            "AND relnamespace IN ('ledger'::regnamespace, 'report'::regnamespace, 'projection'::regnamespace)"
        ).fetchall()
    assert scanning == []
    sources = [path for package in ("ledger", "projections", "cli") for path in (ROOT / package).rglob("*.py")]
    assert sources
    assert [path.name for path in sources if "last_value" in path.read_text("utf-8")] == []


@pytest.mark.parametrize("right", ["SELECT", "USAGE"])
def test_who_may_read_the_events_and_not_the_sequence_is_told_so_and_not_that_the_log_is_empty(
    three: list[psycopg.Connection[Any]], right: str
) -> None:
    """The server's function gives such a role null, as where nothing was drawn."""
    writer, _, reader = three
    position = insert(writer)
    writer.commit()
    role = f"reader_{uuid4().hex}"
    writer.execute(f"CREATE ROLE {role}".encode())
    writer.execute(f"GRANT USAGE ON SCHEMA ledger TO {role}".encode())
    writer.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA ledger TO {role}".encode())
    writer.commit()
    reader.execute(f"SET ROLE {role}".encode())
    asks: list[Callable[[psycopg.Connection[Any]], object]] = [
        log.drawn,
        log.head,
        log.verify_sequence,
        log.Tail().final,
        partial(log.read, after=0, limit=10),
    ]
    for ask in asks:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            ask(reader)
    writer.execute(f"GRANT {right} ON SEQUENCE ledger.positions TO {role}".encode())
    writer.commit()
    assert log.drawn(reader) == log.head(reader) == position


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
