"""Figures in which bets without rule text or at assumed odds stand say so, in every form; others do not."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest
from click.testing import CliRunner

from cli.main import roundledger
from ledger.api.reader import SqlReader
from ledger.api.views import AskedReport
from ledger.application import Rounds
from ledger.property import Choice, Table
from ledger.reports import ReopenBetting
from projections.reports.catalog import DEFINITIONS, Definition
from projections.reports.filters import Filters, period
from tests.integration.test_days import DAY, NEXT, START, closing, put_right
from tests.support import DEMO, Terminal, accepted, house

CRAPS = Table(id="X01", pit="B", game="craps", currency="MOP", payable_unit="0.01")
HOUSE = msgspec.structs.replace(
    DEMO, tables=(*DEMO.tables, CRAPS), choices=(*DEMO.choices, Choice(regulation="53/2010", unverified_bets=True))
)
ASSUMED = "53/2010: bets on pass stand in these figures at odds that are assumed; Article 6 is not held"
UNVERIFIED = "53/2010: bets on place stand in these figures; no source of the regulation holds this bet"
REPORTS = [("report", "tables"), ("balances",), ("rounds", "list"), ("rounds", "show", "ROUND")]


@pytest.fixture
def rounds(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rounds]:
    monkeypatch.setenv("LEDGER_DSN", dsn)
    found = house(dsn, HOUSE)
    yield found
    found.close()


def craps(rounds: Rounds, *, place: bool) -> Terminal:
    table = Terminal("X01", "craps")
    accepted(rounds.post([table.open(), table.bet("pass"), table.close(), table.throw("5-5")]))
    bets = [table.bet("place:6", "6000")] if place else []
    accepted(rounds.post([table.report(ReopenBetting()), *bets, table.close(), table.throw("3-3"), table.throw("4-6")]))
    return table


def told(table: Terminal, report: tuple[str, ...], form: str) -> str:
    words = [str(table.round) if word == "ROUND" else word for word in report]
    result = CliRunner().invoke(roundledger, [*words, *([form] if form else [])], env={"COLUMNS": "400"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("form", ["", "--json", "--csv"])
@pytest.mark.parametrize("report", REPORTS, ids=" ".join)
def test_unverified_bets_and_assumed_odds_are_named(report: tuple[str, ...], form: str, rounds: Rounds) -> None:
    said = told(craps(rounds, place=True), report, form)
    assert ASSUMED in said
    assert UNVERIFIED in said


@pytest.mark.parametrize("report", REPORTS, ids=" ".join)
def test_bets_that_were_not_made_are_not_named(report: tuple[str, ...], rounds: Rounds) -> None:
    said = told(craps(rounds, place=False), report, "")
    assert ASSUMED in said
    assert UNVERIFIED not in said
    other = Terminal()
    accepted(rounds.post(other.whole_round([("red", "10000")], "1")))
    if "show" in report:
        assert "stand in these figures" not in told(other, report, "")


@pytest.mark.parametrize(
    ("filters", "stands"),
    [
        ((), True),
        (("--table", "X01", "--game", "craps", "--currency", "MOP", "--pit", "B", "--property", "DEMO"), True),
        (("--table", "R01"), False),
        (("--game", "roulette"), False),
        (("--currency", "HKD"), False),
        (("--pit", "A"), False),
        (("--property", "OTHER"), False),
        (("--shift", "none"), False),
        (("--to", "2001-01-01"), False),
        (("--from", "9000-01-01"), False),
        (("--month", "2001-01"), False),
    ],
)
def test_bets_that_a_filter_leaves_out_are_not_named(filters: tuple[str, ...], stands: bool, rounds: Rounds) -> None:
    table = craps(rounds, place=True)
    for form in ("", "--json"):
        said = told(table, ("report", "master-game", *filters), form)
        assert (ASSUMED in said, UNVERIFIED in said) == (stands, stands), said
    assert ASSUMED not in told(table, ("report", "chances", "--chance", "place"), "")
    assert ASSUMED not in told(table, ("rounds", "list", "--table", "R01"), "")


PERIODS = [
    {},
    {"day": "{0}"},
    {"month": "{0:%Y-%m}"},
    {"from": "{0}"},
    {"to": "{0}"},
    {"from": "{0}", "to": "{0}"},
]
"""Every way to ask for days of which {0} is one."""
OF_FIGURES = [each for each in DEFINITIONS.values() if each.figures and each.source.by_day]


def periods(day: date) -> Iterator[dict[str, str]]:
    yield from ({name: value.format(day) for name, value in each.items()} for each in PERIODS)


def at_the_door(reader: SqlReader, report: Definition, said: dict[str, str]) -> str:
    """What stands beside the figures of a report over HTTP."""
    given = {name: said[name] for name in ("day", "month") if name in said}
    first, last = (None if name not in said else date.fromisoformat(said[name]) for name in ("from", "to"))
    first, last = period(
        day=date.fromisoformat(given["day"]) if "day" in given else None, month=given.get("month"), first=first, last=last
    )
    out = io.BytesIO()
    reader.report(AskedReport(report.name, "json", Filters(first=first, last=last), None), out)
    return " ".join(json.loads(out.getvalue())["notes"])


def test_every_report_of_figures_says_what_they_rest_on_whatever_its_period(rounds: Rounds, dsn: str) -> None:
    table = craps(rounds, place=True)
    day = HOUSE.gaming_day(datetime.now(UTC))
    assert {"master-game", "chances", "ggr", "hours", "rounds", "bets"} <= {each.name for each in OF_FIGURES}
    with SqlReader(dsn) as reader:
        for asked in periods(day):
            words = [word for name, value in asked.items() for word in (f"--{name}", value)]
            for form in ("", "--csv"):
                said = told(table, ("report", "master-game", *words), form)
                assert (ASSUMED in said, UNVERIFIED in said) == (True, True), words
            for report in OF_FIGURES:
                said = at_the_door(reader, report, asked)
                assert (ASSUMED in said, UNVERIFIED in said) == (True, True), (report.name, asked)
        for of_day in (None, day, day - timedelta(1)):
            said = " ".join(reader.tables(day=of_day).notes)
            assert (ASSUMED in said, UNVERIFIED in said) == (of_day != day - timedelta(1),) * 2


def test_a_correction_of_a_closed_day_rests_on_what_its_bet_rests_on_where_it_is_posted(rounds: Rounds, dsn: str) -> None:
    table = Terminal("X01", "craps")
    played = [table.open(), table.bet("pass"), table.close(), table.throw("5-5")]
    played += [table.report(ReopenBetting()), table.close(), table.throw("4-6")]
    accepted(rounds.post([msgspec.structs.replace(each, received_at=START) for each in played]))
    accepted(rounds.post([closing(dsn), *put_right(table, NEXT, kind="outcome", outcome="5-5,3-4")]))
    posted = DAY + timedelta(1)
    assert ASSUMED in told(table, ("report", "tables", "--day", str(posted)), "")
    with SqlReader(dsn) as reader:
        for report in OF_FIGURES:
            for on, stands in ((DAY, True), (posted, report.source.posted), (posted + timedelta(1), False)):
                assert (ASSUMED in at_the_door(reader, report, {"day": str(on)})) is stands, (report.name, on)
        assert [ASSUMED in " ".join(reader.tables(day=on).notes) for on in (DAY, posted)] == [True, True]
    assert ASSUMED not in told(table, ("rounds", "list", "--day", str(posted)), "")
    assert ASSUMED not in told(table, ("report", "ggr", "--month", "2026-12"), "")
