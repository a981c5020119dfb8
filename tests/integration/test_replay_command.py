"""`roundledger replay` of a part of the log: round by round, as of a moment, interrupted and gone on with; without a trace."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result

from cli.main import roundledger
from ledger.application import Rounds
from ledger.errors import Refusal
from projections import replay_rounds as module
from projections.runner import catch_up
from tests.golden import RELEASES, load


@pytest.fixture
def dsn_of_day(dsn: str) -> str:
    """A database with the golden day, folded."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        load(conn, RELEASES[-1])
        catch_up(conn)
    return dsn


def replay(dsn: str, *options: str) -> Result:
    return CliRunner(env={"LEDGER_DSN": dsn, "COLUMNS": "200"}).invoke(
        roundledger, ["replay", "--jobs", "1", *options], standalone_mode=False
    )


def traces(dsn: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return conn.execute(
            "SELECT (SELECT count(*) FROM ledger.events), (SELECT last_value FROM ledger.positions), "
            "(SELECT count(*) FROM ledger.rejections), (SELECT count(*) FROM ledger.webhooks), "
            "(SELECT array_agg(p ORDER BY name) FROM projection.positions AS p)::text, "
            "(SELECT sum(hashtext(r::text)) FROM projection.rounds AS r), (SELECT count(*) FROM projection.movements)"
        ).fetchall()


def test_b36_rounds_of_a_day_a_table_and_one_are_equal_and_leave_no_trace(dsn_of_day: str) -> None:
    with psycopg.connect(dsn_of_day, autocommit=True) as conn:
        every, of_day, of_table = conn.execute(
            "SELECT count(*), count(*) FILTER (WHERE gaming_day = '2026-11-29'), count(*) FILTER (WHERE table_id = 'R01') "
            "FROM projection.rounds"
        ).fetchall()[0]
        [(one,)] = conn.execute("SELECT round FROM projection.rounds WHERE bets > 0 ORDER BY round LIMIT 1").fetchall()
    before = traces(dsn_of_day)
    for options, rounds in (
        (["--day", "2026-11-29"], of_day),
        (["--table", "R01"], of_table),
        (["--round", str(one)], 1),
        (["--rounds"], every),
    ):
        done = replay(dsn_of_day, *options, "--json")
        said = json.loads(done.stdout)
        assert (done.return_value, said["equal"], said["rounds"]) == (0, True, rounds), options
        assert said["rows"]["bets"] > 0
    assert traces(dsn_of_day) == before


def test_a_row_that_was_edited_is_named_in_its_scope_and_in_no_other(dsn_of_day: str) -> None:
    with psycopg.connect(dsn_of_day, autocommit=True) as conn:
        conn.execute(
            "UPDATE projection.movements SET amount = amount + 1 WHERE (position, line) = "
            "(SELECT position, line FROM projection.movements WHERE table_id = 'C01' AND round IS NOT NULL ORDER BY 1, 2 LIMIT 1)"
        )
    done = replay(dsn_of_day, "--table", "C01")
    assert done.return_value == 1
    assert "first difference: movements" in done.stdout
    assert replay(dsn_of_day, "--table", "R01").return_value == 0


def test_as_of_a_moment_the_movements_are_equal_and_the_balances_are_those_of_then(dsn_of_day: str) -> None:
    done = replay(dsn_of_day, "--until", "200", "--json")
    said = json.loads(done.stdout)
    assert (done.return_value, said["until"], list(said["rows"])) == (0, "200", ["movements"])
    balances = CliRunner(env={"LEDGER_DSN": dsn_of_day}).invoke(
        roundledger, ["balances", "--at", "200", "--trial", "--json"], standalone_mode=False
    )
    there = {(line["kind"], line["currency"]): line["balance"] for line in json.loads(balances.stdout)["kinds"]}
    assert {(line["kind"], line["currency"]): line["balance"] for line in said["trial_balance"]} == there
    assert "escrow: " in replay(dsn_of_day, "--until", "2026-11-29T08:00:00+08:00").stdout


def test_b46_nothing_to_compare_is_no_success(dsn_of_day: str) -> None:
    for options in (["--day", "2001-01-01"], ["--until", "0"]):
        done = replay(dsn_of_day, *options)
        assert (done.return_value, "nothing was compared" in done.stdout) == (2, True), options


@pytest.mark.parametrize("options", [["--rounds"], ["--resume"], ["--table", "R01"]], ids=lambda options: options[0])
def test_a_replay_round_by_round_says_that_no_sums_over_rounds_were_compared(
    dsn_of_day: str, tmp_path: Path, options: list[str]
) -> None:
    """A balance that was edited is found by the replay of the whole log alone, and the other says so in each form."""
    with psycopg.connect(dsn_of_day, autocommit=True) as conn:
        conn.execute("UPDATE projection.balances SET balance = balance + 1 WHERE account = 'win/R01'")
    said = [*options, str(tmp_path / "state")] if options == ["--resume"] else options
    left_out = "not compared: balances and other sums over rounds are compared by `roundledger replay` alone"
    by_rounds = replay(dsn_of_day, *said)
    assert (by_rounds.return_value, left_out in by_rounds.stdout) == (0, True)
    assert json.loads(replay(dsn_of_day, *said, "--json").stdout)["sums_over_rounds"] is False
    whole = CliRunner(env={"LEDGER_DSN": dsn_of_day}).invoke(roundledger, ["replay"], standalone_mode=False)
    assert (whole.return_value, left_out in whole.stdout) == (1, False)


def test_what_was_interrupted_goes_on_where_it_was(dsn_of_day: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 5)
    state, compared = tmp_path / "state", 0
    whole = module._Folding.compare

    def interrupted(self: Any, batch: Any) -> Any:
        nonlocal compared
        compared += 1
        if compared == 3:
            raise KeyboardInterrupt
        return whole(self, batch)

    monkeypatch.setattr(module._Folding, "compare", interrupted)
    stopped = replay(dsn_of_day, "--resume", str(state))
    assert stopped.exception is not None
    assert json.loads(state.read_text())["done"] == 10
    with pytest.raises(Refusal) as refused:
        replay_of_another_scope(dsn_of_day, state)
    assert refused.value.code == "LGR-0742"
    said = json.loads(replay(dsn_of_day, "--resume", str(state), "--json").stdout)
    fresh = json.loads(replay(dsn_of_day, "--rounds", "--json").stdout)
    batches = -(-fresh["rounds"] // 5)
    assert compared == 3 + (batches - 2) + batches  # two were equal before, and the fresh one compares all
    assert not state.exists()
    whole_log = (True, fresh["rounds"], fresh["rows"], fresh["events"])
    assert (said["equal"], said["rounds"], said["rows"], said["events"]) == whole_log


def replay_of_another_scope(dsn: str, state: Path) -> None:
    raised = replay(dsn, "--table", "R01", "--resume", str(state)).exception
    assert raised is not None
    raise raised


def test_b37_there_is_no_snapshot_that_a_replay_could_take_for_the_log(dsn_of_day: str) -> None:
    """The library can keep snapshots of aggregates, which go stale when their code changes. This ledger has none anywhere."""
    with closing(Rounds(dsn_of_day)) as rounds:
        assert rounds.snapshots is None
    with psycopg.connect(dsn_of_day, autocommit=True) as conn:
        relations = [row[0] for row in conn.execute("SELECT relname FROM pg_class WHERE relkind IN ('r', 'v', 'm')")]
    assert not [each for each in relations if "snapshot" in each]
