"""Faults of other programs' money, through the whole system: what is read, stored, summed and shown, in every form of output."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from ledger.application import Rounds
from ledger.events import BettingClosed
from ledger.money import format_plain
from projections.replay import replay
from projections.runner import catch_up
from tests.faults.conftest import Command
from tests.faults.reading import as_csv, as_json, numbers
from tests.integration.api.conftest import Floor
from tests.support import Terminal, accepted

ROOT = Path(__file__).parents[2]
AMOUNTS = {"2557.68": 255768, "0.29": 29, "1.15": 115, "4.35": 435}
"""Plain decimals whose hundredfold in binary floating point is not a whole number, with the right one."""


# B10, B15, B16, B17: what is read.


@pytest.mark.parametrize(("plain", "minor"), AMOUNTS.items())
def test_b10_cents_are_exact_in_every_form(plain: str, minor: int, floor: Floor, command: Command) -> None:
    """B10: read from a command line, posted, summed and printed; as a JSON number it is refused."""
    (settled,) = as_json(command("rules", "settle", "30/2003", "17", f"straight:17={plain}", "--json"))
    assert (settled["stake"], settled["prize"]) == (str(minor), str(35 * minor))
    (row,) = as_csv(command("rules", "settle", "30/2003", "17", f"straight:17={plain}", "--csv"))
    assert row["stake"] == plain
    floor.accepted(floor.open())
    assert floor.refused(json.dumps(floor.bet(stake="@")).replace('"@"', plain)) == "LGR-0104"
    assert floor.refused(floor.bet(stake=plain)) == "LGR-0104"
    floor.accepted(floor.bet("straight:17", str(minor)), floor.close(), floor.outcome("16"))
    assert as_csv(command("balances", "player/", "--csv"))[0]["balance"] == f"-{plain}"
    assert as_json(command("balances", "player/", "--json"))["balances"][0]["balance"] == str(-minor)


NO_STAKES = {
    "B10": ["2557.68", "0.29", "100.0", '"2557.68"'],
    "B15": ['"1E3"', '"1e3"', "1E3", "1e3", '"1000."', '"1000.00"', '"0.1E-6"'],
    "B16": ["NaN", "Infinity", "-Infinity", "1e999", "true", "null", '"NaN"', '"１００"', '"1_000"', '"1 000"', "[]", "{}", '""'],
    "B17": ["-100", "0", "-0", "0.001", '"-100"', '"0"', '"-0"', '"00"', '"0.001"', '"+100"'],
}


@pytest.mark.parametrize(("fault", "stake"), [(fault, stake) for fault, stakes in NO_STAKES.items() for stake in stakes])
def test_no_such_stake_is_booked(fault: str, stake: str, floor: Floor) -> None:
    """B10, B15, B16, B17: refused with the field named and the value as it was sent, alone and within a batch."""
    floor.accepted(floor.open())
    before = floor.count()
    raw = json.dumps(floor.bet(stake="@")).replace('"@"', stake)
    problem = floor.post(raw).json()
    assert problem["code"] == "LGR-0104"
    assert problem["errors"][0]["field"] == "data.stake"
    for batch in (f"[{raw}]", f"[{raw},{raw}]"):
        assert {item["status"] for item in floor.post(batch).json()["items"]} == {"rejected"}
    assert floor.count() == before


def test_b16_a_key_that_stands_twice_is_refused(floor: Floor) -> None:
    """B16: readers disagree about which of two stakes counts."""
    floor.accepted(floor.open())
    raw = json.dumps(floor.bet(stake="@")).replace('"@"', '"100", "stake": "10000"')
    assert floor.refused(raw) == "LGR-0106"


@pytest.mark.parametrize("amount", ["-100", "0", "0.001", "1E3", "NaN", "１００", "1_000", "", " 100", "+100", "1e999", "-0"])
def test_no_such_amount_is_read_from_a_command_line(amount: str, command: Command) -> None:
    """B10, B15, B16, B17."""
    assert command("rules", "settle", "30/2003", "17", f"straight:17={amount}", code=2) == ""


@pytest.mark.parametrize("amount", ["0", "-1"])
def test_b17_the_database_refuses_it_as_well(amount: str, rounds: Rounds, dsn: str) -> None:
    """B17: whatever a projection should come to think."""
    accepted(rounds.post(Terminal().whole_round([("red", "100")], "1")))
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        with pytest.raises(psycopg.errors.CheckViolation):
            conn.execute("UPDATE projection.movements SET amount = %s", (amount,))


NEAR_MONEY = [
    "ledger/money.py",
    "ledger/round",
    "ledger/events",
    "ledger/limits.py",
    "ledger/property",
    "ledger/rules",
    "ledger/store/codec.py",
]
NEAR_MONEY += [f"projections/{name}.py" for name in ("fold", "tally", "tables", "views", "queries")]


def test_b10_no_float_is_made_near_money() -> None:
    """B10 of its whole kind: where amounts are decided, stored, folded and read, no float is written, and none is made."""
    paths = [path for name in NEAR_MONEY for path in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.py"))]
    assert len(paths) > 20
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            literal = isinstance(node, ast.Constant) and isinstance(node.value, float | complex)
            made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("float", "Decimal")
            assert not literal, f"{path}:{getattr(node, 'lineno', 0)}"
            assert not made, f"{path}:{getattr(node, 'lineno', 0)}"


# B13, B14, B15: what is stored, summed and shown.

READS = (
    *(("balances",), ("report", "tables"), ("rounds", "list"), ("rounds", "show", "ROUND"), ("explain", "ROUND"), ("replay",)),
    *(("property", "show"), ("rules", "list"), ("rules", "show", "30/2003"), ("rules", "edge", "30/2003")),
    ("rules", "settle", "30/2003", "17", "straight:17=10000000000000", "red=0.01"),
)
"""The commands that print JSON."""


def documents(floor: Floor, command: Command, at_least: str) -> Iterator[tuple[str, str]]:
    """Everything that prints JSON: what was asked, and the text."""
    for path in ("/v1/balances", "/v1/reports/tables", f"/v1/rounds/{floor.round}", "/healthz"):
        parameters = {"at_least": at_least} if path in ("/v1/balances", "/v1/reports/tables") else {}
        yield path, floor.client.get(path, params=parameters).text
    for words in READS:
        asked = [str(floor.round) if word == "ROUND" else word for word in words]
        yield " ".join(asked), command(*asked, "--json")


def test_b13_amounts_above_32_53_and_64_bits_are_exact_everywhere(floor: Floor, command: Command, dsn: str) -> None:
    """B13: a straight of 1,000,000.00 wins 3.5 × 10^9; then sums above 2^53, and above 2^63, in every projection and form."""
    floor.accepted(floor.open(), floor.bet("straight:17", "100000000", player="P-0"), floor.close(), floor.outcome("17"))
    assert floor.view()["bets"][0]["prize"] == "3500000000"
    bets = [floor.bet("straight:17", str(10**15), player=f"P-{n % 3}") for n in range(300)]
    opening = floor.open()
    floor.accepted(opening, *({**bet, "subject": opening["subject"]} for bet in bets), floor.close(), floor.outcome("17"))
    last = floor.view()["last_position"]
    prizes = 3_500_000_000 + 300 * 35 * 10**15
    won = {"player/P-0": 3_500_000_000 + 100 * 35 * 10**15, "player/P-1": 100 * 35 * 10**15, "player/P-2": 100 * 35 * 10**15}
    balances = won | {"escrow/R01": 0, "win/R01": -prizes}
    assert prizes > 2**63
    for rows in (floor.get("/v1/balances", last)["balances"], as_json(command("balances", "--json"))["balances"]):
        assert {row["account"]: row["balance"] for row in rows} == {account: str(minor) for account, minor in balances.items()}
    by_csv = {row["account"]: row["balance"] for row in as_csv(command("balances", "--csv"))}
    assert by_csv == {account: format_plain(minor, "MOP") for account, minor in balances.items()}
    handle = 100_000_000 + 300 * 10**15
    figures = {"handle": handle, "prizes": prizes, "win": -prizes, "theoretical_win": round(Fraction(handle, 37))}
    (line,) = floor.get("/v1/reports/tables", last)["lines"]
    (printed,) = as_json(command("report", "tables", "--json"))["tables"]
    (comma,) = as_csv(command("report", "tables", "--csv"))
    drawn = command("report", "tables")
    for name, minor in figures.items():
        assert line[name] == printed[name] == str(minor)
        assert comma[name] == format_plain(minor, "MOP")
        assert format_plain(minor, "MOP") in drawn
    assert Fraction(printed["theoretical_win_exact"]) == Fraction(handle, 37)
    listed, shown = as_csv(command("rounds", "list", "--csv"))[0], as_json(command("rounds", "show", str(floor.round), "--json"))
    assert (listed["stakes"], listed["prizes"]) == (format_plain(300 * 10**15, "MOP"), format_plain(10_500 * 10**15, "MOP"))
    assert floor.view()["prizes"] == shown["prizes"] == str(10_500 * 10**15)
    with psycopg.connect(dsn) as conn:
        total = "SELECT sum(prizes)::text FROM projection."
        assert conn.execute(total + "rounds").fetchone() == conn.execute(total + "table_reports").fetchone() == (str(prizes),)
    assert replay(dsn).equal


def test_b14_amounts_and_positions_are_strings_in_every_document(floor: Floor, command: Command, dsn: str) -> None:
    """B14: a balance and positions just above 2^53, through everything that prints JSON; as strings they are taken back."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT setval('ledger.positions', %s)", (2**53,))
    stakes = [10**15] * 9 + [2**53 + 1 - 9 * 10**15]
    opening = floor.open()
    bets = [floor.bet("straight:17", str(stake)) for stake in stakes]
    posted = floor.post([opening, *bets, floor.close(), floor.outcome("16")])
    assert not list(numbers(as_json(posted.text)))
    positions = [int(position) for item in posted.json()["items"] for position in item["positions"]]
    # The regulation is logged first.
    assert positions == list(range(2**53 + 2, 2**53 + 2 + len(stakes) + 4))
    for asked, text in documents(floor, command, str(positions[-1])):
        document = json.loads(text)
        assert not list(numbers(document)), asked
        if asked.split(" ")[0] in ("/v1/balances", "balances"):
            of = {row["account"]: row["balance"] for row in document["balances"]}
            assert (of["win/R01"], of["player/P-1"]) == ("9007199254740993", "-9007199254740993")
        if asked in ("/v1/reports/tables", "report tables", f"rounds show {floor.round}", f"/v1/rounds/{floor.round}"):
            assert str(positions[-1]) in text
    assert floor.get("/v1/balances", str(positions[-1]))["position"] == str(positions[-1])
    older = as_json(command("rounds", "list", "--before", str(positions[0] + 1), "--json"))["rounds"]
    assert [row["position"] for row in older] == [str(positions[0])]
    assert as_json(command("rounds", "list", "--before", str(positions[0]), "--json"))["rounds"] == []


@pytest.mark.parametrize(("stake", "plain"), [(100, "1.00"), (1000, "10.00"), (10**15, "10000000000000.00"), (1, "0.01")])
def test_b15_round_amounts_keep_their_zeros_and_have_no_exponent(stake: int, plain: str, floor: Floor, command: Command) -> None:
    """B15: in every form; 10^15 is not 1, and 0.01 not 1E-2."""
    floor.accepted(floor.open(), floor.bet("red", str(stake)), floor.close(), floor.outcome("2"))
    last = floor.view()["last_position"]
    assert {row["balance"] for row in floor.get("/v1/balances", last)["balances"]} == {"0", str(stake), str(-stake)}
    assert {row["balance"] for row in as_json(command("balances", "--json"))["balances"]} == {"0", str(stake), str(-stake)}
    assert {row["balance"] for row in as_csv(command("balances", "--csv"))} == {"0.00", plain, f"-{plain}"}
    assert re.search(rf"\s{re.escape(plain)}\s", command("balances"))
    (row,) = as_csv(command("report", "tables", "--csv"))
    assert (row["handle"], row["win"], row["prizes"], row["win_percent"]) == (plain, plain, "0.00", "100.00")


# B18: two currencies.


def test_b18_a_bet_is_in_its_table_s_currency_and_so_is_all_that_follows(floor: Floor, dsn: str) -> None:
    """B18: a Hong Kong dollar is no pataca, whatever its number; every event with an amount names the round's currency."""
    hong_kong = floor.at("R02", "roulette", "HKD")
    for table, foreign in ((floor, "HKD"), (hong_kong, "MOP")):
        table.accepted(table.open(), table.bet())
        assert table.refused(table.bet(currency=foreign)) == "LGR-0208"
        assert table.refused(table.bet(currency="XXX")) == "LGR-0105"
        table.accepted(table.close(), table.outcome("17"))
    with psycopg.connect(dsn) as conn:
        rows = conn.execute(
            "SELECT o.body->>'currency', array_agg(DISTINCT e.body->>'currency'), count(e.body->>'currency'), count(*) "
            "FROM ledger.log AS o JOIN ledger.log AS e USING (stream) WHERE o.version = 1 AND o.body ? 'table' "
            "AND e.topic <> ALL (%s) GROUP BY 1 ORDER BY 1",
            ([BettingClosed.TOPIC],),
        ).fetchall()
    assert rows == [("HKD", ["HKD"], 5, 5), ("MOP", ["MOP"], 5, 5)]


def test_b18_no_figure_anywhere_adds_two_currencies(floor: Floor, command: Command, dsn: str) -> None:
    """B18: 11.11 of one and 22.22 of the other, by one player; 33.33 stands nowhere, and totals are per currency."""
    hong_kong = floor.at("R02", "roulette", "HKD")
    for table, stake in ((floor, "1111"), (hong_kong, "2222")):
        table.accepted(table.open(), table.bet("red", stake), table.close(), table.outcome("2"))
    last = hong_kong.view()["last_position"]
    for asked, text in documents(floor, command, last):
        assert '"3333"' not in text, asked
        assert '"-3333"' not in text, asked
    for words in (("balances",), ("report", "tables"), ("rounds", "list")):
        assert "33.33" not in command(*words)
        rows = as_csv(command(*words, "--csv"))
        assert {row["currency"] for row in rows} == {"MOP", "HKD"}
        assert not any("33.33" in cell for row in rows for cell in row.values())
    for totals in (floor.get("/v1/reports/tables", last)["totals"], as_json(command("report", "tables", "--json"))["totals"]):
        assert {total["currency"]: total["win"] for total in totals} == {"HKD": "2222", "MOP": "1111"}
    player = [row for row in floor.get("/v1/balances", last)["balances"] if row["account"] == "player/P-1"]
    assert [(row["currency"], row["balance"]) for row in player] == [("HKD", "-2222"), ("MOP", "-1111")]
    with psycopg.connect(dsn) as conn:
        sums = conn.execute("SELECT currency, sum(balance) FROM projection.balances GROUP BY currency ORDER BY 1").fetchall()
    assert sums == [("HKD", 0), ("MOP", 0)]


COUNTS = (
    r"position|stopped_by|as_of|block|launches|seat|rounds|bets|resolved|throws|holds|corrections|approvals|number|count|line"
)
"""What is counted in whole numbers and is no money, by a part of the column's name; any other bigint is an amount."""


def test_b18_every_table_with_amounts_has_a_currency_beside_them(dsn: str) -> None:
    """B18: and it is part of the key wherever rows are summed. Of a bet and its result it is that of the round in their key."""
    with psycopg.connect(dsn) as conn:
        found = conn.execute(
            "SELECT table_name, bool_or(column_name = 'currency') FROM information_schema.columns "
            "WHERE table_schema = 'projection' "
            "GROUP BY table_name HAVING bool_or(data_type = 'numeric' OR (data_type = 'bigint' AND column_name !~ %s))",
            (COUNTS,),
        ).fetchall()
        keys = conn.execute(
            "SELECT table_name, column_name FROM information_schema.key_column_usage "
            "WHERE table_schema = 'projection' AND column_name IN ('currency', 'round') AND constraint_name LIKE '%pkey'"
        ).fetchall()
        of_round = conn.execute(
            "SELECT is_nullable FROM information_schema.columns "
            "WHERE table_schema = 'projection' AND table_name = 'rounds' AND column_name = 'currency'"
        ).fetchall()
    beside = {"rounds", "movements", "balances", "table_reports", "table_edges", "voids", "corrections", "late_bets"}
    beside |= {"balance_changes", "drops", "slips"}
    beside |= {"chip_kinds", "counts", "shift_counts", "slip_postings", "table_days"}  # views
    # The chips of a slip are in the slip's currency, and what they are worth is part of their key.
    assert dict(found) == dict.fromkeys(beside, True) | dict.fromkeys(("bets", "chips", "results"), False)
    summed = {"balances", "balance_changes", "table_reports", "table_edges"}
    assert {name for name, column in keys if column == "currency"} == summed
    assert {"rounds", "bets", "results"} <= {name for name, column in keys if column == "round"}
    assert of_round == [("NO",)]
