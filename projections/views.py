"""One round as people look at it: its bets with what became of them, and every amount that moved, each with its position.

A pure fold of the round's own events: it needs neither a database nor the rounds beside it, and shows a round at once, before any
projection has come to it. Amounts and positions are text, amounts in minor units of the round's currency.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from ledger.events import (
    BetChanged,
    BetCorrected,
    BetPlaced,
    BetsCarried,
    MovedBet,
    OutcomeCorrected,
    PlayerAdjusted,
    Recorded,
    ShooterChanged,
    Standing,
    ThrowRecorded,
)
from projections.fold import keep_books
from projections.movements import Movement
from projections.rows import BetRow, CorrectionRow, HoldRow, LateBetRow, RoundRow, VoidRow


class CorrectedBet(msgspec.Struct, frozen=True, kw_only=True):
    """What a correction made of one bet: both stories."""

    position: str
    correction: UUID
    before: Standing
    after: Standing


class BetView(msgspec.Struct, kw_only=True):
    """A bet in this round and its fate, as last corrected; the fields from `result` on are null while it is open."""

    bet: UUID
    position: str
    """Of the event that placed it, or by which this round took it over."""
    placed_in: UUID
    """The round in which it was placed: another one where it was carried."""
    player: str
    seat: int | None
    spot: str
    numbers: tuple[int, ...]
    """Those that the spot covers; none of a spot on which a throw or a correction put it."""
    stake: str
    chip: str
    late: bool
    """Received after betting closed, though placed before."""
    locked: bool
    """Carried here, so that it can be withdrawn, changed or returned no more."""
    result: str | None = None
    """`lost`, `won` or `push`; `void`, `withdrawn` or `carried` where it left the round undecided."""
    odds: str | None = None
    """A fraction; null for a bet that was not paid."""
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
    """Of the event that made the result what it is."""
    corrections: list[CorrectedBet] = []
    """Oldest first."""


class ThrowView(msgspec.Struct, frozen=True, kw_only=True):
    """Craps: one throw, as it was recorded."""

    position: str
    throw: int
    outcome: str
    """Both faces, or `void`."""
    shown: str
    point: int
    """After the throw; 0 where there is none."""
    void: str | None
    """Code of the clause by which it is void."""
    article: str | None
    lost: list[UUID]
    moved: list[MovedBet]


class VoidView(msgspec.Struct, frozen=True, kw_only=True):
    """A launch, shake, throw or bet that was declared void, or the end of the round without a result."""

    position: str
    what: str
    """`round`, `throw` or `bet`."""
    disposition: str
    """What became of the stakes: `stand`, `carry` or `return`."""
    bet: UUID | None
    number: int | None
    """Of the launch or throw."""
    reason: str
    article: str | None
    successor: UUID | None
    stakes: str
    """That were carried or went back."""
    declared_by: str | None
    note: str | None


class HoldView(msgspec.Struct, frozen=True, kw_only=True):
    """A review of the round or of one of its bets."""

    hold: UUID
    position: str
    bet: UUID | None
    reason: str
    note: str | None
    held_by: str | None
    finding: str | None
    """Null while it is open."""
    correction: UUID | None
    release_note: str | None
    released_by: str | None
    released_position: str | None


class CorrectionView(msgspec.Struct, frozen=True, kw_only=True):
    """A correction: who asked for what and why, and who else approved or declined it."""

    correction: UUID
    position: str
    """Of the event that proposed it."""
    kind: str
    reason: str
    note: str | None
    hold: UUID | None
    outcome: str | None
    bet: UUID | None
    player: str | None
    spot: str | None
    stake: str | None
    amount: str | None
    direction: str | None
    article: str | None
    proposed_by: str | None
    approvals_needed: int
    approvals: int
    status: str
    """`proposed`, `approved` or `declined`."""
    approved_by: str | None
    seconded_by: str | None
    declined_by: str | None
    decline_note: str | None
    decided_position: str | None
    posted_day: date | None
    """The gaming day to which it was posted, where that is another than the round's, which was closed by then."""


class LateBetView(msgspec.Struct, frozen=True, kw_only=True):
    """Chips that came after the close and were given back: no bet."""

    position: str
    player: str
    seat: int | None
    spot: str
    stake: str
    article: str
    recorded_by: str | None
    note: str | None


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
    """`open`, `closed`, `settled`, `resettled` (a correction changed it) or `voided` (it ended without a result)."""
    disposition: str | None
    """Of a voided round: `carry` or `return`."""
    opened_at: datetime
    closed_at: datetime | None
    settled_at: datetime | None
    outcome: str | None
    """As last corrected; of craps the throws so far, joined by commas."""
    shown: str | None
    predecessor: UUID | None
    """The round whose bets it took over."""
    successor: UUID | None
    """The round that took over its bets."""
    shooter: str | None
    """Craps: who throws."""
    point: int
    """Craps: the point now; 0 where there is none."""
    void_launches: int
    currency: str
    stakes: str
    """Taken: bets placed in this round, and what bets were raised by."""
    carried_in: str
    carried_out: str
    stakes_returned: str
    """That went back undecided: withdrawn, lowered, voided, or given back by the house."""
    escrow: str
    """Undecided; of a round that has ended, bets received late that wait for their correction."""
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
    adjusted: str
    """Paid to players beside the regulation less what was taken from them; no part of the win."""
    holds_open: int
    corrections_pending: int
    first_position: str
    last_position: str
    bets: list[BetView]
    """In the order in which they came, whatever became of them."""
    throws: list[ThrowView]
    voids: list[VoidView]
    holds: list[HoldView]
    corrections: list[CorrectionView]
    late_bets: list[LateBetView]
    movements: list[MovementView]


def view(events: Sequence[Recorded]) -> RoundView | None:
    """Folds the events of one round, oldest first; None where they are none of a round.

    Raises Contradiction where an event does not follow from those before it.
    """
    books = keep_books(events)
    if not books.rounds:
        return None
    (row,) = books.rounds.values()
    posted = _posted(events)
    throws = [_throw(recorded, recorded.body) for recorded in events if isinstance(recorded.body, ThrowRecorded)]
    return RoundView(
        **_figures(row),
        shooter=next((each.body.shooter for each in reversed(events) if isinstance(each.body, ShooterChanged)), None),
        point=throws[-1].point if throws else 0,
        bets=_bets(events, [bet for (round_, _), bet in books.bets.items() if round_ == row.round]),
        throws=throws,
        voids=[_told(VoidView, each) for each in books.voids],
        holds=[_told(HoldView, each, position=each.held_position) for each in books.holds.values()],
        corrections=[
            _told(CorrectionView, each, position=each.proposed_position, posted_day=posted.get(each.correction))
            for each in books.corrections.values()
        ],
        late_bets=[_told(LateBetView, each) for each in books.late_bets],
        movements=[_told(MovementView, moved) for moved in books.movements],
    )


def _posted(events: Sequence[Recorded]) -> dict[UUID, date]:
    """Correction → the gaming day to which it was posted, where the round's own was closed."""
    made = [each.body for each in events if isinstance(each.body, OutcomeCorrected | BetCorrected | PlayerAdjusted)]
    return {body.correction: body.gaming_day for body in made if body.gaming_day is not None}


def _figures(row: RoundRow) -> dict[str, Any]:
    """What the row says, by the names and in the form that a reader has it."""
    said = {name: getattr(row, name) for name in RoundView.__struct_fields__ if name in RoundRow.__struct_fields__}
    amounts = ("stakes", "carried_in", "carried_out", "escrow", "lost", "prizes", "commission", "breakage", "adjusted")
    said |= {name: str(said[name]) for name in (*amounts, "first_position", "last_position")}
    for name in ("throws", "holds", "corrections", "bets"):
        del said[name]
    return said | {
        "table": row.table_id,
        "stakes_returned": str(row.returned),
        "handle": str(row.lost + row.won),
        "win": str(row.lost - row.prizes),
        "holds_open": row.holds,
    }


View = TypeVar("View", bound=msgspec.Struct)
_TEXT = {"position", "resolved_position", "released_position", "decided_position", "stake", "stakes", "amount"}
"""Numbers that no reader may round: positions and amounts."""


def _told(view: type[View], row: VoidRow | HoldRow | CorrectionRow | LateBetRow | Movement, **more: int | date | None) -> View:
    """A row as a reader has it."""
    found = {name: more[name] if name in more else getattr(row, name) for name in view.__struct_fields__}
    return view(**{name: str(value) if name in _TEXT and value is not None else value for name, value in found.items()})


def _throw(recorded: Recorded, body: ThrowRecorded) -> ThrowView:
    return ThrowView(
        position=str(recorded.position),
        throw=body.throw,
        outcome=body.outcome,
        shown=body.shown,
        point=body.point,
        void=body.void,
        article=body.article,
        lost=[line.bet for line in body.lost],
        moved=list(body.moved),
    )


def _bets(events: Sequence[Recorded], rows: Iterable[BetRow]) -> list[BetView]:
    """Each bet as the fold leaves it, with the numbers of its spot and with what corrections made of it."""
    covered: dict[tuple[UUID, str], tuple[int, ...]] = {}
    corrected: dict[UUID, list[CorrectedBet]] = {}
    for recorded in events:
        body = recorded.body
        if isinstance(body, BetPlaced | BetChanged):
            covered[body.bet, body.spot] = body.numbers
        elif isinstance(body, BetsCarried):
            covered |= {(carried.bet, carried.spot): carried.numbers for carried in body.bets}
        elif isinstance(body, BetCorrected):
            told = CorrectedBet(position=str(recorded.position), correction=body.correction, before=body.before, after=body.after)
            corrected.setdefault(body.bet, []).append(told)
    return [_bet(row, covered.get((row.bet, row.spot), ()), corrected.get(row.bet, [])) for row in rows]


def _bet(row: BetRow, numbers: tuple[int, ...], corrections: list[CorrectedBet]) -> BetView:
    shown = BetView(
        bet=row.bet,
        position=str(row.position),
        placed_in=row.placed_in,
        player=row.player,
        seat=row.seat,
        spot=row.spot,
        numbers=numbers,
        stake=str(row.stake),
        chip=row.chip,
        late=row.late,
        locked=row.locked,
        corrections=corrections,
    )
    if row.result == "open":
        return shown
    shown.result, shown.article, shown.resolved_position = row.result, row.article, str(row.resolved_position)
    shown.prize, shown.commission, shown.breakage = str(row.prize), str(row.commission), str(row.breakage)
    shown.net_prize, shown.returned = str(row.net_prize), str(row.returned)
    if row.result in ("won", "push"):
        shown.odds, shown.prize_exact = row.odds, row.prize_exact
    return shown
