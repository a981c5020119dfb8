"""Cussec by 31/2003: the 56 ways three dice can fall, listed by hand under their totals; nothing is added up.

Each way stands for as many of the 216 ordered rolls as its digits have orders.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import permutations

WAYS = {
    "3": "111",
    "4": "112",
    "5": "113 122",
    "6": "114 123 222",
    "7": "115 124 133 223",
    "8": "116 125 134 224 233",
    "9": "126 135 144 225 234 333",
    "10": "136 145 226 235 244 334",
    "11": "146 155 236 245 335 344",
    "12": "156 246 255 336 345 444",
    "13": "166 256 346 355 445",
    "14": "266 356 446 455",
    "15": "366 456 555",
    "16": "466 556",
    "17": "566",
    "18": "666",
}

SMALL_TOTALS = ("4", "5", "6", "7", "8", "9", "10")
BIG_TOTALS = ("11", "12", "13", "14", "15", "16", "17")
TRIPLES = ("111", "222", "333", "444", "555", "666")

TOTAL_ODDS = {
    "4": Fraction(50), "17": Fraction(50),
    "5": Fraction(18), "16": Fraction(18),
    "6": Fraction(14), "15": Fraction(14),
    "7": Fraction(12), "14": Fraction(12),
    "8": Fraction(8), "13": Fraction(8),
    "9": Fraction(6), "10": Fraction(6), "11": Fraction(6), "12": Fraction(6),
}  # fmt: skip

ARTICLES = {
    "small": ("5(1)", "6(1)"),
    "big": ("5(2)", "6(2)"),
    "three_army": ("5(3)", "6(3)"),
    "triple": ("5(4)", "6(4)"),
    "any_triple": ("5(5)", "6(5)"),
    "total": ("5(6)", "6(6)"),
}


def _rolls(way: str) -> set[str]:
    """The ordered rolls of one way, as "2-1-1"."""
    return {"-".join(order) for order in permutations(way)}


@cache
def cussec_rolls() -> tuple[str, ...]:
    """The 216 ordered rolls."""
    return tuple(sorted(roll for ways in WAYS.values() for way in ways.split() for roll in _rolls(way)))


@cache
def cussec_bets() -> dict[str, dict[str, Fraction | None]]:
    """Every bet of the order in canonical notation, with the prize to one on each ordered roll, None where it loses."""
    wins: dict[str, dict[str, Fraction]] = {}

    def win(notation: str, way: str, odds: Fraction) -> None:
        wins.setdefault(notation, {}).update(dict.fromkeys(_rolls(way), odds))

    for total, ways in WAYS.items():
        for way in ways.split():
            if total in TOTAL_ODDS:
                win(f"total:{total}", way, TOTAL_ODDS[total])  # triples too: art. 7 takes from big and small alone
            if way in TRIPLES:
                win(f"triple:{way[0]}", way, Fraction(150))
                win("any_triple", way, Fraction(24))
            elif total in SMALL_TOTALS:
                win("small", way, Fraction(1))
            elif total in BIG_TOTALS:
                win("big", way, Fraction(1))
            for face in "123456":
                if face * 3 in way:
                    win(f"three_army:{face}", way, Fraction(3))
                elif face * 2 in way:  # the digits of a way are in rising order, so equal ones stand together
                    win(f"three_army:{face}", way, Fraction(2))
                elif face in way:
                    win(f"three_army:{face}", way, Fraction(1))
    return {notation: {roll: won.get(roll) for roll in cussec_rolls()} for notation, won in wins.items()}
