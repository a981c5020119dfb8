"""The fold: what earlier releases wrote, and what no round has."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.errors import Refusal
from ledger.events import BetPlaced, LostBet, OutcomeRecorded, PayoutMade, RoundSettled, StaffSignedOn
from ledger.round import Round, Status
from ledger.rules import State
from tests.unit.round.made import Play, happened, origin, refused


def test_a_craps_round_whose_throws_came_as_one_outcome_is_folded_for_ever() -> None:
    """Release 0.1.0 recorded the throws of a round so."""
    play = Play("53/2010")
    won, lost = play.bet("pass"), play.bet("pass", 500, "P-2")
    play.close()
    by: dict[str, Any] = {**origin()._asdict(), "currency": "MOP"}
    line = LostBet(bet=lost, player="P-2", spot="pass", stake="500", edge="7/495", article="53/2010 art. 5(2)(1)")
    paid: dict[str, Any] = {"prize_exact": "10000", "prize": "10000", "commission": "0", "breakage": "0", "net_prize": "10000"}
    sums: dict[str, Any] = {"prizes": "10000", "commission": "0", "breakage": "0", "returned": "20000"}
    events = [
        *happened(play.round),
        OutcomeRecorded(**by, raw="6,8,6", outcome="6,8,6", shown="6, 8, 6", lost=(line,)),
        PayoutMade(
            **by,
            **paid,
            bet=won,
            player="P-1",
            spot="pass",
            result="won",
            stake="10000",
            odds="1",
            returned="20000",
            edge="7/495",
            article="53/2010 art. 5(2)(1), 6",
        ),
        RoundSettled(**by, **sums, bets=2, handle="10500"),
    ]
    round_ = Round(play.round.id)
    round_.fold(events)
    assert (round_.status, round_.state, round_.throws, round_.outcome) == (Status.SETTLED, State(decided=True), (), "6,8,6")
    assert (round_.bets[won].result, round_.bets[lost].result, round_.taken, round_.returned) == ("won", "lost", 10500, 10000)


def test_an_event_that_no_round_has_is_told_and_not_skipped() -> None:
    round_ = Play("30/2003").round
    with pytest.raises(Refusal) as caught:
        round_.apply(StaffSignedOn(**origin()._asdict(), table="R01", person="D-1", role="dealer"))
    assert caught.value.code == "LGR-0504"


def test_a_bet_placed_between_throws_knows_how_many_came_before_it() -> None:
    play = Play("53/2010", unverified=True)
    first = play.bet("pass")
    play.roll("4-2")
    play.close()
    play.throw(void="off_layout")
    play.reopen()
    second = play.bet("come")
    play.roll("5-4")
    third = play.bet("field")
    assert [play.round.bets[bet].placed_after for bet in (first, second, third)] == [0, 1, 2]
    assert [(play.round.bets[bet].placed_on, play.round.bets[bet].spot) for bet in (second, third)] == [
        ("come", "come:9"),
        ("field", "field"),
    ]
    placed = [event for event in happened(play.round) if isinstance(event, BetPlaced)]
    assert not any(event.late for event in placed)


def test_every_can_answers_as_its_verify_refuses() -> None:
    """One moment each: the trio of a decision never disagrees with itself."""
    play = Play("30/2003")
    bet = play.bet("red")
    round_, rules = play.round, play.rules
    said = {"player": "P-1", "spot": "red", "stake": "100", "currency": "MOP"}
    late = {name: said[name] for name in ("spot", "stake", "currency")}
    by = origin(by="S-1")
    open_ = {
        "bet": round_.can_bet(rules, by.cause, by, **said),
        "withdraw": round_.can_withdraw(rules, bet),
        "change": round_.can_change(rules, bet, spot="black", stake=None),
        "void bet": round_.can_void_bet(rules, bet, by),
        "close": round_.can_close(),
        "hold": round_.can_hold(by),
    }
    closed = {
        "outcome": round_.can_record_outcome(),
        "void": round_.can_void(rules, "golpe_nulo"),
        "late bet": round_.can_record_late_bet(rules, by, **late),
    }
    assert (set(open_.values()), set(closed.values())) == ({True}, {False})
    play.close()
    assert not round_.can_bet(rules, by.cause, by, **said)
    assert not (round_.can_withdraw(rules, bet))
    assert not (round_.can_change(rules, bet, spot="black", stake=None))
    assert not (round_.can_void_bet(rules, bet, by))
    assert not (round_.can_close())
    assert round_.can_record_outcome()
    assert round_.can_void(rules, "golpe_nulo")
    assert round_.can_record_late_bet(rules, by, **late)
    assert not round_.can_restore(rules)
    play.outcome("17")
    assert round_.can_restore(rules, (bet,))
    craps = Play("53/2010")
    assert craps.round.can_change_shooter("P-1")
    assert not (craps.round.can_reopen())
    assert not (craps.round.can_throw(craps.rules, dice="4-2"))
    craps.close()
    assert craps.round.can_throw(craps.rules, dice="4-2")
    craps.throw("4-2")
    assert craps.round.can_reopen()


def test_a_round_that_was_never_opened_is_none() -> None:
    play = Play("30/2003")
    play.round = Round(play.round.id)
    refused("LGR-0202", play.round, play.close)
    refused("LGR-0202", play.round, lambda: play.outcome("17"))
