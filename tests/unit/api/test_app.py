"""The door's answers, on a write side and a read side that are scripted."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import IO, Any
from uuid import UUID

import httpx
import msgspec
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from openapi_spec_validator import validate
from starlette.applications import Starlette
from starlette.routing import Route

from ledger.api import codes, problems, views
from ledger.api.app import create_app
from ledger.api.bodies import BATCH, MAX_BODY, ONE
from ledger.api.views import AskedReport, Balances, Liabilities, TerminalView, Trial
from ledger.application.liability import between_rounds
from ledger.errors import CODES, Refusal
from ledger.events import BetPlaced, Recorded, RoundOpened
from ledger.reports import TYPES, Malformed, Report, Verdict
from projections.moments import Moment, TrialLine
from projections.queries import Balance, ProjectionPosition, TableFigures, TableLine, TableReport
from projections.reports import writers
from projections.reports.model import Column, amount
from projections.reports.model import Report as Made
from projections.views import RoundView, view
from tests import contract
from tests.unit.api.events import EVENT, ROUND, bet, event, raw_bet

NOW = datetime(2026, 11, 29, 12, 0, 1, tzinfo=UTC)
COUNTS = {"accounts", "rounds", "bets", "waiting", "line", "point", "void_launches", "holds_open", "corrections_pending"}
"""Keys under which an answer has a number: counts, a line of code, and the point of craps. No reader rounds these."""
HUGE = 9007199254740993
"""2^53 + 1: a reader with floats shows ...992."""


class Rounds:
    """Accepts everything but what its script says otherwise."""

    def __init__(self) -> None:
        self.posted: list[Report] = []
        self.script: dict[str, Exception] = {}

    def post(self, reports: Sequence[Report], /) -> list[Verdict]:
        verdicts = []
        for report in reports:
            fault = self.script.get(report.terminal)
            if isinstance(report.body, Malformed):
                fault = report.body.refusal
            if isinstance(fault, Refusal) and fault.meaning.status != 503:
                verdicts.append(Verdict(event_id=report.event_id, status="rejected", round=report.round, refusal=fault))
                continue
            if fault:
                raise fault
            self.posted.append(report)
            status = "accepted" if [r.event_id for r in self.posted].count(report.event_id) == 1 else "replayed"
            verdicts.append(Verdict(event_id=report.event_id, status=status, round=report.round, positions=(HUGE,)))  # type: ignore[arg-type]
        return verdicts


class Reader:
    """Projections that are one position further at every look; one round, one balance, one line."""

    def __init__(self) -> None:
        self.at = 12
        self.asked: list[object] = []

    def projections(self) -> list[ProjectionPosition]:
        self.at += 1
        return [
            ProjectionPosition(name=name, position=str(at), updated_at=NOW, stopped_at=None, stopped_by=None, stop_reason=None)
            for name, at in (("ledger", self.at), ("tables", self.at + 5))
        ]

    def end(self) -> int:
        return 14

    def drawn(self) -> int:
        return 1 << 40

    def age(self, position: int) -> float | None:
        return 0.5

    def verify_schema(self) -> None:
        pass

    def round(self, round_id: UUID) -> RoundView | None:
        if round_id != ROUND:
            return None
        origin = {"cause": EVENT, "terminal": "T-R01", "occurred_at": NOW, "received_at": NOW}
        opened = RoundOpened(
            **origin,  # type: ignore[arg-type]
            property="DEMO",
            pit="A",
            table="R01",
            game="roulette",
            currency="MOP",
            payable_unit="1",
            regulation="30/2003",
            regulation_hash="",
            property_hash="",
            gaming_day=date(2026, 11, 29),
        )
        placed = BetPlaced(
            **origin,  # type: ignore[arg-type]
            bet=EVENT,
            player="P-1",
            spot="straight:17",
            stake=str(HUGE),
            currency="MOP",
        )
        return view([Recorded(HUGE, ROUND, 1, opened), Recorded(HUGE + 1, ROUND, 2, placed)])

    def terminal(self, terminal: str) -> TerminalView | None:
        self.asked.append(terminal)
        told = views.Sequence(terminal=terminal, epoch=2, contiguous=2, missing=((3, 3),))
        return TerminalView(terminal=terminal, table="R01", sequences=(told,)) if terminal == "T-R01" else None

    def balances(self, *, prefix: str | None, currency: str | None, after: str | None, limit: int, at: Moment | None) -> Balances:
        self.asked.append((prefix, currency, after, limit, at))
        return Balances(position="12", balances=[Balance(account="player/P-1", currency="MOP", balance=str(HUGE))])

    def liabilities(self, *, table: str | None) -> Liabilities:
        self.asked.append(table)
        line = between_rounds("R01", "roulette", "MOP", HUGE)
        return Liabilities(position="12", tables=[] if table == "R09" else [line])

    def trial(self, *, at: Moment | None) -> Trial:
        self.asked.append(at)
        line = TrialLine(kind="player", currency="MOP", accounts=1, balance=str(HUGE))
        return Trial(position="12", lines=[line], sums={"MOP": str(HUGE)})

    def tables(self, *, day: date | None) -> TableReport:
        self.asked.append(day)
        figures = dict.fromkeys(TableFigures.__struct_fields__, "0") | {"rounds": 1, "bets": 1, "win_percent": None}
        line = TableLine(**figures | {"win": str(HUGE)}, table="R01", game="roulette", regulation="30/2003", applied=None)  # type: ignore[arg-type]
        return TableReport(position="12", day=day, lines=[line], totals=[], notes=[])

    def report(self, asked: AskedReport, out: IO[bytes]) -> None:
        self.asked.append(asked)
        facts = dict.fromkeys(("property", "period", "filters", "as_of_position", "software"), "so") | {"generated_at": NOW}
        columns = (Column("currency", "currency"), Column("win", "win", "amount", sums=True))
        rows = [("MOP", amount(HUGE, "MOP"))]
        writers.write(Made(asked.name, "A report", facts, columns, rows), asked.form, out)


class Door:
    """The application with its lifespan, asked from a test that is not asynchronous."""

    def __init__(self, portal: BlockingPortal, app: Starlette, rounds: Rounds, reader: Reader) -> None:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://door")
        self._portal = portal
        self.app, self.rounds, self.reader = app, rounds, reader

    def request(self, method: str, path: str, content: Any = None, headers: dict[str, str] | None = None) -> httpx.Response:
        answer = self._portal.call(lambda: self._client.request(method, path, content=content, headers=headers))
        contract.hold(answer)
        return answer

    def get(self, path: str) -> httpx.Response:
        return self.request("GET", path)

    def events(self, body: Any, media_type: str = "application/json") -> httpx.Response:
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.request("POST", "/v1/events", content, {"Content-Type": media_type})


@contextmanager
def opened() -> Iterator[Door]:
    rounds, reader = Rounds(), Reader()
    app = create_app(rounds, reader, now=lambda: NOW)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(app.router.lifespan_context(app)):
        yield Door(portal, app, rounds, reader)


@pytest.fixture
def door() -> Iterator[Door]:
    with opened() as found:
        yield found


def assert_problem(answer: httpx.Response, code: str, field: str | None = None) -> dict[str, Any]:
    assert answer.status_code == CODES[code].status
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["code"] == code
    assert problem["status"] == answer.status_code
    assert problem["title"] == CODES[code].title
    assert problem["type"] == f"/problems/{code}"
    assert problem["retryable"] is CODES[code].retryable
    assert ("retry-after" in answer.headers) == problems.waits(code)
    if field is not None:
        assert problem["errors"][0]["field"] == field
    return problem


def test_one_event_is_answered(door: Door) -> None:
    answer = door.events(event(id=str(EVENT)), ONE)
    assert answer.status_code == 200
    assert answer.json() == {"items": [{"id": str(EVENT), "status": "accepted", "round": str(ROUND), "positions": [str(HUGE)]}]}
    assert door.events(event(id=str(EVENT)), ONE).json()["items"][0]["status"] == "replayed"


def test_one_event_that_is_refused_is_answered_with_its_problem(door: Door) -> None:
    problem = assert_problem(door.events(bet(stake=100)), "LGR-0104", "data.stake")
    assert problem["errors"] == [{"field": "data.stake", "value": "100"}]
    assert problem["instance"].startswith("urn:uuid:")
    door.rounds.script["T-R01"] = Refusal("LGR-0210", "betting is closed", cite="30/2003 art. 4")
    assert assert_problem(door.events(event()), "LGR-0210")["cite"] == "30/2003 art. 4"
    assert not door.rounds.posted


def test_b23_a_bad_item_in_the_middle_every_time(door: Door) -> None:
    batch = [event(), bet(stake=0.5), event()]
    for status in ("accepted", "replayed", "replayed"):
        answer = door.events(batch, BATCH)
        assert answer.status_code == 200
        items = answer.json()["items"]
        assert [item["id"] for item in items] == [item["id"] for item in batch]
        assert [item["status"] for item in items] == [status, "rejected", status]
        assert items[1]["problem"]["code"] == "LGR-0104"
        assert items[1]["positions"] == []
        assert "problem" not in items[0]
    assert {str(report.event_id) for report in door.rounds.posted} == {batch[0]["id"], batch[2]["id"]}


def test_an_empty_batch_has_an_empty_answer(door: Door) -> None:
    assert door.events([]).json() == {"items": []}


@pytest.mark.parametrize(
    "stake",
    [
        "NaN",
        "1e999",
        "true",
        "null",
        '"１００"',
        '"1_000"',
        "-100",
        "0",
        "0.001",
        "2557.68",
        '"-100"',
        '"0"',
        '"1E3"',
        '"1", "stake": "2"',
    ],
)
def test_b10_b15_b16_b17_no_such_stake_reaches_the_ledger(door: Door, stake: str) -> None:
    answer = door.events(raw_bet(stake))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "data.stake"
    assert not door.rounds.posted


@pytest.mark.parametrize("raw", [b"", b"not json", b"{", b"\xff", b"[" * 100_000, b"\xef\xbb\xbf[]"])
def test_what_is_not_json_is_refused(door: Door, raw: bytes) -> None:
    assert_problem(door.events(raw), "LGR-0101")


def test_a_large_body_is_refused_whatever_it_says_of_its_length(door: Door) -> None:
    assert_problem(door.events(b" " * (MAX_BODY + 1)), "LGR-0102")
    read = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(800):
            read += 1
            yield b" " * 65536

    headers = {"Content-Type": "application/json"}
    assert_problem(door.request("POST", "/v1/events", chunks(), headers), "LGR-0102")
    assert read < 20
    lying = {**headers, "Content-Length": "9" * 400}
    assert_problem(door.request("POST", "/v1/events", b"[]", lying), "LGR-0102")
    assert door.events(b" " * (MAX_BODY - 2) + b"[]").status_code == 200


def test_a_batch_of_too_many_is_refused_whole(door: Door) -> None:
    assert_problem(door.events(json.dumps([5] * 1001)), "LGR-0109")


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "application/json; charset=utf-16"])
def test_other_media_types_are_refused(door: Door, media_type: str) -> None:
    assert_problem(door.events("[]", media_type), "LGR-0110")


def test_a_busy_service_says_when_to_come_back(door: Door) -> None:
    door.rounds.script["T-R01"] = Refusal("LGR-0501", "the database did not answer")
    answer = door.events([event()])
    assert_problem(answer, "LGR-0501")
    assert answer.headers["retry-after"] == "1"


def test_a_fault_is_logged_under_a_number_and_not_shown(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    door.rounds.script["T-R01"] = ZeroDivisionError("a secret of the inside")
    with caplog.at_level(logging.ERROR, "ledger"):
        answer = door.events(event())
    problem = assert_problem(answer, "LGR-0509")
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    (record,) = (record for record in caplog.records if record.name == "ledger.api.app")
    assert record.getMessage().split()[1].rstrip(":") in problem["detail"]
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError
    door.rounds.script.clear()
    assert door.events(event()).status_code == 200


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/events/", "/v1/rounds", "/v2/events", "/%00", "/problems/LGR-9999"])
def test_no_such_path(door: Door, path: str) -> None:
    assert_problem(door.get(path), "LGR-0111")


def test_methods(door: Door) -> None:
    answer = door.get("/v1/events")
    assert_problem(answer, "LGR-0112")
    assert answer.headers["allow"] == "POST"
    assert_problem(door.request("DELETE", "/v1/balances"), "LGR-0112")
    options = door.request("OPTIONS", "/v1/events")
    assert (options.status_code, options.headers["allow"], options.content) == (204, "POST", b"")
    head = door.request("HEAD", "/healthz")
    assert (head.status_code, head.content) == (200, b"")


def test_b14_amounts_and_positions_are_strings(door: Door) -> None:
    def numbers(value: object) -> Iterator[object]:
        if isinstance(value, dict):
            for name, inner in value.items():
                if name not in COUNTS or isinstance(inner, list):
                    yield from numbers(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from numbers(inner)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield value

    for answer in (
        door.events([event()]),
        door.get(f"/v1/rounds/{ROUND}"),
        door.get("/v1/balances"),
        door.get("/v1/balances/trial"),
        door.get("/v1/tables"),
        door.get("/v1/tables/R01/liability"),
        door.get("/v1/reports/tables"),
        door.get("/healthz"),
    ):
        assert answer.status_code == 200
        assert not list(numbers(answer.json())), answer.text
    for path in ("/v1/balances", "/v1/balances/trial", "/v1/tables", "/v1/reports/tables", f"/v1/rounds/{ROUND}"):
        assert f'"{HUGE}"' in door.get(path).text


def test_reads_pass_their_filters_on(door: Door) -> None:
    door.get("/v1/balances?prefix=player/&currency=MOP&after=player/P-1,MOP&limit=10")
    door.get("/v1/balances?at=14")
    door.get("/v1/balances/trial?at=2026-11-29T20:00:01%2B08:00")
    door.get("/v1/reports/tables?day=2026-11-29")
    assert door.reader.asked == [
        ("player/", "MOP", "player/P-1,MOP", 10, None),
        (None, None, None, 1000, 14),
        NOW,
        date(2026, 11, 29),
    ]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/rounds/17", "id"),
        ("/v1/balances?prefx=player", "prefx"),
        ("/v1/balances?limit=0", "limit"),
        ("/v1/balances?limit=1001", "limit"),
        ("/v1/balances?limit=%EF%BC%91", "limit"),
        ("/v1/balances?limit=1&limit=2", "limit"),
        ("/v1/balances?prefix=%00", "prefix"),
        ("/v1/balances?at_least=-1", "at_least"),
        ("/v1/balances?at=-1", "at"),
        ("/v1/balances?at=15", "at"),
        ("/v1/balances/trial?at=999999999999999999", "at"),
        ("/v1/balances?at=2026-11-29", "at"),
        ("/v1/balances?at=2026-11-29T12:00:00", "at"),
        ("/v1/balances/trial?at=2026-11-29T12:00:02Z", "at"),
        ("/v1/balances/trial?prefix=player/", "prefix"),
        ("/v1/balances?at_least=" + "9" * 5000, "at_least"),
        ("/v1/tables?table=R01", "table"),
        ("/v1/reports/tables?day=29.11.2026", "day"),
        ("/v1/reports/tables?day=2026-02-30", "day"),
        ("/healthz?x=1", "x"),
    ],
)
def test_a_question_that_is_not_understood_is_refused(door: Door, path: str, field: str) -> None:
    assert_problem(door.get(path), "LGR-0108", field)


def test_a_table_that_nobody_knows(door: Door) -> None:
    assert_problem(door.get("/v1/tables/R09/liability"), "LGR-0602", "id")
    assert_problem(door.get("/v1/tables/%00/liability"), "LGR-0602", "id")


def test_a_round_that_nobody_knows(door: Door) -> None:
    assert_problem(door.get(f"/v1/rounds/{EVENT}"), "LGR-0202")


def test_a_read_waits_for_the_position_it_names(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    assert door.get("/v1/balances?at_least=20").status_code == 200
    assert door.reader.at >= 20
    monkeypatch.setattr("ledger.api.door.CATCH_UP_SECONDS", 0.05)
    assert_problem(door.get("/v1/balances?at_least=1000000"), "LGR-0518", "at_least")
    monkeypatch.setattr(door.reader, "end", lambda: 1000000)
    assert_problem(door.get("/v1/balances?at=1000000"), "LGR-0518", "at")
    assert_problem(door.get("/v1/balances?at=2026-11-29T20:00:01%2B08:00"), "LGR-0518", "at")


def test_a_projection_that_stands_still_is_shown(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    assert door.get("/healthz").json()["status"] == "ok"
    (ledger, tables) = door.reader.projections()
    stopped = msgspec.structs.replace(tables, position="7", stopped_at=NOW, stopped_by="8", stop_reason="poison")
    monkeypatch.setattr(door.reader, "projections", lambda: [ledger, stopped])
    health = door.get("/healthz").json()
    assert (health["status"], health["position"], health["log"]) == ("behind", "7", "14")
    assert health["projections"][1]["stop_reason"] == "poison"


def test_time(door: Door) -> None:
    assert door.get("/time").json() == {"time": "2026-11-29T12:00:01Z"}


def test_every_code_has_a_page(door: Door) -> None:
    for code, meaning in CODES.items():
        page = door.get(f"/problems/{code}")
        assert page.status_code == 200
        assert page.text.startswith(f"{code}: {meaning.title}\n")


def test_openapi_is_valid_and_complete(door: Door) -> None:
    document = door.get("/openapi.json").json()
    validate(document)
    assert document["openapi"].startswith("3.1")
    schemas = document["components"]["schemas"]
    assert set(schemas["Problem"]["properties"]["code"]["enum"]) == codes.ALL
    for model in TYPES.values():
        assert schemas[model.__name__]["additionalProperties"] is False
    assert {route.path for route in door.app.routes if isinstance(route, Route)} == set(document["paths"])
    assert {f"{model.__name__}Event" for model in TYPES.values()} <= set(schemas)
    assert {method["operationId"] for path in document["paths"].values() for method in path.values()} == set(codes.OPERATIONS)


def test_each_operation_lists_its_own_codes_and_no_others(door: Door) -> None:
    def listed(path: str, method: str = "get") -> dict[str, set[str]]:
        responses = door.get("/openapi.json").json()["paths"][path][method]["responses"]
        return {status: set(re.findall(r"LGR-\d{4}", answer["description"])) for status, answer in responses.items()}

    assert listed("/healthz") == {"200": set(), "422": {"LGR-0108"}, "500": {"LGR-0509"}}
    assert listed("/time")["401"] == {"LGR-0802", "LGR-0803"}
    assert listed("/v1/rounds/{id}")["404"] == {"LGR-0202"}
    assert listed("/v1/events", "post")["413"] == {"LGR-0102", "LGR-0109"}
    for path, methods in door.get("/openapi.json").json()["paths"].items():
        for method in methods:
            for status, found in listed(path, method).items():
                assert {str(CODES[code].status) for code in found} <= {status}
                assert not {code for code in found if code.startswith("LGR-07") and code != "LGR-0790"}, (
                    "the command line's codes are not the door's"
                )


def test_examples_are_whole_and_fit_their_schemas(door: Door) -> None:
    document = door.get("/openapi.json").json()

    def check(value: Any, schema: dict[str, Any]) -> None:
        found = [
            error.message for error in Draft202012Validator({**schema, "components": document["components"]}).iter_errors(value)
        ]
        assert not found, f"{found}: {value}"

    shown = 0
    for methods in document["paths"].values():
        for operation in methods.values():
            for part in (operation.get("requestBody", {}), *operation["responses"].values()):
                for content in part.get("content", {}).values():
                    for example in content.get("examples", {}).values():
                        check(example["value"], content["schema"])
                        shown += 1
            for media_type, content in operation["responses"]["200"]["content"].items():
                whole = media_type != "application/json" or content["schema"].get("$ref", "").endswith("/Document")
                assert whole or content["examples"], operation["operationId"]
    assert shown > 30
    for topic, model in TYPES.items():
        schema = document["components"]["schemas"][f"{model.__name__}Event"]
        assert schema["examples"][0]["type"] == topic
        check(schema["examples"][0], schema)


@pytest.mark.parametrize(
    ("path", "accept", "media_type"),
    [
        ("/v1/reports/ggr", None, "application/json"),
        ("/v1/reports/ggr", "text/csv", "text/csv; charset=utf-8"),
        ("/v1/reports/ggr", "text/html, application/x-ndjson;q=0.9", "application/x-ndjson"),
        ("/v1/reports/ggr?format=csv", "application/json", "text/csv; charset=utf-8"),
        ("/v1/reports/master-game?month=2026-11&table=R01", None, "application/json"),
        ("/v1/reports/exposure?threshold=MOP=500000,HKD=1", None, "application/json"),
    ],
)
def test_a_report_comes_in_the_form_that_is_asked_for(door: Door, path: str, accept: str | None, media_type: str) -> None:
    answer = door.request("GET", path, headers={"Accept": accept} if accept else None)
    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
    assert str(HUGE)[:-2] in answer.text


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/reports/nothing", "LGR-0120"),
        ("/v1/reports/ggr?format=xlsx", "LGR-0121"),
        ("/v1/reports/ggr?month=2026-13", "LGR-0121"),
        ("/v1/reports/ggr?day=2026-11-29&month=2026-11", "LGR-0121"),
        ("/v1/reports/ggr?day=yesterday", "LGR-0108"),
        ("/v1/reports/ggr?chance=red", "LGR-0108"),
        ("/v1/reports/trial-balance?day=2026-11-29", "LGR-0108"),
        ("/v1/reports/exposure?threshold=500000", "LGR-0121"),
        ("/v1/reports/exposure?threshold=XXX=1", "LGR-0105"),
        ("/v1/reports/exposure?threshold=MOP=1.001", "LGR-0104"),
    ],
)
def test_a_report_that_cannot_be_asked_so_is_refused(door: Door, path: str, code: str) -> None:
    assert_problem(door.get(path), code)
