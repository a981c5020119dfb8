"""What is put right afterwards, by one person and with the approval of another. Nothing is edited."""

from __future__ import annotations

from datetime import date
from typing import ClassVar
from uuid import UUID

import msgspec

from ledger.events.body import Body


class Standing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """All that is true of a bet at one moment: what was staked and what became of it. Amounts in minor units."""

    player: str
    """As in BetPlaced."""
    spot: str
    """In canonical form."""
    stake: str
    """What was taken."""
    result: str
    """`open`, `lost`, `won`, `push` or `void` (the stake went back undecided)."""
    odds: str = "0"
    """As in PayoutMade; "0" where nothing was paid."""
    prize_exact: str = "0"
    """As in PayoutMade."""
    prize: str = "0"
    """As in PayoutMade."""
    commission: str = "0"
    """As in PayoutMade."""
    breakage: str = "0"
    """As in PayoutMade."""
    net_prize: str = "0"
    """As in PayoutMade."""
    returned: str = "0"
    """As in PayoutMade; the stake where it is void."""
    edge: str = "0"
    """The house edge of the spot under the regulation, a fraction; "0" where the bet is open or void."""
    article: str | None = None
    """Order and articles by which it was decided."""


class CorrectionProposed(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody asks for a correction. Nothing moves until another person has approved it."""

    TOPIC: ClassVar[str] = "CorrectionProposed.v1"

    correction: UUID
    """The correction's id: the event id of the report."""
    kind: str
    """`outcome`, `bet` (stake, spot or player), `bet_void`, `late_bet`, `return`, `mispay` or `ex_gratia`."""
    reason: str
    """The reason's code, for example `miskeyed_outcome` or `dispute_upheld`."""
    note: str | None = None
    """In words, where somebody wrote some."""
    approvals: int = 1
    """How many other persons have to approve."""
    hold: UUID | None = None
    """The hold whose review led to it, where one did."""
    outcome: str | None = None
    """`outcome`: what the table showed indeed; for craps all throws of the round."""
    bet: UUID | None = None
    """`bet`, `bet_void`, `late_bet`, `mispay`: the bet."""
    player: str | None = None
    """`bet`: whose it is indeed. `ex_gratia`: who is paid."""
    spot: str | None = None
    """`bet`: where it lay indeed. `ex_gratia`: where the chips lay."""
    stake: str | None = None
    """`bet`: what was staked indeed, minor units."""
    amount: str | None = None
    """`mispay`, `ex_gratia`: minor units, above zero."""
    direction: str | None = None
    """`mispay`: `to_player` or `from_player`."""
    currency: str
    """That of the round."""
    article: str | None = None
    """`ex_gratia`: order and article that say that there was no bet to pay."""


class CorrectionApproved(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Another person than the author approved it; with the last approval needed its effects follow, in the same append."""

    TOPIC: ClassVar[str] = "CorrectionApproved.v1"

    correction: UUID
    """The correction's id."""
    approval: int
    """The approval's number, from 1."""


class CorrectionDeclined(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A person other than the author declined a correction, or the author withdrew it; it can never be approved."""

    TOPIC: ClassVar[str] = "CorrectionDeclined.v1"

    correction: UUID
    """The correction's id."""
    note: str | None = None
    """In words, where somebody wrote some."""


class OutcomeCorrected(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome on record was not what the table showed; both stay on record. What changes for bets follows as BetCorrected."""

    TOPIC: ClassVar[str] = "OutcomeCorrected.v1"

    correction: UUID
    """The correction's id."""
    was: str
    """The outcome on record until now, in canonical form."""
    was_shown: str
    """In words."""
    raw: str
    """As the correction wrote it."""
    outcome: str
    """In canonical form."""
    shown: str
    """In words."""
    gaming_day: date | None = None
    """The day to which it is posted, where the round's own is closed."""
    of_day: date | None = None
    """The round's own day, where it is posted to another."""


class BetCorrected(Body, frozen=True, kw_only=True, omit_defaults=True):
    """What is true of one bet, before and after a correction; only the difference moves.

    Where a standing leaves the money: an open bet has its stake in escrow; a lost one with the house; a won one gives
    the player the net prize, commission and breakage their accounts, all from the house; a push or void moves nothing in the end.
    """

    TOPIC: ClassVar[str] = "BetCorrected.v1"

    correction: UUID
    """The correction's id."""
    bet: UUID
    """The bet's id."""
    currency: str
    """That of the round."""
    before: Standing
    """What was true until now."""
    after: Standing
    """What is true from now on."""
    gaming_day: date | None = None
    """The day to which the difference is posted, where the round's own is closed."""
    of_day: date | None = None
    """The round's own day, where the difference is posted to another."""


class PlayerAdjusted(Body, frozen=True, kw_only=True, omit_defaults=True):
    """What went over the table beside what the regulation gives: a mispay, or a payment ex gratia. Never a chance's payout."""

    TOPIC: ClassVar[str] = "PlayerAdjusted.v1"

    correction: UUID
    """The correction's id."""
    kind: str
    """`mispay` or `ex_gratia`: the account of the table at which it is booked."""
    player: str
    """As in BetPlaced."""
    bet: UUID | None = None
    """The bet, where there was one."""
    direction: str
    """`to_player` or `from_player`."""
    amount: str
    """Minor units, above zero."""
    currency: str
    """That of the round."""
    article: str | None = None
    """`ex_gratia`: order and article that say that there was no bet to pay."""
    gaming_day: date | None = None
    """The day to which it is posted, where the round's own is closed."""
    of_day: date | None = None
    """The round's own day, where it is posted to another."""


class RoundResettled(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The totals of a settled round after a correction, as RoundSettled gives them; in minor units of `currency`."""

    TOPIC: ClassVar[str] = "RoundResettled.v1"

    correction: UUID
    """The correction's id."""
    currency: str
    """That of the round."""
    bets: int
    """Number of bets resolved (lost, won or pushed)."""
    handle: str
    """As in RoundSettled."""
    prizes: str
    """As in RoundSettled."""
    commission: str
    """As in RoundSettled."""
    breakage: str
    """As in RoundSettled."""
    returned: str
    """As in RoundSettled."""
