"""What commands on a database share: reaching it, reading one state of it, and saying clearly when that is not possible."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cli.near import did_you_mean
from cli.output import say

if TYPE_CHECKING:
    import psycopg


@contextmanager
def database(*, schema: bool = True) -> Iterator[str]:
    """The connection string of the ledger's Postgres, which stays up meanwhile.

    With `schema`, refuses (LGR-0502) a database without the schema of this release; nothing is ever migrated here. A database
    that cannot be reached, goes away or is not as a ledger needs it is a refusal too (`ledger.store.server.told`).
    """
    from ledger.logs import begin_with_words
    from ledger.store.migrate import require_current
    from ledger.store.server import postgres, told

    begin_with_words()
    hint_at_variables()
    with postgres() as dsn, told(dsn):
        if schema:
            require_current(dsn)
        yield dsn


@contextmanager
def reading(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection that sees one state, for which the projections have read the whole log, whether or not a service runs."""
    import psycopg

    from projections.runner import catch_up

    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        with conn.transaction():
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield conn


def position(conn: psycopg.Connection[Any], projection: str) -> tuple[str, list[str]]:
    """Up to where a projection has read, and a note where it stands still: what it shows is then old, and has to say so."""
    from projections import queries

    for found in queries.positions(conn):
        if found.name == projection:
            if found.stopped_by is None:
                return found.position, []
            return found.position, [f"figures end before position {found.stopped_by}, which cannot be read: {found.stop_reason}"]
    return "0", []


def hint_at_variables() -> None:
    """Says so, where libpq's variables are set that alone name no server: whoever set them may think that theirs is used."""
    from ledger.store import server

    alone = [name for name in ("PGPORT", "PGUSER") if os.environ.get(name)]
    if alone and server.named() is None:
        named = f"{' and '.join(alone)} alone {'name' if len(alone) > 1 else 'names'} no server"
        say(f"hint: {named}, so the embedded Postgres is used; PGHOST or LEDGER_DSN names yours")


def known_tables(dsn: str, conn: psycopg.Connection[Any]) -> list[str]:
    """The tables of the properties in force, and those that rounds were played at."""
    from cli.property import properties
    from projections import queries

    configured = {table.id for config in properties(dsn) for table in config.tables}
    return sorted(configured | set(queries.tables_played(conn)))


def strange_table(dsn: str, conn: psycopg.Connection[Any], table: str | None) -> list[str]:
    """A note, with what may be meant, where a table that was asked for is none that is known."""
    known = known_tables(dsn, conn)
    if table is None or table in known:
        return []
    near = did_you_mean(table, known)
    return [f"no table {table} is known; {f'{near} ' if near else ''}tables: {', '.join(known) or 'none'}"]


def houses(dsn: str) -> str:
    """The properties in force, for a report's header; empty where none is configured."""
    from cli.property import properties

    return "; ".join(f"{config.name} ({config.id})" for config in properties(dsn))
