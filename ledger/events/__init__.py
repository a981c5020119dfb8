"""The events of the log: what happened, in plain fields, readable for ever.

Each class is the payload of one stored event; its `TOPIC` is the stable, versioned name under which it is stored, whatever this
module is called. Payloads are flat JSON that a database administrator reads with `convert_from(state, 'UTF8')::jsonb`. They say
all that a reader needs, amounts included: no projection ever asks the rules.

Amounts are strings of integer minor units of `currency` ("10000" is MOP 100.00); exact figures and odds are fractions as text
("35", "1/3"). Times are UTC.

A topic never changes its meaning: a field may join an event with a default that says what its absence always meant, and anything
else is a new version of the topic. The log of every release is read for ever.
"""

from __future__ import annotations

from uuid import UUID

import msgspec

from ledger.events.body import Body
from ledger.events.cage import (
    Chips,
    ChipsCounted,
    ColourChipsIssued,
    CreditRecorded,
    DayTotal,
    DropCounted,
    FillRecorded,
    GamingDayClosed,
    SlipCancelled,
    SlipConfirmed,
)
from ledger.events.corrections import (
    BetCorrected,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    OutcomeCorrected,
    PlayerAdjusted,
    RoundResettled,
    Standing,
)
from ledger.events.house import DocumentRecorded, NumbersGivenUp, StaffSignedOff, StaffSignedOn
from ledger.events.irregular import (
    BetsCarried,
    BetVoided,
    CarriedBet,
    ChipsRestored,
    LateBetRecorded,
    ReturnedBet,
    RoundHeld,
    RoundReleased,
    RoundVoided,
)
from ledger.events.play import (
    BetChanged,
    BetPlaced,
    BettingClosed,
    BettingReopened,
    BetWithdrawn,
    LostBet,
    MovedBet,
    OutcomeRecorded,
    PayoutMade,
    RoundOpened,
    RoundSettled,
    ShooterChanged,
    ThrowRecorded,
)
from ledger.events.players import PlayerErased, PlayerHeld, PlayerReleased

__all__ = [
    "EVENTS",
    "BetChanged",
    "BetCorrected",
    "BetPlaced",
    "BetVoided",
    "BetWithdrawn",
    "BetsCarried",
    "BettingClosed",
    "BettingReopened",
    "Body",
    "CarriedBet",
    "Chips",
    "ChipsCounted",
    "ChipsRestored",
    "ColourChipsIssued",
    "CorrectionApproved",
    "CorrectionDeclined",
    "CorrectionProposed",
    "CreditRecorded",
    "DayTotal",
    "DocumentRecorded",
    "DropCounted",
    "Event",
    "FillRecorded",
    "GamingDayClosed",
    "LateBetRecorded",
    "LostBet",
    "MovedBet",
    "NumbersGivenUp",
    "OutcomeCorrected",
    "OutcomeRecorded",
    "PayoutMade",
    "PlayerAdjusted",
    "PlayerErased",
    "PlayerHeld",
    "PlayerReleased",
    "Recorded",
    "ReturnedBet",
    "RoundHeld",
    "RoundOpened",
    "RoundReleased",
    "RoundResettled",
    "RoundSettled",
    "RoundVoided",
    "ShooterChanged",
    "SlipCancelled",
    "SlipConfirmed",
    "StaffSignedOff",
    "StaffSignedOn",
    "Standing",
    "ThrowRecorded",
]

Event = (
    RoundOpened
    | BetPlaced
    | BetWithdrawn
    | BetChanged
    | BetVoided
    | LateBetRecorded
    | BettingClosed
    | BettingReopened
    | ShooterChanged
    | BetsCarried
    | RoundVoided
    | OutcomeRecorded
    | ThrowRecorded
    | PayoutMade
    | RoundSettled
    | ChipsRestored
    | RoundHeld
    | RoundReleased
    | CorrectionProposed
    | CorrectionApproved
    | CorrectionDeclined
    | OutcomeCorrected
    | BetCorrected
    | PlayerAdjusted
    | RoundResettled
    | StaffSignedOn
    | StaffSignedOff
    | NumbersGivenUp
    | ChipsCounted
    | FillRecorded
    | CreditRecorded
    | DropCounted
    | SlipConfirmed
    | SlipCancelled
    | ColourChipsIssued
    | GamingDayClosed
    | PlayerErased
    | PlayerHeld
    | PlayerReleased
    | DocumentRecorded
)
"""Any payload of the log."""

EVENTS: tuple[type[Event], ...] = (
    RoundOpened,
    BetPlaced,
    BetWithdrawn,
    BetChanged,
    BetVoided,
    LateBetRecorded,
    BettingClosed,
    BettingReopened,
    ShooterChanged,
    BetsCarried,
    RoundVoided,
    OutcomeRecorded,
    ThrowRecorded,
    PayoutMade,
    RoundSettled,
    ChipsRestored,
    RoundHeld,
    RoundReleased,
    CorrectionProposed,
    CorrectionApproved,
    CorrectionDeclined,
    OutcomeCorrected,
    BetCorrected,
    PlayerAdjusted,
    RoundResettled,
    StaffSignedOn,
    StaffSignedOff,
    NumbersGivenUp,
    ChipsCounted,
    FillRecorded,
    CreditRecorded,
    DropCounted,
    SlipConfirmed,
    SlipCancelled,
    ColourChipsIssued,
    GamingDayClosed,
    PlayerErased,
    PlayerHeld,
    PlayerReleased,
    DocumentRecorded,
)


class Recorded(msgspec.Struct, frozen=True, gc=False):
    """An event with its place: `position` in the store's one order, `version` within its stream (a round's id)."""

    position: int
    stream: UUID
    version: int
    body: Event
