"""What was found before and what persons resolved: append-only rows of the schema `reconciliation`, written only when asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import sql

from ledger import erasure
from ledger.errors import Refusal
from projections.reconcile.engine import Result

Connection = psycopg.Connection[Any]
_BATCH = 1_000
_FIELDS = (
    "reason", "what", "field", "in_file", "in_ledger", "currency", "difference", "rows", "lines", "table_id", "gaming_day",
    "positions",
    "detail", "next",
)  # fmt: skip


def recall(conn: Connection, result: Result) -> None:
    """Gives each exception of the run its state: new, still open, or resolved with who and why."""
    row = conn.execute("SELECT has_schema_privilege('reconciliation', 'USAGE')").fetchone()
    if row is None or not row[0]:
        result.notes.append("this role may not read the schema reconciliation: every exception is shown as new")
        return
    db = result.db
    db.execute("CREATE TABLE seen (id VARCHAR, first_seen TIMESTAMPTZ)")
    db.execute("CREATE TABLE resolved (id VARCHAR, found VARCHAR, resolved_by VARCHAR, why VARCHAR)")
    db.execute("SET TimeZone = 'UTC'")
    cursor = db.cursor()
    cursor.execute("SELECT DISTINCT id FROM x")
    while batch := cursor.fetchmany(_BATCH):
        ids = [id_ for (id_,) in batch]
        first = conn.execute(
            "SELECT exception, min(recorded_at) FROM reconciliation.findings JOIN reconciliation.runs USING (run) "
            "WHERE exception = ANY(%s) GROUP BY exception",
            [ids],
        ).fetchall()
        if first:
            db.executemany("INSERT INTO seen VALUES (?, ?)", first)
            said = conn.execute(
                "SELECT exception, found, resolved_by, why FROM reconciliation.resolutions WHERE exception = ANY(%s)", [ids]
            ).fetchall()
            if said:
                db.executemany("INSERT INTO resolved VALUES (?, ?, ?, ?)", said)
    db.execute("UPDATE x SET state = 'still open', first_seen = seen.first_seen FROM seen WHERE seen.id = x.id")
    db.execute(
        "UPDATE x SET state = 'resolved', resolved_by = r.resolved_by, why = r.why FROM resolved AS r "
        "WHERE r.id = x.id AND r.found = x.found"
    )


def scope(result: Result) -> str:
    """What runs that follow each other have in common: mappings, period and filters."""
    asked = result.asked
    period = [str(day) for day in (asked.first, asked.last)] if asked.first or asked.last else [leg.days for leg in result.legs]
    return json.dumps([sorted(leg.mapping.name for leg in result.legs), period, sorted(asked.filters)])


def record(conn: Connection, result: Result) -> int:
    """Records the run with all its exceptions, in one transaction; its number."""
    files = [
        {
            "name": one.name,
            "sha256": one.sha256,
            "mapping": leg.mapping.name,
            "mapping_sha256": leg.mapping.sha256,
            "lines": one.lines,
        }
        for leg in result.legs
        for one in leg.staged
    ]
    summary = {reason: number for reason, number, _ in result.by_reason()}
    with conn.transaction(), conn.cursor() as cursor:
        cursor.execute(
            "INSERT INTO reconciliation.runs (scope, as_of_position, files, summary) VALUES (%s, %s, %s, %s) RETURNING run",
            [scope(result), int(result.position), json.dumps(files), json.dumps(summary)],
        )
        found = cursor.fetchone()
        assert found is not None
        run: int = found[0]
        _copy(cursor, result, run)
    return run


def _copy(cursor: psycopg.Cursor[Any], result: Result, run: int) -> None:
    names = [one.base for leg in result.legs for one in leg.staged]
    columns = ("run", "exception", "found", "file", *_FIELDS)
    read = result.db.cursor()
    # An id is one row: where a file says the same twice, the first stands for both.
    read.execute(
        "SELECT DISTINCT ON (id) id, found, file, "
        f"{', '.join(f'{name}::VARCHAR' if name == 'difference' else name for name in _FIELDS)} "
        "FROM x ORDER BY id, file, line"
    )
    statement = sql.SQL("COPY reconciliation.findings ({}) FROM STDIN").format(sql.SQL(", ").join(map(sql.Identifier, columns)))
    with cursor.copy(statement) as copy:
        while batch := read.fetchmany(_BATCH):
            for id_, found, file, *values in batch:
                name = names[file] if file is not None else None
                copy.write_row([run, id_, found, name, *map(_text, values)])


def _text(value: Any) -> Any:
    """Text without the one character that Postgres cannot hold."""
    return value.replace("\0", "\\0") if isinstance(value, str) else value


def resolve(conn: Connection, named: str, why: str, person: str, verify: Callable[[str | None], None]) -> dict[str, Any]:
    """Resolves an exception that a recorded run has, by its id or the beginning of it, with the values it was found with last.

    `verify` is given the table that it is about, and raises a Refusal where the person may not do this.

    Raises Refusal LGR-0758 (no such exception, or several), LGR-0759 (it is resolved already, or no reason is given).
    """
    if not why.strip():
        raise Refusal("LGR-0759", "why it is resolved is not said", field="--why", value=why, help="say it in a sentence")
    found = conn.execute(
        "SELECT exception, found, reason, what, state, resolved_by, table_id FROM reconciliation.exceptions "
        "WHERE starts_with(exception, %s) ORDER BY exception LIMIT 3",
        [named],
    ).fetchall()
    if len(found) != 1 or len(named) < 4:
        raise Refusal(
            "LGR-0758",
            "no recorded exception has this id" if not found else "the beginning of an id says too little",
            field="ID",
            value=named,
            help="roundledger reconcile list shows them; a run is recorded with --record",
        )
    [(exception, values, reason, what, state, by, table)] = found
    verify(table)
    if state == "resolved":
        raise Refusal("LGR-0759", f"it was resolved by {by}", field="ID", value=exception, help="nothing is left to do")
    try:
        conn.execute(
            "INSERT INTO reconciliation.resolutions (exception, found, why, resolved_by) VALUES (%s, %s, %s, %s)",
            [exception, values, why.strip(), person],
        )
    except psycopg.errors.UniqueViolation:
        raise Refusal("LGR-0759", "somebody resolved it just now", field="ID", value=exception) from None
    what = what and erasure.in_words(what, erasure.names(conn))
    return {"exception": exception, "reason": reason, "what": what, "resolved_by": person, "why": why.strip()}


def exceptions(conn: Connection, *, everything: bool, limit: int) -> list[dict[str, Any]]:
    """The recorded exceptions that are open, or all; the latest first. What was found before a player was erased stands there for
    ever, and is shown as all else."""
    cursor = conn.execute(
        "SELECT exception, state, reason, what, field, in_file, in_ledger, currency, difference, file, lines, table_id, "
        "gaming_day, next, "
        "first_seen, last_seen, times, resolved_by, resolved_at, why FROM reconciliation.exceptions "
        "WHERE %s OR state IN ('new', 'still open') ORDER BY last_run DESC, reason, what, exception LIMIT %s",
        [everything, limit],
    )
    names = [column.name for column in cursor.description or ()]
    erased = erasure.names(conn)
    return [
        {
            name: erasure.in_words(value, erased) if name in _IN_WORDS and value is not None else value
            for name, value in zip(names, row, strict=True)
        }
        for row in cursor.fetchall()
    ]


_IN_WORDS = frozenset({"what", "in_file", "in_ledger", "next"})
"""Of an exception, what may name a player."""
