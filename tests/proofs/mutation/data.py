"""Mutants of the regulations' data: every leaf that decides something changed to something plausible, and every key left out.

Wording of our own (rules, causes, reasons) is not reworded: it decides nothing. That it stands there is tried as for any key.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, TypeAlias

from tests.proofs.mutation.mutants import ROOT, Mutant

Path: TypeAlias = tuple[str | int, ...]

FILES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "seeds/regulations").glob("*.toml"))
OTHER = {
    "stand": "carry",
    "carry": "stand",
    "prize": "stake",
    "stake": "prize",
    "wins": "always",
    "off": "on",
    "pt": "zh",
    "zh": "pt",
}
OWN_WORDS = {"rule", "cause", "consequence", "assumed", "inferred", "unofficial"}


def of_data() -> Iterator[Mutant]:
    """Every mutant of every file. Its text is the data as JSON, in which `Regulation` takes dates as text."""
    for file in FILES:
        data = json.loads(json.dumps(tomllib.loads((ROOT / file).read_text(encoding="utf-8")), default=date.isoformat))
        for path, was, now in changes(data):
            yield Mutant(file, spelt(path), was, now, json.dumps(_with(data, path, now), ensure_ascii=False))
        for path, what, changed in [*_left_out(data), *_reordered(data)]:
            yield Mutant(file, spelt(path), what, "", json.dumps(changed, ensure_ascii=False))


def spelt(path: Path) -> str:
    return ".".join(map(str, path))


def changes(data: dict[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
    """Each leaf with each value that it is given instead."""
    for path, was in leaves(data):
        for now in others(path, was):
            yield path, was, now


def leaves(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(value, (*path, key))
    else:
        yield path, data


def others(path: Path, was: Any) -> list[Any]:
    """What might stand there instead, had someone's attention slipped."""
    keys = {key for key in path if isinstance(key, str)}
    if keys & OWN_WORDS:
        return []
    if isinstance(was, bool):
        return [not was]
    if was in OTHER:
        return [OTHER[was]]
    if "dates" in keys and re.fullmatch(r"\d{4}-\d\d-\d\d", was):
        return [(date.fromisoformat(was) + timedelta(days)).isoformat() for days in (-1, 1)]
    if keys & {"sets", "numbers"}:
        return each_number(was)
    if "fraction" in keys or ("odds" in keys and "article" not in keys):
        odds = Fraction(was)
        return [str(Fraction(odds.numerator + step, odds.denominator)) for step in (-1, 1)]
    if keys & {"names", "title"} or path[-1] in ("code", "game"):
        return [f"{was}?"]
    return each_number(was) or [f"{was}?"]


def each_number(text: str) -> list[str]:
    """The text with each of its numbers one less, and one more."""
    return [
        f"{text[: match.start()]}{int(match[0]) + step}{text[match.end() :]}"
        for match in re.finditer(r"\d+", text)
        for step in (-1, 1)
    ]


def _with(data: Any, path: Path, now: Any) -> Any:
    """A copy of the data in which `now` stands at the path."""
    changed = deepcopy(data)
    _at(changed, path[:-1])[path[-1]] = now
    return changed


def _at(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data


def _left_out(data: dict[str, Any]) -> Iterator[tuple[Path, str, Any]]:
    """The data without each key, and without each entry of a list."""
    for path in _places(data):
        changed = deepcopy(data)
        del _at(changed, path[:-1])[path[-1]]
        yield path, "left out", changed


def _places(data: Any, path: Path = ()) -> Iterator[Path]:
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from _places(value, (*path, key))


def _reordered(data: dict[str, Any]) -> Iterator[tuple[Path, str, Any]]:
    """The order of payment with neighbours exchanged, and with two places made one."""
    order: list[list[str]] = data["payment"]["order"]
    for place in range(len(order) - 1):
        before, (one, other), after = order[:place], order[place : place + 2], order[place + 2 :]
        for what, pair in (
            ("exchanged with the next", [other, one]),
            ("with the first of the next in it", [[*one, other[0]], other[1:]]),
            ("with its last in the next", [one[:-1], [one[-1], *other]]),
            ("made one with the next", [one + other]),
        ):
            path = ("payment", "order", place)
            yield path, what, _with(data, path[:2], [*before, *(group for group in pair if group), *after])
