"""Files in every form say the same, and what cannot be read exactly is named and never guessed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet  # type: ignore[import-untyped]  # the same
import pytest
from openpyxl import Workbook

from ledger.errors import Refusal
from projections.reconcile import engine, ledger, mapping
from tests.integration.reconcile.support import Rows, found, rows_of, write
from tests.proofs.corpus import house


@pytest.fixture
def bets(dsn: str) -> Rows:
    house.fill(dsn, 60)
    return rows_of(dsn, "terminal-bets")


def _xlsx(path: Path, rows: Rows) -> Path:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for n, row in enumerate(rows):
        stake = row[4] if not n else float(row[4])
        at = row[7] if not n else row[7].replace(tzinfo=None)
        sheet.append([str(row[0]), str(row[1]), *row[2:4], stake, *row[5:7], at])
    book.save(path)
    return path


def _ndjson(path: Path, rows: Rows) -> Path:
    titles = rows[0]
    text = "\n".join(json.dumps(dict(zip(titles, map(str, row), strict=True))) for row in rows[1:])
    path.write_text(text + "\n")
    return path


def _parquet(path: Path, rows: Rows, stake: Any = None) -> Path:
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    arrays = {name: pa.array(map(str, values)) for name, values in columns.items()}
    arrays["stake"] = pa.array(columns["stake"], pa.decimal128(18, 2)) if stake is None else pa.array(stake)
    arrays["occurred_at"] = pa.array(columns["occurred_at"], pa.timestamp("us", tz="UTC"))
    pyarrow.parquet.write_table(pa.table(arrays), path)
    return path


def _gzip(path: Path, rows: Rows) -> Path:
    plain = write(path.with_suffix(""), rows)
    path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


def test_every_form_is_read_alike(dsn: str, bets: Rows, tmp_path: Path) -> None:
    spoiled = [*bets[:3], [*bets[3][:4], bets[3][4] + 1, *bets[3][5:]], *bets[5:]]
    for path in (
        write(tmp_path / "bets.csv", spoiled),
        _gzip(tmp_path / "bets.csv.gz", spoiled),
        _xlsx(tmp_path / "bets.xlsx", spoiled),
        _ndjson(tmp_path / "bets.ndjson", spoiled),
        _parquet(tmp_path / "bets.parquet", spoiled),
    ):
        reasons = [(reason, what) for reason, what, _ in found(dsn, ("terminal-bets", path))]
        assert reasons == [("AMOUNT_DIFF", f"bet {bets[3][0]}"), ("MISSING_IN_FILE", f"bet {bets[4][0]}")], path


def test_no_float_is_taken_for_money(dsn: str, bets: Rows, tmp_path: Path) -> None:
    floats = _parquet(tmp_path / "floats.parquet", bets, [float(row[4]) for row in bets[1:]])
    with pytest.raises(Refusal) as refused:
        found(dsn, ("terminal-bets", floats))
    assert refused.value.code == "LGR-0752"
    numbers = tmp_path / "numbers.ndjson"
    numbers.write_text(_ndjson(tmp_path / "bets.ndjson", bets).read_text().replace(f'"{bets[1][4]}"', "1e3", 1))
    assert [(reason, lines) for reason, _, lines in found(dsn, ("terminal-bets", numbers))] == [("UNPARSEABLE_LINE", "1")]


def test_b12_a_file_in_avos_is_one_finding_and_what_is_wrong_besides_is_found(dsn: str, bets: Rows, tmp_path: Path) -> None:
    avos = [bets[0], *([*row[:4], int(row[4] * 100), *row[5:]] for row in bets[1:])]
    avos[5][4] += 100
    reasons = [reason for reason, _, _ in found(dsn, ("terminal-bets", write(tmp_path / "avos.csv", avos)))]
    assert reasons == ["AMOUNT_DIFF", "UNIT_SUSPECT_X100"]
    declared = mapping.read(mapping.ready()["terminal-bets"].replace('"patacas"', '"avos"'), "avos")
    with (
        ledger.one_state(dsn) as conn,
        engine.reconciled(conn, [engine.Leg(declared, [tmp_path / "avos.csv"])], engine.Asked()) as result,
    ):
        assert [reason for reason, _, _ in result.by_reason()] == ["AMOUNT_DIFF"]


def test_a_quote_that_is_not_closed_costs_its_own_line(dsn: str, bets: Rows, tmp_path: Path) -> None:
    lines = write(tmp_path / "bets.csv", bets).read_text().splitlines(keepends=True)
    lines[9] = lines[9].replace("P-", '"P-', 1).replace(',"P-', ',"P-')
    (tmp_path / "bets.csv").write_text("".join(lines))
    reasons = [(reason, lines) for reason, _, lines in found(dsn, ("terminal-bets", tmp_path / "bets.csv"))]
    assert reasons == [("MISSING_IN_FILE", ""), ("UNPARSEABLE_LINE", "10")]


def test_bytes_that_are_no_text_are_named(dsn: str, bets: Rows, tmp_path: Path) -> None:
    path = write(tmp_path / "bets.csv", bets)
    path.write_bytes(path.read_bytes().replace(b"P-", b"P\xff", 1))
    assert [(reason, lines) for reason, _, lines in found(dsn, ("terminal-bets", path))] == [("UNPARSEABLE_LINE", "2")]


@pytest.mark.parametrize(
    ("spoil", "said", "help_"),
    [
        (('stake = "stake"', 'stakes = "stake"'), "columns.stakes", "did you mean stake?"),
        (('compare = "bets"', 'compare = "bet"'), "compare", "did you mean bets?"),
        (('unit = "patacas"', ""), "amounts.unit", "avos"),
        (('unit = "patacas"', 'unit = "pataca"'), "amounts.unit", "did you mean patacas?"),
        (('zone = "Asia/Macau"', ""), "times.zone", "Asia/Macau"),
        (('zone = "Asia/Macau"', 'zone = "Asia/Macao2"'), "times.zone", "did you mean Asia/Maca"),
        (('exact = ["bet"]', 'exact = ["bit"]'), "match.exact", "did you mean bet?"),
        (("[match]", "[macth]"), "macth", "did you mean match?"),
        (('exact = ["bet"]', "exact = 7"), "match.exact", None),
    ],
)
def test_a_mapping_that_is_wrong_says_where(spoil: tuple[str, str], said: str, help_: str | None) -> None:
    text = mapping.ready()["terminal-bets"]
    assert spoil[0] in text
    with pytest.raises(Refusal) as refused:
        mapping.read(text.replace(*spoil, 1), "mine")
    assert refused.value.code == "LGR-0751"
    assert f"`{said}`" in refused.value.detail
    assert help_ is None or help_ in (refused.value.help or "")


def test_a_column_that_the_file_has_not_is_named_with_the_near_miss(dsn: str, bets: Rows, tmp_path: Path) -> None:
    path = write(tmp_path / "bets.csv", [["bet_id", *bets[0][1:]], *bets[1:]])
    with pytest.raises(Refusal) as refused:
        found(dsn, ("terminal-bets", path))
    assert refused.value.code == "LGR-0752"
    assert "did you mean 'bet_id'?" in (refused.value.help or "")


def test_a_line_that_would_be_sql_or_a_command_is_text(dsn: str, bets: Rows, tmp_path: Path) -> None:
    evil = "'); DROP TABLE x; --"
    spoiled = [*bets, [evil, evil, "T00", evil, "1.00", "MOP", evil, bets[1][7]]]
    path = write(tmp_path / "bets.csv", spoiled)
    legs = [engine.Leg(mapping.load("terminal-bets"), [path])]
    with ledger.one_state(dsn) as conn, engine.reconciled(conn, legs, engine.Asked()) as result:
        rows = result.db.execute("SELECT reason, next FROM x").fetchall()
    assert rows == [("MISSING_IN_LEDGER", "roundledger terminals")]
    with psycopg.connect(dsn) as conn:
        assert conn.execute("SELECT count(*) FROM report.bets").fetchone() == (60,)
