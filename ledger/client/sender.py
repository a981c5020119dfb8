"""A thread that sends what is put into an outbox, for as long as the terminal works, whatever the link does."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Self

from ledger.client.answers import Refused, Unanswered
from ledger.client.door import Door
from ledger.client.flush import flush
from ledger.client.outbox import Outbox

_LOOK = 1.0
"""Seconds after which it looks into the outbox although nobody woke it: another process may have put something there."""


@dataclass
class Sent:
    """What a sender has come to so far."""

    posts: int = 0
    accepted: int = 0
    replayed: int = 0
    rejected: int = 0
    failures: int = 0
    """Flushes that ended without an answer, or were refused as a whole."""
    failure: Unanswered | Refused | None = None
    """The latest, until an answer comes."""
    silence: float = 0.0
    """Seconds of the longest stretch in which every try failed."""
    stuck: bool = False
    """Whether something waits that a flush could not move; until nothing waits any more."""


class Sender:
    """Flushes an outbox in the background. `with Sender(outbox, door) as sender:` starts it, and sends what waits at the end."""

    def __init__(self, outbox: Outbox, door: Door, *, drain: float = 10.0) -> None:
        """`door` has its own patience for one post; between flushes that failed the pauses are those of its `retry`.

        `drain`: seconds that the end may take to send what still waits, and one post under way. What is left stays in the outbox.
        """
        self.sent = Sent()
        self._outbox = outbox
        self._door = door
        self._drain = drain
        self._changed = threading.Condition()
        self._due = True
        self._ending: float | None = None
        """The moment by which it has to end, once it was told to."""
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="terminal-sender", daemon=True)

    def wake(self) -> None:
        """Something was put into the outbox."""
        with self._changed:
            self._due = True
            self._changed.notify()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ending = time.monotonic() + self._drain
            self._due = True
            self._changed.notify()
        self._thread.join()
        if self._fault is not None:
            raise self._fault

    def _run(self) -> None:
        try:
            self._send()
        except BaseException as fault:  # noqa: BLE001 - raised where the sender is ended
            self._fault = fault

    def _send(self) -> None:
        failing = 0
        silent: float | None = None
        """When the stretch without an answer began, where there is one. What was answered, be it by turning it away, ends it."""
        while True:
            began = time.monotonic()
            done = flush(self._outbox, self._door, stop=self._late)
            self.sent.posts += done.posts
            self.sent.accepted += done.accepted
            self.sent.replayed += done.replayed
            self.sent.rejected += done.rejected
            if done.posts:
                self.sent.failure, silent = None, None
            if done.failure is not None:
                self.sent.failure = done.failure
                self.sent.failures += 1
                silent = began if silent is None else silent
                self.sent.silence = max(self.sent.silence, time.monotonic() - silent)
            tried = done.posts > 0 or done.failure is not None  # else what waits was put in after the flush had looked
            moved = done.judged > 0 or not done.waiting or not tried
            self.sent.stuck = done.waiting > 0 and (self.sent.stuck or not moved)
            failing = 0 if moved else failing + 1
            if self._ended(done.waiting):
                return
            if failing:
                self._rest(self._door.retry.pause(failing, getattr(done.failure, "retry_after", None)))
            else:
                self._await()

    def _late(self) -> bool:
        return self._ending is not None and time.monotonic() >= self._ending

    def _ended(self, waiting: int) -> bool:
        return self._ending is not None and (not waiting or self._late())

    def _rest(self, seconds: float) -> None:
        """Lets the link or the service recover, until it is told to end; then not beyond the end."""
        with self._changed:
            if self._ending is None:
                self._changed.wait_for(lambda: self._ending is not None, seconds)
            else:
                self._changed.wait(max(0.0, min(seconds, self._ending - time.monotonic())))

    def _await(self) -> None:
        """Until there is something to do."""
        with self._changed:
            self._changed.wait_for(lambda: self._due, _LOOK)
            self._due = self._ending is not None
