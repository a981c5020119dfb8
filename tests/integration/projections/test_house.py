"""Rounds that the write side settled by the regulations, as the read side shows them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from ledger.application import Rounds
from projections import queries
from projections.replay import replay
from projections.runner import catch_up
from tests.integration.projections.support import connected
from tests.support import Terminal, accepted, codes, house


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    open_house = house(dsn)
    yield open_house
    open_house.close()


def test_stake_and_prize_are_never_one_figure(rounds: Rounds, dsn: str) -> None:
    """B07."""
    table = Terminal()
    accepted(rounds.post(table.whole_round([("straight:17", "10000")], "17")))
    with connected(dsn) as conn:
        catch_up(conn)
        assert [(row.account, row.balance) for row in queries.balances(conn)] == [
            ("escrow/R01", "0"),
            ("player/P-1", "350000"),
            ("win/R01", "-350000"),
        ]
        shown = queries.round_view(conn, table.round)
        assert shown is not None
        (bet,) = shown.bets
        assert (bet.result, bet.odds, bet.stake, bet.prize, bet.returned) == ("won", "35", "10000", "350000", "360000")
        assert [(m.debit, m.credit, m.amount) for m in shown.movements] == [
            ("player/P-1", "escrow/R01", "10000"),
            ("escrow/R01", "player/P-1", "10000"),
            ("win/R01", "player/P-1", "350000"),
        ]


def test_the_report_says_under_what_it_was_settled_and_adds_no_currencies(rounds: Rounds, dsn: str) -> None:
    """B18."""
    for table, game, currency, spot, shown in (
        ("R01", "roulette", "MOP", "red", "0"),
        ("R02", "roulette", "HKD", "straight:5", "5"),
        ("C01", "cussec", "MOP", "big", "2-2-2"),
    ):
        terminal = Terminal(table, game, currency)
        accepted(rounds.post(terminal.whole_round([(spot, "3700")], shown)))
    with connected(dsn) as conn:
        catch_up(conn)
        report = queries.table_report(conn)
        assert [(line.table, line.currency, line.win) for line in report.lines] == [
            ("C01", "MOP", "3700"),
            ("R01", "MOP", "3700"),
            ("R02", "HKD", "-129500"),
        ]
        assert [(total.currency, total.win) for total in report.totals] == [("HKD", "-129500"), ("MOP", "7400")]
        assert [line.theoretical_win_exact for line in report.lines] == [str(Fraction(3700, 36)), "100", "100"]
        assert len(report.notes) == 2
        assert all("repealed" in note for note in report.notes)
        assert queries.trial_balance(conn) == {"HKD": 0, "MOP": 0}


def test_what_was_refused_leaves_no_trace(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    posted = [
        table.open(),
        table.bet("straight:17"),
        table.bet("straight:37"),
        table.bet("red"),
        table.close(),
        table.outcome("17"),
    ]
    for _ in range(3):
        rounds.post(posted)
    assert codes(rounds.post(posted))[2].startswith("LGR-04")
    with connected(dsn) as conn:
        catch_up(conn)
        shown = queries.round_view(conn, table.round)
        assert shown is not None
        assert [bet.spot for bet in shown.bets] == ["straight:17", "red"]
        assert [row.stop_reason for row in queries.positions(conn)] == [None, None]
        assert queries.trial_balance(conn) == {"MOP": 0}
    assert replay(dsn).equal
