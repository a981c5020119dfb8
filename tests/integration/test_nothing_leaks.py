"""No command shows what only Python writes so: a dict, a list of UUIDs, None."""

from __future__ import annotations

import re

import psycopg
import pytest
from click.testing import CliRunner

from cli.main import roundledger
from ledger.errors import Refusal
from ledger.reports import ApproveCorrection, HoldRound, ProposeCorrection, VoidRound
from projections.runner import catch_up
from tests.support import Terminal, accepted, house

COMMANDS = (
    *("report tables", "report outcomes", "balances", "rounds list", "rounds list --table NOPE", "rounds show ROUND"),
    *("explain ROUND", "terminals", "replay", "correct list --all", "property show", "keys list", "tokens list", "db status"),
    *("rules list", "rules show 53/2010", "rules chances 53/2010", "rules edge 30/2003", "rules assumptions"),
)
PYTHONS = re.compile(r"\{'|\bNone\b|\bUUID\(|<[a-z_]+\.[A-Za-z_.]+ object|\bdatetime\.")


@pytest.fixture
def table(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A round of roulette with a void launch, a review and a corrected outcome."""
    monkeypatch.setenv("LEDGER_DSN", dsn)
    rounds, table = house(dsn), Terminal()
    opened, red, closed, outcome = table.whole_round([("red", "10000")], "17")
    accepted(rounds.post([opened, red, closed, table.report(VoidRound(reason="golpe_nulo")), outcome]))
    asked = table.report(ProposeCorrection(kind="outcome", reason="miskeyed", outcome="18"), by="S-1")
    approved = table.report(ApproveCorrection(correction=asked.event_id), by="S-2")
    accepted(rounds.post([table.report(HoldRound(reason="dispute"), by="S-1"), asked, approved]))
    rounds.close()
    return table


def run(command: str, table: Terminal) -> str:
    """What the command prints, or what it refuses with."""
    done = CliRunner().invoke(roundledger, command.replace("ROUND", str(table.round)).split(), env={"COLUMNS": "200"})
    if isinstance(done.exception, Refusal):
        return done.exception.render()
    assert done.exit_code == 0, done.output
    return done.output


def test_no_output_has_what_only_python_writes_so(table: Terminal, dsn: str) -> None:
    for command in COMMANDS:
        for form in ("", " --json", " --csv"):
            said = run(command + form, table)
            assert said
            assert not (found := PYTHONS.search(said)), f"{command}{form}: {said[max(0, found.start() - 80) : found.end() + 40]}"
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        conn.execute("UPDATE projection.balances SET balance = balance + 1 WHERE account = 'win/R01'")
    said = run("balances", table)
    assert "the balances do not sum to zero: MOP 0.01" in said
    assert not PYTHONS.search(said)


def test_a_void_launch_is_no_void_round(table: Terminal) -> None:
    shown = run("rounds show ROUND", table)
    assert re.search(r"^ +\d+  launch +1  stand", shown, re.MULTILINE), shown
    assert "launch 1 was void: golpe_nulo (30/2003 art. 2(2)); the bets stand for the next launch" in run("explain ROUND", table)
