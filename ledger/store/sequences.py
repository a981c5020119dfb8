"""What was received of each terminal, as it is kept: rows written now and then, and the log for what came since.

A number costs the append nothing: it stands in the event. `ledger.sequences` says up to some position what was received, and
`ledger.leases` up to which one it says all of a table. After a crash the log is read from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row
from psycopg.types.multirange import Multirange

Connection = psycopg.Connection[Any]
Span = tuple[int, int]
"""The first and the last of numbers that follow each other."""


class Reported(NamedTuple):
    """A numbered report that the log knows."""

    terminal: str
    epoch: int
    sequence: int
    event_id: UUID


class Kept(NamedTuple):
    """What is kept of one epoch of a terminal."""

    since: int | None
    """The position after which the present row begins; None where there is no row."""
    received: list[Span]
    rejected: list[Reported]
    """The rejections that the row does not count."""


class Row(NamedTuple):
    """What is to be kept of one epoch of a terminal."""

    terminal: str
    epoch: int
    since: int
    received: Sequence[Span]


class Fork(NamedTuple):
    """A number that a terminal gave to more than one event."""

    terminal: str
    epoch: int
    number: int
    events: list[str]
    tables: list[str]
    """Those of the events that were accepted."""


class Standing(NamedTuple):
    """What was received of one epoch of a terminal, by the database."""

    terminal: str
    epoch: int
    table: str
    received: list[Span]
    given_up: list[Span]
    """Those that will not come."""


class SetBack(NamedTuple):
    """A terminal that reports under a lower epoch than before."""

    terminal: str
    epoch: int
    """The one under which it was heard of last."""
    highest: int
    """The one under which it had been heard of before."""


def since(conn: Connection, after: int, table: str) -> list[Reported]:
    """The numbered reports of a table that caused events after a position."""
    found = _rows(conn, "SELECT terminal, epoch, sequence, cause FROM ledger.reported(%s) WHERE table_id = %s", after, table)
    return [Reported(*row) for row in found]


def kept(conn: Connection, terminal: str, epoch: int) -> Kept:
    """What is kept of one epoch of a terminal."""
    latest = _rows(
        conn,
        "SELECT since, received FROM ledger.sequences WHERE terminal = %s AND epoch = %s ORDER BY since DESC LIMIT 1",
        terminal,
        epoch,
    )
    since, received = latest[0] if latest else (None, Multirange([]))
    return Kept(since, _spans(received), rejected(conn, terminal, epoch, _spans(received)))


def rejected(conn: Connection, terminal: str, epoch: int, known: Sequence[Span]) -> list[Reported]:
    """The numbered reports of one epoch of a terminal that were refused for good, by whichever process, but those of `known`."""
    found = _rows(
        conn,
        "SELECT sequence, event_id FROM ledger.rejections WHERE terminal = %s AND coalesce(epoch, 0) = %s "
        "AND sequence IS NOT NULL AND NOT sequence <@ %s::int8multirange",
        terminal,
        epoch,
        _multirange(known),
    )
    return [Reported(terminal, epoch, *row) for row in found]


def given_up(conn: Connection, terminal: str, epoch: int) -> list[Span]:
    """The numbers of one epoch of a terminal that will not come, as people have put on record."""
    found = _rows(conn, "SELECT first, last FROM ledger.given_up WHERE terminal = %s AND epoch = %s", terminal, epoch)
    return [(first, last) for first, last in found]


def keep(conn: Connection, table: str, lease: int, rows: Sequence[Row], position: int, *, leaving: bool) -> None:
    """Writes down what was received of a table's terminals up to `position`; nothing where the lease has passed on.

    `leaving`: the table is given back, and whoever takes it next has nothing to read in the log.
    """
    conn.execute(
        """
        WITH held AS MATERIALIZED (SELECT FROM ledger.leases WHERE table_id = %(table)s AND epoch = %(lease)s FOR UPDATE),
        written AS (
            INSERT INTO ledger.sequences AS s (terminal, epoch, since, position, received, table_id)
            SELECT t, e, f, greatest(f, %(position)s), r, %(table)s
            FROM held, unnest(%(terminals)s::text[], %(epochs)s::bigint[], %(since)s::bigint[], %(received)s::int8multirange[])
                AS given(t, e, f, r)
            ON CONFLICT (terminal, epoch, since) DO UPDATE SET position = excluded.position, received = excluded.received,
                table_id = excluded.table_id, recorded_at = excluded.recorded_at
        )
        UPDATE ledger.leases SET counted_to = greatest(counted_to, %(position)s),
            counted_in = CASE WHEN %(leaving)s THEN epoch END
        FROM held WHERE table_id = %(table)s
        """,
        {
            "table": table,
            "lease": lease,
            "position": position,
            "leaving": leaving,
            "terminals": [row.terminal for row in rows],
            "epochs": [row.epoch for row in rows],
            "since": [row.since for row in rows],
            "received": [_multirange(row.received) for row in rows],
        },
    )


def numbered(conn: Connection, terminal: str, epoch: int, sequence: int) -> UUID | None:
    """The event that bears a number of a terminal, by what is kept and the log between; None where it is not found there."""
    found = _rows(
        conn,
        """
        SELECT event_id FROM ledger.rejections
        WHERE terminal = %(terminal)s AND coalesce(epoch, 0) = %(epoch)s AND sequence = %(sequence)s
        UNION ALL
        SELECT cause FROM (
            SELECT since, position FROM ledger.sequences
            WHERE terminal = %(terminal)s AND epoch = %(epoch)s AND received @> %(sequence)s::bigint ORDER BY since LIMIT 1
        ) AS kept CROSS JOIN LATERAL (
            SELECT cause, convert_from(state, 'UTF8')::jsonb AS body FROM ledger.events
            WHERE notification_id > kept.since AND notification_id <= kept.position AND cause IS NOT NULL
        ) AS said
        WHERE body ->> 'terminal' = %(terminal)s AND coalesce((body ->> 'epoch')::bigint, 0) = %(epoch)s
          AND (body ->> 'sequence')::bigint = %(sequence)s
        LIMIT 1
        """,
        {"terminal": terminal, "epoch": epoch, "sequence": sequence},
    )
    return found[0][0] if found else None


def standings(conn: Connection, terminal: str | None = None) -> list[Standing]:
    """What was received of every terminal, or of one, as the database knows it now; by terminal and epoch.

    Of a table that a process holds, or held when it crashed, the log is read from where the rows end.
    """
    found: dict[tuple[str, int], tuple[str, Multirange[int]]] = {}
    for name, epoch, table, received in _rows(conn, _STANDINGS, {"terminal": terminal}):
        found[name, epoch] = (table or "", received)
    given: dict[tuple[str, int], list[Span]] = {}
    for name, epoch, first, last in _rows(conn, "SELECT terminal, epoch, first, last FROM ledger.given_up ORDER BY position"):
        given.setdefault((name, epoch), []).append((first, last))
    return [Standing(*key, table, _spans(received), given.get(key, [])) for key, (table, received) in sorted(found.items())]


_STANDINGS = """
WITH latest AS (
    SELECT DISTINCT ON (terminal, epoch) terminal, epoch, table_id, received
    FROM ledger.sequences WHERE terminal = %(terminal)s OR %(terminal)s::text IS NULL ORDER BY terminal, epoch, since DESC
), unread AS (
    SELECT min(counted_to) AS after FROM ledger.leases
    WHERE counted_in IS DISTINCT FROM epoch
      AND (%(terminal)s::text IS NULL OR NOT EXISTS (SELECT FROM latest) OR table_id IN (SELECT table_id FROM latest))
), newer AS (
    SELECT terminal, epoch, table_id, sequence FROM ledger.reported((SELECT after FROM unread))
    UNION ALL
    SELECT terminal, coalesce(epoch, 0), NULL, sequence FROM ledger.rejections WHERE sequence IS NOT NULL
)
SELECT terminal, epoch, coalesce(max(kept_table), max(table_id)), range_agg(received) FROM (
    SELECT terminal, epoch, table_id AS kept_table, table_id, received FROM latest
    UNION ALL
    SELECT terminal, epoch, NULL, table_id, int8multirange(int8range(sequence, sequence, '[]')) FROM newer
    WHERE terminal = %(terminal)s OR %(terminal)s::text IS NULL
) AS each GROUP BY terminal, epoch
"""


def set_back(conn: Connection, within: timedelta) -> list[SetBack]:
    """The terminals whose last report is of a lower epoch than one before it, where that one was heard of `within` that time.

    Of two epochs that were written down at once the higher one counts as the last, until more of the other comes.
    """
    return [SetBack(*row) for row in _rows(conn, _SET_BACK, {"within": within})]


_SET_BACK = """
WITH newer AS (
    SELECT body ->> 'terminal' AS terminal, coalesce((body ->> 'epoch')::bigint, 0) AS epoch, notification_id AS position
    FROM ledger.events CROSS JOIN LATERAL (SELECT convert_from(state, 'UTF8')::jsonb AS body) AS said
    WHERE notification_id > (SELECT min(counted_to) FROM ledger.leases WHERE counted_in IS DISTINCT FROM epoch)
      AND cause IS NOT NULL AND body ? 'sequence'
), heard AS (
    SELECT terminal, epoch, max(position) AS position, max(recorded_at) AS at FROM (
        SELECT terminal, epoch, position, recorded_at FROM ledger.sequences
        UNION ALL
        SELECT terminal, epoch, position, clock_timestamp() FROM newer
    ) AS each GROUP BY terminal, epoch
), latest AS (
    SELECT DISTINCT ON (terminal) terminal, epoch, position FROM heard ORDER BY terminal, position DESC, epoch DESC
), highest AS (
    SELECT DISTINCT ON (terminal) terminal, epoch, at FROM heard ORDER BY terminal, epoch DESC
)
SELECT terminal, latest.epoch, highest.epoch FROM latest JOIN highest USING (terminal)
WHERE latest.epoch < highest.epoch AND highest.at > clock_timestamp() - %(within)s::interval ORDER BY terminal
"""


def forks(conn: Connection, terminal: str | None = None) -> list[Fork]:
    """Every number that stands for more than one event, by the log and the rejections as a whole: reads all of them.

    Whoever holds a table refuses the second event of a number (LGR-0303). Only where one terminal reports of two tables, which
    two services hold, does nobody see both at the time: a constraint that did would be a contended row for every bet. Behind a
    door that takes signatures a terminal has one table, so it takes an open door, or a terminal that was moved amid an epoch.
    """
    return [Fork(*row) for row in _rows(conn, _FORKS, {"terminal": terminal})]


_FORKS = """
SELECT terminal, epoch, sequence, array_agg(DISTINCT event_id::text),
       coalesce(array_agg(DISTINCT table_id) FILTER (WHERE table_id <> ''), '{}')
FROM (
    SELECT terminal, epoch, sequence, cause AS event_id, table_id FROM ledger.reported(0)
    UNION ALL
    SELECT terminal, coalesce(epoch, 0), sequence, event_id, NULL FROM ledger.rejections WHERE sequence IS NOT NULL
) AS each
WHERE terminal = %(terminal)s OR %(terminal)s::text IS NULL
GROUP BY terminal, epoch, sequence HAVING count(DISTINCT event_id) > 1 ORDER BY terminal, epoch, sequence
"""


def _rows(conn: Connection, query: str, *params: Any) -> list[tuple[Any, ...]]:
    given = params[0] if len(params) == 1 and isinstance(params[0], dict) else params
    with conn.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(query.encode(), given).fetchall()


def _multirange(spans: Sequence[Span]) -> str:
    return "{" + ",".join(f"[{first},{last}]" for first, last in spans) + "}"


def _spans(received: Multirange[int]) -> list[Span]:
    """The server gives ranges of whole numbers from the first up to one past the last."""
    return [(span.lower, span.upper - 1) for span in received if span.lower is not None and span.upper is not None]
