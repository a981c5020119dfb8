"""What comes between: rules of void by article, chips in disarray, late chips, reviews."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from ledger.events import (
    BetsCarried,
    ChipsRestored,
    LateBetRecorded,
    RoundHeld,
    RoundOpened,
    RoundReleased,
    RoundSettled,
    RoundVoided,
)
from ledger.round import Round, Status
from tests.unit.round.made import Play, following, happened, origin, person, refused


class TestRoulette:
    def test_30_2003_art_2_2_a_void_stroke_leaves_the_stakes_and_betting_closed(self) -> None:
        play = Play("30/2003")
        bet = play.bet("straight:17")
        play.close()
        happened(play.round)
        for launch in (1, 2, 3):
            play.void("golpe_nulo")
            [voided] = happened(play.round)
            assert isinstance(voided, RoundVoided)
            assert (voided.disposition, voided.launch, voided.article) == ("stand", launch, "30/2003 art. 2(2)")
            assert (voided.returned, voided.carried, voided.successor) == ((), "0", None)
            assert play.round.status is Status.CLOSED
            refused("LGR-0210", play.round, lambda: play.bet("red"))
        play.outcome("17")
        assert (play.result(bet), play.round.launches) == ("won", 3)

    def test_30_2003_art_2_2_only_between_the_close_and_the_outcome(self) -> None:
        play = Play("30/2003")
        assert refused("LGR-0205", play.round, lambda: play.void("golpe_nulo")).meaning.retryable
        play.close()
        play.outcome("0")
        refused("LGR-0206", play.round, lambda: play.void("golpe_nulo"))

    def test_30_2003_art_2_2_no_round_follows_a_void_stroke(self) -> None:
        play = Play("30/2003")
        play.close()
        assert refused("LGR-0216", play.round, lambda: play.void("golpe_nulo", following())).cite == "30/2003 art. 2(2)"

    def test_30_2003_art_5_3_winning_chips_are_put_back_after_the_outcome(self) -> None:
        play = Play("30/2003")
        bet = play.bet("straight:17")

        def restore() -> None:
            play.round.restore_chips(play.rules, origin(), restored_by="S-1", source="ledger", bets=(bet,))

        play.close()
        assert refused("LGR-0220", play.round, restore).cite == "30/2003 art. 5(3)"
        play.outcome("17")
        before = play.round.taken, play.round.returned
        restore()
        *_, restored = happened(play.round)
        assert isinstance(restored, ChipsRestored)
        assert (restored.article, restored.restored_by, restored.source) == ("30/2003 art. 5(3)", "S-1", "ledger")
        assert (play.round.taken, play.round.returned) == before
        refused(
            "LGR-0212",
            play.round,
            lambda: play.round.restore_chips(play.rules, origin(), restored_by="S-1", source="players", bets=(uuid4(),)),
        )


class TestCussec:
    def test_31_2003_art_3_3_the_next_round_has_the_bets_locked_and_takes_new_ones(self) -> None:
        play = Play("31/2003")
        small, six = play.bet("small", 10000), play.bet("total:6", 5000, "P-2")
        play.close()
        happened(play.round)
        ended, after = play.round, following()
        play.become(play.void("bridged_dice", after))
        [voided] = happened(ended)
        opened, carried = happened(play.round)
        assert isinstance(voided, RoundVoided)
        assert (voided.disposition, voided.successor, voided.carried, voided.article) == (
            "carry",
            after.id,
            "15000",
            "31/2003 art. 3(3)",
        )
        assert voided.returned == ()
        assert isinstance(opened, RoundOpened)
        assert isinstance(carried, BetsCarried)
        assert [line.bet for line in carried.bets] == [small, six]
        assert (carried.locked, carried.article) == (True, "31/2003 art. 3(3)")
        assert (ended.status, ended.successor, ended.open_bets) == (Status.CARRIED, after.id, [])
        new = play.bet("big", 1000)
        play.close()
        play.outcome("2-2-2")
        *_, settled = happened(play.round)
        assert isinstance(settled, RoundSettled)
        assert [play.result(bet) for bet in (small, six, new)] == ["lost", "won", "lost"]
        assert (settled.bets, settled.handle) == (3, "16000")

    def test_31_2003_art_3_3_chains_conserve_the_stakes_and_count_them_once(self) -> None:
        play = Play("31/2003")
        bet = play.bet("small")
        rounds: list[Round] = []
        for _ in range(4):
            play.close()
            rounds.append(play.round)
            play.become(play.void("bridged_dice", following()))
        play.close()
        play.outcome("1-2-3")
        rounds.append(play.round)
        totals = [event for each in rounds for event in happened(each) if isinstance(event, RoundSettled)]
        assert [(each.bets, each.handle, each.returned) for each in totals] == [(1, "10000", "20000")]
        assert [(each.taken, each.carried, each.returned) for each in rounds] == [(10000, 10000, 0)] * 4 + [(10000, 0, 10000)]
        assert [each.carried_from for each in rounds] == [None, *[each.id for each in rounds[:-1]]]
        assert play.round.bets[bet].placed_in == rounds[0].id

    def test_31_2003_art_3_3_a_void_round_is_over(self) -> None:
        play = Play("31/2003")
        bet = play.bet("small")
        play.close(4)
        ended = play.round
        begun = play.void("bridged_dice", following())
        assert begun is not None
        over = refused("LGR-0223", ended, lambda: play.outcome("1-2-3"))
        assert str(begun.id) in over.detail
        refused("LGR-0223", ended, lambda: play.void("bridged_dice", following()))
        refused("LGR-0204", ended, lambda: ended.withdraw_bet(play.rules, bet, origin()))
        refused("LGR-0204", ended, play.close)

    def test_31_2003_art_3_3_it_has_exactly_one_successor_that_is_another_round(self) -> None:
        play = Play("31/2003")
        play.close()
        assert refused("LGR-0216", play.round, lambda: play.void("bridged_dice")).meaning.retryable
        refused("LGR-0216", play.round, lambda: play.void("bridged_dice", following()._replace(id=play.round.id)))

    def test_31_2003_art_3_3_a_carried_bet_is_held_in_the_round_that_has_it(self) -> None:
        play = Play("31/2003")
        bet = play.bet("small")
        play.close()
        ended, after = play.round, following()
        play.become(play.void("bridged_dice", after))
        refusal = refused("LGR-0241", ended, lambda: ended.hold(person(), reason="dispute", bet=bet))
        assert str(after.id) in refusal.detail
        assert (refusal.field, refusal.meaning.retryable) == ("bet", False)
        ended.hold(person(), reason="dispute")  # the round itself may be reviewed still
        play.round.hold(person(), reason="dispute", bet=bet)
        play.close()
        refused("LGR-0215", play.round, lambda: play.outcome("2-2-2"))

    def test_a_bet_that_reaches_a_void_round_late_is_carried_on_to_the_others(self) -> None:
        play = Play("31/2003")
        play.bet("small", by=origin(2))
        play.close(5)
        ended = play.round
        begun = play.void("bridged_dice", following())
        assert begun is not None
        late = play.bet("big", 700, by=origin(3))
        begun.carry_late(play.rules, origin(), ended, late)
        *_, carried = happened(begun)
        assert isinstance(carried, BetsCarried)
        assert [(line.bet, line.placed_in) for line in carried.bets] == [(late, ended.id)]
        assert (ended.taken, ended.carried, ended.open_bets) == (10700, 10700, [])
        assert (begun.taken, begun.bets[late].locked, begun.carried_from) == (10700, True, ended.id)


def test_58_2004_art_5_3_nothing_makes_a_round_of_fantan_void() -> None:
    """A broken button leaves the count, and the round is decided by what remains."""
    play = Play("58/2004")
    play.bet("fan:1")
    play.close()
    none = refused("LGR-0219", play.round, lambda: play.void("broken_button"))
    assert none.cite == "58/2004 art. 5(3)"


@pytest.mark.parametrize("order", ["31/2003", "58/2004", "53/2010"])
def test_only_the_order_on_roulette_has_an_article_on_chips_in_disarray(order: str) -> None:
    play = Play(order)
    refused("LGR-0217", play.round, lambda: play.round.restore_chips(play.rules, origin(), restored_by="S-1", source="ledger"))


class TestLateChips:
    def test_b25_chips_placed_after_the_bell_are_on_record_and_move_nothing(self) -> None:
        play = Play("30/2003")

        def record(by: object) -> None:
            play.round.record_late_bet(
                play.rules,
                by,  # type: ignore[arg-type]
                player="P-1",
                spot="split:20-17",
                stake="10000",
                currency="MOP",
            )

        assert refused("LGR-0221", play.round, lambda: record(person())).meaning.retryable
        play.close()
        refused("LGR-0801", play.round, lambda: record(origin()))
        happened(play.round)
        record(person())
        play.outcome("17")
        record(person())
        first, *_, last = happened(play.round)
        for event in (first, last):
            assert isinstance(event, LateBetRecorded)
            assert (event.spot, event.article, event.by) == ("split:17-20", "30/2003 art. 3", "S-1")
        assert (play.round.taken, play.round.bets) == (0, {})


class TestReviews:
    def test_nothing_settles_a_round_while_it_is_held(self) -> None:
        play = Play("31/2003")
        play.bet("small")
        held = person()
        play.round.hold(held, reason="surveillance_review")
        play.close()
        for act in (lambda: play.outcome("1-2-3"), lambda: play.void("bridged_dice", following())):
            refusal = refused("LGR-0215", play.round, act)
            assert (refusal.meaning.retryable, refusal.value) == (True, str(held.cause))
        happened(play.round)
        play.round.release(person(), held.cause, finding="stands")
        [released] = happened(play.round)
        assert isinstance(released, RoundReleased)
        assert (released.hold, released.finding) == (held.cause, "stands")
        play.outcome("1-2-3")

    def test_no_throw_either_and_one_bet_is_enough(self) -> None:
        play = Play("53/2010")
        bet = play.bet("pass")
        held = person()
        play.round.hold(held, reason="dispute", bet=bet)
        play.close()
        for act in (lambda: play.throw("4-2"), lambda: play.throw(void="off_layout")):
            assert str(bet) in refused("LGR-0215", play.round, act).detail
        play.round.release(person(), held.cause, finding="stands")
        play.throw("4-2")

    def test_after_the_settlement_a_hold_only_marks(self) -> None:
        play = Play("30/2003")
        bet = play.bet("red")
        play.close()
        play.outcome("17")
        play.round.hold(person(), reason="dispute", bet=bet)
        *_, held = happened(play.round)
        assert isinstance(held, RoundHeld)
        assert (play.round.status, len(play.round.open_holds)) == (Status.SETTLED, 1)

    def test_a_hold_is_a_person_s_and_is_released_once(self) -> None:
        play = Play("30/2003")
        refused("LGR-0801", play.round, lambda: play.round.hold(origin(), reason="dispute"))
        refused("LGR-0212", play.round, lambda: play.round.hold(person(), reason="dispute", bet=uuid4()))
        held = person()
        play.round.hold(held, reason="dispute")
        refused("LGR-0801", play.round, lambda: play.round.release(origin(), held.cause, finding="stands"))
        assert refused("LGR-0224", play.round, lambda: play.round.release(person(), uuid4(), finding="stands")).meaning.retryable
        play.round.release(person(), held.cause, finding="stands")
        refused("LGR-0225", play.round, lambda: play.round.release(person(), held.cause, finding="stands"))
        assert not play.round.can_release(person(), held.cause)

    @pytest.mark.parametrize(
        ("finding", "correction", "retryable"),
        [("corrected", None, False), ("corrected", uuid4(), True), ("stands", uuid4(), False)],
    )
    def test_the_finding_corrected_and_no_other_names_an_approved_correction(
        self, finding: str, correction: UUID | None, retryable: bool
    ) -> None:
        play = Play("30/2003")
        held = person()
        play.round.hold(held, reason="dispute")
        refusal = refused(
            "LGR-0226",
            play.round,
            lambda: play.round.release(person(), held.cause, finding=finding, correction=correction),
        )
        assert refusal.retryable is retryable
