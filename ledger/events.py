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
    pit: str
    table: str
    game: str
    currency: str
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
    shift: str | None = None
    dealer: str | None = None
    supervisor: str | None = None
    limits: str | None = None
    """The version of the table's limits; none are enforced yet."""


class BetPlaced(Body, frozen=True, kw_only=True, omit_defaults=True):
    """One stake on one chance and selection. The bet's id is the terminal's event id (`cause`)."""

    TOPIC: ClassVar[str] = "BetPlaced.v1"

    bet: UUID
    player: str
    """An opaque reference, never a name."""
    seat: int | None = None
    spot: str
    """Bet notation in its canonical form, for example `split:17-20`."""
    numbers: tuple[int, ...] = ()
    """The numbers that the spot covers, where the game has numbers."""
    stake: str
    currency: str
    chip: str = "cash"


class BettingClosed(Body, frozen=True, kw_only=True, omit_defaults=True):
    """No more bets: the bell."""

    TOPIC: ClassVar[str] = "BettingClosed.v1"


class LostBet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the losing bets that are collected first."""

    bet: UUID
    player: str
    spot: str
    stake: str
    edge: str
    """The house edge of the spot under the regulation, a fraction."""
    article: str


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
    lost: tuple[LostBet, ...] = ()


class PayoutMade(Body, frozen=True, kw_only=True, omit_defaults=True):
    """One winner paid, or one push returned (prize 0).

    prize − commission − breakage = net prize; returned = stake + net prize.
    """

    TOPIC: ClassVar[str] = "PayoutMade.v1"

    bet: UUID
    player: str
    spot: str
    result: str
    """`won` or `push`."""
    currency: str
    stake: str
    odds: str
    prize_exact: str
    prize: str
    commission: str
    breakage: str
    net_prize: str
    returned: str
    edge: str
    article: str


class RoundSettled(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Every bet of the round is resolved; the table may open its next round. Totals in minor units of `currency`."""

    TOPIC: ClassVar[str] = "RoundSettled.v1"

    currency: str
    bets: int
    handle: str
    """Stakes of bets that won or lost; pushes are not counted."""
    prizes: str
    commission: str
    breakage: str
    returned: str


class DocumentRecorded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The canonical content of a regulation or of a property's configuration, logged once per content before its first use."""

    TOPIC: ClassVar[str] = "DocumentRecorded.v1"

    kind: str
    """`regulation` or `property`."""
    name: str
    sha256: str
    content: str
    recorded_at: datetime


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
