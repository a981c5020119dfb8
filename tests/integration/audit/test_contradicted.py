"""`roundledger explain` of what verify sends one to: a bet whose events were written over is told, and is no error."""

from __future__ import annotations

import json
import random

import psycopg
import pytest
from click.testing import CliRunner

from cli.main import roundledger
from tests.integration.audit.test_verify import Copy, copies
from tests.proofs.corpus.ledger import DEFECTS

__all__ = ["copies"]

EDITED = ("net_prize", "returned", "prize", "commission", "result")


@pytest.mark.parametrize("field", EDITED)
def test_a_payout_that_does_not_add_up_is_told_with_what_the_rules_give(copies: Copy, field: str) -> None:
    dsn = copies()
    with psycopg.connect(dsn, autocommit=True) as conn:
        [(bet, round_)] = conn.execute(
            "SELECT bet, round FROM report.bets WHERE result = 'won' AND game = 'roulette' ORDER BY position LIMIT 1"
        ).fetchall()
        conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER ALL")
        value = '"lost"' if field == "result" else '"777777"'
        conn.execute(
            "UPDATE ledger.events SET state = convert_to(regexp_replace(convert_from(state, 'UTF8'), %s, %s), 'UTF8') "
            "WHERE topic LIKE 'PayoutMade.%%' AND convert_from(state, 'UTF8')::jsonb ->> 'bet' = %s",
            [f'"{field}":"[^"]*"', f'"{field}":{value}', str(bet)],
        )
    runner = CliRunner(env={"LEDGER_DSN": dsn, "COLUMNS": "200"})
    done = runner.invoke(roundledger, ["explain", str(bet)], standalone_mode=False)
    assert (done.return_value, done.exception) == (1, None)
    assert "DIFFERENT: " in done.stdout
    [said] = json.loads(runner.invoke(roundledger, ["explain", str(bet), "--json"], standalone_mode=False).stdout)
    assert (said["bet"], said["round"], len(said["differences"]) > 0) == (str(bet), str(round_), True)
    csv = runner.invoke(roundledger, ["explain", str(round_), "--csv"], standalone_mode=False)
    assert (csv.return_value, str(bet) in csv.stdout) == (1, True)


def test_what_verify_says_next_of_a_planted_payout_can_be_typed(copies: Copy) -> None:
    dsn = copies()
    defect = next(each for each in DEFECTS if each.name == "edited_amount")
    with psycopg.connect(dsn, autocommit=True) as conn:
        planted = defect.plant(conn, random.Random(1))
    runner = CliRunner(env={"LEDGER_DSN": dsn, "COLUMNS": "200"})
    found = json.loads(runner.invoke(roundledger, ["verify", "--json"], standalone_mode=False).stdout)["findings"]
    commands = {each["next"] for each in found}
    assert any(str(planted.bet) in command for command in commands)
    for command in commands:
        done = runner.invoke(roundledger, command.split()[1:], standalone_mode=False)
        assert done.exception is None, (command, done.exception)
