"""How soon a bet is in the balances: bets through the service's door at a steady rate, and a reader that looks all the while."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import NamedTuple

import msgspec
import psycopg

from cli.demo_service import service
from ledger.reports import Report
from projections.tables import LEDGER
from tests.benchmarks.ground import Ground
from tests.benchmarks.play import HOUSE, Terminal, cloud_events

RATE = 500
"""Bets a second."""
_TERMINALS = 4
_LOOK = 0.001


class Lags(NamedTuple):
    """Milliseconds from a bet's commit, by the server's record of it, to the first look that shows it in the balances."""

    p50: float
    p99: float
    rate: float
    """Bets a second that were committed."""


def lags(ground: Ground, *, seconds: float) -> Lags:
    """Four terminals post for so long; needs `track_commit_timestamp`. Every bet is looked for, none is left out."""
    with service(ground.dsn) as url:
        port = int(url.rpartition(":")[2])
        terminals = [Terminal(table.id) for table in HOUSE.tables[-_TERMINALS:]]
        with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as door:
            _post(door, [terminal.open() for terminal in terminals])
            with _watched(ground.dsn) as looks:
                first, last = _bets(port, terminals, seconds)
                deadline = time.monotonic() + 30
                while not looks or looks[-1][0] < last:
                    assert time.monotonic() < deadline, "the read side does not catch up"
                    time.sleep(0.01)
            _post(door, [report for terminal in terminals for report in terminal.end()])
    committed = ground.admin.execute(
        "SELECT notification_id, extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8 FROM ledger.events "
        "WHERE notification_id BETWEEN %s AND %s ORDER BY 2",
        (first, last),
    ).fetchall()
    positions = [position for position, _ in looks]
    waited = sorted(looks[bisect_left(positions, position)][1] - moment for position, moment in committed)
    span = committed[-1][1] - committed[0][1]
    p50, p99 = (waited[int((len(waited) - 1) * share)] * 1000 for share in (0.5, 0.99))
    return Lags(p50, p99, (len(committed) - 1) / span)


def _bets(port: int, terminals: list[Terminal], seconds: float) -> tuple[int, int]:
    """Posts bets one by one, each terminal on its beat; the lowest and the highest position that they were given."""
    positions: list[int] = []
    errors: list[Exception] = []
    start = time.monotonic()

    def play(terminal: Terminal, offset: float) -> None:
        try:
            with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as door:
                beat = start + offset
                while beat < start + seconds:
                    time.sleep(max(0.0, beat - time.monotonic()))
                    positions.extend(_post(door, [terminal.bet()]))
                    beat += len(terminals) / RATE
        except Exception as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=play, args=(terminal, n / RATE)) for n, terminal in enumerate(terminals)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return min(positions), max(positions)


def _post(door: HTTPConnection, reports: list[Report]) -> list[int]:
    """The positions of what the reports caused."""
    door.request("POST", "/v1/events", cloud_events(reports), {"Content-Type": "application/json"})
    answer = door.getresponse()
    body = msgspec.json.decode(answer.read())
    if answer.status != 200 or any(item["status"] != "accepted" for item in body["items"]):
        raise RuntimeError(f"the door did not accept {len(reports)} events: {body}")
    return [int(position) for item in body["items"] for position in item["positions"]]


@contextmanager
def _watched(dsn: str) -> Iterator[list[tuple[int, float]]]:
    """What a reader sees: (position of the balances, the server's time), every time that it has moved."""
    looks: list[tuple[int, float]] = []
    done = threading.Event()

    def watch() -> None:
        with psycopg.connect(dsn, autocommit=True) as conn:
            while not done.wait(_LOOK):
                row = conn.execute(
                    "SELECT position, extract(epoch FROM clock_timestamp())::float8 FROM projection.positions WHERE name = %s",
                    (LEDGER.name,),
                    prepare=True,
                ).fetchone()
                if row is not None and (not looks or row[0] > looks[-1][0]):
                    looks.append(row)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield looks
    finally:
        done.set()
        thread.join()
