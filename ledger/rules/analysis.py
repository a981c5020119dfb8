"""What a spot is worth: exact probabilities and the house edge, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ledger.rules.games.kernel import PUSH, WON
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
    """Enumerate every outcome (craps: solve the chain of throws) and take the mean."""
    outcomes = spot.regulation.kernel.outcomes()
    return mean([(outcome.weight, payoff) for outcome, payoff in zip(outcomes, spot.pays, strict=True)])


def mean(weighted: list[tuple[int, Payoff]] | list[tuple[Fraction, Payoff]]) -> Analysis:
    """The figures of a bet whose payoffs come with these weights."""
    total = sum((Fraction(weight) for weight, _ in weighted), Fraction(0))
    win = push = gain = square = Fraction(0)
    for weight, payoff in weighted:
        share = Fraction(weight) / total
        value = payoff.net if payoff.result == WON else Fraction(0) if payoff.result == PUSH else Fraction(-1)
        win += share if payoff.result == WON else 0
        push += share if payoff.result == PUSH else 0
        gain += share * value
        square += share * value * value
    return Analysis(win, push, -gain, square - gain * gain)
