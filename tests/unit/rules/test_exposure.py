"""Exposure is the exact worst case, against settling every outcome and against searching every continuation."""

from __future__ import annotations

from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.rules import COME_OUT, Exposure, Regulation, Spot, State, Wager, settle
from tests.unit.rules.helpers import CRAPS, CUSSEC, FANTAN, ROULETTE, SINGLE_OUTCOME, UNVERIFIED, refusal

PHASES = (0, 4, 5, 6, 8, 9, 10)


def worst_by_settling(law: Regulation, bets: list[tuple[Spot, int]], unit: int) -> int:
    placed = [Wager(key, spot, stake) for key, (spot, stake) in enumerate(bets)]
    return max(sum(each.net for each in settle(law, outcome, placed, payable_unit=unit)) for outcome in law.outcomes())


@pytest.mark.parametrize("law", SINGLE_OUTCOME, ids=lambda law: law.game)
@given(data=st.data(), unit=st.sampled_from([1, 10, 100]))
@settings(max_examples=60, deadline=None)
def test_exposure_is_the_worst_of_all_outcomes(law: Regulation, data: st.DataObject, unit: int) -> None:
    bets = data.draw(st.lists(st.tuples(st.sampled_from(law.spots()), st.integers(1, 10**6)), max_size=20))
    exposure = Exposure(law, payable_unit=unit)
    assert exposure.worst == 0
    for spot, stake in bets:
        exposure.add(spot, stake)
    assert exposure.worst == (worst_by_settling(law, bets, unit) if bets else 0)
    for position, (spot, stake) in enumerate(bets):
        exposure.remove(spot, stake)
        left = bets[position + 1 :]
        assert exposure.worst == (worst_by_settling(law, left, unit) if left else 0)


def test_exposure_in_round_figures() -> None:
    exposure = Exposure(ROULETTE)
    exposure.add(ROULETTE.spot("straight:17"), 100)
    assert exposure.worst == 3500
    exposure.add(ROULETTE.spot("black"), 1000)
    assert exposure.worst == 4500
    exposure.add(ROULETTE.spot("red"), 10000)
    assert exposure.worst == 10000 - 100 - 1000
    assert Exposure(CUSSEC).worst == 0
    tie = Exposure(FANTAN)
    tie.add(FANTAN.spot("nim:1/2"), 100)
    assert tie.worst == 190
    sure = Exposure(ROULETTE)
    for number in range(37):
        sure.add(ROULETTE.spot(f"straight:{number}"), 100)
    assert sure.worst == -100


def test_craps_exposure_of_the_line_and_its_odds() -> None:
    come_out = Exposure(CRAPS)
    come_out.add(CRAPS.spot("pass"), 100)
    assert come_out.worst == 100
    on_four = Exposure(CRAPS, state=State(4))
    on_four.add(CRAPS.spot("pass"), 100)
    on_four.add(CRAPS.spot("pass_odds"), 333)
    assert on_four.worst == 766
    on_six = Exposure(CRAPS, state=State(6))
    on_six.add(CRAPS.spot("pass_odds"), 333)
    assert on_six.worst == 399
    on_six.remove(CRAPS.spot("pass_odds"), 333)
    assert on_six.worst == 0


Node: TypeAlias = tuple[int, tuple[tuple[str, int], ...]]
"""The point, and the open bets by spot and key."""


def worst_by_search(bets: list[tuple[Spot, int]], state: State) -> int:
    """The worst of all continuations, by relaxing every state of the round until none gets worse."""
    law = UNVERIFIED
    start = (state.point, tuple((spot.text, key) for key, (spot, _) in enumerate(bets)))
    graph: dict[Node, set[tuple[int, Node]]] = {}
    found = [start]
    while found:
        node = found.pop()
        if node in graph:
            continue
        point, open_bets = node
        graph[node] = set()
        for outcome in law.outcomes():
            placed = [Wager(key, law.spot_in_play(text), bets[key][1]) for text, key in open_bets]
            settled = settle(law, outcome, placed, state=State(point))
            left = tuple(
                sorted(
                    (each.payoff.moves_to or each.wager.spot.text, int(str(each.wager.key)))
                    for each in settled
                    if each.result == "stands"
                )
            )
            after = (State(point).after(outcome.throws[0]).point, left)
            graph[node].add((sum(each.net for each in settled), after))
            if left:
                found.append(after)
    worst: dict[Node, float] = dict.fromkeys(graph, float("-inf"))
    changed = True
    while changed:
        changed = False
        for node, edges in graph.items():
            best = max(value + (worst[after] if after[1] else 0) for value, after in edges)
            if best > worst[node]:
                worst[node], changed = best, True
    return int(worst[start])


@given(data=st.data(), point=st.sampled_from(PHASES))
@settings(max_examples=60, deadline=None)
def test_craps_exposure_is_the_worst_of_all_continuations(data: st.DataObject, point: int) -> None:
    law = UNVERIFIED
    travelled = [law.spot_in_play(f"{code}:{number}") for code in ("come", "dont_come") for number in PHASES[1:]]
    after_point = ("pass_odds", "come", "dont_come")
    pool = [spot for spot in (*law.spots(), *travelled, *travelled) if point or spot.text not in after_point]
    bets = data.draw(st.lists(st.tuples(st.sampled_from(pool), st.integers(1, 60)), min_size=1, max_size=5))
    exposure = Exposure(law, state=State(point))
    for spot, stake in bets:
        exposure.add(spot, stake)
    worst = exposure.worst
    assert worst == worst_by_search(bets, State(point))
    exposure.add(pool[0], 7)
    exposure.remove(pool[0], 7)
    assert exposure.worst == worst


def test_odds_without_a_point_are_no_bet_to_count() -> None:
    exposure = Exposure(CRAPS)
    refusal(lambda: exposure.add(CRAPS.spot("pass_odds"), 100), "LGR-0408")
    assert exposure.worst == 0


def test_each_payout_is_floored_to_the_payable_unit() -> None:
    single = Exposure(FANTAN, payable_unit=100)
    single.add(FANTAN.spot("fan:1"), 9999)
    single.add(FANTAN.spot("nim:1/2"), 333)
    assert (single.worst, type(single.worst)) == (28400 + 600, int)
    line = Exposure(CRAPS, payable_unit=50, state=State(6))
    line.add(CRAPS.spot("pass_odds"), 333)
    assert (line.worst, type(line.worst)) == (350, int)
    line.remove(CRAPS.spot("pass_odds"), 333)
    assert (line.worst, type(line.worst)) == (0, int)


def test_odds_after_the_decision_lack_a_point() -> None:
    decided = Exposure(CRAPS, state=State(decided=True))
    assert "once there is a point" in refusal(lambda: decided.add(CRAPS.spot("pass_odds"), 100), "LGR-0408").detail


def test_after_the_decision_the_table_comes_out_anew() -> None:
    decided = Exposure(UNVERIFIED, state=State(decided=True))
    come_out = Exposure(UNVERIFIED, state=COME_OUT)
    for exposure in (decided, come_out):
        exposure.add(UNVERIFIED.spot("place:6"), 60)
    assert decided.worst == come_out.worst == 70


def test_what_is_no_bet_of_the_regulation_is_not_counted() -> None:
    exposure = Exposure(ROULETTE)
    with pytest.raises(ValueError, match="is not a spot of"):
        exposure.add(CUSSEC.spot("big"), 100)
    for stake in (0, -1, True, 1.0, "1"):
        with pytest.raises(ValueError, match="a stake is a whole number"):
            exposure.add(ROULETTE.spot("red"), stake)  # type: ignore[arg-type]
    assert exposure.worst == 0
