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
    Column("exact", "exact", "exact", drawn=False),
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
        "exact": "100/37",
        "at": "2026-11-29T12:00:00Z",
        "position": str(2**60 + 1),
    }


def test_a_table_has_one_block_and_one_total_a_currency() -> None:
    """B18."""
    lines = [line.split() for line in printed(REPORT, "table").stdout.splitlines()]
    assert lines.count(["table", "handle", "win", "%", "at", "position"]) == 2
    assert ["Amounts", "in", "MOP"] in lines
    assert ["Amounts", "in", "HKD"] in lines
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
    assert "handle  1234.56" in out
    assert max(map(len, out.splitlines())) <= 60
    assert "…" not in out


def test_exact_amounts_of_csv_are_in_the_unit_of_the_column_beside_them() -> None:
    rows = [{"currency": currency, "exact": Fraction(minor)} for currency in ("MOP", "JPY") for minor in (0, 700, "-7", "700/3")]
    text = as_csv(Report("t", [Sheet((Column("currency", "currency"), Column("exact", "exact", "exact")), rows)]))
    assert [row["exact"] for row in csv.DictReader(io.StringIO(text))] == [
        *("0.00", "7.00", "-0.07", "7/3"),
        *("0", "700", "-7", "700/3"),
    ]
    for row, printed_row in zip(rows, csv.DictReader(io.StringIO(text)), strict=True):
        assert Fraction(printed_row["exact"]) == Fraction(row["exact"]) / (100 if row["currency"] == "MOP" else 1)


WIDE = Sheet(
    (
        Column("name", "name"),
        Column("words", "words", below=2),
        Column("currency", "currency"),
        Column("win", "win", "amount"),
        Column("breakage", "breakage", "amount", below=1, if_any=True),
    ),
    [
        {"name": "R01", "words": "as many words as do not fit", "currency": "MOP", "win": 12345, "breakage": 0},
        {"name": "R02", "words": "", "currency": "MOP", "win": -5, "breakage": 0},
        {"name": "C01", "words": "few", "currency": "HKD", "win": 100, "breakage": "0"},
    ],
    totals=[{"currency": "MOP", "win": 12340}, {"currency": "HKD", "win": 100}],
    legend="win = what is said here in a line that has to wrap",
)


def test_columns_that_do_not_fit_go_below_their_row_with_a_hanging_indent() -> None:
    out = printed(Report("t", [WIDE]), "table", columns=30).stdout
    assert out == (
        "t\n\n"
        "Amounts in MOP\n"
        "name      win\n"
        "─────────────\n"
        "R01    123.45\n"
        "    words: as many words as do\n"
        "        not fit\n"
        "R02     -0.05\n"
        "─────────────\n"
        "total  123.40\n\n"
        "Amounts in HKD\n"
        "name      win\n"
        "─────────────\n"
        "C01      1.00\n"
        "    words: few\n"
        "─────────────\n"
        "total    1.00\n\n"
        "win = what is said here in a\n"
        "    line that has to wrap\n"
    )


def test_at_full_width_nothing_wraps_and_columns_of_nothing_are_left_out() -> None:
    out = printed(Report("t", [WIDE]), "table", columns=100).stdout
    assert "R01    as many words as do not fit  123.45" in out
    assert "breakage" not in out
    assert "breakage" in as_csv(Report("t", [WIDE]))
    some = Sheet(WIDE.columns, [{**WIDE.rows[0], "breakage": 1}])
    assert "breakage" in printed(Report("t", [some]), "table", columns=100).stdout


def test_a_mixed_sheet_keeps_its_order_and_names_each_currency() -> None:
    mixed = Sheet(COLUMNS, [ROWS[0], ROWS[2], ROWS[1]], mixed=True)
    lines = [line.split()[:3] for line in printed(Report("t", [mixed]), "table").stdout.splitlines()[4:]]
    assert lines == [["R01", "MOP", "1234.56"], ["R02", "HKD", "-0.05"], ["R03", "MOP", "0.44"]]


def test_people_are_shown_whole_seconds_and_short_ids_and_programs_everything() -> None:
    at = AT.replace(microsecond=123456)
    columns = (Column("id", "id"), Column("at", "at"))
    sheet = Sheet(columns, [{"id": "01a2-long", "at": at}], for_people=lambda row: {**row, "id": "01a2"})
    report = Report("t", [sheet], {"at": at})
    out = printed(report, "table").stdout
    assert out.count("2026-11-29T12:00:00Z") == 2
    assert "long" not in out
    for text in (as_json(report), as_csv(report)):
        assert "2026-11-29T12:00:00.123456Z" in text
        assert "01a2-long" in text


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


def test_an_empty_table_among_others_says_none() -> None:
    rows = [{column.key: "1" if column.kind != "text" else "MOP" for column in COLUMNS}]
    report = Report("Round", [Sheet(COLUMNS, rows, title="Bets"), Sheet(COLUMNS, [], name="voids", title="Voids")])
    drawn = printed(report, "table").stdout
    assert drawn.endswith("Voids\n  none\n")
    assert "No activity" not in drawn


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
