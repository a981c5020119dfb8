"""What a run says: a summary first, then each exception, in an order that is the same in every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ledger.money import CURRENCIES
from projections.reconcile.engine import LegResult, Result
from projections.reconcile.reasons import RANK, REASONS
from projections.reconcile.values import literal
from projections.reports.model import Beside, Column, Report, Row, amount

COLUMNS = (
    Column("reason", "reason"),
    Column("state", "state"),
    Column("what", "what"),
    Column("field", "field"),
    Column("in_file", "in the file"),
    Column("in_ledger", "in the ledger"),
    Column("currency", "currency"),
    Column("difference", "difference", "amount"),
    Column("rows", "rows", "count"),
    Column("file", "file"),
    Column("lines", "line"),
    Column("table", "table"),
    Column("gaming_day", "gaming day", "date"),
    Column("positions", "position"),
    Column("detail", "detail"),
    Column("next", "next"),
    Column("first_seen", "first seen", "time"),
    Column("resolved_by", "resolved by"),
    Column("why", "why"),
    Column("id", "exception", "id"),
)
"""Of the rows: one exception each. `difference` is file less ledger."""

NO_CURRENCY = ""
_BATCH = 2_000
OPEN_STATES = ("new", "still open")


def rows(result: Result, limit: int | None = None) -> Iterator[Row]:
    """The exceptions, as rows under `COLUMNS`."""
    ranks = " ".join(f"WHEN {literal(code)} THEN {rank}" for code, rank in RANK.items())
    names = " ".join(f"WHEN {n} THEN {literal(one.base)}" for n, one in enumerate(_staged(result)))
    file = f"CASE file {names} END" if names else "NULL"
    cursor = result.db.cursor()
    cursor.execute(
        "SELECT reason, state, what, field, in_file, in_ledger, currency, difference::VARCHAR, rows, "
        f"{file} AS file_name, lines, table_id, gaming_day, positions, detail, next, first_seen, resolved_by, why, id FROM x "
        f"ORDER BY CASE reason {ranks} END, table_id, gaming_day, leg, file, line, what, field, id"
        f"{'' if limit is None else f' LIMIT {limit}'}"
    )
    while batch := cursor.fetchmany(_BATCH):
        for row in batch:
            yield _typed(row)


def _typed(row: tuple[Any, ...]) -> Row:
    currency, difference = row[6], row[7]
    value = amount(int(difference), currency) if difference is not None and currency in CURRENCIES else None
    return (*row[:6], currency if currency is not None else NO_CURRENCY, value, *row[8:])


def _staged(result: Result) -> list[Any]:
    return [one for leg in result.legs for one in leg.staged]


def differences(result: Result) -> int:
    """How many exceptions are differences: what is resolved is none, nor what is within a tolerance."""
    notes = ", ".join(literal(code) for code, reason in REASONS.items() if reason.kind == "note")
    row = result.db.execute(f"SELECT count(*) FROM x WHERE reason NOT IN ({notes}) AND state <> 'resolved'").fetchone()
    assert row is not None
    return int(row[0])


def facts(result: Result) -> dict[str, Any]:
    """What the heading says."""
    legs = result.legs
    said: dict[str, Any] = {
        "files": "; ".join(f"{one.name} ({leg.mapping.name}, sha256 {one.sha256[:16]})" for leg in legs for one in leg.staged),
        "gaming_days": "; ".join(dict.fromkeys(leg.days for leg in legs if leg.days)) or "all",
        "tolerance": "; ".join(dict.fromkeys(leg.mapping.said() for leg in legs)),
        "compared": (
            f"{result.compared} of {sum(leg.lines for leg in legs)} lines with {sum(leg.ledger_rows for leg in legs)} rows"
        ),
        "differences": differences(result),
        "as_of_position": result.position,
    }
    if outside := sum(leg.outside for leg in legs):
        said["outside_the_period"] = outside
    if filtered := sum(leg.filtered for leg in legs):
        said["outside_the_filters"] = filtered
    if left_out := sum(leg.left_out for leg in legs):
        said["lines_about_something_else"] = left_out
    return said


def by_leg(leg: LegResult) -> list[dict[str, Any]]:
    """Rows of the summary: what was compared, by currency. What is of all of them stands in the first."""
    how = ", ".join(f"{name} {n}" for name, n in leg.how.items()) or "none"
    first: dict[str, Any] = {"compared_with": leg.mapping.side.name, "mapping": leg.mapping.name, "by_key": how}
    first |= {"lines": leg.lines, "ledger_rows": leg.ledger_rows, "matched": leg.compared}
    others = first | dict.fromkeys(("by_key", "lines", "matched"))
    return [{**(others if n else first), **total} for n, total in enumerate(leg.totals)] or [first]


def besides(result: Result) -> list[Beside]:
    """The sheets that stand before the exceptions: what was compared, the reasons, and the sides of three ways if there are."""
    reasons = [
        {"reason": reason, "exceptions": n, "rows": rows_, "meaning": REASONS[reason].meaning}
        for reason, n, rows_ in result.by_reason()
    ]
    compared = [_money(row) for leg in result.legs for row in by_leg(leg)]
    sheets = [
        Beside("compared", "What was compared", _COMPARED, compared),
        Beside("reasons", "Exceptions by reason", ("reason", "exceptions", "rows", "meaning"), reasons),
    ]
    if result.ways:
        sheets.append(Beside("ways", "Win by each side", _WAYS, [_money(row) for row in result.ways]))
    return sheets


_COMPARED = ("compared_with", "mapping", "lines", "ledger_rows", "matched", "by_key", "currency", "file_rows", "file_total",
             "ledger_total", "difference")  # fmt: skip
_WAYS = ("table", "gaming_day", "currency", "by_terminal", "by_ledger", "by_count", "alone")
_AMOUNTS = ("file_total", "ledger_total", "difference", "by_terminal", "by_ledger", "by_count")


def _money(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its minor units as decimals of its currency."""
    currency = row.get("currency")
    return {
        key: amount(value, currency) if key in _AMOUNTS and value is not None and currency in CURRENCIES else value
        for key, value in row.items()
    }


def report(result: Result, heading: Mapping[str, Any]) -> Report:
    """The run as a report that every writer knows; `heading` stands before its own facts."""
    return Report(
        name="reconciliation",
        title="Reconciliation",
        facts={**heading, **facts(result)},
        columns=COLUMNS,
        found=rows(result),
        notes=result.notes,
        legend="difference = file less ledger",
        beside=besides(result),
    )


def none_compared(result: Result) -> bool:
    """Whether there was nothing to compare."""
    return not result.looked_at
