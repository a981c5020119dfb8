"""The writer: one caller, groups, a bounded queue, and nobody left without an answer."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from ledger.errors import Refusal
from ledger.reports import CloseBetting, Report, Verdict
from ledger.writer import Post, Writer

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def reports(count: int, terminal: str = "T-R01") -> list[Report]:
    return [
        Report(
            event_id=uuid4(),
            terminal=terminal,
            type="roundledger.BettingClosed.v1",
            round=UUID(int=1),
            occurred_at=NOW,
            received_at=NOW,
            fingerprint=b"",
            body=CloseBetting(),
        )
        for _ in range(count)
    ]


class Store:
    """Keeps what it was asked to write, and waits at the gate before each group."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.groups: list[list[UUID]] = []
        self.entered = threading.Semaphore(0)

    def post(self, group: Sequence[Report]) -> list[Verdict]:
        self.groups.append([report.event_id for report in group])
        self.entered.release()
        assert self.gate.wait(10)
        return [
            Verdict(event_id=report.event_id, status="accepted", round=report.round, positions=(n,))
            for n, report in enumerate(group)
        ]


@contextmanager
def running(post: Post, *, capacity: int = 20_000, group: int = 2_000) -> Iterator[Writer]:
    writer = Writer(post, capacity=capacity, group=group)
    writer.start()
    try:
        yield writer
    finally:
        assert writer.close(10)


def test_all_that_waits_goes_into_one_group_and_each_gets_its_own_answer() -> None:
    store = Store()
    with running(store.post) as writer:
        first = writer.submit(reports(1))
        assert store.entered.acquire(timeout=10)
        sent = [reports(n) for n in (3, 1, 2)]
        waiting = [writer.submit(each) for each in sent]
        assert writer.waiting == 6
        store.gate.set()
        answers = [future.result(10) for future in waiting]
        first.result(10)
    assert [len(group) for group in store.groups] == [1, 6]
    assert [[verdict.event_id for verdict in answer] for answer in answers] == [[r.event_id for r in each] for each in sent]


def test_a_group_is_bounded_but_no_submission_is_split() -> None:
    store = Store()
    with running(store.post, group=4) as writer:
        writer.submit(reports(1))
        assert store.entered.acquire(timeout=10)
        for n in (3, 2, 9, 1):
            writer.submit(reports(n))
        store.gate.set()
    assert [len(group) for group in store.groups] == [1, 3, 2, 9, 1]


def test_what_waits_is_bounded_and_refused_as_retryable() -> None:
    store = Store()
    with running(store.post, capacity=10) as writer:
        writer.submit(reports(1))
        assert store.entered.acquire(timeout=10)
        taken = writer.submit(reports(10))
        with pytest.raises(Refusal) as caught:
            writer.submit(reports(1))
        assert caught.value.code == "LGR-0505"
        assert caught.value.meaning.retryable
        store.gate.set()
        assert len(taken.result(10)) == 10
    assert [len(group) for group in store.groups] == [1, 10]


def test_closing_writes_what_waits_and_takes_nothing_more() -> None:
    store = Store()
    writer = Writer(store.post)
    writer.start()
    waiting = [writer.submit(reports(1)) for _ in range(5)]
    assert not writer.close(0.01)
    with pytest.raises(Refusal) as caught:
        writer.submit(reports(1))
    assert caught.value.code == "LGR-0505"
    store.gate.set()
    assert writer.close(10)
    assert all(future.result(0)[0].status == "accepted" for future in waiting)


def test_those_who_were_just_answered_share_the_next_commit() -> None:
    sizes: list[int] = []

    def post(group: Sequence[Report]) -> list[Verdict]:
        sizes.append(len(group))
        time.sleep(0.3)
        return [Verdict(event_id=report.event_id, status="accepted", round=report.round) for report in group]

    writer = Writer(post)
    first = [writer.submit(reports(1)) for _ in range(4)]

    def play(answer: Future[list[Verdict]], late: float) -> None:
        for _ in range(2):
            answer.result(10)
            time.sleep(late)  # nobody is back at once, and all are within the moment that they are given
            answer = writer.submit(reports(1))
        answer.result(10)

    players = [threading.Thread(target=play, args=(answer, 0.01 * n)) for n, answer in enumerate(first)]
    for player in players:
        player.start()
    writer.start()
    for player in players:
        player.join(10)
    assert writer.close(10)
    assert sizes == [4, 4, 4]


def test_nobody_waits_long_for_those_who_do_not_come_back() -> None:
    moments: list[float] = []

    def post(group: Sequence[Report]) -> list[Verdict]:
        time.sleep(0.1)
        moments.append(time.monotonic())
        return [Verdict(event_id=report.event_id, status="accepted", round=report.round) for report in group]

    writer = Writer(post)
    for answer in [writer.submit(reports(1)) for _ in range(3)]:
        if not moments:
            writer.start()
        answer.result(10)
    sent = time.monotonic()
    writer.submit(reports(1)).result(10)
    assert writer.close(10)
    assert len(moments) == 2
    assert moments[1] - sent < 1.0


def test_what_was_taken_cannot_be_cancelled() -> None:
    store = Store()
    with running(store.post) as writer:
        future = writer.submit(reports(1))
        assert not future.cancel()
        store.gate.set()
        assert future.result(10)[0].status == "accepted"


def test_one_that_spoils_the_group_fails_alone() -> None:
    store = Store()
    store.gate.set()

    def post(group: Sequence[Report]) -> list[Verdict]:
        if any(report.terminal == "T-BAD" for report in group):
            raise ZeroDivisionError
        return store.post(group)

    writer = Writer(post)
    good, bad, other = writer.submit(reports(2)), writer.submit(reports(1, "T-BAD")), writer.submit(reports(1))
    writer.start()
    assert len(good.result(10)) == 2
    assert isinstance(bad.exception(10), ZeroDivisionError)
    assert len(other.result(10)) == 1
    assert writer.submit(reports(1)).result(10)[0].status == "accepted"
    assert writer.close(10)


def test_a_refusal_of_the_group_is_everybody_s_answer() -> None:
    calls = []

    def post(group: Sequence[Report]) -> list[Verdict]:
        calls.append(len(group))
        raise Refusal("LGR-0501", "the database did not answer")

    writer = Writer(post)
    waiting = [writer.submit(reports(1)) for _ in range(3)]
    writer.start()
    for future in waiting:
        refusal = future.exception(10)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "LGR-0501"
    assert writer.close(10)
    assert calls == [3]


def test_an_answer_too_few_is_a_fault_and_not_a_shifted_answer() -> None:
    with running(lambda group: []) as writer:
        assert isinstance(writer.submit(reports(1)).exception(10), RuntimeError)


def test_who_waits_in_an_event_loop_is_answered_too_and_may_leave() -> None:
    store = Store()

    async def wait(writer: Writer) -> list[Verdict]:
        left = asyncio.create_task(writer.write(reports(1)))
        await asyncio.sleep(0)
        left.cancel()
        stayed = asyncio.create_task(writer.write(reports(2)))
        await asyncio.sleep(0)
        store.gate.set()
        return await stayed

    with running(store.post) as writer:
        assert len(asyncio.run(wait(writer))) == 2
    assert sum(map(len, store.groups)) == 3


def test_a_loop_that_has_ended_leaves_the_writer_alive() -> None:
    store = Store()
    with running(store.post) as writer:

        async def wait() -> None:
            waiting = asyncio.create_task(writer.write(reports(1)))
            await asyncio.sleep(0)
            waiting.cancel()

        asyncio.run(wait())
        store.gate.set()
        assert len(writer.submit(reports(1)).result(10)) == 1


# Afloat: groups of who waits in an event loop.


class Afloat:
    """A store whose groups are begun without waiting, and end when something can be read from their descriptor."""

    def __init__(self) -> None:
        self.begun: list[list[UUID]] = []
        self.finished: list[list[UUID]] = []
        self.posted: list[list[UUID]] = []
        self.threads: list[str] = []
        self.ends: list[int] = []
        self.waits: set[UUID] = set()
        """Reports that take waiting: from the beginning."""
        self.waits_then: set[UUID] = set()
        """At their end."""

    def begin(self, group: Sequence[Report]) -> _Begun:
        self.begun.append([report.event_id for report in group])
        return _Begun(self, group)

    def post(self, group: Sequence[Report]) -> list[Verdict]:
        self.posted.append([report.event_id for report in group])
        return verdicts_of(group)


class _Begun:
    def __init__(self, store: Afloat, group: Sequence[Report]) -> None:
        self._store, self._group = store, group
        self.descriptor: int | None = None
        if not store.waits.intersection(report.event_id for report in group):
            self.descriptor, end = os.pipe()
            store.ends.append(end)

    def ended(self) -> list[Verdict] | None:
        assert self.descriptor is not None
        os.close(self.descriptor)
        self.descriptor = None
        if self._store.waits_then.intersection(report.event_id for report in self._group):
            return None
        self._store.threads.append(threading.current_thread().name)
        return verdicts_of(self._group)

    def finish(self) -> list[Verdict]:
        self._store.finished.append([report.event_id for report in self._group])
        self._store.threads.append(threading.current_thread().name)
        return verdicts_of(self._group)


def verdicts_of(group: Sequence[Report]) -> list[Verdict]:
    return [Verdict(event_id=report.event_id, status="accepted", round=report.round) for report in group]


def afloat(store: Afloat, test: Callable[[Writer], Awaitable[None]]) -> None:
    """Runs a test in a loop, with a writer; the database answers at once, whatever is begun."""

    async def run() -> None:
        writer = Writer(store.post, begin=store.begin)
        writer.start()
        answering = asyncio.create_task(answer())
        try:
            await asyncio.wait_for(test(writer), 20)
            assert await asyncio.to_thread(writer.close, 10)
        finally:
            answering.cancel()

    async def answer() -> None:
        while True:
            while store.ends:
                os.close(store.ends.pop())
            await asyncio.sleep(0.001)

    asyncio.run(run())


def test_who_waits_in_a_loop_is_answered_there_and_what_comes_meanwhile_is_the_next_group() -> None:
    store = Afloat()

    async def test(writer: Writer) -> None:
        posts = [reports(2) for _ in range(10)]
        answers = await asyncio.gather(*(writer.write(post) for post in posts))
        assert [[verdict.event_id for verdict in answer] for answer in answers] == [[r.event_id for r in post] for post in posts]
        await writer.write(reports(1))

    afloat(store, test)
    assert [len(group) for group in store.begun] == [20, 1]
    assert set(store.threads) == {"MainThread"}
    assert not store.finished
    assert not store.posted


def test_what_takes_waiting_is_finished_by_the_thread_and_the_loop_goes_on() -> None:
    store = Afloat()
    first, second, third = (reports(1) for _ in range(3))
    store.waits, store.waits_then = {first[0].event_id}, {second[0].event_id}

    async def test(writer: Writer) -> None:
        for post in (first, second, third):
            assert [verdict.event_id for verdict in await writer.write(post)] == [post[0].event_id]

    afloat(store, test)
    assert store.finished == [[first[0].event_id], [second[0].event_id]]
    assert store.threads == ["ledger-writer", "ledger-writer", "MainThread"]


def test_what_cannot_be_begun_is_posted_and_so_is_what_is_submitted() -> None:
    store = Afloat()
    plain = reports(1)

    def begin(group: Sequence[Report]) -> _Begun | None:
        if group[0].event_id == plain[0].event_id:
            return None
        raise RuntimeError("a fault")

    async def test(writer: Writer) -> None:
        await writer.write(plain)
        await writer.write(reports(1))
        submitted = [writer.submit(reports(1)) for _ in range(5)]
        written = [asyncio.create_task(writer.write(reports(1))) for _ in range(5)]
        await asyncio.gather(*written, *map(asyncio.wrap_future, submitted))

    store.begin = begin  # type: ignore[method-assign,assignment]  # as a test double
    afloat(store, test)
    assert sum(map(len, store.posted)) == 12


def test_at_the_end_what_is_afloat_and_what_waits_behind_it_is_written() -> None:
    store = Afloat()

    async def test(writer: Writer) -> None:
        first = asyncio.create_task(writer.write(reports(1)))
        await asyncio.sleep(0)  # it is written
        await asyncio.sleep(0)  # it is begun
        second = asyncio.create_task(writer.write(reports(1)))
        await asyncio.sleep(0)
        assert await asyncio.to_thread(writer.close, 10)
        with pytest.raises(Refusal, match="stopping"):
            await writer.write(reports(1))
        await asyncio.gather(first, second)

    afloat(store, test)
    assert [len(group) for group in store.begun] == [1, 1]


def test_what_is_done_between_two_groups_waits_for_none_that_needs_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that is afloat has what `rest` takes, and may need the thread to come to its end."""
    monkeypatch.setattr("ledger.writer._REST", 0.02)
    held, rested = threading.Lock(), threading.Semaphore(0)
    store = Afloat()

    class Held(_Begun):
        def finish(self) -> list[Verdict]:
            held.release()
            return super().finish()

    def begin(group: Sequence[Report]) -> _Begun | None:
        store.waits_then = {report.event_id for report in group}
        return Held(store, group) if held.acquire(blocking=False) else None

    def rest() -> None:
        with held:
            rested.release()

    async def run() -> None:
        writer = Writer(store.post, begin=begin, rest=rest)
        writer.start()
        for _ in range(20):
            answer = asyncio.create_task(writer.write(reports(1)))
            await asyncio.sleep(0.03)
            while store.ends:
                os.close(store.ends.pop())
            await asyncio.wait_for(answer, 10)
        assert await asyncio.to_thread(rested.acquire, timeout=10)
        assert await asyncio.to_thread(writer.close, 10)

    asyncio.run(run())
    assert store.finished
