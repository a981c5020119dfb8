"""What a journal has: the movements of a period by gaming day, and what each account has at the end of each day.

A transaction is what one event moved, under the gaming day to which it is posted: a round's own, or, for what was corrected once
that day was closed, the open day that took it. So a day that is closed keeps its balances in every journal that is ever written.

Amounts have the sign of `roundledger balances`, credits less debits: positive in the account that they reach. Days follow one
another, and within a day the positions of the log. Rows come over a cursor of the server, and what is kept in memory is one
balance for each account.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from projections.checks import verify_comes_to

Connection = psycopg.Connection[Any]
_BATCH = 5000


class Leg(NamedTuple):
    """One side of a movement."""

    account: str
    currency: str
    amount: int
    """Minor units, positive in the account that was reached."""
    bet: UUID | None
    """None of a slip, and of a payment ex gratia: there was no bet."""


class Transaction(NamedTuple):
    """What one event moved; its legs sum to zero in each currency."""

    day: date
    position: int
    topic: str
    """The event's name and version."""
    event: UUID
    """The id of the terminal's event that brought it about."""
    table: str
    round: UUID | None
    """None of a slip."""
    slip: UUID | None
    """None of what a round moved."""
    legs: tuple[Leg, ...]


class Line(NamedTuple):
    """What an account has."""

    account: str
    currency: str
    balance: int
    """Minor units, credits less debits."""


class Opening(NamedTuple):
    """What accounts had before the first day, where the period does not begin with the log; the lines sum to zero."""

    day: date
    lines: list[Line]


class Closing(NamedTuple):
    """What accounts have at the end of a day: those that moved on it, and of the last day all."""

    day: date
    lines: list[Line]


Entry = Opening | Transaction | Closing


@dataclass(frozen=True)
class Journal:
    """A journal, ready to be written: its entries can be read once."""

    begins: date | None
    """The first day; None where nothing moved and no day was asked for."""
    accounts: list[tuple[str, list[str]]]
    """Each account of the journal with its currencies, in order."""
    entries: Iterator[Entry]


def journal(conn: Connection, first: date | None = None, last: date | None = None) -> Journal:
    """The journal of the gaming days from `first` to `last`; of all where neither is given.

    `conn` is in a REPEATABLE READ transaction. Reading the entries of a journal up to the log's end raises Refusal LGR-0520 where
    its balances are not those of the projection `ledger`.
    """
    conn.execute("SET LOCAL TimeZone = 'UTC'")
    found = conn.execute(_ACCOUNTS, {"first": first, "last": last}).fetchall()
    begins = first or min((day for *_, day in found), default=None)
    accounts = [(account, [currency for _, currency, *_ in some]) for account, some in groupby(found, key=lambda row: row[0])]
    balances = {(account, currency): int(opening) for account, currency, opening, _ in found}
    return Journal(begins, accounts, _entries(conn, first, last, begins, balances))


def _entries(
    conn: Connection, first: date | None, last: date | None, begins: date | None, balances: dict[tuple[str, str], int]
) -> Iterator[Entry]:
    """`balances` are those before the first day, and are carried on here."""
    if begins is None:
        return
    if any(balances.values()):
        yield Opening(begins, _lines(balances, (key for key, balance in balances.items() if balance)))
    day, moved = begins, set[tuple[str, str]]()
    for transaction in _transactions(conn, first, last):
        if transaction.day != day:
            if moved:
                yield Closing(day, _lines(balances, moved))
            day, moved = transaction.day, set()
        for leg in transaction.legs:
            key = leg.account, leg.currency
            balances[key] += leg.amount
            moved.add(key)
        yield transaction
    yield Closing(day, _lines(balances, balances))
    if last is None:
        _verify(conn, balances)


def _lines(balances: dict[tuple[str, str], int], keys: Iterable[tuple[str, str]]) -> list[Line]:
    return [Line(account, currency, balances[account, currency]) for account, currency in sorted(keys)]


def _transactions(conn: Connection, first: date | None, last: date | None) -> Iterator[Transaction]:
    with conn.cursor("journal") as cursor:
        cursor.itersize = _BATCH
        cursor.execute(_MOVED, {"first": first, "last": last})
        for (day, position, topic, event, table, round_, slip), rows in groupby(cursor, key=lambda row: row[:7]):
            legs = (
                (Leg(debit, currency, -int(amount), bet), Leg(credit, currency, int(amount), bet))
                for *_, bet, currency, debit, credit, amount in rows
            )
            yield Transaction(day, position, topic, event, table, round_, slip, tuple(leg for pair in legs for leg in pair))


def _verify(conn: Connection, balances: dict[tuple[str, str], int]) -> None:
    """Raises Refusal LGR-0520 where the movements do not come to the balances."""
    kept = {
        (account, currency): int(balance)
        for account, currency, balance in conn.execute("SELECT account, currency, balance FROM projection.balances")
    }
    for account, currency in sorted({*kept, *balances}):
        verify_comes_to(account, currency, balances.get((account, currency), 0), kept.get((account, currency), 0))


# A correction and a slip name the day to which they are posted; what else a round moves is of its own day.
_DATED = """
    SELECT m.position, m.line, m.table_id, m.round, m.slip, m.bet, m.currency, m.debit, m.credit, m.amount, e.topic,
           (said.body ->> 'cause')::uuid AS event,
           CASE WHEN said.body ? 'gaming_day' THEN (said.body ->> 'gaming_day')::date ELSE r.gaming_day END AS day
    FROM projection.movements AS m JOIN ledger.events AS e ON e.notification_id = m.position
    LEFT JOIN projection.rounds AS r ON r.round = m.round
    CROSS JOIN LATERAL (SELECT convert_from(e.state, 'UTF8')::jsonb AS body) AS said
"""

_ACCOUNTS = f"""
    SELECT leg.account, leg.currency, coalesce(sum(leg.change) FILTER (WHERE day < %(first)s::date), 0), min(day)
    FROM ({_DATED}) AS dated
    CROSS JOIN LATERAL (VALUES (debit, currency, -amount), (credit, currency, amount)) AS leg(account, currency, change)
    WHERE %(last)s::date IS NULL OR day <= %(last)s::date
    GROUP BY leg.account, leg.currency ORDER BY leg.account COLLATE "C", leg.currency COLLATE "C"
"""  # noqa: S608 - of constants of this file

_MOVED = f"""
    SELECT day, position, topic, event, table_id, round, slip, bet, currency, debit, credit, amount FROM ({_DATED}) AS dated
    WHERE (%(first)s::date IS NULL OR day >= %(first)s::date) AND (%(last)s::date IS NULL OR day <= %(last)s::date)
    ORDER BY day, position, line
"""  # noqa: S608
