"""`roundledger rules check`: every bet settled on every outcome, held against the exact figures."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cli.options import Form, examples, output_options
from cli.output import Column, Report, Sheet, counted, emit, say
from cli.regulations import Unverified, alike, named, notes, offered, percent, pick, unverified_options

if TYPE_CHECKING:
    from ledger.rules import Analysis, Regulation, Resolution, Spot

CHECKS = (
    Column("regulation", "regulation"),
    Column("game", "game"),
    Column("chance", "chance"),
    Column("bets", "bets", "number"),
    Column("settled", "settled", "number"),
    Column("edge", "house edge", "number"),
    Column("percent", "%", "number"),
    Column("verdict", "verdict"),
)


@click.command(
    epilog=examples(
        "roundledger rules check",
        "roundledger rules check craps --unverified",
        "roundledger rules check --json",
        codes="0 all agree, 1 something does not, 2 error.",
    )
)
@click.argument("game", metavar="[GAME|ORDER]", required=False)
@unverified_options
@output_options
def check(game: str | None, unverified: Unverified | None, form: Form) -> int:
    """Settle every legal bet on every outcome.

    The sums are held against the exact house edge. Craps has no end of outcomes. There every bet is settled on each of the 36
    throws in every state that it can come to, and what it is worth before a throw has to be the mean of what it is worth after:
    the equations of the Markov chain, made of what was settled, which only the true probabilities solve.
    """
    found = pick(game, unverified)
    rows = [row for each in found for row in checked(each)]
    wrong = [row for row in rows if row["verdict"] != "ok"]
    emit(Report("Check of the regulations", [Sheet(CHECKS, rows, name="checks")], notes=notes(found)), form)
    bets = counted(sum(row["bets"] for row in rows), "bet")
    say(f"{bets}, {counted(sum(row['settled'] for row in rows), 'settlement')}, in disagreement: {counted(len(wrong), 'chance')}")
    return 1 if wrong else 0


def checked(found: Regulation) -> list[dict[str, Any]]:
    """One row for the bets of a chance that are worth the same."""
    by_throws = len(found.kernel.phases) > 1
    rows = []
    for chance, spots in offered(found):
        for group in alike(spots):
            results = [_over_throws(spot) if by_throws else _over_outcomes(spot) for spot in group]
            rows.append(
                {
                    "regulation": found.order,
                    "game": found.game,
                    "chance": named(chance, spots, group),
                    "bets": len(group),
                    "settled": sum(each.settled for each in results),
                    "edge": group[0].edge,
                    "percent": percent(group[0].edge),
                    "verdict": "ok" if all(each.agrees for each in results) else "DIFFERENT",
                }
            )
    return rows


class Checked(NamedTuple):
    """How many settlements were made of a spot, and whether they come to its exact figures."""

    settled: int
    agrees: bool


class Mean(NamedTuple):
    """Means over outcomes: the probabilities of a win and of a tie, what the player gains for one unit, and its square."""

    win: Fraction
    push: Fraction
    gain: Fraction
    square: Fraction

    @classmethod
    def of(cls, figures: Analysis) -> Mean:
        return cls(figures.win, figures.push, -figures.edge, figures.variance + figures.edge**2)

    @classmethod
    def decided(cls, each: Resolution) -> Mean:
        gain = Fraction(each.net, each.wager.stake)
        return cls(Fraction(each.result == "won"), Fraction(each.result == "push"), gain, gain**2)

    def plus(self, share: Fraction, other: Mean) -> Mean:
        return Mean(*(mine + share * theirs for mine, theirs in zip(self, other, strict=True)))


NOTHING = Mean(Fraction(0), Fraction(0), Fraction(0), Fraction(0))


def _over_outcomes(spot: Spot) -> Checked:
    from ledger.rules import Wager, analyse, settle

    found, stake = spot.regulation, _exact_stake(spot)
    outcomes = found.outcomes()
    total = sum(outcome.weight for outcome in outcomes)
    mean, agrees = NOTHING, True
    for outcome in outcomes:
        [each] = settle(found, outcome, [Wager(0, spot, stake)])
        agrees &= _adds_up(each)
        mean = mean.plus(Fraction(outcome.weight, total), Mean.decided(each))
    return Checked(len(outcomes), agrees and mean == Mean.of(analyse(spot)) and spot.edge == -mean.gain)


def _over_throws(spot: Spot) -> Checked:
    from ledger.rules import State, Wager, analyse_by_point, can_place, settle, state_after

    found, stake = spot.regulation, _exact_stake(spot)
    throws = [found.outcome(f"{one}-{other}") for one, other in product(range(1, 7), repeat=2)]
    moved = {payoff.moves_to for each in found.spots() for payoff in each.pays if payoff.moves_to}
    others = [*found.spots(), *(found.spot_in_play(text) for text in moved)]
    begins = [point for point in found.kernel.phases if can_place(State(point), spot, others)]
    if not begins:
        return Checked(0, agrees=False)
    worth = {spot.text: analyse_by_point(spot)}
    leads_to: dict[tuple[str, int], set[tuple[str, int]]] = {}
    decides: set[tuple[str, int]] = set()
    ahead = [(spot.text, point) for point in begins]
    agrees = True
    while ahead:
        place = text, point = ahead.pop()
        if place in leads_to:
            continue
        leads_to[place] = set()
        mean = NOTHING
        for throw in throws:
            [each] = settle(found, throw, [Wager(0, found.spot_in_play(text), stake)], state=State(point))
            if each.result != "stands":
                agrees &= _adds_up(each)
                decides.add(place)
                after = Mean.decided(each)
            else:
                stands, then = each.payoff.moves_to or text, state_after(State(point), throw).point
                leads_to[place].add((stands, then))
                if stands not in worth:
                    worth[stands] = analyse_by_point(found.spot_in_play(stands))
                after = Mean.of(worth[stands][then])
            mean = mean.plus(Fraction(1, len(throws)), after)
        agrees &= mean == Mean.of(worth[text][point])
        ahead += leads_to[place]
    return Checked(
        len(leads_to) * len(throws),
        agrees and _all_end(leads_to, decides) and spot.edge == _edge_when_placed(spot, begins, worth[spot.text]),
    )


def _all_end(leads_to: dict[tuple[str, int], set[tuple[str, int]]], decides: set[tuple[str, int]]) -> bool:
    """Whether a decision can be reached from everywhere, without which the equations would have more than one solution."""
    ending = set(decides)
    while more := {place for place, after in leads_to.items() if place not in ending and after & ending}:
        ending |= more
    return ending == set(leads_to)


def _edge_when_placed(spot: Spot, begins: list[int], worth: dict[int, Analysis]) -> Fraction:
    """The edge on the come-out, or over the points at which the bet can be placed, each as likely as the come-out sets it."""
    ways = {point: sum(sum(pair) == point for pair in product(range(1, 7), repeat=2)) for point in begins}
    if not all(ways.values()):
        return worth[0].edge
    return sum((worth[point].edge * ways[point] for point in begins), Fraction(0)) / sum(ways.values())


def _exact_stake(spot: Spot) -> int:
    """A stake by which every figure is whole: nothing is rounded, so the mean is exact."""
    payoffs = {payoff for each in (spot, *_travelled(spot)) for payoff in each.pays}
    return lcm(*(figure.denominator for payoff in payoffs for figure in (payoff.net, payoff.odds, payoff.commission)))


def _travelled(spot: Spot) -> list[Spot]:
    return [spot.regulation.spot_in_play(payoff.moves_to) for payoff in set(spot.pays) if payoff.moves_to]


def _adds_up(each: Resolution) -> bool:
    kept = each.prize - each.commission == each.net_prize >= 0 == each.breakage
    back = 0 if each.result == "lost" else each.wager.stake + each.net_prize
    return kept and each.prize_exact == each.prize and each.returned == back and each.net == back - each.wager.stake
