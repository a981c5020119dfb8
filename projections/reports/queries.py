"""What reports read: rows of the views of the schema `report`, and nothing else of the database.

Every statement is one state of the tables where its connection is in a REPEATABLE READ transaction, which it has to be: rows come
over a cursor of the server, so that a report of any length takes the memory of a batch.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg import sql

from projections.reports.filters import PLACES, Filters
from projections.reports.model import Column, Row, minor

Connection = psycopg.Connection[Any]
_BATCH = 5000


class Source(NamedTuple):
    """Where rows come from: constants of the catalogue, never what a user wrote."""

    view: str
    order: Sequence[str]
    """Keys of the columns by which the rows are ordered."""
    where: str = ""
    grouped: bool = False
    """Whether rows alike in all but their sums become one."""
    by_day: bool = True
    """Whether rows are of gaming days."""
    days: Sequence[str] = ("gaming_day",)
    """The view's columns by which a period finds a row: one of them has to lie in it."""
    places: Sequence[str] = PLACES
    """The filters that the view knows."""
    posted: bool = False
    """Whether what is corrected of a closed day stands under the day to which it is posted."""


def rows(
    conn: Connection, source: Source, columns: Sequence[Column], filters: Filters, more: Mapping[str, Any] | None = None
) -> Iterator[Row]:
    """The rows of a view under a report's columns, in order; `more` are parameters of the source's own condition."""
    statement, parameters = _statement(source, columns, filters)
    conn.execute("SET LOCAL TimeZone = 'UTC'")
    with conn.cursor("report") as cursor:
        cursor.itersize = _BATCH
        cursor.execute(statement, {**parameters, **(more or {})})
        yield from cursor


def copied(
    conn: Connection, source: Source, columns: Sequence[Column], filters: Filters, more: Mapping[str, Any] | None = None
) -> Generator[bytes, None, None]:
    """The same rows as the server's own CSV, without titles: null is nothing, an empty text is quoted; in parts of any size."""
    statement, parameters = _statement(source, columns, filters)
    conn.execute("SET LOCAL TimeZone = 'UTC'")
    conn.execute("SET LOCAL DateStyle = 'ISO'")
    with conn.cursor() as cursor:
        copy = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv, ENCODING 'UTF8')").format(statement)
        with cursor.copy(copy, {**parameters, **(more or {})}) as parts:
            yield from map(bytes, parts)


def _statement(source: Source, columns: Sequence[Column], filters: Filters) -> tuple[sql.Composed, dict[str, Any]]:
    """What reads the rows, and its parameters but those of the source's own condition."""
    read = [column for column in columns if column.derive is None]
    conditions, parameters = _conditions(source, filters)
    statement = sql.SQL("SELECT {columns} FROM {view} AS v{where}{group}{order}").format(
        columns=sql.SQL(", ").join(_selected(column, grouped=source.grouped) for column in read),
        view=sql.Identifier("report", source.view),
        where=sql.SQL(" WHERE ") + sql.SQL(" AND ").join(conditions) if conditions else sql.SQL(""),
        group=sql.SQL(" GROUP BY ") + sql.SQL(", ").join(_raw(_source(column)) for column in read if not column.sums)
        if source.grouped
        else sql.SQL(""),
        order=sql.SQL(" ORDER BY ") + sql.SQL(", ").join(_ordered(key, read) for key in source.order),
    )
    return statement, parameters


_ROUNDS = ("property", "pit", "table", "game", "shift", "currency")


DECIDED = ("lost", "won", "push")


class Weighed(NamedTuple):
    """The bets decided in one round, side by side, and where and under what it was played."""

    place: Row
    """Property, pit, table, game, gaming day, currency."""
    regulation: str
    """Its hash."""
    spots: list[str]
    stakes: list[int]
    """In minor units."""
    edges: list[str]


def bets_by_round(conn: Connection, filters: Filters) -> Iterator[Weighed]:
    """Each round's decided bets as the books of its day have them: as they stood when the day was closed, if it is.

    The three come as one text each and are cut here: arrays of some thousand rounds take twice as long to be made and read.
    The view has rounds as they are corrected by now: those few that were corrected after their day was closed are read alone.
    """
    corrected = _corrected_since(conn, filters)
    conditions, parameters = _conditions(Source("stakes", (), where="v.round <> ALL (%(corrected)s)", places=_ROUNDS), filters)
    statement = sql.SQL(
        "SELECT property, pit, table_id, game, gaming_day, currency, regulation_hash, spots, stakes, edges "
        "FROM report.stakes AS v WHERE {}"
    ).format(sql.SQL(" AND ").join(conditions))
    with conn.cursor("rounds") as cursor:
        cursor.itersize = _BATCH
        cursor.execute(statement, {**parameters, "corrected": list(corrected)})
        for *place, regulation, spots, stakes, edges in cursor:
            yield Weighed(tuple(place), regulation, spots.split(" "), list(map(int, stakes.split(" "))), edges.split(" "))
    yield from _as_closed(conn, corrected)


def _corrected_since(conn: Connection, filters: Filters) -> dict[UUID, dict[UUID, Row]]:
    """Round → bet → spot, result, stake and edge at the closing of its day, of all that was corrected later."""
    source = Source("corrected_bets", (), where="v.posted_day <> v.gaming_day", places=_ROUNDS)
    conditions, parameters = _conditions(source, filters)
    statement = sql.SQL(
        "SELECT round, bet, before_spot, before_result, before_stake, before_edge FROM report.corrected_bets AS v "
        "WHERE {} ORDER BY position"
    ).format(sql.SQL(" AND ").join(conditions))
    found: dict[UUID, dict[UUID, Row]] = {}
    for round_, bet, *was in conn.execute(statement, parameters):
        found.setdefault(round_, {}).setdefault(bet, tuple(was))
    return found


def _as_closed(conn: Connection, corrected: Mapping[UUID, Mapping[UUID, Row]]) -> Iterator[Weighed]:
    """Those rounds with the bets that were decided when their day was closed."""
    if not corrected:
        return
    rows = conn.execute(
        "SELECT property, pit, table_id, game, gaming_day, currency, round, regulation_hash, bet, spot, result, stake, edge "
        "FROM report.bets WHERE round = ANY (%s) ORDER BY round, bet",
        (list(corrected),),
    )
    found: dict[UUID, Weighed] = {}
    for *place, round_, regulation, bet, spot, result, stake, edge in rows:
        spot, result, stake, edge = corrected[round_].get(bet, (spot, result, stake, edge))
        if result in DECIDED:
            of = found.setdefault(round_, Weighed(tuple(place), regulation, [], [], []))
            of.spots.append(spot)
            of.stakes.append(minor(stake, place[-1]))
            of.edges.append(edge)
    yield from found.values()


def applied(conn: Connection, filters: Filters) -> list[str]:
    """The sentences on regulations applied beyond their repeal in any round that a report is about, each once."""
    source = Source("table_days", (), places=_ROUNDS)
    conditions, parameters = _conditions(source, filters)
    where = sql.SQL(" AND ").join([sql.SQL("applied IS NOT NULL"), *conditions])
    found = conn.execute(sql.SQL("SELECT DISTINCT applied FROM report.table_days AS v WHERE {}").format(where), parameters)
    return sorted(sentence for (sentence,) in found)


class State(NamedTuple):
    """How far the figures go."""

    position: str
    notes: list[str]
    """Where the projection stands still: what is shown is then old, and has to say so."""


def state(conn: Connection) -> State:
    """The state of the projection that every view reads."""
    row = conn.execute("SELECT position, stopped_at, stop_reason FROM report.state WHERE projection = 'ledger'").fetchone()
    if row is None:
        return State("0", [])
    position, stopped_at, reason = row
    return State(
        str(position), [f"figures end at position {position}, behind which nothing can be read: {reason}"] if stopped_at else []
    )


def properties(conn: Connection, asked: str | None = None) -> str:
    """The properties in force, or the one that was asked for, for a heading; one that is not there by what was asked."""
    found = conn.execute(
        "SELECT property_name, property FROM report.properties WHERE %(asked)s::text IS NULL OR property = %(asked)s "
        'ORDER BY property COLLATE "C"',
        {"asked": asked},
    ).fetchall()
    return "; ".join(f"{name} ({id_})" for name, id_ in found) or asked or ""


def tables(conn: Connection) -> dict[tuple[str, str], tuple[str, str, str]]:
    """(property, table) → pit, game and currency, as configured now."""
    found = conn.execute("SELECT property, table_id, pit, game, currency FROM report.tables").fetchall()
    return {(property_, table): (pit, game, currency) for property_, table, pit, game, currency in found}


def last_dealt(conn: Connection, property_: str, table: str) -> tuple[str, str, str] | None:
    """Pit, game and currency of the last round at a table that is not configured any more; None of one that dealt nothing."""
    row: tuple[str, str, str] | None = conn.execute(
        "SELECT pit, game, currency FROM report.rounds WHERE property = %s AND table_id = %s "
        "ORDER BY first_position DESC LIMIT 1",
        (property_, table),
    ).fetchone()
    return row


OF_PLACES = ("property", "pit", "table", "game", "shift", "currency")
"""The filters whose values `places` knows."""


def places(conn: Connection) -> dict[str, set[str]]:
    """Filter → the values that it can have: what is configured now, and where and in what was played and counted."""
    found = conn.execute(
        "SELECT property, pit, table_id, game, NULL, NULL FROM report.tables "
        "UNION SELECT property, pit, table_id, game, shift, currency FROM report.rounds "
        "UNION SELECT property, NULL, table_id, NULL, shift, currency FROM report.slips"
    ).fetchall()
    return {name: {row[n] for row in found if row[n] is not None} for n, name in enumerate(OF_PLACES)}


def missing_slips(conn: Connection, property_: str | None) -> dict[tuple[str, str], list[str]]:
    """(property, kind of slip) → the spans of numbers that are missing between those that were used, in order."""
    found = conn.execute(
        "SELECT property, kind, number + 1, following - 1 FROM ("
        "SELECT property, kind, number, lead(number) OVER (PARTITION BY property, kind ORDER BY number) AS following "
        "FROM report.slips WHERE number IS NOT NULL AND (%(property)s::text IS NULL OR property = %(property)s)"
        ") AS each WHERE following > number + 1 ORDER BY property, kind DESC, number",
        {"property": property_},
    ).fetchall()
    missing: dict[tuple[str, str], list[str]] = {}
    for property_, kind, first, last in found:
        missing.setdefault((property_, kind), []).append(str(first) if first == last else f"{first}-{last}")
    return missing


def _raw(text: str) -> sql.SQL:
    """SQL that stands in this package."""
    return sql.SQL(text)


def _source(column: Column) -> str:
    return column.source or f"v.{column.key}"


def _selected(column: Column, *, grouped: bool) -> sql.Composable:
    text = _source(column)
    if grouped and column.sums:
        text = f"sum({text})"
    if column.kind in ("count", "position"):
        text = f"({text})::bigint"
    elif column.kind == "id":
        text = f"({text})::text"
    return _raw(text)


def _ordered(key: str, columns: Sequence[Column]) -> sql.Composable:
    column = next(column for column in columns if column.key == key)
    # By code point, whatever the database's collation.
    return _raw(f'({_source(column)}) COLLATE "C"' if column.kind == "text" else f"({_source(column)})")


_COMPARED = {"first": ">=", "last": "<="}


def _conditions(source: Source, filters: Filters) -> tuple[list[sql.Composable], dict[str, Any]]:
    found: list[sql.Composable] = [_raw(source.where)] if source.where else []
    parameters: dict[str, Any] = {}
    for name in source.places:
        value = getattr(filters, name)
        if value is not None:
            at = sql.Identifier("v", "table_id" if name == "table" else name)
            found.append(sql.SQL("{} = {}").format(at, sql.Placeholder(name)))
            parameters[name] = value
    period = {name: value for name in ("first", "last") if (value := getattr(filters, name)) is not None}
    if source.by_day and period:
        each = (" AND ".join(f"v.{day} {_COMPARED[name]} %({name})s" for name in period) for day in source.days)
        found.append(_raw(f"(({') OR ('.join(each)}))"))
        parameters |= period
    return found, parameters
