"""The outbox: what happened at one terminal, on its own disk before anybody relies on it, until the ledger has judged it.

One SQLite file for each terminal, in WAL mode with `synchronous=FULL`: `put` returns when the events have been flushed to the
disk, so neither a killed process nor a cut of power loses one that was put, and a transaction leaves all of its events or none.
(A disk that answers a flush without one can lie to any database.)

Numbers. Each event gets the next number of the outbox's epoch, in the transaction that stores it, so that numbers have no gaps
and two processes with the same file number as one. The epoch is drawn anew whenever an outbox is opened and something is put:
above the one in the file, above the clock's microseconds, and by a random step. A file that was copied, or restored to an older
state, therefore never gives out a number again that another copy gave out, even where the clocks stand still.

Order. Events are sent in the order in which they were put, each epoch by itself. What was answered is kept: accepted events until
`forget`, rejected ones for a person, with the reason. Whoever sends the same event twice gets the same answer twice, so two
processes may flush one outbox at once; the first answer to arrive is kept.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import RLock
from typing import Any, Literal, NamedTuple, Self
from uuid import UUID

import msgspec

from ledger.client.acts import NO_PERSON, never_waits
from ledger.client.answers import Item, Problem, Refused, Unanswered
from ledger.client.answers import Sequence as Received
from ledger.client.happenings import Event
from ledger.client.outbox_file import opened, told, transaction, unfit
from ledger.reports import ABOUT_PROPERTIES, ABOUT_TABLES, TYPES

LARGEST = 1 << 18
"""Bytes of one encoded event: a quarter of what a post holds."""
_EPOCH_STEP = 1 << 20
_LARGEST_EPOCH = 2**53 - 1
"""Beyond this readers of JSON round (RFC 7493, 2.2)."""

_OPENING = "roundledger.RoundOpened.v1"
_NO_ROUND, _OPENED_ALREADY = "LGR-0202", "LGR-0203"
_ANEW = "what happened all the same is put in as new events, in a round that is opened"

_INSERT = "INSERT INTO events (id, epoch, sequence, type, round, body, put_at) VALUES (?, ?, ?, ?, ?, ?, ?)"


class Queued(NamedTuple):
    """An event that waits for its answer."""

    n: int
    """Its place in the outbox."""
    id: UUID
    body: bytes
    """As it is sent, each time."""
    epoch: int = 0


class TurnedAway(NamedTuple):
    """An event that the ledger did not take, and why."""

    id: UUID
    type: str
    round: UUID
    epoch: int
    sequence: int
    put_at: datetime
    answered_at: datetime | None
    """When it was rejected for good; None where it is sent again."""
    problem: Problem
    body: str
    """The event as it was sent."""
    tries: int = 0
    """How often the ledger has answered it."""

    @property
    def about(self) -> str:
        """What it is about, in words."""
        model = TYPES.get(self.type)
        if model in ABOUT_TABLES or model in ABOUT_PROPERTIES:
            what = "table" if model in ABOUT_TABLES else "property"
            return f"{what} {msgspec.json.decode(self.body)['subject']}"
        return f"round {self.round}"


class Failure(NamedTuple):
    """A post that came to nothing."""

    at: datetime
    kind: Literal["link", "refused"]
    """`link`: nothing of the ledger answered. `refused`: the ledger did, and took nothing of it, for now or for good."""
    code: str | None
    words: str


class Standing(NamedTuple):
    """How an outbox stands."""

    terminal: str
    epoch: int
    """The latest that was drawn; 0 where nothing was put yet."""
    last: int
    """The last number given out in it."""
    contiguous: int
    """The number in it up to which every event has been judged."""
    received: int | None
    """The number in it up to which the ledger has all, as it last said; None where it did not say. It stays below `contiguous`
    where the ledger was restored to an earlier moment, and no longer has what it acknowledged since."""
    waiting: int
    oldest: datetime | None
    """When the oldest event that waits was put."""
    last_problem: str | None
    """Of the oldest event that waits: why it was turned away so far, where it was."""
    acknowledged: int
    """Events kept in the file that were accepted."""
    rejected: int
    """Events that were rejected for good and not marked as seen."""
    failure: Failure | None = None
    """The last post that came to nothing, even where others were answered since."""
    answered: datetime | None = None
    """When the ledger last answered a post in which something was judged."""


class Outbox:
    """An open outbox. Thread-safe; several processes may have the same file open."""

    def __init__(
        self, path: Path, *, terminal: str | None = None, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        """Opens the outbox at `path`; with `terminal`, makes it where there is none.

        Raises Refusal LGR-0720: no outbox there and no terminal named, another terminal's, or a file that cannot be used.
        """
        self.path = path
        self._now = now
        self._lock = RLock()
        self._drawn = False
        self._db, self._terminal = opened(path, terminal)

    def close(self) -> None:
        """Closes the file; what waits stays in it."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What happens at the terminal.

    def put(self, *events: Event) -> list[Event]:
        """Stores events, all or none, and numbers them; they are on the disk when this returns.

        Raises Refusal LGR-0721 where there is no room, LGR-0720 where the file cannot be written, and LGR-0723 for a person's
        act, which `ledger.client.act` sends; none of the events is in the outbox then. Raises ValueError for another terminal's
        event, a numbered one, one that is too large, or an id that is in the outbox already.
        """
        for event in events:
            if event.terminal != self.terminal or event.sequence is not None:
                raise ValueError(f"not a fresh event of terminal {self.terminal}: {event}")
            if event.persons:
                raise never_waits(event)
        with self._lock:
            with self._writing() as db:
                if not self._drawn:
                    self._draw(db)
                numbered = self._number(db, events)
            self._drawn = True
        return numbered

    def _number(self, db: sqlite3.Connection, events: Sequence[Event]) -> list[Event]:
        [(epoch, last)] = db.execute("SELECT epoch, last FROM numbering")
        numbered = [msgspec.structs.replace(event, epoch=epoch, sequence=last + n) for n, event in enumerate(events, start=1)]
        put_at = self._moment()
        for event in numbered:
            body = event.encoded()
            if len(body) > LARGEST:
                raise ValueError(f"an event holds at most {LARGEST} bytes: {event.id}")
            values = (str(event.id), epoch, event.sequence, event.type, str(event.round), body.decode(), put_at)
            try:
                db.execute(_INSERT, values)
            except sqlite3.IntegrityError:
                raise ValueError(f"the outbox holds an event with this id: {event.id}") from None
        db.execute("UPDATE numbering SET last = ?", (last + len(numbered),))
        return numbered

    def _draw(self, db: sqlite3.Connection) -> None:
        """A fresh epoch: with the first event of an opening, and wherever the ledger will never be asked again about an event.

        Its number would be missing there for ever, and would keep what is numbered after it from being judged for good.
        """
        [(epoch,)] = db.execute("SELECT epoch FROM numbering")
        fresh = max(epoch, time.time_ns() // 1000) + 1 + secrets.randbelow(_EPOCH_STEP)
        if fresh > _LARGEST_EPOCH:
            raise unfit(self.path, "the clock is centuries off", "set it, and begin a new outbox")
        db.execute("UPDATE numbering SET epoch = ?, last = 0", (fresh,))

    # What the ledger says of it.

    def waiting(self, *, after: int = 0, limit: int, most: int) -> list[Queued]:
        """The next events that wait, in order, beyond place `after`: of one epoch, up to `limit`, up to `most` bytes."""
        found: list[Queued] = []
        size = 0
        for n, id_, body, epoch in self._ask(
            "SELECT n, id, body, epoch FROM events WHERE state = 'waiting' AND n > ? ORDER BY n LIMIT ?", (after, limit)
        ):
            encoded = body.encode()
            size += len(encoded) + 1
            if found and (size > most or epoch != found[0].epoch):
                break
            found.append(Queued(n, UUID(id_), encoded, epoch))
        return found

    def behind(self, events: Sequence[Queued]) -> set[int]:
        """The places of those of `events`, all of one epoch, which events of earlier epochs could change that wait.

        Their numbers say nothing of those. Only what is about the same round or table counts, or names it as a successor: what
        waits for something else, it may be for ever, changes nothing here and must not keep a refusal from being final.
        """
        rows = self._ask(
            "SELECT n FROM events WHERE n BETWEEN ? AND ? AND EXISTS (SELECT 1 FROM events AS earlier WHERE "
            "earlier.state = 'waiting' AND earlier.n < ? AND earlier.epoch <> ? AND instr(earlier.body, events.round))",
            (events[0].n, events[-1].n, events[0].n, events[0].epoch),
        )
        return {n for (n,) in rows}

    def answered(self, answers: Sequence[tuple[Queued, Item]], received: Sequence[Received] = ()) -> None:
        """Keeps what the ledger said of each event, all or none; of two answers to one event the first that was final.

        `received` is what it said that it has of this terminal by now.
        """
        at, changed = self._moment(), 0
        with self._writing() as db:
            for event, item in answers:
                if not item.final:
                    state, at_ = "waiting", None
                else:
                    state, at_ = ("rejected" if item.status == "rejected" else "acknowledged"), at
                problem = None if item.problem is None else msgspec.json.encode(item.problem).decode()
                changed += db.execute(
                    "UPDATE events SET tries = tries + 1, state = ?, answered_at = ?, positions = ?, problem = ? "
                    "WHERE n = ? AND id = ? AND state = 'waiting'",
                    (state, at_, " ".join(item.positions) or None, problem, event.n, str(event.id)),
                ).rowcount
            for each in received if changed else ():  # an answer that came too late to say anything says nothing of this either
                if each.terminal == self.terminal:
                    db.execute("INSERT OR REPLACE INTO received VALUES (?, ?, ?)", (each.epoch, each.contiguous, at))
            codes = {item.problem.code for _, item in answers if item.problem is not None}
            if _NO_ROUND in codes:
                self._end_unopened(db, at)
            if NO_PERSON in codes:
                self._draw(db)  # the ledger was told nothing, and is not asked again

    def _end_unopened(self, db: sqlite3.Connection, at: str) -> None:
        """Ends what waits for a round whose opening, of this outbox, was rejected: nothing opens that round any more."""
        found = db.execute(
            "SELECT e.n, e.problem, o.id, o.problem FROM events e JOIN events o ON o.round = e.round AND o.type = ? "
            "WHERE e.state = 'waiting' AND e.n <> o.n AND json_extract(e.problem, '$.code') = ? AND o.state = 'rejected' "
            "AND json_extract(o.problem, '$.code') <> ? AND NOT EXISTS (SELECT 1 FROM events other "
            "WHERE other.round = e.round AND other.type = o.type AND other.state <> 'rejected')",
            (_OPENING, _NO_ROUND, _OPENED_ALREADY),
        ).fetchall()
        for n, own, opening, reason in found:
            detail = f"the round was never opened: its opening, event {opening}, was rejected: {_problem(reason)}"
            ended = msgspec.structs.replace(_problem(own), detail=detail, retryable=False, help=_ANEW)
            db.execute(
                "UPDATE events SET state = 'rejected', answered_at = ?, problem = ? WHERE n = ?",
                (at, msgspec.json.encode(ended).decode(), n),
            )
        if found:
            self._draw(db)

    def failed(self, failure: Unanswered | Refused) -> None:
        """Keeps why a post came to nothing, in the place of the failure before it."""
        kind = "refused" if failure.code else "link"
        with self._writing() as db:
            db.execute("DELETE FROM failure")
            values = (self._moment(), kind, failure.code, str(failure))
            db.execute("INSERT INTO failure (at, kind, code, words) VALUES (?, ?, ?, ?)", values)

    def rejected(self, *, seen: bool = False) -> list[TurnedAway]:
        """The events that were rejected for good, in order; with `seen` also those that somebody has seen to."""
        return self._turned_away("rejected", int(seen), -1)

    def turned_away(self, limit: int = 1000) -> list[TurnedAway]:
        """The events that wait and were turned away for now, in order, up to `limit` of them."""
        return self._turned_away("waiting", 0, limit)

    def _turned_away(self, state: str, seen: int, limit: int) -> list[TurnedAway]:
        rows = self._ask(
            "SELECT id, type, round, epoch, sequence, put_at, answered_at, problem, body, tries FROM events "
            "WHERE state = ? AND seen <= ? AND problem IS NOT NULL ORDER BY n LIMIT ?",
            (state, seen, limit),
        )
        return [
            TurnedAway(
                UUID(id_),
                type_,
                UUID(round_),
                epoch,
                sequence,
                datetime.fromisoformat(put_at),
                None if answered_at is None else datetime.fromisoformat(answered_at),
                _problem(problem),
                body,
                tries,
            )
            for id_, type_, round_, epoch, sequence, put_at, answered_at, problem, body, tries in rows
        ]

    def give_up(self, ids: Collection[UUID]) -> int:
        """A person decides that these events are sent no more. How many of them waited.

        They count as rejected; the reason says that a person gave them up, and what the ledger said last.
        """
        at, given = self._moment(), 0
        with self._writing() as db:
            for id_ in ids:
                row = db.execute("SELECT problem FROM events WHERE id = ? AND state = 'waiting'", (str(id_),)).fetchone()
                if row is None:
                    continue
                last = Problem() if row[0] is None else _problem(row[0])
                said = f"the ledger had said: {last}" if row[0] is not None else "the ledger had not been reached"
                detail = f"given up by a person at {at[:19]}Z; {said}"
                ended = msgspec.structs.replace(last, title="given up by a person", detail=detail, retryable=False, help=None)
                db.execute(
                    "UPDATE events SET state = 'rejected', answered_at = ?, problem = ? WHERE id = ?",
                    (at, msgspec.json.encode(ended).decode(), str(id_)),
                )
                given += 1
            if given:
                self._draw(db)
        return given

    def waiting_of(self, round: UUID) -> list[UUID]:
        """The events of this round that wait, in order."""
        rows = self._ask("SELECT id FROM events WHERE state = 'waiting' AND round = ? ORDER BY n", (str(round),))
        return [UUID(id_) for (id_,) in rows]

    def mark_seen(self) -> int:
        """Somebody has seen to every rejected event: they stay in the file and are no longer told of. How many there were."""
        with self._writing() as db:
            return db.execute("UPDATE events SET seen = 1 WHERE state = 'rejected' AND seen = 0").rowcount

    def forget(self, older: timedelta) -> int:
        """Removes the events that were acknowledged longer ago than this. How many there were."""
        before = self._moment(-older)
        with self._writing() as db:
            return db.execute("DELETE FROM events WHERE state = 'acknowledged' AND answered_at < ?", (before,)).rowcount

    # How it stands.

    @property
    def terminal(self) -> str:
        """The terminal whose outbox this is."""
        return self._terminal

    @property
    def backlog(self) -> int:
        """How many events wait."""
        [(waiting,)] = self._ask("SELECT count(*) FROM events WHERE state = 'waiting'")
        return int(waiting)

    def standing(self) -> Standing:
        """One consistent look at the whole."""
        [found] = self._ask(
            """
            SELECT terminal, epoch, last,
                coalesce((SELECT min(e.sequence) FROM events e WHERE e.epoch = n.epoch AND e.state = 'waiting'), last + 1) - 1,
                (SELECT r.contiguous FROM received r WHERE r.epoch = n.epoch),
                (SELECT count(*) FROM events WHERE state = 'waiting'),
                (SELECT put_at FROM events WHERE state = 'waiting' ORDER BY n LIMIT 1),
                (SELECT problem FROM events WHERE state = 'waiting' ORDER BY n LIMIT 1),
                (SELECT count(*) FROM events WHERE state = 'acknowledged'),
                (SELECT count(*) FROM events WHERE state = 'rejected' AND seen = 0),
                (SELECT max(heard_at) FROM received),
                f.at, f.kind, f.code, f.words
            FROM numbering n LEFT JOIN failure f ON true
            """
        )
        name, epoch, last, contiguous, received, waiting, oldest, problem, acknowledged, rejected, answered, *failure = found
        return Standing(
            name,
            epoch,
            last,
            contiguous,
            received,
            waiting,
            None if oldest is None else datetime.fromisoformat(oldest),
            None if problem is None else str(_problem(problem)),
            acknowledged,
            rejected,
            Failure(datetime.fromisoformat(failure[0]), *failure[1:]) if failure[0] else None,
            None if answered is None else datetime.fromisoformat(answered),
        )

    def latest_round(self, opening: str) -> list[bytes]:
        """The events of the round that was opened last by an event of type `opening`, as far as they are kept, in order."""
        rows = self._ask(
            "SELECT body FROM events WHERE state <> 'rejected' AND round = "
            "(SELECT round FROM events WHERE type = ? AND state <> 'rejected' ORDER BY n DESC LIMIT 1) ORDER BY n",
            (opening,),
        )
        return [body.encode() for (body,) in rows]

    def make_up(self, round: UUID) -> None:
        """Marks a round, before its opening is put, as one whose outcome will be made up."""
        with self._writing() as db:
            db.execute("INSERT OR IGNORE INTO made_up VALUES (?)", (str(round),))

    def made_up(self, round: UUID) -> bool:
        """Whether the round was so marked."""
        return bool(self._ask("SELECT 1 FROM made_up WHERE round = ?", (str(round),)))

    def delays(self, *, after: int = 0) -> list[float]:
        """Seconds from `put` to the final answer, of the events beyond place `after` that have one."""
        rows = self._ask("SELECT put_at, answered_at FROM events WHERE n > ? AND answered_at IS NOT NULL ORDER BY n", (after,))
        return [(datetime.fromisoformat(answered) - datetime.fromisoformat(put)).total_seconds() for put, answered in rows]

    @property
    def end(self) -> int:
        """The place of the event that was put last; 0 where there is none."""
        [(last,)] = self._ask("SELECT coalesce(max(n), 0) FROM events")
        return int(last)

    def _moment(self, shift: timedelta = timedelta(0)) -> str:
        """Now, as the file has it: text in UTC, whose order is that of time."""
        return (self._now() + shift).astimezone(UTC).isoformat()

    # SQLite.

    def _ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock, told(self.path):
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, durable at its end."""
        with self._lock, told(self.path), transaction(self._db):
            yield self._db


def _problem(text: str) -> Problem:
    return msgspec.json.decode(text, type=Problem)
