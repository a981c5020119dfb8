"""Reads a report back from each of its forms, as other programs would: rows, totals and notes in plain text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any, NamedTuple

import openpyxl
import pyarrow.parquet  # type: ignore[import-untyped]  # it has no stubs

from ledger.money import CURRENCIES, format_plain
from projections.reports.cells import FORMULA
from projections.reports.model import NOTHING

Record = dict[str, str]
"""Key of the column → the value in plain text; empty where there is none."""


class Back(NamedTuple):
    """What a form holds."""

    rows: list[Record]
    totals: list[Record]
    """Grand totals, one a currency; none of CSV."""
    subtotals: list[Record]
    head: Mapping[str, str]
    notes: list[str]


def read_back(form: str, data: bytes, kinds: Mapping[str, str]) -> Back:
    """The report in `data`, whose columns have these kinds by their keys."""
    return _READERS[form](data, kinds)


def _csv(data: bytes, kinds: Mapping[str, str]) -> Back:
    rows = [
        {key: _bare(value) if kinds[key] in ("text", "id") else value for key, value in record.items()}
        for record in csv.DictReader(io.StringIO(data.decode()))
    ]
    return Back(rows, [], [], {}, [])


def _bare(text: str) -> str:
    """Without the apostrophe that keeps a spreadsheet from calculating."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def _ndjson(data: bytes, kinds: Mapping[str, str]) -> Back:
    records = [json.loads(line) for line in data.splitlines()]
    head, end = records[0], records[-1]
    assert (head["record"], end["record"]) == ("report", "end")
    by = {what: [each for each in records if each["record"] == what] for what in ("row", "subtotal", "total", "note")}
    assert end["rows"] == len(by["row"])
    rows, subtotals, totals = ([_of_json(each, kinds) for each in by[what]] for what in ("row", "subtotal", "total"))
    return Back(rows, totals, subtotals, head, [each["note"] for each in by["note"]])


def _json(data: bytes, kinds: Mapping[str, str]) -> Back:
    found = json.loads(data)
    rows, subtotals, totals = ([_of_json(each, kinds) for each in found[what]] for what in ("rows", "subtotals", "totals"))
    return Back(rows, totals, subtotals, found, found["notes"])


def _of_json(record: Mapping[str, Any], kinds: Mapping[str, str]) -> Record:
    return {key: _json_value(record.get(key), kind, record.get("currency")) for key, kind in kinds.items()}


def _json_value(value: Any, kind: str, currency: str | None) -> str:
    if value is None:
        return ""
    if kind == "amount":
        assert isinstance(value, str), "amounts are text"
        assert currency is not None
        return format_plain(int(value), currency)
    if isinstance(value, bool):
        return str(value).lower()
    assert not isinstance(value, float)
    return str(value)


def _xlsx(data: bytes, kinds: Mapping[str, str]) -> Back:
    book = openpyxl.load_workbook(io.BytesIO(data))
    assert not [cell for sheet in book for line in sheet.iter_rows() for cell in line if cell.data_type == "f"], "no formulas"
    titles, *lines = book["Rows"].iter_rows()
    keys = list(kinds)
    assert len(titles) == len(keys)
    _, *sums = book["Totals"].iter_rows()
    totals = [line for line in sums if str(line[0].value).startswith("total")]
    subtotals = [line for line in sums if not str(line[0].value).startswith("total")]
    about = [(line[0].value, line[1].value) for line in book["About"].iter_rows()]
    return Back(
        [_of_cells(line, keys, kinds) for line in lines if line[0].value != NOTHING],
        [_of_cells(line[2:], keys, kinds) for line in totals],
        [_of_cells(line[2:], keys, kinds) for line in subtotals],
        {str(key).replace(" ", "_"): str(value or "") for key, value in about if key != "note"},
        [str(value) for key, value in about if key == "note"],
    )


def _of_cells(line: Sequence[Any], keys: Sequence[str], kinds: Mapping[str, str]) -> Record:
    values = dict(zip(keys, (cell.value for cell in line), strict=False))
    currency = values.get("currency")
    found = {}
    for (key, kind), cell in zip(kinds.items(), line, strict=False):
        value = cell.value
        if value is None:
            found[key] = ""
        elif kind in ("id", "text", "time", "exact", "position"):
            assert cell.data_type == "s", f"{key} is text, whatever it looks like"
            found[key] = value
        elif kind == "amount" and cell.data_type == "n":
            digits = CURRENCIES[str(currency)]
            found[key] = f"{Decimal(repr(value)):.{digits}f}"
            assert Decimal(found[key]) == Decimal(repr(value)), "no figure is rounded"
        elif kind in ("percent", "number", "probability") and cell.data_type == "n":
            found[key] = f"{Decimal(repr(value)):.{6 if kind == 'probability' else 2}f}"
        elif isinstance(value, datetime):
            found[key] = value.date().isoformat()
        elif isinstance(value, bool):
            found[key] = str(value).lower()
        else:
            found[key] = str(value)
    return found


def _parquet(data: bytes, kinds: Mapping[str, str]) -> Back:
    file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
    schema = file.schema_arrow
    assert list(kinds) == schema.names
    types = {"amount": "decimal128(38, 2)", "time": "timestamp[us, tz=UTC]", "date": "date32[day]", "count": "int64"}
    for key, kind in kinds.items():
        assert str(schema.field(key).type) == types.get(kind, str(schema.field(key).type))
    said = {key.decode(): value.decode() for key, value in {**(schema.metadata or {}), **(file.metadata.metadata or {})}.items()}
    subtotals, totals = ([_of_json(each, kinds) for each in json.loads(said[what])] for what in ("subtotals", "totals"))
    rows = [{key: _arrow(record[key], kinds[key], record.get("currency")) for key in kinds} for record in file.read().to_pylist()]
    assert said["rows"] == str(len(rows))
    return Back(rows, totals, subtotals, said, json.loads(said["notes"]))


def _arrow(value: Any, kind: str, currency: str | None) -> str:
    if value is None:
        return ""
    if kind == "amount":
        return f"{value:.{CURRENCIES[str(currency)]}f}"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _html(data: bytes, kinds: Mapping[str, str]) -> Back:
    page = _Page()
    page.feed(data.decode())
    assert page.keys == list(kinds)
    rows = [dict(zip(kinds, cells, strict=True)) for cells in page.lines["row"] if cells]
    totals = [dict(zip(kinds, cells, strict=True)) for cells in page.lines["total"]]
    subtotals = [dict(zip(kinds, cells, strict=True)) for cells in page.lines["subtotal"]]
    return Back(rows, totals, subtotals, {"title": page.title} | page.head, page.notes)


class _Page(HTMLParser):
    """The table of the page, its heading and its notes."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []
        self.lines: dict[str, list[list[str]]] = {"row": [], "subtotal": [], "total": [], "name": []}
        self.head: dict[str, str] = {}
        self.notes: list[str] = []
        self.title = ""
        self._line: list[str] = []
        self._text = ""
        self._term = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._text = ""
        if tag == "th":
            self.keys.append(str(given["data-key"]))
        elif tag == "tr":
            what, *more = str(given.get("class", "row")).split()
            self._line = []
            self.lines[what if what == "row" or more else "name"].append(self._line)

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._line.append(self._text)
        elif tag == "h1":
            self.title = self._text
        elif tag == "dt":
            self._term = self._text.replace(" ", "_")
        elif tag == "dd":
            self.head[self._term] = self._text
        elif tag == "p":
            self.notes.append(self._text)


_READERS = {"csv": _csv, "ndjson": _ndjson, "json": _json, "xlsx": _xlsx, "parquet": _parquet, "html": _html}
