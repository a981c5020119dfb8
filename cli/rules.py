"""`roundledger rules`: the regulations, what their chances are worth, and what a bet would be paid. No database."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from cli.output import Column, Form, Report, Sheet, emit, emit_json, examples, output_options, say
from ledger.errors import Refusal

if TYPE_CHECKING:
    from ledger.rules import Chance, Name, Regulation, Resolution, Spot

REGULATIONS = (
    Column("regulation", "regulation"),
    Column("game", "game"),
    Column("dated", "dated"),
    Column("published", "published"),
    Column("in_force_from", "in force from"),
    Column("effective_from", "effect from"),
    Column("effective_to", "effect to"),
    Column("revoked_by", "revoked by"),
    Column("assumptions", "assumed", "number"),
    Column("sha256", "sha256", drawn=False),
)
CHANCES = (
    Column("regulation", "regulation", drawn=False),
    Column("chance", "chance"),
    Column("pt", "pt"),
    Column("zh", "zh"),
    Column("en", "en"),
    Column("bets", "bets", "number"),
    Column("odds", "odds to one", "number"),
    Column("article", "article"),
    Column("edge", "house edge", "number"),
    Column("percent", "%", "number"),
    Column("assumed", "assumed"),
    Column("rule", "rule", drawn=False),
)
EDGES = (
    Column("regulation", "regulation"),
    Column("bet", "bet"),
    Column("bets", "bets", "number"),
    Column("edge", "house edge", "number"),
    Column("percent", "%", "number"),
    Column("win", "probability of winning", "number"),
    Column("push", "of a tie", "number"),
    Column("article", "article"),
)
CHECKS = (
    Column("regulation", "regulation"),
    Column("game", "game"),
    Column("chance", "chance"),
    Column("bets", "bets", "number"),
    Column("settled", "bets × outcomes", "number"),
    Column("edge", "house edge", "number"),
    Column("percent", "%", "number"),
    Column("verdict", "verdict"),
)
VOIDS = (
    Column("void", "void"),
    Column("article", "article"),
    Column("pt", "pt"),
    Column("zh", "zh"),
    Column("disposition", "stakes"),
    Column("cause", "cause", drawn=False),
    Column("consequence", "consequence", drawn=False),
)
RESOLUTIONS = (
    Column("bet", "bet"),
    Column("currency", "currency"),
    Column("stake", "stake", "amount"),
    Column("result", "result"),
    Column("odds", "odds", "number"),
    Column("prize_exact", "exact prize in minor units", "number", drawn=False),
    Column("prize", "prize", "amount"),
    Column("commission", "commission", "amount"),
    Column("breakage", "breakage", "amount"),
    Column("returned", "returned", "amount"),
    Column("net", "player's net", "amount"),
    Column("article", "article"),
)
NOT_IN_SOURCES = "not in sources"


@click.group()
def rules() -> None:
    """The regulations: their chances, what these are worth, what a bet would be paid."""


@rules.command("list", epilog=examples("roundledger rules list", "roundledger rules list --json"))
@output_options
def list_(form: Form) -> None:
    """List the regulations held, with their dates."""
    from ledger.rules import regulations

    rows = [
        {
            "regulation": each.order,
            "game": each.game,
            **{name: _day(getattr(each.dates, name)) for name in _DATES},
            "revoked_by": each.dates.revoked_by,
            "assumptions": len(each.assumptions),
            "sha256": each.sha256,
        }
        for each in regulations()
    ]
    emit(Report("Regulations", [Sheet(REGULATIONS, rows, name="regulations")]), form)


_DATES = ("dated", "published", "in_force_from", "effective_from", "effective_to")


@rules.command(epilog=examples("roundledger rules show 30/2003", "roundledger rules show 58/2004 --json"))
@click.argument("order", metavar="ORDER")
@output_options
def show(order: str, form: Form) -> None:
    """Show one regulation: dates, gazette, chances, voids, and everything in it that is assumed."""
    from ledger.rules import regulation

    found = regulation(order)
    dates = found.dates
    facts = {
        **{f"title_{language}": name.text for language, name in found.title.items()},
        **{name: _day(getattr(dates, name)) for name in _DATES},
        "revokes": ", ".join(dates.revokes),
        "revoked_by": dates.revoked_by,
        "gazette": found.gazette.issue + (f", pages {found.gazette.pages}" if found.gazette.pages else ""),
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
            **_terms(void.names),
        }
        for void in found.voids
    ]
    sheets = [Sheet(CHANCES, _chance_rows(found), name="chances", title="Chances")]
    if voids:
        sheets.append(Sheet(VOIDS, voids, name="voids", title="Voids"))
    notes = [f"assumed: {each.where}: {each.reason}" for each in found.assumptions]
    emit(Report(f"{found.order} · {found.game}", sheets, facts, notes), form)


@rules.command(epilog=examples("roundledger rules chances roulette", "roundledger rules chances 31/2003 --csv"))
@click.argument("game", metavar="GAME|ORDER")
@output_options
def chances(game: str, form: Form) -> None:
    """List the chances of a game: codes, official terms, odds, articles, exact house edge."""
    found = _pick(game)
    rows = [row for each in found for row in _chance_rows(each)]
    title = "Chances of " + ", ".join(f"{each.game} by {each.order}" for each in found)
    emit(Report(title, [Sheet(CHANCES, rows, name="chances")], notes=_unheld(found)), form)


@rules.command(
    epilog=examples(
        "roundledger rules edge",
        "roundledger rules edge cussec",
        "roundledger rules edge roulette --all --csv     every legal bet",
    )
)
@click.argument("game", metavar="[GAME|ORDER]", required=False)
@click.option("--all", "every", is_flag=True, help="A line for each legal bet, not for each chance.")
@output_options
def edge(game: str | None, every: bool, form: Form) -> None:
    """Print the exact house edge of every chance, or of every legal bet, as a fraction of the stake."""
    from ledger.rules import analyse

    rows = []
    for each in _pick(game):
        for named, spots in _groups(each, every).items():
            for value, alike in _by_edge(spots).items():
                worth = analyse(alike[0])
                rows.append(
                    {
                        "regulation": each.order,
                        "bet": named,
                        "bets": len(alike),
                        "edge": value,
                        "percent": _percent(value),
                        "win": worth.win,
                        "push": worth.push,
                        "article": alike[0].cite,
                    }
                )
    emit(Report("House edge", [Sheet(EDGES, rows, name="edges")]), form)


@rules.command(
    epilog=examples(
        "roundledger rules check", "roundledger rules check --json", codes="0 all agree, 1 something does not, 2 error."
    )
)
@output_options
def check(form: Form) -> int:
    """Settle every legal bet on every outcome, and hold the sums against the exact house edge.

    Craps has no end of outcomes: there the chain of throws is solved, and each throw in each state is settled.
    """
    from ledger.rules import regulations

    rows = [row for each in regulations() for row in _check(each)]
    wrong = [row for row in rows if row["verdict"] != "ok"]
    emit(Report("Check of the regulations", [Sheet(CHECKS, rows, name="checks")]), form)
    say(f"{sum(row['bets'] for row in rows)} bets, {sum(row['settled'] for row in rows)} settled, {len(wrong)} chances disagree")
    return 1 if wrong else 0


@rules.command(
    epilog=examples(
        "roundledger rules settle 30/2003 17 straight:17=100 red=50.00",
        "roundledger rules settle 31/2003 2-2-2 total:6=10 any_triple=10 small=100",
        "roundledger rules settle 58/2004 23 nim:3/4=100 fan:1=20          the count of buttons",
        "roundledger rules settle 53/2010 6,void,6 pass=100 pass_odds=100   throws, by sums or by faces (3-3)",
    )
)
@click.argument("order", metavar="ORDER")
@click.argument("outcome", metavar="OUTCOME")
@click.argument("bets", metavar="BET=AMOUNT...", nargs=-1, required=True)
@click.option("--currency", default="MOP", show_default=True, help="Currency of the amounts.")
@click.option("--payable-unit", metavar="AMOUNT", help="Smallest amount that is paid out; by default the currency's minor unit.")
@click.option("--explain", "explained", is_flag=True, help="Say why, bet by bet.")
@output_options
def settle(
    order: str, outcome: str, bets: tuple[str, ...], currency: str, payable_unit: str | None, explained: bool, form: Form
) -> None:
    """Say what bets would be paid: losers first, then in the regulation's order of payment.

    BET is bet notation (`straight:17`, `split:17-20`, `total:9`), AMOUNT its stake in units of the currency. ORDER may be any
    regulation that is held, whatever its dates: this is a what-if, and nothing is stored.
    """
    from ledger.money import parse_plain
    from ledger.rules import Wager, explain, regulation
    from ledger.rules import settle as settled

    found = regulation(order)
    unit = 1 if payable_unit is None else parse_plain(payable_unit, currency, field="--payable-unit")
    shown = found.outcome(outcome)
    wagers = [Wager(n, found.spot(spot), parse_plain(amount, currency, field=spot)) for n, spot, amount in _stakes(bets)]
    resolutions = settled(found, shown, wagers, payable_unit=unit)
    rows = [_resolution(each, currency) for each in resolutions]
    if form == "json":
        fields = [column.key for column in RESOLUTIONS if column.key != "currency"]
        emit_json([{key: row[key] for key in fields} for row in rows])
        return
    sums = {key: sum(int(row[key]) for row in rows) for key in ("stake", "prize", "commission", "breakage", "returned", "net")}
    sheet = Sheet(RESOLUTIONS, rows, name="bets", totals=[{"currency": currency, **sums}])
    emit(Report(f"{found.order} · {found.game}: {shown.shown}", [sheet], notes=_unheld([found])), form)
    if explained:
        for each in resolutions:
            click.echo(err=form == "csv")
            for line in explain(found, shown, each, currency=currency, payable_unit=unit).lines():
                click.echo(line, err=form == "csv")


# ----------------------------------------------------------------------------------------------------------------- from rules


def _pick(game: str | None) -> list[Regulation]:
    """The regulations of a game, the one of an order number, or all."""
    from ledger.rules import regulation, regulations

    if game is None:
        return list(regulations())
    if any(character.isdigit() for character in game):
        return [regulation(game)]
    found = [each for each in regulations() if each.game == game]
    if not found:
        from difflib import get_close_matches

        games = list(dict.fromkeys(each.game for each in regulations()))
        near = get_close_matches(game, games, 1)
        raise Refusal(
            "LGR-0402",
            "no regulation of this game is held",
            field="game",
            value=game,
            help=f"did you mean {near[0]}?" if near else f"games: {', '.join(games)}",
        )
    return found


def _chance_rows(found: Regulation) -> list[dict[str, Any]]:
    rows = []
    for chance, spots in _chances(found):
        # Selections with an article item and names of their own (the dozens) are lines of their own.
        groups = [[spot] for spot in spots] if chance.items else _by_edge(spots).values()
        for alike in groups:
            first = alike[0]
            rows.append(
                {
                    "regulation": found.order,
                    "chance": first.text if chance.items else chance.code,
                    **_terms(first.names if chance.items else chance.names),
                    "bets": len(alike),
                    "odds": " ".join(map(str, _odds(alike))),
                    "article": first.cite,
                    "edge": first.edge,
                    "percent": _percent(first.edge),
                    "assumed": ", ".join(chance.assumed) if chance.verified else "all of it",
                    "rule": chance.rule,
                }
            )
    return rows


def _chances(found: Regulation) -> list[tuple[Chance, list[Spot]]]:
    """The chances that can be bet, with their spots."""
    return [(chance, [spot for spot in found.spots() if spot.chance is chance]) for chance in found.offered]


def _groups(found: Regulation, every: bool) -> dict[str, list[Spot]]:
    if every:
        return {spot.text: [spot] for spot in found.spots()}
    return {chance.code: spots for chance, spots in _chances(found)}


def _by_edge(spots: Iterable[Spot]) -> dict[Fraction, list[Spot]]:
    """Spots by their house edge, in the order in which the edges appear."""
    groups: dict[Fraction, list[Spot]] = {}
    for spot in spots:
        groups.setdefault(spot.edge, []).append(spot)
    return groups


def _odds(spots: Iterable[Spot]) -> list[Fraction]:
    """What the spots pay when they win, lowest first."""
    return sorted({payoff.odds for spot in spots for payoff in spot.pays if payoff.odds})


def _terms(names: Any) -> dict[str, str]:
    return {language: _term(names.get(language)) for language in ("pt", "zh", "en")}


def _term(name: Name | None) -> str:
    if name is None:
        return NOT_IN_SOURCES
    return name.text if name.unofficial is None or name.unofficial == "our translation" else f"{name.text} (unofficial)"


def _day(day: object) -> str | None:
    return None if day is None else str(day)


def _percent(share: Fraction) -> str:
    """A share as a percentage with three decimals, halves to the even digit: a figure to read, beside the exact one."""
    thousandths = round(share * 100_000)
    sign = "-" if thousandths < 0 else ""
    return f"{sign}{abs(thousandths) // 1000}.{abs(thousandths) % 1000:03}"


def _unheld(found: Iterable[Regulation]) -> list[str]:
    """What everybody who reads of these regulations has to know."""
    return [
        f"{each.order} had effect until {each.dates.effective_to}; {each.dates.revoked_by}, which repealed it, is not held"
        for each in found
        if each.dates.revoked_by
    ]


def _check(found: Regulation) -> list[dict[str, Any]]:
    """One row a chance and edge: every bet settled on every outcome, the mean held against the exact edge."""
    rows = []
    for chance, spots in _chances(found):
        for value, alike in _by_edge(spots).items():
            settled, agree = _enumerate(found, alike)
            rows.append(
                {
                    "regulation": found.order,
                    "game": found.game,
                    "chance": chance.code,
                    "bets": len(alike),
                    "settled": settled,
                    "edge": value,
                    "percent": _percent(value),
                    "verdict": "ok" if agree else "DIFFERENT",
                }
            )
    return rows


def _enumerate(found: Regulation, spots: list[Spot]) -> tuple[int, bool]:
    """How many settlements were made, and whether each adds up and all together give the edge."""
    from math import lcm

    from ledger.rules import Wager
    from ledger.rules import settle as settled

    count, agree = 0, True
    if found.game == "craps":
        from ledger.rules import analyse

        # A bet that stands goes on to the next throw; the chain of them is what the analysis solves.
        return sum(len(spot.pays) for spot in spots), all(analyse(spot).edge == spot.edge for spot in spots)
    outcomes = found.outcomes()
    weights = sum(outcome.weight for outcome in outcomes)
    for spot in spots:
        # A stake by which every figure is whole: nothing is rounded, so the mean is exact.
        stake = lcm(*(payoff.net.denominator * payoff.odds.denominator for payoff in spot.pays))
        kept = 0
        for outcome in outcomes:
            [each] = settled(found, outcome, [Wager(0, spot, stake)])
            agree &= each.breakage == 0 and each.net_prize >= 0 and each.prize - each.commission == each.net_prize
            kept -= each.net * outcome.weight
            count += 1
        agree &= Fraction(kept, weights * stake) == spot.edge
    return count, agree


def _stakes(bets: Iterable[str]) -> list[tuple[int, str, str]]:
    """Number, bet notation and amount of each BET=AMOUNT."""
    found = []
    for n, text in enumerate(bets):
        spot, equals, amount = text.rpartition("=")
        if not equals:
            raise Refusal(
                "LGR-0710", "a bet has no amount", field="bet", value=text, help="write BET=AMOUNT, for example straight:17=100"
            )
        found.append((n, spot, amount))
    return found


def _resolution(each: Resolution, currency: str) -> dict[str, Any]:
    return {
        "bet": each.wager.spot.text,
        "currency": currency,
        "stake": str(each.wager.stake),
        "result": each.result,
        "odds": str(each.odds),
        "prize_exact": str(each.prize_exact),
        "prize": str(each.prize),
        "commission": str(each.commission),
        "breakage": str(each.breakage),
        "returned": str(each.returned),
        "net": str(each.net),
        "article": each.cite,
    }
