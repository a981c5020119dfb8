"""The processes of `prove tail`: writers that do all that makes a reader skip, and readers of every kind."""

from __future__ import annotations

import random
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import msgspec
import psycopg
from eventsourcing.persistence import OperationalError, Subscription

from ledger.application import Rounds
from ledger.events import Event
from ledger.store import log
from ledger.store.recorder import LedgerFactory
from projections.runner import Runner
from tests.support import Terminal
from tests.unit.projections.made import Bet, Stream, made_round

COUNTED = ("events", "rounds", "delayed", "inverted", "rolled back", "long")
"""What a writer counts: events that it committed, rounds that it posted, and transactions of its own by what they did."""

_PAGE = 2000


class Counts(Protocol):
    """An array of numbers that processes share, without a lock: a process that is killed would keep it."""

    def __getitem__(self, place: int, /) -> int: ...

    def __setitem__(self, place: int, value: int, /) -> None: ...


STOP, END, ENDED = range(3)
"""Places of the signals: writers are to stop; the position where readers have come to the end (0: not known yet); all is over."""


class Work(NamedTuple):
    """What one writer is to do."""

    dsn: str
    table: str
    seed: str
    counts: Counts
    base: int
    """Where its own counts begin in `counts`."""
    signals: Counts
    longest: float
    """Seconds of the longest transactions."""


def write(work: Work) -> None:
    """Appends until told to stop: whole rounds through the use case, and rounds in transactions that dawdle, in turn.

    A dawdling transaction draws positions and commits late, or never. Some take their id first and draw after others that are
    younger: then the older one has the higher position.
    """
    rng = random.Random(work.seed)
    with closing(Rounds(work.dsn)) as rounds, psycopg.connect(work.dsn) as conn:
        while not work.signals[STOP]:
            if rng.random() < 0.6:
                _post(rounds, work, rng)
            else:
                _dawdle(conn, work, rng)


def _count(work: Work, what: str, number: int = 1) -> None:
    place = work.base + COUNTED.index(what)
    work.counts[place] = work.counts[place] + number


def _post(rounds: Rounds, work: Work, rng: random.Random) -> None:
    terminal = Terminal(work.table)
    shown = rng.randrange(37)
    bets = [(rng.choice(("red", "odd", f"straight:{rng.randrange(37)}", "dozen:2")), "10000") for _ in range(rng.randrange(60))]
    reports = terminal.whole_round(bets, str(shown))
    while True:
        verdicts = rounds.post(reports)
        refused = [verdict.refusal for verdict in verdicts if verdict.refusal is not None]
        if not refused:
            break
        if not all(refusal.meaning.retryable for refusal in refused):
            raise refused[0]
        time.sleep(0.02)  # the one that was killed still has the table
    _count(work, "events", sum(len(verdict.positions) for verdict in verdicts))
    _count(work, "rounds")


def _dawdle(conn: psycopg.Connection[Any], work: Work, rng: random.Random) -> None:
    stream, events = _round(rng, work.table)
    half = rng.randrange(1, len(events))
    inverted, long, lost = rng.random() < 0.3, rng.random() < 0.01, rng.random() < 0.15
    pause = work.longest if long else rng.expovariate(1 / 0.01)
    if inverted:
        conn.execute("SELECT pg_current_xact_id()")
        time.sleep(pause / 2)
    insert = _insert_in_one_go if rng.random() < 0.5 else _insert_row_by_row
    insert(conn, stream, 1, events[:half])
    time.sleep(pause)
    insert(conn, stream, half + 1, events[half:])
    if lost:
        conn.rollback()
        _count(work, "rolled back")
        return
    conn.commit()
    _count(work, "events", len(events))
    _count(work, "delayed")
    _count(work, "inverted", inverted)
    _count(work, "long", long)


def _round(rng: random.Random, table: str) -> Stream:
    bets = [Bet(f"P-{rng.randrange(100)}", 100, *rng.choice((("lost", 0), ("won", 35)))) for _ in range(rng.randrange(1, 30))]
    return made_round(bets, rng=random.Random(rng.getrandbits(64)), table=table)


_COLUMNS = "originator_id, originator_version, topic, state"


def _insert_row_by_row(conn: psycopg.Connection[Any], stream: UUID, version: int, events: list[Event]) -> None:
    """As somebody writes by hand: each row draws its position by the column's default."""
    with conn.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO ledger.events ({_COLUMNS}) VALUES (%s, %s, %s, %s)",
            [(stream, version + n, body.TOPIC, msgspec.json.encode(body)) for n, body in enumerate(events)],
        )


def _insert_in_one_go(conn: psycopg.Connection[Any], stream: UUID, version: int, events: list[Event]) -> None:
    """As an append does: all positions at once, then the rows."""
    conn.execute(
        f"INSERT INTO ledger.events ({_COLUMNS}, notification_id) "
        "SELECT %s, * FROM unnest(%s::bigint[], %s::text[], %s::bytea[], ledger.next_positions(%s))",
        (
            stream,
            list(range(version, version + len(events))),
            [body.TOPIC for body in events],
            [msgspec.json.encode(body) for body in events],
            len(events),
        ),
    )


# -------------------------------------------------------------------------------------------------------------------- readers


class Seen:
    """What a reader was given, in its order: positions, and a mark of the event at each."""

    def __init__(self) -> None:
        self.positions = array("q")
        self.marks = array("Q")

    def add(self, position: int, stream: UUID, version: int) -> None:
        self.positions.append(position)
        self.marks.append(mark(stream, version))

    def save(self, file: Path) -> None:
        with file.open("wb") as out:
            self.positions.tofile(out)
            self.marks.tofile(out)

    @classmethod
    def load(cls, file: Path) -> Seen:
        found, number = cls(), file.stat().st_size // 16
        with file.open("rb") as written:
            found.positions.fromfile(written, number)
            found.marks.fromfile(written, number)
        return found


def mark(stream: UUID, version: int) -> int:
    """64 bits of an event's identity."""
    return (stream.int ^ version) & 0xFFFF_FFFF_FFFF_FFFF


class Reading(NamedTuple):
    """What one reader is to do: read until it has come to the end, then save what it saw."""

    dsn: str
    file: Path
    signals: Counts


def read_by_tail(reading: Reading) -> None:
    """`log.Tail` and `log.read`, coming back over a new connection every second with nothing but the last position."""
    seen, after, end = Seen(), 0, 0
    while not end or after < end:
        with psycopg.connect(reading.dsn, autocommit=True) as conn:
            tail, until = log.Tail(), time.monotonic() + 1
            while time.monotonic() < until and (not end or after < end):
                final = tail.final(conn)
                if final <= after:
                    time.sleep(0.005)
                while events := log.read(conn, after, _PAGE, final):
                    for recorded in events:
                        seen.add(recorded.position, recorded.stream, recorded.version)
                    after = events[-1].position
                end = reading.signals[END]
    seen.save(reading.file)


def read_by_notifications(reading: Reading) -> None:
    """The library's own pages: `select_notifications`, each after the last."""
    seen, after, end = Seen(), 0, 0
    factory = LedgerFactory(reading.dsn)
    recorder = factory.application_recorder()
    while not end or after < end:
        end = reading.signals[END]
        try:
            page = recorder.select_notifications(after, _PAGE, inclusive_of_start=False)
        except OperationalError:
            continue  # a writer has taken longer than a page is waited for; it says so instead of skipping
        for notification in page:
            seen.add(notification.id, _uuid(notification.originator_id), notification.originator_version)
        if page:
            after = page[-1].id
        else:
            time.sleep(0.02)
    factory.close()
    seen.save(reading.file)


def read_by_subscription(reading: Reading) -> None:
    """The library's subscription, as its projections and process managers have it."""
    seen, after = Seen(), 0
    factory = LedgerFactory(reading.dsn)
    with factory.application_recorder().subscribe() as subscription, _stopped_at_the_end(subscription, reading, lambda: after):
        for notification in subscription:
            after = notification.id
            seen.add(after, _uuid(notification.originator_id), notification.originator_version)
    factory.close()
    seen.save(reading.file)


@contextmanager
def _stopped_at_the_end(subscription: Subscription[Any], reading: Reading, after: Callable[[], int]) -> Iterator[None]:
    """Stops the subscription once it has come to the end, from beside it: it waits for the next event for ever."""

    def watch() -> None:
        while not (end := reading.signals[END]) or after() < end:
            time.sleep(0.05)
        subscription.stop()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    yield
    watcher.join()


def _uuid(id_: UUID | str) -> UUID:
    assert isinstance(id_, UUID)
    return id_


def read_naively(reading: Reading) -> None:
    """The canary: goes on from the highest position that it has seen, as so many programs do."""
    seen, after, end = Seen(), 0, 0
    with psycopg.connect(reading.dsn, autocommit=True) as conn:
        while not end or after < end:
            end = reading.signals[END]
            rows = conn.execute(
                "SELECT notification_id, originator_id, originator_version FROM ledger.events "
                "WHERE notification_id > %s ORDER BY notification_id LIMIT %s",
                (after, _PAGE),
            ).fetchall()
            for row in rows:
                seen.add(*row)
            if rows:
                after = rows[-1][0]
            else:
                time.sleep(0.005)
    seen.save(reading.file)


def follow(dsn: str, signals: Counts) -> None:
    """The projections' own runner, for as long as it is left alive."""
    with Runner(dsn):
        while not signals[ENDED]:
            time.sleep(0.1)
