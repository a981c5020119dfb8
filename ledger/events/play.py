"""A round as it should go: opened, bet on, closed, decided, paid."""

from __future__ import annotations

from datetime import date
from typing import ClassVar
from uuid import UUID

import msgspec

from ledger.events.body import Body


class RoundOpened(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A round begins; betting is open. Names all that it is played under."""

    TOPIC: ClassVar[str] = "RoundOpened.v1"

    property: str
    """Id of the house."""
    pit: str
    """The pit in which the property's configuration puts the table."""
    table: str
    """Id of the table."""
    game: str
    """The game that the table deals, for example `roulette`."""
    currency: str
    """ISO 4217 code; every amount of the round is in it."""
    payable_unit: str
    """Minor units of the smallest amount that is paid out (rules: one floor of the exact net prize)."""
    regulation: str
    """Order number, for example 30/2003."""
    regulation_hash: str
    """SHA-256 (hex) of the regulation's canonical content, which is in the log."""
    property_hash: str
    """SHA-256 (hex) of the property's configuration, which is in the log."""
    applied: str | None = None
    """Set where the regulation is applied beyond its repeal: the sentence that every report prints."""
    gaming_day: date
    """The house's book day to which the round belongs, by when the service received its opening."""
    shift: str | None = None
    """As the terminal named it, where it did."""
    dealer: str | None = None
    """An opaque reference, where the terminal gave one."""
    supervisor: str | None = None
    """An opaque reference, where the terminal gave one."""
    limits: str | None = None
    """The table's limits in force, in words; they stand in the property's configuration, which the round names."""


class BetPlaced(Body, frozen=True, kw_only=True, omit_defaults=True):
    """One stake on one chance and selection. The bet's id is the terminal's event id (`cause`)."""

    TOPIC: ClassVar[str] = "BetPlaced.v1"

    bet: UUID
    """The bet's id."""
    player: str
    """An opaque reference, never a name."""
    seat: int | None = None
    """Number of the player's place, where the terminal gave one."""
    spot: str
    """Bet notation in its canonical form, for example `split:17-20`."""
    numbers: tuple[int, ...] = ()
    """The numbers that the spot covers, where the game has numbers."""
    stake: str
    """Minor units of `currency`."""
    currency: str
    """That of the round."""
    chip: str = "cash"
    """Kind of chip, as the terminal named it; `cash` where it did not."""
    late: bool = False
    """Received after betting closed, though by the terminal's numbers it was placed before."""


class BetWithdrawn(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A player took a bet back while betting was open; the stake went back."""

    TOPIC: ClassVar[str] = "BetWithdrawn.v1"

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


class BetChanged(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A player moved, raised or lowered a bet while betting was open; the difference of the stakes moved."""

    TOPIC: ClassVar[str] = "BetChanged.v1"

    bet: UUID
    """The bet's id, which it keeps."""
    player: str
    """As in BetPlaced."""
    was_spot: str
    """As it stood."""
    was_stake: str
    """As it stood, minor units."""
    spot: str
    """As it stands now, in canonical form."""
    numbers: tuple[int, ...] = ()
    """The numbers that the spot covers, where the game has numbers."""
    stake: str
    """As it stands now, minor units."""
    currency: str
    """That of the round."""


class BettingClosed(Body, frozen=True, kw_only=True, omit_defaults=True):
    """No more bets: the bell."""

    TOPIC: ClassVar[str] = "BettingClosed.v1"


class BettingReopened(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Craps: bets are taken again, between two throws."""

    TOPIC: ClassVar[str] = "BettingReopened.v1"


class ShooterChanged(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Craps: who throws from now on. No money moves."""

    TOPIC: ClassVar[str] = "ShooterChanged.v1"

    shooter: str
    """The player's reference."""
    was: str | None = None
    """Who threw until now, where that was known."""


class LostBet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One line of the losing bets that are collected first."""

    bet: UUID
    """The bet's id."""
    player: str
    """As in BetPlaced."""
    spot: str
    """As in BetPlaced."""
    stake: str
    """Minor units; they go to the house."""
    edge: str
    """The house edge of the spot under the regulation, a fraction."""
    article: str
    """Order and articles by which it lost."""


class OutcomeRecorded(Body, frozen=True, kw_only=True, omit_defaults=True):
    """What the table showed, with every bet that lost by it (losers are collected before winners are paid)."""

    TOPIC: ClassVar[str] = "OutcomeRecorded.v1"

    raw: str
    """As the terminal wrote it."""
    outcome: str
    """In canonical form: `17`; `2-2-2`; `3` of four; throws."""
    shown: str
    """What follows from it, in words, as the table announces it: `17, black`."""
    currency: str
    """That of the round."""
    lost: tuple[LostBet, ...] = ()
    """The bets that lost, in the order in which they were placed."""


class MovedBet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A bet that stands on another spot after a throw: a bet on the come line has its number."""

    bet: UUID
    """The bet's id."""
    was: str
    """The spot before the throw."""
    spot: str
    """The spot after it."""


class ThrowRecorded(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Craps: one throw, with the bets that lost by it. PayoutMade follows for winners, RoundSettled where the line is decided."""

    TOPIC: ClassVar[str] = "ThrowRecorded.v1"

    throw: int
    """The throw's number in the round, from 1, void ones counted."""
    raw: str
    """As the terminal wrote it."""
    outcome: str
    """Both faces, the lower first (`2-6`), or `void`."""
    shown: str
    """What follows from it, in words."""
    void: str | None = None
    """Code of the regulation's void clause, where the throw is void: it changes nothing."""
    article: str | None = None
    """Order and article of that clause."""
    point: int = 0
    """The point after the throw; 0 where there is none."""
    decided: bool = False
    """Whether the throw decided the line, and so ended the round."""
    currency: str
    """That of the round."""
    lost: tuple[LostBet, ...] = ()
    """The bets that lost by it, in the order in which they were placed."""
    moved: tuple[MovedBet, ...] = ()
    """The bets that stand on another spot after it."""


class PayoutMade(Body, frozen=True, kw_only=True, omit_defaults=True):
    """One winner paid, or one push returned (prize 0).

    prize − commission − breakage = net prize; returned = stake + net prize.
    """

    TOPIC: ClassVar[str] = "PayoutMade.v1"

    bet: UUID
    """The bet's id."""
    player: str
    """As in BetPlaced."""
    spot: str
    """As in BetPlaced."""
    result: str
    """`won` or `push`."""
    currency: str
    """That of the round."""
    stake: str
    """Minor units; they go back to the player."""
    odds: str
    """Prize for each unit staked, a fraction."""
    prize_exact: str
    """Stake × odds in minor units, a fraction."""
    prize: str
    """The exact prize, rounded down to a whole minor unit."""
    commission: str
    """What the regulation lets the house keep of the prize, rounded down to a whole minor unit."""
    breakage: str
    """What rounding leaves with the house."""
    net_prize: str
    """What the player gets besides the stake: the exact net prize, rounded down to the round's payable unit."""
    returned: str
    """What the player gets in all."""
    edge: str
    """The house edge of the spot under the regulation, a fraction."""
    article: str
    """Order and articles by which it was paid."""


class RoundSettled(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Every bet of the round is resolved; the table may open its next round. Totals in minor units of `currency`."""

    TOPIC: ClassVar[str] = "RoundSettled.v1"

    currency: str
    """That of the round."""
    bets: int
    """Number of bets resolved."""
    handle: str
    """Stakes of bets that won or lost; pushes are not counted."""
    prizes: str
    """Sum of `prize` over the payouts: before commission and breakage."""
    commission: str
    """Sum of `commission` over the payouts."""
    breakage: str
    """Sum of `breakage` over the payouts."""
    returned: str
    """Sum of `returned` over the payouts."""
    carried: str = "0"
    """Craps: the stakes of bets that outlive the round, which its successor has, minor units."""
    successor: UUID | None = None
    """Craps: the round that has them, where there are any."""
