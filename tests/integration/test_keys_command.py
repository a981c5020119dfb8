"""`roundledger keys` and `roundledger tokens`, as they are typed."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from cli.main import run
from ledger.errors import Refusal
from ledger.signatures import SigningKey, new_secret
from ledger.store import credentials
from tests.support import house


@pytest.fixture(autouse=True)
def _house(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    house(dsn).close()
    monkeypatch.setenv("LEDGER_DSN", dsn)


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What a command prints as JSON."""
    capsys.readouterr()
    assert run([*words, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command says that could not be done."""
    capsys.readouterr()
    assert run([*words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("algorithm", ["ed25519", "hmac-sha256"])
def test_a_key_is_issued_with_a_secret_that_is_shown_once(capsys: pytest.CaptureFixture[str], dsn: str, algorithm: str) -> None:
    made = typed(capsys, "keys", "issue", "T-R01", "--algorithm", algorithm, "--days", "30")
    key = SigningKey(id=made["key"], algorithm=made["algorithm"], secret=made["secret"])
    with psycopg.connect(dsn) as conn:
        (held,) = credentials.keys(conn)
    assert held.verifying() == key.verifying()
    assert at(made["expires"]) - at(made["not_before"]) == timedelta(days=30)
    (row,) = typed(capsys, "keys", "list", "T-R01")["keys"]
    assert (row["key"], row["state"]) == (made["key"], "live")
    assert made["secret"] not in json.dumps(row)


def test_a_person_is_shown_the_secret_on_stdout_and_the_rest_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "issue", "T-R01"]) == 0
    out, err = capsys.readouterr()
    assert "secret      rlk_" in out
    assert "this once" in err
    assert "rlk_" not in err


def test_a_terminal_may_make_its_key_itself(capsys: pytest.CaptureFixture[str], dsn: str) -> None:
    own = SigningKey(id="", algorithm="ed25519", secret=new_secret()).verifying().material
    made = typed(capsys, "keys", "issue", "T-R01", "--public-key", base64.b64encode(own).decode())
    assert "secret" not in made
    with psycopg.connect(dsn) as conn:
        assert credentials.keys(conn)[0].material == own
    assert "32 bytes" in refused(capsys, "keys", "issue", "T-R01", "--public-key", "AAAA")


def test_a_rotation_leaves_both_keys_for_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no live key" in refused(capsys, "keys", "rotate", "T-R01")
    old = typed(capsys, "keys", "issue", "T-R01", "--algorithm", "hmac-sha256")
    new = typed(capsys, "keys", "rotate", "T-R01", "--overlap", "2")
    assert new["algorithm"] == "hmac-sha256"
    rows = {row["key"]: row for row in typed(capsys, "keys", "list")["keys"]}
    assert {row["state"] for row in rows.values()} == {"live"}
    left = at(rows[old["key"]]["expires"]) - datetime.now(UTC)
    assert timedelta(hours=1, minutes=59) < left <= timedelta(hours=2)
    assert old["key"] in refused(capsys, "keys", "rotate", "T-R01"), "a third one is refused, and nothing has changed"
    assert typed(capsys, "keys", "list")["keys"] == list(rows.values())
    assert typed(capsys, "keys", "revoke", old["key"])["state"] == "revoked"
    assert "LGR-0805" in refused(capsys, "keys", "revoke", old["key"])


@pytest.mark.parametrize("words", [("keys", "issue", "T-X99"), ("keys", "rotate", "T-X99"), ("tokens", "issue", "X-99")])
def test_whom_the_property_does_not_know_gets_nothing(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    said = refused(capsys, *words)
    assert "error[LGR-0805]" in said
    assert "T-R01" in said or "S-7" in said, "it names those there are"


def test_a_token_is_shown_once_and_listed_by_its_end(capsys: pytest.CaptureFixture[str], dsn: str) -> None:
    made = typed(capsys, "tokens", "issue", "S-7")
    with psycopg.connect(dsn) as conn:
        assert credentials.authenticate_token(conn, made["token"]) == "S-7"
    (row,) = typed(capsys, "tokens", "list")["tokens"]
    assert (row["token"], row["roles"], row["state"]) == (made["id"], "supervisor", "live")
    assert row["last_four"] == made["token"][-4:]
    assert made["token"] not in json.dumps(row)


def test_a_token_is_rotated_and_revoked(capsys: pytest.CaptureFixture[str], dsn: str) -> None:
    old = typed(capsys, "tokens", "issue", "S-7")
    new = typed(capsys, "tokens", "rotate", old["id"], "--overlap", "0")
    with psycopg.connect(dsn) as conn:
        assert credentials.authenticate_token(conn, new["token"]) == "S-7"
        with pytest.raises(Refusal):
            credentials.authenticate_token(conn, old["token"])
    assert typed(capsys, "tokens", "revoke", new["id"])["state"] == "revoked"
    with psycopg.connect(dsn) as conn, pytest.raises(Refusal):
        credentials.authenticate_token(conn, new["token"])
    assert "LGR-0805" in refused(capsys, "tokens", "revoke", "S-7.none")
