"""What the rules core reads as a bet or an outcome: all that the oracle lists, in any order of numbers, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, permutations, product
from string import ascii_uppercase

import pytest

from ledger.errors import CODES, Refusal
from ledger.rules import regulation
from tests.oracle import GAMES, ORDERS, bets, roulette_bets


def read(game: str, text: str) -> str | None:
    """The canonical notation of a bet, None where it is refused."""
    try:
        spot = regulation(ORDERS[game]).spot(text)
    except Refusal as refusal:
        return None if refusal.code in CODES and refusal.detail else repr(refusal)
    return spot.text


def misread(game: str, wanted: Iterable[tuple[str, str | None]]) -> list[str]:
    """The texts that are not read as wanted; None is for those that must be refused."""
    return [f"{text} is read as {got}, not {want}" for text, want in wanted if (got := read(game, text)) != want][:8]


def by_numbers(kind: str) -> dict[frozenset[int], str]:
    """The legal bets of a roulette chance by the numbers that win."""
    return {
        frozenset(int(pocket) for pocket in pockets): notation
        for notation, (pockets, _) in roulette_bets().items()
        if notation.split(":")[0] == kind
    }


def joined(kind: str, numbers: Iterable[int]) -> str:
    return f"{kind}:{'-'.join(str(number) for number in numbers)}"


@pytest.mark.parametrize("game", GAMES)
def test_every_legal_bet_is_read_and_written_alike(game: str) -> None:
    assert not misread(game, [(notation, notation) for notation in bets(game)])


@pytest.mark.parametrize("game", GAMES)
def test_bets_of_the_other_games_are_refused(game: str) -> None:
    others = [notation for other in GAMES if other != game for notation in bets(other)]
    assert not misread(game, [(notation, None) for notation in others])


# roulette


def test_30_2003_art_6_1_straight_on_0_to_36_alone() -> None:
    """B02."""
    assert not misread("roulette", [(f"straight:{n}", f"straight:{n}" if 0 <= n <= 36 else None) for n in range(-3, 120)])


def test_30_2003_art_6_2_every_pair_of_0_to_37_in_both_orders() -> None:
    """B03."""
    legal = by_numbers("split")
    pairs = product(range(38), repeat=2)
    assert not misread("roulette", [(joined("split", pair), legal.get(frozenset(pair))) for pair in pairs if pair[0] != pair[1]])
    assert not misread("roulette", [(joined("split", (n, n)), None) for n in range(38)])


def test_30_2003_art_6_3_every_three_numbers_of_0_to_37() -> None:
    """B03."""
    legal = by_numbers("street")
    threes = combinations(range(38), 3)
    assert not misread("roulette", [(joined("street", three), legal.get(frozenset(three))) for three in threes])
    assert not misread("roulette", [(joined("street", order), legal[three]) for three in legal for order in permutations(three)])


def test_30_2003_art_6_4_every_four_numbers_that_lie_near_each_other() -> None:
    """B03. All fours within a span of nine, which is every shape that could look like a corner, and four by four everywhere."""
    legal = by_numbers("corner")
    near = [(low, *rest) for low in range(38) for rest in combinations(range(low + 1, min(low + 9, 38)), 3)]
    assert not misread("roulette", [(joined("corner", four), legal.get(frozenset(four))) for four in near])
    assert not misread("roulette", [(joined("corner", order), legal[four]) for four in legal for order in permutations(four)])
    assert set(legal) <= {frozenset(four) for four in near}


@pytest.mark.parametrize("kind", ["six_line", "sector9"])
def test_30_2003_art_6_5_and_6_6_first_and_last_number(kind: str) -> None:
    """B03."""
    legal = {f"{kind}:{min(numbers)}-{max(numbers)}": notation for numbers, notation in by_numbers(kind).items()}
    spans = [joined(kind, (first, last)) for first, last in combinations(range(38), 2)]
    assert not misread("roulette", [(span, legal.get(span)) for span in spans])


@pytest.mark.parametrize(("kind", "size"), [("six_line", 6), ("sector9", 9)])
def test_30_2003_art_6_5_and_6_6_the_full_list_in_any_order(kind: str, size: int) -> None:
    """B03."""
    legal = by_numbers(kind)
    for numbers, notation in legal.items():
        inner = sorted(numbers)
        assert not misread("roulette", [(joined(kind, order), notation) for order in (inner, inner[::-1], inner[3:] + inner[:3])])
        assert not misread("roulette", [(joined(kind, inner[:place] + inner[place + 1 :]), None) for place in range(size)])
    runs = [range(first, first + size) for first in range(39 - size)]
    assert not misread("roulette", [(joined(kind, run), legal.get(frozenset(run))) for run in runs])


def test_30_2003_art_6_7_to_6_11_closed_lists() -> None:
    wanted = [(f"{kind}:{n}", f"{kind}:{n}" if n in range(1, 4) else None) for kind in ("column", "dozen") for n in range(-1, 40)]
    wanted += [(f"sector12:{letter}", f"sector12:{letter}" if letter in "AB" else None) for letter in ascii_uppercase]
    assert not misread("roulette", wanted)


def test_30_2003_no_number_stands_twice() -> None:
    texts = "straight:1-1 split:1-2-2 street:1-2-2 street:1-2-3-3 corner:1-2-4-4 corner:1-2-4-5-5 six_line:1-2-3-4-5-6-6"
    assert not misread("roulette", [(text, None) for text in texts.split()])


def test_30_2003_art_8_zero_in_no_selection_of_several_numbers() -> None:
    several = {"split": 2, "street": 3, "corner": 4, "six_line": 6, "sector9": 9, "sector12": 12, "column": 12, "dozen": 12}
    wanted = [(joined(kind, range(size)), None) for kind, size in several.items()]
    wanted += [(joined(kind, (0, *range(38 - size, 37))), None) for kind, size in several.items()]
    assert not misread("roulette", [*wanted, ("street:0-1-2", None), ("street:0-2-3", None), ("corner:0-1-2-3", None)])


# cussec


def test_31_2003_art_5_selections() -> None:
    wanted = [(f"{kind}:{n}", f"{kind}:{n}" if 1 <= n <= 6 else None) for kind in ("three_army", "triple") for n in range(-2, 25)]
    wanted += [(f"total:{n}", f"total:{n}" if 4 <= n <= 17 else None) for n in range(-2, 25)]
    assert not misread("cussec", wanted)


# fantan


def test_58_2004_art_6_every_selection_of_0_to_5() -> None:
    digits = "012345"
    wanted: list[tuple[str, str | None]] = [(f"fan:{one}", f"fan:{one}" if one in "1234" else None) for one in digits]
    for numbers in product(digits, repeat=2):
        legal = len(set(numbers)) == 2 and set(numbers) <= set("1234")
        wanted.append((f"nim:{'/'.join(numbers)}", f"nim:{'/'.join(numbers)}" if legal else None))
        wanted.append((f"kuoc:{''.join(numbers)}", f"kuoc:{''.join(sorted(numbers))}" if legal else None))
    for numbers in product(digits, repeat=3):
        legal = len(set(numbers)) == 3 and set(numbers) <= set("1234")
        wins, tie = "".join(sorted(numbers[:2])), numbers[2]
        wanted.append((f"nga:{numbers[0]}{numbers[1]}/{tie}", f"nga:{wins}/{tie}" if legal else None))
        wanted.append((f"sshong:{''.join(numbers)}", f"sshong:{''.join(sorted(numbers))}" if legal else None))
    assert not misread("fantan", wanted)
    assert {want for _, want in wanted if want is not None} == set(bets("fantan"))


# all


ILL_SHAPED = {
    "roulette": """
        straight straight: :17 17 straight:17:17 straight:17-18 split:17 split:17-18-19 split:17/18 street:1-2 corner:1-2-4
        column dozen sector12 sector9 six_line sector9:2-10 red:1 even:2 low:1-18 high:36 trio:0-1-2 basket:0-1-2-3 top_line
        pleno:17 green en_prison
    """,
    "cussec": """
        three_army triple total any_triple:2 small:4 big:11 total:3 total:18 total:4-5 triple:2-2-2-2
        odd even pair:2 double:2-2 two:1-2 combination:1-2 four:1-2-3-4
    """,
    "fantan": """
        fan nim kuoc nga sshong fan:12 nim:12 nim:1 nim:1/2/3 kuoc:1 kuoc:123 kuoc:1/2 nga:12 nga:123 nga:1/2 nga:123/4
        nga:12/34 sshong:12 sshong:1234 sshong:12/3
    """,
    "craps": """
        pass:4 pass:7 pass_odds:7 pass_odds:0 dont_pass come dont_come come_odds dont_odds place:6 place_lose:6 buy:4 lay:4
        big6 big8 hard:4 field any7 any_craps two twelve three eleven horn world c_and_e hop:1-2
    """,
}
"""Chances that an order does not list, or lists without a text that says what they pay, and selections of another shape."""


@pytest.mark.parametrize("game", GAMES)
def test_unknown_chances_and_ill_shaped_selections_are_refused(game: str) -> None:
    assert not misread(game, [(text, None) for text in [*ILL_SHAPED[game].split(), "", ":", "-"]])


LOOK_ALIKES = [
    "straight:１７",  # full-width
    "straight:١٧",  # Arabic-Indic
    "straight:1²",
    "straight:Ⅻ",
    "straight:+17",
    "straight:1_7",
    "straight:17.0",
    "straight:1e1",
    "straight:0x11",
    "straight:True",
    "straight：17",  # a full-width colon
    "split:17–20",  # an en dash
    "split:17−20",  # a minus sign
    "sector12:Α",  # Greek
    "rеd",  # Cyrillic
    "red\x00",
]


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_look_alikes_are_refused(text: str) -> None:
    assert read("roulette", text) is None


NEVER_SHOWN = {
    "roulette": "37 -1 00 1-2 17.0 1e1 １７ ² red None 99999999999999999999",
    "cussec": "0-0-7 7-1-1 0-1-2 1-1 1-1-1-1 6 1--1-1 -1-1-1 １-1-1 1-1-x 1-1-",
    "fantan": "-1 1.5 x １ 1-2 1e1",
    "craps": "1 13 0 -7 6,,8 6,13 7-1 0-6 6- 3-3-3 x ６ 6,x",
}


@pytest.mark.parametrize(("game", "raw"), [(game, raw) for game, texts in NEVER_SHOWN.items() for raw in ["", *texts.split()]])
def test_outcomes_that_no_table_shows_are_refused(game: str, raw: str) -> None:
    with pytest.raises(Refusal) as refused:
        regulation(ORDERS[game]).outcome(raw)
    assert refused.value.code in CODES
