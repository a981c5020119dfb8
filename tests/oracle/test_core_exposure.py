"""The rules core's exposure against the oracle: the most that any outcome can cost the bank beyond the open stakes."""

from __future__ import annotations

import random

import pytest

from ledger.rules import Exposure, regulation
from tests.oracle import ORDERS, bets, expected, outcomes

STAKES = (1, 7, 60, 100, 120)


@pytest.mark.parametrize("game", ["roulette", "cussec", "fantan"])
def test_exposure_is_the_worst_of_all_outcomes_after_each_bet(game: str) -> None:
    rules = regulation(ORDERS[game])
    dealer = random.Random(game)
    for _ in range(12):
        exposure = Exposure(rules)
        staked = 0
        paid = dict.fromkeys(outcomes(game), 0)
        for _ in range(25):
            notation, stake = dealer.choice(bets(game)), dealer.choice(STAKES)
            exposure.add(rules.spot(notation), stake)
            staked += stake
            for outcome in paid:
                paid[outcome] += expected(game, notation, outcome, stake)["returned"]
            assert exposure.worst == max(paid.values()) - staked
