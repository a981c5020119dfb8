"""A report says the same in every form, whatever stands in it."""

from __future__ import annotations

import builtins
import io
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import Refusal
from projections.reports import master, writers
from projections.reports.filters import Filters, described, period, thresholds
from projections.reports.model import EXACT, NOTHING, Column, Report, amount, percent, plain, ratio, root, two_decimals
from tests.forms import read_back

COLUMNS = (
    Column("table", "table"),
    Column("player", "player", "id"),
    Column("currency", "currency"),
    Column("bets", "bets", "count", sums=True),
    Column("position", "position", "position"),
    Column("handle", "handle", "amount", sums=True),
    Column("win", "win", "amount", sums=True),
    Column("percent", "win %", "percent", derive=ratio("win", "handle")),
    Column("exact", "exact", "exact", sums=True),
    Column("secret", "secret", "amount", sums=True, hidden=True),
    Column("at", "at", "time"),
    Column("day", "day", "date"),
    Column("late", "late", "flag"),
)
AT = datetime(2026, 11, 29, 21, 59, 59, 999999, tzinfo=UTC)
DAY = date(2026, 11, 29)
FORMS = list(writers.FORMS)
HOSTILE = (
    "=1+1", "+1", "-5", "@SUM(A1)", "＝1+1", "\t=1+1", "\r=cmd", "007", "9912140633506421", "73928e05", "<b>&amp;", 'say "x", y',
    "金 的", "a\nb", "http://x", "\x1b[31m", "'", "",
)  # fmt: skip


def line(
    table: str = "R01", player: str = "P-1", currency: str = "MOP", handle: int = 10000, win: int = -5000, **more: Any
) -> tuple[Any, ...]:
    known = {"bets": 2, "position": 7, "exact": Fraction(win, 3), "at": AT, "day": DAY, "late": False, **more}
    return (
        table,
        player,
        currency,
        known["bets"],
        known["position"],
        amount(handle, currency),
        amount(win, currency),
        known["exact"],
        amount(1, currency),
        known["at"],
        known["day"],
        known["late"],
    )


def report(rows: list[tuple[Any, ...]], **more: Any) -> Report:
    facts = {"property": "Golden House 金", "period": "all gaming days", "generated_at": AT, "software": "roundledger 0"}
    return Report("made", "A report <made> up", facts, COLUMNS, rows, notes=["a note & more"], legend="win = so", **more)


def written(made: Report, form: str) -> bytes:
    out = io.BytesIO()
    writers.write(made, form, out)
    return out.getvalue()


def kinds(made: Report) -> dict[str, str]:
    return {column.key: column.kind for column in made.shown}


def wanted(made: Report) -> list[dict[str, str]]:
    """The rows in plain text, with control characters as escapes."""
    keys = [column.key for column in made.shown]
    return [dict(zip(keys, map(shown, row), strict=True)) for row in made.rows()]


def shown(value: Any) -> str:
    return plain(value).encode("unicode_escape").decode() if value in ("\t=1+1", "\r=cmd", "a\nb", "\x1b[31m") else plain(value)


LARGE = [
    line(handle=2**31 * 100, win=2**53 + 1),
    line(handle=10**15, win=-(10**15)),
    line(handle=10**30, win=-(10**30) + 1),
    line("R02", currency="HKD", handle=1, win=-1),
    line("R03", currency="JPY", handle=10**15 - 1, win=12345),
    line(handle=0, win=0, bets=0, late=True),
]


@pytest.mark.parametrize("form", FORMS)
def test_b13_b14_amounts_of_every_size_come_back_exactly(form: str) -> None:
    made = report(LARGE)
    if form == "parquet":  # 38 digits
        assert max(abs(int(row[6])) for row in LARGE) < 10**36
    back = read_back(form, written(made, form), kinds(made))
    assert back.rows == wanted(made)


@pytest.mark.parametrize("form", FORMS)
def test_b44_text_that_a_spreadsheet_would_bend_or_run_comes_back_as_it_was(form: str) -> None:
    made = report([line(table=text, player=text) for text in HOSTILE])
    data = written(made, form)
    back = read_back(form, data, kinds(made))
    expected = wanted(made)
    if form in ("json", "ndjson", "parquet"):  # for programs: nothing is escaped
        expected = [{**record, "table": text, "player": text} for record, text in zip(expected, HOSTILE, strict=True)]
    assert back.rows == expected
    if form == "csv":
        cells = [cell for record in data.decode().splitlines()[1:] for cell in record.split(",")[:2]]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "＝", "\t"))]


@given(text=st.text(), handle=st.integers(-(10**20), 10**20), win=st.integers(0, 10**20))
def test_whatever_stands_in_a_cell_csv_and_json_bring_it_back(text: str, handle: int, win: int) -> None:
    made = report([line(table=text, handle=handle, win=win)])
    for form in ("csv", "ndjson"):
        (back,) = read_back(form, written(made, form), kinds(made)).rows
        assert (back["handle"], back["win"]) == (plain(amount(handle, "MOP")), plain(amount(win, "MOP")))
        if form == "ndjson":
            assert back["table"].encode(errors="backslashreplace") == text.encode(errors="backslashreplace")
        assert not back["table"].startswith(("\t", "\r", "\n")) or form == "ndjson"


@pytest.mark.parametrize("form", [form for form in FORMS if form != "csv"])
def test_b18_totals_are_per_currency_and_rows_come_to_them(form: str) -> None:
    made = report(LARGE, subtotal_by=("table",))
    back = read_back(form, written(made, form), kinds(made))
    assert [total["currency"] for total in back.totals] == ["HKD", "JPY", "MOP"]
    for total in back.totals:
        rows = [row for row in back.rows if row["currency"] == total["currency"]]
        for key in ("handle", "win"):
            assert total[key] == plain(reduce(EXACT.add, (Decimal(row[key]) for row in rows)))
        assert total["bets"] == str(sum(int(row["bets"]) for row in rows))
        assert total["exact"] == str(sum(Fraction(row["exact"]) for row in rows))
        assert total["percent"] == plain(percent(Decimal(total["win"]), Decimal(total["handle"])))
        assert (total["table"], total["day"]) == ("", "")
    assert len(back.subtotals) == 3
    assert back.head["title"] == "A report <made> up"
    assert back.head["property"] == "Golden House 金"
    assert "a note & more" in back.notes


def counted(table: str, win: int, **count: int | None) -> tuple[Any, ...]:
    """A line of the master game report: what was counted, None or left out where it was not."""
    whole = None not in (count.get("closer"), count.get("drop"))
    known: dict[str, Any] = {key: None if value is None else amount(value, "MOP") for key, value in count.items()}
    known |= {key: amount(0, "MOP") for key in ("earlier", "handle", "commission", "breakage", "adjusted")}
    known |= {"table": table, "gaming_day": DAY, "currency": "MOP", "rounds": 1, "bets": 1} | dict.fromkeys(
        ("win", "own_of_table"), amount(win, "MOP")
    )
    known |= {"theoretical_win_exact_minor": Fraction(0), "square": Fraction(100)}
    if whole:
        signs = {"closer": 1, "credits": 1, "drop": 1, "opener": -1, "fills": -1}
        known["count_win"] = amount(sum(sign * (count.get(key) or 0) for key, sign in signs.items()), "MOP")
        known["variance"] = known["count_win"] - known["win"]
    return tuple(known.get(column.key) for column in master.COLUMNS if column.derive is None)


WHOLE = {"opener": 5000, "fills": 200, "drop": 900, "credits": 100, "closer": 4700}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("others", "blank"),
    [
        ([{}, {}], {"opener", "fills", "drop", "credits", "closer", "count_win", "variance", "hold_percent"}),
        ([WHOLE, {}], {"opener", "fills", "drop", "credits", "closer", "count_win", "variance", "hold_percent"}),
        ([WHOLE, {"fills": 700, "drop": 300}], {"opener", "credits", "closer", "count_win", "variance"}),
        ([WHOLE, {**WHOLE, "drop": None}], {"drop", "count_win", "variance", "hold_percent"}),
        ([WHOLE, {**WHOLE, "closer": 9000}], set()),
    ],
    ids=["nothing counted", "one table counted", "one with a drop alone", "no drop at one", "all counted"],
)
def test_what_the_legend_of_the_master_game_report_says_of_a_line_holds_for_totals(
    form: str, others: list[dict[str, int | None]], blank: set[str]
) -> None:
    rows = [counted(f"R0{n}", 500 * n, **count) for n, count in enumerate(others, 1)]
    facts = {"property": "House", "period": "all gaming days", "generated_at": AT, "software": "roundledger 0"}
    made = Report("master-game", "Master", facts, master.COLUMNS, rows, subtotal_by=("gaming_day",))
    out = io.BytesIO()
    writers.write(made, form, out)
    for total in [*made.totals, *made.subtotals]:
        told = dict(zip((column.key for column in made.shown), total.values, strict=True))
        assert {key for key in (*WHOLE, "count_win", "variance", "hold_percent") if told[key] is None} == blank
        if told["count_win"] is not None:
            of = {key: told[key] for key in WHOLE}
            assert told["count_win"] == of["closer"] + of["credits"] + of["drop"] - of["opener"] - of["fills"]
            assert told["variance"] == told["count_win"] - told["win"]
        if told["hold_percent"] is not None:
            assert told["hold_percent"] == percent(told["win"], told["drop"])


@pytest.mark.parametrize("form", FORMS)
def test_a_report_of_nothing_says_so_and_has_its_heading(form: str) -> None:
    made = report([])
    back = read_back(form, written(made, form), kinds(made))
    assert back.rows == back.totals == []
    assert NOTHING in writers.closing(made)
    if form != "csv":
        assert NOTHING in back.notes


def test_a_hidden_column_is_in_no_form() -> None:
    for form in FORMS:
        data = written(report(LARGE), form)
        assert b"secret" not in data, form


def test_the_same_report_is_written_in_the_same_bytes() -> None:
    for form in FORMS:
        assert written(report(LARGE), form) == written(report(LARGE), form), form


def test_amounts_beyond_what_a_spreadsheet_keeps_are_text_and_it_says_so() -> None:
    book = openpyxl.load_workbook(io.BytesIO(written(report(LARGE), "xlsx")))
    cells = [row[5] for row in book["Rows"].iter_rows(min_row=2)]
    assert [cell.data_type for cell in cells] == ["n", "s", "s", "n", "n", "n"]
    assert any("stand as text" in str(row[1].value) for row in book["About"].iter_rows())


def test_rows_are_read_once_and_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """No writer holds more than a batch of rows, and the next one."""
    monkeypatch.setattr(writers, "BATCH", 500)
    alive = 0
    most = 0

    class Watched(str):
        __slots__ = ()

        def __new__(cls, text: str) -> Watched:
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            return super().__new__(cls, text)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def rows() -> Iterator[tuple[Any, ...]]:
        for n in range(5_000):
            yield (Watched(f"R{n}"), *line()[1:])

    for form in ("csv", "ndjson", "json", "parquet", "html", "xlsx"):
        most = 0
        made = report([])
        made.found = rows()
        written(made, form)
        assert made.count == 5_000
        assert most < 1_100, form


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(f"No module named {name!r}")
        return found(name, *arguments)

    monkeypatch.setattr("importlib.import_module", lambda name: without(name))
    with pytest.raises(Refusal) as refused:
        written(report(LARGE), "parquet")
    assert refused.value.code == "LGR-0732"
    assert refused.value.help is not None
    assert "installs it" in refused.value.help


def test_a_form_that_there_is_not_is_refused() -> None:
    with pytest.raises(Refusal, match="LGR-0121"):
        written(report([]), "pdf")


# Values.


@given(st.integers(0, 10**40))
def test_a_root_is_exact_to_twelve_decimals(square: int) -> None:
    found = root(Fraction(square))
    step = Fraction(1, 10**12)
    assert found**2 <= square < (found + step) ** 2


def test_percentages_are_rounded_half_to_even_and_blank_of_nothing() -> None:
    assert percent(1, 800) == Decimal("0.12")
    assert percent(3, 800) == Decimal("0.38")
    assert percent(-1, 3) == Decimal("-33.33")
    assert percent(1, 0) is None
    assert percent(None, 5) is None
    assert two_decimals(Fraction(-1, 3)) == Decimal("-0.33")


# Periods.


def test_a_period_is_a_day_a_month_or_a_span() -> None:
    assert period(day=DAY) == (DAY, DAY)
    assert period(month="2028-02") == (date(2028, 2, 1), date(2028, 2, 29))
    assert period(first=DAY) == (DAY, None)
    assert period() == (None, None)


@pytest.mark.parametrize(
    "asked",
    [
        {"day": DAY, "month": "2026-11"},
        {"month": "2026-13"},
        {"month": "2026-1"},
        {"month": "26-11-0"},
        {"first": date(2026, 12, 1), "last": DAY},
        {"day": DAY, "last": DAY},
    ],
)
def test_any_other_period_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        period(**asked)
    assert refused.value.code == "LGR-0121"


def test_a_heading_says_what_it_is_about() -> None:
    filters = Filters(table="R01", game="roulette", first=DAY, last=DAY)
    assert described(filters) == {"period": "gaming day 2026-11-29", "filters": "table R01, game roulette"}
    assert described(Filters()) == {"period": "all gaming days", "filters": "none"}
    assert described(Filters(first=DAY))["period"] == "gaming days from 2026-11-29"


def test_two_thresholds_of_a_currency_are_refused() -> None:
    assert thresholds(["MOP=5", "HKD=6"]) == {"MOP": Decimal("5.00"), "HKD": Decimal("6.00")}
    with pytest.raises(Refusal, match="LGR-0121"):
        thresholds(["MOP=5", "HKD=6", "MOP=6"])


def test_the_first_sheet_of_nothing_says_so() -> None:
    book = openpyxl.load_workbook(io.BytesIO(written(report([]), "xlsx")))
    assert book["Rows"]["A2"].value == NOTHING
