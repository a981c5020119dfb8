"""The fold of the table report."""

from __future__ import annotations

import random
from fractions import Fraction
from uuid import UUID

import pytest

from ledger.events import PayoutMade
from projections.checks import Contradiction
from projections.queries import percent
from projections.tally import Heading, Line, count_up
from tests.unit.projections.made import DAY, Bet, made_day, made_round, recorded
from tests.unit.projections.test_fold import changed

HEADING = Heading(DAY, "T-R01", "roulette", "30/2003", "", "MOP")


def test_figures_of_one_round() -> None:
    bets = [Bet("P-1", 100, "won", 35), Bet("P-2", 200), Bet("P-3", 50, "push", edge="1/80"), Bet("P-4", 7, edge="2/74")]
    stream, events = made_round(bets, rng=random.Random(1))
    tally = count_up(recorded([(stream, events)]))
    assert tally.opened == {stream: HEADING}
    assert tally.lines == {HEADING: Line(rounds=1, bets=4, lost=207, won=100, pushed=50, prizes=3500)}
    assert tally.stakes == {(HEADING, "1/37"): 307, (HEADING, "1/80"): 50}, "an edge is kept in lowest terms"
    assert tally.outcomes == {(DAY, "T-R01", "roulette", "17"): 1}


def test_a_round_counts_when_it_is_settled() -> None:
    stream = made_round([Bet("P-1", 100)], rng=random.Random(1), until="closed")
    tally = count_up(recorded([stream]))
    assert tally.opened
    assert (tally.lines, tally.stakes, tally.outcomes) == ({}, {}, {})


def test_batches_add_up_to_the_whole() -> None:
    rng = random.Random(1)
    log = recorded(made_day(7, 50), rng)
    whole = count_up(log)
    known: dict[UUID, Heading] = {}
    lines: dict[Heading, Line] = {}
    for start in range(0, len(log), 37):
        part = count_up(log[start : start + 37], known)
        known |= part.opened
        for heading, line in part.lines.items():
            total = lines.setdefault(heading, Line())
            total += line
    assert known == whole.opened
    assert lines == whole.lines


@pytest.mark.parametrize("edge", ["", "1/0", "x", "1/-2/3"])
def test_an_edge_that_is_no_fraction_is_named(edge: str) -> None:
    log = recorded([made_round([Bet("P-1", 100, "won", 1)], rng=random.Random(1))])
    with pytest.raises(Contradiction, match="is not a house edge"):
        count_up(changed(log, PayoutMade, edge=edge))


def test_it_refuses_what_the_ledger_refuses() -> None:
    log = recorded([made_round([Bet("P-1", 100, "won", 1)], rng=random.Random(1))])
    with pytest.raises(Contradiction, match="currency"):
        count_up(changed(log, PayoutMade, currency="HKD"))
    with pytest.raises(Contradiction, match="never opened"):
        count_up(log[1:])
    with pytest.raises(Contradiction, match="opened before"):
        count_up([*log, log[0]])


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (0, 100, "0.00"),
        (1, 37, "2.70"),
        (-7, 100, "-7.00"),
        (-1, 3, "-33.33"),
        (1, 80000, "0.00"),
        (3, 80000, "0.00"),
        (1, 20000, "0.00"),
        (3, 20000, "0.02"),
        (-1, 100000, "0.00"),
        (10**30, 10**30, "100.00"),
        (5, 0, None),
    ],
)
def test_percent(part: int, whole: int, shown: str | None) -> None:
    assert percent(part, whole) == shown
    if shown is not None:
        assert abs(Fraction(shown) - Fraction(100 * part, whole)) <= Fraction(1, 200)
