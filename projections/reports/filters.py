"""What a report is about: which days, and which part of the house."""

from __future__ import annotations

import calendar
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec

from ledger.errors import Refusal
from ledger.money import parse_plain
from projections.reports.model import amount

PLACES = ("property", "pit", "table", "game", "chance", "shift", "currency")
"""Filters by name; a view's column of `table` is `table_id`."""


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows a report has. None leaves a filter out; both days are included."""

    property: str | None = None
    pit: str | None = None
    table: str | None = None
    game: str | None = None
    chance: str | None = None
    shift: str | None = None
    currency: str | None = None
    first: date | None = None
    last: date | None = None


def period(
    *, day: date | None = None, month: str | None = None, first: date | None = None, last: date | None = None
) -> tuple[date | None, date | None]:
    """The first and last day of what was asked for: one day, a month (`2026-11`), or from and to.

    Raises Refusal LGR-0121 for more than one of these, a month that is none, or days that end before they begin.
    """
    if sum((day is not None, month is not None, first is not None or last is not None)) > 1:
        raise Refusal("LGR-0121", "a report is of a day, of a month, or from one day to another: give one", field="period")
    if day is not None:
        return day, day
    if month is not None:
        return _month(month)
    if first is not None and last is not None and last < first:
        raise Refusal("LGR-0121", f"the period ends before it begins, on {first}", field="to", value=last.isoformat())
    return first, last


def _month(text: str) -> tuple[date, date]:
    try:
        first = date.fromisoformat(f"{text}-01") if len(text) == 7 else None
    except ValueError:
        first = None
    if first is None:
        raise Refusal("LGR-0121", "a month is written YYYY-MM, for example 2026-11", field="month", value=text)
    return first, first.replace(day=calendar.monthrange(first.year, first.month)[1])


def thresholds(given: Iterable[str]) -> dict[str, Decimal]:
    """Currency → amount, of what was written as MOP=500000. Raises Refusal LGR-0121, LGR-0104 or LGR-0105."""
    found = {}
    for text in given:
        currency, equals, value = text.partition("=")
        if not equals:
            raise Refusal(
                "LGR-0121", "a threshold is of a currency", field="threshold", value=text, help="write it like MOP=500000"
            )
        if currency in found:
            raise Refusal(
                "LGR-0121", f"there are two thresholds of {currency}", field="threshold", value=text, help="give one a currency"
            )
        found[currency] = amount(parse_plain(value, currency, field="threshold"), currency)
    return found


def described(filters: Filters) -> dict[str, Any]:
    """What the heading says of them: the days and the other filters, in words."""
    given = [f"{name} {getattr(filters, name)}" for name in PLACES if getattr(filters, name) is not None]
    return {"period": _days(filters.first, filters.last), "filters": ", ".join(given) or "none"}


def _days(first: date | None, last: date | None) -> str:
    if first is None:
        return "all gaming days" if last is None else f"gaming days to {last}"
    if last is None:
        return f"gaming days from {first}"
    return f"gaming day {first}" if first == last else f"gaming days {first} to {last}"
