"""One writer, a queue, a batch, a commit.

Posts come in from many connections at once; a commit costs a flush of the disk however much it holds. So one thread takes all
that was queued since its last commit, has it decided and appended as one group, and answers everybody who waited. What waits is
bounded: beyond that, posts are refused as retryable at once instead of piling up.

Of eight terminals that post as soon as they are answered, the first to come back would have a commit of its own, and the other
seven the next: two flushes where one would do. So a group that was just answered is given a moment to come back, unless what
waits is worth a flush already: then the others' posts are better read while this one is written.

Who waits in an event loop is answered without the thread wherever nothing but the commit has to be waited for: to hand a post to
a thread and its answer back takes as long as to decide it. Such a group is afloat: begun in the loop, and ended there when the
database has answered. The thread has what is left: what has to wait for anything else, and what other threads submit. There is
one group at a time, afloat or in the thread, and what comes meanwhile waits in the one queue.
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
from typing import NamedTuple, Protocol

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

_TICK = 0.001
"""Seconds below which no loop counts: who would be waited for so shortly is not."""

_Outcome = list[Verdict] | Exception


class Begun(Protocol):
    """A group that is afloat; see `ledger.application.rounds.Begun`."""

    @property
    def descriptor(self) -> int | None:
        """What can be read when there may be verdicts; None where only `finish` has them."""

    def ended(self) -> list[Verdict] | None:
        """The verdicts, if they are there; waits for nothing."""

    def finish(self) -> list[Verdict]:
        """The verdicts, whatever has to be waited for."""


Begin = Callable[[Sequence[Report]], Begun | None]
"""Begins what `Post` does, as far as that takes no waiting; None where it has not begun."""


class _Waiting(NamedTuple):
    """What was submitted, and who is to be told what came of it."""

    reports: Sequence[Report]
    future: Future[list[Verdict]] | asyncio.Future[list[Verdict]]
    loop: asyncio.AbstractEventLoop | None
    """The loop in which the future is waited for; None of one that may be told from any thread."""

    def tell(self, outcome: _Outcome, *, here: asyncio.AbstractEventLoop | None = None) -> None:
        """Tells whoever waits; `here`: the loop that this runs in."""
        if self.loop is None or self.loop is here:
            _tell(self.future, outcome)
        else:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                self.loop.call_soon_threadsafe(_tell, self.future, outcome)


class _Taken(NamedTuple):
    """A group for the thread."""

    group: list[_Waiting]
    begun: Begun | None = None
    loop: asyncio.AbstractEventLoop | None = None
    """The loop that handed it over, and has the next one."""


class Writer:
    """The one caller of `post`. Every method may be called from any thread.

    A post that was taken is carried through whatever becomes of its sender: the answer is then found by the retry.
    """

    def __init__(
        self,
        post: Post,
        *,
        begin: Begin | None = None,
        rest: Callable[[], None] | None = None,
        capacity: int = 20_000,
        group: int = 2_000,
    ) -> None:
        """With `begin`, groups of who waits in an event loop are begun there. `capacity`: reports that may wait; `group`: reports
        after which a group is full (one submission is never split).

        `rest` is called now and then between two groups, every half second at most, and when there is nothing to do.
        """
        self._post = post
        self._begin = begin
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
        self._afloat = False
        """Whether a loop has a group, or has the next one."""
        self._handed: _Taken | None = None
        """What was afloat and goes on in the thread."""
        self._busy = False
        """Whether it is the thread's turn: what comes meanwhile waits for it, or for the loop that handed its group over."""
        self._timer: asyncio.TimerHandle | None = None
        """Of a loop that gives those who were just answered a moment to come back."""
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
        self._enqueue(_Waiting(reports, future, None))
        return future

    async def write(self, reports: Sequence[Report]) -> list[Verdict]:
        """As `submit`, for who waits in an event loop: at a third of the cost of two futures of different kinds in a chain."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Verdict]] = loop.create_future()
        self._enqueue(_Waiting(reports, future, loop))
        return await future

    def _enqueue(self, waiting: _Waiting) -> None:
        reports = waiting.reports
        with self._changed:
            if self._closing:
                raise Refusal("LGR-0505", "the service is stopping", help="send it again in a moment; nothing of it was stored")
            if self._queue and self._waiting + len(reports) > self._capacity:
                raise Refusal(
                    "LGR-0505",
                    f"{self._waiting} events wait to be written already",
                    help="send it again in a moment; nothing of it was stored",
                )
            self._queue.append(waiting)
            self._waiting += len(reports)
            if waiting.loop is not None and self._begin is not None and not self._busy:
                self._wake(waiting.loop)
            elif self._due():
                self._changed.notify()

    def close(self, timeout: float | None = None) -> bool:
        """Take nothing more, write what waits, stop. False where `timeout` (seconds) was not enough."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    # The thread.

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            if taken.group:
                self._write(taken.group, taken.begun)
            # Never while a group is afloat: it has what `rest` would wait for, and may need this thread to come to its end.
            if self._rest is not None and self._busy and self._rest_is_due():
                self._rested = time.monotonic()
                try:
                    self._rest()
                except Exception:  # noqa: BLE001 - as below
                    _log.warning("what is done between two groups failed", exc_info=True)
            self._give_back(taken.loop)

    def _rest_is_due(self) -> bool:
        return self._rest is not None and time.monotonic() - self._rested >= _REST

    def _take(self) -> _Taken | None:
        """What was handed over, or all that waits, up to a full group.

        Nothing where nothing came for a while; None once closed and drained.
        """
        with self._changed:
            self._await(1, None if self._rest is None else _REST)
            taken, self._handed = self._handed or _Taken([]), None
            if not taken.group and not self._afloat:
                if not self._queue and self._closing:
                    return None
                if self._queue:
                    self._await(self._expected, self._patience)
                if not self._afloat:  # while it waited a loop may have begun
                    taken = _Taken(self._next_group())
            self._busy = bool(taken.group) or not self._afloat
            return taken

    def _await(self, submissions: int, timeout: float | None) -> None:
        """Lets others at the queue until so many submissions wait in it, or for `timeout` seconds."""
        self._wanted = submissions
        self._changed.wait_for(self._due, timeout)

    def _due(self) -> bool:
        """Whether the thread has something to do."""
        return self._handed is not None or (not self._afloat and self._enough(self._wanted))

    def _enough(self, submissions: int) -> bool:
        return len(self._queue) >= submissions or self._waiting >= self._worth or self._closing

    def _next_group(self) -> list[_Waiting]:
        taken: list[_Waiting] = []
        size = 0
        while self._queue and (not taken or size + len(self._queue[0].reports) <= self._group):
            taken.append(self._queue.popleft())
            size += len(taken[-1].reports)
        self._waiting -= size
        return taken

    def _give_back(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """The thread has done what it had; what was handed over by a loop goes on there."""
        with self._changed:
            self._busy = False
            if loop is not None:
                try:
                    loop.call_soon_threadsafe(self._go, loop)
                except RuntimeError:  # it has ended
                    self._afloat = False

    def _write(self, group: list[_Waiting], begun: Begun | None = None) -> None:
        began = time.monotonic()
        try:
            verdicts = self._decide([report for each in group for report in each.reports], begun)
        except Refusal as refusal:
            # Said of the whole group (the database is away, the disk is full): it would be said of each.
            for each in group:
                each.tell(refusal)
        except Exception as fault:  # noqa: BLE001 - the thread must outlive any fault, and who waits is told
            if len(group) == 1:
                group[0].tell(fault)  # whoever waits logs it
                return
            # One submission spoils the group, and nobody knows which: each by itself, so that only that one fails. Where the
            # group had been appended after all, each is found and answered as replayed.
            _log.warning("a group of %d posts failed; writing them one by one", len(group), exc_info=True)
            for each in group:
                self._write([each])
        else:
            self._answer(group, verdicts, began)

    def _decide(self, reports: list[Report], begun: Begun | None) -> list[Verdict]:
        verdicts = self._post(reports) if begun is None else begun.finish()
        if len(verdicts) != len(reports):
            raise RuntimeError(f"{len(reports)} reports had {len(verdicts)} verdicts")
        return verdicts

    def _answer(
        self, group: list[_Waiting], verdicts: list[Verdict], began: float, here: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._expected, self._patience = len(self._queue) + len(group), _PATIENCE * (time.monotonic() - began)
        start = 0
        for each in group:
            each.tell(verdicts[start : start + len(each.reports)], here=here)
            start += len(each.reports)

    # The loop.

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        """Something waits in the queue for a group of the loop, in which this runs."""
        if not self._afloat:
            self._afloat = True
            if self._patience < _TICK or self._enough(self._expected):
                loop.call_soon(self._go, loop)  # with what else comes in this turn
            else:
                self._timer = loop.call_later(self._patience, self._go, loop)
        elif self._timer is not None and self._enough(self._expected):
            self._timer.cancel()
            self._timer = None
            loop.call_soon(self._go, loop)

    def _go(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins the next group."""
        with self._changed:
            self._timer = None
            group = self._next_group()
            if not group:
                self._afloat = False
                if self._closing:
                    self._changed.notify()
                return
        began, begun = time.monotonic(), None
        try:
            if self._begin is not None and not self._rest_is_due():  # which is the thread's to do, after this group
                begun = self._begin([report for each in group for report in each.reports])
        except Exception:  # noqa: BLE001 - as in the thread, which tries once more
            _log.warning("a group of %d posts failed", len(group), exc_info=True)
        if begun is None or begun.descriptor is None:
            self._hand_over(_Taken(group, begun, loop))
        else:
            self._watch(begun.descriptor, _Taken(group, begun, loop), began)

    def _watch(self, descriptor: int, taken: _Taken, began: float) -> None:
        assert taken.loop is not None
        taken.loop.add_reader(descriptor, self._look, descriptor, taken, began)

    def _look(self, descriptor: int, taken: _Taken, began: float) -> None:
        """Something has come from the database."""
        group, begun, loop = taken
        assert begun is not None
        assert loop is not None
        loop.remove_reader(descriptor)  # once it is lost it is closed
        verdicts = begun.ended()
        if verdicts is not None:
            self._answer(group, verdicts, began, loop)
            self._go(loop)
        elif begun.descriptor is None:
            self._hand_over(taken)
        else:
            self._watch(descriptor, taken, began)

    def _hand_over(self, taken: _Taken) -> None:
        with self._changed:
            self._handed = taken
            self._changed.notify()


def _tell(future: Future[list[Verdict]] | asyncio.Future[list[Verdict]], outcome: _Outcome) -> None:
    if future.done():
        return  # who waited in an event loop has left
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
