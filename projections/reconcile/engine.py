"""A run: files under their mappings, laid beside one state of the ledger, leg by leg; a leg is the files of one mapping.

DuckDB works in a temporary folder with a bound on its memory: what does not fit is on disk. All that is found stands in its
table `x` (see `comparing`), from which reports read row by row.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from ledger.errors import Refusal
from projections.reconcile import comparing, files, ledger, ways
from projections.reconcile.files import Staged
from projections.reconcile.legs import Asked, Leg, LegResult, LegRun
from projections.reconcile.mapping import MappingFile, column_missing
from projections.reconcile.sides import SIDES
from projections.reconcile.values import listed, literal, quoted

__all__ = ["MEMORY", "THREADS", "Asked", "Leg", "LegResult", "Result", "Run", "reconciled"]

MEMORY = "512MB"
THREADS = 2
_LONGEST_ROW = 8 * files.LONGEST
"""Bytes of a row of cells."""


@dataclass
class Result:
    """What came of a run. `db` holds the exceptions while its context lasts."""

    db: duckdb.DuckDBPyConnection
    asked: Asked
    legs: list[LegResult]
    position: str
    notes: list[str]
    ways: list[dict[str, Any]] = field(default_factory=list)
    """The win of each table and day by terminal, ledger and count, in minor units, where files of several of these were given."""

    def by_reason(self) -> list[tuple[str, int, int]]:
        """(reason, exceptions, rows) in the order in which reasons are listed."""
        from projections.reconcile.reasons import RANK

        found = self.db.execute("SELECT reason, count(*), sum(rows) FROM x GROUP BY reason").fetchall()
        return sorted(((reason, n, int(rows)) for reason, n, rows in found), key=lambda one: RANK[one[0]])

    @property
    def compared(self) -> int:
        """Pairs in all legs."""
        return sum(leg.compared for leg in self.legs)

    @property
    def looked_at(self) -> int:
        """Rows of files that took part or could not be read."""
        return sum(leg.lines - leg.outside + sum(len(one.bad) for one in leg.staged) for leg in self.legs)


@contextmanager
def reconciled(
    conn: psycopg.Connection[Any],
    legs: Sequence[Leg],
    asked: Asked,
    *,
    memory: str = MEMORY,
    threads: int = THREADS,
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Result]:
    """Compares. `conn` reads one state of the database (`ledger.one_state`).

    Raises Refusal LGR-0752, LGR-0753 (a file), LGR-0757 (a mapping that tells rows apart by too little), LGR-0760 (memory, disk).
    """
    with tempfile.TemporaryDirectory(prefix="roundledger-reconcile-") as folder:
        place = Path(folder)
        db = _engine(place, memory, threads)
        try:
            columns = ", ".join(f"{name} {kind}" for name, kind in comparing.COLUMNS.items())
            db.execute(f"CREATE TABLE x ({columns})")
            run = Run(db, conn, place, asked, progress)
            found = [run.leg(n, leg) for n, leg in enumerate(legs)]
            three = run.three_ways(found)
            run.close(found)
            yield Result(db, asked, found, run.position, run.notes, three)
        except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
            raise Refusal(
                "LGR-0760",
                f"the comparison ran out of memory or disk: {str(error).splitlines()[0]}",
                field="--memory",
                value=memory,
                help="give it more --memory, or set TMPDIR to a folder with more room",
            ) from error
        finally:
            db.close()


def _engine(place: Path, memory: str, threads: int) -> duckdb.DuckDBPyConnection:
    """DuckDB in memory with a bound, which spills to a folder. Raises Refusal LGR-0760 for a bound that is none."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": memory,
        "threads": threads,
        "temp_directory": str(place / "spilled"),
        "preserve_insertion_order": True,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    try:
        db = duckdb.connect(":memory:", config=config)
    except duckdb.Error as error:
        raise Refusal(
            "LGR-0760", "this is no amount of memory", field="--memory", value=memory, help="write it like 512MB or 2GB"
        ) from error
    db.execute("SET enable_progress_bar = false")  # it would be drawn into what is printed
    return db


class Run:
    """What the legs of a run share: DuckDB, one state of the ledger, and what the houses are."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        conn: psycopg.Connection[Any],
        place: Path,
        asked: Asked,
        progress: Callable[[str], None],
    ) -> None:
        from projections.reports.queries import state

        self.db = db
        self._conn = conn
        self._place = place
        self.asked = asked
        self.progress = progress
        self._files = 0
        self.houses = ledger.houses(conn)
        self.known_tables = ledger.known_tables(conn)
        self.erased = ledger.erased(conn)
        self.tables = ledger.tables_of(conn, asked.filters)
        """Those that the filters leave."""
        db.execute("CREATE TABLE units (place VARCHAR, minor BIGINT)")
        for table, unit in ledger.payable_units(conn):
            db.execute("INSERT INTO units VALUES (?, ?)", [table, unit])
        self.position, self.notes = state(conn)

    def leg(self, number: int, leg: Leg) -> LegResult:
        """Compares the files of one mapping."""
        return LegRun(self, number, leg).run()

    def stage(self, path: Path, mapping: MappingFile) -> tuple[int, Staged]:
        """Reads a file into the table raw_<number>."""
        number = self._files
        self._files += 1
        self.progress(f"reading {path.name}")
        cells = self._place / f"cells_{number}.csv"
        staged = files.stage(path, mapping, cells, lambda found, target: self._parquet(found, target, mapping))
        columns = {"line": "BIGINT", **{f"c_{name}": "VARCHAR" for name in staged.columns or mapping.columns}}
        spelled = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
        try:
            self.db.execute(
                f"CREATE TABLE raw_{number} AS SELECT *, {number} AS file FROM read_csv({literal(str(cells))}, "
                "auto_detect=false, header=false, delim=',', quote='\"', escape='\"', "
                f"new_line='{staged.ends}', max_line_size={_LONGEST_ROW}, columns={{{spelled}}})"
            )
        except duckdb.InvalidInputException as error:
            raise Refusal(
                "LGR-0753", f"the file cannot be read: {str(error).splitlines()[0]}", field="FILE", value=str(path)
            ) from error
        cells.unlink()
        return number, staged

    def _parquet(self, found: Staged, target: Path, mapping: MappingFile) -> None:
        """Copies the mapped columns of a Parquet file, as text."""
        plainly = target.with_suffix(".parquet")
        plainly.symlink_to(found.path.resolve())  # for a name with *, ? or [ stands for many
        of = f"read_parquet({literal(str(plainly))}, file_row_number=true)"
        try:
            kinds = {name: kind for name, kind, *_ in self.db.execute(f"DESCRIBE SELECT * FROM {of}").fetchall()}
        except duckdb.Error as error:
            raise Refusal("LGR-0753", f"this is no Parquet file: {error}", field="FILE", value=str(found.path)) from error
        chosen = ["file_row_number + 1"]
        for name, column in [*mapping.columns.items(), *(("only", column) for column in mapping.only)]:
            if column not in kinds:
                there = [one for one in kinds if one != "file_row_number"]
                raise column_missing(column, there, file=str(found.path), field=name)
        for name, column in mapping.columns.items():
            if mapping.fields[name].kind == "amount" and kinds[column] in ("FLOAT", "DOUBLE"):
                raise Refusal(
                    "LGR-0752",
                    f"the column {column!r} holds floating point numbers, which are no money",
                    field=str(found.path),
                    value=kinds[column],
                    help="have the sender write a decimal, whole minor units or text",
                )
            chosen.append(f"{quoted(column)}::VARCHAR")
        self.db.execute("SET TimeZone = 'UTC'")
        only = [f"{quoted(column)}::VARCHAR IN ({listed(texts)})" for column, texts in mapping.only.items()]
        where = f" WHERE {' AND '.join(only)}" if only else ""
        try:
            self.db.execute(
                f"COPY (SELECT {', '.join(chosen)} FROM {of}{where}) TO {literal(str(target))} (FORMAT csv, HEADER false)"
            )
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            raise Refusal(
                "LGR-0753", f"the Parquet file is damaged: {str(error).splitlines()[0]}", field="FILE", value=str(found.path)
            ) from error
        found.columns, found.ends = list(mapping.columns), r"\n"
        found.last_line = self._one(f"SELECT count(*) FROM {of}")
        found.lines = self._one(f"SELECT count(*) FROM {of}{where}")
        found.left_out = found.last_line - found.lines

    def copy(self, mapping: MappingFile, scope: ledger.Scope) -> ledger.Copied:
        """Copies the ledger's rows out of the database."""
        side = mapping.side
        also = []
        if side.view == "bets" and "occurred_at" in mapping.compare:
            also += ["late", "game"]
        if side.name == "payouts":
            also.append("result")
        fields = ledger.needed(side, mapping.fields, also)
        if side.view == "bets" and {"paid", "prize", "net_prize"} & set(mapping.compare):
            fields |= {"prize_exact": _PRIZE_EXACT, "breakage": _BREAKAGE}
        if side.view == "bets" and "occurred_at" in mapping.compare:
            fields["closed_at"] = _CLOSED_AT
        if mapping.tables == "in_file" or scope.filters:
            fields |= {
                name: side.fields[name]
                for name in ("property", "pit", "game")
                if name in dict(scope.filters) and name in side.fields
            }
        return ledger.copy_out(self._conn, side, fields, scope, self._place / "ledger.csv")

    def give_up(self, reading: Future[ledger.Copied]) -> None:
        """Ends what is being read, for nobody wants it any more."""
        self._conn.cancel_safe()
        reading.exception()

    def close(self, legs: Sequence[LegResult]) -> None:
        """Ids, and what concerns several legs."""
        sides = " ".join(f"WHEN {n} THEN {literal(leg.mapping.side.name)}" for n, leg in enumerate(legs))
        about = f"concat_ws(chr(31), reason, CASE leg {sides} ELSE '' END, subject, coalesce(field, ''))"
        for column, kind, value in (
            # What it is about, and nothing of when or where it was found.
            ("id", "VARCHAR", f"'X' || substr(sha256({about}), 1, 16)"),
            # What was found: another value is another finding, though about the same.
            (
                "found",
                "VARCHAR",
                "substr(sha256(concat_ws(chr(31), coalesce(in_file, ''), coalesce(in_ledger, ''), content)), 1, 16)",
            ),
            ("state", "VARCHAR", "'new'"),
            ("first_seen", "TIMESTAMPTZ", "NULL"),
            ("resolved_by", "VARCHAR", "NULL"),
            ("why", "VARCHAR", "NULL"),
        ):
            self.db.execute(f"ALTER TABLE x ADD COLUMN {column} {kind}")
            self.db.execute(f"UPDATE x SET {column} = {value}")

    def three_ways(self, legs: Sequence[LegResult]) -> list[dict[str, Any]]:
        """The win of each table and day by terminals, ledger and counts, where files of more than one of these were given."""
        return ways.compare(self.db, self._conn, legs, self.asked, self.tables)

    def _one(self, query: str) -> int:
        row = self.db.execute(query).fetchone()
        assert row is not None
        return int(row[0] or 0)


_BET_FIELDS = SIDES["bets"].fields
_PRIZE_EXACT = _BET_FIELDS["regulation"]._replace(source="v.prize_exact")
_BREAKAGE = _BET_FIELDS["prize"]._replace(source="v.breakage")
_CLOSED_AT = _BET_FIELDS["occurred_at"]._replace(source="r.closed_at", join="JOIN report.rounds AS r ON r.round = v.round")
