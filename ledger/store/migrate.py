"""The database's schema, version by version.

The migrations are the files `migrations/NNNN_name.sql`, numbered from 1 without a gap. Each runs once, in one transaction, under
one advisory lock, and leaves a row with its checksum in `ledger.schema_version`. A released file is never edited: what is to be
different goes into the next one. Only `init` changes a database; a service that finds another schema refuses to start.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import psycopg

from ledger.errors import Refusal
from ledger.store.server import session, which

_LOCK = int.from_bytes(hashlib.sha256(b"roundledger schema").digest()[:8], "big", signed=True)
"""The advisory lock's number: any, but always the same."""

_HOUSEKEEPING = """
CREATE TABLE ledger.schema_version (
    version    integer     PRIMARY KEY CHECK (version > 0),
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    checksum   text        NOT NULL
);
COMMENT ON SCHEMA ledger IS 'The write side: the log of events and what guards it.';
COMMENT ON TABLE ledger.schema_version IS 'The migrations that made this database; written by roundledger db init.';
COMMENT ON COLUMN ledger.schema_version.version IS 'Number of the migration; the schema''s version is the greatest.';
COMMENT ON COLUMN ledger.schema_version.name IS 'What the migration is called.';
COMMENT ON COLUMN ledger.schema_version.applied_at IS 'When it was applied.';
COMMENT ON COLUMN ledger.schema_version.checksum IS 'SHA-256 (hex) of the migration''s text as it was applied.';
"""


@dataclass(frozen=True)
class Migration:
    """One step from a schema version to the next."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations of this program, in order."""
    found = [
        # A checkout that turns line ends must not change a checksum.
        Migration(int(match[1]), match[2], file.read_text(encoding="utf-8").replace("\r\n", "\n"))
        for file in sorted(resources.files("ledger.store").joinpath("migrations").iterdir(), key=lambda file: file.name)
        if (match := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name))
    ]
    assert [one.version for one in found] == list(range(1, len(found) + 1)), "the migrations are not numbered 1, 2, 3 …"
    return tuple(found)


LATEST: int = len(migrations())
"""The schema version of this program."""


def init(dsn: str) -> list[Migration]:
    """Makes the schema or brings it up to `LATEST`; returns what was applied, nothing where it is current.

    Any number of processes may do this at once. Raises Refusal LGR-0510 (newer schema), LGR-0511 (changed migration), LGR-0512
    (a migration failed; nothing of it stays), LGR-0515 (unfit database).
    """
    with session(dsn) as connection:
        return [one for one in migrations() if _apply(connection, one)]


def current(dsn: str) -> int:
    """The database's schema version; 0 where there is none."""
    with session(dsn) as connection:
        return max(_applied(connection), default=0)


def require_current(dsn: str) -> None:
    """Returns where the database has exactly this program's schema. Never changes it.

    Raises Refusal LGR-0502 (older or none), LGR-0510 (newer), LGR-0511 (other migrations than ours were applied).
    """
    with session(dsn) as connection:
        verify_current(connection)


def verify_current(connection: psycopg.Connection[Any]) -> None:
    """As `require_current`, over a connection that is there."""
    applied = _applied(connection)
    _verify(applied, connection)
    version = max(applied, default=0)
    if version < LATEST:
        raise Refusal(
            "LGR-0502",
            f"the database has schema version {version}, and this program needs {LATEST}"
            if version
            else "the database has no schema yet",
            help="type: roundledger db init",
        )


def _apply(connection: psycopg.Connection[Any], migration: Migration) -> bool:
    """Applies one migration, unless somebody has. One transaction: a version is there whole or not at all."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        applied = _applied(connection)
        _verify(applied, connection)
        if migration.version in applied:
            return False
        if not applied:
            _require_utf8(connection)
        try:
            connection.execute(migration.sql.encode())
            if not applied:  # after the first migration, which makes the schema
                connection.execute(_HOUSEKEEPING)
            connection.execute(
                "INSERT INTO ledger.schema_version (version, name, checksum) VALUES (%s, %s, %s)",
                [migration.version, migration.name, migration.checksum],
            )
        except psycopg.Error as error:
            if connection.broken or isinstance(error, psycopg.errors.InsufficientPrivilege):
                raise  # `session` knows what to say
            raise Refusal(
                "LGR-0512",
                f"migration {migration.version:04}_{migration.name} failed, and nothing of it stays: {error}",
                help="see what the database says; what the migration makes must not exist already",
            ) from error
    return True


def _applied(connection: psycopg.Connection[Any]) -> dict[int, tuple[str, str]]:
    """Version → name and checksum of what was applied."""
    if connection.execute("SELECT to_regclass('ledger.schema_version')").fetchone() == (None,):
        return {}
    rows = connection.execute("SELECT version, name, checksum FROM ledger.schema_version ORDER BY version")
    return {version: (name, checksum) for version, name, checksum in rows}


def _verify(applied: dict[int, tuple[str, str]], connection: psycopg.Connection[Any]) -> None:
    newest = max(applied, default=0)
    if newest > LATEST:
        raise Refusal(
            "LGR-0510",
            f"the database has schema version {newest}, and this program knows only {LATEST}",
            help=f"use the version of roundledger that made the schema, or a later one; {which(connection)}",
        )
    for ours in migrations()[:newest]:
        if applied.get(ours.version) != (ours.name, ours.checksum):
            raise Refusal(
                "LGR-0511",
                f"another program made this schema: its migration {ours.version:04}_{ours.name} is not that of this one",
                value=" ".join(applied.get(ours.version, ("none",))),
                help=f"use the program that made it, for it is left as it is; {which(connection)}",
            )


def _require_utf8(connection: psycopg.Connection[Any]) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Refusal(
            "LGR-0515",
            "the database's encoding is not UTF8, so it cannot hold the names of chances",
            field="encoding",
            value=encoding,
            help="make another one: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0",
        )
