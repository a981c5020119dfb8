"""What an event costs when there are ten times as many of something; each measured small and large in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import cycle, islice

import psycopg

from ledger.application import Rounds
from ledger.reports import Report
from tests.benchmarks.ground import Ground
from tests.benchmarks.play import EVENTS_OF_A_ROUND, HOUSE, TABLES, Terminal
from tests.benchmarks.sheet import Row

TIMES = 10
_POST = 100
"""Bets in one post."""
MUST, AIM = 1.2, 1.05


def more_events(ground: Ground, *, rounds: int, rounds_small: int) -> Row:
    """A log of `rounds_small` rounds and one of ten times as many: whole rounds, one a post."""
    small = ground.database("growth_small")
    _fill(small, rounds_small, furnish=True)
    large = ground.database("growth_large", template="growth_small")
    _fill(large, rounds_small * (TIMES - 1))
    with closing(Rounds(small)) as few, closing(Rounds(large)) as many:
        terminal, posts = Terminal(HOUSE.tables[0].id), 40

        def cost(rounds_: Rounds) -> float:
            return _seconds(rounds_, [terminal.whole_round() for _ in range(posts)]) / (posts * EVENTS_OF_A_ROUND)

        ratios = list(_in_turn(ground, rounds, lambda: cost(few), lambda: cost(many)))
    sizes = f"{_events(small)} and {_events(large)} events in the log"
    return Row("cost of an event with 10 × the events and rounds in the log", ratios, MUST, AIM, at_most=True, note=sizes)


def more_open_rounds(ground: Ground, *, rounds: int, bets: int) -> Row:
    """Bets on the rounds that a tenth of the tables have open, and on those of all tables.

    A post has one bet for each of so many rounds as the tenth has, on both sides: a post that touches more rounds has more to do
    whether others are open or not.
    """
    together = TABLES // TIMES
    with _house(ground, "growth_open") as rounds_:
        terminals = [Terminal(table.id) for table in HOUSE.tables]

        def cost(tables: int) -> float:
            some = terminals[:tables]
            _accepted(rounds_, [terminal.open() for terminal in some])
            reports = [terminal.bet() for terminal in islice(cycle(some), bets)]
            seconds = _seconds(rounds_, _split(reports, together))
            _accepted(rounds_, [report for terminal in some for report in terminal.end()])
            return seconds / bets

        ratios = list(_in_turn(ground, rounds, lambda: cost(together), lambda: cost(TABLES)))
    sizes = f"{together} and {TABLES} open rounds, {together} of them in each post"
    return Row("cost of a bet with 10 × the rounds open", ratios, MUST, AIM, at_most=True, note=sizes)


def more_bets(ground: Ground, *, rounds: int, bets: int) -> Row:
    """Rounds of `bets` bets and of ten times as many, played to their end."""
    with _house(ground, "growth_bets") as rounds_:
        terminal = Terminal(HOUSE.tables[0].id)

        def cost(count: int) -> float:
            seconds = 0.0
            for _ in range(bets * TIMES // count):  # as many bets on both sides
                opening = terminal.open()
                reports = [terminal.bet() for _ in range(count)]
                seconds += _seconds(rounds_, [[opening], *_split(reports), terminal.end("17")])
            return seconds / (bets * TIMES)

        ratios = list(_in_turn(ground, rounds, lambda: cost(bets), lambda: cost(bets * TIMES)))
    sizes = f"rounds of {bets} and of {bets * TIMES} bets, every bet a winner"
    return Row("cost of a bet with 10 × the bets in a round, settlement included", ratios, MUST, AIM, at_most=True, note=sizes)


def _in_turn(ground: Ground, rounds: int, small: Callable[[], float], large: Callable[[], float]) -> Iterator[float]:
    """The large cost as a multiple of the small one, round by round."""
    small(), large()
    for n in range(rounds):
        costs = {}
        for which in (small, large) if n % 2 == 0 else (large, small):
            ground.checkpoint()
            costs[which] = which()
        yield costs[large] / costs[small]


@contextmanager
def _house(ground: Ground, name: str) -> Iterator[Rounds]:
    with closing(Rounds(ground.database(name))) as rounds:
        rounds.apply_property(HOUSE)
        yield rounds


def _fill(dsn: str, count: int, *, furnish: bool = False) -> None:
    with closing(Rounds(dsn)) as rounds:
        if furnish:
            rounds.apply_property(HOUSE)
        terminal = Terminal(HOUSE.tables[0].id)
        for start in range(0, count, _POST):
            _accepted(rounds, [report for _ in range(min(_POST, count - start)) for report in terminal.whole_round()])


def _split(reports: Sequence[Report], size: int = _POST) -> list[Sequence[Report]]:
    return [reports[n : n + size] for n in range(0, len(reports), size)]


def _seconds(rounds: Rounds, posts: Sequence[Sequence[Report]]) -> float:
    began = time.perf_counter()
    for reports in posts:
        _accepted(rounds, reports)
    return time.perf_counter() - began


def _accepted(rounds: Rounds, reports: Sequence[Report]) -> None:
    for verdict in rounds.post(reports):
        if verdict.status != "accepted":
            raise RuntimeError(f"{verdict.event_id} was {verdict.status}: {verdict.refusal}")


def _events(dsn: str) -> int:
    with psycopg.connect(dsn) as conn:
        row = conn.execute("SELECT count(*) FROM ledger.events").fetchone()
    assert row is not None
    return int(row[0])
