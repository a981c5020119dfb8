"""`roundledger feed` and `roundledger webhooks`, as they are typed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cli.main import run
from ledger.feed import webhooks
from ledger.store import log
from tests.e2e.process import ROOT, environment
from tests.support import Terminal, accepted, house


@pytest.fixture(autouse=True)
def _played(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play(dsn)
    monkeypatch.setenv("LEDGER_DSN", dsn)


def play(dsn: str) -> None:
    rounds = house(dsn)
    accepted(rounds.post(Terminal().whole_round([("red", "10000")], "17")))
    rounds.close()


def logged(dsn: str) -> list[str]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return [str(recorded.position) for recorded in log.read_all(conn)]


def typed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert run([*words]) == code, capsys.readouterr().err
    out, err = capsys.readouterr()
    return out, err


def ids(out: str) -> list[str]:
    return [json.loads(line)["id"] for line in out.splitlines()]


def test_feed_prints_the_log_and_says_where_it_ended(capsys: pytest.CaptureFixture[str], dsn: str) -> None:
    out, err = typed(capsys, "feed")
    assert ids(out) == logged(dsn)
    cursor = re.fullmatch(r"after: (\S+)\n", err)
    assert cursor is not None
    assert typed(capsys, "feed", "--after", cursor[1])[0] == ""
    assert ids(typed(capsys, "feed", "--after", "2", "--table", "R01")[0]) == logged(dsn)[2:]
    (bet,) = map(json.loads, typed(capsys, "feed", "--type", "BetPlaced")[0].splitlines())
    assert ids(typed(capsys, "feed", "--round", bet["subject"], "--type", "BetPlaced")[0]) == [bet["id"]]
    assert "LGR-0522" in typed(capsys, "feed", "--after", "99999", code=2)[1]
    assert "LGR-0108" in typed(capsys, "feed", "--type", "BetEaten", code=2)[1]
    assert "LGR-0108" in typed(capsys, "feed", "--after", "x", code=2)[1]


def test_feed_follows_what_comes(dsn: str) -> None:
    command = [sys.executable, "-m", "cli", "feed", "--follow", "--type", "RoundSettled"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(LEDGER_DSN=dsn), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as following:
        try:
            assert following.stdout is not None
            first = json.loads(following.stdout.readline())
            play(dsn)
            second = json.loads(following.stdout.readline())
        finally:
            following.terminate()
    assert first["type"] == second["type"] == "roundledger.RoundSettled.v1"
    assert second["id"] == logged(dsn)[-1]


def test_a_webhook_is_added_listed_retried_and_removed(capsys: pytest.CaptureFixture[str], dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "ledger.webhook"
    added: Any = json.loads(
        typed(
            capsys,
            *("webhooks", "add", "https://127.0.0.1/hook", "--private", "--type", "BetPlaced", "--table", "R01"),
            *("--out", str(file), "--json"),
        )[0]
    )
    assert "secret" not in added
    written = json.loads(file.read_text())
    assert (written["webhook"], file.stat().st_mode & 0o777) == (added["webhook"], 0o600)
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", written["secret"])
    (row,) = json.loads(typed(capsys, "webhooks", "list", "--json")[0])["webhooks"]
    assert (row["webhook"], row["types"], row["tables"]) == (added["webhook"], ["roundledger.BetPlaced.v1"], ["R01"])
    assert (row["state"], row["position"], row["dead"]) == ("delivering", logged(dsn)[-1], 0), "it is sent what comes from now on"
    assert "whsec" not in typed(capsys, "webhooks", "list")[0]
    again = json.loads(typed(capsys, "webhooks", "retry", added["webhook"], "--after", "0", "--json")[0])
    assert (again["dead"], again["position"]) == (0, "0")
    assert "No activity" in "".join(typed(capsys, "webhooks", "dead", added["webhook"]))
    typed(capsys, "webhooks", "remove", added["webhook"])
    with psycopg.connect(dsn) as conn:
        assert webhooks.webhooks(conn) == []
    for words in (("remove", "wh_x"), ("retry", "wh_x"), ("dead", "wh_x")):
        assert "LGR-0731" in typed(capsys, "webhooks", *words, code=2)[1]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("http://example.com/",), "LGR-0730"),
        (("https://127.0.0.1/",), "LGR-0730"),
        (("https://[::1]/",), "LGR-0730"),
        (("https://169.254.169.254/latest",), "LGR-0730"),
        (("https://8.8.8.8/", "--type", "BetEaten"), "LGR-0108"),
        (("https://8.8.8.8/", "--after", "99999"), "LGR-0522"),
        (("https://8.8.8.8/", "--out", "/nowhere/x"), "LGR-0724"),
    ],
)
def test_what_cannot_be_sent_to_is_refused_and_nothing_is_kept(
    capsys: pytest.CaptureFixture[str], dsn: str, words: tuple[str, ...], code: str
) -> None:
    assert code in typed(capsys, "webhooks", "add", *words, code=2)[1]
    with psycopg.connect(dsn) as conn:
        assert webhooks.webhooks(conn) == []


def test_a_webhook_of_what_is_not_configured_is_added_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("webhooks", "add", "https://127.0.0.1/hook", "--private", "--table", "R01", "--table", "NOPE", "--property", "NONE")
    said = typed(capsys, *words)[1]
    assert ("no table NOPE is" in said, "no property NONE is" in said, "R01" in said) == (True, True, False)
