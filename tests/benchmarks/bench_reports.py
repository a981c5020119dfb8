"""Reports of a long log: the day's master game report, the bet log as Parquet beside a bare COPY, memory; --check holds it to bars.

A server of its own with all its durability, on a disk. The Parquet file and the COPY have the same rows and columns, and a run of
either reads them all. Memory is what the process of the command line has at its peak, for a day and for the whole log.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

import psycopg

from ledger import worth
from ledger.application import Rounds
from projections import queries
from projections.reports import writers
from projections.reports.catalog import Asked, make
from projections.reports.filters import Filters
from projections.runner import catch_up
from tests.benchmarks import jobs
from tests.benchmarks.ground import Ground, ground
from tests.benchmarks.play import HOUSE, TABLES, Terminal
from tests.benchmarks.sheet import Row, Sheet, asked

_POST = 50
"""Rounds in one post."""


class Bench:
    """The server with a log of many rounds."""

    def __init__(self, stands: Ground, *, rounds: int, seconds: float) -> None:
        self.ground = stands
        self.times = rounds
        self.sheet = Sheet()
        with closing(Rounds(stands.dsn)) as ledger:
            ledger.apply_property(HOUSE)
            terminals = [Terminal(table.id) for table in HOUSE.tables[: min(TABLES, 20)]]
            for n in range(0, 20_000 if seconds > 1 else 500, _POST):
                terminal = terminals[n // _POST % len(terminals)]
                jobs.accepted(ledger.post([report for _ in range(_POST) for report in terminal.whole_round()]))
        with psycopg.connect(stands.dsn, autocommit=True) as conn:
            while catch_up(conn):
                pass
            conn.execute("ANALYZE")
        (self.events,) = stands.one("SELECT count(*) FROM ledger.events")
        (self.bets,) = stands.one("SELECT count(*) FROM projection.bets")

    def daily(self) -> None:
        """The master game report, with the standard deviation of every round."""
        found = [self.timed(lambda: self.write("master-game", "csv")) for _ in range(self.times)]
        note = f"{self.events} events, {self.bets} bets: {self.bets / median(found):.0f} bets/s"
        self.sheet.add(Row("master game report of the log", found, at_most=True, unit="s", note=note))

    def parquet(self) -> None:
        """The bet log as Parquet, beside COPY of the same rows."""
        ratios, seconds = [], []
        for _ in range(self.times):
            copied, written = self.timed(self.copy), self.timed(lambda: self.write("bets", "parquet"))
            ratios.append(written / copied)
            seconds.append(written)
        note = f"{self.bets} bets: {self.bets / median(seconds):.0f} rows/s"
        self.sheet.add(Row("bet log as Parquet ÷ COPY of the same rows", ratios, 10.0, 5.0, at_most=True, note=note))

    def memory(self) -> None:
        """What the process has at its peak, for a tenth of the bets and for all."""
        ratios = []
        for _ in range(self.times):
            few, many = self.peak(max(self.bets // 10, 1)), self.peak(self.bets)
            ratios.append(many / few)
        self.sheet.add(Row("peak memory with 10 × the rows in a Parquet file", ratios, 1.3, 1.1, at_most=True))

    def copy(self) -> None:
        with psycopg.connect(self.ground.dsn) as conn, conn.cursor() as cursor:
            with cursor.copy("COPY (SELECT * FROM report.bets ORDER BY position, bet) TO STDOUT") as rows:
                for _ in rows:
                    pass

    def write(self, name: str, form: str) -> None:
        with psycopg.connect(self.ground.dsn) as conn, tempfile.TemporaryFile() as file:
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            writers.write(make(conn, name, Asked(Filters(), worth.of_log(conn))), form, file)

    def peak(self, rows: int) -> float:
        """Bytes at the peak of a process of its own that writes so many rows."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            self._write_some(rows)
            os.write(writing, str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as said:
            found = said.read()
        os.waitpid(child, 0)
        return float(found)

    def _write_some(self, rows: int) -> None:
        with psycopg.connect(self.ground.dsn) as conn, Path(os.devnull).open("wb") as file:
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            report = make(conn, "bets", Asked(Filters(), worth.of_log(conn)))
            found = iter(report.found)
            report.found = (row for row, _ in zip(found, range(rows), strict=False))
            writers.write(report, "parquet", file)

    @staticmethod
    def timed(call: Callable[[], object]) -> float:
        """Seconds of one call."""
        began = time.perf_counter()
        call()
        return time.perf_counter() - began


ROWS = (Bench.daily, Bench.parquet, Bench.memory)


def main(argv: Sequence[str]) -> int:
    options = asked("reports", __doc__, [row.__name__ for row in ROWS], argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server and its files go as well
    with ground(options.dir) as stands:
        print(stands.describe(), flush=True)
        bench = Bench(stands, rounds=options.rounds, seconds=options.seconds)
        for row in ROWS:
            if options.only in row.__name__:
                print(f"… {(row.__doc__ or '').rstrip('.')}", file=sys.stderr, flush=True)
                row(bench)
        with psycopg.connect(stands.dsn) as conn:
            if queries.trial_balance(conn) != {"MOP": 0}:
                bench.sheet.wrong.append(f"balances sum to {queries.trial_balance(conn)}")
    print()
    bench.sheet.show()
    print()
    return bench.sheet.conclude(check=options.check)
