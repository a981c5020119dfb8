"""Wake-ups: a reader in another process hears of an append at once instead of at its next look.

A NOTIFY says nothing but that there is something new, so no payload can be too long, one may stand for many appends, and one that
is lost costs a reader the wait until its next look and no event. It never travels with an append: its commit takes a lock of the
whole cluster, and appends would wait for each other's flush. A thread of the writing process sends it after the commit, in a
transaction of its own that flushes nothing, some fifty times a second at most, and more rarely where the server is busy.
"""

from __future__ import annotations

import logging
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Self

import psycopg

from ledger.store import waits
from ledger.store.session import Session

_log = logging.getLogger(__name__)

CHANNEL = "ledger"

_GAP, _GAP_LONGEST = 0.02, 0.4
"""Seconds from one wake-up to the next of the same process: what is appended meanwhile shares one."""
_SHARE = 0.01
"""The part of its time for which a bell occupies the server, at most. One that takes long says that there is enough to do, and
readers who find something at each look need nobody to wake them."""
_RETRY = 0.2
_RETRY_LONGEST = 5.0
_FAREWELL = 1.0
"""Seconds that whoever closes a bell waits for its last wake-up, for which a server that is away may keep it waiting."""

_WAKE = b"wake"


class Bell:
    """Wakes the readers of all processes after appends of this one. Its thread and session begin with the first ring.

    Best effort: where the server is away nobody is woken, and nobody who rings is told or kept waiting.
    """

    def __init__(self, conninfo: str) -> None:
        self._session = Session(conninfo, {_WAKE: f"NOTIFY {CHANNEL}".encode()}, _configured, "roundledger bell")
        self._changed = threading.Condition()
        self._rung = False
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def ring(self) -> None:
        """Says that something was appended and committed. Costs next to nothing; from any thread."""
        if self._rung:
            return
        with self._changed:
            self._rung = True
            self._changed.notify()
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="bell", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Sends what was rung and not yet sent, if that is soon done, and ends."""
        with self._changed:
            self._closing.set()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_FAREWELL)

    def _run(self) -> None:
        while self._ringing():
            try:
                self._session.open()
                began = time.monotonic()
                self._session.call(_WAKE, ())
                gap = min(max(_GAP, (time.monotonic() - began) / _SHARE), _GAP_LONGEST)
            except psycopg.Error as error:
                _log.warning("readers in other processes are not woken, they look by themselves: %s", error)
                gap = _GAP_LONGEST
            self._closing.wait(gap)
        self._session.close()

    def _ringing(self) -> bool:
        """Waits for a ring; False where none came before the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._rung or self._closing.is_set())
            rung, self._rung = self._rung, False
            return rung


def _configured(conn: psycopg.Connection[Any]) -> None:
    waits.bound(conn)
    conn.execute("SET synchronous_commit = off")  # there is nothing to be kept


class Listener:
    """Calls `heard` at every wake-up, in a thread of its own, during the block; and each time that it begins to listen, since
    what came before was not heard. `heard` must be quick and may be called for nothing.

    A lost session is replaced after a pause; until then whoever relies on it looks by himself, as he always does now and then.
    """

    def __init__(self, dsn: str, heard: Callable[[], None]) -> None:
        self._conninfo = waits.patient(dsn)
        self._heard = heard
        self._leaving = threading.Event()
        self._here, self._there = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Ends it, without waiting for a server that is away. Once; from any thread."""
        self._leaving.set()
        self._here.close()
        self._thread.join(_FAREWELL)

    def _run(self) -> None:
        pause = _RETRY
        with self._there:
            while not self._leaving.is_set():
                try:
                    with psycopg.connect(self._conninfo, autocommit=True, application_name="roundledger listener") as conn:
                        conn.execute(f"LISTEN {CHANNEL}".encode())
                        pause = _RETRY
                        self._listen(conn)
                except psycopg.Error as error:
                    _log.warning("wake-ups are not heard, the log is looked at now and then; again in %.1f s: %s", pause, error)
                    self._leaving.wait(pause)
                    pause = min(pause * 2, _RETRY_LONGEST)

    def _listen(self, conn: psycopg.Connection[Any]) -> None:
        self._heard()
        poll = select.poll()
        poll.register(conn.fileno(), select.POLLIN)
        poll.register(self._there, select.POLLIN)
        while not self._leaving.is_set():
            poll.poll()
            libpq = conn.pgconn
            libpq.consume_input()
            if libpq.notifies() is not None:
                while libpq.notifies() is not None:
                    pass
                self._heard()
