"""The append beside plain SQL and beside the stock library, on one server in one run; --check holds it to its bars.

A server of its own with all its durability, on a disk. In every round the legs of a row are run in turn, each after a checkpoint,
and in the opposite order of the round before; a ratio is of two legs of one round. At the end: what was acknowledged is what is
stored, a reader that followed all the while missed nothing, money sums to zero. How the table is read is told in
docs/explanation/reading-the-benchmarks.md.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from statistics import median
from typing import Any

import psycopg

from cli.demo_service import service
from ledger.application import Rounds
from ledger.events import BetPlaced
from ledger.reports import Report
from ledger.store import log
from projections import queries
from projections.runner import catch_up, wait_for
from tests.benchmarks import growth, jobs
from tests.benchmarks.crew import Crew, Leg
from tests.benchmarks.follower import Follower, Seen
from tests.benchmarks.ground import Ground, ground
from tests.benchmarks.library import Library, TableRound, environment
from tests.benchmarks.play import EVENTS_OF_A_ROUND, HOUSE, STAKE, Terminal
from tests.benchmarks.sheet import Row, Sheet, asked

PLAYERS = 8


class Bench:
    """The server, the clients, and what they were told is stored."""

    def __init__(self, stands: Ground, *, rounds: int, seconds: float) -> None:
        self.ground = stands
        self.rounds = rounds
        self.seconds = seconds
        self.sheet = Sheet()
        self.acknowledged: set[bytes] = set()
        stands.admin.execute(jobs.SCHEMA.encode())
        Library(environment(stands.dsn, create=True)).close()
        self.crew = Crew(stands.dsn)
        with closing(Rounds(stands.dsn)) as rounds_:
            rounds_.apply_property(HOUSE)
            self.rows = self._whole_round(rounds_)
        self.body = self.rows[1][1]
        """The payload of a single bet, which is what the floor stores too."""

    def _whole_round(self, rounds: Rounds) -> list[jobs.Row]:
        """The rows of a round of 20 events, as the store keeps them."""
        terminal = Terminal(HOUSE.tables[-1].id)
        self.post(rounds, terminal.whole_round())
        found = self.ground.admin.execute(
            "SELECT topic, state, cause IS NOT NULL, caused, fingerprint FROM ledger.events WHERE originator_id = %s "
            "ORDER BY originator_version",
            (terminal.round,),
            binary=True,
        ).fetchall()
        assert len(found) == EVENTS_OF_A_ROUND, len(found)
        return found

    def post(self, rounds: Rounds, reports: Sequence[Report]) -> None:
        self.took(jobs.accepted(rounds.post(reports)))

    def took(self, ids: bytes) -> None:
        """Notes ids that were acknowledged."""
        fresh = {ids[n : n + 16] for n in range(0, len(ids), 16)}
        assert len(fresh) * 16 == len(ids), "an id was used twice, so that a replay could have answered"
        assert fresh.isdisjoint(self.acknowledged)
        self.acknowledged |= fresh

    def leg(self, kind: type[jobs.Job], clients: int, **more: Any) -> Leg:
        leg = self.crew.leg(kind, clients, self.seconds, **more)
        self.took(leg.ids)
        return leg

    def in_turn(self, legs: Mapping[str, Callable[[], Leg]], *, rounds: int | None = None) -> dict[str, list[Leg]]:
        """Round after round every leg once, each after a checkpoint; backwards in every second round."""
        for leg in legs.values():
            leg()  # connections, plans and files of the first seconds are nobody's figures
        done: dict[str, list[Leg]] = {name: [] for name in legs}
        for n in range(rounds or self.rounds):
            for name in list(legs) if n % 2 == 0 else reversed(list(legs)):
                self.ground.checkpoint()
                done[name].append(legs[name]())
        return done

    def settle(self) -> None:
        """Brings to an end what the rows before have left to be done, so that the next row does not pay for it: millions of
        events that nobody has folded yet, and pages that Postgres has still to vacuum, which it writes ahead. Nothing is switched
        off: what a row itself leaves to be done is done while it is measured."""
        with psycopg.connect(self.ground.dsn, autocommit=True) as conn:
            while catch_up(conn):
                pass
            conn.execute("VACUUM (ANALYZE)")

    # The rows.

    def single(self) -> None:
        """One client, one bet a commit."""
        done = self.in_turn(
            {
                "floor": lambda: self.leg(jobs.Floor, 1, given=self.body),
                "ledger": lambda: self.leg(jobs.Bets, 1),
                "library": lambda: self.leg(jobs.LibraryBets, 1),
            }
        )
        self.add("1 client, one bet a commit ÷ plain INSERT", done, "ledger", "floor", 0.60, 0.80, library="library")

    def eight(self) -> None:
        """Eight clients, one bet a commit."""
        done = self.in_turn(
            {
                "floor": lambda: self.leg(jobs.Floor, 8, given=self.body),
                "ledger": lambda: self.leg(jobs.Bets, 8),
                "callers": lambda: self.leg(jobs.Bets, 1, callers=8),
                "library": lambda: self.leg(jobs.LibraryBets, 8),
            },
            rounds=2 * self.rounds,  # sixteen processes on a few processors: the rounds lie far apart
        )
        self.add(
            "8 processes, one bet a commit ÷ plain INSERT, 8 processes", done, "ledger", "floor", 0.60, 0.85, library="library"
        )
        self.add("8 callers of one process ÷ plain INSERT, 8 processes", done, "callers", "floor", library="library")

    def slow_flush(self) -> None:
        """A disk that takes a millisecond."""
        for clients, must, aim in ((8, 6.0, 8.0), (32, 8.0, 12.0)):
            with self.ground.flush_of(1):
                done = self.in_turn(
                    {
                        "library": partial(self.leg, jobs.LibraryBets, clients),
                        "ledger": partial(self.leg, jobs.Bets, clients),
                        "library callers": partial(self.leg, jobs.LibraryBets, 1, callers=clients),
                        "callers": partial(self.leg, jobs.Bets, 1, callers=clients),
                    }
                )
            self.add(f"1 ms flush, {clients} processes × the library", done, "ledger", "library", must, aim)
            self.add(f"1 ms flush, {clients} callers of one process × the library", done, "callers", "library callers", must, aim)

    def whole_rounds(self) -> None:
        """A round of 20 events a commit."""
        done = self.in_turn(
            {
                "floor": lambda: self.leg(jobs.Copy, 8, given=self.rows),
                "ledger": lambda: self.leg(jobs.WholeRounds, 8),
                "library": lambda: self.leg(jobs.LibraryRounds, 8),
            }
        )
        self.add(
            "rounds of 20 events, 8 processes ÷ COPY of the same rows", done, "ledger", "floor", 0.40, 0.70, library="library"
        )

    def shared_round(self) -> None:
        """Eight players at one round."""
        library = Library(environment(self.ground.dsn))
        bets = 200 if self.seconds > 1 else 40

        def by_library() -> Leg:
            round_ = TableRound.open("B000")
            library.save(round_)
            leg = self.crew.leg(jobs.LibrarySharedBets, PLAYERS, 0, steps=bets // PLAYERS, round=round_.id)
            stored: TableRound = library.repository.get(round_.id)
            assert len(stored.bets) == bets
            return leg

        with closing(library):
            done = self.in_turn(
                {
                    "library": by_library,
                    "ledger": lambda: self.leg(jobs.SharedBets, 1, callers=PLAYERS, steps=bets // PLAYERS),
                }
            )
        what = f"a shared round of {bets} bets, {PLAYERS} players × the library"
        note = "the library: 8 processes load, bet and save, at a conflict again at once; the ledger: 8 callers of the writer"
        self.add(what, done, "ledger", "library", 60, 110, note=note)

    def door(self) -> None:
        """Batches of 20 bets through HTTP."""
        # One server process is judged. Beside it stands what is left of that where the projections take the same processors.
        for projections, what, bars in (
            (False, "HTTP door, batches of 20 bets", (0.50, 0.70)),
            (True, "HTTP door and projections on the same processors", ()),
        ):
            self.settle()
            with (
                service(self.ground.dsn, projections=projections) as url,
                psycopg.connect(self.ground.dsn, autocommit=True) as conn,
            ):
                port = int(url.rpartition(":")[2])

                def posted(clients: int, port: int = port, conn: psycopg.Connection[Any] = conn) -> Leg:
                    leg = self.leg(jobs.DoorBets, clients, port=port)
                    # The outcomes at its end, and what the projections are behind: the floor's leg does not pay for them.
                    while catch_up(conn):
                        pass
                    assert wait_for(conn, log.head(conn), 60), "the projections do not catch up"
                    return leg

                for clients in (1, 8):
                    done = self.in_turn(
                        {
                            "floor": partial(self.leg, jobs.RawBets, clients),
                            "ledger": partial(posted, clients),
                        }
                    )
                    who = f"{clients} client{'s' * (clients > 1)}"
                    self.add(f"{what}, {who} ÷ INSERT of the same rows", done, "ledger", "floor", *bars)

    def wal(self) -> None:
        """What a bet writes ahead."""
        count = 2000 if self.seconds > 1 else 200
        terminal = Terminal(HOUSE.tables[-1].id)
        fresh, steady = [], []
        self.settle()
        with closing(Rounds(self.ground.dsn)) as rounds:

            def written() -> float:
                began = self.ground.wal()
                for _ in range(count):
                    self.post(rounds, [terminal.bet()])
                return (self.ground.wal() - began) / count

            for _ in range(max(5, self.rounds)):  # now and then the server writes something of its own
                self.post(rounds, [terminal.open()])
                self.ground.checkpoint()
                fresh.append(written())
                steady.append(written())
                self.post(rounds, terminal.end())
        what, more = "WAL bytes of a bet that commits alone", len(self.body) - 180
        note = f"after the first {count} bets since a checkpoint, which write {median(fresh):.0f} each with whole pages"
        self.sheet.add(Row(f"{what}, by {more} less for a body of 180", [each - more for each in steady], 650, 580, at_most=True))
        self.sheet.add(Row(f"{what}, as it is: its body has {len(self.body)}", steady, note=note))

    def growth(self) -> None:
        """Ten times as many."""
        self.settle()
        small, rounds = 1000 if self.seconds > 1 else 100, 2 * self.rounds
        self.sheet.add(growth.more_events(self.ground, rounds=rounds, rounds_small=small))
        self.sheet.add(growth.more_open_rounds(self.ground, rounds=rounds, bets=4 * small))
        self.sheet.add(growth.more_bets(self.ground, rounds=rounds, bets=small))

    def add(
        self,
        what: str,
        done: Mapping[str, Sequence[Leg]],
        case: str,
        base: str,
        must: float | None = None,
        aim: float | None = None,
        *,
        library: str | None = None,
        note: str = "",
    ) -> None:
        """The row of one case beside its base, in the rounds in which both were run."""

        def ratios(name: str) -> list[float]:
            return [leg.rate / floor.rate for leg, floor in zip(done[name], done[base], strict=True)]

        beside = median(ratios(library)) if library else 1.0 if base.startswith("library") else None
        said = ", ".join(f"{name} {_figures(done[name])}" for name in (base, case, *([library] if library else [])))
        self.sheet.add(Row(what, ratios(case), must, aim, beside, note="; ".join(filter(None, [said, note]))))


def _figures(legs: Sequence[Leg]) -> str:
    rate = median(leg.rate for leg in legs)
    p50, p99 = (median(leg.latency(share) for leg in legs) for share in (0.5, 0.99))
    return f"{rate:.0f}/s ({p50:.2f}, {p99:.2f} ms)"


ROWS = (Bench.single, Bench.eight, Bench.slow_flush, Bench.whole_rounds, Bench.shared_round, Bench.door, Bench.wal, Bench.growth)


def main(argv: Sequence[str]) -> int:
    options = asked("append", __doc__, [row.__name__ for row in ROWS], argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server and its files go as well
    with ground(options.dir) as stands, Follower(stands.dsn) as follower:
        print(stands.describe(), flush=True)
        bench = Bench(stands, rounds=options.rounds, seconds=options.seconds)
        with closing(bench.crew):
            for row in ROWS:
                if options.only in row.__name__:
                    print(f"… {(row.__doc__ or '').rstrip('.')}", file=sys.stderr, flush=True)
                    row(bench)
        _verify(bench, follower.end())
    print()
    bench.sheet.show()
    print()
    return bench.sheet.conclude(check=options.check)


def _verify(bench: Bench, seen: Seen) -> None:
    """Compares what was acknowledged with what is stored, seen by the follower, and folded to money."""
    wrong = bench.sheet.wrong
    with psycopg.connect(bench.ground.dsn, autocommit=True) as conn:
        causes = [
            cause.bytes for (cause,) in conn.execute("SELECT cause FROM ledger.events WHERE cause IS NOT NULL", binary=True)
        ]
        if len(causes) != len(bench.acknowledged) or set(causes) != bench.acknowledged:
            wrong.append(f"{len(bench.acknowledged)} reports were acknowledged, {len(causes)} are stored")
        stored, positions = bench.ground.one("SELECT count(*), sum(notification_id)::bigint FROM ledger.events")
        if seen != Seen(stored, positions, True):
            wrong.append(f"a reader that followed the log saw {seen.events} of {stored} events, in order: {seen.ordered}")
        (bets,) = bench.ground.one("SELECT count(*) FROM ledger.events WHERE topic = %s", BetPlaced.TOPIC)
        while catch_up(conn):
            pass
        sums = queries.trial_balance(conn)
        handle = {total.currency: int(total.handle) for total in queries.table_report(conn).totals}
        if sums != {"MOP": 0} or handle != {"MOP": STAKE * bets}:
            wrong.append(f"balances sum to {sums}; the handle is {handle}, of {bets} bets of {STAKE}")
    print(f"{len(bench.acknowledged)} reports acknowledged, {stored} events stored and followed", flush=True)
