"""`roundledger rules`: the same answers as the rules core, in three forms."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import seeds
from cli.main import run
from ledger.rules import (
    Analysis,
    Outcome,
    Regulation,
    Resolution,
    Spot,
    Wager,
    analyse_by_point,
    assumptions,
    regulation,
    settle,
)

FIELDS = ["bet", "stake", "result", "odds", "prize_exact", "prize", "commission", "breakage", "returned", "net", "article"]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["rules", *arguments]) == code
    return capsys.readouterr().out


def settled(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(printed(capsys, "settle", *arguments, "--json"))
    return found


def test_settle_prints_losers_first_with_the_named_fields(capsys: pytest.CaptureFixture[str]) -> None:
    lost, black, straight = settled(capsys, "30/2003", "17", "straight:17=100", "red=50.00", "black=10")
    assert list(lost) == FIELDS
    assert lost == {
        "bet": "red",
        "stake": "5000",
        "result": "lost",
        "odds": "0",
        "prize_exact": "0",
        "prize": "0",
        "commission": "0",
        "breakage": "0",
        "returned": "0",
        "net": "-5000",
        "article": lost["article"],
    }
    # 30/2003 art. 5(1): simple chances are paid before straights.
    assert (black["bet"], black["returned"]) == ("black", "2000")
    assert (straight["bet"], straight["odds"], straight["prize"], straight["returned"], straight["net"]) == (
        "straight:17",
        "35",
        "350000",
        "360000",
        "350000",
    )
    assert straight["article"].startswith("30/2003 art. 6(1), 7(1)")


def test_settle_58_2004_art_9_commission_and_breakage(capsys: pytest.CaptureFixture[str]) -> None:
    [won] = settled(capsys, "58/2004", "3", "sshong:123=100")
    # 100.00 × 1/3 = 33.33…; 5 % of it goes to the bank; 31.66 is paid.
    assert [won[field] for field in ("prize_exact", "prize", "commission", "breakage", "net")] == [
        "10000/3",
        "3333",
        "166",
        "1",
        "3166",
    ]
    [coarse] = settled(capsys, "58/2004", "3", "sshong:123=100", "--payable-unit", "1.00")
    assert (coarse["net"], coarse["breakage"]) == ("3100", "67")


def test_settle_craps_by_sums_and_void_throws(capsys: pytest.CaptureFixture[str]) -> None:
    line, odds = settled(capsys, "53/2010", "6,void,8,6", "pass=100", "pass_odds=100")
    assert (line["result"], line["net"]) == ("won", "10000")
    assert (odds["odds"], odds["net"]) == ("6/5", "12000")


@pytest.mark.parametrize("form", [[], ["--csv"]])
def test_settle_has_the_same_figures_in_every_form(form: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    bets = ("31/2003", "2-2-2", "total:6=10", "any_triple=10.50", "small=100", "three_army:2=1")
    rows = settled(capsys, *bets)
    out = printed(capsys, "settle", *bets, *form)
    for row in rows:
        [line] = [line for line in out.splitlines() if line.strip().startswith(row["bet"])]
        for field in ("stake", "prize", "returned", "net"):
            minor = int(row[field])
            shown = f"{'-' if minor < 0 else ''}{abs(minor) // 100}.{abs(minor) % 100:02}"
            assert shown in line


def test_settle_explains_with_terms_in_every_language(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "settle", "31/2003", "2-2-2", "any_triple=10", "--explain")
    assert "全圍" in out
    assert "not in sources" in out
    assert "31/2003 art. 6(5)" in out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("30/2003", "37", "red=1"), "LGR-0406"),
        (("30/2003", "17", "red"), "LGR-0710"),
        (("30/2003", "17", "red=0"), "LGR-0104"),
        (("30/2003", "17", "red=1e3"), "LGR-0104"),
        (("30/2003", "17", "red=1.001"), "LGR-0104"),
        (("30/2003", "17", "red=１"), "LGR-0104"),
        (("30/2003", "17", "rde=1"), "LGR-0404"),
        (("30/2003", "17", "straight:37=1"), "LGR-0412"),
        (("99/1999", "17", "red=1"), "LGR-0402"),
        (("30/2003", "17", "red=1", "--currency", "XXX"), "LGR-0105"),
    ],
)
def test_settle_refuses_what_makes_no_sense(arguments: tuple[str, ...], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "settle", *arguments]) == 2
    assert f"error[{code}]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("30/2003 17 straight:17=100 red=50.00", {"red": ("lost", "-5000"), "straight:17": ("won", "350000")}),
        ("31/2003 2-2-2 total:6=10 small=10", {"small": ("lost", "-1000"), "total:6": ("won", "14000")}),
        ("58/2004 23 nim:3/4=100 fan:1=20", {"fan:1": ("lost", "-2000"), "nim:3/4": ("won", "19000")}),
        ("58/2004 24 nim:3/4=100 fan:4=20", {"nim:3/4": ("push", "0"), "fan:4": ("won", "5700")}),
        ("53/2010 6,8,6 pass=100 pass_odds=100", {"pass": ("won", "10000"), "pass_odds": ("won", "12000")}),
        ("53/2010 3-3,5-3 pass=100 pass_odds=100", {"pass": ("stands", "0"), "pass_odds": ("stands", "0")}),
        ("53/2010 void pass=100", {"pass": ("stands", "0")}),
        ("53/2010 6,void,7 pass=100", {"pass": ("lost", "-10000")}),
        ("53/2010 3-3,5-3 hard:8=10 place:8=60 --unverified", {"hard:8": ("lost", "-1000"), "place:8": ("won", "7000")}),
        ("53/2010 12 field=10 --unverified --field-twelve 3", {"field": ("won", "3000")}),
        ("53/2010 5,4 buy:4=105 --unverified --commission-taken always", {"buy:4": ("won", "19500")}),
    ],
)
def test_settle_reads_the_outcomes_of_each_game(
    arguments: str, expected: dict[str, tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = settled(capsys, *arguments.split())
    assert {row["bet"]: (row["result"], row["net"]) for row in rows} == expected
    assert [row["bet"] for row in rows] == list(expected)
    for row in rows:
        assert list(row) == FIELDS
        assert all(isinstance(value, str) for value in row.values())
        assert Fraction(row["prize_exact"]) == Fraction(row["odds"]) * int(row["stake"])
        assert int(row["net"]) == (0 if row["result"] == "stands" else int(row["returned"]) - int(row["stake"]))


def test_settle_says_what_is_repealed_and_what_is_unverified(capsys: pytest.CaptureFixture[str]) -> None:
    assert "60/2004, which repealed it, is not held" in printed(capsys, "settle", "30/2003", "17", "red=1")
    line = printed(capsys, "settle", "53/2010", "7", "pass=1")
    assert "note" not in line
    assert "turned on here, unverified" in printed(capsys, "settle", "53/2010", "7", "any7=1", "--unverified")


# The exact figures of every bet: spots, edge, with ties ignored, P(win), P(tie).
FIGURES = {
    "roulette": [("straight split street corner six_line sector9 sector12 column dozen even odd low high red black", "1/37")],
    "cussec": [
        ("small big", "1/36"), ("three_army", "17/216"), ("triple", "65/216"), ("any_triple", "11/36"),
        ("total:4 total:17", "7/24"), ("total:5 total:16", "17/36"), ("total:6 total:15", "11/36"), ("total:7 total:14", "7/72"),
        ("total:8 total:13", "1/8"), ("total:9 total:12", "41/216"), ("total:10 total:11", "1/8"),
    ],
    "fantan": [("fan", "3/80"), ("nim", "1/40 1/30"), ("kuoc", "1/40"), ("nga", "1/80 1/60"), ("sshong", "1/80")],
    "craps": [("pass", "7/495"), ("pass_odds", "0")],
    "craps --unverified": [
        ("pass come", "7/495"), ("dont_pass dont_come", "3/220 27/1925"), ("pass_odds come_odds dont_odds", "0"),
        ("place:4 place:10", "1/15"), ("place:5 place:9", "1/25"), ("place:6 place:8", "1/66"),
        ("place_lose:4 place_lose:10", "1/33"), ("place_lose:5 place_lose:9", "1/40"), ("place_lose:6 place_lose:8", "1/55"),
        ("buy:4 buy:10", "1/60"), ("buy:5 buy:9", "1/50"), ("buy:6 buy:8", "1/44"),
        ("lay:4 lay:10", "1/60"), ("lay:5 lay:9", "1/50"), ("lay:6 lay:8", "1/44"),
        ("field", "1/18"), ("any7", "1/6"), ("any_craps", "1/9"), ("two twelve", "5/36"), ("three eleven", "1/9"),
        ("horn", "1/8"), ("world", "2/15 4/25"), ("c_and_e", "1/9"), ("big6 big8", "1/11"),
        ("hop:1-1 hop:2-2 hop:3-3 hop:4-4 hop:5-5 hop:6-6", "5/36"),
        (" ".join(f"hop:{one}-{two}" for one, two in combinations(range(1, 7), 2)), "1/9"),
        ("hard:4 hard:10", "1/9"), ("hard:6 hard:8", "1/11"),
    ],
    "craps --unverified --field-twelve 3 --commission-taken always": [
        ("field", "1/36"), ("buy", "1/21"), ("lay:4 lay:10", "1/41"), ("lay:5 lay:9", "1/31"), ("lay:6 lay:8", "1/25"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("game", FIGURES)
def test_edges_of_every_bet_are_the_exact_figures(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {spot: (edges.split() * 2)[:2] for spots, edges in FIGURES[game] for spot in spots.split()}
    met = set()
    for row in json.loads(printed(capsys, "edge", *game.split(), "--all", "--json"))["edges"]:
        name = row["bet"] if row["bet"] in expected else row["bet"].partition(":")[0]
        if name in expected:
            met.add(name)
            assert [row["edge"], row["edge_resolved"]] == expected[name]
        else:
            assert "--field-twelve" in game
    assert met == set(expected)
    # By chance, the same figures: each line speaks for the bets that it names, or for all of the chance.
    for row in json.loads(printed(capsys, "edge", *game.split(), "--json"))["edges"]:
        for name in row["bet"].split():
            wanted = expected.get(name) or expected.get(name.partition(":")[0]) or [row["edge"], row["edge_resolved"]]
            assert [row["edge"], row["edge_resolved"]] == wanted


def test_odds_on_the_line_have_a_line_for_each_point(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "edge", "craps", "--all", "--json"))["edges"]
    odds = {row["point"]: (row["win"], row["edge"], row["variance"]) for row in rows if row["bet"] == "pass_odds"}
    four, five, six = ("1/3", "0", "2"), ("2/5", "0", "3/2"), ("5/11", "0", "6/5")
    assert odds == {4: four, 5: five, 6: six, 8: six, 9: five, 10: four}
    assert all("point" not in row for row in json.loads(printed(capsys, "edge", "fantan", "--all", "--json"))["edges"])


def test_bets_without_rule_text_are_off_unless_turned_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "settle", "53/2010", "7", "any7=1"]) == 2
    said = capsys.readouterr().err
    assert "error[LGR-0403]" in said
    assert "no rule text" in said
    off = printed(capsys, "chances", "craps", "--json")
    assert "which are off" in off
    assert '"any7"' not in off
    on = json.loads(printed(capsys, "chances", "craps", "--unverified", "--json"))
    [any7] = [row for row in on["chances"] if row["chance"] == "any7"]
    assert (any7["article"], any7["assumed"], any7["pt"]) == (
        "no rule text in 53/2010 (unverified)",
        "all of it",
        "not in sources",
    )


def test_assumptions_are_a_register(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    everything = json.loads(printed(capsys, "assumptions", "--json"))["assumptions"]
    assert [(row["regulation"], row["where"], row["reason"]) for row in everything] == list(assumptions())
    roulette = json.loads(printed(capsys, "assumptions", "roulette", "--json"))["assumptions"]
    assert {row["regulation"] for row in roulette} == {"30/2003"}
    unverified = json.loads(printed(capsys, "assumptions", "craps", "--unverified", "--json"))["assumptions"]
    assert any(row["where"] == "chance hop" and "no source" in row["reason"] for row in unverified)
    demo = Path(seeds.__file__).parent / "demo" / "property.toml"
    opted = json.loads(printed(capsys, "assumptions", "--property", str(demo), "--json"))["assumptions"]
    assert [row["reason"] for row in opted if row["where"] == "opt-in"] == [
        f"{order}, repealed by {by}, applied by opt-in, for days after 2004-05-17; "
        f"demonstration on the only {game} text held (approved by demo-manager)"
        for order, by, game in (("30/2003", "60/2004", "roulette"), ("31/2003", "57/2004", "cussec"))
    ]


def test_edges_are_exact_and_every_bet_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "edge", "roulette", "--json"))["edges"]
    assert {row["edge"] for row in rows} == {"1/37"}
    bets = list(csv.DictReader(io.StringIO(printed(capsys, "edge", "roulette", "--all", "--csv"))))
    assert len(bets) == sum(row["bets"] for row in rows) == 157
    cussec = json.loads(printed(capsys, "edge", "31/2003", "--json"))["edges"]
    assert {row["edge"] for row in cussec if row["bet"] == "big"} == {"1/36"}


def test_check_settles_every_bet_on_every_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "check", "--json"))["checks"]
    assert {row["verdict"] for row in rows} == {"ok"}
    assert {row["game"] for row in rows} == {"roulette", "cussec", "fantan", "craps"}
    roulette = [row for row in rows if row["game"] == "roulette"]
    assert sum(row["settled"] for row in roulette) == 157 * 37


@pytest.mark.parametrize("spoilt", ["net_prize", "commission", "payoff"])
@pytest.mark.parametrize("game", ["roulette", "cussec", "fantan", "craps"])
def test_check_finds_a_settlement_that_is_off(
    game: str, spoilt: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def off(law: Regulation, outcome: Outcome, wagers: list[Wager], **options: Any) -> list[Resolution]:
        settled = settle(law, outcome, wagers, **options)
        if spoilt == "payoff":
            # A winner that is taken for the loser of another outcome.
            losing = next(payoff for payoff in wagers[0].spot.pays if payoff.lost)
            return [each._replace(payoff=losing, prize=0, commission=0, net_prize=0) if won(each) else each for each in settled]
        return [each._replace(**{spoilt: getattr(each, spoilt) + 1}) if won(each) else each for each in settled]

    def won(each: Resolution) -> bool:
        return each.result == "won"

    monkeypatch.setattr("ledger.rules.settle", off)
    rows = json.loads(printed(capsys, "check", game, "--json", code=1))["checks"]
    assert {row["verdict"] for row in rows} == {"DIFFERENT"}


def test_check_finds_an_analysis_that_is_off(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def off(spot: Spot) -> dict[int, Analysis]:
        return {
            point: worth._replace(win=worth.win + Fraction(1, 10**9), push=worth.push - Fraction(1, 10**9))
            for point, worth in analyse_by_point(spot).items()
        }

    monkeypatch.setattr("ledger.rules.analyse_by_point", off)
    rows = json.loads(printed(capsys, "check", "craps", "--json", code=1))["checks"]
    assert {row["verdict"] for row in rows} == {"DIFFERENT"}


def test_check_finds_a_chain_of_throws_that_never_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing decides a bet, its equations hold whatever it is worth; only a decision within reach makes them binding."""
    worth = Analysis(Fraction(1, 2), Fraction(0), Fraction(7, 495), Fraction(1))

    def stands(law: Regulation, outcome: Outcome, wagers: list[Wager], **options: Any) -> list[Resolution]:
        [wager] = wagers
        standing = next(payoff for payoff in wager.spot.pays if payoff.result == "stands")
        return [Resolution(wager, standing, 0, 0, 0)]

    monkeypatch.setattr("ledger.rules.settle", stands)
    monkeypatch.setattr("ledger.rules.analyse_by_point", lambda spot: dict.fromkeys(analyse_by_point(spot), worth))
    rows = json.loads(printed(capsys, "check", "craps", "--json", code=1))["checks"]
    assert rows[0]["chance"] == "pass"
    assert rows[0]["verdict"] == "DIFFERENT"


def test_check_settles_craps_on_every_throw_in_every_state(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["chance"]: row for row in json.loads(printed(capsys, "check", "craps", "--json"))["checks"]}
    # The come-out and six points for the pass bet, six points for the odds; 36 throws in each.
    assert (rows["pass"]["settled"], rows["pass_odds"]["settled"]) == (7 * 36, 6 * 36)
    rows = {row["chance"]: row for row in json.loads(printed(capsys, "check", "craps", "--unverified", "--json"))["checks"]}
    assert {row["verdict"] for row in rows.values()} == {"ok"}
    # A come bet is placed on any of six points and then lies on its number, at any point or none.
    assert rows["come"]["settled"] == (6 + 6 * 6) * 36
    assert sum(row["bets"] for row in rows.values()) == len(regulation("53/2010").with_unverified().spots())


def test_list_and_show_name_dates_articles_and_assumptions(capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(printed(capsys, "list", "--json"))["regulations"]
    assert (listed[0]["regulation"], listed[0]["effective_to"]) == ("30/2003", "2004-05-17")
    shown = json.loads(printed(capsys, "show", "30/2003", "--json"))
    assert shown["revoked_by"] == "60/2004"
    assert [row["article"] for row in shown["chances"] if row["chance"] == "dozen:2"] == ["30/2003 art. 6(10), 7(7)"]
    assert [row["disposition"] for row in shown["voids"]] == ["stand"]
    assert any("sector9" in note for note in shown["notes"])
    assert "小" in printed(capsys, "chances", "cussec")


def test_an_unknown_game_is_refused_with_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "chances", "roulete"]) == 2
    assert "roulette" in capsys.readouterr().err
