"""Corrections of a round, without a database: two persons, differences only, both stories on record."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any
from uuid import UUID, uuid4

import pytest

from ledger.errors import Refusal
from ledger.events import (
    BetCorrected,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    Event,
    OutcomeCorrected,
    PlayerAdjusted,
    Recorded,
    RoundResettled,
    RoundVoided,
)
from ledger.limits import Band, Limits
from ledger.round import Asked, Origin, Round, Status, Successor, Terms
from ledger.round.standing import difference, effect
from ledger.rules import regulation
from projections.fold import keep_books

ORDERS = {"roulette": "30/2003", "cussec": "31/2003", "fantan": "58/2004", "craps": "53/2010"}
MOMENT = datetime(2026, 11, 29, 12, tzinfo=UTC)


def origin(by: str | None = None, **changes: Any) -> Origin:
    return Origin(uuid4(), "T-1", None, MOMENT, MOMENT, by=by)._replace(**changes)


class Table:
    """A round that is played and then put right, keeping every event in order."""

    def __init__(self, game: str = "roulette", unit: int = 1, *, unverified: bool = False) -> None:
        self.rules = regulation(ORDERS[game])
        if unverified:
            self.rules = self.rules.with_unverified()
        terms = Terms("H", "0" * 64, "A", "T01", "MOP", unit, self.rules, None, date(2026, 11, 29))
        self.round = Round.open(uuid4(), terms, origin())
        self.events: list[Event] = []

    def bet(self, spot: str, stake: int = 100_00, player: str = "P-1") -> UUID:
        id = uuid4()
        self.round.place_bet(self.rules, id, origin(), player=player, spot=spot, stake=str(stake), currency="MOP")
        return id

    def settle(self, outcome: str) -> None:
        self.round.close_betting(self.rules, origin())
        self.round.record_outcome(self.rules, outcome, origin())
        self.new()

    def throw(self, *dice: str, successor: Successor | None = None) -> Round | None:
        """Craps: throws one after the other, betting closed before each and opened again after it."""
        begun = None
        for number, each in enumerate(dice):
            if number and self.round.can_reopen():
                self.round.reopen_betting(origin())
            if self.round.can_close():
                self.round.close_betting(self.rules, origin())
            said = {"void": "off_layout"} if each == "void" else {"dice": each}
            begun = self.round.record_throw(self.rules, origin(), **said, successor=successor)
        self.new()
        return begun

    def new(self) -> list[Event]:
        """The events since the last call."""
        new = [event.body for event in self.round.collect_events()]
        self.events += new
        return new

    def propose(self, kind: str, by: str | None = "S-1", reason: str = "found_wrong", **fields: Any) -> UUID:
        asked = origin(by)
        self.round.propose_correction(self.rules, Asked(kind, reason, **fields), asked)
        return asked.cause

    def approve(self, correction: UUID, by: str | None = "S-2") -> list[Event]:
        self.new()
        self.round.approve_correction(self.rules, correction, origin(by))
        return self.new()

    def correct(self, kind: str, **fields: Any) -> list[Event]:
        """Proposed by one person and approved by another: what the approval brought about."""
        return self.approve(self.propose(kind, **fields))

    def balances(self) -> dict[str, int]:
        """What the standings of the round's bets leave on each account now."""
        return summed(effect(bet.standing) for bet in self.round.bets.values())


def summed(effects: Any) -> dict[str, int]:
    sums: dict[str, int] = {}
    for each in effects:
        assert sum(each.values()) == 0
        for account, amount in each.items():
            sums[account] = sums.get(account, 0) + amount
    return {account: amount for account, amount in sums.items() if amount}


def moved(events: list[Event]) -> dict[str, int]:
    return summed(difference(event.before, event.after) for event in events if isinstance(event, BetCorrected))


def refused(code: str) -> Any:
    return pytest.raises(Refusal, match=code)


# An outcome.


def test_b29_shown_one_result_recorded_another() -> None:
    """The ball lay in 7, 17 was keyed and paid: both outcomes stay, what moves is the difference of each bet."""
    table = Table()
    on_17, on_7, red = table.bet("straight:17"), table.bet("straight:7", player="P-2"), table.bet("red", player="P-3")
    table.settle("17")
    correction = table.propose("outcome", outcome="7", reason="miskeyed_outcome", note="the camera shows 7")
    approved, outcome, *bets, totals_ = table.approve(correction)
    assert isinstance(approved, CorrectionApproved)
    assert (approved.by, approved.approval, approved.correction) == ("S-2", 1, correction)
    assert isinstance(outcome, OutcomeCorrected)
    assert (outcome.was, outcome.was_shown, outcome.outcome, outcome.shown) == ("17", "17, black", "7", "7, red")
    changes = {event.bet: event for event in bets if isinstance(event, BetCorrected)}
    assert {id: (each.before.result, each.after.result) for id, each in changes.items()} == {
        on_17: ("won", "lost"),
        on_7: ("lost", "won"),
        red: ("lost", "won"),
    }
    assert difference(changes[on_17].before, changes[on_17].after) == {"player/P-1": -3600_00, "win": 3600_00}
    assert isinstance(totals_, RoundResettled)
    assert (totals_.bets, totals_.handle, totals_.prizes, totals_.returned) == (3, "30000", "360000", "380000")
    proposed = next(event for event in table.events if isinstance(event, CorrectionProposed))
    assert (proposed.by, proposed.reason, proposed.note) == ("S-1", "miskeyed_outcome", "the camera shows 7")
    assert table.round.outcome == "7"


def test_durber_a_dozen_and_a_straight_paid_by_the_wrong_pocket_are_paid_by_the_shown_one() -> None:
    """Durber v PPB: what is shown is owed. A prize that was paid too small is made up, to the cent, once."""
    table = Table("fantan")
    kuoc, fan = table.bet("kuoc:13", 33_33), table.bet("fan:3", 33_33, player="P-2")
    table.settle("61")
    before = table.balances()
    correction = table.propose("outcome", outcome="63")
    events = table.approve(correction)
    # 58/2004 art. 7(1)(1), 9: 3 to 1 less 5 %: 99.99 − 4.99 − breakage 0.01 = 94.99; kuoc stays as it is.
    assert [event.bet for event in events if isinstance(event, BetCorrected)] == [fan]
    assert moved(events) == {"player/P-2": 33_33 + 94_99, "win": -33_33 - 99_99, "commission": 4_99, "breakage": 1}
    assert summed([before, moved(events)]) == table.balances()
    assert table.round.bets[kuoc].result == "won"


def test_a_correction_of_a_correction_starts_from_the_corrected_state() -> None:
    table = Table()
    table.bet("straight:17"), table.bet("red"), table.bet("even", player="P-2")
    table.settle("17")
    first = table.balances()
    there = table.correct("outcome", outcome="18")
    outcome = next(event for event in table.correct("outcome", outcome="17") if isinstance(event, OutcomeCorrected))
    assert (outcome.was, outcome.outcome) == ("18", "17")
    assert table.balances() == first
    assert moved(there) != {}
    assert moved(table.events) == {}


@pytest.mark.parametrize("written", ["17", " 17"])
def test_an_outcome_equal_to_the_one_on_record_is_refused(written: str) -> None:
    table = Table()
    table.settle("17")
    with refused("LGR-0242" if written == "17" else "LGR-0406"):
        table.propose("outcome", outcome=written)


def test_a_bet_that_loses_under_both_outcomes_names_its_new_article_and_moves_nothing() -> None:
    """30/2003 art. 8: on zero another article takes the bet."""
    table = Table()
    bet = table.bet("red")
    table.settle("2")
    events = table.correct("outcome", outcome="0")
    [change] = [event for event in events if isinstance(event, BetCorrected)]
    assert (change.bet, change.before.result, change.after.result) == (bet, "lost", "lost")
    assert "8" in (change.after.article or "")
    assert moved(events) == {}


def test_an_outcome_is_corrected_once_the_round_is_settled() -> None:
    table = Table()
    with refused("LGR-0240") as caught:
        table.propose("outcome", outcome="17")
    assert caught.value.meaning.retryable


# One bet.


def test_a_wrong_stake_found_after_payout_pays_the_difference() -> None:
    table = Table()
    bet = table.bet("straight:17", 10_00)
    table.settle("17")
    events = table.correct("bet", bet=bet, stake="100000")
    assert moved(events) == {"player/P-1": 35 * 990_00, "win": -35 * 990_00}
    assert table.round.taken == 1000_00


def test_b12_fifty_thousand_keyed_for_five_hundred_is_put_right_by_the_difference() -> None:
    """A stake times 100 that was taken: the prize in excess comes back, and so does nothing else."""
    table = Table()
    bet = table.bet("red", 50_000_00)
    table.settle("1")
    events = table.correct("bet", bet=bet, stake="50000")
    assert moved(events) == {"player/P-1": -49_500_00, "win": 49_500_00}
    assert (table.round.taken, table.round.returned) == (500_00, 500_00)


def test_a_bet_beyond_the_limits_was_taken_all_the_same_so_its_correction_is_flagged() -> None:
    table = Table()
    bet = table.bet("straight:17")
    table.settle("17")
    table.round.limits = Limits("MOP", Band(10_00, 1000_00), {"red": Band(maximum=20_00)})
    for fields, flags in (
        ({"stake": "100000"}, ()),
        ({"stake": "100001"}, ("beyond_limits",)),
        ({"stake": "999"}, ("beyond_limits",)),
        ({"spot": "red", "stake": "2000"}, ()),
        ({"stake": "2001"}, ("beyond_limits",)),
    ):
        correction = table.propose("bet", bet=bet, **fields)
        [proposed] = table.new()
        assert isinstance(proposed, CorrectionProposed)
        [approved, changed, resettled] = table.approve(correction)
        for event in (proposed, approved, changed, resettled):
            assert event.flags == flags  # type: ignore[union-attr]


def test_a_wrong_player_moves_the_bet_whole() -> None:
    table = Table()
    bet = table.bet("straight:17")
    table.settle("17")
    assert moved(table.correct("bet", bet=bet, player="P-9")) == {"player/P-1": -3500_00, "player/P-9": 3500_00}


def test_a_wrong_spot_is_settled_by_the_outcome_on_record() -> None:
    table = Table()
    bet = table.bet("straight:17")
    table.settle("17")
    table.correct("bet", bet=bet, spot="split:20-17")
    assert table.round.bets[bet].standing.spot == "split:17-20"
    assert table.balances() == {"player/P-1": 1700_00, "win": -1700_00}


def test_a_wrong_spot_has_to_be_a_legal_one() -> None:
    table = Table()
    bet = table.bet("straight:17")
    table.settle("17")
    with refused("LGR-0412"):
        table.propose("bet", bet=bet, spot="split:17-19")


def test_a_bet_corrected_while_betting_is_closed_stays_open() -> None:
    table = Table()
    bet = table.bet("straight:17", 10_00)
    with refused("LGR-0240"):
        table.propose("bet", bet=bet, stake="2000")
    table.round.close_betting(table.rules, origin())
    events = table.correct("bet", bet=bet, stake="2000", spot="red", player="P-2")
    assert not any(isinstance(event, RoundResettled) for event in events)
    assert moved(events) == {"player/P-1": 10_00, "player/P-2": -20_00, "escrow": 10_00}
    table.round.record_outcome(table.rules, "1", origin())
    assert table.balances() == {"player/P-2": 20_00, "win": -20_00}


def test_nothing_is_corrected_that_stands_so_already() -> None:
    table = Table()
    bet = table.bet("red")
    table.settle("1")
    with refused("LGR-0242"):
        table.propose("bet", bet=bet, spot="red", stake="10000", player="P-1")


def test_b27_void_after_payout_claws_back_and_a_second_void_credits_nothing() -> None:
    """A straight of 100.00 was paid 3,500.00 and the stake: the void takes back the 3,500.00, the stake stays returned."""
    table = Table()
    bet = table.bet("straight:17")
    table.settle("17")
    waiting = table.propose("bet_void", bet=bet)
    events = table.correct("bet_void", bet=bet)
    assert moved(events) == {"player/P-1": -3500_00, "win": 3500_00}
    assert isinstance(events[-1], RoundResettled)
    assert (events[-1].bets, events[-1].handle, events[-1].returned) == (0, "0", "0")
    for again in (lambda: table.approve(waiting), lambda: table.propose("bet_void", bet=bet)):
        with refused("LGR-0242"):
            again()
    assert table.balances() == {}
    assert (table.round.taken, table.round.returned) == (100_00, 100_00)


def test_a_void_of_a_lost_bet_gives_the_stake_back() -> None:
    table = Table()
    bet = table.bet("straight:17")
    table.settle("3")
    assert moved(table.correct("bet_void", bet=bet)) == {"player/P-1": 100_00, "win": -100_00}


def test_a_void_bet_stays_void_under_another_outcome() -> None:
    table = Table()
    bet = table.bet("straight:17")
    table.settle("3")
    table.correct("bet_void", bet=bet)
    table.correct("outcome", outcome="17")
    assert table.balances() == {}
    with refused("LGR-0242"):
        table.propose("bet", bet=bet, stake="5")


def test_a_bet_that_was_never_there_is_not_corrected() -> None:
    table = Table()
    table.settle("3")
    with refused("LGR-0212"):
        table.propose("bet_void", bet=uuid4())


def test_b28_each_bet_is_put_right_once_and_all_in_one_go() -> None:
    """Two tickets of one player: neither stays alive when the outcome goes."""
    table = Table()
    bets = [table.bet("straight:17"), table.bet("straight:17")]
    table.settle("17")
    events = table.correct("outcome", outcome="20")
    assert [event.bet for event in events if isinstance(event, BetCorrected)] == bets
    assert moved(events) == {"player/P-1": -7200_00, "win": 7200_00}


# The round as a whole.


def test_a_return_before_the_outcome_gives_the_stakes_back_and_frees_the_table() -> None:
    table = Table()
    one, two = table.bet("straight:17"), table.bet("red", 5_00, player="P-2")
    _approved, voided = table.correct("return", reason="wheel_broken")
    assert isinstance(voided, RoundVoided)
    assert (voided.disposition, voided.launch, voided.article) == ("return", 0, None)
    assert [(line.bet, line.stake) for line in voided.returned] == [(one, "10000"), (two, "500")]
    assert table.round.status is Status.RETURNED
    assert table.round.taken == table.round.returned
    assert table.balances() == {}


def test_a_return_after_settlement_undoes_every_bet() -> None:
    table = Table()
    table.bet("straight:17"), table.bet("red", player="P-2")
    table.settle("17")
    *_, resettled, voided = events = table.correct("return", reason="wheel_broken")
    assert isinstance(voided, RoundVoided)
    assert voided.returned == ()
    assert isinstance(resettled, RoundResettled)
    assert (resettled.bets, resettled.handle) == (0, "0")
    assert moved(events) == {"player/P-1": -3500_00, "player/P-2": 100_00, "win": 3400_00}
    assert table.balances() == {}
    with refused("LGR-0242"):
        table.propose("return", reason="wheel_broken")
    with refused("LGR-0241"):
        table.propose("outcome", outcome="3")


def test_30_2003_art_2_2_a_void_launch_is_no_reason_for_a_return() -> None:
    table = Table()
    with refused("LGR-0246") as caught:
        table.propose("return", reason=table.rules.voids[0].code)
    assert caught.value.cite == "30/2003 art. 2(2)"


def test_31_2003_art_3_3_carried_bets_are_neither_voided_nor_returned() -> None:
    """The original bets may not be cancelled; what was keyed wrongly about one is put right all the same, where it is."""
    table = Table("cussec")
    bet = table.bet("big")
    table.round.close_betting(table.rules, origin())
    successor = Successor(uuid4(), date(2026, 11, 29))
    begun = table.round.void(table.rules, origin(), reason="bridged_dice", successor=successor)
    assert begun is not None
    for kind, fields in (("bet_void", {"bet": bet}), ("outcome", {"outcome": "1-1-1"}), ("return", {"reason": "fire_alarm"})):
        with refused("LGR-0241"):
            table.propose(kind, **fields)
    table.new()
    table.round = begun
    table.round.close_betting(table.rules, origin())
    for settled in (False, True):
        for kind, fields in (("bet_void", {"bet": bet}), ("return", {"reason": "fire_alarm"})):
            with refused("LGR-0245") as caught:
                table.propose(kind, **fields)
            assert caught.value.cite == "31/2003 art. 3(3)"
        if not settled:
            table.correct("bet", bet=bet, spot="small")
            table.round.record_outcome(table.rules, "1-2-3", origin())
    assert table.balances() == {"player/P-1": 100_00, "win": -100_00}
    table.correct("bet", bet=bet, spot="big")
    assert table.balances() == {"player/P-1": -100_00, "win": 100_00}


def test_b24_a_bet_placed_in_time_and_received_after_settlement_is_settled_by_the_outcome_on_record() -> None:
    table = Table()
    table.round.close_betting(table.rules, origin(sequence=7))
    table.round.record_outcome(table.rules, "17", origin(sequence=8))
    bet = uuid4()
    said: dict[str, Any] = {"player": "P-1", "spot": "straight:17", "stake": "10000", "currency": "MOP"}
    table.round.place_bet(table.rules, bet, origin(sequence=6), **said)
    assert table.balances() == {"player/P-1": -100_00, "escrow": 100_00}
    waiting = table.propose("bet_void", bet=bet)
    table.correct("outcome", outcome="3")
    assert table.round.bets[bet].result == "open"
    table.correct("bet", bet=bet, stake="20000")
    events = table.correct("late_bet", bet=bet)
    assert moved(events) == {"escrow": -200_00, "win": 200_00}
    assert isinstance(events[-1], RoundResettled)
    assert (events[-1].bets, events[-1].handle) == (1, "20000")
    with refused("LGR-0242"):
        table.propose("late_bet", bet=bet)
    with refused("LGR-0250"):
        table.approve(waiting)
    table.correct("bet_void", bet=bet)
    assert table.balances() == {}


def test_corrections_are_made_while_the_round_is_held() -> None:
    table = Table()
    bet = table.bet("straight:17")
    table.settle("17")
    hold = origin("S-1")
    table.round.hold(hold, reason="surveillance_review", bet=bet)
    correction = table.propose("bet_void", bet=bet, hold=hold.cause)
    table.approve(correction)
    table.round.release(origin("S-2"), hold.cause, finding="corrected", correction=correction)
    assert table.round.holds[hold.cause].finding == "corrected"


# Beside what the regulation gives.


def test_a_mispay_is_put_right_and_put_back() -> None:
    table = Table()
    bet = table.bet("straight:17")
    table.settle("17")
    before = table.balances()
    [_, adjusted] = table.correct("mispay", bet=bet, direction="from_player", amount="500")
    assert isinstance(adjusted, PlayerAdjusted)
    assert (adjusted.kind, adjusted.player, adjusted.bet, adjusted.direction, adjusted.amount) == (
        "mispay",
        "P-1",
        bet,
        "from_player",
        "500",
    )
    [_, back] = table.correct("mispay", bet=bet, direction="to_player", amount="500")
    assert isinstance(back, PlayerAdjusted)
    assert back.direction == "to_player"
    assert table.balances() == before


@pytest.mark.parametrize(
    ("game", "shown", "spot", "due", "highest"),
    [
        ("roulette", "17", "straight:17", 360_000, 35),
        ("roulette", "17", "red", 0, 35),
        ("cussec", "2-3-5", "small", 20_000, 150),
        ("cussec", "6-6-5", "small", 0, 150),
        ("fantan", "3", "nim:1/3", 10_000, Fraction(57, 20)),
        ("craps", "3-4", "pass", 20_000, 2),
    ],
)
def test_nobody_got_less_than_nothing_for_two_stakes_nor_more_besides_than_the_best_chance_would_have_brought(
    game: str, shown: str, spot: str, due: int, highest: Fraction
) -> None:
    table = Table(game)
    bet = table.bet(spot)
    table.throw(shown) if game == "craps" else table.settle(shown)
    most, due = int(100_00 + 100_00 * highest), due + 100_00

    def out_of_bounds(direction: str, left: int) -> None:
        with refused("LGR-0252") as caught:
            table.propose("mispay", bet=bet, direction=direction, amount=str(left + 1))
        assert f"at most MOP {left // 100}.{left % 100:02} can have gone that way" in (caught.value.help or "")

    out_of_bounds("to_player", most)
    out_of_bounds("from_player", due)
    table.correct("mispay", bet=bet, direction="to_player", amount=str(most))
    out_of_bounds("to_player", 0)
    out_of_bounds("from_player", due + most)
    table.correct("mispay", bet=bet, direction="from_player", amount=str(due + most))
    out_of_bounds("from_player", 0)
    out_of_bounds("to_player", due + most)


def test_an_overpayment_that_came_back_leaves_the_player_what_was_due() -> None:
    """By the accounts, at each step: what was due, what was handed over, what is still out."""
    table = Table()
    bet = table.bet("red", 500_00, player="P-2")
    table.settle("1")
    for direction, player, out in (("to_player", 550_00, -50_00), ("from_player", 500_00, 0)):
        table.correct("mispay", bet=bet, direction=direction, amount="5000")
        books = keep_books(Recorded(place, table.round.id, place, body) for place, body in enumerate(table.events, 1))
        assert (books.balances["player/P-2", "MOP"], books.balances["mispay/T01", "MOP"]) == (player, out)


def test_a_mispay_that_was_proposed_within_the_bounds_is_held_to_them_again_when_it_is_approved() -> None:
    table = Table()
    bet = table.bet("straight:17")
    table.settle("17")
    waiting = table.propose("mispay", bet=bet, direction="from_player", amount="370000")
    table.correct("outcome", outcome="7")
    with refused("LGR-0252"):
        table.approve(waiting)


def test_an_open_bet_cannot_have_been_mispaid() -> None:
    table = Table()
    bet = table.bet("straight:17")
    with refused("LGR-0240"):
        table.propose("mispay", bet=bet, direction="to_player", amount="500")


@pytest.mark.parametrize("kind", ["late_bet", "bet", "bet_void", "mispay"])
def test_of_a_bet_that_was_refused_for_good_the_way_that_is_left_is_said(kind: str) -> None:
    """It was told to send the placing first, which the ledger had refused for good."""
    table = Table()
    table.settle("17")
    fields = {"bet": {"stake": "100"}, "mispay": {"direction": "to_player", "amount": "100"}}.get(kind, {})
    with refused("LGR-0212") as caught:
        table.propose(kind, bet=uuid4(), **fields)
    assert "ex_gratia" in str(caught.value.help)


def test_30_2003_art_3_a_late_bet_is_paid_ex_gratia_by_two_approvals_and_never_as_a_chance() -> None:
    table = Table()
    table.settle("17")
    said = {"player": "P-5", "spot": "straight:17", "stake": "10000", "amount": "350000"}
    correction = table.propose("ex_gratia", reason="goodwill", **said)
    assert table.approve(correction, by="S-2") == [table.events[-1]]
    with refused("LGR-0249"):
        table.approve(correction, by="S-2")
    with refused("LGR-0249"):
        table.approve(correction, by="S-1")
    [_, paid] = table.approve(correction, by="S-3")
    assert isinstance(paid, PlayerAdjusted)
    assert (paid.kind, paid.article, paid.bet) == ("ex_gratia", "30/2003 art. 3", None)
    assert table.round.bets == {}
    assert table.balances() == {}


@pytest.mark.parametrize(
    ("game", "shown", "spot", "stake", "most"),
    [
        ("roulette", "17", "straight:17", "10000", 350_000),  # the chips themselves the books never took
        ("roulette", "0", "red", "10000", 10_000),  # by another outcome than it would have won on: that may be wrong itself
        ("cussec", "1-2-3", "small", "500", 500),
        ("fantan", "1", "fan:1", "1001", 2_852),  # 3 to 1 less a twentieth: 2852.85, rounded down
    ],
)
def test_no_more_is_paid_ex_gratia_than_the_chips_could_have_won(game: str, shown: str, spot: str, stake: str, most: int) -> None:
    table = Table(game)
    table.settle(shown)
    said = {"player": "P-5", "spot": spot, "stake": stake}
    with refused("LGR-0251"):
        table.propose("ex_gratia", **said, amount=str(most + 1))
    correction = table.propose("ex_gratia", **said, amount=str(most))
    table.approve(correction, by="S-2")
    [_, paid] = table.approve(correction, by="S-3")
    assert isinstance(paid, PlayerAdjusted)
    assert paid.amount == str(most)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"amount": "0"}, "LGR-0104"),
        ({"amount": "-1"}, "LGR-0104"),
        ({"amount": "1.5"}, "LGR-0104"),
        ({"amount": str(10**15 + 1)}, "LGR-0104"),
        ({"stake": "0"}, "LGR-0104"),
        ({"spot": "straight:37"}, "LGR-0412"),
        ({"spot": "big"}, "LGR-0404"),
        ({"bet": uuid4()}, "LGR-0108"),
        ({"direction": "from_player"}, "LGR-0108"),
        ({"player": None}, "LGR-0108"),
    ],
)
def test_what_makes_no_sense_is_not_paid_ex_gratia(wrong: dict[str, Any], code: str) -> None:
    table = Table()
    table.settle("17")
    said: dict[str, Any] = {"player": "P-5", "spot": "straight:17", "stake": "100", "amount": "100"}
    with refused(code):
        table.propose("ex_gratia", **said | wrong)


def test_53_2010_has_no_article_that_was_breached_so_nothing_is_paid_ex_gratia() -> None:
    table = Table("craps")
    table.throw("3-4")
    with refused("LGR-0247"):
        table.propose("ex_gratia", player="P-5", spot="pass", stake="100", amount="100")


# Who decides, and how often.


def test_a_terminal_alone_neither_asks_nor_approves_nor_declines() -> None:
    table = Table()
    table.settle("17")
    with refused("LGR-0801"):
        table.propose("outcome", by=None, outcome="7")
    correction = table.propose("outcome", outcome="7")
    with refused("LGR-0801"):
        table.approve(correction, by=None)
    with refused("LGR-0801"):
        table.round.decline_correction(correction, origin())


def test_the_author_does_not_approve() -> None:
    table = Table()
    table.settle("17")
    with refused("LGR-0249"):
        table.approve(table.propose("outcome", outcome="7"), by="S-1")


def test_a_correction_is_made_at_most_once() -> None:
    table = Table()
    table.settle("17")
    correction = table.propose("outcome", outcome="7")
    table.approve(correction)
    for person in ("S-2", "S-3"):
        with refused("LGR-0243"):
            table.approve(correction, by=person)
    with refused("LGR-0243"):
        table.round.decline_correction(correction, origin("S-3"))


@pytest.mark.parametrize("person", ["S-1", "S-2"])
def test_what_was_declined_or_withdrawn_is_never_made(person: str) -> None:
    table = Table()
    table.settle("17")
    correction = table.propose("outcome", outcome="7")
    table.round.decline_correction(correction, origin(person), "the camera shows 17")
    assert isinstance(table.new()[-1], CorrectionDeclined)
    with refused("LGR-0243"):
        table.approve(correction)


def test_an_unknown_correction_may_still_be_on_its_way() -> None:
    table = Table()
    with refused("LGR-0248") as caught:
        table.approve(uuid4())
    assert caught.value.meaning.retryable


OVERTAKING: dict[str, dict[str, Any]] = {
    "player": {"kind": "bet", "player": "P-9"},
    "stake": {"kind": "bet", "stake": "20000"},
    "spot": {"kind": "bet", "spot": "straight:3"},
    "outcome": {"kind": "outcome", "outcome": "7"},
    "mispay": {"kind": "mispay", "direction": "to_player", "amount": "5000"},
    "bet_void": {"kind": "bet_void"},
    "return": {"kind": "return"},
}


@pytest.mark.parametrize("second", OVERTAKING)
@pytest.mark.parametrize("first", OVERTAKING)
def test_a_correction_that_another_has_overtaken_is_not_approved(first: str, second: str) -> None:
    """Who approves it was shown other figures, or even another player: nothing moves, and it has to be proposed anew."""
    table = Table()
    bet = table.bet("straight:17")
    table.settle("17")
    asked = [dict(OVERTAKING[first]), dict(OVERTAKING[second])]
    for fields in asked:
        if fields["kind"] not in ("outcome", "return"):
            fields["bet"] = bet
    earlier, later = (table.propose(**fields) for fields in asked)
    table.approve(earlier)
    before = table.balances(), list(table.round.adjustments)
    with refused("LGR-024[12]|LGR-0250"):
        table.approve(later)
    assert (table.balances(), table.round.adjustments) == before
    assert table.round.corrections[later].status == "proposed"
    table.round.decline_correction(later, origin("S-3"))


def test_a_mispay_goes_to_the_player_whom_both_persons_have_seen() -> None:
    table = Table()
    bet = table.bet("straight:17")
    table.settle("17")
    mispay: dict[str, Any] = {"bet": bet, "direction": "to_player", "amount": "5000"}
    waiting = table.propose("mispay", **mispay)
    table.correct("bet", bet=bet, player="P-9")
    with refused("LGR-0250") as caught:
        table.approve(waiting)
    assert "is P-9's by now, won, with a stake of MOP 100.00" in caught.value.detail
    _, adjusted = table.correct("mispay", **mispay)
    assert isinstance(adjusted, PlayerAdjusted)
    assert adjusted.player == "P-9"


def test_a_payment_ex_gratia_that_was_proposed_twice_is_made_once() -> None:
    """The answer to a proposal was lost, and it was made again: both waited, and both were paid."""
    table = Table()
    table.settle("17")
    gift: dict[str, Any] = {"player": "P-5", "spot": "straight:17", "stake": "5000", "amount": "10000"}
    first, again, other = table.propose("ex_gratia", **gift), table.propose("ex_gratia", **gift), {**gift, "player": "P-6"}
    beside = table.propose("ex_gratia", **other)
    table.approve(again, "S-2")
    for person in ("S-2", "S-3"):
        table.approve(first, person)
    with refused("LGR-0250") as caught:
        table.approve(again, "S-3")
    assert "P-5 was paid ex gratia" in caught.value.detail
    for person in ("S-2", "S-3"):
        table.approve(beside, person)
    assert [each.player for each in table.round.adjustments] == ["P-5", "P-6"]
    table.round.decline_correction(again, origin("S-1"))
    # Whoever means a second payment proposes it, knowing of the first.
    meant = table.propose("ex_gratia", **gift)
    for person in ("S-2", "S-3"):
        table.approve(meant, person)
    assert [each.player for each in table.round.adjustments] == ["P-5", "P-6", "P-5"]


def test_what_decides_a_bet_overtakes_its_corrections_too() -> None:
    table = Table()
    bet, other = table.bet("straight:17"), table.bet("red", player="P-2")
    table.round.close_betting(table.rules, origin())
    player, back = table.propose("bet", bet=bet, player="P-9"), table.propose("return")
    table.round.record_outcome(table.rules, "17", origin())
    for waiting in (player, back):
        with refused("LGR-0250"):
            table.approve(waiting)
    assert table.correct("bet", bet=bet, player="P-9")
    assert table.correct("bet", bet=other, spot="black")


def test_what_concerns_another_bet_overtakes_nothing() -> None:
    table = Table("craps")
    bet, other = table.bet("pass"), table.bet("pass", player="P-2")
    table.throw("4-4")
    waiting = table.propose("bet", bet=bet, player="P-9")
    table.correct("bet", bet=other, stake="20000")
    table.throw("2-3")
    assert moved(table.approve(waiting)) == {"player/P-1": 100_00, "player/P-9": -100_00}
    table.throw("4-4")
    mispay = table.propose("mispay", bet=bet, direction="to_player", amount="100")
    table.correct("mispay", bet=other, direction="to_player", amount="100")
    table.correct("bet", bet=other, player="P-3")
    assert table.approve(mispay)


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        ("outcome", {}, "outcome"),
        ("outcome", {"outcome": "7", "amount": "1"}, "amount"),
        ("bet", {}, "bet"),
        ("bet", {"bet": uuid4()}, "player"),
        ("bet_void", {"bet": uuid4(), "stake": "1"}, "stake"),
        ("return", {"outcome": "7"}, "outcome"),
        ("mispay", {"bet": uuid4(), "amount": "1"}, "direction"),
        ("ex_gratia", {"player": "P", "amount": "1", "spot": "red"}, "stake"),
    ],
)
def test_each_kind_says_what_it_needs_and_nothing_else(kind: str, fields: dict[str, Any], field: str) -> None:
    table = Table()
    table.settle("17")
    with refused("LGR-0108") as caught:
        table.propose(kind, **fields)
    assert caught.value.field == field


@pytest.mark.parametrize("amount", ["0", "-5", "1e3", "007"])
def test_amounts_are_read_as_everywhere(amount: str) -> None:
    table = Table()
    bet = table.bet("red")
    table.settle("17")
    with refused("LGR-0104"):
        table.propose("mispay", bet=bet, direction="to_player", amount=amount)


def test_a_correction_names_a_hold_only_if_there_was_one() -> None:
    table = Table()
    table.settle("17")
    with refused("LGR-0224"):
        table.propose("outcome", outcome="7", hold=uuid4())
