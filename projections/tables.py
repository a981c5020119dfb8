"""The projections and their tables: each folds a batch of events and writes what changes, in the transaction of its caller.

Tables are named without a schema: the caller's search path says whether the live ones are meant or a copy of them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql

from ledger import erasure
from ledger.events import EVENTS, DocumentRecorded, Event, Recorded
from projections.fold import Movement, keep_books
from projections.kept import Kept, copy, copy_in
from projections.known import BY_KIND, CORRECTIONS, DAYS, HOLDS, ROUNDS, STAFF, known
from projections.moments import changes, earliest
from projections.placed import write_bets
from projections.players import erase
from projections.rows import ChipsRow, LateBetRow, VoidRow
from projections.tally import COUNTED, Heading, Line, count_up

Cursor = psycopg.Cursor[Any]


@dataclass(frozen=True, slots=True)
class Projection:
    """A fold with tables of its own. It depends on the log and on no other projection."""

    name: str
    """Its key in `positions`."""
    events: frozenset[type[Event]]
    """What it folds; every other event is passed over, even one that cannot be read."""
    tables: tuple[str, ...]
    """The tables that are its own."""
    apply: Callable[[Cursor, Sequence[Recorded]], None]
    """Folds the next events into its tables. Raises Contradiction at one that it cannot fold."""


def _apply_ledger(cursor: Cursor, events: Sequence[Recorded]) -> None:
    erased = erasure.names(cursor, events[-1].position)
    erase(cursor, events)
    if erased:
        events = [erasure.shown(recorded, erased) for recorded in events]
    before = known(cursor, events)
    books = keep_books(events, before)
    _write(cursor, ROUNDS, books.rounds, before.rounds)
    write_bets(cursor, books.bets, before.bets)
    _write(cursor, HOLDS, books.holds, before.holds)
    _write(cursor, CORRECTIONS, books.corrections, before.corrections)
    _write(cursor, STAFF, books.staff, {row.from_position for row in before.staff.values()})
    _VOIDS.write(cursor, (), books.voids)
    _LATE_BETS.write(cursor, (), books.late_bets)
    if books.slips:
        for register in dict.fromkeys(BY_KIND.values()):
            mine = {id_: row for id_, row in books.slips.items() if BY_KIND[row.kind] is register}
            _write(cursor, register, mine, before.slips)
        _CHIPS.write(cursor, (), books.chips)
    DAYS.write(cursor, (), books.days)
    copy(cursor, _COPY_MOVEMENTS, _MOVEMENT_TYPES, books.movements)
    _add(cursor, _ADD_BALANCES, ((*key, delta) for key, delta in books.balances.items()))
    _add(cursor, _ADD_CHANGES, ((*key, delta) for key, delta in changes(books.movements).items()))
    _add(cursor, _ADD_TIMES, earliest(events).items())


def _write(cursor: Cursor, table: Kept[Any], rows: Mapping[Any, Any], before: Container[Any]) -> None:
    changed = [row for key, row in rows.items() if key in before]
    table.write(cursor, changed, [row for key, row in rows.items() if key not in before])


def _apply_tables(cursor: Cursor, events: Sequence[Recorded]) -> None:
    cursor.execute(_SELECT_HEADINGS, (_streams(events),), binary=True)
    tally = count_up(events, {row[0]: Heading(*row[1:]) for row in cursor})
    copy(cursor, _COPY_HEADINGS, _HEADING_TYPES, ((id_, *heading) for id_, heading in tally.opened.items()))
    _add(cursor, _ADD_REPORTS, ((*heading, *msgspec.structs.astuple(line)) for heading, line in tally.lines.items()))
    _add(cursor, _ADD_EDGES, ((*heading, edge, stake) for (heading, edge), stake in tally.stakes.items()))
    _add(cursor, _ADD_OUTCOMES, ((*key, count) for key, count in tally.outcomes.items()))


LEDGER = Projection(
    "ledger",
    frozenset(EVENTS) - {DocumentRecorded},
    (
        "rounds",
        "bets",
        "results",
        "movements",
        "balances",
        "balance_changes",
        "log_times",
        "holds",
        "corrections",
        "voids",
        "late_bets",
        "table_staff",
        "counts",
        "slips",
        "drops",
        "chips",
        "days",
    ),
    _apply_ledger,
)
"""Rounds, bets, movements and balances, which check each other, and the registers of what is out of the ordinary."""

TABLES = Projection(
    "tables",
    COUNTED,
    ("table_rounds", "table_reports", "table_edges", "table_outcomes"),
    _apply_tables,
)
"""What each table did by gaming day: the table report, stakes by house edge, outcomes."""

PROJECTIONS = (LEDGER, TABLES)
"""Every projection of this release."""


def _streams(events: Iterable[Recorded]) -> list[UUID]:
    return list({recorded.stream for recorded in events})


def _add(cursor: Cursor, statement: bytes, rows: Iterable[Sequence[Any]]) -> None:
    columns = list(map(list, zip(*rows, strict=True)))
    if columns:
        cursor.execute(statement, columns)


# The statements, put together once from the names of the fields that they fill: to do it at every batch takes longer than a small
# batch.


def _names(columns: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _add_to(table: str, key: dict[str, str], sums: dict[str, str]) -> bytes:
    """Inserts rows given as one array a column, or adds their sums to the rows that are there."""
    columns = key | sums
    return (
        sql.SQL("INSERT INTO {table} AS old ({names}) SELECT * FROM unnest({arrays}) ON CONFLICT ({key}) DO UPDATE SET {sets}")
        .format(
            table=sql.Identifier(table),
            names=_names(columns),
            arrays=sql.SQL(", ").join(sql.SQL("%s::{}[]").format(sql.Identifier(type_)) for type_ in columns.values()),
            key=_names(key),
            sets=sql.SQL(", ").join(sql.SQL("{0} = old.{0} + excluded.{0}").format(sql.Identifier(name)) for name in sums),
        )
        .as_bytes()
    )


_VOIDS = Kept("voids", VoidRow, ["position"], sums=["stakes"])
_CHIPS = Kept("chips", ChipsRow, ["slip", "value"])
_LATE_BETS = Kept("late_bets", LateBetRow, ["position"])
_COPY_MOVEMENTS = copy_in("movements", Movement._fields)
_MOVEMENT_TYPES = ["int8", "int4", "uuid", "uuid", "text", "text", "text", "text", "numeric", "uuid"]
_ADD_BALANCES = _add_to("balances", {"account": "text", "currency": "text"}, {"balance": "numeric"})
_ADD_CHANGES = _add_to("balance_changes", {"account": "text", "currency": "text", "block": "int8"}, {"change": "numeric"})
_ADD_TIMES = b"""
    INSERT INTO log_times AS old (block, earliest) SELECT * FROM unnest(%s::int8[], %s::timestamptz[])
    ON CONFLICT (block) DO UPDATE SET earliest = excluded.earliest WHERE excluded.earliest < old.earliest
"""

_HEADING = {column: "date" if column == "gaming_day" else "text" for column in Heading._fields}
_SELECT_HEADINGS = sql.SQL("SELECT round, {} FROM table_rounds WHERE round = ANY (%s)").format(_names(_HEADING)).as_bytes()
_COPY_HEADINGS = copy_in("table_rounds", ("round", *_HEADING))
_HEADING_TYPES = ["uuid", *_HEADING.values()]
_ADD_REPORTS = _add_to(
    "table_reports",
    _HEADING,
    {column: "int8" if column in ("rounds", "bets") else "numeric" for column in Line.__struct_fields__},
)
_ADD_EDGES = _add_to("table_edges", _HEADING | {"edge": "text"}, {"stakes": "numeric"})
_ADD_OUTCOMES = _add_to(
    "table_outcomes", {"gaming_day": "date", "table_id": "text", "game": "text", "outcome": "text"}, {"count": "int8"}
)
