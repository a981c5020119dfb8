"""Who may do what, enumerated: everybody who asks, with every kind of proof, for all that can be posted and read."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from ledger import rights
from ledger.api import access
from ledger.reports import TYPES as REPORTS
from ledger.signatures import SigningKey, new_secret
from ledger.store import credentials
from tests.integration.api.conftest import serving
from tests.integration.api.signing import TYPES, Asker, code, key_of, token_of
from tests.support import house

NO_PERSON, NOT_ALLOWED = "LGR-0801", "LGR-0804"

# Columns: the table's terminal; another table's; a dealer, supervisor, auditor, admin with a token of their own; the table's
# terminal with a dealer's token, with a supervisor's; another table's terminal with a supervisor's; somebody of the cage.
WHO = ("own", "other", "dealer", "supervisor", "auditor", "admin", "own+dealer", "own+supervisor", "other+supervisor", "cage")
_TABLE = "yes no no no no no yes yes no no"
_ADMIN = "no no no no no yes no no no no"
_SUPERVISOR = "who no no yes no no no yes no no"
MAY = {
    "RoundOpened": _TABLE,
    "BetPlaced": _TABLE,
    "BetWithdrawn": _TABLE,
    "BetChanged": _TABLE,
    "BettingClosed": _TABLE,
    "BettingReopened": _TABLE,
    "ShooterChanged": _TABLE,
    "OutcomeRecorded": _TABLE,
    "ThrowRecorded": _TABLE,
    "RoundVoided": _TABLE,
    "StaffSignedOn": "yes no yes yes no no yes yes no no",
    "StaffSignedOff": "yes no yes yes no no yes yes no no",
    "NumbersGivenUp": _SUPERVISOR,
    "BetVoided": _SUPERVISOR,
    "LateBetRecorded": _SUPERVISOR,
    "ChipsRestored": _SUPERVISOR,
    "RoundHeld": _SUPERVISOR,
    "RoundReleased": _SUPERVISOR,
    "CorrectionProposed": "who no yes yes no yes yes yes no no",
    "CorrectionApproved": "who no no yes no yes no yes no no",
    "CorrectionDeclined": "who no no yes no yes no yes no no",
    "ChipsCounted": "who no no yes no no no yes no yes",
    "FillRecorded": "who no no yes no no no yes no yes",
    "CreditRecorded": "who no no yes no no no yes no yes",
    "DropCounted": "who no no no no yes no no no yes",
    "SlipConfirmed": "who no yes yes no yes yes yes no yes",
    "SlipCancelled": "who no no yes no yes no yes no yes",
    "ColourChipsIssued": "yes no yes yes no no yes yes no no",
    "GamingDayClosed": "no no no no no yes no no no yes",
    "PlayerErased": _ADMIN,
    "PlayerHeld": _ADMIN,
    "PlayerReleased": _ADMIN,
}
SAID = {"yes": "let in", "no": NOT_ALLOWED, "who": NO_PERSON}
_OFFICE = "no no no yes yes yes no yes yes no"
READS = {
    "/v1/rounds/{round}": "yes no yes yes yes yes yes yes yes yes",
    "/v1/terminals/T-R01": "yes no no yes yes yes yes yes yes no",
    "/v1/balances": _OFFICE,
    "/v1/balances/trial": _OFFICE,
    "/v1/tables": _OFFICE,
    "/v1/tables/R01/liability": _OFFICE,
    "/v1/reports/tables": _OFFICE,
    "/v1/time": "yes yes yes yes yes yes yes yes yes yes",
    "/time": "yes yes yes yes yes yes yes yes yes yes",
    "/openapi.json": "yes yes yes yes yes yes yes yes yes yes",
    "/asyncapi.json": "yes yes yes yes yes yes yes yes yes yes",
    "/metrics": "no no no no yes yes no no no no",
    "/not/there": "no no no no yes yes no no no no",
}


class Floor:
    """A guarded service with an open round at R01, and everybody who may ask it."""

    def __init__(self, url: str, dsn: str) -> None:
        self.url, self.dsn = url, dsn
        keys = {"own": key_of(dsn, "T-R01"), "other": key_of(dsn, "T-R02", "hmac-sha256")}
        people = {"dealer": "D-11", "supervisor": "S-7", "auditor": "A-1", "admin": "M-1", "cage": "C-1"}
        tokens = {role: token_of(dsn, person) for role, person in people.items()}
        sources = {"own": "/terminals/T-R01", "other": "/terminals/T-R02"} | {
            role: f"/people/{person}" for role, person in people.items()
        }
        self.askers = {}
        for name in WHO:
            first, _, person = name.partition("+")
            self.askers[name] = Asker(url, sources[first], key=keys.get(first), token=tokens.get(person or first))
        self.round = uuid4()
        assert code(self.own.post(self.own.event("RoundOpened", self.round))) == "let in"

    @property
    def own(self) -> Asker:
        return self.askers["own"]

    def count(self, table: str = "events") -> int:
        with psycopg.connect(self.dsn) as conn:
            row = conn.execute(f"SELECT count(*) FROM ledger.{table}".encode()).fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture
def known_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a test of hundreds of cases does not wait for each."""
    monkeypatch.setattr(access, "AGE_SECONDS", 0.0)
    monkeypatch.setattr(access, "_MISS_SECONDS", 0.0)


@pytest.fixture
def floor(dsn: str) -> Iterator[Floor]:
    with_admin(dsn)
    with serving(dsn, require_auth=True) as server:
        floor = Floor(server.url, dsn)
        yield floor
        for asker in floor.askers.values():
            asker.client.close()


def with_admin(dsn: str) -> None:
    """The demo house, and an admin who is nothing else."""
    import msgspec

    from ledger.property import Person
    from tests.support import DEMO

    rounds = house(dsn)
    rounds.apply_property(msgspec.structs.replace(DEMO, people=(*DEMO.people, Person(id="M-1", roles=("admin",)))))
    rounds.close()


def test_every_type_and_every_resource_is_in_the_matrix(floor: Floor) -> None:
    assert {f"roundledger.{kind}.v1" for kind in MAY} == REPORTS.keys()
    assert MAY.keys() == TYPES.keys()
    assert rights.ACTS.keys() == set(REPORTS.values())


@pytest.mark.usefixtures("known_at_once")
def test_who_may_post_what(floor: Floor) -> None:
    expected, found = {}, {}
    with psycopg.connect(floor.dsn, autocommit=True) as conn:

        def kept(event: dict[str, Any]) -> tuple[int, int]:
            """Events in the log, and whether the id was used up by a refusal."""
            row = conn.execute(
                "SELECT (SELECT count(*) FROM ledger.events), (SELECT count(*) FROM ledger.rejections WHERE event_id = %s)",
                (event["id"],),
            ).fetchone()
            assert row is not None
            return row

        for kind, row in MAY.items():
            for who, may in zip(WHO, row.split(), strict=True):
                asker = floor.askers[who]
                event = asker.event(kind, uuid4() if kind == "RoundOpened" else floor.round)
                before = kept(event)
                expected[kind, who] = SAID[may]
                found[kind, who] = code(asker.post(event))
                if may != "yes":
                    assert kept(event) == before, "who was not let in has left something behind"
    assert found == expected


@pytest.mark.usefixtures("known_at_once")
def test_whoever_may_ask_for_a_correction_may_withdraw_it_and_no_other_persons(floor: Floor) -> None:
    may_propose = [who for who, may in zip(WHO, MAY["CorrectionProposed"].split(), strict=True) if may == "yes"]
    floor.own.post(floor.own.event("BettingClosed", floor.round))
    expected, found = {}, {}
    for author in may_propose:
        for who in WHO:
            asked = floor.askers[author].event("CorrectionProposed", floor.round)
            assert floor.askers[author].post(asked).json()["items"][0]["status"] == "accepted"
            answer = floor.askers[who].post(
                floor.askers[who].event("CorrectionDeclined", floor.round, {"correction": asked["id"]})
            )
            found[author, who] = code(answer)
            # A person at another table's terminal is kept out as everywhere, and a terminal alone is nobody.
            itself = who.split("+")[-1] == author.split("+")[-1] and not who.startswith("other")
            said = MAY["CorrectionDeclined"].split()[WHO.index(who)]
            expected[author, who] = "let in" if itself else SAID[said]
            if found[author, who] == "let in":
                assert answer.json()["items"][0]["status"] == "accepted"
    assert found == expected


@pytest.mark.usefixtures("known_at_once")
def test_who_may_read_what(floor: Floor) -> None:
    expected, found = {}, {}
    for path, row in READS.items():
        for who, may in zip(WHO, row.split(), strict=True):
            answer = floor.askers[who].get(path.format(round=floor.round))
            expected[path, who] = SAID[may]
            found[path, who] = code(answer)
    assert found == expected


@pytest.mark.usefixtures("known_at_once")
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_reports_are_posted_and_another_method_is_told_so(floor: Floor, method: str) -> None:
    for who in WHO:
        asker = floor.askers[who]
        answer = asker.send(asker.request(method, "/v1/events", None if method == "GET" else {}))
        assert (answer.status_code, answer.json()["code"], answer.headers["allow"]) == (405, "LGR-0112", "POST"), who
    assert httpx.request(method, f"{floor.url}/v1/events").status_code == 401


@pytest.mark.parametrize("path", ["/healthz", "/problems/LGR-0803"])
def test_anybody_may_ask_whether_the_service_is_well_and_what_a_code_means(floor: Floor, path: str) -> None:
    assert httpx.get(floor.url + path).status_code == 200


def bad_keys(dsn: str, kind: str) -> dict[str, Any]:
    """What an asker is made of whose proof does not hold, for terminal T-R01."""
    now = datetime.now(UTC)
    day = timedelta(days=1)
    with psycopg.connect(dsn, autocommit=True) as conn:
        for each in credentials.keys(conn, "T-R01"):  # room for another one
            if each.state(now) in ("live", "pending"):
                credentials.end_key(conn, each.id)
        match kind:
            case "unknown key":
                return {"key": SigningKey(id="T-R01.none", algorithm="ed25519", secret=new_secret())}
            case "another's secret":
                return {"key": SigningKey(id=key_of(dsn, "T-R01").id, algorithm="ed25519", secret=new_secret())}
            case "revoked key":
                key = key_of(dsn, "T-R01")
                credentials.end_key(conn, key.id)
            case "expired key":
                key = key_of(dsn, "T-R01", not_before=now - 2 * day)
            case "pending key":
                key = key_of(dsn, "T-R01", not_before=now + day)
            case "slow clock":
                return {"key": key_of(dsn, "T-R01"), "seconds": -310}
            case _:
                assert kind == "fast clock"
                return {"key": key_of(dsn, "T-R01"), "seconds": 310}
    return {"key": key}


BAD_KEYS = ("unknown key", "another's secret", "revoked key", "expired key", "pending key", "slow clock", "fast clock")


@pytest.mark.usefixtures("known_at_once")
@pytest.mark.parametrize("kind", [*BAD_KEYS, "no proof"])
def test_a_key_that_does_not_hold_opens_nothing(floor: Floor, kind: str) -> None:
    asker = Asker(floor.url, "/terminals/T-R01", **({} if kind == "no proof" else bad_keys(floor.dsn, kind)))
    before = floor.count(), floor.count("rejections")
    answers = [asker.post(asker.event(each, floor.round)) for each in TYPES]
    assert {code(answer) for answer in answers} == {"LGR-0803"}
    assert {answer.json()["detail"] for answer in answers} == {"the request does not bear a signature that holds"}
    assert {answer.status_code for answer in answers} == {401}
    assert all("WWW-Authenticate" in answer.headers for answer in answers)
    reads = {code(asker.get(path.format(round=floor.round))) for path in READS}
    assert reads == {"LGR-0802" if kind == "no proof" else "LGR-0803"}
    assert (floor.count(), floor.count("rejections")) == before


@pytest.mark.usefixtures("known_at_once")
@pytest.mark.parametrize("kind", ["unknown", "revoked", "expired", "malformed", "basic", "twice"])
def test_a_token_that_does_not_hold_opens_nothing(floor: Floor, kind: str) -> None:
    with psycopg.connect(floor.dsn, autocommit=True) as conn:
        token, text = credentials.issue_token(conn, "S-7", lasts=timedelta(days=1))
        if kind == "revoked":
            credentials.end_token(conn, token.id)
        if kind == "expired":
            credentials.end_token(conn, token.id, at=datetime.now(UTC))
    if kind == "unknown":
        text = "rlt_" + "A" * 43
    if kind == "malformed":
        text = text + " x"

    def bend(request: httpx.Request) -> httpx.Request:
        if kind == "basic":
            request.headers["Authorization"] = "Basic Uy03OnB3"
        if kind == "twice":
            request.headers = httpx.Headers([*request.headers.multi_items(), ("Authorization", f"Bearer {text}")])
        return request

    asker = Asker(floor.url, "/people/S-7", token=text)
    asker.bend = bend
    before = floor.count(), floor.count("rejections")
    assert {code(asker.post(asker.event(each, floor.round))) for each in TYPES} == {"LGR-0802"}
    assert {code(asker.get(path.format(round=floor.round))) for path in READS} == {"LGR-0802"}
    # Nor does it pass on the back of a signature that holds.
    if kind not in ("basic", "twice"):
        at_terminal = Asker(floor.url, "/terminals/T-R01", key=floor.own.key, token=text)
        assert code(at_terminal.post(at_terminal.event("BetPlaced", floor.round))) == "LGR-0802"
    assert (floor.count(), floor.count("rejections")) == before


class TestAlteredOnTheWay:
    @pytest.mark.parametrize(
        "kind", ["body", "digest", "digest and body", "path", "token put in", "token taken out", "type", "host"]
    )
    def test_it_is_refused(self, floor: Floor, kind: str) -> None:
        asker = floor.askers["own+supervisor"]
        token = token_of(floor.dsn, "S-8")

        def bend(request: httpx.Request) -> httpx.Request:
            headers = request.headers.copy()
            content, url = request.content, request.url
            if "body" in kind:
                content = content.replace(b"10000", b"90000")
            if "digest" in kind:
                headers["Content-Digest"] = "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"
            if kind == "path":
                url = request.url.copy_with(query=b"x=1")
            if kind == "token put in":
                headers["Authorization"] = f"Bearer {token}"
            if kind == "token taken out":
                del headers["Authorization"]
            if kind == "type":
                headers["Content-Type"] = "application/cloudevents+json"
            if kind == "host":
                headers["Host"] = "another.example"
            return httpx.Request(request.method, url, headers=headers, content=content)

        asker.bend = bend
        assert code(asker.post(asker.event("BetPlaced", floor.round))) == "LGR-0803"
        assert floor.count("rejections") == 0
        asker.bend = lambda request: request
        assert code(asker.post(asker.event("BetPlaced", floor.round))) == "let in"

    def test_one_signature_is_taken_once(self, floor: Floor) -> None:
        event = floor.own.event("BetPlaced", floor.round)
        request = floor.own.request("POST", "/v1/events", event)
        assert floor.own.send(request).json()["items"][0]["status"] == "accepted"
        assert code(floor.own.send(request)) == "LGR-0803"
        again = floor.own.post(event)
        assert again.json()["items"][0]["status"] == "replayed", "the same event signed anew is a retry"
        reading = floor.own.request("GET", f"/v1/rounds/{floor.round}")
        assert code(floor.own.send(reading)) == "let in"
        assert code(floor.own.send(reading)) == "LGR-0803"

    def test_another_service_on_the_database_knows_no_signature_but_the_log_knows_the_event(self, floor: Floor) -> None:
        event = floor.own.event("BetPlaced", floor.round)
        request = floor.own.request("POST", "/v1/events", event)
        assert floor.own.send(request).json()["items"][0]["status"] == "accepted"
        with serving(floor.dsn, require_auth=True) as second, httpx.Client(base_url=second.url) as client:
            headers = request.headers.copy()  # the Host as it was signed: a proxy before both would send it so
            replayed = client.post("/v1/events", content=request.content, headers=headers)
        assert replayed.json()["items"][0]["status"] == "replayed"


class TestForgedSources:
    def test_a_terminal_does_not_speak_for_another(self, floor: Floor) -> None:
        other = floor.askers["other"]
        forged = other.event("BetPlaced", floor.round, source="/terminals/T-R01")
        assert code(other.post(forged)) == NOT_ALLOWED
        true = floor.own.event("BetPlaced", floor.round, id=forged["id"])
        assert code(floor.own.post(true)) == "let in", "the id was not used up"

    def test_nor_a_person_for_a_terminal_or_another_person(self, floor: Floor) -> None:
        supervisor = floor.askers["supervisor"]
        for source in ("/terminals/T-R01", "/people/S-8"):
            assert code(supervisor.post(supervisor.event("RoundHeld", floor.round, source=source))) == NOT_ALLOWED
        assert code(floor.own.post(floor.own.event("RoundHeld", floor.round, source="/people/S-7"))) == NO_PERSON

    def test_a_batch_is_judged_item_by_item(self, floor: Floor) -> None:
        asker = floor.own
        good, bad, held = (
            asker.event("BetPlaced", floor.round),
            asker.event("BetPlaced", floor.round, source="/terminals/T-R02"),
            asker.event("RoundHeld", floor.round),
        )
        last = asker.event("BettingClosed", floor.round)
        items = asker.post([good, bad, held, last]).json()["items"]
        assert [item.get("problem", {}).get("code", item["status"]) for item in items] == [
            *("accepted", NOT_ALLOWED, NO_PERSON, "accepted"),
        ]

    def test_a_dealer_signs_on_nobody_else(self, floor: Floor) -> None:
        dealer = floor.askers["dealer"]
        for person, role in (("D-12", "dealer"), ("D-11", "supervisor")):
            data = {"table": "R01", "person": person, "role": role}
            assert code(dealer.post(dealer.event("StaffSignedOn", floor.round, data))) == NOT_ALLOWED


class TestRotation:
    def test_from_one_key_to_the_next_no_request_is_lost(self, floor: Floor) -> None:
        asker = floor.own
        with psycopg.connect(floor.dsn, autocommit=True) as conn:
            old = asker.key
            assert old is not None
            new = old
            for n in range(30):
                if n == 10:
                    new = key_of(floor.dsn, "T-R01")
                if n == 20:
                    asker.key = new
                    credentials.end_key(conn, old.id)
                assert code(asker.post(asker.event("BetPlaced", floor.round))) == "let in", n
        asker.key = old
        refused = asker.post(asker.event("BetPlaced", floor.round))
        for _ in range(40):
            if code(refused) == "LGR-0803":
                break
            refused = asker.post(asker.event("BetPlaced", floor.round))
        assert code(refused) == "LGR-0803", "within a second of its revocation"

    @pytest.mark.parametrize("kind", ["key", "token"])
    def test_what_was_revoked_by_another_process_is_refused_after_a_second(self, floor: Floor, kind: str) -> None:
        asker = floor.own if kind == "key" else floor.askers["supervisor"]
        assert code(asker.get("/v1/time")) == "let in"
        with psycopg.connect(floor.dsn, autocommit=True) as conn:
            if kind == "key":
                assert asker.key is not None
                credentials.end_key(conn, asker.key.id)
            else:
                [held] = [each for each in credentials.tokens(conn) if each.person == "S-7"]
                credentials.end_token(conn, held.id)
        time.sleep(access.AGE_SECONDS)
        answers = [asker.get("/v1/time"), asker.post(asker.event("RoundHeld", floor.round))]
        assert [code(answer) for answer in answers] == (["LGR-0803"] * 2 if kind == "key" else ["LGR-0802"] * 2)

    def test_two_tokens_of_one_person_do_not_make_two_persons(self, floor: Floor) -> None:
        first, second = (Asker(floor.url, "/people/S-7", token=token_of(floor.dsn, "S-7")) for _ in range(2))
        other = Asker(floor.url, "/people/S-8", token=token_of(floor.dsn, "S-8"))
        bet = floor.own.event("BetPlaced", floor.round)
        for event in (bet, *(floor.own.event(kind, floor.round) for kind in ("BettingClosed", "OutcomeRecorded"))):
            assert floor.own.post(event).json()["items"][0]["status"] == "accepted"
        mispay = {"kind": "mispay", "reason": "dispute_upheld", "bet": bet["id"], "direction": "to_player", "amount": "100"}
        proposed = first.event("CorrectionProposed", floor.round, mispay)
        assert first.post(proposed).json()["items"][0]["status"] == "accepted"
        correction = {"correction": proposed["id"]}
        before = floor.count()
        for asker in (first, second):
            refused = asker.post(asker.event("CorrectionApproved", floor.round, correction))
            assert refused.json()["code"].startswith("LGR-02"), refused.text
        assert floor.count() == before
        assert other.post(other.event("CorrectionApproved", floor.round, correction)).json()["items"][0]["status"] == "accepted"

    def test_a_terminal_that_is_given_another_table_loses_its_own_at_once(self, floor: Floor) -> None:
        import msgspec

        from tests.support import DEMO

        tables = tuple(
            msgspec.structs.replace(table, terminals={"R01": ("T-R02",), "R02": ("T-R01",)}.get(table.id, table.terminals))
            for table in DEMO.tables
        )
        rounds = house_of(floor.dsn)
        rounds.apply_property(msgspec.structs.replace(DEMO, tables=tables))
        rounds.close()
        other = floor.askers["other"]
        assert code(other.post(other.event("BetPlaced", floor.round))) == "let in"
        assert code(floor.own.post(floor.own.event("BetPlaced", floor.round))) == NOT_ALLOWED


def house_of(dsn: str) -> Any:
    from ledger.application import Rounds

    return Rounds(dsn)


@pytest.mark.usefixtures("known_at_once")
def test_what_is_refused_is_logged_and_no_secret_with_it(floor: Floor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    sent: list[str] = []

    def bend(request: httpx.Request) -> httpx.Request:
        sent.extend(value for name, value in request.headers.items() if name in ("authorization", "signature", "content-digest"))
        return request

    for asker in floor.askers.values():
        asker.bend = bend
        for kind in ("BetPlaced", "CorrectionApproved"):
            asker.post(asker.event(kind, floor.round))
        asker.get("/v1/balances")
        request = asker.request("POST", "/v1/events", asker.event("BetPlaced", floor.round))
        request.headers["Signature"] = request.headers.get("Signature", "x") + "x"
        asker.send(request)
    stranger = Asker(floor.url, "/people/S-7", token="rlt_" + "B" * 43)
    stranger.bend = bend
    stranger.post(stranger.event("BetPlaced", floor.round))
    log = "\n".join(record.getMessage() for record in caplog.records)
    assert floor.own.key is not None
    for line in (
        "LGR-0804 to terminal T-R02: POST /v1/events from 127.0.0.1",
        "LGR-0804 to D-11: GET /v1/balances from 127.0.0.1",
        "LGR-0804 to terminal T-R01 with D-11: POST /v1/events from 127.0.0.1",
        f"LGR-0803 to key {floor.own.key.id}: POST /v1/events from 127.0.0.1",
    ):
        assert line in log
    assert "LGR-0802" in log
    secrets = [text for asker in floor.askers.values() for text in (asker.token, asker.key and asker.key.secret) if text]
    for text in (*secrets, *sent, "rlt_B", "rlk_"):
        assert text.removeprefix("Bearer ") not in log
    for text in sent:
        assert text not in log


class TestOnAMachineOfOnesOwn:
    def test_terminals_need_no_signature_and_people_need_their_token(self, dsn: str) -> None:
        house(dsn).close()
        with serving(dsn) as server:
            terminal = Asker(server.url, "/terminals/T-R01")
            round_ = uuid4()
            assert code(terminal.post(terminal.event("RoundOpened", round_))) == "let in"
            assert code(terminal.post(terminal.event("RoundHeld", round_))) == NO_PERSON
            assert code(terminal.get("/v1/balances")) == "let in"
            terminal.token = token_of(dsn, "S-7")
            assert code(terminal.post(terminal.event("RoundHeld", round_))) == "let in"
            terminal.token = token_of(dsn, "D-11")
            assert code(terminal.post(terminal.event("RoundHeld", round_))) == NOT_ALLOWED

    def test_but_what_is_offered_as_a_proof_has_to_hold(self, dsn: str) -> None:
        house(dsn).close()
        with serving(dsn) as server:
            terminal = Asker(server.url, "/terminals/T-R01", key=SigningKey(id="x", algorithm="ed25519", secret=new_secret()))
            assert code(terminal.post(terminal.event("RoundOpened", uuid4()))) == "LGR-0803"
            terminal.key, terminal.token = None, "rlt_x"
            assert code(terminal.get("/v1/balances")) == "LGR-0802"


def test_who_was_not_let_in_leaves_no_row_however_badly_it_is_said(floor: Floor) -> None:
    """A key or token that still holds, of a terminal at no table and a person in no role: their say is refused and forgotten."""
    strangers = [
        Asker(floor.url, "/terminals/T-NOWHERE", key=key_of(floor.dsn, "T-NOWHERE")),
        Asker(floor.url, "/people/X-99", token=token_of(floor.dsn, "X-99")),
    ]
    before = floor.count("rejections")
    for asker in strangers:
        said = [
            asker.event(kind, round_, data, **numbered)
            for kind, good in TYPES.items()
            for round_ in (uuid4(), floor.round)
            for data in (good, {**good, "nonsense": 1})
            for numbered in ({}, {"sequence": "1"})
        ]
        items = asker.post(said).json()["items"]
        assert {item["problem"]["code"] for item in items} <= {NOT_ALLOWED, NO_PERSON}
    assert floor.count("rejections") == before
    # Of who may say such a thing, what cannot be read is refused for good all the same.
    bad = floor.own.event("BetPlaced", floor.round, {**TYPES["BetPlaced"], "nonsense": 1})
    assert floor.own.post([bad]).json()["items"][0]["problem"]["code"] == "LGR-0108"
    assert floor.count("rejections") == before + 1
