"""What the door and the command line read, against figures computed in plain Python straight from the raw events."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import UTC, date, timedelta
from fractions import Fraction

import msgspec
import psycopg
import pytest

from projections import queries
from projections.runner import catch_up
from tests.integration.projections.support import connected, lived_through, mixed, played, raw, report_by_hand, store
from tests.unit.projections.lives import EVERYTHING
from tests.unit.projections.made import DAY, Bet, made_round


@pytest.fixture
def day(dsn: str) -> str:
    """A database with a folded day."""
    with connected(dsn) as conn:
        store(conn, played(rounds=120))
        catch_up(conn)
    return dsn


@pytest.mark.parametrize("which", [None, DAY, DAY + timedelta(days=1), DAY - timedelta(days=1)])
def test_the_table_report_equals_one_computed_from_the_raw_events(day: str, which: date | None) -> None:
    with connected(day) as conn:
        report = queries.table_report(conn, which)
        by_hand = report_by_hand(conn, which)
        assert [(line.table, line.game, line.regulation, line.applied, line.currency) for line in report.lines] == sorted(by_hand)
        for line in report.lines:
            row = by_hand[line.table, line.game, line.regulation, line.applied, line.currency]
            assert (line.rounds, line.bets) == (row["rounds"], row["bets"])
            for name in ("handle", "lost", "pushed", "prizes", "commission", "breakage", "win"):
                assert getattr(line, name) == str(row[name]), name
            assert Fraction(line.theoretical_win_exact) == row["theoretical"]
            assert line.theoretical_win == str(round(row["theoretical"]))
            assert line.win_percent is not None
            assert abs(Fraction(line.win_percent) - Fraction(100 * row["win"], row["handle"])) <= Fraction(1, 200)
        for total in report.totals:
            lines = [line for line in report.lines if line.currency == total.currency]
            for name in ("handle", "lost", "pushed", "prizes", "commission", "breakage", "win"):
                assert int(getattr(total, name)) == sum(int(getattr(line, name)) for line in lines)
            assert Fraction(total.theoretical_win_exact) == sum(Fraction(line.theoretical_win_exact) for line in lines)
        assert {total.currency for total in report.totals} == {line.currency for line in report.lines}
        assert report.notes == sorted({line.applied for line in report.lines if line.applied})
        if which is None:
            assert queries.applied(conn) == report.notes != []
        assert report.position == str(queries.positions(conn)[1].position)


def test_the_report_of_a_shift_is_that_of_its_rounds(day: str) -> None:
    with connected(day) as conn:
        assert queries.shift_report(conn, "no such shift") == []
        conn.execute("UPDATE projection.rounds SET shift = CASE WHEN first_position % 2 = 0 THEN 'even' ELSE 'odd' END")
        report = queries.table_report(conn)
        for name in ("rounds", "bets", "handle", "lost", "pushed", "prizes", "commission", "breakage", "win"):
            sums: Counter[tuple[str, str]] = Counter()
            for part in [*queries.shift_report(conn, "even"), *queries.shift_report(conn, "odd")]:
                sums[part.table, part.currency] += int(getattr(part, name))
            for line in report.lines:
                sums[line.table, line.currency] -= int(getattr(line, name))
            assert not any(sums.values()), name


@pytest.fixture
def lives(dsn: str) -> str:
    """A database with folded rounds to which everything happened that can."""
    with connected(dsn) as conn:
        store(conn, lived_through(EVERYTHING))
        catch_up(conn)
    return dsn


def test_the_report_of_corrected_rounds_equals_one_computed_from_the_raw_events(lives: str) -> None:
    with connected(lives) as conn:
        report, by_hand = queries.table_report(conn), report_by_hand(conn)
        assert len(report.lines) == len(by_hand)
        for line in report.lines:
            row = by_hand[line.table, line.game, line.regulation, line.applied, line.currency]
            assert (line.rounds, line.bets) == (row["rounds"], row["bets"])
            for name in ("handle", "lost", "pushed", "prizes", "commission", "breakage", "win", "adjusted"):
                assert getattr(line, name) == str(row[name]), name
            assert Fraction(line.theoretical_win_exact) == row["theoretical"]
        assert any(int(line.adjusted) for line in report.lines)
        assert queries.trial_balance(conn) == {"HKD": 0, "MOP": 0}
        assert all(count.count > 0 for count in queries.outcomes(conn))


def test_what_the_tables_hold_at_risk_is_what_their_rounds_have_undecided(lives: str) -> None:
    with connected(lives) as conn:
        at_risk: Counter[tuple[str, str]] = Counter()
        for row in queries.rounds_list(conn, limit=1000):
            at_risk[f"escrow/{row.table}", row.currency] += int(row.escrow)
        escrow = {(row.account, row.currency): int(row.balance) for row in queries.balances(conn, "escrow/")}
        assert escrow == at_risk


def test_rounds_of_every_status_are_found(lives: str) -> None:
    with connected(lives) as conn:
        found = queries.rounds_list(conn, limit=1000)
        assert {row.status for row in found} >= {"settled", "resettled", "voided"}
        for status in ("resettled", "voided"):
            assert queries.rounds_list(conn, status=status, limit=1000) == [row for row in found if row.status == status]
        assert {row.disposition for row in found} == {None, "carry", "return"}
        by_id = {row.round: row for row in found}
        for row in found:
            if row.successor is not None:
                assert by_id[row.successor].predecessor == row.round


def test_commission_and_breakage_are_in_the_win_once(day: str) -> None:
    with connected(day) as conn:
        assert any(int(line.breakage) and int(line.commission) for line in queries.table_report(conn).lines)
        win: Counter[str] = Counter()
        for row in queries.balances(conn):
            if row.account.split("/")[0] in ("win", "commission", "breakage"):
                win[row.currency] += int(row.balance)
        assert {total.currency: int(total.win) for total in queries.table_report(conn).totals} == dict(win)


def test_balances_equal_those_computed_from_the_raw_events(day: str) -> None:
    with connected(day) as conn:
        players: Counter[tuple[str, str]] = Counter()
        for _, kind, body in raw(conn):
            if kind == "BetPlaced":
                players[f"player/{body['player']}", body["currency"]] -= int(body["stake"])
            elif kind == "PayoutMade":
                players[f"player/{body['player']}", body["currency"]] += int(body["returned"])
        rows = queries.balances(conn, "player/")
        assert {(row.account, row.currency): int(row.balance) for row in rows} == dict(players)
        assert queries.trial_balance(conn) == {"HKD": 0, "MOP": 0}
        everything = queries.balances(conn)
        assert [(row.account, row.currency) for row in everything] == sorted((row.account, row.currency) for row in everything)
        assert {row.currency for row in queries.balances(conn, currency="HKD")} == {"HKD"}


def test_a_prefix_is_taken_as_written(dsn: str) -> None:
    with connected(dsn) as conn:
        rng = random.Random(1)
        store(conn, mixed(made_round([Bet(player, 100)], rng=rng) for player in ("P%1", "P_1", "PX1", "P%12")))
        catch_up(conn)
        assert [row.account for row in queries.balances(conn, "player/P%1")] == ["player/P%1", "player/P%12"]
        assert [row.account for row in queries.balances(conn, "player/P_")] == ["player/P_1"]
        assert queries.balances(conn, "player/' OR true --") == []


def test_counts_of_outcomes_equal_the_raw_events_in_the_order_of_the_numbers(day: str) -> None:
    with connected(day) as conn:
        events = raw(conn)
        opened = {stream: body for stream, kind, body in events if kind == "RoundOpened"}
        by_hand = Counter(
            (opened[stream]["table"], body["outcome"]) for stream, kind, body in events if kind == "OutcomeRecorded"
        )
        rows = queries.outcomes(conn)
        assert {(row.table, row.outcome): row.count for row in rows} == dict(by_hand)
        pockets = [int(row.outcome) for row in queries.outcomes(conn, table="T-00")]
        assert pockets == sorted(pockets)
        both = [queries.outcomes(conn, table="T-00", day=DAY + timedelta(days=later)) for later in (0, 1)]
        counted = sum(row.count for rows in both for row in rows)
        assert counted == sum(count for (table, _), count in by_hand.items() if table == "T-00")


def test_rounds_come_latest_first_in_pages_that_meet(day: str) -> None:
    with connected(day) as conn:
        everything = queries.rounds_list(conn, limit=1000)
        assert len(everything) == 120
        assert [int(row.position) for row in everything] == sorted((int(row.position) for row in everything), reverse=True)
        pages = []
        before = None
        while page := queries.rounds_list(conn, before=before, limit=17):
            pages += page
            before = int(page[-1].position)
        assert pages == everything
        assert queries.rounds_list(conn, table="T-01", limit=1000) == [row for row in everything if row.table == "T-01"]
        assert queries.rounds_list(conn, status="open", limit=1000) == [row for row in everything if row.status == "open"]
        assert queries.rounds_list(conn, day=DAY, limit=1000) == [row for row in everything if row.gaming_day == DAY]


def test_a_round_is_the_same_in_the_list_and_by_itself(day: str) -> None:
    with connected(day) as conn:
        for row in queries.rounds_list(conn, limit=1000):
            shown = queries.round_view(conn, row.round)
            assert shown is not None
            for name in (
                "table",
                "game",
                "status",
                "outcome",
                "currency",
                "stakes",
                "lost",
                "prizes",
                "win",
                "opened_at",
                "settled_at",
            ):
                assert getattr(shown, name) == getattr(row, name), name
            assert shown.first_position == row.position
            assert len(shown.bets) == row.bets


def test_what_is_not_there_is_none_or_empty(dsn: str) -> None:
    with connected(dsn) as conn:
        assert queries.round_view(conn, made_round([], rng=random.Random(1))[0]) is None
        assert queries.balances(conn) == []
        assert queries.trial_balance(conn) == {}
        assert queries.outcomes(conn) == []
        assert queries.rounds_list(conn) == []
        assert queries.tables_played(conn) == []
        assert queries.positions(conn) == []
        report = queries.table_report(conn)
        assert (report.position, report.lines, report.totals, report.notes) == ("0", [], [], [])


def test_a_table_without_bets_has_no_percentage(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, mixed([made_round([], rng=random.Random(1))]))
        catch_up(conn)
        (line,) = queries.table_report(conn).lines
        assert (line.rounds, line.handle, line.win_percent, line.theoretical_win) == (1, "0", None, "0")


def test_the_session_s_zone_changes_nothing(day: str) -> None:
    def everything(zone: str) -> bytes:
        with psycopg.connect(day, autocommit=True, options=f"-c TimeZone={zone} -c DateStyle=German") as conn:
            rounds = queries.rounds_list(conn, limit=1000)
            assert all(row.opened_at.tzinfo is UTC for row in rounds)
            return msgspec.json.encode([rounds, queries.table_report(conn, DAY), queries.positions(conn)])

    assert everything("UTC") == everything("America/New_York") == everything("Asia/Macau")


def test_json_of_every_answer_has_amounts_and_positions_as_text(dsn: str) -> None:
    """B14."""
    with connected(dsn) as conn:
        rng = random.Random(1)
        store(conn, mixed(made_round([Bet("P-1", 10**15, "won", 180), Bet("P-2", 2**53 + 1)], rng=rng) for _ in range(30)))
        catch_up(conn)
        answers = (
            queries.balances(conn),
            queries.table_report(conn),
            queries.outcomes(conn),
            queries.rounds_list(conn),
            queries.positions(conn),
        )
        for answer in answers:
            numbers = re.findall("[0-9.]+", re.sub('"[^"]*"', "", msgspec.json.encode(answer).decode()))
            assert all(int(number) <= 60 for number in numbers), "counts only"
        assert str(-30 * 2**53 - 30) in msgspec.json.encode(answers[0]).decode()


def test_every_table_and_column_says_what_it_holds(dsn: str) -> None:
    with connected(dsn) as conn:
        silent = conn.execute(
            "SELECT c.relname, a.attname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum >= 0 "
            "WHERE c.relnamespace = 'projection'::regnamespace AND c.relkind = 'r' AND NOT a.attisdropped "
            "AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid) IS NULL)"
        ).fetchall()
        assert silent == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE projection.movements SET amount = 0",
        "UPDATE projection.movements SET amount = -1",
        "UPDATE projection.movements SET debit = credit",
        "UPDATE projection.rounds SET lost = lost + 1 WHERE status = 'settled'",
        "UPDATE projection.rounds SET escrow = -1, stakes = stakes - 1 WHERE status = 'settled'",
        "UPDATE projection.results SET returned = returned + 1 WHERE result = 'lost'",
        "UPDATE projection.results SET net_prize = net_prize - 1, returned = returned - 1 WHERE result = 'won'",
    ],
)
def test_the_database_refuses_books_out_of_balance(day: str, statement: str) -> None:
    with connected(day) as conn, pytest.raises(psycopg.errors.CheckViolation):
        conn.execute(statement)
