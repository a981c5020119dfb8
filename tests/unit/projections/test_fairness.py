"""Tests of fairness say of recorded outcomes what others found in them, and of made-up ones what is true of these."""

from __future__ import annotations

import csv
import math
import os
import random
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from scipy import stats  # type: ignore[import-untyped]  # it has no stubs

from ledger.worth import Worth
from projections.reports.fairness import goodness, holm

RECORDED = Path(os.environ.get("LEDGER_RECORDED_OUTCOMES", ""))
"""A folder of outcomes of real games, which are no part of the project."""
POCKETS = {str(n): Fraction(1, 37) for n in range(37)}
FOUR = {str(n): Fraction(1, 4) for n in range(1, 5)}
WORTH = Worth({})


@pytest.mark.skipif(
    not os.environ.get("LEDGER_RECORDED_OUTCOMES"), reason="LEDGER_RECORDED_OUTCOMES names no folder of recorded outcomes"
)
@pytest.mark.parametrize(
    ("file", "game", "statistic", "p"),
    [
        ("roulette_wiesbaden_t1.csv", "roulette", 37.5, 0.40),
        ("roulette_wiesbaden_t5.csv", "roulette", 34.1, 0.56),
        ("roulette_wiesbaden_t7.csv", "roulette", 40.6, 0.28),
        ("roulette_live_a.csv", "roulette", 31.3, 0.69),
        ("roulette_live_b.csv", "roulette", 36.0, 0.47),
        ("craps_casino.csv", "craps", 12.2, 0.27),
    ],
)
def test_recorded_outcomes_of_real_games(file: str, game: str, statistic: float, p: float) -> None:
    with (RECORDED / file).open(encoding="utf-8") as rows:
        counts = Counter(row["outcome"] for row in csv.DictReader(rows) if row["outcome"])
    found = goodness(counts, WORTH.chances_of(game)["pocket" if game == "roulette" else "sum"])
    assert found.statistic == pytest.approx(statistic, abs=0.06)
    assert found.p == pytest.approx(p, abs=0.006)


@pytest.mark.parametrize("seed", range(5))
def test_enough_trials_are_tested_as_others_do(seed: int) -> None:
    counts = Counter(str(random.Random(seed).randrange(37)) for _ in range(5000))
    found = goodness(counts, POCKETS)
    theirs = stats.chisquare([counts[value] for value in POCKETS])
    assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


@pytest.mark.parametrize("shown", ["1111", "1234", "112", "11223344", "111122", "4"])
def test_few_trials_are_tested_exactly(shown: str) -> None:
    """Against all sequences, one by one."""
    found = goodness(Counter(shown), FOUR)
    limit = sum(count * count for count in Counter(shown).values())
    everything = [sum(count * count for count in Counter(each).values()) for each in product("1234", repeat=len(shown))]
    assert found.method == "exact"
    assert found.p == pytest.approx(sum(squares >= limit for squares in everything) / len(everything), rel=1e-9)


def test_few_spins_of_a_wheel_are_tested_exactly() -> None:
    """Three alike in three: 37 of 37³ sequences."""
    assert goodness({"17": 3}, POCKETS).p == pytest.approx(1 / 37**2, rel=1e-9)
    assert goodness({"17": 2}, POCKETS).p == pytest.approx(1 / 37, rel=1e-9)


def test_cells_of_which_little_is_expected_are_taken_together() -> None:
    totals = WORTH.chances_of("cussec")["total"]
    found = goodness({"10": 30, "11": 20, "4": 3}, totals)
    assert found.trials == 53
    assert 2 <= found.cells < len(totals)
    assert goodness({"10": 2}, totals).p is None, "too few for any test"


def test_a_loaded_die_is_found_and_a_fair_one_is_not() -> None:
    faces = WORTH.chances_of("cussec")["die"]
    rng = random.Random(1)
    fair = goodness(Counter(str(rng.randint(1, 6)) for _ in range(6000)), faces)
    loaded = goodness(Counter(rng.choice("1234566") for _ in range(6000)), faces)
    assert fair.p is not None
    assert loaded.p is not None
    assert fair.p > 0.01
    assert loaded.p < 1e-9
    assert loaded.furthest == "6"
    assert loaded.effect > 5 * fair.effect


def test_of_many_fair_tables_as_many_look_odd_as_chance_has_it_and_the_correction_clears_them() -> None:
    rng = random.Random(7)
    ps = [goodness(Counter(str(rng.randint(1, 4)) for _ in range(100)), FOUR).p or 0.0 for _ in range(400)]
    assert 8 <= sum(p < 0.05 for p in ps) <= 34
    assert not [p for p in holm(ps) if p < 0.05]


def test_holm_is_that_of_the_books() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert math.isclose(holm([0.02])[0], 0.02)
