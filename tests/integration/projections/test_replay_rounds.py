"""The replay of some rounds: each folded by itself, equal to its live rows or different by name, without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from projections import replay_rounds as module
from projections.replay_rounds import TABLES, replay_rounds, rounds_of
from projections.runner import catch_up
from tests.integration.projections.support import connected, count, lived_through, store
from tests.unit.projections.lives import EVERYTHING
from tests.unit.projections.made import DAY

Connection = psycopg.Connection[Any]


@pytest.fixture
def day(dsn: str) -> str:
    """A database with a folded day on which everything happens that can."""
    with connected(dsn) as conn:
        store(conn, lived_through(EVERYTHING, rounds=12))
        catch_up(conn)
    return dsn


@pytest.fixture
def conn(day: str) -> Iterator[Connection]:
    with connected(day) as conn:
        yield conn


def test_every_round_folds_by_itself_to_its_live_rows(day: str, conn: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 7)
    rounds = rounds_of(day)
    told: list[int] = []
    found = replay_rounds(day, rounds, lambda so_far: told.append(so_far.rounds))
    assert found.equal, found.difference
    of_slips = conn.execute("SELECT count(*) FROM projection.movements WHERE round IS NULL").fetchall()[0][0]
    of_rounds = {table: count(conn, f"projection.{table}") for table in TABLES}
    assert found.rows == of_rounds | {"movements": of_rounds["movements"] - of_slips}
    assert all(found.rows.values())
    assert told[-1] == found.rounds == len(rounds)


def test_b36_a_replay_of_rounds_appends_nothing_and_writes_nothing(day: str, conn: Connection) -> None:
    def traces() -> object:
        positions = conn.execute("SELECT * FROM projection.positions ORDER BY name").fetchall()
        drawn = conn.execute("SELECT last_value FROM ledger.positions").fetchone()
        rows = [count(conn, f"projection.{table}") for table in TABLES]
        return count(conn, "ledger.events"), drawn, positions, rows, count(conn, "ledger.rejections")

    before = traces()
    assert replay_rounds(day, rounds_of(day)).equal
    assert traces() == before


def test_processes_side_by_side_come_to_the_same(day: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 12)
    rounds = rounds_of(day)
    alone, together = replay_rounds(day, rounds), replay_rounds(day, rounds, jobs=2)
    assert (alone.rows, alone.events, alone.equal) == (together.rows, together.events, together.equal)


@pytest.mark.parametrize("table", TABLES)
def test_a_row_that_was_edited_or_lost_is_named_with_the_first_event_that_it_is_about(
    day: str, conn: Connection, table: str
) -> None:
    rounds = rounds_of(day)
    with conn.transaction(force_rollback=False):
        [(row, place)] = conn.execute(f"SELECT round, ctid::text FROM projection.{table} ORDER BY 1, 2 LIMIT 1").fetchall()
        conn.execute(f"DELETE FROM projection.{table} WHERE ctid = %s::tid", (place,))
    found = replay_rounds(day, rounds)
    assert not found.equal
    assert found.difference is not None
    assert (found.difference.table, found.difference.column) == (table, None)
    assert replay_rounds(day, [each for each in rounds if each != row]).equal
    assert not replay_rounds(day, [row]).equal
    if "position" in found.difference.key or "round" in found.difference.key:
        assert int(found.difference.position or 0) > 0


def test_the_rounds_of_a_day_a_table_and_one_alone(day: str, conn: Connection) -> None:
    every = rounds_of(day)
    tables = {table: rounds_of(day, table=table) for (table,) in conn.execute("SELECT DISTINCT table_id FROM projection.rounds")}
    assert sorted(id_ for some in tables.values() for id_ in some) == sorted(every)
    of_day = rounds_of(day, day=DAY.isoformat())
    assert 0 < len(of_day) < len(every)
    assert rounds_of(day, round=every[3]) == [every[3]]
    assert rounds_of(day, day="1999-01-01") == []


def test_as_of_a_position_the_movements_of_rounds_are_compared(day: str, conn: Connection) -> None:
    [(last,)] = conn.execute("SELECT max(notification_id) FROM ledger.events").fetchall()
    for upto in (last // 2, last):
        found = replay_rounds(day, rounds_of(day, upto=upto), upto=upto)
        assert found.equal, found.difference
        rows = conn.execute("SELECT count(*) FROM projection.movements WHERE position <= %s AND round IS NOT NULL", (upto,))
        assert found.rows == {"movements": rows.fetchall()[0][0]}
