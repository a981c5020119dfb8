"""One output for every command: a table for people, JSON and CSV for programs, with the same figures in all three.

Data goes to stdout; words, notes and progress go to stderr. What each form promises:

table  for people; `cli.drawing` has it.
JSON   one document. Amounts are strings of minor units of the `currency` beside them, positions strings of digits, exact figures
       fractions as text (of minor units where they are money), times ISO 8601 in UTC.
CSV    UTF-8, one header line, one record a line; amounts as plain decimals of their currency, exact ones too, or as a fraction of
       the same unit where they are no whole minor units; times ISO 8601 in UTC. A text cell that a spreadsheet would take for a
       formula (it starts with = + - or @) gets an apostrophe in front; numbers do not. Control characters are shown as escapes,
       as in a table.

What draws is imported when something is drawn and not before: `roundledger --help` should not wait for it.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from itertools import islice
from typing import Any, Literal, NamedTuple

import click

from cli.options import QUIET, Form
from ledger import __version__
from projections.reports.cells import guarded
from projections.reports.cells import visible as visible

Kind = Literal["text", "amount", "exact", "number", "position"]
"""What a cell holds: `amount` minor units of the row's currency (int, or text of one), `exact` a fraction of them, `number` a
figure that is no money, `position` a place in the log."""

_BATCH = 1000
"""Rows of a CSV that are held at once."""

NOTHING = "No activity"
"""What a report says instead of being empty."""
NONE = "none"
"""What a table among others says instead of being empty."""

Row = Mapping[str, Any]


class Amount(NamedTuple):
    """An amount among a report's facts, which have no currency beside them."""

    minor: int
    currency: str
    if_any: bool = False
    """Whether people are shown it only where it is not zero."""

    def __str__(self) -> str:
        return f"{self.currency} {plain(self.minor, 'amount', self.currency)}"


class Amounts(dict[str, Amount]):
    """Currency → amount, among a report's facts; people read it in words."""

    def __init__(self, minor: Mapping[str, int], nothing: str) -> None:
        """`nothing`: what people are told where there is none."""
        super().__init__({code: Amount(minor[code], code) for code in sorted(minor)})
        self._nothing = nothing

    def __str__(self) -> str:
        return ", ".join(map(str, self.values())) or self._nothing


class Column(NamedTuple):
    """One column: its key in JSON and CSV, its title in a table, and what its cells hold. JSON and CSV have every column."""

    key: str
    title: str
    kind: Kind = "text"
    drawn: bool = True
    """Whether a table shows it."""
    below: int = 0
    """Where a terminal is too narrow, the columns with the highest number go below their row first; those with 0 never."""
    if_any: bool = False
    """Whether a table shows it only where one of its cells holds something, an amount other than zero."""


@dataclass(frozen=True)
class Sheet:
    """Rows under columns. A row names its currency under `currency`; `name` is the sheet's key in JSON."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    name: str = "rows"
    title: str = ""
    totals: Sequence[Row] = ()
    """One row a currency, with the columns that have a total."""
    legend: str = ""
    """What a reader of the table has to know of its figures, printed under it."""
    mixed: bool = False
    """Whether a table keeps rows of several currencies together, in their order; it has no totals then."""
    drawn: bool = True
    """Whether people are shown it; JSON always has it."""
    for_people: Callable[[Row], Row] = lambda row: row
    """A row with what people are shown in place of full ids and the like."""


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


# ---------------------------------------------------------------------------------------------------------------------- cells


def timestamp(at: datetime) -> str:
    """ISO 8601 in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def to_the_second(at: datetime) -> str:
    """ISO 8601 in UTC without the fraction of the second: what people are shown."""
    return timestamp(at.replace(microsecond=0))


def exact(minor: Fraction, currency: str) -> str:
    """An exact amount of minor units in the currency's unit: a plain decimal, or a fraction where it is no whole minor unit."""
    from ledger.money import format_plain, minor_digits

    return format_plain(int(minor), currency) if minor.denominator == 1 else str(minor / 10 ** minor_digits(currency))


def counted(number: int, thing: str) -> str:
    """A number of things: `1 round`, `2 rounds`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def plain(value: Any, kind: Kind = "text", currency: str | None = None) -> str:
    """A cell as people and CSV write it."""
    if value is None:
        return ""
    if kind == "amount":
        from ledger.money import format_plain

        assert currency is not None, "an amount without its currency is no amount"
        return format_plain(int(value), currency)
    if kind == "exact":
        assert currency is not None, "an amount without its currency is no amount"
        return exact(Fraction(value), currency)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, tuple | list) and not isinstance(value, Amount):
        return " ".join(map(str, value))
    return str(value)


def machine(value: Any, kind: Kind = "text") -> Any:
    """A cell as JSON carries it."""
    if kind in ("amount", "exact", "position") and value is not None:
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
        from cli.drawing import draw

        draw(report)


def emit_json(document: Any) -> None:
    """Prints one JSON document that is no report."""
    _write(_document(document))


def _document(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def as_one(record: Mapping[str, Any]) -> str:
    """A record as the JSON document that `emit_record` prints."""
    return _document({key: machine(value) for key, value in record.items()})


def emit_csv(columns: Sequence[Column], rows: Iterable[Row]) -> None:
    """Prints rows as CSV, as they come, where what JSON and people are told is no report."""
    header = _csv(columns, ())
    _write(header)
    every = iter(rows)
    while batch := list(islice(every, _BATCH)):
        _write(_csv(columns, batch).removeprefix(header))


def emit_record(record: Mapping[str, Any], form: Form) -> bool:
    """Prints what a program is told in one JSON object or one CSV record; False, and nothing is printed, for people."""
    if form == "json":
        _write(as_one(record))
    elif form == "csv":
        emit_csv([Column(key, key, "number" if isinstance(value, int) else "text") for key, value in record.items()], [record])
    return form != "table"


def emit_lines(lines: Sequence[str]) -> None:
    """Prints lines for people; those too long for the terminal go on below, indented."""
    from cli.drawing import draw_lines

    draw_lines(lines)


_POSITIONS = ("position", "ends_at")
"""Ends of the names of facts that are positions."""


def as_json(report: Report) -> str:
    """The report as one JSON document."""
    document: dict[str, Any] = {"title": report.title}
    for key, value in report.facts.items():
        document[key] = machine(value, "position" if key.endswith(_POSITIONS) else "text")
    document["notes"] = list(report.notes)
    for sheet in report.sheets:
        document[sheet.name] = [record(row, sheet.columns) for row in sheet.rows]
        if sheet.totals:
            document["totals"] = [record(row, [column for column in sheet.columns if column.key in row]) for row in sheet.totals]
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def as_csv(report: Report) -> str:
    """The report's first sheet as CSV."""
    sheet = report.sheets[0]
    return _csv(sheet.columns, sheet.rows)


def _csv(columns: Sequence[Column], rows: Iterable[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.key for column in columns)
    for row in rows:
        writer.writerow(_cell(row, column) for column in columns)
    return out.getvalue()


def _cell(row: Row, column: Column) -> str:
    text = visible(plain(row.get(column.key), column.kind, row.get("currency")))
    return guarded(text) if column.kind == "text" else text


def _write(text: str) -> None:
    # Bytes, so that the encoding of the terminal or of the locale cannot change what a program reads.
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode(errors="backslashreplace"))  # a lone surrogate is an escape in JSON
    sys.stdout.buffer.flush()


# ---------------------------------------------------------------------------------------------------------------------- words


def quiet() -> bool:
    """Whether the command that runs was told to say nothing."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def say(text: str) -> None:
    """One line for the person, on stderr; nothing where `quiet`."""
    if not quiet():
        click.echo(text, err=True)


def say_lines(lines: Iterable[str]) -> None:
    """Lines for the person, on stderr."""
    for line in lines:
        say(line)
