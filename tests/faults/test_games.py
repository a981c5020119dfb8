"""Faults of other programs' rules, through the whole system: terminal, door, log, projections, explanation.

That every chance is settled by its article is the business of `tests/unit/rules`, and that two independent readings agree on
every bet and outcome that of `tests/oracle`. Here it is shown that nothing on the way from a terminal to a report changes it.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import psycopg
import pytest

from ledger.application import Rounds
from ledger.events import BetPlaced
from projections import queries
from projections.replay import replay
from projections.runner import catch_up
from tests.faults.conftest import Command
from tests.faults.reading import as_json
from tests.integration.api.conftest import Floor
from tests.oracle import bets, edge, expected, outcomes
from tests.support import Terminal, accepted

TABLES = {"roulette": "R01", "cussec": "C01", "fantan": "F01"}
UNITS = {"roulette": 1, "cussec": 1, "fantan": 10}
"""The tables' smallest amounts paid out, minor units."""


@pytest.mark.parametrize("game", TABLES)
def test_every_bet_on_every_outcome_comes_out_as_the_oracle_says(game: str, rounds: Rounds, dsn: str) -> None:
    """B01, B02, B04, B05, B06, B07 of their whole kind: each legal bet on each outcome, to the balances and the table report.

    Each bet is by a player of its own, so that no two faults can cancel each other.
    """
    table, unit = Terminal(TABLES[game], game), UNITS[game]
    notations, stake = bets(game), 10_007
    balance: Counter[str] = Counter()
    won: Counter[str] = Counter()
    played = []
    for shown in outcomes(game):
        placed = [table.bet(notation, str(stake), player=f"P-{n}") for n, notation in enumerate(notations)]
        opening = table.open()
        placed = [table.report(bet.body, event_id=bet.event_id) for bet in placed]
        accepted(rounds.post([opening, *placed, table.close(), table.outcome(shown)]))
        played.append((shown, table.round))
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        for shown, round_id in played:
            view = queries.round_view(conn, round_id)
            assert view is not None
            assert [bet.spot for bet in view.bets] == list(notations)
            for bet in view.bets:
                wanted = expected(game, bet.spot, shown, stake, unit)
                found: dict[str, Any] = {name: getattr(bet, name) for name in wanted}
                assert found == {name: str(value) for name, value in wanted.items()}, f"{game} {bet.spot} on {shown}"
                balance[bet.player] += wanted["returned"] - stake
                for name in ("commission", "breakage", "net_prize"):
                    won[name] += int(wanted[name])
                won["handle"] += stake * (wanted["result"] != "push")
        assert {row.account: int(row.balance) for row in queries.balances(conn, "player/")} == {
            f"player/{player}": total for player, total in balance.items()
        }
        (line,) = queries.table_report(conn).lines
        assert line.win == str(-balance.total())
        assert (line.rounds, line.bets) == (len(played), len(played) * len(notations))
        assert (line.handle, line.prizes) == (str(won["handle"]), str(won["net_prize"]))
        assert (line.commission, line.breakage) == (str(won["commission"]), str(won["breakage"]))
        theoretical = sum(edge(game, notation) for notation in notations) * stake * len(played)
        assert Fraction(line.theoretical_win_exact) == theoretical
        if not won["breakage"]:
            assert Fraction(line.win) == theoretical, "over every outcome once, a house wins exactly its edge"
    assert replay(dsn).equal


def settled(floor: Floor, shown: str, *spots: str) -> dict[str, Any]:
    """A round with a bet of 100.00 on each spot; spot → the bet as the door shows it."""
    floor.accepted(floor.open(), *(floor.bet(spot) for spot in spots), floor.close(), floor.outcome(shown))
    return {bet["spot"]: bet for bet in floor.view()["bets"]}


def test_b01_zero_takes_even_odd_low_colours_and_every_group(floor: Floor, command: Command) -> None:
    """B01: 30/2003 art. 8."""
    groups = [f"{kind}:{n}" for kind in ("dozen", "column") for n in (1, 2, 3)] + ["sector12:A", "sector12:B", "sector9:1-9"]
    found = settled(floor, "0", *("even", "odd", "low", "high", "red", "black"), *groups, "straight:0")
    assert {spot: bet["result"] for spot, bet in found.items()} == {**dict.fromkeys(found, "lost"), "straight:0": "won"}
    assert all(bet["article"].endswith(", 8") for spot, bet in found.items() if spot != "straight:0")
    explained = as_json(command("explain", found["even"]["bet"], "--json"))[0]["explanation"]
    assert {name: explained["names"][name]["text"] for name in ("pt", "zh")} == {"pt": "par", "zh": "雙"}
    assert "art. 8" in command("explain", found["even"]["bet"])


def test_b02_the_border_numbers_are_bets_like_any_other(floor: Floor) -> None:
    """B02: 0 and 36 are on the layout; 37, -1 and 00 are not, and the refusal names the range."""
    floor.accepted(floor.open(), floor.bet("straight:0"), floor.bet("straight:36"))
    for beyond in ("37", "-1", "00", "036"):
        problem = floor.post(floor.bet(f"straight:{beyond}")).json()
        assert problem["code"] in ("LGR-0405", "LGR-0412")
        assert "straight:0" in problem["help"] + problem["detail"]
        assert "straight:36" in problem["help"] + problem["detail"]
    floor.accepted(floor.close(), floor.outcome("36"))
    assert [bet["result"] for bet in floor.view()["bets"]] == ["lost", "won"]
    assert settled(floor, "0", "straight:0", "straight:36")["straight:0"]["net_prize"] == "350000"


IMPOSSIBLE = {
    "split:3-4": ["split:2-3", "split:3-6"],
    "split:1-5": ["split:1-2", "split:1-4"],
    "split:36-37": ["split:35-36", "split:33-36"],
    "split:5-5": ["split:4-5"],
    "split:1-9": ["split:1-2"],
    "street:2-3-4": ["street:1-2-3"],
    "street:1-9": ["street:1-2-3", "street:7-8-9"],
    "corner:3-4-6-7": ["corner:2-3-5-6", "corner:4-5-7-8"],
    "corner:33-34-36-37": ["corner:32-33-35-36"],
    "six_line:2-3-4-5-6-7": ["six_line:1-6"],
    "six_line:2-7": ["six_line:1-6", "six_line:4-9"],
}


@pytest.mark.parametrize(("spot", "neighbours"), IMPOSSIBLE.items())
def test_b03_an_impossible_selection_is_refused_with_its_legal_neighbours(spot: str, neighbours: list[str], floor: Floor) -> None:
    """B03: never accepted and lost, never read as another selection."""
    floor.accepted(floor.open())
    before = floor.count()
    problem = floor.post(floor.bet(spot)).json()
    assert problem["code"] in ("LGR-0405", "LGR-0412")
    assert problem["errors"] == [{"field": "data.spot", "value": spot}]
    for neighbour in neighbours:
        assert neighbour in problem["help"]
    assert "30/2003 art. 6" in problem["cite"]
    assert floor.count() == before
    assert floor.view()["bets"] == []


def test_b03_numbers_in_another_order_are_the_same_bet(floor: Floor) -> None:
    """B03: {6,3} is {3,6}."""
    found = settled(floor, "6", "split:6-3", "corner:9-5-8-6")
    assert {spot: (bet["numbers"], bet["result"]) for spot, bet in found.items()} == {
        "split:3-6": ([3, 6], "won"),
        "corner:5-6-8-9": ([5, 6, 8, 9], "won"),
    }


def test_b04_columns_and_dozens_share_out_1_to_36(floor: Floor) -> None:
    """B04: on each number one column and one dozen win, on 0 none; each covers twelve."""
    spots = [f"{kind}:{n}" for kind in ("column", "dozen") for n in (1, 2, 3)]
    wins: Counter[str] = Counter()
    for number in range(37):
        winners = [spot for spot, bet in settled(floor, str(number), *spots).items() if bet["result"] == "won"]
        assert [spot.split(":")[0] for spot in winners] == (["column", "dozen"] if number else [])
        wins.update(winners)
    assert wins == dict.fromkeys(spots, 12)


@pytest.mark.parametrize("number", range(10))
def test_b05_single_digit_numbers_win_like_any_other(number: int, floor: Floor, command: Command) -> None:
    """B05: one way to write an outcome; the others are refused, not compared as text and lost."""
    straight = f"straight:{number}"
    floor.accepted(floor.open(), floor.bet(straight), floor.close())
    for other in (number, float(number), f"0{number}", f"{number}.0", f" {number}", f"{number} ", f"+{number}", None, [number]):
        event = floor.outcome("x")
        event["data"]["outcome"] = other
        assert floor.refused(event) in ("LGR-0108", "LGR-0406")
    floor.accepted(floor.outcome(str(number)))
    (bet,) = floor.view()["bets"]
    assert (bet["result"], bet["net_prize"]) == ("won", "350000")
    (explained,) = as_json(command("explain", bet["bet"], "--json"))
    assert explained["explanation"]["outcome"]["raw"] == explained["explanation"]["outcome"]["text"] == str(number)


def test_b05_an_explanation_shows_the_outcome_as_written_and_as_read(rounds: Rounds, command: Command) -> None:
    """B05: eleven buttons leave three (58/2004 art. 3(2)); both are told, from the log."""
    table = Terminal("F01", "fantan")
    accepted(rounds.post(table.whole_round([("fan:3", "10000")], "11")))
    (explained,) = as_json(command("explain", str(table.round), "--json"))
    assert explained["explanation"]["outcome"]["raw"] == "11"
    assert explained["explanation"]["outcome"]["text"] == "3"
    assert "(written '11')" in command("explain", str(table.round))


@pytest.mark.parametrize("triple", ["1-1-1", "2-2-2", "3-3-3", "4-4-4", "5-5-5", "6-6-6"])
def test_b06_a_triple_takes_small_and_big_and_nothing_else(triple: str, floor: Floor) -> None:
    """B06: 31/2003 art. 7; 1-1-1 totals 3 and 6-6-6 18, on which no total can be bet."""
    face = int(triple[0])
    cussec = floor.at("C01", "cussec", "MOP")
    total = [f"total:{3 * face}"] if 4 <= 3 * face <= 17 else []
    found = settled(cussec, triple, "small", "big", "any_triple", f"triple:{face}", f"three_army:{face}", *total)
    assert {spot: (bet["result"], bet["odds"]) for spot, bet in found.items() if bet["result"] == "won"} == {
        "any_triple": ("won", "24"),
        f"triple:{face}": ("won", "150"),
        f"three_army:{face}": ("won", "3"),
        **{spot: ("won", {6: "14", 9: "6", 12: "6", 15: "14"}[3 * face]) for spot in total},
    }
    assert [found[spot]["result"] for spot in ("small", "big")] == ["lost", "lost"]
    assert all(found[spot]["article"].endswith(", 7") for spot in ("small", "big"))
    cussec.accepted(cussec.open())
    for beyond in ("total:3", "total:18"):
        assert cussec.refused(cussec.bet(beyond)) == "LGR-0412"


def test_b07_the_stake_is_not_in_the_prize(floor: Floor, command: Command, dsn: str) -> None:
    """B07: a straight of 100.00 wins 3,500.00 and keeps its stake; stake, prize and what is returned are fields of their own."""
    found = settled(floor, "17", "straight:17")["straight:17"]
    assert (found["stake"], found["odds"], found["prize"]) == ("10000", "35", "350000")
    assert (found["net_prize"], found["returned"]) == ("350000", "360000")
    last = floor.view()["last_position"]
    balances = {row["account"]: row["balance"] for row in floor.get("/v1/balances", last)["balances"]}
    assert balances == {"player/P-1": "350000", "win/R01": "-350000", "escrow/R01": "0"}
    (line,) = floor.get("/v1/reports/tables", last)["lines"]
    assert (line["handle"], line["prizes"], line["win"]) == ("10000", "350000", "-350000")
    assert {row["account"]: row["balance"] for row in as_json(command("balances", "--json"))["balances"]} == balances
    (told,) = as_json(command("report", "tables", "--json"))["tables"]
    assert (told["handle"], told["prizes"], told["win"]) == ("10000", "350000", "-350000")
    (explained,) = as_json(command("explain", found["bet"], "--json"))
    assert [explained["explanation"][name] for name in ("stake", "prize", "net_prize", "returned", "net")] == [
        *("10000", "350000", "350000", "360000", "350000")
    ]
    with psycopg.connect(dsn) as conn:
        (stored,) = conn.execute("SELECT body->>'stake' FROM ledger.log WHERE topic = %s", (BetPlaced.TOPIC,)).fetchone() or ("",)
        assert stored == "10000"
