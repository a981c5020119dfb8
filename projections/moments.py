"""Balances as of any position or time, from the movements, without adding all of them up.

What each account changed by is kept in blocks of positions. A balance as of a position is the sum of the blocks before, and the
movements from the beginning of the position's own block on: of five million movements some tens of thousands are read. An index
on the accounts of movements would do for one account and not for all of them, and each movement would be written twice more.

The position of a time is that of the last event received by then. Events are not stored in the order in which they were received
(several processes receive, each by its own clock), so that it takes the earliest time of each block of positions to find it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec
import psycopg

from ledger.errors import Refusal
from ledger.events import Recorded
from ledger.store import log
from projections.movements import Movement
from projections.queries import Balance

Connection = psycopg.Connection[Any]

CHANGE_BITS = 16
"""A block of changes has 65,536 positions."""
TIME_BITS = 10
"""A block of times has 1,024 positions."""


class TrialLine(msgspec.Struct, frozen=True, kw_only=True):
    """All accounts of one kind in one currency."""

    kind: str
    """What stands before the stroke in the accounts' names: `player`, `escrow`, `win` …"""
    currency: str
    accounts: int
    """How many there are, those that have come to zero included."""
    balance: str
    """The sum of their balances, in minor units."""


Moment = int | datetime
"""A position, or a time by which events were received."""


def moment(text: str, now: datetime, field: str) -> Moment:
    """A position in digits, or a time with its offset (RFC 3339) that is not still to come. Refuses LGR-0108."""
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    try:
        time = msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        time = None
    if time is None or time.tzinfo is None:
        raise Refusal(
            "LGR-0108",
            "not a position, nor a time with its offset",
            field=field,
            value=text,
            help="write a position in digits, or a time such as 2026-11-29T22:30:00+08:00",
        )
    if time > now:
        raise Refusal(
            "LGR-0108", f"the time is still to come; it is {now.isoformat()} here", field=field, value=text, help="leave it out"
        )
    return time


def changes(moved: Iterable[Movement]) -> dict[tuple[str, str, int], int]:
    """By how much each account and currency changes in each block: credits less debits, in minor units."""
    sums: dict[tuple[str, str, int], int] = defaultdict(int)
    for movement in moved:
        block, amount, currency = movement.position >> CHANGE_BITS, movement.amount, movement.currency
        sums[movement.debit, currency, block] -= amount
        sums[movement.credit, currency, block] += amount
    return dict(sums)


def earliest(events: Iterable[Recorded]) -> dict[int, datetime]:
    """The earliest time at which an event of each block was received; the events are those of rounds and tables."""
    found: dict[int, datetime] = {}
    for recorded in events:
        block, received = recorded.position >> TIME_BITS, recorded.body.received_at  # type: ignore[union-attr]  # no document
        if block not in found or received < found[block]:
            found[block] = received
    return found


def balances_at(
    conn: Connection, position: int, account_prefix: str | None = None, currency: str | None = None, *, field: str = "at"
) -> list[Balance]:
    """As `queries.balances`, as of a position: of the accounts that had moved by then.

    Raises Refusal LGR-0518 where the projection `ledger` has not come so far, LGR-0108 where the log has not. `field`: where the
    position was given.
    """
    verify_reached(conn, position, field)
    rows = conn.execute(
        """
        WITH moved AS MATERIALIZED (
            SELECT debit, credit, currency, sum(amount) AS amount FROM projection.movements
            WHERE position >= %(begin)s AND position <= %(position)s AND (%(currency)s::text IS NULL OR currency = %(currency)s)
            GROUP BY debit, credit, currency
        ), parts AS (
            SELECT account, currency, change FROM projection.balance_changes
            WHERE block < %(block)s AND (%(currency)s::text IS NULL OR currency = %(currency)s)
              AND (%(from)s::text IS NULL OR account >= %(from)s) AND (%(to)s::text IS NULL OR account < %(to)s)
            UNION ALL SELECT debit, currency, -amount FROM moved
            UNION ALL SELECT credit, currency, amount FROM moved
        )
        SELECT account, currency, sum(change) FROM parts WHERE %(prefix)s::text IS NULL OR starts_with(account, %(prefix)s)
        GROUP BY account, currency ORDER BY account, currency
        """,
        {
            "position": position,
            "block": position >> CHANGE_BITS,
            "begin": position >> CHANGE_BITS << CHANGE_BITS,
            "currency": currency,
            "prefix": account_prefix,
            "from": account_prefix,
            "to": _behind(account_prefix),
        },
    )
    return [Balance(account=account, currency=code, balance=str(int(balance))) for account, code, balance in rows]


def trial(balances: Iterable[Balance]) -> list[TrialLine]:
    """The trial balance: the balances of all accounts by kind and currency, in order. In each currency they sum to zero."""
    sums: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in balances:
        sums[each.account.partition("/")[0], each.currency].append(int(each.balance))
    return [
        TrialLine(kind=kind, currency=currency, accounts=len(some), balance=str(sum(some)))
        for (kind, currency), some in sorted(sums.items())
    ]


def position_at(conn: Connection, time: datetime) -> int:
    """The position of the last event received by a time, as far as the projection `ledger` has folded the log; 0 before all."""
    row = conn.execute(
        "SELECT block FROM projection.log_times WHERE earliest <= %s ORDER BY block DESC LIMIT 1", (time,)
    ).fetchone()
    if row is None:
        return 0
    begin = row[0] << TIME_BITS
    found = conn.execute(
        "SELECT max(position) FROM ledger.log WHERE position >= %(begin)s AND position < %(end)s "
        "AND position <= (SELECT position FROM projection.positions WHERE name = 'ledger') "
        "AND (body->>'received_at')::timestamptz <= %(time)s",
        {"begin": begin, "end": begin + (1 << TIME_BITS), "time": time},
    ).fetchone()
    assert found is not None
    assert found[0] is not None, "a block holds the event whose time it has"
    return int(found[0])


def reached(conn: Connection) -> int:
    """The position up to which the projection `ledger` has folded the log."""
    row = conn.execute("SELECT position FROM projection.positions WHERE name = 'ledger'").fetchone()
    return int(row[0]) if row is not None else 0


def verify_reached(conn: Connection, position: int, field: str = "at") -> None:
    """Raises Refusal LGR-0518 where the projection `ledger` has not come so far, LGR-0108 where the log has not either."""
    at = reached(conn)
    if position > at:
        verify_in_log(position, log.last(conn), field)
        raise Refusal("LGR-0518", f"the read side is at position {at}", field=field, value=str(position), help="ask again")


def verify_in_log(position: int, last: int, field: str) -> None:
    """Raises Refusal LGR-0108 for a position beyond the last one of a log: to ask again would not help."""
    if position > last:
        raise Refusal(
            "LGR-0108",
            f"the log ends at position {last}",
            field=field,
            value=str(position),
            help=f"leave it out, or name a position up to {last}",
        )


def _behind(prefix: str | None) -> str | None:
    """What comes, by code points, behind all that begins with a prefix; None where nothing does or all is meant."""
    if not prefix or ord(prefix[-1]) >= 0xD7FF:
        return None
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
