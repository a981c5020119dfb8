"""The register: which regulations are held, and which one applies to a round."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime, timedelta, timezone
from functools import cache
from typing import NamedTuple

from ledger.errors import Refusal
from ledger.rules.games import KERNELS
from ledger.rules.model import UNVERIFIED, Assumption
from ledger.rules.regulation import Regulation

MACAU = timezone(timedelta(hours=8), "Asia/Macau")
"""Macau has kept UTC+8 without summer time since 1979, before every regulation held here; a zone database would add nothing."""


class Applied(NamedTuple):
    """The regulation that applies, and how it does."""

    regulation: Regulation
    note: str | None = None
    """Set where it is applied beyond its repeal: the sentence that every explanation and report prints."""


@cache
def regulations() -> tuple[Regulation, ...]:
    """The regulations of `seeds/regulations`, by game and then by date. Read once a process. Refuses data that are not valid."""
    from importlib.resources import files  # slow to import, and data are read once

    from ledger.rules.loader import load_folder

    order = list(KERNELS)
    loaded = load_folder(files("seeds") / "regulations")
    return tuple(sorted(loaded, key=lambda each: (order.index(each.game), each.dates.effective_from)))


def regulation(order: str) -> Regulation:
    """The regulation with this order number ("30/2003"). Refuses one that is not held (LGR-0402)."""
    for each in regulations():
        if each.order == order:
            return each
    held = ", ".join(f"{each.order} ({each.game})" for each in regulations())
    named_by = [each for each in regulations() if order in (each.dates.revoked_by, *each.dates.revokes)]
    detail = f"the text of {order} is not held" if named_by else f"{order!s:.40} is not a regulation that is known here"
    raise Refusal("LGR-0402", detail, field="regulation", value=order, help=f"held are {held}")


def regulation_for(game: str, at: datetime, known_at: datetime | None = None, opt_ins: Collection[str] = ()) -> Applied:
    """The regulation by which a round of `game` that opened at `at` is settled.

    It is the one in effect on the day of `at` in Macau, first and last day included; never the nearest one. With `known_at`, the
    law counts as it was in force on that day: an order with effect from an earlier day than its publication does not apply before
    it is in force. `opt_ins` are orders that a property applies beyond their repeal, on record; the answer's note then says so.

    Refuses a game without regulations (LGR-0402), times that cannot be judged (LGR-0410) and times for which no regulation is
    held (LGR-0401), naming the order whose text is missing.
    """
    held = [each for each in regulations() if each.game == game]
    if not held:
        listed = ", ".join(dict.fromkeys(each.game for each in regulations()))
        detail = f"no regulation of {game!s:.40} is known here"
        raise Refusal("LGR-0402", detail, field="game", value=game, help=f"the games are {listed}")
    day = _day_in_macau(at, "at")
    known = None if known_at is None else _day_in_macau(known_at, "known_at")
    if known is not None and known_at is not None and known_at < at:
        raise Refusal(
            "LGR-0410",
            "the law cannot have been known for a round before the round",
            field="known_at",
            value=known_at.isoformat(),
            help="give a known_at that is not before at, or none",
        )
    for each in held:
        if _in_effect(each, day) and (known is None or each.dates.in_force_from <= known):
            return Applied(each)
    chosen = [each for each in held if each.order in opt_ins and _ended(each, day)]
    if len(chosen) == 1:
        return Applied(chosen[0], opt_in_note(chosen[0]))
    if chosen:
        orders = " and ".join(each.order for each in chosen)
        raise Refusal("LGR-0401", f"{orders} are all applied by opt-in, so none is", field="opt_ins", value=", ".join(opt_ins))
    raise _none_in_effect(game, held, day, known)


def opt_in_note(regulation: Regulation) -> str:
    """What every explanation and report says of a regulation that is applied beyond its repeal."""
    return f"{regulation.order}, repealed by {regulation.dates.revoked_by}, applied by opt-in"


def assumptions(opt_ins: Collection[str] = (), held: Collection[Regulation] | None = None) -> tuple[Assumption, ...]:
    """The register of everything that is assumed, inferred, unverified or opted into, in force here.

    `held` are the regulations as a property applies them (its nine-number sets, unverified bets); all as loaded if left out.
    """
    found: list[Assumption] = []
    for each in regulations() if held is None else held:
        found += each.assumptions
        if each.unverified_on:
            found += [Assumption(each.order, f"chance {chance.code}", UNVERIFIED) for chance in each.unverified_chances]
        if each.order in opt_ins and each.dates.effective_to is not None:
            found.append(Assumption(each.order, "opt-in", f"{opt_in_note(each)}, for days after {each.dates.effective_to}"))
    return tuple(found)


def _day_in_macau(moment: datetime, field: str) -> date:
    if moment.utcoffset() is None:
        raise Refusal(
            "LGR-0410",
            "a moment without a zone could be either of two days",
            field=field,
            value=str(moment),
            help="give the time with its offset: 2003-02-11T09:00:00+08:00",
        )
    try:
        return moment.astimezone(MACAU).date()
    except OverflowError:
        raise Refusal("LGR-0410", "this moment is beyond the calendar", field=field, value=str(moment)) from None


def _in_effect(regulation: Regulation, day: date) -> bool:
    last = regulation.dates.effective_to
    return regulation.dates.effective_from <= day and (last is None or day <= last)


def _ended(regulation: Regulation, day: date) -> bool:
    return regulation.dates.effective_to is not None and day > regulation.dates.effective_to


def _none_in_effect(game: str, held: list[Regulation], day: date, known: date | None) -> Refusal:
    """Why no regulation applies: the order that would is named, with what is known of it."""
    first, way_out = held[0], "the text of that order must be added before such a round can be settled"
    dates = first.dates
    before = f"before it stood {' as amended by '.join(dates.revokes)}, whose text is not held"
    if _in_effect(first, day):
        in_force = f"published {dates.published}, in force from {dates.in_force_from}"
        why = f"{first.order} has effect from {dates.effective_from}, not in force on {known} ({in_force}); {before}"
        way_out = "a round settled then is settled anew only by an explicit correction"
    elif _ended(first, day):
        why = f"{first.order} ended on {dates.effective_to}, repealed by {dates.revoked_by}, whose text is not held"
        way_out += f"; or the property opts in to {first.order} beyond its repeal, on record"
    else:
        why = f"{first.order} has effect from {dates.effective_from}; {before}"
    detail = f"no regulation of {game} in effect on {day} is held: {why}"
    return Refusal("LGR-0401", detail, field="at", value=day.isoformat(), help=way_out)
