"""What a spot is worth: exact probabilities and the house edge, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeAlias

from ledger.rules.games.craps import AFTER_POINT, FACES, NO_POINT, PHASES, POINTS, State
from ledger.rules.games.kernel import PUSH, STANDS, WON
from ledger.rules.spots import Payoff, Spot


class Analysis(NamedTuple):
    """Exact figures of a bet of one unit, before any rounding."""

    win: Fraction
    """The probability that it wins."""
    push: Fraction
    """The probability that it ties."""
    edge: Fraction
    """The part of the stake that the bank keeps on average."""
    variance: Fraction
    """Of what the player gains."""

    @property
    def edge_resolved(self) -> Fraction:
        """The edge with ties ignored, as some authors print it."""
        return self.edge / (1 - self.push)


def analyse(spot: Spot) -> Analysis:
    """Enumerate every outcome and take the mean; for craps, solve the Markov chain of throws, from when the bet is placed."""
    kernel = spot.regulation.kernel
    if len(kernel.phases) > 1:
        return _over_throws(spot)
    figures = _NOTHING
    outcomes = kernel.outcomes()
    total = sum(outcome.weight for outcome in outcomes)
    for outcome, payoff in zip(outcomes, spot.pays, strict=True):
        figures = _add(figures, Fraction(outcome.weight, total), _decided(payoff))
    return _analysis(figures)


def analyse_by_point(spot: Spot) -> dict[int, Analysis]:
    """Craps: the figures of a bet that lies on the table, from each point on (0: none yet), whether or not it is placed there."""
    return {point: _analysis(figures) for point, figures in _solve(spot, {}).items()}


Figures: TypeAlias = tuple[Fraction, ...]
"""The means of four things: won, tied, gained, the square of what was gained."""

_NOTHING: Figures = (Fraction(0),) * 4
_ZERO = Fraction(0)


def _decided(payoff: Payoff) -> Figures:
    if payoff.result == WON:
        return Fraction(1), _ZERO, payoff.net, payoff.net**2
    return (_ZERO, Fraction(1), _ZERO, _ZERO) if payoff.result == PUSH else (_ZERO, _ZERO, Fraction(-1), Fraction(1))


def _add(figures: Figures, share: Fraction, more: Figures) -> Figures:
    return tuple(one + share * other for one, other in zip(figures, more, strict=True))


def _analysis(figures: Figures) -> Analysis:
    win, push, gain, square = figures
    return Analysis(win, push, -gain, square - gain * gain)


def _over_throws(spot: Spot) -> Analysis:
    """The mean over the points at which the bet can be placed, each as likely as the come-out sets it."""
    by_point = _solve(spot, {})
    if spot.chance.code not in AFTER_POINT:
        return _analysis(by_point[NO_POINT])
    ways = {point: sum(sum(pair) == point for pair in product(FACES, repeat=2)) for point in POINTS}
    figures = _NOTHING
    for point in POINTS:
        figures = _add(figures, Fraction(ways[point], sum(ways.values())), by_point[point])
    return _analysis(figures)


def _solve(spot: Spot, known: dict[str, dict[int, Figures]]) -> dict[int, Figures]:
    """The figures of a bet on a spot from every phase on: one linear equation a phase, since a throw may change the phase only.

    A bet that moves (come) goes to a spot that is solved on its own: none ever moves back.
    """
    if spot.text in known:
        return known[spot.text]
    outcomes = spot.regulation.kernel.outcomes()
    matrix: dict[int, dict[int, Fraction]] = {}
    constant: dict[int, Figures] = {}
    for phase, point in enumerate(PHASES):
        row, sums = {each: Fraction(int(each == point)) for each in PHASES}, _NOTHING
        for slot, outcome in enumerate(outcomes):
            share = Fraction(outcome.weight, 36)
            payoff = spot.pays[phase * len(outcomes) + slot]
            after = State(point).after(outcome.throws[0]).point
            if payoff.result != STANDS:
                sums = _add(sums, share, _decided(payoff))
            elif payoff.moves_to is not None:
                sums = _add(sums, share, _solve(spot.regulation.spot_in_play(payoff.moves_to), known)[after])
            else:
                row[after] -= share
        matrix[point], constant[point] = row, sums
    known[spot.text] = _eliminate(matrix, constant)
    return known[spot.text]


def _eliminate(matrix: dict[int, dict[int, Fraction]], constant: dict[int, Figures]) -> dict[int, Figures]:
    """Gauss and Jordan in fractions. No pivot is zero: from every phase a bet is decided sooner or later."""
    for pivot in matrix:
        scale = 1 / matrix[pivot][pivot]
        matrix[pivot] = {column: scale * value for column, value in matrix[pivot].items()}
        constant[pivot] = tuple(scale * value for value in constant[pivot])
        for other in matrix:
            factor = matrix[other][pivot]
            if other != pivot and factor:
                matrix[other] = {column: value - factor * matrix[pivot][column] for column, value in matrix[other].items()}
                constant[other] = _add(constant[other], -factor, constant[pivot])
    return constant
