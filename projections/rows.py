"""The rows that the ledger's fold keeps: the fields of each are the columns of its table, in order; amounts are minor units."""

from __future__ import annotations

from datetime import date, datetime
from uuid import UUID

import msgspec


class RoundRow(msgspec.Struct, kw_only=True):
    """A round as its events so far leave it; the key of `rounds` is `round`.

    At every moment: stakes + carried in = lost + won + pushed + returned + carried out + escrow.
    """

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
    status: str = "open"
    """`open`, `closed`, `settled`, `resettled` (by a correction) or `voided` (it ended without a result)."""
    disposition: str | None = None
    """Of a voided round: `carry` or `return`."""
    opened_at: datetime
    closed_at: datetime | None = None
    settled_at: datetime | None = None
    outcome: str | None = None
    """In canonical form; of craps the throws so far, joined by commas."""
    shown: str | None = None
    predecessor: UUID | None = None
    """The round whose bets it took over."""
    successor: UUID | None = None
    """The round that took over its bets."""
    throws: int = 0
    void_launches: int = 0
    bets: int = 0
    """How many were placed in it."""
    resolved: int = 0
    """How many lost, won or were pushed."""
    stakes: int = 0
    """Taken into escrow: bets placed, as last corrected, and what they were raised by. Nothing carried in is taken again."""
    carried_in: int = 0
    carried_out: int = 0
    returned: int = 0
    """Stakes that went back undecided: withdrawn, lowered (of a carried bet by its correction too), voided, or given back by the
    house."""
    escrow: int = 0
    """What is undecided; in a round that has ended only late bets are."""
    lost: int = 0
    won: int = 0
    pushed: int = 0
    prizes: int = 0
    commission: int = 0
    breakage: int = 0
    adjusted: int = 0
    """Paid to players less taken from them beside the regulation: mispays put right, and ex gratia."""
    holds: int = 0
    """Open ones."""
    corrections_pending: int = 0
    corrections: int = 0
    """Those that were approved."""
    first_position: int
    last_position: int


class BetRow(msgspec.Struct):
    """A bet in a round in which it lies or lay: its row of `bets`, and its row of `results`, which it has once it is not open.

    The key of both is `round` and `bet`. A carried bet has its rows in each round.
    """

    round: UUID
    bet: UUID
    placed_in: UUID
    position: int
    """Of the event by which it came into this round."""
    player: str
    seat: int | None
    spot: str
    chip: str
    late: bool
    locked: bool
    stake: int
    corrections: int = 0
    result: str = "open"
    """`open`, `lost`, `won`, `push`, `void`, `withdrawn` or `carried`."""
    odds: str = "0"
    prize_exact: str = "0"
    prize: int = 0
    commission: int = 0
    breakage: int = 0
    net_prize: int = 0
    returned: int = 0
    edge: str = "0"
    article: str | None = None
    resolved_position: int | None = None
    """Of the event that made the result what it is."""


class HoldRow(msgspec.Struct):
    """A hold and its release; the key of `holds` is `hold`."""

    hold: UUID
    round: UUID
    bet: UUID | None
    reason: str
    note: str | None
    held_by: str | None
    held_at: datetime
    held_position: int
    finding: str | None = None
    correction: UUID | None = None
    release_note: str | None = None
    released_by: str | None = None
    released_at: datetime | None = None
    released_position: int | None = None


class CorrectionRow(msgspec.Struct):
    """A correction from its proposal to its decision; the key of `corrections` is `correction`."""

    correction: UUID
    round: UUID
    kind: str
    reason: str
    note: str | None
    hold: UUID | None
    outcome: str | None
    bet: UUID | None
    player: str | None
    spot: str | None
    stake: int | None
    amount: int | None
    direction: str | None
    currency: str
    article: str | None
    proposed_by: str | None
    proposed_at: datetime
    proposed_position: int
    approvals_needed: int
    approvals: int = 0
    status: str = "proposed"
    """`proposed`, `approved` or `declined`."""
    approved_by: str | None = None
    seconded_by: str | None = None
    declined_by: str | None = None
    decline_note: str | None = None
    decided_at: datetime | None = None
    decided_position: int | None = None


class VoidRow(msgspec.Struct):
    """Something declared void; the key of `voids` is `position`."""

    position: int
    round: UUID
    what: str
    """`round`, `throw` or `bet`."""
    disposition: str
    """What became of the stakes: `stand`, `carry` or `return`."""
    bet: UUID | None
    number: int | None
    """Of the launch or throw, in its round."""
    reason: str
    article: str | None
    successor: UUID | None
    stakes: int
    """That were carried or returned."""
    currency: str
    correction: UUID | None
    declared_by: str | None
    declared_at: datetime
    note: str | None


class LateBetRow(msgspec.Struct):
    """Chips that came after the close and were given back; the key of `late_bets` is `position`."""

    position: int
    round: UUID
    player: str
    seat: int | None
    spot: str
    stake: int
    currency: str
    article: str
    recorded_by: str | None
    recorded_at: datetime
    note: str | None


class StaffRow(msgspec.Struct):
    """Who worked at a table, from when to when; the key of `table_staff` is `from_position`."""

    from_position: int
    table_id: str
    role: str
    person: str
    from_at: datetime
    to_position: int | None = None
    to_at: datetime | None = None


class SlipRow(msgspec.Struct, kw_only=True):
    """What the rows of `counts`, `slips` and `drops` share; the key of each is `slip`."""

    slip: UUID
    property: str
    table_id: str
    gaming_day: date
    """To which it is posted, or will be."""
    of_day: date | None
    """That it is about, where it is another."""
    shift: str | None
    currency: str
    kind: str
    """`opener`, `closer`, `fill`, `credit` or `drop`."""
    total: int
    note: str | None
    status: str = "open"
    """`open`, `confirmed`, `cancelling` (posted, and its cancellation waits for another person) or `cancelled`."""
    written_by: str
    written_at: datetime
    written_position: int
    confirmed_by: str | None = None
    confirmed_at: datetime | None = None
    confirmed_position: int | None = None
    cancelled_by: str | None = None
    cancelled_at: datetime | None = None
    cancelled_position: int | None = None
    cancel_reason: str | None = None
    cancel_note: str | None = None
    reversed_by: str | None = None
    """Who confirmed the cancellation of a slip that was posted."""
    reversed_at: datetime | None = None
    reversed_position: int | None = None
    reversed_day: date | None = None
    """To which it was posted back."""


class CountRow(SlipRow, kw_only=True):
    """A count of a table's float."""


class NumberedRow(SlipRow, kw_only=True):
    """A fill or a credit."""

    number: int


class DropRow(SlipRow, kw_only=True):
    """A count of what a drop box held."""

    box: str
    cash: int
    vouchers: int


class ChipsRow(msgspec.Struct):
    """Chips of one denomination on a slip; the key of `chips` is `slip` and `value`."""

    slip: UUID
    value: int
    count: int


class DayRow(msgspec.Struct, kw_only=True):
    """A gaming day that is closed; the key of `days` is `property` and `gaming_day`."""

    property: str
    gaming_day: date
    closed_by: str
    closed_at: datetime
    position: int
    as_of: int
    """The position up to which its figures were read."""
    figures: str
    """SHA-256 of them, hex."""
    despite: str
    """What was acknowledged, separated by spaces."""
    note: str | None
