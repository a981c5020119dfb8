"""Files that say what the ledger says, for tests to spoil."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg

from projections.reconcile import engine, ledger, mapping

QUERIES = {
    "terminal-bets": "SELECT bet, round, table_id AS table, spot, stake, currency, player, occurred_at FROM report.bets "
    "WHERE result <> 'void' ORDER BY position",
    "terminal-results": "SELECT bet, table_id AS table, gaming_day, upper(left(result, 1)) AS result, "
    "coalesce(returned, 0) AS paid, currency, regulation FROM report.bets ORDER BY position",
    "terminal-rounds": "SELECT round, table_id AS table, gaming_day, outcome, status FROM report.rounds ORDER BY first_position",
    "cage-slips": "SELECT number AS slip_no, kind, table_id AS table, gaming_day, currency, total, '' AS status "
    "FROM report.slips WHERE kind IN ('fill', 'credit') ORDER BY written_position",
    "chip-counts": "SELECT table_id AS table, gaming_day, shift, kind, currency, total AS counted FROM report.slips "
    "WHERE kind IN ('opener', 'closer') ORDER BY written_position",
    "drop-counts": "SELECT table_id AS table, gaming_day, shift, box, currency, total AS drop, cash, vouchers "
    "FROM report.slips WHERE kind = 'drop' ORDER BY written_position",
}
"""Ready mapping → what a file under it says where all is well."""
Rows = list[list[Any]]


def rows_of(dsn: str, name: str) -> Rows:
    """Titles and rows."""
    with psycopg.connect(dsn) as conn:
        conn.execute("SET TimeZone = 'Asia/Macau'")
        cursor = conn.execute(QUERIES[name].encode())
        return [[column.name for column in cursor.description or ()], *([*row] for row in cursor)]


def write(path: Path, rows: Sequence[Sequence[Any]], **options: Any) -> Path:
    """Rows as a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n", **options).writerows(rows)
    return path


def found(
    dsn: str, *files: tuple[str | mapping.MappingFile, Path], asked: engine.Asked | None = None
) -> list[tuple[str, str, str]]:
    """(reason, what, lines) of each exception of (mapping or its name, file)."""
    legs = [engine.Leg(mapping.load(one) if isinstance(one, str) else one, [path]) for one, path in files]
    with ledger.one_state(dsn) as conn, engine.reconciled(conn, legs, asked or engine.Asked()) as result:
        return [
            (reason, what, lines or "")
            for reason, what, lines in result.db.execute("SELECT reason, what, lines FROM x ORDER BY ALL").fetchall()
        ]
