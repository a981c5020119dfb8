"""A ledger of any number of bets, made from a seed in the database's own tables in seconds: what files are laid beside.

Nobody posted these bets, so nothing here proves the write side. The views of the schema `report` deliver them as they deliver any
others, with the times and terminals that stand in the log. Every row follows from its number: a ledger of a seed is the same
wherever it is made.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psycopg

from ledger.application import Rounds
from ledger.property import Choice, OptIn, Property, Table
from projections.tables import PROJECTIONS

TABLES = 20
A_ROUND = 10
"""Bets in a round."""
FIRST_DAY = "2026-11-01"
HOUSE = Property(
    id="CORPUS",
    name="Corpus",
    zone="Asia/Macau",
    gaming_day_start="06:00",
    tables=tuple(
        Table(f"T{n:02}", "A" if n < TABLES // 2 else "B", "fantan", "HKD" if n % 4 == 3 else "MOP", "0.01")
        for n in range(TABLES)
    ),
    opt_ins=(OptIn("30/2003", "a proof", "nobody"),),
    choices=(Choice(regulation="53/2010", unverified_bets=True),),
)
_SQL = Path(__file__).with_name("house.sql")
_BEGINS = 10_000
"""The first position: documents have those before it."""


def fill(dsn: str, bets: int, days: int = 3, seed: int = 0) -> None:
    """Fills a migrated, empty database with so many bets in rounds of ten, over so many days, and with slips of the cage."""
    with closing(Rounds(dsn)) as rounds:
        rounds.apply_property(HOUSE)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SET synchronous_commit = off")
        conn.execute("SET work_mem = '64MB'")
        given = {
            "bets": bets,
            "rounds": -(-bets // A_ROUND),
            "days": days,
            "seed": seed,
            "tables": TABLES,
            "begins": _BEGINS,
            "first": FIRST_DAY,
            "property": HOUSE.id,
        }
        text = _SQL.read_text("utf-8")
        for name, value in given.items():
            text = text.replace(f":{name}:", str(value))
        for statement in text.split(";\n\n"):
            conn.execute(statement.encode())
        for projection in PROJECTIONS:
            conn.execute(
                "INSERT INTO projection.positions (name, position) VALUES (%s, (SELECT last_value FROM ledger.positions)) "
                "ON CONFLICT (name) DO UPDATE SET position = excluded.position",
                [projection.name],
            )
        conn.execute("ANALYZE")
