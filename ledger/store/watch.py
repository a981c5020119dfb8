"""The embedded server comes back while somebody uses it: a process that holds it looks after it and starts it when it died.

Died means killed: by the kernel for want of memory, or by a hand. A server that was told to stop stays down. Several users may
look after one server; the lock on starting and stopping lets one of them start it, and the others find it running.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Protocol, Self

from ledger.errors import Refusal

_log = logging.getLogger(__name__)

_LOOK = 0.25
"""Seconds between two looks: reading a small file and asking the kernel for one process."""
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_STEADY = 60.0
"""Seconds after which a server that came back counts as well, so that the next start is tried without a pause."""


class Mortal(Protocol):
    """What is looked after: see `ledger.store.embedded.EmbeddedPostgres`."""

    def died(self) -> bool: ...

    def revive(self, *, again: bool = False) -> None: ...


class Watch:
    """Looks after the server during the block, in a thread of its own.

    A start is tried at once, and again after pauses that double up to half a minute where it fails or the server dies soon again.
    """

    def __init__(self, server: Mortal) -> None:
        self._server = server
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._run, name="postgres-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self._thread.join()

    def _run(self) -> None:
        failed, pause, since = False, 0.0, time.monotonic()
        while not self._leaving.wait(_LOOK):
            if not failed and not self._server.died():
                continue
            begun = time.monotonic()
            if begun - since > _STEADY:
                pause = 0.0
            if not failed:
                _log.warning("Postgres died; it is started again%s", f" in {pause:g} s" if pause else "")
            if self._leaving.wait(pause):
                return
            pause = min(max(pause * 2, _FIRST_PAUSE), _LONGEST_PAUSE)
            try:
                self._server.revive(again=failed)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next try may succeed, and nobody else would try
                failed = True
                _log.error("Postgres did not start; next try in %g s: %s", pause, _told(error))
            else:
                failed, since = False, time.monotonic()
                _log.info("Postgres runs again, after %.1f s", since - begun)


def _told(error: Exception) -> str:
    return f"{error}; {error.help}" if isinstance(error, Refusal) and error.help else str(error)
