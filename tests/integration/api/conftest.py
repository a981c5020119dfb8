"""The whole service on a real Postgres, on a real socket."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from ledger.api.feed import Limits
from ledger.api.serve import opened
from ledger.api.server import Server
from tests import contract
from tests.support import house


class Floor:
    """A terminal of one table that posts over HTTP, and a look at what the log then holds."""

    def __init__(self, url: str, dsn: str, table: str = "R01", game: str = "roulette", currency: str = "MOP") -> None:
        self.url, self.dsn = url, dsn
        self.table, self.game, self.currency = table, game, currency
        self.round = uuid4()
        self.client = httpx.Client(base_url=url, timeout=30, event_hooks={"response": [contract.hold]})

    def at(self, table: str, game: str, currency: str) -> Floor:
        """The terminal of another table of the same house."""
        return Floor(self.url, self.dsn, table, game, currency)

    def event(self, kind: str, data: dict[str, Any], /, **attributes: Any) -> dict[str, Any]:
        return {
            "specversion": "1.0",
            "id": str(uuid4()),
            "source": f"/terminals/T-{self.table}",
            "type": f"roundledger.{kind}.v1",
            "subject": str(self.round),
            "time": "2026-11-29T20:00:00+08:00",
            "data": data,
            **attributes,
        }

    def open(self, **data: Any) -> dict[str, Any]:
        """The opening of a new round, which the following events are about."""
        self.round = uuid4()
        return self.event("RoundOpened", {"table": self.table, "game": self.game, **data})

    def bet(self, spot: str = "straight:17", stake: Any = "10000", **data: Any) -> dict[str, Any]:
        return self.event("BetPlaced", {"player": "P-1", "spot": spot, "stake": stake, "currency": self.currency, **data})

    def close(self) -> dict[str, Any]:
        return self.event("BettingClosed", {})

    def outcome(self, shown: str) -> dict[str, Any]:
        return self.event("OutcomeRecorded", {"outcome": shown})

    def post(self, body: Any, media_type: str = "application/json") -> httpx.Response:
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.client.post("/v1/events", content=content, headers={"Content-Type": media_type})

    def items(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What became of each event of a batch."""
        answer = self.post(events)
        assert answer.status_code == 200, answer.text
        items: list[dict[str, Any]] = answer.json()["items"]
        assert [item["id"] for item in items] == [event["id"] for event in events]
        return items

    def accepted(self, *events: dict[str, Any]) -> list[dict[str, Any]]:
        items = self.items(list(events))
        for item in items:
            assert item["status"] == "accepted", item
        return items

    def accepted_in_the_end(self, event: dict[str, Any]) -> None:
        """Sends until the event is judged for good, as a terminal does."""
        while (answer := self.post([event])).status_code == 503 or answer.json()["items"][0].get("problem", {}).get("retryable"):
            time.sleep(0.05)
        assert answer.json()["items"][0]["status"] == "accepted", answer.text

    def refused(self, event: Any) -> str:
        """The code with which one event is refused; asserts that nothing of it is in the log and that its answer is a problem."""
        before = self.count()
        answer = self.post(event)
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        problem = answer.json()
        assert problem["status"] == answer.status_code
        assert 400 <= answer.status_code < 500, answer.text
        assert problem["detail"]
        assert self.count() == before
        code: str = problem["code"]
        return code

    def count(self) -> int:
        """Events in the log."""
        with psycopg.connect(self.dsn) as conn:
            row = conn.execute("SELECT count(*) FROM ledger.events").fetchone()
        assert row is not None
        return int(row[0])

    def get(self, path: str, at_least: str, **parameters: Any) -> Any:
        answer = self.client.get(path, params={"at_least": at_least, **parameters})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def view(self) -> Any:
        """The table's latest round."""
        answer = self.client.get(f"/v1/rounds/{self.round}")
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def serving(dsn: str, **options: Any) -> Iterator[Server]:
    """The service in a thread of this process."""
    with opened(dsn, port=0, **options) as server:
        ready: Queue[str] = Queue()
        thread = threading.Thread(target=server.run, args=(ready.put,))
        thread.start()
        try:
            assert ready.get(timeout=20) == server.url
            yield server
        finally:
            server.stop()
            thread.join(20)
            assert not thread.is_alive()


PATIENT = Limits(patience_seconds=20)
"""Of other tests on the same server some keep a transaction open for a while, on purpose."""


@pytest.fixture
def floor(dsn: str) -> Iterator[Floor]:
    house(dsn).close()
    with serving(dsn, feed_limits=PATIENT) as server:
        floor = Floor(server.url, dsn)
        yield floor
        floor.client.close()
