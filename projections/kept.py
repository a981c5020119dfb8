"""The tables whose rows are structs of the fold, or part of one: read by key, written as the fold leaves them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_type_hints
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql

Cursor = psycopg.Cursor[Any]
Row = TypeVar("Row", bound=msgspec.Struct)

_TYPES: dict[Any, str] = {str: "text", int: "int8", bool: "bool", UUID: "uuid", date: "date", datetime: "timestamptz"}


class Kept(Generic[Row]):
    """One table, whose columns are fields of `struct`.

    Its statements are put together once: to do it at every batch takes longer than a small batch.
    """

    def __init__(
        self,
        table: str,
        struct: type[Row],
        key: Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        sums: Collection[str] = (),
        fixed: Collection[str] = (),
    ) -> None:
        """`columns` are all fields if none are named. `sums` may outgrow 64 bits; `fixed` never change once the row is there."""
        self._struct = struct
        self._columns = tuple(columns or struct.__struct_fields__)
        self._sums = [name for name in self._columns if name in sums]
        hints = get_type_hints(struct)
        self._types = ["numeric" if name in sums else _type(hints[name]) for name in self._columns]
        names, at = _names(self._columns), sql.Identifier(table)
        self._values = attrgetter(*self._columns)
        self._copy = copy_in(table, self._columns)
        self._select = sql.SQL("SELECT {} FROM {} WHERE ").format(names, at)
        changing = [name for name in self._columns if name not in key and name not in fixed]
        self.changing = attrgetter(*changing)
        """Of a row, what may change of it, in the order of the columns."""
        self._changed = attrgetter(*changing, *key)
        self._update = sql.SQL("UPDATE {} SET {} WHERE {}").format(at, _equal(changing, ", "), _equal(key, " AND ")).as_bytes()

    def where(self, condition: str) -> bytes:
        """The statement that reads the rows of which a condition holds."""
        return (self._select + sql.SQL(condition)).as_bytes()

    def read(self, cursor: Cursor, statement: bytes, parameters: Sequence[Any]) -> list[Row]:
        """The rows that a statement gives, whose columns are the table's."""
        found = []
        for values in self.values(cursor, statement, parameters):
            fields = dict(zip(self._columns, values, strict=True))
            for name in self._sums:
                fields[name] = int(fields[name])  # numeric arrives as Decimal, which is exact; the fold counts in int
            found.append(self._struct(**fields))
        return found

    def values(self, cursor: Cursor, statement: bytes, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows that a statement gives, as they come."""
        return cursor.execute(statement, parameters, binary=True).fetchall()

    def write(self, cursor: Cursor, changed: Iterable[Row], new: Iterable[Row]) -> None:
        """Writes rows that are there, then rows that are not."""
        updates = list(map(self._changed, changed))
        if updates:
            cursor.executemany(self._update, updates)
        copy(cursor, self._copy, self._types, map(self._values, new))


def copy(cursor: Cursor, statement: bytes, types: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Copies rows into a table; nothing is sent where there are none."""
    some = list(rows)
    if not some:
        return
    with cursor.copy(statement) as copying:
        copying.set_types(types)
        write = copying.write_row
        for row in some:
            write(row)


def copy_in(table: str, columns: Iterable[str]) -> bytes:
    """The statement for `copy`."""
    return sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table), _names(columns)).as_bytes()


def _names(columns: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _equal(columns: Iterable[str], between: str) -> sql.Composed:
    return sql.SQL(between).join(sql.SQL("{} = %s").format(sql.Identifier(name)) for name in columns)


def _type(hint: Any) -> str:
    if hint in _TYPES:
        return _TYPES[hint]
    (said,) = (each for each in hint.__args__ if each is not type(None))
    return _TYPES[said]
