"""Three ways: terminals, ledger and counts, on a ledger that was played."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psycopg

from ledger.application import Rounds
from projections.reconcile import engine, ledger, mapping
from projections.runner import catch_up
from tests.integration.reconcile.support import QUERIES, rows_of, write
from tests.proofs.report_month import HOUSE, Month

JOURNAL = """
compare = "bets"
source = "terminal"
[columns]
bet = "bet"
table = "table"
stake = "stake"
paid = "paid"
currency = "currency"
[amounts]
unit = "patacas"
[match]
exact = ["bet"]
"""


def test_the_side_that_stands_alone_is_named(dsn: str, tmp_path: Path) -> None:
    with closing(Rounds(dsn)) as rounds:
        rounds.apply_property(HOUSE)
        Month(rounds, dsn, 1, 8, 0).play()
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        query = (
            "SELECT bet, table_id AS table, stake, coalesce(returned, 0) AS paid, currency FROM report.bets "
            "WHERE result NOT IN ('carried', 'void', 'withdrawn') ORDER BY position"
        )
        journal = conn.execute(query.encode()).fetchall()
        counted = conn.execute("SELECT sum(count_win) FROM projection.table_days WHERE count_win IS NOT NULL").fetchone()
    assert QUERIES["chip-counts"]
    bets = write(tmp_path / "bets.csv", [["bet", "table", "stake", "paid", "currency"], *journal])
    counts = write(tmp_path / "counts.csv", rows_of(dsn, "chip-counts"))
    drops = write(tmp_path / "drops.csv", rows_of(dsn, "drop-counts"))
    legs = [
        engine.Leg(mapping.read(JOURNAL, "journal"), [bets]),
        engine.Leg(mapping.load("chip-counts"), [counts]),
        engine.Leg(mapping.load("drop-counts"), [drops]),
    ]
    with ledger.one_state(dsn) as conn, engine.reconciled(conn, legs, engine.Asked()) as result:
        ways = result.ways
        reasons = {reason for reason, _, _ in result.by_reason()}
    assert reasons == {"COUNT_VARIANCE"}
    assert len(ways) == 5
    for way in ways:
        assert way["by_terminal"] in (way["by_ledger"], None), way
        assert way["alone"] in ("count", "", "two sides only"), way
    assert counted is not None
    assert sum(way["by_count"] for way in ways if way["by_count"] is not None) == counted[0]
    # Now the journal is wrong, and says so beside a ledger and counts that would agree.
    spoiled = [[*row[:3], row[3] + 1, row[4]] for row in journal]
    write(bets, [["bet", "table", "stake", "paid", "currency"], *spoiled])
    with ledger.one_state(dsn) as conn, engine.reconciled(conn, legs, engine.Asked()) as result:
        assert {"AMOUNT_DIFF", "COUNT_VARIANCE"} == {reason for reason, _, _ in result.by_reason()}
        assert {way["alone"] for way in result.ways if None not in way.values()} == {"no two agree"}
