"""The schema's versions: made once by many, refused where they differ, and never changed but by `init`."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import conninfo

from ledger.errors import Refusal
from ledger.store import migrate, server

_WAITING = (
    "SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database WHERE NOT granted AND datname = current_database()"
)
_APPEND = "INSERT INTO ledger.events (originator_id, originator_version, topic, state) VALUES (gen_random_uuid(), 1, 't', '{}')"
INIT = "import sys; from ledger.store import migrate; print(len(migrate.init(sys.argv[1])))"


def execute(dsn: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def add(monkeypatch: pytest.MonkeyPatch, migration: migrate.Migration) -> None:
    """As if the program were a version younger."""
    ours = (*migrate.migrations(), migration)
    monkeypatch.setattr(migrate, "migrations", lambda: ours)
    monkeypatch.setattr(migrate, "LATEST", migration.version)


def test_init_makes_the_schema_once(bare_dsn: str) -> None:
    assert migrate.current(bare_dsn) == 0
    assert [one.version for one in migrate.init(bare_dsn)] == list(range(1, migrate.LATEST + 1))
    assert migrate.current(bare_dsn) == migrate.LATEST
    assert migrate.init(bare_dsn) == []
    migrate.require_current(bare_dsn)
    recorded = execute(
        bare_dsn, "SELECT version, name, checksum, applied_at <= now() FROM ledger.schema_version ORDER BY version"
    )
    assert recorded == [(one.version, one.name, one.checksum, True) for one in migrate.migrations()]


def test_eight_processes_make_it_at_once(bare_dsn: str) -> None:
    command = [sys.executable, "-c", INIT, bare_dsn]
    crowd = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    said = [process.communicate(timeout=60) for process in crowd]
    assert [process.returncode for process in crowd] == [0] * 8, said
    assert sum(int(out) for out, _ in said) == migrate.LATEST, "each migration is applied by exactly one"
    migrate.require_current(bare_dsn)


def test_a_database_without_a_schema_is_refused_with_what_to_type(bare_dsn: str) -> None:
    with pytest.raises(Refusal) as refused:
        migrate.require_current(bare_dsn)
    assert refused.value.code == "LGR-0502"
    assert "roundledger db init" in str(refused.value.help)
    assert migrate.current(bare_dsn) == 0, "it was looked at, not migrated"


def test_an_older_schema_is_refused_and_left_alone(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    coming = migrate.Migration(migrate.LATEST + 1, "coming", "CREATE TABLE ledger.coming ()")
    add(monkeypatch, coming)
    with pytest.raises(Refusal) as refused:
        migrate.require_current(dsn)
    assert refused.value.code == "LGR-0502"
    assert f"{coming.version - 1}, and this program needs {coming.version}" in refused.value.detail
    assert "roundledger db init" in str(refused.value.help)
    assert execute(dsn, "SELECT to_regclass('ledger.coming')") == [(None,)]
    assert migrate.init(dsn) == [coming]
    migrate.require_current(dsn)


NEWER = f"INSERT INTO ledger.schema_version (version, name, checksum) VALUES ({migrate.LATEST + 1}, 'later', '')"
CHANGED = "UPDATE ledger.schema_version SET checksum = repeat('0', 64) WHERE version = 1"


def test_a_newer_schema_is_refused(dsn: str) -> None:
    execute(dsn, NEWER)
    for act in (migrate.require_current, migrate.init):
        with pytest.raises(Refusal, match="LGR-0510"):
            act(dsn)


@pytest.mark.parametrize("made", [NEWER, CHANGED])
def test_a_schema_of_another_program_is_refused_with_the_place_where_it_is(dsn: str, made: str) -> None:
    execute(dsn, made)
    with pytest.raises(Refusal) as refused:
        migrate.init(dsn)
    where = conninfo.conninfo_to_dict(dsn)
    assert f"this ledger is the database {where['dbname']} at {where['host']}; LEDGER_DSN names another" in str(
        refused.value.help
    )


@pytest.mark.parametrize("made", [NEWER, CHANGED])
def test_in_a_data_directory_the_directory_is_named(made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_DATA_DIR", str(tmp_path))
    tmp_path.chmod(0o711)  # as root the server is another user
    with server.postgres() as dsn:
        migrate.init(dsn)
        execute(dsn, made)
        with pytest.raises(Refusal) as refused:
            migrate.require_current(dsn)
    assert f"this ledger is in the data directory {tmp_path}; LEDGER_DATA_DIR names another" in str(refused.value.help)


@pytest.mark.parametrize("change", ["SET checksum = repeat('0', 64)", "SET name = 'other'"])
def test_a_changed_migration_is_refused(dsn: str, change: str) -> None:
    execute(dsn, f"UPDATE ledger.schema_version {change} WHERE version = 1")
    for act in (migrate.require_current, migrate.init):
        with pytest.raises(Refusal, match="LGR-0511"):
            act(dsn)


def test_a_failing_migration_leaves_nothing(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = migrate.Migration(migrate.LATEST + 1, "broken", "CREATE TABLE ledger.half (); SELECT 1/0")
    add(monkeypatch, broken)
    with pytest.raises(Refusal, match=r"LGR-0512.*division by zero"):
        migrate.init(dsn)
    assert execute(dsn, "SELECT to_regclass('ledger.half')") == [(None,)]
    assert migrate.current(dsn) == broken.version - 1


def test_a_migration_and_who_appends_do_not_stop_each_other(bare_dsn: str) -> None:
    """An append looks into the log before it writes there. A migration that takes the log in two steps, by a weaker lock and then
    by a stronger one, has the server end one of the two as a deadlock."""
    first, *others = migrate.migrations()

    def apply(one: migrate.Migration) -> bool:
        with psycopg.connect(bare_dsn, autocommit=True) as conn:
            return migrate._apply(conn, one)

    apply(first)
    with psycopg.connect(bare_dsn) as appending, ThreadPoolExecutor(1) as pool:
        for one in others:
            appending.execute("SELECT FROM ledger.events LIMIT 1")
            applied = pool.submit(apply, one)
            while not applied.done() and execute(bare_dsn, _WAITING) == [(0,)]:
                time.sleep(0.005)
            appending.execute(_APPEND)
            appending.commit()
            assert applied.result(), one.name
    assert execute(bare_dsn, "SELECT count(*) FROM ledger.events") == [(len(others),)]


def test_a_database_of_another_encoding_is_refused(server_dsn: str) -> None:
    execute(server_dsn, "CREATE DATABASE latin ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(Refusal, match="LGR-0515"):
            migrate.init(conninfo.make_conninfo(server_dsn, dbname="latin"))
    finally:
        execute(server_dsn, "DROP DATABASE latin")


def test_a_role_without_rights_is_refused_by_name(bare_dsn: str, dsn: str, server_dsn: str) -> None:
    execute(server_dsn, "DO $$ BEGIN CREATE ROLE guest; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    as_guest = {"options": "-c role=guest"}
    with pytest.raises(Refusal, match=r"LGR-0517.*permission denied"):
        migrate.init(conninfo.make_conninfo(bare_dsn, **as_guest))
    with pytest.raises(Refusal, match=r"LGR-0517.*permission denied"):
        migrate.require_current(conninfo.make_conninfo(dsn, **as_guest))


def test_every_table_and_view_says_what_it_is(dsn: str) -> None:
    mute = execute(
        dsn,
        "SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'ledger' AND c.relkind IN ('r', 'v', 'p') AND obj_description(c.oid, 'pg_class') IS NULL",
    )
    assert mute == []


CHANGES = ("UPDATE ledger.events SET topic = ''", "DELETE FROM ledger.events", "TRUNCATE ledger.events CASCADE")


@pytest.mark.parametrize("change", CHANGES)
def test_the_log_refuses_every_change(dsn: str, change: str) -> None:
    columns = "originator_id, originator_version, topic, state"
    execute(dsn, f"INSERT INTO ledger.events ({columns}) VALUES (gen_random_uuid(), 1, 't', '{{}}')")
    with pytest.raises(psycopg.Error):
        execute(dsn, change)
    assert execute(dsn, "SELECT topic, body FROM ledger.log") == [("t", {})]
