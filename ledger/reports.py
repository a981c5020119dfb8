"""What terminals report, and what they are answered: the words between the door and the application.

A report is a request ("a bet was placed"); the log's events (`ledger.events`) are what became of it. Both carry the same name,
since a terminal speaks of facts of the table, but a report holds only what the terminal knows: property, regulation and payouts
are the ledger's to add.

Bodies are strict: no coercion, no unknown fields. The amount stays text here ("10000" minor units of `currency`); whoever acts on
it reads it with `ledger.money.parse_minor`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec

from ledger.errors import Refusal
from ledger.events import BetPlaced, BettingClosed, Event, OutcomeRecorded, RoundOpened

Ref = Annotated[
    str,
    # The last part keeps Python's `$` from matching before a newline; ECMA 262 reads the pattern the same way.
    msgspec.Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]*$(?!\n)",
        min_length=1,
        max_length=64,
        description="An opaque reference of ASCII letters, digits and . _ : - ; never a person's name.",
    ),
]
"""A reference to a table, game, player, dealer, shift or kind of chip. One alphabet, so that no two look alike and no spreadsheet
reads one as a formula."""


class OpenRound(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The table begins a round; its id is the report's `round`."""

    table: Ref
    game: Ref
    shift: Ref | None = None
    dealer: Ref | None = None
    supervisor: Ref | None = None


class PlaceBet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One stake on one chance and selection."""

    player: Ref
    spot: Annotated[
        str, msgspec.Meta(min_length=1, max_length=200, description="Bet notation.", examples=["straight:17", "total:9"])
    ]
    stake: Annotated[
        str,
        msgspec.Meta(
            description='Minor units of `currency` as ASCII digits, 1 to 10^15: MOP 100.00 is "10000".',
            examples=["10000"],
        ),
    ]
    currency: Annotated[str, msgspec.Meta(description="ISO 4217 code.", examples=["MOP"])]
    seat: Annotated[int, msgspec.Meta(ge=0, le=999)] | None = None
    chip: Ref | None = None


class CloseBetting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """No more bets."""


class RecordOutcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the table showed, as the game writes it: `17` (roulette), `2-2-2` (cussec), the count of buttons (fantan), all throws
    of the round (craps)."""

    outcome: Annotated[str, msgspec.Meta(min_length=1, max_length=64, examples=["17", "2-2-2", "63", "6,8,6", "3-3,5-3"])]


class Malformed(msgspec.Struct, frozen=True, kw_only=True):
    """Data that cannot be read, under a legible id. It is judged like any other report: the id stays rejected."""

    refusal: Refusal


Body = OpenRound | PlaceBet | CloseBetting | RecordOutcome | Malformed
"""What a report says."""


def type_of(event: type[Event]) -> str:
    """The CloudEvents `type` under which an event travels: its topic, with this program's name before it."""
    return f"roundledger.{event.TOPIC}"


TYPES: dict[str, type[OpenRound | PlaceBet | CloseBetting | RecordOutcome]] = {
    type_of(RoundOpened): OpenRound,
    type_of(BetPlaced): PlaceBet,
    type_of(BettingClosed): CloseBetting,
    type_of(OutcomeRecorded): RecordOutcome,
}
"""CloudEvents `type` → what its `data` must be."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One event as a terminal reported it, checked in its shape but not yet decided upon."""

    event_id: UUID
    """The terminal's own id of the event, made at the moment it happened; the key of every retry."""
    terminal: str
    type: str
    """A key of `TYPES`."""
    round: UUID
    occurred_at: datetime
    """By the terminal's clock, in UTC."""
    received_at: datetime
    """By this service's clock, in UTC."""
    sequence: int | None = None
    """The terminal's own number of the event, where it numbers them."""
    fingerprint: bytes
    """SHA-256 of the event's canonical form: the same for another key order or spacing, another for any other content."""
    body: Body


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one report.

    `event_id` and `round` are None only where a rejected item did not say them legibly. `positions` are those of the events
    that the report caused, in order; none where it was rejected. `refusal` is set if and only if it was rejected.
    """

    event_id: UUID | None
    status: Literal["accepted", "replayed", "rejected"]
    round: UUID | None
    positions: tuple[int, ...] = ()
    refusal: Refusal | None = None
