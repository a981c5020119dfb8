"""Reading what the program printed, without losing what a reader could lose."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any


def as_json(text: str) -> Any:
    """A JSON document whose numbers stay as they were written: none is read as a float."""
    return json.loads(text, parse_float=refuse, parse_constant=refuse)


def refuse(text: str) -> Any:
    raise AssertionError(f"{text} is a number that readers would round")


def as_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


COUNTS = {"rounds", "bets", "events", "rows", "seconds", "assumptions", "version", "sequence", "seat", "line", "numbers"}
COUNTS |= {"waiting", "count", "counts", "point", "void_launches", "holds_open", "corrections_pending"}
"""Keys under which JSON may hold numbers: counts, the numbers of a game, and how long something took."""


def numbers(value: Any, under: str = "") -> Iterator[str]:
    """Every number of a document that is no count, as key and value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, key if under not in COUNTS else under)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, under)
    elif isinstance(value, int | float) and not isinstance(value, bool) and under not in COUNTS:
        yield f"{under}: {value}"
