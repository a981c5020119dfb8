"""One rounding per bet: what the player gets is the exact net prize, floored once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from ledger.rules import Exposure, Regulation, State, Wager, explain, settle
from tests.unit.rules.helpers import CRAPS, FANTAN, UNVERIFIED

SSHONG, NGA, FAN = "sshong:123", "nga:12/3", "fan:1"


@pytest.mark.parametrize(
    ("spot", "stake", "unit", "gross", "net", "amounts"),
    [
        (SSHONG, 100, 1, "100/3", "95/3", (33, 1, 1, 31)),
        (NGA, 100, 1, "50", "95/2", (50, 2, 1, 47)),
        (FAN, 100, 1, "300", "285", (300, 15, 0, 285)),
        (SSHONG, 100, 100, "100/3", "95/3", (33, 1, 32, 0)),
        (SSHONG, 10000, 1, "10000/3", "9500/3", (3333, 166, 1, 3166)),
        (SSHONG, 10, 1, "10/3", "19/6", (3, 0, 0, 3)),
        (NGA, 5, 1, "5/2", "19/8", (2, 0, 0, 2)),
        (SSHONG, 1, 1, "1/3", "19/60", (0, 0, 0, 0)),
        (FAN, 10000, 100, "30000", "28500", (30000, 1500, 0, 28500)),
        (FAN, 9999, 100, "29997", "569943/20", (29997, 1499, 98, 28400)),
    ],
)
def test_prize_commission_breakage_and_net_prize(
    spot: str, stake: int, unit: int, gross: str, net: str, amounts: tuple[int, int, int, int]
) -> None:
    [paid] = settle(FANTAN, FANTAN.outcome("1"), [Wager(1, FANTAN.spot(spot), stake)], payable_unit=unit)
    assert (paid.prize, paid.commission, paid.breakage, paid.net_prize) == amounts
    assert paid.prize_exact == Fraction(gross)
    assert paid.payoff.net * stake == Fraction(net)
    assert (paid.result, paid.returned) == ("won", stake + amounts[3])


def test_a_winner_whose_prize_rounds_to_nothing_has_won_all_the_same() -> None:
    [paid] = settle(FANTAN, FANTAN.outcome("1"), [Wager(1, FANTAN.spot(SSHONG), 1)])
    assert (paid.result, paid.returned, paid.net) == ("won", 1, 0)


def test_a_thousand_small_bets_are_each_rounded_by_themselves() -> None:
    bets = [Wager(i, FANTAN.spot(text), stake) for i in range(1000) for text, stake in ((SSHONG, 10), (NGA, 5), (SSHONG, 10000))]
    paid = settle(FANTAN, FANTAN.outcome("1"), bets)
    assert sum(each.net_prize for each in paid) == 1000 * (3 + 2 + 3166)
    assert sum(each.prize - each.commission - each.breakage for each in paid) == sum(each.net_prize for each in paid)


def test_a_unit_of_120_makes_every_fantan_prize_exact() -> None:
    for spot in FANTAN.spots():
        for outcome in FANTAN.outcomes():
            [each] = settle(FANTAN, outcome, [Wager(1, spot, 120)])
            assert each.breakage == 0
            assert each.net_prize == each.payoff.net * 120


@pytest.mark.parametrize(
    ("law", "throws", "spot", "stake", "net"),
    [
        (CRAPS, "6,6", "pass_odds", 333, 399),
        (UNVERIFIED, "5,6", "place:6", 100, 116),
        (UNVERIFIED, "5,7", "place_lose:4", 100, 45),
        (UNVERIFIED, "5,7", "lay:6", 7, 5),
    ],
)
def test_craps_fractions_are_floored_the_same_way(law: Regulation, throws: str, spot: str, stake: int, net: int) -> None:
    bets = [Wager("line", law.spot("pass"), 1), Wager("bet", law.spot(spot), stake)]
    [paid] = [each for each in settle(law, law.outcome(throws), bets) if each.wager.key == "bet"]
    assert (paid.result, paid.net_prize) == ("won", net)


def test_53_2010_the_net_prize_is_floored_to_the_payable_unit() -> None:
    for throws, paid in (("7", 300), ("6,6", 300), ("2", 0)):
        [each] = settle(CRAPS, CRAPS.outcome(throws), [Wager(1, CRAPS.spot("pass"), 333)], payable_unit=100)
        assert each.net_prize == paid
    at_six = [Wager(1, CRAPS.spot("pass"), 333), Wager(2, CRAPS.spot("pass_odds"), 333)]
    settled = settle(CRAPS, CRAPS.outcome("8,6"), at_six, payable_unit=50, state=State(6))
    assert [(each.prize, each.net_prize, each.breakage) for each in settled] == [(333, 300, 33), (399, 350, 49)]


def test_settle_refuses_what_does_not_belong_together() -> None:
    spot = FANTAN.spot(FAN)
    bet = Wager(1, spot, 100)
    with pytest.raises(ValueError, match="an outcome of craps"):
        settle(FANTAN, CRAPS.outcome("7"), [bet])
    with pytest.raises(ValueError, match="is not a spot of"):
        settle(FANTAN, FANTAN.outcome("1"), [Wager(1, CRAPS.spot("pass"), 100)])
    for stake in (0, -100, True, 100.0, "100", None):
        with pytest.raises(ValueError, match="a stake is a whole number"):
            settle(FANTAN, FANTAN.outcome("1"), [Wager(1, spot, stake)])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="a stake is a whole number"):
            settle(CRAPS, CRAPS.outcome("7"), [Wager(1, CRAPS.spot("pass"), stake)])  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", [0, -1, True, 1.5, 1.0, float("inf"), "1", None, Fraction(1)])
def test_the_payable_unit_is_refused_as_stakes_are(unit: Any) -> None:
    """A float, or true, would go through the arithmetic and come out as a float."""
    bet = Wager(1, FANTAN.spot(FAN), 100)
    line = Wager(1, CRAPS.spot("pass"), 100)
    with pytest.raises(ValueError, match="a unit is a whole number"):
        settle(FANTAN, FANTAN.outcome("1"), [bet], payable_unit=unit)
    with pytest.raises(ValueError, match="a unit is a whole number"):
        settle(CRAPS, CRAPS.outcome("7"), [line], payable_unit=unit)
    with pytest.raises(ValueError, match="a unit is a whole number"):
        settle(FANTAN, FANTAN.outcome("1"), [], payable_unit=unit)
    with pytest.raises(ValueError, match="a unit is a whole number"):
        Exposure(FANTAN, payable_unit=unit)
    [paid] = settle(FANTAN, FANTAN.outcome("1"), [bet])
    with pytest.raises(ValueError, match="a unit is a whole number"):
        explain(FANTAN, FANTAN.outcome("1"), paid, payable_unit=unit)
