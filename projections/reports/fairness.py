"""Whether what tables showed is what a fair game would show: one test a table and thing counted, and what all may say.

Pearson's chi-square against the probabilities of the game. Where cells are equally likely and fewer than five are expected in
each, the statistic's own distribution is computed instead of its limit; where they are not, neighbouring cells are taken together
until five are expected in each. Holm's correction says what remains odd when so many were looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from projections.reports import queries
from projections.reports.columns import PLACE, text
from projections.reports.filters import Filters
from projections.reports.model import EXACT, Column, Row, two_decimals
from projections.reports.queries import Connection, Source
from projections.reports.theory import Theory
from projections.reports.writers import extra

ODD = 0.05
"""Below this, after the correction, a test is said to be odd."""
FEWEST = 5
"""Expected in each cell, for the limit of the statistic's distribution to hold."""

COLUMNS = (
    *PLACE,
    text("counted", "counted"),
    Column("trials", "trials", "count"),
    Column("cells", "cells", "count"),
    Column("statistic", "chi²", "number"),
    text("method", "method", below=1),
    Column("p", "p", "probability"),
    Column("p_holm", "p by Holm", "probability"),
    Column("effect", "effect (V)", "probability"),
    text("furthest", "furthest off"),
    Column("observed", "seen", "count"),
    Column("expected", "expected", "number"),
    text("says", "says"),
)
LEGEND = (
    "p: how often a fair game strays at least as far; p by Holm: the same with regard to how many tests there are; "
    "effect: Cramér's V, from 0 (as expected) to 1, which does not grow with the trials; "
    "furthest off: the value with the largest deviation"
)
NOTES = ("outcomes count as last corrected; an odd result is a reason to look at wheel, dice and records, and no proof",)
_OUTCOMES = (*PLACE, Column("outcome", "outcome", "text"), Column("times", "times", "count", sums=True))


class Tested(NamedTuple):
    """What one test found."""

    trials: int
    cells: int
    statistic: float
    method: str
    p: float | None
    """None where there are too few trials for any test."""
    effect: float
    furthest: str
    observed: int
    expected: Fraction


def goodness(counts: Mapping[str, int], chances: Mapping[str, Fraction]) -> Tested:
    """Tests counts against probabilities, both by value. Needs the extra `analysis`."""
    n = sum(counts.values())
    far = max(chances, key=lambda value: (abs(_residual(counts.get(value, 0), n * chances[value])), value))
    cells = [(counts.get(value, 0), n * chance) for value, chance in chances.items()]
    even = len(set(chances.values())) == 1
    exact = even and bool(n) and cells[0][1] < FEWEST
    if not exact:
        cells = _pooled(cells)
    statistic = sum(((seen - wanted) ** 2 / wanted for seen, wanted in cells if wanted), Fraction(0))
    freedom = len(cells) - 1
    p, method = None, "too few"
    if exact:
        p, method = _exact(n, len(cells), sum(seen * seen for seen, _ in cells)), "exact"
    elif freedom:
        p, method = float(extra("scipy.stats", "a test of fairness").chi2.sf(float(statistic), freedom)), f"chi², df {freedom}"
    effect = float(statistic / (n * freedom)) ** 0.5 if n and freedom else 0.0
    return Tested(n, len(cells), float(statistic), method, p, effect, far, counts.get(far, 0), n * chances[far])


def _residual(seen: int, wanted: Fraction) -> float:
    return float(seen - wanted) / float(wanted) ** 0.5 if wanted else 0.0


def _pooled(cells: Sequence[tuple[int, Fraction]]) -> list[tuple[int, Fraction]]:
    """Neighbouring cells together, until enough is expected in each; what is left over goes to the last."""
    found: list[tuple[int, Fraction]] = []
    seen, wanted = 0, Fraction(0)
    for more, expected in cells:
        seen, wanted = seen + more, wanted + expected
        if wanted >= FEWEST:
            found.append((seen, wanted))
            seen, wanted = 0, Fraction(0)
    if found:
        found[-1] = (found[-1][0] + seen, found[-1][1] + wanted)
    return found or [(seen, wanted)]


_MOST = 40
"""In one cell: with fewer than five expected, more has a chance below 10⁻²⁰."""


def _exact(n: int, cells: int, squares: int) -> float:
    """The probability that `n` trials over equally likely cells have counts whose squares sum to `squares` at least.

    Counts of a cell are independent Poisson ones, conditioned on their sum: one cell after the other is added to the joint
    distribution of count and sum of squares.
    """
    numpy = extra("numpy", "a test of fairness")
    most = min(n, _MOST)
    mean = n / cells
    shares = [1.0]
    for x in range(1, most + 1):
        shares.append(shares[-1] * mean / x)
    limit = min(n * most, n * n) + 1
    joint = numpy.zeros((n + 1, limit))
    joint[0, 0] = 1.0
    for _ in range(cells):
        after = numpy.zeros_like(joint)
        for x, share in enumerate(shares):
            if x * x < limit:
                after[x:, x * x :] += share * joint[: n + 1 - x, : limit - x * x]
        joint = after / after.sum()
    row = joint[n]
    return float(min(row[min(squares, limit - 1) :].sum() / row.sum(), 1.0))


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's correction: in the order given, each p as it is to be read with regard to all."""
    order = sorted(range(len(ps)), key=lambda n: ps[n])
    found, least = [0.0] * len(ps), 0.0
    for rank, n in enumerate(order):
        least = max(least, min((len(ps) - rank) * ps[n], 1.0))
        found[n] = least
    return found


class Fairness:
    """Reads outcomes and tests them. `notes` are complete once the rows were read."""

    def __init__(self, conn: Connection, filters: Filters, theory: Theory) -> None:
        self._conn = conn
        self._filters = filters
        self._theory = theory
        self.notes: list[str] = []
        self.counts: dict[Row, dict[str, int]] = {}
        """(place, what is counted) → value → how often; for plots."""

    def rows(self) -> Iterator[Row]:
        """One row a table and thing counted, in order."""
        self._read()
        tests = {key: goodness(found, self._theory.chances_of(key[3])[key[4]]) for key, found in self.counts.items()}
        tested = [key for key, test in tests.items() if test.p is not None]
        corrected = dict(zip(tested, holm([tests[key].p or 0.0 for key in tested]), strict=True))
        low = sum((tests[key].p or 0.0) < ODD for key in tested)
        if tested:
            chance = f"about {len(tested) * ODD:.1f} have a p below {ODD} where nothing is wrong; here {low} have"
            self.notes.append(f"of {len(tested)} tests some look odd by chance: {chance}")
        for key, test in tests.items():
            yield (*key, *_told(test, corrected.get(key)))

    def _read(self) -> None:
        source = Source("outcomes", ("property", "table", "game", "outcome"), grouped=True, places=_PLACES)
        for *place, outcome, times in queries.rows(self._conn, source, _OUTCOMES, self._filters):
            for what, values in self._theory.counted(place[3], outcome).items():
                found = self.counts.setdefault((*place, what), {})
                for value in values:
                    found[value] = found.get(value, 0) + times
        self.counts = dict(sorted(self.counts.items(), key=lambda each: [part or "" for part in each[0]]))


_PLACES = ("property", "pit", "table", "game", "shift")


def _told(test: Tested, corrected: float | None) -> Row:
    says = "too few to say"
    if corrected is not None:
        says = "odd" if corrected < ODD else "nothing odd"
    return (
        test.trials,
        test.cells,
        two_decimals(Fraction(test.statistic)),
        test.method,
        _probability(test.p),
        _probability(corrected),
        _probability(test.effect),
        test.furthest,
        test.observed,
        two_decimals(test.expected),
        says,
    )


def _probability(value: Any) -> Decimal | None:
    return None if value is None else Decimal(round(value * 10**6)).scaleb(-6, EXACT)
