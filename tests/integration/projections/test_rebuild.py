"""The projections' tables built anew while everything goes on, and put in the place of the live ones."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger.application import Rounds
from ledger.errors import Refusal
from ledger.store import log
from projections import queries, rebuild, runner
from projections.rebuild import BUILT, LIVE, OLD
from projections.runner import Runner, catch_up, resume, wait_for
from projections.tables import PROJECTIONS
from tests.integration.projections.support import (
    TABLES,
    Connection,
    connected,
    content,
    count,
    folded,
    lived_through,
    played,
    positions_of,
    store,
)
from tests.support import UNLIMITED, Terminal, accepted, house
from tests.unit.projections.lives import EVERYTHING

ROOT = Path(__file__).parents[3]

_CATALOG = """
SELECT c.relname, 'column', a.attname, format_type(a.atttypid, a.atttypmod) || a.attnotnull || a.attcollation,
       coalesce(col_description(c.oid, a.attnum), '')
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'projection'::regnamespace AND c.relkind = 'r'
UNION ALL
SELECT c.relname, 'table', coalesce(obj_description(c.oid, 'pg_class'), ''), c.relowner::regrole::text,
       coalesce(c.relacl::text, '') || coalesce(c.reloptions::text, '')
FROM pg_class AS c WHERE c.relnamespace = 'projection'::regnamespace AND c.relkind = 'r'
UNION ALL
SELECT conrelid::regclass::text, 'constraint', conname, pg_get_constraintdef(oid), ''
FROM pg_constraint WHERE connamespace = 'projection'::regnamespace
UNION ALL
SELECT tablename, 'index', indexname, indexdef, '' FROM pg_indexes WHERE schemaname = 'projection'
ORDER BY 1, 2, 3, 4
"""


def catalog(conn: Connection) -> list[tuple[Any, ...]]:
    """All that the live tables are, but for their rows and identities."""
    return conn.execute(_CATALOG).fetchall()


def value(conn: Connection, query: Any) -> Any:
    row = conn.execute(query).fetchone()
    assert row is not None
    return row[0]


@pytest.fixture
def day(dsn: str) -> str:
    """A database with a folded log of everything that can happen."""
    with connected(dsn) as conn:
        store(conn, lived_through(EVERYTHING))
        catch_up(conn)
    return dsn


@contextlib.contextmanager
def posting(dsn: str) -> Iterator[Callable[[], int]]:
    """Terminals post rounds, each from a thread of its own, during the block; how many rounds were settled by now."""
    rounds: Rounds = house(dsn, UNLIMITED)
    ending = threading.Event()

    def play(n: int, table: str, currency: str) -> None:
        terminal = Terminal(table, currency=currency)
        while not ending.is_set():
            accepted(rounds.post(terminal.whole_round([("straight:17", "10000"), ("red", "20000"), ("even", "300")], "17")))
            settled[n] += 1

    tables = [(table.id, table.currency) for table in UNLIMITED.tables if table.game == "roulette"]
    settled = [0 for _ in tables]
    assert len(tables) > 1
    with ThreadPoolExecutor(len(tables)) as pool:
        playing = [pool.submit(play, n, *table) for n, table in enumerate(tables)]
        try:
            yield lambda: sum(settled)
        finally:
            ending.set()
            for each in playing:
                each.result()
            rounds.close()


def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


def test_b35_a_rebuild_and_a_switch_while_posts_and_readers_go_on(dsn: str) -> None:
    """Nothing is counted twice, nothing is left out, no reader sees half of it, and the runner goes on without a restart."""
    with connected(dsn) as conn:
        store(conn, lived_through(EVERYTHING))
        catch_up(conn)
        conn.execute("CREATE SCHEMA extra")
        conn.execute(
            "CREATE VIEW extra.staked AS SELECT currency, sum(stakes) AS stakes FROM projection.rounds GROUP BY currency"
        )
        ending = threading.Event()
        reads = [0, 0]

        def read(n: int) -> None:
            with connected(dsn) as own:
                own.prepare_threshold = 0 if n else None  # by plans that the server keeps, and by none
                while not ending.is_set():
                    with own.transaction():
                        own.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                        at = positions_of(own)["ledger"]
                        assert set(queries.trial_balance(own).values()) <= {0}
                        moved = value(own, "SELECT max(position) FROM projection.movements")
                        assert moved <= at
                        by_table = dict(own.execute("SELECT currency, sum(stakes) FROM projection.rounds GROUP BY 1").fetchall())
                        assert dict(own.execute("SELECT * FROM extra.staked").fetchall()) == by_table
                    reads[n] += 1

        with Runner(dsn):
            with posting(dsn) as settled, ThreadPoolExecutor(2) as pool:
                reading = [pool.submit(read, n) for n in range(2)]
                try:
                    until(lambda: settled() > 5)
                    built = rebuild.build(dsn)
                    assert not built.stopped
                    since = settled()
                    until(lambda: settled() > since + 3)
                    switched = rebuild.switch(dsn)
                    assert "extra.staked" in switched.views
                    since, then = settled(), list(reads)
                    until(lambda: settled() > since + 5 and all(n > was + 5 for n, was in zip(reads, then, strict=True)))
                finally:
                    ending.set()
                    for each in reading:
                        each.result()
                frozen = content(conn, OLD)
                since = settled()
                until(lambda: settled() > since + 5)
            end = log.head(conn)
            assert wait_for(conn, end, 10)
        assert set(positions_of(conn).values()) == {end}, "the lag is 0"
        assert int(switched.position) < end
        assert content(conn) == folded(conn, "fresh")
        assert content(conn, OLD) == frozen, "nobody writes the old tables any more"
        assert rebuild.drop(dsn, "old")
        assert value(conn, "SELECT sum(stakes) FROM extra.staked") == value(conn, "SELECT sum(stakes) FROM projection.rounds")


def test_b35_twice_over_gives_the_same_bytes_and_the_same_tables(day: str) -> None:
    with connected(day) as conn:
        conn.execute("DROP ROLE IF EXISTS bi")
        conn.execute("CREATE ROLE bi")
        conn.execute("GRANT SELECT ON projection.balances TO bi WITH GRANT OPTION")
        conn.execute("GRANT SELECT (account), UPDATE (balance) ON projection.balances TO PUBLIC")
        conn.execute("ALTER TABLE projection.rounds SET (fillfactor = 70)")
        before, rows = catalog(conn), content(conn)
        columns = "SELECT attname, attacl::text FROM pg_attribute WHERE attrelid = 'projection.balances'::regclass ORDER BY 1"
        rights = conn.execute(columns).fetchall()
        for _ in range(2):
            built = rebuild.build(day)
            assert built.resumed_at is None
            assert all(row.difference is None and row.live == row.built for row in rebuild.compare(day).tables)
            rebuild.switch(day)
            assert content(conn) == rows
            assert catalog(conn) == before
            assert conn.execute(columns).fetchall() == rights
            assert not rebuild._exists(conn, BUILT)
            assert rebuild.drop(day, "old")
            assert not rebuild.drop(day, "old")
        assert catch_up(conn) == 0
        conn.execute("DROP OWNED BY bi")
        conn.execute("DROP ROLE bi")


_HELD = """
import sys, time
from projections import rebuild
from ledger.store import log

def held(*arguments):
    print("in the middle", flush=True)
    time.sleep(60)

rebuild.BATCH = 50
if sys.argv[2] == "build":
    rebuild.build(sys.argv[1], lambda done, total: held() if done > 200 else None)
else:
    move, moved = rebuild._move, []
    def some(conn, table):
        move(conn, table)
        moved.append(table)
        if len(moved) == 5:
            held()
    rebuild._move = some
    rebuild.switch(sys.argv[1])
"""


def killed(dsn: str, what: str) -> None:
    """Begins it in a process that is killed in the middle."""
    child = subprocess.Popen(
        [sys.executable, "-c", _HELD, dsn, what],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"in the middle\n"
    with pytest.raises(Refusal, match="LGR-0530: the projections are being rebuilt, compared or switched by process"):
        rebuild.build(dsn)
    with pytest.raises(Refusal, match="LGR-0530"):
        rebuild.switch(dsn)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()


def alone_again(conn: Connection) -> None:
    """The server notices that a killed client is gone when it next speaks to it."""
    until(lambda: rebuild.at_work(conn) is None)


def test_b35_killed_while_building_it_goes_on_where_it_was(day: str) -> None:
    with connected(day) as conn:
        rows = content(conn)
        killed(day, "build")
        alone_again(conn)
        assert content(conn) == rows
        built = rebuild.build(day)
        assert built.resumed_at is not None
        assert 200 <= int(built.resumed_at) < int(built.position)
        assert content(conn, BUILT) == rows
        anew = rebuild.build(day, anew=True)
        assert anew.resumed_at is None
        assert content(conn, BUILT) == rows


def test_b35_killed_while_switching_nothing_has_happened(day: str) -> None:
    with connected(day) as conn:
        rows, before = content(conn), catalog(conn)
        rebuild.build(day)
        killed(day, "switch")
        alone_again(conn)
        assert content(conn) == rows == content(conn, BUILT)
        assert catalog(conn) == before
        assert not rebuild._exists(conn, OLD)
        rebuild.switch(day)
        assert content(conn) == rows


def test_other_code_or_another_schema_begins_anew_and_is_never_switched_to(day: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(day) as conn:
        with pytest.raises(Refusal, match="LGR-0531: nothing was built"):
            rebuild.switch(day)
        rebuild.build(day)
        monkeypatch.setattr(rebuild, "fold", lambda: "other code")
        with pytest.raises(Refusal, match="LGR-0531: what was built was folded by other code"):
            rebuild.switch(day)
        assert rebuild.build(day).resumed_at is None
        assert rebuild.build(day).resumed_at is not None
        conn.execute("ALTER TABLE projection.voids ADD more bigint")
        with pytest.raises(Refusal, match="LGR-0531"):
            rebuild.compare(day)
        assert rebuild.build(day).resumed_at is None
        rebuild.switch(day)


@pytest.mark.parametrize("table", ["movements", "balances", "table_reports"])
def test_differences_are_shown_table_by_table(day: str, table: str) -> None:
    with connected(day) as conn:
        rebuild.build(day)
        conn.execute(f"DELETE FROM projection.{table} WHERE ctid = (SELECT max(ctid) FROM projection.{table})")
        found = rebuild.compare(day)
        assert [row.table for row in found.tables] == list(TABLES)
        for row in found.tables:
            if row.table == table:
                assert row.live == row.built - 1
                assert row.difference is not None
                assert row.difference.table == table
            else:
                assert row.difference is None


def test_a_reader_that_does_not_end_is_named_and_nothing_is_changed(day: str) -> None:
    with connected(day) as conn, connected(day) as long, connected(day) as other:
        rows = content(conn)
        rebuild.build(day)
        with long.transaction():
            count(long, "projection.movements")
            pid = long.info.backend_pid
            with ThreadPoolExecutor(1) as pool:
                switching = pool.submit(rebuild.switch, day, patience=1.5)
                longest = 0.0
                while not switching.done():
                    began = time.monotonic()
                    queries.balances(other)
                    longest = max(longest, time.monotonic() - began)
                with pytest.raises(Refusal, match=rf"LGR-0532: the tables were in use for 1.5 s: .*process {pid} \("):
                    switching.result()
            assert longest < 1.5, "others read on between the tries"
        assert content(conn) == rows
        assert rebuild._exists(conn, BUILT)
        rebuild.switch(day)


@pytest.mark.parametrize(
    ("made", "named"),
    [
        ("CREATE MATERIALIZED VIEW extra.m AS SELECT * FROM projection.balances", "materialized view extra.m"),
        (
            "CREATE FUNCTION extra.f() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM projection.bets; END",
            r"function extra.f\(\)",
        ),
        ("CREATE PUBLICATION p FOR TABLE projection.rounds", "publication of table projection.rounds in publication p"),
        ("CREATE TABLE extra.t (hold uuid REFERENCES projection.holds)", "constraint t_hold_fkey on table extra.t"),
        ("CREATE POLICY mine ON projection.bets USING (true)", "policy mine on table projection.bets"),
        ("CREATE TABLE extra.part () INHERITS (projection.voids)", "table extra.part"),
        ("CREATE VIEW extra.whole AS SELECT v FROM projection.voids AS v", "view extra.whole, by the row type of a table"),
    ],
)
def test_what_would_stay_with_the_old_tables_is_named_and_nothing_is_changed(day: str, made: Any, named: str) -> None:
    with connected(day) as conn:
        conn.execute("CREATE SCHEMA extra")
        conn.execute(made)
        rebuild.build(day)
        rows = content(conn)
        with pytest.raises(Refusal, match=f"LGR-0533: this hangs on the live tables .*{named}"):
            rebuild.switch(day)
        assert content(conn) == rows
        assert not rebuild._exists(conn, OLD)


def test_views_keep_their_rights_comments_and_options(day: str) -> None:
    """A view of any schema, views over views, and one over several tables."""
    with connected(day) as conn:
        for statement in (
            "CREATE SCHEMA extra",
            'CREATE SCHEMA "The House\'s"',
            """CREATE VIEW extra.rows WITH (security_barrier = true, security_invoker = false) AS
            SELECT b.*, r.table_id FROM projection.bets AS b JOIN projection.rounds AS r USING (round)""",
            "COMMENT ON VIEW extra.rows IS 'bets with their tables'",
            'CREATE VIEW "The House\'s"."all" AS SELECT table_id, count(*) AS n FROM extra.rows GROUP BY 1',
            "CREATE VIEW extra.voids AS SELECT v.what, v.disposition FROM projection.voids AS v",
            "GRANT SELECT ON extra.rows TO PUBLIC",
        ):
            conn.execute(statement)
        told = (
            "SELECT c.oid, c.relname, c.relacl::text, c.reloptions::text, obj_description(c.oid, 'pg_class'), "
            "CASE WHEN relnamespace = 'extra'::regnamespace THEN pg_get_viewdef(c.oid) END FROM pg_class AS "
            "c WHERE relkind = 'v' AND relnamespace::regnamespace::text "
            "NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
        )
        before = conn.execute(told).fetchall()
        shown = conn.execute('SELECT * FROM "The House\'s"."all" ORDER BY 1').fetchall()
        assert shown
        of_the_house = "SELECT count(*), min(table_id), sum(stakes) FROM report.rounds"
        reported = conn.execute(of_the_house).fetchall()
        rebuild.build(day)
        assert {"extra.rows", "extra.voids"} <= set(rebuild.switch(day).views)
        assert conn.execute(told).fetchall() == before
        assert conn.execute(of_the_house).fetchall() == reported
        assert conn.execute('SELECT * FROM "The House\'s"."all" ORDER BY 1').fetchall() == shown
        assert rebuild.drop(day, "old"), "no view reads the old tables"
        store(conn, played(seed=9, rounds=4))
        catch_up(conn)
        assert conn.execute('SELECT * FROM "The House\'s"."all" ORDER BY 1').fetchall() != shown


def test_old_tables_are_dropped_before_the_next_switch(day: str) -> None:
    with connected(day) as conn:
        for _ in range(2):
            rebuild.build(day)
            with contextlib.suppress(Refusal):
                rebuild.switch(day)
        assert [version.which for version in rebuild.versions(conn)] == ["live", "built", "old"]
        with pytest.raises(Refusal, match="LGR-0533: the tables that were replaced before are still there"):
            rebuild.switch(day)
        conn.execute("CREATE VIEW mine AS SELECT * FROM projection_old.bets")
        with pytest.raises(Refusal, match=r"LGR-0533: something hangs on the tables: view mine depends on"):
            rebuild.drop(day, "old")
        conn.execute("DROP VIEW mine")
        assert rebuild.drop(day, "old")
        assert rebuild.drop(day, "built")
        assert [version.which for version in rebuild.versions(conn)] == ["live"]


def test_b39_what_stopped_the_live_tables_is_left_behind_by_a_rebuild(dsn: str) -> None:
    """A row that was changed by hand stops the fold: the tables folded from the log alone go on."""
    with connected(dsn) as conn:
        events = lived_through(EVERYTHING)
        store(conn, events[:200])
        catch_up(conn)
        conn.execute("UPDATE projection.rounds SET currency = 'XXX'")
        store(conn, events[200:])
        catch_up(conn)
        stopped = {each.name for each in queries.positions(conn) if each.stopped_at}
        assert stopped == {"ledger"}, "the other one goes on"
        assert resume(conn) == ["ledger"]
        catch_up(conn)
        assert {each.name for each in queries.positions(conn) if each.stopped_at} == stopped
        assert not rebuild.build(dsn).stopped
        assert set(rebuild.compare(dsn).left_out) == {"ledger"}
        rebuild.switch(dsn)
        assert {each.name for each in queries.positions(conn) if each.stopped_at} == set()
        assert content(conn) == folded(conn, "fresh")


def test_b39_what_was_built_and_stands_still_does_not_replace_what_goes_on(day: str) -> None:
    with connected(day) as conn:
        rows = content(conn)
        rebuild.build(day)
        conn.execute("UPDATE projection_next.rounds SET currency = 'XXX'")
        store(conn, played(seed=3, rounds=5))
        conn.execute("UPDATE projection_next.positions SET position = position - 20 WHERE name = 'ledger'")
        catch_up(conn)
        now = content(conn)
        assert now != rows
        built = rebuild.build(day)
        assert set(built.stopped) == {"ledger"}
        with pytest.raises(Refusal, match="LGR-0531: what was built of projection ledger stands still at position"):
            rebuild.switch(day)
        assert content(conn) == now
        assert positions_of(conn, LIVE)["ledger"] == log.head(conn)


def test_a_live_batch_in_the_middle_is_waited_for(day: str) -> None:
    """The switch never takes tables away from under a batch that has written half of its rows."""
    with connected(day) as conn, connected(day) as own:
        rebuild.build(day)
        store(conn, played(seed=5, rounds=30))
        halfway, going_on = threading.Event(), threading.Event()
        ledger = PROJECTIONS[0]

        def apply(cursor: psycopg.Cursor[Any], events: Any) -> None:
            ledger.apply(cursor, events)
            halfway.set()
            going_on.wait(20)

        slow = type(ledger)(ledger.name, ledger.events, ledger.tables, apply)
        with ThreadPoolExecutor(2) as pool:
            batch = pool.submit(catch_up, own, projections=(slow,))
            assert halfway.wait(10)
            switching = pool.submit(rebuild.switch, day)
            time.sleep(1)
            assert not switching.done()
            assert not rebuild._exists(conn, OLD)
            going_on.set()
            batch.result()
            switching.result()
        catch_up(conn)
        assert content(conn) == folded(conn, "fresh")


def test_b36_nothing_of_a_rebuild_is_in_the_log(day: str) -> None:
    """B36: a rebuild acts on nothing."""
    with connected(day) as conn:
        before = count(conn, "ledger.events"), log.head(conn)
        rebuild.build(day)
        rebuild.compare(day)
        rebuild.switch(day)
        assert (count(conn, "ledger.events"), log.head(conn)) == before
        assert runner.BATCH > rebuild.BATCH, "the live projections do not wait longer for a rebuild than for themselves"
