"""What the commands of `roundledger rules` share: which regulations are asked for, and what there is to say of each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from cli.output import Column
from ledger.errors import Refusal

if TYPE_CHECKING:
    from ledger.rules import Analysis, Assumption, Chance, Name, Regulation, Spot

NOT_IN_SOURCES = "not in sources"

ASSUMPTIONS = (
    Column("regulation", "regulation"),
    Column("where", "where"),
    Column("reason", "what is assumed, and why", below=1),
)

Command = TypeVar("Command", bound=Callable[..., Any])


class Unverified(NamedTuple):
    """How the bets without rule text are turned on."""

    field_twelve: str
    commission_taken: str


def unverified_options(command: Command) -> Command:
    """The options that turn on the bets without rule text; the command receives `unverified`, None where they stay off."""

    @functools.wraps(command)
    def with_unverified(*arguments: Any, unverified: bool, field_twelve: str, commission_taken: str, **options: Any) -> Any:
        turned_on = Unverified(field_twelve, commission_taken) if unverified else None
        return command(*arguments, unverified=turned_on, **options)

    options = [
        click.option(
            "--unverified", is_flag=True, help="With the bets that have no rule text (craps), as a property may turn on."
        ),
        click.option(
            "--field-twelve",
            type=click.Choice(["2", "3"]),
            default="2",
            help="Of these: what the field pays on 12; 2 by default.",
        ),
        click.option(
            "--commission-taken",
            type=click.Choice(["wins", "always"]),
            default="wins",
            help="Of these: when buy and lay pay their commission; on wins by default.",
        ),
    ]
    for option in reversed(options):
        with_unverified = option(with_unverified)
    return cast(Command, with_unverified)  # the wrapper takes what the command does


def pick(game: str | None, unverified: Unverified | None = None) -> list[Regulation]:
    """The regulations of a game, the one of an order number, or all; with their unverified bets where asked for."""
    from ledger.rules import regulations

    if game is None:
        found = list(regulations())
    elif any(character.isdigit() for character in game):
        return [held(game, unverified)]
    else:
        found = [each for each in regulations() if each.game == game]
    if not found:
        from difflib import get_close_matches

        games = list(dict.fromkeys(each.game for each in regulations()))
        near = get_close_matches(str(game), games, 1)
        raise Refusal(
            "LGR-0402",
            "no regulation of this game is held",
            field="game",
            value=game,
            help=f"did you mean {near[0]}?" if near else f"games: {', '.join(games)}",
        )
    return [_turned_on(each, unverified) for each in found]


def held(order: str, unverified: Unverified | None = None) -> Regulation:
    """The regulation of an order number, with its unverified bets where asked for."""
    from ledger.rules import regulation

    return _turned_on(regulation(order), unverified)


def _turned_on(found: Regulation, unverified: Unverified | None) -> Regulation:
    return found.with_unverified(**unverified._asdict()) if unverified and found.unverified_chances else found


# ------------------------------------------------------------------------------------------------------------ chances and spots


def offered(found: Regulation) -> list[tuple[Chance, list[Spot]]]:
    """The chances that can be bet, with their spots."""
    return [(chance, [spot for spot in found.spots() if spot.chance is chance]) for chance in found.offered]


def worth(spot: Spot) -> dict[int, Analysis]:
    """What a bet is worth when it is placed, under 0; or by point, where it is placed on one and differs from point to point."""
    from ledger.rules import State, analyse, analyse_by_point, can_place

    if len(spot.regulation.kernel.phases) > 1:
        line = [spot.regulation.spot("pass")]
        by_point = {point: each for point, each in analyse_by_point(spot).items() if can_place(State(point), spot, line)}
        if 0 not in by_point and len(set(by_point.values())) > 1:
            return by_point
    return {0: analyse(spot)}


def alike(spots: Iterable[Spot]) -> list[list[Spot]]:
    """Spots that are worth the same together, in the order in which they appear."""
    from ledger.rules import analyse

    groups: dict[Analysis, list[Spot]] = {}
    for spot in spots:
        groups.setdefault(analyse(spot), []).append(spot)
    return list(groups.values())


def named(chance: Chance, spots: Collection[Spot], group: Collection[Spot]) -> str:
    """What a line about some spots of a chance is called: by the chance, or by the bets where they are not all of it."""
    return chance.code if len(group) == len(spots) else " ".join(spot.text for spot in group)


def chance_rows(found: Regulation) -> list[dict[str, Any]]:
    """One row for the bets of a chance that are worth the same; dozens have an article item and a name, and so a row, each."""
    rows = []
    for chance, spots in offered(found):
        for group in [[spot] for spot in spots] if chance.items else alike(spots):
            first = group[0]
            rows.append(
                {
                    "regulation": found.order,
                    "chance": first.text if chance.items else named(chance, spots, group),
                    **terms(first.names if chance.items else chance.names),
                    "bets": len(group),
                    "odds": " ".join(map(str, _odds(group))),
                    "article": first.cite,
                    "edge": first.edge,
                    "percent": percent(first.edge),
                    "assumed": ", ".join(chance.assumed) if chance.verified else "all of it",
                    "rule": chance.rule,
                }
            )
    return rows


def _odds(spots: Iterable[Spot]) -> list[Fraction]:
    """What the spots pay when they win, lowest first."""
    return sorted({payoff.odds for spot in spots for payoff in spot.pays if payoff.odds})


# --------------------------------------------------------------------------------------------------------------------- words


def terms(names: Mapping[str, Name]) -> dict[str, str]:
    """The terms of something in the languages of the law and ours; one that no source holds says so."""
    return {language: _term(names.get(language)) for language in ("pt", "zh", "en")}


def _term(name: Name | None) -> str:
    from ledger.rules.model import OURS

    if name is None:
        return NOT_IN_SOURCES
    return name.text if name.unofficial in (None, OURS) else f"{name.text} (unofficial)"


def day(value: object) -> str | None:
    """A date as text."""
    return None if value is None else str(value)


def percent(share: Fraction) -> str:
    """A share as a percentage with three decimals, halves to the even digit: a figure to read, beside the exact one."""
    thousandths = round(share * 100_000)
    sign = "-" if thousandths < 0 else ""
    return f"{sign}{abs(thousandths) // 1000}.{abs(thousandths) % 1000:03}"


def notes(found: Iterable[Regulation], *, of_bets_off: bool = True) -> list[str]:
    """What everybody has to know who reads of these regulations: which are repealed, and which bets are off or unverified."""
    said = []
    for each in found:
        if each.dates.revoked_by:
            last = f"{each.dates.effective_to}{' (inferred)' if inferred(each, 'effective_to') else ''}"
            said.append(f"{each.order} had effect until {last}; {each.dates.revoked_by}, which repealed it, is not held")
        if each.unverified_chances and (each.unverified_on or of_bets_off):
            codes = ", ".join(chance.code for chance in each.unverified_chances)
            state = "turned on here, unverified" if each.unverified_on else "off"
            said.append(f"{each.order} as held has no rule text for these bets, which are {state}: {codes}")
    return said


def inferred(found: Regulation, date: str) -> str | None:
    """Why a date of a regulation is as it is, where no source states it."""
    return next((each.reason for each in found.assumptions if each.where == f"dates, {date}"), None)


def assumption_rows(found: Iterable[Assumption], opted: Mapping[str, str]) -> list[dict[str, Any]]:
    """The register of what is assumed as rows; `opted` says why a regulation is applied beyond its repeal."""
    return [
        {
            "regulation": each.order,
            "where": each.where,
            "reason": f"{each.reason}; {opted[each.order]}" if each.where == "opt-in" else each.reason,
        }
        for each in found
    ]
