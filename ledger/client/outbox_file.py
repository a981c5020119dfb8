"""The file of an outbox: how it is made, opened and flushed to the disk, and what is said where that cannot be."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.client.happenings import is_name
from ledger.errors import Refusal

BUSY_SECONDS = 20.0
"""How long a process waits for another that is writing to the same file."""
_APPLICATION = 0x524C4F42
"""`PRAGMA application_id` of an outbox."""
_VERSION = 1

_SCHEMA = f"""
CREATE TABLE numbering (
    terminal TEXT NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,
    last INTEGER NOT NULL DEFAULT 0,
    one INTEGER NOT NULL UNIQUE DEFAULT 1 CHECK (one = 1)
);
CREATE TABLE events (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    type TEXT NOT NULL,
    round TEXT NOT NULL,
    body TEXT NOT NULL,
    put_at TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'acknowledged', 'rejected')),
    answered_at TEXT,
    positions TEXT,
    problem TEXT,
    seen INTEGER NOT NULL DEFAULT 0,
    UNIQUE (epoch, sequence)
);
CREATE TABLE received (
    epoch INTEGER PRIMARY KEY,
    contiguous INTEGER NOT NULL,
    heard_at TEXT NOT NULL
);
CREATE INDEX waiting ON events (n) WHERE state = 'waiting';
CREATE INDEX rejected ON events (n) WHERE state = 'rejected';
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
"""

_FAILURE = """
CREATE TABLE IF NOT EXISTS failure (
    at TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('link', 'refused')),
    code TEXT,
    words TEXT NOT NULL,
    one INTEGER NOT NULL UNIQUE DEFAULT 1 CHECK (one = 1)
)
"""
"""The last failure of a post as a whole; made where the file is of before it was kept."""
_MADE_UP = "CREATE TABLE IF NOT EXISTS made_up (round TEXT PRIMARY KEY)"
"""The rounds that were opened to be played with made-up outcomes; made likewise."""


def opened(path: Path, terminal: str | None) -> tuple[sqlite3.Connection, str]:
    """The file at `path`, made where there is none and a terminal is named; and whose outbox it is. Each commit is flushed.

    Raises Refusal LGR-0720: none there and no terminal named, another terminal's, or a file that cannot be used.
    """
    with told(path):
        if terminal is None and not path.exists():
            raise _none(path)
        if terminal is not None and not is_name(terminal):
            detail = f"no terminal can be called {terminal}"
            raise unfit(path, detail, "an id is 1 to 64 ASCII letters, digits, dots, dashes and underscores")
        _make(path)
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            _verify(db, path, terminal)
            for setting in ("journal_mode = WAL", "synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
                db.execute(f"PRAGMA {setting}")
            return db, _furnished(db, path, terminal)
        except BaseException:
            db.close()
            raise


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """One transaction that writes, durable at its end; undone where the block raises."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _make(path: Path) -> None:
    """The file, for its owner only, and its name on the disk as well."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _verify(db: sqlite3.Connection, path: Path, terminal: str | None) -> None:
    """Refuses a file that is something else, before anything of it is touched."""
    db.execute("BEGIN")  # another process may be making it at this moment
    [(application,)] = db.execute("PRAGMA application_id")
    [(tables,)] = db.execute("SELECT count(*) FROM sqlite_schema")
    db.execute("COMMIT")
    if application not in (0, _APPLICATION) or (application == 0 and tables):
        raise unfit(path, "this file is no outbox", "name another, which is then made")
    if application == 0 and terminal is None:
        raise _none(path)


def _furnished(db: sqlite3.Connection, path: Path, terminal: str | None) -> str:
    """Makes the tables where there are none; whose outbox it is."""
    with transaction(db):
        [(version,)] = db.execute("PRAGMA user_version")
        if version == 0:
            for statement in _SCHEMA.split(";\n"):
                db.execute(statement)
            db.execute("INSERT INTO numbering (terminal) VALUES (?)", (terminal,))
        elif version != _VERSION:
            raise unfit(path, f"it was written by a later release (version {version})", "use that release")
        db.execute(_FAILURE)
        db.execute(_MADE_UP)
    [(found,)] = db.execute("SELECT terminal FROM numbering")
    if terminal is not None and terminal != found:
        raise unfit(path, f"this is the outbox of terminal {found}, not of {terminal}", "each terminal has its own")
    return str(found)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """What SQLite and the file system say, as refusals."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise Refusal(
                "LGR-0721",
                "the disk of the outbox is full; nothing of this was stored",
                field="outbox",
                value=str(path),
                help="make room, then do it again",
            ) from error
        if code == sqlite3.SQLITE_BUSY:
            raise unfit(path, f"another process has been writing to it for {BUSY_SECONDS:g} s", "try again") from error
        raise unfit(path, f"SQLite says: {error}", "put it on a local disk that can be written") from error
    except OSError as error:
        raise unfit(path, f"the file cannot be opened: {error.strerror}", "name a file on a local disk") from error


def unfit(path: Path, detail: str, help_: str) -> Refusal:
    """Refusal LGR-0720."""
    return Refusal("LGR-0720", detail, field="outbox", value=str(path), help=help_)


def _none(path: Path) -> Refusal:
    return unfit(path, "there is no outbox here", "name its terminal, and it is made")
