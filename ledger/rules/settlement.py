"""Settlement: what an outcome makes of each bet."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.money import MinorUnits, verify_unit
from ledger.rules.games.craps import State
from ledger.rules.outcomes import Outcome
from ledger.rules.regulation import Regulation
from ledger.rules.resolutions import Resolution, Wager
from ledger.rules.throws import settle_throws


def settle(
    regulation: Regulation,
    outcome: Outcome,
    wagers: Iterable[Wager],
    *,
    payable_unit: MinorUnits = 1,
    state: State | None = None,
) -> list[Resolution]:
    """Resolve every bet: losers first, then winners and pushes in the regulation's order of payment.

    Within one place of that order, and among the losers, bets keep the order in which they were placed. One rounding per bet: the
    net prize is floored to `payable_unit` minor units. Raises ValueError where bets, outcome and regulation do not belong
    together.

    Craps: `state` is where the round stood before the throws of the outcome, `wagers` are the bets on the table; without a state
    the throws begin a round (see `ledger.rules.throws`). Bets that are not decided come last and stand.
    """
    if outcome.game != regulation.game:
        raise ValueError(f"an outcome of {outcome.game} settles no bet of {regulation.game}")
    verify_unit(payable_unit)
    if outcome.throws:
        placed = list(wagers)
        for wager in placed:
            _check(regulation, wager)
        return settle_throws(outcome, placed, state, payable_unit)
    slot = outcome.slot
    new = tuple.__new__
    lost: list[Resolution] = []
    paid: list[list[Resolution]] = [[] for _ in range(max(1, len(regulation.payment_order)))]
    for wager in wagers:
        _, spot, stake = wager
        if spot.regulation is not regulation or type(stake) is not int or stake < 1:
            _check(regulation, wager)
        payoff = spot.pays[slot]
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
        elif payoff.lost:
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
