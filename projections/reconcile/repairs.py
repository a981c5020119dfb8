"""Errors of a whole file: another unit, another zone, another day, swapped columns. Each is one finding, and the rest is compared
as if it were mended, so that what is wrong besides is found as well.

A file is judged by a sample of its lines, taken evenly from all of it: an error of the file is in nearly all of them.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import duckdb

from projections.reconcile.mapping import MappingFile
from projections.reconcile.values import Typed, joined

SAMPLE = 2_000
NEARLY_ALL = 0.95
_AT_LEAST = 2
"""Rows that are needed to speak of a whole file."""
_HALF_HOUR = 1_800_000_000
_SLACK = 120_000_000
"""Microseconds by which times may differ from a whole number of half hours."""
_SOUND = 0.5
"""With such a share of lines that agree, no columns were swapped."""


class Factor(NamedTuple):
    """The amounts of a field are so many times those of the ledger: 100, or a hundredth."""

    field: str
    times_100: bool
    rows: int


class Shift(NamedTuple):
    """The times of a field are so many microseconds later than those of the ledger; of a date, so many days."""

    field: str
    by: int
    rows: int


def step(lines: int) -> int:
    """Each how many-th line is in the sample."""
    return max(1, lines // SAMPLE)


def swapped(db: duckdb.DuckDBPyConnection, mapping: MappingFile, raw: str, lines: int) -> dict[str, str]:
    """Field → the field in whose column it stands, of two columns that were exchanged; nothing where none were."""
    if _agreeing(db, mapping, raw, lines, {}) >= _SOUND:
        return {}
    best, found = 0.0, {}
    for one, other in combinations(mapping.columns, 2):
        if mapping.columns[one] == mapping.columns[other]:
            continue
        swap = {one: other, other: one}
        agreeing = _agreeing(db, mapping, raw, lines, swap)
        if agreeing > best:
            best, found = agreeing, swap
    return found if best >= NEARLY_ALL else {}


def _agreeing(db: duckdb.DuckDBPyConnection, mapping: MappingFile, raw: str, lines: int, swap: dict[str, str]) -> float:
    """The share of the sample that finds a row of the ledger which agrees in all but time, unit aside."""
    keys = mapping.exact or mapping.composite or mapping.aggregate
    fields = mapping.side.fields
    agree = [f"{joined(keys, 's')} = l.k2"]
    for name in mapping.compare:
        if name in keys or fields[name].kind == "time":
            continue
        if fields[name].kind == "amount":
            ledger = f"coalesce(l.{name}, 0)"
            agree.append(f"(s.{name} IS NULL OR s.{name} IN ({ledger}, {ledger} * 100) OR s.{name} * 100 = {ledger})")
        else:
            agree.append(f"(s.{name} IS NULL OR s.{name} IS NOT DISTINCT FROM l.{name})")
    sample = Typed(mapping, swap).select(f"(SELECT * FROM {raw} WHERE line % {step(lines)} = 0)")
    row = db.execute(
        f"WITH s AS MATERIALIZED ({sample}) SELECT count(*), count(*) FILTER (WHERE problem IS NULL AND EXISTS ("
        f"SELECT 1 FROM (SELECT *, {joined(keys)} AS k2 FROM l) AS l WHERE {' AND '.join(agree)})) FROM s"
    ).fetchone()
    assert row is not None
    return float(row[1] / row[0]) if row[0] >= _AT_LEAST else 1.0


def sample_pairs(db: duckdb.DuckDBPyConnection, mapping: MappingFile, file: int, lines: int) -> None:
    """Makes `sp` (fid, lid): rows of one file's sample with the row of the ledger that they are about, unit and time aside."""
    if not mapping.composite or mapping.exact:
        db.execute(
            f"CREATE OR REPLACE TEMP TABLE sp AS SELECT fid, lid FROM f JOIN l USING (k) "
            f"WHERE file = {file} AND line % {step(lines)} = 0"
        )
        return
    keys = [name for name in mapping.composite if mapping.side.fields[name].kind != "amount"]
    if not keys:
        db.execute("CREATE OR REPLACE TEMP TABLE sp (fid BIGINT, lid BIGINT)")
        return
    db.execute(
        f"CREATE OR REPLACE TEMP TABLE sp AS SELECT fid, lid FROM "
        f"(SELECT {joined(keys)} AS c, any_value(fid) AS fid FROM f WHERE file = {file} GROUP BY c HAVING count(*) = 1) "
        f"JOIN (SELECT {joined(keys)} AS c, any_value(lid) AS lid FROM l GROUP BY c HAVING count(*) = 1) USING (c) LIMIT {SAMPLE}"
    )


def factors(db: duckdb.DuckDBPyConnection, mapping: MappingFile) -> list[Factor]:
    """The amounts of `sp` that are nearly all 100 times those of the ledger, or a hundredth of them."""
    found = []
    for name in mapping.amounts:
        if name not in mapping.compare and name not in mapping.composite:
            continue
        row = db.execute(
            f"SELECT count(*), count(*) FILTER (WHERE f.{name} = l.{name} * 100), count(*) FILTER (WHERE f.{name} * 100 = "
            f"l.{name}) "
            f"FROM sp JOIN f USING (fid) JOIN l USING (lid) WHERE f.{name} <> 0 AND l.{name} <> 0"
        ).fetchone()
        assert row is not None
        pairs, times, parts = row
        if pairs >= _AT_LEAST and max(times, parts) >= NEARLY_ALL * pairs:
            found.append(Factor(name, times > parts, pairs))
    return found


def shifts(db: duckdb.DuckDBPyConnection, mapping: MappingFile) -> list[Shift]:
    """The times and days of `sp` that are nearly all off by the same number of half hours, or of days."""
    found = []
    for name in mapping.times:
        if name not in mapping.compare and mapping.within is None:
            continue
        found += _shift(db, name, f"f.{name} - l.{name}", _HALF_HOUR, round(mapping.seconds * 1_000_000))
    if "gaming_day" in mapping.fields and "gaming_day" in mapping.compare:
        found += _shift(db, "gaming_day", "date_diff('day', l.gaming_day, f.gaming_day)", 1, 0)
    return found


def _shift(db: duckdb.DuckDBPyConnection, name: str, difference: str, unit: int, allowed: int) -> list[Shift]:
    """`allowed`: by how much they may differ; what is within that is off by nothing."""
    slack = max(_SLACK if unit == _HALF_HOUR else 0, allowed)
    row = db.execute(
        f"WITH d AS (SELECT ({difference})::BIGINT AS d FROM sp JOIN f USING (fid) JOIN l USING (lid) "
        f"WHERE f.{name} IS NOT NULL AND l.{name} IS NOT NULL), "
        f"m AS (SELECT mode((d + sign(d)::BIGINT * {unit // 2}) // {unit} * {unit}) AS m FROM d) "
        f"SELECT count(*), any_value(m), count(*) FILTER (WHERE abs(d - m) <= {slack} AND abs(d) > {allowed}) FROM d, m"
    ).fetchone()
    assert row is not None
    pairs, by, near = row
    return [Shift(name, by, pairs)] if pairs >= _AT_LEAST and by and near >= NEARLY_ALL * pairs else []
