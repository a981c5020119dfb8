"""The parts of a round's state: bets, times of betting, holds and corrections."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple
from uuid import UUID

import msgspec

from ledger.events import (
    BetChanged,
    BettingClosed,
    BettingReopened,
    CorrectionProposed,
    PayoutMade,
    RoundHeld,
    Standing,
)
from ledger.round.order import Number


class Change(NamedTuple):
    """A bet as it lay before a player changed it."""

    after: int
    """Valid throws of the round before the change."""
    was_on: str
    """`Bet.placed_on` until then."""
    was_stake: int
    """Minor units."""
    moved: bool
    """Whether it lies on another spot since; else only the stake was changed."""


class Lost(NamedTuple):
    """Of the line by which a bet was collected, what the bet does not say itself; most bets of a round share one of a few."""

    edge: str
    article: str


lost = lru_cache(maxsize=4096)(Lost)
"""The one with this edge and article."""


class Bet(msgspec.Struct, gc=False):
    """A bet of the round: who, on what, how much (minor units), and what became of it. Only the fold changes it."""

    id: UUID
    player: str
    seat: int | None
    chip: str
    spot: str
    """Where it lies now; a throw of craps can move it (`come:6`)."""
    stake: int
    placed_in: UUID
    """The round in which it was placed: another one where it was carried."""
    placed_on: str
    """Where it lay when it came into this round, before any throw moved it."""
    placed_after: int = 0
    """Valid throws of this round before it came into it."""
    locked: bool = False
    """Carried by an article that bars taking it back, moving or reducing it (31/2003 art. 3(3))."""
    carried: bool = False
    """Taken over from the round before."""
    late: bool = False
    """Received after betting closed, though placed before."""
    decided: PayoutMade | Lost | Standing | None = None
    """What decided it: a payout, a line among the losers, or what a correction says; None while it is open."""
    left: Literal["withdrawn", "void", "carried"] | None = None
    """How it left the round undecided, where it did."""
    left_after: int | None = None
    """Valid throws of this round before it left it so."""
    changes: tuple[Change, ...] = ()
    """How it lay before each change, the oldest first."""
    counted: tuple[str, int] | None = None
    """Its terminal and epoch, where it was placed in this round and the terminal numbers what it reports."""
    sequence: int | None = None
    """Its number among those."""
    placed_in_time: int = 0
    """How many times of betting had ended before it came; more than none only in craps."""
    changed_by: BetChanged | None = None
    """The player's last change of it."""
    staked: int | None = None
    """What it had come to by the last change, where a corrected outcome decided it before that; else None, and it is `stake`."""

    @property
    def number(self) -> Number | None:
        """Its terminal's, where it was placed in this round and the terminal numbers what it reports."""
        return None if self.counted is None or self.sequence is None else Number(*self.counted, self.sequence)

    @property
    def last_stake(self) -> int:
        """What the player had staked at the last, whether or not a decision came before; minor units."""
        return self.stake if self.staked is None else self.staked

    @property
    def result(self) -> str:
        """`open`, `lost`, `won`, `push` or `void`, as in `Standing`."""
        if self.decided is None:
            return "void" if self.left in ("withdrawn", "void") else "open"
        return "lost" if isinstance(self.decided, Lost) else self.decided.result

    @property
    def standing(self) -> Standing:
        """All that is true of the bet now, as corrections say it."""
        decided = self.decided
        if isinstance(decided, Standing):
            return decided
        stake = str(self.stake)
        if isinstance(decided, Lost):
            return Standing(
                player=self.player, spot=self.spot, stake=stake, result="lost", edge=decided.edge, article=decided.article
            )
        if decided is None:
            result = self.result
            return Standing(
                player=self.player,
                spot=self.spot,
                stake=stake,
                result=result,
                returned="0" if result == "open" else stake,
            )
        return Standing(
            player=self.player,
            spot=self.spot,
            stake=stake,
            result=decided.result,
            odds=decided.odds,
            prize_exact=decided.prize_exact,
            prize=decided.prize,
            commission=decided.commission,
            breakage=decided.breakage,
            net_prize=decided.net_prize,
            returned=decided.returned,
            edge=decided.edge,
            article=decided.article,
        )


class Window(NamedTuple):
    """A time in which bets were taken and that has ended."""

    opened: BettingReopened | None
    """What began it; None for the first, and where another terminal than that of the bell reported it, or gave it no number."""
    closed: BettingClosed
    """The bell that ended it."""
    throws: int
    """Valid throws before it ended."""


class Hold(msgspec.Struct):
    """A review of the round or of one bet."""

    held: RoundHeld
    finding: str | None = None
    """`stands` or `corrected`; None while the hold stands."""


class Correction(msgspec.Struct):
    """A correction that somebody asked for, and how far it has come."""

    proposed: CorrectionProposed
    basis: tuple[object, ...]
    """What it was proposed on (`RoundState.basis_of`)."""
    throws: int = 0
    """Valid throws before it was proposed."""
    approved_by: tuple[str, ...] = ()
    status: Literal["proposed", "made", "declined"] = "proposed"

    @property
    def author(self) -> str | None:
        """Who asked for it."""
        return self.proposed.by
