"""What stands around the endpoints: compression, rates, metrics, health, ids, traces; and what a hostile body may cost."""

from __future__ import annotations

import gzip
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import psycopg
import pytest
from anyio.from_thread import start_blocking_portal
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ledger import logs
from ledger.api import bodies, intake, tracing
from ledger.api.app import create_app
from ledger.api.door import Noted
from ledger.api.metrics import Metrics
from ledger.api.rate import OF_AN_ADDRESS, Rate
from ledger.errors import Refusal
from tests.support import ROOT
from tests.unit.api.events import event
from tests.unit.api.test_app import NOW, Door, Reader, Rounds, assert_problem

GZIP = {"Content-Type": bodies.BATCH, "Content-Encoding": "gzip"}


@contextmanager
def opened(**options: Any) -> Iterator[Door]:
    rounds, reader = Rounds(), Reader()
    app = create_app(rounds, reader, now=lambda: NOW, **options)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(app.router.lifespan_context(app)):
        yield Door(portal, app, rounds, reader)


@pytest.fixture
def door() -> Iterator[Door]:
    with opened() as found:
        yield found


# Bodies that are compressed.


def test_a_compressed_batch_is_read(door: Door) -> None:
    answer = door.request("POST", "/v1/events", gzip.compress(json.dumps([event()]).encode()), GZIP)
    assert answer.status_code == 200
    assert answer.json()["items"][0]["status"] == "accepted"


def test_a_bomb_is_refused_at_the_size_that_a_body_may_have(door: Door) -> None:
    bomb = gzip.compress(b"[" + b" " * 500_000_000 + b"]")
    assert len(bomb) < bodies.MAX_BODY
    assert_problem(door.request("POST", "/v1/events", bomb, GZIP), "LGR-0102", "Content-Encoding")


def test_inflating_stops_at_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BODY", 1000)
    assert bodies.inflated(gzip.compress(b"x" * 1000)) == b"x" * 1000
    with pytest.raises(Refusal) as caught:
        bodies.inflated(gzip.compress(b"x" * 1001))
    assert caught.value.code == "LGR-0102"


@pytest.mark.parametrize(
    "raw",
    [b"[]", b"", gzip.compress(b"[]")[:-3], gzip.compress(b"[]") + b"more", gzip.compress(b"[]") * 2],
    ids=["plain", "nothing", "cut", "more", "twice"],
)
def test_what_is_no_gzip_or_more_than_one_is_refused(door: Door, raw: bytes) -> None:
    assert_problem(door.request("POST", "/v1/events", raw, GZIP), "LGR-0101", "Content-Encoding")


def test_another_coding_is_refused(door: Door) -> None:
    assert_problem(door.request("POST", "/v1/events", b"[]", GZIP | {"Content-Encoding": "br"}), "LGR-0110", "Content-Encoding")


def test_long_answers_are_compressed_for_who_reads_that_and_short_ones_are_not(door: Door) -> None:
    long = door.request("GET", "/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert (long.headers["content-encoding"], long.json()["openapi"]) == ("gzip", "3.1.0")
    assert "content-encoding" not in door.request("GET", "/openapi.json", headers={"Accept-Encoding": "identity"}).headers
    assert "content-encoding" not in door.request("GET", "/time", headers={"Accept-Encoding": "gzip"}).headers


# What a hostile body may cost.


@pytest.mark.parametrize(
    "items",
    [
        [event(type=f"roundledger.BetPlaced.v{n}") for n in range(1000)],
        [event(data={f"plaier{n}": 1}) for n in range(1000)],
        [event(type="roundledger.BetPlaced" * 1000) for _ in range(40)],
    ],
    ids=["types", "fields", "long names"],
)
def test_a_batch_of_misspelt_names_is_given_few_hints(items: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def near(name: str, _: object, __: int) -> list[str]:
        asked.append(name)
        return []

    monkeypatch.setattr(intake, "get_close_matches", near)
    assert len(intake.read(json.dumps(items).encode(), bodies.BATCH, NOW).items) == len(items)
    assert len(asked) <= intake.HINTS
    assert all(len(name) <= 40 for name in asked)


def test_a_long_body_that_has_to_be_read_with_care_is_not_read_in_the_event_loop(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    careful = intake.read_careful

    def noted(*arguments: Any) -> intake.Intake:
        threads.append(threading.current_thread().name)
        return careful(*arguments)

    monkeypatch.setattr(intake, "read_careful", noted)
    door.events([event(type="nonsense") for _ in range(200)], bodies.BATCH)
    door.events([event(type="nonsense")], bodies.BATCH)
    assert "AnyIO worker thread" in threads[0]
    assert "AnyIO worker thread" not in threads[1]


# Rates.


def test_who_asks_too_often_is_told_how_long_to_wait() -> None:
    counted = Metrics()
    with opened(rate=Rate(1, now=lambda: 1000.0), noted=Noted(counted)) as door:
        answers = [door.get("/time") for _ in range(2 * OF_AN_ADDRESS + 1)]
        assert {answer.status_code for answer in answers[:-1]} == {200}
        assert_problem(answers[-1], "LGR-0306")
        assert answers[-1].headers["retry-after"] == "1"
        assert door.get("/healthz").status_code == 200
    labels = {"method": "GET", "route": "other", "status": "429"}
    assert counted.registry.get_sample_value("roundledger_requests_total", labels) == 1


# Health.


def test_the_service_lives_while_its_database_is_away_but_is_not_ready(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    assert door.get("/readyz").json() == {"status": "ready"}

    for name in ("end", "verify_schema"):
        monkeypatch.setattr(door.reader, name, _away)
    assert door.get("/healthz").json() == {"status": "away", "waiting": 0}
    assert_problem(door.get("/readyz"), "LGR-0501")
    assert "roundledger_database_up 0.0" in metrics(door)


def test_a_schema_of_another_release_is_not_ready(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def newer() -> None:
        raise Refusal("LGR-0510", "the database has schema version 99")

    monkeypatch.setattr(door.reader, "verify_schema", newer)
    assert_problem(door.get("/readyz"), "LGR-0510")


def test_a_projection_that_stands_still_is_not_ready(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, tables = door.reader.projections()
    stopped = msgspec.structs.replace(tables, stopped_at=NOW, stopped_by="8", stop_reason="poison")
    monkeypatch.setattr(door.reader, "projections", lambda: [ledger, stopped])
    assert "tables stands still at position 8: poison" in assert_problem(door.get("/readyz"), "LGR-0523")["detail"]
    assert 'roundledger_projection_stopped{projection="tables"} 1.0' in metrics(door)


def test_projections_that_keep_failing_show_as_behind(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing says that they stopped: what they were to fold grows old."""
    monkeypatch.setattr(door.reader, "end", lambda: 1000)
    assert door.get("/healthz").json()["status"] == "ok"
    monkeypatch.setattr(door.reader, "age", lambda _: 10.5)
    assert door.get("/healthz").json()["status"] == "behind"
    assert "roundledger_projection_lag_seconds 10.5" in metrics(door)
    assert "roundledger_projections_run 1.0" in metrics(door)


def test_what_cannot_be_read_and_what_is_beyond_the_log_show_as_behind(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door.reader, "end", lambda: 1000)
    monkeypatch.setattr(door.reader, "age", lambda _: None)
    assert door.get("/healthz").json()["status"] == "behind"
    assert "roundledger_projection_lag_seconds NaN" in metrics(door)
    monkeypatch.setattr(door.reader, "age", lambda _: 0.5)
    ledger, tables = door.reader.projections()
    monkeypatch.setattr(door.reader, "projections", lambda: [ledger, msgspec.structs.replace(tables, position=str(10**6))])
    assert door.get("/healthz").json()["status"] == "ok"
    assert 'roundledger_projection_beyond_log{projection="tables"} 0.0' in metrics(door)
    monkeypatch.setattr(door.reader, "drawn", lambda: 2000)
    assert door.get("/healthz").json()["status"] == "behind"
    assert 'roundledger_projection_beyond_log{projection="tables"} 1.0' in metrics(door)


def test_a_service_that_runs_no_projections_answers_for_none_and_shows_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(projections=False) as door:
        ledger, tables = door.reader.projections()
        stopped = msgspec.structs.replace(tables, position="7", stopped_at=NOW, stopped_by="8", stop_reason="poison")
        monkeypatch.setattr(door.reader, "projections", lambda: [ledger, stopped])
        monkeypatch.setattr(door.reader, "age", lambda _: 60.0)
        assert door.get("/readyz").json() == {"status": "ready", "projections_run": "not here"}
        health = door.get("/healthz").json()
        assert (health["status"], health["projections_run"]) == ("ok", "not here")
        assert (health["position"], health["log"]) == ("7", "14")
        assert health["projections"][1]["stop_reason"] == "poison"
        text = metrics(door)
        monkeypatch.setattr(door.reader, "end", _away)
        assert door.get("/healthz").json() == {"status": "away", "waiting": 0, "projections_run": "not here"}
    assert "roundledger_projections_run 0.0" in text
    assert "roundledger_projection_lag_seconds 60.0" in text
    assert 'roundledger_projection_stopped{projection="tables"} 1.0' in text


def _away() -> None:
    raise psycopg.OperationalError("gone")


# Metrics.


def metrics(door: Door) -> str:
    answer = door.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return answer.text


def test_requests_and_verdicts_are_counted_under_names_of_our_own(door: Door) -> None:
    door.events([event(), event(type="nonsense")])
    for n in range(50):
        door.get(f"/v1/rounds/{n}")
        door.get(f"/nothing/{n}")
        door.request(f"BREW{n}", "/time")
    text = metrics(door)
    assert 'roundledger_requests_total{method="POST",route="/v1/events",status="200"} 1.0' in text
    assert 'roundledger_requests_total{method="GET",route="/v1/rounds/{id}",status="422"} 50.0' in text
    assert 'roundledger_requests_total{method="GET",route="other",status="404"} 50.0' in text
    assert 'roundledger_requests_total{method="other",route="/time",status="405"} 50.0' in text
    assert 'roundledger_verdicts_total{code="",status="accepted"} 1.0' in text
    assert 'roundledger_verdicts_total{code="LGR-0107",status="rejected"} 1.0' in text
    assert "BREW" not in text
    assert "/nothing" not in text


def test_every_series_is_in_the_how_to() -> None:
    page = (ROOT / "docs" / "how-to" / "watch-the-service.md").read_text("utf-8")
    families = [family for family in Metrics().registry.collect() if family.name.startswith("roundledger_")]
    assert len(families) > 12
    for family in families:
        assert f"`{family.name}{'_total' if family.type == 'counter' else ''}`" in page


# Request ids and the log.


def test_a_request_keeps_the_number_that_it_brought_and_its_refusals_are_logged_with_it(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = event(type="nonsense")
    with caplog.at_level(logging.INFO):
        handler = logs.Collapsing()
        logging.getLogger("ledger").addHandler(handler)
        try:
            answer = door.request(
                "POST", "/v1/events", json.dumps([wrong] * 8), {"X-Request-Id": "proxy-7", "Content-Type": bodies.BATCH}
            )
        finally:
            logging.getLogger("ledger").removeHandler(handler)
    assert answer.headers["x-request-id"] == "proxy-7"
    refused = [record for record in caplog.records if record.getMessage().startswith("LGR-0107")]
    assert len(refused) == 5
    assert refused[0].about == {"request": "proxy-7", "round": wrong["subject"], "event": wrong["id"]}  # type: ignore[attr-defined]
    line = logs.Lines().format(refused[0])
    assert line.endswith(f"[request=proxy-7 round={wrong['subject']} event={wrong['id']}]")
    said = json.loads(logs.Objects().format(refused[0]))
    assert (said["level"], said["part"], said["request"], said["event"]) == ("INFO", "service", "proxy-7", wrong["id"])
    assert "3 more events of this post were refused" in caplog.text


@pytest.mark.parametrize("given", ["a b", "x" * 65])
def test_a_number_that_is_none_is_replaced(door: Door, given: str) -> None:
    first, second = (door.request("GET", "/time", headers={"X-Request-Id": given}).headers["x-request-id"] for _ in range(2))
    assert given not in (first, second)
    assert first != second


# Traces.


def test_a_trace_goes_from_the_request_to_the_append() -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with opened(noted=Noted(Metrics(), tracing.Tracing(provider))) as door:
        door.request("POST", "/v1/events", json.dumps([event()]), {"Content-Type": bodies.BATCH, "traceparent": parent})
    append, request = spans.get_finished_spans()
    assert (request.name, append.name) == ("POST /v1/events", "append")
    assert format(request.context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"
    assert request.parent is not None
    assert append.parent is not None
    assert (format(request.parent.span_id, "016x"), append.parent.span_id) == ("b7ad6b7169203331", request.context.span_id)
    assert request.attributes is not None
    assert request.attributes["http.response.status_code"] == 200
    assert append.attributes is not None
    assert append.attributes["roundledger.reports"] == 1
    assert append.attributes["roundledger.last_position"] == append.attributes["roundledger.first_position"]


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "x"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, False),
    ],
)
def test_there_are_traces_where_an_exporter_is_configured_and_only_there(environ: dict[str, str], wanted: bool) -> None:
    assert tracing.configured(environ) is wanted


def test_nothing_of_opentelemetry_is_imported_for_a_door_without_traces() -> None:
    code = "import sys, ledger.api.serve; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
