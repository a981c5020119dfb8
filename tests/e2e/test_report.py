"""The table report of a demo day that terminals posted through the door, against figures computed without the program."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest

from ledger.money import format_plain
from tests.e2e.process import printed, roundledger
from tests.faults.reading import numbers
from tests.integration.projections.support import Connection, Key, connected, raw, report_by_hand
from tests.oracle import edge, expected

AMOUNTS = ("handle", "lost", "pushed", "prizes", "commission", "breakage", "win")


@pytest.fixture
def day(dsn: str) -> str:
    """A day at every table of the demo house: both games, both currencies."""
    summary = printed("demo", "--rounds", "25", LEDGER_DSN=dsn)
    assert summary["replay"]["equal"]
    assert not list(numbers(summary)), "amounts and positions are strings"
    return dsn


def report_by_oracle(conn: Connection) -> dict[Key, dict[str, Any]]:
    """The figures from nothing but what was bet and what the tables showed: every payout is the oracle's."""
    opened, placed = {}, defaultdict(list)
    figures: dict[Key, dict[str, Any]] = defaultdict(lambda: defaultdict(int))
    for stream, kind, body in raw(conn):
        if kind == "RoundOpened":
            opened[stream] = body
        elif kind == "BetPlaced":
            placed[stream].append(body)
        elif kind == "OutcomeRecorded":
            of = opened[stream]
            row = figures[of["table"], of["game"], of["regulation"], of.get("applied"), of["currency"]]
            row["rounds"] += 1
            for bet in placed[stream]:
                stake = int(bet["stake"])
                settled = expected(of["game"], bet["spot"], body["outcome"], stake, int(of["payable_unit"]))
                row["bets"] += 1
                row["pushed" if settled["result"] == "push" else "handle"] += stake
                row["lost"] += stake if settled["result"] == "lost" else 0
                row["win"] += stake - settled["returned"]
                row["prizes"] += settled["net_prize"]
                row["commission"] += settled["commission"]
                row["breakage"] += settled["breakage"]
                row["theoretical"] += edge(of["game"], bet["spot"]) * stake
    return figures


@pytest.mark.parametrize("by", [report_by_hand, report_by_oracle], ids=["the raw events", "bets and outcomes alone"])
def test_the_report_of_a_demo_day_equals_one_computed_from(by: Any, day: str) -> None:
    """Whatever the log says the payouts were, and whatever they should have been, comes to the same report, in JSON and CSV."""
    with connected(day) as conn:
        figures: dict[Key, dict[str, Any]] = by(conn)
        days = {body["gaming_day"] for _, kind, body in raw(conn) if kind == "RoundOpened"}
    report = printed("report", "tables", LEDGER_DSN=day)
    assert {line["game"] for line in report["tables"]} == {"roulette", "cussec"}
    assert {line["currency"] for line in report["tables"]} == {"MOP", "HKD"}
    lines = {
        tuple(line[name] for name in ("table", "game", "regulation", "applied", "currency")): line for line in report["tables"]
    }
    assert set(lines) == set(figures)
    comma = {
        row["table"]: row for row in csv.DictReader(io.StringIO(roundledger("report", "tables", "--csv", LEDGER_DSN=day).stdout))
    }
    for key, row in figures.items():
        line = lines[key]
        assert (line["rounds"], line["bets"]) == (row["rounds"], row["bets"]) == (25, row["bets"])
        for name in AMOUNTS:
            assert line[name] == str(row[name])
            assert comma[key[0]][name] == format_plain(row[name], line["currency"])
        assert int(line["lost"]) - int(line["prizes"]) == int(line["win"])
        assert Fraction(line["theoretical_win_exact"]) == row["theoretical"]
        assert Fraction(comma[key[0]]["theoretical_win_exact"]) == row["theoretical"] / 100
        assert abs(Fraction(line["win_percent"]) - Fraction(100 * row["win"], row["handle"])) <= Fraction(1, 200)
    for total in report["totals"]:
        rows = [row for key, row in figures.items() if key[-1] == total["currency"]]
        for name in AMOUNTS:
            assert total[name] == str(sum(row[name] for row in rows))
    by_day = [printed("report", "tables", "--day", each, LEDGER_DSN=day)["tables"] for each in days]
    assert sum(int(line["handle"]) for tables in by_day for line in tables) == sum(row["handle"] for row in figures.values())
