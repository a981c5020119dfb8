"""The rules core against the oracle: every bet on every outcome, in amounts, order, edges and articles."""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from hashlib import sha256

import pytest

from ledger.errors import Refusal
from ledger.rules import COME_OUT, Regulation, Resolution, Spot, Wager, regulation, regulations, settle, state_after
from tests.oracle import (
    GAMES,
    ORDERS,
    articles,
    bets,
    craps_line,
    craps_sequences,
    craps_throws,
    edge,
    expected,
    fantan_number,
    outcomes,
    roulette_bets,
    settle_order,
    verdict,
)

STAKES = (1, 7, 60, 100, 120, 10**15)
UNITS = (1, 10, 50, 100)
SINGLE = ("roulette", "cussec", "fantan")
"""The games of one outcome."""


@cache
def core(game: str) -> Regulation:
    return regulation(ORDERS[game])


@cache
def spot(game: str, notation: str) -> Spot:
    return core(game).spot(notation)


def placed_bets(game: str, notations: Iterable[str], seed: int) -> list[tuple[str, int]]:
    """Each bet at each stake, in an order that is no list's."""
    placed = [(notation, stake) for notation in notations for stake in STAKES]
    random.Random(seed).shuffle(placed)
    return placed


def disagreements(game: str, rules: Regulation, outcome: str, placed: Sequence[tuple[str, int]], unit: int) -> list[str]:
    """What the core makes of the bets on one outcome, wherever it is not what the oracle makes of them."""
    wagers = [Wager(place, spot(game, notation), stake) for place, (notation, stake) in enumerate(placed)]
    resolved = settle(rules, rules.outcome(outcome), wagers, payable_unit=unit)
    order = settle_order(game, outcome, [notation for notation, _ in placed])
    bet_of: dict[Hashable, tuple[str, int]] = dict(enumerate(placed))
    found = []
    if [resolution.wager.key for resolution in resolved] != order:
        found.append(f"{game} {outcome}: settled in another order")
    for resolution in resolved:
        notation, stake = bet_of[resolution.wager.key]
        differences = differing(game, notation, outcome, unit, resolution)
        found += [f"{game} {outcome} {notation}={stake} by {unit}: {text}" for text in differences]
    return found


def differing(game: str, notation: str, outcome: str, unit: int, got: Resolution) -> list[str]:
    stake = got.wager.stake
    result, odds = verdict(game, notation, outcome)
    want = expected(game, notation, outcome, stake, unit)
    amounts = {
        "prize": got.prize,
        "commission": got.commission,
        "breakage": got.breakage,
        "net_prize": got.net_prize,
        "returned": got.returned,
    }
    have = {"result": got.result, **amounts}
    found = [f"{name} is {have[name]!r}, not {value!r}" for name, value in want.items() if have[name] != value]
    found += [f"{name} is a {type(value).__name__}" for name, value in amounts.items() if type(value) is not int]
    if result == "won" and (got.odds, got.prize_exact) != (odds, stake * odds):
        found.append(f"odds {got.odds} and exact prize {got.prize_exact}, not {odds} and {stake * odds}")
    if result != "won" and got.prize_exact != 0:
        found.append(f"exact prize {got.prize_exact} of a bet that won nothing")
    return found


def fail_with(found: Sequence[str]) -> None:
    """Fail with the first few of the differences."""
    assert not found, "\n".join([f"{len(found)} differences", *found[:8]])


def test_all_four_orders_are_registered() -> None:
    games = {known.order: known.game for known in regulations()}
    assert {game: order for order, game in games.items() if order in ORDERS.values()} == ORDERS


# amounts and order


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("game", SINGLE)
def test_every_bet_on_every_outcome(game: str, unit: int) -> None:
    """B01, B02, B04, B05, B06, B07: the rules core and an oracle that shares nothing with it, in every amount."""
    placed = placed_bets(game, bets(game), seed=unit)
    found = []
    for outcome in outcomes(game):
        found += disagreements(game, core(game), outcome, placed, unit)
    fail_with(found)


@pytest.mark.parametrize("game", SINGLE)
def test_every_bet_on_every_outcome_by_the_logged_content(game: str) -> None:
    """A replay has the regulation's content only from the log, and must settle as the data file did."""
    logged = Regulation.from_content(core(game).content)
    assert logged.content == core(game).content
    assert logged.sha256 == core(game).sha256 == sha256(logged.content.encode()).hexdigest()
    placed = [(notation, 100) for notation in bets(game)]
    found = []
    for outcome in outcomes(game):
        found += disagreements(game, logged, outcome, placed, unit=1)
    fail_with(found)


@pytest.mark.parametrize("game", SINGLE)
def test_settling_nothing_is_nothing(game: str) -> None:
    for outcome in outcomes(game):
        assert list(settle(core(game), core(game).outcome(outcome), [])) == []


def test_58_2004_art_3_2_every_count_of_buttons() -> None:
    wagers = [Wager(notation, spot("fantan", notation), 100) for notation in bets("fantan")]
    for buttons in range(1, 201):
        number = fantan_number(buttons)
        counted = core("fantan").outcome(str(buttons))
        assert counted.text == number
        resolved = settle(core("fantan"), counted, wagers)
        fail_with([text for got in resolved for text in differing("fantan", got.wager.spot.text, number, 1, got)])


@pytest.mark.parametrize("game", SINGLE)
def test_outcomes_are_canonical_as_written(game: str) -> None:
    for outcome in outcomes(game):
        assert core(game).outcome(outcome).text == outcome
        assert core(game).outcome(outcome).raw == outcome


# craps


def craps_placed(throws: Sequence[int | None]) -> list[tuple[str, int]]:
    """Line bets, made before the first throw, and after them added bets, where the throws have set a point."""
    added = [] if craps_line(throws).point is None else placed_bets("craps", ["pass_odds"], seed=len(throws))
    return placed_bets("craps", ["pass"], seed=len(throws)) + added


def craps_text(throws: Sequence[int | None]) -> str:
    return ",".join("void" if total is None else str(total) for total in throws)


@pytest.mark.parametrize("unit", UNITS)
def test_53_2010_art_5_2_every_line_of_up_to_three_throws(unit: int) -> None:
    found = []
    for throws in craps_sequences(3):
        found += disagreements("craps", core("craps"), craps_text(throws), craps_placed(throws), unit)
    fail_with(found)


def test_53_2010_art_3_2_void_throws_anywhere_in_a_line() -> None:
    found = []
    for throws in craps_sequences(2):
        for place in range(len(throws)):
            with_void = [*throws[:place], None, *throws[place:]]
            found += disagreements("craps", core("craps"), craps_text(with_void), craps_placed(with_void), 1)
    fail_with(found)


def test_53_2010_a_line_settled_throw_by_throw_is_the_line_settled_at_once() -> None:
    rules, dice = core("craps"), random.Random(2010)
    for _ in range(200):
        throws: list[int | None] = []
        state, open_bets = COME_OUT, [Wager(place, spot("craps", "pass"), stake) for place, stake in enumerate(STAKES)]
        while open_bets:
            throws.append(None if dice.random() < 0.1 else dice.randint(1, 6) + dice.randint(1, 6))
            thrown = rules.outcome(craps_text(throws[-1:]))
            resolved = settle(rules, thrown, open_bets, state=state)
            text = craps_text(throws)
            fail_with([f"{text}: {found}" for got in resolved for found in differing("craps", got.wager.spot.text, text, 1, got)])
            had_point, state = state.point, state_after(state, thrown)
            open_bets = [got.wager for got in resolved if got.result == "stands"]
            assert (craps_line(throws).point or 0) == (state.point or had_point)
            if state.point and not had_point:
                open_bets += [Wager(("added", stake), spot("craps", "pass_odds"), stake) for stake in STAKES]


def test_53_2010_art_5_2_2_no_added_bet_without_a_point_and_no_throw_after_the_decision() -> None:
    for throws, notation in (("7", "pass_odds"), ("2,void", "pass"), ("6,6,6", "pass"), ("4,7,4", "pass_odds")):
        with pytest.raises(ValueError, match=r"point|decided"):
            verdict("craps", notation, throws)
        with pytest.raises(Refusal):
            settle(core("craps"), core("craps").outcome(throws), [Wager(0, spot("craps", notation), 100)])


def test_53_2010_long_lines() -> None:
    dice = random.Random(53)
    found = []
    for _ in range(300):
        throws: list[int | None] = []
        while craps_line(throws).result == "stands":
            throws.append(None if dice.random() < 0.1 else dice.randint(1, 6) + dice.randint(1, 6))
        found += disagreements("craps", core("craps"), craps_text(throws), craps_placed(throws), 1)
    fail_with(found)


def test_53_2010_faces_settle_as_their_totals() -> None:
    found = []
    for throws in ("3-3,5-3,2-4", "1-1", "6-6", "4-3", "5-6", "2-2,1-3", "6-4,5-2"):
        found += disagreements("craps", core("craps"), throws, craps_placed(craps_throws(throws)), 1)
    fail_with(found)


# what a spot says of itself


@pytest.mark.parametrize("game", GAMES)
def test_spots_are_canonical_and_name_their_chance(game: str) -> None:
    for notation in bets(game):
        assert spot(game, notation).text == notation
        assert spot(game, notation).chance.code == notation.split(":")[0]


def test_30_2003_spots_cover_the_pockets_that_win() -> None:
    for notation, (pockets, _) in roulette_bets().items():
        assert sorted(spot("roulette", notation).numbers) == sorted(int(pocket) for pocket in pockets), notation


@pytest.mark.parametrize("game", SINGLE)
def test_edges_are_those_of_enumeration(game: str) -> None:
    for notation in bets(game):
        assert spot(game, notation).edge == edge(game, notation), notation


def test_53_2010_edges_are_those_of_the_chain_of_throws() -> None:
    assert spot("craps", "pass").edge == Fraction(7, 495)
    assert spot("craps", "pass_odds").edge == 0


def uncited(cite: str, order: str, items: Iterable[str]) -> list[str]:
    """What of order and items is missing; 6(1) is not found in 6(1)(2), nor 7 in 17 or 7(1)."""
    missing = [item for item in items if not re.search(rf"(?<![\d(]){re.escape(item)}(?![\d(])", cite)]
    return missing if order in cite else [order, *missing]


@pytest.mark.parametrize("game", GAMES)
def test_spots_cite_order_article_and_item(game: str) -> None:
    missing = {notation: uncited(spot(game, notation).cite, ORDERS[game], articles(game, notation)) for notation in bets(game)}
    assert not {notation: items for notation, items in missing.items() if items}


def decided_by(game: str, notation: str, outcome: str) -> list[str]:
    """Article and item that make the result: the chance's, and that of the prize, the tie, the commission, zero or the triple."""
    result, _ = verdict(game, notation, outcome)
    chance, prize = articles(game, notation)
    if game == "fantan":
        return [chance, *{"won": [prize, "9"], "push": ["8"], "lost": []}[result]]
    if result == "won":
        return [chance, prize]
    if game == "roulette" and outcome == "0":
        return [chance, "8"]
    if notation in ("small", "big") and len(set(outcome)) == 2:
        return [chance, "7"]
    return [chance]


@pytest.mark.parametrize("game", SINGLE)
def test_resolutions_cite_what_decided_them(game: str) -> None:
    wagers = [Wager(notation, spot(game, notation), 100) for notation in bets(game)]
    for outcome in outcomes(game):
        for got in settle(core(game), core(game).outcome(outcome), wagers):
            missing = uncited(got.cite, ORDERS[game], decided_by(game, got.wager.spot.text, outcome))
            assert not missing, (outcome, got.wager.key, got.cite, missing)
