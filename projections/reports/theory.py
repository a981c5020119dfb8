"""What bets were worth before they were decided: asked of the caller, for no rule is known here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Protocol


class Spread(Protocol):
    """How far the house's win on one round may stray."""

    @property
    def variance(self) -> Fraction:
        """Of the house's win, in minor units squared."""

    @property
    def exact(self) -> bool:
        """Whether the bets were taken together, over the outcomes that decide them all; else each as if independent."""


class Theory(Protocol):
    """The rules, as far as reports ask them."""

    def spread(self, regulation_hash: str, bets: Sequence[tuple[str, int]]) -> Spread | None:
        """Of one round's bets, as (spot, stake in minor units), under the regulation of this hash; None where it is not known."""

    def codes(self) -> Collection[str]:
        """The chances that the regulations of the log have, those without rule text as well."""

    def chances_of(self, game: str) -> Mapping[str, Mapping[str, Fraction]]:
        """The fair game, as tests of fairness need it: what is counted of an outcome → each of its values → its probability."""

    def counted(self, game: str, outcome: str) -> Mapping[str, Sequence[str]]:
        """What a shown outcome counts for: what is counted → the values that it showed, one or more."""
