"""The replay: equal when it should be, different by name when not, and without a trace."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg import conninfo

from ledger.events import BetPlaced
from ledger.store import log
from projections.replay import Comparison, replay
from projections.runner import Runner, catch_up
from tests.integration.projections.support import (
    TABLES,
    connected,
    content,
    count,
    folded,
    lived_through,
    mixed,
    played,
    store,
    store_raw,
)
from tests.unit.projections.lives import EVERYTHING
from tests.unit.projections.made import Bet, made_round

ROOT = Path(__file__).parents[3]


@pytest.fixture
def day(dsn: str) -> str:
    """A database with a folded day."""
    with connected(dsn) as conn:
        store(conn, lived_through(EVERYTHING, rounds=60))
        catch_up(conn)
    return dsn


def traces(conn: psycopg.Connection[Any]) -> dict[str, object]:
    """All that a replay could have changed."""
    return {
        "events": count(conn, "ledger.events"),
        "drawn": conn.execute("SELECT last_value FROM ledger.positions").fetchone(),
        "verdicts": count(conn, "ledger.rejections"),
        "rows": content(conn),
        "positions": conn.execute("SELECT * FROM projection.positions ORDER BY name").fetchall(),
        "relations": conn.execute(
            "SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
            "WHERE n.nspname !~ '^pg_toast' ORDER BY 1, 2"
        ).fetchall(),
    }


def without_time(comparison: Comparison) -> Comparison:
    return msgspec.structs.replace(comparison, seconds=0.0)


def test_equal_twice_and_without_a_trace(day: str) -> None:
    with connected(day) as conn:
        before = traces(conn)
        first = replay(day)
        assert first.equal
        assert (first.difference, first.behind, first.stopped) == (None, "0", {})
        assert first.events == before["events"]
        assert first.positions == {"ledger": str(log.head(conn)), "tables": str(log.head(conn))}
        assert first.rows == {table: count(conn, f"projection.{table}") for table in TABLES}
        assert all(first.rows.values())
        assert first.rate > 0
        assert without_time(replay(day)) == without_time(first)
        deadline = time.monotonic() + 5
        while (after := traces(conn)) != before and time.monotonic() < deadline:
            time.sleep(0.05)  # a backend drops its temporary tables as it leaves
        assert after == before


def test_progress_ends_at_the_whole(day: str) -> None:
    told_of_fold: list[tuple[int, int]] = []
    compared: list[tuple[int, int]] = []
    comparison = replay(
        day,
        lambda done, whole: told_of_fold.append((done, whole)),
        comparing=lambda done, whole: compared.append((done, whole)),
    )
    assert told_of_fold[-1] == (2 * comparison.events, 2 * comparison.events)
    assert compared[-1] == (sum(comparison.rows.values()),) * 2
    for told in (told_of_fold, compared):
        assert told == sorted(told)
        assert len({whole for _, whole in told}) == 1


def test_progress_ends_at_the_whole_where_positions_were_drawn_and_not_used(day: str) -> None:
    """Of a hundred positions one holds an event: by events it would stay far from its end, with a time left that grows."""
    with connected(day) as conn:
        conn.execute("SELECT nextval('ledger.positions') FROM generate_series(1, 10000)")
        store(conn, played(77, 2))
        catch_up(conn)
    told_of_fold: list[tuple[int, int]] = []
    comparison = replay(day, lambda done, whole: told_of_fold.append((done, whole)))
    assert told_of_fold[-1][0] == told_of_fold[-1][1] > 2 * comparison.events + 10_000


def test_an_empty_log_compares_nothing(dsn: str) -> None:
    comparison = replay(dsn, wait=0)
    assert comparison.equal
    assert (comparison.events, set(comparison.rows.values())) == (0, {0})


CHANGES = {
    "rounds": "UPDATE projection.rounds SET shown = 'seventeen' WHERE status = 'settled'",
    "movements": "UPDATE projection.movements SET amount = amount + 1 WHERE position > 100",
    "balances": "UPDATE projection.balances SET balance = balance + 1 WHERE account = 'win/T-01'",
    "balance_changes": "UPDATE projection.balance_changes SET change = change + 1 WHERE account = 'win/T-01'",
    "log_times": "UPDATE projection.log_times SET earliest = earliest - interval '1 second'",
    "bets": "UPDATE projection.bets SET spot = 'nowhere' WHERE NOT late",
    "results": "UPDATE projection.results SET edge = '1' WHERE result = 'won'",
    "holds": "UPDATE projection.holds SET reason = 'none'",
    "corrections": "UPDATE projection.corrections SET approved_by = 'S-7' WHERE status = 'approved'",
    "voids": "UPDATE projection.voids SET reason = 'none'",
    "late_bets": "UPDATE projection.late_bets SET stake = stake + 1",
    "table_staff": "UPDATE projection.table_staff SET person = 'S-9' WHERE role = 'dealer'",
    "counts": "UPDATE projection.counts SET confirmed_by = 'S-9' WHERE status = 'confirmed'",
    "slips": "UPDATE projection.slips SET number = number + 1 WHERE kind = 'fill'",
    "drops": "UPDATE projection.drops SET cash = cash - 1, vouchers = vouchers + 1",
    "chips": "UPDATE projection.chips SET count = count + 1",
    "days": "UPDATE projection.days SET figures = 'none'",
    "table_rounds": "UPDATE projection.table_rounds SET applied = 'no'",
    "table_reports": "UPDATE projection.table_reports SET prizes = prizes - 1 WHERE table_id = 'T-02'",
    "table_edges": "UPDATE projection.table_edges SET stakes = 0 WHERE edge = '17/216'",
    "table_outcomes": "UPDATE projection.table_outcomes SET count = count + 1 WHERE outcome = '17'",
}


@pytest.mark.parametrize("table", TABLES)
def test_a_changed_row_of_any_table_is_the_first_difference(day: str, table: str) -> None:
    with connected(day) as conn:
        conn.execute(CHANGES[table])
    comparison = replay(day)
    assert not comparison.equal
    difference = comparison.difference
    assert difference is not None
    assert difference.table == table
    assert difference.column is not None
    assert f"SET {difference.column} =" in CHANGES[table]
    assert difference.live != difference.replayed
    assert difference.key


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("which", ["ASC", "DESC"])
def test_a_missing_row_is_only_in_the_replay(day: str, table: str, which: str) -> None:
    with connected(day) as conn:
        conn.execute(
            f"DELETE FROM projection.{table} WHERE ctid = (SELECT ctid FROM projection.{table} AS t ORDER BY t {which} LIMIT 1)"
        )
    difference = replay(day).difference
    assert difference is not None
    assert (difference.table, difference.column, difference.live) == (table, None, None)
    assert difference.replayed is not None
    assert "only in the replay" in str(difference)


def test_a_row_too_many_is_only_in_the_live_table(day: str) -> None:
    with connected(day) as conn:
        conn.execute("INSERT INTO projection.balances VALUES ('player/P-00', 'MOP', 5)")
    difference = replay(day).difference
    assert difference is not None
    assert difference.key == {"account": "player/P-00", "currency": "MOP"}
    assert str(difference) == "balances account=player/P-00, currency=MOP: the row is only in the live table"


def test_a_projection_that_says_it_has_read_what_was_never_written_is_different(day: str) -> None:
    """It would pass over every event up to there, and nobody would miss them."""
    with connected(day) as conn:
        conn.execute("UPDATE projection.positions SET position = position + 1000 WHERE name = 'tables'")
    difference = replay(day).difference
    assert difference is not None
    assert (difference.table, difference.key, difference.column) == ("positions", {"name": "tables"}, "position")


def test_the_difference_is_said_in_words(day: str) -> None:
    with connected(day) as conn:
        row = conn.execute(
            "UPDATE projection.balances SET balance = balance + 1 WHERE account = 'win/T-01' RETURNING balance"
        ).fetchone()
        assert row is not None
        assert str(replay(day).difference) == (
            f"balances account=win/T-01, currency=MOP: balance is {row[0]} in the live table, {row[0] - 1} in the replay"
        )


def test_equal_while_terminals_post_and_the_runner_runs(dsn: str) -> None:
    stopping = threading.Event()

    def write() -> None:
        with connected(dsn) as conn:
            seed = 0
            while not stopping.is_set():
                store(conn, lived_through(seed, rounds=3))
                seed += 1
                time.sleep(0.02)

    with Runner(dsn):
        thread = threading.Thread(target=write)
        thread.start()
        try:
            found = [replay(dsn) for _ in range(2)]
        finally:
            stopping.set()
            thread.join()
        found.append(replay(dsn))
    assert [comparison.difference for comparison in found] == [None] * 3
    assert found[-1].behind == "0"
    with connected(dsn) as conn:
        assert content(conn) == folded(conn, "fresh")


def test_live_tables_that_are_behind_are_compared_where_they_are(day: str) -> None:
    with connected(day) as conn:
        at = log.head(conn)
        store(conn, played(seed=2, rounds=5))
        comparison = replay(day, wait=0)
        assert comparison.equal
        assert comparison.positions == {"ledger": str(at), "tables": str(at)}
        assert comparison.behind == str(log.head(conn) - at)


def test_a_stopped_projection_is_named(day: str) -> None:
    with connected(day) as conn:
        stream, events = made_round([Bet("P-1", 100)], rng=random.Random(9), until="open")
        store(conn, mixed([(stream, events)]))
        at = store_raw(conn, BetPlaced.TOPIC, b"{}", stream, 3)
        catch_up(conn)
        comparison = replay(day)
        assert comparison.equal, "as far as it goes"
        assert comparison.stopped.keys() == {"ledger"}
        assert comparison.positions == {"ledger": str(at - 1), "tables": str(at)}


def test_a_log_that_no_longer_folds_is_a_difference(day: str) -> None:
    with connected(day) as conn:
        conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER events_append_only")
        conn.execute(
            "UPDATE ledger.events SET state = '{}' WHERE notification_id = "
            "(SELECT min(notification_id) FROM ledger.events WHERE topic = %s)",
            (BetPlaced.TOPIC,),
        )
        comparison = replay(day)
        assert not comparison.equal
        assert comparison.difference is not None
        assert comparison.difference.key == {"name": "ledger"}
        assert "LGR-0504" in (comparison.difference.replayed or "")


def test_a_reader_who_may_change_nothing_can_replay(day: str) -> None:
    role = f"auditor_{random.getrandbits(40):x}"
    with connected(day) as conn:
        conn.execute(f"CREATE ROLE {role}")
        for schema in ("ledger", "projection"):
            conn.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
            conn.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")
        conn.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA ledger TO {role}")
    assert replay(conninfo.make_conninfo(day, options=f"-c role={role}")).equal


_HELD = """
import sys, time
from projections.replay import replay

def progress(done, whole):
    print("folding", flush=True)
    time.sleep(60)

replay(sys.argv[1], progress)
"""


def test_a_killed_replay_leaves_nothing_behind(day: str) -> None:
    with connected(day) as conn:
        before = traces(conn)
        child = subprocess.Popen(
            [sys.executable, "-c", _HELD, day],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"folding\n"
        assert traces(conn) != before, "its tables are there while it runs"
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        deadline = time.monotonic() + 10
        while traces(conn) != before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert traces(conn) == before
        assert replay(day).equal


def test_without_a_database_it_raises(day: str) -> None:
    with pytest.raises(psycopg.Error):
        replay(conninfo.make_conninfo(day, dbname="nobody"))
