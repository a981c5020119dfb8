"""What is decided is decided by the configuration in force at its position in the log, whichever process applied it and when."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from uuid import UUID, uuid4

import msgspec
import psycopg
import pytest

from ledger.application import Rounds
from ledger.errors import Refusal
from ledger.property import Property
from ledger.reports import (
    ApproveCorrection,
    Body,
    Caller,
    DeclineCorrection,
    HoldRound,
    ProposeCorrection,
    RecordLateBet,
    Report,
    SignOn,
    VoidRound,
    table_stream,
)
from tests.integration.reading_back import verify_read_back
from tests.support import DEMO, Terminal, accepted, codes, house

NOT_ALLOWED = "LGR-0804"


@pytest.fixture(autouse=True)
def read_back(dsn: str) -> Iterator[None]:
    """Whatever was played in a test comes out of the read side as it should."""
    yield
    verify_read_back(dsn)


@pytest.fixture
def service(dsn: str) -> Iterator[Rounds]:
    rounds = house(dsn)
    yield rounds
    rounds.close()


def without(person: str, config: Property = DEMO) -> Property:
    return msgspec.structs.replace(config, people=tuple(each for each in config.people if each.id != person))


def applied_elsewhere(dsn: str, config: Property) -> None:
    """As `roundledger property apply` does it, in a process of its own."""
    other = Rounds(dsn)
    assert other.apply_property(config)
    other.close()


def of(person: str, table: Terminal, body: Body, round_: UUID | None = None) -> Report:
    """A person's own report, as the door takes it."""
    report = table.report(body, round=round_ or table.round, terminal=person, personal=True)
    return report.from_caller(Caller(person=person))


def settled(rounds: Rounds, table: Terminal) -> UUID:
    """A round that is settled; the id of its bet."""
    opening, bet = table.open(), table.bet("straight:17")
    accepted(rounds.post([opening, bet, table.close(), table.outcome("17")]))
    return bet.event_id


def mispay(bet: UUID) -> ProposeCorrection:
    return ProposeCorrection(kind="mispay", reason="dispute_upheld", bet=bet, direction="to_player", amount="100")


@pytest.mark.parametrize("act", ["approve", "propose", "decline", "hold", "late_bet", "sign_on"])
@pytest.mark.parametrize("ended", [True, False], ids=["ended", "open"])
def test_whoever_was_removed_does_nothing_more_however_long_the_service_knew_them(
    service: Rounds, dsn: str, act: str, *, ended: bool
) -> None:
    table = Terminal()
    bet = settled(service, table)
    asked = of("S-8", table, mispay(bet))
    accepted(service.post([asked]))
    round_ = table.round
    if not ended:
        accepted(service.post([table.open()]))
        round_ = table.round if act in ("hold", "late_bet") else round_
        accepted(service.post([table.close()]))
    acts: dict[str, Body] = {
        "approve": ApproveCorrection(correction=asked.event_id),
        "propose": mispay(bet),
        "decline": DeclineCorrection(correction=asked.event_id),
        "hold": HoldRound(reason="dispute"),
        "late_bet": RecordLateBet(player="P-1", spot="red", stake="100", currency="MOP"),
        "sign_on": SignOn(table="R01", person="D-11", role="dealer"),
    }
    said = of("S-7", table, acts[act], table_stream("R01") if act == "sign_on" else round_)
    applied_elsewhere(dsn, without("S-7"))
    assert codes(service.post([said])) == [NOT_ALLOWED]
    # Nothing was said, so the same is taken once the person is back.
    applied_elsewhere(dsn, DEMO)
    assert codes(service.post([said])) == ["accepted"]


def test_whoever_has_just_come_is_let_in_at_once(service: Rounds, dsn: str) -> None:
    applied_elsewhere(dsn, without("S-7"))
    table = Terminal()
    bet = settled(service, table)
    assert codes(service.post([of("S-7", table, mispay(bet))])) == [NOT_ALLOWED]
    applied_elsewhere(dsn, DEMO)
    assert codes(service.post([of("S-7", table, mispay(bet))])) == ["accepted"]


def test_an_act_among_bets_costs_no_bet(service: Rounds, dsn: str) -> None:
    table = Terminal()
    bet = settled(service, table)
    applied_elsewhere(dsn, without("S-7"))
    reports = [table.open(), table.bet("red"), of("S-7", table, mispay(bet)), of("S-8", table, HoldRound(reason="dispute"))]
    reports.append(table.bet("black"))
    assert codes(service.post(reports)) == ["accepted", "accepted", NOT_ALLOWED, "accepted", "accepted"]


def test_a_bet_names_no_premise_even_with_a_persons_token(service: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hot path is as it was: only what takes a role asks for the configuration."""
    table = Terminal()
    accepted(service.post([table.open()]))
    named: list[object] = []
    insert = service._recorder.insert_events

    def noting(*events: object, **options: object) -> list[int]:
        named.append(options["premises"])
        return insert(*events, **options)  # type: ignore[arg-type]  # what it was given

    monkeypatch.setattr(service._recorder, "insert_events", noting)
    caller = Caller(terminal="T-R01", person="D-11")
    accepted(service.post([table.bet("red").from_caller(caller), table.bet("black")]))
    accepted(service.post([of("S-7", table, HoldRound(reason="dispute"))]))
    assert [bool(each) for each in named] == [False, True]


def test_an_act_waits_for_a_configuration_that_is_being_applied(service: Rounds, dsn: str) -> None:
    """Neither the one nor the other is seen by half: the act comes after the configuration, and is refused by it."""
    table = Terminal()
    bet = settled(service, table)
    said = of("S-7", table, mispay(bet))
    verdicts: list[str] = []
    with psycopg.connect(dsn) as holding:
        holding.execute("SELECT pg_advisory_xact_lock(hashtextextended('round-ledger premises', 0))")
        posting = threading.Thread(target=lambda: verdicts.extend(codes(service.post([said]))))
        posting.start()
        posting.join(0.3)
        assert posting.is_alive(), "it would be stored before a configuration that is older"
        stored = stored_configuration(without("S-7"))
        holding.execute(
            "INSERT INTO ledger.events (originator_id, originator_version, topic, state) "
            "SELECT originator_id, max(originator_version) + 1, %s, %s FROM ledger.events WHERE topic = %s "
            "AND convert_from(state, 'UTF8')::jsonb ->> 'kind' = 'property' GROUP BY originator_id",
            (*stored, stored[0]),
        )
    posting.join(10)
    assert verdicts == [NOT_ALLOWED]


def stored_configuration(config: Property) -> tuple[str, bytes]:
    from ledger.houses import _document
    from ledger.store import codec

    return "DocumentRecorded.v1", codec.encode(_document("property", config.id, config.sha256, config.content))


def test_a_terminal_that_lost_its_table_is_turned_away_by_the_next_look_of_the_service(service: Rounds, dsn: str) -> None:
    """A bet asks nobody; the writer looks for configurations twice a second (`Rounds.rest`)."""
    table = Terminal()
    accepted(service.post([table.open()]))
    tables = tuple(msgspec.structs.replace(each, terminals=("T-other",)) if each.id == "R01" else each for each in DEMO.tables)
    applied_elsewhere(dsn, msgspec.structs.replace(DEMO, tables=tables))
    service.rest()
    assert codes(service.post([table.bet("red").from_caller(Caller(terminal="T-R01"))])) == [NOT_ALLOWED]
    assert codes(service.post([table.bet("red", terminal="T-other").from_caller(Caller(terminal="T-other"))])) == ["accepted"]


def test_of_two_looks_the_earlier_one_counts() -> None:
    from ledger.application.group import Group

    group, stream = Group(doubt=False), uuid4()
    for version in (5, 6, 4, 7):
        group.rest_on({stream: version})
    assert group.premises == {stream: 4}


def applies(rounds: Rounds, config: Property) -> bool:
    """Whether the configuration is in force; it may be refused because a table has a round open, and for nothing else."""
    try:
        rounds.apply_property(config)
    except Refusal as refusal:
        if refusal.code != "LGR-0611":
            raise
        return False
    return True


class TestTablesThatGo:
    def without_table(self, id_: str) -> Property:
        return msgspec.structs.replace(DEMO, tables=tuple(each for each in DEMO.tables if each.id != id_))

    def without_terminals(self, id_: str) -> Property:
        tables = (msgspec.structs.replace(each, terminals=()) if each.id == id_ else each for each in DEMO.tables)
        return msgspec.structs.replace(DEMO, tables=tuple(tables))

    @pytest.mark.parametrize("how", ["removed", "without terminals"])
    @pytest.mark.parametrize("at", ["betting", "closed", "held", "successor"])
    def test_none_goes_while_its_round_is_open(self, service: Rounds, dsn: str, how: str, at: str) -> None:
        table = Terminal("C01", "cussec")
        config = self.without_table("C01") if how == "removed" else self.without_terminals("C01")
        accepted(service.post([table.open(), table.bet("big")]))
        if at != "betting":
            accepted(service.post([table.close()]))
        if at == "held":
            accepted(service.post([of("S-7", table, HoldRound(reason="dispute"))]))
        if at == "successor":  # the stakes of a void shake lie in the next round by then
            following = uuid4()
            accepted(service.post([table.report(VoidRound(reason="bridged_dice", successor=following))]))
            table.round = following
        for process in (service, Rounds(dsn)):
            with pytest.raises(Refusal) as refused:
                process.apply_property(config)
            assert (refused.value.code, refused.value.value) == ("LGR-0611", "C01")
            assert str(table.round) in refused.value.detail
        process.close()
        assert service.properties() == [DEMO]
        # What does not touch the table is applied meanwhile, and the round goes on.
        other = msgspec.structs.replace(self.without_table("R02"), people=DEMO.people[:3])
        applied_elsewhere(dsn, other)

    def test_it_goes_after_its_round_and_its_people_still_correct_what_was_played(self, service: Rounds, dsn: str) -> None:
        table = Terminal()
        bet = settled(service, table)
        accepted(service.post([of("S-7", table, HoldRound(reason="dispute"))]))
        waiting = of("S-7", table, mispay(bet))
        accepted(service.post([waiting]))
        applied_elsewhere(dsn, self.without_table("R01"))
        asked = of("S-7", table, ProposeCorrection(kind="outcome", reason="found_wrong", outcome="7"))
        first, second = (of("S-8", table, ApproveCorrection(correction=each.event_id)) for each in (waiting, asked))
        assert codes(service.post([first, asked, second])) == ["accepted"] * 3
        late = table.bet("red", round=table.round).from_caller(Caller(terminal="T-R01"))
        assert codes(service.post([late])) == ["LGR-0210"], "it is let in, and judged"

    def test_no_round_opens_at_a_table_that_has_just_gone(self, service: Rounds, dsn: str) -> None:
        table = Terminal()
        settled(service, table)  # the service knows the table
        applied_elsewhere(dsn, self.without_table("R01"))
        assert codes(service.post([table.open()])) == ["LGR-0602"]

    def test_of_a_table_that_goes_and_a_round_that_opens_one_is_first(self, dsn: str) -> None:
        """Two processes, over and over: never is a round open at a table that the configuration in force has not."""
        services = [house(dsn), house(dsn)]
        for n in range(20):
            table, said = Terminal(), list[str]()
            opening = threading.Thread(target=lambda: said.extend(codes(services[0].post([table.open()]))))  # noqa: B023
            opening.start()
            time.sleep(random.Random(n).uniform(0, 0.004))
            removed = applies(services[1], self.without_table("R01"))
            opening.join(10)
            assert said == (["LGR-0602"] if removed else ["accepted"])
            if not removed:
                accepted(services[0].post([table.close(), table.outcome("0")]))
            services[1].apply_property(DEMO)
        for each in services:
            each.close()
