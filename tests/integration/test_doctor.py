"""`roundledger doctor tail`: it finds a log that would be skipped, says so, and leaves everything as it was."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg import conninfo

from cli.doctor import doctor
from ledger.errors import Refusal
from ledger.store import trial
from ledger.store.standing import standing
from ledger.store.trial import try_tail
from tests.support import Terminal, accepted, house


def examine(dsn: str, *options: str) -> Result:
    arguments = ["tail", "--seconds", "0.5", *options]
    return CliRunner(env={"LEDGER_DSN": dsn}).invoke(doctor, arguments, standalone_mode=False)


def said(result: Result) -> str:
    """What was printed, however wide the terminal is."""
    return " ".join(result.stdout.split())


def everything(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    """What a trial could leave behind: rows and positions of the log, schemas, locks."""
    return [
        conn.execute("SELECT count(*), max(notification_id) FROM ledger.events").fetchone() or (),
        conn.execute("SELECT last_value, is_called FROM ledger.positions").fetchone() or (),
        *conn.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'ledger%' ORDER BY 1").fetchall(),
        conn.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database "
            "WHERE locktype = 'advisory' AND datname = current_database()"
        ).fetchone()
        or (),
    ]


def test_no_reader_skips_and_nothing_is_left_behind(dsn: str) -> None:
    rounds = house(dsn)
    accepted(rounds.post(Terminal().whole_round([("red", "100")], "5")))
    rounds.close()
    with psycopg.connect(dsn, autocommit=True) as conn:
        before = everything(conn)
        result = examine(dsn, "--json")
        assert result.return_value == 0, result.output
        assert everything(conn) == before
    found = json.loads(result.stdout)
    assert found["trial"]["holds"] is found["trial"]["tried"] is True
    assert found["trial"]["events"] > 10
    assert found["trial"]["naive_missed"] > 0
    assert found["trial"]["parts"] == []
    assert int(found["log"]["drawn"]) >= int(found["log"]["stored"]) > 0


def test_what_a_person_reads(dsn: str) -> None:
    result = examine(dsn)
    assert result.return_value == 0
    assert "parts: sequence, default and functions are those of this release" in said(result)
    assert "reader: 0 missed, 0 twice, 0 out of order, 0 not stored" in said(result)
    assert "doctor tail: no reader skips" in said(result)


_BLIND = """
CREATE OR REPLACE FUNCTION ledger.horizon(known bigint, OUT up_to bigint, OUT fence xid8, OUT oldest xid8)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT last_value INTO up_to FROM ledger.positions;
    fence := '3';
    oldest := '3';
END
$$
"""
"""A horizon that waits for nobody."""


def test_a_reader_that_skips_is_found_by_the_trial_itself(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(_BLIND)
    result = examine(dsn)
    assert result.return_value == 1
    assert "the function ledger.horizon is not the one of this release" in said(result)
    assert "doctor tail: FAILED" in said(result)
    assert try_tail(dsn, seconds=0.5).missed > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("ALTER SEQUENCE ledger.positions CACHE 20", "has cache 20"),
        (
            "ALTER TABLE ledger.events ALTER notification_id SET DEFAULT nextval('ledger.positions')",
            "positions come from nextval('ledger.positions'::regclass)",
        ),
        ("ALTER TABLE ledger.events ALTER notification_id DROP DEFAULT", "notification_id is not there"),
        ("DROP FUNCTION ledger.next_positions", "is not there"),
    ],
)
def test_parts_that_are_not_as_they_must_be_are_named(dsn: str, change: str, words: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(change.encode())
        (difference,) = trial.differences(conn)
    assert words in difference
    result = examine(dsn)
    assert result.return_value == 1
    assert difference in said(result)


def test_what_a_killed_trial_left_behind_is_dropped_by_the_next(dsn: str) -> None:
    dead, alive = f"ledger_trial_{uuid4().hex}", f"ledger_trial_{uuid4().hex}"
    foreign = "ledger_trial_of_somebody_else"
    with psycopg.connect(dsn, autocommit=True) as conn, psycopg.connect(dsn, autocommit=True) as other:
        for name in (dead, alive, foreign):
            conn.execute(f"CREATE SCHEMA {name}".encode())
        other.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (alive,))
        try_tail(dsn, seconds=0.5)
        left = {name for (name,) in conn.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'ledger_trial_%'")}
    assert left == {alive, foreign}


def test_a_transaction_that_goes_on_writing_is_named(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_LAST_WAIT", 0.3)
    with psycopg.connect(dsn, application_name="forgotten") as writer:
        writer.execute("CREATE TABLE forgotten (x int)")
        stands = standing(dsn, wait=0.1)
        assert stands.oldest is not None
        with pytest.raises(Refusal) as caught:
            try_tail(dsn, seconds=0.5)
    assert caught.value.code == "LGR-0505"
    assert caught.value.value is not None


def test_a_log_whose_end_is_not_final_says_for_how_long_it_waited(dsn: str) -> None:
    with psycopg.connect(dsn, application_name="slow writer") as writer:
        writer.execute(
            "INSERT INTO ledger.events (originator_id, originator_version, topic, state) VALUES (%s, 1, 't', '')", (uuid4(),)
        )
        stands = standing(dsn, wait=0.1)
    assert (stands.drawn, stands.stored, stands.final) == ("1", "0", False)
    assert stands.waited >= 0.1


def test_a_role_that_may_not_make_a_schema_is_told_so(dsn: str) -> None:
    role = f"reader_{uuid4().hex}"
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"CREATE ROLE {role}".encode())
        conn.execute(f"GRANT USAGE ON SCHEMA ledger TO {role}".encode())
        conn.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA ledger TO {role}".encode())
        conn.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA ledger TO {role}".encode())
    with pytest.raises(Refusal) as caught:
        try_tail(conninfo.make_conninfo(dsn, options=f"-c role={role}"), seconds=0.5)
    assert caught.value.code == "LGR-0517"
