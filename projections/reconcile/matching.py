"""Which row of the file is which row of the ledger: by exact key, then by composite key; what could be two is never paired.

Tables of DuckDB that it reads: `f` (fid, file, line, k, day, fields …), `l` (lid, pos, expected, void, k, fields …). It makes
`p` (fid, lid, how) and `cf` (fid), `cl` (lid): rows that another exception already speaks of.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from ledger.errors import Refusal
from projections.reconcile.mapping import MappingFile
from projections.reconcile.values import joined, quoted

MOST_CANDIDATES = 50_000_000
"""Pairs of rows that may be looked at for their times; beyond that a composite key tells nothing apart."""


def match(db: duckdb.DuckDBPyConnection, mapping: MappingFile) -> None:
    """Fills `p`, `cf` and `cl`; `dupf` and `dupl` hold what is there more than once on a side, with its rows on both."""
    db.execute("CREATE OR REPLACE TABLE p (fid BIGINT, lid BIGINT, how VARCHAR)")
    db.execute("CREATE OR REPLACE TABLE cf (fid BIGINT)")
    db.execute("CREATE OR REPLACE TABLE cl (lid BIGINT)")
    db.execute("CREATE OR REPLACE TABLE dupf (side VARCHAR, k VARCHAR, fid BIGINT)")
    db.execute("CREATE OR REPLACE TABLE dupl (side VARCHAR, k VARCHAR, lid BIGINT)")
    if mapping.exact or mapping.summed:
        _exact(db)
    if mapping.composite:
        time = mapping.times[0] if mapping.within is not None else None
        said = [name for name in mapping.compare if name not in mapping.times]
        _composite(db, mapping.composite, "composite", said, time, mapping.within)
        if not mapping.exact:
            for left_out in _relaxed(mapping):
                rest = [name for name in mapping.composite if name != left_out]
                _composite(db, rest, f"composite without {left_out}", said, time, mapping.within, only_single=True)
            if time is not None:
                _composite(db, mapping.composite, f"composite without {time}", said, None, None, only_single=True)


def _relaxed(mapping: MappingFile) -> list[str]:
    """The fields of the composite key without which rows are looked for once more, so that a wrong one is named."""
    fields = mapping.side.fields
    found = [name for name in mapping.composite if fields[name].kind == "amount"]
    found += [name for name in ("spot", "player", "kind", "currency", "table") if name in mapping.composite]
    return found if len(mapping.composite) > 1 else []


def _exact(db: duckdb.DuckDBPyConnection) -> None:
    db.execute("CREATE OR REPLACE TEMP TABLE df AS SELECT k FROM f WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1")
    db.execute("CREATE OR REPLACE TEMP TABLE dl AS SELECT k FROM l WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1")
    db.execute("CREATE OR REPLACE TEMP TABLE dk AS SELECT k FROM df UNION SELECT k FROM dl")
    db.execute(
        "INSERT INTO p SELECT f.fid, l.lid, 'exact' FROM f JOIN l ON f.k = l.k WHERE NOT EXISTS (SELECT 1 FROM dk WHERE dk.k = "
        "f.k)"
    )
    for side, of in (("file", "df"), ("ledger", "dl")):
        db.execute(f"INSERT INTO dupf SELECT '{side}', f.k, fid FROM f JOIN {of} ON {of}.k = f.k")
        db.execute(f"INSERT INTO dupl SELECT '{side}', l.k, lid FROM l JOIN {of} ON {of}.k = l.k")
    db.execute("INSERT INTO cf SELECT fid FROM f WHERE k IN (SELECT k FROM dk)")
    db.execute("INSERT INTO cl SELECT lid FROM l WHERE k IN (SELECT k FROM dk)")


def _left(db: duckdb.DuckDBPyConnection, fields: Sequence[str], said: Sequence[str], time: str | None) -> None:
    """What no pair and no exception has yet: fc and lc, with the composite key, what else it says, and the time."""
    for side, id_ in (("f", "fid"), ("l", "lid")):
        at = f"{side}.{time}" if time else "NULL::BIGINT"
        rest = ", ".join(["''", *(f"coalesce({side}.{quoted(name)}::VARCHAR, '')" for name in said)])
        db.execute(
            f"CREATE OR REPLACE TEMP TABLE {side}c AS SELECT {side}.{id_}, {joined(fields, side)} AS c, "
            f"concat_ws(chr(31), {rest}) AS v, {at} AS t FROM {side} "
            f"WHERE NOT EXISTS (SELECT 1 FROM p WHERE p.{id_} = {side}.{id_}) "
            f"AND NOT EXISTS (SELECT 1 FROM c{side} WHERE c{side}.{id_} = {side}.{id_}) AND {joined(fields, side)} IS NOT NULL"
        )


def _composite(
    db: duckdb.DuckDBPyConnection,
    fields: Sequence[str],
    how: str,
    said: Sequence[str],
    time: str | None,
    within: float | None,
    *,
    only_single: bool = False,
) -> None:
    """Pairs what is left by these fields. `only_single`: only where one row on either side could be meant.

    Of rows that are alike in these fields, as many on either side, those are paired first that are alike in what else they say.
    """
    if not fields:
        return
    _left(db, fields, said, time)
    if time is not None and within is not None:
        _by_time(db, fields, how, within)
        if only_single:
            return
        # Of what is left only those that have somebody near can be meant by one another.
        db.execute("DELETE FROM fc WHERE fid NOT IN (SELECT fid FROM near)")
        db.execute("DELETE FROM lc WHERE lid NOT IN (SELECT lid FROM near)")
    db.execute(
        "CREATE OR REPLACE TEMP TABLE g AS SELECT c, nf, nl FROM (SELECT c, count(*) AS nf FROM fc GROUP BY c) "
        "JOIN (SELECT c, count(*) AS nl FROM lc GROUP BY c) USING (c)"
    )
    same = "nf = 1 AND nl = 1" if only_single else "nf = nl"
    for alike in ("c, v", "c"):
        of_f, of_l = (
            f"(SELECT {id_}, {alike}, nf, row_number() OVER (PARTITION BY {alike} ORDER BY t, {id_}) AS n FROM {side}c "
            f"JOIN g USING (c) WHERE {same} AND NOT EXISTS (SELECT 1 FROM p WHERE p.{id_} = {side}c.{id_}))"
            for side, id_ in (("f", "fid"), ("l", "lid"))
        )
        db.execute(
            f"INSERT INTO p SELECT f.fid, l.lid, CASE WHEN f.nf = 1 THEN '{how}' ELSE '{how}, alike' END FROM {of_f} AS f "
            f"JOIN {of_l} AS l USING ({alike}, n)"
        )
    if only_single:
        return
    for side, id_ in (("f", "fid"), ("l", "lid")):
        db.execute(
            f"INSERT INTO dup{side} SELECT CASE WHEN nf > nl THEN 'file' ELSE 'ledger' END, c, {id_} FROM {side}c "
            "JOIN g USING (c) WHERE nf <> nl"
        )
    db.execute("INSERT INTO cf SELECT fid FROM fc JOIN g USING (c) WHERE nf <> nl")
    db.execute("INSERT INTO cl SELECT lid FROM lc JOIN g USING (c) WHERE nf <> nl")


def _by_time(db: duckdb.DuckDBPyConnection, fields: Sequence[str], how: str, within: float) -> None:
    """Pairs those that have each other, and nobody else, within so many seconds; `near` holds the pairs that could be."""
    row = db.execute(
        "SELECT coalesce(sum(a.n * b.n), 0) FROM (SELECT c, count(*)::HUGEINT AS n FROM fc GROUP BY c) AS a "
        "JOIN (SELECT c, count(*)::HUGEINT AS n FROM lc GROUP BY c) AS b USING (c)"
    ).fetchone()
    if row is not None and row[0] > MOST_CANDIDATES:
        raise Refusal(
            "LGR-0757",
            f"by the composite key alone {row[0]} pairs of rows could be meant",
            field="match.composite",
            value=", ".join(fields),
            help="add fields to it that tell rows apart, such as the round or the spot",
        )
    db.execute(
        "CREATE OR REPLACE TEMP TABLE near AS SELECT fid, lid, count(*) OVER (PARTITION BY fid) AS of_f, "
        "count(*) OVER (PARTITION BY lid) AS of_l FROM fc JOIN lc USING (c) "
        f"WHERE abs(fc.t - lc.t) <= {round(within * 1_000_000)}"
    )
    db.execute(f"INSERT INTO p SELECT fid, lid, '{how}' FROM near WHERE of_f = 1 AND of_l = 1")
    db.execute("DELETE FROM fc WHERE fid IN (SELECT fid FROM p)")
    db.execute("DELETE FROM lc WHERE lid IN (SELECT lid FROM p)")
    db.execute("DELETE FROM near WHERE of_f = 1 AND of_l = 1")
