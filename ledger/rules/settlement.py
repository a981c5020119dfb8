"""Settlement: what an outcome makes of each bet."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import NamedTuple

from ledger.money import MinorUnits
from ledger.rules.games.kernel import LOST, STANDS
from ledger.rules.outcomes import Outcome
from ledger.rules.regulation import Regulation
from ledger.rules.spots import Payoff, Spot


class Wager(NamedTuple):
    """A bet as the rules see it. `stake` is in minor units, at least 1; `key` is whatever names the bet."""

    key: Hashable
    spot: Spot
    stake: MinorUnits


class Resolution(NamedTuple):
    """What became of one bet. Amounts are minor units; prize − commission − breakage = net prize, none of them below zero."""

    wager: Wager
    payoff: Payoff
    prize: MinorUnits
    """The exact gross prize, floored to the minor unit. It excludes the stake."""
    commission: MinorUnits
    """The exact commission, floored to the minor unit."""
    net_prize: MinorUnits
    """The exact net prize, floored to the payable unit: what the player wins."""

    @property
    def result(self) -> str:
        """`won`, `lost`, `push` (the stake goes back) or `stands` (not decided yet)."""
        return self.payoff.result

    @property
    def odds(self) -> Fraction:
        """Prize for one unit staked, to one, before commission; 0 unless won."""
        return self.payoff.odds

    @property
    def prize_exact(self) -> Fraction:
        """Stake × odds, in minor units."""
        return self.payoff.odds * self.wager.stake

    @property
    def breakage(self) -> MinorUnits:
        """What flooring leaves with the house, booked apart from its win."""
        return self.prize - self.commission - self.net_prize

    @property
    def returned(self) -> MinorUnits:
        """What leaves the table: stake and net prize of a winner, the stake of a push; 0 if lost or undecided."""
        return 0 if self.payoff.result in (LOST, STANDS) else self.wager.stake + self.net_prize

    @property
    def net(self) -> int:
        """What the player gained (or, below zero, lost)."""
        return 0 if self.payoff.result == STANDS else self.returned - self.wager.stake

    @property
    def cite(self) -> str:
        """Order, article and item that decided: `30/2003 art. 6(1), 7(1)`."""
        return self.payoff.cite


def settle(
    regulation: Regulation, outcome: Outcome, wagers: Iterable[Wager], *, payable_unit: MinorUnits = 1
) -> list[Resolution]:
    """Resolve every bet: losers first, then winners and pushes in the regulation's order of payment.

    Within one place of that order, and among the losers, bets keep the order in which they were placed. One rounding per bet: the
    net prize is floored to `payable_unit` minor units. Raises ValueError where bets, outcome and regulation do not belong
    together.
    """
    if outcome.game != regulation.game:
        raise ValueError(f"an outcome of {outcome.game} settles no bet of {regulation.game}")
    if payable_unit < 1:
        raise ValueError(f"the payable unit is at least one minor unit, not {payable_unit}")
    index = outcome.slot
    new = tuple.__new__
    lost: list[Resolution] = []
    paid: list[list[Resolution]] = [[] for _ in range(max(1, len(regulation.payment_order)))]
    for wager in wagers:
        _, spot, stake = wager
        if spot.regulation is not regulation or type(stake) is not int or stake < 1:
            _check(regulation, wager)
        payoff = spot.pays[index]
        if payoff.odds_num:
            # new() is Resolution(...) without the call of a Python function: a bet costs a third less.
            paid[payoff.rank].append(
                new(
                    Resolution,
                    (
                        wager,
                        payoff,
                        stake * payoff.odds_num // payoff.odds_den,
                        stake * payoff.com_num // payoff.com_den,
                        stake * payoff.net_num // (payoff.net_den * payable_unit) * payable_unit,
                    ),
                )
            )
        elif payoff.result is LOST:
            lost.append(new(Resolution, (wager, payoff, 0, 0, 0)))
        else:
            paid[payoff.rank].append(new(Resolution, (wager, payoff, 0, 0, 0)))
    for group in paid:
        lost += group
    return lost


def _check(regulation: Regulation, wager: Wager) -> None:
    """What is wrong with a wager that did not pass the quick look, if anything."""
    if wager.spot.regulation != regulation:
        raise ValueError(f"{wager.spot!r} is not a spot of {regulation!r}")
    if type(wager.stake) is not int or wager.stake < 1:
        raise ValueError(f"a stake is a whole number of minor units, at least 1, not {wager.stake!r}")
