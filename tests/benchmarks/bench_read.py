"""Reading beside the stock library: a round loaded, projections caught up, a bet seen in the balances; --check holds it to bars.

A server of its own with all its durability, on a disk. The legs of a row are run in turn, in the opposite order of the round
before; a ratio is of two legs of one round. At the end the read side is replayed and compared, and money sums to zero. How the
table is read is told in docs/explanation/reading-the-benchmarks.md.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from statistics import median
from uuid import UUID

import psycopg

from ledger.application import Rounds
from projections import queries
from projections.replay import replay
from projections.runner import catch_up
from projections.tables import PROJECTIONS
from tests.benchmarks import jobs, library
from tests.benchmarks.ground import Ground, ground
from tests.benchmarks.growth import AIM, MUST, TIMES
from tests.benchmarks.library import Library, TableRound, environment
from tests.benchmarks.play import HOUSE, SPOTS, Terminal
from tests.benchmarks.sheet import Row, Sheet, asked
from tests.benchmarks.visible import lags

BETS = 200
"""Of the round that is loaded."""


class Bench:
    """The server with one log of the ledger's and one of the library's."""

    def __init__(self, stands: Ground, *, rounds: int, seconds: float) -> None:
        self.ground = stands
        self.rounds = rounds
        self.seconds = seconds
        self.sheet = Sheet()
        self.library = Library(environment(stands.dsn, create=True))
        self.ledger = Rounds(stands.dsn)
        self.ledger.apply_property(HOUSE)
        self.terminal = Terminal(HOUSE.tables[0].id)

    def close(self) -> None:
        self.library.close()
        self.ledger.close()

    def played(self, bets: int) -> UUID:
        """A settled round of so many bets; its id."""
        jobs.accepted(self.ledger.post([self.terminal.open()]))
        jobs.accepted(self.ledger.post([self.terminal.bet(n) for n in range(bets)]))
        jobs.accepted(self.ledger.post(self.terminal.end("17")))
        return self.terminal.round

    def in_turn(self, base: Callable[[], float], case: Callable[[], float]) -> tuple[list[float], list[float]]:
        """The figures of both, round by round."""
        base(), case()
        found: dict[Callable[[], float], list[float]] = {base: [], case: []}
        for n in range(self.rounds):
            for each in (base, case) if n % 2 == 0 else (case, base):
                self.ground.checkpoint()
                found[each].append(each())
        return found[base], found[case]

    # The rows.

    def load(self) -> None:
        """A round from the log into memory."""
        ours = self.played(BETS)
        theirs = TableRound.open("B000")
        for n in range(BETS):
            theirs.place_bet(SPOTS[n % len(SPOTS)])
        theirs.end("17")
        self.library.save(theirs)
        events = self.ledger.round(ours).version
        assert theirs.version == events, (theirs.version, events)
        assert len(self.ledger.round(ours).bets) == BETS
        stock, ledger = self.in_turn(
            lambda: events / self._each(lambda: self.library.repository.get(theirs.id)),
            lambda: events / self._each(lambda: self.ledger.round(ours)),
        )
        ratios = [case / base for case, base in zip(ledger, stock, strict=True)]
        note = f"a settled round of {events} events: library {median(stock):.0f} events/s, ledger {median(ledger):.0f} events/s"
        self.sheet.add(Row("load of a round × repository.get of the library", ratios, 2.5, 6.0, 1.0, note=note))

    def load_growth(self) -> None:
        """Ten times the bets."""
        bets = 1000 if self.seconds > 1 else 200
        small, large = self.played(bets), self.played(bets * TIMES)
        sizes = {id_: self.ledger.round(id_).version for id_ in (small, large)}
        few, many = self.in_turn(
            lambda: self._each(lambda: self.ledger.round(small)) / sizes[small],
            lambda: self._each(lambda: self.ledger.round(large)) / sizes[large],
        )
        ratios = [case / base for case, base in zip(many, few, strict=True)]
        what = "cost of an event in a load with 10 × the bets in the round"
        note = f"rounds of {bets} and {bets * TIMES} bets"
        self.sheet.add(Row(what, ratios, MUST, AIM, at_most=True, note=note))

    def _each(self, load: Callable[[], object]) -> float:
        """Seconds of one call."""
        calls, began = 0, time.perf_counter()
        while (passed := time.perf_counter() - began) < self.seconds:
            load()
            calls += 1
        return passed / calls

    def catching_up(self) -> None:
        """Every projection over the log from its beginning."""
        rounds = 2500 if self.seconds > 1 else 300
        for _ in range(0, rounds, 50):
            jobs.accepted(self.ledger.post([report for _ in range(50) for report in self.terminal.whole_round()]))
        theirs = max(10, rounds // 25)
        for _ in range(theirs):  # one by one: a large array in one INSERT has been seen to hang
            self.library.save(TableRound.whole("B000"))

        with psycopg.connect(self.ground.dsn, autocommit=True) as conn:
            names = ", ".join(f"projection.{table}" for each in PROJECTIONS for table in each.tables)
            (events,) = self.ground.one("SELECT count(*) FROM ledger.events")

            def ledger() -> float:
                conn.execute(f"TRUNCATE {names}, projection.positions".encode())
                began = time.perf_counter()
                while catch_up(conn):
                    pass
                return float(events / (time.perf_counter() - began))

            stock, ours = self.in_turn(lambda: library.caught_up(self.library, self.ground.admin), ledger)
        ratios = [case / base for case, base in zip(ours, stock, strict=True)]
        note = f"{events} events: library {median(stock):.0f} events/s, ledger {median(ours):.0f} events/s"
        what = "postings, balances and report caught up × ProjectionRunner of the library"
        self.sheet.add(Row(what, ratios, 20, 50, 1.0, note=note))

    def visible(self) -> None:
        """From the commit of a bet to its effect in the balances, with the service under way."""
        found = [lags(self.ground, seconds=2 * self.seconds) for _ in range(self.rounds)]
        p99s = [each.p99 for each in found]
        note = f"at {found[0].rate:.0f} bets/s through the door, one a post; p50 {median(each.p50 for each in found):.1f} ms"
        self.sheet.add(Row("commit to visible in the balances, p99", p99s, 100, 20, at_most=True, unit="ms", note=note))


ROWS = (Bench.load, Bench.load_growth, Bench.catching_up, Bench.visible)


def main(argv: Sequence[str]) -> int:
    options = asked("read", __doc__, [row.__name__ for row in ROWS], argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server and its files go as well
    with ground(options.dir, track_commit_timestamp="on") as stands:
        print(stands.describe(), flush=True)
        with closing(Bench(stands, rounds=options.rounds, seconds=options.seconds)) as bench:
            for row in ROWS:
                if options.only in row.__name__:
                    print(f"… {(row.__doc__ or '').rstrip('.')}", file=sys.stderr, flush=True)
                    row(bench)
        _verify(bench)
    print()
    bench.sheet.show()
    print()
    return bench.sheet.conclude(check=options.check)


def _verify(bench: Bench) -> None:
    """Folds the log afresh and compares; sums the money."""
    with psycopg.connect(bench.ground.dsn, autocommit=True) as conn:
        while catch_up(conn):
            pass
        sums = queries.trial_balance(conn)
    if sums != {"MOP": 0}:
        bench.sheet.wrong.append(f"balances sum to {sums}")
    compared = replay(bench.ground.dsn)
    if not compared.equal or compared.behind != "0" or compared.stopped:
        bench.sheet.wrong.append(f"the replay differs: {compared.difference or compared.stopped or compared.behind}")
    print(f"{compared.events} events replayed, {sum(compared.rows.values())} rows equal", flush=True)
