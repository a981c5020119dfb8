"""The oracle against known counts, identities and exact edges; nothing of the program takes part."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from tests.oracle import (
    GAMES,
    articles,
    bets,
    craps_line,
    craps_sequences,
    craps_throws,
    cussec_bets,
    edge,
    expected,
    fantan_bets,
    fantan_number,
    outcomes,
    payment_rank,
    roulette_bets,
    settle_order,
    verdict,
)

LEGAL = {
    "roulette": {
        "straight": 37, "split": 57, "street": 12, "corner": 22, "six_line": 11, "sector9": 4, "sector12": 2, "column": 3,
        "dozen": 3, "even": 1, "odd": 1, "low": 1, "high": 1, "red": 1, "black": 1,
    },
    "cussec": {"small": 1, "big": 1, "three_army": 6, "triple": 6, "any_triple": 1, "total": 14},
    "fantan": {"fan": 4, "nim": 12, "kuoc": 6, "nga": 12, "sshong": 4},
    "craps": {"pass": 1, "pass_odds": 1},
}  # fmt: skip

EDGES = {
    "small": "1/36", "big": "1/36", "three_army": "17/216", "triple": "65/216", "any_triple": "11/36",
    "total:4": "7/24", "total:17": "7/24", "total:5": "17/36", "total:16": "17/36", "total:6": "11/36", "total:15": "11/36",
    "total:7": "7/72", "total:14": "7/72", "total:8": "1/8", "total:13": "1/8", "total:9": "41/216", "total:12": "41/216",
    "total:10": "1/8", "total:11": "1/8",
    "fan": "3/80", "nim": "1/40", "kuoc": "1/40", "nga": "1/80", "sshong": "1/80",
}  # fmt: skip

EUROPEAN_WHEEL = (
    32, 15, 19, 4, 21, 2, 25, 17, 34, 6, 27, 13, 36, 11, 30, 8, 23, 10,
    5, 24, 16, 33, 1, 20, 14, 31, 9, 22, 18, 29, 7, 28, 12, 35, 3, 26,
)  # fmt: skip
"""From zero on, to the right."""


def kind(notation: str) -> str:
    return notation.split(":")[0]


@pytest.mark.parametrize("game", GAMES)
def test_number_of_legal_bets_of_each_chance(game: str) -> None:
    assert Counter(kind(notation) for notation in bets(game)) == LEGAL[game]


def test_total_counts_of_bets_and_outcomes() -> None:
    assert [len(bets(game)) for game in GAMES] == [157, 29, 38, 2]
    assert [len(outcomes(game)) for game in ("roulette", "cussec", "fantan")] == [37, 216, 4]


def test_the_oracle_imports_nothing_of_the_program() -> None:
    for module in Path(__file__).parent.glob("*.py"):
        if not module.name.startswith("test_"):
            for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    assert {alias.name for alias in node.names} <= sys.stdlib_module_names, module.name
                elif isinstance(node, ast.ImportFrom):
                    own = str(node.module).startswith("tests.oracle")
                    assert own or str(node.module).split(".")[0] in sys.stdlib_module_names, module.name


# roulette


def test_30_2003_art_7_pockets_covered_times_odds_and_stake_are_36() -> None:
    for notation, (pockets, odds) in roulette_bets().items():
        assert len(pockets) * (odds + 1) == 36, notation
        assert edge("roulette", notation) == Fraction(1, 37), notation


def test_30_2003_art_8_zero_takes_all_but_the_straight_on_zero() -> None:
    assert [notation for notation, (pockets, _) in roulette_bets().items() if "0" in pockets] == ["straight:0"]


def test_30_2003_art_6_notation_names_the_numbers_that_win() -> None:
    for notation, (pockets, _) in roulette_bets().items():
        if kind(notation) in ("straight", "split", "street", "corner"):
            assert set(notation.split(":")[1].split("-")) == pockets


def test_30_2003_art_6_layout_chances_by_arithmetic() -> None:
    """The layout has no wrapped rows: what the drawing gave is what remainders of three give."""
    found = {notation for notation in roulette_bets() if kind(notation) in ("split", "street", "corner", "six_line")}
    across = {f"split:{n}-{n + 1}" for n in range(1, 37) if n % 3}
    down = {f"split:{n}-{n + 3}" for n in range(1, 34)}
    streets = {f"street:{n}-{n + 1}-{n + 2}" for n in range(1, 37, 3)}
    corners = {f"corner:{n}-{n + 1}-{n + 3}-{n + 4}" for n in range(1, 33) if n % 3}
    assert found == across | down | streets | corners | {f"six_line:{n}-{n + 5}" for n in range(1, 32, 3)}


@pytest.mark.parametrize(
    "parts",
    [
        ["sector9:1-9", "sector9:10-18", "sector9:19-27", "sector9:28-36"],
        ["column:1", "column:2", "column:3"],
        ["dozen:1", "dozen:2", "dozen:3"],
        ["even", "odd"],
        ["low", "high"],
        ["red", "black"],
    ],
)
def test_30_2003_art_6_listed_chances_share_out_1_to_36(parts: list[str]) -> None:
    numbers = sorted(int(pocket) for part in parts for pocket in roulette_bets()[part][0])
    assert numbers == list(range(1, 37))


def test_30_2003_art_6_7_twelve_number_sectors_mirror_and_balance() -> None:
    a, b = roulette_bets()["sector12:A"][0], roulette_bets()["sector12:B"][0]
    assert not a & b
    assert {str(37 - int(pocket)) for pocket in a} == a
    for sector in (a, b):
        assert [len(sector & roulette_bets()[half][0]) for half in ("even", "odd", "low", "high", "red", "black")] == [6] * 6
        assert [len(sector & roulette_bets()[f"column:{n}"][0]) for n in (1, 2, 3)] == [4, 4, 4]
        assert [len(sector & roulette_bets()[f"dozen:{n}"][0]) for n in (1, 2, 3)] == [3, 6, 3]


def test_30_2003_art_1_2_colours_alternate_on_the_european_wheel() -> None:
    red, black = roulette_bets()["red"][0], roulette_bets()["black"][0]
    assert {str(number) for number in EUROPEAN_WHEEL[0::2]} == red
    assert {str(number) for number in EUROPEAN_WHEEL[1::2]} == black


def test_30_2003_art_5_1_order_of_payment() -> None:
    ranked = sorted(LEGAL["roulette"], key=lambda code: payment_rank("roulette", code))
    assert ranked[-5:] == ["six_line", "street", "corner", "split", "straight"]
    assert {payment_rank("roulette", code) for code in ("column", "dozen")} == {0}
    assert {payment_rank("roulette", code) for code in ("sector9", "sector12")} == {1}
    assert {payment_rank("roulette", code) for code in ("even", "odd", "low", "high", "red", "black")} == {2}


def test_30_2003_art_5_1_losers_first_then_payments_in_order() -> None:
    placed = ["straight:17", "red", "split:17-20", "black", "dozen:2", "odd", "straight:0", "column:2"]
    settled = [placed[place] for place in settle_order("roulette", "17", placed)]
    assert settled == ["red", "straight:0", "dozen:2", "column:2", "black", "odd", "split:17-20", "straight:17"]


# cussec


def test_31_2003_ordered_rolls_are_all_and_the_listed_totals_add_up() -> None:
    assert set(outcomes("cussec")) == {f"{a}-{b}-{c}" for a, b, c in product(range(1, 7), repeat=3)}
    for notation, pays in cussec_bets().items():
        if kind(notation) == "total":
            assert {sum(map(int, roll.split("-"))) for roll, odds in pays.items() if odds is not None} == {int(notation[6:])}


def test_31_2003_art_6_3_three_army_pays_once_for_each_die() -> None:
    for face, roll in product(range(1, 7), outcomes("cussec")):
        assert (cussec_bets()[f"three_army:{face}"][roll] or 0) == roll.split("-").count(str(face))


def test_31_2003_art_7_a_triple_takes_big_and_small_and_nothing_else() -> None:
    won = {notation: pays["2-2-2"] for notation, pays in cussec_bets().items() if pays["2-2-2"] is not None}
    assert won == {"total:6": 14, "three_army:2": 3, "triple:2": 150, "any_triple": 24}
    won = {notation: pays["1-1-1"] for notation, pays in cussec_bets().items() if pays["1-1-1"] is not None}
    assert won == {"three_army:1": 3, "triple:1": 150, "any_triple": 24}


def test_31_2003_art_5_small_and_big_share_out_all_that_is_no_triple() -> None:
    for roll in outcomes("cussec"):
        won = [notation for notation in ("small", "big", "any_triple") if cussec_bets()[notation][roll] is not None]
        assert len(won) == 1, roll


# fantan


def test_58_2004_art_6_notation_names_wins_and_ties() -> None:
    for notation, (letters, _) in fantan_bets().items():
        wins, _, tie = notation.split(":")[1].partition("/")
        assert {number for number, letter in zip("1234", letters, strict=True) if letter == "W"} == set(wins), notation
        assert {number for number, letter in zip("1234", letters, strict=True) if letter == "T"} == set(tie), notation


def test_58_2004_art_3_2_nothing_left_counts_as_four() -> None:
    assert [fantan_number(buttons) for buttons in range(1, 10)] == ["1", "2", "3", "4", "1", "2", "3", "4", "1"]
    assert fantan_number(60) == fantan_number(0) == "4"


def test_58_2004_art_8_and_9_a_tie_returns_the_stake_without_commission() -> None:
    assert expected("fantan", "nga:12/4", "4", 101) == {
        "result": "push", "prize": 0, "commission": 0, "breakage": 0, "net_prize": 0, "returned": 101,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("notation", "payable_unit", "prize", "commission", "breakage", "net_prize"),
    [
        ("sshong:123", 1, 33, 1, 1, 31),
        ("nga:12/4", 1, 50, 2, 1, 47),
        ("fan:1", 1, 300, 15, 0, 285),
        ("sshong:123", 100, 33, 1, 32, 0),
    ],
)
def test_58_2004_art_9_rounding_of_100_cents(
    notation: str, payable_unit: int, prize: int, commission: int, breakage: int, net_prize: int
) -> None:
    assert expected("fantan", notation, "1", 100, payable_unit) == {
        "result": "won", "prize": prize, "commission": commission, "breakage": breakage, "net_prize": net_prize,
        "returned": 100 + net_prize,
    }  # fmt: skip


def test_58_2004_a_table_unit_of_120_makes_every_prize_exact() -> None:
    for notation, number in product(bets("fantan"), outcomes("fantan")):
        assert expected("fantan", notation, number, 120)["breakage"] == 0


# craps


def test_53_2010_art_5_2_1_pass_line() -> None:
    assert [craps_line([total])[0] for total in range(2, 13)] == [
        "lost", "lost", "stands", "stands", "stands", "won", "stands", "stands", "stands", "won", "lost",
    ]  # fmt: skip
    assert craps_line([6, 8, 6]) == ("won", 6)
    assert craps_line([6, 8, 7]) == ("lost", 6)
    assert craps_line([6, 11, 2, 12, 3]) == ("stands", 6)


def test_53_2010_art_3_2_void_throw_changes_nothing() -> None:
    for throws in craps_sequences(3):
        for place in range(len(throws) + 1 if craps_line(throws).result == "stands" else len(throws)):
            assert craps_line([*throws[:place], None, *throws[place:]]) == craps_line(throws)


def test_53_2010_art_5_2_1_nothing_is_thrown_after_the_decision() -> None:
    for throws in ([7, 6], [2, None], [6, 6, 6], [4, 7, 4], [13], [1], [6, 0]):
        with pytest.raises(ValueError, match=r"decided|show"):
            craps_line(throws)


def test_53_2010_art_5_2_2_no_added_bet_without_a_point() -> None:
    with pytest.raises(ValueError, match="point"):
        expected("craps", "pass_odds", "7", 100)


def test_53_2010_outcomes_by_totals_by_faces_and_void() -> None:
    assert craps_throws("6,8,6") == craps_throws("3-3,5-3,2-4") == [6, 8, 6]
    assert craps_throws("6,void,6") == [6, None, 6]


def test_53_2010_pass_line_edge_and_fair_added_bet() -> None:
    """Exact: a throw that decides nothing leaves the same chances, so only the deciding ones among the 36 count."""
    rolls = [one + other for one, other in product(range(1, 7), repeat=2)]
    won = Fraction(0)
    for come_out in rolls:
        line = craps_line([come_out])
        if line.point is None:
            won += Fraction(line.result == "won", 36)
            continue
        ends = Counter(craps_line([come_out, total]).result for total in rolls)
        wins = Fraction(ends["won"], ends["won"] + ends["lost"])
        won += wins / 36
        _, odds = verdict("craps", "pass_odds", f"{come_out},{come_out}")
        assert wins * odds - (1 - wins) == 0
    assert won == Fraction(244, 495)
    assert 1 - 2 * won == Fraction(7, 495)


# all


@pytest.mark.parametrize("game", ["cussec", "fantan"])
def test_exact_edges_by_enumeration(game: str) -> None:
    for notation in bets(game):
        assert edge(game, notation) == Fraction(EDGES.get(notation) or EDGES[kind(notation)]), notation


def test_every_bet_names_its_articles() -> None:
    for game in GAMES:
        for notation in bets(game):
            assert articles(game, notation)
    cited = [item for notation in bets("roulette") for item in articles("roulette", notation) if item.startswith("6(")]
    assert set(cited) == {f"6({item})" for item in range(1, 18)}


@pytest.mark.parametrize("game", ["roulette", "cussec", "fantan"])
def test_rounding_never_pays_more_than_is_exact_nor_takes_more_than_the_commission(game: str) -> None:
    rate = Fraction(1, 20) if game == "fantan" else Fraction(0)
    for notation, stake, unit in product(bets(game), (1, 7, 59, 60, 100, 10**15), (1, 10, 50, 100)):
        for (_, odds), outcome in {verdict(game, notation, outcome): outcome for outcome in outcomes(game)}.items():
            settled = expected(game, notation, outcome, stake, unit)
            exact = stake * odds
            assert settled["prize"] == settled["commission"] + settled["breakage"] + settled["net_prize"]
            assert min(settled[part] for part in ("prize", "commission", "breakage", "net_prize", "returned")) >= 0
            assert 0 <= exact - settled["prize"] < 1
            assert 0 <= exact * rate - settled["commission"] < 1
            assert 0 <= exact * (1 - rate) - settled["net_prize"] < unit
            assert settled["net_prize"] % unit == 0
