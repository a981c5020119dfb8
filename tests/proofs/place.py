"""Where a proof runs: a Postgres of its own with a house of many tables, on disk, gone at the end."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ledger.application import Rounds
from ledger.property import OptIn, Property, Table
from ledger.store import migrate
from ledger.store.embedded import EmbeddedPostgres


def end_cleanly() -> None:
    """A SIGTERM ends the proof as Ctrl-C does: its processes and its server go as well."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@contextmanager
def directory() -> Iterator[Path]:
    """A directory for the length of the block, which a server that is another user's can enter."""
    with tempfile.TemporaryDirectory(prefix="roundledger-proof-") as name:
        path = Path(name)
        path.chmod(0o711)
        yield path


def house(tables: int) -> Property:
    """A house of so many roulette tables: T01, T02 …"""
    return Property(
        id="PROOF",
        name="Proof",
        zone="Asia/Macau",
        gaming_day_start="06:00",
        tables=tuple(Table(table(n), "A", "roulette", "MOP", "0.01") for n in range(tables)),
        opt_ins=(OptIn("30/2003", "a proof", "nobody"),),
    )


def table(number: int) -> str:
    return f"T{number + 1:02}"


def furnished(server: EmbeddedPostgres, tables: int) -> str:
    """The server's database with the schema and the house; its connection string."""
    dsn = server.conninfo()
    migrate.init(dsn)
    with closing(Rounds(dsn)) as rounds:
        rounds.apply_property(house(tables))
    return dsn
