"""Columns that reports share."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from projections.reports.model import EXACT, Column, Derive, minor, percent, rounded


def text(key: str, title: str, **more: Any) -> Column:
    """Words."""
    return Column(key, title, "text", **more)


def count(key: str, title: str, **more: Any) -> Column:
    """A whole number that is summed."""
    return Column(key, title, "count", sums=True, **more)


def money(key: str, title: str, **more: Any) -> Column:
    """An amount, which is summed unless it is said otherwise."""
    return Column(key, title, "amount", **{"sums": True, **more})


PROPERTY = text("property", "property", below=6)
PIT = text("pit", "pit", below=6)
TABLE = text("table", "table", source="v.table_id")
GAME = text("game", "game", below=3)
DAY = Column("gaming_day", "gaming day", "date", below=1)
SHIFT = text("shift", "shift", below=5, if_any=True)
ROUND = Column("round", "round", "id", below=2)
CHANCE = text("chance", "chance")
CURRENCY = text("currency", "currency")
PLACE = (PROPERTY, PIT, TABLE, GAME)
"""Where something happened."""


def numbers(*keys: str) -> Derive:
    """The sum of amounts of a row; those with a minus before their key are taken off."""

    def derived(row: Mapping[str, Any]) -> Any:
        first, *rest = (EXACT.minus(row[key[1:]]) if key.startswith("-") else row[key] for key in keys)
        for value in rest:
            first = EXACT.add(first, value)
        return first

    return derived


def win_percent() -> Column:
    """The win on the bets of the rows themselves in percent of the handle: without what corrections of earlier days add."""
    return Column(
        "win_percent", "win %", "percent", derive=lambda row: percent(EXACT.subtract(row["win"], row["earlier"]), row["handle"])
    )


def expected() -> tuple[Column, ...]:
    """Theoretical win of rows that have one edge: its exact value is summed, and rounded once."""
    return (
        Column("theoretical_win_exact_minor", "exact theo. win (minor units)", "exact", sums=True, drawn=False, derive=_expected),
        Column("theoretical_win", "theo. win", "amount", derive=rounded_from("theoretical_win_exact_minor")),
    )


def _expected(row: Mapping[str, Any]) -> Fraction:
    return Fraction(row["edge"]) * minor(EXACT.add(row["handle"], row["pushed"]), row["currency"])


def rounded_from(key: str) -> Derive:
    """An exact amount of minor units, rounded once."""
    return lambda row: None if row[key] is None else rounded(row[key], row["currency"])
