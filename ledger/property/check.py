"""Whether a configuration can stand: every entry by itself, and all of them together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from functools import partial
from unicodedata import category
from zoneinfo import available_timezones

import msgspec

from ledger.errors import Refusal
from ledger.limits import opposite
from ledger.money import CURRENCIES, parse_plain
from ledger.property.model import Property, Table
from ledger.rules import Regulation, regulation, regulations

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_LONGEST = 500
"""Characters of a text: far more than a name or a reason needs."""
_NO_ZONES = frozenset({"Factory", "localtime", "posixrules"})
"""Files beside those of the tz database, which say something else on each machine."""
_UNSHOWN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Unicode's categories of control characters, line ends and what has no form."""
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]", re.ASCII)
_DOCUMENT = re.compile(r"[0-9]{7}|^[A-Za-z]{1,2}[0-9]{6}", re.ASCII)
"""Seven digits in a row, or one or two letters and six: identity cards, passports, telephones."""
_LARGEST_TOLERANCE = 86_400


def verify(config: Property) -> None:
    """Raises Refusal LGR-0604 for the first entry that cannot stand, naming what is near it where something is."""
    _verify_texts(config)
    if config.zone not in available_timezones() - _NO_ZONES:
        raise _refused(
            "zone", config.zone, "not a time zone of the tz database, for example Asia/Macau", available_timezones() - _NO_ZONES
        )
    if not _CLOCK.fullmatch(config.gaming_day_start):
        raise _refused("gaming_day_start", config.gaming_day_start, "not a time of day such as 06:00")
    if config.clock_tolerance is not None and not 1 <= config.clock_tolerance <= _LARGEST_TOLERANCE:
        raise _refused("clock_tolerance", config.clock_tolerance, f"a tolerance is 1 to {_LARGEST_TOLERANCE} seconds")
    _verify_regulations(config)
    _verify_ids("pits", [pit.id for pit in config.pits], "two pits have this id")
    _verify_people(config)
    _verify_tables(config)


def _refused(field: str, value: object, detail: str, known: Collection[str] = ()) -> Refusal:
    near = get_close_matches(str(value)[:64], known, 1) if known else []
    return Refusal("LGR-0604", detail, field=field, value=value, help=f"did you mean {near[0]}?" if near else None)


def _verify_texts(config: Property) -> None:
    ids = [("id", config.id), *((f"tables[{n}].id", table.id) for n, table in enumerate(config.tables))]
    ids += [(f"pits[{n}].id", pit.id) for n, pit in enumerate(config.pits)]
    for n, table in enumerate(config.tables):
        ids += [(f"tables[{n}].terminals[{m}]", terminal) for m, terminal in enumerate(table.terminals)]
    for field, value in ids:
        if not _ID.fullmatch(value):
            raise _refused(field, value, "an id is 1 to 64 ASCII letters, digits, dots, dashes and underscores")
    # Each of them is stored and shown as it is: what Postgres cannot hold would stand in the way of every later event.
    for field, value in _texts(msgspec.to_builtins(config)):
        if not 1 <= len(value) <= _LONGEST or value != value.strip() or any(category(c) in _UNSHOWN for c in value):
            raise _refused(field, value, f"a text is 1 to {_LONGEST} characters on one line, with no space around it")


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


def _verify_regulations(config: Property) -> None:
    held = [each.order for each in regulations()]
    for field, orders in (
        ("opt_ins", [opt_in.regulation for opt_in in config.opt_ins]),
        ("choices", [choice.regulation for choice in config.choices]),
    ):
        for n, order in enumerate(orders):
            if order in orders[:n]:
                raise _refused(f"{field}[{n}].regulation", order, "this regulation stands twice")
            try:
                found = regulation(order)
            except Refusal as refusal:
                raise _refused(f"{field}[{n}].regulation", order, refusal.detail, held) from refusal
            if field == "choices":
                try:
                    config.choices[n].apply(found)
                except (Refusal, ValueError) as error:
                    detail = error.detail if isinstance(error, Refusal) else str(error)
                    raise _refused(f"choices[{n}]", order, detail) from error


def _verify_ids(field: str, ids: Iterable[str], detail: str) -> None:
    seen: set[str] = set()
    for n, id_ in enumerate(ids):
        if id_ in seen:
            raise _refused(f"{field}[{n}].id", id_, detail)
        seen.add(id_)


def _verify_people(config: Property) -> None:
    for n, person in enumerate(config.people):
        field = f"people[{n}].id"
        if "@" in person.id:
            raise _refused(field, person.id, "this looks like an e-mail address; write an opaque reference, such as S-7")
        if not _ID.fullmatch(person.id):  # as the source of the person's own events is read: /people/<reference>
            raise _refused(field, person.id, "a reference is 1 to 64 ASCII letters, digits and . _ - ; never a person's name")
        if _DOCUMENT.search(person.id):
            raise _refused(field, person.id, "this looks like the number of a document; write an opaque reference, such as S-7")
        if not person.roles or len(set(person.roles)) != len(person.roles):
            raise _refused(f"people[{n}].roles", ", ".join(person.roles), "a person has one role or more, each named once")
    _verify_ids("people", [person.id for person in config.people], "two people have this reference")


def _verify_tables(config: Property) -> None:
    if not config.tables:
        raise _refused("tables", "", "a property has at least one table")
    _verify_ids("tables", [table.id for table in config.tables], "two tables have this id")
    pits = [pit.id for pit in config.pits]
    games = sorted({held.game for held in regulations()})
    people = {person.id for person in config.people}
    terminals: dict[str, str] = {}
    for n, table in enumerate(config.tables):
        refused = partial(_refused_of, f"tables[{n}]")
        if pits and table.pit not in pits:
            raise refused("pit", table.pit, f"no such pit; pits: {', '.join(pits)}", pits)
        if table.game not in games:
            raise refused("game", table.game, f"no regulation of {table.game} is held; games: {', '.join(games)}", games)
        try:
            unit = table.payable_minor
        except Refusal as refusal:
            wrong, known = ("currency", tuple(CURRENCIES)) if refusal.code == "LGR-0105" else ("payable_unit", ())
            raise refused(wrong, refusal.value, refusal.detail, known) from refusal
        if unit <= 0:
            raise refused("payable_unit", table.payable_unit, "the payable unit is above zero")
        for m, terminal in enumerate(table.terminals):
            if terminal in terminals:
                raise refused(f"terminals[{m}]", terminal, f"this terminal posts for table {terminals[terminal]} already")
            terminals[terminal] = table.id
            if terminal in people:  # what the one numbers would use up the numbers of the other
                raise refused(f"terminals[{m}]", terminal, "a person has this reference; a terminal has an id of its own")
        _verify_limits(config, n, table)


def _refused_of(part: str, entry: str, value: object, detail: str, known: Collection[str] = ()) -> Refusal:
    return _refused(f"{part}.{entry}", value, detail, known)


def _verify_limits(config: Property, n: int, table: Table) -> None:
    part = f"tables[{n}]"
    amounts = [(f"{part}.{name}", getattr(table, name)) for name in ("minimum", "maximum", "exposure", "differential")]
    for m, chance in enumerate(table.chances):
        amounts += [(f"{part}.chances[{m}].{name}", getattr(chance, name)) for name in ("minimum", "maximum")]
    for field, amount in amounts:
        if amount is not None:
            try:
                parse_plain(amount, table.currency)
            except Refusal as refusal:
                raise _refused(field, amount, refusal.detail) from refusal
    played = [config.as_played(held) for held in regulations() if held.game == table.game]
    codes = _codes(played)
    for m, chance in enumerate(table.chances):
        if chance.chance not in codes:
            raise _refused(f"{part}.chances[{m}].chance", chance.chance, f"{table.game} has no such chance", codes)
        if chance.chance in [each.chance for each in table.chances[:m]]:
            raise _refused(f"{part}.chances[{m}].chance", chance.chance, "this chance stands twice")
    limits = table.limits
    if limits is None:
        return
    for code, band in (("", limits.table), *limits.chances.items()):
        if band.minimum is not None and band.maximum is not None and band.minimum > band.maximum:
            at = f"{part}.chances[{[each.chance for each in table.chances].index(code)}]" if code else part
            raise _refused(f"{at}.minimum", limits.money(band.minimum), f"the maximum is lower: {limits.money(band.maximum)}")
    if limits.differential is not None and not any(map(opposite, played)):
        raise _refused(f"{part}.differential", table.differential, f"{table.game} has no spots that oppose each other")


def _codes(played: Iterable[Regulation]) -> list[str]:
    return sorted({chance.code for held in played for chance in held.offered})
