"""`roundledger db`, as it is typed."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from cli.db import db
from ledger.errors import Refusal
from ledger.store import migrate
from ledger.store.server import embedded


def run(*words: str) -> Result:
    return CliRunner().invoke(db, words)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An embedded server of the test's own, stopped at the end whatever happened."""
    monkeypatch.setenv("LEDGER_DATA_DIR", str(tmp_path / "data"))
    yield
    monkeypatch.delenv("LEDGER_DSN", raising=False)
    embedded().stop(now=True)


@pytest.mark.usefixtures("own")
def test_a_day_in_the_life_of_the_embedded_server() -> None:
    absent = run("status", "--json")
    assert (absent.exit_code, json.loads(absent.stdout)["state"]) == (1, "absent")
    made = run("init")
    assert made.exit_code == 0
    assert "applied 0001_log" in made.stdout
    assert json.loads(run("init", "--json").stdout) == {"origin": "embedded", "schema": migrate.LATEST, "applied": []}
    assert json.loads(run("status", "--json").stdout)["state"] == "stopped"
    [row] = csv.DictReader(io.StringIO(run("status", "--csv").stdout))
    assert (row["state"], row["url"]) == ("stopped", "")
    off = run("psql-url")
    assert off.exit_code == 1
    assert "roundledger db start" in off.stderr

    assert run("start").exit_code == 0
    on = run("status", "--json")
    told = json.loads(on.stdout)
    assert on.exit_code == 0
    assert (told["state"], told["kept"], told["used"], told["schema"]) == ("running", True, False, migrate.LATEST)
    url = run("psql-url")
    assert (url.exit_code, url.stdout) == (0, off.stdout)
    with psycopg.connect(url.stdout.strip()) as connection:
        assert connection.execute("SELECT count(*) FROM ledger.log").fetchone() == (0,)

    with embedded():
        in_use = run("stop")
        assert in_use.exit_code == 1
        assert "in use" in in_use.stdout
    assert run("stop").exit_code == 0
    assert json.loads(run("stop", "--json").stdout) == {"state": "stopped", "kept": False, "ran": False}
    assert "nothing to stop" in run("stop").stdout


@pytest.mark.usefixtures("own")
def test_variables_that_name_no_server_alone_are_hinted_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "hint" not in run("status").stderr
    monkeypatch.setenv("PGPORT", "5433")
    assert "hint: PGPORT alone names no server" in run("status").stderr
    monkeypatch.setenv("PGUSER", "cage")
    assert "hint: PGPORT and PGUSER alone name no server" in run("status").stderr
    monkeypatch.setenv("LEDGER_DSN", "host=127.0.0.1 port=1")
    assert "hint" not in run("status").stderr


@pytest.mark.usefixtures("own")
def test_stop_now_stops_under_a_user() -> None:
    with embedded() as server:
        assert run("stop", "--now").exit_code == 0
        assert server.status().state == "stopped"


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("word", ["start", "stop"])
def test_a_named_server_is_not_started_or_stopped(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_DSN", "postgresql://cage:secret@db.example/ledger")
    refused = run(word).exception
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field, refused.value) == ("LGR-0519", "LEDGER_DSN", "postgresql://cage@db.example/ledger")


def test_the_status_of_a_named_server(dsn: str, bare_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_DSN", dsn)
    current = run("status")
    assert current.exit_code == 0
    assert "LEDGER_DSN" in current.stdout
    monkeypatch.setenv("LEDGER_DSN", bare_dsn)
    empty = run("status")
    assert empty.exit_code == 1
    assert "roundledger db init" in empty.stderr


def test_the_url_has_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_DSN", "postgresql://cage:secret@db.example/ledger")
    assert run("psql-url").stdout == "postgresql://cage@db.example/ledger\n"
    assert json.loads(run("psql-url", "--json").stdout)["running"] is None


@pytest.mark.parametrize("word", ["init", "status", "start", "stop", "psql-url"])
def test_help_shows_examples_and_exit_codes_and_touches_nothing(word: str) -> None:
    told = run(word, "--help")
    assert told.exit_code == 0
    assert f"roundledger db {word}" in told.stdout
    assert "Exit codes: 0 " in told.stdout
    assert not Path(os.environ["LEDGER_DATA_DIR"]).exists()
