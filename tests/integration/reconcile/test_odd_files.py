"""What is odd in a file or a mapping is named, or read as it is: it neither hides a difference nor makes one up."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet  # type: ignore[import-untyped]  # the same
import pytest
from openpyxl import Workbook

from ledger.errors import Refusal
from projections.reconcile import engine, files, ledger, mapping
from tests.integration.reconcile.support import Rows, found, rows_of, write
from tests.proofs.corpus import house


@pytest.fixture(scope="module")
def filled(shared_dsn: str) -> str:
    house.fill(shared_dsn, 60)
    return shared_dsn


@pytest.fixture
def bets(filled: str) -> Rows:
    return rows_of(filled, "terminal-bets")


def _changed(name: str, *changes: tuple[str, str]) -> mapping.MappingFile:
    """A ready mapping with texts in it replaced."""
    text = mapping.ready()[name]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return mapping.read(text, "changed")


def _ndjson(path: Path, rows: Rows, **odd: str) -> Path:
    """A file of these rows, the first with other cells."""
    documents = [dict(zip(rows[0], map(str, row), strict=True)) for row in rows[1:]]
    documents[0] |= odd
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return path


def _parquet(path: Path, rows: Rows, **more: list[str]) -> Path:
    columns: dict[str, Any] = {name: pa.array([str(cell) for cell in cells]) for name, *cells in zip(*rows, strict=True)}
    pyarrow.parquet.write_table(pa.table(columns | more), path)
    return path


WRITE: dict[str, Callable[[Path, Rows], Path]] = {"csv": write, "ndjson": _ndjson, "parquet": _parquet}

_SUMS = """
compare = "bets"
[columns]
table = "table"
stake = "stake"
currency = "currency"
[amounts]
unit = "patacas"
[match]
aggregate = ["table"]
"""


def test_a_row_of_totals_without_its_key_is_not_passed_over(filled: str, bets: Rows, tmp_path: Path) -> None:
    table, stake, currency = (bets[0].index(name) for name in ("table", "stake", "currency"))
    rows: Rows = [["table", "stake", "currency"], *([row[table], row[stake], row[currency]] for row in bets[1:])]
    sums = mapping.read(_SUMS, "sums")
    assert found(filled, (sums, write(tmp_path / "clean.csv", rows))) == []
    odd = write(tmp_path / "odd.csv", [*rows, ["", "99999.00", "MOP"]])
    assert found(filled, (sums, odd)) == [("UNPARSEABLE_LINE", f"line {len(rows) + 1}", str(len(rows) + 1))]


@pytest.mark.parametrize("cell", ["P-\r1", "P-\n1", "P-\r\n1", 'P-"1', "P-,1", " \r", "P-\u2028 1", "\r" * 1000])
def test_any_text_may_stand_in_a_cell(filled: str, bets: Rows, tmp_path: Path, cell: str) -> None:
    odd = _ndjson(tmp_path / "odd.ndjson", bets, player=cell)
    assert {reason for reason, _, _ in found(filled, ("terminal-bets", odd))} <= {"PLAYER_DIFF"}
    inside = _parquet(tmp_path / "odd.parquet", [bets[0], [*bets[1][:6], cell, bets[1][7]], *bets[2:]])
    assert {reason for reason, _, _ in found(filled, ("terminal-bets", inside))} <= {"PLAYER_DIFF"}


def test_a_cell_without_end_costs_its_own_line(filled: str, bets: Rows, tmp_path: Path) -> None:
    odd = _ndjson(tmp_path / "odd.ndjson", bets, player="P" * (9 * files.LONGEST))
    reasons = [(reason, lines) for reason, _, lines in found(filled, ("terminal-bets", odd))]
    assert reasons == [("MISSING_IN_FILE", ""), ("UNPARSEABLE_LINE", "1")]


def test_a_row_without_end_is_refused(filled: str, tmp_path: Path) -> None:
    titles = ["bet", "round", "table", "spot", "stake", "currency", "player", "occurred_at"]
    columns = {name: pa.array(["x" * (3 * files.LONGEST)]) for name in titles}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "odd.parquet")
    with pytest.raises(Refusal) as refused:
        found(filled, ("terminal-bets", tmp_path / "odd.parquet"))
    assert refused.value.code == "LGR-0753"


def test_a_line_without_a_table_says_nothing_of_other_tables(filled: str, bets: Rows, tmp_path: Path) -> None:
    named = _changed("terminal-bets", ("[tolerance]", '[scope]\ntables = "in_file"\n[tolerance]'))
    odd = write(tmp_path / "odd.csv", [bets[0], [*bets[1][:2], "", *bets[1][3:]], *bets[2:]])
    assert [reason for reason, _, _ in found(filled, (named, odd))] == []


def test_what_is_within_the_tolerance_is_no_other_zone(filled: str, bets: Rows, tmp_path: Path) -> None:
    wide = _changed("terminal-bets", ("seconds = 2\n", "seconds = 1000\n"))
    for seconds, reasons in ((950, []), (-950, []), (1700, ["CLOCK_SKEW"]), (3600, ["CLOCK_SKEW"])):
        late = [bets[0], *([*row[:7], row[7] + timedelta(seconds=seconds)] for row in bets[1:])]
        there = [reason for reason, _, _ in found(filled, (wide, write(tmp_path / "late.csv", late))) if reason != "LATE_BET"]
        assert there == reasons, seconds


@pytest.mark.parametrize("encoding", ["undefined", "base64", "idna", "punycode", "no-such", "utf\\u00008"])
def test_an_encoding_that_is_none_is_named(encoding: str) -> None:
    with pytest.raises(Refusal) as refused:
        _changed("terminal-bets", ("[match]", f'[file]\nencoding = "{encoding}"\n[match]'))
    assert refused.value.code == "LGR-0751"
    assert "file.encoding" in refused.value.detail


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_an_amount_that_is_not_there_is_none(filled: str, tmp_path: Path, form: str) -> None:
    with psycopg.connect(filled) as conn:
        prizes = {str(bet): prize for bet, prize in conn.execute("SELECT bet, coalesce(prize, 0) FROM report.bets")}
    results = rows_of(filled, "terminal-results")
    with_prizes = _changed("terminal-results", ('paid = "paid"', 'paid = "paid"\nprize = "prize"'))
    path = tmp_path / f"results.{form}"
    said = [[*results[0], "prize"], *([*row, prizes[str(row[0])]] for row in results[1:])]
    assert found(filled, (with_prizes, WRITE[form](path, said))) == []
    won = {f"bet {bet}" for bet, prize in prizes.items() if prize}
    assert won
    empty = WRITE[form](path, [said[0], *([*row[:-1], ""] for row in said[1:])])
    told = found(filled, (with_prizes, empty))
    assert {what for reason, what, _ in told if reason in ("AMOUNT_DIFF", "ROUNDING_DIFF")} == won


@pytest.mark.parametrize("name", ["b[1].parquet", "b*.parquet", "b?.parquet", "b{1,2}.parquet", "b'.parquet", "b%20.parquet"])
def test_the_file_that_is_named_is_the_one_that_is_read(filled: str, bets: Rows, tmp_path: Path, name: str) -> None:
    for other in ("b1.parquet", "bb.parquet"):
        _parquet(tmp_path / other, bets)
    legs = [engine.Leg(mapping.load("terminal-bets"), [_parquet(tmp_path / name, bets[:11])])]
    with ledger.one_state(filled) as conn, engine.reconciled(conn, legs, engine.Asked()) as result:
        assert result.legs[0].lines == 10


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_lines_about_something_else_are_left_out_in_every_form(filled: str, bets: Rows, tmp_path: Path, form: str) -> None:
    about = ["bet"] * (len(bets) - 1) + ["fill"] * 3
    rows = [*bets, *bets[1:4]]
    column = 'a "kind", of'
    only = _changed("terminal-bets", ("[match]", f"[only]\n'{column}' = \"bet\"\n[match]"))
    marked = [[column, *rows[0]], *([kind, *row] for kind, row in zip(about, rows[1:], strict=True))]
    path = tmp_path / f"marked.{form}"
    WRITE[form](path, marked)
    legs = [engine.Leg(only, [path])]
    with ledger.one_state(filled) as conn, engine.reconciled(conn, legs, engine.Asked()) as result:
        assert result.by_reason() == []
        assert (result.legs[0].lines, result.legs[0].left_out) == (len(bets) - 1, 3)
    absent = _changed("terminal-bets", ("[match]", '[only]\nkinds = "bet"\n[match]'))
    with pytest.raises(Refusal) as refused:
        found(filled, (absent, path))
    assert refused.value.code == "LGR-0752"


def test_lines_without_an_id_are_told_apart(filled: str, bets: Rows, tmp_path: Path) -> None:
    """Or one that is resolved would resolve all, and those of other days."""
    without = [["", *bets[1][1:3], "no-such-spot", stake, *bets[1][5:]] for stake in ("1.00", "2.00", "3.00", "3.00")]
    path = write(tmp_path / "odd.csv", [*bets, *without])
    legs = [engine.Leg(mapping.load("terminal-bets"), [path])]
    with ledger.one_state(filled) as conn, engine.reconciled(conn, legs, engine.Asked()) as result:
        rows = result.db.execute("SELECT id, what FROM x WHERE reason = 'MISSING_IN_LEDGER'").fetchall()
    assert len(rows) == 4
    assert len(dict(rows)) == 4
    assert all(what for _, what in rows)


def test_a_row_on_another_day_than_the_ledger_has_it_is_found(filled: str, tmp_path: Path) -> None:
    """Whether the period is said or is that of the file, and whichever of the two days it is."""
    rows = rows_of(filled, "terminal-rounds")
    at = rows[0].index("gaming_day")
    days = sorted({row[at] for row in rows[1:]})
    odd = [[*row] for row in rows]
    shifted = [row for row in odd[1:] if row[at] == days[0]][:2]
    assert shifted
    for row in shifted:
        row[at] += timedelta(days=1)
    path = write(tmp_path / "rounds.csv", odd)
    for asked in (
        engine.Asked(),
        engine.Asked(first=days[0], last=days[0]),
        engine.Asked(first=days[0] + timedelta(days=1), last=days[0] + timedelta(days=1)),
    ):
        told = [what for reason, what, _ in found(filled, ("terminal-rounds", path), asked=asked) if reason == "GAMING_DAY_DIFF"]
        assert sorted(told) == sorted(f"round {row[0]}" for row in shifted), asked


def _ids(dsn: str, name: str, path: Path, reason: str) -> set[tuple[str, str]]:
    """What settles an exception is for this (id, found) alone."""
    legs = [engine.Leg(mapping.load(name), [path])]
    with ledger.one_state(dsn) as conn, engine.reconciled(conn, legs, engine.Asked()) as result:
        return {*result.db.execute("SELECT id, found FROM x WHERE reason = ?", [reason]).fetchall()}


def test_what_is_settled_of_a_whole_file_is_not_settled_of_the_next_one(filled: str, bets: Rows, tmp_path: Path) -> None:
    path, stake = tmp_path / "bets.csv", bets[0].index("stake")
    found_in = []
    for rows in (bets[1:], bets[1:], bets[2:]):
        write(path, [bets[0], *([*row[:stake], int(row[stake] * 100), *row[stake + 1 :]] for row in rows)])
        found_in.append(_ids(filled, "terminal-bets", path, "UNIT_SUSPECT_X100"))
    assert len(found_in[0]) == 1
    assert found_in[0] == found_in[1]
    assert found_in[0].isdisjoint(found_in[2])


def test_lines_that_tell_a_time_are_told_apart_by_it(filled: str, bets: Rows, tmp_path: Path) -> None:
    ids = []
    for minutes in (0, 40, 2 * 1440):
        at = bets[1][7] + timedelta(minutes=minutes)
        unknown = ["", bets[1][1], bets[1][2], "no-such-spot", "1.00", *bets[1][5:7], at]
        ids.append(_ids(filled, "terminal-bets", write(tmp_path / "odd.csv", [*bets, unknown]), "MISSING_IN_LEDGER"))
    assert [len(each) for each in ids] == [1, 1, 1]
    assert len(set.union(*ids)) == 3


@pytest.mark.parametrize("zone", ["localtime", "posix/Asia/Macau", "right/Asia/Macau", "../UTC", "posixrules"])
def test_a_zone_that_only_the_system_knows_is_named(filled: str, bets: Rows, tmp_path: Path, zone: str) -> None:
    path = write(tmp_path / "bets.csv", bets)
    with pytest.raises(Refusal) as refused:
        found(filled, (_changed("terminal-bets", ('zone = "Asia/Macau"', f'zone = "{zone}"')), path))
    assert refused.value.code == "LGR-0751"


@pytest.mark.parametrize("form", ["xlsx", "parquet"])
def test_a_damaged_file_is_refused_whatever_is_damaged(filled: str, bets: Rows, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"bets.{form}"
    if form == "xlsx":
        book = Workbook()
        for row in bets:
            book.worksheets[0].append([str(cell) for cell in row])
        book.save(path)
    else:
        _parquet(path, bets)
    whole = path.read_bytes()
    refused = 0
    for at in range(0, len(whole), len(whole) // 10):
        for spoiled in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :]):
            path.write_bytes(spoiled)
            try:
                found(filled, ("terminal-bets", path))
            except Refusal as refusal:
                assert refusal.code in ("LGR-0752", "LGR-0753"), (at, refusal)  # noqa: PT017
                refused += 1
    assert refused >= 10


def test_rows_that_are_alike_are_paired_by_all_that_they_say(filled: str, bets: Rows, tmp_path: Path) -> None:
    """Whatever their order, and with times that tell them apart no longer."""
    again = _changed("terminal-bets", ('exact = ["bet"]\n', ""), ("within_seconds = 5", "within_seconds = 3600"))
    at, stake, spot = (bets[0].index(name) for name in ("occurred_at", "stake", "spot"))
    rows = [[*row[:at], row[at].replace(microsecond=0)] for row in bets[:0:-1]]
    alike = _changed("terminal-bets", ('exact = ["bet"]\n', ""), ('["table", "round", "spot", "stake"]', '["table", "currency"]'))
    alike = mapping.read(alike.text.replace("within_seconds = 5\n", ""), "alike")
    for one in (again, alike):
        assert found(filled, (one, write(tmp_path / "bets.csv", [bets[0], *rows]))) == []
    odd = [[*rows[0]], *rows[1:]]
    odd[0][spot] = "no-such-spot"
    told = [reason for reason, _, _ in found(filled, (alike, write(tmp_path / "odd.csv", [bets[0], *odd])))]
    assert told == ["SPOT_DIFF"]
    assert stake != spot


def test_memory_does_not_grow_with_lines_of_json_that_are_left_out(filled: str, bets: Rows, tmp_path: Path) -> None:
    only = _changed("terminal-bets", ("[match]", '[only]\nkind = "bet"\n[match]'))
    line = json.dumps({"kind": "other", "filler": "x" * 1000}) + "\n"
    path = tmp_path / "bets.ndjson"
    path.write_text(line * 20_000)
    tracemalloc.start()
    try:
        files.stage(path, only, tmp_path / "cells.csv")
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
