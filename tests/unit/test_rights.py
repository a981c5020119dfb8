"""Rights where no service is needed to see them: roles are those of one property, and what nobody opened stays closed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import uuid4

import msgspec
import pytest

from ledger import rights
from ledger.errors import Refusal
from ledger.property import Person, Property, Table
from ledger.reports import PERSONS_ACTS, Body, Caller, CloseBetting, HoldRound, PlaceBet, RecordOutcome, Report, SignOn
from tests.support import DEMO

BET = PlaceBet(player="P-1", spot="red", stake="100", currency="MOP")
HOLD = HoldRound(reason="dispute")
NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
HOUSE = msgspec.structs.replace(
    DEMO,
    tables=(Table("R01", "A", "roulette", "MOP", "0.01", terminals=("T-1", "T-2")),),
    people=(Person(id="S-1", roles=("supervisor",)), Person(id="B-1", roles=("dealer", "supervisor"))),
)


def report(body: Body, caller: Caller | None, *, terminal: str = "T-1", personal: bool = False) -> Report:
    made = Report(
        event_id=uuid4(),
        terminal=terminal,
        type="",
        round=uuid4(),
        occurred_at=NOW,
        received_at=NOW,
        fingerprint=b"",
        body=body,
        personal=personal,
    )
    return made if caller is None else made.from_caller(caller)


def refused(made: Report, house: Property | None = HOUSE, table: str = "R01", played: Property | None = None) -> str | None:
    try:
        rights.verify_source(made)
        rights.verify_act(made, table, house, played)
    except Refusal as refusal:
        return refusal.code
    return None


def test_each_terminal_of_a_table_acts_for_it_and_for_no_other() -> None:
    for terminal in ("T-1", "T-2"):
        assert refused(report(BET, Caller(terminal=terminal), terminal=terminal)) is None
        assert refused(report(BET, Caller(terminal=terminal), terminal=terminal), table="R02") == "LGR-0804"
    assert refused(report(BET, Caller(terminal="T-3"), terminal="T-3")) == "LGR-0804"
    assert refused(report(BET, Caller(terminal="T-1")), house=None) == "LGR-0804"


def test_a_role_is_one_of_the_property_to_which_the_table_belongs() -> None:
    own = report(HOLD, Caller(person="S-1"), terminal="S-1", personal=True)
    assert own.by == "S-1"
    assert refused(own) is None
    assert refused(own, house=DEMO) == "LGR-0804"
    assert refused(own, house=None) == "LGR-0804"


def test_whoever_is_dealer_and_supervisor_signs_others_on() -> None:
    body = SignOn(table="R01", person="D-9", role="dealer")
    assert refused(report(body, Caller(person="B-1"), terminal="B-1", personal=True)) is None


def test_what_comes_from_within_was_judged_there() -> None:
    assert refused(report(HOLD, None)) is None


def test_a_terminal_that_did_not_sign_is_believed_on_a_machine_of_ones_own_alone() -> None:
    assert refused(report(BET, Caller(trusts_terminals=True))) is None
    assert refused(report(HOLD, Caller(trusts_terminals=True))) == "LGR-0801"
    assert refused(report(BET, Caller())) == "LGR-0804"
    assert refused(report(BET, Caller(trusts_terminals=True), terminal="S-1", personal=True)) == "LGR-0801"


def test_an_auditor_writes_nothing_and_nobody_reads_what_was_not_opened() -> None:
    assert all("auditor" not in may for may in rights.ACTS.values())
    assert all("auditor" in may for may in rights.READS.values())
    for caller in (Caller(terminal="T-1"), Caller(person="S-1"), Caller(person="nobody"), Caller()):
        with pytest.raises(Refusal):
            rights.verify_read(caller, "/v1/new", (HOUSE,))


def test_a_terminal_of_a_table_that_is_gone_still_says_what_was_played_there() -> None:
    elsewhere = msgspec.structs.replace(HOUSE, tables=(Table("R02", "A", "roulette", "MOP", "0.01", terminals=("T-2",)),))
    for terminal, house, played, said in (
        ("T-1", elsewhere, HOUSE, None),
        ("T-9", elsewhere, HOUSE, "LGR-0804"),
        ("T-1", elsewhere, None, "LGR-0804"),
        ("T-2", HOUSE, elsewhere, None),  # where the house has the table, its configuration in force alone says whose it is
    ):
        assert refused(report(BET, Caller(terminal=terminal), terminal=terminal), house, played=played) == said


def test_what_is_told_of_all_houses_takes_the_role_in_each() -> None:
    office, other = Caller(person="S-1"), msgspec.structs.replace(HOUSE, id="OTHER", people=())
    rights.verify_read(office, "/v1/balances", (HOUSE,))
    rights.verify_read(office, "/v1/rounds/x", (HOUSE, other))
    rights.verify_reads_round(office, "R01", HOUSE)
    rights.verify_reads_terminal(office, "T-1", (HOUSE,))
    refused: list[Callable[[], None]] = [
        lambda: rights.verify_read(office, "/v1/balances", (HOUSE, other)),
        lambda: rights.verify_read(office, "/v1/balances", ()),
        lambda: rights.verify_reads_round(office, "R01", other),
        lambda: rights.verify_reads_round(office, "R01", None),
        lambda: rights.verify_reads_terminal(office, "T-1", (HOUSE, other)),
        lambda: rights.verify_reads_terminal(office, "T-gone", (msgspec.structs.replace(HOUSE, tables=()), other)),
        lambda: rights.verify_reads_terminal(office, "T-1", ()),
    ]
    for read in refused:
        with pytest.raises(Refusal) as caught:
            read()
        assert caught.value.code == "LGR-0804"


def test_a_refusal_names_who_may() -> None:
    with pytest.raises(Refusal) as refusal:
        rights.verify_act(report(BET, Caller(person="S-1"), terminal="S-1", personal=True), "R01", HOUSE)
    assert refusal.value.help == "it takes a terminal of the table, by its signature"


def test_what_no_terminal_may_report_is_a_persons_act_and_nothing_else_is() -> None:
    assert set(PERSONS_ACTS) == {body for body, may in rights.ACTS.items() if "terminal" not in may}


def test_a_fact_of_the_table_is_not_put_down_to_whose_token_travelled_with_it() -> None:
    """Nobody asked whether they may report it: whoever's token it was, the terminal said it."""
    both = Caller(terminal="T-1", person="S-1")
    for body in (BET, CloseBetting(), RecordOutcome(outcome="17"), SignOn(table="R01", person="D-9", role="dealer")):
        assert report(body, both).by is None
    assert report(HOLD, both).by == "S-1"
    own = report(SignOn(table="R01", person="B-1", role="dealer"), Caller(person="B-1"), terminal="B-1", personal=True)
    assert own.by == "B-1"
