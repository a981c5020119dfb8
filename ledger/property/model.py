"""What a configuration says: the house, its pits, tables with their terminals and limits, people, opt-ins and choices.

A field that joins later has a default that says what its absence always meant, and its name goes into `LATER`: at its default
it is left out of the canonical content, so that an old configuration keeps its hash for ever.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any, ClassVar, Literal
from zoneinfo import ZoneInfo

import msgspec

from ledger import money
from ledger.limits import Band, Limits
from ledger.rules import Regulation

Role = Literal["dealer", "supervisor", "cage", "auditor", "admin"]
"""What a person may be."""


class OptIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The recorded decision to apply a regulation beyond its repeal."""

    regulation: str
    reason: str
    approved_by: str


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a property decides where a regulation leaves it open. Whatever is chosen stands in the regulation's logged content."""

    regulation: str
    nine_number_sets: tuple[tuple[int, ...], ...] = ()
    """Roulette: the sets of nine numbers that the layout prints, where they are not the usual four."""
    unverified_bets: bool = False
    """Craps: whether the bets without a rule text are taken, by the usual odds."""
    field_twelve: str = "2"
    """Craps, unverified: what the field pays on 12, "2" or "3"."""
    commission_taken: str = "wins"
    """Craps, unverified: whether buy and lay bets pay their commission on "wins" or "always"."""

    def apply(self, regulation: Regulation) -> Regulation:
        """The regulation as this property plays it. Raises Refusal (04) or ValueError where the choice cannot be."""
        if self.nine_number_sets:
            regulation = regulation.with_nine_number_sets(self.nine_number_sets)
        if self.unverified_bets:
            regulation = regulation.with_unverified(field_twelve=self.field_twelve, commission_taken=self.commission_taken)
        return regulation


class Pit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group of tables on the floor."""

    id: str
    name: str


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody who works with the ledger, by an opaque reference: never a name, an e-mail or a document's number."""

    id: str
    roles: tuple[Role, ...]


class ChanceLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of one chance where they are not the table's. Plain decimals of the table's currency."""

    LATER: ClassVar = frozenset({"minimum", "maximum"})

    chance: str
    """The chance's code, for example `straight`."""
    minimum: str | None = None
    """The least stake of a bet on it."""
    maximum: str | None = None
    """The most that one player may have on one spot of it."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A gaming table: one game, one currency. Amounts are plain decimals of the currency; a limit left out does not hold."""

    LATER: ClassVar = frozenset({"terminals", "minimum", "maximum", "exposure", "differential", "chances"})

    id: str
    pit: str
    game: str
    currency: str
    payable_unit: str
    """The smallest amount paid out ("0.01")."""
    terminals: tuple[str, ...] = ()
    """Ids of the terminals that post for the table: one numbers its events, another stands by. Each is at one table only."""
    minimum: str | None = None
    """The least stake of a bet."""
    maximum: str | None = None
    """The most that one player may have on one spot."""
    exposure: str | None = None
    """The most that the house may lose on the open bets of a round, whatever the table shows."""
    differential: str | None = None
    """The most by which the stakes on one of two opposing spots, such as red and black, may exceed those on the other."""
    chances: tuple[ChanceLimits, ...] = ()
    """The chances with limits of their own."""

    @property
    def payable_minor(self) -> int:
        return money.parse_plain(self.payable_unit, self.currency)

    @cached_property
    def limits(self) -> Limits | None:
        """The limits in minor units; None where there is none, so that nobody pays for them."""
        bands = {each.chance: Band(self._minor(each.minimum), self._minor(each.maximum)) for each in self.chances}
        limits = Limits(
            self.currency,
            Band(self._minor(self.minimum), self._minor(self.maximum)),
            {code: band for code, band in bands.items() if band != Band()},
            self._minor(self.exposure),
            self._minor(self.differential),
        )
        return limits if limits.any else None

    def _minor(self, amount: str | None) -> int | None:
        return None if amount is None else money.parse_plain(amount, self.currency)


class Property(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A house: what its configuration file says."""

    LATER: ClassVar = frozenset({"pits", "people", "clock_tolerance"})

    id: str
    name: str
    zone: str
    """Name of the time zone in the tz database, never an offset."""
    gaming_day_start: str
    """HH:MM of local time at which the gaming day begins; the day is named by the date on which it starts."""
    tables: tuple[Table, ...]
    opt_ins: tuple[OptIn, ...] = ()
    choices: tuple[Choice, ...] = ()
    pits: tuple[Pit, ...] = ()
    """Where any are named, each table stands in one of them."""
    people: tuple[Person, ...] = ()
    clock_tolerance: int | None = None
    """Seconds by which a terminal's clock may be off before its events are flagged; None flags none."""

    @cached_property
    def content(self) -> str:
        """The canonical text, a function of the configuration alone."""
        return msgspec.json.encode(said(self), order="sorted").decode()

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content.encode()).hexdigest()

    @cached_property
    def tolerance(self) -> timedelta | None:
        """`clock_tolerance` as a span of time."""
        return None if self.clock_tolerance is None else timedelta(seconds=self.clock_tolerance)

    @cached_property
    def regulations_opted_in(self) -> frozenset[str]:
        return frozenset(choice.regulation for choice in self.opt_ins)

    def has(self, table: str) -> bool:
        """Whether it has a table of this id."""
        return table in self._table_ids

    @cached_property
    def _table_ids(self) -> frozenset[str]:
        return frozenset(each.id for each in self.tables)

    def as_played(self, held: Regulation) -> Regulation:
        """The regulation with this property's choices."""
        for choice in self.choices:
            if choice.regulation == held.order:
                held = choice.apply(held)
        return held

    def gaming_day(self, at: datetime) -> date:
        """The gaming day to which the instant `at` (aware) belongs, by the property's own zone and starting hour.

        A day begins when the clock first shows its starting hour or a later one. Where the clock is put back over that hour, the
        day has begun all the same: no instant belongs to an earlier day than one before it.
        """
        zone = ZoneInfo(self.zone)
        local = at.astimezone(zone)
        starts = time.fromisoformat(self.gaming_day_start)
        if local.time() >= starts:
            return local.date()
        first = datetime.combine(local.date(), starts, zone)  # of two times of this name the earlier one: fold is 0
        begun = local.fold == 1 and at >= first.astimezone(UTC)
        return local.date() if begun else local.date() - timedelta(days=1)


def said(value: Any) -> Any:
    """A configuration, or a part of one, as plain values; without the later fields that say nothing."""
    if isinstance(value, tuple):
        return [said(each) for each in value]
    if not isinstance(value, msgspec.Struct):
        return value
    later: frozenset[str] = getattr(value, "LATER", frozenset())
    fields = {field.name: (getattr(value, field.name), field.default) for field in msgspec.structs.fields(value)}
    return {name: said(each) for name, (each, default) in fields.items() if name not in later or each != default}
