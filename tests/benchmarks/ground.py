"""The ground that a benchmark stands on: a Postgres of its own with all its durability, on a disk, and what it says of itself."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo, sql

from ledger.store import migrate
from ledger.store.embedded import EmbeddedPostgres

SETTINGS: Mapping[str, str] = {"max_connections": "400", "max_wal_size": "8GB", "checkpoint_timeout": "1h"}
"""Over the embedded server's own: room for all clients, and no checkpoint but those that the benchmark asks for."""

DURABLE = ("fsync", "synchronous_commit", "full_page_writes")
_MEMORY = ("tmpfs", "ramfs")


class Ground:
    """A running server with one migrated database."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.admin = psycopg.connect(dsn, autocommit=True)

    def close(self) -> None:
        self.admin.close()

    def describe(self) -> str:
        """The machine and the server in two lines. Asserts that a commit is one."""
        shown = {name: self._show(name) for name in (*DURABLE, "wal_sync_method", "data_directory", "server_version")}
        for name in DURABLE:
            assert shown[name] == "on", f"{name} is {shown[name]}"
        disk = filesystem(Path(shown["data_directory"]))
        assert disk not in _MEMORY, f"{shown['data_directory']} is in memory"
        return (
            f"Postgres {shown['server_version']} on {disk or 'a disk'}: "
            + ", ".join(f"{name} {shown[name]}" for name in DURABLE)
            + f", {shown['wal_sync_method']}\n"
            f"{os.cpu_count()} processors for server and clients together, Python {platform.python_version()}, "
            f"psycopg {psycopg.__version__} ({psycopg.pq.__impl__}), load {os.getloadavg()[0]:.1f} at the start"
        )

    def checkpoint(self) -> None:
        """What was written before is not written out during the next measurement."""
        self.admin.execute("CHECKPOINT")

    @contextmanager
    def flush_of(self, milliseconds: int) -> Iterator[None]:
        """A slower disk: every flush waits this long first, however few wait with it."""
        settings = {"commit_delay": milliseconds * 1000, "commit_siblings": 0}
        for name, value in settings.items():
            self._set(name, value)
        try:
            yield
        finally:
            for name in settings:
                self._set(name, None)

    def wal(self) -> int:
        """Bytes of write-ahead log written so far."""
        (bytes_,) = self.one("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
        return int(bytes_)

    def database(self, name: str, *, template: str | None = None) -> str:
        """A new database: empty and migrated, or a copy of another to which nobody is connected. Its connection string."""
        given = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            given += sql.SQL(" TEMPLATE {} STRATEGY FILE_COPY").format(sql.Identifier(template))
        self.admin.execute(given)
        dsn = conninfo.make_conninfo(self.dsn, dbname=name)
        if template is None:
            migrate.init(dsn)
        return dsn

    def one(self, query: str, *params: Any) -> tuple[Any, ...]:
        row = self.admin.execute(query, params).fetchone()
        assert row is not None
        return row

    def _show(self, name: str) -> str:
        (value,) = self.one("SELECT current_setting(%s)", name)
        return str(value)

    def _set(self, name: str, value: int | None) -> None:
        """For every session, from its next statement on."""
        to = sql.SQL("ALTER SYSTEM RESET {}") if value is None else sql.SQL("ALTER SYSTEM SET {} = {}")
        self.admin.execute(to.format(sql.Identifier(name), sql.Literal(value)))
        self.admin.execute("SELECT pg_reload_conf()")


@contextmanager
def ground(given: Path | None = None, **settings: str) -> Iterator[Ground]:
    """A server on a disk for as long as the block runs, under `given` or where temporary files go, with such settings."""
    with place(given) as directory, EmbeddedPostgres(directory, settings={**SETTINGS, **settings}) as server:
        migrate.init(server.conninfo())
        stands = Ground(server.conninfo())
        try:
            yield stands
        finally:
            stands.close()


@contextmanager
def place(given: Path | None = None) -> Iterator[Path]:
    """A directory on a disk, which is removed at the end. Exits where there is none."""
    candidates = [given] if given else [Path(tempfile.gettempdir()), Path("/var/tmp"), Path.cwd()]
    for parent in candidates:
        if parent.is_dir() and os.access(parent, os.W_OK) and filesystem(parent) not in _MEMORY:
            break
    else:
        sys.exit(f"no directory on a disk among {', '.join(map(str, candidates))}: name one with --dir")
    with tempfile.TemporaryDirectory(prefix="roundledger-bench-", dir=parent) as directory:
        Path(directory).chmod(0o711)  # as root the server is another user
        yield Path(directory)


def filesystem(path: Path) -> str:
    """The type of the filesystem that holds `path`; empty where the system does not tell."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return ""
    holding = [(mount, type_) for _, mount, type_, *_ in mounts if path.resolve().is_relative_to(mount)]
    return max(holding, key=lambda each: len(each[0]), default=("", ""))[1]
