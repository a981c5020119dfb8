"""What is due: what the regulation gives a bet, worked out bet by bet from where it lay and what the table showed.

The round's own settlement takes all bets of a table at once and goes from throw to throw. Here each bet is followed by itself,
with plain fractions and the one rounding of `ledger.money`; of the rules only the paytable is asked. So one can be held beside
the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ledger.events import Standing
from ledger.money import MinorUnits, floor_to
from ledger.rules import COME_OUT, Outcome, Payoff, Regulation, Spot, Wager, settle
from ledger.rules.outcomes import Throw
from ledger.rules.throws import moved, payoff_of

NONE = Fraction(0)


class Due(NamedTuple):
    """What a bet has to come to. Amounts in minor units."""

    result: str
    """`lost`, `won`, `push`, or `open` where nothing has decided it."""
    spot: str
    """Where it lay when it was decided; of an open bet, where it lies."""
    stake: MinorUnits
    payoff: Payoff | None = None
    edge: Fraction = NONE
    prize_exact: Fraction = NONE
    prize: MinorUnits = 0
    commission: MinorUnits = 0
    net_prize: MinorUnits = 0

    @property
    def breakage(self) -> MinorUnits:
        """What rounding leaves with the house."""
        return self.prize - self.commission - self.net_prize

    @property
    def returned(self) -> MinorUnits:
        """What the player gets in all."""
        return self.stake + self.net_prize if self.result in ("won", "push") else 0

    def standing(self, player: str) -> Standing:
        """The same as events say it."""
        if self.payoff is None:
            return Standing(player=player, spot=self.spot, stake=str(self.stake), result=self.result)
        return Standing(
            player=player,
            spot=self.spot,
            stake=str(self.stake),
            result=self.result,
            odds=str(self.payoff.odds),
            prize_exact=str(self.prize_exact),
            prize=str(self.prize),
            commission=str(self.commission),
            breakage=str(self.breakage),
            net_prize=str(self.net_prize),
            returned=str(self.returned),
            edge=str(self.edge),
            article=self.payoff.cite,
        )


class Stage(NamedTuple):
    """A bet as it lay from some moment on."""

    after: int
    """Valid throws of the round before that moment; 0 where the game has no throws."""
    spot: str
    stake: MinorUnits
    moved: bool
    """Whether it was put on this spot then; else only its stake is another."""


def by_payoff(spot: Spot, payoff: Payoff, stake: MinorUnits, payable_unit: MinorUnits) -> Due:
    """What a payoff gives: the exact prize, each part of it rounded down once (docs/adr/0012)."""
    return Due(
        payoff.result,
        spot.text,
        stake,
        payoff,
        spot.edge,
        stake * payoff.odds,
        floor_to(stake * payoff.odds, 1),
        floor_to(stake * payoff.commission, 1),
        floor_to(stake * payoff.net, payable_unit),
    )


def by_outcome(regulation: Regulation, outcome: Outcome, stage: Stage, payable_unit: MinorUnits) -> Due:
    """What one outcome gives a bet as it lay at the end. Raises Refusal for a spot that the regulation does not know."""
    spot = regulation.spot(stage.spot)
    return by_payoff(spot, spot.pays[outcome.slot], stage.stake, payable_unit)


def by_throws(regulation: Regulation, throws: Sequence[Throw], stages: Sequence[Stage], payable_unit: MinorUnits) -> Due:
    """What throws of craps, valid ones only, give a bet that lay so: the first throw after it came that decides it.

    A change that comes after that changes nothing any more.
    """
    state, spot, stake = COME_OUT, None, 0
    for moment in range(len(throws) + 1):
        for stage in stages:
            if stage.after == moment:
                spot = regulation.spot_in_play(stage.spot) if stage.moved or spot is None else spot
                stake = stage.stake
        if moment == len(throws):
            break
        if spot is not None:
            payoff = payoff_of(spot, state, throws[moment])
            if payoff.result != "stands":
                return by_payoff(spot, payoff, stake, payable_unit)
            spot = moved(spot, payoff)
        state = state.after(throws[moment])
    last = stages[-1]
    return Due("open", last.spot if spot is None else spot.text, last.stake if spot is None else stake)


def by_one_sequence(
    regulation: Regulation, outcome: Outcome, stages: Sequence[Sequence[Stage]], payable_unit: MinorUnits
) -> list[Due]:
    """What throws that came as one outcome give the bets of a round, each placed at the first moment at which it could be.

    Old logs have such rounds; which bet could be placed when depends on the others, so the rules decide them together.
    """
    wagers = [Wager(n, regulation.spot(bet[-1].spot), bet[-1].stake) for n, bet in enumerate(stages)]
    found: dict[object, Due] = {}
    for each in settle(regulation, outcome, wagers, payable_unit=payable_unit):
        spot, stake = each.wager.spot, each.wager.stake
        if each.result == "stands":
            found[each.wager.key] = Due("open", each.payoff.moves_to or spot.text, stake)
        else:
            found[each.wager.key] = by_payoff(spot, each.payoff, stake, payable_unit)
    return [found[n] for n in range(len(stages))]
