"""What was counted of a day is the same in the master game report as in `day status` and the day's closing, in whatever state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing as ending
from datetime import datetime
from decimal import Decimal

import msgspec
import psycopg
import pytest

from ledger.application import Rounds
from ledger.property import Table
from ledger.reports import Report
from projections import days
from projections.runner import catch_up
from tests.integration.test_cage import Slips
from tests.integration.test_closed_reports import TODAY, played, shown
from tests.integration.test_days import DAY, NEXT, START, closing, put_right
from tests.support import UNLIMITED, Terminal, accepted, house

HOUSE = msgspec.structs.replace(
    UNLIMITED,
    tables=(
        *UNLIMITED.tables,
        Table("R03", "A", "roulette", "MOP", "0.01"),
        Table("F01", "B", "fantan", "MOP", "0.10"),
        Table("X01", "B", "craps", "MOP", "0.01"),
    ),
)
COUNTED = ("opener", "fills", "credits", "drop", "closer", "count_win", "variance")


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    with ending(house(dsn, HOUSE)) as found:
        yield found


def at(rounds: Rounds, moment: datetime, *reports: Report) -> None:
    accepted(rounds.post([msgspec.structs.replace(each, received_at=moment) for each in reports]))


def signed(slips: Slips, *written: Report) -> list[Report]:
    return [each for slip in written for each in (slip, slips.confirm(slip, "D-12"))]


def back(slips: Slips, slip: Report) -> list[Report]:
    return [slips.cancel(slip), slips.confirm(slip, "D-12", cancellation=True)]


def by_both(dsn: str) -> dict[tuple[str, str], list[Decimal | None]]:
    """(day, table) → count win and variance, which the report and the day's figures have alike."""
    found = {}
    for day in (DAY, TODAY):
        (*lines, _) = [row for row in shown(dsn, "master-game", day) if row["currency"] == "MOP"]
        with psycopg.connect(dsn, autocommit=True) as conn:
            catch_up(conn)
            figures = {line.table: line for line in days.table_days(conn, "DEMO", day)}
        assert {line["table"] for line in lines} == set(figures)
        for line in lines:
            told = [Decimal(line[key]) if line[key] else None for key in COUNTED]
            known = [getattr(figures[line["table"]], key) for key in COUNTED]
            assert told == [None if value is None else Decimal(value) / 100 for value in known], (day, line["table"])
            found[day.isoformat(), line["table"]] = told[-2:]
    return found


def test_a_count_win_is_one_figure_in_whatever_state_the_count_is(rounds: Rounds, dsn: str) -> None:
    """Without a drop; with a count of nothing that was cancelled; put right once the day was closed, of tables that were played
    since and that were not."""
    every = [Slips(table) for table in ("R01", "R03", "C01", "F01", "X01")]
    without, cancelled, played_since, put_right, half = every
    closers = {}
    for slips in every:
        opener, closer, drop = slips.count("opener", (100, 500)), slips.count("closer", (100, 400)), slips.drop(5000)
        if slips is cancelled:
            nothing = slips.count("opener")
            at(rounds, START, *signed(slips, nothing), *back(slips, nothing))
        at(rounds, START, *signed(slips, opener, *([] if slips is half else [closer]), *([] if slips is without else [drop])))
        closers[slips.terminal.table] = closer
    accepted(rounds.post(played(Terminal(), {"black": "10000"}, "1")))
    accepted(rounds.post([closing(dsn)]))
    at(rounds, NEXT, *signed(without, without.count("opener", (100, 1))))
    for slips in (played_since, put_right):
        again = slips.count("closer", (100, 420))
        at(rounds, NEXT, *back(slips, closers[slips.terminal.table]), *signed(slips, again))
    accepted(rounds.post(played(Terminal("C01", "cussec"), {"small": "700"}, "1-2-3", NEXT)))
    first, second = DAY.isoformat(), TODAY.isoformat()
    wins = {key: win for key, (win, _) in by_both(dsn).items()}
    assert wins == {
        (first, "R01"): None,
        (first, "R03"): Decimal(-50),
        (first, "C01"): Decimal(-50),
        (first, "F01"): Decimal(-50),
        (first, "X01"): None,
        (second, "R01"): None,
        (second, "C01"): None,
        (second, "F01"): Decimal(20),
    }


def test_what_was_counted_of_a_table_that_moved_stands_once(rounds: Rounds, dsn: str) -> None:
    """With a line of its old pit, for a correction of a closed day, and of another game: whatever pit and game is asked for."""
    wheel = Terminal()
    old = played(wheel, {"black": "10000"}, "1")
    accepted(rounds.post(old))
    accepted(rounds.post([closing(dsn)]))
    accepted(rounds.post(played(Terminal(), {"black": "500"}, "1", NEXT)))
    moved = [msgspec.structs.replace(table, pit="B") if table.id == "R01" else table for table in HOUSE.tables]
    rounds.apply_property(msgspec.structs.replace(HOUSE, tables=tuple(moved)), NEXT)
    for _ in range(2):
        accepted(rounds.post(played(Terminal(), {"black": "700"}, "1", NEXT)))
    dealt = [table for table in HOUSE.tables if table.id != "R01"] + [Table("R01", "B", "fantan", "MOP", "0.10")]
    rounds.apply_property(msgspec.structs.replace(HOUSE, tables=tuple(dealt)), NEXT)
    accepted(rounds.post(played(Terminal("R01", "fantan"), {"fan:1": "900"}, "2", NEXT)))
    wheel.round = old[0].round
    accepted(rounds.post(put_right(wheel, NEXT, kind="outcome", outcome="2")))
    slips = Slips()
    written = slips.count("opener", (100, 500)), slips.count("closer", (100, 400)), slips.drop(5000), slips.fill((100, 3))
    at(rounds, NEXT, *signed(slips, *written))
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        (status,) = days.table_days(conn, "DEMO", TODAY)
    every = shown(dsn, "master-game", TODAY)[:-1]
    assert [(line["pit"], line["game"]) for line in every] == [("B", "fantan"), ("A", "roulette"), ("B", "roulette")]
    counted = [line for line in every if line["drop"]]
    assert [(line["pit"], line["rounds"]) for line in counted] == [("B", "2")]
    assert [Decimal(counted[0][key]) * 100 for key in COUNTED] == [Decimal(getattr(status, key)) for key in COUNTED]
    assert counted[0]["hold_percent"] == status.hold_percent(dealt=True) == "56.00"
    for name, values in {"pit": ("A", "B"), "game": ("fantan", "roulette")}.items():
        apart = [line for value in values for line in shown(dsn, "master-game", TODAY, **{name: value})[:-1]]
        assert sorted(map(str, apart)) == sorted(map(str, every)), name


def test_what_is_counted_of_a_table_that_was_given_up_stands_where_it_dealt_last(rounds: Rounds, dsn: str) -> None:
    accepted(rounds.post(played(Terminal("F01", "fantan"), {"fan:1": "900"}, "2")))
    accepted(rounds.post([closing(dsn)]))
    given_up = [table for table in HOUSE.tables if table.id != "F01"]
    local, other = Slips("F01"), Slips("F01", "HKD")
    for slips in (local, other):
        at(rounds, NEXT, *signed(slips, slips.drop(5000)))
    before = [shown(dsn, "master-game", TODAY, **asked) for asked in ({}, {"pit": "B"}, {"game": "fantan"})]
    rounds.apply_property(msgspec.structs.replace(HOUSE, tables=tuple(given_up)), NEXT)
    assert [shown(dsn, "master-game", TODAY, **asked) for asked in ({}, {"pit": "B"}, {"game": "fantan"})] == before
    assert [(line["currency"], line["hold_percent"]) for line in before[0][:2]] == [("HKD", ""), ("MOP", "0.00")]
