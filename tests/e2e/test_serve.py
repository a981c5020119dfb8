"""The service as a process: how it starts, and that it ends without losing what it took."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest

from tests.integration.api.conftest import Floor
from tests.support import UNLIMITED, house

_SERVE = "import sys; from ledger.api.serve import serve; serve(sys.argv[1], port=0, ready=lambda url: print(url, flush=True))"


@contextmanager
def process(dsn: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The service in a process of its own, and its URL."""
    command = [sys.executable, "-c", _SERVE, dsn]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            yield service, service.stdout.readline().strip()
        finally:
            service.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_what_was_acknowledged_is_there(dsn: str, number: signal.Signals) -> None:
    house(dsn, UNLIMITED).close()
    with process(dsn) as (service, url):
        floor = Floor(url, dsn)
        floor.accepted(floor.open())
        acknowledged: list[dict[str, Any]] = []
        begun = threading.Event()

        def post() -> None:
            with httpx.Client(base_url=url) as client:
                while True:
                    try:
                        answer = client.post("/v1/events", json=[floor.bet() for _ in range(20)])
                    except httpx.TransportError:
                        return
                    if answer.status_code != 200:
                        assert answer.status_code == 503
                        return
                    acknowledged.extend(answer.json()["items"])
                    begun.set()

        terminals = [threading.Thread(target=post) for _ in range(4)]
        for terminal in terminals:
            terminal.start()
        assert begun.wait(10)
        service.send_signal(number)
        assert service.wait(30) == 0
        for terminal in terminals:
            terminal.join()
        assert service.stderr is not None
        assert "Traceback" not in service.stderr.read()
    positions = {int(position) for item in acknowledged for position in item["positions"]}
    assert len(positions) == len(acknowledged) > 0
    with psycopg.connect(dsn) as conn:
        stored = {row[0] for row in conn.execute("SELECT position FROM ledger.log WHERE topic = 'BetPlaced.v1'")}
    assert positions <= stored


def test_a_kill_loses_nothing_that_was_acknowledged(dsn: str) -> None:
    house(dsn).close()
    with process(dsn) as (service, url):
        floor = Floor(url, dsn)
        opening, bet = floor.open(), floor.bet()
        bet["subject"] = opening["subject"]
        floor.accepted(opening, bet)
        service.kill()
        service.wait(10)
    with process(dsn) as (_, url):
        again = Floor(url, dsn)
        assert [item["status"] for item in again.items([opening, bet])] == ["replayed", "replayed"]
        again.round = floor.round
        again.accepted(again.close(), again.outcome("17"))
        assert again.view()["status"] == "settled"
