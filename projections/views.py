"""One round as people look at it: its bets with what became of them, and every amount that moved, each with its position.

A pure fold of the round's own events: it needs neither a database nor the rounds beside it, and shows a round at once, before any
projection has come to it. Amounts and positions are text, amounts in minor units of the round's currency.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from uuid import UUID

import msgspec

from ledger.events import BetPlaced, OutcomeRecorded, PayoutMade, Recorded
from projections.checks import Contradiction
from projections.fold import keep_books


class BetView(msgspec.Struct, kw_only=True):
    """A bet and its fate; the fields from `result` on are null until the round is settled."""

    bet: UUID | None
    """Null of a payment ex gratia."""
    position: str
    """Of the event that placed it."""
    player: str
    seat: int | None
    spot: str
    numbers: tuple[int, ...]
    stake: str
    chip: str
    result: str | None = None
    """`lost`, `won` or `push`."""
    odds: str | None = None
    """A fraction; null for a bet that lost."""
    prize_exact: str | None = None
    """A fraction of minor units."""
    prize: str | None = None
    commission: str | None = None
    breakage: str | None = None
    net_prize: str | None = None
    returned: str | None = None
    """Stake returned and net prize."""
    article: str | None = None
    resolved_position: str | None = None
    """Of the event that resolved it."""


class MovementView(msgspec.Struct, frozen=True, kw_only=True):
    """An amount that moved from one account to another."""

    position: str
    line: int
    bet: UUID | None
    """Null of a payment ex gratia."""
    debit: str
    credit: str
    amount: str


class RoundView(msgspec.Struct, frozen=True, kw_only=True):
    """A round as its events so far leave it."""

    round: UUID
    property: str
    pit: str
    table: str
    game: str
    regulation: str
    applied: str | None
    """The sentence to print where the regulation is applied beyond its repeal."""
    gaming_day: date
    shift: str | None
    dealer: str | None
    supervisor: str | None
    status: str
    """`open`, `closed` or `settled`."""
    opened_at: datetime
    closed_at: datetime | None
    settled_at: datetime | None
    outcome: str | None
    shown: str | None
    currency: str
    stakes: str
    handle: str
    """Stakes lost and won; pushed stakes are not counted."""
    lost: str
    """Stakes lost."""
    prizes: str
    """Net prizes paid."""
    commission: str
    breakage: str
    win: str
    """Stakes lost less net prizes."""
    first_position: str
    last_position: str
    bets: list[BetView]
    """In the order placed."""
    movements: list[MovementView]


def view(events: Sequence[Recorded]) -> RoundView | None:
    """Folds the events of one round, oldest first; None where they are none of a round.

    Raises Contradiction where an event does not follow from those before it.
    """
    books = keep_books(events)
    if not books.rounds:
        return None
    (row,) = books.rounds.values()
    return RoundView(
        round=row.round,
        property=row.property,
        pit=row.pit,
        table=row.table_id,
        game=row.game,
        regulation=row.regulation,
        applied=row.applied,
        gaming_day=row.gaming_day,
        shift=row.shift,
        dealer=row.dealer,
        supervisor=row.supervisor,
        status=row.status,
        opened_at=row.opened_at,
        closed_at=row.closed_at,
        settled_at=row.settled_at,
        outcome=row.outcome,
        shown=row.shown,
        currency=row.currency,
        stakes=str(row.stakes),
        handle=str(row.lost + row.won),
        lost=str(row.lost),
        prizes=str(row.prizes),
        commission=str(row.commission),
        breakage=str(row.breakage),
        win=str(row.lost - row.prizes),
        first_position=str(row.first_position),
        last_position=str(row.last_position),
        bets=_bets(events),
        movements=[
            MovementView(
                position=str(moved.position),
                line=moved.line,
                bet=moved.bet,
                debit=moved.debit,
                credit=moved.credit,
                amount=str(moved.amount),
            )
            for moved in books.movements
        ],
    )


def _bets(events: Sequence[Recorded]) -> list[BetView]:
    bets: dict[UUID, BetView] = {}
    for recorded in events:
        body, position = recorded.body, str(recorded.position)
        if isinstance(body, BetPlaced):
            bets[body.bet] = BetView(
                bet=body.bet,
                position=position,
                player=body.player,
                seat=body.seat,
                spot=body.spot,
                numbers=body.numbers,
                stake=body.stake,
                chip=body.chip,
            )
        elif isinstance(body, OutcomeRecorded):
            for lost in body.lost:
                bet = _placed(bets, recorded, lost.bet)
                bet.result, bet.article, bet.resolved_position = "lost", lost.article, position
                bet.returned = bet.net_prize = bet.prize = bet.commission = bet.breakage = "0"
        elif isinstance(body, PayoutMade):
            bet = _placed(bets, recorded, body.bet)
            bet.result, bet.article, bet.resolved_position = body.result, body.article, position
            bet.odds, bet.prize_exact, bet.prize = body.odds, body.prize_exact, body.prize
            bet.commission, bet.breakage = body.commission, body.breakage
            bet.net_prize, bet.returned = body.net_prize, body.returned
    return list(bets.values())


def _placed(bets: dict[UUID, BetView], recorded: Recorded, bet: UUID) -> BetView:
    try:
        return bets[bet]
    except KeyError:
        raise Contradiction(recorded, f"bet {bet} was never placed") from None
