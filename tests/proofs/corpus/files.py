"""Defects of the files that a ledger is reconciled with: each kind is planted, and has to be found under its own reason code.

A clean file says what the ledger says, line by line. Kinds that spoil single lines are planted together in one file, each in
lines of its own; kinds that spoil a whole file have a file each. What a kind brings about is said exactly: which codes, how
often, and where a line is meant, which line or key. Whatever else is found is a false alarm.
"""

from __future__ import annotations

import csv
import gzip
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import psycopg

from projections.reconcile import engine, ledger, mapping
from projections.reconcile.mapping import MappingFile

Cells = list[str]
EACH = 3
"""Lines that each kind spoils."""

QUERIES = {
    "bets": "SELECT bet, round, table_id AS table, spot, stake, currency, player, occurred_at, terminal_sequence AS seq "
    "FROM report.bets WHERE result <> 'void' ORDER BY position",
    "results": "SELECT bet, table_id AS table, gaming_day, upper(left(result, 1)) AS result, returned AS paid, "
    "currency, regulation, prize_exact LIKE '%/%' AS inexact FROM report.bets ORDER BY position",
    "rounds": "SELECT round, table_id AS table, gaming_day, outcome, status FROM report.rounds ORDER BY first_position",
    "slips": "SELECT number AS slip_no, kind, table_id AS table, gaming_day, currency, total, '' AS status FROM report.slips "
    "WHERE kind IN ('fill', 'credit') ORDER BY written_position",
    "counts": "SELECT table_id AS table, gaming_day, shift, kind, currency, total AS counted FROM report.slips "
    "WHERE kind IN ('opener', 'closer') ORDER BY written_position",
    "drops": "SELECT table_id AS table, gaming_day, shift, box, currency, total AS drop, cash, vouchers FROM report.slips "
    "WHERE kind = 'drop' ORDER BY written_position",
}
"""File → what it says where all is well."""

MAPPINGS = {
    "bets": "terminal-bets",
    "results": "terminal-results",
    "rounds": "terminal-rounds",
    "slips": "cage-slips",
    "counts": "chip-counts",
    "drops": "drop-counts",
}


class Files(NamedTuple):
    """Where the clean files are, and the ledger that they are of."""

    folder: Path
    dsn: str

    def clean(self, name: str) -> Path:
        return self.folder / f"{name}.csv"


class Expected(NamedTuple):
    """One exception that has to be there."""

    code: str
    place: str = ""
    """What its subject or its lines have to hold: a key, or the number of a line; anything where it is empty."""
    times: int = 1


class Kind(NamedTuple):
    """One kind of defect in single lines. `edit` makes of a line what stands in its place."""

    name: str
    file: str
    code: str
    edit: Callable[[Cells, random.Random], list[Cells]]
    of: Callable[[Cells], bool] = lambda cells: True
    """Which lines can have it."""
    also: tuple[str, ...] = ()
    """What else it brings about, once for each."""


class Whole(NamedTuple):
    """One kind of defect of a whole file. `spoil` writes the file, and says what has to be found."""

    name: str
    file: str
    spoil: Callable[[Path, Path, random.Random], list[Expected]]
    mapping: Callable[[str], str] = lambda text: text
    """What it makes of the mapping's TOML."""
    gz: bool = False
    stated: bool = False
    """Whether the sender says how many lines there are."""


def _put(at: int, make: Callable[[str, random.Random], str]) -> Callable[[Cells, random.Random], list[Cells]]:
    """Another cell."""

    def edit(cells: Cells, rng: random.Random) -> list[Cells]:
        return [[*cells[:at], make(cells[at], rng), *cells[at + 1 :]]]

    return edit


def _other(*values: str) -> Callable[[str, random.Random], str]:
    return lambda cell, rng: rng.choice([value for value in values if value != cell])


def _more(cell: str, avos: int) -> str:
    minor = int(cell.replace(".", "")) + avos
    return f"{minor // 100}.{minor % 100:02}"


def _id(_: str, rng: random.Random) -> str:
    text = f"{rng.getrandbits(128):032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _hours(cell: str, hours: int) -> str:
    from datetime import datetime, timedelta

    return (datetime.fromisoformat(cell) + timedelta(hours=hours)).isoformat(sep=" ")


def _seconds(cell: str, seconds: float) -> str:
    from datetime import datetime, timedelta

    return (datetime.fromisoformat(cell) + timedelta(seconds=seconds)).isoformat(sep=" ")


BET, ROUND, TABLE, SPOT, STAKE, CURRENCY, PLAYER, AT = range(8)

KINDS: tuple[Kind, ...] = (
    Kind("a stake was edited", "bets", "AMOUNT_DIFF", _put(STAKE, lambda cell, rng: _more(cell, rng.randrange(1, 10**6)))),
    Kind("one stake is in avos", "bets", "AMOUNT_DIFF", _put(STAKE, lambda cell, rng: cell.replace(".", ""))),
    Kind("a line was lost", "bets", "MISSING_IN_FILE", lambda cells, rng: []),
    Kind("a bet that nobody placed", "bets", "MISSING_IN_LEDGER", lambda cells, rng: [cells, _made_up(cells, rng)]),
    Kind("a line stands twice", "bets", "DUPLICATE_IN_FILE", lambda cells, rng: [cells, cells]),
    Kind(
        "a bet stands twice with two stakes",
        "bets",
        "DUPLICATE_IN_FILE",
        lambda cells, rng: [cells, [*cells[:STAKE], _more(cells[STAKE], 100), *cells[STAKE + 1 :]]],
    ),
    Kind("the wrong spot", "bets", "SPOT_DIFF", _put(SPOT, _other("fan:3", "fan:4"))),
    Kind("another player's bet", "bets", "PLAYER_DIFF", _put(PLAYER, lambda cell, rng: f"X-{rng.randrange(100)}")),
    Kind("another currency", "bets", "CURRENCY_DIFF", _put(CURRENCY, _other("MOP", "HKD"))),
    Kind("another round", "bets", "ROUND_DIFF", _put(ROUND, _id)),
    Kind("a table that is none", "bets", "UNKNOWN_TABLE", _put(TABLE, lambda cell, rng: f"Z{rng.randrange(10**9)}")),
    Kind("the key was mangled", "bets", "KEY_DIFF", _put(BET, lambda cell, rng: cell[:-4] + "zzzz")),
    Kind("an amount with an exponent", "bets", "UNPARSEABLE_LINE", _put(STAKE, lambda cell, rng: "1e3")),
    Kind("an amount with commas", "bets", "UNPARSEABLE_LINE", _put(STAKE, lambda cell, rng: "1,000.00")),
    Kind("an amount with three decimals", "bets", "UNPARSEABLE_LINE", _put(STAKE, lambda cell, rng: cell + "5")),
    Kind("an amount in full-width digits", "bets", "UNPARSEABLE_LINE", _put(STAKE, lambda cell, rng: "５００.００")),
    Kind("no amount", "bets", "UNPARSEABLE_LINE", _put(STAKE, lambda cell, rng: "")),
    Kind("a day that is none", "bets", "UNPARSEABLE_LINE", _put(AT, lambda cell, rng: "2026-02-30 10:00:00")),
    Kind("a currency that is none", "bets", "UNPARSEABLE_LINE", _put(CURRENCY, lambda cell, rng: "PAT")),
    Kind("a line with a cell more", "bets", "UNPARSEABLE_LINE", lambda cells, rng: [[*cells, "x"]], also=("MISSING_IN_FILE",)),
    Kind("a line with half its cells", "bets", "UNPARSEABLE_LINE", lambda cells, rng: [cells[:4]], also=("MISSING_IN_FILE",)),
    Kind("another result", "results", "OUTCOME_DIFF", _put(3, _other("P")), lambda cells: cells[3] == "L"),
    Kind("void that was not", "results", "VOID_MISMATCH", _put(3, _other("V")), lambda cells: cells[3] == "L"),
    Kind("a payout stands twice", "results", "PAID_TWICE", lambda cells, rng: [cells, cells], lambda cells: cells[3] == "W"),
    Kind("a winner's line is missing", "results", "UNPAID_WIN", lambda cells, rng: [], lambda cells: cells[3] == "W"),
    Kind("nothing was paid to a winner", "results", "UNPAID_WIN", _put(4, lambda cell, rng: "0"), lambda cells: cells[3] == "W"),
    Kind(
        "paid on a void bet",
        "results",
        "PAID_ON_VOID",
        _put(4, lambda cell, rng: _more(cell, 12300)),
        lambda cells: cells[3] == "V",
    ),
    Kind("rounded up", "results", "ROUNDING_DIFF", _put(4, lambda cell, rng: _more(cell, 1)), lambda cells: cells[7] == "t"),
    Kind("overpaid", "results", "AMOUNT_DIFF", _put(4, lambda cell, rng: _more(cell, 100)), lambda cells: cells[3] == "W"),
    Kind("under another order", "results", "RULE_VERSION_DIFF", _put(6, lambda cell, rng: "60/2004")),
    Kind("another gaming day", "results", "GAMING_DAY_DIFF", _put(2, _other("2026-11-01", "2026-11-02"))),
    Kind("at another table", "results", "TABLE_DIFF", _put(1, _other("T00", "T01", "T02"))),
    Kind(
        "the wrong outcome was keyed", "rounds", "OUTCOME_DIFF", _put(3, _other("1", "2", "3", "4")), lambda cells: cells[3] != ""
    ),
    Kind(
        "a round that was void",
        "rounds",
        "VOID_MISMATCH",
        _put(4, lambda cell, rng: "settled"),
        lambda cells: cells[4] == "voided",
    ),
    Kind("a slip's total", "slips", "AMOUNT_DIFF", _put(5, lambda cell, rng: _more(cell, 10000))),
    Kind("a slip was cancelled in the cage", "slips", "VOID_MISMATCH", _put(6, lambda cell, rng: "VOID")),
    Kind(
        "a slip's number is missing",
        "slips",
        "SEQ_GAP",
        lambda cells, rng: [],
        lambda cells: cells[0] not in ("1", "120", "240"),
        ("MISSING_IN_FILE",),
    ),
    Kind("a count", "counts", "AMOUNT_DIFF", _put(5, lambda cell, rng: _more(cell, 500))),
    Kind("cash in a box", "drops", "AMOUNT_DIFF", _put(6, lambda cell, rng: _more(cell, 500))),
)
"""Kinds in single lines."""


def _made_up(cells: Cells, rng: random.Random) -> Cells:
    return [_id("", rng), *cells[1:PLAYER], "X-0", *cells[PLAYER + 1 :]]


# Whole files.


def _rows(path: Path) -> Iterator[Cells]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.reader(file)


def _each(make: Callable[[Cells], Cells]) -> Callable[[Path, Path], None]:
    """Writes every line anew."""

    def spoil(clean: Path, spoiled: Path) -> None:
        rows = _rows(clean)
        with spoiled.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(next(rows))
            writer.writerows(make(row) for row in rows)

    return spoil


def _all(make: Callable[[Cells], Cells], *expected: Expected) -> Callable[[Path, Path, random.Random], list[Expected]]:
    def spoil(clean: Path, spoiled: Path, rng: random.Random) -> list[Expected]:
        _each(make)(clean, spoiled)
        return [*expected]

    return spoil


def _cell(at: int, make: Callable[[str], str]) -> Callable[[Cells], Cells]:
    return lambda row: [*row[:at], make(row[at]), *row[at + 1 :]]


def _swapped(one: int, other: int) -> Callable[[Cells], Cells]:
    def make(row: Cells) -> Cells:
        row[one], row[other] = row[other], row[one]
        return row

    return make


def _cut_in_a_line(clean: Path, spoiled: Path, rng: random.Random) -> list[Expected]:
    """The last hundredth of the file is missing, from the middle of a line on."""
    lines = clean.read_text("utf-8").splitlines(keepends=True)
    kept = len(lines) - max(2, len(lines) // 100)
    last = lines[kept][: len(lines[kept]) // 2]
    spoiled.write_text("".join(lines[:kept]) + last, "utf-8")
    lost = len(lines) - kept
    return [Expected("FILE_CUT"), Expected("UNPARSEABLE_LINE", str(kept + 1)), Expected("MISSING_IN_FILE", "", lost)]


def _cut_before_its_end(clean: Path, spoiled: Path, rng: random.Random) -> list[Expected]:
    """The last lines are missing, the control line among them."""
    lines = clean.read_text("utf-8").splitlines(keepends=True)
    lost = max(2, len(lines) // 100)
    spoiled.write_text("".join(lines[:-lost]), "utf-8")
    return [Expected("FILE_CUT"), Expected("MISSING_IN_FILE", "", lost)]


def _cut_archive(clean: Path, spoiled: Path, rng: random.Random) -> list[Expected]:
    """The end of a gzip file is missing. What is left of it is counted line by line."""
    packed = gzip.compress(clean.read_bytes(), compresslevel=1)
    spoiled.write_bytes(packed[: len(packed) * 3 // 4])
    whole, there = sum(1 for _ in _rows(clean)), 0
    with suppress(EOFError), gzip.open(spoiled) as file:
        for line in file:
            there += line.endswith(b"\n")
    return [Expected("FILE_CUT"), Expected("MISSING_IN_FILE", "", whole - there)]


def _with_trailer(count: int, total: int) -> Callable[[Path, Path, random.Random], list[Expected]]:
    def spoil(clean: Path, spoiled: Path, rng: random.Random) -> list[Expected]:
        lines, sum_ = 0, 0
        for row in islice(_rows(clean), 1, None):
            lines, sum_ = lines + 1, sum_ + int(row[5].replace(".", ""))
        sum_ += total
        spoiled.write_text(f"{clean.read_text('utf-8')}END,{lines + count},{sum_ // 100}.{sum_ % 100:02},,,,\n", "utf-8")
        code = "FILE_CUT" if count > 0 else "CONTROL_DIFF"
        return [Expected(code)] if count or total else []

    return spoil


def _unnumbered(text: str) -> str:
    """The mapping of slips, which have a control line and may have gaps."""
    return text.replace('[sequence]\nfield = "number"\nby = ["kind"]\n', "") + TRAILER


TRAILER = '\n[trailer]\nmarker = "END"\ncount = 2\ntotal = 3\n'


def _drifting(clean: Path, spoiled: Path, rng: random.Random) -> list[Expected]:
    """One terminal's clock is 40 seconds late."""
    _each(lambda row: _cell(AT, lambda cell: _seconds(cell, -40))(row) if row[TABLE] == "T04" else row)(clean, spoiled)
    return [Expected("CLOCK_SKEW", "T04")]


def _past_posted(clean: Path, spoiled: Path, rng: random.Random) -> list[Expected]:
    """Bets that by the file were placed five minutes after they were, when betting was long closed."""
    numbers = set(rng.sample(range(1, 200), EACH))
    keys: list[str] = []
    rows = _rows(clean)
    with spoiled.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(next(rows))
        for n, row in enumerate(rows, 1):
            if n in numbers:
                keys.append(row[BET])
                row[AT] = _seconds(row[AT], 300)
            writer.writerow(row)
    return [Expected("LATE_BET", key) for key in keys]


def _within(clean: Path, spoiled: Path, rng: random.Random) -> list[Expected]:
    """Amounts are off by less than is tolerated: no difference, and listed."""
    numbers, keys = set(rng.sample(range(1, 100), EACH)), []
    rows = _rows(clean)
    with spoiled.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(next(rows))
        for n, row in enumerate(rows, 1):
            if n in numbers:
                keys.append(row[0])
                row[5] = _more(row[5], 50)
            writer.writerow(row)
    return [Expected("WITHIN_TOLERANCE", key) for key in keys]


def _numbered_twice(clean: Path, spoiled: Path, rng: random.Random) -> list[Expected]:
    """A terminal gives one number to two bets."""
    rows = list(islice(_rows(clean), 1, 400))
    one = next(row for row in rows if row[TABLE] == "T02")
    other = next(row for row in reversed(rows) if row[TABLE] == "T02")

    def make(row: Cells) -> Cells:
        return [*row[:8], one[8]] if row[BET] == other[BET] else row

    _each(make)(clean, spoiled)
    return [Expected("SEQ_REPEAT", f"T-T02 {one[8]}"), Expected("FIELD_DIFF", other[BET])]


def _alike(clean: Path, spoiled: Path, rng: random.Random) -> list[Expected]:
    """Without ids, a line that stands twice is one too many of what is alike; a lost one is missing."""
    lines = clean.read_text("utf-8").splitlines(keepends=True)
    spoiled.write_text("".join([*lines[:40], *lines[41:], lines[7]]), "utf-8")
    return [Expected("DUPLICATE_IN_FILE"), Expected("MISSING_IN_FILE")]


def _without_ids(text: str) -> str:
    return text.replace('exact = ["bet"]\n', "").replace('bet = "bet"\n', "")


WHOLES: tuple[Whole, ...] = (
    Whole("the file is in avos", "bets", _all(_cell(STAKE, lambda cell: cell.replace(".", "")), Expected("UNIT_SUSPECT_X100"))),
    Whole(
        "the file is in hundreds of patacas",
        "slips",
        _all(_cell(5, lambda cell: f"{int(cell[:-3]) // 100}.{int(cell[:-3]) % 100:02}"), Expected("UNIT_SUSPECT_X100")),
    ),
    Whole(
        "the file's zone is another",
        "bets",
        _all(_cell(AT, lambda cell: _hours(cell[:26].split("+")[0], -8)), Expected("CLOCK_SKEW")),
    ),
    Whole(
        "all days are off by one",
        "results",
        _all(_cell(2, lambda cell: f"{cell[:8]}{int(cell[8:]) + 1:02}"), Expected("GAMING_DAY_DIFF")),
    ),
    Whole("spot and player are swapped", "bets", _all(_swapped(SPOT, PLAYER), Expected("COLUMNS_SWAPPED"))),
    Whole("bet and round are swapped", "bets", _all(_swapped(BET, ROUND), Expected("COLUMNS_SWAPPED"))),
    Whole("cash and vouchers are swapped", "drops", _all(_swapped(6, 7), Expected("COLUMNS_SWAPPED"))),
    Whole("cut in the middle of a line", "bets", _cut_in_a_line),
    Whole("cut before its control line", "slips", _cut_before_its_end, _unnumbered),
    Whole("a cut archive", "bets", _cut_archive, gz=True),
    Whole("fewer lines than its sender says", "rounds", _cut_before_its_end, stated=True),
    Whole("fewer lines than its control line says", "slips", _with_trailer(1, 0), lambda text: text + TRAILER),
    Whole("another total than its control line says", "slips", _with_trailer(0, 100), lambda text: text + TRAILER),
    Whole("a right control line", "slips", _with_trailer(0, 0), lambda text: text + TRAILER),
    Whole("one terminal's clock", "bets", _drifting),
    Whole("placed after the close", "bets", _past_posted),
    Whole(
        "within the tolerance", "slips", _within, lambda text: text + '\n[tolerance]\namounts = { MOP = "0.50", HKD = "0.50" }\n'
    ),
    Whole(
        "one number twice",
        "bets",
        _numbered_twice,
        lambda text: text.replace("[columns]\n", '[columns]\nsequence = "seq"\nterminal = "table"\n').replace(
            "[amounts]",
            '[sequence]\nfield = "sequence"\nby = ["terminal"]\ncomplete = false\n\n[values.terminal]\n'
            + "".join(f'T{n:02} = "T-T{n:02}"\n' for n in range(20))
            + "\n[amounts]",
        ),
    ),
    Whole("lines that nothing tells apart", "bets", _alike, _without_ids),
)
"""Kinds of whole files. One of them is right: it must not be found wrong."""

NUMBER_OF_KINDS = len(KINDS) + len([one for one in WHOLES if one.name != "a right control line"])


class Outcome(NamedTuple):
    """What came of one file."""

    name: str
    kinds: Sequence[str]
    expected: Counter[str]
    """Code → how many exceptions had to be there."""
    found: Counter[str]
    """Code → how many of those were."""
    missed: list[str]
    alarms: list[str]
    """What was found beside."""


def base(dsn: str, folder: Path) -> Files:
    """The clean files of a filled ledger."""
    files = Files(folder, dsn)
    with psycopg.connect(dsn) as conn:
        conn.execute("SET TimeZone = 'Asia/Macau'")
        for name, query in QUERIES.items():
            statement = f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)".encode()
            with files.clean(name).open("wb") as file, conn.cursor() as cursor, cursor.copy(statement) as rows:
                for part in rows:
                    file.write(part)
    return files


def compared(
    files: Files, name: str, path: Path, made: MappingFile, *, lines: int | None = None, unplugged: bool = False
) -> list[tuple[str, str]]:
    """(code, subject and lines) of each exception. `unplugged`: of the file as it was before it was spoiled, as a canary."""
    chosen = files.clean(name) if unplugged else path
    with (
        ledger.one_state(files.dsn) as conn,
        engine.reconciled(
            conn, [engine.Leg(made, [chosen])], engine.Asked(expected_lines=None if unplugged else lines)
        ) as result,
    ):
        found: list[tuple[str, str]] = result.db.execute(
            "SELECT reason, ' ' || coalesce(subject, '') || ' ' || coalesce(replace(lines, ',', ' '), '') || ' ' || "
            "coalesce(table_id, '') || ' ' FROM x"
        ).fetchall()
    return found


def judge(name: str, kinds: Sequence[str], expected: Sequence[Expected], found: Sequence[tuple[str, str]]) -> Outcome:
    """Lays what was found beside what had to be."""
    left: dict[str, list[str]] = {}
    for code, about in found:
        left.setdefault(code, []).append(about)
    hit: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    missed = []
    for one in sorted(expected, key=lambda each: not each.place):
        wanted[one.code] += one.times
        pool = left.get(one.code, [])
        if one.place:
            at = next((n for n, about in enumerate(pool) if f" {one.place} " in about), None)
            taken = 0 if at is None else 1
            if at is not None:
                pool.pop(at)
        else:
            taken = min(one.times, len(pool))
            del pool[:taken]
        hit[one.code] += taken
        if taken < one.times:
            missed.append(f"{one.code} {one.place}: {taken} of {one.times}")
    alarms = [f"{code}{about}" for code, pool in left.items() for about in pool]
    return Outcome(name, kinds, wanted, hit, missed, alarms)


def clean_twins(files: Files) -> Iterator[Outcome]:
    """Nothing is wrong in the clean files."""
    for name, text in MAPPINGS.items():
        found = compared(files, name, files.clean(name), mapping.load(text))
        yield judge(f"clean {name}", (), (), found)


def tried(files: Files, seed: int, *, unplugged: bool = False, only: str = "") -> Iterator[Outcome]:
    """Every kind, planted and looked for."""
    for name in MAPPINGS:
        kinds = [kind for kind in KINDS if kind.file == name and only in kind.name]
        if kinds:
            yield _lines(files, name, kinds, random.Random(f"{seed}/{name}"), unplugged=unplugged)
    for whole in WHOLES:
        if only in whole.name:
            yield _whole(files, whole, random.Random(f"{seed}/{whole.name}"), unplugged=unplugged)


def _lines(files: Files, name: str, kinds: Sequence[Kind], rng: random.Random, *, unplugged: bool) -> Outcome:
    path = files.folder / f"spoiled_{name}.csv"
    planted = _chosen(files.clean(name), kinds, rng)
    expected: list[Expected] = []
    rows = _rows(files.clean(name))
    number = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for n, row in enumerate(rows):
            kind = planted.get(n)
            made = [row] if kind is None else kind.edit(list(row), rng)
            writer.writerows(made)
            if kind is not None:
                expected += _expected(kind, row, made, number + 1)
            number += len(made)
    found = compared(files, name, path, mapping.load(MAPPINGS[name]), unplugged=unplugged)
    return judge(f"lines of {name}", [kind.name for kind in kinds], expected, found)


def _chosen(clean: Path, kinds: Sequence[Kind], rng: random.Random) -> dict[int, Kind]:
    """Line → the kind that is planted in it: far apart, each kind in lines of its own."""
    lines = sum(1 for _ in _rows(clean)) - 1
    candidates = sorted(rng.sample(range(1, lines + 1), min(lines, 400)))
    wanted = set(candidates)
    cells = {n: row for n, row in enumerate(_rows(clean)) if n in wanted}
    rng.shuffle(candidates)
    planted: dict[int, Kind] = {}
    taken: set[int] = set()
    for kind in kinds:
        left = EACH if lines > 200 else 1
        for n in candidates:
            if left and n not in taken and kind.of(cells[n]):
                planted[n] = kind
                taken |= {n - 1, n, n + 1} if kind.code == "SEQ_GAP" else {n}
                left -= 1
    return planted


def _expected(kind: Kind, row: Cells, made: Sequence[Cells], line: int) -> list[Expected]:
    key = f"{row[1]} {row[0]}" if kind.file == "slips" else row[0]
    if kind.file in ("counts", "drops"):
        key = " ".join(row[:4])
    found = []
    match kind.code:
        case "MISSING_IN_LEDGER":
            found.append(Expected(kind.code, made[-1][0]))
        case "UNKNOWN_TABLE":
            found.append(Expected(kind.code, made[0][TABLE]))
        case "UNPARSEABLE_LINE":
            found.append(Expected(kind.code, str(line)))
        case "SEQ_GAP":
            found.append(Expected(kind.code, f"{row[0]}-{row[0]}"))
        case _:
            found.append(Expected(kind.code, key))
    return found + [Expected(code, key) for code in kind.also]


def _whole(files: Files, whole: Whole, rng: random.Random, *, unplugged: bool) -> Outcome:
    path = files.folder / f"spoiled.csv{'.gz' if whole.gz else ''}"
    expected = whole.spoil(files.clean(whole.file), path, rng)
    text = whole.mapping(mapping.ready()[MAPPINGS[whole.file]])
    lines = sum(1 for _ in _rows(files.clean(whole.file))) - 1 if whole.stated else None
    found = compared(files, whole.file, path, mapping.read(text, whole.file), lines=lines, unplugged=unplugged)
    return judge(whole.name, [whole.name], expected, found)
