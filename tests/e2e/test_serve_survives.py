"""A running service and its embedded Postgres: killed, it comes back; stopped, it stays down."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.process import ROOT, environment, roundledger
from tests.integration.api.conftest import Floor
from tests.integration.homes import eventually

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (INFO|WARNING|ERROR) [a-z.]+: \S.*")


class Service:
    """`roundledger serve` on a data directory of its own."""

    def __init__(self, home: Path) -> None:
        self.home = str(home)
        self.postgres = home / "postgres"
        self.log = home.parent / "service.log"
        roundledger("db", "init", LEDGER_DATA_DIR=self.home)
        command = [sys.executable, "-m", "cli", "serve", "--port", "0", "--property", "seeds/demo/property.toml"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment(LEDGER_DATA_DIR=self.home), stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.floor = Floor(self.url, "")

    @property
    def postmaster(self) -> int:
        return int((self.postgres / "data" / "postmaster.pid").read_text().split("\n", 1)[0])

    def healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=10).status_code == 200
        except httpx.TransportError:
            return False

    def status(self) -> tuple[str, bool]:
        """What `db status` says at this moment, or at the next in which the server can be asked: its state, and whether it is
        used."""
        while (told := roundledger("db", "status", "--json", code=None, LEDGER_DATA_DIR=self.home)).returncode == 2:
            time.sleep(0.05)
        status = json.loads(told.stdout)
        return status["state"], status["used"]

    def said(self) -> list[str]:
        return self.log.read_text().splitlines()

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path / "data")
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait()
        roundledger("db", "stop", "--now", code=None, LEDGER_DATA_DIR=service.home)


def test_a_killed_postgres_comes_back_under_a_running_service(service: Service) -> None:
    opening = service.floor.open()
    service.floor.accepted(opening)
    for _ in range(2):
        killed = service.postmaster
        os.kill(killed, signal.SIGKILL)
        assert service.status()[1] is True, "it is used all the while"
        assert eventually(lambda: service.healthy() and service.postmaster != killed, 60)  # noqa: B023 - called at once
    bet = service.floor.bet()
    service.floor.accepted_in_the_end(bet)
    assert service.floor.items([opening])[0]["status"] == "replayed"
    service.end()
    assert service.status() == ("stopped", False)

    said = service.said()
    assert said[0] == "property DEMO: applied"
    assert said[-1] == "stopped"
    assert [line for line in said[1:-1] if not LINE.fullmatch(line)] == []
    told = "\n".join(said)
    assert told.count("Postgres died") == told.count("Postgres runs again") == 2
    assert told.count("answering at") == 1
    assert "uvicorn" not in told
    tries = [line for line in said if "projections try again" in line and "more in" not in line]
    assert len(tries) <= 2, "repeated warnings are counted, not repeated"


def test_a_postgres_that_was_told_to_stop_stays_down(service: Service) -> None:
    roundledger("db", "stop", "--now", LEDGER_DATA_DIR=service.home)
    assert not eventually(service.healthy, 2)
    assert service.status() == ("stopped", True)
    with httpx.Client(base_url=service.url, timeout=30) as client:
        assert client.post("/v1/events", json=service.floor.open()).json()["code"] == "LGR-0501"
    roundledger("db", "start", LEDGER_DATA_DIR=service.home)
    assert eventually(service.healthy, 30)
    service.floor.accepted_in_the_end(service.floor.open())
    service.end()
