"""The rounding of one winning bet, by decimal long division cut off towards zero.

No order among the four regulates rounding. What is computed here: prize = exact prize, floored to the minor unit;
net prize = exact net prize, floored to the payable unit; commission = exact commission, floored to the minor unit;
breakage = whatever of the prize is neither. All amounts are minor units.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import NamedTuple

_CUT = Context(prec=60, rounding=ROUND_DOWN)
# Sixty digits cut off, never rounded up, have the whole part of the true quotient as long as that part has fewer digits.


class Amounts(NamedTuple):
    """Minor units of one resolved bet."""

    prize: int
    commission: int
    breakage: int
    net_prize: int


NOTHING = Amounts(0, 0, 0, 0)


def whole(numerator: int, denominator: int) -> int:
    """The whole part of a quotient that is not negative."""
    if numerator < 0 or denominator <= 0 or numerator >= 10**50:
        raise ValueError(f"out of the range of this division: {numerator}/{denominator}")
    quotient = _CUT.divide(Decimal(numerator), Decimal(denominator))
    return int(quotient.to_integral_value(ROUND_DOWN))


@cache
def amounts(stake: int, odds: Fraction, commission_rate: Fraction, payable_unit: int) -> Amounts:
    """What a won bet of `stake` makes of the prize `odds` to one."""
    top, bottom = stake * odds.numerator, odds.denominator
    cut, of = commission_rate.numerator, commission_rate.denominator
    prize = whole(top, bottom)
    commission = whole(top * cut, bottom * of)
    net_prize = payable_unit * whole(top * (of - cut), bottom * of * payable_unit)
    return Amounts(prize, commission, prize - commission - net_prize, net_prize)
