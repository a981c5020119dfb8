"""Roulette by the articles of 30/2003. Sets of numbers are written out here, never computed as the program computes them."""

from __future__ import annotations

import json
from itertools import combinations, pairwise

import pytest

from ledger.rules import Regulation, Wager, settle
from tests.unit.rules.helpers import ROULETTE, prizes, refusal, results, wagers, winning

RED = {1, 3, 5, 7, 9, 12, 14, 16, 18, 19, 21, 23, 25, 27, 30, 32, 34, 36}
BLACK = {2, 4, 6, 8, 10, 11, 13, 15, 17, 20, 22, 24, 26, 28, 29, 31, 33, 35}
SECTOR_A = {1, 3, 5, 13, 15, 17, 20, 22, 24, 32, 34, 36}
SECTOR_B = {2, 4, 6, 14, 16, 18, 19, 21, 23, 31, 33, 35}

LAYOUT = [
    (1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12), (13, 14, 15), (16, 17, 18),
    (19, 20, 21), (22, 23, 24), (25, 26, 27), (28, 29, 30), (31, 32, 33), (34, 35, 36),
]  # fmt: skip


def covered(spot: str) -> set[int]:
    return {int(text) for text in winning(ROULETTE, spot)}


def selections(code: str) -> list[tuple[int, ...]]:
    return [spot.numbers for spot in ROULETTE.spots() if spot.chance.code == code]


@pytest.mark.parametrize(
    ("code", "item", "odds_item", "odds", "pt", "zh", "count"),
    [
        ("straight", "6(1)", "7(1)", 35, "pleno", "孤丁", 37),
        ("split", "6(2)", "7(2)", 17, "cavalo", "兩門騎綫", 57),
        ("street", "6(3)", "7(3)", 11, "rua", "三門一列", 12),
        ("corner", "6(4)", "7(4)", 8, "quadro", "四門騎綫", 22),
        ("six_line", "6(5)", "7(5)", 5, "linha", "六門", 11),
        ("sector9", "6(6)", "7(6)", 3, "sector", "九門", 4),
        ("sector12", "6(7)", "7(7)", 2, "sector de doze números", "一門十二個號碼", 2),
        ("column", "6(8)", "7(7)", 2, "coluna", "直綫十二門", 3),
        ("dozen", "6(9)-(11)", "7(7)", 2, "dúzia", "大、中、小十二門", 3),
        ("even", "6(12)", "7(8)", 1, "par", "雙", 1),
        ("odd", "6(13)", "7(8)", 1, "ímpar", "單", 1),
        ("low", "6(14)", "7(8)", 1, "menor", "小", 1),
        ("high", "6(15)", "7(8)", 1, "maior", "大", 1),
        ("red", "6(16)", "7(8)", 1, "encarnado", "紅", 1),
        ("black", "6(17)", "7(8)", 1, "preto", "黑", 1),
    ],
)
def test_30_2003_art_6_and_7_chances(code: str, item: str, odds_item: str, odds: int, pt: str, zh: str, count: int) -> None:
    chance = ROULETTE.chance(code)
    assert (chance.bet_article, chance.odds_article) == (item, odds_item)
    assert chance.odds == {"": odds}
    assert (chance.names["pt"].text, chance.names["zh"].text) == (pt, zh)
    assert chance.names["pt"].unofficial is None
    assert chance.names["en"].unofficial == "our translation"
    spots = [spot for spot in ROULETTE.spots() if spot.chance.code == code]
    assert len(spots) == count
    for spot in spots:
        assert len(covered(spot.text)) * (odds + 1) == 36


def test_30_2003_art_6_lists_seventeen_chances_and_no_other() -> None:
    assert [chance.code for chance in ROULETTE.chances] == [
        "straight", "split", "street", "corner", "six_line", "sector9", "sector12", "column", "dozen",
        "even", "odd", "low", "high", "red", "black",
    ]  # fmt: skip
    assert len(ROULETTE.spots()) == 157


def test_30_2003_art_6_1_straight_up_is_each_pocket_with_0_and_36() -> None:
    assert [covered(f"straight:{n}") for n in range(37)] == [{n} for n in range(37)]


def test_30_2003_art_6_2_splits_are_the_neighbours_of_the_layout() -> None:
    across = {pair for row in LAYOUT for pair in (row[:2], row[1:])}
    along = {(upper[i], lower[i]) for upper, lower in pairwise(LAYOUT) for i in range(3)}
    assert set(selections("split")) == across | along


def test_30_2003_art_6_3_streets_are_the_rows() -> None:
    assert selections("street") == LAYOUT


def test_30_2003_art_6_4_corners_are_where_two_rows_and_two_columns_meet() -> None:
    expected = {(upper[i], upper[i + 1], lower[i], lower[i + 1]) for upper, lower in pairwise(LAYOUT) for i in range(2)}
    assert set(selections("corner")) == expected


def test_30_2003_art_6_5_six_lines_are_two_rows() -> None:
    assert selections("six_line") == [upper + lower for upper, lower in pairwise(LAYOUT)]


def test_30_2003_art_6_6_nine_numbers_are_assumed_and_a_property_may_list_its_own() -> None:
    assert selections("sector9") == [tuple(range(1, 10)), tuple(range(10, 19)), tuple(range(19, 28)), tuple(range(28, 37))]
    assert "sets" in ROULETTE.chance("sector9").assumed
    printed = [(32, 2, 3, 4, 15, 19, 21, 25, 34), range(4, 13)]
    own = ROULETTE.with_nine_number_sets(printed)
    assert [spot.text for spot in own.spots() if spot.chance.code == "sector9"] == [
        "sector9:2-3-4-15-19-21-25-32-34",
        "sector9:4-12",
    ]
    assert own.sha256 != ROULETTE.sha256
    assert "property" in own.chance("sector9").assumed["sets"]
    refusal(lambda: own.spot("sector9:1-9"), "LGR-0412")


def test_30_2003_art_6_6_a_property_s_sets_are_marked_even_where_the_data_mark_none() -> None:
    data = json.loads(ROULETTE.content)
    for row in data["chance"]:
        row.pop("assumed", None)
    own = Regulation(data).with_nine_number_sets([range(4, 13)])
    assert own.chance("sector9").assumed["sets"] == ("Which nine numbers is not said: the sets that the property's layout prints")
    assert own.spot("sector9:4-12").numbers == tuple(range(4, 13))
    assert own.chance("red").assumed == {}


@pytest.mark.parametrize(
    "sets",
    [[], [(1, 2, 3)], [range(9)], [range(28, 37), range(29, 38)], [range(1, 10), range(1, 10)], [range(-1, 8)], [(1,) * 9]],
)
def test_30_2003_art_6_6_a_set_that_is_not_nine_numbers_of_the_wheel_is_refused(sets: list[tuple[int, ...]]) -> None:
    refusal(lambda: ROULETTE.with_nine_number_sets(sets), "LGR-0407")


def test_30_2003_art_6_7_the_two_listed_sectors() -> None:
    assert covered("sector12:A") == SECTOR_A
    assert covered("sector12:B") == SECTOR_B


def test_30_2003_art_6_8_columns_and_6_9_to_6_11_dozens_are_partitions() -> None:
    """B04."""
    columns = [covered(f"column:{n}") for n in (1, 2, 3)]
    dozens = [covered(f"dozen:{n}") for n in (1, 2, 3)]
    assert columns == [{row[i] for row in LAYOUT} for i in range(3)]
    assert dozens == [set(range(1, 13)), set(range(13, 25)), set(range(25, 37))]


def test_30_2003_art_6_9_to_6_11_each_dozen_has_its_own_item_and_names() -> None:
    dozens = [ROULETTE.spot(f"dozen:{n}") for n in (1, 2, 3)]
    assert [spot.cite for spot in dozens] == [
        "30/2003 art. 6(9), 7(7)",
        "30/2003 art. 6(10), 7(7)",
        "30/2003 art. 6(11), 7(7)",
    ]
    assert [spot.names["pt"].text for spot in dozens] == ["pequeno", "médio", "grande"]
    assert [spot.names["zh"].text for spot in dozens] == ["小", "中", "大"]


def test_30_2003_art_6_12_to_6_17_even_money() -> None:
    assert covered("even") == {2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36}
    assert covered("odd") == {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35}
    assert covered("low") == set(range(1, 19))
    assert covered("high") == set(range(19, 37))
    assert covered("red") == RED
    assert covered("black") == BLACK


def test_30_2003_art_7_the_prize_is_added_to_the_stake() -> None:
    """B07."""
    paid = results(ROULETTE, "17", "straight:17=10000")["straight:17=10000"]
    assert (paid.prize, paid.net_prize, paid.returned, paid.net) == (350000, 350000, 360000, 350000)
    assert (paid.commission, paid.breakage) == (0, 0)
    lost = results(ROULETTE, "16", "straight:17=10000")["straight:17=10000"]
    assert (lost.prize, lost.returned, lost.net) == (0, 0, -10000)


def test_30_2003_art_7_a_prize_beyond_32_and_53_bits_is_exact() -> None:
    paid = results(ROULETTE, "17", "straight:17=100000000", "straight:17=999999999999999")
    assert paid["straight:17=100000000"].prize == 3_500_000_000
    assert paid["straight:17=999999999999999"].prize == 34_999_999_999_999_965


def test_30_2003_art_8_zero_takes_all_but_straight_on_zero() -> None:
    """B01."""
    for spot in ROULETTE.spots():
        won = settle(ROULETTE, ROULETTE.outcome("0"), [Wager(1, spot, 100)])[0]
        assert won.result == ("won" if spot.text == "straight:0" else "lost")
        if spot.text != "straight:0":
            assert won.returned == 0
            assert won.cite.endswith(", 8")
    assert prizes(ROULETTE, "0", "straight:0", "even", "odd", "low", "red", "dozen:1", "column:1", "sector12:A") == {
        "straight:0": 3500, "even": "lost", "odd": "lost", "low": "lost", "red": "lost", "dozen:1": "lost",
        "column:1": "lost", "sector12:A": "lost",
    }  # fmt: skip


def test_30_2003_art_8_no_combination_contains_zero() -> None:
    for text in ("split:0-1", "split:0-2", "street:0-1-2", "corner:0-1-2-3", "six_line:0-1-2-3-4-5"):
        refused = refusal(lambda text=text: ROULETTE.spot(text), "LGR-0412")  # type: ignore[misc]
        assert "straight up" in refused.detail
        assert refused.cite is not None
        assert ", 8" in refused.cite


@pytest.mark.parametrize("outcome", range(37))
def test_30_2003_every_bet_on_every_outcome(outcome: int) -> None:
    raw = str(outcome)
    for spot in ROULETTE.spots():
        numbers = set(spot.numbers)
        [each] = settle(ROULETTE, ROULETTE.outcome(raw), [Wager(1, spot, 100)])
        size = len(numbers)
        assert each.net == (100 * (36 // size - 1) if outcome in numbers else -100)


def test_30_2003_art_5_1_losers_first_then_the_portuguese_order() -> None:
    bets = [
        "straight:17", "split:17-20", "corner:16-17-19-20", "street:16-17-18", "six_line:16-21", "black", "sector9:10-18",
        "sector12:A", "dozen:2", "column:2", "red", "straight:0", "odd",
    ]  # fmt: skip
    settled = settle(ROULETTE, ROULETTE.outcome("17"), wagers(ROULETTE, *bets))
    assert [each.wager.key for each in settled] == [
        "red", "straight:0",
        "dozen:2", "column:2", "sector9:10-18", "sector12:A", "black", "odd", "six_line:16-21", "street:16-17-18",
        "corner:16-17-19-20", "split:17-20", "straight:17",
    ]  # fmt: skip
    assert ROULETTE.payment_article == "5(1)"


def test_30_2003_art_5_1_within_a_chance_the_order_placed() -> None:
    bets = [Wager(key, ROULETTE.spot(text), 1) for key, text in enumerate(["low", "red", "low", "odd", "even", "even"])]
    settled = settle(ROULETTE, ROULETTE.outcome("7"), bets)
    assert [each.wager.key for each in settled] == [4, 5, 0, 1, 2, 3]


def test_30_2003_art_2_2_golpe_nulo_lets_stakes_stand_with_betting_closed() -> None:
    [void] = ROULETTE.voids
    assert (void.code, void.article, void.disposition) == ("golpe_nulo", "2(2)", "stand")
    assert not void.ends_round
    assert not void.reopens_betting


@pytest.mark.parametrize("raw", ["37", "00", "-1", "07", " 7", "7 ", "7.0", "0-0-7", "", "7\n", "７", "1e1", "seven", "7" * 500])
def test_30_2003_art_4_an_outcome_is_a_pocket_or_refused(raw: str) -> None:
    """B05."""
    assert refusal(lambda: ROULETTE.outcome(raw), "LGR-0406").field == "outcome"


@pytest.mark.parametrize("raw", [7, 7.0, True, None, b"7", ["7"]])
def test_30_2003_art_4_an_outcome_is_text(raw: object) -> None:
    """B05."""
    refusal(lambda: ROULETTE.outcome(raw), "LGR-0406")  # type: ignore[arg-type]


def test_30_2003_art_4_number_and_colour_are_called() -> None:
    assert [ROULETTE.outcome(raw).shown for raw in ("0", "1", "17", "36")] == ["0", "1, red", "17, black", "36, red"]
    single = results(ROULETTE, "7", "straight:7", "straight:9")
    assert (single["straight:7"].result, single["straight:9"].result) == ("won", "lost")


def test_a_layout_without_colours_has_pockets_all_the_same() -> None:
    data = json.loads(ROULETTE.content)
    data["chance"] = [row for row in data["chance"] if row["code"] not in ("red", "black")]
    data["payment"]["order"][2] = ["even", "odd", "low", "high"]
    plain = Regulation(data)
    assert plain.outcome("17").values == (17,)
    assert len(plain.spots()) == len(ROULETTE.spots()) - 2


def test_30_2003_every_pair_that_is_no_split_is_refused() -> None:
    """B03."""
    legal = set(selections("split"))
    for pair in combinations(range(37), 2):
        if pair not in legal:
            refusal(lambda pair=pair: ROULETTE.spot(f"split:{pair[0]}-{pair[1]}"), "LGR-0412")  # type: ignore[misc]


def test_30_2003_red_and_black_share_the_numbers() -> None:
    assert set(range(1, 37)) == RED | BLACK
    assert RED.isdisjoint(BLACK)
    for code in ("red", "black"):
        assert "numbers" in ROULETTE.chance(code).assumed
