"""Every figure of the reports equals one computed from the raw events another way, in every form; a planted one is found.

A house of four games plays a month from a seed, with voids, corrections, slips of the cage and closed days. Its events are
exported as JSON and summed in DuckDB, or asked round by round what they say in the end, without the program; the variance comes
from an oracle that was written from the gazette. Every column of every report is told by another way, or is named with a reason.
Each report is written in each form, read back as another program would, and compared, row by row and sum by sum. Then figures are
planted, in the tables and in every column that is compared: each has to be found.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg

from ledger import worth
from ledger.application import Rounds
from ledger.store import migrate
from ledger.store.embedded import EmbeddedPostgres
from projections import queries
from projections.reports import writers
from projections.reports.catalog import DEFINITIONS, Asked, make
from projections.reports.filters import Filters
from projections.reports.model import Report
from projections.runner import catch_up
from tests.forms import Back, read_back
from tests.proofs import place, report_beliefs, report_figures
from tests.proofs.report_figures import Raw
from tests.proofs.report_month import HOUSE, Month
from tests.support import BEGUN

Connection = psycopg.Connection[Any]
_FAST = {"fsync": "off", "full_page_writes": "off"}
"""What is proved here is no matter of a crash."""
_THRESHOLDS = {"MOP": Decimal("5000.00"), "HKD": Decimal("5000.00")}
_SHOWN = 20


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    began = time.monotonic()
    place.end_cleanly()
    with place.directory() as directory, EmbeddedPostgres(directory, settings=_FAST) as server:
        dsn = server.conninfo()
        migrate.init(dsn)
        with closing(Rounds(dsn)) as rounds:
            rounds.apply_property(HOUSE, BEGUN)
            Month(rounds, dsn, options.days, options.rounds, options.seed).play()
        with psycopg.connect(dsn, autocommit=True) as conn:
            catch_up(conn)
            raw, events = exported(conn, directory / "events.ndjson")
            print(f"  {events} events after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            compared, found = compare(conn, raw)
            more, apart = tables(conn, raw)
            compared, found = compared + more, found + apart + unproved(conn)
            caught = canary(conn, raw)
    for line in found[:_SHOWN]:
        print(f"  {line}")
    print(f"{events} events, {options.days} days; {compared} figures in {len(writers.FORMS)} forms, {len(found)} differ")
    print(f"a figure that was planted: {'found' if caught else 'NOT FOUND'}; {time.monotonic() - began:.0f} s")
    return 1 if found or not caught or not compared else 0


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py prove reports", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--days", type=int, help="gaming days; 30, or 4 with --short")
    parser.add_argument("--rounds", type=int, help="of each table and day; 40, or 8 with --short")
    parser.add_argument("--seed", type=int, default=0, help="of all that is played")
    parser.add_argument("--short", action="store_true", help="a form of some seconds")
    options = parser.parse_args(argv)
    options.days = options.days or (4 if options.short else 30)
    options.rounds = options.rounds or (8 if options.short else 40)
    return options


def exported(conn: Connection, path: Path) -> tuple[Raw, int]:
    """The raw events in DuckDB, by way of a file of JSON lines."""
    count, documents = 0, []
    with path.open("w", encoding="utf-8") as file:
        for position, stream, topic, state in conn.execute(
            "SELECT notification_id, originator_id::text, topic, state FROM ledger.events ORDER BY notification_id"
        ):
            body = json.loads(bytes(state))
            if topic == "DocumentRecorded.v1":
                documents.append(body)
            else:
                file.write(json.dumps({"position": position, "stream": stream, "topic": topic, "body": body}) + "\n")
                count += 1
    return Raw(path, documents, HOUSE.zone), count


def compare(conn: Connection, raw: Raw) -> tuple[int, list[str]]:
    """How many figures were compared, and where they differ."""
    compared, found = 0, []
    for name in DEFINITIONS:
        first: Back | None = None
        for form in writers.FORMS:
            with conn.transaction():
                conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                report = asked(conn, name)
                back = written(report, form)
            found += [f"{form}: {line}" for line in sums(report, back)]
            if first is None:
                found += report_figures.differences(name, raw, back.rows)
                found += report_figures.untold(name, raw, [column.key for column in report.shown])
            if first is not None and back.rows != first.rows:
                found.append(f"{name}: {form} has other rows than csv")
            first = first or back
            compared += sum(len(row) for row in back.rows)
    return compared, found


def tables(conn: Connection, raw: Raw) -> tuple[int, list[str]]:
    """The same of the reports of tables and outcomes, of each gaming day and of all: how many figures, and where they differ."""
    compared, found = 0, []
    for day in (None, *(date.fromisoformat(day) for (day,) in raw.rows("SELECT DISTINCT day FROM o ORDER BY day"))):
        wanted = report_figures.table_lines(raw, None if day is None else day.isoformat())
        for line in queries.table_report(conn, day).lines:
            figures = wanted.pop((line.table, line.game, line.regulation, line.currency), {})
            told = {name: str(getattr(line, name) or "") for name in report_figures.TABLE_LINE}
            found += [
                f"tables {day} {line.table} {of}: {told[of]}, not {figures.get(of)}" for of in told if told[of] != figures.get(of)
            ]
            compared += len(told)
        found += [f"tables {day} {key}: missing" for key in wanted]
        shown = report_beliefs.outcomes(raw.history, None if day is None else day.isoformat(), booked=True)
        times = {(key[2], key[3], outcome): n for key, seen in shown.items() for outcome, n in seen.items()}
        counts = {(each.table, each.game, each.outcome): each.count for each in queries.outcomes(conn, day=day)}
        found += [f"outcomes {day} {key}: {counts.get(key)}, not {times.get(key)}" for key in counts.keys() | times.keys()
                  if counts.get(key) != times.get(key)]  # fmt: skip
        compared += len(counts)
    return compared, found


def unproved(conn: Connection) -> list[str]:
    """What has to have happened, or nothing was proved of it."""
    happened = {
        "a correction of a closed day": "SELECT count(*) FROM report.corrected_bets WHERE posted_day <> gaming_day",
        "a correction of an open day": "SELECT count(*) FROM report.corrected_bets WHERE posted_day = gaming_day",
        "a payment beside the regulation": "SELECT count(*) FROM report.adjustments",
        "a bet that was changed": "SELECT count(*) FROM ledger.events WHERE topic = 'BetChanged.v1'",
        "a number that a terminal never sent": "SELECT count(*) FROM report.terminal_gaps",
        "numbers that were given up": "SELECT count(*) FROM report.terminal_gaps WHERE state = 'given_up'",
        "a bet that was received late": "SELECT count(*) FROM report.late_bets WHERE treatment = 'received_late'",
        "a slip that was posted back": "SELECT count(*) FROM report.slips WHERE reversed_by IS NOT NULL",
        "a round that the house ended": "SELECT count(*) FROM report.rounds WHERE disposition = 'return'",
        "a count win": "SELECT count(*) FROM report.table_counts WHERE openers = closers AND openers > 0",
        **{
            f"a void that is to {what}": f"SELECT count(*) FROM report.voids WHERE disposition = '{what}'"
            for what in ("stand", "carry", "return")
        },
        **{
            f"a correction {status}": f"SELECT count(*) FROM report.corrections WHERE status = '{status}'"
            for status in ("approved", "declined")
        },
        **{
            f"a bet that is {result}": f"SELECT count(*) FROM report.bets WHERE result = '{result}'"
            for result in ("lost", "won", "push", "carried")
        },
    }
    return [f"never: {what}" for what, query in happened.items() if conn.execute(query.encode()).fetchone() == (0,)]


def asked(conn: Connection, name: str) -> Report:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    return make(conn, name, Asked(Filters(), worth.of_log(conn), now=lambda: now, thresholds=_THRESHOLDS))


def written(report: Report, form: str) -> Back:
    out = io.BytesIO()
    writers.write(report, form, out)
    return read_back(form, out.getvalue(), {column.key: column.kind for column in report.shown})


def sums(report: Report, back: Back) -> list[str]:
    """Where the rows do not come to the totals that are printed under them."""
    found = []
    for total in back.totals:
        rows = [row for row in back.rows if row.get("currency") == total.get("currency")]
        for column in report.columns:
            if column.sums and not column.hidden and not (column.whole and total[column.key] in (None, "")):
                values = [row[column.key] for row in rows if row[column.key]]
                summed = sum(map(Fraction, values), Fraction(0))
                if summed != Fraction(total[column.key] or "0"):
                    found.append(
                        f"{report.name} {total.get('currency')} {column.key}: {total[column.key]} under rows of {summed}"
                    )
    if back.totals and len(back.totals) != len(report.totals):
        found.append(f"{report.name}: {len(back.totals)} totals, not {len(report.totals)}")
    return found


def canary(conn: Connection, raw: Raw) -> bool:
    """Whether a figure that is off by the smallest unit is found, in the reports that show it."""
    with conn.transaction(force_rollback=True):
        conn.execute(
            "UPDATE projection.rounds SET lost = lost + 1, won = won - 1 WHERE round = (SELECT round FROM projection.rounds "
            "WHERE won > 0 AND lost > 0 ORDER BY first_position LIMIT 1)"
        )
        report = asked(conn, "master-game")
        found = report_figures.differences("master-game", raw, written(report, "csv").rows)
    return len(found) >= 1 and not blind(conn, raw)


def blind(conn: Connection, raw: Raw) -> list[str]:
    """The figures of which it would not be found that one is wrong: each report's, in one of its rows after the other."""
    missed = []
    for name, (keys, _) in report_figures.WAYS.items():
        with conn.transaction():
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            rows = written(asked(conn, name), "csv").rows
        figures = report_figures.by_another_way(name, raw)
        there = next(n for n, row in enumerate(rows) if tuple(row[key] for key in keys) in figures)
        for column in figures[tuple(rows[there][key] for key in keys)]:
            wrong = [row if n != there else {**row, column: f"{row[column]}1"} for n, row in enumerate(rows)]
            if not report_figures.differences(name, raw, wrong):
                missed.append(f"{name} {column}")
    return missed
