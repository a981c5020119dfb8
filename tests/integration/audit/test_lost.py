"""Whole rounds that are no longer in the log: nothing in it has a gap, and yet they are missed."""

from __future__ import annotations

from contextlib import closing
from itertools import count, product
from pathlib import Path
from uuid import UUID

import msgspec
import psycopg
import pytest
from click.testing import CliRunner, Result

from cli.main import roundledger
from ledger.audit.run import audit
from ledger.audit.scope import Scope
from ledger.errors import Refusal
from projections.runner import catch_up
from tests.support import Terminal, accepted, codes, house


@pytest.fixture
def played(dsn: str) -> tuple[str, list[UUID]]:
    """A database with some rounds of a terminal that numbers what it sends, one of its reports rejected; and the rounds."""
    terminal, numbers, rounds = Terminal(), count(1), []
    with closing(house(dsn)) as ledger:
        for _ in range(5):
            reports = terminal.whole_round([("red", "10000"), ("straight:7", "10000")], "7")
            reports = [msgspec.structs.replace(each, sequence=next(numbers), epoch=3) for each in reports]
            accepted(ledger.post(reports))
            rounds.append(terminal.round)
        late = terminal.bet("red", sequence=next(numbers), epoch=3)
        assert codes(ledger.post([late])) == ["LGR-0210"]
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        assert conn.execute("SELECT count(*) FROM ledger.sequences").fetchone() != (0,)
    return dsn, rounds


def _remove(dsn: str, where: str, *values: object) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("SET LOCAL session_replication_role = replica")
        assert conn.execute(f"DELETE FROM ledger.{where}".encode(), values).rowcount


def test_a_round_that_is_not_in_the_log_any_more_is_missed(played: tuple[str, list[UUID]]) -> None:
    dsn, rounds = played
    assert audit(dsn).findings == []
    _remove(dsn, "events WHERE originator_id = %s", rounds[2])
    [found] = audit(dsn).findings
    assert (found.code, found.table, found.found) == ("NUMBER_LOST", "R01", "11 to 15")
    assert found.next == "roundledger terminals"


def test_so_is_a_rejection(played: tuple[str, list[UUID]]) -> None:
    dsn, _ = played
    _remove(dsn, "rejections")
    assert [(each.code, each.found) for each in audit(dsn).findings] == [("NUMBER_LOST", "26")]


def test_an_earlier_state_misses_nothing_of_later_ones(played: tuple[str, list[UUID]]) -> None:
    dsn, _ = played
    with psycopg.connect(dsn) as conn:
        [(end,)] = conn.execute("SELECT max(notification_id) FROM ledger.events").fetchall()
    for until in range(end - 12, end + 1):
        assert audit(dsn, Scope(until=until)).findings == []


@pytest.mark.parametrize(
    ("command", "by"),
    [*product(("verify", "replay"), ("--day", "--table", "--round")), ("replay", "--rounds")],
)
def test_live_rows_of_a_round_that_the_log_has_not_are_differences(played: tuple[str, list[UUID]], command: str, by: str) -> None:
    dsn, rounds = played
    with psycopg.connect(dsn) as conn:
        [(day, table)] = conn.execute("SELECT gaming_day::text, table_id FROM projection.rounds WHERE round = %s", [rounds[2]])
    _remove(dsn, "events WHERE originator_id = %s", rounds[2])
    value = {"--day": [day], "--table": [table], "--round": [str(rounds[2])], "--rounds": []}[by]
    runner = CliRunner(env={"LEDGER_DSN": dsn})
    done = runner.invoke(roundledger, [command, "--jobs", "1", by, *value], standalone_mode=False)
    assert done.return_value == 1, done.output
    assert str(rounds[2]) in done.output


def test_the_file_of_a_replay_of_another_ledger_is_refused(played: tuple[str, list[UUID]], tmp_path: Path) -> None:
    dsn, rounds = played
    state = tmp_path / "state"
    runner = CliRunner(env={"LEDGER_DSN": dsn})

    def resumed(done: int, last: UUID) -> Result:
        said = {"scope": [None, None, None, None], "done": done, "last": str(last), "events": 0, "rows": {}}
        state.write_bytes(msgspec.json.encode(said))
        return runner.invoke(roundledger, ["replay", "--resume", str(state), "--quiet"], standalone_mode=False)

    assert resumed(2, rounds[1]).return_value == 0
    for done, last in (
        (2, rounds[2]),
        (2, Terminal().round),
        (-3, rounds[1]),
        (0, rounds[0]),
        (99999, rounds[4]),
        (6, rounds[4]),
    ):
        refused = resumed(done, last).exception
        assert isinstance(refused, Refusal)
        assert refused.code == "LGR-0742"
