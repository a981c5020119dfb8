"""Days, clocks, parts and references in what reports print: B11, B12, B26, B43, B44 and B48."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg import sql

from ledger import worth
from ledger.application import Rounds
from ledger.money import parse_plain
from ledger.reports import OpenRound, PlaceBet, RecordOutcome
from projections import queries
from projections.reports import writers
from projections.reports.catalog import DEFINITIONS, Asked, make
from projections.reports.filters import Filters
from projections.runner import catch_up
from tests.faults.conftest import HOUSE, Command
from tests.faults.reading import as_csv, as_json
from tests.forms import Record, read_back
from tests.support import Terminal, accepted

FORMS = tuple(writers.FORMS)
BY_DAY = [name for name, found in DEFINITIONS.items() if found.source.by_day]


def printed(dsn: str, name: str, form: str, zone: str, filters: Filters | None = None) -> tuple[list[Record], list[Record]]:
    """The rows and the totals of a report in one form, read by a session in a zone of its own."""
    with psycopg.connect(dsn) as conn:
        conn.execute(sql.SQL("SET TimeZone = {}").format(sql.Literal(zone)))
        conn.commit()
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        report = make(conn, name, Asked(filters or Filters(), worth.of_log(conn)))
        out = io.BytesIO()
        writers.write(report, form, out)
    back = read_back(form, out.getvalue(), {column.key: column.kind for column in report.shown})
    return back.rows, back.totals


def fold(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        while catch_up(conn):
            pass


@pytest.fixture
def zone(request: pytest.FixtureRequest, dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The zone of this process and of every session on the database that asks for none."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    with psycopg.connect(dsn, autocommit=True) as conn:
        name = sql.Identifier(conn.info.dbname)
        conn.execute(sql.SQL("ALTER DATABASE {} SET timezone = {}").format(name, sql.Literal(request.param)))
    yield request.param
    monkeypatch.undo()
    time.tzset()


def play(rounds: Rounds, table: Terminal, at: datetime) -> None:
    """A round whose opening and settlement are received at one moment."""
    then: dict[str, Any] = {"occurred_at": at, "received_at": at}
    accepted(rounds.post([table.open(**then), table.bet("red", "100", **then), table.close(**then), table.outcome("1", **then)]))


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"], indirect=True)
def test_b43_the_last_microsecond_of_a_day_is_of_that_day_in_every_report_and_form(rounds: Rounds, dsn: str, zone: str) -> None:
    """B43: 05:59:59.999999 and 06:00 on 1 March, 1 January and 29 February in Macau, whatever zone server and session keep."""
    table = Terminal()
    changes = [date(2026, 1, 1), date(2026, 3, 1), date(2028, 2, 29)]
    for change in changes:
        at = datetime(change.year, change.month, change.day, 6, tzinfo=UTC) - timedelta(hours=8)
        play(rounds, table, at - timedelta(microseconds=1))
        play(rounds, table, at)
    fold(dsn)
    days = sorted(day.isoformat() for change in changes for day in (change - timedelta(days=1), change))
    for form in FORMS:
        rows, _ = printed(dsn, "rounds", form, zone)
        assert sorted(row["gaming_day"] for row in rows) == days, form
    rows, _ = printed(dsn, "master-game", "csv", zone)
    assert sorted(row["gaming_day"] for row in rows) == days
    rows, _ = printed(dsn, "rounds", "csv", zone)
    assert [row["opened_at"] for row in rows][:2] == ["2025-12-31T21:59:59.999999Z", "2025-12-31T22:00:00Z"]
    rows, _ = printed(dsn, "hours", "csv", zone)
    assert [(row["hour"], row["rounds"]) for row in rows] == [("5", "3"), ("6", "3")]
    for change in changes:
        for day in (change - timedelta(days=1), change):
            for name in ("movements", "bets"):
                rows, _ = printed(dsn, name, "csv", zone, Filters(first=day, last=day))
                assert {row["gaming_day"] for row in rows} == {day.isoformat()}, name
                assert rows


@pytest.mark.parametrize(("night", "hours"), [(date(2026, 3, 7), 23), (date(2026, 10, 31), 25)])
@pytest.mark.parametrize("zone", ["Asia/Macau"], indirect=True)
def test_b43_a_day_of_23_and_of_25_hours_has_every_round_once(dsn: str, night: date, hours: int, zone: str) -> None:
    """B43: New York puts its clocks forward and back within these gaming days; each hour of them has a round."""
    found = Rounds(dsn)
    try:
        found.apply_property(msgspec.structs.replace(HOUSE, zone="America/New_York"))
        start = datetime(night.year, night.month, night.day, 6, tzinfo=UTC) + timedelta(hours=5 if hours == 23 else 4)
        table = Terminal()
        for n in range(-1, hours + 1):
            play(found, table, start + timedelta(hours=n))
    finally:
        found.close()
    fold(dsn)
    rows, _ = printed(dsn, "master-game", "csv", zone)
    before, after = night - timedelta(days=1), night + timedelta(days=1)
    assert [(row["gaming_day"], row["rounds"]) for row in rows] == [
        (before.isoformat(), "1"),
        (night.isoformat(), str(hours)),
        (after.isoformat(), "1"),
    ]
    by_clock, _ = printed(dsn, "hours", "csv", zone, Filters(first=night, last=night))
    assert {row["hour"]: row["rounds"] for row in by_clock}.get("1" if hours == 25 else "3") == ("2" if hours == 25 else "1")
    assert ("2" in {row["hour"] for row in by_clock}) == (hours == 25)
    assert sum(int(row["rounds"]) for row in by_clock) == hours


def test_b26_a_period_that_ends_before_it_begins_is_an_error_and_no_empty_report(rounds: Rounds, command: Command) -> None:
    """B26: nothing would match, and nothing would say so."""
    for name in BY_DAY:
        assert command("report", name, "--from", "2026-11-30", "--to", "2026-11-29", code=2) == "", name


def test_b26_terminals_clocks_that_are_days_off_leave_the_days_of_every_report_to_the_server(rounds: Rounds, dsn: str) -> None:
    """B26: three days ahead and three behind; a round is of the day in which the service received its opening."""
    rounds.apply_property(msgspec.structs.replace(HOUSE, clock_tolerance=60))
    at = datetime(2026, 11, 29, 4, tzinfo=UTC)
    table = Terminal()
    for off in (timedelta(days=3), timedelta(days=-3)):
        then: dict[str, Any] = {"received_at": at, "occurred_at": at + off}
        accepted(
            rounds.post([table.open(**then), table.bet("red", "100", **then), table.close(**then), table.outcome("1", **then)])
        )
    fold(dsn)
    with psycopg.connect(dsn) as conn:
        flags = conn.execute("SELECT DISTINCT body -> 'flags' FROM ledger.log WHERE topic <> 'DocumentRecorded.v1'").fetchall()
    assert flags == [(["clock_skew"],)]
    for name in ("master-game", "rounds", "bets", "movements", "chances", "launches"):
        rows, _ = printed(dsn, name, "csv", "UTC")
        assert {row["gaming_day"] for row in rows} == {"2026-11-29"}, name
    rows, _ = printed(dsn, "bets", "csv", "UTC")
    assert [row["occurred_at"][:10] for row in rows] == ["2026-12-02", "2026-11-26"]


BENT = ("9912140633506421", "73928e05", "007", "1E5", "2026-11-29", "1-2", "TRUE", "0x1F")
"""References that a spreadsheet takes for something else."""


def test_b44_references_that_a_spreadsheet_would_bend_are_text_cells_in_every_report(rounds: Rounds, dsn: str) -> None:
    """B44: from a player's reference, shift and dealer to the cell; a workbook's reader finds text, and the same."""
    table = Terminal()
    opened = table.report(OpenRound(table="R01", game="roulette", shift="007"), round=table.round)
    bets = [table.report(PlaceBet(player=player, spot="red", stake="100", currency="MOP")) for player in BENT]
    accepted(rounds.post([opened, *bets, table.close(), table.report(RecordOutcome(outcome="1"))]))
    fold(dsn)
    for form in FORMS:
        rows, _ = printed(dsn, "bets", form, "UTC")
        assert [row["player"] for row in rows] == list(BENT), form
        assert {row["shift"] for row in rows} == {"007"}, form
    rows, _ = printed(dsn, "trial-balance", "xlsx", "UTC")
    assert {f"player/{player}" for player in BENT} <= {row["account"] for row in rows}


SMALL = (("sshong:123", "10"), ("nga:12/3", "5"), ("sshong:123", "10000"))
"""Spot and stake of fantan bets whose exact prizes are no whole avos."""


@pytest.fixture
def parts(rounds: Rounds, dsn: str) -> list[str]:
    """A round of a thousand small bets of fantan that all win; the columns that add up."""
    table = Terminal("F01", "fantan")
    opened = table.open()
    bets = [table.bet(spot, stake, player=f"P-{n % 7}") for n in range(334) for spot, stake in SMALL]
    accepted(rounds.post([opened, *bets, table.close(), table.outcome("1")]))
    fold(dsn)
    return ["prize", "commission", "breakage", "net_prize"]


def test_b11_a_thousand_bets_come_to_the_total_under_them(parts: list[str], dsn: str) -> None:
    """B11: prize − commission − breakage = net prize, bet by bet and in the total, which other reports have as well."""
    names = ("gross_prizes", "commission", "breakage", "prizes")
    for form in ("ndjson", "xlsx", "parquet"):
        rows, (total,) = printed(dsn, "bets", form, "UTC")
        assert len(rows) == 1002
        for row in (*rows, total):
            prize, commission, breakage, net = (Decimal(row[name]) for name in parts)
            assert prize - commission - breakage == net
        for name in parts:
            assert sum(Decimal(row[name]) for row in rows) == Decimal(total[name]), form
        for other in ("commission-breakage", "ggr"):
            _, (kept,) = printed(dsn, other, form, "UTC")
            assert [kept[name] for name in names] == [total[name] for name in parts], (other, form)
        assert Decimal(total["breakage"]) > 0


def test_b48_a_day_of_such_bets_leaves_no_residue_without_a_name(parts: list[str], dsn: str) -> None:
    """B48: no movement of zero, nothing left in escrow, and what rounding leaves is the balance of breakage, to the avo."""
    movements, _ = printed(dsn, "movements", "csv", "UTC")
    assert movements
    assert all(Decimal(row["amount"]) > 0 for row in movements)
    _, (total,) = printed(dsn, "bets", "ndjson", "UTC")
    rows, _ = printed(dsn, "trial-balance", "csv", "UTC")
    balances = {row["account"]: Decimal(row["balance"]) for row in rows}
    assert sum(balances.values()) == 0
    assert balances["escrow/F01"] == 0
    assert balances["breakage/F01"] == Decimal(total["breakage"])
    assert balances["commission/F01"] == Decimal(total["commission"])
    assert sum(value for account, value in balances.items() if account.startswith("player/")) == Decimal(total["net_prize"])
    with psycopg.connect(dsn) as conn:
        assert queries.trial_balance(conn) == {"MOP": 0}


def test_b12_the_same_stake_is_the_same_patacas_and_avos_in_every_form(rounds: Rounds, dsn: str, command: Command) -> None:
    """B12: 500.00 patacas are posted as 50000 avos; a form that has patacas has a point, one that has avos has none."""
    accepted(rounds.post(Terminal().whole_round([("red", "50000")], "1")))
    fold(dsn)
    (comma,) = as_csv(command("report", "bets", "--csv"))
    document = as_json(command("report", "bets", "--json"))
    (line,) = document["rows"]
    kinds = {column["key"]: column["kind"] for column in document["columns"]}
    amounts = [key for key, kind in kinds.items() if kind == "amount"]
    assert {"stake", "returned", "house_result"} <= set(amounts)
    for key in amounts:
        assert "." in comma[key]
        assert "." not in line[key]
        assert int(line[key]) == _minor(comma[key])
    assert (comma["stake"], line["stake"], comma["house_result"]) == ("500.00", "50000", "-500.00")
    for form in FORMS:
        rows, _ = printed(dsn, "bets", form, "UTC")
        assert [row["stake"] for row in rows] == ["500.00"], form


def _minor(text: str) -> int:
    value = parse_plain(text.lstrip("-"), "MOP", field="amount") if text.strip("-0.") else 0
    return -value if text.startswith("-") else value
