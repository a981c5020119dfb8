"""`roundledger rules`: the regulations, what their chances are worth, and what a bet would be paid. No database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.check import check
from cli.game_page import page
from cli.options import Form, Group, examples, output_options
from cli.output import Column, Report, Sheet, emit
from cli.regulations import (
    ASSUMPTIONS,
    Unverified,
    alike,
    assumption_rows,
    chance_rows,
    day,
    held,
    inferred,
    named,
    notes,
    offered,
    percent,
    pick,
    terms,
    unverified_options,
    worth,
)
from cli.settle import settle

if TYPE_CHECKING:
    from ledger.rules import Analysis, Regulation, Spot

REGULATIONS = (
    Column("regulation", "regulation"),
    Column("game", "game"),
    Column("dated", "dated", below=2),
    Column("published", "published", below=2),
    Column("in_force_from", "in force from", below=1),
    Column("effective_from", "effect from"),
    Column("effective_to", "effect to"),
    Column("revoked_by", "revoked by"),
    Column("assumptions", "assumed", "number"),
    Column("sha256", "sha256", drawn=False),
)
CHANCES = (
    Column("regulation", "regulation", drawn=False),
    Column("chance", "chance"),
    Column("pt", "pt", below=3),
    Column("zh", "zh", below=3),
    Column("en", "en", below=3),
    Column("bets", "bets", "number"),
    Column("odds", "odds to one", "number"),
    Column("article", "article", below=1),
    Column("edge", "house edge", "number"),
    Column("percent", "%", "number"),
    Column("assumed", "assumed", below=2),
    Column("rule", "rule", drawn=False),
)
EDGES = (
    Column("regulation", "regulation"),
    Column("bet", "bet"),
    Column("point", "at point", "number"),
    Column("bets", "bets", "number"),
    Column("edge", "house edge", "number"),
    Column("percent", "%", "number"),
    Column("edge_resolved", "ties ignored", "number", below=3),
    Column("win", "wins", "number", below=1),
    Column("push", "ties", "number", below=1),
    Column("variance", "variance", "number", drawn=False),
    Column("article", "article", below=2),
)
VOIDS = (
    Column("void", "void"),
    Column("article", "article"),
    Column("pt", "pt", below=1),
    Column("zh", "zh", below=1),
    Column("disposition", "stakes"),
    Column("cause", "cause", drawn=False),
    Column("consequence", "consequence", drawn=False),
)
_DATES = ("dated", "published", "in_force_from", "effective_from", "effective_to")


@click.group(cls=Group)
def rules() -> None:
    """The regulations: chances, edges, what a bet would be paid."""


@rules.command("list", epilog=examples("roundledger rules list", "roundledger rules list --json"))
@output_options
def list_(form: Form) -> None:
    """List the regulations held, with their dates."""
    from ledger.rules import regulations

    rows = [
        {
            "regulation": each.order,
            "game": each.game,
            **{name: day(getattr(each.dates, name)) for name in _DATES},
            "revoked_by": each.dates.revoked_by,
            "assumptions": len(each.assumptions),
            "sha256": each.sha256,
        }
        for each in regulations()
    ]
    emit(Report("Regulations", [Sheet(REGULATIONS, rows, name="regulations")], notes=notes(regulations())), form)


@rules.command(epilog=examples("roundledger rules show 30/2003", "roundledger rules show 58/2004 --json"))
@click.argument("order", metavar="ORDER")
@unverified_options
@output_options
def show(order: str, unverified: Unverified | None, form: Form) -> None:
    """Show one regulation: dates, gazette, chances, voids.

    And everything in it that is assumed.
    """
    found = held(order, unverified)
    dates = found.dates
    facts = {
        **{f"title_{language}": name for language, name in terms(found.title).items()},
        **{name: day(getattr(dates, name)) for name in _DATES},
        **{f"{name}_inferred": inferred(found, name) for name in _DATES if inferred(found, name)},
        "revokes": ", ".join(dates.revokes),
        "revoked_by": dates.revoked_by,
        "gazette": found.gazette.issue + (f", pages {found.gazette.pages}" if found.gazette.pages else ", pages not in sources"),
        "payment_article": found.payment_article,
        "payment_order": "; ".join(", ".join(group) for group in found.payment_order) or "as the bets were placed",
        "sha256": found.sha256,
    }
    voids = [
        {
            "void": void.code,
            "article": found.cite(void.article),
            "disposition": void.disposition,
            "cause": void.cause,
            "consequence": void.consequence,
            **terms(void.names),
        }
        for void in found.voids
    ]
    sheets = [Sheet(CHANCES, chance_rows(found), name="chances", title="Chances")]
    if voids:
        sheets.append(Sheet(VOIDS, voids, name="voids", title="Voids"))
    assumed = [f"assumed: {each.where}: {each.reason}" for each in found.assumptions]
    emit(Report(f"{found.order} · {found.game}", sheets, facts, [*notes([found]), *assumed]), form)


@rules.command(epilog=examples("roundledger rules chances roulette", "roundledger rules chances 31/2003 --csv"))
@click.argument("game", metavar="GAME|ORDER")
@unverified_options
@output_options
def chances(game: str, unverified: Unverified | None, form: Form) -> None:
    """List the chances of a game with their odds.

    Codes, official terms, odds, articles, and the exact house edge.
    """
    found = pick(game, unverified)
    rows = [row for each in found for row in chance_rows(each)]
    title = "Chances of " + ", ".join(f"{each.game} by {each.order}" for each in found)
    emit(Report(title, [Sheet(CHANCES, rows, name="chances")], notes=notes(found)), form)


@rules.command(
    epilog=examples(
        "roundledger rules edge",
        "roundledger rules edge cussec",
        "roundledger rules edge roulette --all --csv     every legal bet",
        "roundledger rules edge craps --all --unverified",
    )
)
@click.argument("game", metavar="[GAME|ORDER]", required=False)
@click.option("--all", "every", is_flag=True, help="A line for each legal bet, not for each chance.")
@unverified_options
@output_options
def edge(game: str | None, every: bool, unverified: Unverified | None, form: Form) -> None:
    """Print the exact house edge of every chance.

    Or of every legal bet; as a fraction of the stake. It is the mean over all outcomes before any rounding; for craps over all
    throws, from when the bet is placed. With --all a bet that is worth something else at each point has a line for each.
    """
    found = pick(game, unverified)
    rows = [row for each in found for row in (_every_bet(each) if every else _every_chance(each))]
    columns = [column for column in EDGES if column.key != "point" or any(row["point"] for row in rows)]
    emit(Report("House edge", [Sheet(columns, rows, name="edges")], notes=notes(found)), form)


def _every_chance(found: Regulation) -> list[dict[str, Any]]:
    from ledger.rules import analyse

    return [
        _edge_row(group[0], analyse(group[0]), named(chance, spots, group), len(group))
        for chance, spots in offered(found)
        for group in alike(spots)
    ]


def _every_bet(found: Regulation) -> list[dict[str, Any]]:
    return [_edge_row(spot, figures, spot.text, 1, point) for spot in found.spots() for point, figures in worth(spot).items()]


def _edge_row(spot: Spot, figures: Analysis, named: str, bets: int, point: int = 0) -> dict[str, Any]:
    return {
        "regulation": spot.regulation.order,
        "bet": named,
        "point": point or None,
        "bets": bets,
        "edge": figures.edge,
        "percent": percent(figures.edge),
        "edge_resolved": figures.edge_resolved,
        "win": figures.win,
        "push": figures.push,
        "variance": figures.variance,
        "article": spot.cite,
    }


@rules.command(
    epilog=examples(
        "roundledger rules assumptions",
        "roundledger rules assumptions roulette --csv",
        "roundledger property example > house.toml",
        "roundledger rules assumptions --property house.toml     as this house plays, with its opt-ins",
    )
)
@click.argument("game", metavar="[GAME|ORDER]", required=False)
@click.option(
    "--property",
    "house",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="As this property plays: its choices and opt-ins. The file is read, nothing is stored.",
)
@unverified_options
@output_options
def assumptions(game: str | None, house: Path | None, unverified: Unverified | None, form: Form) -> None:
    """List what is assumed: the register of assumptions.

    Everything that the sources do not say and is done all the same, and the opt-ins. Those in force at the properties of a ledger
    stand in `roundledger property show`.
    """
    from cli.property import opt_in_reasons, read_property
    from ledger.rules import assumptions as register

    found = pick(game, unverified)
    opted: dict[str, str] = {}
    if house is not None:
        config = read_property(house)
        found, opted = [config.as_played(each) for each in found], opt_in_reasons(config)
    title = "Assumptions" if house is None else f"Assumptions and opt-ins of {house}"
    rows = assumption_rows(register(opted, found), opted)
    emit(Report(title, [Sheet(ASSUMPTIONS, rows, name="assumptions")], notes=notes(found)), form)


for command in (check, settle, page):
    rules.add_command(command)
