"""A month of events in a log, quickly: one gaming day posted through the application, and copied by the server as the others.

The day is played from a seed at tables of all four games, and what it leaves in the log is what the application wrote. A copy of
it is another day: in every id the first eight digits, which are the day's number, are those of the copy; every date, of times and
of gaming days, is so many days later; and positions go on behind the day before, in the same order. So the copies have the sizes,
the variety and the order of days that were played, and no id stands twice. The server copies with the owner's rights; no trigger
of the log is in the way of an INSERT.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from itertools import count
from random import Random
from typing import Any
from uuid import UUID

import psycopg

from ledger.application import Rounds
from ledger.property import Choice, OptIn, Property, Table
from ledger.reports import Body, Report
from tests import support
from tests.benchmarks.jobs import accepted

FIRST = date(2026, 11, 1)
DAYS = 30
GAMES = ("roulette",) * 5 + ("cussec",) * 2 + ("fantan",) * 2 + ("craps",)
HOUSE = Property(
    id="MONTH",
    name="Month",
    zone="Asia/Macau",
    gaming_day_start="06:00",
    tables=tuple(
        Table(f"{game[0].upper()}{n:02}", "A", game, "MOP", "1" if game == "craps" else "0.01") for n, game in enumerate(GAMES)
    ),
    opt_ins=(OptIn("30/2003", "a benchmark", "nobody"), OptIn("31/2003", "a benchmark", "nobody")),
    choices=(Choice(regulation="53/2010", unverified_bets=True),),
)
_SPOTS = {
    "roulette": (
        *(f"straight:{n}" for n in range(37)),
        *("split:17-20", "street:4-5-6", "corner:8-9-11-12", "dozen:1", "dozen:3", "column:1", "column:2"),
        *("red", "black", "even", "odd", "low", "high"),
    ),
    "cussec": ("small", "big", "any_triple", *(f"three_army:{n}" for n in range(1, 7)), *(f"total:{n}" for n in range(4, 18))),
    "fantan": (*(f"fan:{n}" for n in range(1, 5)), "nim:3/1", "nim:1/3", "kuoc:12", "nga:12/3", "sshong:123"),
    "craps": ("pass",),
}
_BETS = range(8, 20)
"""How many bets a round has."""
_POST = 25
"""Rounds in one post."""
_OPENS = datetime(FIRST.year, FIRST.month, FIRST.day, 0, 30, tzinfo=UTC)
"""08:30 in Macau: from here to midnight in UTC all of it is one gaming day and one date."""
_LASTS = timedelta(hours=21)

_COPY = """
INSERT INTO ledger.events (originator_id, originator_version, notification_id, topic, state, cause, caused, fingerprint)
SELECT (%(id)s || substr(originator_id::text, 9))::uuid, originator_version, %(after)s + notification_id - %(low)s, topic,
       convert_to(replace(replace(convert_from(state, 'UTF8'), '"' || %(first)s, '"' || %(id)s), %(date)s, %(later)s), 'UTF8'),
       (%(id)s || substr(cause::text, 9))::uuid, caused, fingerprint
FROM ledger.events WHERE notification_id BETWEEN %(low)s AND %(high)s ORDER BY notification_id
"""


def _id(day: int) -> str:
    """The digits with which the ids of a day begin."""
    return f"{day:08x}"


class _Terminal(support.Terminal):
    """The terminal of one table, whose reports bear ids of the first day, in order, and times of it."""

    def __init__(self, table: Table, ids: Iterator[int], share: Iterator[float]) -> None:
        super().__init__(table.id, table.game, table.currency)
        self._ids = ids
        self._share = share

    def id(self) -> UUID:
        return UUID(int=int(_id(1), 16) << 96 | 0x7 << 76 | 0x2 << 62 | next(self._ids))

    def report(self, body: Body, *, round: UUID | None = None, **changes: Any) -> Report:
        now = _OPENS + _LASTS * next(self._share)
        return super().report(body, round=round, **{"event_id": self.id(), "occurred_at": now, "received_at": now, **changes})

    def whole(self, random: Random) -> list[Report]:
        """A round from its opening to its settlement."""
        opened = self.open(round=self.id())
        self.round = opened.round
        bets = [
            self.bet(random.choice(_SPOTS[self.game]), str(100 * random.randrange(1, 5000)), f"P-{random.randrange(400)}")
            for _ in range(random.choice(_BETS))
        ]
        return [opened, *bets, self.close(), *self._ended(random)]

    def _ended(self, random: Random) -> list[Report]:
        match self.game:
            case "roulette":
                return [self.outcome(str(random.randrange(37)))]
            case "cussec":
                return [self.outcome("-".join(str(random.randrange(1, 7)) for _ in range(3)))]
            case "fantan":
                return [self.outcome(str(random.randrange(1, 5)))]
        thrown, point = [], 0
        while True:
            dice = random.randrange(1, 7), random.randrange(1, 7)
            thrown.append(self.throw("-".join(map(str, dice))))
            if sum(dice) in (7, point) or (not point and sum(dice) in (2, 3, 11, 12)):
                return thrown
            point = point or sum(dice)


def play(dsn: str, events: int, *, seed: int = 0) -> int:
    """Posts one gaming day of so many events at least, and says of how many; the database is empty but migrated."""
    random, ids = Random(seed), count(1)
    with closing(Rounds(dsn)) as rounds, psycopg.connect(dsn, autocommit=True) as conn:
        rounds.apply_property(HOUSE)
        share = (min(reports / events, 0.999999) for reports in count(1))  # every report is an event at least
        terminals = [_Terminal(table, ids, share) for table in HOUSE.tables]
        played = 0
        while played < events:
            for terminal in terminals:
                accepted(rounds.post([report for _ in range(_POST) for report in terminal.whole(random)]))
            played = _span(conn)[2]
    return played


def copy(conn: psycopg.Connection[Any], days: int = DAYS) -> int:
    """Makes `days` days of the one that was played, and says how many events the log then has of all of them."""
    low, high, events = _span(conn)
    span = high - low + 1
    for n in range(1, days):
        given = {"first": _id(1), "id": _id(1 + n), "low": low, "high": high, "after": low + n * span}
        dates = {"date": FIRST.isoformat(), "later": (FIRST + timedelta(days=n)).isoformat()}
        conn.execute(_COPY, given | dates)
    conn.execute("SELECT setval('ledger.positions', %s)", (low + days * span - 1,))
    return events * days


def _span(conn: psycopg.Connection[Any]) -> tuple[int, int, int]:
    """The first and last position of the first day, and how many events it has; documents lie before it."""
    row = conn.execute(
        "SELECT min(notification_id), max(notification_id), count(*) FROM ledger.events WHERE originator_id::text LIKE %s",
        (f"{_id(1)}%",),
    ).fetchone()
    assert row is not None
    return row[0] or 0, row[1] or 0, row[2]
