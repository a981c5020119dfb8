"""A property's configuration: its tables, its day, the regulations it applies beyond their repeal, and its choices within them.

It is written in TOML (amounts as plain decimals of the currency), checked as a whole, and logged with its content hash before
its first use, so that a replay knows what was in force. Terms of people, limits and terminals are added here as they come.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from unicodedata import category
from zoneinfo import ZoneInfo, available_timezones

import msgspec

from ledger import money
from ledger.errors import Refusal
from ledger.rules import Regulation, regulation, regulations

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_LONGEST = 500
"""Characters of a text: far more than a name or a reason needs."""
_NO_ZONES = frozenset({"Factory", "localtime", "posixrules"})
"""Files beside those of the tz database, which say something else on each machine."""
_UNSHOWN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Unicode's categories of control characters, line ends and what has no form."""
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]", re.ASCII)


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


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A gaming table: one game, one currency."""

    id: str
    pit: str
    game: str
    currency: str
    payable_unit: str
    """The smallest amount paid out, a plain decimal of the currency ("0.01")."""

    @property
    def payable_minor(self) -> int:
        return money.parse_plain(self.payable_unit, self.currency)


class Property(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A house: what its configuration file says."""

    id: str
    name: str
    zone: str
    """Name of the time zone in the tz database, never an offset."""
    gaming_day_start: str
    """HH:MM of local time at which the gaming day begins; the day is named by the date on which it starts."""
    tables: tuple[Table, ...]
    opt_ins: tuple[OptIn, ...] = ()
    choices: tuple[Choice, ...] = ()

    @cached_property
    def content(self) -> str:
        """The canonical text, a function of the configuration alone."""
        return msgspec.json.encode(self, order="sorted").decode()

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content.encode()).hexdigest()

    @cached_property
    def regulations_opted_in(self) -> frozenset[str]:
        return frozenset(choice.regulation for choice in self.opt_ins)

    def as_played(self, held: Regulation) -> Regulation:
        """The regulation with this property's choices."""
        for choice in self.choices:
            if choice.regulation == held.order:
                held = choice.apply(held)
        return held

    def gaming_day(self, at: datetime) -> date:
        """The gaming day to which the instant `at` (aware) belongs, by the property's own zone and starting hour."""
        local = at.astimezone(ZoneInfo(self.zone))
        starts = time.fromisoformat(self.gaming_day_start)
        return local.date() if local.time() >= starts else local.date() - timedelta(days=1)


def read(path: Path) -> Property:
    """The property configured by the TOML file at `path`.

    Raises Refusal LGR-0604 naming the file and the entry that is wrong.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal("LGR-0604", f"the configuration cannot be read: {error}", field=str(path)) from error
    try:
        found = msgspec.toml.decode(text, type=Property)
    except (msgspec.DecodeError, ValueError) as error:  # ValueError: a number of thousands of digits
        raise Refusal("LGR-0604", f"{error}", field=str(path), help="see seeds/demo/property.toml for a valid one") from error
    except RecursionError:
        raise Refusal("LGR-0604", "the configuration is nested deeper than any entry is", field=str(path)) from None
    try:
        verify(found)
    except Refusal as refusal:
        raise Refusal(
            refusal.code, refusal.detail, field=f"{path}: {refusal.field}", value=refusal.value, help=refusal.help
        ) from refusal
    return found


def _texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a configuration with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        for n, each in enumerate(value):
            yield from _texts(each, f"{path}[{n}]")


def from_content(text: str) -> Property:
    """The property whose canonical content is `text`, as it stands in the log."""
    return msgspec.json.decode(text, type=Property)


def verify(config: Property) -> None:
    """Raises Refusal LGR-0604 for the first entry that cannot stand."""

    def refuse(field: str, value: object, detail: str) -> Refusal:
        return Refusal("LGR-0604", detail, field=field, value=value)

    for field, value in (("id", config.id), *((f"tables[{n}].id", table.id) for n, table in enumerate(config.tables))):
        if not _ID.fullmatch(value):
            raise refuse(field, value, "an id is 1 to 64 ASCII letters, digits, dots, dashes and underscores")
    # Each of them is stored and shown as it is: what Postgres cannot hold would stand in the way of every later event.
    for field, value in _texts(msgspec.to_builtins(config)):
        if not 1 <= len(value) <= _LONGEST or value != value.strip() or any(category(c) in _UNSHOWN for c in value):
            raise refuse(field, value, f"a text is 1 to {_LONGEST} characters on one line, with no space around it")
    if config.zone not in available_timezones() - _NO_ZONES:
        raise refuse("zone", config.zone, "not a time zone of the tz database, for example Asia/Macau")
    if not _CLOCK.fullmatch(config.gaming_day_start):
        raise refuse("gaming_day_start", config.gaming_day_start, "not a time of day such as 06:00")
    if not config.tables:
        raise refuse("tables", "", "a property has at least one table")
    for field, orders in (
        ("opt_ins", [opt_in.regulation for opt_in in config.opt_ins]),
        ("choices", [choice.regulation for choice in config.choices]),
    ):
        for n, order in enumerate(orders):
            if order in orders[:n]:
                raise refuse(f"{field}[{n}].regulation", order, "this regulation stands twice")
            try:
                held = regulation(order)
            except Refusal as refusal:
                raise refuse(f"{field}[{n}].regulation", order, refusal.detail) from refusal
            if field == "choices":
                try:
                    config.choices[n].apply(held)
                except (Refusal, ValueError) as error:
                    detail = error.detail if isinstance(error, Refusal) else str(error)
                    raise refuse(f"choices[{n}]", order, detail) from error
    seen: set[str] = set()
    games = sorted({held.game for held in regulations()})
    for n, table in enumerate(config.tables):
        if table.id in seen:
            raise refuse(f"tables[{n}].id", table.id, "two tables have this id")
        seen.add(table.id)
        if table.game not in games:
            raise refuse(f"tables[{n}].game", table.game, f"no regulation of {table.game} is held; games: {', '.join(games)}")
        try:
            unit = table.payable_minor
        except Refusal as refusal:
            wrong = "currency" if refusal.code == "LGR-0105" else "payable_unit"
            raise refuse(f"tables[{n}].{wrong}", refusal.value, refusal.detail) from refusal
        if unit <= 0:
            raise refuse(f"tables[{n}].payable_unit", table.payable_unit, "the payable unit is above zero")
