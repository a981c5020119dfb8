"""Craps by 53/2010, art. 5(2): the pass line and its added bet, by walking the throws.

The payouts (art. 6) are in no text at hand: even money on the line and true odds on the added bet are assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

PASS_ODDS = Fraction(1)

ADDED_ODDS = {
    4: Fraction(2),
    5: Fraction(3, 2),
    6: Fraction(6, 5),
    8: Fraction(6, 5),
    9: Fraction(3, 2),
    10: Fraction(2),
}

ARTICLES = {"pass": ("5(2)(1)",), "pass_odds": ("5(2)(2)",)}

VOID = None
"""A throw that counts for nothing (art. 3(2) and 3(3))."""


class Line(NamedTuple):
    """What the throws of one line have come to: "won", "lost" or "stands"; and the point, where one was set."""

    result: str
    point: int | None


def craps_line(throws: Sequence[int | None]) -> Line:
    """Walk the totals of the throws, None for a void one; a throw after the line's decision belongs to another round."""
    point = None
    result = "stands"
    for total in throws:
        if result != "stands":
            raise ValueError("the line was decided before the last throw")
        if total is VOID:
            continue
        if total < 2 or total > 12:
            raise ValueError(f"two dice do not show {total}")
        if point is None:
            if total == 7 or total == 11:
                result = "won"
            elif total == 2 or total == 3 or total == 12:
                result = "lost"
            else:
                point = total
        else:
            if total == point:
                result = "won"
            elif total == 7:
                result = "lost"
    return Line(result, point)


def craps_throws(outcome: str) -> list[int | None]:
    """Read "6,8,6", "3-3,5-3" or "6,void,6"."""
    totals: list[int | None] = []
    for throw in outcome.split(","):
        if throw == "void":
            totals.append(VOID)
        elif "-" in throw:
            one, other = throw.split("-")
            totals.append(int(one) + int(other))
        else:
            totals.append(int(throw))
    return totals


def craps_sequences(longest: int) -> list[tuple[int, ...]]:
    """Every sequence of totals, up to so many throws, that is one line: decided by its last throw or by none."""
    found: list[tuple[int, ...]] = []
    standing: list[tuple[int, ...]] = [()]
    for _ in range(longest):
        thrown = [(*before, total) for before in standing for total in range(2, 13)]
        found += thrown
        standing = [throws for throws in thrown if craps_line(throws).result == "stands"]
    return found
