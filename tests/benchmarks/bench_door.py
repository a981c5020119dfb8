"""Posts and bets per second through the door, beside plain INSERTs of the same rows on the same server in the same run.

On a server of its own with all its durability, on a disk: one bet a commit and twenty, each by 1 client and by 8, through the
door and as raw SQL in turn, round after round. A ratio is of two legs of one round, so what else the machine does falls on both.
Clients, service (with its projections) and server share the processors. At the end: what was acknowledged is what is stored, and
a replay of the log is equal.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, Self
from uuid import UUID, uuid4

import msgspec
import psycopg

from cli.demo_service import service
from ledger.application import Rounds
from ledger.events import BetPlaced, BettingClosed, OutcomeRecorded, RoundOpened
from ledger.property import OptIn, Property, Table
from ledger.reports import type_of
from projections import queries
from projections.replay import replay
from tests.benchmarks.ground import ground
from tests.benchmarks.terminals import RAW, STAKE, Done, Order, client

CLIENTS = (1, 8)
BETS = (1, 20)
BARS = {(1, 1): 0.1, (20, 1): 0.2, (1, 8): 0.1, (20, 8): 0.2}
"""(bets a post, clients) → the least ratio of door to raw SQL that --check lets pass, half of what two busy processors gave."""

HOUSE = Property(
    id="BENCH",
    name="Benchmark",
    zone="Asia/Macau",
    gaming_day_start="06:00",
    tables=tuple(Table(f"B{n:02}", "A", "roulette", "MOP", "0.01") for n in range(max(CLIENTS))),
    opt_ins=(OptIn("30/2003", "a benchmark", "nobody"),),
)


class Leg(NamedTuple):
    """One stretch of one kind of work, all clients together."""

    bets_per_second: float
    latencies: list[float]


class Key(NamedTuple):
    """A kind of leg."""

    bets: int
    clients: int
    door: bool


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server and its files go as well
    with _Clients() as clients, ground(options.dir) as stands, ExitStack() as stack:
        dsn = stands.dsn
        stands.admin.execute(RAW.encode())
        print(stands.describe())
        with closing(Rounds(dsn)) as rounds:
            rounds.apply_property(HOUSE)
        url = stack.enter_context(service(dsn))
        floor = stack.enter_context(closing(_Floor(clients, int(url.rpartition(":")[2]), dsn)))
        measured = _measure(floor, options.rounds, options.seconds)
        wrong = _verify(dsn, floor.acknowledged)
    ratios = _print(measured)
    print(f"\nAfter a leg the read side had caught up within {floor.behind:.1f} s.")
    return _conclude(ratios, len(floor.acknowledged), wrong, check=options.check)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py bench door", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--short", action="store_true", help="a form of some seconds, whose figures say little")
    parser.add_argument("--check", action="store_true", help="exit code 1 where a ratio is under its bar: " + _bars())
    parser.add_argument("--rounds", type=int, help="rounds; 5, or 2 with --short")
    parser.add_argument("--seconds", type=float, help="seconds of each leg; 2, or 0.4 with --short")
    parser.add_argument("--dir", type=Path, help="where the server's files go; not in memory")
    options = parser.parse_args(argv)
    options.rounds = options.rounds or (2 if options.short else 5)
    options.seconds = options.seconds or (0.4 if options.short else 2.0)
    return options


def _bars() -> str:
    return ", ".join(f"{bets} a post, {clients} client{'s' * (clients > 1)}: {bar}" for (bets, clients), bar in BARS.items())


# -------------------------------------------------------------------------------------------------------------------- floor


class _Clients:
    """The client processes. They are forked from this one, before it has threads: to start eight Pythons takes seconds."""

    def __enter__(self) -> Self:
        fork = multiprocessing.get_context("fork")
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(max(CLIENTS)):
            ours, theirs = fork.Pipe()
            process = fork.Process(target=client, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        return self

    def __exit__(self, *_: object) -> None:
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.close()
            process.kill()
            process.join()

    def ask(self, messages: Sequence[Any], patience: float) -> list[Any]:
        """Sends each of the first clients its message; their answers, in order."""
        asked = self._pipes[: len(messages)]
        for pipe, message in zip(asked, messages, strict=True):
            pipe.send(message)
        return [self._answer(pipe, patience) for pipe in asked]

    def _answer(self, pipe: Connection, patience: float) -> Any:
        if not pipe.poll(patience):
            raise TimeoutError(f"a client said nothing for {patience:g} s")
        found = pipe.recv()
        if isinstance(found, Exception):
            raise found
        return found


class _Floor:
    """A table for each client, the rounds that they bet on, and what the door acknowledged."""

    def __init__(self, clients: _Clients, port: int, dsn: str) -> None:
        self.acknowledged: set[bytes] = set()
        """Event ids of the bets that the door accepted."""
        self.behind = 0.0
        """The longest that the read side needed after a leg to catch up, seconds."""
        self._http = HTTPConnection("127.0.0.1", port, timeout=60)
        self._clients = clients
        clients.ask([(port, dsn)] * max(CLIENTS), 60)

    def leg(self, key: Key, seconds: float) -> Leg:
        """Each of the clients works for `seconds`, all at the same time, on a round of its own that is settled afterwards."""
        tables = [table.id for table in HOUSE.tables[: key.clients]]
        ids = [uuid4() for _ in tables]
        if key.door:
            opening = {"game": "roulette"}
            self._post(
                [_event(table, id_, RoundOpened, opening | {"table": table}) for table, id_ in zip(tables, ids, strict=True)]
            )
        start = time.monotonic() + 0.05
        orders = [Order(key.door, key.bets, table, id_, start, start + seconds) for table, id_ in zip(tables, ids, strict=True)]
        done: list[Done] = self._clients.ask(orders, seconds + 60)
        if key.door:
            for table, id_, each in zip(tables, ids, done, strict=True):
                self._settle(table, id_, each.ids)
        return Leg(
            sum(len(each.latencies) * key.bets / each.seconds for each in done),
            [latency for each in done for latency in each.latencies],
        )

    def _settle(self, table: str, id_: UUID, ids: bytes) -> None:
        fresh = {ids[n : n + 16] for n in range(0, len(ids), 16)}
        assert not fresh & self.acknowledged
        self.acknowledged |= fresh
        last = self._post([_event(table, id_, BettingClosed, {}), _event(table, id_, OutcomeRecorded, {"outcome": "0"})])
        # The read side is not left to work through the next leg, which is perhaps raw SQL's.
        began = time.monotonic()
        while self._request("GET", f"/v1/balances?limit=1&at_least={last}")[0] != 200:
            assert time.monotonic() - began < 60, "the read side does not catch up"
        self.behind = max(self.behind, time.monotonic() - began)

    def _post(self, events: list[dict[str, Any]]) -> str:
        """The last position of what the events caused."""
        status, answer = self._request("POST", "/v1/events", msgspec.json.encode(events))
        assert status == 200, answer
        assert all(item["status"] == "accepted" for item in answer["items"]), answer
        return str(answer["items"][-1]["positions"][-1])

    def _request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        self._http.request(method, path, body, {"Content-Type": "application/json"})
        answer = self._http.getresponse()
        return answer.status, msgspec.json.decode(answer.read())

    def close(self) -> None:
        self._http.close()


def _event(table: str, round_: UUID, kind: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": str(uuid4()),
        "source": f"/terminals/T-{table}",
        "type": type_of(kind),
        "subject": str(round_),
        "time": "2026-11-29T12:00:00Z",
        "data": data,
    }


def _measure(floor: _Floor, rounds: int, seconds: float) -> dict[Key, list[Leg]]:
    """Round after round, door and raw SQL in turn, each round in the opposite order of the one before."""
    measured: dict[Key, list[Leg]] = defaultdict(list)
    order = [Key(bets, clients, door) for clients in CLIENTS for bets in BETS for door in (False, True)]
    for key in order:
        floor.leg(key, min(0.3, seconds / 4))  # files, plans and caches of the first seconds are nobody's figures
    for n in range(rounds):
        for key in order if n % 2 == 0 else reversed(order):
            measured[key].append(floor.leg(key, seconds))
    return measured


# ------------------------------------------------------------------------------------------------------------------ verdict


def _verify(dsn: str, acknowledged: set[bytes]) -> list[str]:
    """What is wrong with what was stored; nothing, or the benchmark is void."""
    wrong = []
    with psycopg.connect(dsn, autocommit=True) as conn:
        bets = conn.execute("SELECT cause FROM ledger.events WHERE topic = %s", (BetPlaced.TOPIC,), binary=True)
        causes = [cause.bytes for (cause,) in bets]
        if len(causes) != len(acknowledged) or set(causes) != acknowledged:
            wrong.append(f"{len(acknowledged)} bets were acknowledged, {len(causes)} are stored")
        compared = replay(dsn, wait=60)
        if not compared.equal or compared.behind != "0" or compared.stopped:
            wrong.append(f"the replay differs: {compared.difference or compared.stopped or compared.behind}")
        sums = queries.trial_balance(conn)
        handle = {total.currency: int(total.handle) for total in queries.table_report(conn).totals}
        if sums != {"MOP": 0} or handle != {"MOP": STAKE * len(acknowledged)}:
            wrong.append(f"the balances sum to {sums}, the handle is {handle}")
    return wrong


def _print(measured: dict[Key, list[Leg]]) -> dict[tuple[int, int], float]:
    """The figures, for a person; (bets in a post, clients) → the median ratio of door to raw SQL."""
    ratios = {}
    for clients in CLIENTS:
        for bets in BETS:
            raw, door = measured[Key(bets, clients, False)], measured[Key(bets, clients, True)]
            each = [ours.bets_per_second / theirs.bets_per_second for ours, theirs in zip(door, raw, strict=True)]
            ratios[bets, clients] = median(each)
            print(f"\n{clients} client{'s' * (clients > 1)}, {bets} bet{'s' * (bets > 1)} a post or commit")
            print(f"  raw SQL  {_figures(raw, bets)}")
            print(f"  door     {_figures(door, bets)}")
            print(f"  ratio    {ratios[bets, clients]:.2f} (median of {len(each)} rounds, {min(each):.2f} to {max(each):.2f})")
    return ratios


def _figures(legs: list[Leg], bets: int) -> str:
    rate = median(leg.bets_per_second for leg in legs)
    latencies = sorted(latency * 1000 for leg in legs for latency in leg.latencies)
    p50, p99 = (latencies[min(len(latencies) - 1, int(len(latencies) * share))] for share in (0.5, 0.99))
    return f"{rate:>8.0f} bets/s {rate / bets:>8.0f} /s   p50 {p50:>6.2f} ms   p99 {p99:>6.2f} ms"


def _conclude(ratios: dict[tuple[int, int], float], bets: int, wrong: list[str], *, check: bool) -> int:
    """The one line that says it all, and the exit code."""
    print()
    for line in wrong:
        print(f"WRONG: {line}")
    low = [f"{ratios[key]:.2f} < {bar} at {key[0]} a post by {key[1]}" for key, bar in BARS.items() if ratios[key] < bar]
    if check:
        for line in low:
            print(f"UNDER THE BAR: {line}")
    said = ", ".join(f"{n}×{clients} {ratio:.2f}" for (n, clients), ratio in ratios.items())
    verdict = "stored as acknowledged, replay equal" if not wrong else "WRONG"
    print(f"door/raw SQL (bets a post × clients): {said}; {bets} bets, {verdict}")
    return 1 if wrong or (check and low) else 0
