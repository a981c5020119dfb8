"""The JSON of every command that reads: positions are strings of digits and amounts too, whatever command prints them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from cli.main import roundledger
from projections.runner import catch_up
from tests.golden import RELEASES, load

COMMANDS = (
    "replay",
    "replay --rounds --jobs 1",
    "verify --jobs 1",
    "what-if --payable-unit 1.00",
    "explain {bet}",
    "explain {round}",
    "explain win/R01",
    "trace win/R01",
    "balances",
    "balances --trial",
    "balances --at 200",
    "tables",
    "rounds list",
    "rounds show {round}",
    "terminals",
    "day status --property GOLDEN",
    "chips slips --property GOLDEN",
    "correct list",
    "projections status",
    "report tables",
    "report bets",
    "reconcile list",
)
POSITIONS = ("position", "positions", "as_of", "until", "first_at", "last_at", "log_ends_at")
AMOUNTS = ("amount", "balance", "change", "stake", "prize", "net_prize", "returned", "win", "handle", "total", "payable_unit")


@pytest.fixture(scope="module")
def ledger(shared_dsn: str) -> str:
    """A database with the golden day, folded."""
    with psycopg.connect(shared_dsn, autocommit=True) as conn:
        load(conn, RELEASES[-1])
        catch_up(conn)
    return shared_dsn


def walk(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every single value with its key; of what stands in a list or under a code, that of the whole."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from walk(inner, key if name.isupper() else name)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner, key)
    else:
        yield key, value


@pytest.mark.parametrize("command", COMMANDS)
def test_positions_and_amounts_are_strings(ledger: str, command: str) -> None:
    with psycopg.connect(ledger, autocommit=True) as conn:
        [(round_, bet)] = conn.execute(
            "SELECT round, bet FROM report.bets WHERE result = 'won' AND game = 'roulette' ORDER BY position LIMIT 1"
        ).fetchall()
    typed = command.format(round=round_, bet=bet).split()
    done = CliRunner(env={"LEDGER_DSN": ledger}).invoke(roundledger, [*typed, "--json"], standalone_mode=False)
    assert done.exception is None, done.exception
    numbers = (int, float)
    wrong = {
        key: value
        for key, value in walk(json.loads(done.stdout))
        if isinstance(value, numbers) and not isinstance(value, bool)
        if key in AMOUNTS or key.endswith("_position") or key in POSITIONS
    }
    assert wrong == {}


def test_the_balance_of_an_account_is_minor_units_by_currency(ledger: str) -> None:
    runner = CliRunner(env={"LEDGER_DSN": ledger, "COLUMNS": "200"})
    said = json.loads(runner.invoke(roundledger, ["explain", "win/R01", "--json"], standalone_mode=False).stdout)
    [total] = said["totals"]
    assert said["balance"] == {total["currency"]: total["change"]}
    shown = runner.invoke(roundledger, ["explain", "win/R01"], standalone_mode=False).stdout
    assert f"balance: {total['currency']} " in shown
