"""Reports of a month of 5 million events: the day's master game report, the tables built anew, Parquet beside a COPY, memory.

A server of its own with all its durability, on a disk. One gaming day is posted through the application and copied by the server
as the 29 after it: tests/benchmarks/month.py says how, and why the copies are as good as days that were played. The rebuild is
the one of `roundledger projections rebuild`, over the whole log, with the library's runner on the same server before and after;
it makes the tables that the other rows read. The Parquet file and the COPY have the bets of a week, the same rows and columns in
the same order, and a run of either reads them all. Memory is what the process of the command line has at its peak, for one day's
bets and for the month's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from statistics import median

import psycopg

from ledger import assumed, worth
from projections import queries, rebuild
from projections.reports import writers
from projections.reports.catalog import Asked, make
from projections.reports.filters import Filters
from tests.benchmarks import library, month
from tests.benchmarks.ground import Ground, ground
from tests.benchmarks.library import Library, TableRound, environment
from tests.benchmarks.sheet import Row, Sheet, asked

EVENTS = 5_000_000
_SHORT = 15_000
_DAYS_SHORT = 3
_IN_THE_WEEK = "SELECT {} FROM report.bets WHERE gaming_day BETWEEN %s AND %s"


class Bench:
    """The server with a log of a month."""

    def __init__(self, stands: Ground, *, rounds: int, short: bool) -> None:
        self.ground = stands
        self.times = rounds
        self.short = short
        self.sheet = Sheet()
        self.days = _DAYS_SHORT if short else month.DAYS
        self.day = month.FIRST + timedelta(days=self.days // 2)
        """The one whose report is asked for."""
        began = time.monotonic()
        events = _SHORT if short else EVENTS
        played = month.play(stands.dsn, events // self.days)
        self.events = month.copy(stands.admin, self.days)
        stands.admin.execute("VACUUM (ANALYZE) ledger.events")
        print(
            f"{self.events} events of {self.days} days, {played} of them posted, in {time.monotonic() - began:.0f} s", flush=True
        )
        self.rebuilt = self.rebuild()
        (self.bets,) = stands.one("SELECT count(*) FROM projection.bets")

    def rebuild(self) -> Row:
        """Every projection of the whole log, and the tables in the place of the live ones."""
        with closing(Library(environment(self.ground.dsn, create=True))) as stock:
            for _ in range(10 if self.short else 150):
                stock.save(TableRound.whole("B000"))  # one by one: a large array in one INSERT has been seen to hang
            before = library.caught_up(stock, self.ground.admin)
            built = rebuild.build(self.ground.dsn, anew=True)
            after = library.caught_up(stock, self.ground.admin)
        rebuild.switch(self.ground.dsn)
        rebuild.drop(self.ground.dsn, "old")
        if built.stopped or built.events < self.events:
            self.sheet.wrong.append(f"{built.events} events were folded of {self.events}: {built.stopped}")
        rate = self.events / built.seconds
        note = (
            f"{self.events} events in {built.seconds:.0f} s: {rate:.0f} events/s, library {median((before, after)):.0f} events/s"
        )
        return Row("rebuild × ProjectionRunner of the library", [rate / before, rate / after], 20, 50, 1.0, note=note)

    # The rows.

    def whole(self) -> None:
        """What the rebuild took, by now."""
        self.sheet.add(self.rebuilt)

    def daily(self) -> None:
        """The master game report of one day, with the standard deviation of every round."""
        filters = Filters(first=self.day, last=self.day)
        found = [self.timed(lambda: self.write("master-game", "csv", filters)) for _ in range(max(self.times, 5))]
        rounds, bets = self.ground.one("SELECT count(*), sum(resolved) FROM projection.rounds WHERE gaming_day = %s", self.day)
        note = f"{rounds} rounds and {bets} bets of {self.bets} in the month"
        self.sheet.add(Row("master game report of one day", found, 1.0, 0.5, at_most=True, unit="s", note=note))

    def parquet(self) -> None:
        """The bet log of a week as Parquet, beside COPY of the same rows."""
        ratios, rates = [], []
        week = Filters(first=month.FIRST, last=month.FIRST + timedelta(days=6))
        (bets,) = self.ground.one(_IN_THE_WEEK.format("count(*)"), week.first, week.last)
        self.copy(week)  # files and modules are there from here on
        self.write("bets", "parquet", Filters(first=self.day, last=self.day))
        for n in range(self.times):
            legs = {True: lambda: self.copy(week), False: lambda: self.write("bets", "parquet", week)}
            seconds = {copied: self.timed(legs[copied]) for copied in ((True, False) if n % 2 == 0 else (False, True))}
            ratios.append(seconds[True] / seconds[False])
            rates.append(bets / seconds[False])
        note = f"{bets} bets of {self.bets}: {median(rates):.0f} rows/s"
        self.sheet.add(Row("bet log as Parquet × COPY of the same rows", ratios, 0.5, 0.8, note=note))

    def memory(self) -> None:
        """What the process of the command line has at its peak, for the bets of one day and for all."""
        few, many = self.peak(self.day), self.peak(None)
        what = f"peak memory with {self.days} × the rows in a Parquet file"
        note = f"{few / 1024:.0f} and {many / 1024:.0f} MiB"
        self.sheet.add(Row(what, [many / few], 1.3, 1.1, at_most=True, note=note))

    def copy(self, week: Filters) -> None:
        statement = f"COPY ({_IN_THE_WEEK.format('*')} ORDER BY position, bet) TO STDOUT"
        with (
            psycopg.connect(self.ground.dsn) as conn,
            conn.cursor() as cursor,
            cursor.copy(statement.encode(), (week.first, week.last)) as rows,
        ):
            for _ in rows:
                pass

    def write(self, name: str, form: str, filters: Filters) -> None:
        with psycopg.connect(self.ground.dsn) as conn, tempfile.TemporaryFile() as file:
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            day = filters.first if filters.first == filters.last else None
            notes = assumed.notes(conn, day=day)
            writers.write(make(conn, name, Asked(filters, worth.of_log(conn), notes=notes)), form, file)

    def peak(self, day: date | None) -> float:
        """Kilobytes at the peak of a process of its own that writes the bets of one day, or all."""
        with tempfile.TemporaryDirectory() as folder:
            more = ["--day", day.isoformat()] if day else []
            out = Path(folder) / "bets"
            command = [sys.executable, "-m", "cli", "report", "bets", "--format", "parquet", "--out", str(out), *more]
            with subprocess.Popen(command, env={**os.environ, "LEDGER_DSN": self.ground.dsn}, stderr=subprocess.DEVNULL) as child:
                _, status, used = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, command
        return float(used.ru_maxrss)

    @staticmethod
    def timed(call: Callable[[], object]) -> float:
        """Seconds of one call."""
        began = time.perf_counter()
        call()
        return time.perf_counter() - began


ROWS = (Bench.whole, Bench.daily, Bench.parquet, Bench.memory)


def main(argv: Sequence[str]) -> int:
    options = asked("reports", __doc__, [row.__name__ for row in ROWS], argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server and its files go as well
    with ground(options.dir) as stands:
        print(stands.describe(), flush=True)
        bench = Bench(stands, rounds=options.rounds, short=options.seconds < 1)
        for row in ROWS:
            if options.only in row.__name__:
                print(f"… {(row.__doc__ or '').rstrip('.')}", file=sys.stderr, flush=True)
                row(bench)
                print(f"  {bench.sheet.rows[-1].what}: {bench.sheet.rows[-1].value:.2f}", file=sys.stderr, flush=True)
        with psycopg.connect(stands.dsn) as conn:
            if queries.trial_balance(conn) != {"MOP": 0}:
                bench.sheet.wrong.append(f"balances sum to {queries.trial_balance(conn)}")
    print()
    bench.sheet.show()
    print()
    return bench.sheet.conclude(check=options.check)
