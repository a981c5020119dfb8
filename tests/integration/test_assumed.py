"""Figures in which bets without rule text or at assumed odds stand say so, in every form; others do not."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from click.testing import CliRunner

from cli.main import roundledger
from ledger.application import Rounds
from ledger.property import Choice, Table
from ledger.reports import ReopenBetting
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
