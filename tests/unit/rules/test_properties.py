"""What holds for every round: nothing is lost or made, and nothing depends on order, hashing or process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.errors import Refusal
from ledger.rules import Outcome, Regulation, Resolution, Spot, Wager, regulations, settle
from tests.unit.rules.helpers import CRAPS, ROULETTE, SINGLE_OUTCOME, UNVERIFIED

ROOT = Path(__file__).resolve().parents[3]
GAMES = pytest.mark.parametrize("law", [*SINGLE_OUTCOME, UNVERIFIED], ids=lambda law: law.game)


def rounds(law: Regulation, data: st.DataObject) -> tuple[Outcome, list[Wager]]:
    if law.game == "craps":
        faces = st.tuples(st.integers(1, 6), st.integers(1, 6)).map(lambda pair: f"{pair[0]}-{pair[1]}")
        throws = data.draw(st.lists(faces | st.just("void"), max_size=8))
        # The come-out is no decision, and one seven at the end is: so the throws are of one round.
        kept = [throw for throw in throws if throw == "void" or sum(map(int, throw.split("-"))) not in (7, 4)]
        outcome = law.outcome(",".join(["2-2", *kept, "3-4"]))
        pool = [spot for spot in law.spots() if spot.chance.code not in ("come_odds", "dont_odds")]
    else:
        outcome, pool = data.draw(st.sampled_from(law.outcomes())), list(law.spots())
    chosen = data.draw(st.lists(st.tuples(st.sampled_from(pool), st.integers(1, 10**9)), max_size=30))
    wagers = [Wager(key, spot, stake) for key, (spot, stake) in enumerate(chosen)]
    if law.game == "craps":
        wagers.append(Wager("line", law.spot("pass"), 1))
    return outcome, wagers


def money(each: Resolution) -> tuple[object, ...]:
    return each.wager.key, each.result, each.prize, each.commission, each.breakage, each.net_prize, each.returned


@GAMES
@given(data=st.data(), unit=st.sampled_from([1, 5, 100]))
@settings(max_examples=80, deadline=None)
def test_money_is_conserved(law: Regulation, data: st.DataObject, unit: int) -> None:
    outcome, wagers = rounds(law, data)
    settled = settle(law, outcome, wagers, payable_unit=unit)
    assert Counter(each.wager.key for each in settled) == Counter(wager.key for wager in wagers)
    house = 0
    for each in settled:
        stake = each.wager.stake
        assert each.prize - each.commission - each.breakage == each.net_prize
        assert min(each.prize, each.commission, each.breakage, each.net_prize, each.returned) >= 0
        assert each.net_prize % unit == 0
        exact = each.payoff.net * stake
        assert 0 <= exact - each.net_prize < unit
        assert 0 <= each.prize_exact - each.prize < 1
        assert each.net == {"won": each.net_prize, "lost": -stake, "push": 0, "stands": 0}[each.result]
        assert (each.commission == 0) or (each.result == "won" and law.game in ("fantan", "craps"))
        house += -each.prize + each.commission + each.breakage if each.result == "won" else stake if each.result == "lost" else 0
    stakes = sum(wager.stake for wager in wagers)
    standing = sum(each.wager.stake for each in settled if each.result == "stands")
    assert stakes == sum(each.returned for each in settled) + house + standing


@GAMES
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_settlement_does_not_depend_on_the_order_of_bets(law: Regulation, data: st.DataObject) -> None:
    outcome, wagers = rounds(law, data)
    shuffled = data.draw(st.permutations(wagers))
    assert sorted(map(money, settle(law, outcome, wagers)), key=repr) == sorted(
        map(money, settle(law, outcome, shuffled)), key=repr
    )


@GAMES
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_losers_first_then_by_rank_then_as_placed(law: Regulation, data: st.DataObject) -> None:
    outcome, wagers = rounds(law, data)
    settled = settle(law, outcome, wagers)
    kinds = {"lost": 0, "won": 1, "push": 1, "stands": 2}
    assert [kinds[each.result] for each in settled] == sorted(kinds[each.result] for each in settled)
    if law.game != "craps":
        keys = [
            (kinds[each.result], 0 if each.result == "lost" else each.payoff.rank, int(str(each.wager.key))) for each in settled
        ]
        assert keys == sorted(keys)


@given(text=st.text(max_size=120) | st.text(alphabet="straighplco:0123456789-/, _", max_size=40))
@settings(max_examples=400)
def test_any_text_is_read_or_refused(text: str) -> None:
    for law in (*regulations(), UNVERIFIED):
        for read in (law.spot, law.outcome):
            assert said(read, text)


def said(read: Callable[[str], Spot | Outcome], text: str) -> str:
    try:
        return read(text).text
    except Refusal as refused:
        return refused.render()


@given(data=st.data())
def test_reading_what_was_printed_gives_the_same(data: st.DataObject) -> None:
    law = data.draw(st.sampled_from([*regulations(), UNVERIFIED]))
    spot = data.draw(st.sampled_from(law.spots()))
    numbers = data.draw(st.permutations(spot.numbers))
    assert law.spot(spot.text) is spot
    if law is ROULETTE and spot.selection:
        assert law.spot(f"{spot.chance.code}:{'-'.join(map(str, numbers))}") is spot
    outcome = data.draw(st.sampled_from(law.outcomes()))
    assert law.outcome(outcome.text)[2:] == outcome[2:]


PRINT_A_DAY = """
from ledger.rules import *
for law in (*regulations(), regulation("53/2010").with_unverified()):
    print(law.order, law.sha256)
    bets = [Wager(key, spot, 1000 + key) for key, spot in enumerate(law.spots()) if "_odds:" not in spot.text]
    throws = [law.outcome("2-3,3-3,1-2,3-4")] if law.game == "craps" else law.outcomes()
    for outcome in throws:
        for each in settle(law, outcome, bets):
            print(*each[2:], each.wager.key, each.result, each.odds, each.cite, each.wager.spot.edge)
"""


def test_results_are_the_same_in_every_process_and_under_every_hash_seed() -> None:
    printed = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "TZ": "America/New_York"}
        done = subprocess.run([sys.executable, "-c", PRINT_A_DAY], env=environment, capture_output=True, check=True, text=True)
        printed.add(done.stdout)
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) > 7000


def test_a_settled_round_has_no_state() -> None:
    wagers = [Wager(1, CRAPS.spot("pass"), 100)]
    first = settle(CRAPS, CRAPS.outcome("6,6"), wagers)
    assert settle(CRAPS, CRAPS.outcome("6,6"), wagers) == first
