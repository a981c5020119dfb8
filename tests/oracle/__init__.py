"""An independent oracle of the payouts of 30/2003, 31/2003, 58/2004 and 53/2010, written from the gazette.

It imports nothing of the program. Each bet is listed with the literal outcomes on which it wins; nothing here decides by a
rule what a list can say. Amounts are minor units of a currency; odds are prize per unit staked, before commission.

Canonical outcomes: roulette "17"; cussec "2-2-2"; fantan "1" to "4"; craps "6,8,6".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TypedDict

from tests.oracle import craps, cussec, fantan, roulette
from tests.oracle.craps import craps_line, craps_sequences, craps_throws
from tests.oracle.cussec import cussec_bets, cussec_rolls
from tests.oracle.fantan import fantan_bets, fantan_number
from tests.oracle.money import NOTHING, amounts
from tests.oracle.roulette import roulette_bets

__all__ = [
    "GAMES",
    "ORDERS",
    "Settled",
    "articles",
    "bets",
    "commission_rate",
    "craps_line",
    "craps_sequences",
    "craps_throws",
    "cussec_bets",
    "cussec_rolls",
    "edge",
    "expected",
    "fantan_bets",
    "fantan_number",
    "outcomes",
    "payment_rank",
    "roulette_bets",
    "settle_order",
    "verdict",
]

ORDERS = {"roulette": "30/2003", "cussec": "31/2003", "fantan": "58/2004", "craps": "53/2010"}
GAMES = tuple(ORDERS)


class Settled(TypedDict):
    """What one bet comes to; amounts in minor units."""

    result: str
    prize: int
    commission: int
    breakage: int
    net_prize: int
    returned: int


def bets(game: str) -> tuple[str, ...]:
    """Every legal bet of a game in canonical notation."""
    if game == "roulette":
        return tuple(roulette_bets())
    if game == "cussec":
        return tuple(cussec_bets())
    if game == "fantan":
        return tuple(fantan_bets())
    if game == "craps":
        return ("pass", "pass_odds")
    raise KeyError(game)


def outcomes(game: str) -> tuple[str, ...]:
    """Every outcome of a game of one outcome, all equally likely. Craps has no such list."""
    if game == "roulette":
        return roulette.POCKETS
    if game == "cussec":
        return cussec_rolls()
    if game == "fantan":
        return fantan.NUMBERS
    raise KeyError(game)


def verdict(game: str, notation: str, outcome: str) -> tuple[str, Fraction]:
    """Say "won", "lost", "push" or "stands", with the prize to one (0 unless won)."""
    if game == "roulette":
        pockets, odds = roulette_bets()[notation]
        if outcome not in roulette.POCKETS:
            raise KeyError(outcome)
        return ("won", odds) if outcome in pockets else ("lost", Fraction(0))
    if game == "cussec":
        pays = cussec_bets()[notation][outcome]
        return ("lost", Fraction(0)) if pays is None else ("won", pays)
    if game == "fantan":
        letters, odds = fantan_bets()[notation]
        letter = letters[fantan.NUMBERS.index(outcome)]
        return {"W": ("won", odds), "T": ("push", Fraction(0)), "L": ("lost", Fraction(0))}[letter]
    if game == "craps":
        result, point = craps_line(craps_throws(outcome))
        if notation == "pass":
            return (result, craps.PASS_ODDS if result == "won" else Fraction(0))
        if notation == "pass_odds":
            if point is None:
                raise ValueError("an added bet is made once a point is set")
            return (result, craps.ADDED_ODDS[point] if result == "won" else Fraction(0))
    raise KeyError((game, notation))


def commission_rate(game: str) -> Fraction:
    """The part of a prize that goes to the bank (58/2004 art. 9); nothing in the other orders."""
    return fantan.COMMISSION if game == "fantan" else Fraction(0)


def expected(game: str, notation: str, outcome: str, stake: int, payable_unit: int = 1) -> Settled:
    """What a bet of `stake` minor units comes to."""
    result, odds = verdict(game, notation, outcome)
    paid = amounts(stake, odds, commission_rate(game), payable_unit) if result == "won" else NOTHING
    kept = stake if result in ("won", "push") else 0
    return Settled(
        result=result,
        prize=paid.prize,
        commission=paid.commission,
        breakage=paid.breakage,
        net_prize=paid.net_prize,
        returned=kept + paid.net_prize,
    )


@cache
def edge(game: str, notation: str) -> Fraction:
    """What the bank keeps of a unit staked, on average and before any rounding; games of one outcome only."""
    kept = Fraction(0)
    for outcome in outcomes(game):
        result, odds = verdict(game, notation, outcome)
        if result == "won":
            kept -= odds * (1 - commission_rate(game))
        elif result == "lost":
            kept += 1
    return kept / len(outcomes(game))


def articles(game: str, notation: str) -> tuple[str, ...]:
    """Article and item of the game's order that make the bet and, where a text at hand has it, its prize."""
    tables: dict[str, Mapping[str, tuple[str, ...]]] = {
        "roulette": roulette.ARTICLES,
        "cussec": cussec.ARTICLES,
        "fantan": fantan.ARTICLES,
        "craps": craps.ARTICLES,
    }
    table = tables[game]
    return table[notation] if notation in table else table[notation.split(":")[0]]


def payment_rank(game: str, notation: str) -> int:
    """The place of the bet in the order of payment, from 0; only roulette has one (30/2003 art. 5(1), Portuguese text)."""
    if game != "roulette":
        return 0
    kind = notation.split(":")[0]
    return [kind in kinds.split() for kinds in roulette.PAID].index(True)


def settle_order(game: str, outcome: str, placed: Sequence[str]) -> list[int]:
    """The places in `placed` of the bets in the order of settlement: losers first, then by payment rank, else as placed."""
    lost = [place for place, notation in enumerate(placed) if verdict(game, notation, outcome)[0] == "lost"]
    collected = set(lost)
    queues: dict[int, list[int]] = {}
    for place, notation in enumerate(placed):
        if place not in collected:
            queues.setdefault(payment_rank(game, notation), []).append(place)
    return lost + [place for rank in sorted(queues) for place in queues[rank]]
