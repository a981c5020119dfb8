"""Fantan by the articles of 58/2004."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import pytest

from ledger.rules import Wager, settle
from tests.unit.rules.helpers import FANTAN, refusal, results


@pytest.mark.parametrize(
    ("code", "item", "odds_item", "odds", "pt", "count"),
    [
        ("fan", "6(2)(1)", "7(1)(1)", Fraction(3), "Fan", 4),
        ("nim", "6(2)(2)", "7(1)(2)", Fraction(2), "Nim", 12),
        ("kuoc", "6(1)", "7(2)", Fraction(1), "Kuoc", 6),
        ("nga", "6(2)(3)", "7(1)(3)", Fraction(1, 2), "Nga", 12),
        ("sshong", "6(2)(4)", "7(1)(4)", Fraction(1, 3), "Sé-Sam-Hong", 4),
    ],
)
def test_58_2004_art_6_and_7_chances(code: str, item: str, odds_item: str, odds: Fraction, pt: str, count: int) -> None:
    chance = FANTAN.chance(code)
    assert (chance.bet_article, chance.odds_article, chance.odds) == (item, odds_item, {"": odds})
    assert (chance.names["pt"].text, chance.names["pt"].unofficial) == (pt, None)
    assert chance.names["zh"].unofficial
    assert len([spot for spot in FANTAN.spots() if spot.chance.code == code]) == count


def test_58_2004_art_6_thirty_eight_bets() -> None:
    assert [chance.code for chance in FANTAN.chances] == ["fan", "nim", "kuoc", "nga", "sshong"]
    expected = {f"fan:{w}" for w in "1234"}
    expected |= {f"nim:{w}/{t}" for w, t in permutations("1234", 2)}
    expected |= {f"kuoc:{a}{b}" for a, b in combinations("1234", 2)}
    expected |= {f"nga:{a}{b}/{t}" for a, b in combinations("1234", 2) for t in "1234" if t not in (a, b)}
    expected |= {f"sshong:{a}{b}{c}" for a, b, c in combinations("1234", 3)}
    assert {spot.text for spot in FANTAN.spots()} == expected
    assert len(expected) == 38


@pytest.mark.parametrize("number", "1234")
def test_58_2004_every_bet_on_every_number(number: str) -> None:
    odds = {"fan": 300, "nim": 200, "kuoc": 100, "nga": 50, "sshong": 33}
    for spot in FANTAN.spots():
        code, _, selection = spot.text.partition(":")
        winners, _, tie = selection.partition("/")
        each = results(FANTAN, number, spot.text)[spot.text]
        expected = ("won", odds[code]) if number in winners else ("push", 0) if number == tie else ("lost", 0)
        assert (each.result, each.prize) == expected


@pytest.mark.parametrize(
    ("count", "number"), [("1", 1), ("4", 4), ("5", 1), ("8", 4), ("23", 3), ("60", 4), ("61", 1), ("62", 2)]
)
def test_58_2004_art_3_2_the_number_is_what_is_left_and_nothing_left_is_four(count: str, number: int) -> None:
    outcome = FANTAN.outcome(count)
    assert outcome.values == (number,)
    assert (outcome.raw, outcome.text) == (count, str(number))
    assert FANTAN.outcome(outcome.text).slot == outcome.slot


@pytest.mark.parametrize("raw", ["0", "00", "04", "-4", "4.0", "", " 4", "４", "99999", "four"])
def test_58_2004_art_5_1_an_outcome_is_a_count_of_buttons_or_refused(raw: str) -> None:
    assert "a remainder of 0 counts as 4" in str(refusal(lambda: FANTAN.outcome(raw), "LGR-0406").help)


def test_58_2004_art_3_2_nought_is_written_as_the_count_or_as_4() -> None:
    refused = refusal(lambda: FANTAN.outcome("0"), "LGR-0406")
    assert refused.detail == "there is no 0: the numbers are 1 to 4"
    assert refused.help == "a remainder of 0 counts as 4: write the count, or 4"
    assert refused.cite == "58/2004 art. 5(1), 3(2)"
    assert FANTAN.outcome("24").text == FANTAN.outcome("4").text == "4"


def test_58_2004_art_8_a_tie_returns_the_stake_whole_and_carries_no_commission() -> None:
    tied = results(FANTAN, "3", "nim:1/3=101", "nga:12/3=101")
    for each in tied.values():
        assert (each.result, each.returned, each.net) == ("push", 101, 0)
        assert (each.prize, each.commission, each.breakage, each.net_prize) == (0, 0, 0, 0)
        assert each.cite.endswith(", 8")


def test_58_2004_art_9_five_per_cent_of_prizes_and_of_nothing_else() -> None:
    assert FANTAN.commission is not None
    assert (FANTAN.commission.fraction, FANTAN.commission.of, FANTAN.commission.article) == (Fraction(1, 20), "prize", "9")
    paid = results(FANTAN, "1", "fan:1=10000", "kuoc:12=10000", "fan:2=10000")
    assert (paid["fan:1=10000"].prize, paid["fan:1=10000"].commission, paid["fan:1=10000"].net_prize) == (30000, 1500, 28500)
    assert (paid["kuoc:12=10000"].commission, paid["fan:2=10000"].commission) == (500, 0)
    assert paid["fan:1=10000"].cite == "58/2004 art. 6(2)(1), 7(1)(1), 9"
    assert paid["fan:2=10000"].cite == "58/2004 art. 6(2)(1)"


def test_58_2004_nim_knows_which_number_wins() -> None:
    assert FANTAN.spot("nim:1/3") is not FANTAN.spot("nim:3/1")
    assert FANTAN.spot("nim:3/1").numbers == (3, 1)
    assert FANTAN.spot("nga:21/4").text == "nga:12/4"
    assert FANTAN.spot("kuoc:31").text == "kuoc:13"
    assert FANTAN.spot("sshong:321").text == "sshong:123"


@pytest.mark.parametrize(
    ("text", "right"), [("nim:1-2", "nim:1/2"), ("kuoc:1-2", "kuoc:12"), ("nga:12-4", "nga:12/4"), ("sshong:1-2-3", "sshong:123")]
)
def test_58_2004_art_6_a_dash_is_told_the_right_form(text: str, right: str) -> None:
    assert f"write {right}" in refusal(lambda: FANTAN.spot(text), "LGR-0412").detail


@pytest.mark.parametrize(
    "text",
    ["fan:0", "fan:5", "fan:12", "nim:1", "nim:1/1", "nim:12/3", "nim:/3", "nim:1/", "kuoc:1", "kuoc:11", "kuoc:123", "kuoc:1-2",
     "nga:12", "nga:12/2", "nga:12/5", "nga:1/2", "nga:123/4", "sshong:12", "sshong:112", "sshong:1234", "sshong:123/4",
     "fan:１"],
)  # fmt: skip
def test_58_2004_art_6_other_selections_are_refused(text: str) -> None:
    assert "legal is" in str(refusal(lambda: FANTAN.spot(text), "LGR-0412").help)


def test_58_2004_has_no_void_and_sets_no_order_of_payment() -> None:
    assert FANTAN.voids == ()
    assert FANTAN.payment_order == ()
    placed = [Wager(i, FANTAN.spot(text), 20) for i, text in enumerate(["nim:2/1", "fan:2", "sshong:123", "fan:1"])]
    assert [each.wager.key for each in settle(FANTAN, FANTAN.outcome("1"), placed)] == [1, 0, 2, 3]
