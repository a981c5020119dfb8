"""The proof of the read side: the whole log folded afresh, and compared with the live tables byte for byte.

The copy is made of temporary tables, which no other session sees and which vanish with the session however it ends, so nothing is
left behind by a replay that is killed. The live tables are read in one snapshot, at the positions where it finds them; the log is
folded to the same positions while terminals and runners go on. Nothing is appended to the log, nothing live is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

import msgspec
import psycopg
from psycopg import sql

from ledger.store import log
from projections.runner import BATCH, catch_up, wait_for
from projections.tables import PROJECTIONS

Connection = psycopg.Connection[Any]
Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is: of a fold positions, added up over projections; of a comparison rows."""

SCRATCH = "pg_temp"
"""The schema of the copies."""
ALL = sql.SQL("true")
"""Which rows of a table: all."""
WAIT = 5.0
"""Seconds that a comparison waits for whoever drives the live tables. It drives nothing itself: that would be to write."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first place where the live tables and the replay differ."""

    table: str
    key: dict[str, str | None]
    """The row's primary key."""
    column: str | None
    """Null where the whole row is on one side only."""
    live: str | None
    """The value as Postgres prints it; null where it is null, or the row is missing."""
    replayed: str | None
    position: str | None = None
    """Of the first event that the row is about, where that can be told."""

    def __str__(self) -> str:
        where = f"{self.table} {', '.join(f'{name}={value}' for name, value in self.key.items())}"
        if self.column is None:
            return f"{where}: the row is only in the {'live table' if self.replayed is None else 'replay'}"
        return f"{where}: {self.column} is {self.live} in the live table, {self.replayed} in the replay"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay found."""

    equal: bool
    difference: Difference | None
    """The first one."""
    positions: dict[str, str]
    """Up to which position each projection was compared."""
    behind: str
    """How many positions of the log, at the start, the live tables had not come to: not compared. "0" when all was."""
    stopped: dict[str, str]
    """Projections whose live tables stand still at an event that they cannot fold, with the reason."""
    events: int
    """Events of the log that were folded."""
    rows: dict[str, int]
    """Rows compared, by table."""
    seconds: float
    rounds: int = 0
    """Of a replay round by round, how many were compared."""
    differences: tuple[Difference, ...] = ()
    """The first one of each table that differs, where all tables were compared."""

    @property
    def rate(self) -> float:
        """Events a second, folded by every projection and compared."""
        return self.events / self.seconds if self.seconds else 0.0


def replay(
    dsn: str,
    progress: Progress | None = None,
    *,
    comparing: Progress | None = None,
    wait: float = WAIT,
    every: bool = False,
) -> Comparison:
    """Folds the log afresh and compares with the live tables, table by table, up to where the live tables are.

    First waits up to `wait` seconds for them to come to the log's end. With `every` the tables after the first that differs are
    compared as well. `progress` is told how far the fold is, `comparing` how far the comparison after it. Raises psycopg.Error
    where the database cannot be used, and Refusal LGR-0505 where an old transaction keeps the log's end open.
    """
    started = time.monotonic()
    with session(dsn) as live, session(dsn) as scratch:
        head = log.head(live)
        wait_for(live, head, wait)
        with live.transaction():
            live.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            live.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            reached, stopped = positions(live)
            make_copies(scratch)
            events = _fold(scratch, reached, progress)
            rows: dict[str, int] = {}
            with scratch.transaction():
                first = _ahead(live, reached) or _stops(scratch, reached)
                found = [first] if first is not None else _compare(live, scratch, rows, comparing, every=every)
                found = [msgspec.structs.replace(each, position=concerned(live, each)) for each in found]
    return Comparison(
        equal=not found,
        difference=found[0] if found else None,
        positions={name: str(position) for name, position in reached.items()},
        behind=str(max(0, head - min(reached.values()))),
        stopped=stopped,
        events=events,
        rows=rows,
        seconds=time.monotonic() - started,
        differences=tuple(found) if every else (),
    )


@contextmanager
def session(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        # Both sides have to print dates and times alike. The copies are written once and read once, by this session alone.
        conn.execute("SET TimeZone = 'UTC'")
        conn.execute("SET DateStyle = 'ISO'")
        conn.execute("SET temp_buffers = '64MB'")
        yield conn


def positions(live: Connection) -> tuple[dict[str, int], dict[str, str]]:
    """Where the live tables of each projection are, and which stand still, with the reason."""
    rows = live.execute("SELECT name, position, stop_reason FROM projection.positions").fetchall()
    at = {name: position for name, position, _ in rows}
    reached = {projection.name: at.get(projection.name, 0) for projection in PROJECTIONS}
    return reached, {name: reason for name, _, reason in sorted(rows) if reason is not None}


def make_copies(scratch: Connection) -> None:
    """Empty copies of all tables, which vanish with the session."""
    for table in ("positions", *(table for projection in PROJECTIONS for table in projection.tables)):
        scratch.execute(sql.SQL("CREATE TEMPORARY TABLE {0} (LIKE projection.{0} INCLUDING ALL)").format(sql.Identifier(table)))


def _fold(scratch: Connection, reached: dict[str, int], progress: Progress | None) -> int:
    """Folds each projection up to where its live tables are; how many events the furthest one folded."""
    passed = {projection.name: 0 for projection in PROJECTIONS}
    together = min(reached.values())
    # As far as all go they go together, and read each page of the log once.
    stages = [(PROJECTIONS, together), *(((projection,), reached[projection.name]) for projection in PROJECTIONS)]
    for projections, upto in stages:
        while count := catch_up(scratch, SCRATCH, BATCH, upto=upto, projections=projections):
            for projection in projections:
                passed[projection.name] += count // len(projections)
            if progress is not None:
                # By positions and not by events: of those some are unused, and nobody knows how many.
                progress(sum(folded_to(scratch, SCRATCH).values()), sum(reached.values()))
    return max(passed.values())


def folded_to(conn: Connection, schema: str) -> dict[str, int]:
    """The position to which each projection is folded in a schema."""
    at = dict(conn.execute(sql.SQL("SELECT name, position FROM {}").format(sql.Identifier(schema, "positions"))).fetchall())
    return {projection.name: at.get(projection.name, 0) for projection in PROJECTIONS}


def _ahead(live: Connection, reached: dict[str, int]) -> Difference | None:
    """A projection that says it has read what was never written: it would pass over all that comes there."""
    # Asked after the snapshot was taken, and a sequence is no part of one: whatever a runner had read by then was drawn before.
    drawn = log.drawn(live)
    for name, position in sorted(reached.items()):
        if position > drawn:
            return Difference(
                table="positions", key={"name": name}, column="position", live=str(position), replayed=f"at most {drawn}"
            )
    return None


def _stops(scratch: Connection, reached: dict[str, int]) -> Difference | None:
    """A projection that stops where the live one went on: the log or the fold has changed since."""
    rows = scratch.execute("SELECT name, stopped_by, stop_reason FROM pg_temp.positions ORDER BY name")
    for name, position, reason in rows:
        if reason is not None:
            return Difference(
                table="positions",
                key={"name": name},
                column="position",
                live=str(reached[name]),
                replayed=f"stopped at {position}: {reason}",
            )
    return None


def _compare(
    live: Connection, scratch: Connection, rows: dict[str, int], comparing: Progress | None, *, every: bool
) -> list[Difference]:
    """The first difference, or with `every` that of every table; `rows` is filled with how many rows were compared."""
    found: list[Difference] = []
    tables = [table for projection in PROJECTIONS for table in projection.tables]
    # To count the copies takes a moment beside what it takes to read both.
    sizes = {} if comparing is None else {table: count_rows(scratch, SCRATCH, table) for table in tables}
    done, whole = 0, sum(sizes.values())

    def tell(alike: int) -> None:
        if comparing is not None:
            comparing(done + alike, whole)

    for table in tables:
        rows[table], difference = compare_table(live, scratch, SCRATCH, table, told=tell)
        done += sizes.get(table, 0)
        if difference is not None:
            found.append(difference)
            if not every:
                return found
    return found


def count_rows(conn: Connection, schema: str, table: str) -> int:
    """How many rows a table of a schema has."""
    row = conn.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table))).fetchone()
    assert row is not None
    return int(row[0])


def concerned(live: Connection, difference: Difference) -> str | None:
    """The position of the first event that a row is about."""
    key = difference.key
    if "position" in key:
        return key["position"]
    if "bet" in key and "round" in key:
        asked = "SELECT min(position) FROM ledger.log WHERE stream = %(round)s::uuid AND body->>'bet' = %(bet)s"
    elif "round" in key:
        asked = "SELECT min(position) FROM ledger.log WHERE stream = %(round)s::uuid"
    elif difference.table == "balances":
        asked = "SELECT min(position) FROM projection.movements WHERE %(account)s IN (debit, credit) AND currency = %(currency)s"
    else:
        return None
    row = live.execute(asked, key).fetchone()
    return None if row is None or row[0] is None else str(row[0])


def compare_table(
    live: Connection,
    other: Connection,
    schema: str,
    table: str,
    where: sql.Composable = ALL,
    told: Callable[[int], None] = lambda _: None,
) -> tuple[int, Difference | None]:
    """How many rows of a live table are those of its copy in a schema, from the first on, and the first difference.

    `where` says which rows of both; `told` is told how many are alike so far. Both connections have to print dates and times
    alike, and be in a transaction.
    """
    columns, types, key = _shape(live, table)
    ours = _pages(live, "projection", table, columns, key, where)
    theirs = _pages(other, schema, table, columns, key, where)
    alike = 0
    for page, fresh in zip_longest(ours, theirs, fillvalue=_NO_ROWS):
        if page != fresh:
            pairs = enumerate(zip_longest(page, fresh))
            at, (row, another) = next((at, pair) for at, pair in pairs if pair[0] != pair[1])
            return alike + at, _difference(table, columns, types, key, row, another)
        alike += len(page)
        told(alike)
    return alike, None


Row = tuple[str | None, ...]
_NO_ROWS: list[Row] = []


def _shape(live: Connection, table: str) -> tuple[list[str], list[str], list[str]]:
    """The table's columns, their types, and the columns of its primary key in the key's order."""
    columns = live.execute(
        "SELECT attname, atttypid::regtype::text FROM pg_attribute "
        "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        (f"projection.{table}",),
    ).fetchall()
    key = live.execute(
        "SELECT a.attname FROM pg_index AS i CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k(attnum, place) "
        "JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum "
        "WHERE i.indrelid = %s::regclass AND i.indisprimary ORDER BY k.place",
        (f"projection.{table}",),
    ).fetchall()
    return [name for name, _ in columns], [type_ for _, type_ in columns], [name for (name,) in key]


def _pages(
    conn: Connection, schema: str, table: str, columns: list[str], key: list[str], where: sql.Composable
) -> Iterator[list[Row]]:
    """Rows as Postgres prints them, in the order of the primary key; memory does not grow with the table."""
    statement = sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY {}").format(
        sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(column)) for column in columns),
        sql.Identifier(schema, table),
        where,
        sql.SQL(", ").join(sql.Identifier(table, column) for column in key),
    )
    with conn.cursor(name=f"replayed_{table}") as cursor:
        cursor.execute(statement)
        while page := cursor.fetchmany(BATCH):
            yield page


def _difference(
    table: str, columns: list[str], types: list[str], key: list[str], live: Row | None, replayed: Row | None
) -> Difference:
    """What the first pair of unequal rows, each the next of its side, says."""

    def ordered(row: Row) -> list[Any]:
        numbers = ("bigint", "integer", "numeric")
        fields = {name: (type_, value) for name, type_, value in zip(columns, types, row, strict=True)}
        return [int(value or 0) if type_ in numbers else value for type_, value in (fields[name] for name in key)]

    def identity(row: Row) -> dict[str, str | None]:
        fields = dict(zip(columns, row, strict=True))
        return {name: fields[name] for name in key}

    if live is None or (replayed is not None and ordered(replayed) < ordered(live)):
        assert replayed is not None
        return Difference(table=table, key=identity(replayed), column=None, live=None, replayed=_printed(replayed))
    if replayed is None or ordered(live) < ordered(replayed):
        return Difference(table=table, key=identity(live), column=None, live=_printed(live), replayed=None)
    column, ours, fresh = next((name, a, b) for name, a, b in zip(columns, live, replayed, strict=True) if a != b)
    return Difference(table=table, key=identity(live), column=column, live=ours, replayed=fresh)


def _printed(row: Row) -> str:
    return " | ".join("" if value is None else value for value in row)
