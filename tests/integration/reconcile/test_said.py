"""What a run says of its files and figures: once, in the currency's unit, by the names that the reports have, and truly."""

from __future__ import annotations

import csv
import json
from contextlib import closing
from pathlib import Path

import msgspec
import psycopg
import pytest

from cli.main import run
from cli.reconcile import _recognised
from ledger.application import Rounds
from ledger.errors import Refusal
from projections.reconcile import engine, ledger, mapping
from projections.reconcile.result import by_leg, facts
from projections.reconcile.sides import SIDES
from tests.integration.reconcile.support import Rows, found, rows_of, write
from tests.integration.reconcile.test_files import _ndjson, _parquet, _xlsx
from tests.proofs.corpus import house


@pytest.fixture(scope="module")
def filled(shared_dsn: str) -> str:
    house.fill(shared_dsn, 200)
    return shared_dsn


@pytest.fixture
def bets(filled: str) -> Rows:
    return rows_of(filled, "terminal-bets")


@pytest.mark.parametrize("form", ["csv", "ndjson", "xlsx", "parquet"])
def test_a_ready_mapping_is_found_by_the_columns_of_a_file_in_any_form(bets: Rows, tmp_path: Path, form: str) -> None:
    make = {"csv": write, "ndjson": _ndjson, "xlsx": _xlsx, "parquet": _parquet}[form]
    path = tmp_path / f"journal.{form}"
    make(path, bets)
    assert _recognised(path) == "terminal-bets"
    titles = ["none", *bets[0][1:]]
    make(path, [titles, *bets[1:]])
    with pytest.raises(Refusal, match=r"no ready mapping has the columns of this file: .*\bnone\b") as refused:
        _recognised(path)
    assert refused.value.code == "LGR-0754"


def test_events_are_recognised_by_keys_within_keys_and_behind_other_events(tmp_path: Path) -> None:
    data = {"player": "P-1", "spot": "red", "stake": "100", "currency": "MOP"}
    event = {"id": "1", "type": "roundledger.BetPlaced.v1", "subject": "2", "time": "2026-11-29T00:00:00Z", "data": data}
    path = tmp_path / "events.ndjson"
    path.write_text(json.dumps({"type": "roundledger.RoundOpened.v1"}) + "\n" + json.dumps(event) + "\n")
    assert _recognised(path) == "cloudevents-bets"


def test_titles_in_another_encoding_name_the_setting(filled: str, bets: Rows, tmp_path: Path) -> None:
    titles = ["注號", *bets[0][1:]]
    path = tmp_path / "big5.csv"
    with path.open("w", encoding="big5", newline="") as file:
        csv.writer(file).writerows([titles, *bets[1:]])
    own = mapping.read(mapping.load("terminal-bets").text.replace('bet = "bet"', 'bet = "注號"'), "own")
    with pytest.raises(Refusal) as refused:
        found(filled, (own, path))
    assert (refused.value.code, "file.encoding" in str(refused.value.help)) == ("LGR-0752", True)
    with pytest.raises(Refusal) as unknown:
        _recognised(path)
    assert "file.encoding" in str(unknown.value.help)
    assert found(filled, (mapping.read(own.text + '\n[file]\nencoding = "big5"\n', "own"), path)) == []


def test_what_is_of_all_currencies_stands_once_and_a_tolerance_is_an_amount(filled: str, bets: Rows, tmp_path: Path) -> None:
    tolerant = mapping.load("terminal-bets").text + '\n[tolerance.amounts]\nMOP = "0.50"\n'
    legs = [engine.Leg(mapping.read(tolerant, "own"), [write(tmp_path / "bets.csv", bets)])]
    with ledger.one_state(filled) as conn, engine.reconciled(conn, legs, engine.Asked()) as result:
        rows, said = by_leg(result.legs[0]), facts(result)
    assert {row["currency"] for row in rows} == {"HKD", "MOP"}
    assert [row["lines"] for row in rows] == [len(bets) - 1, None]
    assert [row["matched"] for row in rows] == [len(bets) - 1, None]
    assert sum(row["file_rows"] for row in rows) == len(bets) - 1
    assert said["tolerance"].startswith("MOP 0.50")


def test_returned_is_what_the_reports_call_so(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The program's own report of bets, compared with the ledger by a column of the same name."""
    monkeypatch.setenv("LEDGER_DSN", filled)
    assert run(["report", "bets", "--csv"]) == 0
    path = tmp_path / "report.csv"
    path.write_bytes(capsysbinary.readouterr().out)
    own = """
    compare = "bets"
    [columns]
    bet = "bet"
    currency = "currency"
    stake = "stake"
    returned = "returned"
    net_prize = "net_prize"
    [amounts]
    unit = "patacas"
    [match]
    exact = ["bet"]
    """
    assert found(filled, (mapping.read(own, "own"), path)) == []
    assert "stake_returned" in SIDES["bets"].fields


def test_another_rounding_goes_by_the_payable_unit_of_the_table(filled: str, tmp_path: Path) -> None:
    """The ready mapping says one minor unit; a table that pays in whole patacas rounds by up to a hundred."""
    rows = rows_of(filled, "terminal-results")
    paid, currency = rows[0].index("paid"), rows[0].index("currency")
    with psycopg.connect(filled, autocommit=True) as conn:
        exact = {str(bet) for (bet,) in conn.execute("SELECT bet FROM report.bets WHERE prize_exact LIKE '%/%'").fetchall()}
        won = next(row for row in rows[1:] if str(row[0]) in exact and row[currency] == "MOP")
        won[paid] += type(won[paid])("0.67")
        path = write(tmp_path / "results.csv", rows)
        assert [reason for reason, _, _ in found(filled, ("terminal-results", path))] == ["AMOUNT_DIFF"]
    with closing(Rounds(filled)) as rounds:
        whole = tuple(msgspec.structs.replace(table, payable_unit="1.00") for table in house.HOUSE.tables)
        rounds.apply_property(msgspec.structs.replace(house.HOUSE, tables=whole))
    assert [reason for reason, _, _ in found(filled, ("terminal-results", path))] == ["ROUNDING_DIFF"]


def test_nothing_open_is_said_so(filled: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LEDGER_DSN", filled)
    assert run(["reconcile", "list"]) == 0
    assert "no exception is open" in capsys.readouterr().out
    assert run(["reconcile", "list", "--all"]) == 0
    assert "no exception is recorded" in capsys.readouterr().out
