"""Reports of a closed day: what they say of it stays, whatever is corrected later; the day of posting has the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing as ending
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import psycopg
import pytest

from ledger import worth
from ledger.application import Rounds
from ledger.property import Table
from ledger.reports import Report
from projections.reports.catalog import DEFINITIONS, UNDECIDED, Asked, make
from projections.reports.filters import Filters
from projections.reports.model import plain
from projections.runner import catch_up
from tests.integration.test_cage import Slips
from tests.integration.test_days import DAY, NEXT, START, closing, put_right
from tests.support import UNLIMITED, Terminal, accepted, house

HOUSE = msgspec.structs.replace(
    UNLIMITED,
    tables=(
        *(table for table in UNLIMITED.tables if table.id == "R01"),
        Table("F01", "B", "fantan", "MOP", "0.10"),
        Table("X01", "B", "craps", "MOP", "0.01"),
    ),
)
TODAY = DAY + timedelta(1)
KEPT = ("master-game", "chances", "commission-breakage", "ggr")
"""The reports that say of a closed day what they said of it."""


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    with ending(house(dsn, HOUSE)) as found:
        yield found


def shown(dsn: str, name: str, day: date, **filters: Any) -> list[dict[str, str]]:
    """The rows of a report of one day, and its totals."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        with conn.transaction():
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            report = make(conn, name, Asked(Filters(first=day, last=day, **filters), worth.of_log(conn)))
            found = [*report.rows()]
            found += [total.values for total in report.totals]
    return [{column.key: plain(value) for column, value in zip(report.shown, row, strict=True)} for row in found]


def played(table: Terminal, bets: dict[str, str], shown: str, at: datetime = START) -> list[Report]:
    """A whole round, of the day that will be closed if no other is asked for, of bets as spot → stake."""
    opened = table.open(received_at=at)
    placed = [table.bet(spot, stake, received_at=at) for spot, stake in bets.items()]
    return [opened, *placed, table.close(received_at=at), table.outcome(shown, received_at=at)]


def correct_all(rounds: Rounds, roulette: list[Report], fantan: list[Report], dsn: str) -> None:
    """Closes the day, and then puts right all that a correction of a settled round can: more than once, and to and fro."""
    wheel, cup = Terminal(), Terminal("F01", "fantan")
    wheel.round, cup.round = roulette[0].round, fantan[0].round
    accepted(rounds.post([closing(dsn)]))
    accepted(rounds.post(put_right(cup, NEXT, kind="outcome", outcome="2")))
    accepted(rounds.post(put_right(cup, NEXT, kind="bet", bet=fantan[1].event_id, stake="30007")))
    accepted(rounds.post(put_right(cup, NEXT, kind="bet", bet=fantan[3].event_id, spot="fan:2")))
    accepted(rounds.post(put_right(cup, NEXT, kind="bet_void", bet=fantan[2].event_id)))
    accepted(rounds.post(put_right(wheel, NEXT, kind="bet", bet=roulette[1].event_id, stake="100")))
    accepted(rounds.post(put_right(wheel, NEXT, kind="return")))


def test_nothing_that_is_corrected_later_changes_what_they_say_of_the_closed_day(rounds: Rounds, dsn: str) -> None:
    roulette = played(Terminal(), {"red": "250000", "straight:17": "10000"}, "17")
    fantan = played(Terminal("F01", "fantan"), {"fan:1": "10007", "nim:1/3": "20001", "sshong:123": "5003"}, "1")
    accepted(rounds.post([*roulette, *fantan, *played(Terminal(), {"black": "700"}, "0")]))
    assert all(row["deviation"] for row in shown(dsn, "master-game", DAY))
    before = {name: shown(dsn, name, DAY) for name in KEPT}
    correct_all(rounds, roulette, fantan, dsn)
    for name in KEPT:
        assert shown(dsn, name, DAY) == before[name] != [], name


def test_what_corrections_add_to_commission_and_breakage_is_of_the_day_to_which_they_are_posted(rounds: Rounds, dsn: str) -> None:
    """Both days together come to the accounts of commission and breakage, to the avo."""
    roulette = played(Terminal(), {"red": "250000"}, "17")
    fantan = played(Terminal("F01", "fantan"), {"fan:1": "10007", "nim:1/3": "20001", "sshong:123": "5003"}, "1")
    accepted(rounds.post([*roulette, *fantan]))
    correct_all(rounds, roulette, fantan, dsn)
    closed, today = (shown(dsn, "commission-breakage", day, table="F01")[-1] for day in (DAY, TODAY))
    with psycopg.connect(dsn) as conn:
        balances = {
            account: balance for account, balance in conn.execute("SELECT account, balance FROM report.balances") if balance
        }
    for name in ("commission", "breakage"):
        assert Decimal(today[f"earlier_{name}"]) != 0
        assert Decimal(closed[name]) + Decimal(today[f"earlier_{name}"]) == balances[f"{name}/F01"]
        assert (closed[f"earlier_{name}"], today[name]) == ("0.00", "0.00")
    kept = [Decimal(today[f"earlier_{name}"]) for name in ("gross_prizes", "commission", "breakage", "prizes")]
    assert kept[0] - kept[1] - kept[2] == kept[3]
    assert today["paid_bets"] == "0"


OF_THE_DAY = ("rounds", "bets", "drop", "hold_percent", "handle", "win_percent", "theoretical_win", "deviation", "z")
"""Figures of a day's own bets and of what was counted of it."""


def test_what_is_posted_to_a_day_from_another_is_in_no_statistic_of_its_own_bets(rounds: Rounds, dsn: str) -> None:
    """Far more is corrected of the day before than is bet: z, win % and hold % stay those of today, in totals too."""
    roulette = played(Terminal(), {"red": "250000"}, "17")
    fantan = played(Terminal("F01", "fantan"), {"fan:1": "10007", "nim:1/3": "20001", "sshong:123": "5003"}, "1")
    accepted(rounds.post([*roulette, *fantan]))
    accepted(rounds.post(played(Terminal(), {"red": "1000", "black": "950"}, "17", NEXT)))
    slips = Slips()
    drop = slips.drop(50000, received_at=NEXT)
    accepted(rounds.post([drop, msgspec.structs.replace(slips.confirm(drop, "C-2"), received_at=NEXT)]))
    before = {name: shown(dsn, name, TODAY, table="R01") for name in ("master-game", "chances")}
    correct_all(rounds, roulette, fantan, dsn)
    for name, was in before.items():
        now = shown(dsn, name, TODAY, table="R01")
        assert now != was
        known = {tuple(row.get(key) for key in ("table", "chance", "currency")): row for row in now}
        for row in was:
            found = known[tuple(row.get(key) for key in ("table", "chance", "currency"))]
            told = [key for key in OF_THE_DAY if key in row]
            assert {key: found[key] for key in told} == {key: row[key] for key in told}, name
    line = before["master-game"][0]
    assert all(line[key] for key in OF_THE_DAY), line


def test_the_slips_of_a_day_come_to_what_was_counted_of_it(rounds: Rounds, dsn: str) -> None:
    """Signed in time, late or never; posted back on the same day, on a later one, or asked to be: each day adds up."""
    slips = Slips()

    def at(moment: datetime, *reports: Report) -> None:
        accepted(rounds.post([msgspec.structs.replace(each, received_at=moment) for each in reports]))

    box, fill, credit, same, late, never, asked = (
        slips.drop(1_000_050),
        slips.fill((100, 7)),
        slips.credit((100, 11)),
        slips.fill((100, 13)),
        slips.fill((100, 17)),
        slips.fill((100, 19)),
        slips.credit((100, 23)),
    )
    at(START, box, slips.confirm(box, "C-2"), fill, slips.confirm(fill), credit, slips.confirm(credit), same, slips.confirm(same))
    at(START, slips.cancel(same), slips.confirm(same, "C-1", cancellation=True), late, never, asked, slips.confirm(asked))
    accepted(rounds.post([closing(dsn)]))
    again = slips.drop(960_000)
    at(NEXT, slips.cancel(box), slips.confirm(box, "C-2", cancellation=True), again, slips.confirm(again, "C-2"))
    at(NEXT, slips.cancel(fill), slips.confirm(fill, "C-1", cancellation=True), slips.confirm(late), slips.cancel(asked))
    kinds = {"drop": "drop", "fill": "fills", "credit": "credits"}
    for day in (DAY, TODAY):
        (line, *_) = shown(dsn, "master-game", day)
        listed = shown(dsn, "slips", day)
        for kind, key in kinds.items():
            posted = sum((Decimal(row["posted"]) for row in listed if row["kind"] == kind), Decimal(0))
            assert posted == Decimal(line[key]), (day, kind)
        assert {row["gaming_day"] for row in listed} == {day.isoformat()}
    assert Decimal(shown(dsn, "master-game", TODAY)[0]["drop"]) == Decimal("-400.50")
    numbers = {row["number"] for day in (DAY, TODAY) for row in shown(dsn, "slips", day) if row["kind"] != "drop"}
    assert numbers == {str(n) for n in range(1, slips.number + 1)}


def test_hold_is_of_a_drop_above_zero_and_in_the_currency_of_the_table(rounds: Rounds, dsn: str) -> None:
    """A box of another currency has no hold, and takes none from the totals; nor has a day on which a drop was posted back."""
    accepted(rounds.post(played(Terminal(), {"black": "10000"}, "1")))
    local, other = Slips(), Slips(currency="HKD")
    boxes = local.drop(40_000), other.drop(7_000)
    for slips, box in zip((local, other), boxes, strict=True):
        signed = slips.confirm(box, "C-2")
        accepted(rounds.post([msgspec.structs.replace(each, received_at=START) for each in (box, signed)]))
    held = [(row["currency"], row["drop"], row["hold_percent"]) for row in shown(dsn, "master-game", DAY)]
    assert held == [("HKD", "70.00", ""), ("MOP", "400.00", "25.00")] * 2
    accepted(rounds.post([closing(dsn), *played(Terminal(), {"black": "10000"}, "1", NEXT)]))
    back = [local.cancel(boxes[0]), local.confirm(boxes[0], "C-2", cancellation=True)]
    accepted(rounds.post([msgspec.structs.replace(each, received_at=NEXT) for each in back]))
    held = [(row["currency"], row["drop"], row["hold_percent"]) for row in shown(dsn, "master-game", TODAY)]
    assert held == [("MOP", "-400.00", "")] * 2


def test_what_each_chance_won_over_all_days_is_what_the_bets_on_it_say_now(rounds: Rounds, dsn: str) -> None:
    """A bet that is moved to another chance takes its win along, on the day of posting; the closed day has no new line."""
    wheel, cup, dice = Terminal(), Terminal("F01", "fantan"), Terminal("X01", "craps")
    roulette = played(wheel, {"red": "250000", "straight:17": "10000", "even": "300"}, "17")
    fantan = played(cup, {"fan:1": "10007", "nim:1/3": "20001", "kuoc:12": "5003"}, "1")
    opened, placed = dice.open(received_at=START), dice.bet("pass", "1000", received_at=START)
    throws = [dice.close(received_at=START), dice.throw("3-4", received_at=START)]
    accepted(rounds.post([*roulette, *fantan, opened, placed, *throws]))
    accepted(rounds.post([closing(dsn)]))
    before = shown(dsn, "chances", DAY)
    moves = [
        (wheel, roulette[1], "odd"),
        (wheel, roulette[2], "straight:5"),
        (cup, fantan[2], "sshong:123"),
        (cup, fantan[3], "nga:12/4"),
    ]
    for table, bet, spot in [*moves, (wheel, roulette[1], "dozen:3")]:
        accepted(rounds.post(put_right(table, NEXT, kind="bet", bet=bet.event_id, spot=spot)))
    accepted(rounds.post(put_right(cup, NEXT, kind="bet_void", bet=fantan[1].event_id)))
    assert shown(dsn, "chances", DAY) == before
    won: dict[str, Decimal] = {}
    for row in before[:-1] + shown(dsn, "chances", TODAY)[:-1]:
        assert Decimal(row["win"]) or Decimal(row["handle"]) or Decimal(row["pushed"]), f"a line of nothing: {row}"
        won[row["chance"]] = won.get(row["chance"], Decimal(0)) + Decimal(row["win"])
    with psycopg.connect(dsn) as conn:
        said = conn.execute("SELECT chance, sum(house_result) FROM report.bets GROUP BY chance HAVING sum(house_result) <> 0")
        assert {chance: win for chance, win in won.items() if win} == dict(said.fetchall())


def test_a_void_of_what_was_decided_is_said_to_be_in_the_register_of_corrections(rounds: Rounds, dsn: str) -> None:
    """Both kinds: what the one register does not have, the other has, and the first says so."""
    wheel = Terminal()
    for kind in ("return", "bet_void"):
        reports = played(wheel, {"red": "10000"}, "2")
        accepted(rounds.post(reports))
        accepted(rounds.post(put_right(wheel, START, kind=kind, bet=reports[1].event_id if kind == "bet_void" else None)))
    voids, corrections = shown(dsn, "voids", DAY), shown(dsn, "corrections", DAY)
    assert [(row["what"], row["stakes"]) for row in voids[:-1]] == [("round", "0.00")]
    assert [(row["kind"], row["to_players"]) for row in corrections[:-1]] == [("return", "100.00"), ("bet_void", "100.00")]
    assert UNDECIDED in DEFINITIONS["voids"].notes
