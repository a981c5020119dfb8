"""The proof of the read side round by round: rounds folded afresh, each by itself, and compared with their live rows.

As `projections.replay`, for some of the rounds, in flat memory, and divided among as many processes as one likes: a round folds
with nothing but its own events (docs/adr/0017). What is a sum over rounds (balances, reports) is compared by the replay of the
whole log alone. Nothing is appended, nothing live is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql

from ledger.errors import Refusal
from ledger.events import PlayerErased, Recorded, RoundOpened
from ledger.reports import PLAYERS_STREAM
from ledger.store import codec, log
from projections.checks import Contradiction
from projections.replay import SCRATCH, WAIT, Comparison, Difference, compare_table, concerned, make_copies, positions, session
from projections.runner import wait_for
from projections.tables import PROJECTIONS

Connection = psycopg.Connection[Any]
Progress = Callable[[Comparison], None]
"""Called with what was compared so far, batch by batch."""

BATCH = 200
"""Rounds that are folded together, and the least that a process is begun for."""
TABLES = ("rounds", "bets", "results", "movements", "holds", "corrections", "voids", "late_bets", "table_rounds")
"""The tables whose rows are each of one round."""


class _Found(NamedTuple):
    """What came of some rounds."""

    difference: Difference | None
    events: int
    rows: dict[str, int]


def rounds_of(
    dsn: str, *, day: str | None = None, table: str | None = None, round: UUID | None = None, upto: int | None = None
) -> list[UUID]:
    """The rounds of a gaming day (YYYY-MM-DD) and a table, in the order in which they were opened; of none given, all.

    Those as well that only the live tables know: of these, all that is live differs from the log.
    """
    with psycopg.connect(dsn, autocommit=True) as conn:
        rows = conn.execute(
            "SELECT round, at FROM ("
            "SELECT originator_id AS round, notification_id AS at, said->>'gaming_day' AS day, said->>'table' AS place "
            "FROM ledger.events CROSS JOIN LATERAL (SELECT convert_from(state, 'UTF8')::jsonb AS said) AS s "
            "WHERE topic = %(topic)s "
            "UNION ALL "
            "SELECT round, first_position, gaming_day::text, table_id FROM projection.rounds AS r WHERE NOT EXISTS "
            "(SELECT FROM ledger.events AS e WHERE e.originator_id = r.round AND e.topic = %(topic)s)"
            ") AS rounds WHERE (%(round)s::uuid IS NULL OR round = %(round)s) AND (%(upto)s::bigint IS NULL OR at <= %(upto)s) "
            "AND (%(day)s::text IS NULL OR day = %(day)s) AND (%(table)s::text IS NULL OR place = %(table)s) ORDER BY at",
            {"topic": RoundOpened.TOPIC, "round": round, "upto": upto, "day": day, "table": table},
        )
        return [row[0] for row in rows]


def replay_rounds(
    dsn: str,
    rounds: Sequence[UUID],
    progress: Progress | None = None,
    *,
    jobs: int = 1,
    upto: int | None = None,
    wait: float = WAIT,
) -> Comparison:
    """Folds these rounds afresh and compares them with their live rows, up to where the live tables are.

    First waits up to `wait` seconds for them to come to the log's end, or to `upto`. With `upto` they are folded as they stood
    after that position, and what the live tables have of each moment is compared: the movements. Raises psycopg.Error where the
    database cannot be used, and Refusal LGR-0505 where an old transaction keeps the log's end open.
    """
    started = time.monotonic()
    head = _waited(dsn, upto, wait)
    with session(dsn) as live, live.transaction():
        live.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        live.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        reached, stopped = positions(live)
        row = live.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        batches = [tuple(rounds[n : n + BATCH]) for n in range(0, len(rounds), BATCH)]
        so_far = Comparison(
            equal=True,
            difference=None,
            positions={name: str(at if upto is None else min(at, upto)) for name, at in reached.items()},
            behind=str(max(0, head - min(reached.values()))),
            stopped=stopped,
            events=0,
            rows={},
            seconds=0.0,
        )
        for number, found in zip(map(len, batches), _each(dsn, row[0], reached, upto, batches, jobs), strict=False):
            so_far = _and(so_far, found, number, time.monotonic() - started)
            if progress is not None:
                progress(so_far)
            if not so_far.equal:
                break
    return so_far


def _waited(dsn: str, upto: int | None, wait: float) -> int:
    """The position to which the live tables should have come, having waited for them."""
    with session(dsn) as live:
        head = log.head(live) if upto is None else min(log.head(live), upto)
        wait_for(live, head, wait)
    return head


def _and(so_far: Comparison, found: _Found, number: int, seconds: float) -> Comparison:
    """What was compared, with the next rounds."""
    difference = found.difference
    return msgspec.structs.replace(
        so_far,
        equal=difference is None,
        difference=difference,
        differences=() if difference is None else (difference,),
        events=so_far.events + found.events,
        rows={table: so_far.rows.get(table, 0) + count for table, count in found.rows.items()},
        rounds=so_far.rounds + number,
        seconds=seconds,
    )


Batch = tuple[UUID, ...]


def _each(
    dsn: str, snapshot: str, reached: dict[str, int], upto: int | None, batches: Sequence[Batch], jobs: int
) -> Iterator[_Found]:
    if jobs == 1 or len(batches) < 2:
        with _folding(dsn, snapshot, reached, upto) as folding:
            yield from map(folding.compare, batches)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        # Each process takes some batches, so that it makes its copies once for all of them.
        size = -(-len(batches) // (jobs * 4))
        some = [batches[n : n + size] for n in range(0, len(batches), size)]
        futures = [pool.submit(_compare, dsn, snapshot, reached, upto, part) for part in some]
        try:
            for future in futures:
                yield from future.result()
        finally:
            for future in futures:
                future.cancel()


def _compare(dsn: str, snapshot: str, reached: dict[str, int], upto: int | None, batches: Sequence[Batch]) -> list[_Found]:
    with _folding(dsn, snapshot, reached, upto) as folding:
        return [folding.compare(batch) for batch in batches]


@contextmanager
def _folding(dsn: str, snapshot: str, reached: dict[str, int], upto: int | None) -> Iterator[_Folding]:
    with session(dsn) as live, session(dsn) as scratch, live.transaction():
        live.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        live.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        live.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
        make_copies(scratch)
        scratch.execute("SET search_path = pg_temp")
        yield _Folding(live, scratch, reached, upto)


class _Folding:
    """Copies of the tables in which rounds are folded, batch by batch."""

    def __init__(self, live: Connection, scratch: Connection, reached: dict[str, int], upto: int | None) -> None:
        self._live = live
        self._scratch = scratch
        self._erased = reached
        """Up to where the live tables show no erased player."""
        self._reached = {name: at if upto is None else min(at, upto) for name, at in reached.items()}
        self._upto = upto

    def compare(self, batch: Batch) -> _Found:
        """What came of these rounds."""
        events = self._events(batch)
        with self._scratch.transaction(force_rollback=True), self._scratch.cursor() as cursor:
            for projection in PROJECTIONS:
                some = [
                    each
                    for each in events
                    if type(each.body) in projection.events and each.position <= self._folded(projection.name, each)
                ]
                try:
                    if some:
                        projection.apply(cursor, some)
                except Contradiction as error:
                    return _Found(_stopped(projection.name, error), len(events), {})
            return self._compared(batch, sum(each.stream != PLAYERS_STREAM for each in events))

    def _folded(self, name: str, recorded: Recorded) -> int:
        """Up to where such an event counts: an erasure, as far as the live tables are, also for what was before it."""
        return (self._erased if isinstance(recorded.body, PlayerErased) else self._reached)[name]

    def _events(self, batch: Batch) -> list[Recorded]:
        """The rounds' events, and what is shown of their players."""
        rows = self._live.execute(
            "SELECT notification_id, originator_id, originator_version, topic, state FROM ledger.events "
            "WHERE originator_id = ANY (%s) AND notification_id <= %s OR originator_id = %s AND notification_id <= %s "
            "ORDER BY notification_id",
            (list(batch), max(self._reached.values()), PLAYERS_STREAM, max(self._erased.values())),
            binary=True,
        )
        return [
            Recorded(position, stream, version, codec.decode(topic, state, " at position %d", position))
            for position, stream, version, topic, state in rows
        ]

    def _compared(self, batch: Batch, events: int) -> _Found:
        rows: dict[str, int] = {}
        where = sql.SQL("round IN ({})").format(sql.SQL(", ").join(map(sql.Literal, batch)))
        if self._upto is not None:
            where = sql.SQL("{} AND position <= {}").format(where, sql.Literal(self._upto))
        for table in TABLES if self._upto is None else ("movements",):
            rows[table], difference = compare_table(self._live, self._scratch, SCRATCH, table, where)
            if difference is not None:
                difference = msgspec.structs.replace(difference, position=concerned(self._live, difference))
                return _Found(difference, events, rows)
        return _Found(None, events, rows)


def _stopped(name: str, error: Contradiction | Refusal) -> Difference:
    """A round that cannot be folded, though the live projection went past it."""
    return Difference(table="positions", key={"name": name}, column=None, live="folded", replayed=f"stopped: {error}")
