"""What rounds and which moment replay, verify, what-if, trace and balances are asked about: what names nothing is refused."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from cli.main import roundledger
from ledger.errors import Refusal
from projections.runner import catch_up
from tests.golden import RELEASES, load
from tests.proofs.corpus.ledger import export


@pytest.fixture(scope="module")
def ledger(shared_dsn: str) -> str:
    """A database with the golden day, folded."""
    with psycopg.connect(shared_dsn, autocommit=True) as conn:
        load(conn, RELEASES[-1])
        catch_up(conn)
    return shared_dsn


@pytest.fixture(scope="module")
def exported(ledger: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its log in a file."""
    path = tmp_path_factory.mktemp("export") / "log.ndjson"
    export(ledger, path)
    return path


def run(dsn: str, *command: str) -> Result:
    return CliRunner(env={"LEDGER_DSN": dsn, "COLUMNS": "200"}).invoke(roundledger, command, standalone_mode=False)


def refused(dsn: str, *command: str) -> Refusal:
    done = run(dsn, *command)
    assert isinstance(done.exception, Refusal), (done.output, done.exception)
    return done.exception


AUDITS = (["replay", "--jobs", "1"], ["verify", "--jobs", "1"], ["what-if", "--payable-unit", "1.00"])


@pytest.mark.parametrize(
    "command",
    [*([*audit, "--until"] for audit in AUDITS), ["trace", "win/R01", "--until"], ["balances", "--at"]],
    ids=lambda command: command[0],
)
def test_a_position_beyond_the_end_of_the_log_is_refused_with_the_last_one(ledger: str, command: list[str]) -> None:
    with psycopg.connect(ledger, autocommit=True) as conn:
        [(last,)] = conn.execute("SELECT max(notification_id) FROM ledger.events").fetchall()
    error = refused(ledger, *command, str(last + 1))
    assert (error.code, error.value) == ("LGR-0108", str(last + 1))
    assert f"ends at position {last}" in error.detail
    assert f"up to {last}" in str(error.help)
    assert run(ledger, *command, str(last)).exception is None


def test_of_an_export_as_well(ledger: str, exported: Path) -> None:
    last = json.loads(exported.read_text().splitlines()[-1])["position"]
    error = refused(ledger, "verify", "--from", str(exported), "--until", str(int(last) + 1))
    assert (error.code, error.detail) == ("LGR-0108", f"the export ends at position {last}")
    assert run(ledger, "verify", "--from", str(exported), "--until", last).return_value == 0


@pytest.mark.parametrize("command", AUDITS, ids=lambda command: command[0])
def test_a_table_that_is_none_is_refused_with_what_is_near(ledger: str, command: list[str]) -> None:
    error = refused(ledger, *command, "--table", "r01")
    assert (error.code, error.field, error.value) == ("LGR-0602", "--table", "r01")
    assert str(error.help).startswith("did you mean R01?")
    assert "C01" in str(error.help)


def test_a_table_of_which_the_log_alone_knows_is_gone_through(ledger: str, exported: Path) -> None:
    """Whoever removed it from the live tables must not be helped by a refusal."""
    error = refused(ledger, "verify", "--from", str(exported), "--table", "R99")
    assert (error.code, "R01" in str(error.help)) == ("LGR-0602", True)
    assert run(ledger, "verify", "--from", str(exported), "--table", "R01").return_value == 0
    with psycopg.connect(ledger) as conn:
        from cli import asked

        conn.execute("DELETE FROM projection.rounds WHERE table_id = 'R01'")
        asked.verify_table("", conn, None)
        known = {table for (table,) in conn.execute("SELECT DISTINCT table_id FROM projection.rounds").fetchall()}
        assert "R01" not in known
        asked.verify_table(ledger, conn, "R01")
        conn.rollback()


@pytest.mark.parametrize("command", AUDITS[:2], ids=lambda command: command[0])
def test_the_beginning_of_a_round_s_id_is_enough(ledger: str, exported: Path, command: list[str]) -> None:
    with psycopg.connect(ledger, autocommit=True) as conn:
        [(one,)] = conn.execute("SELECT round FROM projection.rounds WHERE bets > 0 ORDER BY round LIMIT 1").fetchall()
    said = json.loads(run(ledger, *command, "--round", str(one)[:-1], "--json").stdout)
    assert said["rounds"] == 1
    assert refused(ledger, *command, "--round", "dddddddd").code == "LGR-0701"
    if command[0] == "verify":
        done = run(ledger, *command, "--from", str(exported), "--round", str(one)[:-1], "--json")
        assert json.loads(done.stdout)["rounds"] == 1
