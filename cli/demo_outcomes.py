"""What the demo's tables show: outcomes made up from a seed, or recorded ones from a file."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from ledger.errors import Refusal

_POCKET = re.compile(r"[0-9]|[12][0-9]|3[0-6]", re.ASCII)
_COLUMNS = ("seq", "outcome", "table")
_DICE = frozenset({"throw", "phase", "point"})
"""Columns that a file of dice throws has and one of roulette has not."""


class RecordedOutcome(NamedTuple):
    """One line of a file: where it stands, and what which table showed."""

    line: int
    outcome: str
    table: str


def made_up(game: str, random: Random, count: int) -> list[str]:
    """Outcomes of a fair wheel or of fair dice, from the generator given. Made up: no table ever showed them."""
    if game == "roulette":
        return [str(random.randrange(37)) for _ in range(count)]
    if game == "cussec":
        return ["-".join(str(random.randint(1, 6)) for _ in range(3)) for _ in range(count)]
    raise Refusal("LGR-0703", f"the demo plays no {game}", value=game, help="roulette and cussec")


def read_recorded(path: Path) -> list[RecordedOutcome]:
    """The roulette outcomes of a CSV file with the columns seq, outcome and table; other columns are passed over.

    The whole file is read and checked before anything is played. Raises Refusal LGR-0703 naming file and line.
    """
    try:
        found = list(_rows(path, io.StringIO(_text(path), newline="")))
    except (OSError, csv.Error) as error:
        raise Refusal("LGR-0703", f"the file cannot be read: {error}", field=str(path)) from error
    if not found:
        raise Refusal("LGR-0703", "the file has no outcomes", field=str(path), help="a header line, then one line an outcome")
    return found


def _text(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Refusal(
            "LGR-0703",
            "the file is not text in UTF-8",
            field=f"{path}:{line}",
            value=data[error.start : error.start + 8].hex(" "),
            help=f"save it as CSV in UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 {shlex.quote(path.name)} > utf8.csv",
        ) from error


def _rows(path: Path, file: Iterator[str]) -> Iterator[RecordedOutcome]:
    reader = csv.DictReader(file, strict=True)
    columns = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = columns
    if _DICE & set(columns) or path.name.startswith(("craps", "dice")):
        raise Refusal(
            "LGR-0703",
            "these are outcomes of dice, and the demo has no craps table yet",
            field=str(path),
            value=", ".join(columns),
            help="recorded outcomes are played on roulette tables: outcome is a number from 0 to 36",
        )
    missing = [name for name in _COLUMNS if name not in columns]
    if missing:
        raise Refusal(
            "LGR-0703",
            f"the column {missing[0]} is missing",
            field=f"{path}:1",
            value=", ".join(columns),
            help="the first line names the columns; seq, outcome and table are read",
        )
    last = 0
    for row in reader:
        where = f"{path}:{reader.line_num}"
        outcome, table, seq = ((row[name] or "").strip() for name in ("outcome", "table", "seq"))
        if not _POCKET.fullmatch(outcome):
            raise Refusal(
                "LGR-0703", "the outcome is no pocket of a wheel", field=where, value=outcome, help="a number from 0 to 36"
            )
        if not table:
            raise Refusal("LGR-0703", "the table has no name", field=where)
        if not (seq.isascii() and seq.isdigit() and len(seq) < 16 and int(seq) > last):
            raise Refusal(
                "LGR-0703", f"seq does not follow {last}", field=where, value=seq, help="seq counts up in the order of the rounds"
            )
        last = int(seq)
        yield RecordedOutcome(reader.line_num, outcome, table)
