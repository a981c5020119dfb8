"""The cage's side of a table against a real database: slips, their numbers, their postings, and who signs them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any, Literal
from uuid import UUID, uuid4

import psycopg
import pytest

from ledger.application import Rounds
from ledger.reports import (
    CancelSlip,
    ChipsOf,
    ConfirmSlip,
    CountChips,
    CountDrop,
    IssueColourChips,
    RecordCredit,
    RecordFill,
    Report,
    SlipKind,
    table_stream,
)
from projections.runner import catch_up
from tests.integration.reading_back import verify_read_back
from tests.support import Terminal, accepted, codes, house, post_in_turn

TRAY = (ChipsOf(value="10000", count=40), ChipsOf(value="100000", count=5))


@pytest.fixture(autouse=True)
def read_back(dsn: str) -> Iterator[None]:
    """Whatever was done in a test comes out of the read side as it should."""
    yield
    verify_read_back(dsn)


@pytest.fixture
def houses(dsn: str) -> Iterator[list[Rounds]]:
    """Two processes on one database."""
    both = [house(dsn), house(dsn)]
    yield both
    for each in both:
        each.close()


@pytest.fixture
def rounds(houses: list[Rounds]) -> Rounds:
    return houses[0]


class Slips:
    """The slips of a table, as a person writes and signs them."""

    def __init__(self, table: str = "R01", currency: str = "MOP") -> None:
        self.terminal = Terminal(table, currency=currency)
        self.said: dict[str, Any] = {"table": table, "currency": currency, "shift": "day"}
        self.number = 0

    def report(self, body: Any, by: str | None, **changes: Any) -> Report:
        return self.terminal.report(body, by=by, round=table_stream(self.terminal.table), **changes)

    def count(self, kind: Literal["opener", "closer"], *chips: tuple[int, int], by: str | None = "S-7", **more: Any) -> Report:
        return self.report(CountChips(kind=kind, **_chips(chips), **self.said | _of_the_body(more)), by, **_of_the_report(more))

    def fill(self, *chips: tuple[int, int], number: int | None = None, by: str | None = "C-1", **more: Any) -> Report:
        self.number += 1
        body = RecordFill(number=number or self.number, **_chips(chips), **self.said | _of_the_body(more))
        return self.report(body, by, **_of_the_report(more))

    def credit(self, *chips: tuple[int, int], number: int | None = None, by: str | None = "C-1", **more: Any) -> Report:
        self.number += 1
        body = RecordCredit(number=number or self.number, **_chips(chips), **self.said | _of_the_body(more))
        return self.report(body, by, **_of_the_report(more))

    def drop(self, cash: int, vouchers: int = 0, by: str | None = "C-1", **more: Any) -> Report:
        body = CountDrop(
            box="B-1", cash=str(cash), vouchers=str(vouchers), total=str(cash + vouchers), **self.said | _of_the_body(more)
        )
        return self.report(body, by, **_of_the_report(more))

    def confirm(self, slip: Report, by: str | None = "D-11", *, cancellation: bool = False, **changes: Any) -> Report:
        body = ConfirmSlip(table=self.terminal.table, slip=slip.event_id, kind=kind_of(slip), cancellation=cancellation)
        return self.report(body, by, **changes)

    def cancel(self, slip: Report, by: str | None = "S-7") -> Report:
        return self.report(
            CancelSlip(table=self.terminal.table, slip=slip.event_id, kind=kind_of(slip), reason="wrong_total"), by
        )


def _of_the_body(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if name != "received_at"}


def _of_the_report(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if name == "received_at"}


def _chips(chips: tuple[tuple[int, int], ...]) -> dict[str, Any]:
    return {
        "chips": tuple(ChipsOf(value=str(value), count=count) for value, count in chips),
        "total": str(sum(value * count for value, count in chips)),
    }


def kind_of(slip: Report) -> SlipKind:
    match slip.body:
        case CountChips():
            return slip.body.kind
        case RecordFill():
            return "fill"
        case RecordCredit():
            return "credit"
    return "drop"


def rows(dsn: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        return conn.execute(query.encode()).fetchall()


def balances(dsn: str) -> dict[str, int]:
    return {account: int(balance) for account, balance in rows(dsn, "SELECT account, balance FROM projection.balances")}


class TestADayOfATable:
    """Opener 50,000, fills 20,000, credits 5,000, drop 10,000, closer 48,000: by the counts the table lost 7,000."""

    def test_its_figures_are_those_of_the_formula(self, rounds: Rounds, dsn: str) -> None:
        slips = Slips()
        written = [
            slips.count("opener", (100_000, 50)),
            slips.fill((100_000, 20)),
            slips.credit((50_000, 10)),
            slips.count("closer", (100_000, 40), (10_000, 80)),
        ]
        accepted(rounds.post(written))
        assert balances(dsn) == {}, "nothing has moved before somebody else has signed"
        accepted(rounds.post([slips.confirm(slip) for slip in written]))
        box = slips.drop(900_000, 100_000)
        accepted(rounds.post([box, slips.confirm(box, by="C-2")]))
        assert rows(
            dsn, "SELECT opener, fills, credits, drop, closer, count_win, ledger_win, variance FROM projection.table_days"
        ) == [(5_000_000, 2_000_000, 500_000, 1_000_000, 4_800_000, -700_000, 0, -700_000)]
        assert balances(dsn) == {
            "cage/DEMO": -1_500_000,
            "float/R01": 700_000,
            "tray/R01": -200_000,
            "drop/R01": 1_000_000,
        }
        assert rows(dsn, "SELECT kind, status, written_by, confirmed_by FROM projection.drops") == [
            ("drop", "confirmed", "C-1", "C-2")
        ]
        assert rows(dsn, "SELECT value, count FROM projection.chips ORDER BY slip, value")

    def test_there_is_no_count_win_before_all_is_counted(self, rounds: Rounds, dsn: str) -> None:
        slips = Slips()
        opener, closer, box = slips.count("opener", (100, 1)), slips.count("closer"), slips.drop(0)
        seen = []
        for slip in (opener, closer, box):
            accepted(rounds.post([slip, slips.confirm(slip, by="C-2")]))
            seen += rows(dsn, "SELECT count_win, hold FROM projection.table_days")
        assert seen == [(None, None), (None, None), (-100, None)]


class TestSignatures:
    @pytest.mark.parametrize("kind", ["opener", "fill", "credit", "drop"])
    def test_it_takes_two_persons(self, rounds: Rounds, dsn: str, kind: str) -> None:
        slips = Slips()

        def write(by: str | None) -> Report:
            match kind:
                case "opener":
                    return slips.count("opener", (100, 3), by=by)
                case "fill":
                    return slips.fill((100, 3), by=by)
                case "credit":
                    return slips.credit((100, 3), by=by)
            return slips.drop(300, by=by)

        assert codes(rounds.post([write(None)])) == ["LGR-0801"]
        slip = write("C-1")
        answers = rounds.post([slip, slips.confirm(slip, by=None), slips.confirm(slip, by="C-1"), slips.confirm(slip, by="C-2")])
        assert codes(answers) == ["accepted", "LGR-0801", "LGR-0249", "accepted"]
        assert codes(rounds.post([slips.confirm(slip, by="C-3")])) == ["LGR-0263"]
        assert sum(balances(dsn).values()) == 0
        assert len(balances(dsn)) == 2

    def test_a_slip_that_nobody_has_signed_is_cancelled_by_one_person_and_moves_nothing(self, rounds: Rounds, dsn: str) -> None:
        slips = Slips()
        slip = slips.fill((100, 3))
        answers = rounds.post([slip, slips.cancel(slip, by="C-1"), slips.confirm(slip), slips.cancel(slip)])
        assert codes(answers) == ["accepted", "accepted", "LGR-0263", "LGR-0263"]
        assert balances(dsn) == {}
        assert rows(dsn, "SELECT status, number FROM projection.slips") == [("cancelled", 1)]

    def test_a_signed_slip_is_cancelled_by_two_persons_and_posted_back(self, rounds: Rounds, dsn: str) -> None:
        slips = Slips()
        slip = slips.fill((100, 3))
        accepted(rounds.post([slip, slips.confirm(slip), slips.cancel(slip)]))
        assert balances(dsn) == {"cage/DEMO": -300, "float/R01": 300}, "one person alone moves nothing back"
        answers = rounds.post(
            [
                slips.confirm(slip, by="S-8"),
                slips.confirm(slip, by="S-7", cancellation=True),
                slips.confirm(slip, by="C-1", cancellation=True),
            ]
        )
        assert codes(answers) == ["LGR-0263", "LGR-0249", "accepted"]
        assert balances(dsn) == {"cage/DEMO": 0, "float/R01": 0}
        assert rows(dsn, "SELECT fills FROM projection.table_days") == [(0,)]

    def test_whoever_signs_says_what_kind_of_slip_it_is(self, rounds: Rounds) -> None:
        slips = Slips()
        slip = slips.fill((100, 3))
        wrong = slips.report(ConfirmSlip(table="R01", slip=slip.event_id, kind="credit"), "D-11")
        unknown = slips.report(ConfirmSlip(table="R01", slip=uuid4(), kind="fill"), "D-11")
        assert codes(rounds.post([slip, wrong, unknown])) == ["accepted", "LGR-0262", "LGR-0262"]


class TestWhatASlipSays:
    def test_the_total_is_that_of_the_lines(self, rounds: Rounds) -> None:
        slips = Slips()
        wrong = [
            slips.report(RecordFill(number=1, chips=TRAY, total="1", **slips.said), "C-1"),
            slips.report(RecordFill(number=2, chips=(), total="0", **slips.said), "C-1"),
            slips.report(RecordFill(number=3, chips=(TRAY[0], TRAY[0]), total="800000", **slips.said), "C-1"),
            slips.report(CountDrop(box="B-1", cash="100", vouchers="50", total="149", **slips.said), "C-1"),
            slips.fill((100, 1), currency="HKD"),
            slips.fill((10**15, 2)),
            slips.drop(100, currency="XXX"),
        ]
        expected = ["LGR-0260"] * 4 + ["LGR-0264", "LGR-0104", "LGR-0105"]
        assert codes(rounds.post(wrong)) == expected
        assert codes(rounds.post([slips.count("opener"), slips.drop(5, currency="HKD")])) == ["accepted", "accepted"]

    def test_a_number_is_used_once_in_the_property_for_each_kind_at_whichever_table(self, houses: list[Rounds], dsn: str) -> None:
        here, there = Slips("R01"), Slips("R02", "HKD")
        accepted(houses[0].post([here.fill((100, 1), number=7), here.credit((100, 1), number=7)]))
        assert codes(post_in_turn(houses, 1, [there.fill((100, 1), number=7)])) == ["LGR-0261"]
        assert codes(houses[0].post([here.fill((100, 1), number=8), here.fill((100, 1), number=8)])) == ["accepted", "LGR-0261"]

    def test_of_two_processes_that_use_a_number_at_the_same_moment_one_has_it(self, houses: list[Rounds]) -> None:
        tables = Slips("R01"), Slips("R02", "HKD")
        for number in range(1, 16):
            both = [table.fill((100, 1), number=number) for table in tables]
            with ThreadPoolExecutor(2) as pool:
                answers = list(pool.map(lambda n, fill: post_in_turn(houses, n, [fill])[0], range(2), both))
            assert sorted(codes(answers)) == ["LGR-0261", "accepted"]

    def test_a_slip_sent_again_is_answered_as_before(self, rounds: Rounds) -> None:
        slips = Slips()
        slip = slips.fill((100, 1))
        yes = slips.confirm(slip)
        accepted(rounds.post([slip, yes]))
        assert codes(rounds.post([slip, yes])) == ["replayed", "replayed"]


class TestKindsOfChips:
    def test_an_unknown_kind_is_refused_and_each_goes_back_in_kind(self, rounds: Rounds, dsn: str) -> None:
        table = Terminal()
        bets = [table.open(), *(self._bet(table, chip) for chip in ("cash", "non_negotiable", "promotional", "value"))]
        answers = codes(rounds.post([*bets, table.close(), table.outcome("17")]))
        assert answers == ["accepted"] * 4 + ["LGR-0265"] + ["accepted"] * 2
        query = "SELECT chip, staked, lost, won, pushed, returned, prizes FROM projection.chip_kinds ORDER BY chip"
        assert rows(dsn, query) == [
            ("cash", 10_000, 10_000, 0, 0, 0, 0),
            ("non_negotiable", 10_000, 0, 10_000, 0, 10_000, 10_000),
            ("promotional", 10_000, 10_000, 0, 0, 0, 0),
        ]

    def _bet(self, table: Terminal, chip: str) -> Report:
        from ledger.reports import PlaceBet

        spot = "black" if chip == "non_negotiable" else "red"
        return table.report(PlaceBet(player="P-1", spot=spot, stake="10000", currency="MOP", chip=chip))

    def test_a_bet_in_colour_chips_that_are_not_on_record_is_taken_and_flagged(self, rounds: Rounds, dsn: str) -> None:
        from ledger.reports import PlaceBet

        table, slips = Terminal(), Slips()

        def bet(stake: str) -> Report:
            return table.report(PlaceBet(player="P-1", spot="red", stake=stake, currency="MOP", chip="colour"))

        issued = IssueColourChips(table="R01", player="P-1", colour="green", value="500", currency="MOP")
        accepted(rounds.post([table.open(), bet("1500"), slips.report(issued, None), bet("1500"), bet("1499")]))
        assert codes(rounds.post([slips.report(issued, None)])) == ["LGR-0222"]
        flags = "SELECT body->>'stake', body->'flags' FROM ledger.log WHERE topic = 'BetPlaced.v1' ORDER BY position"
        flagged = ["undeclared_colour"]
        assert rows(dsn, flags) == [("1500", flagged), ("1500", None), ("1499", flagged)]


def test_a_slip_names_the_day_of_the_property_s_clock(rounds: Rounds, dsn: str) -> None:
    slips = Slips()
    slip = slips.fill((100, 1))
    future = slips.fill((100, 1), gaming_day=date(9999, 1, 1))
    assert codes(rounds.post([slip, future])) == ["accepted", "LGR-0272"]
    day = rounds.properties()[0].gaming_day(slip.received_at)
    assert rows(dsn, "SELECT gaming_day, of_day, shift, property FROM projection.slips") == [(day, None, "day", "DEMO")]


def test_who_works_at_a_table_and_its_slips_share_its_stream(rounds: Rounds, dsn: str) -> None:
    from ledger.reports import SignOn

    slips = Slips()
    slip = slips.fill((100, 1))
    accepted(rounds.post([slips.report(SignOn(table="R01", person="D-11", role="dealer"), None), slip, slips.confirm(slip)]))
    stream: list[tuple[UUID]] = rows(dsn, "SELECT DISTINCT stream FROM ledger.log WHERE topic <> 'DocumentRecorded.v1'")
    assert stream == [(table_stream("R01"),)]
