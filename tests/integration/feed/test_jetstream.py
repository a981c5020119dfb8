"""The publisher to NATS JetStream, against a real broker."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import nats
import psycopg
import pytest
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from cli.main import run
from tests.e2e.process import ROOT, environment
from tests.integration.feed.test_webhooks import play
from tests.integration.homes import eventually

_T = TypeVar("_T")
BINARY = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(
    BINARY is None, reason="there is no nats-server on this machine (Debian: apt-get install nats-server)"
)


class Broker:
    """A real nats-server with JetStream."""

    def __init__(self, directory: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self.directory = directory
        self.start()

    def start(self) -> None:
        command = [str(BINARY), "-js", "-a", "127.0.0.1", "-p", str(self.port), "-sd", str(self.directory)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert eventually(self._answers)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    def ask(self, question: Callable[[JetStreamContext], Awaitable[_T]]) -> _T:
        async def asked() -> _T:
            client = await nats.connect(self.url)
            try:
                return await question(client.jetstream())
            finally:
                await client.close()

        return asyncio.run(asked())

    def messages(self, stream: str = "LEDGER") -> list[Any]:
        """Subject, message id and event of each message of the stream, in order."""

        async def read(context: JetStreamContext) -> list[Any]:
            try:
                state = (await context.stream_info(stream)).state
            except NotFoundError:
                return []
            found = (
                [await context.get_msg(stream, n) for n in range(state.first_seq, state.last_seq + 1)] if state.messages else []
            )
            return [(each.subject, (each.headers or {})["Nats-Msg-Id"], json.loads(each.data or b"")) for each in found]

        return self.ask(read)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path / "nats")
    yield broker
    broker.stop()


@pytest.fixture(autouse=True)
def _ledger(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_DSN", dsn)


def once(broker: Broker, *words: str) -> int:
    return run(["publish", "--nats", broker.url, "--stream", "LEDGER", "--once", *words])


def ids(broker: Broker) -> list[str]:
    return [event["id"] for _, _, event in broker.messages()]


def test_the_log_is_published_in_order_and_goes_on_where_it_was(broker: Broker, dsn: str) -> None:
    there = play(dsn)
    assert once(broker) == 0
    assert ids(broker) == there
    there = play(dsn)
    assert once(broker) == once(broker) == 0
    assert ids(broker) == there
    subjects = {subject for subject, _, _ in broker.messages()}
    assert {"LEDGER.BetPlaced.v1.R01", "LEDGER.RoundSettled.v1.R01", "LEDGER.DocumentRecorded.v1._"} <= subjects
    assert all(message.startswith(f"evt_{event['id']}_") for _, message, event in broker.messages())


def test_duplicates_are_dropped_whether_the_cursor_was_lost_or_set_back(broker: Broker, dsn: str) -> None:
    there = play(dsn)
    assert once(broker) == 0
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("DELETE FROM ledger.publishers")
    assert once(broker) == 0
    assert once(broker, "--after", "0") == 0
    assert ids(broker) == there


def test_a_choice_is_published(broker: Broker, dsn: str) -> None:
    play(dsn)
    assert once(broker, "--type", "BetPlaced", "--table", "R01") == 0
    assert {subject for subject, _, _ in broker.messages()} == {"LEDGER.BetPlaced.v1.R01"}


def test_nothing_is_lost_or_doubled_when_publisher_and_broker_are_killed_under_load(broker: Broker, dsn: str) -> None:
    command = [sys.executable, "-m", "cli", "publish", "--nats", broker.url, "--stream", "LEDGER"]
    there = play(dsn, 30)
    for turn in range(3):
        publisher = subprocess.Popen(command, cwd=ROOT, env=environment(LEDGER_DSN=dsn), stderr=subprocess.DEVNULL)
        try:
            before = len(ids(broker))
            there = play(dsn, 5)
            assert eventually(lambda: len(ids(broker)) > before)  # noqa: B023 - called at once
            if turn == 1:
                broker.stop()
                there = play(dsn, 5)
                broker.start()
            if turn:
                assert eventually(lambda: ids(broker)[-1] == there[-1], 30)  # noqa: B023 - called at once
        finally:
            publisher.kill()
            publisher.wait()
    assert ids(broker) == there


def test_one_process_publishes_to_a_stream_and_a_broker_that_is_not_there_is_named(
    broker: Broker, dsn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    play(dsn)
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended('round-ledger publisher nats LEDGER', 0))")
        assert once(broker) == 2
        assert "another process publishes" in capsys.readouterr().err
    assert run(["publish", "--nats", "nats://127.0.0.1:9", "--stream", "LEDGER", "--once"]) == 2
    assert "LGR-0733" in capsys.readouterr().err
    assert run(["publish", "--nats", broker.url, "--stream", "NO.NO", "--once"]) == 2
    assert "LGR-0108" in capsys.readouterr().err
