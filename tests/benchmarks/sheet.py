"""The sheet on which a benchmark writes: rows of ratios, each beside what it must be and what it aims at."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple


class Row(NamedTuple):
    """One figure: what was measured in every round, and the bars that its median is held to."""

    what: str
    rounds: Sequence[float]
    must: float | None = None
    aim: float | None = None
    library: float | None = None
    """The same figure for the stock library, measured in the same rounds; 1 where the figure is a multiple of it."""
    at_most: bool = False
    """Whether the bars are ceilings."""
    unit: str = ""
    note: str = ""

    @property
    def value(self) -> float:
        return median(self.rounds)

    def meets(self, bar: float) -> bool:
        return self.value <= bar if self.at_most else self.value >= bar

    @property
    def missed(self) -> bool:
        return self.must is not None and not self.meets(self.must)

    @property
    def verdict(self) -> str:
        if self.must is None:
            return ""
        if self.missed:
            return "MISSED"
        return "aim" if self.aim is not None and self.meets(self.aim) else "must"


class Sheet:
    """The rows of a run, and what was found wrong in it."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.wrong: list[str] = []
        """What was not stored, not seen or not equal as it had to be: the figures are then worth nothing."""

    def add(self, row: Row) -> None:
        self.rows.append(row)

    def show(self) -> None:
        """The table."""
        head = ("", "median", "rounds", "library", "must", "aim", "")
        lines = [head, *map(_cells, self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
        for line, row in zip(lines, [None, *self.rows], strict=True):
            cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:6], widths[1:6], strict=True))]
            print("  ".join([*cells, line[6]]).rstrip())
            if row is not None and row.note:
                print(f"    {row.note}")

    def conclude(self, *, check: bool) -> int:
        """Says what is wrong and what was missed; the exit code."""
        missed = [row for row in self.rows if row.missed]
        for line in self.wrong:
            print(f"WRONG: {line}")
        if check:
            for row in missed:
                print(f"MISSED: {row.what}: {_figure(row.value, row)} where {_bar(row.must, row)} is a must")
        held = "all that was acknowledged is stored, nothing was missed, money sums to zero" if not self.wrong else "WRONG"
        print(f"{len(self.rows) - len(missed)} of {len(self.rows)} rows within their bars; {held}")
        return 1 if self.wrong or (check and missed) else 0


def _cells(row: Row) -> tuple[str, ...]:
    spread = f"{_figure(min(row.rounds), row)}–{_figure(max(row.rounds), row)}" if len(row.rounds) > 1 else ""
    library = "" if row.library is None else _figure(row.library, row)
    return row.what, _figure(row.value, row), spread, library, _bar(row.must, row), _bar(row.aim, row), row.verdict


def _bar(bar: float | None, row: Row) -> str:
    return "" if bar is None else f"{'≤' if row.at_most else '≥'} {_figure(bar, row)}"


def _figure(value: float, row: Row) -> str:
    text = f"{value:.2f}" if abs(value) < 9.995 else f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"
    return f"{text}{row.unit and ' '}{row.unit}"


def asked(name: str, text: str | None, rows: Sequence[str], argv: Sequence[str]) -> argparse.Namespace:
    """The options of a benchmark that fills a sheet: `short`, `check`, `rounds`, `seconds`, `only`, `dir`."""
    parser = argparse.ArgumentParser(prog=f"dev.py bench {name}", description=(text or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="a form of some seconds, whose figures say little")
    parser.add_argument("--check", action="store_true", help="exit code 1 where a must is missed")
    parser.add_argument(
        "--rounds", type=int, help="rounds of each row, twice as many where they lie far apart: 4, or 2 with --short"
    )
    parser.add_argument("--seconds", type=float, help="seconds of each leg: 5, or 0.15 with --short")
    parser.add_argument("--only", default="", help=f"the rows whose name holds this: {', '.join(rows)}")
    parser.add_argument("--dir", type=Path, help="where the server's files go; not in memory")
    options = parser.parse_args(argv)
    if not any(options.only in row for row in rows):
        parser.error(f"no row is called {options.only}; there are {', '.join(rows)}")
    options.rounds = options.rounds or (2 if options.short else 4)
    options.seconds = options.seconds or (0.15 if options.short else 5.0)
    return options
