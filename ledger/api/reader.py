"""The door's read side: the queries of the projections, each in one read-only snapshot, over a few connections kept open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from threading import Lock
from typing import IO, Any, Self
from uuid import UUID

import msgspec
import psycopg
from psycopg_pool import ConnectionPool

from ledger import assumed, houses, worth
from ledger.api.access import Register
from ledger.api.liabilities import liabilities
from ledger.api.views import AskedReport, Balances, Liabilities, TerminalView, Trial, sequence
from ledger.application.liability import Terms
from ledger.errors import Refusal
from ledger.sequences import accounted
from ledger.sequences import received as told_of
from ledger.store import credentials, log, migrate, waits
from ledger.store.sequences import standings
from projections import moments, queries
from projections.moments import Moment
from projections.queries import Balance, ProjectionPosition, TableReport
from projections.reports import catalog, writers
from projections.tables import LEDGER
from projections.views import RoundView

_CONNECTIONS = 8
_STATEMENT_SECONDS = 10


class SqlReader:
    """See `ledger.api.views.Reader`. Raises psycopg.OperationalError where the database does not answer in time."""

    def __init__(self, dsn: str) -> None:
        self._pool = ConnectionPool(
            waits.patient(dsn),
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=waits.POOL,
            reconnect_timeout=waits.RECONNECT,
            reconnect_failed=ConnectionPool.check,
            configure=_configure,
            check=ConnectionPool.check_connection,  # one round trip more, and a restarted database is nobody's error
            kwargs={"autocommit": True},
            open=False,
            name="ledger-reader",
        )
        self._terms, self._terms_lock = Terms(), Lock()

    def __enter__(self) -> Self:
        self._pool.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def register(self) -> Register:
        """Who may come in, as of now."""
        with self._snapshot() as conn:
            return Register(credentials.keys(conn), credentials.tokens(conn), houses.in_force(conn))

    def projections(self) -> list[ProjectionPosition]:
        with self._snapshot() as conn:
            return queries.positions(conn)

    def end(self) -> int:
        with self._snapshot() as conn:
            return log.last(conn)

    def drawn(self) -> int:
        with self._snapshot() as conn:
            return log.drawn(conn)

    def age(self, position: int) -> float | None:
        with self._snapshot() as conn:
            return log.age(conn, position)

    def verify_schema(self) -> None:
        with self._pool.connection() as conn:
            migrate.verify_current(conn)

    def round(self, round_id: UUID) -> RoundView | None:
        with self._snapshot() as conn:
            return queries.round_view(conn, round_id)

    def terminal(self, terminal: str) -> TerminalView | None:
        with self._snapshot() as conn:
            epochs = standings(conn, terminal)
        if not epochs:
            return None
        told = (told_of(epoch.terminal, epoch.epoch, accounted(epoch)) for epoch in reversed(epochs))
        return TerminalView(terminal=terminal, table=epochs[-1].table, sequences=tuple(map(sequence, told)))

    def balances(self, *, prefix: str | None, currency: str | None, after: str | None, limit: int, at: Moment | None) -> Balances:
        position, found = self._balances(at, prefix, currency)
        if after is not None:
            behind = _cursor(after)
            found = [balance for balance in found if (balance.account, balance.currency) > behind]
        page = found[:limit]
        more = f"{page[-1].account},{page[-1].currency}" if len(found) > limit else None
        return Balances(position=position, at=_time(at), balances=page, after=more)

    def liabilities(self, *, table: str | None) -> Liabilities:
        with self._snapshot() as conn, self._terms_lock:
            position, found = liabilities(conn, self._terms, table)
        return Liabilities(position=position, tables=found)

    def trial(self, *, at: Moment | None) -> Trial:
        position, found = self._balances(at)
        lines = moments.trial(found)
        sums: dict[str, int] = {}
        for line in lines:
            sums[line.currency] = sums.get(line.currency, 0) + int(line.balance)
        return Trial(position=position, at=_time(at), lines=lines, sums={code: str(total) for code, total in sums.items()})

    def _balances(self, at: Moment | None, prefix: str | None = None, currency: str | None = None) -> tuple[str, list[Balance]]:
        """As of which position, and the balances."""
        with self._snapshot() as conn:
            if at is None:
                position = next((each.position for each in queries.positions(conn) if each.name == LEDGER.name), "0")
                return position, queries.balances(conn, prefix, currency)
            reached = moments.position_at(conn, at) if isinstance(at, datetime) else at
            return str(reached), moments.balances_at(conn, reached, prefix, currency)

    def tables(self, *, day: date | None) -> TableReport:
        with self._snapshot() as conn:
            found = queries.table_report(conn, day)
            return msgspec.structs.replace(found, notes=[*found.notes, *assumed.notes(conn, day=day, posted=True)])

    def report(self, asked: AskedReport, out: IO[bytes]) -> None:
        with self._snapshot() as conn:
            filters = asked.filters
            definition = catalog.definition(asked.name)
            catalog.verify(definition, filters)
            within, posted = msgspec.structs.asdict(filters), definition.source.posted
            notes = assumed.notes(conn, within=within, posted=posted) if definition.figures else []
            wanted = catalog.Asked(filters, worth.of_log(conn), notes=notes)
            if asked.thresholds is not None:
                wanted = replace(wanted, thresholds=asked.thresholds)
            writers.write(catalog.make(conn, asked.name, wanted), asked.form, out)

    @contextmanager
    def _snapshot(self) -> Iterator[psycopg.Connection[Any]]:
        with self._pool.connection() as conn, conn.transaction():
            yield conn


def _time(at: Moment | None) -> datetime | None:
    return at if isinstance(at, datetime) else None


def _cursor(text: str) -> tuple[str, str]:
    """Account and currency of the balance behind which a page begins. Neither holds a comma."""
    account, comma, currency = text.rpartition(",")
    if not comma:
        raise Refusal("LGR-0108", "a page begins behind a balance: its account, a comma, its currency", field="after", value=text)
    return account, currency


def _configure(conn: psycopg.Connection[Any]) -> None:
    conn.execute(f"SET statement_timeout = '{_STATEMENT_SECONDS}s'")
    conn.execute("SET default_transaction_isolation = 'repeatable read'")
    conn.execute("SET default_transaction_read_only = on")
