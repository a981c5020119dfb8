"""Closed gaming days held against what they were closed with: are their figures still those, and did anything come later.

A closing names the position up to which its figures were read, and nothing is posted to its day behind that. As long as nothing
is, the day's figures of today are those of that position, and need not be folded anew to be compared. They are those of the live
tables: that these are what the log gives is for `projections.replay` to prove.
"""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple

import psycopg

from ledger.events import EVENTS
from ledger.store import codec
from projections import days, queries
from projections.tally import COUNTED

Connection = psycopg.Connection[Any]


class Closing(NamedTuple):
    """A day of a property that was closed, as the log has it."""

    property: str
    gaming_day: date
    closed_by: str
    position: int
    as_of: int
    """The position up to which its figures were read."""
    figures: str
    """SHA-256 of them, hex."""


class Later(NamedTuple):
    """A round or slip that is posted to a closed day, from behind the position up to which that day's figures were read."""

    property: str
    gaming_day: date
    """To which it is posted."""
    closed_at: int
    """Position of the closing."""
    position: int
    """Of the first event that came too late."""
    what: str
    """`round`, or the kind of the slip."""
    id: str
    table: str


class Held(NamedTuple):
    """What came of all closed days."""

    closings: int
    """How many there are."""
    later: list[Later]
    others: list[tuple[Closing, str]]
    """Closings with other figures than the day has, and the SHA-256 of those that it has; but no day of `later`."""
    unjudged: list[Closing]
    """Those of which it cannot be said, because one projection is behind the other."""


def held(conn: Connection) -> Held:
    """Holds every closed day against its closing. `conn` has to be in a transaction that sees one state of the tables."""
    closed = [Closing(*row) for row in conn.execute(_CLOSINGS)]
    if not closed:
        return Held(0, [], [], [])
    late = [Later(*row) for row in conn.execute(_LATER, {"topics": _TOPICS})]
    told = {(each.property, each.gaming_day) for each in late}
    now = days.figures(conn, [(each.property, each.gaming_day) for each in closed])
    reached = {each.name: int(each.position) for each in queries.positions(conn)}
    others, unjudged = [], []
    for each in closed:
        day = each.property, each.gaming_day
        found = days.fingerprint(*day, now.get(day, []))
        if found == each.figures or day in told:
            continue
        # What one projection has folded alone, the other would have told of.
        if reached["ledger"] < reached["tables"] or reached["tables"] < each.as_of:
            unjudged.append(each)
        else:
            others.append((each, found))
    return Held(len(closed), late, others, unjudged)


_CLOSINGS = """
SELECT property, gaming_day, closed_by, position, (body ->> 'as_of')::bigint, body ->> 'figures'
FROM projection.days JOIN ledger.log USING (position) ORDER BY property, gaming_day
"""

_TOPICS = [topic for topic in (*(kind.TOPIC for kind in EVENTS), *codec.OLD) if codec.kind(topic) in COUNTED]
"""Of the events of rounds that change a figure of a day."""

_LATER = """
WITH closed AS (
    -- A day is closed by the first closing that is not of a day before: a property's first closes all before it.
    SELECT property, gaming_day AS last, lag(gaming_day) OVER of_property AS before, position, as_of
    FROM projection.days WINDOW of_property AS (PARTITION BY property ORDER BY gaming_day)
), rounds AS MATERIALIZED (
    -- Of most days nothing happened since, and their rounds are told by one look at each. By equal days: it is a long table.
    SELECT r.round, r.property, r.table_id, r.gaming_day, d.as_of
    FROM projection.rounds AS r JOIN projection.days AS d USING (property, gaming_day) WHERE r.last_position > d.as_of
    UNION ALL
    SELECT r.round, r.property, r.table_id, r.gaming_day, c.as_of
    FROM projection.rounds AS r JOIN closed AS c ON c.property = r.property AND c.before IS NULL AND r.gaming_day < c.last
    WHERE r.last_position > c.as_of
), slips AS (
    SELECT slip, kind, property, table_id, gaming_day, confirmed_position, reversed_day, reversed_position
    FROM projection.counts
    UNION ALL
    SELECT slip, kind, property, table_id, gaming_day, confirmed_position, reversed_day, reversed_position
    FROM projection.slips
    UNION ALL
    SELECT slip, kind, property, table_id, gaming_day, confirmed_position, reversed_day, reversed_position
    FROM projection.drops
), posted AS (
    SELECT 'round' AS what, r.round AS id, r.property, r.table_id,
           coalesce((e.body ->> 'gaming_day')::date, r.gaming_day) AS day, e.position
    FROM rounds AS r
    -- OFFSET 0: each of these few rounds is looked up by its id, and the log is never read from end to end.
    CROSS JOIN LATERAL (SELECT position, topic, body FROM ledger.log WHERE stream = r.round AND position > r.as_of OFFSET 0) AS e
    WHERE e.topic = ANY (%(topics)s)
    UNION ALL
    SELECT s.kind, s.slip, s.property, s.table_id, p.day, p.position
    FROM slips AS s
    CROSS JOIN LATERAL (VALUES (gaming_day, confirmed_position), (reversed_day, reversed_position)) AS p (day, position)
    WHERE p.position IS NOT NULL
)
SELECT p.property, p.day, c.position, min(p.position), p.what, p.id::text, p.table_id
FROM posted AS p JOIN closed AS c ON c.property = p.property AND p.day <= c.last AND (c.before IS NULL OR p.day > c.before)
-- To a day that was closed with a later one something may have come until then.
WHERE p.position > CASE WHEN p.day = c.last THEN c.as_of ELSE c.position END
GROUP BY p.property, p.day, c.position, p.what, p.id, p.table_id ORDER BY 4
"""
