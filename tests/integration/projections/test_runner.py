"""Driving the projections: batches, crashes, two at once, events that cannot be folded."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, LiteralString

import msgspec
import psycopg
import pytest

from ledger.events import BetPlaced, Event
from ledger.store import log
from projections import queries
from projections.runner import Runner, catch_up, resume, wait_for
from projections.tables import LEDGER, TABLES
from tests.integration.projections.support import (
    connected,
    content,
    copy_tables,
    count,
    folded,
    lived_through,
    mixed,
    played,
    positions_of,
    store,
    store_raw,
)
from tests.unit.projections.lives import EVERYTHING
from tests.unit.projections.made import Bet, made_round

ROOT = Path(__file__).parents[3]


def test_any_batch_size_gives_the_same_bytes(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, lived_through(EVERYTHING))
        catch_up(conn)
        whole = content(conn)
        assert all(whole.values())
        assert folded(conn, "by_one", batch=1) == whole
        assert folded(conn, "by_seven", batch=7) == whole


def test_catching_up_again_changes_nothing(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, played())
        events = count(conn, "ledger.events")
        assert catch_up(conn) == 2 * events, "counted once per projection"
        before = content(conn)
        assert catch_up(conn) == 0
        assert content(conn) == before
        assert positions_of(conn) == {"ledger": log.head(conn), "tables": log.head(conn)}


def test_limit_and_upto_bound_a_call(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, played())
        assert catch_up(conn, limit=10) == 20
        assert positions_of(conn) == {"ledger": 10, "tables": 10}
        assert catch_up(conn, upto=25) == 30
        assert catch_up(conn, upto=25) == 0


def test_a_connection_inside_a_transaction_is_refused(dsn: str) -> None:
    with psycopg.connect(dsn) as conn, pytest.raises(ValueError, match="autocommit"):
        catch_up(conn)


def test_positions_that_nobody_used_are_passed(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, played(rounds=3))
        with conn.transaction(force_rollback=True):
            store(conn, played(seed=2, rounds=3))
        catch_up(conn)
        assert set(positions_of(conn).values()) == {log.head(conn)}
        assert log.head(conn) > count(conn, "ledger.events")


def test_sums_beyond_53_and_64_bits_stay_exact(dsn: str) -> None:
    rng = random.Random(1)
    with connected(dsn) as conn:
        for _ in range(3):
            store(conn, mixed(made_round([Bet("P-1", 10**15, "won", 180)], rng=rng) for _ in range(25)))
            catch_up(conn)
        store(conn, mixed([made_round([Bet("P-2", 9_007_199_254_740_993)], rng=rng)]))
        catch_up(conn)
        assert [row.balance for row in queries.balances(conn, "player/")] == [str(75 * 180 * 10**15), "-9007199254740993"]
        (total,) = queries.table_report(conn).totals
        assert total.win == str(9_007_199_254_740_993 - 75 * 180 * 10**15)
        assert int(total.win) < -(2**63)
        assert queries.trial_balance(conn) == {"MOP": 0}


def test_two_at_once_apply_each_event_once(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, played(rounds=120))
        failures: list[BaseException] = []

        def follow() -> None:
            try:
                with connected(dsn) as own:
                    while catch_up(own, limit=20, batch=20):
                        pass
            except BaseException as error:  # noqa: BLE001 - shown by the test
                failures.append(error)

        threads = [threading.Thread(target=follow) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert content(conn) == folded(conn, "fresh")


_MID_BATCH = """
import sys, time
import psycopg
from projections import tables
from projections.runner import catch_up
from projections.tables import Projection

def held(projection):
    def apply(cursor, events):
        projection.apply(cursor, events)
        print("rows written, position not", flush=True)
        time.sleep(60)
    return Projection(projection.name, projection.events, projection.tables, apply)

with psycopg.connect(sys.argv[1], autocommit=True) as conn:
    catch_up(conn, limit=100)
    catch_up(conn, projections=[held(p) for p in tables.PROJECTIONS if p.name == sys.argv[2]])
"""


@pytest.mark.parametrize("name", ["ledger", "tables"])
def test_killed_between_rows_and_position_leaves_a_whole_number_of_batches(dsn: str, name: str) -> None:
    """B34: SIGKILL between the view and its position; both are written in one transaction."""
    with connected(dsn) as conn:
        store(conn, played(rounds=60))
        child = subprocess.Popen(
            [sys.executable, "-c", _MID_BATCH, dsn, name],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"rows written, position not\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        at = positions_of(conn)
        assert at == {"ledger": 100, "tables": 100}
        assert content(conn) == folded(conn, "upto", upto=at)
        catch_up(conn)
        assert content(conn) == folded(conn, "whole")


def test_a_position_set_back_over_filled_tables_counts_nothing_twice(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, played())
        catch_up(conn)
        before = content(conn)
        conn.execute("UPDATE projection.positions SET position = 0")
        catch_up(conn)
        assert content(conn) == before
        for row in queries.positions(conn):
            assert row.stop_reason is not None
            assert "duplicate key" in row.stop_reason or "opened before" in row.stop_reason


def test_emptied_and_folded_again_is_the_same_twice(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, played())
        catch_up(conn)
        before = content(conn)
        for _ in range(2):
            with conn.transaction():
                conn.execute("SET LOCAL search_path = projection")
                conn.execute("TRUNCATE positions, " + ", ".join(before))
            catch_up(conn)
            assert content(conn) == before


# Events that cannot be folded.


def broken_log(conn: psycopg.Connection[Any], topic: str, state: bytes) -> int:
    """Good rounds, one bad event in an open round, good rounds; the bad one's position."""
    rng = random.Random(5)
    store(conn, played(seed=1, rounds=6))
    stream, events = made_round([Bet("P-7", 100)], rng=rng, until="open")
    store(conn, [(stream, version, event) for version, event in enumerate(events, 1)])
    at = store_raw(conn, topic, state, stream, len(events) + 1)
    store(conn, played(seed=2, rounds=6))
    return at


def payload(event: Event, **changes: object) -> bytes:
    return msgspec.json.encode({**msgspec.to_builtins(event), **changes})


def bet(**changes: object) -> bytes:
    _, events = made_round([Bet("P-7", 100)], rng=random.Random(6), until="open")
    return payload(events[1], **changes)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (b"\xff\x00 not JSON", "LGR-0504"),
        (b"{}", "LGR-0504"),
        (bet(stake=100), "LGR-0504"),
        (bet(stake="-100"), "is not an amount"),
        (bet(currency="HKD"), "its currency is HKD, the round's is MOP"),
        (bet(stake="9" * 40), "numeric field overflow"),
    ],
)
@pytest.mark.parametrize("batch", [1, 5000])
def test_a_poison_event_stops_its_projection_and_no_other(
    dsn: str, state: bytes, reason: str, batch: int, caplog: pytest.LogCaptureFixture
) -> None:
    with connected(dsn) as conn:
        at = broken_log(conn, BetPlaced.TOPIC, state)
        catch_up(conn, batch=batch)
        [said] = [record for record in caplog.records if "stopped at position" in record.getMessage()]
        assert bool(said.exc_info) == ("overflow" in reason), "a trace of what nobody foresaw alone"
        ledger, tables = queries.positions(conn)
        assert ledger.stopped_by == str(at)
        assert ledger.position == str(at - 1), "everything before it is folded"
        assert ledger.stopped_at is not None
        assert ledger.stop_reason is not None
        assert reason in ledger.stop_reason
        assert (tables.position, tables.stop_reason) == (str(log.head(conn)), None)
        after = content(conn)
        assert catch_up(conn) == 0, "it does not try again by itself"
        assert content(conn) == after
        assert queries.positions(conn)[0] == ledger


def test_an_event_of_an_unknown_kind_stops_all_because_nobody_can_tell(dsn: str) -> None:
    with connected(dsn) as conn:
        at = broken_log(conn, "ChipsBurnt.v9", b"{}")
        catch_up(conn)
        for row in queries.positions(conn):
            assert (row.position, row.stopped_by) == (str(at - 1), str(at))
            assert row.stop_reason is not None
            assert "ChipsBurnt.v9" in row.stop_reason


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("ALTER TABLE projection.balances RENAME TO gone", "ALTER TABLE projection.gone RENAME TO balances"),
        ("SET default_transaction_read_only = on", "SET default_transaction_read_only = off"),
        ("SET ROLE pg_monitor", "RESET ROLE"),
    ],
    ids=["a table is missing", "read-only", "a right is missing"],
)
def test_a_database_that_is_unfit_for_a_while_is_no_event_s_fault(dsn: str, broken: LiteralString, mended: LiteralString) -> None:
    with connected(dsn) as conn:
        store(conn, played(rounds=3))
        head = log.head(conn)
        conn.execute(broken)
        with pytest.raises(psycopg.Error):
            catch_up(conn, upto=head)
        conn.execute(mended)
        assert [position.stopped_by for position in queries.positions(conn)] in ([], [None], [None, None])
        catch_up(conn)
        assert [position.stopped_by for position in queries.positions(conn)] == [None, None]


def test_resume_tries_the_event_once_more(dsn: str) -> None:
    with connected(dsn) as conn:
        at = broken_log(conn, BetPlaced.TOPIC, bet(stake="-100"))
        catch_up(conn)
        assert resume(conn) == ["ledger"]
        assert queries.positions(conn)[0].stop_reason is None
        catch_up(conn)
        assert queries.positions(conn)[0].stopped_by == str(at), "nothing was repaired"
        conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER events_append_only")
        conn.execute("UPDATE ledger.events SET state = %s WHERE notification_id = %s", (bet(), at))
        assert resume(conn) == ["ledger"]
        catch_up(conn)
        assert resume(conn) == []
        assert content(conn) == folded(conn, "fresh")


def test_a_defect_of_a_fold_stops_it_like_a_poison_event(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, played(rounds=5))

        def apply(cursor: object, events: object) -> None:
            raise ZeroDivisionError("a defect")

        catch_up(conn, projections=(replace(LEDGER, apply=apply), TABLES))
        ledger, tables = queries.positions(conn)
        assert (ledger.position, ledger.stop_reason) == ("0", "ZeroDivisionError: a defect")
        assert tables.position == str(log.head(conn))


# The loop.


def test_the_runner_follows_and_survives_its_connection(dsn: str) -> None:
    """B33: its session is ended by the server, and that of its listener."""
    with connected(dsn) as conn, Runner(dsn) as runner:
        store(conn, played(seed=1, rounds=10))
        assert wait_for(conn, log.head(conn), 10)
        killed = conn.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchone()
        assert killed == (2,)
        store(conn, played(seed=2, rounds=10))
        runner.wake()
        assert wait_for(conn, log.head(conn), 10)
        runner.stop()
        assert content(conn) == folded(conn, "fresh")


def test_the_runner_tries_a_stopped_projection_once_when_it_starts(dsn: str) -> None:
    with connected(dsn) as conn:
        at = broken_log(conn, BetPlaced.TOPIC, b"{}")
        with Runner(dsn):
            assert wait_for(conn, log.head(conn), 10)
        conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER events_append_only")
        conn.execute("UPDATE ledger.events SET state = %s WHERE notification_id = %s", (bet(), at))
        with Runner(dsn):
            deadline = time.monotonic() + 10
            while set(positions_of(conn).values()) != {log.head(conn)} and time.monotonic() < deadline:
                time.sleep(0.01)
        assert content(conn) == folded(conn, "fresh")


def test_an_event_that_commits_late_is_not_skipped(dsn: str) -> None:
    """B31: while the lower positions are being written, the projections wait."""
    with connected(dsn) as conn, connected(dsn) as slow, Runner(dsn) as runner:
        with slow.transaction():
            store(slow, played(seed=1, rounds=4))
            store(conn, played(seed=2, rounds=4))
            runner.wake()
            time.sleep(0.2)
            assert set(positions_of(conn).values()) <= {0}, "the first events are still being written"
        assert wait_for(conn, log.head(conn), 10)
        runner.stop()
        assert count(conn, "projection.rounds") == 8
        assert content(conn) == folded(conn, "fresh")


def test_wait_for_gives_up(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, played(rounds=2))
        assert not wait_for(conn, log.head(conn), 0.05)


def test_a_new_projection_beside_the_live_one_comes_to_the_same_while_events_arrive(dsn: str) -> None:
    with connected(dsn) as conn, connected(dsn) as writer, Runner(dsn) as runner:
        copy_tables(conn, "beside")
        stopping = threading.Event()

        def write() -> None:
            seed = 100
            while not stopping.is_set():
                store(writer, played(seed=seed, rounds=3))
                seed += 1
                time.sleep(0.01)

        thread = threading.Thread(target=write)
        thread.start()
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            catch_up(conn, "beside", batch=50)
        stopping.set()
        thread.join()
        catch_up(conn, "beside")
        assert wait_for(conn, log.head(conn), 10)
        runner.stop()
        assert content(conn, "beside") == content(conn)
        assert queries.trial_balance(conn) == {"HKD": 0, "MOP": 0}
