"""A million lines of a file against a million rows of the ledger; --check holds time and memory to bars, datacompy stands beside.

The ledger's rows are made in the database's own tables, and its views deliver them (`tests/proofs/corpus/house.py`); the file
says what they say, with differences planted. What is measured is the whole command as it is typed, in a process of its own:
reading the file, reading the ledger out of Postgres, matching, comparing, writing every exception. datacompy with Polars is given
the ledger's rows as a CSV that lies there already, and compares the same columns by the same key; it neither parses amounts nor
names reasons, and where a key stands twice it pairs by order. Both have to find every planted difference.
"""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import psycopg

from tests.benchmarks.ground import Ground, ground
from tests.benchmarks.sheet import Row, Sheet, asked
from tests.proofs.corpus import house

_MIB = 1024
"""Kilobytes."""
_QUERY = (
    "SELECT bet, round, table_id AS table, spot, stake, currency, player, occurred_at FROM report.bets "
    "WHERE result <> 'void' ORDER BY position"
)
_PLANTED = 100
"""Lines that each kind of difference spoils; a fiftieth of that in the short form."""
_BESIDE = "in the column library: datacompy with Polars, to which the ledger's rows are given in a file"
_DATACOMPY = """
import json, sys
import polars as pl
import datacompy
ledger, file = (pl.read_csv(name, infer_schema=False) for name in sys.argv[1:])
found = datacompy.PolarsCompare(ledger, file, join_columns=["bet"], df1_name="ledger", df2_name="file")
found.report(sample_count=10)
differ = {column["column"]: column["unequal_cnt"] for column in found.column_stats}
print(json.dumps({"only_ledger": len(found.df1_unq_rows), "only_file": len(found.df2_unq_rows), "differ": differ}))
"""


class Bench:
    """A ledger, and a file in which some lines are spoiled."""

    def __init__(self, stands: Ground, folder: Path, *, rounds: int, lines: int) -> None:
        self.ground = stands
        self.times = rounds
        self.lines = lines
        self.sheet = Sheet()
        self.folder = folder
        self.planted: Counter[str] = Counter()
        self.processor: list[float] = []
        """Seconds of the processors that each process took, ours and theirs in turn; the server's are not among them."""
        house.fill(stands.dsn, lines)
        self.ledger = folder / "ledger.csv"
        with psycopg.connect(stands.dsn) as conn, conn.cursor() as cursor:
            conn.execute("SET TimeZone = 'Asia/Macau'")
            with self.ledger.open("wb") as file, cursor.copy(f"COPY ({_QUERY}) TO STDOUT (FORMAT csv, HEADER)".encode()) as rows:
                for part in rows:
                    file.write(part)
        self.file = folder / "journal.csv"
        self.plant()

    def plant(self) -> None:
        """Writes the file: lines lost, invented, doubled and edited, all far from each other."""
        rng = random.Random(0)
        each = _PLANTED if self.lines > 100_000 else max(2, _PLANTED // 50)
        kinds = ("MISSING_IN_FILE", "MISSING_IN_LEDGER", "DUPLICATE_IN_FILE", "AMOUNT_DIFF", "SPOT_DIFF", "PLAYER_DIFF")
        chosen = rng.sample(range(1, self.lines * 9 // 10), each * len(kinds))
        at = {number: kinds[n % len(kinds)] for n, number in enumerate(chosen)}
        with self.ledger.open(newline="") as clean, self.file.open("w", newline="") as spoiled:
            writer = csv.writer(spoiled, lineterminator="\n")
            for number, row in enumerate(csv.reader(clean)):
                kind = at.get(number, "")
                self.planted[kind] += 1
                match kind:
                    case "MISSING_IN_FILE":
                        continue
                    case "MISSING_IN_LEDGER":
                        writer.writerow([f"{row[0][:-4]}ffff", *row[1:6], "X-1", row[7]])
                    case "DUPLICATE_IN_FILE":
                        writer.writerow(row)
                    case "AMOUNT_DIFF":
                        row[4] = f"{int(row[4][:-3]) + 1}{row[4][-3:]}"
                    case "SPOT_DIFF":
                        row[3] = "fan:4"
                    case "PLAYER_DIFF":
                        row[6] = "X-2"
                writer.writerow(row)
        del self.planted[""]

    def command(self) -> None:
        """The command as it is typed, and datacompy on the same rows."""
        seconds, peaks, others, their_peaks = [], [], [], []
        for _ in range(self.times):
            typed = ["reconcile", str(self.file), "--mapping", "terminal-bets", "--month", "2026-11", "--format", "ndjson"]
            took, peak, text = self.measured([sys.executable, "-m", "cli", *typed], {0, 1})
            self.verify(text)
            seconds.append(took)
            peaks.append(peak / _MIB)
            took, peak, text = self.measured([sys.executable, "-c", _DATACOMPY, str(self.ledger), str(self.file)], {0})
            self.verify_other(json.loads(text))
            others.append(took)
            their_peaks.append(peak / _MIB)
        whole = self.lines >= 1_000_000
        ours, theirs = median(self.processor[::2]), median(self.processor[1::2])
        note = f"{self.lines} lines: {self.lines / median(seconds):.0f}/s, the ledger read out of Postgres by the way; "
        note += f"{ours:.1f} s of the processors, datacompy {theirs:.1f} s"
        time_, memory = "reconcile, the whole command", "its memory at the peak"
        self.add(time_, seconds, others, (30.0, 20.0) if whole else (None, None), "s", note)
        self.add(memory, peaks, their_peaks, (1024.0, 700.0) if whole else (None, None), "MiB", _BESIDE)

    def add(
        self,
        what: str,
        ours: Sequence[float],
        theirs: Sequence[float],
        bars: tuple[float | None, float | None],
        unit: str,
        note: str,
    ) -> None:
        """A row whose bars are ceilings."""
        must, aim = bars
        self.sheet.add(Row(what, ours, must, aim, median(theirs), at_most=True, unit=unit, note=note))

    def measured(self, command: list[str], codes: set[int]) -> tuple[float, float, str]:
        """Seconds, kilobytes at the peak, and what it printed."""
        with tempfile.TemporaryFile("w+", dir=self.folder) as out:
            began = time.perf_counter()
            environ = {**os.environ, "LEDGER_DSN": self.ground.dsn}
            with subprocess.Popen(command, env=environ, stdout=out, stderr=subprocess.DEVNULL) as child:
                _, status, used = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            took = time.perf_counter() - began
            assert child.returncode in codes, (command, child.returncode)
            out.seek(0)
            self.processor.append(used.ru_utime + used.ru_stime)
            return took, float(used.ru_maxrss), out.read()

    def verify(self, text: str) -> None:
        """Every planted difference is there under its code, and nothing else."""
        found = Counter(row["reason"] for row in map(json.loads, text.splitlines()) if row["record"] == "row")
        if found != self.planted:
            self.sheet.wrong.append(f"reconcile found {dict(found)}, planted were {dict(self.planted)}")

    def verify_other(self, found: dict[str, object]) -> None:
        """datacompy sees the same numbers; a line that stands twice is to it one that only the file has."""
        planted = self.planted
        differ = found["differ"]
        assert isinstance(differ, dict)
        ours = (planted["MISSING_IN_FILE"], planted["MISSING_IN_LEDGER"] + planted["DUPLICATE_IN_FILE"], planted["AMOUNT_DIFF"],
                planted["SPOT_DIFF"], planted["PLAYER_DIFF"])  # fmt: skip
        theirs = (found["only_ledger"], found["only_file"], differ["stake"], differ["spot"], differ["player"])
        if ours != theirs:
            self.sheet.wrong.append(f"datacompy found {theirs}, planted were {ours}")


ROWS = (Bench.command,)


def main(argv: Sequence[str]) -> int:
    options = asked("reconcile", __doc__, [row.__name__ for row in ROWS], argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server and its files go as well
    with ground(options.dir) as stands, tempfile.TemporaryDirectory(prefix="roundledger-bench-", dir=options.dir) as folder:
        print(stands.describe(), flush=True)
        lines = 20_000 if options.short else 1_000_000
        bench = Bench(stands, Path(folder), rounds=1 if options.short else min(options.rounds, 3), lines=lines)
        for row in ROWS:
            if options.only in row.__name__:
                print(f"… {(row.__doc__ or '').rstrip('.')}", file=sys.stderr, flush=True)
                row(bench)
    print()
    bench.sheet.show()
    print()
    return bench.sheet.conclude(check=options.check)
