"""A floor whose link is down for an hour loses nothing, doubles nothing, and reports the day as if it had been up.

Twelve terminals at twelve tables play a day by a made-up clock, through outboxes on disk, a network that can be cut, the HTTP
door and Postgres. In the middle of a post the link goes, and comes back an hour later; every outbox is then flushed twice at
once, and once more the next day, as is a copy that was made of it when the link came back. The same day is played without an
outage beside it, from the same script.

Where the hour lies inside one gaming day, both ledgers give the same reports and balances. Where it crosses 06:00, exactly those
rounds belong to another gaming day that were opened before it and reached the service after it. In both, exactly those events are
flagged whose terminal's clock was further from the service's than the house tolerates when they arrived.

Then the same checks are asked about days that are wrong, and have to find each.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import psycopg
from psycopg import conninfo

from ledger.client import Door, Event, happened
from ledger.reports import OpenRound
from ledger.store.embedded import EmbeddedPostgres
from projections import queries
from projections.runner import catch_up
from tests.proofs import place
from tests.proofs.audit import audit
from tests.proofs.outage_floor import EMPTY, HOUSE, TABLES, Clock, Outcome, Script, copied, house, played, script, serving

ZONE = ZoneInfo(HOUSE.zone)
TOLERANCE = timedelta(seconds=HOUSE.clock_tolerance or 0)
DAY = date(2026, 11, 28)


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    began = time.monotonic()
    place.end_cleanly()
    logging.getLogger("ledger").setLevel(logging.ERROR)
    with place.directory() as directory, ExitStack() as servers:
        server = servers.enter_context(EmbeddedPostgres(directory / "postgres"))
        admin = server.conninfo("postgres")
        house(admin)
        cases = [_case(admin, directory, name, day) for name, day in _days(options).items()]
        for case in cases:
            print(case.figures)
        rang = _canaries(admin, *cases)
    return _conclude(cases, rang, time.monotonic() - began)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py prove outage", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of what happens at the tables")
    parser.add_argument("--short", action="store_true", help="fewer rounds: a form of some seconds")
    return parser.parse_args(argv)


def _days(options: argparse.Namespace) -> dict[str, Script]:
    """An hour's outage inside one gaming day, and one that crosses its beginning."""

    def day(begin: str, cut: str, back: str, end: str) -> Script:
        moments = [datetime.fromisoformat(f"{DAY} {clock}").replace(tzinfo=ZONE) for clock in (begin, cut, back, end)]
        every = timedelta(minutes=12 if options.short else 3)
        return script(*moments, every=every, seed=options.seed)

    if options.short:
        return {"inside": day("10:50", "11:00", "12:00", "12:10"), "across": day("05:20", "05:30", "06:30", "06:40")}
    return {"inside": day("10:00", "11:00", "12:00", "13:00"), "across": day("04:30", "05:30", "06:30", "07:30")}


class Case(NamedTuple):
    """One day with the outage and without, and what was found."""

    name: str
    day: Script
    cut: Outcome
    whole: Outcome
    faults: list[str]
    figures: str


def _case(admin: str, directory: Path, name: str, day: Script) -> Case:
    cut = played(copied(admin, EMPTY, f"{name}_cut"), directory / f"{name}-cut", day, outage=True)
    whole = played(copied(admin, EMPTY, f"{name}_whole"), directory / f"{name}-whole", day, outage=False)
    faults = [*_by_itself(cut), *_by_itself(whole), *_beside(day, cut, whole)]
    moved, late = map(len, _expected(day, cut))
    rounds = sum(isinstance(event.data, OpenRound) for events in day.events for event in events)
    figures = (
        f"{name}: {TABLES} terminals, {rounds} rounds, {len(day.ids)} events; {cut.waited} waited when the link came back; "
        f"{cut.sent['failed']} flushes failed, {cut.sent['replayed']} events were replayed, {cut.sent['again']} the next day; "
        f"{late} flagged, {moved} rounds in another gaming day"
    )
    return Case(name, day, cut, whole, faults, figures)


# ---------------------------------------------------------------------------------------------------------------------- checks


def _by_itself(found: Outcome) -> list[str]:
    """One ledger against the outboxes: every event once, every number there, all else as after kills."""
    return [*audit(found.dsn, found.books).faults, *_gaps(found)]


def _gaps(found: Outcome) -> list[str]:
    numbers: dict[str, Counter[int]] = {name: Counter() for name in found.numbers}
    with psycopg.connect(found.dsn) as conn:
        for terminal, number in conn.execute(
            "SELECT body->>'terminal', (body->>'sequence')::bigint FROM ledger.log WHERE body ? 'sequence' "
            "GROUP BY body->>'cause', 1, 2"
        ):
            numbers.setdefault(terminal, Counter())[number] += 1
    faults = []
    for terminal, last in found.numbers.items():
        given = numbers[terminal]
        missing = sorted(set(range(1, last + 1)) - given.keys())
        others = sorted(number for number, times in given.items() if times > 1 or number > last)
        if missing or others:
            faults.append(f"terminal {terminal} gave out 1 to {last}; missing {missing[:5]}, twice or beyond {others[:5]}")
    return faults


class Expected(NamedTuple):
    """What an outage changes."""

    moved: set[UUID]
    """The rounds whose opening happened before a gaming day began and arrived after."""
    late: set[UUID]
    """The events that arrived later than the house tolerates."""


def _expected(day: Script, cut: Outcome) -> Expected:
    events = [event for each in day.events for event in each]
    openings = [event for event in events if isinstance(event.data, OpenRound)]
    return Expected(
        {event.round for event in openings if HOUSE.gaming_day(event.at) != HOUSE.gaming_day(cut.received[event.id])},
        {event.id for event in events if cut.received[event.id] - event.at > TOLERANCE},
    )


def _beside(day: Script, cut: Outcome, whole: Outcome, *, expected: Expected | None = None) -> list[str]:
    """The day with the outage beside the same day without."""
    moved, late = expected or _expected(day, cut)
    faults = []
    one, other = _days_of(cut.dsn), _days_of(whole.dsn)
    if one.keys() != other.keys():
        faults.append(f"{len(one.keys() ^ other.keys())} rounds are in one ledger only")
    differ = {round_ for round_ in one.keys() & other.keys() if one[round_] != other[round_]}
    if differ != moved:
        faults.append(f"in another gaming day are {len(differ)} rounds, not {len(moved)}; {len(differ ^ moved)} are not these")
    for found, due, what in ((_flagged(cut.dsn), late, "with"), (_flagged(whole.dsn), set[UUID](), "without")):
        if found != due:
            faults.append(f"flagged {what} an outage are {len(found)} events, not {len(due)}; {len(found ^ due)} are not these")
    faults += [f"{what} differ" for what, (a, b) in _reports(cut, whole, days=not moved).items() if a != b]
    return faults


def _days_of(dsn: str) -> dict[UUID, str]:
    with psycopg.connect(dsn) as conn:
        rows = conn.execute("SELECT stream, body->>'gaming_day' FROM ledger.log WHERE topic = 'RoundOpened.v1'").fetchall()
    return dict(rows)


def _flagged(dsn: str) -> set[UUID]:
    with psycopg.connect(dsn) as conn:
        rows = conn.execute("SELECT (body->>'cause')::uuid FROM ledger.log WHERE body->'flags' ? 'clock_skew'").fetchall()
    return {cause for (cause,) in rows}


def _reports(cut: Outcome, whole: Outcome, *, days: bool) -> dict[str, tuple[Any, Any]]:
    """What finance reads of both, over all gaming days; with `days` also day by day."""
    views = []
    for found in (cut, whole):
        with psycopg.connect(found.dsn, autocommit=True) as conn:
            catch_up(conn)
            view: dict[str, Any] = {"balances": queries.balances(conn), "counts of outcomes": queries.outcomes(conn)}
            for day in (None, *((DAY - timedelta(days=1), DAY) if days else ())):
                report = queries.table_report(conn, day)
                view[f"table reports of {day or 'all days'}"] = msgspec.structs.replace(report, position="0")
            views.append(view)
    return {what: (views[0][what], views[1][what]) for what in views[0]}


# -------------------------------------------------------------------------------------------------------------------- canaries


def _canaries(admin: str, inside: Case, across: Case) -> dict[str, bool]:
    """What is wrong → whether a check said so."""
    logging.disable()  # the projections would complain of what is planted
    lost = _copy(admin, inside.cut, "canary_lost")
    with psycopg.connect(lost.dsn, autocommit=True) as conn:
        conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER events_append_only")
        conn.execute(_LOSE)
    doubled = _copy(admin, inside.cut, "canary_doubled")
    _resend_under_new_ids(doubled, inside.day)
    due = _expected(across.day, across.cut)
    rang = {
        "an event lost": bool(_gaps(lost)) and bool(audit(lost.dsn, lost.books).faults),
        "a terminal that makes new ids when it sends again": bool(_beside(inside.day, doubled, inside.whole))
        and any("nobody sent it" in fault for fault in audit(doubled.dsn, doubled.books).faults),
        "another gaming day that nobody expects": bool(_planted(across, due._replace(moved=set()))),
        "flags that nobody expects": bool(_planted(across, due._replace(late=set()))),
    }
    logging.disable(logging.NOTSET)
    return rang


_LOSE = """
DELETE FROM ledger.events
WHERE notification_id = (SELECT max(notification_id) FROM ledger.events WHERE topic = 'BettingClosed.v1')
"""


def _planted(case: Case, expected: Expected) -> list[str]:
    """What is found where something else is expected than what should be."""
    return _beside(case.day, case.cut, case.whole, expected=expected)


def _copy(admin: str, found: Outcome, name: str) -> Outcome:
    return found._replace(dsn=copied(admin, str(conninfo.conninfo_to_dict(found.dsn)["dbname"]), name))


def _resend_under_new_ids(found: Outcome, day: Script) -> None:
    """The last round of a terminal again, as by one that makes its ids when it sends: the ledger cannot know the round again."""
    events = day.events[0]
    last = max(n for n, event in enumerate(events) if isinstance(event.data, OpenRound))
    opening = _anew(events[last], None)
    again = [opening, *(_anew(event, opening.round) for event in events[last + 1 :])]
    with serving(found.dsn, Clock(day.end)) as url, Door(url) as door:
        answer = door.post(again)
    assert all(item.status == "accepted" for item in answer.items), answer


def _anew(event: Event, round_: UUID | None) -> Event:
    return happened(event.data, terminal=event.terminal, at=event.at, round=round_)


def _conclude(cases: Sequence[Case], rang: dict[str, bool], seconds: float) -> int:
    print(f"canaries: {', '.join(f'{fault}: ' + ('found' if heard else 'NOT FOUND') for fault, heard in rang.items())}\n")
    faults = [f"{case.name}: {fault}" for case in cases for fault in case.faults]
    if faults:
        for fault in faults[:20]:
            print(f"FAULT {fault}")
        print(f"prove outage: FAILED: {len(faults)} faults")
        return 1
    if not all(rang.values()):
        print("prove outage: FAILED: a check did not find what was planted, so it proves nothing")
        return 1
    events = sum(len(case.day.ids) for case in cases)
    moved, late = map(len, _expected(cases[1].day, cases[1].cut))
    print(
        f"prove outage: {events} events of {TABLES} terminals there once, sequences gapless, reports as without an outage; "
        f"across 06:00 exactly {moved} rounds in another gaming day, {late} events flagged; "
        f"{len(rang)} of {len(rang)} planted faults found ({seconds:.0f} s)"
    )
    return 0
