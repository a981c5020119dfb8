"""The sender: what it says of itself while it sends."""

from __future__ import annotations

import time
from typing import cast

import pytest

from ledger.client import sender
from ledger.client.door import Door
from ledger.client.flush import Flushed
from ledger.client.outbox import Outbox
from ledger.client.retry import Retry


class _Door:
    retry = Retry(tries=1)


def test_what_was_put_in_after_a_flush_had_looked_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a flush leaves something and has tried nothing: nothing begins to wait, and the next one comes without a pause."""
    flushes = [Flushed(waiting=10), Flushed(posts=1, waiting=10), Flushed(posts=1, accepted=10)]
    stuck: list[bool] = []

    def flushed(*_: object, **__: object) -> Flushed:
        stuck.append(sending.sent.stuck)
        return flushes.pop(0) if flushes else Flushed()

    monkeypatch.setattr(sender, "flush", flushed)
    monkeypatch.setattr(sender, "_LOOK", 0.01)
    sending = sender.Sender(cast(Outbox, object()), cast(Door, _Door()))
    with sending:
        until = time.monotonic() + 10
        while len(stuck) < 4 and time.monotonic() < until:
            time.sleep(0.01)
    assert stuck[:4] == [False, False, True, False]
