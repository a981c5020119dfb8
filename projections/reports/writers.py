"""The forms of a report: the same figures in each.

CSV      UTF-8, one header line, one record a row; amounts plain decimals, times ISO 8601 in UTC. A text that a spreadsheet would
         take for a formula gets an apostrophe in front. Rows only: what stands around them is told beside the file.
NDJSON   one JSON object a line; `record` says what it is: `report` (the heading), `row`, `subtotal`, `total`, `note`, `end`.
         Amounts are text of minor units, positions and decimals text.
JSON     the same in one document.
XLSX     sheets Rows, Totals and About. Ids are text; amounts are numbers up to 15 digits, which is what a spreadsheet keeps, and
         text beyond.
Parquet  amounts decimal128(38, 2), times timestamp[us, UTC]; the heading, totals and notes are in the file's metadata.
HTML     one page with a style sheet for print.

Each reads the rows once, as they come, and holds no more than a batch of them.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from ledger.errors import Refusal
from ledger.money import CURRENCIES
from projections.reports.cells import guarded, visible
from projections.reports.model import NOTHING, Amounts, Beside, Column, Kind, Report, Row, Total, machine, plain

Out = IO[bytes]
BATCH = 10_000
"""Rows that are held at once."""
_SCALE = max(CURRENCIES.values())
_FINEST = 6
"""Decimals of a probability."""


def write(report: Report, form: str, out: Out) -> None:
    """Writes the report in one of `FORMS`. Raises Refusal LGR-0121 for another, LGR-0732 without a package that it needs."""
    writer = FORMS.get(form)
    if writer is None:
        raise Refusal("LGR-0121", "there is no such form", field="format", value=form, help=f"forms: {', '.join(FORMS)}")
    writer(report, out)


def extra(package: str, what: str) -> Any:
    """A package of the extra `analysis`. Raises Refusal LGR-0732 where it is not installed."""
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise Refusal(
            "LGR-0732",
            f"{what} needs the package {package.partition('.')[0]}",
            value=str(error),
            help=_how_to_install(package.partition(".")[0]),
        ) from error


def _how_to_install(package: str) -> str:
    """What to type where this program runs: an environment of dev.py has no pip, and no index has this program's extras."""
    if Path(sys.prefix, "made-by-dev.json").exists():
        return f"python3 dev.py run -- true, in {Path(sys.prefix).parent}, installs it into .venv"
    return f"{sys.executable} -m pip install {package}"


def heading(report: Report) -> dict[str, Any]:
    """Title and facts, as text."""
    return {"title": report.title, **{key: plain(value) for key, value in report.facts.items()}}


def _heading_of_json(report: Report) -> dict[str, Any]:
    """The same, with amounts by currency as objects."""
    return heading(report) | {key: value for key, value in report.facts.items() if isinstance(value, Amounts)}


def closing(report: Report) -> list[str]:
    """What is said under the rows, once they were read."""
    said = [report.legend] if report.legend else []
    return [*said, *report.notes, *report.later, *([] if report.count else [NOTHING])]


def _currency(columns: Sequence[Column]) -> int | None:
    return next((n for n, column in enumerate(columns) if column.key == "currency"), None)


# ------------------------------------------------------------------------------------------------------------------------ CSV


def write_csv(report: Report, out: Out) -> None:
    """See above."""
    for part in csv_parts(report):
        out.write(part)


def csv_parts(report: Report) -> Iterator[bytes]:
    """The file in parts of a batch of rows each."""
    columns = report.shown
    guard = [column.kind in ("text", "id") for column in columns]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(column.key for column in columns)
    for batch in _batches(report.rows()):
        for row in batch:
            writer.writerow(
                [guarded(visible(plain(value))) if text else plain(value) for value, text in zip(row, guard, strict=True)]
            )
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, BATCH)):
        yield batch


# ----------------------------------------------------------------------------------------------------------------------- JSON


def write_ndjson(report: Report, out: Out) -> None:
    """See above."""
    for part in ndjson_parts(report):
        out.write(part)


def ndjson_parts(report: Report) -> Iterator[bytes]:
    """The file in parts of a batch of rows each."""
    columns, at = report.shown, _currency(report.shown)
    yield _line(
        {"record": "report", "name": report.name, **_heading_of_json(report), **_beside(report), "columns": _said(columns)}
    )
    for batch in _batches(report.rows()):
        yield b"".join(_line({"record": "row", **_object(row, columns, at)}) for row in batch)
    yield b"".join(_line({"record": "subtotal", **_total(total, columns)}) for total in report.subtotals)
    yield b"".join(_line({"record": "total", **_total(total, columns)}) for total in report.totals)
    yield b"".join(_line({"record": "note", "note": note}) for note in closing(report))
    yield _line({"record": "end", "rows": report.count})


def write_json(report: Report, out: Out) -> None:
    """See above."""
    for part in json_parts(report):
        out.write(part)


def json_parts(report: Report) -> Iterator[bytes]:
    """The document in parts of a batch of rows each."""
    columns, at = report.shown, _currency(report.shown)
    head = {"name": report.name, **_heading_of_json(report), **_beside(report), "columns": _said(columns)}
    yield _text(head)[:-1] + b',"rows":['
    first = True
    for batch in _batches(report.rows()):
        yield (b"" if first else b",") + b",".join(_text(_object(row, columns, at)) for row in batch)
        first = False
    tail = {
        "subtotals": [_total(total, columns) for total in report.subtotals],
        "totals": [_total(total, columns) for total in report.totals],
        "notes": closing(report),
    }
    yield b"]," + _text(tail)[1:] + b"\n"


def _beside(report: Report) -> dict[str, Any]:
    """The small tables, by their names; amounts as text of minor units, like those of the rows."""
    return {
        table.name: [
            {
                key: machine(row.get(key), "amount" if isinstance(row.get(key), Decimal) else "count", row.get("currency"))
                for key in table.keys
                if key in row
            }
            for row in table.rows
        ]
        for table in report.beside
    }


def _said(columns: Sequence[Column]) -> list[dict[str, str]]:
    return [{"key": column.key, "title": column.title, "kind": column.kind} for column in columns]


def _object(row: Row, columns: Sequence[Column], currency: int | None) -> dict[str, Any]:
    code = None if currency is None else row[currency]
    return {column.key: machine(value, column.kind, code) for value, column in zip(row, columns, strict=True)}


def _total(total: Total, columns: Sequence[Column]) -> dict[str, Any]:
    """What has a total, with what its rows share."""
    summed = {
        column.key: machine(value, column.kind, total.currency)
        for value, column in zip(total.values, columns, strict=True)
        if value is not None and column.key != "currency"
    }
    over = {"over": dict(total.over)} if total.over else {}
    return {**over, "currency": total.currency, "rows": total.rows, **summed}


def _text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def _line(value: Any) -> bytes:
    return _text(value) + b"\n"


# ----------------------------------------------------------------------------------------------------------------------- XLSX

DIGITS = 15
"""What a spreadsheet keeps of a number."""
ROWS = 1_048_575
"""What it keeps of rows, below their titles."""
_WIDTHS: dict[Kind, int] = {"id": 38, "time": 28, "text": 16, "amount": 18}


def write_xlsx(report: Report, out: Out) -> None:
    """See above. Raises Refusal LGR-0121 for more rows than a sheet holds."""
    # It is a zip, which is ended whatever happens: made into a pipe that nobody reads any more it fails once more at that.
    with SpooledTemporaryFile(max_size=_SPOOLED) as made:
        _make_xlsx(report, made)
        made.seek(0)
        shutil.copyfileobj(made, out)


_SPOOLED = 1 << 20
"""Bytes of a workbook beyond which it is kept on disk until it is whole."""


def _make_xlsx(report: Report, out: Out) -> None:
    import xlsxwriter  # type: ignore[import-untyped]  # it has no stubs

    columns = report.shown
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(out, {**options, "default_date_format": "yyyy-mm-dd"}) as book:
        made = report.facts.get("generated_at")
        book.set_properties({"title": report.title, "comments": plain(report.facts.get("software"))})
        if isinstance(made, datetime):
            book.set_properties({"title": report.title, "created": made.replace(tzinfo=None)})
        cells = _Cells(book)
        sheet = book.add_worksheet("Rows")
        sheet.freeze_panes(1, 0)
        for n, column in enumerate(columns):
            sheet.set_column(n, n, _WIDTHS.get(column.kind, 12))
            sheet.write_string(0, n, column.title, cells.bold)
        last = 0
        for last, row in enumerate(report.rows(), 1):
            if last > ROWS:
                raise Refusal(
                    "LGR-0121",
                    f"a sheet of XLSX holds {ROWS} rows",
                    field="format",
                    value="xlsx",
                    help="ask for fewer days, or for parquet",
                )
            cells.write(sheet, last, row, columns)
        if not last:
            sheet.write_string(1, 0, NOTHING)
        if last:
            sheet.autofilter(0, 0, last, len(columns) - 1)
        for table in report.beside:
            cells.table(book.add_worksheet(table.title[:31]), table)
        totals = book.add_worksheet("Totals")
        for n, title in enumerate(("of", "rows", *(column.title for column in columns))):
            totals.write_string(0, n, title, cells.bold)
        for line, total in enumerate([*report.subtotals, *report.totals], 1):
            totals.write_string(line, 0, visible(named(total)))
            totals.write_number(line, 1, total.rows)
            cells.write(totals, line, total.values, columns, first=2)
        about = book.add_worksheet("About")
        about.set_column(0, 0, 20)
        about.set_column(1, 1, 120)
        notes = [*closing(report), *([_LONG] if cells.long else [])]
        for line, (key, value) in enumerate([*heading(report).items(), *(("note", note) for note in notes)]):
            about.write_string(line, 0, key.replace("_", " "), cells.bold)
            about.write_string(line, 1, visible(value))


_LONG = f"amounts of more than {DIGITS} digits stand as text: a spreadsheet's numbers are not exact beyond"


class _Cells:
    """Writes values so that nothing of them is bent."""

    def __init__(self, book: Any) -> None:
        self.bold = book.add_format({"bold": True})
        self._text = book.add_format({"num_format": "@"})
        self._date = book.add_format({"num_format": "yyyy-mm-dd"})
        self._decimal = [book.add_format({"num_format": f"#,##0{'.' if n else ''}{'0' * n}"}) for n in range(_FINEST + 1)]
        self.long = False

    def table(self, sheet: Any, table: Beside) -> None:
        """A small table: its cells are of the kinds that they are."""
        columns = [Column(key, key.replace("_", " "), "count") for key in table.keys]
        for n, column in enumerate(columns):
            sheet.set_column(n, n, 18)
            sheet.write_string(0, n, column.title, self.bold)
        for line, row in enumerate(table.rows, 1):
            kinds = [column if isinstance(row.get(column.key), int) else column._replace(kind="text") for column in columns]
            self.write(sheet, line, tuple(row.get(key) for key in table.keys), kinds)

    def write(self, sheet: Any, line: int, row: Row, columns: Sequence[Column], first: int = 0) -> None:
        for at, (value, column) in enumerate(zip(row, columns, strict=True), first):
            if value is None:
                continue
            if isinstance(value, Decimal):
                if len(value.as_tuple().digits) <= DIGITS:
                    exponent = value.as_tuple().exponent
                    assert isinstance(exponent, int)
                    sheet.write_number(line, at, float(value), self._decimal[min(max(-exponent, 0), _FINEST)])
                else:
                    self.long = True
                    sheet.write_string(line, at, plain(value), self._text)
            elif column.kind == "count" and not isinstance(value, bool) and abs(value) < 10**DIGITS:
                sheet.write_number(line, at, value)
            elif column.kind == "flag":
                sheet.write_boolean(line, at, value)
            elif isinstance(value, date) and not isinstance(value, datetime):
                sheet.write_datetime(line, at, value, self._date)
            else:
                sheet.write_string(line, at, visible(plain(value)), self._text)


def named(total: Total) -> str:
    """A total's name: `total MOP`, or `table R01, gaming day 2026-11-29, MOP`."""
    over = ", ".join(f"{title} {value}" for title, value in total.over)
    return ", ".join(filter(None, (over, total.currency))) if over else f"total {total.currency or ''}".strip()


# -------------------------------------------------------------------------------------------------------------------- Parquet


def write_parquet(report: Report, out: Out) -> None:
    """See above. Needs the extra `analysis`."""
    pa = extra("pyarrow", "Parquet")
    parquet = extra("pyarrow.parquet", "Parquet")
    columns = report.shown
    types = [_arrow(pa, column.kind) for column in columns]
    schema = pa.schema(
        [pa.field(column.key, type_, metadata={"title": column.title}) for column, type_ in zip(columns, types, strict=True)],
        metadata=heading(report),
    )
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for block in _typed(report, schema) if report.copied and report.as_read else _made(report, schema):
            writer.write_batch(block)
        told = {
            "rows": str(report.count),
            "subtotals": json.dumps([_total(total, columns) for total in report.subtotals], ensure_ascii=False),
            "totals": json.dumps([_total(total, columns) for total in report.totals], ensure_ascii=False),
            "notes": json.dumps(closing(report), ensure_ascii=False),
        }
        writer.add_key_value_metadata(told)


def _made(report: Report, schema: Any) -> Iterator[Any]:
    """The rows in batches of Arrow, value by value."""
    pa = extra("pyarrow", "Parquet")
    for batch in _batches(report.rows()):
        arrays = [
            pa.array(map(plain, values) if column.kind == "exact" else values, type_)
            for values, type_, column in zip(zip(*batch, strict=True), schema.types, report.shown, strict=True)
        ]
        yield pa.record_batch(arrays, schema=schema)


_BLOCK = 4 << 20
"""Bytes of the server's CSV that become one batch: some ten thousand bets."""


def _typed(report: Report, schema: Any) -> Iterator[Any]:
    """The rows in batches of Arrow, of the server's own CSV: columns at a time, with no Python value for a cell."""
    pa, reader = extra("pyarrow", "Parquet"), extra("pyarrow.csv", "Parquet")
    assert report.copied is not None
    summed = [(column.key, "sum") for column in report.shown if column.sums]
    with report.counting() as count, contextlib.closing(report.copied()) as parts:
        try:
            blocks = reader.open_csv(
                pa.PythonFile(_Stream(parts), mode="r"),
                read_options=reader.ReadOptions(column_names=schema.names, block_size=_BLOCK),
                parse_options=reader.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                convert_options=reader.ConvertOptions(
                    column_types=schema,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    true_values=["t"],
                    false_values=["f"],
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV file" not in str(error):
                raise
            return
        for block in blocks:
            sums = pa.table(block).group_by(report.apart).aggregate([*summed, ([], "count_all")])
            for line in sums.to_pylist():
                rows = line.pop("count_all")
                count(tuple(line.get(f"{column.key}_sum" if column.sums else column.key) for column in report.columns), rows)
            yield block.cast(schema)


class _Stream(io.RawIOBase):
    """Parts of bytes as a file to read from."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._left = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer at the end only; all of them where the size is negative."""
        found, length = [self._left], len(self._left)
        while size < 0 or length < size:
            part = next(self._parts, b"")
            if not part:
                break
            found.append(part)
            length += len(part)
        whole = b"".join(found)
        cut = length if size < 0 else size
        self._left = whole[cut:]
        return whole[:cut]


def _arrow(pa: Any, kind: Kind) -> Any:
    types: Mapping[str, Any] = {
        "count": pa.int64(),
        "position": pa.int64(),
        "amount": pa.decimal128(38, _SCALE),
        "percent": pa.decimal128(38, 2),
        "number": pa.decimal128(38, 2),
        "probability": pa.decimal128(38, _FINEST),
        "time": pa.timestamp("us", tz="UTC"),
        "date": pa.date32(),
        "flag": pa.bool_(),
    }
    return types.get(kind, pa.string())


# ----------------------------------------------------------------------------------------------------------------------- HTML


_COLUMNS = 16
"""That a page of A4 has room for; a report of more is printed on A3."""


def write_html(report: Report, out: Out) -> None:
    """See above."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["cell"] = lambda value: visible(plain(value))
    stream = found.get_template("report.html").stream(
        report=report,
        columns=report.shown,
        heading=heading(report),
        rows=report.rows(),
        closing=lambda: closing(report),
        named=named,
        whole={"date", "time"},
        wide=sum(column.drawn for column in report.shown) > _COLUMNS,
        numeric={"amount", "count", "position", "percent", "number", "probability", "exact"},
    )
    stream.enable_buffering(200)
    for part in stream:
        out.write(part.encode(errors="backslashreplace"))


FORMS: Mapping[str, Callable[[Report, Out], None]] = {
    "csv": write_csv,
    "ndjson": write_ndjson,
    "json": write_json,
    "xlsx": write_xlsx,
    "parquet": write_parquet,
    "html": write_html,
}
"""Every form but the table, which is drawn for people."""

BINARY = frozenset({"xlsx", "parquet"})
"""Forms that no terminal can show."""

PARTS: Mapping[str, Callable[[Report], Iterable[bytes]]] = {"csv": csv_parts, "ndjson": ndjson_parts, "json": json_parts}
"""Forms that can be sent part by part."""
