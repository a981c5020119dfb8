"""Who looks after the embedded server starts it when it died, and does not hammer one that will not start."""

from __future__ import annotations

import logging
import threading

import pytest

from ledger.errors import Refusal
from ledger.store import watch


class Server:
    """Dies when told to; `refuse` times it does not start."""

    def __init__(self, refuse: int = 0) -> None:
        self.dead = False
        self.refuse = refuse
        self.tries: list[bool] = []
        self.up = threading.Event()

    def died(self) -> bool:
        # What fails while it starts takes its file along, and looks like one that was stopped.
        return self.dead and not self.tries

    def revive(self, *, again: bool = False) -> None:
        self.tries.append(again)
        if len(self.tries) <= self.refuse:
            raise Refusal("LGR-0507", "it did not start", help="see its log")
        self.dead = False
        self.up.set()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_LOOK", 0.005)
    monkeypatch.setattr(watch, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(watch, "_LONGEST_PAUSE", 0.02)


def test_one_that_died_is_started_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    server = Server()
    with watch.Watch(server):
        server.dead = True
        assert server.up.wait(5)
    assert server.tries == [False]
    assert "Postgres runs again" in caplog.text


def test_one_that_does_not_start_is_tried_again_after_longer_and_longer_pauses(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(refuse=4)
    server.dead = True
    with watch.Watch(server):
        assert server.up.wait(5)
    assert server.tries == [False, True, True, True, True]
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert [line.split(":")[0] for line in told] == [
        f"Postgres did not start; next try in {pause} s" for pause in ("0.01", "0.02", "0.02", "0.02")
    ]
    assert told[0].endswith("it did not start; see its log")


def test_one_that_was_stopped_stays_down() -> None:
    server = Server()
    with watch.Watch(server):
        assert not server.up.wait(0.05)
    assert server.tries == []


def test_leaving_does_not_wait_for_the_next_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_LONGEST_PAUSE", 60.0)
    monkeypatch.setattr(watch, "_FIRST_PAUSE", 60.0)
    server = Server(refuse=9)
    server.dead = True
    keeper = watch.Watch(server)
    with keeper:
        while not server.tries:
            pass
    assert not keeper._thread.is_alive()
