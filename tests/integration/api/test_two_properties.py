"""Two houses on one ledger: a round is the business of the property under which it was played, whoever has its table by now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from ledger.api import access
from ledger.application import Rounds
from ledger.property import Person, Property, Table
from tests.integration.api.conftest import serving
from tests.integration.api.signing import Asker, code, key_of, token_of
from tests.support import DEMO

NOT_ALLOWED = "LGR-0804"


def of(id_: str, *tables: str) -> Property:
    """A property with roulette tables and a person in each role."""
    roles = ("dealer", "supervisor", "auditor", "admin")
    return msgspec.structs.replace(
        DEMO,
        id=id_,
        name=f"House {id_}",
        pits=(),
        tables=tuple(Table(each, "A", "roulette", "MOP", "0.01", terminals=(f"T-{each}",)) for each in tables),
        people=tuple(Person(id=f"{id_}-{role}", roles=(role,)) for role in roles),  # type: ignore[arg-type]  # each is a Role
    )


class Houses:
    """A service for two houses: R01 was the old one's when its round was settled, and is the new one's now."""

    def __init__(self, url: str, dsn: str) -> None:
        self.url, self.dsn = url, dsn
        self.terminal = Asker(url, "/terminals/T-R01", key=key_of(dsn, "T-R01"))
        self.askers = {
            f"{id_}-{role}": Asker(url, f"/people/{id_}-{role}", token=token_of(dsn, f"{id_}-{role}"))
            for id_ in ("OLD", "NEW")
            for role in ("dealer", "supervisor", "auditor", "admin")
        }
        self.bet = ""
        self.round = self.settled()
        with closing(Rounds(dsn)) as rounds:
            rounds.apply_property(of("OLD", "R09"))
            rounds.apply_property(of("NEW", "R01"))

    def settled(self) -> UUID:
        round_, terminal = uuid4(), self.terminal
        events = [terminal.event(kind, round_) for kind in ("RoundOpened", "BetPlaced", "BettingClosed", "OutcomeRecorded")]
        self.bet = events[1]["id"]
        assert all(item["status"] == "accepted" for item in terminal.post(events).json()["items"])
        return round_

    def says(self, person: str, kind: str, round_: UUID, data: dict[str, Any]) -> tuple[str, str]:
        event = self.askers[person].event(kind, round_, data)
        return code(self.askers[person].post(event)), event["id"]

    def mispay(self) -> dict[str, Any]:
        return {"kind": "mispay", "reason": "dispute", "bet": self.bet, "direction": "to_player", "amount": "100"}


@pytest.fixture
def houses(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Houses]:
    monkeypatch.setattr(access, "AGE_SECONDS", 0.0)  # what is known of people and keys is not believed for a second
    with closing(Rounds(dsn)) as rounds:
        rounds.apply_property(of("OLD", "R01", "R09"))
    with serving(dsn, require_auth=True) as server:
        houses = Houses(server.url, dsn)
        yield houses
        for asker in (*houses.askers.values(), houses.terminal):
            asker.client.close()


def test_past_rounds_are_corrected_by_the_people_of_the_house_that_played_them(houses: Houses) -> None:
    for role in ("dealer", "supervisor", "admin"):
        assert houses.says(f"NEW-{role}", "CorrectionProposed", houses.round, houses.mispay())[0] == NOT_ALLOWED
    said, correction = houses.says("OLD-supervisor", "CorrectionProposed", houses.round, houses.mispay())
    assert said == "let in"
    for kind in ("CorrectionApproved", "CorrectionDeclined"):
        assert houses.says("NEW-admin", kind, houses.round, {"correction": correction})[0] == NOT_ALLOWED
    assert houses.says("NEW-supervisor", "RoundHeld", houses.round, {"reason": "dispute"})[0] == NOT_ALLOWED
    answer = houses.askers["OLD-admin"].post(
        houses.askers["OLD-admin"].event("CorrectionApproved", houses.round, {"correction": correction})
    )
    assert answer.json()["items"][0]["status"] == "accepted"


def test_rounds_from_then_on_are_the_new_houses(houses: Houses) -> None:
    old, round_ = houses.bet, houses.settled()
    assert houses.bet != old
    assert houses.says("OLD-supervisor", "CorrectionProposed", round_, houses.mispay())[0] == NOT_ALLOWED
    assert houses.says("NEW-supervisor", "CorrectionProposed", round_, houses.mispay())[0] == "let in"


def test_what_a_terminal_kept_of_a_round_is_still_its_to_say(houses: Houses) -> None:
    """Its table has gone to another house; what it says of the old round goes by what that round was played under."""
    late = houses.terminal.event("BetPlaced", houses.round)
    assert code(houses.terminal.post(late)) == "let in"
    stranger = Asker(houses.url, "/terminals/T-R09", key=key_of(houses.dsn, "T-R09"))
    assert code(stranger.post(stranger.event("BetPlaced", houses.round))) == NOT_ALLOWED
    stranger.client.close()


def test_who_reads_what_of_two_houses(houses: Houses) -> None:
    fresh = houses.settled()
    asked = {
        "old round": f"/v1/rounds/{houses.round}",
        "new round": f"/v1/rounds/{fresh}",
        "terminal": "/v1/terminals/T-R01",
        "balances": "/v1/balances",
        "report": "/v1/reports/tables",
        "metrics": "/metrics",
        "time": "/v1/time",
    }
    may = {
        "OLD-dealer": {"old round", "time"},
        "NEW-dealer": {"new round", "time"},
        "OLD-auditor": {"old round", "time"},
        "NEW-auditor": {"new round", "terminal", "time"},
        "NEW-supervisor": {"new round", "terminal", "time"},
    }
    found = {who: {what for what, path in asked.items() if code(houses.askers[who].get(path)) == "let in"} for who in may}
    assert found == may


def test_whoever_has_the_role_in_each_house_reads_what_is_told_of_all(houses: Houses) -> None:
    with closing(Rounds(houses.dsn)) as rounds:
        for config in rounds.properties():
            rounds.apply_property(
                msgspec.structs.replace(config, people=(*config.people, Person(id="REGULATOR", roles=("auditor",))))
            )
    reader = Asker(houses.url, "/people/REGULATOR", token=token_of(houses.dsn, "REGULATOR"))
    for path in ("/v1/balances", "/v1/reports/tables", "/metrics", f"/v1/rounds/{houses.round}"):
        assert code(reader.get(path)) == "let in", path
    reader.client.close()
