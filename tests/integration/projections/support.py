"""What the tests of the read side share: a log to fold, copies of the tables, and their content as bytes."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from ledger.events import Event
from projections.runner import catch_up
from projections.tables import PROJECTIONS, Projection
from tests.unit.projections.lives import Placed, lived, mingled
from tests.unit.projections.made import Stream, in_place, made_day, store

Connection = psycopg.Connection[Any]
TABLES = tuple(table for projection in PROJECTIONS for table in projection.tables)


@contextmanager
def connected(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield conn


def played(seed: int = 1, rounds: int = 40, **kwargs: Any) -> list[tuple[UUID, int, Event]]:
    """A day's events, the tables' rounds mixed."""
    return mixed(made_day(seed, rounds, **kwargs), seed)


def lived_through(seed: int = 1, rounds: int = 12) -> list[Placed]:
    """A day's events, and then those of tables at which everything happens that can."""
    return [*played(seed, rounds), *mingled(lived(seed), seed)]


def mixed(streams: Iterable[Stream], seed: int = 1) -> list[tuple[UUID, int, Event]]:
    return list(in_place(streams, random.Random(seed)))


def store_raw(conn: Connection, topic: str, state: bytes, stream: UUID, version: int) -> int:
    """Appends bytes under a topic, whatever they are; their position."""
    row = conn.execute(
        "INSERT INTO ledger.events (originator_id, originator_version, topic, state) VALUES (%s, %s, %s, %s) "
        "RETURNING notification_id",
        (stream, version, topic, state),
    ).fetchone()
    assert row is not None
    return int(row[0])


def copy_tables(conn: Connection, schema: str) -> None:
    """Empty copies of the projections' tables in a schema of their own."""
    conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    for table in ("positions", *TABLES):
        conn.execute(
            sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL)").format(
                sql.Identifier(schema, table), sql.Identifier("projection", table)
            )
        )


def folded(conn: Connection, schema: str, *, upto: dict[str, int] | None = None, batch: int = 5000) -> dict[str, bytes]:
    """The content of a fresh fold into a new schema."""
    copy_tables(conn, schema)
    for projection in PROJECTIONS:
        catch_up(conn, schema, upto=None if upto is None else upto[projection.name], projections=(projection,), batch=batch)
    return content(conn, schema)


def content(conn: Connection, schema: str = "projection", projections: Iterable[Projection] = PROJECTIONS) -> dict[str, bytes]:
    """Every row of every table as Postgres prints it, in order."""
    found = {}
    for table in (table for projection in projections for table in projection.tables):
        with conn.cursor() as cursor:
            statement = sql.SQL("COPY (SELECT * FROM {} AS t ORDER BY t) TO STDOUT").format(sql.Identifier(schema, table))
            with cursor.copy(statement) as copy:
                found[table] = b"".join(bytes(part) for part in copy)
    return found


def positions_of(conn: Connection, schema: str = "projection") -> dict[str, int]:
    statement = sql.SQL("SELECT name, position FROM {}").format(sql.Identifier(schema, "positions"))
    return dict(conn.execute(statement).fetchall())


def count(conn: Connection, table: str) -> int:
    row = conn.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(*table.split(".")))).fetchone()
    assert row is not None
    return int(row[0])


def raw(conn: Connection) -> list[tuple[str, str, dict[str, Any]]]:
    """(round, kind, payload) of every event, by nothing but json."""
    rows = conn.execute("SELECT originator_id::text, topic, state FROM ledger.events ORDER BY notification_id")
    return [(stream, topic.split(".")[0], json.loads(state)) for stream, topic, state in rows]


Key = tuple[str, str, str, str | None, str]


def report_by_hand(conn: Connection, day: date | None = None) -> dict[Key, dict[str, Any]]:
    """The table report's figures from the raw events, of one gaming day or all, in plain Python and none of the program's."""
    opened = {stream: body for stream, kind, body in raw(conn) if kind == "RoundOpened"}
    figures: dict[Key, dict[str, Any]] = defaultdict(lambda: defaultdict(int))
    for stream, kind, body in raw(conn):
        if stream not in opened or (day is not None and opened[stream]["gaming_day"] != day.isoformat()):
            continue
        of = opened[stream]
        counted: list[tuple[int, str, dict[str, Any]]] = []
        if kind in ("OutcomeRecorded", "ThrowRecorded"):
            counted = [(1, "lost", lost) for lost in body.get("lost", [])]
        elif kind == "PayoutMade":
            counted = [(1, body["result"], body)]
        elif kind == "BetCorrected":
            counted = [(sign, bet["result"], bet) for sign, bet in ((-1, body["before"]), (1, body["after"]))]
        elif kind not in ("RoundSettled", "PlayerAdjusted"):
            continue
        row = figures[of["table"], of["game"], of["regulation"], of.get("applied"), of["currency"]]
        row["rounds"] += kind == "RoundSettled"
        if kind == "PlayerAdjusted":
            row["adjusted"] += int(body["amount"]) * (1 if body["direction"] == "to_player" else -1)
        for sign, result, bet in counted:
            if result not in ("lost", "won", "push"):
                continue
            stake, net = sign * int(bet["stake"]), sign * int(bet.get("net_prize", "0"))
            row["bets"] += sign
            row["pushed" if result == "push" else "handle"] += stake
            row["lost"] += stake if result == "lost" else 0
            row["win"] += (stake if result == "lost" else 0) - net
            row["prizes"] += net
            row["commission"] += sign * int(bet.get("commission", "0"))
            row["breakage"] += sign * int(bet.get("breakage", "0"))
            row["theoretical"] += Fraction(bet["edge"]) * stake
    return figures


__all__ = [
    "TABLES",
    "Connection",
    "connected",
    "content",
    "copy_tables",
    "count",
    "folded",
    "lived_through",
    "mixed",
    "played",
    "positions_of",
    "raw",
    "report_by_hand",
    "store",
    "store_raw",
]
