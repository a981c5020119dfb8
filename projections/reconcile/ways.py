"""Three ways: the win of each table and gaming day by the terminals' journal, by the ledger, and by the counts of the cage.

The journal has it from bets: what was staked less what left the table. The ledger has it in `report.table_days`. The counts have
it as closer + credits + drop - opener - fills; what no file says of these is taken from the ledger's own slips. A day of a table
is judged where its counts are whole: a drop, and a closer for each opener.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg

from projections.reconcile.mapping import MappingFile
from projections.reconcile.values import literal, plain
from projections.reports.model import minor

if TYPE_CHECKING:
    from projections.reconcile.engine import Asked, LegResult

_SLIPS = ("slips", "counts", "drops")
_COUNTED = (
    ("opener", "opener", -1),
    ("fill", "fills", -1),
    ("credit", "credits", 1),
    ("drop", "drop", 1),
    ("closer", "closer", 1),
)
"""(what a file calls it, its column in `report.table_counts`, its sign in the count win)."""


def keep(db: duckdb.DuckDBPyConnection, mapping: MappingFile, leg: int) -> None:
    """Keeps what the files of a leg say of each table and day, before their rows go: `w` (table, day, currency, what, amount)."""
    db.execute(
        "CREATE TABLE IF NOT EXISTS w (leg INTEGER, place VARCHAR, day DATE, currency VARCHAR, what VARCHAR, amount HUGEINT, n "
        "BIGINT)"
    )
    fields, side = mapping.fields, mapping.side.name
    if mapping.summed or "currency" not in fields or "table" not in fields:
        return
    # The ledger's day and table where the row was found: a bet counts to the day of its round.
    at = "coalesce(l.table, f.table)", "coalesce(l.gaming_day, f.day)"
    source = "f LEFT JOIN p USING (fid) LEFT JOIN l USING (lid)"
    chosen: list[tuple[str, str, str]] = []
    if side == "bets" and "stake" in fields and "paid" in fields:
        chosen.append(("'win'", "sum(f.stake)::HUGEINT - sum(coalesce(f.paid, 0))", "NOT coalesce(l.void, false)"))
    elif side == "bets" and "stake" in fields:
        chosen.append(("'staked'", "sum(f.stake)::HUGEINT", "NOT coalesce(l.void, false)"))
    elif side == "payouts" and "paid" in fields:
        chosen.append(("'paid'", "sum(f.paid)::HUGEINT", "NOT coalesce(l.void, false)"))
    elif side in _SLIPS and "amount" in fields:
        kind = "'drop'" if side == "drops" else "f.kind"
        void = "coalesce(f.status = 'cancelled', false)" if "status" in fields else "false"
        chosen.append((kind, "sum(f.amount)::HUGEINT", f"NOT {void}"))
    for what, amount, where in chosen:
        db.execute(
            f"INSERT INTO w SELECT {leg}, {at[0]} AS place, {at[1]} AS day, f.currency, {what} AS what, {amount}, count(*) FROM "
            f"{source} "
            f"WHERE {where} GROUP BY ALL"
        )


def compare(
    db: duckdb.DuckDBPyConnection,
    conn: psycopg.Connection[Any],
    legs: Sequence[LegResult],
    asked: Asked,
    tables: Collection[str],
) -> list[dict[str, Any]]:
    """The three figures of each table and day, in minor units; what disagrees is an exception COUNT_VARIANCE.

    `tables`: those that are meant.
    """
    sources = {leg.mapping.source for leg in legs}
    if len(sources & {"terminal", "cage", "count"}) < 2 or not sources & {"cage", "count"}:
        return []
    said = {(place, day, currency, what): (int(amount), n) for place, day, currency, what, amount, n in db.execute(
        "SELECT place, day, currency, what, sum(amount)::VARCHAR, sum(n) FROM w WHERE day IS NOT NULL GROUP BY ALL"
    ).fetchall()}  # fmt: skip
    found = []
    for (place, day, currency), ledger in sorted(_ledger(conn, {key[1] for key in said}).items()):
        key = (place, day, currency)
        if place not in tables or not any(each[:3] == key for each in said) or not _asked_for(asked, day):
            continue
        by_terminal = _terminal(said, key)
        by_count = _count(said, key, ledger)
        figures = {"by_terminal": by_terminal, "by_ledger": ledger["win"], "by_count": by_count}
        known = [figure for figure in figures.values() if figure is not None]
        row = {"table": place, "gaming_day": day, "currency": currency, **figures, "alone": ""}
        if len(known) > 1 and len(set(known)) > 1:
            row["alone"] = _alone(figures)
            _add(db, row, ledger["property"])
        found.append(row)
    return found


def _asked_for(asked: Asked, day: Any) -> bool:
    return (asked.first is None or day >= asked.first) and (asked.last is None or day <= asked.last)


def _ledger(conn: psycopg.Connection[Any], days: set[Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """What the ledger has of each table and day: the win of its rounds, and its own slips."""
    if not days:
        return {}
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    bounds = [min(days), max(days)]
    for place, day, currency, house, win, staked in conn.execute(
        "SELECT table_id, gaming_day, currency, min(property), sum(rounds_win), sum(handle + pushed) FROM report.table_days "
        "WHERE gaming_day BETWEEN %s AND %s GROUP BY table_id, gaming_day, currency",
        bounds,
    ):
        found[place, day, currency] = {"property": house, "win": minor(win, currency), "staked": minor(staked, currency)}
    names = ("opener", "fills", "credits", "drop", "closer")
    for place, day, currency, house, openers, closers, *amounts in conn.execute(
        "SELECT table_id, gaming_day, currency, min(property), sum(openers), "
        'sum(closers), sum(opener), sum(fills), sum(credits), sum("drop"), '
        "sum(closer) FROM report.table_counts WHERE gaming_day BETWEEN %s AND %s GROUP BY table_id, gaming_day, currency",
        bounds,
    ):
        one = found.setdefault((place, day, currency), {"property": house, "win": 0, "staked": 0})
        one |= {name: None if value is None else minor(value, currency) for name, value in zip(names, amounts, strict=True)}
        one["whole"] = openers == closers
    return found


def _terminal(said: dict[tuple[Any, ...], tuple[int, int]], key: tuple[Any, ...]) -> int | None:
    """The win by the journal: from bets that say what was paid, or from bets and payouts."""
    if (*key, "win") in said:
        return said[*key, "win"][0]
    if (*key, "staked") in said and (*key, "paid") in said:
        return said[*key, "staked"][0] - said[*key, "paid"][0]
    return None


def _count(said: dict[tuple[Any, ...], tuple[int, int]], key: tuple[Any, ...], ledger: dict[str, Any]) -> int | None:
    """closer + credits + drop - opener - fills, each by the file where it is in one; None where the counts are not whole."""
    total, there = 0, False
    openers = closers = None
    for what, of_ledger, sign in _COUNTED:
        by_file = said.get((*key, what))
        amount = by_file[0] if by_file is not None else ledger.get(of_ledger)
        if amount is None:
            if what in ("opener", "closer", "drop"):
                return None
            amount = 0
        there = there or by_file is not None
        openers = by_file[1] if what == "opener" and by_file else openers
        closers = by_file[1] if what == "closer" and by_file else closers
        total += sign * amount
    whole = openers == closers if openers is not None or closers is not None else ledger.get("whole", False)
    return total if there and whole else None


def _alone(figures: dict[str, int | None]) -> str:
    """Which side stands alone against two that agree; all where none agree."""
    names = {name: figure for name, figure in figures.items() if figure is not None}
    for name, figure in names.items():
        others = {other for each, other in names.items() if each != name}
        if len(names) == 3 and len(others) == 1 and figure not in others:
            return name.removeprefix("by_")
    return "no two agree" if len(names) == 3 else "two sides only"


def _add(db: duckdb.DuckDBPyConnection, row: dict[str, Any], house: str) -> None:
    place, day, currency = row["table"], row["gaming_day"], row["currency"]
    other = row["by_count"] if row["by_count"] is not None else row["by_terminal"]
    if row["alone"] == "terminal":
        other = row["by_terminal"]
    shown = []
    for name in ("by_terminal", "by_count", "by_ledger"):
        found = (
            None if row[name] is None else db.execute(f"SELECT {plain(f'{row[name]}::HUGEINT', literal(currency))}").fetchone()
        )
        shown.append("-" if found is None else str(found[0]))
    values = {
        "leg": -1,
        "reason": "COUNT_VARIANCE",
        "subject": f"{place} {day} {currency}",
        "what": f"table {place} gaming_day {day}",
        "table_id": place,
        "gaming_day": day,
        "currency": currency,
        "field": "win",
        "in_file": f"terminal {shown[0]}, count {shown[1]}",
        "in_ledger": shown[2],
        "difference": other - row["by_ledger"],
        "rows": 1,
        "detail": f"alone: {row['alone']}",
        "next": f"roundledger day status {day} --property {house}",
    }
    db.execute(f"INSERT INTO x ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", list(values.values()))
