"""Craps, throw by throw: 53/2010 art. 3 to 5, and faults B08 and B09."""

from __future__ import annotations

import pytest

from ledger.events import BetsCarried, PayoutMade, RoundOpened, RoundSettled, ShooterChanged, ThrowRecorded
from ledger.round import Status
from ledger.rules import COME_OUT, State
from tests.unit.round.made import DAY, Play, following, happened, origin, refused


@pytest.mark.parametrize(
    ("throws", "result"),
    [
        (["4-2", "void", "6-2", "3-3"], "won"),
        (["4-2", "4-3"], "lost"),
        (["4-3"], "won"),
        (["6-5"], "won"),
        (["1-1"], "lost"),
        (["6-6"], "lost"),
        (["2-1"], "lost"),
        (["5-5", "4-6"], "won"),
    ],
    ids=lambda throws: ",".join(throws) if isinstance(throws, list) else None,
)
def test_b09_53_2010_art_5_2_1_the_line_is_decided_by_the_throws(throws: list[str], result: str) -> None:
    play = Play("53/2010")
    bet = play.bet("pass", 10000)
    play.close()
    for dice in throws[:-1]:
        play.throw(None if dice == "void" else dice, void="off_layout" if dice == "void" else None)
        assert play.result(bet) == "open"
    play.throw(throws[-1])
    assert (play.result(bet), play.round.status) == (result, Status.SETTLED)
    events = happened(play.round)
    *_, last = [event for event in events if isinstance(event, ThrowRecorded)]
    settled = events[-1]
    assert isinstance(settled, RoundSettled)
    assert (last.throw, last.decided, last.point) == (len(throws), True, 0)
    assert (settled.bets, settled.handle, settled.returned) == (1, "10000", "20000" if result == "won" else "0")


@pytest.mark.parametrize(("code", "article"), [("off_layout", "3(2)(1)"), ("short_of_middle", "3(2)(2)"), ("not_rolled", "3(3)")])
def test_53_2010_art_3_a_void_throw_changes_nothing_and_betting_may_open_again(code: str, article: str) -> None:
    """A9 (ii): the stakes stand, and the table is as before the throw."""
    play = Play("53/2010")
    bet = play.bet("pass")
    play.close()
    play.throw("4-2")
    happened(play.round)
    play.throw(void=code)
    [thrown] = happened(play.round)
    assert isinstance(thrown, ThrowRecorded)
    assert (thrown.outcome, thrown.void, thrown.article, thrown.point) == ("void", code, f"53/2010 art. {article}", 6)
    assert (play.round.state, play.result(bet), play.round.throws) == (State(6), "open", ("2-4", "void"))
    play.reopen()
    play.bet("pass_odds")
    assert play.round.taken == 20000


def test_53_2010_art_3_the_void_clauses_are_those_of_the_regulation() -> None:
    play = Play("53/2010")
    play.close()
    unknown = refused("LGR-0219", play.round, lambda: play.throw(void="golpe_nulo"))
    assert "not_rolled (art. 3(3))" in (unknown.help or "")


@pytest.mark.parametrize("reason", ["leaning", "off_the_table"])
def test_53_2010_art_3_1_and_3_4_a_die_that_leans_or_leaves_the_table_makes_no_throw_void(reason: str) -> None:
    """Art. 3(1): the uppermost, more exposed face counts, a normal throw; art. 3(4) bars only the die's further use."""
    play = Play("53/2010")
    bet = play.bet("pass")
    play.close()
    refused("LGR-0219", play.round, lambda: play.throw(void=reason))
    happened(play.round)
    play.throw("6-1")
    thrown = happened(play.round)[0]
    assert isinstance(thrown, ThrowRecorded)
    assert (thrown.void, thrown.shown, thrown.outcome) == (None, "6-1 (7)", "1-6")
    assert play.result(bet) == "won"


def test_b09_odds_are_paid_by_their_point_and_lost_without_a_factor() -> None:
    for dice, result, returned in [("3-3", "won", 10000 + 12000), ("4-3", "lost", 0)]:
        play = Play("53/2010")
        play.bet("pass")
        play.roll("4-2")
        odds = play.bet("pass_odds", 10000)
        play.close()
        happened(play.round)
        play.throw(dice)
        assert play.result(odds) == result
        paid = {event.bet: int(event.returned) for event in happened(play.round) if isinstance(event, PayoutMade)}
        assert paid.get(odds, 0) == returned


def test_b08_dont_pass_on_a_come_out_12_gets_its_stake_back() -> None:
    play = Play("53/2010", unverified=True)
    bet, seven = play.bet("dont_pass"), play.bet("any7")
    play.close()
    play.throw("6-6")
    assert (play.result(bet), play.result(seven), play.round.returned) == ("push", "lost", 10000)
    *_, settled = happened(play.round)
    assert isinstance(settled, RoundSettled)
    assert (settled.bets, settled.handle, settled.returned) == (2, "10000", "10000")


def test_one_throw_bets_are_decided_by_one_throw_and_the_round_goes_on() -> None:
    play = Play("53/2010", unverified=True)
    line, field = play.bet("pass"), play.bet("field", 1000)
    play.close()
    happened(play.round)
    play.throw("5-4")
    thrown, paid = happened(play.round)
    assert isinstance(thrown, ThrowRecorded)
    assert isinstance(paid, PayoutMade)
    assert (thrown.point, thrown.decided, paid.bet, play.result(line)) == (9, False, field, "open")
    play.reopen()
    refused("LGR-0213", play.round, lambda: play.round.withdraw_bet(play.rules, field, origin()))
    come = play.bet("come", 2000)
    play.close()
    play.throw("4-4")
    [thrown] = [event for event in happened(play.round) if isinstance(event, ThrowRecorded)]
    assert [(each.bet, each.was, each.spot) for each in thrown.moved] == [(come, "come", "come:8")]
    play.throw("4-3")
    *_, settled = happened(play.round)
    assert isinstance(settled, RoundSettled)
    # The field's prize of an earlier throw is in the totals of the round.
    assert (settled.bets, settled.handle, settled.prizes, settled.returned) == (3, "13000", "1000", "2000")


class TestOrder:
    def test_a_throw_needs_betting_closed_and_reopening_needs_a_throw(self) -> None:
        play = Play("53/2010")
        play.bet("pass")
        assert refused("LGR-0205", play.round, lambda: play.throw("4-2")).meaning.retryable
        refused("LGR-0221", play.round, play.reopen)
        play.close()
        assert refused("LGR-0218", play.round, play.reopen).meaning.retryable
        play.throw("4-2")
        refused("LGR-0204", play.round, play.close)
        play.throw("6-2")
        play.reopen()
        refused("LGR-0205", play.round, lambda: play.throw("3-3"))

    def test_after_the_line_is_decided_nothing_is_thrown(self) -> None:
        play = Play("53/2010")
        play.close()
        play.throw("4-3")
        refused("LGR-0206", play.round, lambda: play.throw("4-3"))
        refused("LGR-0223", play.round, play.reopen)
        refused("LGR-0223", play.round, lambda: play.round.change_shooter("P-2", origin()))

    @pytest.mark.parametrize("dice", ["6", "void", "6-2,3-3", "6-7", "6-2 ", ""])
    def test_a_throw_is_both_faces_and_one_throw(self, dice: str) -> None:
        play = Play("53/2010")
        play.close()
        assert refused("LGR-0406", play.round, lambda: play.throw(dice)).field in ("dice", "outcome")

    def test_a_throw_is_its_faces_or_void(self) -> None:
        play = Play("53/2010")
        play.close()
        refused("LGR-0108", play.round, play.throw)
        refused("LGR-0108", play.round, lambda: play.throw("4-2", void="off_layout"))

    def test_throws_are_of_craps_and_outcomes_of_the_other_games(self) -> None:
        craps, roulette = Play("53/2010"), Play("30/2003")
        craps.close()
        roulette.close()
        refused("LGR-0217", craps.round, lambda: craps.outcome("6,8,6"))
        refused("LGR-0217", craps.round, lambda: craps.void("off_layout"))
        refused("LGR-0217", roulette.round, lambda: roulette.throw("4-2"))
        refused("LGR-0217", roulette.round, roulette.reopen)
        refused("LGR-0217", roulette.round, lambda: roulette.round.change_shooter("P-2", origin()))


def test_53_2010_art_4_another_shooter_moves_no_money() -> None:
    play = Play("53/2010")
    play.bet("pass")
    play.round.change_shooter("P-1", origin())
    play.close()
    play.round.change_shooter("P-2", origin())
    _, _, first, _, second = happened(play.round)
    assert isinstance(first, ShooterChanged)
    assert isinstance(second, ShooterChanged)
    assert [(event.was, event.shooter) for event in (first, second)] == [(None, "P-1"), ("P-1", "P-2")]
    refused("LGR-0222", play.round, lambda: play.round.change_shooter("P-2", origin()))


class TestBetsThatOutliveTheRound:
    """Unverified bets: the line is decided, and a place bet is not."""

    def test_they_need_a_next_round(self) -> None:
        play = Play("53/2010", unverified=True)
        play.bet("pass")
        play.roll("5-5")
        play.bet("place:6", 6000)
        play.close()
        missing = refused("LGR-0216", play.round, lambda: play.throw("4-6"))
        assert missing.meaning.retryable
        assert "place:6" in missing.detail

    def test_they_go_on_into_it_unlocked_and_count_once(self) -> None:
        play = Play("53/2010", unverified=True)
        play.bet("pass")
        play.roll("5-5")
        place, come = play.bet("place:6", 6000), play.bet("come", 500)
        play.close()
        happened(play.round)
        ended, after = play.round, following()
        play.become(play.throw("4-6", successor=after))
        *_, settled = happened(ended)
        assert isinstance(settled, RoundSettled)
        assert (settled.successor, settled.carried, settled.bets, settled.handle) == (after.id, "6500", 1, "10000")
        opened, carried = happened(play.round)
        assert isinstance(opened, RoundOpened)
        assert (opened.gaming_day, opened.dealer, opened.supervisor) == (DAY, "D-2", "S-2")
        assert opened.regulation_hash == ended.terms.regulation_hash
        assert isinstance(carried, BetsCarried)
        # The come bet moved with the very throw that made the point.
        assert [(line.bet, line.spot, line.numbers) for line in carried.bets] == [
            (place, "place:6", (6,)),
            (come, "come:10", (10,)),
        ]
        assert (carried.locked, carried.from_round, carried.bets[0].placed_in) == (False, ended.id, ended.id)
        assert (ended.taken, ended.returned, ended.carried, ended.open_bets) == (16500, 10000, 6500, [])
        assert (play.round.taken, play.round.carried_from, play.round.state) == (6500, ended.id, COME_OUT)
        play.round.withdraw_bet(play.rules, place, origin())
        refused("LGR-0214", play.round, lambda: play.round.withdraw_bet(play.rules, come, origin()))
        play.close()
        play.throw("4-3")
        *_, settled = happened(play.round)
        assert isinstance(settled, RoundSettled)
        assert (settled.bets, settled.handle) == (1, "500")

    def test_a_next_round_that_nothing_needs_is_not_opened(self) -> None:
        play = Play("53/2010", unverified=True)
        play.bet("pass")
        play.close()
        assert play.throw("4-3", successor=following()) is None
        assert play.round.successor is None
