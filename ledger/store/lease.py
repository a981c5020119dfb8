"""Leases: which process writes which table.

A round's version fences a round; the lease fences a table, so that one process can believe what it has in memory. It has two
parts. A session lock of the database says that the holder is alive: it goes when the holder's connection goes, and nobody has
to notice. An epoch, raised at every taking and named by every append, turns away a holder whose connection was lost without
its knowing. Even the moment between the two is harmless: a decision is only stored on the very version of the round that it
was made on, and a table has one open round by constraint. The lease saves work; the constraints save money.

A lease is held while its table is in use and given back after a pause, so that a service, a demo and a command line can take
turns.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import psycopg

from ledger.errors import Refusal
from ledger.store import waits

_TAKE = """
WITH locked AS MATERIALIZED (SELECT pg_try_advisory_lock(hashtextextended('round-ledger table ' || %(table)s, 0)) AS got)
INSERT INTO ledger.leases AS l (table_id, epoch, holder, counted_to, counted_in)
SELECT %(table)s, 1, %(holder)s, ledger.drawn(), 0 FROM locked WHERE got
ON CONFLICT (table_id) DO UPDATE SET epoch = l.epoch + 1, holder = excluded.holder, taken_at = clock_timestamp()
RETURNING epoch, counted_to, counted_in
"""

_ASK_AGAIN = 0.1
"""Seconds for which a refused taking is believed, so that a batch for a table of somebody else's asks once."""


class Taken(NamedTuple):
    """A table that was just taken."""

    epoch: int
    """The epoch of the lease."""
    counted_to: int
    """The position up to which what its terminals sent is written down."""
    written: bool
    """Whether whoever had the table before wrote all of it down."""


class Leases:
    """The tables that this process writes. Not thread-safe: the writer has it."""

    def __init__(self, dsn: str, *, idle: float = 2.0) -> None:
        """`idle`: seconds without use after which `rest` gives a lease back."""
        self._dsn = dsn
        self._idle = idle
        self._holder = f"{socket.gethostname()} process {os.getpid()}"
        self._conn: psycopg.Connection[Any] | None = None
        self._epochs: dict[str, int] = {}
        self._used: dict[str, float] = {}
        self._refused: dict[str, tuple[float, Refusal]] = {}

    def epoch(self, table: str) -> int | None:
        """The epoch under which this process holds the table; None where it does not. Counts as use."""
        self._used[table] = time.monotonic()
        return self._epochs.get(table)

    def take(self, table: str) -> Taken:
        """Takes the table; what was known of it before may be stale. Raises Refusal LGR-0521 where another process has it."""
        now = time.monotonic()
        until, refusal = self._refused.pop(table, (0.0, None))
        if refusal is not None and now < until:
            self._refused[table] = until, refusal
            raise refusal
        asked = {"table": table, "holder": self._holder}
        try:
            row = self._connection().execute(_TAKE, asked).fetchone()
        except psycopg.OperationalError:
            if self._conn is not None and not self._conn.closed:
                raise
            row = (
                self._connection().execute(_TAKE, asked).fetchone()
            )  # the old session was lost unnoticed; a new one holds nothing
        if row is None:
            held = self._connection().execute("SELECT holder FROM ledger.leases WHERE table_id = %s", (table,)).fetchone()
            refusal = Refusal(
                "LGR-0521",
                f"table {table} is being written by {held[0] if held else 'another process'}",
                help=f"post to that service; it gives the table back {self._idle:g} s after its last event, or when it ends",
            )
            self._refused[table] = now + _ASK_AGAIN, refusal
            raise refusal
        epoch, counted_to, counted_in = row
        self._epochs[table] = epoch
        self._used[table] = now
        return Taken(epoch, counted_to or 0, counted_in == epoch - 1)

    @property
    def held(self) -> tuple[str, ...]:
        """The tables that are held."""
        return tuple(self._epochs)

    def idle(self) -> list[str]:
        """The tables that have not been used for a while."""
        late = time.monotonic() - self._idle
        return [table for table in self._epochs if self._used.get(table, 0.0) < late]

    def rest(self) -> None:
        """Gives back the idle tables."""
        self._give_back(self.idle())

    def lost(self) -> None:
        """An append was turned away by its epoch: nothing that was held can be relied on."""
        self._epochs.clear()
        self._close()

    def close(self) -> None:
        """Gives everything back."""
        self._epochs.clear()
        self._close()

    def _give_back(self, tables: Iterable[str]) -> None:
        for table in tables:
            del self._epochs[table]
            try:
                self._connection().execute(
                    "SELECT pg_advisory_unlock(hashtextextended('round-ledger table ' || %s, 0))", (table,)
                )
            except psycopg.Error:
                self.lost()
                return

    def _connection(self) -> psycopg.Connection[Any]:
        if self._conn is None or self._conn.closed:
            # A new session holds nothing yet, whatever the one before it held.
            self._epochs.clear()
            self._conn = psycopg.connect(waits.patient(self._dsn), autocommit=True, application_name="roundledger lease")
            waits.bound(self._conn)
        return self._conn

    def _close(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None
