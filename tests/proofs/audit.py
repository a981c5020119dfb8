"""What `prove kills` holds a log against: the clients' own books, and what a round may look like whenever somebody was killed.

Nothing of the write side is asked. The log is read as rows, the clients say what they sent and what was acknowledged, and each
round is gone through by itself; then the live tables are compared with a fresh fold, and every sum must be zero.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from ledger.events import (
    BetPlaced,
    BettingClosed,
    DocumentRecorded,
    Event,
    OutcomeRecorded,
    PayoutMade,
    RoundOpened,
    RoundSettled,
)
from ledger.store import codec
from projections import queries
from projections.replay import replay
from projections.runner import catch_up


class Row(NamedTuple):
    """One event of the log as it is stored."""

    position: int
    stream: UUID
    version: int
    body: Event
    cause: UUID | None
    caused: int | None


@dataclass
class Books:
    """What one client knows: the events that it sent, and the positions under which each was acknowledged."""

    sent: set[UUID] = field(default_factory=set)
    acknowledged: dict[UUID, tuple[int, ...]] = field(default_factory=dict)

    def acknowledge(self, event_id: UUID, positions: tuple[int, ...]) -> None:
        """Raises AssertionError where two answers to one event differ."""
        first = self.acknowledged.setdefault(event_id, positions)
        assert first == positions, f"event {event_id} was answered with positions {first} and then {positions}"

    @classmethod
    def of_all(cls, books: Iterable[Books]) -> Books:
        every = cls()
        for one in books:
            every.sent |= one.sent
            every.acknowledged |= one.acknowledged
        return every


@dataclass
class Audit:
    """What was found. `faults` is empty where all holds."""

    faults: list[str]
    events: int = 0
    rounds: int = 0
    settled: int = 0
    payouts: int = 0
    acknowledged: int = 0
    unacknowledged_whole: int = 0
    unacknowledged_absent: int = 0
    rows: int = 0


def audit(dsn: str, books: Books) -> Audit:
    """Goes through the log at `dsn`, its projections and the clients' books. Nobody may be writing meanwhile."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        rows = _rows(conn)
        open_rounds: dict[UUID, str] = dict(conn.execute("SELECT round, table_id FROM ledger.open_rounds").fetchall())
        catch_up(conn)
        balance = queries.trial_balance(conn)
    streams: dict[UUID, list[Row]] = defaultdict(list)
    for row in rows:
        streams[row.stream].append(row)
    rounds = {stream: events for stream, events in streams.items() if not isinstance(events[0].body, DocumentRecorded)}
    found = Audit([], events=len(rows), rounds=len(rounds))
    spans = _spans(streams, found)
    _against_books(spans, books, found)
    for stream, events in rounds.items():
        _round(stream, events, found)
    _occupancy(rounds, open_rounds, found)
    found.faults += [f"the books do not sum to zero: {total} {currency}" for currency, total in balance.items() if total]
    compared = replay(dsn)
    found.rows = sum(compared.rows.values())
    if not compared.equal:
        found.faults.append(f"replay differs: {compared.difference}")
    found.faults += [f"projection {name} stands still: {reason}" for name, reason in compared.stopped.items()]
    return found


def _rows(conn: psycopg.Connection[Any]) -> list[Row]:
    stored = conn.execute(
        "SELECT notification_id, originator_id, originator_version, topic, state, cause, caused FROM ledger.events "
        "ORDER BY originator_id, originator_version",
        binary=True,
    )
    return [Row(at, stream, version, codec.decode(topic, state), *claim) for at, stream, version, topic, state, *claim in stored]


def _spans(streams: dict[UUID, list[Row]], found: Audit) -> dict[UUID, tuple[int, ...]]:
    """Event id → positions of all that it caused. Every version is there, in order, and belongs to one report's span."""
    spans: dict[UUID, tuple[int, ...]] = {}
    for stream, events in streams.items():
        if [row.version for row in events] != list(range(1, len(events) + 1)):
            found.faults.append(f"stream {stream} has versions {[row.version for row in events]}")
        if [row.position for row in events] != sorted(row.position for row in events):
            found.faults.append(f"stream {stream} has positions that go back")
        place = 0
        while place < len(events):
            first = events[place]
            if isinstance(first.body, DocumentRecorded):
                place += 1
                continue
            span = events[place : place + (first.caused or 1)]
            if first.cause is None or len(span) != first.caused or any(_cause(row) != first.cause for row in span):
                found.faults.append(
                    f"event {first.cause} caused {first.caused} events of round {stream}, which has {len(span)} of them"
                )
            if first.cause is not None:
                spans[first.cause] = tuple(row.position for row in span)
            place += max(1, len(span))
    return spans


def _cause(row: Row) -> UUID | None:
    return None if isinstance(row.body, DocumentRecorded) else row.body.cause


def _against_books(spans: dict[UUID, tuple[int, ...]], books: Books, found: Audit) -> None:
    for event_id, positions in books.acknowledged.items():
        if spans.get(event_id) != positions:
            found.faults.append(f"event {event_id} was acknowledged at {positions}, and the log has it at {spans.get(event_id)}")
    found.faults += [f"event {event_id} is in the log, and nobody sent it" for event_id in spans.keys() - books.sent]
    unknown = books.sent - books.acknowledged.keys()
    found.acknowledged = len(books.acknowledged)
    found.unacknowledged_whole = len(unknown & spans.keys())
    found.unacknowledged_absent = len(unknown - spans.keys())


_ORDER: Sequence[type[Event]] = (RoundOpened, BetPlaced, BettingClosed, OutcomeRecorded, PayoutMade, RoundSettled)
_ONCE = {RoundOpened, BettingClosed, OutcomeRecorded, RoundSettled}


def _round(stream: UUID, events: list[Row], found: Audit) -> None:
    """One round by itself: in order, and settled whole or not at all."""
    bodies = [row.body for row in events]
    kinds = [type(body) for body in bodies]
    if kinds[0] is not RoundOpened or [_ORDER.index(kind) for kind in kinds] != sorted(_ORDER.index(kind) for kind in kinds):
        found.faults.append(f"round {stream} is out of order")
    found.faults += [
        f"round {stream} has {kind.__name__} {n} times" for kind, n in Counter(kinds).items() if kind in _ONCE and n > 1
    ]
    placed = Counter(body.bet for body in bodies if isinstance(body, BetPlaced))
    paid = [body for body in bodies if isinstance(body, PayoutMade)]
    lost = [line.bet for body in bodies if isinstance(body, OutcomeRecorded) for line in body.lost]
    found.payouts += len(paid)
    found.faults += [f"bet {bet} of round {stream} is placed {n} times" for bet, n in placed.items() if n > 1]
    resolved = Counter([*(body.bet for body in paid), *lost])
    found.faults += [f"bet {bet} of round {stream} is resolved {n} times" for bet, n in resolved.items() if n > 1]
    if OutcomeRecorded not in kinds:
        if paid or RoundSettled in kinds:
            found.faults.append(f"round {stream} is settled without an outcome")
        return
    settled = [body for body in bodies if isinstance(body, RoundSettled)]
    found.settled += len(settled)
    if len(settled) != 1 or resolved.keys() != placed.keys():
        found.faults.append(f"round {stream} is settled by half: {len(placed)} bets, {len(resolved)} resolved")
    elif (settled[0].bets, int(settled[0].returned)) != (len(placed), sum(int(body.returned) for body in paid)):
        found.faults.append(
            f"round {stream} sums up {settled[0].bets} bets and {settled[0].returned} returned, which is not what it holds"
        )


def _occupancy(rounds: dict[UUID, list[Row]], open_rounds: dict[UUID, str], found: Audit) -> None:
    opened = {
        stream: events[0].body.table
        for stream, events in rounds.items()
        if isinstance(events[0].body, RoundOpened) and not any(isinstance(row.body, OutcomeRecorded) for row in events)
    }
    if opened != open_rounds:
        found.faults.append(f"rounds open by the log: {opened}; by the tables: {open_rounds}")
