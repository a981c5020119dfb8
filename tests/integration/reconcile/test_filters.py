"""Filters: they hold for the rows of the files as for those of the ledger, and what they leave out is counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cli.main import run
from projections.reconcile import engine, ledger, mapping
from projections.reconcile.result import facts
from tests.integration.reconcile.support import Rows, rows_of, write
from tests.proofs.corpus import house

FILTERS = [("table", "T03"), ("pit", "B"), ("game", "fantan"), ("property", "CORPUS")]
FILES = ("terminal-bets", "terminal-results", "terminal-rounds", "cage-slips", "chip-counts", "drop-counts")
"""Ready mappings whose files name a table."""


@pytest.fixture(scope="module")
def filled(shared_dsn: str) -> str:
    house.fill(shared_dsn, 400)
    return shared_dsn


class Found:
    """What came of a run: (reason, table) of each exception, the heading, the tables of three ways."""

    def __init__(self, dsn: str, files: Sequence[tuple[str, Path]], *filters: tuple[str, str]) -> None:
        legs = [engine.Leg(mapping.load(name), [path]) for name, path in files]
        asked = engine.Asked(filters=filters)
        with ledger.one_state(dsn) as conn, engine.reconciled(conn, legs, asked) as result:
            self.exceptions = result.db.execute("SELECT reason, table_id FROM x ORDER BY ALL").fetchall()
            self.facts = facts(result)
            self.lines = sum(leg.lines for leg in result.legs)
            self.left_out = sum(leg.filtered for leg in result.legs)
            self.ways = {way["table"] for way in result.ways}


def table_of(rows: Rows) -> list[Any]:
    """The table of each row."""
    return [row[rows[0].index("table")] for row in rows[1:]]


@pytest.mark.parametrize("filter_", FILTERS, ids=lambda pair: pair[0])
def test_a_file_of_the_whole_house_is_compared_by_the_rows_of_the_filter(
    filled: str, tmp_path: Path, filter_: tuple[str, str]
) -> None:
    with psycopg.connect(filled) as conn:
        asked_for = set(ledger.tables_of(conn, [filter_]))
    files, inside, outside = [], 0, 0
    for name in FILES:
        rows = rows_of(filled, name)
        files.append((name, write(tmp_path / f"{name}.csv", rows)))
        inside += sum(table in asked_for for table in table_of(rows))
        outside += sum(table not in asked_for for table in table_of(rows))
    found = Found(filled, files, filter_)
    assert {reason for reason, _ in found.exceptions} <= {"COUNT_VARIANCE"}
    assert (found.lines, found.left_out) == (inside, outside)
    assert found.facts.get("outside_the_filters", 0) == outside
    assert found.ways <= asked_for


def test_what_is_wrong_is_found_in_the_filter_and_not_outside_of_it(filled: str, tmp_path: Path) -> None:
    rows = rows_of(filled, "terminal-bets")
    stake, table = rows[0].index("stake"), rows[0].index("table")
    for place in ("T03", "T04"):
        row = next(row for row in rows[1:] if row[table] == place)
        row[stake] += 1
    files = [("terminal-bets", write(tmp_path / "bets.csv", rows))]
    assert Found(filled, files, ("table", "T03")).exceptions == [("AMOUNT_DIFF", "T03")]
    assert Found(filled, files, ("table", "T05")).exceptions == []
    assert Found(filled, files).exceptions == [("AMOUNT_DIFF", "T03"), ("AMOUNT_DIFF", "T04")]


def test_a_bet_of_the_filter_that_the_file_has_at_another_table_is_no_missing_one(filled: str, tmp_path: Path) -> None:
    rows = rows_of(filled, "terminal-bets")
    table = rows[0].index("table")
    next(row for row in rows[1:] if row[table] == "T03")[table] = "T04"
    files = [("terminal-bets", write(tmp_path / "bets.csv", rows))]
    assert Found(filled, files, ("table", "T03")).exceptions == [("TABLE_DIFF", "T03")]


def test_a_line_that_cannot_be_read_counts_where_it_is_of_the_filter(filled: str, tmp_path: Path) -> None:
    rows = rows_of(filled, "terminal-bets")
    stake, table, bet = (rows[0].index(name) for name in ("stake", "table", "bet"))
    for place in ("T03", "T04"):
        row = next(row for row in rows[1:] if row[table] == place)
        row[stake], row[bet] = "much", "00000000-0000-4000-8000-000000000001"
    files = [("terminal-bets", write(tmp_path / "bets.csv", rows))]
    found = [reason for reason, _ in Found(filled, files, ("table", "T03")).exceptions]
    assert found == ["MISSING_IN_FILE", "UNPARSEABLE_LINE"]


def test_a_table_that_is_none_is_refused_with_what_is_near(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LEDGER_DSN", filled)
    path = write(tmp_path / "bets.csv", rows_of(filled, "terminal-bets"))
    assert run(["reconcile", str(path), "--table", "t03"]) == 2
    said = capsys.readouterr().err
    assert "LGR-0602" in said
    assert "did you mean T03?" in said
    assert run(["reconcile", str(path), "--table", "T03"]) == 0
    assert "outside the filters: " in capsys.readouterr().out
