"""Replay with the oracle beside a bare reading of the log and the library's own loading; --check holds it to bars.

Every round is gathered and recomputed. The legs of a row are run in turn, in the opposite order of the round before; a ratio is
of two legs of one round. A log of a million events is the log of some rounds many times over, each time with ids of its own. At
the end nothing may have been found wrong, in any leg.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psycopg

from ledger.application import Rounds
from ledger.audit.run import audit
from ledger.feed.source import Source
from ledger.store import codec
from tests.benchmarks import jobs
from tests.benchmarks.ground import Ground, ground
from tests.benchmarks.growth import TIMES
from tests.benchmarks.library import Library, TableRound, environment
from tests.benchmarks.play import HOUSE, TABLES, Terminal
from tests.benchmarks.sheet import Row, Sheet, asked

_UUID = re.compile(rb"[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_PLACE = re.compile(rb'"(id|position)":"([0-9]+)"')


def _another(lines: bytes, n: int, further: int) -> bytes:
    """The n-th copy of exported lines: other ids, and positions that much further on."""
    ids = _UUID.sub(lambda match: b"%08x" % (int(match[0], 16) ^ n), lines)
    return _PLACE.sub(lambda match: b'"%s":"%d"' % (match[1], int(match[2]) + further), ids)


class Bench:
    """A log in a database, the same in the library's way, and exports of it."""

    def __init__(self, stands: Ground, folder: Path, *, rounds: int, seconds: float) -> None:
        self.ground = stands
        self.folder = folder
        self.rounds = rounds
        self.short = seconds < 1
        self.sheet = Sheet()
        self._fill(500 if self.short else 4000)
        self.export = self._export()

    def _fill(self, rounds: int) -> None:
        terminals = [Terminal(table.id) for table in HOUSE.tables[: TABLES // 4]]
        with closing(Rounds(self.ground.dsn)) as ledger:
            ledger.apply_property(HOUSE)
            for n in range(0, rounds, 50):
                some = [terminals[m % len(terminals)] for m in range(n, n + 50)]
                jobs.accepted(ledger.post([report for terminal in some for report in terminal.whole_round()]))
        self.ground.checkpoint()
        self.ground.admin.execute("VACUUM ANALYZE ledger.events")

    def _export(self) -> Path:
        path = self.folder / "log.ndjson"
        with Source(self.ground.dsn) as source, path.open("wb") as file:
            after: object = 0
            while (page := source.page(after, limit=1000, patience=10)).items:  # type: ignore[arg-type]  # a Mark
                file.writelines(item.json() + b"\n" for item in page.items)
                after = page.cursor
        return path

    def grown(self, times: int) -> Path:
        """The export with its rounds so many times over, each time with ids and positions of their own."""
        path = self.folder / f"log-{times}.ndjson"
        lines = self.export.read_bytes().splitlines(keepends=True)
        documents = [line for line in lines if b"DocumentRecorded" in line]
        played = b"".join(line for line in lines if b"DocumentRecorded" not in line)
        size = len(lines)
        with path.open("wb") as file:
            file.writelines(documents)
            for n in range(times):
                file.write(_another(played, n, n * size))
        return path

    def in_turn(self, *legs: Callable[[], float]) -> list[list[float]]:
        """The figures of each, round by round."""
        found: list[list[float]] = [[] for _ in legs]
        for leg in legs:
            leg()
        for n in range(self.rounds):
            for at in range(len(legs)) if n % 2 == 0 else reversed(range(len(legs))):
                found[at].append(legs[at]())
        return found

    def judged(self, where: str) -> float:
        """Events a second, gathered and recomputed."""
        found = audit(where)
        if found.findings or not found.tally.rounds:
            self.sheet.wrong.append(f"{len(found.findings)} findings in {found.tally.rounds} rounds of a clean log")
        return found.tally.events / found.seconds

    def alone(self, path: Path, processes: int) -> float:
        """The same in a process that has nothing else loaded: every further one loads what the first has as its main module."""
        audited = _audited(path, processes)
        if audited.findings:
            self.sheet.wrong.append(f"{audited.findings} findings in an export of a clean log")
        return audited.events / audited.seconds

    # The rows.

    def read(self) -> None:
        """The log out of the database."""
        bare, ours = self.in_turn(self._bare, lambda: self.judged(self.ground.dsn))
        ratios = [case / base for case, base in zip(ours, bare, strict=True)]
        note = f"bare {median(bare):.0f} events/s, with the oracle {median(ours):.0f} events/s, one process and Postgres"
        # Of some thousand events a third of the time is for connections and documents, which a long log does not notice.
        bar = None if self.short else 0.5
        self.sheet.add(Row("replay with the oracle × a bare COPY out and decode", ratios, bar, bar and 0.8, note=note))

    def _bare(self) -> float:
        events, began = 0, time.perf_counter()
        with psycopg.connect(self.ground.dsn) as conn, conn.cursor() as cursor:
            statement = b"COPY (SELECT topic, state FROM ledger.events ORDER BY notification_id) TO STDOUT (FORMAT BINARY)"
            with cursor.copy(statement) as copy:
                copy.set_types(("text", "bytea"))
                for topic, state in copy.rows():
                    codec.decode(topic, state)
                    events += 1
        return events / (time.perf_counter() - began)

    def load(self) -> None:
        """The library's own loading, aggregate by aggregate."""
        with closing(Library(environment(self.ground.dsn, create=True))) as library:
            rounds = [TableRound.whole("B000") for _ in range(40 if self.short else 400)]
            for round_ in rounds:  # a thousand events in one INSERT stand still between client and server now and then
                library.save(round_)
            events = sum(round_.version for round_ in rounds)

            def theirs() -> float:
                began = time.perf_counter()
                for round_ in rounds:
                    library.repository.get(round_.id)
                return events / (time.perf_counter() - began)

            stock, ours = self.in_turn(theirs, lambda: self.judged(self.ground.dsn))
        ratios = [case / base for case, base in zip(ours, stock, strict=True)]
        note = f"library {median(stock):.0f} events/s, replay with the oracle {median(ours):.0f} events/s"
        self.sheet.add(Row("replay with the oracle × repository.get of the library", ratios, 5.0, 10.0, 1.0, note=note))

    def scaling(self) -> None:
        """Two processes over one, from an export."""
        path = self.grown(4 if self.short else 2 * TIMES)
        one, two = self.in_turn(lambda: self.alone(path, 1), lambda: self.alone(path, 2))
        ratios = [case / base for case, base in zip(two, one, strict=True)]
        note = f"an export of {path.stat().st_size >> 20} MiB: one {median(one):.0f} events/s, two {median(two):.0f} events/s"
        # In some seconds the second process has hardly begun.
        bar = None if self.short else 1.7
        self.sheet.add(Row("replay of an export by two processes × by one", ratios, bar, bar and 1.85, note=note))
        path.unlink()

    def memory(self) -> None:
        """Ten times the rounds."""
        few, many = self.grown(2), self.grown(2 * TIMES)
        small, large = _peak(few), _peak(many)
        note = f"{small >> 10} MiB for {few.stat().st_size >> 20} MiB, {large >> 10} MiB for {many.stat().st_size >> 20} MiB"
        self.sheet.add(Row("peak memory with 10 × the rounds", [large / small], 1.2, 1.05, at_most=True, note=note))


class _Audited(NamedTuple):
    """What a process of its own says of its audit of an export."""

    findings: int
    events: int
    seconds: float
    peak: int
    """What it held at most, in the system's unit: KiB, or bytes on a Mac."""


_AUDIT = """
import resource, sys
from pathlib import Path
from ledger.audit.run import audit
found = audit(Path(sys.argv[1]), jobs=int(sys.argv[2]))
print(len(found.findings), found.tally.events, found.seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def _audited(path: Path, processes: int = 1) -> _Audited:
    """Verifies an export in a process of its own."""
    command = [sys.executable, "-c", _AUDIT, str(path), str(processes)]
    findings, events, seconds, peak = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ
    ).stdout.split()
    return _Audited(int(findings), int(events), float(seconds), int(peak))


def _peak(path: Path) -> int:
    """KiB that a process held at most which verified an export."""
    audited = _audited(path)
    assert not audited.findings
    return audited.peak // 1024 if sys.platform == "darwin" else audited.peak


ROWS = (Bench.read, Bench.load, Bench.scaling, Bench.memory)


def main(argv: Sequence[str]) -> int:
    options = asked("replay", __doc__, [row.__name__ for row in ROWS], argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server and its files go as well
    with ground(options.dir) as stands, tempfile.TemporaryDirectory(prefix="roundledger-bench-", dir=options.dir) as folder:
        print(stands.describe(), flush=True)
        bench = Bench(stands, Path(folder), rounds=options.rounds, seconds=options.seconds)
        for row in ROWS:
            if options.only in row.__name__:
                print(f"… {(row.__doc__ or '').rstrip('.')}", file=sys.stderr, flush=True)
                row(bench)
    print()
    bench.sheet.show()
    print()
    return bench.sheet.conclude(check=options.check)
