"""B24: what a terminal numbered before something that has happened does not come true after it (docs/adr/0021)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ledger.events import BettingClosed, BetVoided, LateBetRecorded
from ledger.round import Origin, Round
from ledger.round.order import precedes
from tests.unit.round.made import Play, following, happened, origin, person, refused

BEFORE = [(4, 2), (9, 1)]
"""Number and epoch of what is before number 5 of epoch 2."""


SEEN = {("T-1", 1): 1, ("T-1", 2): 2, ("T-1", 4): 3, ("T-1", 3): 4}
"""Epochs of a round, the first that it had something of first: 3 came after 4."""


@pytest.mark.parametrize(
    ("report", "before"),
    [
        (origin(4, epoch=2), True),
        (origin(9, epoch=1), True),
        (origin(6, epoch=2), False),
        (origin(1, epoch=3), False),
        (origin(1, epoch=0), False),
        (origin(None), False),
        (origin(4, epoch=2, terminal="T-2"), False),
    ],
)
def test_an_earlier_number_is_before_and_so_is_an_earlier_epoch_that_the_round_knew_first(report: Origin, before: bool) -> None:
    assert precedes(report, origin(5, epoch=2), SEEN) is before
    assert not precedes(report, origin(None), SEEN)
    assert not precedes(report, None, SEEN)


def test_a_lower_epoch_that_came_later_is_neither_before_nor_after() -> None:
    """The terminal's clock was ahead, and it began to number anew with a right one."""
    assert not precedes(origin(1, epoch=3), origin(5, epoch=4), SEEN)
    assert not precedes(origin(5, epoch=4), origin(1, epoch=3), SEEN)


def final(code: str, round_: Round, act: Callable[[], object]) -> None:
    assert not refused(code, round_, act).retryable


@pytest.mark.parametrize(("number", "epoch"), BEFORE)
class TestBeforeTheBell:
    """What a terminal keyed before its bell, and sent again after it, settles nothing that was placed in between."""

    def test_an_outcome(self, number: int, epoch: int) -> None:
        play = Play("30/2003")
        play.close(5, 2)
        early = origin(number, epoch=epoch)
        final("LGR-0205", play.round, lambda: play.round.record_outcome(play.rules, "17", early))
        final("LGR-0205", play.round, lambda: play.round.void(play.rules, early, reason=play.rules.voids[0].code))
        play.round.record_outcome(play.rules, "17", origin(6, epoch=2))

    def test_a_carrying_void(self, number: int, epoch: int) -> None:
        play = Play("31/2003")
        play.close(5, 2)
        early = origin(number, epoch=epoch)
        final(
            "LGR-0205",
            play.round,
            lambda: play.round.void(play.rules, early, reason="bridged_dice", successor=following()),
        )

    def test_a_throw_and_a_reopening(self, number: int, epoch: int) -> None:
        play = Play("53/2010")
        play.close(5, 2)
        early = origin(number, epoch=epoch)
        final("LGR-0205", play.round, lambda: play.round.record_throw(play.rules, early, dice="2-2"))
        play.throw("2-2")
        final("LGR-0218", play.round, lambda: play.round.reopen_betting(early))
        play.reopen(7, 2)
        final("LGR-0204", play.round, lambda: play.round.close_betting(play.rules, early))


@pytest.mark.parametrize(("number", "epoch"), BEFORE)
class TestBeforeAChange:
    def test_an_older_change_or_withdrawal_does_not_undo_a_newer_change(self, number: int, epoch: int) -> None:
        play = Play("30/2003")
        bet = play.bet("straight:17")
        play.round.change_bet(play.rules, bet, origin(5, epoch=2), stake="20000")
        older = origin(number, epoch=epoch)
        final("LGR-0222", play.round, lambda: play.round.change_bet(play.rules, bet, older, stake="90000"))
        final("LGR-0222", play.round, lambda: play.round.withdraw_bet(play.rules, bet, older))
        play.round.change_bet(play.rules, bet, origin(6, epoch=2), stake="30000")
        play.round.change_bet(play.rules, bet, origin(1, epoch=2, terminal="T-2"), stake="40000")
        assert play.round.bets[bet].stake == 40000


@pytest.mark.parametrize(("number", "epoch"), BEFORE)
class TestInTime:
    """What a terminal numbered before its bell and the ledger receives after it: bets, and what was done to bets, alike."""

    def test_bets_changes_and_withdrawals_count_until_the_result_is_there(self, number: int, epoch: int) -> None:
        play = Play("30/2003")
        one, other = play.bet("straight:17"), play.bet("straight:17", 50000)
        play.close(5, 2)
        early = origin(number, epoch=epoch)
        play.round.withdraw_bet(play.rules, one, early)
        play.round.change_bet(play.rules, other, early, stake="1000")
        late = play.bet("red", by=early)
        assert play.round.bets[late].late
        assert (play.round.gone[one].left, play.round.bets[other].stake) == ("withdrawn", 1000)
        play.outcome("17")
        help = refused("LGR-0204", play.round, lambda: play.round.withdraw_bet(play.rules, other, early)).help
        assert help is not None
        assert "correction" in help
        again = Round(play.round.id)
        again.fold(happened(play.round))
        assert again.bets[other].stake == 1000

    def test_they_do_not_count_over_a_throw(self, number: int, epoch: int) -> None:
        play = Play("53/2010", unverified=True)
        bet = play.bet("pass")
        other = play.bet("dont_pass")
        play.close(5, 2)
        play.throw("2-2")
        early = origin(number, epoch=epoch)
        assert refused("LGR-0204", play.round, lambda: play.round.withdraw_bet(play.rules, other, early)).help
        play.reopen(7, 2)
        assert refused("LGR-0204", play.round, lambda: play.round.withdraw_bet(play.rules, other, early)).help
        refused("LGR-0211", play.round, lambda: play.bet("pass", by=early))
        play.round.withdraw_bet(play.rules, other, origin(8, epoch=2))
        assert bet in play.round.bets


@pytest.mark.parametrize("by", [origin(6, epoch=2), origin(None), origin(4, epoch=2, terminal="T-2")])
def test_nothing_shows_that_it_was_in_time(by: Origin) -> None:
    play = Play("30/2003")
    bet = play.bet("red")
    play.close(5, 2)
    assert not refused("LGR-0204", play.round, lambda: play.round.withdraw_bet(play.rules, bet, by)).help
    refused("LGR-0210", play.round, lambda: play.bet("red", by=by))


MOST = 2**53 - 1
"""The highest number, and the highest epoch."""
AFTER = [(6, 2), (MOST, 2)]
"""Number and epoch of what is after number 5 of epoch 2."""
GAMES = ["30/2003", "31/2003", "58/2004", "53/2010"]
FIRST = {"30/2003": "red", "31/2003": "small", "58/2004": "fan:1", "53/2010": "pass"}
"""A spot of each order."""


@pytest.mark.parametrize("order", GAMES)
@pytest.mark.parametrize(("number", "epoch"), AFTER)
class TestB25AfterTheBell:
    """B25: a bet that its terminal placed after its bell, and that was here before the bell, is no bet (30/2003 art. 3)."""

    def test_its_stake_goes_back_and_it_is_on_record_as_late_chips(self, order: str, number: int, epoch: int) -> None:
        play = Play(order)
        spot = FIRST[order]
        kept = [play.bet(spot, by=by) for by in (origin(4, epoch=2), origin(9, epoch=1), origin(6, epoch=2, terminal="T-2"))]
        kept += [play.bet(spot), play.bet(spot, by=origin(4))]
        late = play.bet(spot, 300, "P-late", origin(number, epoch=epoch))
        happened(play.round)
        play.close(5, 2)
        voided, closed, recorded = happened(play.round)
        assert isinstance(voided, BetVoided)
        assert (voided.bet, voided.stake, voided.reason, voided.by) == (late, "300", "placed_after_bell", None)
        assert isinstance(closed, BettingClosed)
        assert isinstance(recorded, LateBetRecorded)
        assert (recorded.player, recorded.spot, recorded.stake) == ("P-late", spot, "300")
        assert recorded.note is not None
        assert str(late) in recorded.note
        assert list(play.round.bets) == kept
        assert (play.round.gone[late].left, play.round.returned) == ("void", 300)

    def test_the_bell_rings_under_its_review_and_leaves_it_to_the_finding(self, order: str, number: int, epoch: int) -> None:
        play = Play(order)
        late, free = (play.bet(FIRST[order], by=origin(number, epoch=epoch)) for _ in range(2))
        hold = person()
        play.round.hold(hold, reason="dispute", bet=late)
        play.close(5, 2)
        assert play.round.gone[free].left == "void"
        assert play.round.open_bets == [play.round.bets[late]]
        play.round.release(person(), hold.cause, finding="stands")
        assert play.round.open_bets == [play.round.bets[late]]


def test_b25_a_bet_of_an_earlier_time_of_betting_is_no_matter_of_a_later_bell() -> None:
    """53/2010: another terminal opened betting again, so no number says what the first one's later bell is after."""
    play = Play("53/2010")
    bet = play.bet("pass", by=origin(6, epoch=3))
    play.close(7, 3)
    play.throw("2-2")
    play.round.reopen_betting(origin(1, terminal="T-2"))
    play.close(5, 2)
    assert list(play.round.bets) == [bet]


def test_b25_the_bell_of_a_successor_says_nothing_of_carried_bets() -> None:
    """31/2003 art. 3(3)."""
    play = Play("31/2003")
    bet = play.bet("small", by=origin(4, epoch=2))
    play.close(5, 2)
    play.become(play.void("bridged_dice", following()))
    play.close(3, 2)
    assert list(play.round.bets) == [bet]


@pytest.mark.parametrize(("number", "epoch"), BEFORE)
def test_b25_of_two_bells_the_one_that_came_first_stands_and_the_other_names_what_lies_between(number: int, epoch: int) -> None:
    play = Play("30/2003")
    before, between = (play.bet("red", by=origin(n, epoch=epoch)) for n in (number - 1, number + 1))
    play.close(7, 2)
    earlier = origin(number, epoch=epoch)
    refusal = refused("LGR-0204", play.round, lambda: play.round.close_betting(play.rules, earlier))
    assert not refusal.retryable
    assert refusal.help is not None
    assert str(between) in refusal.help
    assert str(before) not in refusal.help


FOLLOWING = {"30/2003": "17", "31/2003": "2-3-4", "58/2004": "1"}
"""An outcome of each order with one a round."""


@pytest.mark.parametrize("order", GAMES)
@pytest.mark.parametrize("high", [3, MOST])
class TestAnEpochThatGoesBack:
    """A terminal whose clock was ahead numbers anew with a right one: nobody's money hangs on it, and the table plays on."""

    def test_the_bell_of_the_lower_epoch_gives_no_bet_back(self, order: str, high: int) -> None:
        play = Play(order)
        bets = [play.bet(FIRST[order], by=origin(n, epoch=high)) for n in (1, 9)]
        play.close(5, 2)
        assert list(play.round.bets) == bets

    def test_what_the_lower_epoch_says_after_the_bell_of_the_higher_counts(self, order: str, high: int) -> None:
        play = Play(order)
        bet = play.bet(FIRST[order], by=origin(2, epoch=high))
        play.round.change_bet(play.rules, bet, origin(3, epoch=high), stake="20000")
        play.round.change_bet(play.rules, bet, origin(1, epoch=2), stake="12000")
        play.close(4, high)
        if order == "53/2010":
            play.round.record_throw(play.rules, origin(2, epoch=2), dice="2-2")
            play.round.reopen_betting(origin(3, epoch=2))
            play.close(4, 2)
            play.round.record_throw(play.rules, origin(5, epoch=2), dice="3-4")
        else:
            play.round.record_outcome(play.rules, FOLLOWING[order], origin(2, epoch=2))
        assert (play.round.status.name, play.round.bets[bet].stake) == ("SETTLED", 12000)

    def test_a_bet_of_the_lower_epoch_after_that_bell_has_no_proof_of_being_in_time(self, order: str, high: int) -> None:
        play = Play(order)
        play.close(4, high)
        refused("LGR-0210", play.round, lambda: play.bet(FIRST[order], by=origin(1, epoch=2)))
