"""Tests of fairness and the register of assumptions by another way: probabilities counted out, polynomials, the logged documents.

Nothing of the program is used. Where the program adds one cell after the other to a joint distribution, the exact test is here a
polynomial to the power of the cells, at every root of unity of the sum of squares.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy
from scipy.special import gammaincc  # type: ignore[import-untyped]  # it has no stubs

from tests.proofs.report_history import Figures, History, Key

_FEWEST = 5
_ODD = 0.05

_FAIR: dict[str, dict[str, dict[str, Fraction]]] = {
    "roulette": {"pocket": {str(n): Fraction(1, 37) for n in range(37)}},
    "fantan": {"number": {str(n): Fraction(1, 4) for n in range(1, 5)}},
    "cussec": {
        "die": {str(n): Fraction(1, 6) for n in range(1, 7)},
        "total": {str(n): Fraction(sum(sum(dice) == n for dice in product(range(1, 7), repeat=3)), 216) for n in range(3, 19)},
    },
    "craps": {
        "die": {str(n): Fraction(1, 6) for n in range(1, 7)},
        "sum": {str(n): Fraction(sum(sum(dice) == n for dice in product(range(1, 7), repeat=2)), 36) for n in range(2, 13)},
    },
}


def outcomes(history: History, day: str | None = None, *, booked: bool = False) -> dict[Key, Counter[str]]:
    """Property, pit, table and game → how often each outcome was shown, of one gaming day or of all; void throws left out.

    As last corrected; or `booked`, for which the outcomes of a closed day stay as they were.
    """
    found: dict[Key, Counter[str]] = defaultdict(Counter)
    for each in history.rounds.values():
        place, shown = each.place, each.outcome(booked=booked)
        if shown is not None and day in (None, each.day):
            key = place["property"], place["pit"], place["table"], place["game"]
            found[key].update(one for one in shown.split(",") if one != "void")
    return found


def _counted(game: str, outcome: str) -> Iterator[tuple[str, str]]:
    """What an outcome counts for, as (what is counted, value)."""
    match game:
        case "roulette":
            yield "pocket", outcome
        case "fantan":
            yield "number", outcome
        case _:
            dice = outcome.split("-")
            yield from (("die", die) for die in dice)
            yield "total" if game == "cussec" else "sum", str(sum(map(int, dice)))


def fairness(history: History) -> Figures:
    """One row a table and thing counted."""
    counts: dict[Key, Counter[str]] = defaultdict(Counter)
    for place, shown in outcomes(history).items():
        for outcome, times in shown.items():
            for what, value in _counted(place[3], outcome):
                counts[*place, what][value] += times
    tested = {key: _tested(seen, _FAIR[key[3]][key[4]]) for key, seen in counts.items()}
    ps = sorted((p, key) for key, (p, _) in tested.items() if p is not None)
    corrected: dict[Key, float] = {}
    for rank, (p, key) in enumerate(ps):
        before = corrected[ps[rank - 1][1]] if rank else 0.0
        corrected[key] = max(before, min(1.0, p * (len(ps) - rank)))
    found: Figures = {}
    for key, (alone, row) in tested.items():
        said = "too few to say" if alone is None else "odd" if corrected[key] < _ODD else "nothing odd"
        found[key] = row | {"p": _six(alone), "p_holm": _six(corrected.get(key)), "says": said}
    return found


def _tested(seen: Counter[str], fair: Mapping[str, Fraction]) -> tuple[float | None, dict[str, str]]:
    n = seen.total()
    far = max(fair, key=lambda value: (abs(float(seen[value] - n * fair[value])) / float(n * fair[value]) ** 0.5, value))
    cells = [(seen[value], n * fair[value]) for value in fair]
    exact = len(set(fair.values())) == 1 and cells[0][1] < _FEWEST
    if not exact:
        cells = _together(cells)
    statistic = sum(((count - wanted) ** 2 / wanted for count, wanted in cells), Fraction(0))
    freedom = len(cells) - 1
    p: float | None = None
    method = "too few"
    if exact:
        p, method = _at_least(n, len(cells), sum(count * count for count, _ in cells)), "exact"
    elif freedom:
        p, method = float(gammaincc(freedom / 2, float(statistic) / 2)), f"chi², df {freedom}"
    effect = float(statistic / (n * freedom)) ** 0.5 if freedom else 0.0
    return p, {
        "trials": str(n),
        "cells": str(len(cells)),
        "statistic": _two(statistic),
        "method": method,
        "effect": _six(effect),
        "furthest": far,
        "observed": str(seen[far]),
        "expected": _two(n * fair[far]),
    }


def _together(cells: Sequence[tuple[int, Fraction]]) -> list[tuple[int, Fraction]]:
    """Neighbours joined from the first on until each has enough; the rest with the last."""
    groups: list[list[tuple[int, Fraction]]] = [[]]
    for cell in cells:
        if sum(wanted for _, wanted in groups[-1]) >= _FEWEST:
            groups.append([])
        groups[-1].append(cell)
    if len(groups) > 1 and sum(wanted for _, wanted in groups[-1]) < _FEWEST:
        rest = groups.pop()
        groups[-1] += rest
    return [(sum(seen for seen, _ in group), sum((wanted for _, wanted in group), Fraction(0))) for group in groups]


def _at_least(n: int, cells: int, squares: int) -> float:
    """How often `n` equally likely trials over the cells have counts whose squares sum to so much or more."""
    size = n * n + 1
    roots = numpy.exp(-2j * numpy.pi * numpy.arange(size) / size)
    mean, weight = n / cells, 1.0
    one = numpy.zeros((size, n + 1), dtype=complex)  # of one cell: what each count weighs, at each root
    for x in range(n + 1):
        one[:, x] = weight * roots ** (x * x)
        weight *= mean / (x + 1)
    whole = numpy.zeros_like(one)
    whole[:, 0] = 1
    length = 2 * n + 2
    spectrum = numpy.fft.fft(one, length, axis=1)
    for _ in range(cells):
        whole = numpy.fft.ifft(numpy.fft.fft(whole, length, axis=1) * spectrum, axis=1)[:, : n + 1]
        whole /= abs(whole[0]).sum()
    spread = numpy.fft.ifft(whole[:, n]).real
    return float(spread[squares:].sum() / spread.sum())


def _two(value: Fraction) -> str:
    hundredths = round(value * 100)
    return f"{hundredths // 100}.{hundredths % 100:02}"


def _six(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


_SECTIONS = ("chance", "unverified", "void", "dates", "gazette", "payment", "rounding", "commission")


def assumptions(documents: Sequence[Mapping[str, Any]], played: Collection[tuple[str, str]]) -> set[Key]:
    """The rows of the register, whole: what the regulations in the log take on trust, and what each property decided.

    `played` are (property, hash of the regulation) of the rounds.
    """
    found: set[Key] = set()
    properties: dict[str, Any] = {}
    for document in documents:
        content = json.loads(document["content"])
        if document["kind"] == "regulation":
            properties_ = {property_ for property_, hash_ in played if hash_ == document["sha256"]} or {""}
            found |= {row for property_ in properties_ for row in _of_regulation(content, property_)}
        else:
            properties[document["name"]] = content
    for name, content in properties.items():
        for opted in content.get("opt_ins", ()):
            found.add((opted["regulation"], "opt_in", name, "opt-in", opted["reason"], opted["approved_by"]))
        for choice in content.get("choices", ()):
            taken = choice.get("unverified_bets", False)
            for key, value in choice.items():
                if key == "regulation" or value in ([], False) or (key in ("field_twelve", "commission_taken") and not taken):
                    continue
                said = value if isinstance(value, str) else json.dumps(value)
                found.add((choice["regulation"], "choice", name, key, said, ""))
    return found


def _of_regulation(content: Mapping[str, Any], property_: str) -> set[Key]:
    order = content["order"]
    found: set[Key] = set()
    for section in _SECTIONS:
        if section == "unverified" and content.get("unverified_bets") != "on":
            continue
        entries = content.get(section, [])
        for entry in entries if isinstance(entries, list) else [entries]:
            part = f"{section} {entry['code']}" if "code" in entry else section
            for kind in ("assumed", "inferred"):
                found |= {(order, kind, property_, f"{part}, {key}", reason, "") for key, reason in entry.get(kind, {}).items()}
            if section == "unverified":
                reason = "no source of the regulation holds this bet"
                found.add((order, "unverified", property_, f"chance {entry['code']}", reason, ""))
    return found
