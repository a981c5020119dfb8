"""The ledger's side: rows of the views of `report`, copied out by COPY into a file that DuckDB loads, in one state of the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from ledger import erasure
from ledger.money import CURRENCIES
from projections.reconcile.mapping import MappingFile
from projections.reconcile.sides import Field, Side
from projections.reconcile.values import listed, literal, quoted
from projections.reports.model import minor

Connection = psycopg.Connection[Any]
_TYPES = {
    "id": "VARCHAR",
    "text": "VARCHAR",
    "word": "VARCHAR",
    "amount": "DECIMAL(38,2)",
    "number": "BIGINT",
    "time": "TIMESTAMPTZ",
    "date": "DATE",
    "flag": "BOOLEAN",
}


class Scope(NamedTuple):
    """Which rows of the ledger are asked for. None leaves a bound out."""

    first: date | None = None
    last: date | None = None
    filters: tuple[tuple[str, str], ...] = ()
    """(property, pit, table or game; its value)."""
    tables: tuple[str, ...] | None = None
    """The tables that are meant, where a filter is by what the rows do not say."""


class Copied(NamedTuple):
    """What was copied out."""

    path: Path
    fields: dict[str, Field]
    """The fields, in order, after position, expected and void."""

    def load(self, table: str, more: str) -> str:
        """SQL that makes a table of it: lid, pos, expected, void, the fields with amounts in minor units, and `more`."""
        columns = {"pos": "BIGINT", "expected": "BOOLEAN", "void": "BOOLEAN"}
        columns |= {name: _TYPES[field.kind] for name, field in self.fields.items()}
        spelled = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
        whole = listed(code for code, digits in CURRENCIES.items() if digits == 0)
        made = []
        for name, field in self.fields.items():
            if field.kind == "amount":
                made.append(
                    f"CAST(CASE WHEN currency IN ({whole}) THEN {name} ELSE {name} * 100 END AS BIGINT) AS {quoted(name)}"
                )
            elif field.kind == "time":
                made.append(f"epoch_us({quoted(name)}) AS {quoted(name)}")
            else:
                made.append(quoted(name))
        options = "auto_detect=false, header=false, delim=',', quote='\"', escape='\"', nullstr=''"
        rows = f"read_csv({literal(str(self.path))}, {options}, columns={{{spelled}}})"
        numbered = f"SELECT row_number() OVER () AS lid, pos, expected, void, {', '.join(made)} FROM {rows}"
        return f"CREATE OR REPLACE TABLE {table} AS SELECT *, {more} FROM ({numbered})"


def copy_out(conn: Connection, side: Side, fields: dict[str, Field], scope: Scope, path: Path) -> Copied:
    """Copies the rows of a side with these fields. `conn` is in a transaction of one state."""
    joins = sorted({field.join for field in fields.values() if field.join})
    columns = [side.position, side.expected, side.void, *(_source(field) for field in fields.values())]
    where: list[sql.Composable] = [_sql(side.where)]
    where += [sql.SQL("v.gaming_day >= {}").format(scope.first)] if scope.first else []
    where += [sql.SQL("v.gaming_day <= {}").format(scope.last)] if scope.last else []
    where += [
        sql.SQL("{} = {}").format(sql.Identifier("v", "table_id" if name == "table" else name), value)
        for name, value in scope.filters
    ]
    if scope.tables is not None and "table" in side.fields:
        where.append(sql.SQL("v.table_id = ANY ({})").format(list(scope.tables)))
    statement = sql.SQL("COPY (SELECT {} FROM {} AS v {} WHERE {}) TO STDOUT (FORMAT csv)").format(
        sql.SQL(", ").join(map(_sql, columns)),
        sql.Identifier("report", side.view),
        sql.SQL(" ").join(map(_sql, joins)),
        sql.SQL(" AND ").join(where),
    )
    with path.open("wb") as file, conn.cursor() as cursor, cursor.copy(statement) as rows:
        for part in rows:
            file.write(part)
    return Copied(path, fields)


def _source(field: Field) -> str:
    return field.source


def _sql(text: str) -> sql.SQL:
    """SQL that stands in this package."""
    return sql.SQL(text)


def known_tables(conn: Connection) -> list[str]:
    """The tables that a property has, at which something was played or counted."""
    found = conn.execute(
        "SELECT table_id FROM report.tables UNION SELECT table_id FROM report.table_days "
        "UNION SELECT table_id FROM report.table_counts"
    )
    return sorted(table for (table,) in found)


_OF_TABLES = (
    ("report.tables", ("property", "pit", "table", "game")),
    ("report.table_days", ("property", "pit", "table", "game")),
    ("report.table_counts", ("property", "table")),
)
"""(view, what it says of a table)."""


def tables_of(conn: Connection, filters: Sequence[tuple[str, str]]) -> list[str]:
    """The known tables of which all of these (property, pit, table or game; its value) are true."""
    found: set[str] = set()
    for view, says in _OF_TABLES:
        if all(name in says for name, _ in filters):
            where = [
                sql.SQL("{} = {}").format(sql.Identifier("table_id" if name == "table" else name), value)
                for name, value in filters
            ]
            query = sql.SQL("SELECT DISTINCT table_id FROM {} WHERE {}").format(
                _sql(view), sql.SQL(" AND ").join(where) if where else _sql("true")
            )
            found.update(table for (table,) in conn.execute(query))
    return sorted(found)


def erased(conn: Connection) -> erasure.Names:
    """Erased references and what is shown instead; nothing for a role that may read the reports and not the log."""
    [(may,)] = conn.execute("SELECT has_schema_privilege('ledger', 'USAGE')").fetchall()
    return erasure.names(conn) if may else erasure.NOBODY


_NAMING = {"player": "", "account": "player/"}
"""Field that names a player → what stands before the reference."""


def as_shown(mapping: MappingFile, erased: erasure.Names) -> MappingFile:
    """The mapping by which a file says of an erased player what the ledger shows: files of before name them still."""
    if not erased:
        return mapping
    values, constants = dict(mapping.values), dict(mapping.constants)
    for name, before in _NAMING.items():
        if name not in mapping.fields:
            continue
        instead = {f"{before}{player}": f"{before}{shown}" for player, shown in erased.items()}
        values[name] = instead | {word: instead.get(meant, meant) for word, meant in values.get(name, {}).items()}
        if name in constants:
            constants[name] = instead.get(constants[name], constants[name])
    return replace(mapping, values=values, constants=constants)


def payable_units(conn: Connection) -> list[tuple[str, int]]:
    """Each configured table and its payable unit, in minor units of its currency."""
    found = conn.execute(
        "SELECT table_id, payable_unit, currency FROM report.tables WHERE payable_unit IS NOT NULL ORDER BY table_id"
    )
    return [(table, minor(unit, currency)) for table, unit, currency in found]


class House(NamedTuple):
    """When the gaming day of a property begins."""

    zone: str
    start: str


def houses(conn: Connection) -> list[House]:
    """Of every property in force."""
    return [House(*row) for row in conn.execute("SELECT DISTINCT zone, gaming_day_start FROM report.properties ORDER BY 1, 2")]


@contextmanager
def one_state(dsn: str) -> Any:
    """A connection that reads one state of the database and writes nothing."""
    with psycopg.connect(dsn) as conn:
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        conn.execute("SET LOCAL TimeZone = 'UTC'")
        conn.execute("SET LOCAL DateStyle = 'ISO, YMD'")
        yield conn


def needed(side: Side, mapped: Iterable[str], also: Sequence[str]) -> dict[str, Field]:
    """The fields to copy: those of the file, those by which rows are told, and `also`."""
    wanted = dict.fromkeys([*side.key, "table", "gaming_day", "currency", side.amount, *mapped, *also])
    return {name: side.fields[name] for name in wanted if name in side.fields}
