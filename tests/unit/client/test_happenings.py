"""Events as a terminal makes them are what the door reads."""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from ledger.api import intake
from ledger.client import BATCH_TYPE, batch, happened, uuid7
from ledger.errors import Refusal
from ledger.reports import (
    ABOUT_PLAYERS,
    ABOUT_PROPERTIES,
    ABOUT_TABLES,
    PLAYERS,
    PLAYERS_STREAM,
    TYPES,
    ApproveCorrection,
    CancelSlip,
    ChangeShooter,
    ChipsOf,
    CloseBetting,
    ConfirmSlip,
    CountChips,
    Data,
    OpenRound,
    PlaceBet,
    RecordFill,
    RecordLateBet,
    Report,
    SignOn,
    days_stream,
    table_stream,
)
from tests.unit.client.support import ROUND, TERMINAL, event

_WORDS: dict[str, Any] = {
    "table": "R01",
    "game": "roulette",
    "player": "P-1",
    "spot": "red",
    "stake": "100",
    "currency": "MOP",
    "bet": UUID(int=1),
    "hold": UUID(int=2),
    "correction": UUID(int=3),
    "outcome": "17",
    "reason": "dispute",
    "shooter": "P-2",
    "restored_by": "S-1",
    "source": "ledger",
    "finding": "stands",
    "kind": "return",
    "person": "D-1",
    "role": "dealer",
    "of_terminal": "T-R01",
    "of_epoch": 0,
    "first": 3,
    "last": 4,
    "slip": UUID(int=4),
    "number": 7,
    "chips": (ChipsOf(value="100", count=3),),
    "total": "300",
    "box": "B-1",
    "cash": "300",
    "colour": "green",
    "value": "100",
    "property": "DEMO",
    "gaming_day": date(2026, 11, 29),
    "as_of": "12",
    "figures": "0" * 64,
}
_OF_ITS_OWN: dict[type[Data], dict[str, Any]] = {
    CountChips: {"kind": "opener"},
    ConfirmSlip: {"kind": "fill"},
    CancelSlip: {"kind": "drop"},
}


def sample(model: type[Data]) -> Data:
    """One body with what it must have."""
    words = _WORDS | _OF_ITS_OWN.get(model, {})
    return model(**{field.name: words[field.name] for field in msgspec.structs.fields(model) if field.required})


@pytest.mark.parametrize("model", TYPES.values(), ids=lambda model: model.__name__)
def test_every_report_is_read_at_the_door_as_it_was_made(model: type[Data]) -> None:
    made = msgspec.structs.replace(event(sample(model)), epoch=7, sequence=12)
    [read] = intake.read(batch([made.encoded()]), BATCH_TYPE, datetime.now(UTC)).items
    assert isinstance(read, Report), read
    assert (read.event_id, read.terminal, read.type, read.round) == (made.id, TERMINAL, made.type, _stream(model))
    assert (read.occurred_at, read.epoch, read.sequence, read.body) == (made.at, 7, 12, made.data)


def _stream(model: type[Data]) -> UUID:
    if model in ABOUT_PLAYERS:
        return PLAYERS_STREAM
    return table_stream("R01") if model in ABOUT_TABLES else days_stream("DEMO") if model in ABOUT_PROPERTIES else ROUND


def test_an_event_is_the_same_bytes_however_often_it_is_sent() -> None:
    made = event(PlaceBet(player="P-1", spot="red", stake="100", currency="MOP"))
    assert made.encoded() == made.encoded()


def test_a_time_with_any_offset_is_one_moment() -> None:
    at = datetime(2026, 11, 29, 20, 0, tzinfo=timezone(timedelta(hours=8)))
    assert json.loads(event(at=at).encoded())["time"] == "2026-11-29T12:00:00Z"


def test_an_opening_begins_a_round_and_who_signs_on_does_so_at_the_table() -> None:
    first, second = (happened(OpenRound(table="R01", game="roulette"), terminal=TERMINAL) for _ in range(2))
    assert first.round != second.round
    assert happened(SignOn(table="R01", person="D-1", role="dealer"), terminal=TERMINAL).round == table_stream("R01")


@pytest.mark.parametrize(
    ("data", "field", "value"),
    [
        (PlaceBet(player="P 1", spot="red", stake="100", currency="MOP"), "data.player", "P 1"),
        (PlaceBet(player="P-1", spot="", stake="100", currency="MOP"), "data.spot", ""),
        (PlaceBet(player="P-1", spot="red", stake="100", currency="MOP", seat=1000), "data.seat", "1000"),
        (OpenRound(table="", game="roulette"), "data.table", ""),
    ],
)
def test_what_the_door_would_refuse_is_not_even_made(data: Data, field: str, value: str) -> None:
    with pytest.raises(Refusal) as caught:
        event(data)
    assert (caught.value.code, caught.value.field, caught.value.value) == ("LGR-0108", field, value)


def test_a_person_reports_without_a_terminal() -> None:
    made = happened(ApproveCorrection(correction=ROUND), person="S-7", round=ROUND)
    [read] = intake.read(batch([made.encoded()]), BATCH_TYPE, datetime.now(UTC)).items
    assert isinstance(read, Report), read
    assert (read.terminal, read.personal, made.terminal) == ("S-7", True, "people/S-7")


@pytest.mark.parametrize("name", ["", "T R01", "a/b", "x" * 65, ".T", None])
def test_a_terminal_has_a_name_that_the_door_reads(name: str | None) -> None:
    with pytest.raises(Refusal, match="an id is 1 to 64"):
        happened(CloseBetting(), terminal=name, round=ROUND)


def test_an_event_of_no_round_is_not_made() -> None:
    with pytest.raises(Refusal, match=r"roundledger\.BettingClosed\.v1 belongs to a round"):
        happened(CloseBetting(), terminal=TERMINAL)


def test_ids_are_of_version_7_and_carry_the_moment() -> None:
    before = time.time_ns() // 1_000_000
    made = [uuid7() for _ in range(1000)]
    after = time.time_ns() // 1_000_000
    assert {(id_.version, id_.variant) for id_ in made} == {(7, uuid4().variant)}
    assert all(before <= id_.int >> 80 <= after for id_ in made)
    assert len(set(made)) == 1000


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (
            PlaceBet(player="Mr Wong", spot="red", stake="100", currency="MOP"),
            "LGR-0108",
            "the field `player`",
        ),
        (PlaceBet(player="Mr Wong", spot="red", stake="100", currency="MOP"), "LGR-0108", "ASCII letters, digits and . _ : -"),
        (RecordFill(table="R01", number=1, chips=(), total="x", currency="MOP"), "LGR-0108", "minor units of `currency`"),
        (
            PlaceBet(player="11010119900307123X", spot="red", stake="100", currency="MOP"),
            "LGR-0122",
            "the form of a document's number",
        ),
    ],
)
def test_what_a_field_may_hold_is_said_in_words(data: Data, code: str, words: str) -> None:
    """A pattern says nothing to whoever keyed a name, and players are known by references of the house's own making."""
    with pytest.raises(Refusal) as caught:
        happened(data, terminal="T-R01", round=UUID(int=1))
    assert caught.value.code == code
    assert words in caught.value.detail
    assert "regex" not in caught.value.detail


@pytest.mark.parametrize("document", ["110101199003071234", "11010119900307123X", "44030520001231001x"])
def test_no_document_s_number_names_a_player(document: str) -> None:
    for data in (
        PlaceBet(player=document, spot="red", stake="100", currency="MOP"),
        ChangeShooter(shooter=document),
        RecordLateBet(player=document, spot="red", stake="100", currency="MOP"),
    ):
        with pytest.raises(Refusal, match="LGR-0122"):
            happened(data, terminal="T-R01", round=UUID(int=1))
        # Members are numbered like this, and nobody can tell such numbers from those of other papers.
        for own in (f"P-{document}", "P-1001", "P1001", "M1000001", "50000001", "110101199013071234", "anonymous"):
            happened(msgspec.structs.replace(data, **{PLAYERS[type(data)]: own}), terminal="T-R01", round=UUID(int=1))
