"""The events of the log: what happened, in plain fields, readable for ever.

Each class is the payload of one stored event; its `TOPIC` is the stable, versioned name under which it is stored, whatever this
module is called. Payloads are flat JSON that a database administrator reads with `convert_from(state, 'UTF8')::jsonb`. They say
all that a reader needs, amounts included: no projection ever asks the rules.

Amounts are strings of integer minor units of `currency` ("10000" is MOP 100.00); exact figures and odds are fractions as text
("35", "1/3"). Times are UTC.

To come with the life of a round, under their own topics: RoundVoided, ThrowRecorded, BettingReopened, ShooterChanged, BetVoided,
LateBetRecorded, ChipsRestored, OutcomeCorrected, PayoutReversed, RoundHeld, RoundReleased.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import ClassVar
from uuid import UUID

import msgspec


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every event carries: who reported it, under which id, and when."""

    TOPIC: ClassVar[str] = ""

    cause: UUID
    """The terminal's event id (CloudEvents `id`) that brought this event about."""
    terminal: str
    """Id of the terminal, from the CloudEvents `source`."""
    sequence: int | None = None
    """The terminal's own number of the event, where it numbers them."""
    occurred_at: datetime
    """When it happened, by the terminal's clock: data, never an order."""
    received_at: datetime
    """When the service received it."""


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
    """The version of the table's limits; none are enforced yet."""


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


class BettingClosed(Body, frozen=True, kw_only=True, omit_defaults=True):
    """No more bets: the bell."""

    TOPIC: ClassVar[str] = "BettingClosed.v1"


class LostBet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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


class DocumentRecorded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The canonical content of a regulation or of a property's configuration, logged once per content before its first use."""

    TOPIC: ClassVar[str] = "DocumentRecorded.v1"

    kind: str
    """`regulation` or `property`."""
    name: str
    """Order number of the regulation, or id of the property."""
    sha256: str
    """Of `content` in UTF-8, hex."""
    content: str
    """The canonical text, JSON."""
    recorded_at: datetime
    """When it was logged, by the service's clock."""


Event = RoundOpened | BetPlaced | BettingClosed | OutcomeRecorded | PayoutMade | RoundSettled | DocumentRecorded
"""Any payload of the log."""

EVENTS: tuple[type[Event], ...] = (
    RoundOpened,
    BetPlaced,
    BettingClosed,
    OutcomeRecorded,
    PayoutMade,
    RoundSettled,
    DocumentRecorded,
)


class Recorded(msgspec.Struct, frozen=True):
    """An event with its place: `position` in the store's one order, `version` within its stream (a round's id)."""

    position: int
    stream: UUID
    version: int
    body: Event
