"""A table's limits: what stops a bet, by how much, and that the exposure is exact after any bets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.errors import Refusal
from ledger.limits import Band, Book, Limits, opposite
from ledger.rules import COME_OUT, Exposure, Regulation, State, regulation
from ledger.rules.games.craps import POINTS
from tests.oracle import ORDERS, bets, expected, outcomes

ROULETTE, CUSSEC, FANTAN = regulation("30/2003"), regulation("31/2003"), regulation("58/2004")
CRAPS = regulation("53/2010").with_unverified()
FREE = Limits("MOP", exposure=10**15)
"""A limit that nothing reaches, so that the exposure is kept."""


def book(rules: Regulation = ROULETTE, **limits: Any) -> Book:
    return Book(Limits("MOP", **limits), rules)


def refused(book: Book, spot: str, stake: int, player: str = "P-1", rules: Regulation = ROULETTE) -> Refusal:
    with pytest.raises(Refusal) as caught:
        book.verify(player, rules.spot(spot), stake)
    return caught.value


def place(book: Book, spot: str, stake: int, player: str = "P-1", rules: Regulation = ROULETTE) -> None:
    book.verify(player, rules.spot(spot), stake)
    book.add(player, rules.spot(spot), stake)


def test_a_stake_below_the_minimum_is_refused_with_the_figure_and_the_difference() -> None:
    refusal = refused(book(table=Band(100_00)), "red", 40_00)
    assert refusal.code == "LGR-0605"
    assert "red is MOP 100.00" in refusal.detail
    assert "MOP 60.00 below" in refusal.detail


def test_b12_a_bet_a_hundred_times_over_the_maximum_is_refused() -> None:
    limited = book(table=Band(100_00, 50_000_00))
    place(limited, "red", 50_000_00)
    refusal = refused(limited, "black", 50_000_00 * 100)
    assert refusal.code == "LGR-0606"
    assert "MOP 4950000.00 above" in refusal.detail
    assert "MOP 50000.00" in (refusal.help or "")


def test_a_chance_has_limits_of_its_own_and_the_table_s_where_it_has_none() -> None:
    limited = book(table=Band(10_00, 500_00), chances={"straight": Band(maximum=50_00)})
    assert refused(limited, "straight:17", 60_00).code == "LGR-0606"
    assert refused(limited, "straight:17", 5_00).code == "LGR-0605"
    place(limited, "split:17-20", 60_00)


def test_the_maximum_is_of_one_player_on_one_spot_together() -> None:
    limited = book(table=Band(maximum=100_00))
    place(limited, "straight:17", 100_00)
    assert "P-1 would have MOP 101.00 there, MOP 1.00 above" in refused(limited, "straight:17", 1_00).detail
    place(limited, "straight:18", 100_00)
    place(limited, "straight:17", 100_00, player="P-2")
    limited.remove("P-1", ROULETTE.spot("straight:17"), 100_00)
    place(limited, "straight:17", 60_00)
    assert "up to MOP 40.00" in (refused(limited, "straight:17", 60_00).help or "")


def test_a_changed_bet_is_judged_without_what_it_was() -> None:
    limited = book(table=Band(10_00, 100_00), exposure=100_00)
    place(limited, "red", 100_00)
    red = ROULETTE.spot("red")
    limited.verify_change("P-1", (red, 100_00), red, 90_00)
    limited.verify_change("P-1", (red, 100_00), ROULETTE.spot("black"), 100_00)
    with pytest.raises(Refusal, match="LGR-0606"):
        limited.verify_change("P-1", (red, 100_00), red, 101_00)
    with pytest.raises(Refusal, match="LGR-0607"):
        limited.verify_change("P-1", (red, 100_00), ROULETTE.spot("dozen:1"), 60_00)
    assert limited.worst == 100_00
    assert refused(limited, "even", 1).code == "LGR-0605"


def test_b30_bets_within_their_spots_limits_are_refused_where_the_round_would_cost_more_than_the_table_may_lose() -> None:
    """Each passes its spot limit; together they could cost more than the table's exposure limit."""
    limited = book(table=Band(maximum=1_000_00), exposure=70_000_00)
    place(limited, "straight:17", 1_000_00)
    place(limited, "straight:17", 1_000_00, player="P-2")
    assert limited.worst == 70_000_00
    refusal = refused(limited, "straight:17", 1_00, player="P-3")
    assert refusal.code == "LGR-0607"
    assert "MOP 70035.00" in refusal.detail
    assert "MOP 35.00 above" in refusal.detail
    place(limited, "straight:18", 1_000_00, player="P-3")
    assert limited.worst == 69_000_00, "its stake pays for a part of the prize of 17"


def test_a_bet_that_does_not_raise_the_worst_case_is_taken_above_the_limit() -> None:
    limited = book(exposure=100_00)
    limited.add("P-1", ROULETTE.spot("straight:17"), 100_00)
    limited.verify("P-1", ROULETTE.spot("straight:18"), 1_00)
    assert refused(limited, "odd", 1_00).code == "LGR-0607"


def test_a_bet_heard_of_late_keeps_minimum_and_maximum_and_is_not_stopped_by_what_else_was_open() -> None:
    limited = book(table=Band(10_00, 100_00), exposure=100_00, differential=50_00)
    red = ROULETTE.spot("red")
    limited.verify("P-1", red, 100_00, late=True)
    for stake in (9_00, 101_00):
        with pytest.raises(Refusal, match=r"LGR-060[56]"):
            limited.verify("P-1", red, stake, late=True)
    limited.add("P-1", red, 100_00)
    limited.verify("P-2", red, 100_00, late=True)
    assert refused(limited, "odd", 10_00).code == "LGR-0607"


def test_the_differential_bounds_what_one_side_has_over_the_other() -> None:
    limited = book(differential=100_00)
    place(limited, "red", 100_00)
    refusal = refused(limited, "red", 1_00, player="P-2")
    assert refusal.code == "LGR-0608"
    assert "MOP 1.00 above" in refusal.detail
    place(limited, "black", 200_00)
    place(limited, "red", 200_00)
    place(limited, "straight:17", 900_00)


@pytest.mark.parametrize(
    ("rules", "pairs"),
    [
        (ROULETTE, "red/black even/odd low/high"),
        (CUSSEC, "small/big"),
        (FANTAN, "kuoc:12/kuoc:34 kuoc:13/kuoc:24 kuoc:14/kuoc:23"),
        (CRAPS, ""),
    ],
)
def test_which_spots_oppose_each_other_follows_from_the_regulation(rules: Regulation, pairs: str) -> None:
    found = {frozenset({spot.text, other.text}) for spot, other in opposite(rules).items()}
    assert found == {frozenset(pair.split("/")) for pair in pairs.split()}


def test_limits_in_words() -> None:
    limits = Limits("MOP", Band(100_00, 50_000_00), {"straight": Band(maximum=1_000_00)}, 500_000_00)
    assert str(limits) == "min 100.00 max 50000.00 exposure 500000.00; straight min 100.00 max 1000.00"
    assert not Limits("MOP").any


# The exposure is exact, however it came about.


@pytest.mark.parametrize("game", ["roulette", "cussec", "fantan"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_exposure_equals_that_of_every_outcome_tried(game: str, data: st.DataObject) -> None:
    rules = regulation(ORDERS[game])
    kept = Book(FREE, rules)
    open_: list[tuple[str, int]] = []
    for _ in range(data.draw(st.integers(1, 12))):
        if open_ and data.draw(st.integers(0, 3)) == 0:
            spot, stake = open_.pop(data.draw(st.integers(0, len(open_) - 1)))
            kept.remove("P-1", rules.spot(spot), stake)
        else:
            spot, stake = data.draw(st.sampled_from(bets(game))), data.draw(st.integers(1, 10**6))
            kept.add("P-1", rules.spot(spot), stake)
            open_.append((spot, stake))
        staked = sum(stake for _, stake in open_)
        tried = [sum(expected(game, spot, shown, stake)["returned"] for spot, stake in open_) for shown in outcomes(game)]
        assert kept._at_most >= max(tried) - staked, "what decides whether the exact figure is asked for"
        if data.draw(st.integers(0, 1)):
            assert kept.worst == max(tried) - staked


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_quick_bound_of_craps_is_never_below_the_exact_exposure(data: st.DataObject) -> None:
    state = data.draw(st.sampled_from([COME_OUT, *map(State, POINTS)]))
    kept, exact = Book(FREE, CRAPS, state=state), Exposure(CRAPS, state=state)
    spots = [spot for spot in CRAPS.spots() if spot.text != "pass_odds" or state.point]
    for _ in range(data.draw(st.integers(1, 12))):
        spot, stake = data.draw(st.sampled_from(spots)), data.draw(st.integers(1, 10**6))
        kept.add("P-1", spot, stake)
        exact.add(spot, stake)
        assert kept._at_most >= exact.worst
    assert kept.worst == exact.worst


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_accepted_keeps_the_limit_and_what_is_refused_would_not(data: st.DataObject) -> None:
    limit = data.draw(st.integers(1, 10**6))
    limited = book(exposure=limit)
    exact = Exposure(ROULETTE)
    for _ in range(data.draw(st.integers(1, 15))):
        spot = ROULETTE.spot(data.draw(st.sampled_from(bets("roulette"))))
        stake = data.draw(st.integers(1, 10**5))
        before = exact.worst
        exact.add(spot, stake)
        try:
            limited.verify("P-1", spot, stake)
        except Refusal:
            assert exact.worst > max(limit, before)
            exact.remove(spot, stake)
        else:
            assert exact.worst <= max(limit, before)
            limited.add("P-1", spot, stake)


def test_a_differential_holds_by_each_reading_of_a_regulation() -> None:
    """The log's copy of a regulation is equal to the one on disk, and its spots are others."""
    for rules in (regulation("30/2003"), Regulation.from_content(regulation("30/2003").content)):
        book = Book(Limits("MOP", differential=500), rules)
        book.add("P-1", rules.spot("red"), 500)
        with pytest.raises(Refusal) as caught:
            book.verify("P-1", rules.spot("red"), 1)
        assert caught.value.code == "LGR-0608"
