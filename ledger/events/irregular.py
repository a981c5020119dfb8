"""What comes between: voids, carried bets, bets that do not count, chips in disarray, reviews."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import msgspec

from ledger.events.body import Body


class BetVoided(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A supervisor declared one bet void before betting closed; the stake went back.

    Or the bell itself did, and nobody: the bet was placed after it by its terminal's numbers, and was here before it. The append
    then has a LateBetRecorded as well.
    """

    TOPIC: ClassVar[str] = "BetVoided.v1"

    bet: UUID
    """The bet's id; it stands no more."""
    player: str
    """As in BetPlaced."""
    spot: str
    """As it stood."""
    stake: str
    """Minor units; they went back to the player."""
    currency: str
    """That of the round."""
    reason: str
    """The reason's code; `placed_after_bell` where the bell declared it void."""
    note: str | None = None
    """In words, where somebody wrote some."""


class LateBetRecorded(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Chips were placed after betting closed and given back: never a bet, and no money moved. It is on record all the same."""

    TOPIC: ClassVar[str] = "LateBetRecorded.v1"

    player: str
    """As in BetPlaced."""
    seat: int | None = None
    """As in BetPlaced."""
    spot: str
    """Where the chips were put, in canonical form."""
    stake: str
    """Minor units."""
    currency: str
    """That of the round."""
    article: str
    """Order and article that bar bets after the close."""
    note: str | None = None
    """In words, where somebody wrote some."""


class CarriedBet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A bet that a round takes over from the one before, under its own id."""

    bet: UUID
    """The bet's id."""
    player: str
    """As in BetPlaced."""
    seat: int | None = None
    """As in BetPlaced."""
    spot: str
    """As it stands: a bet on the come line has its number by now."""
    numbers: tuple[int, ...] = ()
    """As in BetPlaced."""
    stake: str
    """Minor units; they stay in escrow."""
    chip: str = "cash"
    """As in BetPlaced."""
    placed_in: UUID
    """The round in which the bet was placed."""


class BetsCarried(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A round takes over bets of the round before it, in the append that ended that round. No money moves."""

    TOPIC: ClassVar[str] = "BetsCarried.v1"

    from_round: UUID
    """The round that ended."""
    locked: bool
    """Whether the bets can be withdrawn, changed or returned no more (cussec); else they stand as any other."""
    article: str
    """Order and article by which they are carried."""
    currency: str
    """That of both rounds."""
    bets: tuple[CarriedBet, ...]
    """In the order in which they were placed."""


class ReturnedBet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A bet whose stake goes back undecided."""

    bet: UUID
    """The bet's id."""
    player: str
    """As in BetPlaced."""
    spot: str
    """As in BetPlaced."""
    stake: str
    """Minor units."""


class RoundVoided(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A launch or shake has no result, or the house ends the round without one; the disposition says what becomes of the stakes.

    `stand`: this launch is void, the round is not; it stays closed for the next launch. `carry`: the round ends and its one
    successor has the bets. `return`: the house ends the round, by approval, and gives the stakes back.
    """

    TOPIC: ClassVar[str] = "RoundVoided.v1"

    disposition: str
    """`stand`, `carry` or `return`."""
    reason: str
    """Code of the regulation's void clause, or of the house's reason for a return."""
    article: str | None = None
    """Order and article of the clause; none for a return, which no regulation knows."""
    launch: int
    """How many launches of this round have been void, this one included; 0 for a return."""
    currency: str
    """That of the round."""
    successor: UUID | None = None
    """With `carry`: the round that has the bets now."""
    carried: str = "0"
    """With `carry`: the stakes that the successor has, minor units."""
    returned: tuple[ReturnedBet, ...] = ()
    """With `return`: the bets that were open, whose stakes this event gives back. What was settled, BetCorrected undoes."""
    correction: UUID | None = None
    """With `return`: the correction that was approved."""
    note: str | None = None
    """In words, where somebody wrote some."""


class ChipsRestored(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Winning chips that were disarranged were put back as the record shows them (30/2003 art. 5(3)). No money moves."""

    TOPIC: ClassVar[str] = "ChipsRestored.v1"

    restored_by: str
    """Who put them back; an opaque reference."""
    source: str
    """Where it was seen how they lay: `ledger`, `surveillance` or `players`."""
    bets: tuple[UUID, ...] = ()
    """The bets concerned, where they were named."""
    article: str
    """Order and article."""
    note: str | None = None
    """In words, where somebody wrote some."""


class RoundHeld(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A round, or one of its bets, is held for review: until it is released nothing settles it."""

    TOPIC: ClassVar[str] = "RoundHeld.v1"

    hold: UUID
    """The hold's id: the event id of the report."""
    bet: UUID | None = None
    """The bet, where one is in question and not the round."""
    reason: str
    """The reason's code: `dispute`, `surveillance_review` or another."""
    note: str | None = None
    """In words, where somebody wrote some."""


class RoundReleased(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The review of a hold has come to its finding."""

    TOPIC: ClassVar[str] = "RoundReleased.v1"

    hold: UUID
    """The hold's id."""
    finding: str
    """`stands` or `corrected`."""
    correction: UUID | None = None
    """The correction that the finding led to, where it led to one."""
    note: str | None = None
    """In words, where somebody wrote some."""
