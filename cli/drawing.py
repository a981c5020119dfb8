"""What people are shown: tables as wide as the terminal, and lines that wrap at words.

Amounts are right-aligned plain decimals, their currency in the title of their table; each currency has a table and a line of
totals of its own, for amounts of two currencies are never added. Nothing is ever cut: where a terminal is too narrow, columns go
below their row, and where even that does not help, one cell goes below the other. Into a file everything goes at full width.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from cli.output import NONE, NOTHING, Amount, Column, Report, Row, Sheet, plain, to_the_second, visible

_UNBOUNDED = 100_000
"""Columns of a line when nobody looks at it on a terminal."""
_GAP = "  "
_INDENT = 4
_TOTAL = "total"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # rich would end the process with the code that here means "a difference was found".
        raise BrokenPipeError


def console() -> Console:
    """A console on stdout: the terminal's width, or no limit where it is no terminal; NO_COLOR is obeyed."""
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal() else _UNBOUNDED
    return _Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False, soft_wrap=True)


def draw(report: Report) -> None:
    """Draws the report on stdout."""
    out = console()
    _paragraph(out, report.title, style="bold")
    for key, value in report.facts.items():
        if value not in (None, "") and not (isinstance(value, Amount) and value.if_any and not value.minor):
            _paragraph(out, f"{key.replace('_', ' ')}: {_plain(value)}", indent=2)
    for note in report.notes:
        _paragraph(out, f"note: {note}", indent=2)
    for sheet in report.sheets:
        if sheet.drawn:
            out.print()
            _draw_sheet(out, sheet)


def draw_lines(lines: Sequence[str]) -> None:
    """Prints lines on stdout, each with the indent that it has; what does not fit goes on below, indented further."""
    out = console()
    for line in lines:
        text = line.lstrip(" ")
        _paragraph(out, text, indent=len(line) - len(text))


def _paragraph(out: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    """Text that wraps at words; the lines after the first are indented further."""
    text = visible(text)
    first, rest = " " * indent, " " * (indent + _INDENT)
    if indent + cell_len(text) <= out.width:
        out.print(Text(first + text, style=style))
        return
    [begins, *_] = Text(text).wrap(out, max(out.width - len(first), 20))
    out.print(Text(first + begins.plain.rstrip(), style=style))
    goes_on = Text(text[len(begins.plain.rstrip()) :].lstrip())
    for line in goes_on.wrap(out, max(out.width - len(rest), 20)):
        out.print(Text(rest + line.plain.rstrip(), style=style))


def _draw_sheet(out: Console, sheet: Sheet) -> None:
    if not sheet.rows:
        if sheet.title:
            _paragraph(out, sheet.title, style="bold")
        out.print(f"  {NONE if sheet.title else NOTHING}")
        return
    rows = list(map(sheet.for_people, sheet.rows))
    by_currency = not sheet.mixed and any(column.kind in ("amount", "exact") for column in sheet.columns)
    columns = [column for column in sheet.columns if _is_drawn(column, rows) and not (by_currency and column.key == "currency")]
    if by_currency:
        currencies = dict.fromkeys(row["currency"] for row in rows)
        blocks = [(currency, _block(sheet, columns, rows, currency)) for currency in currencies]
    else:
        blocks = [("", [_cells(row, columns) for row in rows])]
    layout = _Layout(out, columns, [cells for _, lines in blocks for cells in lines])
    for n, (currency, lines) in enumerate(blocks):
        if n:
            out.print()
        title = ", ".join(filter(None, (sheet.title, currency and f"amounts in {currency}")))
        if title:
            _paragraph(out, title[0].upper() + title[1:], style="bold")
        layout.draw(lines)
    if sheet.legend:
        out.print()
        _paragraph(out, sheet.legend)


def _block(sheet: Sheet, columns: Sequence[Column], rows: Sequence[Row], currency: str) -> list[list[str]]:
    """The lines of one currency, and that of its total."""
    lines = [_cells(row, columns) for row in rows if row["currency"] == currency]
    totals = [_cells(row, columns) for row in sheet.totals if row["currency"] == currency]
    return [*lines, *([_TOTAL, *cells[1:]] for cells in totals)]


class _Layout:
    """Where the columns of a sheet stand, alike in each of its blocks."""

    def __init__(self, out: Console, columns: Sequence[Column], lines: Sequence[Sequence[str]]) -> None:
        self._out = out
        self._columns = columns
        self._widths = [max(map(cell_len, texts)) for texts in zip([column.title for column in columns], *lines, strict=True)]
        self._beside = list(range(len(columns)))
        while self._beside and self._width() > out.width:
            last = max(columns[n].below for n in self._beside)
            # Where those that have to stand beside each other do not fit, nothing does.
            self._beside = [n for n in self._beside if columns[n].below != last] if last else []

    def _width(self) -> int:
        return sum(self._widths[n] for n in self._beside) + len(_GAP) * (len(self._beside) - 1)

    def draw(self, lines: Sequence[Sequence[str]]) -> None:
        """A table of these lines; what does not fit beside goes below."""
        if not self._beside:
            self._draw_records(lines)
            return
        rule = "─" * self._width()
        self._line([column.title for column in self._columns], "bold")
        self._out.print(rule)
        for cells in lines:
            is_total = cells[0] is _TOTAL
            if is_total:
                self._out.print(rule)
            self._line(cells, "bold" if is_total else "")
            below = [n for n in range(len(cells)) if n not in self._beside and cells[n]]
            if below:
                _paragraph(self._out, "; ".join(f"{self._columns[n].title}: {cells[n]}" for n in below), indent=_INDENT)

    def _line(self, cells: Sequence[str], style: str) -> None:
        aligned = (_aligned(cells[n], self._widths[n], self._columns[n]) for n in self._beside)
        self._out.print(Text(_GAP.join(aligned).rstrip(), style=style))

    def _draw_records(self, lines: Sequence[Sequence[str]]) -> None:
        """One cell below the other, so that no amount is ever cut."""
        widest = max(cell_len(column.title) for column in self._columns)
        for cells in lines:
            for column, cell in zip(self._columns, cells, strict=True):
                if cell:
                    _paragraph(self._out, f"{column.title:>{widest}}  {cell}")
            self._out.print()


def _is_drawn(column: Column, rows: Sequence[Row]) -> bool:
    if not column.if_any or not column.drawn:
        return column.drawn
    return any(value not in (None, "", 0, "0") for value in (row.get(column.key) for row in rows))


def _cells(row: Row, columns: Sequence[Column]) -> list[str]:
    return [visible(_plain(row.get(column.key), column.kind, row.get("currency"))) for column in columns]


def _plain(value: Any, kind: Any = "text", currency: str | None = None) -> str:
    return to_the_second(value) if isinstance(value, datetime) else plain(value, kind, currency)


def _aligned(cell: str, width: int, column: Column) -> str:
    space = " " * (width - cell_len(cell))
    return cell + space if column.kind == "text" else space + cell
