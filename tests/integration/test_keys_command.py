"""`roundledger keys` and `roundledger tokens`, as they are typed."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cli.main import run
from ledger.client import Signing
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


@pytest.mark.parametrize("command", [("tokens", "revoke"), ("tokens", "rotate"), ("keys", "revoke")])
def test_a_secret_in_place_of_an_id_is_never_shown(
    command: tuple[str, str], capsys: pytest.CaptureFixture[str], dsn: str
) -> None:
    issue = ("tokens", "issue", "S-7") if command[0] == "tokens" else ("keys", "issue", "T-R01")
    issued = typed(capsys, *issue)
    secrets = [issued["token"]] if command[0] == "tokens" else ["c2VjcmV0IG9mIGEga2V5IHRoYXQgaXMgbm8gaWQ="]
    for secret in (*secrets, "rlt_abc.def"):
        said = refused(capsys, *command, secret)
        assert "LGR-0805" in said
        assert secret not in said
    assert "S-7.none" in refused(capsys, *command, "S-7.none")


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


ISSUES = (("keys", "issue", "T-R01"), ("keys", "issue", "T-R01", "--algorithm", "hmac-sha256"), ("tokens", "issue", "S-7"))


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)])
@pytest.mark.parametrize("words", ISSUES)
def test_a_secret_goes_into_a_new_file_of_its_owner_and_is_not_shown(
    capsys: pytest.CaptureFixture[str], dsn: str, tmp_path: Path, words: tuple[str, ...], form: tuple[str, ...]
) -> None:
    out = tmp_path / "secret"
    before = os.umask(0)
    try:
        assert run([*words, "--out", str(out), *form]) == 0
    finally:
        os.umask(before)
    said = capsys.readouterr()
    assert out.stat().st_mode & 0o777 == 0o600
    text = out.read_text()
    secret = text.strip() if words[0] == "tokens" else json.loads(text)["secret"]
    assert secret not in said.out + said.err
    assert "you alone can read" in said.err
    with psycopg.connect(dsn) as conn:
        if words[0] == "tokens":
            assert credentials.authenticate_token(conn, secret) == "S-7"
        else:
            Signing.of_file(out)
            assert [key.id for key in credentials.keys(conn)] == [json.loads(text)["key"]]


@pytest.mark.parametrize("rotated", [False, True], ids=["issue", "rotate"])
@pytest.mark.parametrize("whose", ["keys", "tokens"])
def test_a_file_that_is_there_is_kept_and_nothing_is_issued(
    capsys: pytest.CaptureFixture[str], dsn: str, tmp_path: Path, whose: str, rotated: bool
) -> None:
    """It may be the only copy of the key in use."""
    out, link = tmp_path / "secret", tmp_path / "link"
    issue = (whose, "issue", "T-R01" if whose == "keys" else "S-7")
    first = typed(capsys, *issue, "--out", str(out))
    held, words = out.read_bytes(), (whose, "rotate", "T-R01" if whose == "keys" else first["id"]) if rotated else issue
    link.symlink_to(tmp_path / "nowhere")
    rows = typed(capsys, whose, "list")[whose]
    for taken in (out, link, tmp_path, tmp_path / "no folder" / "x"):
        assert "error[LGR-0724]" in refused(capsys, *words, "--out", str(taken))
    assert out.read_bytes() == held
    assert typed(capsys, whose, "list")[whose] == rows


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (ISSUES[0], "The ledger keeps the public key alone"),
        (ISSUES[1], "The ledger keeps it too"),
        (ISSUES[2], "The ledger keeps its SHA-256 and its last four characters"),
    ],
)
def test_what_is_kept_of_a_secret_is_said_as_it_is(
    capsys: pytest.CaptureFixture[str], dsn: str, words: tuple[str, ...], kept: str
) -> None:
    """Of an hmac key it was said that it is kept nowhere, while the ledger has to hold it to check what is signed."""
    assert run([*words]) == 0
    out, err = capsys.readouterr()
    assert kept in err
    assert "nowhere" not in err
    secret = out.split()[-1]
    with psycopg.connect(dsn) as conn:
        table = "ledger.keys" if words[0] == "keys" else "ledger.tokens"
        rows = str(conn.execute(f"SELECT t.* FROM {table} AS t").fetchall())
    held = SigningKey(id="", algorithm="hmac-sha256", secret=secret).verifying().material if words[0] == "keys" else secret
    assert (repr(held)[2:-1] in rows) is ("hmac-sha256" in words)


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True)])
def test_a_key_that_others_can_read_is_warned_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int, warned: bool
) -> None:
    out = tmp_path / "key"
    typed(capsys, "keys", "issue", "T-R01", "--out", str(out))
    out.chmod(mode)
    sent = ("terminal", "send", "--outbox", str(tmp_path / "box"), "--terminal", "T-R01", "--key", str(out))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert run([*sent]) == 0
    assert ("others on this machine can read the key" in capsys.readouterr().err) is warned
