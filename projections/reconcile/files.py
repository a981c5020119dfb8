"""Files as numbered lines of text cells: CSV, NDJSON, XLSX and Parquet, plain or gzip, read once and one line at a time.

What comes of a file is a CSV in a temporary folder with the line's number and the cells of the mapped columns, for DuckDB to
load. A line that cannot be cut into cells is kept with the reason; nothing is skipped in silence.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from itertools import islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import duckdb

from ledger.errors import Refusal
from projections.reconcile.mapping import Form, MappingFile, column_missing

_GZIP = b"\x1f\x8b"
_SHOWN = 200
"""Characters of a bad line that are shown."""
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)

_LINES = 1000
"""Lines of NDJSON that are read for their keys."""
LONGEST = 1 << 20
"""Characters that a cell, or a line of NDJSON, may have."""

csv.field_size_limit(LONGEST)


@dataclass
class Bad:
    """A line that is none."""

    line: int
    text: str
    why: str


@dataclass
class Staged:
    """What was read of a file."""

    path: Path
    name: str
    """As it was named."""
    cells: Path
    """The CSV with line and cells, without a header."""
    ends: str = r"\r\n"
    """How its rows end, as DuckDB writes it."""
    columns: list[str] = field(default_factory=list)
    """The fields whose cells it has, in order."""
    lines: int = 0
    """Lines with cells."""
    left_out: int = 0
    """Lines that by the mapping are about something else."""
    last_line: int = 0
    bad: list[Bad] = field(default_factory=list)
    unended: bool = False
    """Whether the last line has no end."""
    cut: str | None = None
    """Why it ends too early, where that is plain to see."""
    control: list[str] | None = None
    """The cells of its control line."""
    control_line: int = 0
    sha256: str = ""

    @property
    def base(self) -> str:
        """Its name without folders: what an exception's id may rest on."""
        return self.path.name


def form_of(path: Path, mapping: MappingFile) -> Form:
    """The form of a file: what the mapping says, or else the ending of its name. Raises Refusal LGR-0753."""
    if mapping.form is not None:
        return mapping.form
    return form_by_name(path)


def form_by_name(path: Path) -> Form:
    """The form that a name's ending says. Raises Refusal LGR-0753."""
    name = path.name.lower().removesuffix(".gz")
    endings: dict[str, Form] = {
        ".csv": "csv", ".txt": "csv", ".tsv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson", ".xlsx": "xlsx",
        ".parquet": "parquet",
    }  # fmt: skip
    for ending, form in endings.items():
        if name.endswith(ending):
            return form
    raise Refusal(
        "LGR-0753",
        "the name does not say in which form the file is",
        field="FILE",
        value=str(path),
        help=f"name it with one of {', '.join(endings)}, or write format under [file] in the mapping",
    )


def stage(path: Path, mapping: MappingFile, cells: Path, parquet: Callable[[Staged, Path], None] | None = None) -> Staged:
    """Reads a file. `parquet` copies a Parquet file's mapped columns to a target, as DuckDB does it, and says what it found.

    Raises Refusal LGR-0752 (a column that it has not), LGR-0753 (it cannot be read at all).
    """
    found = Staged(path, str(path), cells)
    form = form_of(path, mapping)
    try:
        found.sha256 = _digest(path)
        with cells.open("w", encoding="utf-8", newline="", errors="replace") as out:
            writer = csv.writer(out, lineterminator="\r\n")  # of both, that one in a cell is quoted
            if form == "csv":
                _read_csv(found, mapping, writer)
            elif form == "ndjson":
                _read_ndjson(found, mapping, writer)
            elif form == "xlsx":
                _read_xlsx(found, mapping, writer)
    except OSError as error:
        raise Refusal("LGR-0753", f"the file cannot be read: {error.strerror or error}", field="FILE", value=str(path)) from error
    if form == "parquet":
        assert parquet is not None
        parquet(found, cells)
    return found


def header_of(path: Path, form: Form) -> list[str]:
    """The titles of a file's columns, for finding a mapping; none where it cannot be told."""
    try:
        if form == "csv":
            with _opened(path, "utf-8") as file:
                first = file.readline()
            delimiter = max(",;\t|", key=first.count)
            return [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter), [])]
        if form == "xlsx":
            for row in _sheet_rows(path, None):
                return [_cell_text(cell).strip() for cell in row]
        if form == "ndjson":
            with _opened(path, "utf-8") as file:
                return sorted({title for line in islice(file, _LINES) if line.strip() for title in _titles(json.loads(line))})
        if form == "parquet":
            return _parquet_titles(path)
    except (ValueError, OSError, csv.Error, *_BROKEN):
        return []
    return []


def _titles(document: Any, before: str = "") -> Iterator[str]:
    """The keys of an object, those of objects in it behind a point, as a mapping names them."""
    for key, value in document.items() if isinstance(document, dict) else ():
        yield before + key
        yield from _titles(value, f"{before}{key}.")


def _parquet_titles(path: Path) -> list[str]:
    """The names of a Parquet file's columns; none where it is none."""
    with TemporaryDirectory(prefix="roundledger-") as folder:
        plainly = Path(folder) / "file.parquet"
        plainly.symlink_to(path.resolve())  # for a name with *, ? or [ stands for many
        try:
            with duckdb.connect(":memory:") as db:
                return [name for name, *_ in db.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(plainly)]).fetchall()]
        except duckdb.Error:
            return []


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _opened(path: Path, encoding: str) -> IO[str]:
    """The file as text; bytes that are none become U+FFFD, which no cell may hold."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    raw: Any = gzip.open(path, "rb") if packed else path.open("rb")  # noqa: SIM115 - the text around it closes it
    return io.TextIOWrapper(
        raw, encoding="utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding, errors="replace", newline=""
    )


# ------------------------------------------------------------------------------------------------------------------------ CSV


class _Lines:
    """The lines of a file, with those of the record that is being read kept: one bad quote costs its own line and no other."""

    def __init__(self, found: Staged, file: IO[str]) -> None:
        self.held: list[str] = []
        self.number = 0
        self._found = found
        self._file = iter(file)

    def __iter__(self) -> Iterator[str]:
        held, found = self.held, self._found
        line = "\n"
        try:
            for line in self._file:
                held.append(line)
                yield line
        except _BROKEN as error:
            found.cut = f"its compression ends in the middle: {type(error).__name__}"
        found.unended = not line.endswith(("\n", "\r"))


def _records(found: Staged, mapping: MappingFile, file: IO[str]) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, cells) of each record; bad lines go to `found`."""
    lines = _Lines(found, file)
    options: dict[str, Any] = {"delimiter": mapping.delimiter, "quotechar": mapping.quote, "strict": True}
    reader = csv.reader(lines, **options)
    held, number = lines.held, 0
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            taken, held[:] = list(held), []
            found.bad.append(Bad(number + 1, _short(taken[0] if taken else ""), f"it is no CSV: {error}"))
            yield from _again(found, taken[1:], number + 1, options)
            number += max(len(taken), 1)
            continue
        if len(held) > 1 and not mapping.multiline:
            taken, held[:] = list(held), []
            found.bad.append(Bad(number + 1, _short(taken[0]), "a quote in it is not closed"))
            yield from _again(found, taken[1:], number + 1, options)
            number += len(taken)
            continue
        yield number + 1, cells
        number += len(held)
        held.clear()
    found.last_line = number


def _again(found: Staged, lines: Sequence[str], number: int, options: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Lines that a quote had swallowed, each by itself."""
    for n, line in enumerate(lines, number + 1):
        try:
            yield n, next(csv.reader([line], **options))
        except csv.Error as error:
            found.bad.append(Bad(n, _short(line), f"it is no CSV: {error}"))
        except StopIteration:
            continue


def _read_csv(found: Staged, mapping: MappingFile, writer: Any) -> None:
    with _opened(found.path, mapping.encoding) as file:
        records = _records(found, mapping, file)
        for _ in range(mapping.skip):
            next(records, None)
        titles = [title.strip() for title in next(records, (0, []))[1]] if mapping.header else []
        _write_rows(found, mapping, writer, titles, records)


def _write_rows(
    found: Staged, mapping: MappingFile, writer: Any, titles: list[str], records: Iterator[tuple[int, Sequence[str]]]
) -> None:
    """Writes the mapped cells of each record that has as many as there are titles."""
    if not mapping.header:
        first = next(records, None)
        if first is None:
            found.columns = list(mapping.columns)
            return
        titles = [str(n) for n in range(1, len(first[1]) + 1)]
        records = _chained(first, records)
    elif not titles:
        found.columns = list(mapping.columns)
        return
    pick, only = _picker(found, mapping, titles)
    width, marker = len(titles), mapping.trailer.marker if mapping.trailer else None
    write = writer.writerow
    written = 0
    for line, cells in records:
        if found.control is not None:
            found.bad.append(Bad(line, _short(mapping.delimiter.join(cells)), "it stands after the control line"))
        elif marker is not None and cells and cells[0].strip() == marker:
            found.control, found.control_line = list(cells), line
        elif len(cells) != width:
            if cells and any(map(str.strip, cells)):
                found.bad.append(
                    Bad(line, _short(mapping.delimiter.join(cells)), f"it has {len(cells)} cells where there are {width} columns")
                )
        elif only and any(cells[at].strip() not in texts for at, texts in only):
            found.left_out += 1
        else:
            write((line, *pick(cells)))
            written += 1
    found.lines = written


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _picker(
    found: Staged, mapping: MappingFile, titles: Sequence[str]
) -> tuple[Callable[[Sequence[str]], Iterable[str]], list[tuple[int, Sequence[str]]]]:
    """What takes the mapped cells of a record, and where those stand that tell what it is about."""
    if len(set(titles)) < len(titles):
        twice = next(title for title in titles if titles.count(title) > 1)
        if twice in mapping.columns.values():
            raise Refusal(
                "LGR-0752", "two columns have this title", field=found.name, value=twice, help="give each its own title"
            )
    at = []
    for name, column in mapping.columns.items():
        if column not in titles:
            raise column_missing(column, titles, file=found.name, field=name)
        at.append(titles.index(column))
    for column in mapping.only:
        if column not in titles:
            raise column_missing(column, titles, file=found.name, field="only")
    found.columns = list(mapping.columns)
    taken = itemgetter(*at)
    pick: Callable[[Sequence[str]], Iterable[str]] = taken if len(at) > 1 else lambda cells: (taken(cells),)
    return pick, [(titles.index(column), texts) for column, texts in mapping.only.items()]


def _short(text: str) -> str:
    text = text.rstrip("\r\n")
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


# --------------------------------------------------------------------------------------------------------------------- NDJSON


def _read_ndjson(found: Staged, mapping: MappingFile, writer: Any) -> None:
    paths = [column.split(".") for column in mapping.columns.values()]
    only = [(column.split("."), texts) for column, texts in mapping.only.items()]
    found.columns = list(mapping.columns)
    seen = [False] * (len(paths) + len(only))
    keys: dict[str, None] = {}
    with _opened(found.path, mapping.encoding) as file:
        lines = _Lines(found, file)
        for number, line in enumerate(lines, 1):
            lines.held.clear()
            found.last_line = number
            if not line.strip():
                continue
            if len(line) > LONGEST:
                found.bad.append(Bad(number, _short(line), f"it has {len(line)} characters, which is more than a line may have"))
                continue
            try:
                document = json.loads(line, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_once)
            except (ValueError, RecursionError) as error:
                found.bad.append(Bad(number, _short(line), f"it is no JSON: {error}"))
                continue
            if not isinstance(document, dict):
                found.bad.append(Bad(number, _short(line), "it is no JSON object"))
                continue
            if len(keys) < _SHOWN:
                keys.update(dict.fromkeys(document))
            about = [_reached(document, path) for path, _ in only]
            for n, value in enumerate(about, len(paths)):
                seen[n] = seen[n] or value is not None
            if any(_json_text(value) not in texts for value, (_, texts) in zip(about, only, strict=True)):
                found.left_out += 1
                continue
            values = [_reached(document, path) for path in paths]
            for n, value in enumerate(values):
                seen[n] = seen[n] or value is not None
            found.lines += 1
            writer.writerow((number, *map(_json_text, values)))
    needed = [*(mapping.columns.items() if found.lines else ()), *(("only", column) for column in mapping.only if keys)]
    for (name, column), there in zip(needed, seen if found.lines else seen[len(paths) :], strict=True):
        if not there:
            raise column_missing(column, list(keys), file=found.name, field=name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _reached(document: Any, path: Sequence[str]) -> Any:
    for part in path:
        if not isinstance(document, dict):
            return None
        document = document.get(part)
    return document


def _json_text(value: Any) -> str:
    """A value as text; numbers are text already, as they were written."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# ----------------------------------------------------------------------------------------------------------------------- XLSX


def _sheet_rows(path: Path, sheet: str | None) -> Iterator[tuple[Any, ...]]:
    from openpyxl import load_workbook

    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except OSError:
        raise  # which is said of a file of any form
    except Exception as error:  # a damaged file makes the library stumble in many ways
        raise _no_xlsx(path, error) from error
    try:
        if sheet is not None and sheet not in book.sheetnames:
            raise Refusal(
                "LGR-0752",
                "the file has no such sheet",
                field=str(path),
                value=sheet,
                help=f"it has: {', '.join(book.sheetnames)}",
            )
        chosen = book[sheet] if sheet is not None else book.worksheets[0]
        rows = chosen.iter_rows(values_only=True)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except Exception as error:  # as above
                raise _no_xlsx(path, error) from error
            yield row
    finally:
        book.close()


def _no_xlsx(path: Path, error: Exception) -> Refusal:
    return Refusal("LGR-0753", f"this is no XLSX file: {str(error) or type(error).__name__}", field="FILE", value=str(path))


def _read_xlsx(found: Staged, mapping: MappingFile, writer: Any) -> None:
    def records() -> Iterator[tuple[int, list[str]]]:
        for number, row in enumerate(_sheet_rows(found.path, mapping.sheet), 1):
            found.last_line = number
            yield number, [_cell_text(cell) for cell in row]

    rows = records()
    for _ in range(mapping.skip):
        next(rows, None)
    titles = [title.strip() for title in next(rows, (0, []))[1]] if mapping.header else []
    while titles and not titles[-1]:
        titles.pop()
    width = len(titles)
    # A sheet's rows are as wide as its widest; what is empty beside the titles is no cell.
    cut = ((n, cells[:width] if width and not any(cells[width:]) else cells) for n, cells in rows)
    _write_rows(found, mapping, writer, titles, ((n, [*cells, *[""] * (width - len(cells))]) for n, cells in cut))


def _cell_text(cell: Any) -> str:
    """A cell as text. A number of a spreadsheet is a double: its shortest decimal is what was typed, up to 15 digits."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 10**15 else repr(cell)
    if isinstance(cell, datetime):
        at_midnight = cell.time() == time(0) and cell.tzinfo is None
        return cell.date().isoformat() if at_midnight else cell.isoformat(sep=" ")
    if isinstance(cell, date):
        return cell.isoformat()
    return str(cell)
