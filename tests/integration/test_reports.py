"""Every report of a day of everything, in every form, and what the command line makes of what is asked."""

from __future__ import annotations

import html
import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet  # type: ignore[import-untyped]  # it has no stubs
import pytest
from click.testing import CliRunner, Result
from matplotlib.figure import Figure
from msgspec.structs import replace

from cli.main import roundledger
from ledger import worth
from ledger.errors import Refusal
from projections import days
from projections.reports import writers
from projections.reports.catalog import DEFINITIONS, Asked, Read, make
from projections.reports.filters import Filters
from projections.reports.model import Column, Report, plain
from projections.reports.plots import PLOTS, _clip, plot
from projections.reports.queries import Source
from projections.runner import catch_up
from tests.forms import read_back
from tests.integration.everything import play_everything
from tests.integration.projections.support import connected

NOW = datetime(2026, 12, 1, 3, tzinfo=UTC)
DAY = date(2026, 11, 29)


@pytest.fixture
def day(dsn: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A day on which everything happened that can."""
    play_everything(dsn)
    with connected(dsn) as conn:
        catch_up(conn)
    monkeypatch.setenv("LEDGER_DSN", dsn)
    return dsn


@pytest.fixture
def conn(day: str) -> Iterator[psycopg.Connection[Any]]:
    with connected(day) as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield connection


def made(conn: psycopg.Connection[Any], name: str, filters: Filters | None = None, **more: Any) -> Report:
    return make(conn, name, Asked(filters or Filters(), worth.of_log(conn), now=lambda: NOW, **more))


def rows(report: Report) -> list[dict[str, str]]:
    keys = [column.key for column in report.shown]
    return [dict(zip(keys, map(plain, row), strict=True)) for row in report.rows()]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(roundledger, ["report", *arguments], env={"COLUMNS": "400"})


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_report_says_the_same_in_every_form(name: str, conn: psycopg.Connection[Any]) -> None:
    first = made(conn, name)
    expected = rows(first)
    assert expected or name in ("terminal-gaps",), "the day has something of every kind"
    kinds = {column.key: column.kind for column in first.shown}
    totals = [[plain(value) for value in total.values] for total in first.totals]
    for form in writers.FORMS:
        out = io.BytesIO()
        writers.write(made(conn, name), form, out)
        back = read_back(form, out.getvalue(), kinds)
        assert back.rows == expected, form
        if form != "csv":
            assert [list(total.values()) for total in back.totals] == totals, form
            assert back.head["generated_at"] == "2026-12-01T03:00:00Z"
            assert back.head["property"].startswith("Golden House")
            assert back.head["software"].startswith("roundledger ")
            assert back.notes == writers.closing(first) or form == "xlsx"


_ODD = """
CREATE VIEW report.odd AS SELECT n::bigint AS n, t AS text, c AS currency, a AS amount, f AS flag, at, day FROM (VALUES
    (1, 'a,b', 'MOP', 0.10, true, '2026-11-01 00:30:00.000001+00'::timestamptz, '2024-02-29'::date),
    (2, '', 'MOP', -92233720368547758081234567890.99, false, '1969-12-31 23:59:59+00', NULL),
    (3, NULL, 'JPY', 7, NULL, NULL, '0001-01-01'),
    (4, E'"two"\\n\\\\. lines\\r', 'JPY', 9007199254740993, true, '2026-11-01 06:00:00+08', '2026-11-01'),
    (9007199254740993, E'\\\\N', 'MOP', NULL, NULL, NULL, NULL),
    (6, '會\u3000計', 'HKD', 1.00, true, NULL, NULL)
) AS of(n, t, c, a, f, at, day)
"""


def test_the_server_s_own_rows_are_in_parquet_what_they_are_value_by_value(dsn: str) -> None:
    """An empty text and none are told apart; quotes, lines, large and negative amounts and instants are what they were."""
    columns = (Column("n", "n", "count", sums=True), Column("text", "text"), Column("currency", "currency"))
    more = (Column("amount", "amount", "amount", sums=True), Column("flag", "flag", "flag"))
    times = (Column("at", "at", "time"), Column("day", "day", "date"))
    found, tables, told = [], [], []
    with connected(dsn) as conn:
        conn.execute(_ODD)
        for copied in (True, False):
            with conn.transaction():
                read = Read(conn, Source("odd", ("n",)), (*columns, *more, *times), Filters())
                report = Report("odd", "Odd", {}, read.columns, read.rows(), copied=read.copied if copied else None)
                report.subtotal_by = ("flag",)
                out = io.BytesIO()
                writers.write(report, "parquet", out)
            file = pyarrow.parquet.ParquetFile(out)
            tables.append(file.read())
            found.append((report.count, report.subtotals, report.totals))
            told.append(file.metadata.metadata[b"totals"])
    assert tables[0].equals(tables[1], check_metadata=True)
    assert tables[0].num_rows == 6
    assert found[0] == found[1]
    assert told[0] == told[1]


_BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
_A3 = 1511
"""Pixels between the margins of a landscape page of A3, on which more than 16 columns are printed."""
_MEASURE = """<script>
const height = cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getClientRects().length;
};
const cells = [...document.querySelectorAll("th, td:not(.exact)")].filter(cell => cell.offsetWidth);
const broken = cells.filter(cell => height(cell) > cell.textContent.split(/[\\s-]/).length);
const wide = document.querySelector("table.wide").offsetWidth;
document.title = JSON.stringify({wide, broken: broken.map(cell => cell.textContent)});
</script>"""


@pytest.mark.skipif(_BROWSER is None, reason="no headless Chromium is installed")
def test_the_page_of_the_master_game_report_fits_its_paper_and_breaks_no_word(
    conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    """Rendered by a browser, with the rules for paper on a window as wide as its text; and once into a picture."""
    out = io.BytesIO()
    writers.write(made(conn, "master-game", Filters(first=DAY, last=DAY, pit="B")), "html", out)
    page = tmp_path / "page.html"
    page.write_text(out.getvalue().decode().replace("@media print", "@media all").replace("</body>", f"{_MEASURE}</body>"))
    picture = tmp_path / "page.png"
    browse = [str(_BROWSER), "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={_A3},800"]
    found = subprocess.run([*browse, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=60, check=True)
    measured = json.loads(html.unescape(found.stdout.partition("<title>")[2].partition("</title>")[0]))
    assert measured["broken"] == []
    assert measured["wide"] <= _A3
    subprocess.run([*browse, f"--screenshot={picture}", page.as_uri()], capture_output=True, timeout=60, check=True)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_report_is_drawn_for_people(name: str, day: str) -> None:
    result = run(name)
    assert result.exit_code == 0, result.output
    assert DEFINITIONS[name].title in result.output
    assert "generated at:" in result.output


@pytest.mark.parametrize("name", [name for name, found in DEFINITIONS.items() if found.source.by_day])
def test_a_day_with_nothing_is_said_to_be_one(name: str, day: str) -> None:
    result = run(name, "--day", "2001-01-01")
    assert result.exit_code == 0, result.output
    assert "No activity" in result.output
    assert "gaming day 2001-01-01" in result.output


def test_filters_leave_out_what_they_say(conn: psycopg.Connection[Any]) -> None:
    whole = rows(made(conn, "bets"))
    for name, value in (
        ("table", "F01"),
        ("game", "craps"),
        ("chance", "straight"),
        ("currency", "HKD"),
        ("pit", "B"),
        ("shift", "night"),
    ):
        found = rows(made(conn, "bets", replace(Filters(), **{name: value})))
        assert found == [row for row in whole if row[name] == value] != [], name
    found = rows(made(conn, "bets", Filters(first=DAY, last=DAY)))
    assert found == [row for row in whole if row["gaming_day"] == "2026-11-29"] != whole


def test_days_and_places_come_to_the_whole(conn: psycopg.Connection[Any]) -> None:
    whole = made(conn, "master-game")
    list(whole.rows())
    keys = [column.key for column in whole.shown]
    for name, values in (("table", ("R01", "R02", "C01", "F01", "X01")), ("game", ("roulette", "cussec", "fantan", "craps"))):
        for key in ("bets", "handle", "win", "theoretical_win_exact_minor"):
            at = keys.index(key)
            sums: dict[str | None, Any] = {}
            for value in values:
                part = made(conn, "master-game", replace(Filters(), **{name: value}))
                list(part.rows())
                for total in part.totals:
                    sums[total.currency] = sums.get(total.currency, 0) + total.values[at]
            assert sums == {total.currency: total.values[at] for total in whole.totals}, (name, key)


def test_the_spread_of_a_round_is_that_of_its_bets_together(conn: psycopg.Connection[Any]) -> None:
    """Red and black of the same stake: only zero moves anything, so the variance is far below that of two lone bets."""
    stored, *_ = _hashes(conn, "roulette")
    known = worth.of_log(conn)
    both = known.spread(stored, [("red", 100), ("black", 100)])
    alone = known.spread(stored, [("red", 100)])
    assert both is not None
    assert alone is not None
    assert both.variance * 37 * 37 == 40000 * 36
    assert alone.variance * 37 * 37 == 10000 * (37 * 37 - 1)


def _hashes(conn: psycopg.Connection[Any], game: str) -> list[str]:
    found = conn.execute("SELECT DISTINCT regulation_hash FROM report.rounds WHERE game = %s", (game,)).fetchall()
    return sorted(key for (key,) in found)


def test_exposure_lists_whole_days_of_players_in_their_own_currency(conn: psycopg.Connection[Any]) -> None:
    usual = rows(made(conn, "exposure"))
    assert {row["currency"] for row in usual} == {"MOP"}, "no threshold was given for HKD, and none is made up"
    assert all(max(Decimal(row["staked"]), Decimal(row["returned"])) >= 500000 for row in usual)
    everybody = rows(made(conn, "exposure", thresholds={"MOP": Decimal(0), "HKD": Decimal(0)}))
    assert {row["currency"] for row in everybody} == {"MOP", "HKD"}
    assert [row for row in everybody if row in usual] == usual
    assert any("never converted" in note for note in made(conn, "exposure").notes)


def test_ggr_is_the_identity(conn: psycopg.Connection[Any]) -> None:
    for row in rows(made(conn, "ggr")):
        assert row["ggr"] == row["identity"]
        kept = Decimal(row["gross_prizes"]) - Decimal(row["commission"]) - Decimal(row["breakage"])
        assert Decimal(row["prizes"]) == kept


def test_a_file_is_written_whole_or_not_at_all(day: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "voids.csv"
    result = run("voids", "--format", "csv", "--out", str(target))
    assert result.exit_code == 0, result.output
    assert target.read_text().startswith("position,")
    assert [path.name for path in tmp_path.iterdir()] == ["voids.csv"]

    def broken(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(writers.FORMS, "html", broken)
    assert run("voids", "--format", "html", "--out", str(tmp_path / "voids.html")).exit_code != 0
    assert [path.name for path in tmp_path.iterdir()] == ["voids.csv"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["master-game", "--month", "2026-13"], "LGR-0121"),
        (["master-game", "--day", "2026-11-29", "--month", "2026-11"], "LGR-0121"),
        (["exposure", "--threshold", "500000"], "LGR-0121"),
        (["exposure", "--threshold", "XXX=5"], "LGR-0105"),
        (["exposure", "--threshold", "MOP=5.001"], "LGR-0104"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_code(arguments: list[str], said: str, day: str) -> None:
    result = run(*arguments)
    assert said in str(result.exception)


def test_a_table_goes_to_the_screen(day: str, tmp_path: Path) -> None:
    result = run("ggr", "--out", str(tmp_path / "x"))
    assert result.exit_code == 2
    assert "give another --format" in result.output


@pytest.mark.parametrize("name", [name for name, found in DEFINITIONS.items() if found.plotted])
@pytest.mark.parametrize("day", ["2026-11-29", "2001-01-01"], ids=["a day", "a day with nothing"], indirect=False)
def test_a_report_is_drawn_as_a_plot(name: str, day: str, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play_everything(dsn)
    monkeypatch.setenv("LEDGER_DSN", dsn)
    for form, begins in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        target = tmp_path / f"{name}.{form}"
        result = run(name, "--day", day, "--plot", str(target), "--csv")
        assert result.exit_code == 0, result.output
        assert target.read_bytes().startswith(begins)


def test_amounts_of_two_currencies_are_never_on_one_axis(conn: psycopg.Connection[Any]) -> None:
    for name in ("hours", "master-game"):
        report = made(conn, name)
        report.found = list(report.found)
        figure = Figure()
        PLOTS[name](report, worth.of_log(conn), figure)
        said = [f"{axis.get_ylabel()} {axis.get_title()}" for axis in figure.axes]
        assert all(("MOP" in each) != ("HKD" in each) for each in said), said
        assert {code for code in ("MOP", "HKD") for each in said if code in each} == {"MOP", "HKD"}


def test_what_cannot_be_drawn_is_refused(conn: psycopg.Connection[Any], tmp_path: Path) -> None:
    for name, file in (("ggr", "a.svg"), ("hours", "a.pdf")):
        with pytest.raises(Refusal, match="LGR-0121"):
            plot(made(conn, name), worth.of_log(conn), tmp_path / file, io.BytesIO())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["none/x", "file/x", "folder", "/proc/x", "/dev/null/x", "long"])
@pytest.mark.parametrize(
    "command",
    [
        ("report", "hours", "--format", "csv", "--out"),
        ("report", "hours", "--format", "xlsx", "--out"),
        ("report", "hours", "--csv", "--plot"),
        ("trace", "house:MOP", "--csv", "--out"),
        ("journal", "export", "--format", "csv", "--out"),
        ("man", "--out"),
        ("rules", "page", "--into"),
    ],
    ids=" ".join,
)
def test_a_file_that_cannot_be_made_is_refused_and_leaves_nothing(
    command: tuple[str, ...], place: str, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    makes_folder = command[-2:] in (("man", "--out"), ("page", "--into"))
    if makes_folder and place in ("none/x", "folder"):
        pytest.skip("it makes its folder")
    if command[0] == "trace" and place in ("/proc/x", "long"):
        pytest.skip("it looks for the account first")
    monkeypatch.setenv("LEDGER_DSN", dsn)
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    ending = "" if makes_folder or place == "folder" else ".svg"
    path = f"{tmp_path}/{'x' * 300}" if place == "long" else f"{tmp_path / place}{ending}"
    refused = CliRunner().invoke(roundledger, [*command, path])
    assert isinstance(refused.exception, SystemExit), refused.exception
    assert (refused.exit_code, command[-1] in refused.output) == (2, True), refused.output
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]


def test_characters_that_no_font_has_are_said_in_one_line(
    conn: psycopg.Connection[Any], tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    report = made(conn, "hours")
    report.facts = {**report.facts, "property": "\ue000 \ue001 \ue000"}
    assert plot(report, worth.of_log(conn), tmp_path / "a.png", io.BytesIO()) == "\ue000\ue001"
    assert not recwarn.list


def test_one_bar_of_hold_does_not_flatten_all_others() -> None:
    axis = Figure().subplots()
    _clip(axis, [(0, 12.0), (1, 18.0), (2, -15.0), (3, 99999.0), (4, 14.0)])
    assert axis.get_ylim() == (-15.0, 45.0)
    assert [text.get_text() for text in axis.texts] == ["99,999 %"]


def test_what_stands_under_earlier_of_a_day_is_in_its_register_of_corrections(conn: psycopg.Connection[Any]) -> None:
    """Of each day, by the report asked for that day: its sum of corrections posted from other days is its `earlier`."""
    days = {day for (day,) in conn.execute("SELECT gaming_day FROM report.table_days").fetchall()}
    said = 0
    for day in days:
        of_day = Filters(first=day, last=day)
        earlier = sum(Decimal(row["earlier"]) for row in rows(made(conn, "ggr", of_day)))
        listed = [row for row in rows(made(conn, "corrections", of_day)) if row["gaming_day"] != str(day) == row["posted_day"]]
        moved = sum(Decimal(row["to_players"]) for row in listed if row["kind"] not in ("mispay", "ex_gratia"))
        assert moved == -earlier
        said += len(listed)
        own = [row for row in rows(made(conn, "corrections")) if str(day) in (row["gaming_day"], row["posted_day"])]
        assert rows(made(conn, "corrections", of_day)) == own
    assert said


def test_a_round_and_its_bets_say_to_which_day_they_were_corrected(day: str) -> None:
    with connected(day) as conn:
        found = conn.execute("SELECT round, posted_day FROM report.corrections WHERE posted_day <> gaming_day").fetchall()
    assert found
    for round_, posted in found:
        shown = CliRunner().invoke(roundledger, ["rounds", "show", str(round_), "--json"])
        assert str(posted) in [one["posted_day"] for one in json.loads(shown.output)["corrections"]]
        told = CliRunner().invoke(roundledger, ["explain", str(round_)]).output
        assert f"posted to gaming day {posted}" in told


def test_a_report_says_what_of_a_closed_day_it_shows(conn: psycopg.Connection[Any]) -> None:
    """What shows rounds as corrected by now says so; where the books stay, a filter that leaves earlier out says so."""
    for name in ("rounds", "bets", "exposure"):
        assert any("as it is corrected by now" in note for note in made(conn, name).notes), name
    assert any("whatever day that is posted to" in note for note in made(conn, "movements").notes)
    for name, definition in DEFINITIONS.items():
        if "shift" in definition.filters:
            said = [note for note in made(conn, name, Filters(shift="night")).notes if "to no shift" in note]
            assert bool(said) == definition.source.posted, name
            assert not any("to no shift" in note for note in made(conn, name).notes), name


def test_movements_say_what_a_pit_or_a_game_leaves_out(conn: psycopg.Connection[Any]) -> None:
    whole = rows(made(conn, "movements"))
    assert any(row["slip"] for row in whole)
    for name, value in (("pit", whole[0]["pit"]), ("game", whole[0]["game"]), ("table", whole[0]["table"])):
        report = made(conn, "movements", replace(Filters(), **{name: value}))
        said = any("leaves it out" in note for note in report.notes)
        assert said == (name != "table")
        assert not said or not any(row["slip"] for row in rows(report))


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("currency", "mop", "no currency mop is known; did you mean MOP?"),
        ("shift", "nigt", "no shift nigt is known; did you mean night?"),
        ("chance", "strait", "no chance strait is known; did you mean straight"),
        ("table", "R-01", "no table R-01 is known; did you mean R01"),
    ],
)
def test_a_filter_by_what_is_none_is_said_to_be_so_by_every_report_that_has_it(
    option: str, value: str, said: str, day: str
) -> None:
    for name in [name for name, definition in DEFINITIONS.items() if option in definition.filters][:4]:
        assert said in run(name, f"--{option}", value).output, name
    for name in ("bets", "chances"):
        known = {"currency": "HKD", "shift": "night", "chance": "straight", "table": "F01"}[option]
        assert "is known" not in run(name, f"--{option}", known).output


def test_slips_name_the_numbers_that_are_missing(day: str) -> None:
    """The same as those that hold up a day's closing, whatever day and table were asked for."""
    with connected(day) as conn, conn.transaction(force_rollback=True):
        assert not any("missing numbers" in note for note in made(conn, "slips").notes)
        conn.execute("UPDATE projection.slips SET number = number + 7 WHERE number = (SELECT max(number) FROM projection.slips)")
        conn.execute("UPDATE projection.slips SET number = number + 90 WHERE number = (SELECT max(number) FROM projection.slips)")
        found = days.gaps(conn)
        assert found
        for filters in (Filters(), Filters(first=DAY, last=DAY, table="R01")):
            said = [note for note in made(conn, "slips", filters).notes if "missing numbers" in note]
            for gap in found:
                span = days.span(gap.first, gap.last)
                assert any(f"{gap.kind} slips" in note and span in note.rpartition(": ")[2].split(", ") for note in said)
        assert not any("missing numbers" in note for note in made(conn, "slips", Filters(property="NONE")).notes)
