"""One writer, a queue, a batch, a commit.

Posts come in from many connections at once; a commit costs a flush of the disk however much it holds. So one thread takes all
that was queued since its last commit, has it decided and appended as one group, and answers everybody who waited. What waits is
bounded: beyond that, posts are refused as retryable at once instead of piling up.

Of eight terminals that post as soon as they are answered, the first to come back would have a commit of its own, and the other
seven the next: two flushes where one would do. So a group that was just answered is given a moment to come back, unless what
waits is worth a flush already: then the others' posts are better read while this one is written.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

from ledger.errors import Refusal
from ledger.reports import Report, Verdict

_log = logging.getLogger(__name__)

Post = Callable[[Sequence[Report]], list[Verdict]]
"""Decides and appends a group of reports, durably, and answers each in order; may be given the same report again."""

_REST = 0.5
"""Seconds between two calls of `rest`."""
_PATIENCE = 0.5
"""The longest that a group waits for those just answered, as a part of the time that it took to answer them."""
_WORTH = 40
"""Reports that are worth a flush by themselves: to decide them takes as long as one."""

_Outcome = list[Verdict] | Exception
_Waiting = tuple[Sequence[Report], Callable[[_Outcome], object]]
"""What was submitted, and who is to be told what came of it."""


class Writer:
    """The one caller of `post`. Every method may be called from any thread.

    A post that was taken is carried through whatever becomes of its sender: the answer is then found by the retry.
    """

    def __init__(self, post: Post, *, rest: Callable[[], None] | None = None, capacity: int = 20_000, group: int = 2_000) -> None:
        """`capacity`: reports that may wait; `group`: reports after which a group is full (one submission is never split).

        `rest` is called now and then between two groups, every half second at most, and when there is nothing to do.
        """
        self._post = post
        self._rest = rest
        self._rested = time.monotonic()
        self._capacity = capacity
        self._group = group
        self._worth = min(_WORTH, group)
        self._queue: deque[_Waiting] = deque()
        self._waiting = 0
        self._wanted = 1
        """Submissions in the queue from which on the writer is to be woken."""
        self._expected = 1
        """Submissions that would wait if all who were just answered came back at once."""
        self._patience = 0.0
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="ledger-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Reports that wait for the next commit."""
        return self._waiting

    @property
    def closing(self) -> bool:
        """Whether nothing more is taken."""
        return self._closing

    def submit(self, reports: Sequence[Report]) -> Future[list[Verdict]]:
        """Queue reports; the future holds their verdicts in order once they are durable, or the reason why none is.

        Refuses LGR-0505 where too many wait already or the writer is closing: nothing was taken then.
        """
        future: Future[list[Verdict]] = Future()
        future.set_running_or_notify_cancel()  # from here on nobody can cancel it: what is taken is carried through
        self._enqueue(reports, partial(_tell, future))
        return future

    async def write(self, reports: Sequence[Report]) -> list[Verdict]:
        """As `submit`, for who waits in an event loop: at a third of the cost of two futures of different kinds in a chain."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Verdict]] = loop.create_future()

        def told(outcome: _Outcome) -> None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(_tell, future, outcome)

        self._enqueue(reports, told)
        return await future

    def _enqueue(self, reports: Sequence[Report], told: Callable[[_Outcome], object]) -> None:
        with self._changed:
            if self._closing:
                raise Refusal("LGR-0505", "the service is stopping", help="send it again in a moment; nothing of it was stored")
            if self._queue and self._waiting + len(reports) > self._capacity:
                raise Refusal(
                    "LGR-0505",
                    f"{self._waiting} events wait to be written already",
                    help="send it again in a moment; nothing of it was stored",
                )
            self._queue.append((reports, told))
            self._waiting += len(reports)
            if self._enough():
                self._changed.notify()

    def close(self, timeout: float | None = None) -> bool:
        """Take nothing more, write what waits, stop. False where `timeout` (seconds) was not enough."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (group := self._take()) is not None:
            if group:
                self._write(group)
            if self._rest is not None and time.monotonic() - self._rested >= _REST:
                self._rested = time.monotonic()
                try:
                    self._rest()
                except Exception:  # noqa: BLE001 - as below
                    _log.warning("what is done between two groups failed", exc_info=True)

    def _take(self) -> list[_Waiting] | None:
        """All that waits, up to a full group; empty where nothing came for a while, None once closed and drained."""
        with self._changed:
            self._await(1, None if self._rest is None else _REST)
            if not self._queue and self._closing:
                return None
            if self._queue:
                self._await(self._expected, self._patience)
            taken: list[_Waiting] = []
            size = 0
            while self._queue and (not taken or size + len(self._queue[0][0]) <= self._group):
                taken.append(self._queue.popleft())
                size += len(taken[-1][0])
            self._waiting -= size
            return taken

    def _await(self, submissions: int, timeout: float | None) -> None:
        """Lets others at the queue until so many submissions wait in it, or for `timeout` seconds."""
        self._wanted = submissions
        self._changed.wait_for(self._enough, timeout)

    def _enough(self) -> bool:
        return len(self._queue) >= self._wanted or self._waiting >= self._worth or self._closing

    def _write(self, group: list[_Waiting]) -> None:
        began = time.monotonic()
        reports = [report for submission, _ in group for report in submission]
        try:
            verdicts = self._decide(reports)
        except Refusal as refusal:
            # Said of the whole group (the database is away, the disk is full): it would be said of each.
            for _, told in group:
                told(refusal)
        except Exception as fault:  # noqa: BLE001 - the thread must outlive any fault, and who waits is told
            if len(group) == 1:
                group[0][1](fault)  # whoever waits logs it
                return
            # One submission spoils the group, and nobody knows which: each by itself, so that only that one fails. Where the
            # group had been appended after all, each is found and answered as replayed.
            _log.warning("a group of %d posts failed; writing them one by one", len(group), exc_info=True)
            for waiting in group:
                self._write([waiting])
        else:
            self._expected, self._patience = len(self._queue) + len(group), _PATIENCE * (time.monotonic() - began)
            start = 0
            for submission, told in group:
                told(verdicts[start : start + len(submission)])
                start += len(submission)

    def _decide(self, reports: list[Report]) -> list[Verdict]:
        verdicts = self._post(reports)
        if len(verdicts) != len(reports):
            raise RuntimeError(f"{len(reports)} reports had {len(verdicts)} verdicts")
        return verdicts


def _tell(future: Future[list[Verdict]] | asyncio.Future[list[Verdict]], outcome: _Outcome) -> None:
    if future.done():
        return  # who waited in an event loop has left
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
