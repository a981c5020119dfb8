"""One output for every command: a table for people, JSON and CSV for programs, with the same figures in all three.

Data goes to stdout; words, notes and progress go to stderr. What each form promises:

table  amounts right-aligned as plain decimals, their currency in the column's header, one block and one line of totals for each
       currency (amounts of two currencies are never added); where the terminal is too narrow, one record below the other.
JSON   one document. Amounts are strings of minor units of the `currency` beside them, positions strings of digits, exact figures
       fractions as text, times ISO 8601 in UTC.
CSV    UTF-8, one header line, one record a line; amounts as plain decimals, times ISO 8601 in UTC. A text cell that a spreadsheet
       would take for a formula (it starts with = + - or @) gets an apostrophe in front; numbers do not. Control characters are
       shown as escapes, as in a table.

rich is imported when a table is drawn and not before: `roundledger --help` should not wait for it.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar

import click

from ledger import __version__

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Form = Literal["table", "json", "csv"]
Kind = Literal["text", "amount", "number", "position"]
"""What a cell holds: `amount` minor units of the row's currency (int, or text of one), `number` a figure that is no money,
`position` a place in the log."""

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""Some spreadsheets take the full-width signs as well."""
_UNBOUNDED = 1000
"""Columns of a line when nobody looks at it on a terminal: nothing is wrapped or cut in a file."""

NOTHING = "No activity"
"""What a report says instead of being empty."""

Row = Mapping[str, Any]
Command = TypeVar("Command", bound=Callable[..., Any])


class Amount(NamedTuple):
    """An amount among a report's facts, which have no currency beside them."""

    minor: int
    currency: str

    def __str__(self) -> str:
        return f"{plain(self.minor, 'amount', self.currency)} {self.currency}"


class Column(NamedTuple):
    """One column: its key in JSON and CSV, its title in a table, and what its cells hold."""

    key: str
    title: str
    kind: Kind = "text"
    drawn: bool = True
    """Whether a table shows it; JSON and CSV always do."""


@dataclass(frozen=True)
class Sheet:
    """Rows under columns. A row names its currency under `currency`; `name` is the sheet's key in JSON."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    name: str = "rows"
    title: str = ""
    totals: Sequence[Row] = ()
    """One row a currency, with the columns that have a total."""


@dataclass(frozen=True)
class Report:
    """What one command prints: a title, facts (key → value) about what was read and when, notes, and one or more sheets.

    CSV holds the first sheet.
    """

    title: str
    sheets: Sequence[Sheet]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


def header(**facts: Any) -> dict[str, Any]:
    """The facts that every report prints: those given, then when it was made and by which version of the software."""
    return {**facts, "generated_at": datetime.now(UTC).replace(microsecond=0), "software": f"roundledger {__version__}"}


# ------------------------------------------------------------------------------------------------------------------- options


def output_options(command: Command) -> Command:
    """The options --json and --csv; the command receives `form`."""
    as_csv = click.option(
        "--csv", "form", flag_value="csv", help="Print CSV; amounts are plain decimals, and ' goes before text like =1+1."
    )
    as_json = click.option(
        "--json", "form", flag_value="json", default="table", show_default=False, help="Print JSON; amounts are minor units."
    )
    return as_json(as_csv(command))


def examples(*lines: str, codes: str = "") -> str:
    """The end of a help text: real examples as they are typed, and the exit codes where they say more than 0 and 2."""
    shown = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
    return f"{shown}\n\n\b\nExit codes: {codes}" if codes else shown


# ---------------------------------------------------------------------------------------------------------------------- cells


def visible(text: str) -> str:
    """Text with control characters as escapes: what is in the log may not move a terminal's cursor."""
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def timestamp(at: datetime) -> str:
    """ISO 8601 in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def plain(value: Any, kind: Kind = "text", currency: str | None = None) -> str:
    """A cell as people and CSV write it."""
    if value is None:
        return ""
    if kind == "amount":
        from ledger.money import format_plain

        assert currency is not None, "an amount without its currency is no amount"
        return format_plain(int(value), currency)
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, tuple | list) and not isinstance(value, Amount):
        return " ".join(map(str, value))
    return str(value)


def machine(value: Any, kind: Kind = "text") -> Any:
    """A cell as JSON carries it."""
    if kind in ("amount", "position") and value is not None:
        return str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, Amount):
        return str(value.minor)
    if isinstance(value, Mapping):
        return {str(key): machine(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [machine(inner) for inner in value]
    return str(value)


def record(row: Row, columns: Sequence[Column]) -> dict[str, Any]:
    """A row as JSON carries it."""
    return {column.key: machine(row.get(column.key), column.kind) for column in columns}


# ---------------------------------------------------------------------------------------------------------------------- forms


def emit(report: Report, form: Form) -> None:
    """Prints the report in the form asked for."""
    if form == "json":
        _write(as_json(report))
    elif form == "csv":
        _write(as_csv(report))
        for note in report.notes:
            say(f"note: {note}")
        if not report.sheets[0].rows:
            say(NOTHING)
    else:
        _draw(report)


def emit_json(document: Any) -> None:
    """Prints one JSON document that is no report."""
    _write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def as_json(report: Report) -> str:
    """The report as one JSON document."""
    document: dict[str, Any] = {"title": report.title}
    for key, value in report.facts.items():
        document[key] = machine(value)
    document["notes"] = list(report.notes)
    for sheet in report.sheets:
        document[sheet.name] = [record(row, sheet.columns) for row in sheet.rows]
        if sheet.totals:
            document["totals"] = [record(row, [column for column in sheet.columns if column.key in row]) for row in sheet.totals]
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def as_csv(report: Report) -> str:
    """The report's first sheet as CSV."""
    sheet = report.sheets[0]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.key for column in sheet.columns)
    for row in sheet.rows:
        writer.writerow(_cell(row, column) for column in sheet.columns)
    return out.getvalue()


def _cell(row: Row, column: Column) -> str:
    text = visible(plain(row.get(column.key), column.kind, row.get("currency")))
    return "'" + text if column.kind == "text" and text.startswith(_FORMULA) else text


def _write(text: str) -> None:
    # Bytes, so that the encoding of the terminal or of the locale cannot change what a program reads.
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def console() -> Console:
    """A console on stdout: the terminal's width, or no limit where it is no terminal; NO_COLOR is obeyed."""
    from rich.console import Console

    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace")  # a terminal that has no 骰 gets its code, not a traceback
    width = None if out.isatty() or os.environ.get("COLUMNS", "").isdecimal() else _UNBOUNDED
    return Console(file=out, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def _draw(report: Report) -> None:
    out = console()
    out.print(visible(report.title), style="bold")
    for key, value in report.facts.items():
        if value not in (None, ""):
            out.print(f"  {key.replace('_', ' ')}: {visible(plain(value))}")
    for note in report.notes:
        out.print(f"  note: {visible(note)}")
    for sheet in report.sheets:
        out.print()
        if sheet.title:
            out.print(visible(sheet.title), style="bold")
        if not sheet.rows:
            out.print(f"  {NOTHING}")
            continue
        for n, (currency, rows) in enumerate(_by_currency(sheet)):
            if n:
                out.print()
            _draw_block(out, sheet, currency, rows)


def _by_currency(sheet: Sheet) -> list[tuple[str | None, list[Row]]]:
    """The rows in blocks of one currency, where the sheet has amounts; in the order in which the currencies appear."""
    if not any(column.kind == "amount" for column in sheet.columns):
        return [(None, list(sheet.rows))]
    blocks: dict[str | None, list[Row]] = {}
    for row in sheet.rows:
        blocks.setdefault(row.get("currency"), []).append(row)
    return list(blocks.items())


def _draw_block(out: Console, sheet: Sheet, currency: str | None, rows: list[Row]) -> None:
    from rich.measure import Measurement

    columns = [column for column in sheet.columns if column.drawn and (currency is None or column.key != "currency")]
    lines = [_line(row, columns, currency) for row in rows]
    last = next((_line(row, columns, currency) for row in sheet.totals if row.get("currency") == currency), None)
    if last is not None:
        last[0] = "total"
    titles = [_title(column, currency) for column in columns]
    table = _table(columns, titles, lines, last)
    if Measurement.get(out, out.options.update(width=_UNBOUNDED), table).maximum <= out.width:
        out.print(table)
        return
    # Too narrow for a table: one record below the other, so that no amount is ever cut.
    width = max(map(len, titles))
    for line in [*lines, *([last] if last else [])]:
        for title, cell in zip(titles, line, strict=True):
            if cell:
                out.print(f"{title:>{width}}  {cell}")
        out.print()


def _line(row: Row, columns: Sequence[Column], currency: str | None) -> list[str]:
    return [visible(plain(row.get(column.key), column.kind, currency)) for column in columns]


def _title(column: Column, currency: str | None) -> str:
    return f"{column.title} {currency}" if currency and column.kind == "amount" else column.title


def _table(columns: Sequence[Column], titles: Sequence[str], lines: Sequence[Sequence[str]], last: Sequence[str] | None) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, show_footer=last is not None)
    table.header_style = table.footer_style = "bold"
    for n, (column, title) in enumerate(zip(columns, titles, strict=True)):
        side: Literal["left", "right"] = "left" if column.kind == "text" else "right"
        table.add_column(Text(title), Text(last[n]) if last else "", justify=side, no_wrap=True)
    for line in lines:
        table.add_row(*map(Text, line))
    return table


# ---------------------------------------------------------------------------------------------------------------------- words


def say(text: str) -> None:
    """One line for the person, on stderr."""
    click.echo(text, err=True)


class Progress:
    """How far a long command is, on stderr: one line that moves on a terminal, a plain line every few seconds elsewhere."""

    def __init__(self, what: str, total: int | None = None, unit: str = "events") -> None:
        self._what = what
        self._total = total
        self._unit = unit
        self._live = sys.stderr.isatty()
        self._every = 0.1 if self._live else 5.0
        self._began = self._last = time.monotonic()
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def update(self, done: int, *, total: int | None = None) -> None:
        """Says that `done` of the total are done; cheap enough to call for every batch."""
        self._total = total if total is not None else self._total
        now = time.monotonic()
        if now - self._last < self._every:
            return
        self._last = now
        of = f" of {self._total}" if self._total is not None else ""
        rate = done / max(now - self._began, 1e-9)
        line = f"{self._what}: {done}{of} {self._unit}, {rate:.0f}/s"
        if self._live:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self._drawn = True
        else:
            say(line)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
