"""The fold of the ledger: events of the log to movements, balances and rounds, without a database.

`keep_books` is a pure function. It takes any run of events, with the rounds that were open before it, and says what changes: so
the events of one round fold with nothing but themselves, and a log may be folded in any batches with the same result.

How money moves (debit → credit, zero amounts left out):

* a bet is placed: `player/<reference>` → `escrow/<table>`, the stake;
* it loses: `escrow/<table>` → `win/<table>`, the stake;
* it wins or pushes: `escrow/<table>` → `player/<reference>`, the stake; `win/<table>` → `player/<reference>`, the net prize;
  `win/<table>` → `commission/<table>`, the commission; `win/<table>` → `breakage/<table>`, the breakage.

Every movement is one row with both its accounts, so none can be out of balance. A balance is credits less debits.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from ledger.events import (
    BetPlaced,
    BettingClosed,
    DocumentRecorded,
    OutcomeRecorded,
    PayoutMade,
    Recorded,
    RoundOpened,
    RoundSettled,
)


class Contradiction(Exception):
    """An event that cannot follow the events before it, or that contradicts itself; folding it would invent money."""

    def __init__(self, recorded: Recorded, reason: str) -> None:
        topic = recorded.body.TOPIC
        super().__init__(f"{topic} at position {recorded.position} (round {recorded.stream}): {reason}")


class Movement(NamedTuple):
    """An amount that moved from one account to another. The fields are the columns of `movements`, in order."""

    position: int
    line: int
    round: UUID
    bet: UUID
    table_id: str
    currency: str
    debit: str
    credit: str
    amount: int
    """Minor units of `currency`, always positive."""


class RoundRow(msgspec.Struct):
    """A round as its events so far leave it. The fields are the columns of `rounds`, in order; amounts are minor units."""

    round: UUID
    property: str
    pit: str
    table_id: str
    game: str
    currency: str
    regulation: str
    regulation_hash: str
    property_hash: str
    applied: str | None
    gaming_day: date
    shift: str | None
    dealer: str | None
    supervisor: str | None
    status: str
    opened_at: datetime
    closed_at: datetime | None
    settled_at: datetime | None
    outcome: str | None
    shown: str | None
    bets: int
    stakes: int
    lost: int
    won: int
    pushed: int
    prizes: int
    commission: int
    breakage: int
    first_position: int
    last_position: int


Balances = dict[tuple[str, str], int]
"""(account, currency) → credits less debits, in minor units."""


class Books(NamedTuple):
    """What a run of events changes."""

    movements: list[Movement]
    rounds: dict[UUID, RoundRow]
    """Every round that the events touched, as they leave it."""

    @property
    def balances(self) -> Balances:
        """By how much each account changes. An account that moved and came back to where it was is there with zero."""
        return balances(self.movements)


def keep_books(events: Iterable[Recorded], known: Mapping[UUID, RoundRow] | None = None) -> Books:
    """Folds events, in the order of the log, onto the rounds `known` from the events before them.

    `known` is not changed. Raises Contradiction at an event that does not follow from those before it.
    """
    known = known or {}
    moved: list[Movement] = []
    rounds: dict[UUID, RoundRow] = {}
    for recorded in events:
        body, stream = recorded.body, recorded.stream
        if isinstance(body, DocumentRecorded):
            continue
        row = rounds.get(stream)
        if row is None and stream in known:
            row = rounds[stream] = copy.copy(known[stream])
        if isinstance(body, RoundOpened):
            if row is not None:
                raise Contradiction(recorded, "the round was opened before")
            rounds[stream] = _opened(recorded, body)
            continue
        if row is None:
            raise Contradiction(recorded, "the round was never opened")
        _advance(row, recorded)
        moved += movements(recorded, row.table_id)
    return Books(moved, rounds)


def balances(moved: Iterable[Movement]) -> Balances:
    """Credits less debits of each account and currency, in minor units."""
    sums: Balances = defaultdict(int)
    for movement in moved:
        amount, currency = movement.amount, movement.currency
        sums[movement.debit, currency] -= amount
        sums[movement.credit, currency] += amount
    return dict(sums)


def movements(recorded: Recorded, table: str) -> list[Movement]:
    """What one event moves at its round's table; empty for an event that moves nothing."""
    body = recorded.body
    if isinstance(body, BetPlaced):
        currency = body.currency
        entries = [(body.bet, f"player/{body.player}", f"escrow/{table}", amount(recorded, body.stake))]
    elif isinstance(body, PayoutMade):
        currency = body.currency
        escrow, win, player = f"escrow/{table}", f"win/{table}", f"player/{body.player}"
        entries = [
            (body.bet, escrow, player, amount(recorded, body.stake)),
            (body.bet, win, player, amount(recorded, body.net_prize)),
            (body.bet, win, f"commission/{table}", amount(recorded, body.commission)),
            (body.bet, win, f"breakage/{table}", amount(recorded, body.breakage)),
        ]
    elif isinstance(body, OutcomeRecorded):
        currency = body.currency
        escrow, win = f"escrow/{table}", f"win/{table}"
        entries = [(lost.bet, escrow, win, amount(recorded, lost.stake)) for lost in body.lost]
    else:
        return []
    position, stream = recorded.position, recorded.stream
    kept = [entry for entry in entries if entry[3]]
    return [
        Movement(position, line, stream, bet, table, currency, debit, credit, minor)
        for line, (bet, debit, credit, minor) in enumerate(kept, 1)
    ]


def amount(recorded: Recorded, text: str) -> int:
    """An amount of an event, in minor units. Raises Contradiction for anything but ASCII digits."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise Contradiction(recorded, f"{text!r} is not an amount")


def verify_payout(recorded: Recorded, body: PayoutMade) -> None:
    """Raises Contradiction unless prize = net prize + commission + breakage and returned = stake + net prize."""
    prize, net, returned = amount(recorded, body.prize), amount(recorded, body.net_prize), amount(recorded, body.returned)
    if prize != net + amount(recorded, body.commission) + amount(recorded, body.breakage):
        raise Contradiction(recorded, "prize is not net prize + commission + breakage")
    if returned != amount(recorded, body.stake) + net:
        raise Contradiction(recorded, "returned is not stake + net prize")
    if body.result == "push" and prize:
        raise Contradiction(recorded, "a push has a prize")
    if body.result not in ("won", "push"):
        raise Contradiction(recorded, f"a payout cannot be {body.result!r}")


def verify_currency(recorded: Recorded, currency: str) -> None:
    """Raises Contradiction where an event names another currency than its round's."""
    named = getattr(recorded.body, "currency", currency)
    if named != currency:
        raise Contradiction(recorded, f"its currency is {named}, the round's is {currency}")


def _opened(recorded: Recorded, body: RoundOpened) -> RoundRow:
    return RoundRow(
        round=recorded.stream,
        property=body.property,
        pit=body.pit,
        table_id=body.table,
        game=body.game,
        currency=body.currency,
        regulation=body.regulation,
        regulation_hash=body.regulation_hash,
        property_hash=body.property_hash,
        applied=body.applied,
        gaming_day=body.gaming_day,
        shift=body.shift,
        dealer=body.dealer,
        supervisor=body.supervisor,
        status="open",
        opened_at=body.received_at,
        closed_at=None,
        settled_at=None,
        outcome=None,
        shown=None,
        bets=0,
        stakes=0,
        lost=0,
        won=0,
        pushed=0,
        prizes=0,
        commission=0,
        breakage=0,
        first_position=recorded.position,
        last_position=recorded.position,
    )


def _verify_totals(row: RoundRow, recorded: Recorded, body: RoundSettled) -> None:
    """Raises Contradiction unless the totals of a settlement are those of its bets."""
    totals = {
        "bets": (body.bets, row.bets),
        "handle": (amount(recorded, body.handle), row.lost + row.won),
        "prizes": (amount(recorded, body.prizes), row.prizes + row.commission + row.breakage),
        "commission": (amount(recorded, body.commission), row.commission),
        "breakage": (amount(recorded, body.breakage), row.breakage),
        "returned": (amount(recorded, body.returned), row.won + row.pushed + row.prizes),
    }
    for name, (said, found) in totals.items():
        if said != found:
            raise Contradiction(recorded, f"its total of {name} is {said}, that of its bets {found}")


def _advance(row: RoundRow, recorded: Recorded) -> None:
    """Changes a round's row by one of its later events."""
    body = recorded.body
    verify_currency(recorded, row.currency)
    if row.status == "settled":
        raise Contradiction(recorded, "the round was settled before")
    if isinstance(body, BetPlaced):
        row.bets += 1
        row.stakes += amount(recorded, body.stake)
    elif isinstance(body, PayoutMade):
        verify_payout(recorded, body)
        if body.result == "push":
            row.pushed += int(body.stake)
        else:
            row.won += int(body.stake)
            row.prizes += int(body.net_prize)
            row.commission += int(body.commission)
            row.breakage += int(body.breakage)
    elif isinstance(body, OutcomeRecorded):
        row.outcome, row.shown = body.outcome, body.shown
        row.lost += sum(amount(recorded, lost.stake) for lost in body.lost)
    elif isinstance(body, BettingClosed):
        row.status, row.closed_at = "closed", body.received_at
    elif isinstance(body, RoundSettled):
        resolved = row.lost + row.won + row.pushed
        if resolved != row.stakes:
            raise Contradiction(recorded, f"stakes of {row.stakes} were placed, {resolved} resolved")
        _verify_totals(row, recorded, body)
        row.status, row.settled_at = "settled", body.received_at
    row.last_position = recorded.position
