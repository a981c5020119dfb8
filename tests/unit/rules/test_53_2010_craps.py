"""Craps by the held fragment of 53/2010, and the unverified bets beside it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ledger.rules import COME_OUT, State, Wager, can_place, settle, state_after, verify_placing
from tests.unit.rules.helpers import CRAPS, UNVERIFIED, prizes, refusal, results, wagers

LISTED = ["pass", "pass_odds"]
USUAL = [
    "dont_pass", "come", "dont_come", "come_odds", "dont_odds", "place", "place_lose", "buy", "lay", "big6", "big8", "hard",
    "field", "any7", "any_craps", "two", "three", "eleven", "twelve", "horn", "world", "c_and_e", "hop",
]  # fmt: skip


def test_53_2010_art_5_2_chances_of_the_fragment_and_what_is_assumed_of_them() -> None:
    line, odds = CRAPS.chances
    assert [line.code, odds.code] == LISTED
    assert (line.bet_article, line.odds_article) == ("5(2)(1)", "6")
    assert line.odds == {"": 1}
    assert (odds.bet_article, odds.odds_article) == ("5(2)(2)", "6(2)")
    assert odds.odds == {"4": 2, "5": Fraction(3, 2), "6": Fraction(6, 5), "8": Fraction(6, 5), "9": Fraction(3, 2), "10": 2}
    assert "odds" in line.assumed
    assert "odds" in odds.assumed
    assert line.names["zh"] == ("派司拉", None)
    assert odds.names["zh"] == ("派司拉之附加投注", None)
    assert "pt" not in line.names


@pytest.mark.parametrize("total", range(2, 13))
def test_53_2010_art_5_2_1_the_come_out_throw(total: int) -> None:
    expected = "won" if total in (7, 11) else "lost" if total in (2, 3, 12) else "stands"
    assert results(CRAPS, str(total), "pass")["pass"].result == expected
    state = state_after(COME_OUT, CRAPS.outcome(str(total)))
    assert state == (State(total) if expected == "stands" else State(decided=True))


@pytest.mark.parametrize("point", [4, 5, 6, 8, 9, 10])
def test_53_2010_art_5_2_1_then_the_point_or_seven(point: int) -> None:
    assert prizes(CRAPS, f"{point},{point}", "pass") == {"pass": 100}
    assert prizes(CRAPS, f"{point},7", "pass") == {"pass": "lost"}
    for other in range(2, 13):
        if other not in (point, 7):
            assert prizes(CRAPS, f"{point},{other}", "pass") == {"pass": "stands"}
            assert prizes(CRAPS, f"{point},{other},{other},{point}", "pass") == {"pass": 100}


def test_53_2010_art_3_2_a_void_throw_changes_nothing() -> None:
    assert prizes(CRAPS, "6,void,8,6", "pass") == {"pass": 100}
    assert prizes(CRAPS, "6,7", "pass") == {"pass": "lost"}
    assert prizes(CRAPS, "7", "pass") == {"pass": 100}
    assert prizes(CRAPS, "void,void,7", "pass") == {"pass": 100}
    for state in (COME_OUT, State(6), State(decided=True)):
        assert state_after(state, CRAPS.outcome("void")) == state
        if not state.decided:
            [each] = settle(CRAPS, CRAPS.outcome("void"), wagers(CRAPS, "pass"), state=state)
            assert (each.result, each.returned) == ("stands", 0)


def test_53_2010_voids_let_the_stakes_stand() -> None:
    assert [(void.code, void.article, void.disposition) for void in CRAPS.voids] == [
        ("off_layout", "3(2)(1)", "stand"),
        ("short_of_middle", "3(2)(2)", "stand"),
        ("not_rolled", "3(3)", "stand"),
    ]
    assert all(not void.ends_round and void.reopens_betting for void in CRAPS.voids)


@pytest.mark.parametrize(("point", "prize"), [(4, 200), (5, 150), (6, 120), (8, 120), (9, 150), (10, 200)])
def test_53_2010_art_5_2_2_odds_are_decided_with_the_pass_bet(point: int, prize: int) -> None:
    assert prizes(CRAPS, f"{point},{point}", "pass", "pass_odds") == {"pass": 100, "pass_odds": prize}
    assert prizes(CRAPS, f"{point},7", "pass", "pass_odds") == {"pass": "lost", "pass_odds": "lost"}


def test_53_2010_art_5_2_2_a_lost_bet_costs_its_stake_and_no_more() -> None:
    lost = results(CRAPS, "4,7", "pass=1000", "pass_odds=500")
    assert [each.net for each in lost.values()] == [-1000, -500]


def test_53_2010_art_5_2_2_odds_need_a_point_and_an_own_pass_bet() -> None:
    odds, line = CRAPS.spot("pass_odds"), CRAPS.spot("pass")
    assert "once there is a point" in refusal(lambda: verify_placing(COME_OUT, odds, [line]), "LGR-0408").detail
    assert "own pass bet" in refusal(lambda: verify_placing(State(6), odds, []), "LGR-0408").detail
    verify_placing(State(6), odds, [line])
    for throws in ("7", "2", "void"):
        refusal(lambda throws=throws: results(CRAPS, throws, "pass", "pass_odds"), "LGR-0408")  # type: ignore[misc]
    placed = wagers(CRAPS, "pass_odds")
    refusal(lambda: settle(CRAPS, CRAPS.outcome("7"), placed, state=COME_OUT), "LGR-0408")


@pytest.mark.parametrize("throws", ["6,6", "6,7", "6,void,8", "4", "10,10"])
def test_53_2010_art_5_2_2_odds_alone_lack_the_pass_bet_whether_or_not_the_line_is_decided(throws: str) -> None:
    refused = refusal(lambda: results(CRAPS, throws, "pass_odds"), "LGR-0408")
    assert refused.detail == "odds on the pass line are added to the player's own pass bet, and there is none"


@pytest.mark.parametrize("throws", ["7", "2", "void", "void,11"])
def test_53_2010_art_5_2_2_odds_lack_a_point_where_the_come_out_throw_set_none(throws: str) -> None:
    for bets in (["pass_odds"], ["pass", "pass_odds"]):
        refused = refusal(lambda bets=bets: results(CRAPS, throws, *bets), "LGR-0408")  # type: ignore[misc]
        assert refused.detail == "pass_odds is placed once there is a point, and there is none"


@pytest.mark.parametrize(
    ("throws", "bet", "lacks"),
    [
        ("6,6", "come_odds:9", "the player's own come bet on 9"),
        ("6,7", "dont_odds:9", "the player's own don't bet on 9"),
        ("7", "come", "once there is a point"),
        ("6,8", "come_odds:8", "the player's own come bet on 8"),
    ],
)
def test_odds_of_the_unverified_table_say_what_they_lack(throws: str, bet: str, lacks: str) -> None:
    assert lacks in refusal(lambda: results(UNVERIFIED, throws, bet), "LGR-0408").detail


def test_53_2010_art_5_1_pass_is_placed_before_the_come_out_throw() -> None:
    line = CRAPS.spot("pass")
    assert can_place(COME_OUT, line)
    assert not can_place(State(6), line)
    assert not can_place(State(decided=True), line)


def test_53_2010_a_throw_after_the_decision_belongs_to_the_next_round() -> None:
    for throws in ("7,7", "6,6,5", "2,void,3", "4,7,4"):
        refused = refusal(lambda throws=throws: results(CRAPS, throws, "pass"), "LGR-0408")  # type: ignore[misc]
        assert "belongs to the next round" in refused.detail


def test_a_round_of_craps_begins_without_a_point_and_undecided() -> None:
    assert repr(COME_OUT) == "State(point=0, decided=False)"
    assert repr(State(6)) == "State(point=6, decided=False)"


def test_53_2010_a_round_is_settled_throw_by_throw_as_at_once() -> None:
    state, bets = COME_OUT, wagers(CRAPS, "pass=700")
    settled = []
    for raw in ("6", "void", "8", "3-3"):
        settled = settle(CRAPS, CRAPS.outcome(raw), bets, state=state)
        state = state_after(state, CRAPS.outcome(raw))
        if raw == "6":
            bets += wagers(CRAPS, "pass_odds=250")
    at_once = settle(CRAPS, CRAPS.outcome("6,void,8,3-3"), bets)
    assert settled == at_once
    assert [each.net for each in settled] == [700, 300]
    assert state.decided


@pytest.mark.parametrize(
    "raw", ["", ",", "6,", "1", "13", "0", "6,,8", "3-7", "0-1", "3-", "-3", "6 ", "６", "VOID", "3-3-3", "06", "6;8", "3—3"]
)
def test_53_2010_an_outcome_is_throws_or_refused(raw: str) -> None:
    refusal(lambda: CRAPS.outcome(raw), "LGR-0406")


def test_53_2010_throws_are_written_by_sum_or_by_faces() -> None:
    outcome = CRAPS.outcome("6,void,5-3,1-1")
    assert (outcome.text, outcome.shown) == ("6,void,3-5,1-1", "6, void, 5-3 (8), 1-1 (2)")
    assert [throw.total for throw in outcome.throws] == [6, 0, 8, 2]
    assert sum(each.weight for each in CRAPS.outcomes()) == 36


@pytest.mark.parametrize("code", USUAL)
def test_53_2010_other_bets_have_no_rule_text(code: str) -> None:
    for text in (code, f"{code}:6"):
        refused = refusal(lambda text=text: CRAPS.spot(text), "LGR-0403")  # type: ignore[misc]
        assert "no rule text" in refused.detail
    assert not UNVERIFIED.chance(code).verified
    assert UNVERIFIED.chance(code).bet_article is None


def test_53_2010_turning_on_unverified_bets_shows_in_content_and_citations() -> None:
    assert not CRAPS.unverified_on
    assert UNVERIFIED.unverified_on
    assert UNVERIFIED.sha256 != CRAPS.sha256
    assert [chance.code for chance in CRAPS.offered] == LISTED
    assert [chance.code for chance in UNVERIFIED.offered] == LISTED + USUAL
    assert UNVERIFIED.spot("field").cite == "no rule text in 53/2010 (unverified)"
    other = CRAPS.with_unverified(field_twelve="3", commission_taken="always")
    assert other.sha256 != UNVERIFIED.sha256
    assert other.chance("field").odds["12"] == 3
    with pytest.raises(ValueError, match="field_twelve"):
        CRAPS.with_unverified(field_twelve="4")
    with pytest.raises(ValueError, match="commission_taken"):
        CRAPS.with_unverified(commission_taken="never")


def test_dont_pass_ties_on_a_come_out_12() -> None:
    tied = results(UNVERIFIED, "12", "dont_pass")["dont_pass"]
    assert (tied.result, tied.returned, tied.net) == ("push", 100, 0)
    assert prizes(UNVERIFIED, "3", "dont_pass") == {"dont_pass": 100}
    assert prizes(UNVERIFIED, "11", "dont_pass") == {"dont_pass": "lost"}
    assert prizes(UNVERIFIED, "6,7", "dont_pass") == {"dont_pass": 100}
    assert prizes(UNVERIFIED, "6,6", "dont_pass") == {"dont_pass": "lost"}


def test_place_buy_and_hard_ways_are_off_without_a_point() -> None:
    for bet in ("place:6", "buy:6", "hard:6"):
        assert results(UNVERIFIED, "7", bet)[bet].result == "stands"
        assert results(UNVERIFIED, "3-3", bet)[bet].result == "stands"
        assert results(UNVERIFIED, "5,3-3", bet)[bet].result == "won"
        assert results(UNVERIFIED, "5,7", bet)[bet].result == "lost"
    assert results(UNVERIFIED, "5,4-2", "hard:6")["hard:6"].result == "lost"


def test_a_come_bet_takes_its_number_and_goes_on() -> None:
    [standing] = settle(UNVERIFIED, UNVERIFIED.outcome("9"), wagers(UNVERIFIED, "come"), state=State(6))
    assert (standing.result, standing.payoff.moves_to) == ("stands", "come:9")
    travelled = UNVERIFIED.spot_in_play("come:9")
    assert travelled.travelled
    for raw, result in (("9", "won"), ("7", "lost"), ("6", "stands")):
        [each] = settle(UNVERIFIED, UNVERIFIED.outcome(raw), [Wager(1, travelled, 100)], state=State(6))
        assert each.result == result
    refusal(lambda: UNVERIFIED.spot("come:9"), "LGR-0405")
    refusal(lambda: verify_placing(State(6), travelled), "LGR-0408")
    assert prizes(UNVERIFIED, "6,9,9", "come", "come_odds:9") == {"come": 100, "come_odds:9": 150}


def test_odds_of_the_unverified_table_need_the_bet_they_are_added_to() -> None:
    spot = UNVERIFIED.spot
    assert not can_place(State(6), spot("come_odds:9"), [spot("come")])
    assert can_place(State(6), spot("come_odds:9"), [UNVERIFIED.spot_in_play("come:9")])
    assert can_place(State(6), spot("dont_odds:6"), [spot("dont_pass")])
    assert not can_place(State(5), spot("dont_odds:6"), [spot("dont_pass")])
    assert can_place(State(5), spot("dont_odds:6"), [UNVERIFIED.spot_in_play("dont_come:6")])
    assert not can_place(COME_OUT, spot("come"))
    assert can_place(COME_OUT, spot("field"))


def test_a_throw_known_by_its_sum_decides_no_bet_on_faces() -> None:
    refused = refusal(lambda: results(UNVERIFIED, "5,6", "hard:6"), "LGR-0409")
    assert refused.help == "write the faces: 1-5 or 2-4 or 3-3"
    assert results(UNVERIFIED, "5,12", "hop:6-6")["hop:6-6"].result == "lost"
    assert results(UNVERIFIED, "12", "hop:6-6")["hop:6-6"].result == "won"


def test_combined_bets_pay_by_part() -> None:
    assert prizes(UNVERIFIED, "2", "horn", "world", "c_and_e") == {"horn": 675, "world": 520, "c_and_e": 300}
    assert prizes(UNVERIFIED, "11", "horn", "world", "c_and_e") == {"horn": 300, "world": 220, "c_and_e": 700}
    assert prizes(UNVERIFIED, "7", "horn", "world", "c_and_e") == {"horn": "lost", "c_and_e": "lost", "world": "push"}


def test_commission_on_wins_or_contained_in_the_stake() -> None:
    paid = results(UNVERIFIED, "5,4", "buy:4=10000", "lay:10=10000", "lay:4=10000")
    assert (paid["buy:4=10000"].prize, paid["buy:4=10000"].commission, paid["buy:4=10000"].net) == (20000, 500, 19500)
    laid = results(UNVERIFIED, "5,7", "lay:4=10000")["lay:4=10000"]
    assert (laid.prize, laid.commission, laid.net) == (5000, 250, 4750)
    always = CRAPS.with_unverified(commission_taken="always")
    contained = results(always, "5,4", "buy:4=10500")["buy:4=10500"]
    assert (contained.prize, contained.commission, contained.net, contained.returned) == (20000, 500, 19500, 30000)


def test_a_bet_that_stands_is_where_it_was_unless_it_has_moved() -> None:
    placed = [*wagers(UNVERIFIED, "pass", "place:8", "come")]
    settled = settle(UNVERIFIED, UNVERIFIED.outcome("6"), placed, state=State(5))
    assert [each.payoff.moves_to for each in settled] == [None, None, "come:6"]


def test_losers_first_then_the_paid_then_what_stands() -> None:
    settled = settle(UNVERIFIED, UNVERIFIED.outcome("5,4-4"), wagers(UNVERIFIED, "place:8", "pass", "any7", "hard:8", "field"))
    assert [(each.wager.key, each.result) for each in settled] == [
        ("any7", "lost"), ("field", "lost"), ("place:8", "won"), ("hard:8", "won"), ("pass", "stands"),
    ]  # fmt: skip
