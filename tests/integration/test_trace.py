"""`roundledger trace` and `explain ACCOUNT`: every balance is told by its movements, whole and by kind."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from cli.main import run
from ledger.events import EVENTS
from projections import queries, trace
from projections.runner import catch_up
from projections.trace import Span
from tests.integration.everything import play_everything


@pytest.fixture(scope="module")
def day(shared_dsn: str) -> str:
    """A day on which everything happened that can."""
    play_everything(shared_dsn)
    with psycopg.connect(shared_dsn, autocommit=True) as conn:
        catch_up(conn)
    return shared_dsn


@pytest.fixture
def conn(day: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(day, autocommit=True) as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield connection


@pytest.fixture
def typed(day: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command line; what it printed, and what it said."""
    monkeypatch.setenv("LEDGER_DSN", day)
    monkeypatch.setenv("COLUMNS", "250")

    def run_it(*words: str, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        assert run(words) == code, capsys.readouterr().err
        out, err = capsys.readouterr()
        return out, err

    return run_it


def all_of(conn: psycopg.Connection[Any]) -> Span:
    return trace.span(conn, None, None)


def test_every_balance_is_the_last_of_its_trace_and_the_sum_of_its_parts(conn: psycopg.Connection[Any]) -> None:
    found = queries.balances(conn)
    assert len({each.account.partition("/")[0] for each in found}) == 11, "accounts of every kind"
    for each in found:
        steps = list(trace.steps(conn, each.account, all_of(conn), each.currency))
        parts = trace.parts(conn, each.account, each.currency)
        assert steps[-1].balance == sum(step.change for step in steps) == sum(part.change for part in parts) == int(each.balance)
        assert len(steps) == sum(part.movements for part in parts)


def test_a_trace_is_what_a_query_written_by_hand_says(conn: psycopg.Connection[Any]) -> None:
    expected = conn.execute(
        "SELECT position, line, change, sum(change) OVER (PARTITION BY currency ORDER BY position, line) FROM ("
        "SELECT position, line, currency, CASE WHEN credit = 'win/R01' THEN amount ELSE -amount END AS change "
        "FROM projection.movements WHERE 'win/R01' IN (debit, credit)) AS moved ORDER BY position, line"
    ).fetchall()
    assert expected
    steps = trace.steps(conn, "win/R01", all_of(conn))
    assert [(step.position, step.line, step.change, step.balance) for step in steps] == expected


def test_every_kind_of_movement_has_words(conn: psycopg.Connection[Any]) -> None:
    events = {model.__name__ for model in EVENTS}
    for account in trace.accounts(conn):
        assert not {part.kind for part in trace.parts(conn, account)} & events


def test_a_trace_can_be_cut_anywhere(conn: psycopg.Connection[Any]) -> None:
    """By position or by time: what comes before and what comes from there on is the whole, and balances go on."""
    whole = list(trace.steps(conn, "escrow/R01", all_of(conn)))
    for step in whole[:: len(whole) // 5]:
        before = trace.steps(conn, "escrow/R01", trace.span(conn, None, step.position - 1))
        after = trace.steps(conn, "escrow/R01", trace.span(conn, step.position, None))
        assert [*before, *after] == whole
        early = trace.steps(conn, "escrow/R01", trace.span(conn, None, step.received_at))
        late = trace.steps(conn, "escrow/R01", trace.span(conn, step.received_at, None))
        assert [*early, *late] == whole


def test_the_forms_of_a_trace_have_the_same_figures(typed: Any) -> None:
    document = json.loads(typed("trace", "win/R01", "--json")[0])
    rows = list(csv.DictReader(io.StringIO(typed("trace", "win/R01", "--csv")[0])))
    table, _ = typed("trace", "win/R01")
    assert [row["position"] for row in rows] == [row["position"] for row in document["rows"]]
    assert [int(row["balance"].replace(".", "")) for row in rows] == [int(row["balance"]) for row in document["rows"]]
    assert re.search(rf"ended with: MOP {rows[-1]['balance']}\n", table)
    assert re.findall(r"^ +([0-9]+)  2", table, re.MULTILINE) == [row["position"] for row in rows]


@pytest.mark.parametrize("account", ["win/R01", "escrow/C01", "player/P-1001"])
def test_json_has_what_the_account_began_and_ended_with_by_currency(
    account: str, typed: Any, conn: psycopg.Connection[Any]
) -> None:
    """As `explain` has its balance: text of minor units; the changes between the two are those of the rows."""
    steps = list(trace.steps(conn, account, all_of(conn)))
    middle, last = steps[len(steps) // 2].position, steps[-1].position
    for begin in (steps[0].position, middle, last + 1):
        document = json.loads(typed("trace", account, "--from", str(begin), "--json")[0])
        head = json.loads(typed("trace", account, "--from", str(begin), "--format", "ndjson")[0].splitlines()[0])
        assert (head["began_with"], head["ended_with"]) == (document["began_with"], document["ended_with"])
        assert document["began_with"] == {each.currency: str(each.balance) for each in steps if each.position < begin}
        assert document["ended_with"] == {each.currency: str(each.balance) for each in steps}
        for code, ended in document["ended_with"].items():
            change = sum(int(row["change"]) for row in document["rows"] if row["currency"] == code)
            assert int(document["began_with"].get(code, "0")) + change == int(ended)
    assert re.search(r"^ *began with: nothing, it had not moved yet$", typed("trace", account)[0], re.MULTILINE)


def test_explain_tells_a_balance_by_kind_and_where_each_movement_is(typed: Any) -> None:
    out, _ = typed("explain", "win/R01")
    assert "Stakes that lost, less net prizes, commission and breakage." in out
    assert re.search(r"^net prizes +player +[0-9]+ +-", out, re.MULTILINE)
    assert "roundledger trace win/R01" in out
    told = json.loads(typed("explain", "cage/GOLDEN", "--json")[0])
    assert {part["kind"] for part in told["parts"]} == {"fills", "fills, cancelled"}
    assert sum(int(part["change"]) for part in told["parts"]) == sum(int(total["change"]) for total in told["totals"])


@pytest.mark.parametrize("command", ["trace", "explain"])
@pytest.mark.parametrize(("name", "near"), [("win/r01", "win/R01"), ("win/R1", "win/R01"), ("player/P1001", "player/P-1001")])
def test_an_account_that_is_none_is_refused_with_what_is_near(command: str, name: str, near: str, typed: Any) -> None:
    out, err = typed(command, name, code=2)
    assert out == ""
    assert "LGR-0770" in err
    assert re.search(rf"did you mean [^?]*{near}\b", err)


def test_a_span_ends_after_it_begins(typed: Any) -> None:
    assert "LGR-0771" in typed("trace", "win/R01", "--from", "20", "--until", "10", code=2)[1]
    for name in ("--from", "--until"):
        said = typed("trace", "win/R01", name, "999999999", code=2)[1]
        assert "LGR-0108" in said
        assert name in said


def test_a_balance_that_its_movements_do_not_come_to_is_refused(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play_everything(dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        conn.execute("UPDATE projection.balances SET balance = balance + 1 WHERE account = 'escrow/R01'")
    monkeypatch.setenv("LEDGER_DSN", dsn)
    for command in ("trace", "explain"):
        assert run([command, "escrow/R01"]) == 2
        assert "LGR-0520" in capsys.readouterr().err
