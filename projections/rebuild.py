"""A new version of the projections' tables: built from the log beside the live ones, compared with them, put in their place.

What is built stands in a schema of its own, with positions of its own, and is folded by the code that folds the live tables. So
it goes on after a kill where it was, in whole batches, as long as the same release goes on; another release begins anew.

The switch moves tables between schemas in one transaction. It first keeps the runner of the live tables out, brings what was
built to where those are, and then keeps readers out for the moment that the moves take. Who waited meanwhile finds the new tables
under the old names: Postgres looks a name up again once a lock was waited for, and plans made before are made anew. The positions
move along with the rows, so that a runner goes on behind what is in them, and nothing is counted twice. Views over the tables go
by identity and not by name; each is made anew from its own definition in the same transaction.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from psycopg import sql

import ledger.events
import projections
from ledger import __version__, erasure
from ledger.errors import Refusal
from ledger.store import codec, log, migrate
from projections.replay import Difference, Progress, compare_table, count_rows, folded_to
from projections.runner import catch_up
from projections.tables import PROJECTIONS

Connection = psycopg.Connection[Any]

LIVE, BUILT, OLD = "projection", "projection_next", "projection_old"
TABLES = ("positions", *(table for projection in PROJECTIONS for table in projection.tables))

BATCH = 1000
"""Events a transaction: a batch holds a transaction id, and the live projections wait for it. A fifth of theirs is some 0.1 s."""
_LOCK = int.from_bytes(hashlib.sha256(b"roundledger rebuild").digest()[:8], "big", signed=True)
_LOCK_MS = 300
"""Milliseconds that the switch waits for one table, and those who come after it wait with it."""
_LOCKS_MS = 1000
"""Milliseconds that it waits for all."""
_PAUSE = 0.2


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What built the tables of a schema, or put them aside, and when; the schema's comment holds it."""

    software: str
    fold: str
    """SHA-256 of the code that folds."""
    schema: int
    """The schema's version."""
    at: datetime


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """What a rebuild has done."""

    position: str
    """Up to where every projection has folded."""
    resumed_at: str | None
    """The position at which it went on; null where it began anew."""
    events: int
    """Events folded now."""
    seconds: float
    stopped: dict[str, str]
    """Projections that stand still at an event that they cannot fold, with the reason."""


class TableComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One table, live and built, at the same position."""

    table: str
    live: int
    """Rows."""
    built: int
    """Rows."""
    difference: Difference | None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The built tables beside the live ones."""

    positions: dict[str, str]
    """Projection → as of which position it was compared."""
    tables: list[TableComparison]
    left_out: dict[str, str]
    """Projection → why it was not compared."""


class Switched(msgspec.Struct, frozen=True, kw_only=True):
    """The built tables are the live ones."""

    position: str
    seconds: float
    """For which readers waited at most."""
    tries: int
    views: list[str]
    """The views that were made anew."""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of one schema."""

    which: str
    """`live`, `built` or `old`."""
    software: str | None
    """The version that built them, or replaced them; null of the live ones."""
    at: datetime | None
    """When building began, or when they were replaced; null of the live ones."""
    usable: bool
    """Of built tables: whether this release can go on with them and switch to them."""
    bytes: int


@contextmanager
def alone(dsn: str) -> Iterator[Connection]:
    """A connection that holds the one right to build, compare, switch and drop. Raises Refusal LGR-0530 where somebody has it.

    The right ends with the connection, however it ends; where it ends well, at once, for the server may take a moment to notice.
    """
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SET TimeZone = 'UTC'")
        conn.execute("SET DateStyle = 'ISO'")
        if conn.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone() != (True,):
            who = at_work(conn)
            raise Refusal(
                "LGR-0530",
                f"the projections are being rebuilt, compared or switched by {who or 'another process'}",
                help="wait for it, or end that process: what it has built stays, and the next rebuild goes on with it",
            )
        try:
            yield conn
        finally:
            with suppress(psycopg.Error):
                conn.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def at_work(conn: Connection) -> str | None:
    """Who holds the right of `alone`: `process 123`; None where nobody does."""
    row = conn.execute(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
        "AND classid::bigint = (%(lock)s::bigint >> 32) & 4294967295 AND objid::bigint = %(lock)s::bigint & 4294967295",
        {"lock": _LOCK},
    ).fetchone()
    return None if row is None else f"process {row[0]}"


def build(dsn: str, progress: Progress | None = None, *, anew: bool = False) -> Built:
    """Builds the tables up to the log's end, going on with what is there if this release can, unless it is to begin `anew`.

    `progress` is told the position and the log's end. Raises Refusal LGR-0530 where another rebuild is under way.
    """
    began = time.monotonic()
    with alone(dsn) as conn:
        resumed = None
        if anew or not _usable(conn):
            _make(conn)
        else:
            resumed = str(min(folded_to(conn, BUILT).values()))
        events = _to_the_end(conn, progress)
        for table in TABLES:
            conn.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(BUILT, table)))
        events += _to_the_end(conn, progress)  # what came meanwhile
        return Built(
            position=str(min(folded_to(conn, BUILT).values())),
            resumed_at=resumed,
            events=events,
            seconds=time.monotonic() - began,
            stopped={name: reason for name, (_, reason) in _stopped(conn, BUILT).items()},
        )


def compare(dsn: str) -> Compared:
    """Compares what was built with the live tables, as of where these are. Raises Refusal LGR-0530 or LGR-0531."""
    with alone(dsn) as built, psycopg.connect(dsn, autocommit=True) as live:
        _verify_usable(built)
        live.execute("SET TimeZone = 'UTC'")
        live.execute("SET DateStyle = 'ISO'")
        catch_up(live)
        with live.transaction():
            live.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            live.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            reached = folded_to(live, LIVE)
            for projection in PROJECTIONS:
                catch_up(
                    built, BUILT, upto=_within_the_log(built, reached[projection.name]), projections=(projection,), batch=BATCH
                )
            at = folded_to(built, BUILT)
            tables, left_out = [], {}
            for projection in PROJECTIONS:
                name = projection.name
                if at[name] != reached[name]:
                    left_out[name] = f"the live tables are at position {reached[name]}, those that were built at {at[name]}"
                    continue
                with built.transaction():
                    tables += [_compared(live, built, table) for table in projection.tables]
    positions = {name: str(position) for name, position in reached.items() if name not in left_out}
    return Compared(positions=positions, tables=tables, left_out=left_out)


def switch(dsn: str, *, patience: float = 30.0) -> Switched:
    """Puts what was built in the place of the live tables, which stay beside as the old ones until they are dropped.

    Everything at once or nothing. Waits for those who read long, `patience` seconds at most, in short tries between which others
    read on. Raises Refusal LGR-0530, LGR-0531 where there is nothing to switch to, LGR-0532 where readers do not end, LGR-0533
    where something hangs on the live tables that cannot be moved over, or older ones are still there.
    """
    deadline = time.monotonic() + patience
    with alone(dsn) as conn, psycopg.connect(dsn, autocommit=True) as folding:
        _verify_usable(conn)
        if _exists(conn, OLD):
            raise Refusal(
                "LGR-0533",
                "the tables that were replaced before are still there",
                value=OLD,
                help="roundledger projections drop old",
            )
        tries = 0
        while True:
            _to_the_end(folding, None)
            tries += 1
            began = time.monotonic()
            try:
                position, views = _switch(conn, folding)
                return Switched(position=str(position), seconds=time.monotonic() - began, tries=tries, views=views)
            except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled, psycopg.errors.DeadlockDetected):
                if time.monotonic() > deadline:
                    raise Refusal(
                        "LGR-0532",
                        f"the tables were in use for {patience:g} s: {_readers(conn) or 'by sessions that have ended meanwhile'}",
                        help="nothing was changed; end what reads so long, then: roundledger projections switch",
                    ) from None
            time.sleep(random.uniform(_PAUSE / 2, _PAUSE))  # noqa: S311 - so that it does not meet the same reader in step


def drop(dsn: str, which: str) -> bool:
    """Drops the `old` tables, or those that were `built`; False where there are none.

    Refuses LGR-0533 where something still hangs on them.
    """
    schema = {"old": OLD, "built": BUILT}[which]
    with alone(dsn) as conn, conn.transaction():
        if not _exists(conn, schema):
            return False
        conn.execute("SELECT set_config('lock_timeout', '5s', true)")
        try:
            for table in _tables_in(conn, schema):
                conn.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(schema, table)))
            conn.execute(sql.SQL("DROP SCHEMA {}").format(sql.Identifier(schema)))
        except psycopg.errors.DependentObjectsStillExist as error:
            raise Refusal(
                "LGR-0533",
                f"something hangs on the tables: {' '.join((error.diag.message_detail or str(error)).split())}",
                value=schema,
                help="drop or change it, then drop the tables again",
            ) from error
        except psycopg.errors.LockNotAvailable:
            raise Refusal("LGR-0532", "the tables are being read", value=schema, help="try again in a moment") from None
    return True


def versions(conn: Connection) -> list[Version]:
    """The live tables, those that were built, and those that were replaced, as far as they are there."""
    found = []
    for which, schema in (("live", LIVE), ("built", BUILT), ("old", OLD)):
        if not _exists(conn, schema):
            continue
        made = None if schema == LIVE else _made(conn, schema)
        row = conn.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c "
            "WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r'",
            (schema,),
        ).fetchone()
        assert row is not None
        found.append(
            Version(
                which=which,
                software=None if made is None else made.software,
                at=None if made is None else made.at,
                usable=which == "built" and _usable(conn),
                bytes=row[0],
            )
        )
    return found


@cache
def fold() -> str:
    """SHA-256 of the code that folds: whatever it depends on, rather too much than too little."""
    sources = [
        *sorted(Path(projections.__file__).parent.glob("*.py")),
        *sorted(Path(ledger.events.__file__).parent.glob("*.py")),
        Path(codec.__file__),
        Path(erasure.__file__),
    ]
    digest = hashlib.sha256()
    for source in sources:
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------------------------------- building


def _make(conn: Connection) -> None:
    """Empty tables like the live ones, down to the names of what belongs to them; whatever was built before goes."""
    with conn.transaction():
        conn.execute("SELECT set_config('client_min_messages', 'warning', true)")  # nobody needs to read what CASCADE takes along
        conn.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(BUILT)))
        conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(BUILT)))
        for table in TABLES:
            conn.execute(
                sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL)").format(
                    sql.Identifier(BUILT, table), sql.Identifier(LIVE, table)
                )
            )
            _name_alike(conn, table)
            _comment(conn, table)
        _note(conn, BUILT)


_INDEXES = """
SELECT c.relname, i.indisprimary::text || i.indisunique::text || split_part(pg_get_indexdef(c.oid), ' USING ', 2)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE i.indrelid = %s::regclass ORDER BY 2, 1
"""


def _name_alike(conn: Connection, table: str) -> None:
    """Gives the indexes of the copy the names of the originals: a later migration may ask for them."""
    ours = conn.execute(_INDEXES, (f"{LIVE}.{table}",)).fetchall()
    copies = conn.execute(_INDEXES, (f"{BUILT}.{table}",)).fetchall()
    for (name, what), (copy, same) in zip(ours, copies, strict=True):
        assert what == same, "a copy has the indexes of its original"
        if copy != name:
            conn.execute(sql.SQL("ALTER INDEX {} RENAME TO {}").format(sql.Identifier(BUILT, copy), sql.Identifier(name)))


def _comment(conn: Connection, table: str) -> None:
    row = conn.execute("SELECT obj_description(%s::regclass, 'pg_class')", (f"{LIVE}.{table}",)).fetchone()
    if row is not None and row[0] is not None:
        conn.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(sql.Identifier(BUILT, table), sql.Literal(row[0])))


def _note(conn: Connection, schema: str) -> None:
    """Writes down what made the tables of a schema, as its comment."""
    made = Made(software=__version__, fold=fold(), schema=migrate.LATEST, at=datetime.now(UTC))
    conn.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(sql.Identifier(schema), msgspec.json.encode(made).decode()))


def _exists(conn: Connection, schema: str) -> bool:
    return conn.execute("SELECT to_regnamespace(%s) IS NOT NULL", (schema,)).fetchone() == (True,)


def _made(conn: Connection, schema: str) -> Made | None:
    """What made the tables of a schema, where that is written down."""
    row = conn.execute("SELECT obj_description(to_regnamespace(%s), 'pg_namespace')", (schema,)).fetchone()
    try:
        return msgspec.json.decode(row[0], type=Made) if row is not None and row[0] is not None else None
    except msgspec.MsgspecError:
        return None


def _usable(conn: Connection) -> bool:
    """Whether tables were built by this very fold, for the schema as it is."""
    made = _made(conn, BUILT)
    if made is None or (made.fold, made.schema) != (fold(), migrate.LATEST):
        return False
    return all(_columns(conn, LIVE, table) == _columns(conn, BUILT, table) != [] for table in TABLES)


def _columns(conn: Connection, schema: str, table: str) -> list[tuple[Any, ...]]:
    return conn.execute(
        "SELECT attname, atttypid, atttypmod, attnotnull FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        (f"{schema}.{table}",),
    ).fetchall()


def _verify_usable(conn: Connection) -> None:
    if _usable(conn):
        return
    made = _made(conn, BUILT)
    if made is None:
        raise Refusal("LGR-0531", "nothing was built", help="roundledger projections rebuild")
    raise Refusal(
        "LGR-0531",
        f"what was built was folded by other code (version {made.software}) or for another schema",
        help="roundledger projections rebuild, which begins anew",
    )


def _to_the_end(conn: Connection, progress: Progress | None) -> int:
    """Folds what was built up to the log's end; how many events the furthest projection passed, as far as can be told."""
    passed, end = 0, log.head(conn)
    while count := catch_up(conn, BUILT, BATCH, upto=end, batch=BATCH):
        passed += count
        if progress is not None:
            progress(min(folded_to(conn, BUILT).values()), end)
    return passed // len(PROJECTIONS)


def _stopped(conn: Connection, schema: str) -> dict[str, tuple[int, str]]:
    """Projection → the position at which it stands still, and why."""
    rows = conn.execute(
        sql.SQL("SELECT name, stopped_by, stop_reason FROM {} WHERE stopped_at IS NOT NULL ORDER BY name").format(
            sql.Identifier(schema, "positions")
        )
    )
    return {name: (by, reason) for name, by, reason in rows}


def _compared(live: Connection, built: Connection, table: str) -> TableComparison:
    ours, theirs = count_rows(live, LIVE, table), count_rows(built, BUILT, table)
    _, difference = compare_table(live, built, BUILT, table)
    return TableComparison(table=table, live=ours, built=theirs, difference=difference)


# ------------------------------------------------------------------------------------------------------------------ switching


def _switch(conn: Connection, folding: Connection) -> tuple[int, list[str]]:
    """One try, in one transaction; the position at which the tables changed places, and the views made anew."""
    with conn.transaction():
        conn.execute(
            "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)",
            (f"{_LOCK_MS}ms", f"{_LOCKS_MS}ms"),
        )
        # A batch of the live tables asks for its row of positions first of all: from here on none is under way and none begins.
        conn.execute(sql.SQL("LOCK TABLE {} IN EXCLUSIVE MODE").format(sql.Identifier(LIVE, "positions")))
        position = _bring_level(conn, folding)
        conn.execute(
            sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(
                sql.SQL(", ").join(sql.Identifier(LIVE, table) for table in TABLES)
            )
        )
        conn.execute("SELECT set_config('statement_timeout', '0', true)")
        _verify_movable(conn)
        views = _views(conn)
        conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(OLD)))
        _note(conn, OLD)
        for table in TABLES:
            _move(conn, table)
        for view, statement in views.items():
            try:
                conn.execute(statement)
            except psycopg.errors.InvalidTableDefinition:  # a column of it is a row of a live table, as a whole
                raise _cannot_move(f"view {view}, by the row type of a table") from None
        conn.execute(sql.SQL("DROP SCHEMA {}").format(sql.Identifier(BUILT)))
    return position, list(views)


def _bring_level(conn: Connection, folding: Connection) -> int:
    """Folds what was built to where the live tables are, which stand still meanwhile; the lowest position of any."""
    stopped = _stopped(conn, LIVE)
    live = {name: _within_the_log(folding, position) for name, position in folded_to(conn, LIVE).items()}
    for projection in PROJECTIONS:
        catch_up(folding, BUILT, upto=live[projection.name], projections=(projection,), batch=BATCH)
    built, stuck = folded_to(folding, BUILT), _stopped(folding, BUILT)
    for name, (position, reason) in stuck.items():
        if name not in stopped or stopped[name][0] > position:
            raise Refusal(
                "LGR-0531",
                f"what was built of projection {name} stands still at position {position}: {reason}",
                help="nothing was changed; install the release that can fold the event, then: roundledger projections rebuild",
            )
    assert all(built[name] >= live[name] for name in live if name not in stuck), "what was built is where the live tables are"
    return min(built.values())


def _within_the_log(conn: Connection, position: int) -> int:
    """Where live tables are that stand at this position: at the log's end, where it is one that was never drawn."""
    return position if position <= log.drawn(conn) else log.head(conn)


_VIEWS = """
SELECT DISTINCT c.oid::regclass::text, n.nspname, c.relname, c.relkind, pg_get_viewdef(c.oid), c.reloptions
FROM pg_depend AS d JOIN pg_rewrite AS r ON r.oid = d.objid JOIN pg_class AS c ON c.oid = r.ev_class
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (%s::regclass[])
AND c.relkind IN ('v', 'm') ORDER BY 1
"""


def _views(conn: Connection) -> dict[str, sql.Composed]:
    """View over the live tables → the statement that makes it anew; its owner, rights and comments stay."""
    conn.execute("SELECT set_config('search_path', '', true)")  # so that a definition names the schema of all it names
    found: dict[str, sql.Composed] = {}
    for name, schema, view, kind, definition, options in conn.execute(_VIEWS, (_live_tables(),)):
        if kind == "m":
            raise _cannot_move(f"materialized view {name}")
        given = sql.SQL(" WITH ({})").format(sql.SQL(", ").join(map(_option, options))) if options else sql.SQL("")
        found[name] = sql.SQL("CREATE OR REPLACE VIEW {}{} AS ").format(sql.Identifier(schema, view), given) + sql.SQL(definition)
    return found


def _option(text: str) -> sql.Composed:
    name, _, value = text.partition("=")
    return sql.SQL("{} = {}").format(sql.Identifier(name), sql.Literal(value))


_HANGING = """
SELECT pg_describe_object(d.classid, d.objid, d.objsubid)
FROM pg_depend AS d
WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (%(tables)s::regclass[])
AND (d.classid IN ('pg_proc'::regclass, 'pg_policy'::regclass, 'pg_publication_rel'::regclass)
    OR d.classid = 'pg_trigger'::regclass AND NOT (SELECT tgisinternal FROM pg_trigger WHERE oid = d.objid)
    OR d.classid = 'pg_constraint'::regclass
        AND (SELECT conrelid <> d.refobjid AND contype = 'f' FROM pg_constraint WHERE oid = d.objid)
    OR d.classid = 'pg_class'::regclass AND (SELECT relkind IN ('r', 'p', 'f') FROM pg_class WHERE oid = d.objid))
ORDER BY 1
"""


def _verify_movable(conn: Connection) -> None:
    """Whether nothing hangs on the live tables that would stay with the old ones. Raises Refusal LGR-0533."""
    hanging = [what for (what,) in conn.execute(_HANGING, {"tables": _live_tables()})]
    if hanging:
        raise _cannot_move("; ".join(hanging))


def _cannot_move(what: str) -> Refusal:
    return Refusal(
        "LGR-0533",
        f"this hangs on the live tables and would stay with the old ones: {what}",
        help="nothing was changed; drop it, switch, and make it again",
    )


def _live_tables() -> list[str]:
    return [f"{LIVE}.{table}" for table in TABLES]


def _move(conn: Connection, table: str) -> None:
    """The live table goes to the old ones, and what was built takes its place, with its owner, rights and settings."""
    live, built = sql.Identifier(LIVE, table), sql.Identifier(BUILT, table)
    row = conn.execute(
        "SELECT c.relowner::regrole::text, c.reloptions, c.relowner <> b.relowner FROM pg_class AS c, pg_class AS b "
        "WHERE c.oid = %s::regclass AND b.oid = %s::regclass",
        (f"{LIVE}.{table}", f"{BUILT}.{table}"),
    ).fetchone()
    assert row is not None
    owner, options, other = row
    if options:
        conn.execute(sql.SQL("ALTER TABLE {} SET ({})").format(built, sql.SQL(", ").join(map(_option, options))))
    for grant in _grants(conn, table):
        conn.execute(grant)
    if other:
        conn.execute(sql.SQL("ALTER TABLE {} OWNER TO {}").format(built, sql.SQL(owner)))
    conn.execute(sql.SQL("ALTER TABLE {} SET SCHEMA {}").format(live, sql.Identifier(OLD)))
    conn.execute(sql.SQL("ALTER TABLE {} SET SCHEMA {}").format(built, sql.Identifier(LIVE)))


_GRANTS = """
SELECT a.privilege_type, a.is_grantable, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, of.attname
FROM (
    SELECT relacl AS acl, NULL::name AS attname, relowner FROM pg_class WHERE oid = %(table)s::regclass
    UNION ALL
    SELECT attacl, attname, NULL FROM pg_attribute WHERE attrelid = %(table)s::regclass AND attacl IS NOT NULL
) AS of CROSS JOIN LATERAL aclexplode(of.acl) AS a
WHERE a.grantee IS DISTINCT FROM (SELECT relowner FROM pg_class WHERE oid = %(table)s::regclass)
"""


def _grants(conn: Connection, table: str) -> Iterator[sql.Composed]:
    """The statements that give on what was built the rights that somebody has on the live table."""
    for right, grantable, to, column in conn.execute(_GRANTS, {"table": f"{LIVE}.{table}"}).fetchall():
        on = sql.SQL("") if column is None else sql.SQL(" ({})").format(sql.Identifier(column))
        more = sql.SQL(" WITH GRANT OPTION") if grantable else sql.SQL("")
        yield sql.SQL("GRANT {}{} ON TABLE {} TO {}{}").format(
            sql.SQL(right), on, sql.Identifier(BUILT, table), sql.SQL(to), more
        )


def _tables_in(conn: Connection, schema: str) -> Sequence[str]:
    rows = conn.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r' ORDER BY relname", (schema,)
    )
    return [name for (name,) in rows]


def _readers(conn: Connection) -> str:
    """Who holds the live tables, for a person."""
    rows = conn.execute(
        "SELECT DISTINCT a.pid, a.usename, a.application_name, a.state, "
        "extract(epoch FROM clock_timestamp() - a.xact_start)::bigint FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) "
        "WHERE l.relation = ANY (%s::regclass[]) AND l.granted AND a.pid <> pg_backend_pid() ORDER BY 5 DESC NULLS LAST LIMIT 3",
        (_live_tables(),),
    )
    return "; ".join(
        f"process {pid} ({', '.join(filter(None, (user, application, state)))}), for {seconds or 0} s"
        for pid, user, application, state, seconds in rows
    )
