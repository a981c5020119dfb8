"""Faults in what comes after a payout, and around the bell: through the application, the log, the projections and the reports."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import psycopg

from ledger.application import Rounds
from ledger.events import BetCorrected, OutcomeCorrected, PayoutMade
from ledger.reports import ApproveCorrection, ProposeCorrection
from ledger.store import log
from projections import queries
from projections.replay import replay
from projections.runner import catch_up
from tests.faults.conftest import Command
from tests.support import Terminal, accepted, codes


def balances(dsn: str) -> dict[str, int]:
    """What each account has, zeroes left out."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        return {row.account: int(row.balance) for row in queries.balances(conn) if int(row.balance)}


def corrected(rounds: Rounds, table: Terminal, **asked: Any) -> list[str]:
    """What is answered to a correction that S-1 asks for, to S-1's approval of it, and to S-2's."""
    proposal = table.report(ProposeCorrection(reason="found_wrong", **asked), by="S-1")
    approve = ApproveCorrection(correction=proposal.event_id)
    return codes(rounds.post([proposal, table.report(approve, by="S-1"), table.report(approve, by="S-2")]))


def bodies(dsn: str, round_: UUID) -> list[Any]:
    with psycopg.connect(dsn) as conn:
        return [recorded.body for recorded in log.stream(conn, round_)]


def test_b27_void_after_payout_claws_the_prize_back_and_a_second_void_credits_nothing(rounds: Rounds, dsn: str) -> None:
    """B27: the stake as the disposition says, the prize back, both stories in the log, and nothing deleted."""
    table = Terminal()
    reports = table.whole_round([("straight:17", "10000")], "17")
    accepted(rounds.post(reports))
    assert balances(dsn) == {"player/P-1": 350000, "win/R01": -350000}
    assert corrected(rounds, table, kind="bet_void", bet=reports[1].event_id) == ["accepted", "LGR-0249", "accepted"]
    assert balances(dsn) == {}
    before = bodies(dsn, table.round)
    assert [body.net_prize for body in before if isinstance(body, PayoutMade)] == ["350000"]
    [undone] = [body for body in before if isinstance(body, BetCorrected)]
    assert (undone.before.result, undone.before.net_prize, undone.after.result) == ("won", "350000", "void")
    assert corrected(rounds, table, kind="bet_void", bet=reports[1].event_id)[0] == "LGR-0242"
    assert bodies(dsn, table.round) == before
    assert replay(dsn).equal


def test_b29_shown_one_result_and_recorded_another(rounds: Rounds, dsn: str, command: Command) -> None:
    """B29: 17 was keyed while the ball lay in 7: both outcomes are kept, each bet has its difference, another person approved."""
    table = Terminal()
    reports = table.whole_round([("straight:17", "10000"), ("straight:7", "10000"), ("red", "10000")], "17")
    accepted(rounds.post(reports))
    assert corrected(rounds, table, kind="outcome", outcome="7") == ["accepted", "LGR-0249", "accepted"]
    said = bodies(dsn, table.round)
    [outcome] = [body for body in said if isinstance(body, OutcomeCorrected)]
    assert (outcome.was, outcome.outcome, outcome.by) == ("17", "7", "S-2")
    changed = {body.before.spot: (body.before.result, body.after.result) for body in said if isinstance(body, BetCorrected)}
    assert changed == {"straight:17": ("won", "lost"), "straight:7": ("lost", "won"), "red": ("lost", "won")}
    assert balances(dsn) == {"player/P-1": -10000 + 350000 + 10000, "win/R01": 10000 - 350000 - 10000}
    told = command("rounds", "show", str(table.round))
    assert "17, black" in told
    assert "7, red" in told
    assert replay(dsn).equal


def test_b25_a_bet_that_overtook_the_bell_is_given_back_and_in_the_registers(rounds: Rounds, dsn: str, command: Command) -> None:
    """B25: it was answered at once, and its terminal's numbers say that it was placed after the bell."""
    table = Terminal()
    opening, bet = table.open(sequence=1), table.bet("red", sequence=2)
    late = table.bet("straight:17", "500", "P-9", sequence=4)
    accepted(rounds.post([opening, bet, late]))
    assert balances(dsn)["escrow/R01"] == 10500
    accepted(rounds.post([table.close(sequence=3), table.outcome("17", sequence=5)]))
    assert codes(rounds.post([late])) == ["replayed"]
    assert balances(dsn) == {"player/P-1": -10000, "win/R01": 10000}
    [row] = json.loads(command("report", "late-bets", "--json"))["rows"]
    assert (row["player"], row["spot"], row["treatment"]) == ("P-9", "straight:17", "given_back")
    assert str(late.event_id) in row["note"]
    [row] = json.loads(command("report", "voids", "--json"))["rows"]
    assert (row["bet"], row["reason"]) == (str(late.event_id), "placed_after_bell")
    assert "placed_after_bell" in command("explain", str(late.event_id))
    assert replay(dsn).equal
