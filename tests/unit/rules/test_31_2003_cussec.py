"""Cussec by the articles of 31/2003."""

from __future__ import annotations

from itertools import product

import pytest

from ledger.rules import Wager, settle
from tests.unit.rules.helpers import CUSSEC, prizes, refusal, results

ROLLS = [f"{a}-{b}-{c}" for a, b, c in product("123456", repeat=3)]
TRIPLES = ["1-1-1", "2-2-2", "3-3-3", "4-4-4", "5-5-5", "6-6-6"]
TOTALS = {4: 50, 5: 18, 6: 14, 7: 12, 8: 8, 9: 6, 10: 6, 11: 6, 12: 6, 13: 8, 14: 12, 15: 14, 16: 18, 17: 50}


def dice(roll: str) -> list[int]:
    return [int(die) for die in roll.split("-")]


@pytest.mark.parametrize(
    ("code", "item", "odds_item", "odds", "zh", "count"),
    [
        ("small", "5(1)", "6(1)", {"": 1}, "小", 1),
        ("big", "5(2)", "6(2)", {"": 1}, "大", 1),
        ("three_army", "5(3)", "6(3)", {"1": 1, "2": 2, "3": 3}, "三軍", 6),
        ("triple", "5(4)", "6(4)", {"": 150}, "圍骰", 6),
        ("any_triple", "5(5)", "6(5)", {"": 24}, "全圍", 1),
        ("total", "5(6)", "6(6)", {str(total): odds for total, odds in TOTALS.items()}, "點數", 14),
    ],
)
def test_31_2003_art_5_and_6_chances(code: str, item: str, odds_item: str, odds: dict[str, int], zh: str, count: int) -> None:
    chance = CUSSEC.chance(code)
    assert (chance.bet_article, chance.odds_article) == (item, odds_item)
    assert chance.odds == odds
    assert (chance.names["zh"].text, chance.names["zh"].unofficial) == (zh, None)
    assert "pt" not in chance.names
    assert len([spot for spot in CUSSEC.spots() if spot.chance.code == code]) == count


def test_31_2003_art_5_lists_six_chances_and_no_other() -> None:
    assert [chance.code for chance in CUSSEC.chances] == ["small", "big", "three_army", "triple", "any_triple", "total"]
    for code in ("odd", "even", "pair:2", "two:1-2", "red", "total:3", "total:18"):
        refused = refusal(lambda code=code: CUSSEC.spot(code), "LGR-0412" if "total" in code else "LGR-0404")  # type: ignore[misc]
        assert refused.help


@pytest.mark.parametrize("roll", ROLLS)
def test_31_2003_every_bet_on_every_roll(roll: str) -> None:
    shown = dice(roll)
    alike = shown[0] == shown[1] == shown[2]
    total = shown[0] + shown[1] + shown[2]
    expected: dict[str, int | str] = {
        "small": 100 if total in (4, 5, 6, 7, 8, 9, 10) and not alike else "lost",
        "big": 100 if total in (11, 12, 13, 14, 15, 16, 17) and not alike else "lost",
        "any_triple": 2400 if alike else "lost",
    }
    for face in range(1, 7):
        matches = len([die for die in shown if die == face])
        expected[f"three_army:{face}"] = ("lost", 100, 200, 300)[matches]
        expected[f"triple:{face}"] = 15000 if alike and shown[0] == face else "lost"
    for each, odds in TOTALS.items():
        expected[f"total:{each}"] = 100 * odds if total == each else "lost"
    assert prizes(CUSSEC, roll, *expected) == expected


@pytest.mark.parametrize("roll", TRIPLES)
def test_31_2003_art_7_triples_take_big_and_small(roll: str) -> None:
    """B06."""
    for each in results(CUSSEC, roll, "small", "big").values():
        assert each.result == "lost"
        assert each.cite.endswith(", 7")


def test_31_2003_art_7_takes_nothing_else() -> None:
    """B06."""
    assert prizes(CUSSEC, "2-2-2", "total:6", "three_army:2", "triple:2", "any_triple", "small") == {
        "small": "lost", "total:6": 1400, "three_army:2": 300, "triple:2": 15000, "any_triple": 2400,
    }  # fmt: skip
    for roll, total in (("3-3-3", "total:9"), ("4-4-4", "total:12"), ("5-5-5", "total:15")):
        assert results(CUSSEC, roll, total)[total].result == "won"


def test_31_2003_art_5_1_small_begins_at_4_and_art_5_2_big_ends_at_17() -> None:
    """B06."""
    assert prizes(CUSSEC, "1-1-2", "small", "big") == {"big": "lost", "small": 100}
    assert prizes(CUSSEC, "1-1-1", "small", "big") == {"small": "lost", "big": "lost"}
    assert prizes(CUSSEC, "6-6-5", "small", "big") == {"small": "lost", "big": 100}
    assert prizes(CUSSEC, "6-6-6", "small", "big") == {"small": "lost", "big": "lost"}
    assert prizes(CUSSEC, "4-4-2", "small", "big") == {"big": "lost", "small": 100}
    assert prizes(CUSSEC, "4-4-3", "small", "big") == {"small": "lost", "big": 100}


def test_31_2003_art_3_2_dice_keep_their_order_and_pay_alike() -> None:
    rolls = [CUSSEC.outcome(raw) for raw in ("3-1-2", "1-2-3", "2-3-1")]
    assert [each.text for each in rolls] == ["3-1-2", "1-2-3", "2-3-1"]
    assert len({each.slot for each in rolls}) == 1
    assert CUSSEC.outcome("2-2-2").shown == "2-2-2, total 6, triple"
    assert sum(each.weight for each in CUSSEC.outcomes()) == 216
    assert len({CUSSEC.outcome(raw).slot for raw in ROLLS}) == len(CUSSEC.outcomes()) == 56


@pytest.mark.parametrize(
    "raw", ["0-0-7", "2-2", "2-2-2-2", "7-1-1", "222", "2,2,2", "２-2-2", " 2-2-2", "2-2-2\n", "", "--2", "2-2-²"]
)
def test_31_2003_art_3_2_an_outcome_is_three_dice_or_refused(raw: str) -> None:
    refusal(lambda: CUSSEC.outcome(raw), "LGR-0406")


def test_31_2003_art_3_3_bridged_dice_carry_the_bets_locked() -> None:
    [void] = CUSSEC.voids
    assert (void.code, void.article, void.disposition) == ("bridged_dice", "3(3)", "carry")
    assert void.ends_round
    assert void.reopens_betting


def test_31_2003_sets_no_order_of_payment_so_bets_keep_theirs() -> None:
    placed = [Wager(i, CUSSEC.spot(text), 1) for i, text in enumerate(["total:6", "big", "any_triple", "three_army:2"])]
    settled = settle(CUSSEC, CUSSEC.outcome("2-2-2"), placed)
    assert [each.wager.key for each in settled] == [1, 0, 2, 3]
