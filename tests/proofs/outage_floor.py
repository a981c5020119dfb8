"""The floor of `prove outage`: a day of many tables by a made-up clock, through real outboxes, a real link and a real door.

Only the clock is made up, the service's and the terminals'. Events happen at moments of a script; once a minute every terminal
tries to send what its outbox holds, through a network that can be cut.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Queue
from random import Random
from typing import NamedTuple
from uuid import UUID

import psycopg
from psycopg import conninfo, sql

from ledger.api.serve import opened
from ledger.application import Rounds
from ledger.client import Door, Event, Flushed, Outbox, Queued, Retry, flush, happened
from ledger.property import OptIn, Property, Table
from ledger.reports import CloseBetting, OpenRound, PlaceBet, RecordOutcome
from ledger.store import migrate
from tests.faults.proxy import POST, Link
from tests.proofs.audit import Books

TABLES = 12
EMPTY = "empty"
"""The database with a ledger in which nothing was played yet."""
TICK = timedelta(minutes=1)
VAIN = timedelta(minutes=5)
"""How often a terminal tries although the link is down."""
LAST = timedelta(seconds=59)
"""What happens within a minute is sent in its last second."""
_GAMES = ("roulette", "cussec", "fantan")
_SPOTS = {
    "roulette": ("red", "odd", "dozen:2", "straight:17", "corner:16-17-19-20"),
    "cussec": ("small", "big", "total:9", "any_triple"),
    "fantan": ("fan:1", "nim:1/3", "kuoc:12", "sshong:123"),
}


def table(number: int) -> Table:
    game = _GAMES[number % len(_GAMES)]
    return Table(f"T{number + 1:02}", "A", game, "MOP", "0.01")


def terminal(number: int) -> str:
    return f"X-{table(number).id}"


HOUSE = Property(
    id="PROOF",
    name="Proof",
    zone="Asia/Macau",
    gaming_day_start="06:00",
    clock_tolerance=120,
    tables=tuple(map(table, range(TABLES))),
    opt_ins=(OptIn("30/2003", "a proof", "nobody"), OptIn("31/2003", "a proof", "nobody")),
)


def house(admin: str) -> None:
    """Makes the ledger of this house that the days are copies of."""
    dsn = copied(admin, "template1", EMPTY)
    migrate.init(dsn)
    with closing(Rounds(dsn)) as rounds:
        rounds.apply_property(HOUSE)


def copied(admin: str, source: str, name: str) -> str:
    """A copy of a database that nobody uses at the moment; its connection string."""
    with psycopg.connect(admin, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(source)))
    return conninfo.make_conninfo(admin, dbname=name)


# ---------------------------------------------------------------------------------------------------------------------- script


class Script(NamedTuple):
    """What happens at which terminal, by the terminals' clocks, and when the link is down."""

    begin: datetime
    cut: datetime
    back: datetime
    end: datetime
    events: Sequence[Sequence[Event]]
    """By terminal, in order."""

    @property
    def ids(self) -> set[UUID]:
        """All events."""
        return {event.id for events in self.events for event in events}


def script(begin: datetime, cut: datetime, back: datetime, end: datetime, *, every: timedelta, seed: int) -> Script:
    """A round at each table about every so often; the last ones are over by the end."""
    events = []
    for number in range(TABLES):
        random = Random(f"{seed}/{number}")
        at, mine = begin + timedelta(seconds=random.randrange(60)), []
        while at + timedelta(minutes=2) < end:
            mine += _round(number, at, random)
            at += every + timedelta(seconds=random.randrange(30))
        events.append(mine)
    return Script(begin, cut, back, end, events)


def _round(number: int, at: datetime, random: Random) -> list[Event]:
    """A minute and a half of a table."""
    its, name = table(number), terminal(number)
    opening = happened(OpenRound(table=its.id, game=its.game), terminal=name, at=at)
    found = [opening]
    for _ in range(random.randrange(1, 8)):
        at += timedelta(seconds=random.randrange(1, 8))
        spot, stake = random.choice(_SPOTS[its.game]), str(random.choice((1000, 2500, 10000)))
        bet = PlaceBet(player=f"P-{random.randrange(40)}", spot=spot, stake=stake, currency=its.currency)
        found.append(happened(bet, terminal=name, round=opening.round, at=at))
    outcome = {
        "roulette": str(random.randrange(37)),
        "cussec": "-".join(str(random.randint(1, 6)) for _ in range(3)),
        "fantan": str(random.randint(20, 99)),
    }[its.game]
    for seconds, data in ((10, CloseBetting()), (20, RecordOutcome(outcome=outcome))):
        at += timedelta(seconds=seconds)
        found.append(happened(data, terminal=name, round=opening.round, at=at))
    return found


# ----------------------------------------------------------------------------------------------------------------------- floor


class Clock:
    """Everybody's clock."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


@contextmanager
def serving(dsn: str, clock: Clock) -> Iterator[str]:
    """The whole service on a real socket, by this clock; its URL."""
    with opened(dsn, port=0, now=clock) as server:
        ready: Queue[str] = Queue()
        thread = threading.Thread(target=server.run, args=(ready.put,))
        thread.start()
        try:
            yield ready.get(timeout=30)
        finally:
            server.stop()
            thread.join(30)


class Outcome(NamedTuple):
    """What became of a day."""

    dsn: str
    books: Books
    received: dict[UUID, datetime]
    """Event → when it reached the service for the first time, as the floor saw it."""
    numbers: dict[str, int]
    """Terminal → the last number that its outbox gave out."""
    sent: Counter[str]
    """How the flushes ended: `posts`, `accepted`, `replayed`, `rejected`, `failed`, and `again` for the next day's replays."""
    waited: int
    """Events that waited in the outboxes when the link came back."""


class _Meeting(Outbox):
    """An outbox that two processes flush: neither posts before the other has read what waits."""

    meet: threading.Barrier | None = None

    def waiting(self, *, after: int = 0, limit: int, most: int) -> list[Queued]:
        found = super().waiting(after=after, limit=limit, most=most)
        if self.meet is not None:
            meet, self.meet = self.meet, None
            meet.wait(30)
        return found


class Floor:
    """The terminals of a day."""

    def __init__(self, dsn: str, url: str, clock: Clock, directory: Path, stack: ExitStack) -> None:
        self._dsn = dsn
        self._clock = clock
        self._directory = directory
        self._link = stack.enter_context(Link(url))
        self._pool = stack.enter_context(ThreadPoolExecutor(2 * TABLES))
        self._outboxes = [
            stack.enter_context(Outbox(directory / terminal(n), terminal=terminal(n), now=clock)) for n in range(TABLES)
        ]
        self._doors = [stack.enter_context(Door(self._link.url, retry=Retry(tries=1), timeout=30)) for _ in range(TABLES)]
        self.received: dict[UUID, datetime] = {}
        self.sent: Counter[str] = Counter()
        self.waited = 0
        self._down = False

    def play(self, day: Script, *, outage: bool) -> None:
        """The whole day, minute by minute."""
        ahead = [list(reversed(events)) for events in day.events]
        minute = day.begin
        while minute < day.end:
            self._clock.at = minute + LAST
            for outbox, events in zip(self._outboxes, ahead, strict=True):
                due: list[Event] = []
                while events and events[-1].at < minute + TICK:
                    due.append(events.pop())
                if due:
                    outbox.put(*due)
            if outage and day.cut <= minute < day.back:
                self._down = self._down or self._cut()
            elif self._down:
                self._come_back()
            if not self._down:
                self._flush_all()
            elif not (minute - day.begin) % VAIN:
                self._flush_in_vain()
            minute += TICK
        assert not any(ahead), "the day is too short for its rounds"

    def next_day(self) -> None:
        """The outboxes once more, and those that were copied when the link came back, with all that waited then."""
        self._clock.at += timedelta(days=1)
        before = self.sent["posts"]
        self._flush_all()
        assert self.sent["posts"] == before, "an outbox sent what was acknowledged"
        for number, door in enumerate(self._doors):
            with Outbox(self._copy(number)) as copy:
                done = flush(copy, door)
            assert done.failure is None, done.failure
            assert not done.waiting
            assert done.judged == done.replayed, f"of {done.judged} events sent again a day later {done.replayed} were replayed"
            self.sent["again"] += done.replayed

    def outcome(self) -> Outcome:
        """What the outboxes say at the end. All is judged, and nothing was rejected."""
        books, numbers = Books(), {}
        for outbox in self._outboxes:
            stands = outbox.standing()
            assert (stands.waiting, stands.rejected) == (0, 0), stands
            assert stands.contiguous == stands.last
            assert stands.received in (None, stands.last), "the ledger says that it has not received them all"
            numbers[outbox.terminal] = stands.last
            with closing(sqlite3.connect(outbox.path)) as db:
                for id_, positions in db.execute("SELECT id, positions FROM events"):
                    books.sent.add(UUID(id_))
                    books.acknowledge(UUID(id_), tuple(map(int, positions.split())))
        return Outcome(self._dsn, books, self.received, numbers, self.sent, self.waited)

    # --- the link

    def _cut(self) -> bool:
        """The link goes while a terminal's post is under way: committed, and its answer lost. False where nobody posts."""
        at_it = [number for number, outbox in enumerate(self._outboxes) if outbox.standing().waiting]
        if not at_it:
            return False
        self._link.cut_the_answer_to(POST)
        self._arrives(self._outboxes[at_it[0]])
        self._count(flush(self._outboxes[at_it[0]], self._doors[at_it[0]]))
        assert (self._link.cuts, self.sent["failed"]) == (1, 1), "the answer came"
        self._link.go_away()
        return True

    def _come_back(self) -> None:
        """Each outbox is copied as it is, then flushed twice at once."""
        self._link.come_back()
        self._down = False
        for number in range(TABLES):
            for suffix in ("", "-wal"):
                shutil.copy(f"{self._outboxes[number].path}{suffix}", f"{self._copy(number)}{suffix}")
            self._arrives(self._outboxes[number])
            self.waited += self._outboxes[number].standing().waiting
        list(self._pool.map(self._twice, range(TABLES)))

    def _twice(self, number: int) -> None:
        meet = threading.Barrier(2)

        def one(_: int) -> Flushed:
            with (
                _Meeting(self._outboxes[number].path, now=self._clock) as outbox,
                Door(self._link.url, retry=Retry(tries=1), timeout=30) as door,
            ):
                outbox.meet = meet
                return flush(outbox, door)

        with ThreadPoolExecutor(2) as pool:
            for done in pool.map(one, range(2)):
                self._count(done)
                assert done.failure is None, done.failure

    def _copy(self, number: int) -> Path:
        return self._directory / f"{terminal(number)}-copy"

    # --- sending

    def _flush_all(self) -> None:
        for outbox in self._outboxes:
            self._arrives(outbox)
        for done in self._pool.map(flush, self._outboxes, self._doors):
            self._count(done)
            assert done.failure is None, done.failure

    def _flush_in_vain(self) -> None:
        """Terminals try all the same."""
        for done in self._pool.map(flush, self._outboxes, self._doors):
            self._count(done)
            assert done.judged == 0, "something got through a link that is down"

    def _arrives(self, outbox: Outbox) -> None:
        """What waits reaches the service now, if it has not before."""
        for event in outbox.waiting(limit=100_000, most=1 << 30):
            self.received.setdefault(event.id, self._clock.at)

    def _count(self, done: Flushed) -> None:
        self.sent["posts"] += done.posts
        self.sent["accepted"] += done.accepted
        self.sent["replayed"] += done.replayed
        self.sent["rejected"] += done.rejected
        self.sent["failed"] += done.failure is not None


def played(dsn: str, directory: Path, day: Script, *, outage: bool) -> Outcome:
    """The day on the ledger at `dsn`, with the link cut or not."""
    directory.mkdir()
    clock = Clock(day.begin.astimezone(UTC))
    with serving(dsn, clock) as url, ExitStack() as stack:
        floor = Floor(dsn, url, clock, directory, stack)
        floor.play(day, outage=outage)
        if outage:
            floor.next_day()
        return floor.outcome()
