"""How a balance came to be: every movement of one account in order, and what they come to by kind.

No index leads from an account to its movements (`projections.moments` says why), so both read the movements of the positions that
are asked for, once: a second for some millions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from ledger.errors import Refusal
from projections import moments, queries
from projections.checks import verify_comes_to
from projections.moments import Moment

Connection = psycopg.Connection[Any]
_BATCH = 5000

KINDS: dict[tuple[str, str, str], str] = {
    ("BetPlaced", "player", "escrow"): "bets placed",
    ("BetChanged", "player", "escrow"): "bets raised",
    ("BetChanged", "escrow", "player"): "bets lowered",
    ("BetWithdrawn", "escrow", "player"): "bets withdrawn",
    ("BetVoided", "escrow", "player"): "bets declared void",
    ("RoundVoided", "escrow", "player"): "stakes given back of void rounds",
    ("OutcomeRecorded", "escrow", "win"): "stakes that lost",
    ("ThrowRecorded", "escrow", "win"): "stakes that lost",
    ("PayoutMade", "escrow", "player"): "stakes that won or pushed, returned",
    ("PayoutMade", "win", "player"): "net prizes",
    ("PayoutMade", "win", "commission"): "commission on prizes",
    ("PayoutMade", "win", "breakage"): "breakage of prizes",
    ("PlayerAdjusted", "mispay", "player"): "mispays, to players",
    ("PlayerAdjusted", "player", "mispay"): "mispays, from players",
    ("PlayerAdjusted", "ex_gratia", "player"): "payments ex gratia",
}
"""Event, kind of the account that was left, kind of the one that was reached → what that is."""
CORRECTED = "corrections of bets"
SLIPS = {"opener": "openers", "closer": "closers", "fill": "fills", "credit": "credits", "drop": "drops"}


def kind_of(topic: str, debit: str, credit: str, slip: str | None = None, *, cancelled: bool = False) -> str:
    """What a movement is, in words: by its event, the accounts that it goes between, and the kind of its slip."""
    event = topic.partition(".")[0]
    if slip is not None:
        return f"{SLIPS.get(slip, slip)}, cancelled" if cancelled else SLIPS.get(slip, slip)
    if event == "BetCorrected":
        return CORRECTED
    return KINDS.get((event, debit.partition("/")[0], credit.partition("/")[0]), event)


class Step(NamedTuple):
    """One movement of an account, and what the account had after it."""

    position: int
    line: int
    received_at: datetime
    topic: str
    kind: str
    """What it is, in words: see `KINDS`."""
    table: str
    round: UUID | None
    bet: UUID | None
    slip: UUID | None
    other: str
    """The account that it came from, or went to."""
    currency: str
    change: int
    """Minor units: positive where the account was reached, negative where it was left."""
    balance: int


class Span(NamedTuple):
    """Positions, both included."""

    first: int
    last: int


def span(conn: Connection, start: Moment | None, until: Moment | None) -> Span:
    """The positions from `start` to `until`; of all where neither is given.

    From a time on is behind the last event that was received by it, and until a time is up to that event. Raises Refusal LGR-0518
    where the projection `ledger` has not come so far, LGR-0108 where the log has not, and LGR-0771 where the end comes before the
    beginning.
    """
    first = moments.position_at(conn, start) + 1 if isinstance(start, datetime) else (start or 1)
    reached = moments.reached(conn)
    last = moments.position_at(conn, until) if isinstance(until, datetime) else (reached if until is None else until)
    moments.verify_reached(conn, last, "--until")
    if until is not None and last < first - 1:
        raise Refusal("LGR-0771", f"it would end at position {last}, before position {first}", field="--until", value=str(until))
    if first - 1 > moments.reached(conn):  # one behind the last is where nothing came yet
        moments.verify_reached(conn, first, "--from")
    return Span(first, last)


def balances(conn: Connection, account: str, position: int, currency: str | None = None) -> dict[str, int]:
    """Currency → what the account had after the event at a position, in minor units; of the currencies in which it had moved."""
    if position == moments.reached(conn):
        found = queries.balances(conn, account, currency)
    else:
        found = moments.balances_at(conn, position, account, currency)
    return {each.currency: int(each.balance) for each in found if each.account == account}


def steps(conn: Connection, account: str, over: Span, currency: str | None = None) -> Iterator[Step]:
    """The movements of an account, in order, over a cursor of the server.

    Once they are read, raises Refusal LGR-0520 where they do not come to the account's balance.
    """
    running = defaultdict(int, balances(conn, account, over.first - 1, currency))
    with conn.cursor("trace") as cursor:
        cursor.itersize = _BATCH
        cursor.execute(_STEPS, {"account": account, "currency": currency, "first": over.first, "last": over.last})
        for position, line, at, topic, slip_kind, cancelled, table, round_, bet, slip, debit, credit, code, amount in cursor:
            change = int(amount) if credit == account else -int(amount)
            running[code] += change
            kind = kind_of(topic, debit, credit, slip_kind, cancelled=cancelled)
            other = debit if credit == account else credit
            yield Step(position, line, at, topic, kind, table, round_, bet, slip, other, code, change, running[code])
    for code, balance in balances(conn, account, over.last, currency).items():
        verify_comes_to(account, code, running[code], balance)


class Part(NamedTuple):
    """What a kind of movement adds to an account."""

    kind: str
    other: str
    """The kind of account that it came from, or went to: `player`, `win` …"""
    currency: str
    movements: int
    change: int
    """Minor units, credits less debits."""
    first: int
    """Position of the first of them."""
    last: int


def parts(conn: Connection, account: str, currency: str | None = None) -> list[Part]:
    """What an account is made of, by kind of movement: by currency, then in the order in which the first of each came."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for topic, slip, cancelled, debit, credit, code, reached, count, amount, first, last in conn.execute(
        _PARTS, {"account": account, "currency": currency}
    ):
        key = code, kind_of(topic, debit, credit, slip, cancelled=cancelled), debit if reached else credit
        change = int(amount) if reached else -int(amount)
        so_far = sums.setdefault(key, [0, 0, first, last])
        so_far[:] = so_far[0] + count, so_far[1] + change, min(so_far[2], first), max(so_far[3], last)
    found = [Part(kind, other, code, *so_far) for (code, kind, other), so_far in sums.items()]
    return sorted(found, key=lambda part: (part.currency, part.first, part.kind, part.other))


def accounts(conn: Connection) -> list[str]:
    """Every account that ever moved, in order."""
    return [account for (account,) in conn.execute("SELECT DISTINCT account FROM projection.balances ORDER BY account")]


_SLIP = """
    CROSS JOIN LATERAL (SELECT CASE WHEN m.slip IS NOT NULL THEN convert_from(e.state, 'UTF8')::jsonb END AS slip) AS said
"""
_STEPS = f"""
    SELECT m.position, m.line, (convert_from(e.state, 'UTF8')::jsonb ->> 'received_at')::timestamptz, e.topic,
           said.slip ->> 'kind', coalesce((said.slip ->> 'cancellation')::boolean, false), m.table_id, m.round, m.bet, m.slip,
           m.debit, m.credit, m.currency, m.amount
    FROM projection.movements AS m JOIN ledger.events AS e ON e.notification_id = m.position {_SLIP}
    WHERE m.position BETWEEN %(first)s AND %(last)s AND %(account)s IN (m.debit, m.credit)
      AND (%(currency)s::text IS NULL OR m.currency = %(currency)s)
    ORDER BY m.position, m.line
"""  # noqa: S608 - of constants of this file
_PARTS = f"""
    SELECT e.topic, said.slip ->> 'kind', coalesce((said.slip ->> 'cancellation')::boolean, false),
           split_part(m.debit, '/', 1), split_part(m.credit, '/', 1), m.currency, m.credit = %(account)s, count(*), sum(m.amount),
           min(m.position), max(m.position)
    FROM projection.movements AS m JOIN ledger.events AS e ON e.notification_id = m.position {_SLIP}
    WHERE %(account)s IN (m.debit, m.credit) AND (%(currency)s::text IS NULL OR m.currency = %(currency)s)
    GROUP BY 1, 2, 3, 4, 5, 6, 7
"""  # noqa: S608
