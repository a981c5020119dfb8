"""One Postgres for the whole run, and a database of its own for each test that asks for one.

The cluster lives in memory (/dev/shm) where there is room, is shared by all pytest-xdist workers, and goes with its directory at
the end. Databases are copies of a migrated template and are never dropped one by one: that would cost more than making them. A
run that was killed is cleared away by a later one, which knows it by its lock.
"""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from psycopg import conninfo

from ledger.store import files, migrate
from ledger.store.embedded import EmbeddedPostgres

_RUN = pytest.StashKey[Path]()
_LOCK = pytest.StashKey[int]()
_PREFIX = f"roundledger-tests-{os.geteuid()}-"
_ROOM = 1 << 30
_FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "autovacuum_naptime": "1d",
}
"""Nothing of a test outlives the machine's crash, so nothing needs to reach a disk."""

_numbers = count(1)

# How long an input takes to be made is the machine's business: four workers share two processors.
hypothesis.settings.register_profile("suite", suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    given = getattr(config, "workerinput", None)
    if given is not None:
        config.stash[_RUN] = Path(given["run"])
    else:
        _sweep()
        run = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_place()))
        run.chmod(0o711)  # as root the server is another user
        config.stash[_RUN] = run
        config.stash[_LOCK] = files.open_lock(run / "lock")
        fcntl.flock(config.stash[_LOCK], fcntl.LOCK_EX)
    for name in [name for name in os.environ if name.startswith("PG") or name == "LEDGER_DSN"]:
        del os.environ[name]  # tests choose their server themselves
    os.environ["LEDGER_DATA_DIR"] = str(config.stash[_RUN] / "home")  # and stay away from the user's own ledger


def pytest_collection_finish() -> None:
    """The collector looks no more through what pytest has made of six thousand tests."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["run"] = str(node.config.stash[_RUN])


def pytest_unconfigure(config: pytest.Config) -> None:
    lock = config.stash.get(_LOCK, None)
    if lock is not None:
        _clear(config.stash[_RUN])
        os.close(lock)


@pytest.fixture(scope="session")
def server_dsn(pytestconfig: pytest.Config) -> Iterator[str]:
    """The run's server, at its maintenance database. Durability is off: nothing here proves that a commit survives."""
    with EmbeddedPostgres(pytestconfig.stash[_RUN], settings=_FAST) as server:
        yield server.conninfo("postgres")


@pytest.fixture(scope="session")
def _admin(server_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def _template(pytestconfig: pytest.Config, server_dsn: str, _admin: psycopg.Connection[Any]) -> str:
    name, building = "migrated", "migrated_building"
    with files.locked(pytestconfig.stash[_RUN] / "template.lock"):
        if not _admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            _admin.execute(f"DROP DATABASE IF EXISTS {building}")  # of a worker that died over it
            _admin.execute(f"CREATE DATABASE {building}")
            migrate.init(conninfo.make_conninfo(server_dsn, dbname=building))
            _admin.execute(f"ALTER DATABASE {building} RENAME TO {name}")
    return name


@pytest.fixture
def dsn(server_dsn: str, _admin: psycopg.Connection[Any], _template: str) -> str:
    """A database of the test's own with the current schema."""
    return _database(server_dsn, _admin, _template)


@pytest.fixture(scope="module")
def shared_dsn(server_dsn: str, _admin: psycopg.Connection[Any], _template: str) -> str:
    """A database that the tests of one module share: what takes long to play is played once, and then only read."""
    return _database(server_dsn, _admin, _template)


@pytest.fixture
def bare_dsn(server_dsn: str, _admin: psycopg.Connection[Any]) -> str:
    """A database of the test's own without any schema."""
    return _database(server_dsn, _admin, "template0")


def _database(server_dsn: str, admin: psycopg.Connection[Any], template: str) -> str:
    name = f"test_{os.environ.get('PYTEST_XDIST_WORKER', 'gw')}_{next(_numbers)}"
    admin.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")  # half the time of the default, in memory
    return conninfo.make_conninfo(server_dsn, dbname=name)


def _place() -> Path:
    memory = Path("/dev/shm")
    fits = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ROOM
    return memory if fits else Path(tempfile.gettempdir())


def _sweep() -> None:
    for place in {_place(), Path(tempfile.gettempdir())}:
        for run in place.glob(f"{_PREFIX}*"):
            try:
                settled = run.stat().st_mtime < time.time() - 60  # a run that has just begun has no lock yet
                if settled and not files.held(run / "lock"):
                    _clear(run)
            except OSError:
                continue  # another run is clearing it away


def _clear(run: Path) -> None:
    EmbeddedPostgres(run).stop(now=True)
    shutil.rmtree(run, ignore_errors=True)
