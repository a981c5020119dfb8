"""Reports of a long log: the master game report, the bet log as Parquet beside a COPY, memory; --check holds it to bars.

A server of its own with all its durability, on a disk. The Parquet file and the COPY have the same rows and columns, and a run of
either reads them all. Memory is what the process of the command line has at its peak, for one table and for all.
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
from tests.benchmarks.play import HOUSE, Terminal
from tests.benchmarks.sheet import Row, Sheet, asked

_TABLES = 10
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
            terminals = [Terminal(table.id) for table in HOUSE.tables[:_TABLES]]
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
        """What the process of the command line has at its peak, for the bets of one table and for all."""
        ratios = []
        for _ in range(self.times):
            few, many = self.peak(HOUSE.tables[0].id), self.peak(None)
            ratios.append(many / few)
        self.sheet.add(Row(f"peak memory with {_TABLES} × the rows in a Parquet file", ratios, 1.3, 1.1, at_most=True))

    def copy(self) -> None:
        statement = "COPY (SELECT * FROM report.bets ORDER BY position, bet) TO STDOUT"
        with psycopg.connect(self.ground.dsn) as conn, conn.cursor() as cursor, cursor.copy(statement) as rows:
            for _ in rows:
                pass

    def write(self, name: str, form: str) -> None:
        with psycopg.connect(self.ground.dsn) as conn, tempfile.TemporaryFile() as file:
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            writers.write(make(conn, name, Asked(Filters(), worth.of_log(conn))), form, file)

    def peak(self, table: str | None) -> float:
        """Kilobytes at the peak of a process of its own that writes the bets of one table, or all."""
        with tempfile.TemporaryDirectory() as folder:
            more = ["--table", table] if table else []
            command = [sys.executable, "-m", "cli", "report", "bets", "--format", "parquet", "--out", f"{folder}/bets", *more]
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
