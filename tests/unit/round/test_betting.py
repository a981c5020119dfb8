"""Bets: placed, in time or late, withdrawn, changed, declared void."""

from __future__ import annotations

from uuid import uuid4

import pytest

from ledger.events import BetChanged, BetPlaced, BetVoided, BetWithdrawn, RoundSettled
from ledger.round import Asked, Status
from tests.unit.round.made import Play, following, happened, origin, person, refused


def test_30_2003_art_3_a_bet_after_the_close_is_refused_for_good_with_the_article() -> None:
    play = Play("30/2003")
    play.close()
    late = refused("LGR-0210", play.round, lambda: play.bet("red"))
    assert (late.cite, late.meaning.retryable) == ("30/2003 art. 3", False)


@pytest.mark.parametrize("settled", [False, True])
def test_b24_a_bet_numbered_before_the_close_is_a_bet_whenever_it_arrives(settled: bool) -> None:
    play = Play("30/2003")
    play.bet("red", by=origin(2))
    play.close(4)
    if settled:
        play.outcome("17")
    happened(play.round)
    bet = play.bet("straight:17", by=origin(3))
    [placed] = happened(play.round)
    assert isinstance(placed, BetPlaced)
    assert placed.late
    assert play.round.bets[bet].late
    assert play.result(bet) == "open"
    if not settled:
        play.outcome("17")
        assert play.result(bet) == "won"
        *_, totals = happened(play.round)
        assert isinstance(totals, RoundSettled)
        assert totals.bets == 2


@pytest.mark.parametrize(
    "by",
    [
        origin(),
        origin(4),
        origin(5),
        origin(3, epoch=1),
        origin(3, terminal="T-2"),
    ],
    ids=["no number", "the close's own number", "after it", "another epoch", "another terminal"],
)
def test_b25_only_the_numbers_of_the_terminal_that_closed_betting_prove_that_a_bet_was_in_time(by: object) -> None:
    play = Play("30/2003")
    play.close(4)
    refused("LGR-0210", play.round, lambda: play.bet("red", by=by))  # type: ignore[arg-type]
    play.outcome("17")
    refused("LGR-0210", play.round, lambda: play.bet("red", by=by))  # type: ignore[arg-type]


@pytest.mark.parametrize(("closed", "placed"), [(None, 0), (0, None)])
def test_no_epoch_and_epoch_0_are_one_count(closed: int | None, placed: int | None) -> None:
    play = Play("53/2010", unverified=True)
    play.close(4, epoch=closed)
    play.bet("field", by=origin(3, epoch=placed))
    play.throw("4-4")
    play.reopen(6, epoch=placed)
    play.close(9, epoch=closed)
    play.bet("field", by=origin(7, epoch=placed))
    refused("LGR-0211", play.round, lambda: play.bet("field", by=origin(3, epoch=placed)))
    play.throw("3-3")
    play.reopen(12, epoch=closed)
    refused("LGR-0210", play.round, lambda: play.bet("field", by=origin(11, epoch=placed)))
    play.bet("field", by=origin(13, epoch=placed))


def test_53_2010_a_bet_that_reaches_the_table_after_the_throw_waits_for_the_end_of_the_round() -> None:
    """What the throw did to it is for a correction to say, and none is made before the round is settled."""
    play = Play("53/2010", unverified=True)
    play.bet("pass")
    play.close(4)
    play.throw("4-2")
    wait = refused("LGR-0211", play.round, lambda: play.bet("field", by=origin(3)))
    assert wait.meaning.retryable
    play.reopen(6)
    refused("LGR-0211", play.round, lambda: play.bet("field", by=origin(3)))
    refused("LGR-0210", play.round, lambda: play.bet("field", by=origin(5)))
    play.bet("field", by=origin(7))
    play.close(9)
    play.throw("3-3")
    late = play.bet("field", by=origin(3))
    assert (play.round.bets[late].placed_after, play.result(late)) == (0, "open")
    second = play.bet("pass_odds", by=origin(8))
    assert play.round.bets[second].placed_after == 1
    refused("LGR-0408", play.round, lambda: play.bet("pass_odds", by=origin(3)))
    refused("LGR-0408", play.round, lambda: play.bet("pass", by=origin(8)))


def test_a_bet_is_withdrawn_moved_raised_and_lowered_while_betting_is_open() -> None:
    play = Play("30/2003")
    gone, kept = play.bet("red"), play.bet("black")
    play.round.withdraw_bet(play.rules, gone, origin())
    play.round.change_bet(play.rules, kept, origin(), spot="split:20-17", stake="25000")
    play.round.change_bet(play.rules, kept, origin(), stake="5000")
    *_, withdrawn, changed, lowered = happened(play.round)
    assert isinstance(withdrawn, BetWithdrawn)
    assert (withdrawn.bet, withdrawn.stake) == (gone, "10000")
    assert isinstance(changed, BetChanged)
    assert (changed.was_spot, changed.was_stake, changed.spot, changed.numbers) == ("black", "10000", "split:17-20", (17, 20))
    assert isinstance(lowered, BetChanged)
    assert (play.round.taken, play.round.returned) == (35000, 30000)
    play.close()
    play.outcome("17")
    assert (play.result(kept), play.round.returned) == ("won", 35000)
    refused("LGR-0204", play.round, lambda: play.round.withdraw_bet(play.rules, kept, origin()))


def test_a_bet_that_is_not_there_or_not_open_any_more() -> None:
    play = Play("30/2003")
    bet = play.bet("red")
    assert refused("LGR-0212", play.round, lambda: play.round.withdraw_bet(play.rules, uuid4(), origin())).meaning.retryable
    refused("LGR-0222", play.round, lambda: play.round.change_bet(play.rules, bet, origin()))
    refused("LGR-0222", play.round, lambda: play.round.change_bet(play.rules, bet, origin(), spot="red", stake="10000"))
    refused("LGR-0404", play.round, lambda: play.round.change_bet(play.rules, bet, origin(), spot="rot"))
    play.round.withdraw_bet(play.rules, bet, origin())
    again = refused("LGR-0213", play.round, lambda: play.round.withdraw_bet(play.rules, bet, origin()))
    assert "withdrawn" in again.detail
    refused("LGR-0213", play.round, lambda: play.round.void_bet(play.rules, bet, person(), reason="miskeyed"))
    assert not play.round.can_withdraw(play.rules, bet)


def test_30_2003_art_3_nothing_is_changed_after_the_close() -> None:
    play = Play("30/2003")
    bet = play.bet("red")
    play.close()
    for act in (
        lambda: play.round.withdraw_bet(play.rules, bet, origin()),
        lambda: play.round.change_bet(play.rules, bet, origin(), stake="1"),
        lambda: play.round.void_bet(play.rules, bet, person(), reason="miskeyed"),
    ):
        assert refused("LGR-0204", play.round, act).cite == "30/2003 art. 3"


def test_a_bet_is_declared_void_by_a_person_only() -> None:
    play = Play("30/2003")
    bet = play.bet("red")
    refused("LGR-0801", play.round, lambda: play.round.void_bet(play.rules, bet, origin(), reason="miskeyed"))
    play.round.void_bet(play.rules, bet, person(), reason="miskeyed", note="the chip rolled there")
    *_, voided = happened(play.round)
    assert isinstance(voided, BetVoided)
    assert (voided.by, voided.stake, play.round.gone[bet].result) == ("S-1", "10000", "void")


@pytest.mark.parametrize(("spot", "dice"), [("pass", ["4-4"]), ("come", ["4-4", "3-3"])])
def test_53_2010_a_bet_that_has_its_number_is_declared_void_by_two_persons_only(spot: str, dice: list[str]) -> None:
    """At any time: while betting is open as well, for nobody can take it back then either."""
    play = Play("53/2010", unverified=True)
    bet, free = uuid4(), False
    for n, each in enumerate(dice):
        if n == len(dice) - 1:
            bet = play.bet(spot)
            free = play.round.can_void_bet(play.rules, bet, person())
        play.roll(each)
    assert free, "until it has its number, its player could take it back as well"
    again = refused("LGR-0214", play.round, lambda: play.round.void_bet(play.rules, bet, person(), reason="miskeyed"))
    assert "by one person" in again.detail
    refused("LGR-0214", play.round, lambda: play.round.withdraw_bet(play.rules, bet, origin()))
    field = play.bet("field")
    asked = person()
    refused("LGR-0240", play.round, lambda: play.round.propose_correction(play.rules, Asked("bet_void", "x", bet=field), asked))
    play.round.propose_correction(play.rules, Asked("bet_void", "miskeyed", bet=bet), asked)
    refused("LGR-0249", play.round, lambda: play.round.approve_correction(play.rules, asked.cause, person()))
    play.round.approve_correction(play.rules, asked.cause, origin(by="S-2"))
    assert (play.round.bets[bet].result, play.round.returned) == ("void", 10000)
    assert play.round.bets[field].result == "open"


def test_31_2003_art_3_3_carried_bets_are_neither_withdrawn_nor_moved_nor_reduced_nor_void() -> None:
    play = Play("31/2003")
    bet = play.bet("small")
    play.close()
    play.become(play.void("bridged_dice", following()))
    assert play.round.status is Status.BETTING
    for act in (
        lambda: play.round.withdraw_bet(play.rules, bet, origin()),
        lambda: play.round.change_bet(play.rules, bet, origin(), spot="big"),
        lambda: play.round.change_bet(play.rules, bet, origin(), stake="1"),
        lambda: play.round.change_bet(play.rules, bet, origin(), stake="20000"),
        lambda: play.round.void_bet(play.rules, bet, person(), reason="miskeyed"),
    ):
        assert refused("LGR-0214", play.round, act).cite == "31/2003 art. 3(3)"
    play.bet("small")


class TestCraps:
    def test_53_2010_art_5_2_1_pass_is_placed_before_the_come_out_and_stays(self) -> None:
        play = Play("53/2010")
        bet = play.bet("pass")
        play.round.change_bet(play.rules, bet, origin(), stake="5000")
        play.roll("4-2")
        refused("LGR-0408", play.round, lambda: play.bet("pass"))
        refused("LGR-0214", play.round, lambda: play.round.withdraw_bet(play.rules, bet, origin()))
        refused("LGR-0214", play.round, lambda: play.round.change_bet(play.rules, bet, origin(), stake="4000"))
        refused("LGR-0408", play.round, lambda: play.round.change_bet(play.rules, bet, origin(), stake="6000"))

    def test_53_2010_art_5_2_2_odds_lie_behind_the_player_s_own_pass_once_there_is_a_point(self) -> None:
        """B09: odds before a point are refused, and so are odds behind another player's bet."""
        play = Play("53/2010")
        play.bet("pass")
        refused("LGR-0408", play.round, lambda: play.bet("pass_odds"))
        play.roll("4-2")
        refused("LGR-0408", play.round, lambda: play.bet("pass_odds", player="P-2"))
        odds = play.bet("pass_odds")
        play.round.change_bet(play.rules, odds, origin(), stake="20000")
        play.round.withdraw_bet(play.rules, odds, origin())

    def test_a_dont_bet_may_be_taken_back_once_no_odds_lie_behind_it(self) -> None:
        play = Play("53/2010", unverified=True)
        against = play.bet("dont_pass")
        play.roll("4-2")
        odds = play.bet("dont_odds:6")
        behind = refused("LGR-0214", play.round, lambda: play.round.withdraw_bet(play.rules, against, origin()))
        assert "dont_odds:6" in behind.detail
        refused("LGR-0214", play.round, lambda: play.round.change_bet(play.rules, against, origin(), spot="field"))
        play.round.change_bet(play.rules, against, origin(), stake="5000")
        play.round.withdraw_bet(play.rules, odds, origin())
        play.round.withdraw_bet(play.rules, against, origin())
        assert play.round.open_bets == []

    def test_a_come_bet_stays_once_it_has_its_number(self) -> None:
        play = Play("53/2010", unverified=True)
        play.bet("pass")
        play.roll("4-2")
        come = play.bet("come")
        moved = play.bet("come", player="P-2")
        play.round.withdraw_bet(play.rules, moved, origin())
        play.roll("4-4")
        assert play.round.bets[come].spot == "come:8"
        refused("LGR-0214", play.round, lambda: play.round.withdraw_bet(play.rules, come, origin()))
        refused("LGR-0408", play.round, lambda: play.round.change_bet(play.rules, come, origin(), stake="20000"))

    def test_b08_dont_pass_has_no_rule_text_unless_the_property_turned_it_on(self) -> None:
        play = Play("53/2010")
        refused("LGR-0403", play.round, lambda: play.bet("dont_pass"))


def test_a_bet_under_review_stays_where_it_is() -> None:
    play = Play("30/2003")
    bet, other = play.bet("red"), play.bet("black")
    play.round.hold(person(), reason="dispute", bet=bet)
    refused("LGR-0215", play.round, lambda: play.round.withdraw_bet(play.rules, bet, origin()))
    play.round.withdraw_bet(play.rules, other, origin())
