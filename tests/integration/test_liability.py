"""What tables may still have to pay: the exposure is that of the limits, the escrow that of the books."""

from __future__ import annotations

import json

import msgspec
import psycopg
import pytest

from cli.main import run
from ledger.api.reader import SqlReader
from ledger.application.liability import Liability
from ledger.property import Property
from ledger.reports import WithdrawBet
from ledger.rules import regulation
from projections import queries
from projections.runner import catch_up
from tests.support import UNLIMITED, Terminal, accepted, codes, house


def limited(exposure: str, differential: str | None = None) -> Property:
    """The demo property, whose tables have these limits and no other."""
    tables = tuple(msgspec.structs.replace(table, exposure=exposure, differential=differential) for table in UNLIMITED.tables)
    return msgspec.structs.replace(UNLIMITED, tables=tables)


def asked(dsn: str, table: str) -> Liability:
    """As the door tells it, once the read side has caught up; the escrow is what the books have."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        held = sum(int(row.balance) for row in queries.balances(conn) if row.account == f"escrow/{table}")
    with SqlReader(dsn) as reader:
        [found] = reader.liabilities(table=table).tables
        assert found in reader.liabilities(table=None).tables
    assert int(found.escrow) == held
    return found


def worst_by_hand(bets: list[tuple[str, int]]) -> int:
    """Roulette: over each pocket, what would leave the table less all stakes."""
    rules = regulation("30/2003")
    spots = [(rules.spot_in_play(spot), stake) for spot, stake in bets]
    by_pocket = [
        sum(stake + int(stake * payoff.odds) for spot, stake in spots for payoff, slots in spot.winning if outcome.slot in slots)
        for outcome in rules.outcomes()
    ]
    return max(by_pocket) - sum(stake for _, stake in bets)


def test_bet_by_bet_the_exposure_is_the_worst_of_all_outcomes(dsn: str) -> None:
    rounds = house(dsn, UNLIMITED)
    table = Terminal()
    none = asked(dsn, "R01")
    assert (none.round, none.bets, none.stakes, none.exposure, none.limit) == (None, 0, "0", "0", None)
    accepted(rounds.post([table.open()]))
    lying: list[tuple[str, int]] = []
    for spot, stake in (("straight:17", 10000), ("red", 500000), ("split:17-20", 2500), ("black", 500000), ("straight:0", 700)):
        accepted(rounds.post([table.bet(spot, str(stake))]))
        lying.append((spot, stake))
        found = asked(dsn, "R01")
        assert found.round == table.round
        assert found.status == "open"
        assert (found.bets, int(found.stakes)) == (len(lying), sum(stake for _, stake in lying))
        assert found.escrow == found.stakes
        assert int(found.exposure) == worst_by_hand(lying)
        assert (found.limit, found.room) == (None, None)
    accepted(rounds.post([table.close()]))
    assert asked(dsn, "R01").status == "closed"
    accepted(rounds.post([table.outcome("17")]))
    assert asked(dsn, "R01") == none
    rounds.close()


def test_a_table_that_a_withdrawal_brings_above_its_limits_is_said_to_be(dsn: str) -> None:
    """Red and black hold each other; the player of black may take it back, and red stands."""
    rounds = house(dsn, limited("900.00", differential="500.00"))
    table = Terminal()
    opening = table.open()
    black, red, more = table.bet("black", "50000"), table.bet("red", "100000"), table.bet("black", "50000")
    accepted(rounds.post([opening, black, red, more]))
    assert asked(dsn, "R01").over is None
    accepted(rounds.post([table.report(WithdrawBet(bet=each.event_id)) for each in (black, more)]))
    assert asked(dsn, "R01").over == "exposure, differential"
    accepted(rounds.post([table.bet("black", "50000")]))
    assert asked(dsn, "R01").over is None
    rounds.close()


def test_the_room_is_what_the_limit_still_takes(dsn: str) -> None:
    """A bet that costs the house the room is taken, and one that costs it a cent more is not."""
    rounds = house(dsn, limited("1000.00"))
    table = Terminal()
    opening, taken = table.open(), table.bet("straight:17", "1000")
    accepted(rounds.post([opening, taken]))
    found = asked(dsn, "R01")
    assert (found.exposure, found.limit, found.room) == ("35000", "100000", "65000")
    assert codes(rounds.post([table.bet("straight:17", "1858")])) == ["LGR-0607"]
    accepted(rounds.post([table.bet("straight:17", "1857")]))
    assert asked(dsn, "R01").room == str(65000 - 1857 * 35)
    accepted(rounds.post([table.report(WithdrawBet(bet=taken.event_id))]))
    assert asked(dsn, "R01").exposure == str(1857 * 35)
    rounds.close()


def test_the_limit_is_that_of_the_rounds_own_configuration(dsn: str) -> None:
    rounds = house(dsn, limited("1000.00"))
    table = Terminal()
    accepted(rounds.post([table.open(), table.bet("red", "100")]))
    rounds.apply_property(limited("5000.00"))
    assert asked(dsn, "R01").limit == "100000"
    rounds.close()


def test_craps_between_two_throws_by_the_worst_continuation(dsn: str) -> None:
    tables = tuple(msgspec.structs.replace(each, game="craps") if each.id == "R01" else each for each in UNLIMITED.tables)
    rounds = house(dsn, msgspec.structs.replace(UNLIMITED, tables=tables))
    table = Terminal(game="craps")
    accepted(rounds.post([table.open(), table.bet("pass", "10000"), table.close(), table.throw("2-2")]))
    found = asked(dsn, table.table)
    assert (found.bets, found.stakes, found.exposure) == (1, "10000", "10000")
    rounds.close()


def test_the_command_shows_it_and_refuses_an_unknown_table(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LEDGER_DSN", dsn)
    rounds = house(dsn, limited("1000.00"))
    table = Terminal()
    accepted(rounds.post([table.open(), table.bet("straight:17", "1000")]))
    assert run(["tables", "R01", "--json"]) == 0
    [line] = json.loads(capsys.readouterr().out)["tables"]
    assert (line["stakes"], line["exposure"], line["room"]) == ("1000", "35000", "65000")
    assert run(["tables", "--csv"]) == 0
    assert "R01,roulette,30/2003,MOP" in capsys.readouterr().out
    assert run(["tables", "R99"]) == 2
    assert "error[LGR-0602]" in capsys.readouterr().err
    rounds.close()
