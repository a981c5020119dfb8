"""Bet notation: one canonical form, any legal way of writing it, and refusals that help."""

from __future__ import annotations

import pytest

from ledger.rules import Regulation
from ledger.rules.notation import canonical_text
from tests.unit.rules.helpers import CRAPS, CUSSEC, FANTAN, ROULETTE, SINGLE_OUTCOME, UNVERIFIED, refusal


@pytest.mark.parametrize("law", [*SINGLE_OUTCOME, CRAPS, UNVERIFIED], ids=lambda law: law.game)
def test_printing_and_reading_are_inverse_and_a_spot_is_one_object(law: Regulation) -> None:
    texts = [spot.text for spot in law.spots()]
    assert len(set(texts)) == len(texts)
    for spot in law.spots():
        assert law.spot(spot.text) is spot
        assert law.chance(spot.chance.code) is spot.chance


@pytest.mark.parametrize("law", [*SINGLE_OUTCOME, CRAPS, UNVERIFIED], ids=lambda law: law.game)
def test_a_kernel_reads_the_selections_that_it_lists(law: Regulation) -> None:
    for spot in law.spots():
        if spot.selection:
            assert law.kernel.read_selection(spot.chance, spot.selection, spot.text) == spot.selection
        assert canonical_text(law, spot.text) == spot.text


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("split:20-17", "split:17-20"),
        ("split:6-3", "split:3-6"),
        ("street:18-16-17", "street:16-17-18"),
        ("corner:20-19-17-16", "corner:16-17-19-20"),
        ("six_line:13-14-15-16-17-18", "six_line:13-18"),
        ("six_line:18-17-16-15-14-13", "six_line:13-18"),
        ("six_line:18-13", "six_line:13-18"),
        ("sector9:10-18", "sector9:10-18"),
        ("sector9:18-10", "sector9:10-18"),
        ("sector9:18-17-16-15-14-13-12-11-10", "sector9:10-18"),
        ("sector12:36-34-32-24-22-20-17-15-13-5-3-1", "sector12:A"),
        ("column:3-6-9-12-15-18-21-24-27-30-33-36", "column:3"),
        ("dozen:13-14-15-16-17-18-19-20-21-22-23-24", "dozen:2"),
    ],
)
def test_numbers_in_any_order_print_in_one(written: str, canonical: str) -> None:
    assert ROULETTE.spot(written) is ROULETTE.spot(canonical)
    assert ROULETTE.spot(written).text == canonical


@pytest.mark.parametrize(
    ("text", "words", "help_words"),
    [
        ("split:3-4", "3 ends its row and 4 begins the next", "legal is split:1-4, split:2-3, split:3-6, split:4-5 or split:4-7"),
        ("split:1-5", "not neighbours", "split:1-2"),
        ("split:36-37", "37 is not on the layout", "legal is split:33-36 or split:35-36"),
        ("split:5-5", "5 stands twice", "split:2-5"),
        ("split:17", "split takes 2 numbers, here is 1", "split:14-17, split:16-17, split:17-18 or split:17-20"),
        ("split:1-2-3", "split takes 2 numbers, here are 3", "split:1-2"),
        ("street:2-3-4", "not one row", "legal is street:1-2-3"),
        ("street:1-9", "street takes 3 numbers, here are 2", "street:1-2-3 or street:7-8-9"),
        ("street:16-18", "street takes 3 numbers, here are 2", "legal is street:16-17-18"),
        ("corner:3-4-6-7", "do not meet in one corner", "corner:2-3-5-6 or corner:4-5-7-8"),
        ("corner:33-34-36-37", "37 is not on the layout", "corner:32-33-35-36"),
        ("corner:2-3-4-5", "do not meet in one corner", "corner:1-2-4-5"),
        ("six_line:2-3-4-5-6-7", "not two rows that follow each other", "legal is six_line:1-6"),
        ("six_line:2-7", "six-line takes 6 numbers", "six_line:1-6"),
        ("sector9:2-10", "nine numbers takes 9 numbers", "sector9:1-9"),
        ("straight:37", "37 is not on the layout", "straight:36"),
        ("straight:-1", "a number is missing", "straight:0"),
        ("straight:00", "00 is written 0", "straight:0"),
        ("straight:07", "07 is written 7", "straight:0"),
        ("straight:007", "007 is written 7", "straight:0"),
        ("straight:100", "100 is out of range", "straight:0"),
        ("straight:1.0", "1.0 is not a number", "straight:0"),
        ("straight:１７", "not written in the digits 0 to 9 of ASCII", "straight:0"),
        ("straight:٣", "not written in the digits", "straight:0"),
        ("straight:²", "not written in the digits", "straight:0"),
        ("straight: 7", "no spaces", "straight:0"),
        ("straight:1,2", "1,2 is not a number", "straight:0"),
        ("straight:1-2", "straight up takes one number, here are 2", "legal is straight:1 or straight:2"),
        ("dozen:4", "there is no dozen 4", "legal is dozen:1, dozen:2 or dozen:3"),
        ("column:0", "there is no column 0", "legal is column:1, column:2 or column:3"),
        ("sector12:C", "there is no twelve-number sector C", "legal is sector12:A or sector12:B"),
        ("sector12:a", "there is no twelve-number sector a", "legal is sector12:A or sector12:B"),
        ("dozen:1-2", "dozen takes 12 numbers", "legal is dozen:1"),
        ("column:1-2-3-4-5-6-7-8-9-10-11-12", "none of the listed sets", "column:1"),
    ],
)
def test_roulette_selections_that_are_refused(text: str, words: str, help_words: str) -> None:
    refused = refusal(lambda: ROULETTE.spot(text), "LGR-0412")
    assert words in refused.detail
    assert help_words in str(refused.help)
    assert refused.value == text
    assert refused.cite is not None
    assert refused.cite.startswith("30/2003 art. 6(")


def test_a_refusal_points_at_the_part() -> None:
    assert refusal(lambda: ROULETTE.spot("split:36-37"), "LGR-0412").render().splitlines() == [
        "error[LGR-0412]: 37 is not on the layout, which has 0 to 36",
        "  spot: split:36-37",
        "                 ^^",
        (
            "  rule: 30/2003 art. 6(2), cavalo / 兩門騎綫:"
            " two numbers that are neighbours on the layout; wins when the ball rests on either"
        ),
        "  help: legal is split:33-36 or split:35-36",
    ]
    assert "             ^^^^\n" in refusal(lambda: ROULETTE.spot("split:１７-20"), "LGR-0412").render()


@pytest.mark.parametrize(
    ("law", "text", "code", "words"),
    [
        (CUSSEC, "total:3", "LGR-0412", "a total of 3 cannot be bet"),
        (CUSSEC, "total:18", "LGR-0412", "a total of 18 cannot be bet"),
        (CUSSEC, "triple:7", "LGR-0412", "a die has no 7"),
        (CUSSEC, "three_army:0", "LGR-0412", "a die has no 0"),
        (CUSSEC, "triple:2-2-2", "LGR-0412", "2-2-2 is not a number"),
        (CUSSEC, "small:4", "LGR-0405", "without a selection"),
        (CUSSEC, "triple", "LGR-0405", "triple needs a selection"),
        (UNVERIFIED, "place:7", "LGR-0412", "7 is not a selection of place"),
        (UNVERIFIED, "hard:5", "LGR-0412", "5 is not a selection of hard"),
        (UNVERIFIED, "hop:1-7", "LGR-0412", "1-7 is not a selection of hop"),
        (UNVERIFIED, "hop:1", "LGR-0412", "1 is not a selection of hop"),
        (UNVERIFIED, "pass_odds:6", "LGR-0405", "without a selection"),
    ],
)
def test_selections_of_the_other_games_that_are_refused(law: Regulation, text: str, code: str, words: str) -> None:
    assert words in refusal(lambda: law.spot(text), code).detail


def test_faces_of_a_hop_in_any_order() -> None:
    assert UNVERIFIED.spot("hop:5-2").text == "hop:2-5"


@pytest.mark.parametrize(
    "text", ["", ":", "::", "straight", "straight:", "red:", "red:1", "x" * 100, "straight:" + "1" * 5000, "\x00"]
)
def test_what_is_no_notation_is_refused(text: str) -> None:
    refused = refusal(lambda: ROULETTE.spot(text), "LGR-0404" if text in ("", ":", "::", "\x00") else "LGR-0405")
    assert refused.help
    assert len(refused.render()) < 1500


@pytest.mark.parametrize("value", [None, 17, 17.0, True, b"red", ["red"], {"red": 1}, {1, 2}])
def test_a_bet_is_text(value: object) -> None:
    refusal(lambda: ROULETTE.spot(value), "LGR-0405")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "help_words"),
    [
        ("stright:17", "did you mean straight or street?"),
        ("Red", "did you mean red?"),
        (" red", "did you mean red?"),
        ("columm:1", "did you mean column?"),
        ("sector:A", "write sector9"),
        ("sectr:A", "did you mean sector9 or sector12?"),
        ("xyzzy", "write chance or chance:selection; the chances are straight, split"),
    ],
)
def test_an_unknown_chance_gets_a_suggestion(text: str, help_words: str) -> None:
    assert help_words in str(refusal(lambda: ROULETTE.spot(text), "LGR-0404").help)


def test_a_chinese_name_is_no_code_and_may_name_two_chances() -> None:
    assert refusal(lambda: ROULETTE.spot("小"), "LGR-0404").help == "write dozen:1 or low"
    assert refusal(lambda: ROULETTE.spot("大"), "LGR-0404").help == "write dozen:3 or high"
    assert refusal(lambda: ROULETTE.spot("pequeno"), "LGR-0404").help == "write dozen:1"
    assert refusal(lambda: CUSSEC.spot("小"), "LGR-0404").help == "write small"
    assert refusal(lambda: FANTAN.spot("番"), "LGR-0404").help == "write fan"


def test_a_bet_without_rule_text_says_what_can_be_done() -> None:
    refused = refusal(lambda: CRAPS.spot("dont_pass"), "LGR-0403")
    assert refused.detail == "there is no rule text for dont_pass in 53/2010 as held"
    assert "bet pass or pass_odds, or turn on the unverified bets" in str(refused.help)


def test_spots_name_their_articles_and_numbers() -> None:
    assert ROULETTE.spot("split:17-20").cite == "30/2003 art. 6(2), 7(2)"
    assert ROULETTE.spot("split:17-20").numbers == (17, 20)
    assert CUSSEC.spot("total:9").cite == "31/2003 art. 5(6), 6(6)"
    assert FANTAN.spot("nga:12/4").cite == "58/2004 art. 6(2)(3), 7(1)(3)"
    assert FANTAN.spot("nga:12/4").numbers == (1, 2, 4)
    assert CRAPS.spot("pass_odds").cite == "53/2010 art. 5(2)(2), 6(2)"
