"""The three forms of one report: the same figures, and nothing that a terminal or a spreadsheet would take for a command."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from cli.options import Form
from cli.output import Column, Report, Sheet, as_csv, as_json, emit, visible
from cli.progress import Progress

COLUMNS = (
    Column("table", "table"),
    Column("currency", "currency"),
    Column("handle", "handle", "amount"),
    Column("share", "win %", "number"),
    Column("exact", "exact", "number", drawn=False),
    Column("at", "at"),
    Column("position", "position", "position"),
)
AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {
        "table": "R01",
        "currency": "MOP",
        "handle": 123456,
        "share": "-2.70",
        "exact": Fraction(10000, 37),
        "at": AT,
        "position": 2**60 + 1,
    },
    {"table": "R03", "currency": "MOP", "handle": "44", "share": None, "exact": Fraction(1), "at": AT, "position": 12},
    {"table": "R02", "currency": "HKD", "handle": -5, "share": None, "exact": Fraction(1, 2), "at": AT, "position": 13},
]
TOTALS = [{"currency": "MOP", "handle": 123500}, {"currency": "HKD", "handle": -5}]
SHEET = Sheet(COLUMNS, ROWS, name="tables", totals=TOTALS)
REPORT = Report("Table report", [SHEET], {"property": "澳門 House", "position": str(2**60 + 1)}, ["30/2003, applied by opt-in"])


def printed(report: Report, form: Form, *, columns: int = 200, **env: str) -> Result:
    @click.command()
    def command() -> None:
        emit(report, form)

    return CliRunner().invoke(command, env={"COLUMNS": str(columns), **env}, catch_exceptions=False)


def test_json_carries_amounts_and_positions_as_strings() -> None:
    """B14."""
    document = json.loads(as_json(REPORT))
    first = document["tables"][0]
    assert first["handle"] == "123456"
    assert first["position"] == str(2**60 + 1) == document["position"]
    assert first["exact"] == "10000/37"
    assert first["at"] == "2026-11-29T12:00:00Z"
    assert document["notes"] == ["30/2003, applied by opt-in"]
    assert [(line["currency"], line["handle"]) for line in document["totals"]] == [("MOP", "123500"), ("HKD", "-5")]


def test_csv_carries_plain_decimals_and_iso_timestamps() -> None:
    first = next(csv.DictReader(io.StringIO(as_csv(REPORT))))
    assert first == {
        "table": "R01",
        "currency": "MOP",
        "handle": "1234.56",
        "share": "-2.70",
        "exact": "10000/37",
        "at": "2026-11-29T12:00:00Z",
        "position": str(2**60 + 1),
    }


def test_a_table_has_one_block_and_one_total_a_currency() -> None:
    """B18."""
    lines = [line.split() for line in printed(REPORT, "table").stdout.splitlines()]
    assert ["table", "handle", "MOP", "win", "%", "at", "position"] in lines
    assert ["total", "1235.00"] in lines
    assert ["total", "-0.05"] in lines
    assert "澳門 House" in printed(REPORT, "table").stdout


@pytest.mark.parametrize("form", ["table", "csv"])
def test_every_form_has_the_same_figures(form: Form) -> None:
    from ledger.money import format_plain

    out = printed(REPORT, form).stdout
    for row in json.loads(as_json(REPORT))["tables"]:
        assert format_plain(int(row["handle"]), row["currency"]) in out
        assert (row["share"] or "") in out
        assert row["position"] in out


def test_a_narrow_terminal_gets_records_and_no_cut_amount() -> None:
    out = printed(REPORT, "table", columns=40).stdout
    assert "handle MOP  1234.56" in out
    assert max(map(len, out.splitlines())) <= 60
    assert "…" not in out


def test_wide_characters_keep_the_columns_aligned() -> None:
    from rich.cells import cell_len

    rows = [{"name": "圍骰", "n": 1}, {"name": "any", "n": 100}]
    out = printed(Report("t", [Sheet((Column("name", "name"), Column("n", "count", "number")), rows)]), "table").stdout
    [first, second] = [line for line in out.splitlines() if "圍" in line or "any" in line]
    assert cell_len(first.rstrip()) == cell_len(second.rstrip())


@pytest.mark.parametrize("text", ["=1+1", "-5", "+1", "@sum", "＝1"])
def test_text_that_looks_like_a_formula_is_neutralised_in_csv(text: str) -> None:
    report = Report("t", [Sheet((Column("player", "player"), Column("n", "n", "number")), [{"player": text, "n": -5}])])
    [row] = csv.DictReader(io.StringIO(as_csv(report)))
    assert row == {"player": "'" + text, "n": "-5"}


def test_a_record_of_csv_is_one_line_whatever_is_in_it() -> None:
    report = Report("t", [Sheet((Column("player", "player"),), [{"player": "a\r\n\t=1"}])])
    assert as_csv(report) == "player\n" + r"a\r\n\t=1" + "\n"


def test_control_characters_and_markup_are_shown_not_obeyed() -> None:
    report = Report("t", [Sheet((Column("player", "player"),), [{"player": "\x1b[2J[bold]x"}])])
    out = printed(report, "table").stdout
    assert "\x1b" not in out
    assert r"\x1b[2J[bold]x" in out
    assert visible("a\u202eb") == r"a\u202eb"


def test_an_empty_report_says_so() -> None:
    empty = Report("Table report", [Sheet(COLUMNS, [], name="rows")])
    assert "No activity" in printed(empty, "table").stdout
    as_file = printed(empty, "csv")
    assert as_file.stdout == ",".join(column.key for column in COLUMNS) + "\n"
    assert "No activity" in as_file.stderr
    assert json.loads(printed(empty, "json").stdout)["rows"] == []


def test_nothing_is_coloured_without_a_terminal() -> None:
    assert "\x1b" not in printed(REPORT, "table", NO_COLOR="1").stdout


def test_progress_says_nothing_at_once_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("folding", 10) as progress:
        progress.update(5)
    out, err = capsys.readouterr()
    assert out == err == ""
