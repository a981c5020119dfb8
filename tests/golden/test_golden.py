"""B38, history that moved code can no longer read: the golden log of every release comes to the same figures for ever.

The fault of the kind: an event is stored under the path of its class, so the log can be read only by a program of the same shape.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import psycopg
import pytest

from ledger import __version__
from ledger.application import Rounds
from ledger.errors import Refusal
from ledger.events import EVENTS, BetPlaced, BettingClosed, Event
from ledger.store import codec, log
from projections import queries
from projections.replay import replay
from projections.runner import catch_up
from tests.golden import HERE, RELEASES, Row, expected, load, rows
from tests.golden.floor import Floor
from tests.golden.make import send, write

ROOT = Path(__file__).parents[2]
TOPICS = {event.TOPIC: event for event in EVENTS}


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Each release that has a golden log."""
    return str(request.param)


def recorded_expectation(release: str) -> str:
    return (HERE / release / "expected.ndjson").read_text("utf-8")


def test_b38_a_golden_log_comes_to_what_its_release_said_of_it(dsn: str, release: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        load(conn, release)
        assert expected(conn) == recorded_expectation(release)
    assert replay(dsn).equal


def test_b38_the_bytes_of_a_golden_log_are_canonical(release: str) -> None:
    """Read and written again they are the same: one event, one text. Old forms would be written as today's and are left out."""
    todays = [row for row in rows(release, "events") if row["topic"] in TOPICS]
    assert todays
    for row in todays:
        state = row["state"].encode()
        body = codec.decode(row["topic"], state)
        assert type(body) is TOPICS[row["topic"]]
        assert codec.encode(body) == state, row["position"]


def test_b38_a_terminal_of_an_old_release_finds_its_first_answers(dsn: str, release: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        load(conn, release)
        events = rows(release, "events")
        positions = [int(row["position"]) for row in events]
        # What one report caused may be of two rounds, and stands together.
        accepted = {row["cause"]: tuple(positions[n : n + row["caused"]]) for n, row in enumerate(events) if "cause" in row}
        rejected = {row["event_id"]: row for row in rows(release, "rejections")}
        assert accepted
        assert rejected
        with closing(Rounds(dsn)) as rounds:
            for verdict in (verdict for post in rows(release, "posts") for verdict in send(rounds, post)):
                if first := accepted.pop(str(verdict.event_id), None):
                    assert verdict.status == "replayed", verdict.refusal
                    assert verdict.positions == first
                else:
                    assert verdict.refusal is not None
                    assert verdict.refusal.code == rejected.pop(str(verdict.event_id))["refusal"]["code"]
        assert not accepted
        assert not rejected
        assert positions == [event.position for event in log.read_all(conn)], "nothing was appended"


def test_b38_the_rounds_that_an_old_release_left_open_are_played_to_their_end(dsn: str, release: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        load(conn, release)
        left = unsettled(conn)
        assert left, "the log has rounds to play on"
        with closing(Rounds(dsn)) as rounds:
            for n, (table, round_id, game) in enumerate(left, 1):
                floor = Floor(round=str(round_id), made=n << 32)
                if rounds.round(round_id).status.value == "betting open":
                    floor.post(floor.close(table))
                shown = {"roulette": "0", "cussec": "1-1-1", "fantan": "1"}
                floor.post(floor.throw(table, "3-4") if game == "craps" else floor.outcome(table, shown[game]))
                for post in floor.posts:
                    assert [verdict.status for verdict in send(rounds, post)] == ["accepted"]
        catch_up(conn)
        assert not queries.rounds_list(conn, status="open") + queries.rounds_list(conn, status="closed")
        assert not any(queries.trial_balance(conn).values())
        escrow = queries.balances(conn, "escrow/")
        assert {balance.balance for balance in escrow} == {"0"}
    assert replay(dsn).equal


def unsettled(conn: psycopg.Connection[Any]) -> list[tuple[str, UUID, str]]:
    """Table, round and game of every round that is not settled."""
    catch_up(conn)
    found = queries.rounds_list(conn, status="open") + queries.rounds_list(conn, status="closed")
    return [(row.table, row.round, row.game) for row in found]


def test_b38_this_release_has_a_golden_log_of_every_kind_of_event() -> None:
    assert {row["topic"] for row in rows(__version__, "events")} == set(TOPICS)
    assert any('"result":"push"' in row["state"] for row in rows(__version__, "events"))
    told = list(map(json.loads, recorded_expectation(__version__).splitlines()))
    assert {row["status"] for row in told if row["of"] == "rounds"} == {"open", "closed", "settled", "resettled", "voided"}
    assert {(row["what"], row["disposition"]) for row in told if row["of"] == "voids"} == {
        *(("round", "stand"), ("round", "carry"), ("round", "return")),
        *(("throw", "stand"), ("bet", "return")),
    }
    assert {row["kind"] for row in told if row["of"] == "corrections"} == {
        *("outcome", "bet", "bet_void", "late_bet", "return", "mispay", "ex_gratia"),
    }


def test_b38_this_release_still_writes_its_golden_log_byte_for_byte(dsn: str) -> None:
    """Where this fails before the release, `make` writes it anew. After it, the changed form needs a new topic and an upcast."""
    written = write(dsn)
    for name in written.keys() - {"rejections.ndjson"}:
        assert written[name] == (HERE / __version__ / name).read_text("utf-8"), name
    # The words of a refusal are for people, and may get better.
    again = [json.loads(line) for line in written["rejections.ndjson"].splitlines()]
    assert list(map(wordless, again)) == list(map(wordless, rows(__version__, "rejections")))


def wordless(row: Row) -> Row:
    refusal = {name: value for name, value in row["refusal"].items() if name in ("code", "field", "value")}
    return {**row, "refusal": refusal}


# Names of code and names in the log.


def test_b38_topics_name_no_module_and_are_all_read() -> None:
    assert len(TOPICS) == len(EVENTS) == len(get_args(Event))
    for topic, event in TOPICS.items():
        assert re.fullmatch(r"[A-Z][A-Za-z]+\.v[1-9][0-9]*", topic)
        assert event.__module__ not in topic
        assert find_spec(topic.split(".")[0]) is None, "nothing that can be imported"
        assert codec.kind(topic) is event


_IMPORT = re.compile(r"^(\s*)(from|import) (ledger|projections|tests)\b", re.MULTILINE)
_READ = """
import sys, psycopg
import second_ledger.happenings, second_projections
from second_tests.golden import expected, load
assert not [name for name in sys.modules if name.split(".")[0] in ("ledger", "projections", "tests")]
with psycopg.connect(sys.argv[1], autocommit=True) as conn:
    load(conn, sys.argv[2])
    sys.stdout.write(expected(conn))
"""


def test_b38_a_release_with_its_packages_and_modules_renamed_reads_the_log(dsn: str, release: str, tmp_path: Path) -> None:
    for package in ("ledger", "projections", "tests/golden"):
        shutil.copytree(ROOT / package, tmp_path / f"second_{package}", ignore=shutil.ignore_patterns("__pycache__", "test_*"))
    (tmp_path / "second_tests" / "__init__.py").touch()
    for path in tmp_path.rglob("*.py"):
        text = _IMPORT.sub(r"\1\2 second_\3", path.read_text("utf-8"))
        path.write_text(re.sub(r"(from|import) second_ledger\.events\b", r"\1 second_ledger.happenings", text), "utf-8")
    (tmp_path / "second_ledger" / "events").rename(tmp_path / "second_ledger" / "happenings")
    done = subprocess.run(
        [sys.executable, "-c", _READ, dsn, release],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == recorded_expectation(release)


# Forms that changed: an old one is read by its own topic, and an unknown one says what to do.

OLD = "StakePut.v0"
"""A form that never was: the event under another name, its stake under another name, and no kind of chip yet."""


def old_form(row: Row) -> Row:
    """A row as if an earlier release had written it."""
    if row["topic"] != BetPlaced.TOPIC:
        return row
    body = json.loads(row["state"])
    body["amount"] = body.pop("stake")
    body.pop("chip", None)
    return {**row, "topic": OLD, "state": json.dumps(body)}


def upcast(fields: dict[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in fields.items() if name != "amount"}, "stake": fields["amount"]}


def test_b38_a_field_added_and_one_renamed_leave_the_figures(dsn: str, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(codec.OLD, OLD, (BetPlaced, upcast))
    with psycopg.connect(dsn, autocommit=True) as conn:
        load(conn, release, map(old_form, rows(release, "events")))
        assert expected(conn) == re.sub('"chip": "[a-z_]+"', '"chip": "cash"', recorded_expectation(release))
        with closing(Rounds(dsn)) as rounds:
            for _, round_id, _ in unsettled(conn):
                assert rounds.round(round_id).bets, "the write side reads it as well"


@pytest.mark.parametrize("state", [b"{}", b"[]", b"\xff\xfe", b"not JSON", b'{"amount":5}', b"null", b'{"amount":"5"}'])
def test_b38_an_old_form_that_cannot_be_read_is_named(state: bytes, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(codec.OLD, OLD, (BetPlaced, upcast))
    said = said_of(dsn, OLD, state)
    assert "not of its form" in said["ledger"]
    assert said["tables"] is None, "it does not fold bets"


@pytest.mark.parametrize("topic", ["BetPlaced.v2", "ledger.events:BetPlaced", "BetPlaced", "roundledger.BetPlaced.v1", ""])
def test_b38_an_unknown_topic_names_the_event_and_the_fix(topic: str, dsn: str) -> None:
    said = said_of(dsn, topic, b"{}")
    assert "install that release" in said["ledger"]
    assert said["tables"] == said["ledger"], "of an unknown kind nobody can tell whether it matters"


def said_of(dsn: str, topic: str, state: bytes) -> dict[str, Any]:
    """Appends an event that nobody can read to a golden round, and has everybody who reads say so by its place and what to do.

    Why each projection stopped.
    """
    stream = UUID(next(row["stream"] for row in rows(__version__, "events") if row["topic"] == BettingClosed.TOPIC))
    with psycopg.connect(dsn, autocommit=True) as conn:
        load(conn, __version__)
        (version,) = conn.execute(
            "INSERT INTO ledger.events (originator_id, originator_version, topic, state) "
            "SELECT %s, max(originator_version) + 1, %s, %s FROM ledger.events WHERE originator_id = %s "
            "RETURNING originator_version",
            (stream, topic, state, stream),
        ).fetchone() or (0,)
        position = log.head(conn)
        for read in (partial(log.stream, conn, stream), partial(log.read, conn, position - 1, 10)):
            with pytest.raises(Refusal, match=f"{re.escape(topic)} at position {position}") as caught:
                read()
            assert caught.value.code == "LGR-0504"
            assert caught.value.help
        with closing(Rounds(dsn)) as rounds, pytest.raises(Refusal, match=f"stream {stream}, version {version}"):
            rounds.round(stream)
        catch_up(conn)
        found = {at.name: at for at in queries.positions(conn)}
        for at in found.values():
            assert (at.stopped_by, at.position) in ((str(position), str(position - 1)), (None, str(position)))
            assert at.stop_reason is None or f"position {position}" in at.stop_reason
        return {name: at.stop_reason for name, at in found.items()}
