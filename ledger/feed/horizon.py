"""The horizon of a process's followers: one look at the log's end for all of them, and none while nobody follows."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from ledger.store import log, waits
from ledger.store.wake import Listener

_log = logging.getLogger(__name__)

_POLL = 0.05
_POLL_IDLE = 0.4
_PAUSE = 0.005
_RETRY = 1.0
_LEAVE = 5.0


class Horizon:
    """Up to where the log at `dsn` can be read without ever missing an event, and who is told when that moves."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._turn = threading.Lock()
        self._tail = log.Tail()
        self._conn: psycopg.Connection[Any] | None = None
        self._changed = threading.Condition()
        self._followers: list[Callable[[], None]] = []
        self._awake = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None

    def final(self) -> int:
        """The position up to which everything is final; never waits for a writer. Raises psycopg.OperationalError."""
        with self._turn:
            if self._conn is None or self._conn.closed:
                self._conn = psycopg.connect(waits.patient(self._dsn), autocommit=True, application_name="roundledger feed")
                self._conn.execute(f"SET statement_timeout = '{waits.POOL}s'")
            try:
                return self._tail.final(self._conn)
            except psycopg.OperationalError:
                self._conn.close()
                raise

    def head(self, patience: float) -> int:
        """As `final`, at or above all that was committed before the call unless an older writer takes longer than `patience`."""
        deadline = time.monotonic() + patience
        asked_before = self._tail.waiting
        final = self._answered(deadline)
        # What was asked before this call says nothing of what was committed since.
        return self._answered(deadline) if asked_before else final

    def _answered(self, deadline: float) -> int:
        final = self.final()
        while self._tail.waiting and time.monotonic() < deadline:
            time.sleep(_PAUSE)
            final = self.final()
        return final

    @contextmanager
    def following(self, heard: Callable[[], None]) -> Iterator[None]:
        """Calls `heard` each time that the horizon may have moved, during the block. It must be quick; from another thread."""
        with self._changed:
            self._followers.append(heard)
            if self._thread is None and not self._closing:
                self._thread = threading.Thread(target=self._run, name="feed-horizon", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._followers.remove(heard)

    def close(self) -> None:
        """Nobody is told anything any more."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._awake.set()
        if self._thread is not None:
            self._thread.join(_LEAVE)
        with self._turn:
            if self._conn is not None:
                self._conn.close()

    def _run(self) -> None:
        told, wait = -1, _POLL
        with Listener(self._dsn, self._awake.set):
            while self._wanted():
                self._awake.clear()
                try:
                    final = self.final()
                except psycopg.Error as error:
                    _log.warning("the log's end is not known to the feed: %s", error)
                    told = -1  # afterwards whoever follows looks what became of the log
                    self._awake.wait(_RETRY)
                    continue
                if final != told:
                    told, wait = final, _POLL
                    self._tell()
                    continue
                self._awake.wait(wait)
                wait = min(wait * 2, _POLL_IDLE)

    def _tell(self) -> None:
        with self._changed:
            for heard in self._followers:
                heard()

    def _wanted(self) -> bool:
        """Waits for somebody who follows; False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._followers or self._closing)
            return not self._closing
