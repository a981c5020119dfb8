"""Commands on a real ledger, as processes: what they print in each form, and how they exit."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec
import psycopg
import pytest
from psycopg import sql

from cli.report import LEGEND
from ledger.events import PayoutMade
from ledger.money import format_plain
from ledger.property import Table, to_toml
from ledger.reports import WithdrawBet
from ledger.store import log
from projections.journal.forms import FORMS as JOURNALS
from projections.reports.writers import FORMS
from projections.runner import catch_up
from tests.e2e.process import ROOT, environment, printed, roundledger, to_nobody
from tests.support import DEMO, Terminal, accepted, house

_ID = re.compile("[0-9a-f]{8}")
BETS = [("straight:17", "10000"), ("red", "5000"), ("split:17-20", "2500")]


@pytest.fixture
def played(dsn: str) -> tuple[str, Terminal]:
    """A database with one settled round, which nobody has projected yet."""
    table = Terminal()
    rounds = house(dsn)
    accepted(rounds.post(table.whole_round(BETS, "17")))
    rounds.close()
    return dsn, table


def forge(dsn: str, table: Terminal, figures: dict[str, str]) -> None:
    """Writes other figures into the log of a round, as only the database's owner could."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER ALL")
        for was, now in figures.items():
            conn.execute(
                "UPDATE ledger.events SET state = convert_to(replace(convert_from(state, 'UTF8'), %s, %s), 'UTF8') "
                "WHERE originator_id = %s",
                (f'"{was}"', f'"{now}"', table.round),
            )


def bet_on(dsn: str, table: Terminal, spot: str) -> str:
    """The id of the round's bet on a spot."""
    found = printed("rounds", "show", str(table.round), LEDGER_DSN=dsn)
    return next(str(bet["bet"]) for bet in found["bets"] if bet["spot"] == spot)


def test_a_round_is_listed_and_shown_with_articles_arithmetic_and_positions(played: tuple[str, Terminal]) -> None:
    dsn, table = played
    [row] = printed("rounds", "list", LEDGER_DSN=dsn)["rounds"]
    assert row["round"] == str(table.round)
    assert (row["bets"], row["stakes"], row["shown"]) == (3, "17500", "17, black")
    shown = printed("rounds", "show", str(table.round)[:13], LEDGER_DSN=dsn)
    assert (shown["stakes"], shown["win"], shown["currency"]) == ("17500", "-387500", "MOP")
    assert shown["notes"] == ["30/2003, repealed by 60/2004, applied by opt-in"]
    [straight, red, split] = shown["bets"]
    assert straight["arithmetic"] == "100.00 × 35 = 3500.00"
    assert straight["article"].startswith("30/2003 art. 6(1), 7(1)")
    assert (red["result"], red["returned"]) == ("lost", "0")
    assert split["returned"] == "45000"
    with psycopg.connect(dsn) as conn:
        events = log.stream(conn, table.round)
    assert [event["position"] for event in shown["events"]] == [str(recorded.position) for recorded in events]
    paid = next(r for r in events if isinstance(r.body, PayoutMade) and r.body.spot == "straight:17")
    assert straight["resolved_position"] == str(paid.position)
    drawn = roundledger("rounds", "show", str(table.round), LEDGER_DSN=dsn).stdout
    assert "100.00 × 35 = 3500.00" in drawn
    assert "win: MOP -3875.00" in drawn
    assert (shown["lost"], shown["prizes"]) == ("5000", "392500")
    assert "commission:" not in drawn
    assert str(paid.position) in drawn


def test_a_bet_is_explained_from_the_log(played: tuple[str, Terminal]) -> None:
    dsn, table = played
    bet = bet_on(dsn, table, "straight:17")
    out = roundledger("explain", bet[:18], LEDGER_DSN=dsn).stdout
    for word in ("17, black", "30/2003 art. 6(1)", "30/2003 art. 7(1)", "pleno", "孤丁", "prize: MOP 100.00 × 35 = MOP 3500.00"):
        assert word in out
    assert "Boletim Oficial de Macau, I Série, 6/2003, pages 109-111" in out
    split = roundledger("explain", bet_on(dsn, table, "split:17-20"), LEDGER_DSN=dsn).stdout
    assert "assumed: chance split, rule: Which two numbers is not said" in split
    assert "30/2003, repealed by 60/2004, applied by opt-in" in out
    found = printed("explain", str(table.round), LEDGER_DSN=dsn)
    assert [each["explanation"]["spot"] for each in found] == ["red", "split:17-20", "straight:17"]
    assert [event["event"] for event in found[-1]["events"]] == [
        "RoundOpened.v1",
        "BetPlaced.v1",
        "BettingClosed.v1",
        "OutcomeRecorded.v1",
        "PayoutMade.v1",
        "RoundSettled.v1",
    ]


def test_an_explanation_says_where_the_log_has_another_figure(played: tuple[str, Terminal]) -> None:
    """One more minor unit in the prize and in all that is summed from it, so that only the rules can tell."""
    dsn, table = played
    forge(dsn, table, {"350000": "350001", "360000": "360001", "392500": "392501", "405000": "405001"})
    done = roundledger("explain", str(table.round), code=1, LEDGER_DSN=dsn)
    assert "DIFFERENT: prize is 350001" in done.stdout
    assert "DIFFERENT: returned is 360001" in done.stdout


def test_a_round_whose_figures_do_not_add_up_is_told_with_the_position(played: tuple[str, Terminal]) -> None:
    dsn, table = played
    forge(dsn, table, {"360000": "360001"})
    done = roundledger("explain", str(table.round), code=1, LEDGER_DSN=dsn)
    assert re.search(r"DIFFERENT: PayoutMade.v1 at position \d+ .*: returned is not stake \+ net prize", done.stdout)


def test_a_round_that_is_not_settled_cannot_be_explained(dsn: str) -> None:
    table = Terminal()
    rounds = house(dsn)
    accepted(rounds.post(table.whole_round(BETS, "17")[:-1]))
    rounds.close()
    assert "error[LGR-0709]" in roundledger("explain", str(table.round), code=2, LEDGER_DSN=dsn).stderr
    assert "closed" in roundledger("rounds", "show", str(table.round), LEDGER_DSN=dsn).stdout


@pytest.mark.parametrize("id_", ["0000", "ffffffff-ffff", "17", "zzzzzzzz", "=1+1"])
@pytest.mark.parametrize("command", [("rounds", "show"), ("explain",)])
def test_an_id_that_names_nothing_is_refused(command: tuple[str, ...], id_: str, played: tuple[str, Terminal]) -> None:
    assert "error[LGR-0701]" in roundledger(*command, id_, code=2, LEDGER_DSN=played[0]).stderr


def test_an_ambiguous_beginning_is_refused_with_what_it_may_mean(dsn: str) -> None:
    rounds = house(dsn)
    tables = [Terminal("R01"), Terminal("R02", currency="HKD")]
    for n, table in enumerate(tables):
        opening = table.open()
        table.round = UUID(f"01a229cf-0000-7000-8000-00000000000{n}")
        accepted(rounds.post([msgspec.structs.replace(opening, round=table.round)]))
    rounds.close()
    said = roundledger("rounds", "show", "01a229cf", code=2, LEDGER_DSN=dsn).stderr
    assert "error[LGR-0702]" in said
    assert all(str(table.round) in said for table in tables)


def test_the_figures_of_a_report_are_the_same_in_every_form(played: tuple[str, Terminal]) -> None:
    dsn, _ = played
    report = ("report", "tables")
    document = printed(*report, LEDGER_DSN=dsn)
    [line] = document["tables"]
    [comma] = csv.DictReader(io.StringIO(roundledger(*report, "--csv", LEDGER_DSN=dsn).stdout))
    drawn = roundledger(*report, LEDGER_DSN=dsn).stdout
    amounts = ("handle", "lost", "prizes", "commission", "breakage", "win", "theoretical_win")
    for key in amounts:
        assert comma[key] == format_plain(int(line[key]), line["currency"])
        assert comma[key] in drawn or comma[key] == "0.00"
    assert "commission" not in drawn.replace(LEGEND, "")
    assert LEGEND in drawn
    assert int(line["lost"]) - int(line["prizes"]) == int(line["win"])
    assert (line["handle"], line["prizes"], line["win"]) == ("17500", "392500", "-387500")
    assert line["win_percent"] == comma["win_percent"] == "-2214.29"
    assert line["theoretical_win_exact"] == "17500/37"
    for fact in ("property", "period", "as_of_position", "generated_at", "software"):
        assert document[fact]
        assert fact.replace("_", " ") in drawn
    assert document["notes"] == ["30/2003, repealed by 60/2004, applied by opt-in"]
    assert document["totals"][0]["win"] == line["win"]


def test_balances_sum_to_zero_and_can_be_narrowed(played: tuple[str, Terminal]) -> None:
    dsn, _ = played
    found = printed("balances", LEDGER_DSN=dsn)
    assert [total["balance"] for total in found["totals"]] == ["0"]
    assert found["notes"] == ["30/2003, repealed by 60/2004, applied by opt-in"]
    for asked in ("win/", "win/R01", "win/R0*", "wi*"):
        [win] = printed("balances", asked, LEDGER_DSN=dsn)["balances"]
        assert win == {"account": "win/R01", "currency": "MOP", "balance": "-387500"}
    rows = list(csv.DictReader(io.StringIO(roundledger("balances", "--csv", LEDGER_DSN=dsn).stdout)))
    assert {row["account"]: row["balance"] for row in rows}["win/R01"] == "-3875.00"
    assert "error[LGR-0105]" in roundledger("balances", "--currency", "MOPS", code=2, LEDGER_DSN=dsn).stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("balances", "win/R0"), "no account is named win/R0; 1 account begin so: win/R0*"),
        (("balances", "nosuch"), "no account is named nosuch"),
        (("balances", "nosuch/"), "no account begins with nosuch/"),
        (("balances", "win/R01", "--currency", "HKD"), "win/R01 has not moved in HKD up to position "),
        (("rounds", "list", "--table", "NOPE"), "no table NOPE is known; tables: "),
        (("report", "outcomes", "--table", "NOPE"), "no table NOPE is known; tables: "),
    ],
)
def test_what_nobody_knows_is_named(command: tuple[str, ...], said: str, played: tuple[str, Terminal]) -> None:
    document = printed(*command, LEDGER_DSN=played[0])
    assert any(note.startswith(said) for note in document["notes"])
    assert said in roundledger(*command, LEDGER_DSN=played[0]).stdout
    assert said in roundledger(*command, "--csv", LEDGER_DSN=played[0]).stderr


FRACTIONS = [("sshong:123", "10001"), ("nga:13/2", "3333"), ("fan:1", "777"), ("kuoc:13", "5001"), ("nim:3/4", "1")]


@pytest.fixture
def fractions(dsn: str) -> tuple[str, Terminal]:
    """A database with one settled round of fantan, whose prizes are no whole minor units."""
    table = Terminal("F01", "fantan")
    rounds = house(dsn)
    rounds.apply_property(msgspec.structs.replace(DEMO, tables=(*DEMO.tables, Table("F01", "B", "fantan", "MOP", "0.01"))))
    accepted(rounds.post(table.whole_round(FRACTIONS, "3")))
    rounds.close()
    return dsn, table


def test_the_exact_column_of_every_csv_agrees_with_the_one_beside_it(fractions: tuple[str, Terminal]) -> None:
    dsn, table = fractions
    settle = ("rules", "settle", "58/2004", "3", *(f"{spot}={format_plain(int(stake), 'MOP')}" for spot, stake in FRACTIONS))
    commands: dict[str, list[tuple[str, ...]]] = {
        "prize": [("rounds", "show", str(table.round)), ("explain", str(table.round)), settle],
        "theoretical_win": [("report", "tables")],
    }
    for column, asked in commands.items():
        for command in asked:
            rows = list(csv.DictReader(io.StringIO(roundledger(*command, "--csv", LEDGER_DSN=dsn).stdout)))
            known = [row for row in rows if row[f"{column}_exact"]]
            assert known
            for row in known:
                apart = Fraction(row[f"{column}_exact"]) - Fraction(row[column])
                assert abs(apart) < Fraction(1, 100), (command, row)
            assert any("/" in row[f"{column}_exact"] for row in known), command
    shown = roundledger("explain", str(table.round), LEDGER_DSN=dsn).stdout
    assert "minor units" not in shown
    assert "MOP 100.01 × 1/3 = MOP 10001/300, floored to the minor unit: MOP 33.33" in shown


def test_every_bet_of_a_round_is_explained_in_a_line_of_csv(fractions: tuple[str, Terminal]) -> None:
    dsn, table = fractions
    rows = list(csv.DictReader(io.StringIO(roundledger("explain", str(table.round), "--csv", LEDGER_DSN=dsn).stdout)))
    shown = {bet["bet"]: bet for bet in printed("rounds", "show", str(table.round), LEDGER_DSN=dsn)["bets"]}
    assert {row["bet"] for row in rows} == set(shown)
    for row in rows:
        bet = shown[row["bet"]]
        assert row["returned"] == format_plain(int(bet["returned"]), "MOP")
        assert (row["article"], row["player"]) == (bet["article"], bet["player"])
        assert (row["placed_position"], row["resolved_position"]) == (bet["position"], bet["resolved_position"])
        assert row["reason"]
        assert row["differences"] == ""


def test_a_round_is_readable_at_80_columns(dsn: str) -> None:
    table = Terminal()
    rounds = house(dsn)
    accepted(rounds.post(table.whole_round([*BETS, *BETS, ("corner:1-2-4-5", "1000")], "17")))
    rounds.close()
    lines = roundledger("rounds", "show", str(table.round), LEDGER_DSN=dsn, COLUMNS="80").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    [titles] = [line for line in lines if line.startswith("bet ")]
    assert titles.split() == ["bet", "player", "spot", "stake", "result", "returned"]
    bets = lines[lines.index(titles) + 2 :][: 7 * 3]
    shown = [line.split() for line in bets if _ID.match(line)]
    assert len(shown) == 7
    for short, _, spot, *_ in shown:
        [explained] = printed("explain", short, LEDGER_DSN=dsn)
        assert explained["explanation"]["spot"] == spot
    [titles] = [line for line in lines if line.startswith("position ")]
    assert titles.split() == ["position", "version", "event", "terminal", "received", "at"]


def test_when_an_event_occurred_is_shown_where_it_came_late(dsn: str) -> None:
    table = Terminal()
    rounds = house(dsn)
    late = [msgspec.structs.replace(each, occurred_at=each.received_at - timedelta(hours=3)) for each in [table.open()]]
    accepted(rounds.post(late))
    rounds.close()
    shown = roundledger("rounds", "show", str(table.round), LEDGER_DSN=dsn).stdout
    assert "occurred at" in shown
    assert re.search(r"T\d\d:\d\d:\d\dZ", shown)
    assert not re.search(r"\.\d+Z", shown)


def test_an_explanation_says_when_each_event_happened_and_when_it_came_where_that_differs(dsn: str) -> None:
    table = Terminal()
    rounds = house(dsn)
    events = table.whole_round([("red", "5000")], "17")
    accepted(rounds.post([msgspec.structs.replace(each, occurred_at=each.received_at - timedelta(hours=3)) for each in events]))
    rounds.close()
    shown = roundledger("explain", str(table.round), LEDGER_DSN=dsn).stdout
    at, came = (f"{events[0].received_at - late:%Y-%m-%dT%H}" for late in (timedelta(hours=3), timedelta(0)))
    told = [line for line in shown.splitlines() if "position " in line and ".v1, " in line]
    assert told
    assert all(re.search(rf", {at}:\S+Z, received {came}:\S+Z$", line) for line in told), told
    [document] = printed("explain", str(table.round), LEDGER_DSN=dsn)
    assert {each["occurred_at"][:13] for each in document["events"]} == {at}
    assert {each["received_at"][:13] for each in document["events"]} == {came}


def test_a_stake_that_came_late_is_marked_and_its_round_is_said_to_wait(dsn: str) -> None:
    rounds = house(dsn)
    table, other = Terminal(), Terminal()
    accepted(rounds.post([table.report(table.open().body, sequence=1), table.report(table.close().body, sequence=3)]))
    accepted(rounds.post([table.outcome("17"), table.bet("red", "5000", sequence=2)]))
    accepted(rounds.post(other.whole_round(BETS, "17")))
    rounds.close()
    shown = roundledger("rounds", "show", str(table.round), LEDGER_DSN=dsn).stdout
    assert re.search(r"^bet .*\blate\b", shown, re.MULTILINE)
    assert re.search(r"\bred\b.* late\b", shown) or re.search(r"late: late", shown)
    assert "late" not in roundledger("rounds", "show", str(other.round), LEDGER_DSN=dsn).stdout
    listed = roundledger("rounds", "list", LEDGER_DSN=dsn)
    assert "in escrow" in listed.stdout
    said = " ".join((listed.stdout + listed.stderr).split())
    assert f"corrections of kind late_bet settle them: {table.round}" in said
    assert [each["round"] for each in printed("rounds", "list", "--waiting", LEDGER_DSN=dsn)["rounds"]] == [str(table.round)]


def test_a_bet_that_is_decided_is_explained_while_its_round_goes_on(dsn: str) -> None:
    table = Terminal()
    rounds = house(dsn)
    opening, void, open_ = table.open(), table.bet("red"), table.bet("black")
    accepted(rounds.post([opening, void, open_]))
    accepted(rounds.post([table.report(WithdrawBet(bet=void.event_id))]))
    rounds.close()
    [explained] = printed("explain", str(void.event_id), LEDGER_DSN=dsn)
    assert explained["result"] == "withdrawn"
    assert "error[LGR-0709]" in roundledger("explain", str(open_.event_id), code=2, LEDGER_DSN=dsn).stderr


def test_a_dry_run_shows_a_change_and_refuses_what_could_not_be_applied(dsn: str, tmp_path: Path) -> None:
    table = Terminal()
    rounds = house(dsn)
    accepted(rounds.post([table.open()]))
    rounds.close()
    file = tmp_path / "house.toml"
    without = msgspec.structs.replace(DEMO, tables=tuple(each for each in DEMO.tables if each.id != "R01"))
    file.write_text(to_toml(without), "utf-8")
    tried = roundledger("property", "apply", str(file), "--dry-run", code=2, LEDGER_DSN=dsn)
    assert "what would change" in tried.stdout
    assert f"error[LGR-0611]: table R01 has round {table.round} open" in tried.stderr
    assert "error[LGR-0611]" in roundledger("property", "apply", str(file), code=2, LEDGER_DSN=dsn).stderr


def test_rounds_of_two_currencies_are_one_list_in_one_order(dsn: str) -> None:
    rounds = house(dsn)
    for table in (Terminal("R01"), Terminal("R02", currency="HKD"), Terminal("R01")):
        accepted(rounds.post(table.whole_round([("red", "5000")], "17")))
    rounds.close()
    lines = roundledger("rounds", "list", LEDGER_DSN=dsn).stdout.splitlines()
    listed = [line.split() for line in lines if _ID.match(line)]
    assert [line[2] for line in listed] == ["R01", "R02", "R01"]
    assert [line[7] for line in listed] == ["MOP", "HKD", "MOP"]
    documents = printed("rounds", "list", LEDGER_DSN=dsn)["rounds"]
    assert [document["round"].startswith(line[0]) for document, line in zip(documents, listed, strict=True)] == [True] * 3


def test_outcomes_are_counted_for_people_and_programs(played: tuple[str, Terminal]) -> None:
    dsn, _ = played
    expected = [{"table": "R01", "game": "roulette", "outcome": "17", "count": 1}]
    assert printed("report", "outcomes", LEDGER_DSN=dsn)["outcomes"] == expected
    assert printed("report", "tables", LEDGER_DSN=dsn)["outcomes"] == expected
    assert roundledger("report", "outcomes", "--csv", LEDGER_DSN=dsn).stdout == "table,game,outcome,count\nR01,roulette,17,1\n"
    assert printed("report", "outcomes", "--day", "2001-01-01", LEDGER_DSN=dsn)["outcomes"] == []
    assert "Outcomes" not in roundledger("report", "tables", LEDGER_DSN=dsn).stdout


COMMANDS = ("rounds list", "balances", "report tables", "report outcomes", "replay", "db status", "db psql-url", "property show")


@pytest.mark.parametrize("form", [(), ("--csv",), ("--json",)], ids=["table", "csv", "json"])
@pytest.mark.parametrize("command", [*COMMANDS, "rounds show", "explain"])
def test_a_reader_that_goes_away_is_no_difference(command: str, form: tuple[str, ...], played: tuple[str, Terminal]) -> None:
    dsn, table = played
    words = [*command.split(), *([] if command in COMMANDS else [str(table.round)]), *form]
    for unbuffered in ("", "1") if not form else ("",):  # how it is written does not depend on the form
        done = to_nobody([sys.executable, "-m", "cli", *words], LEDGER_DSN=dsn, PYTHONUNBUFFERED=unbuffered)
        assert done.returncode == 141, done.stderr
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [f"report bets --format {form}" for form in ("table", *FORMS)] + [f"journal export --format {form}" for form in JOURNALS],
)
def test_a_reader_of_any_form_that_goes_away_is_no_difference(words: str, played: tuple[str, Terminal]) -> None:
    dsn, _ = played
    done = to_nobody([sys.executable, "-m", "cli", *words.split()], LEDGER_DSN=dsn)
    assert (done.returncode, "Traceback" in done.stderr, "Exception ignored" in done.stderr) == (141, False, False), done.stderr


def test_what_is_known_of_a_fault_is_said_in_a_line_and_without_a_traceback(played: tuple[str, Terminal]) -> None:
    """By a command line; of a fault that nobody foresaw, too."""
    dsn, _ = played
    with psycopg.connect(dsn, autocommit=True) as conn:
        for state in (b"{}", b"{"):
            conn.execute(
                "INSERT INTO ledger.events (originator_id, originator_version, topic, state) VALUES (%s, 1, 'BetPlaced.v1', %s)",
                (uuid4(), state),
            )
    done = roundledger("projections", "rebuild", LEDGER_DSN=dsn, code=1)
    assert "stopped at position" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_account_that_had_not_moved_by_then_is_not_told_to_be_none(played: tuple[str, Terminal]) -> None:
    dsn, _ = played
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
    for account in ("win/R01", "win/", "win/R*"):
        notes = printed("balances", account, "--at", "0", LEDGER_DSN=dsn)["notes"]
        assert f"{account.removesuffix('*')} has not moved up to position 0" in notes
    assert "no account is named win/R1" in str(printed("balances", "win/R1", "--at", "0", LEDGER_DSN=dsn)["notes"])
    foreign = printed("balances", "win/R01", "--currency", "HKD", LEDGER_DSN=dsn)["notes"]
    assert any("win/R01 has not moved in HKD" in note for note in foreign)


@pytest.mark.parametrize("option", ["--from", "--until"])
def test_a_position_beyond_the_log_is_named_as_it_was_typed(option: str, played: tuple[str, Terminal]) -> None:
    dsn, _ = played
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
    said = roundledger("trace", "win/R01", option, "99999999", LEDGER_DSN=dsn, code=2).stderr
    assert "99999999" in said
    assert "99999998" not in said
    assert option in said


def test_a_form_that_was_given_is_not_asked_for(played: tuple[str, Terminal], tmp_path: Path) -> None:
    for given in ((), ("--format", "table")):
        said = roundledger("report", "ggr", *given, "--out", str(tmp_path / "x"), LEDGER_DSN=played[0], code=2).stderr
        assert "give another --format for the file" in said


def test_an_empty_ledger_says_no_activity(dsn: str) -> None:
    for command in (("report", "tables"), ("balances",), ("rounds", "list")):
        assert "No activity" in roundledger(*command, LEDGER_DSN=dsn).stdout


def test_b46_the_exit_code_tells_equal_from_different_from_not_done(played: tuple[str, Terminal], bare_dsn: str) -> None:
    dsn, _ = played
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)  # a replay writes nothing live, and no service runs here
    equal = roundledger("replay", LEDGER_DSN=dsn)
    assert "replay: equal" in equal.stdout
    assert "events folded afresh" in equal.stderr
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("UPDATE projection.balances SET balance = balance + 1 WHERE account = 'win/R01'")
    different = roundledger("replay", code=1, LEDGER_DSN=dsn)
    assert "DIFFERENT" in different.stdout
    assert (
        "balances account=win/R01, currency=MOP: balance is -387499 in the live table, -387500 in the replay" in different.stdout
    )
    assert not json.loads(roundledger("replay", "--json", code=1, LEDGER_DSN=dsn).stdout)["equal"]
    [found] = csv.DictReader(io.StringIO(roundledger("replay", "--csv", code=1, LEDGER_DSN=dsn).stdout))
    assert (found["equal"], found["table"], found["column"]) == ("false", "balances", "balance")
    assert (found["key"], found["live"], found["replayed"]) == ("account=win/R01 currency=MOP", "'-387499", "'-387500")
    no_schema = roundledger("replay", code=2, LEDGER_DSN=bare_dsn)
    assert "error[LGR-0502]" in no_schema.stderr
    assert "roundledger db init" in no_schema.stderr
    assert roundledger("replay", code=2, LEDGER_DSN="host=127.0.0.1 port=1").stderr.startswith("error[LGR-0501]")
    roundledger("replay", "--nonsense", code=2, LEDGER_DSN=dsn)


def test_b46_nothing_compared_is_not_equal(dsn: str) -> None:
    assert "no activity" in roundledger("replay", code=2, LEDGER_DSN=dsn).stdout
    with closing(house(dsn)):
        behind = roundledger("replay", code=2, LEDGER_DSN=dsn).stdout
    assert "nothing was compared: the live tables are" in behind
    assert "roundledger projections run" in behind


@pytest.mark.parametrize(
    "command",
    [("rounds", "list"), ("rounds", "show", "0000"), ("explain", "0000"), ("balances",), ("report", "tables"), ("serve",)],
)
def test_a_database_without_the_schema_is_never_changed(command: tuple[str, ...], bare_dsn: str) -> None:
    said = roundledger(*command, code=2, LEDGER_DSN=bare_dsn).stderr
    assert "error[LGR-0502]" in said
    assert "roundledger db init" in said
    with psycopg.connect(bare_dsn) as conn:
        assert conn.execute("SELECT to_regnamespace('ledger')").fetchone() == (None,)


def test_a_property_is_checked_applied_once_and_shown(dsn: str, tmp_path: Any) -> None:
    file = tmp_path / "house.toml"
    file.write_text('id = "H"\nname = "House"\nzone = "Asia/Macau"\ngaming_day_start = "06:00"\n')
    assert "error[LGR-0604]" in roundledger("property", "check", str(file), code=2).stderr
    file.write_text(
        file.read_text() + '[[tables]]\nid = "F1"\npit = "A"\ngame = "fantan"\ncurrency = "MOP"\npayable_unit = "1"\n'
    )
    assert "valid" in roundledger("property", "check", str(file)).stderr
    assert "applied" in roundledger("property", "apply", str(file), LEDGER_DSN=dsn).stderr
    assert "already in force" in roundledger("property", "apply", str(file), LEDGER_DSN=dsn).stderr
    told = printed("property", "apply", str(file), LEDGER_DSN=dsn)
    assert (told["applied"], told["property"], told["tables"]) == (False, "H", 1)
    assert "1 table," in roundledger("property", "check", str(file)).stderr
    [row] = csv.DictReader(io.StringIO(roundledger("property", "show", "--csv", LEDGER_DSN=dsn).stdout))
    assert (row["property"], row["table"], row["payable_unit"]) == ("H", "F1", "1")
    [shown] = printed("property", "show", LEDGER_DSN=dsn)
    assert {row["regulation"] for row in shown["assumptions"]} >= {"58/2004"}
    assert "Assumptions and opt-ins in force" in roundledger("property", "show", LEDGER_DSN=dsn).stdout
    assert [table["id"] for table in shown["tables"]] == ["F1"]
    assert "F1" in roundledger("property", "show", LEDGER_DSN=dsn).stdout
    file.write_text(file.read_text() + '[[opt_ins]]\nregulation = "60/2004"\nreason = "r"\napproved_by = "a"\n')
    assert "opt_ins[0].regulation" in roundledger("property", "check", str(file), code=2).stderr


def test_a_database_that_refuses_is_told_without_a_traceback(played: tuple[str, Terminal], tmp_path: Path) -> None:
    dsn, _ = played
    file = tmp_path / "house.toml"
    file.write_text((ROOT / "seeds" / "demo" / "property.toml").read_text().replace("Demo House", "Other House"))
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(sql.Identifier(conn.info.dbname)))
    for command in (("balances",), ("replay",), ("report", "tables"), ("rounds", "list"), ("property", "apply", str(file))):
        said = roundledger(*command, code=2, LEDGER_DSN=dsn).stderr
        assert said.startswith("error[LGR-0515]"), said
        assert "read-only" in said


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_b46_a_closed_stream_is_no_difference(played: tuple[str, Terminal], closed: str) -> None:
    """As `cron` and the like may start it: the exit code is what there is."""
    dsn, _ = played
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
    for arguments, code in (("replay", 0), ("balances --json", 0), ("report tables", 0), ("rounds show 0000", 2)):
        line = f'exec "{sys.executable}" -m cli {arguments} {closed}'
        done = subprocess.run(
            ["/bin/sh", "-c", line], env=environment(LEDGER_DSN=dsn), capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", ["replay", "balances --json", "balances --csv", "report tables", "--help"])
def test_b46_a_full_disk_under_the_output_is_no_difference(played: tuple[str, Terminal], arguments: str) -> None:
    dsn, _ = played
    line = f'exec "{sys.executable}" -m cli {arguments} >/dev/full'
    done = subprocess.run(["/bin/sh", "-c", line], env=environment(LEDGER_DSN=dsn), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "error: what was to be printed cannot be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
