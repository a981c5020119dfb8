"""The whole life of a round against a real database: carried bets, throws, late bets, people, reviews; and every retry."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import msgspec
import psycopg
import pytest

from ledger.application import Rounds
from ledger.errors import Refusal
from ledger.events import (
    BetPlaced,
    BetsCarried,
    Event,
    PayoutMade,
    RoundOpened,
    RoundSettled,
    RoundVoided,
    StaffSignedOff,
    StaffSignedOn,
    ThrowRecorded,
)
from ledger.property import Choice, Person, Table
from ledger.reports import (
    ApproveCorrection,
    ChangeBet,
    ChangeShooter,
    HoldRound,
    ProposeCorrection,
    RecordLateBet,
    ReleaseRound,
    ReopenBetting,
    Report,
    RestoreChips,
    SignOff,
    SignOn,
    VoidBet,
    VoidRound,
    WithdrawBet,
    table_stream,
)
from ledger.round import Round, Status
from ledger.round.state import RoundState
from ledger.store import log
from tests.integration.reading_back import verify_read_back
from tests.support import DEMO, Terminal, accepted, codes, post_in_turn

CRAPS = Table(id="X01", pit="B", game="craps", currency="MOP", payable_unit="0.01")
HOUSE = msgspec.structs.replace(
    DEMO,
    tables=(*DEMO.tables, CRAPS),
    choices=(*DEMO.choices, Choice(regulation="53/2010", unverified_bets=True)),
    people=(
        Person(id="D-1", roles=("dealer",)),
        Person(id="D-2", roles=("dealer",)),
        Person(id="S-1", roles=("supervisor", "auditor")),
    ),
)


@pytest.fixture(autouse=True)
def read_back(dsn: str) -> Iterator[None]:
    """Whatever was played in a test comes out of the read side as it should."""
    yield
    verify_read_back(dsn)


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    with_house = Rounds(dsn)
    with_house.apply_property(HOUSE)
    yield with_house
    with_house.close()


def cussec() -> Terminal:
    return Terminal("C01", "cussec")


def craps() -> Terminal:
    return Terminal("X01", "craps")


def bodies(dsn: str, stream: UUID) -> list[Event]:
    with psycopg.connect(dsn) as conn:
        return [recorded.body for recorded in log.stream(conn, stream)]


def open_rounds(dsn: str) -> dict[str, UUID]:
    with psycopg.connect(dsn) as conn:
        return dict(conn.execute("SELECT table_id, round FROM ledger.open_rounds").fetchall())


def void(table: Terminal, successor: UUID | None = None, reason: str = "bridged_dice") -> Report:
    return table.report(VoidRound(reason=reason, successor=successor))


def numbered(table: Terminal, sequence: int, report: Report) -> Report:
    return msgspec.structs.replace(report, sequence=sequence)


def in_memory(rounds: Rounds, round_: UUID) -> dict[str, str]:
    return said(rounds._memory.round(round_))


def said(round_: Round) -> dict[str, str]:
    counted_by_need = {"limits", "book", "booked"}
    return {name: repr(getattr(round_, name)) for name in RoundState.__slots__ if name not in counted_by_need}


def test_31_2003_art_3_3_a_chain_of_void_rounds_counts_its_stakes_once(rounds: Rounds, dsn: str) -> None:
    """The whole chain by reports: each void names its successor; in the end one handle, one payout, one table that is free."""
    table = cussec()
    reports = [table.open(), table.bet("small"), table.bet("total:6", "5000", "P-2"), table.close()]
    streams = [table.round]
    for _ in range(3):
        following = uuid4()
        reports.append(void(table, following))
        table.round = following
        streams.append(following)
        reports += [table.bet("big", "100"), table.close()]
    reports.append(table.outcome("1-2-3"))
    before = [accepted(rounds.post([report]))[0] for report in reports[:-1]]
    memory = in_memory(rounds, table.round)
    assert memory == said(rounds.round(table.round))
    assert open_rounds(dsn) == {"C01": table.round}
    before += accepted(rounds.post(reports[-1:]))
    assert open_rounds(dsn) == {}
    settled = [event for stream in streams for event in bodies(dsn, stream) if isinstance(event, RoundSettled)]
    assert [(each.bets, each.handle, each.returned) for each in settled] == [(5, "15300", "95000")]
    kinds = [[type(event) for event in bodies(dsn, stream)] for stream in streams]
    assert [kind[:2] for kind in kinds[1:]] == [[RoundOpened, BetsCarried]] * 3
    assert [kind[-1] for kind in kinds] == [RoundVoided] * 3 + [RoundSettled]
    assert [rounds.round(stream).status for stream in streams] == [Status.CARRIED] * 3 + [Status.SETTLED]
    # Every report again, to this process and to another: the same positions, and nothing more in the log.
    other = Rounds(dsn)
    for process in (rounds, other):
        again = process.post(reports)
        assert [verdict.status for verdict in again] == ["replayed"] * len(reports)
        assert [verdict.positions for verdict in again] == [verdict.positions for verdict in before]
    other.close()


def test_a_whole_chain_in_one_group_leaves_the_table_free(rounds: Rounds, dsn: str) -> None:
    table = cussec()
    first = [table.open(), table.bet("small"), table.close()]
    second = uuid4()
    first.append(void(table, second))
    table.round = second
    verdicts = accepted(rounds.post([*first, table.close(), table.outcome("1-2-3")]))
    assert len(verdicts[3].positions) == 3
    assert open_rounds(dsn) == {}
    accepted(rounds.post([table.open(), table.close(), table.outcome("1-2-3")]))


def test_the_positions_of_a_report_over_two_rounds_are_its_own_whoever_writes_beside_it(rounds: Rounds, dsn: str) -> None:
    table, other = cussec(), Terminal()
    accepted(rounds.post([table.open(), table.bet("small"), table.close(), other.open()]))
    report = void(table, uuid4())
    # In one group with the events of others, and with more events of both rounds behind it.
    verdicts = accepted(rounds.post([other.bet("red"), report, other.bet("red"), other.close()]))
    assert isinstance(report.body, VoidRound)
    assert report.body.successor is not None
    accepted(rounds.post([table.bet("big", round=report.body.successor), other.outcome("17")]))
    [again] = rounds.post([report])
    assert (again.status, again.positions) == ("replayed", verdicts[1].positions)
    with psycopg.connect(dsn) as conn:
        read = {recorded.position: recorded.body for recorded in log.read_all(conn)}
    assert [type(read[position]) for position in again.positions] == [RoundVoided, RoundOpened, BetsCarried]


def test_the_next_round_cannot_open_beside_the_successor(rounds: Rounds, dsn: str) -> None:
    table = cussec()
    accepted(rounds.post([table.open(), table.bet("small"), table.close()]))
    voided, following = table.round, uuid4()
    accepted(rounds.post([void(table, following)]))
    assert codes(rounds.post([table.open()])) == ["LGR-0201"]
    assert open_rounds(dsn) == {"C01": following}
    table.round = voided
    assert codes(rounds.post([table.outcome("1-2-3"), void(table, uuid4()), table.bet("big")])) == [
        "LGR-0223",
        "LGR-0223",
        "LGR-0210",
    ]


def test_a_successor_s_id_is_new(rounds: Rounds, dsn: str) -> None:
    old, table = Terminal(), cussec()
    accepted(rounds.post([*old.whole_round([], "0"), table.open(), table.bet("small"), table.close()]))
    for taken, code in ((old.round, "LGR-0203"), (table_stream("C01"), "LGR-0108")):
        [verdict] = rounds.post([void(table, taken)])
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.field) == (code, "data.successor")
    assert codes(rounds.post([void(table, table.round), void(table)])) == ["LGR-0216", "LGR-0216"]
    assert rounds.round(table.round).status is Status.CLOSED
    accepted(rounds.post([void(table, uuid4())]))


def test_an_append_over_two_rounds_is_whole_or_not_at_all(rounds: Rounds, dsn: str) -> None:
    """The connection is killed within the append, when the first of its two rounds is written already."""
    table = cussec()
    accepted(rounds.post([table.open(), table.bet("small"), table.close()]))
    report = void(table, uuid4())
    before = bodies(dsn, table.round)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NEW; END $$"
        )
        conn.execute(
            "CREATE TRIGGER cut BEFORE INSERT ON ledger.events FOR EACH ROW "
            "WHEN (NEW.topic = 'BetsCarried.v1') EXECUTE FUNCTION cut()"
        )
        with pytest.raises(Refusal) as caught:
            rounds.post([report])
        assert caught.value.code == "LGR-0501"
        assert bodies(dsn, table.round) == before
        assert open_rounds(dsn) == {"C01": table.round}
        conn.execute("DROP TRIGGER cut ON ledger.events")
    [verdict] = accepted(rounds.post([report]))
    assert len(verdict.positions) == 3
    assert open_rounds(dsn) == {"C01": report.body.successor}  # type: ignore[union-attr]


def test_two_processes_of_which_one_remembers_the_round_before_it_was_void(dsn: str, rounds: Rounds) -> None:
    other = Rounds(dsn, lease_idle=0.0)
    first = Rounds(dsn, lease_idle=0.0)
    houses = [first, other]
    for each in houses:
        each.apply_property(HOUSE)
    table = cussec()
    accepted(post_in_turn(houses, 0, [table.open(), table.bet("small")]))
    accepted(post_in_turn(houses, 1, [table.close()]))
    following = uuid4()
    accepted(post_in_turn(houses, 0, [void(table, following)]))
    assert codes(post_in_turn(houses, 1, [table.outcome("1-2-3")])) == ["LGR-0223"]
    table.round = following
    accepted(post_in_turn(houses, 1, [table.bet("big", "100"), table.close()]))
    accepted(post_in_turn(houses, 0, [table.outcome("1-2-3")]))
    [settled] = [event for event in bodies(dsn, following) if isinstance(event, RoundSettled)]
    assert (settled.bets, settled.handle) == (2, "10100")
    for each in houses:
        each.close()


class TestLateBets:
    def test_b24_placed_in_time_and_received_after_the_settlement_it_waits_for_a_correction(
        self, rounds: Rounds, dsn: str
    ) -> None:
        table = Terminal()
        accepted(rounds.post([numbered(table, 1, table.open()), numbered(table, 3, table.close())]))
        late, past = numbered(table, 2, table.bet("straight:17")), numbered(table, 4, table.bet("red"))
        accepted(rounds.post([table.outcome("17"), late]))
        assert codes(rounds.post([past, past, late])) == ["LGR-0210", "LGR-0210", "replayed"]
        round_ = rounds.round(table.round)
        assert [(bet.late, bet.result) for bet in round_.bets.values()] == [(True, "open")]
        assert open_rounds(dsn) == {}

    @pytest.mark.parametrize("settled", [False, True])
    def test_31_2003_art_3_3_one_for_a_void_round_goes_on_to_where_the_others_are(
        self, rounds: Rounds, dsn: str, settled: bool
    ) -> None:
        table = cussec()
        accepted(rounds.post([table.open(), numbered(table, 4, table.close())]))
        late = numbered(table, 3, table.bet("small"))
        for _ in range(2):
            following = uuid4()
            accepted(rounds.post([void(table, following)]))
            table.round = following
            accepted(rounds.post([table.close()]))
        if settled:
            accepted(rounds.post([table.outcome("1-2-3")]))
        [verdict] = accepted(rounds.post([late]))
        placed, carried = bodies(dsn, late.round)[-1], bodies(dsn, table.round)[-1]
        assert isinstance(placed, BetPlaced)
        assert isinstance(carried, BetsCarried)
        assert (placed.late, carried.from_round, carried.locked) == (True, late.round, True)
        assert len(verdict.positions) == 2
        assert rounds.post([late])[0].positions == verdict.positions
        if not settled:
            accepted(rounds.post([table.outcome("1-2-3")]))
        bet = rounds.round(table.round).bets[late.event_id]
        assert (bet.result, bet.late, bet.locked) == ("open" if settled else "won", settled, True)

    def test_chips_that_came_too_late_are_on_record_by_a_person(self, rounds: Rounds) -> None:
        table = Terminal()
        accepted(rounds.post([table.open(), table.close()]))
        report = table.report(RecordLateBet(player="P-1", spot="red", stake="100", currency="MOP"))
        assert codes(rounds.post([report])) == ["LGR-0801"]
        # The same report with proof of who sent it: the first answer burnt nothing.
        accepted(rounds.post([msgspec.structs.replace(report, by="S-1")]))


class TestCraps:
    def test_53_2010_a_round_throw_by_throw(self, rounds: Rounds, dsn: str) -> None:
        table = craps()
        accepted(rounds.post([table.open(), line := table.bet("pass"), table.report(ChangeShooter(shooter="P-1"))]))
        reopen = table.report(ReopenBetting())
        assert codes(rounds.post([table.throw("4-2"), reopen])) == ["LGR-0205", "LGR-0221"]
        accepted(rounds.post([table.close(), table.throw("4-2"), table.throw(void="not_rolled"), table.report(ReopenBetting())]))
        assert codes(rounds.post([table.bet("pass"), table.report(WithdrawBet(bet=line.event_id))])) == ["LGR-0408", "LGR-0214"]
        odds = table.bet("pass_odds")
        accepted(rounds.post([odds, table.report(ChangeBet(bet=odds.event_id, stake="20000"))]))
        assert in_memory(rounds, table.round) == said(rounds.round(table.round))
        last = table.throw("3-3")
        accepted(rounds.post([table.close(), last]))
        events = bodies(dsn, table.round)
        assert [event.returned for event in events if isinstance(event, PayoutMade)] == ["20000", "44000"]
        assert sum(isinstance(event, ThrowRecorded) for event in events) == 3
        assert open_rounds(dsn) == {}
        assert codes(rounds.post([last, table.throw("3-3")])) == ["replayed", "LGR-0206"]

    def test_bets_that_outlive_a_round_are_in_the_next_one(self, rounds: Rounds, dsn: str) -> None:
        table = craps()
        accepted(rounds.post([table.open(), table.bet("pass"), table.close(), table.throw("5-5")]))
        place = table.bet("place:6", "6000")
        accepted(rounds.post([table.report(ReopenBetting()), place, table.close()]))
        decided = table.throw("4-6")
        assert codes(rounds.post([decided])) == ["LGR-0216"]
        following = uuid4()
        with_successor = table.throw("4-6", successor=following, event_id=decided.event_id)
        [verdict] = accepted(rounds.post([with_successor]))
        assert rounds.post([with_successor])[0].positions == verdict.positions
        assert len(verdict.positions) == 5
        assert open_rounds(dsn) == {"X01": following}
        table.round = following
        accepted(
            rounds.post([table.bet("pass"), table.report(WithdrawBet(bet=place.event_id)), table.close(), table.throw("6-5")])
        )
        [settled] = [event for event in bodies(dsn, following) if isinstance(event, RoundSettled)]
        assert (settled.bets, settled.handle) == (1, "10000")


class TestPeople:
    def sign(self, cls: Any, person: str, role: str = "dealer", table: str = "R01") -> Report:
        terminal = Terminal(table)
        return terminal.report(cls(table=table, person=person, role=role), round=table_stream(table))

    def test_a_round_knows_who_works_at_its_table(self, rounds: Rounds, dsn: str) -> None:
        table = Terminal()
        reports = [self.sign(SignOn, "D-1"), self.sign(SignOn, "S-1", "supervisor"), self.sign(SignOn, "D-2")]
        verdicts = accepted(rounds.post(reports))
        assert [len(verdict.positions) for verdict in verdicts] == [1, 1, 2]
        accepted(rounds.post(table.whole_round([], "0")))
        accepted(rounds.post([self.sign(SignOff, "D-2")]))
        said_so = msgspec.structs.replace(table.open().body, dealer="D-1")
        accepted(rounds.post([table.report(said_so)]))
        opened = [event for event in (bodies(dsn, table.round)[0],) if isinstance(event, RoundOpened)]
        assert [(event.dealer, event.supervisor) for event in opened] == [("D-1", "S-1")]
        stream = bodies(dsn, table_stream("R01"))
        assert [(type(event), event.person) for event in stream if isinstance(event, StaffSignedOn | StaffSignedOff)] == [
            (StaffSignedOn, "D-1"),
            (StaffSignedOn, "S-1"),
            (StaffSignedOff, "D-1"),
            (StaffSignedOn, "D-2"),
            (StaffSignedOff, "D-2"),
        ]
        assert codes(rounds.post(reports)) == ["replayed"] * 3
        assert rounds.post(reports)[2].positions == verdicts[2].positions

    def test_so_does_a_process_that_takes_the_table_over(self, dsn: str) -> None:
        houses = [Rounds(dsn, lease_idle=0.0), Rounds(dsn, lease_idle=0.0)]
        for each in houses:
            each.apply_property(HOUSE)
        table = cussec()
        accepted(post_in_turn(houses, 0, [self.sign(SignOn, "D-1", table="C01")]))
        accepted(post_in_turn(houses, 1, [table.open(), table.bet("small"), table.close()]))
        accepted(post_in_turn(houses, 1, [self.sign(SignOn, "D-2", table="C01")]))
        following = uuid4()
        accepted(post_in_turn(houses, 0, [void(table, following)]))
        opened = [bodies(dsn, stream)[0] for stream in (table.round, following)]
        assert [event.dealer for event in opened if isinstance(event, RoundOpened)] == ["D-1", "D-2"]
        for each in houses:
            each.close()

    @pytest.mark.parametrize(
        ("person", "role"),
        [("D-9", "dealer"), ("S-9", "supervisor"), ("D-1", "supervisor"), ("S-1", "dealer"), ("P-1", "dealer")],
    )
    def test_whom_the_property_does_not_know_so_does_not_sign_on(self, rounds: Rounds, dsn: str, person: str, role: str) -> None:
        said = self.sign(SignOn, person, role)
        [verdict] = rounds.post([said])
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.field, verdict.refusal.value) == ("LGR-0610", "data.person", person)
        assert bodies(dsn, table_stream("R01")) == []

    @pytest.mark.parametrize(
        ("role", "person"),
        [("dealer", "D-9"), ("supervisor", "S-9"), ("supervisor", "D-1"), ("dealer", "S-1"), ("dealer", "P-1")],
    )
    def test_nor_does_an_opening_name_them(self, rounds: Rounds, dsn: str, role: str, person: str) -> None:
        table = Terminal()
        [verdict] = rounds.post([table.report(msgspec.structs.replace(table.open().body, **{role: person}))])
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.field, verdict.refusal.value) == ("LGR-0610", f"data.{role}", person)
        assert bodies(dsn, table.round) == []

    def test_an_opening_names_whom_another_process_has_declared_or_who_is_signed_on_still(self, rounds: Rounds, dsn: str) -> None:
        accepted(rounds.post([self.sign(SignOn, "D-1")]))
        other = Rounds(dsn)
        other.apply_property(msgspec.structs.replace(HOUSE, people=(Person(id="S-3", roles=("supervisor",)),)))
        other.close()
        table = Terminal()
        accepted(rounds.post([table.report(msgspec.structs.replace(table.open().body, dealer="D-1", supervisor="S-3"))]))

    def test_whom_another_process_has_just_declared_signs_on_and_whom_it_removed_signs_off(
        self, rounds: Rounds, dsn: str
    ) -> None:
        accepted(rounds.post([self.sign(SignOn, "D-1")]))
        other = Rounds(dsn)
        other.apply_property(msgspec.structs.replace(HOUSE, people=(Person(id="D-3", roles=("dealer",)),)))
        other.close()
        assert codes(rounds.post([self.sign(SignOn, "D-2")])) == ["LGR-0610"]
        assert codes(rounds.post([self.sign(SignOff, "D-1"), self.sign(SignOn, "D-3")])) == ["accepted"] * 2

    def test_what_cannot_be_is_refused(self, rounds: Rounds) -> None:
        accepted(rounds.post([self.sign(SignOn, "D-1")]))
        elsewhere = msgspec.structs.replace(self.sign(SignOn, "D-1"), round=uuid4(), event_id=uuid4())
        reports = [self.sign(SignOn, "D-1"), self.sign(SignOff, "D-2"), self.sign(SignOn, "D-1", table="R99"), elsewhere]
        assert codes(rounds.post(reports)) == ["LGR-0222", "LGR-0227", "LGR-0602", "LGR-0108"]
        # A table's own stream is no round, and no round can have its id.
        table = Terminal()
        assert codes(rounds.post([table.bet("red", round=table_stream("R01"))])) == ["LGR-0202"]
        table.round = table_stream("R02")
        assert codes(rounds.post([table.report(table.open().body, round=table_stream("R02"))])) == ["LGR-0108"]


def corrected(rounds: Rounds, table: Terminal, kind: str, **asked: Any) -> None:
    """Proposed by one person and approved by another."""
    body: Any = ProposeCorrection(kind=kind, reason="house", **asked)  # type: ignore[arg-type]
    proposed = table.report(body, by="S-1")
    accepted(rounds.post([proposed, table.report(ApproveCorrection(correction=proposed.event_id), by="S-2")]))


@pytest.mark.parametrize("end", ["open", "closed", "settled", "returned before the close", "returned", "returned when settled"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_31_2003_art_3_3_a_late_bet_follows_its_chain_to_its_end(rounds: Rounds, dsn: str, depth: int, end: str) -> None:
    """Whatever has become of the rounds after it, nothing of it stays in escrow for ever."""
    table = cussec()
    accepted(rounds.post([table.open(sequence=1), table.close(sequence=3)]))
    late = table.bet("small", sequence=2)
    for nth in range(depth):
        following = uuid4()
        accepted(rounds.post([void(table, following)]))
        table.round = following
        if nth < depth - 1:
            accepted(rounds.post([table.close()]))
    if end not in ("open", "returned before the close"):
        accepted(rounds.post([table.close()]))
    if end in ("settled", "returned when settled"):
        accepted(rounds.post([table.outcome("1-2-3")]))
    if end.startswith("returned"):
        corrected(rounds, table, "return")
        [verdict] = rounds.post([late])
        assert codes([verdict]) == codes(rounds.post([late])) == ["LGR-0223"]
        assert str(table.round) in str(verdict.refusal)
        assert late.event_id not in rounds.round(late.round).gone
    else:
        accepted(rounds.post([late]))
        if end == "settled":
            corrected(rounds, table, "late_bet", bet=late.event_id)
        else:
            accepted(rounds.post([*([table.close()] if end == "open" else []), table.outcome("1-2-3")]))
        assert rounds.round(table.round).bets[late.event_id].result == "won"
    assert not any(rounds.round(id).open_bets for id in (late.round, table.round))
    assert open_rounds(dsn) == {}


def test_a_life_with_every_other_report(rounds: Rounds, dsn: str) -> None:
    """30/2003 art. 2(2) and 5(3), a bet declared void, a review: each accepted once and replayed for ever."""
    table = Terminal()
    opening = table.open()
    bet, wrong = table.bet("straight:17"), table.bet("red")
    hold = table.report(HoldRound(reason="dispute"), by="S-1")
    reports = [
        opening,
        bet,
        wrong,
        table.report(VoidBet(bet=wrong.event_id, reason="miskeyed"), by="S-1"),
        table.close(),
        void(table, reason="golpe_nulo"),
        void(table, reason="golpe_nulo"),
        hold,
        table.report(ReleaseRound(hold=hold.event_id, finding="stands"), by="S-2"),
        table.outcome("17"),
        table.report(RestoreChips(restored_by="S-1", source="surveillance", bets=(bet.event_id,))),
    ]
    before = [accepted(rounds.post([report]))[0].positions for report in reports]
    assert codes(rounds.post([table.report(RestoreChips(restored_by="S-9", source="ledger"))])) == ["LGR-0610"]
    assert [verdict.positions for verdict in rounds.post(reports)] == before
    round_ = rounds.round(table.round)
    assert (round_.launches, round_.taken, round_.returned) == (2, 20000, 20000)
    assert [event.returned for event in bodies(dsn, table.round) if isinstance(event, PayoutMade)] == ["360000"]


def test_a_held_round_answers_what_would_settle_it_with_a_code_that_is_worth_sending_again(rounds: Rounds) -> None:
    table = Terminal()
    accepted(rounds.post([table.open(), table.close()]))
    hold = table.report(HoldRound(reason="dispute"), by="S-1")
    accepted(rounds.post([hold]))
    outcome = table.outcome("17")
    assert codes(rounds.post([outcome])) == ["LGR-0215"]
    accepted(rounds.post([table.report(ReleaseRound(hold=hold.event_id, finding="stands"), by="S-1"), outcome]))


def test_a_carried_bet_keeps_the_rules_and_the_house_under_which_it_was_placed(rounds: Rounds, dsn: str) -> None:
    """The house changes its configuration in between: that counts from the next round that a table opens by itself."""
    table = cussec()
    accepted(rounds.post([table.open(), table.bet("small"), table.close()]))
    tables = tuple(msgspec.structs.replace(each, payable_unit="1.00") if each.id == "C01" else each for each in HOUSE.tables)
    rounds.apply_property(msgspec.structs.replace(HOUSE, tables=tables))
    first, following = table.round, uuid4()
    accepted(rounds.post([void(table, following)]))
    before, after = bodies(dsn, first)[0], bodies(dsn, following)[0]
    assert isinstance(before, RoundOpened)
    assert isinstance(after, RoundOpened)
    kept = {"property_hash", "regulation_hash", "payable_unit", "currency", "pit", "table", "applied"}
    assert {name: getattr(before, name) for name in kept} == {name: getattr(after, name) for name in kept}
    assert after.received_at <= datetime.now(UTC)
