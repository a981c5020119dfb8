"""No reader of the log ever skips an event, whoever commits when, and whoever is killed.

Writer processes append whole rounds through the use case, and rounds in transactions that draw positions and dawdle, roll back,
draw in inverted order, or last for seconds; now and then one is killed. Meanwhile readers follow: `ledger.store.log.Tail`, the
library's pages and its subscription, and the projections. At the end what each was given is counted against what is stored.

A naive reader stands beside them, which goes on from the highest position it has seen. It has to miss events, or the writers did
nothing that could make one miss any, and the proof has not been one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from ledger.store import log
from ledger.store.embedded import EmbeddedPostgres
from projections.replay import Comparison, replay
from projections.runner import wait_for
from tests.proofs import place
from tests.proofs import tail_processes as processes
from tests.proofs.tail_processes import COUNTED, END, ENDED, STOP, Reading, Seen, Work

READERS: dict[str, Callable[[Reading], None]] = {
    "ledger.store.log.Tail": processes.read_by_tail,
    "select_notifications": processes.read_by_notifications,
    "library's subscription": processes.read_by_subscription,
}
NAIVE = "naive: highest position seen"
_WRITERS = 8


class Found(NamedTuple):
    """What one reader was given, against what is stored."""

    read: int
    missed: int
    twice: int
    backwards: int
    """Events at a position that is not above the one before."""
    unstored: int
    """Events given that are not in the log, or are others."""

    @property
    def whole(self) -> bool:
        return not (self.missed or self.twice or self.backwards or self.unstored)


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    began = time.monotonic()
    place.end_cleanly()
    with place.directory() as directory, EmbeddedPostgres(directory, settings={"max_connections": "200"}) as server:
        dsn = place.furnished(server, options.writers)
        crowd = _Crowd(dsn, directory, options)
        try:
            crowd.run()
        finally:
            crowd.end()
        stored = _stored(dsn)
        found = {name: compare(Seen.load(crowd.file(name)), stored) for name in (*READERS, NAIVE)}
        books = _books(dsn)
    return _conclude(options, crowd, found, books, len(stored), time.monotonic() - began)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py prove tail", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--events", type=int, help="events to append at least; 1,000,000, or 15,000 with --short")
    parser.add_argument("--writers", type=int, default=_WRITERS, help=f"writer processes; {_WRITERS}")
    parser.add_argument("--seed", type=int, default=0, help="of what the writers do; when they do it is the machine's affair")
    parser.add_argument("--short", action="store_true", help="a form of some seconds")
    options = parser.parse_args(argv)
    options.events = options.events or (15_000 if options.short else 1_000_000)
    options.longest = 0.7 if options.short else 3.0
    options.between_kills = 1.0 if options.short else 3.0
    return options


class _Crowd:
    """All the processes of a run."""

    def __init__(self, dsn: str, directory: Path, options: argparse.Namespace) -> None:
        # Forked from a process that has imported everything and opened nothing: a writer is there some milliseconds after a kill.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.proofs.tail_processes"])
        self._dsn = dsn
        self._directory = directory
        self._options = options
        self._random = random.Random(options.seed)
        self._counts = self._context.RawArray("q", len(COUNTED) * options.writers)
        self._signals = self._context.RawArray("q", 3)
        self._writers: list[BaseProcess] = []
        self._readers: dict[str, BaseProcess] = {}
        self._runner: BaseProcess | None = None
        self._incarnations = 0
        self.killed = 0
        self.seconds = 0.0

    def count(self, what: str) -> int:
        """What all writers together have done of one kind."""
        return sum(self._counts[COUNTED.index(what) :: len(COUNTED)])

    def file(self, reader: str) -> Path:
        return self._directory / f"{(*READERS, NAIVE).index(reader)}.seen"

    def run(self) -> None:
        """Everybody at once, until enough is written; then the readers come to the end."""
        for name, read in {**READERS, NAIVE: processes.read_naively}.items():
            self._readers[name] = self._start(read, Reading(self._dsn, self.file(name), self._signals))
        self._runner = self._start(processes.follow, self._dsn, self._signals)
        self._writers = [self._writer(n) for n in range(self._options.writers)]
        began = told = time.monotonic()
        due = began + self._options.between_kills
        while self.count("events") < self._options.events:
            time.sleep(0.1)
            now = time.monotonic()
            if now > due:
                self._kill_one()
                due = now + self._random.uniform(0.5, 1.5) * self._options.between_kills
            if now > told + 20:
                told = now
                print(f"  {self.count('events')} events after {now - began:.0f} s", file=sys.stderr, flush=True)
            self._watch()
        self._signals[STOP] = 1
        for writer in self._writers:
            writer.join(60)
        self.seconds = time.monotonic() - began
        with psycopg.connect(self._dsn, autocommit=True) as conn:
            row = conn.execute("SELECT max(notification_id) FROM ledger.events").fetchone()
            assert row is not None
            self._signals[END] = row[0]
            assert wait_for(conn, row[0], 600), "the projections did not come to the end of the log"
        for name, reader in self._readers.items():
            reader.join(600)
            assert reader.exitcode == 0, f"{name} ended with {reader.exitcode}"

    def end(self) -> None:
        """Nobody stays behind, whatever happened."""
        self._signals[STOP] = self._signals[ENDED] = 1
        alive = [*self._writers, *self._readers.values(), *([self._runner] if self._runner else [])]
        for process in alive:
            process.join(10 if process is self._runner else 1)
            if process.is_alive():
                process.kill()
                process.join()

    def _start(self, target: Callable[..., None], *arguments: Any) -> BaseProcess:
        process = self._context.Process(target=target, args=arguments, daemon=True)
        process.start()
        return process

    def _writer(self, number: int) -> BaseProcess:
        self._incarnations += 1
        seed = f"{self._options.seed} {number} {self._incarnations}"
        base = number * len(COUNTED)
        work = Work(self._dsn, place.table(number), seed, self._counts, base, self._signals, self._options.longest)
        return self._start(processes.write, work)

    def _kill_one(self) -> None:
        """SIGKILL to a writer, or one time in eight to the projections; another takes its place."""
        if self._random.random() < 1 / 8 and self._runner is not None:
            self._runner.kill()
            self._runner.join()
            self._runner = self._start(processes.follow, self._dsn, self._signals)
            return
        number = self._random.randrange(len(self._writers))
        self._writers[number].kill()
        self._writers[number].join()
        self.killed += 1
        self._writers[number] = self._writer(number)

    def _watch(self) -> None:
        for process in (*self._writers, *self._readers.values()):
            assert process.exitcode is None, f"{process.name} ended by itself with {process.exitcode}"


def _stored(dsn: str) -> dict[int, int]:
    """Position → mark of all that the log holds."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        rows = conn.execute("SELECT notification_id, originator_id, originator_version FROM ledger.events", binary=True)
        return {position: processes.mark(stream, version) for position, stream, version in rows}


def compare(seen: Seen, stored: dict[int, int]) -> Found:
    """Counts what a reader was given against what is stored."""
    positions = set(seen.positions)
    pairs = zip(seen.positions, seen.marks, strict=True)
    return Found(
        read=len(seen.positions),
        missed=sum(position not in positions for position in stored),
        twice=len(seen.positions) - len(positions),
        backwards=sum(later <= earlier for earlier, later in zip(seen.positions, seen.positions[1:], strict=False)),
        unstored=sum(stored.get(position) != mark for position, mark in pairs),
    )


def _books(dsn: str) -> tuple[Comparison, int]:
    """What a fresh fold says of the live tables, and how many events the live projections have left out."""
    found = replay(dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        head = log.head(conn)
    return found, head - min(map(int, found.positions.values()))


def _conclude(
    options: argparse.Namespace,
    crowd: _Crowd,
    found: dict[str, Found],
    books: tuple[Comparison, int],
    stored: int,
    seconds: float,
) -> int:
    folded, left = books
    done = {what: crowd.count(what) for what in COUNTED}
    print(f"{stored} events by {options.writers} writer processes in {crowd.seconds:.1f} s, {crowd.killed} killed on the way")
    print(
        f"{done['rounds']} rounds through the use case; {done['rolled back']} transactions rolled back, {done['delayed']} late:"
    )
    print(f"of them {done['inverted']} in inverted order, {done['long']} for {options.longest:g} s\n")
    print(f"{'reader':<30}{'read':>10}{'missed':>10}{'twice':>8}{'backwards':>11}{'not stored':>12}")
    for name, of in found.items():
        print(f"{name:<30}{of.read:>10}{of.missed:>10}{of.twice:>8}{of.backwards:>11}{of.unstored:>12}")
    verdict = "equal to a fresh fold" if folded.equal else f"DIFFERENT: {folded.difference}"
    print(f"{'projections.runner.Runner':<30}{sum(folded.rows.values()):>10} rows, {verdict}\n")
    missed = sum(not of.whole for name, of in found.items() if name != NAIVE)
    folds = folded.equal and not folded.stopped and left == 0 and folded.events == stored
    rang = found[NAIVE].missed > 0
    if not rang:
        print("prove tail: the naive reader missed nothing: the alarm was not tested")
        return 1
    if missed or not folds:
        print(
            f"prove tail: FAILED: {missed} readers were not given the log as it is; projections {'equal' if folds else 'differ'}"
        )
        return 1
    print(
        f"prove tail: 0 of {stored} events missed, 0 twice, 0 out of order by {len(READERS)} readers and the projections; "
        f"the naive reader missed {found[NAIVE].missed} ({seconds:.0f} s)"
    )
    return 0
