"""What this process remembers and what the log says by now: nothing is answered wrongly, or not at all, for the difference."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from ledger.application import Rounds
from ledger.reports import ApproveCorrection, ChangeBet, OpenRound, ProposeCorrection, VoidRound, WithdrawBet
from tests.support import DEMO, UNLIMITED, Terminal, accepted, codes, house


@pytest.fixture
def houses(dsn: str) -> Iterator[list[Rounds]]:
    with closing(house(dsn, UNLIMITED, lease_idle=60)) as first, closing(Rounds(dsn)) as second:
        yield [first, second]


def corrected(rounds: Rounds, table: Terminal, **asked: Any) -> None:
    """A correction that two persons make."""
    proposal = table.report(ProposeCorrection(reason="camera", **asked), by="S-1")
    accepted(rounds.post([proposal]))
    accepted(rounds.post([table.report(ApproveCorrection(correction=proposal.event_id), by="S-2")]))


@pytest.mark.parametrize("game", ["roulette", "cussec"])
@pytest.mark.parametrize("elsewhere", [False, True], ids=["its own table", "another table"])
def test_the_id_of_an_ended_round_costs_only_what_uses_it_again(houses: list[Rounds], game: str, elsewhere: bool) -> None:
    """An opening with that id, a bet on it and anything refused made the post fail each time it was sent."""
    first, _ = houses
    table = Terminal()
    accepted(first.post(table.whole_round([("red", "10000")], "17")))
    again = Terminal() if not elsewhere else Terminal(*next((t.id, game, t.currency) for t in DEMO.tables if t.game == game))
    again.round = table.round
    mate = Terminal("R02", currency="HKD")
    spot = "red" if again.game == "roulette" else "big"
    bad = [
        again.report(OpenRound(table=again.table, game=again.game)),
        again.bet(spot),
        again.bet("nonsense:99"),
        again.report(ChangeBet(bet=uuid4(), stake="100")),
        again.report(WithdrawBet(bet=uuid4())),
        again.outcome("99"),
    ]
    post = [mate.open(), mate.bet("red"), *bad, mate.bet("odd")]
    verdicts = first.post(post)
    assert codes(verdicts)[:3] == ["accepted", "accepted", "LGR-0203"]
    assert codes(verdicts)[-1] == "accepted"
    assert all(verdict.status == "rejected" for verdict in verdicts[2:-1])
    assert len(first.round(table.round).bets) == 1


@pytest.mark.parametrize("late", range(1, 4))
@pytest.mark.parametrize("corrections", [0, 1, 2])
def test_what_another_process_adds_to_a_round_amid_a_group_is_seen(houses: list[Rounds], late: int, corrections: int) -> None:
    first, second = houses
    table = Terminal()
    opening, *bets = table.open(sequence=1), *(table.bet("red", "1000", sequence=n) for n in range(2, 7))
    accepted(first.post([opening, bets[-1], table.close(sequence=7), table.outcome("17", sequence=8)]))
    accepted(first.post(bets[:1]))  # so that the ended round is in memory
    for n in range(corrections):
        corrected(second, table, kind="mispay", bet=bets[-1].event_id, direction="to_player", amount=str(100 + n))
    again = table.outcome("3")
    assert codes(first.post([*bets[1 : 1 + late], again])) == ["accepted"] * late + ["LGR-0206"]
    assert len(first.round(table.round).adjustments) == corrections


def test_a_late_bet_is_judged_by_what_the_round_that_has_its_bets_came_to_since(dsn: str) -> None:
    """It was refused for good by a limit that the player was no longer at, since a correction made elsewhere."""
    tables = tuple(
        msgspec.structs.replace(table, maximum="1000.00", minimum=None, exposure=None, differential=None, chances=())
        for table in DEMO.tables
    )
    config = msgspec.structs.replace(DEMO, tables=tables)
    with closing(house(dsn, config, lease_idle=60)) as first, closing(Rounds(dsn)) as second:
        table = Terminal(*next((each.id, each.game, each.currency) for each in tables if each.game == "cussec"))
        opening = table.open(sequence=1)
        loads, held_back = table.bet("big", "10000", sequence=2), table.bet("big", "80000", sequence=3)
        placed, close = table.bet("big", "10000", sequence=4), table.close(sequence=5)
        accepted(first.post([opening, placed, close]))
        rules = first.regulation_of(first.round(table.round))
        clause = next(each.code for each in rules.voids if each.disposition == "carry")
        successor = uuid4()
        accepted(first.post([table.report(VoidRound(reason=clause, successor=successor), sequence=6)]))
        void, table.round = table.round, successor
        own = table.bet("big", "50000", sequence=7)
        accepted(first.post([own, table.close(sequence=8), table.outcome("4-5-6", sequence=9)]))
        accepted(first.post([loads]))
        corrected(second, table, kind="bet", bet=own.event_id, player="P-2")
        accepted(first.post([held_back]))
        assert held_back.event_id in first.round(successor).bets
        assert held_back.round == void
