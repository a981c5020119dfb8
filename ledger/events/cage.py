"""The cage's side of a table: counts, fills, credits and drops, each signed by two persons; and the days of the books.

Each of them is on a slip. Who records it signs first, another person signs by SlipConfirmed, and only then does anything move. A
wrong slip is cancelled and never edited; where it had moved something, that takes another person as well.
"""

from __future__ import annotations

from datetime import date
from typing import ClassVar
from uuid import UUID

import msgspec

from ledger.events.body import Body


class Chips(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Chips of one denomination."""

    value: str
    """Of one chip, in minor units."""
    count: int
    """How many there are."""


class ChipsCounted(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The chips in a table's float were counted, as an opener or a closer. In the table's own stream."""

    TOPIC: ClassVar[str] = "ChipsCounted.v1"

    slip: UUID
    """The slip's id: the event id of the report."""
    kind: str
    """`opener` or `closer`."""
    property: str
    """Id of the house."""
    table: str
    """Id of the table."""
    gaming_day: date
    """The day to which it is posted once it is confirmed; a later one where that day is closed by then."""
    of_day: date | None = None
    """The day that it is about, where that one is closed and so it is posted to another."""
    shift: str | None = None
    """As it was reported, where it was."""
    currency: str
    """That of the table."""
    chips: tuple[Chips, ...] = ()
    """By denomination, none of them twice."""
    total: str
    """What the chips come to, in minor units; `0` of an empty float."""
    note: str | None = None
    """In words, where somebody wrote some."""


class _Numbered(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Chips that go between the cage and a table, by a numbered slip."""

    slip: UUID
    """The slip's id: the event id of the report."""
    number: int
    """The slip's printed number, which the property uses once for a fill and once for a credit."""
    property: str
    """Id of the house."""
    table: str
    """Id of the table."""
    gaming_day: date
    """As in ChipsCounted."""
    of_day: date | None = None
    """As in ChipsCounted."""
    shift: str | None = None
    """As it was reported, where it was."""
    currency: str
    """That of the table."""
    chips: tuple[Chips, ...]
    """By denomination, none of them twice."""
    total: str
    """What the chips come to, in minor units."""
    note: str | None = None
    """In words, where somebody wrote some."""


class FillRecorded(_Numbered, frozen=True, kw_only=True, omit_defaults=True):
    """Chips are to go from the cage to a table. In the table's own stream; they have moved once the slip is confirmed."""

    TOPIC: ClassVar[str] = "FillRecorded.v1"


class CreditRecorded(_Numbered, frozen=True, kw_only=True, omit_defaults=True):
    """Chips are to go from a table to the cage. In the table's own stream; they have moved once the slip is confirmed."""

    TOPIC: ClassVar[str] = "CreditRecorded.v1"


class DropCounted(Body, frozen=True, kw_only=True, omit_defaults=True):
    """What a table's drop box held was counted. In the table's own stream; two of the count team sign it."""

    TOPIC: ClassVar[str] = "DropCounted.v1"

    slip: UUID
    """The slip's id: the event id of the report."""
    box: str
    """The box, by its number or another reference."""
    property: str
    """Id of the house."""
    table: str
    """Id of the table."""
    gaming_day: date
    """As in ChipsCounted."""
    of_day: date | None = None
    """As in ChipsCounted."""
    shift: str | None = None
    """As it was reported, where it was."""
    currency: str
    """That of what was counted; a box with two currencies has a slip for each."""
    cash: str
    """Banknotes, in minor units."""
    vouchers: str
    """Vouchers for chips, in minor units."""
    total: str
    """Cash and vouchers, in minor units."""
    note: str | None = None
    """In words, where somebody wrote some."""


class SlipConfirmed(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Another person than its author signed a slip, or the cancellation of one: now it is posted.

    Where the money goes: an opener `tray` → `float`, a closer `float` → `tray`, a fill `cage` → `float`, a credit
    `float` → `cage`, a drop `float` → `drop`; a cancellation the other way.
    """

    TOPIC: ClassVar[str] = "SlipConfirmed.v1"

    slip: UUID
    """The slip's id."""
    kind: str
    """`opener`, `closer`, `fill`, `credit` or `drop`."""
    cancellation: bool = False
    """Whether it is the slip's cancellation that was signed."""
    property: str
    """Id of the house."""
    table: str
    """Id of the table."""
    gaming_day: date
    """The day to which it is posted."""
    of_day: date | None = None
    """The day of the slip, where that one is closed and so this is posted to another."""
    currency: str
    """That of the slip."""
    amount: str
    """The slip's total, in minor units."""


class SlipCancelled(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A slip is to count for nothing: one that nobody has confirmed from now on, any other once another person signs this too."""

    TOPIC: ClassVar[str] = "SlipCancelled.v1"

    slip: UUID
    """The slip's id."""
    kind: str
    """As in SlipConfirmed."""
    table: str
    """Id of the table."""
    confirmed: bool = False
    """Whether the slip was confirmed by then, so that its cancellation has to be confirmed as well."""
    reason: str
    """The reason's code, for example `wrong_total`."""
    note: str | None = None
    """In words, where somebody wrote some."""


class ColourChipsIssued(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A player's colour chips at a table are worth so much from now on. In the table's own stream; no money moves."""

    TOPIC: ClassVar[str] = "ColourChipsIssued.v1"

    table: str
    """Id of the table."""
    player: str
    """An opaque reference, never a name."""
    colour: str
    """The colour, by a reference of the house."""
    value: str
    """Of one chip, in minor units."""
    currency: str
    """That of the table."""


class DayTotal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a property's gaming day came to in one currency, as it was closed. Minor units, with their sign."""

    currency: str
    """ISO 4217 code."""
    handle: str
    """Stakes lost and won."""
    win: str
    """Of the rounds of the day."""
    earlier: str
    """Corrections of earlier days, posted to this one: what they add to the win."""
    adjusted: str
    """Paid to players beside the regulation, less what was taken from them."""
    drop: str
    """As counted."""
    count_win: str | None = None
    """Closers + credits + drop − openers − fills; none where a table lacks an opener or a closer."""


class GamingDayClosed(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The books of a property's gaming day are closed: nothing is posted to it any more. In the property's stream of days."""

    TOPIC: ClassVar[str] = "GamingDayClosed.v1"

    property: str
    """Id of the house."""
    gaming_day: date
    """The day; the first that is closed closes all before it."""
    as_of: str
    """The position up to which the figures were read; nothing came to the day after it."""
    figures: str
    """SHA-256 (hex) of the day's figures in their canonical form, by which anybody can see later that they are the same."""
    totals: tuple[DayTotal, ...] = ()
    """By currency."""
    despite: tuple[str, ...] = ()
    """What was unfinished and acknowledged, by its code, such as `unconfirmed_slips`."""
    note: str | None = None
    """In words, where somebody wrote some."""
