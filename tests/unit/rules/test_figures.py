"""The exact figures of every bet, and of the readings that were rejected."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from ledger.rules import Analysis, Regulation, Wager, analyse, analyse_by_point, settle
from tests.unit.rules.helpers import CRAPS, CUSSEC, FANTAN, ROULETTE, UNVERIFIED

NEVER = Fraction(0)

ALWAYS = CRAPS.with_unverified(field_twelve="3", commission_taken="always")

EASY_HOPS = " ".join(f"hop:{a}-{b}" for a, b in combinations(range(1, 7), 2))
HARD_HOPS = " ".join(f"hop:{a}-{a}" for a in range(1, 7))

# spots; how many of them; P(win); P(tie); edge; variance to six places
ROWS: list[tuple[Regulation, str, int, str, str, str, str]] = [
    (ROULETTE, "straight", 37, "1/37", "0", "1/37", "34.080351"),
    (ROULETTE, "split", 57, "2/37", "0", "1/37", "16.566837"),
    (ROULETTE, "street", 12, "3/37", "0", "1/37", "10.728999"),
    (ROULETTE, "corner", 22, "4/37", "0", "1/37", "7.810080"),
    (ROULETTE, "six_line", 11, "6/37", "0", "1/37", "4.891161"),
    (ROULETTE, "sector9", 4, "9/37", "0", "1/37", "2.945215"),
    (ROULETTE, "sector12", 2, "12/37", "0", "1/37", "1.972243"),
    (ROULETTE, "column", 3, "12/37", "0", "1/37", "1.972243"),
    (ROULETTE, "dozen", 3, "12/37", "0", "1/37", "1.972243"),
    (ROULETTE, "even odd low high red black", 6, "18/37", "0", "1/37", "0.999270"),
    (CUSSEC, "small big", 2, "35/72", "0", "1/36", "0.999228"),
    (CUSSEC, "three_army", 6, "91/216", "0", "17/216", "1.239176"),
    (CUSSEC, "triple", 6, "1/216", "0", "65/216", "105.071481"),
    (CUSSEC, "any_triple", 1, "1/36", "0", "11/36", "16.878858"),
    (CUSSEC, "total:4 total:17", 2, "1/72", "0", "7/24", "35.623264"),
    (CUSSEC, "total:5 total:16", 2, "1/36", "0", "17/36", "9.749228"),
    (CUSSEC, "total:6 total:15", 2, "5/108", "0", "11/36", "9.934414"),
    (CUSSEC, "total:7 total:14", 2, "5/72", "0", "7/72", "10.921103"),
    (CUSSEC, "total:8 total:13", 2, "7/72", "0", "1/8", "7.109375"),
    (CUSSEC, "total:9 total:12", 2, "25/216", "0", "41/216", "5.014896"),
    (CUSSEC, "total:10 total:11", 2, "1/8", "0", "1/8", "5.359375"),
    (FANTAN, "fan", 4, "1/4", "0", "3/80", "2.779219"),
    (FANTAN, "nim", 12, "1/4", "1/4", "1/40", "1.401875"),
    (FANTAN, "kuoc", 6, "1/2", "0", "1/40", "0.950625"),
    (FANTAN, "nga", 12, "1/2", "1/4", "1/80", "0.362656"),
    (FANTAN, "sshong", 4, "3/4", "0", "1/80", "0.325052"),
    (CRAPS, "pass", 1, "244/495", "0", "7/495", "0.999800"),
    (CRAPS, "pass_odds", 1, "67/165", "0", "0", "1.500000"),
    (UNVERIFIED, "come", 1, "244/495", "0", "7/495", "0.999800"),
    (UNVERIFIED, "dont_pass dont_come", 2, "949/1980", "1/36", "3/220", "0.972036"),
    (UNVERIFIED, "come_odds:4 come_odds:10", 2, "1/3", "0", "0", "2.000000"),
    (UNVERIFIED, "dont_odds:4 dont_odds:10", 2, "2/3", "0", "0", "0.500000"),
    (UNVERIFIED, "come_odds:5 come_odds:9", 2, "2/5", "0", "0", "1.500000"),
    (UNVERIFIED, "dont_odds:5 dont_odds:9", 2, "3/5", "0", "0", "0.666667"),
    (UNVERIFIED, "come_odds:6 come_odds:8", 2, "5/11", "0", "0", "1.200000"),
    (UNVERIFIED, "dont_odds:6 dont_odds:8", 2, "6/11", "0", "0", "0.833333"),
    (UNVERIFIED, "place:4 place:10", 2, "1/3", "0", "1/15", "1.742222"),
    (UNVERIFIED, "place:5 place:9", 2, "2/5", "0", "1/25", "1.382400"),
    (UNVERIFIED, "place:6 place:8", 2, "5/11", "0", "1/66", "1.163912"),
    (UNVERIFIED, "place_lose:4 place_lose:10", 2, "2/3", "0", "1/33", "0.470156"),
    (UNVERIFIED, "place_lose:5 place_lose:9", 2, "3/5", "0", "1/40", "0.633750"),
    (UNVERIFIED, "place_lose:6 place_lose:8", 2, "6/11", "0", "1/55", "0.803306"),
    (ALWAYS, "buy:4 buy:10", 2, "1/3", "0", "1/21", "1.814059"),
    (UNVERIFIED, "buy:4 buy:10", 2, "1/3", "0", "1/60", "1.933889"),
    (ALWAYS, "lay:4 lay:10", 2, "2/3", "0", "1/41", "0.475907"),
    (UNVERIFIED, "lay:4 lay:10", 2, "2/3", "0", "1/60", "0.483472"),
    (ALWAYS, "buy:5 buy:9", 2, "2/5", "0", "1/21", "1.360544"),
    (UNVERIFIED, "buy:5 buy:9", 2, "2/5", "0", "1/50", "1.440600"),
    (ALWAYS, "lay:5 lay:9", 2, "3/5", "0", "1/31", "0.624350"),
    (UNVERIFIED, "lay:5 lay:9", 2, "3/5", "0", "1/50", "0.640267"),
    (ALWAYS, "buy:6 buy:8", 2, "5/11", "0", "1/21", "1.088435"),
    (UNVERIFIED, "buy:6 buy:8", 2, "5/11", "0", "1/44", "1.146074"),
    (ALWAYS, "lay:6 lay:8", 2, "6/11", "0", "1/25", "0.768000"),
    (UNVERIFIED, "lay:6 lay:8", 2, "6/11", "0", "1/44", "0.795885"),
    (UNVERIFIED, "field", 1, "4/9", "0", "1/18", "1.163580"),
    (ALWAYS, "field", 1, "4/9", "0", "1/36", "1.304784"),
    (UNVERIFIED, "any7", 1, "1/6", "0", "1/6", "3.472222"),
    (UNVERIFIED, "any_craps", 1, "1/9", "0", "1/9", "6.320988"),
    (UNVERIFIED, "two twelve", 2, "1/36", "0", "5/36", "25.952932"),
    (UNVERIFIED, "three eleven", 2, "1/18", "0", "1/9", "13.432099"),
    (UNVERIFIED, "horn", 1, "1/6", "0", "1/8", "4.348958"),
    (UNVERIFIED, "world", 1, "1/6", "1/6", "2/15", "2.688889"),
    (UNVERIFIED, "c_and_e", 1, "1/6", "0", "1/9", "4.543210"),
    (UNVERIFIED, EASY_HOPS, 15, "1/18", "0", "1/9", "13.432099"),
    (UNVERIFIED, HARD_HOPS, 6, "1/36", "0", "5/36", "25.952932"),
    (UNVERIFIED, "hard:4 hard:10", 2, "1/9", "0", "1/9", "6.320988"),
    (UNVERIFIED, "hard:6 hard:8", 2, "1/11", "0", "1/11", "8.264463"),
    (UNVERIFIED, "big6 big8", 2, "5/11", "0", "1/11", "0.991736"),
]  # fmt: skip


def spots_of(law: Regulation, words: str) -> list[str]:
    """The spots that a row names: by notation, or all of a chance by its code."""
    named = words.split()
    return [spot.text for spot in law.spots() if spot.text in named or spot.chance.code in named]


@pytest.mark.parametrize(("law", "words", "count", "win", "push", "edge", "variance"), ROWS)
def test_exact_figures_by_enumeration(
    law: Regulation, words: str, count: int, win: str, push: str, edge: str, variance: str
) -> None:
    spots = spots_of(law, words)
    assert len(spots) == count
    for text in spots:
        figures = analyse(law.spot(text))
        assert (figures.win, figures.push, figures.edge) == (Fraction(win), Fraction(push), Fraction(edge))
        assert law.spot(text).edge == Fraction(edge)
        assert f"{float(figures.variance):.6f}" == variance


def test_every_spot_stands_in_a_row() -> None:
    for law in (ROULETTE, CUSSEC, FANTAN, CRAPS, UNVERIFIED):
        stated = {text for row_law, words, *_ in ROWS for text in spots_of(row_law, words)}
        assert {spot.text for spot in law.spots()} <= stated


@pytest.mark.parametrize(
    ("point", "win", "odds"), [(4, "1/3", "2"), (5, "2/5", "3/2"), (6, "5/11", "6/5"), (8, "5/11", "6/5"), (9, "2/5", "3/2"),
    (10, "1/3", "2")])  # fmt: skip
def test_figures_from_a_point_on(point: int, win: str, odds: str) -> None:
    """Odds are true: their variance is what they pay. The line from a point on wins as often, at even money."""
    chance, pays = Fraction(win), Fraction(odds)
    assert analyse_by_point(CRAPS.spot("pass_odds"))[point] == Analysis(chance, NEVER, NEVER, pays)
    line = analyse_by_point(CRAPS.spot("pass"))[point]
    assert line == Analysis(chance, NEVER, 1 - 2 * chance, 1 - (1 - 2 * chance) ** 2)
    against = analyse_by_point(UNVERIFIED.spot("dont_pass"))[point]
    assert (against.win, against.push, against.edge) == (1 - chance, NEVER, 2 * chance - 1)
    travelled = analyse_by_point(UNVERIFIED.spot_in_play(f"come:{point}"))
    assert set(travelled.values()) == {line}
    assert list(travelled) == [0, 4, 5, 6, 8, 9, 10]


def test_figures_before_a_point_are_those_of_the_bet() -> None:
    for text in ("pass", "dont_pass", "place:6", "hard:8", "field", "lay:4"):
        assert analyse_by_point(UNVERIFIED.spot(text))[0] == analyse(UNVERIFIED.spot(text))
    assert analyse_by_point(UNVERIFIED.spot("come"))[4] == analyse(UNVERIFIED.spot("come"))


def test_any_run_of_three_rows_is_worth_the_same_as_nine_numbers() -> None:
    runs = [range(first, first + 9) for first in range(1, 29, 3)]
    spots = [spot for spot in ROULETTE.with_nine_number_sets(runs).spots() if spot.chance.code == "sector9"]
    assert len(spots) == 10
    for spot in spots:
        figures = analyse(spot)
        assert (figures.win, figures.push, figures.edge) == (Fraction(9, 37), NEVER, Fraction(1, 37))
        assert f"{float(figures.variance):.6f}" == "2.945215"


def test_edges_with_ties_ignored() -> None:
    assert analyse(FANTAN.spot("nim:1/2")).edge_resolved == Fraction(1, 30)
    assert analyse(FANTAN.spot("nga:12/3")).edge_resolved == Fraction(1, 60)
    assert analyse(UNVERIFIED.spot("dont_pass")).edge_resolved == Fraction(27, 1925)
    assert analyse(UNVERIFIED.spot("world")).edge_resolved == Fraction(4, 25)
    assert analyse(ROULETTE.spot("red")).edge_resolved == Fraction(1, 37)


def test_rejected_readings_are_not_ours() -> None:
    assert all(spot.edge == Fraction(1, 37) for spot in ROULETTE.spots())  # 19/37 would be a 0-1 split that loses on 0
    assert all(ROULETTE.spot(code).edge != Fraction(1, 74) for code in ("even", "odd", "low", "high", "red", "black"))
    assert not any(0 in spot.numbers for spot in ROULETTE.spots() if spot.text != "straight:0")
    assert CUSSEC.spot("total:6").edge != Fraction(3, 8) != CUSSEC.spot("total:15").edge
    assert CUSSEC.spot("total:9").edge != Fraction(2, 9) != CUSSEC.spot("total:12").edge
    assert CUSSEC.spot("small").edge != Fraction(1, 108) != CUSSEC.spot("big").edge
    assert analyse(CUSSEC.spot("small")).win != Fraction(107, 216)


@pytest.mark.parametrize(("multiple", "edge"), [({}, "7/495"), (dict.fromkeys((4, 5, 6, 8, 9, 10), 1), "7/825"),
    (dict.fromkeys((4, 5, 6, 8, 9, 10), 2), "1/165"), (dict.fromkeys((4, 5, 6, 8, 9, 10), 3), "7/1485"),
    ({4: 3, 5: 4, 6: 5, 8: 5, 9: 4, 10: 3}, "7/1870")])  # fmt: skip
def test_pass_with_odds_per_average_total_bet(multiple: dict[int, int], edge: str) -> None:
    """The odds bring no edge of their own: they only make the total bet larger."""
    ways = {point: 6 - abs(point - 7) for point in (4, 5, 6, 8, 9, 10)}
    average = 1 + sum(Fraction(ways[point], 36) * times for point, times in multiple.items())
    assert CRAPS.spot("pass").edge / average == Fraction(edge)


@pytest.mark.parametrize(
    ("chance", "count", "win", "push", "edge", "resolved", "variance"),
    [
        ("fan", 4, "1/4", "0", "3/80", "3/80", "2.779219"),
        ("nim", 12, "1/4", "1/4", "1/40", "1/30", "1.401875"),
        ("kuoc", 6, "1/2", "0", "1/40", "1/40", "0.950625"),
        ("nga", 12, "1/2", "1/4", "3/200", "1/50", "0.360225"),
        ("sshong", 4, "3/4", "0", "7/400", "7/400", "0.321769"),
    ],
)
def test_figures_at_a_stake_of_100_with_the_net_prize_floored(
    chance: str, count: int, win: str, push: str, edge: str, resolved: str, variance: str
) -> None:
    spots = [spot for spot in FANTAN.spots() if spot.chance.code == chance]
    assert len(spots) == count
    for spot in spots:
        settled = [settle(FANTAN, each, [Wager(1, spot, 100)])[0] for each in FANTAN.outcomes()]
        results = [each.result for each in settled]
        gains = [Fraction(each.net, 100) for each in settled]
        mean = sum(gains) / 4
        assert Fraction(results.count("won"), 4) == Fraction(win)
        assert Fraction(results.count("push"), 4) == Fraction(push)
        assert -mean == Fraction(edge)
        assert -mean / (1 - Fraction(push)) == Fraction(resolved)
        assert f"{float(sum(gain**2 for gain in gains) / 4 - mean**2):.6f}" == variance
