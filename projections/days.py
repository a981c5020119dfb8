"""A gaming day as it stands: its figures, what of it is unfinished, and whether it is closed. And the slips, with their numbers.

What is unfinished has a code; of these `open_round` alone keeps a day from being closed, for a round belongs to its day for good.
Anything else can be acknowledged: what comes of it later is posted to the day that is open then.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import class_row

from ledger.sequences import accounted
from ledger.store.sequences import standings
from projections.queries import percent

Connection = psycopg.Connection[Any]

OPEN_ROUND = "open_round"
UNFINISHED: dict[str, str] = {
    OPEN_ROUND: "a round that is not settled",
    "unconfirmed_slip": "a slip that nobody else has signed",
    "unconfirmed_cancellation": "a slip whose cancellation nobody else has signed",
    "missing_opener": "a table that was played without a count as it opened",
    "missing_closer": "a table that was played without a count as it closed, or with fewer closers than openers",
    "missing_drop": "a table that was played, of which no drop was counted",
    "open_hold": "a round that is held for review",
    "open_correction": "a correction that waits for an approval",
    "slip_gap": "numbers of slips that are missing between others",
    "terminal_gap": "events that a terminal has numbered and that have not come",
}
"""Code → what it means."""


class SlipLine(msgspec.Struct, frozen=True, kw_only=True):
    """A slip; its amounts are in minor units of `currency`."""

    slip: UUID
    kind: str
    number: int | None
    """Of a fill or a credit."""
    box: str | None
    """Of a drop."""
    property: str
    table: str
    gaming_day: date
    of_day: date | None
    shift: str | None
    currency: str
    total: str
    status: str
    """`open`, `confirmed`, `cancelling` or `cancelled`."""
    written_by: str
    written_at: datetime
    confirmed_by: str | None
    cancelled_by: str | None
    cancel_reason: str | None
    reversed_by: str | None
    reversed_day: date | None
    note: str | None


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of slips that are missing between the lowest and the highest that a property has used."""

    property: str
    kind: str
    """`fill` or `credit`."""
    first: int
    last: int


class TableDay(msgspec.Struct, frozen=True, kw_only=True):
    """A table's gaming day in one currency, by both sides; amounts in minor units, null where there is no such figure."""

    table: str
    currency: str
    opener: str | None
    fills: str
    credits: str
    drop: str | None
    closer: str | None
    count_win: str | None
    handle: str
    rounds_win: str
    earlier: str
    ledger_win: str
    adjusted: str
    variance: str | None

    def hold_percent(self, *, dealt: bool) -> str | None:
        """The day's own win in percent of the drop, two decimals; None unless the drop is above zero and in a currency that the
        table deals in (`dealt`, or bets were made in it): a hold is a share of what the win was made of."""
        own = dealt or int(self.handle)
        return percent(int(self.rounds_win), max(int(self.drop or 0), 0) if own else 0)


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """Something of a day that is not as it should be when it closes."""

    code: str
    """A key of `UNFINISHED`."""
    table: str | None
    what: str
    """Which one: an id or numbers."""


class Closed(msgspec.Struct, frozen=True, kw_only=True):
    """A day that was closed."""

    gaming_day: date
    closed_by: str
    closed_at: datetime
    as_of: str
    figures: str
    despite: str
    note: str | None


_SLIPS = """
SELECT slip, kind, number, box, property, table_id AS table, gaming_day, of_day, shift, currency, total::text AS total, status,
       written_by, written_at, confirmed_by, cancelled_by, cancel_reason, reversed_by, reversed_day, note
FROM (
    SELECT slip, kind, NULL::bigint AS number, NULL::text AS box, property, table_id, gaming_day, of_day, shift, currency, total,
           status, written_by, written_at, written_position, confirmed_by, cancelled_by, cancel_reason, reversed_by,
           reversed_day, note
    FROM projection.counts
    UNION ALL
    SELECT slip, kind, number, NULL, property, table_id, gaming_day, of_day, shift, currency, total,
           status, written_by, written_at, written_position, confirmed_by, cancelled_by, cancel_reason, reversed_by,
           reversed_day, note
    FROM projection.slips
    UNION ALL
    SELECT slip, kind, NULL, box, property, table_id, gaming_day, of_day, shift, currency, total,
           status, written_by, written_at, written_position, confirmed_by, cancelled_by, cancel_reason, reversed_by,
           reversed_day, note
    FROM projection.drops
) AS written
WHERE (%(house)s::text IS NULL OR property = %(house)s) AND (%(table)s::text IS NULL OR table_id = %(table)s)
  AND (%(day)s::date IS NULL OR gaming_day = %(day)s OR reversed_day = %(day)s)
  AND (NOT %(waiting)s OR status IN ('open', 'cancelling'))
ORDER BY written_position DESC LIMIT %(limit)s
"""


def slips(
    conn: Connection,
    *,
    house: str | None = None,
    table: str | None = None,
    day: date | None = None,
    waiting: bool = False,
    limit: int = 100,
) -> list[SlipLine]:
    """The latest slips; with `waiting` those alone that wait for a signature."""
    asked = {"house": house, "table": table, "day": day, "waiting": waiting, "limit": limit}
    with conn.cursor(row_factory=class_row(SlipLine)) as cursor:
        return cursor.execute(_SLIPS, asked).fetchall()


_GAPS = """
SELECT property, kind, number + 1 AS first, following - 1 AS last
FROM (
    SELECT property, kind, number, lead(number) OVER ordered AS following,
           least(gaming_day, lead(gaming_day) OVER ordered) AS since
    FROM projection.slips WINDOW ordered AS (PARTITION BY property, kind ORDER BY number)
) AS each
WHERE following > number + 1 AND (%(house)s::text IS NULL OR property = %(house)s)
  AND (%(day)s::date IS NULL OR since <= %(day)s)
ORDER BY property, kind DESC, number
"""


def gaps(conn: Connection, house: str | None = None, day: date | None = None) -> list[Gap]:
    """The numbers of slips that are missing between others: every number has to be accounted for.

    Of a gaming day those that may be of it or of a day before: one between slips of later days is not.
    """
    with conn.cursor(row_factory=class_row(Gap)) as cursor:
        return cursor.execute(_GAPS, {"house": house, "day": day}).fetchall()


_TABLES = """
SELECT property, gaming_day, table_id AS table, currency, opener::text AS opener, fills::text AS fills, credits::text AS credits,
       "drop"::text AS "drop", closer::text AS closer, count_win::text AS count_win, handle::text AS handle,
       rounds_win::text AS rounds_win, earlier::text AS earlier, ledger_win::text AS ledger_win, adjusted::text AS adjusted,
       variance::text AS variance
FROM projection.table_days
WHERE (property, gaming_day) IN (SELECT * FROM unnest(%(houses)s::text[], %(days)s::date[])) ORDER BY table_id, currency
"""

Day = tuple[str, date]
"""A gaming day of a property."""


def table_days(conn: Connection, house: str, day: date) -> list[TableDay]:
    """What each table came to on a property's gaming day, by table and currency."""
    return figures(conn, [(house, day)]).get((house, day), [])


def figures(conn: Connection, of: Collection[Day]) -> dict[Day, list[TableDay]]:
    """The same of many days, by day; those on which nothing happened are not there."""
    found: dict[Day, list[TableDay]] = defaultdict(list)
    asked = {"houses": [house for house, _ in of], "days": [day for _, day in of]}
    for house, day, *line in conn.execute(_TABLES, asked):
        found[house, day].append(TableDay(**dict(zip(TableDay.__struct_fields__, line, strict=True))))
    return found


def fingerprint(house: str, day: date, figures: list[TableDay]) -> str:
    """SHA-256 (hex) of a day's figures: of their JSON with the keys in order, without spaces, property and day before them."""
    said = msgspec.json.encode([house, day, figures], order="sorted")
    return hashlib.sha256(said).hexdigest()


def totals(figures: list[TableDay]) -> list[dict[str, str]]:
    """The figures of a day by currency, as its closing tells them; no count win where one of the tables has none."""
    found: dict[str, dict[str, int | None]] = {}
    for line in figures:
        total = found.setdefault(line.currency, dict.fromkeys(("handle", "win", "earlier", "adjusted", "drop", "count_win"), 0))
        said = {"win": line.rounds_win, "drop": line.drop or "0", "count_win": line.count_win}
        for name, before in total.items():
            value = said.get(name, getattr(line, name, None))
            total[name] = None if before is None or value is None else before + int(value)
    return [
        {"currency": currency, **{name: str(value) for name, value in total.items() if value is not None}}
        for currency, total in sorted(found.items())
    ]


_UNFINISHED = """
WITH played AS (
    SELECT DISTINCT table_id, currency FROM projection.rounds WHERE property = %(house)s AND gaming_day = %(day)s
), counted AS (
    SELECT p.table_id, coalesce(sum(s.times) FILTER (WHERE s.kind = 'opener'), 0) AS openers,
           coalesce(sum(s.times) FILTER (WHERE s.kind = 'closer'), 0) AS closers,
           coalesce(sum(s.times) FILTER (WHERE s.kind = 'drop'), 0) AS drops
    FROM played AS p LEFT JOIN projection.slip_postings AS s
        ON (s.property, s.table_id, s.gaming_day) = (%(house)s, p.table_id, %(day)s::date)
    GROUP BY p.table_id
), of_the_day AS (
    SELECT round, table_id FROM projection.rounds WHERE property = %(house)s AND gaming_day <= %(day)s
)
SELECT 'open_round' AS code, table_id AS table, round::text AS what, first_position AS place FROM projection.rounds
WHERE property = %(house)s AND gaming_day <= %(day)s AND status IN ('open', 'closed')
UNION ALL
SELECT CASE status WHEN 'open' THEN 'unconfirmed_slip' ELSE 'unconfirmed_cancellation' END, table_id, kind || ' ' || slip, place
FROM (
    SELECT slip, kind, status, table_id, written_position AS place, property, gaming_day FROM projection.counts
    UNION ALL SELECT slip, kind, status, table_id, written_position, property, gaming_day FROM projection.slips
    UNION ALL SELECT slip, kind, status, table_id, written_position, property, gaming_day FROM projection.drops
) AS slips
WHERE property = %(house)s AND gaming_day <= %(day)s AND status IN ('open', 'cancelling')
UNION ALL
SELECT 'missing_opener', table_id, 'no opener', 0 FROM counted WHERE openers = 0
UNION ALL
SELECT 'missing_closer', table_id, closers || ' of ' || greatest(openers, 1), 0 FROM counted WHERE closers < greatest(openers, 1)
UNION ALL
SELECT 'missing_drop', table_id, 'no drop', 0 FROM counted WHERE drops = 0
UNION ALL
SELECT 'open_hold', r.table_id, h.hold::text, h.held_position
FROM projection.holds AS h JOIN of_the_day AS r USING (round) WHERE h.released_position IS NULL
UNION ALL
SELECT 'open_correction', r.table_id, c.correction::text, c.proposed_position
FROM projection.corrections AS c JOIN of_the_day AS r USING (round) WHERE c.status = 'proposed'
ORDER BY 4, 1, 2, 3
"""


def unfinished(conn: Connection, house: str, day: date, tables: Collection[str]) -> list[Unfinished]:
    """What of a property's day, or of a day before, is not as it should be; `tables` are the property's."""
    found = [
        Unfinished(code=code, table=table, what=what)
        for code, table, what, _ in conn.execute(_UNFINISHED, {"house": house, "day": day}).fetchall()
    ]
    found += [
        Unfinished(code="slip_gap", table=None, what=f"{gap.kind} {span(gap.first, gap.last)}") for gap in gaps(conn, house, day)
    ]
    for each in standings(conn):
        missing = accounted(each).missing() if each.table in tables else []
        if missing:
            numbers = ", ".join(span(first, last) for first, last in missing)
            found.append(Unfinished(code="terminal_gap", table=each.table, what=f"{each.terminal} {numbers}"))
    return sorted(found, key=lambda each: list(UNFINISHED).index(each.code))


def unacknowledged(found: Iterable[Unfinished], despite: Collection[str]) -> list[Unfinished]:
    """What nobody has acknowledged by its code; an open round cannot be."""
    return [each for each in found if each.code == OPEN_ROUND or each.code not in despite]


def span(first: int, last: int) -> str:
    """Numbers from the first to the last."""
    return str(first) if first == last else f"{first}-{last}"


_CLOSED = """
SELECT gaming_day, closed_by, closed_at, as_of::text AS as_of, figures, despite, note FROM projection.days
WHERE property = %(house)s AND (%(day)s::date IS NULL OR gaming_day = %(day)s) ORDER BY gaming_day DESC LIMIT 1
"""


def closed(conn: Connection, house: str, day: date | None = None) -> Closed | None:
    """How a day was closed; without a day the last one that is closed."""
    with conn.cursor(row_factory=class_row(Closed)) as cursor:
        return cursor.execute(_CLOSED, {"house": house, "day": day}).fetchone()


def first_day(conn: Connection, house: str, begun: date) -> date | None:
    """The first gaming day on which anything is on record of a property, but none before `begun`, the first that its ledger has.

    A slip that names an earlier day, from before such were refused, is posted there, and closed with the first. Rounds have their
    day by the clock.
    """
    played, counted = conn.execute(
        "SELECT (SELECT min(gaming_day) FROM projection.rounds WHERE property = %(house)s), "
        "(SELECT min(gaming_day) FROM projection.slip_postings WHERE property = %(house)s)",
        {"house": house},
    ).fetchone() or (None, None)
    days = ([] if played is None else [played]) + ([] if counted is None else [max(counted, begun)])
    return min(days, default=None)
