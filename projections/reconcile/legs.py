"""One leg of a run: the files of one mapping laid beside the ledger's rows, step by step.

What is said of all of a file stands here (its unit, its zone, its end, its days); what a pair disagrees in, in `comparing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from ledger.errors import Refusal
from projections.reconcile import comparing, ledger, matching, repairs, ways
from projections.reconcile.files import Staged
from projections.reconcile.mapping import MappingFile
from projections.reconcile.values import Typed, joined, listed, literal, plain, quoted

if TYPE_CHECKING:
    from projections.reconcile.engine import Run


class Asked(NamedTuple):
    """What a run is about."""

    first: date | None = None
    last: date | None = None
    filters: tuple[tuple[str, str], ...] = ()
    """(property, pit, table or game; its value)."""
    expected_lines: int | None = None
    """How many lines the sender says that the file has."""


class Leg(NamedTuple):
    """Files under one mapping."""

    mapping: MappingFile
    paths: Sequence[Path]


@dataclass
class LegResult:
    """What came of a leg."""

    mapping: MappingFile
    staged: list[Staged]
    lines: int = 0
    """Lines of the files that were read as rows."""
    left_out: int = 0
    """Lines that are about something else, by the mapping."""
    outside: int = 0
    """Rows of the files outside the period."""
    filtered: int = 0
    """Rows of the files outside the filters: of other tables than those that were asked for. They are none of `lines`."""
    ledger_rows: int = 0
    """Rows of the ledger that the files have to have."""
    compared: int = 0
    """Pairs of the period, or totals."""
    how: dict[str, int] = field(default_factory=dict)
    """By which key they found each other → pairs."""
    days: str = ""
    """Which gaming days were compared."""
    totals: list[dict[str, Any]] = field(default_factory=list)
    """By currency: rows and the sum of the side's amount in the file and in the ledger, in minor units."""


class LegRun:
    """One leg, step by step."""

    def __init__(self, run: Run, number: int, leg: Leg) -> None:
        self._run = run
        self._db = run.db
        self._number = number
        self._mapping = ledger.as_shown(leg.mapping, run.erased)
        self._paths = leg.paths
        self._asked = run.asked
        self._result = LegResult(leg.mapping, [])
        self._file_numbers: list[int] = []

    def run(self) -> LegResult:
        mapping, db = self._mapping, self._db
        self._verify_formats()
        early = self._read_early()
        try:
            for path in self._paths:
                number, staged = self._run.stage(path, mapping)
                self._file_numbers.append(number)
                self._result.staged.append(staged)
            self._set_zone()
            self._type({})
        except BaseException:
            if early is not None:
                self._run.give_up(early)
            raise
        self._load(early)
        self._mend()
        if mapping.trailer is None:
            self._drop_raw()
        self._unknown_tables()
        self._filter()
        if mapping.summed:
            self._sum()
        self._run.progress("matching")
        matching.match(db, mapping)
        self._days()
        self._bad_lines()
        self._run.progress("comparing")
        comparison = comparing.Comparison(db, mapping, self._number, self._scope, self._loaded)
        comparison.run()
        self._control(comparison)
        self._figures(comparison)
        ways.keep(db, mapping, self._number)
        self._drop_raw()
        return self._result

    def _drop_raw(self) -> None:
        for number in self._file_numbers:
            self._db.execute(f"DROP TABLE IF EXISTS raw_{number}")

    def _read_early(self) -> Future[ledger.Copied] | None:
        """Begins to read the ledger while the files are read, where the period is said and need not be found in them."""
        if self._asked.first is None or self._asked.last is None:
            return None
        executor = ThreadPoolExecutor(1, "reconcile-ledger")
        reading = executor.submit(self._run.copy, self._mapping, self._scope_of(self._asked.first, self._asked.last))
        executor.shutdown(wait=False)
        return reading

    def _load(self, early: Future[ledger.Copied] | None) -> None:
        """Makes `l` of the ledger's rows, with the key."""
        mapping = self._mapping
        self._run.progress("reading the ledger")
        copied = early.result() if early is not None else self._run.copy(mapping, self._scope_of_files())
        names = mapping.aggregate if mapping.summed else mapping.exact
        key = joined(names) if names else "NULL::VARCHAR"
        self._db.execute(copied.load("l", f"{key} AS k, 1 AS n, true AS wanted"))
        copied.path.unlink()
        self._loaded = list(copied.fields)

    def _set_zone(self) -> None:
        zone = self._mapping.zone or "UTC"
        try:
            self._db.execute(f"SET TimeZone = {literal(zone)}")
        except duckdb.Error as error:
            raise Refusal(
                "LGR-0751",
                "this is a zone of the system and none of the time zone database",
                field=f"{self._mapping.name}: times.zone",
                value=zone,
                help='write one such as "Asia/Macau" or "UTC"',
            ) from error

    # Rows.

    def _verify_formats(self) -> None:
        for form in [*self._mapping.time_formats, *self._mapping.date_formats]:
            try:
                self._db.execute(f"SELECT try_strptime('', {literal(form)})")
            except duckdb.Error as error:
                raise Refusal(
                    "LGR-0751",
                    f"this is no format of a time: {str(error).splitlines()[0]}",
                    field=f"{self._mapping.name}: times",
                    value=form,
                    help="write it as strptime has it, such as %d/%m/%Y %H:%M:%S",
                ) from error

    def _type(self, swapped: dict[int, dict[str, str]]) -> None:
        """Makes `f` of the rows that can be read, and `bad` of the others."""
        db, mapping = self._db, self._mapping
        typed = [Typed(mapping, swapped.get(number)).select(f"raw_{number}") for number in self._file_numbers]
        key = (
            joined(mapping.aggregate if mapping.summed else mapping.exact, "")
            if mapping.exact or mapping.summed
            else "NULL::VARCHAR"
        )
        db.execute(
            f"CREATE OR REPLACE TABLE f AS SELECT row_number() OVER () AS fid, *, {key} AS k, {self._day()} AS day "
            f"FROM ({' UNION ALL '.join(typed)})"
        )
        db.execute("CREATE OR REPLACE TABLE bad AS SELECT * FROM f WHERE problem IS NOT NULL")
        db.execute("DELETE FROM f WHERE problem IS NOT NULL")

    def _day(self) -> str:
        """The gaming day of a row of the file: what it says, or else what its first time makes it."""
        mapping, houses = self._mapping, self._run.houses
        if "gaming_day" in mapping.fields:
            return "gaming_day"
        if not mapping.times or len(houses) != 1:
            return "NULL::DATE"
        zone, start = houses[0]
        hours, minutes = start.split(":")[:2]
        at = f"timezone({literal(zone)}, timezone('UTC', make_timestamp({mapping.times[0]})))"
        return f"({at} - INTERVAL {int(hours) * 60 + int(minutes)} MINUTE)::DATE"

    def _scope_of_files(self) -> ledger.Scope:
        """Which rows of the ledger could be meant: those of the period, or of the files' days, and a day around them."""
        first, last = self._asked.first, self._asked.last
        if first is None and last is None:
            row = self._db.execute("SELECT min(day), max(day) FROM f").fetchone()
            assert row is not None
            first, last = row
        return self._scope_of(first, last)

    def _scope_of(self, first: date | None, last: date | None) -> ledger.Scope:
        filters = tuple((name, value) for name, value in self._asked.filters if name in self._mapping.side.fields)
        tables = None if len(filters) == len(self._asked.filters) else tuple(self._run.tables)
        day = timedelta(days=1)
        return ledger.Scope(None if first is None else first - day, None if last is None else last + day, filters, tables)

    # Errors of whole files.

    def _mend(self) -> None:
        db, mapping = self._db, self._mapping
        swaps = {}
        for number, staged in zip(self._file_numbers, self._result.staged, strict=True):
            swap = repairs.swapped(db, mapping, f"raw_{number}", staged.last_line or staged.lines)
            if swap:
                swaps[number] = swap
                one, other = swap
                self._of_file(
                    "COLUMNS_SWAPPED",
                    number,
                    f"{one}, {other}",
                    detail=f"{mapping.columns[one]} holds {other}, and {mapping.columns[other]} holds {one}",
                    rows=staged.lines,
                )
        if swaps:
            self._type(swaps)
        for number, staged in zip(self._file_numbers, self._result.staged, strict=True):
            repairs.sample_pairs(db, mapping, number, staged.last_line or staged.lines)
            for factor in repairs.factors(db, mapping):
                self._rescale(number, factor, staged)
            for shift in repairs.shifts(db, mapping):
                self._reset(number, shift, staged)

    def _rescale(self, number: int, factor: repairs.Factor, staged: Staged) -> None:
        name = quoted(factor.field)
        new = f"CASE WHEN {name} % 100 = 0 THEN {name} // 100 ELSE {name} END" if factor.times_100 else f"{name} * 100"
        self._db.execute(f"UPDATE f SET {name} = {new} WHERE file = {number}")
        unit = "minor units (avos)" if factor.times_100 != (self._mapping.unit == "minor") else "whole units (patacas)"
        self._of_file(
            "UNIT_SUSPECT_X100",
            number,
            factor.field,
            in_file="× 100" if factor.times_100 else "÷ 100",
            in_ledger="× 1",
            detail=f"the file seems to be in {unit} where the mapping declares another",
            rows=staged.lines,
        )
        self._rekey()

    def _reset(self, number: int, shift: repairs.Shift, staged: Staged) -> None:
        name = quoted(shift.field)
        self._db.execute(f"UPDATE f SET {name} = {name} - {shift.by} WHERE file = {number}")
        if shift.field == "gaming_day":
            said = f"{shift.by:+d} day{'' if abs(shift.by) == 1 else 's'}"
            self._of_file("GAMING_DAY_DIFF", number, "gaming_day", in_file=said, in_ledger="0", rows=staged.lines)
        else:
            minutes = shift.by // 60_000_000
            sign, minutes = ("-", -minutes) if minutes < 0 else ("+", minutes)
            said = f"{sign}{minutes // 60}:{minutes % 60:02} h"
            self._of_file(
                "CLOCK_SKEW",
                number,
                shift.field,
                in_file=said,
                in_ledger="0:00 h",
                detail=f"the mapping declares {self._mapping.zone}; the file's times seem to be of another zone",
                rows=staged.lines,
            )
        self._db.execute(f"UPDATE f SET day = {self._day()} WHERE file = {number}")
        self._rekey()

    def _rekey(self) -> None:
        """The key once more, where it holds what was mended."""
        names = self._mapping.aggregate if self._mapping.summed else self._mapping.exact
        if any(self._mapping.side.fields[name].kind in ("amount", "date", "time") for name in names):
            self._db.execute(f"UPDATE f SET k = {joined(names)}")

    def _of_file(self, reason: str, number: int, field_: str, **columns: Any) -> None:
        """An exception that is about a whole file."""
        base = self._base(number)
        row: dict[str, Any] = {"leg": self._number, "reason": reason, "subject": base, "what": f"file {base}", "file": number}
        row |= {"field": field_, "rows": 1, "next": f"roundledger reconcile mappings show {self._mapping.name}"}
        if "subject" not in columns:
            # Whoever settles it has looked at this file; another of the same name may have the same error for another reason.
            row["content"] = self._result.staged[self._file_numbers.index(number)].sha256
        row |= columns
        self._db.execute(f"INSERT INTO x ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))

    def _base(self, number: int) -> str:
        return self._result.staged[self._file_numbers.index(number)].base

    # Lines that take no part.

    def _unknown_tables(self) -> None:
        """Takes the rows of tables that are not known out of `f`; one finding a table."""
        db, mapping = self._db, self._mapping
        db.execute("CREATE OR REPLACE TABLE strange AS SELECT * FROM f WHERE false")
        if "table" not in mapping.fields:
            return
        known = listed(self._run.known_tables) or "NULL"
        db.execute(f"CREATE OR REPLACE TABLE strange AS SELECT * FROM f WHERE f.table NOT IN ({known})")
        if self._one("SELECT count(*) FROM strange"):
            amount = mapping.side.amount
            sums = f"sum({amount})" if amount in mapping.fields else "NULL::HUGEINT"
            source = (
                (
                    f'(SELECT "table" AS place, currency, count(*) AS n, min(line) AS first, min(file) AS file, {sums} AS total, '
                    "min(day) AS day FROM strange GROUP BY ALL)"
                )
                if mapping.amounts
                else (
                    '(SELECT "table" AS place, NULL::VARCHAR AS currency, count(*) AS n, min(line) AS first, min(file) AS file, '
                    "NULL::HUGEINT AS total, min(day) AS day FROM strange GROUP BY ALL)"
                )
            )
            comparing.Comparison(db, mapping, self._number, "true", []).add(
                "UNKNOWN_TABLE",
                source,
                subject="place || ' ' || coalesce(currency, '-')",
                what="'table ' || place",
                table_id="place",
                currency="currency",
                file="file",
                line="first",
                lines="first::VARCHAR || CASE WHEN n > 1 THEN ' and ' || (n - 1) || ' more' ELSE '' END",
                field="'table'",
                in_file=f"n || ' × ' || coalesce({plain('total', 'currency')}, '')",
                difference="total",
                rows="n",
                next="'roundledger property show'",
            )
            db.execute("DELETE FROM f WHERE fid IN (SELECT fid FROM strange)")

    def _filter(self) -> None:
        """Takes the rows that the filters leave out into `apart`, as of the ledger; one with the key of a row asked for stays.

        The numbers of a file are complete or not as a whole, so those of `apart` count with them.
        """
        db, filters, fields = self._db, self._asked.filters, self._mapping.fields
        db.execute("CREATE OR REPLACE TABLE apart AS FROM f WHERE false")
        unsaid = [name for name, _ in filters if name not in fields]
        others = [f"{quoted(name)} <> {literal(value)}" for name, value in filters if name in fields]
        if unsaid and "table" in fields:
            others.append(f'"table" NOT IN ({listed(self._run.tables) or "NULL"})')
        elif unsaid:
            what = " ".join(f"--{name}" for name in unsaid)
            self._run.notes.append(
                f"the files of {self._mapping.name} do not say what {what} asks for: what they have outside of it "
                "counts as missing in the ledger"
            )
        if not others:
            return
        outside = f"({' OR '.join(others)}) AND (k IS NULL OR k NOT IN (SELECT k FROM l WHERE k IS NOT NULL))"
        db.execute(f"INSERT INTO apart FROM f WHERE {outside}")
        for name in ("f", "bad"):
            self._result.filtered += self._one(f"SELECT count(*) FROM {name} WHERE {outside}")
            db.execute(f"DELETE FROM {name} WHERE {outside}")

    def _sum(self) -> None:
        """Makes totals of `f` and `l`: one row for each key."""
        db, mapping = self._db, self._mapping
        added = [
            name
            for name, one in mapping.side.fields.items()
            if one.kind in ("amount", "number") and name not in mapping.aggregate
        ]

        def chosen(there: Sequence[str]) -> str:
            parts = []
            for name in there:
                column = quoted(name)
                parts.append(f"sum({column})::HUGEINT AS {column}" if name in added else f"any_value({column}) AS {column}")
            return ", ".join(parts)

        currency = ", currency" if "currency" in mapping.fields and "currency" not in mapping.aggregate else ""
        key = "k || chr(31) || coalesce(currency, '')" if currency else "k"
        db.execute(
            f"CREATE OR REPLACE TABLE f2 AS SELECT row_number() OVER (ORDER BY min(file), min(line)) AS fid, min(file) AS file, "
            f"min(line) AS line, list(line ORDER BY file, line)[:10] AS named, count(*) AS n, any_value(day) AS day, {key} AS k, "
            f"{chosen(list(mapping.fields))} FROM f WHERE k IS NOT NULL GROUP BY k{currency}"
        )
        db.execute(
            "CREATE OR REPLACE TABLE l2 AS SELECT row_number() OVER () AS lid, min(pos) AS pos, true AS expected, false AS "
            "void, "
            f"count(*) AS n, true AS wanted, {key} AS k, {chosen(self._loaded)} FROM l WHERE k IS NOT NULL AND NOT void GROUP "
            f"BY k{currency}"
        )
        for name in ("f", "l"):
            db.execute(f"DROP TABLE {name}")
            db.execute(f"ALTER TABLE {name}2 RENAME TO {name}")

    def _days(self) -> None:
        """Which gaming days are compared: those asked for, or else those of the rows that found each other."""
        db, asked, mapping = self._db, self._asked, self._mapping
        self._scope = "true"
        dated = "gaming_day" in self._loaded
        if asked.first is not None or asked.last is not None:
            bounds = [f"{{day}} >= DATE '{asked.first}'"] if asked.first else []
            bounds += [f"{{day}} <= DATE '{asked.last}'"] if asked.last else []
            self._scope = f"({' AND '.join(bounds)})"
            first, last = asked.first or "the beginning", asked.last or "now"
            self._result.days = str(first) if first == last else f"{first} to {last}"
        elif dated:
            says = "gaming_day" in mapping.fields
            same = "AND f.gaming_day = l.gaming_day" if says else ""
            db.execute(
                "CREATE OR REPLACE TABLE days AS SELECT DISTINCT l.gaming_day AS day FROM p JOIN f USING (fid) JOIN l USING "
                "(lid) "
                f"WHERE l.gaming_day IS NOT NULL {same}"
            )
            if not self._one("SELECT count(*) FROM days"):
                db.execute("INSERT INTO days SELECT DISTINCT day FROM f WHERE day IS NOT NULL")
            found = [str(day) for (day,) in db.execute("SELECT day FROM days ORDER BY day").fetchall()]
            if found:
                self._scope = f"({{day}} IN ({', '.join(f'DATE {literal(day)}' for day in found)}))"
                if len(found) > 400:
                    self._scope = "({day} IN (SELECT day FROM days))"
            self._result.days = (
                f"{found[0]} to {found[-1]}, {len(found)} days of the files" if len(found) > 1 else (found or [""])[0]
            )
        if mapping.tables == "in_file" and "table" in mapping.fields and "table" in self._loaded:
            db.execute("UPDATE l SET wanted = false WHERE l.table NOT IN (SELECT f.table FROM f WHERE f.table IS NOT NULL)")
        if dated and self._asked.first is None and self._asked.last is None and self._scope != "true":
            # A line with a day that the ledger does not have is no reason to leave it out.
            self._file_scope = "true"
        else:
            self._file_scope = self._scope

    def _bad_lines(self) -> None:
        """Lines that cannot be read, and the rows that they seem to be about: these are not called missing."""
        db, mapping = self._db, self._mapping
        db.execute(
            "INSERT INTO cl SELECT lid FROM l WHERE k IN (SELECT k FROM bad UNION SELECT k FROM strange) "
            "AND NOT EXISTS (SELECT 1 FROM p WHERE p.lid = l.lid)"
        )
        for number, staged in zip(self._file_numbers, self._result.staged, strict=True):
            base = literal(staged.base)
            comparing.Comparison(db, mapping, self._number, "true", []).add(
                "UNPARSEABLE_LINE",
                f"bad WHERE file = {number}",
                subject=f"{base} || ' ' || line || ' ' || problem",
                what="'line ' || line",
                file="file",
                line="line",
                lines="line::VARCHAR",
                detail="problem",
                next=literal(f"roundledger reconcile mappings show {mapping.name}"),
            )
            for bad in staged.bad:
                self._of_file(
                    "UNPARSEABLE_LINE",
                    number,
                    "",
                    subject=f"{staged.base} {bad.line} {bad.text}",
                    what=f"line {bad.line}",
                    line=bad.line,
                    lines=str(bad.line),
                    in_file=bad.text,
                    detail=bad.why,
                )

    def _control(self, comparison: comparing.Comparison) -> None:
        """What the file, or its sender, says of its own length and total; and whether its end is there."""
        mapping = self._mapping
        for number, staged in zip(self._file_numbers, self._result.staged, strict=True):
            there = staged.lines + staged.left_out + len(staged.bad)
            if staged.cut is not None:
                self._of_file("FILE_CUT", number, "", detail=staged.cut, line=staged.last_line)
            elif staged.unended and self._one(
                f"SELECT count(*) FROM x WHERE leg = {self._number} AND file = {number} AND line = {staged.last_line} "
                "AND reason IN ('UNPARSEABLE_LINE', 'AMOUNT_DIFF', 'MISSING_IN_LEDGER', 'SPOT_DIFF', 'PLAYER_DIFF', 'FIELD_DIFF')"
            ):
                self._of_file(
                    "FILE_CUT", number, "", detail="its last line has no end, and is not as it should be", line=staged.last_line
                )
            stated = self._asked.expected_lines
            said = "its sender states"
            if mapping.trailer is not None:
                if staged.control is None:
                    self._of_file(
                        "FILE_CUT",
                        number,
                        "",
                        detail=f"its control line ({mapping.trailer.marker}) is missing",
                        line=staged.last_line,
                    )
                else:
                    stated = self._stated(staged, mapping.trailer.count) if mapping.trailer.count else stated
                    said = f"its control line {staged.control_line} states"
                    self._control_total(number, staged)
            if stated is not None and stated != there:
                reason = "FILE_CUT" if there < stated else "CONTROL_DIFF"
                self._of_file(
                    reason,
                    number,
                    "lines",
                    in_file=str(there),
                    in_ledger=str(stated),
                    detail=f"it has {there} lines where {said} {stated}",
                    line=staged.control_line or staged.last_line,
                    rows=abs(stated - there),
                )

    @staticmethod
    def _stated(staged: Staged, column: int) -> int | None:
        cells = staged.control or []
        text = cells[column - 1].strip() if column <= len(cells) else ""
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else -1

    def _control_total(self, number: int, staged: Staged) -> None:
        """The total of the control line beside that of the lines, as they were written."""
        mapping = self._mapping
        trailer = mapping.trailer
        if trailer is None or trailer.total is None or staged.control is None:
            return
        name = trailer.of or mapping.side.amount
        if name not in mapping.fields:
            return
        text = staged.control[trailer.total - 1].strip() if trailer.total <= len(staged.control) else ""
        currencies = self._db.execute(
            f"SELECT DISTINCT t_currency FROM (SELECT {Typed(mapping)._cell('currency')} AS t_currency FROM raw_{number})"
        ).fetchall()
        currency = currencies[0][0] if len(currencies) == 1 and currencies[0][0] else "MOP"
        sign = Typed(mapping)
        source = f"(SELECT {literal(text)} AS t, {literal(currency)} AS t_currency)"
        stated = self._db.execute(f"SELECT {sign._amount(name, 't')} FROM {source}").fetchone()
        found = self._db.execute(
            f"SELECT sum({quoted(name)})::HUGEINT FROM ({Typed(mapping).select(f'raw_{number}')}) WHERE problem IS NULL"
        ).fetchone()
        assert stated is not None
        assert found is not None
        if stated[0] != (found[0] or 0):
            shown = self._db.execute(f"SELECT {plain(str(found[0] or 0), literal(currency))}").fetchone()
            assert shown is not None
            self._of_file(
                "CONTROL_DIFF",
                number,
                name,
                in_file=shown[0],
                in_ledger=text,
                currency=currency,
                difference=None if stated[0] is None else int(found[0] or 0) - int(stated[0]),
                detail=f"its lines sum to {shown[0]} where its control line {staged.control_line} states {text or 'nothing'}",
                line=staged.control_line,
            )

    # Figures.

    def _figures(self, comparison: comparing.Comparison) -> None:
        result, mapping = self._result, self._mapping
        result.lines = sum(staged.lines for staged in result.staged) - result.filtered
        result.left_out = sum(staged.left_out for staged in result.staged)
        dated = "gaming_day" in self._loaded
        inside = comparison.pair_in_scope()
        source = f"p JOIN f USING (fid) JOIN l USING (lid) WHERE {inside}"
        result.how = dict(self._db.execute(f"SELECT how, count(*) FROM {source} GROUP BY how ORDER BY how").fetchall())
        result.compared = sum(result.how.values())
        l_inside = f"(l.gaming_day IS NULL OR {self._scope.format(day='l.gaming_day')})" if dated else "true"
        result.ledger_rows = self._one(f"SELECT count(*) FROM l WHERE l.expected AND l.wanted AND {l_inside}")
        f_inside = f"(f.day IS NULL OR {self._scope.format(day='f.day')})"
        result.outside = self._one(
            f"SELECT count(*) FROM f LEFT JOIN p USING (fid) LEFT JOIN l USING (lid) WHERE NOT {inside if dated else f_inside}"
        )
        if mapping.side.amount in mapping.fields:
            self._totals(inside if dated else f_inside, l_inside)

    def _totals(self, f_inside: str, l_inside: str) -> None:
        amount = quoted(self._mapping.side.amount)
        rows = self._db.execute(
            "SELECT coalesce(a.currency, b.currency) AS currency, coalesce(a.n, 0), coalesce(a.s, 0)::VARCHAR, coalesce(b.n, 0), "
            "coalesce(b.s, 0)::VARCHAR FROM "
            f"(SELECT f.currency, count(*) AS n, sum(f.{amount}) AS s FROM f LEFT JOIN p USING (fid) LEFT JOIN l USING (lid) "
            f"WHERE {f_inside} GROUP BY f.currency) AS a FULL JOIN "
            f"(SELECT l.currency, count(*) AS n, sum(l.{amount}) AS s FROM l WHERE l.expected AND l.wanted AND {l_inside} "
            "GROUP BY l.currency) AS b USING (currency) ORDER BY 1"
        ).fetchall()
        self._result.totals = [
            {"currency": currency, "file_rows": fn, "file_total": int(fs), "ledger_rows": ln, "ledger_total": int(ls),
             "difference": int(fs) - int(ls)}
            for currency, fn, fs, ln, ls in rows
        ]  # fmt: skip

    def _one(self, query: str) -> int:
        row = self._db.execute(query).fetchone()
        assert row is not None
        return int(row[0] or 0)
