"""Memory is bounded, and a bet costs the same in a round of 10,000 as in one of 1,000; what is counted is calls and bytes."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from types import FrameType
from uuid import UUID

import pytest

from ledger.application import Rounds, memory
from tests.support import UNLIMITED, Terminal, accepted, codes, house

FEW, MANY = 1_000, 10_000
TIMES = MANY // FEW
POST = 500
"""Bets in one post: a group has a limit, however long the round."""


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    with closing(house(dsn, UNLIMITED)) as found:
        terminal = Terminal()
        accepted(found.post(terminal.whole_round([("red", "100")], "17")))  # connections, caches and modules are there
        found.round(terminal.round)
        yield found


def played(rounds: Rounds, bets: int, spots: tuple[str, str] = ("red", "odd")) -> UUID:
    """A settled round of so many bets, turn by turn on these spots. Odd wins."""
    terminal = Terminal()
    accepted(rounds.post([terminal.open()]))
    for first in range(0, bets, POST):
        accepted(rounds.post([terminal.bet(spots[n % 2], player=f"P-{n}") for n in range(first, first + POST)]))
    accepted(rounds.post([terminal.close(), terminal.outcome("17")]))
    return terminal.round


def calls(work: Callable[[], object]) -> int:
    """Functions of Python and C that this thread calls for it."""
    count = 0

    def called(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event.endswith("call")

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def bytes_at_most(work: Callable[[], object]) -> int:
    """Bytes that were in use for it at its peak."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_ten_times_the_bets_are_at_most_ten_times_the_work_to_play(rounds: Rounds) -> None:
    assert calls(lambda: played(rounds, MANY)) <= 1.02 * TIMES * calls(lambda: played(rounds, FEW))


def test_ten_times_the_bets_take_at_most_ten_times_the_memory_to_play(rounds: Rounds) -> None:
    assert bytes_at_most(lambda: played(rounds, MANY)) <= 1.1 * TIMES * bytes_at_most(lambda: played(rounds, FEW))


def test_ten_times_the_bets_are_at_most_ten_times_the_work_and_memory_to_load(rounds: Rounds) -> None:
    few, many = played(rounds, FEW), played(rounds, MANY)
    assert len(rounds.round(many).bets) == MANY
    for measured in (calls, bytes_at_most):
        assert measured(lambda: rounds.round(many)) <= 1.02 * TIMES * measured(lambda: rounds.round(few)), measured.__name__


def test_a_long_round_is_loaded_without_its_events_piling_up(rounds: Rounds) -> None:
    """What is needed beside the round itself is a piece of its events, not all of them."""
    many = played(rounds, MANY, ("odd", "low"))  # an outcome names all bets that lost: that one is as long as it is
    tracemalloc.start()
    try:
        loaded = rounds.round(many)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(loaded.bets) == MANY
    assert peak <= 1.5 * held


TABLES = (("R01", "roulette", "MOP"), ("R02", "roulette", "HKD"), ("C01", "cussec", "MOP"), ("C02", "cussec", "HKD"))
SHOWN = {"roulette": "17", "cussec": "1-2-3"}


@pytest.mark.parametrize(("kept", "events"), [(2, 500_000), (2, 0), (1, 500_000)])
def test_what_does_not_fit_into_memory_is_loaded_again(
    rounds: Rounds, monkeypatch: pytest.MonkeyPatch, kept: int, events: int
) -> None:
    """Four tables are played turn by turn, one post a bet, with memory for less: each post finds its round as the log has it."""
    monkeypatch.setattr(memory, "_ROUNDS_KEPT", kept)
    monkeypatch.setattr(memory, "_EVENTS_KEPT", events)
    terminals = [Terminal(*table) for table in TABLES]
    for terminal in terminals:
        accepted(rounds.post([terminal.open()]))
    for _ in range(6):
        for terminal in terminals:
            accepted(rounds.post([terminal.bet("red" if terminal.game == "roulette" else "small")]))
            assert len(rounds._memory._rounds) <= kept
            assert events or len(rounds._memory._rounds) == 1
    for terminal in terminals:
        assert codes(rounds.post([terminal.close(), terminal.outcome(SHOWN[terminal.game])])) == ["accepted"] * 2
        assert len(rounds.round(terminal.round).bets) == 6
    assert len(rounds._memory._rounds) <= kept


def test_late_posts_to_settled_rounds_do_not_add_up_in_memory(rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_EVENTS_KEPT", 100)
    late = []
    for _ in range(10):
        terminal = Terminal()
        accepted(rounds.post(terminal.whole_round([("red", "100")] * 30, "17")))
        late.append(terminal.bet("red"))
    assert not rounds._memory._rounds, "a settled round is not kept"
    for bet in late:
        assert codes(rounds.post([bet])) == ["LGR-0210"]
        assert sum(round_.version for round_ in rounds._memory._rounds.values()) <= 100
