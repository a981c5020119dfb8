"""The log read from Postgres for an audit: one state of it, in the order of positions, in parts that may be read side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple, cast
from uuid import UUID

import psycopg
from psycopg import sql

from ledger.audit.gathering import Row
from ledger.audit.scope import EVERYTHING, Scope
from ledger.events import DocumentRecorded, GamingDayClosed, PlayerErased, Recorded, RoundOpened, RoundSettled, RoundVoided
from ledger.store import log

Connection = psycopg.Connection[Any]

_ENDING = (RoundSettled.TOPIC, RoundVoided.TOPIC)
_BATCH = 200
"""Rounds that are fetched together where they are read one by one."""
_TYPES = ("int8", "bytea", "int8", "text", "bytea", "int8", "int4")
"""Of the columns; of a stream's id its bytes."""


_LOST = """
WITH answered AS (
    SELECT DISTINCT ON (terminal, epoch) terminal, epoch, table_id, received FROM ledger.sequences
    WHERE position <= %(end)s ORDER BY terminal, epoch, since DESC
), there AS (
    SELECT terminal, epoch, range_agg(numbers) AS numbers FROM (
        SELECT said.body->>'terminal' AS terminal, coalesce((said.body->>'epoch')::bigint, 0) AS epoch,
               int8range((said.body->>'sequence')::bigint, (said.body->>'sequence')::bigint, '[]') AS numbers
        FROM ledger.events AS e CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
        WHERE e.caused IS NOT NULL AND e.notification_id <= %(end)s AND said.body ? 'sequence'
        UNION ALL SELECT terminal, coalesce(epoch, 0), int8range(sequence, sequence, '[]')
        FROM ledger.rejections WHERE sequence IS NOT NULL
        UNION ALL SELECT terminal, epoch, int8range(first, last, '[]') FROM ledger.given_up
    ) AS each GROUP BY terminal, epoch
)
SELECT a.terminal, a.epoch, a.table_id, a.received - coalesce(t.numbers, '{}') FROM answered AS a
LEFT JOIN there AS t USING (terminal, epoch) WHERE NOT a.received <@ coalesce(t.numbers, '{}') ORDER BY 1, 2
"""


class Part(NamedTuple):
    """A stretch of the log, or some of its rounds."""

    after: int
    """The position before it."""
    upto: int
    """Its last position."""
    rounds: tuple[UUID, ...] = ()
    """Only these, each whole, as far as `upto`; empty: all events of the stretch."""


class LogSource:
    """One state of the log of a database, for the length of its `with`.

    `share` names a snapshot that another connection holds open, so that several processes see the same.
    """

    def __init__(self, dsn: str, scope: Scope = EVERYTHING, *, share: tuple[str, int] | None = None) -> None:
        self._dsn = dsn
        self._scope = scope
        self._share = share

    def __enter__(self) -> LogSource:
        self._conn = psycopg.connect(self._dsn, autocommit=True)
        try:
            # The end is asked before the snapshot is taken: what is final then, the snapshot has.
            end = log.head(self._conn) if self._share is None else self._share[1]
            self._conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            if self._share is not None:
                self._conn.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(self._share[0])))
            self.end = end if self._share is not None else self._cut(end)
        except BaseException:
            self._conn.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._conn.close()

    def share(self) -> tuple[str, int]:
        """By what another process reads the same state while this one is open."""
        row = self._conn.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        return row[0], self.end

    # Where it ends.

    def _cut(self, end: int) -> int:
        """The last position of the scope: what one report brought about is there as a whole or not at all."""
        until = self._scope.until
        if isinstance(until, datetime):
            until = self._position_at(until, end)
        if until is None or until >= end:
            return end
        around = [*self._around("<=", "DESC", until), *self._around(">", "ASC", until)]
        if len(around) < 2 or around[0][1] is None or around[0][1] != around[1][1]:
            return until
        row = self._conn.execute(
            "SELECT max(position) FROM ledger.log WHERE position < %s AND body->>'cause' IS DISTINCT FROM %s "
            "AND position > %s - 100000",
            (until, around[0][1], until),
        ).fetchone()
        return int(row[0] or 0) if row is not None else 0

    def _around(self, side: str, order: str, position: int) -> list[tuple[int, str | None]]:
        asked = sql.SQL("SELECT position, body->>'cause' FROM ledger.log WHERE position {} %s ORDER BY position {} LIMIT 1")
        return self._conn.execute(asked.format(sql.SQL(side), sql.SQL(order)), (position,)).fetchall()

    def _position_at(self, time: datetime, end: int) -> int:
        """The position of the last event that was received by then."""
        row = self._conn.execute(
            "SELECT position FROM ledger.log WHERE position <= %s "
            "AND coalesce(body->>'received_at', body->>'recorded_at')::timestamptz <= %s ORDER BY position DESC LIMIT 1",
            (end, time),
        ).fetchone()
        return 0 if row is None else int(row[0])

    # What is in it.

    def survey(self) -> tuple[list[Recorded], dict[UUID, int]]:
        """The documents, days that were closed and players that were erased; what follows the end of a round, its rows say."""
        return log.at(self._conn, self._positions((DocumentRecorded.TOPIC, GamingDayClosed.TOPIC, PlayerErased.TOPIC))), {}

    def _positions(self, topics: Sequence[str]) -> list[int]:
        rows = self._conn.execute(
            "SELECT notification_id FROM ledger.events WHERE topic = ANY (%s) AND notification_id <= %s ORDER BY 1",
            (list(topics), self.end),
        )
        return [row[0] for row in rows]

    def parts(self, number: int) -> list[Part]:
        """The scope in about so many parts of the same size, in the order of the log."""
        if self._scope.whole:
            cuts = [self.end * n // number for n in range(number + 1)]
            return [Part(after, upto) for after, upto in pairwise(cuts) if upto > after]
        rounds = self._rounds()
        size = -(-len(rounds) // number) or 1
        return [Part(0, self.end, tuple(rounds[n : n + size])) for n in range(0, len(rounds), size)]

    def _rounds(self) -> list[UUID]:
        """The rounds of the scope, in the order in which they were opened."""
        day, table, round_ = self._scope.day, self._scope.table, self._scope.round
        if round_ is not None and day is None and table is None:
            row = self._conn.execute(
                "SELECT 1 FROM ledger.events WHERE originator_id = %s AND notification_id <= %s LIMIT 1", (round_, self.end)
            ).fetchone()
            return [] if row is None else [round_]
        rows = self._conn.execute(
            "SELECT originator_id FROM ledger.events WHERE topic = %(topic)s AND notification_id <= %(end)s "
            "AND (%(round)s::uuid IS NULL OR originator_id = %(round)s) "
            "AND (%(day)s::text IS NULL OR convert_from(state, 'UTF8')::jsonb->>'gaming_day' = %(day)s) "
            "AND (%(table)s::text IS NULL OR convert_from(state, 'UTF8')::jsonb->>'table' = %(table)s) "
            "ORDER BY notification_id",
            {
                "topic": RoundOpened.TOPIC,
                "end": self.end,
                "round": round_,
                "day": None if day is None else day.isoformat(),
                "table": table,
            },
        )
        return [row[0] for row in rows]

    def rows(self, part: Part) -> Iterator[Row]:
        """The events of a part; those of one stream in its order."""
        if not part.rounds:
            yield from self._copied(
                "notification_id > {} AND notification_id <= {}", part.after, part.upto, order="notification_id"
            )
            return
        for n in range(0, len(part.rounds), _BATCH):
            some = sql.SQL(", ").join(sql.Literal(each) for each in part.rounds[n : n + _BATCH])
            where = sql.SQL("originator_id IN ({}) AND notification_id <= {}").format(some, sql.Literal(part.upto))
            yield from self._copy(where, "originator_id, originator_version")

    def _copied(self, where: str, *values: int, order: str) -> Iterator[Row]:
        return self._copy(sql.SQL(where).format(*map(sql.Literal, values)), order)

    def _copy(self, where: sql.Composable, order: str) -> Iterator[Row]:
        statement = sql.SQL(
            "COPY (SELECT notification_id, originator_id, originator_version, topic, state, "
            "CASE WHEN topic IN ({ending}) THEN (SELECT count(*) FROM ledger.events AS l WHERE l.originator_id = e.originator_id "
            "AND l.originator_version > e.originator_version AND l.notification_id <= {end}) END, "
            # The id stands at the beginning of the payload, so that it is found at once.
            "CASE WHEN position(convert_to(cause::text, 'UTF8') IN state) = 0 THEN -caused ELSE caused END "
            "FROM ledger.events AS e WHERE {where} ORDER BY {order}) TO STDOUT (FORMAT BINARY)"
        ).format(
            ending=sql.SQL(", ").join(map(sql.Literal, _ENDING)),
            end=sql.Literal(self.end),
            where=where,
            order=sql.SQL(order),
        )
        with self._conn.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(_TYPES)
            yield from cast(Iterator[Row], copy.rows())  # plain tuples, in the place of a Row

    def lost_numbers(self) -> list[tuple[str, int, str, list[tuple[int, int]]]]:
        """Terminal, epoch, table, and of its numbers that were answered for good the spans that nothing has any more.

        What was received is kept beside the log, now and then, up to some position; the numbers themselves stand in the events
        that the reports brought about, or in their rejections, or a person has given them up.
        """
        rows = self._conn.execute(_LOST, {"end": self.end}).fetchall()
        return [
            (terminal, epoch, table, [(span.lower, span.upper - 1) for span in spans]) for terminal, epoch, table, spans in rows
        ]

    def whole_rounds(self, streams: Collection[UUID]) -> Iterator[Row]:
        """The events of these rounds, whatever the scope."""
        return self.rows(Part(0, self.end, tuple(streams))) if streams else iter(())
