"""What reports say of what was asked and of what is in question: the heading's property, the stakes under review."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec
import psycopg
import pytest

from ledger import worth
from ledger.application import Rounds
from ledger.property import Table
from ledger.reports import ChangeBet, HoldRound, ReleaseRound, VoidBet, WithdrawBet
from projections.reports.catalog import DEFINITIONS, Asked, make
from projections.reports.filters import Filters
from projections.reports.model import Report
from projections.runner import catch_up
from tests.support import BEGUN, DEMO, Terminal, accepted, house


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    with closing(house(dsn)) as found:
        yield found


def made(conn: psycopg.Connection[Any], name: str, property_: str | None = None) -> Report:
    return make(conn, name, Asked(Filters(property=property_), worth.of_log(conn)))


def questioned(dsn: str) -> list[str]:
    """The stakes in question, review by review, in minor units."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        with conn.transaction():
            report = made(conn, "disputes")
            at = [column.key for column in report.shown].index("stake")
            return [str(row[at]) for row in report.rows()]


def test_what_is_in_question_is_what_is_at_stake_or_was_decided(rounds: Rounds, dsn: str) -> None:
    """Of three bets of 100 one is withdrawn, one lowered to 40 and one void: 40 are at stake, before the outcome and after."""
    table = Terminal()
    opened, *bets = table.open(), *(table.bet(spot) for spot in ("red", "black", "odd"))
    gone, less, void = (bet.event_id for bet in bets)
    accepted(rounds.post([opened, *bets, table.report(WithdrawBet(bet=gone)), table.report(ChangeBet(bet=less, stake="4000"))]))
    hold = [table.report(HoldRound(reason="dispute", bet=bet), by="S-7") for bet in (void, less)]
    accepted(rounds.post(hold))
    assert questioned(dsn) == ["100.00", "40.00"]
    accepted(rounds.post([table.report(ReleaseRound(hold=hold[0].event_id, finding="stands"), by="S-8")]))
    accepted(rounds.post([table.report(VoidBet(bet=void, reason="misplaced"), by="S-7")]))
    accepted(rounds.post([table.report(HoldRound(reason="dispute"), by="S-7")]))
    assert questioned(dsn) == ["0.00", "40.00", "40.00"]


def test_what_was_decided_is_in_question_whatever_came_of_it(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    accepted(rounds.post(table.whole_round([("red", "10000"), ("black", "3000")], "1")))
    accepted(rounds.post([table.report(HoldRound(reason="dispute"), by="S-7")]))
    assert questioned(dsn) == ["130.00"]


def test_the_heading_names_the_property_that_was_asked_for_alone(rounds: Rounds, dsn: str) -> None:
    rounds.apply_property(
        msgspec.structs.replace(DEMO, id="OTHER", name="Other House", tables=(Table("Z09", "B", "fantan", "MOP", "0.10"),)), BEGUN
    )
    with psycopg.connect(dsn, autocommit=True) as conn, conn.transaction():
        for name in (name for name, found in DEFINITIONS.items() if "property" in found.filters):
            assert made(conn, name, "OTHER").facts["property"] == "Other House (OTHER)", name
            assert made(conn, name).facts["property"] == f"{DEMO.name} (DEMO); Other House (OTHER)", name
            assert made(conn, name, "NONE").facts["property"] == "NONE", name
