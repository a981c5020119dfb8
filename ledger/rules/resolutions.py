"""Bets as the rules see them, and what became of each."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import NamedTuple

from ledger.money import MinorUnits
from ledger.rules.games.kernel import LOST, STANDS
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


def resolve(wager: Wager, payoff: Payoff, payable_unit: MinorUnits) -> Resolution:
    """One bet under one payoff: the one rounding there is. The net prize is floored to `payable_unit` minor units."""
    stake = wager.stake
    return Resolution(
        wager,
        payoff,
        stake * payoff.odds_num // payoff.odds_den,
        stake * payoff.com_num // payoff.com_den,
        stake * payoff.net_num // (payoff.net_den * payable_unit) * payable_unit,
    )
