"""When a post is sent again, when not, and how long is waited; each over a real socket."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from ledger.client import Door, Refused, Retry, Signing, Unanswered, act, retry_after
from ledger.reports import CloseBetting, Data, HoldRound, RecordOutcome
from ledger.signatures import SigningKey, new_secret
from tests.unit.client.support import ROUND, Told, event, scripted

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def told(status: int, code: str, *, retryable: bool, **headers: str) -> Told:
    body = {"type": "/problems/x", "title": "T", "status": status, "detail": "d", "code": code, "retryable": retryable}
    return Told(status, {"Content-Type": "application/problem+json", **headers}, json.dumps(body).encode())


BUSY = told(503, "LGR-0505", retryable=True)


def test_a_post_is_one_batch_in_order_and_each_event_has_its_item() -> None:
    events = [event() for _ in range(3)]
    with scripted() as service, Door(service.url) as door:
        answer = door.post(events)
    assert [item.id for item in answer.items] == [each.id for each in events]
    [asked] = service.asked
    assert asked.headers["content-type"] == "application/cloudevents-batch+json"
    assert [each["id"] for each in json.loads(asked.body)] == [str(each.id) for each in events]


@pytest.mark.parametrize("first", [BUSY, Told(502, {}, b"<html>"), Told(200, {}, b"Welcome"), Told(200, {}, b'{"items":[]}')])
def test_what_passes_is_sent_again_with_the_same_bytes(first: Told) -> None:
    paused: list[float] = []
    with scripted(first, first, Told()) as service, Door(service.url, pause=paused.append) as door:
        door.post([event()])
    assert len({asked.body for asked in service.asked}) == 1
    assert (len(service.asked), len(paused)) == (3, 2)


def test_it_is_given_up_for_now_after_as_many_tries_as_were_allowed() -> None:
    with (
        scripted(BUSY) as service,
        Door(service.url, retry=Retry(tries=3), pause=lambda _: None) as door,
        pytest.raises(Unanswered, match="LGR-0505"),
    ):
        door.post([event()])
    assert len(service.asked) == 3


@pytest.mark.parametrize("status", [401, 403, 413, 415, 422])
def test_what_is_refused_for_good_is_not_sent_again(status: int) -> None:
    with (
        scripted(told(status, "LGR-0110", retryable=False)) as service,
        Door(service.url) as door,
        pytest.raises(Refused) as caught,
    ):
        door.post([event()])
    assert (caught.value.problem.status, caught.value.problem.code) == (status, "LGR-0110")
    assert len(service.asked) == 1


def test_what_never_had_a_connection_was_not_sent_and_what_broke_off_may_have_been() -> None:
    with Door("http://127.0.0.1:9", retry=Retry(tries=2), pause=lambda _: None) as door, pytest.raises(Unanswered) as away:
        door.post([event()])
    assert not away.value.sent

    def once(request: httpx.Request) -> httpx.Response:
        tries.append(request)
        raise httpx.ReadTimeout("no answer") if len(tries) == 1 else httpx.ConnectError("refused")

    tries: list[httpx.Request] = []
    transport = httpx.MockTransport(once)
    with (
        Door("http://service", retry=Retry(tries=2), pause=lambda _: None, transport=transport) as door,
        pytest.raises(Unanswered) as lost,
    ):
        door.post([event()])
    assert lost.value.sent, "the first try may have been taken"


def test_nobody_listening_is_unanswered() -> None:
    with scripted() as service:
        pass
    with Door(service.url, retry=Retry(tries=1)) as door, pytest.raises(Unanswered, match="does not answer"):
        door.post([event()])


def test_the_pause_is_at_least_what_the_service_asks_for() -> None:
    paused: list[float] = []
    asking = told(503, "LGR-0505", retryable=True, **{"Retry-After": "7"})
    with scripted(asking, Told()) as service, Door(service.url, retry=Retry(first=0.5), pause=paused.append) as door:
        door.post([event()])
    assert 7.0 <= paused[0] <= 7.5


def test_pauses_grow_and_are_spread_over_their_whole_length() -> None:
    retry = Retry(first=1.0, longest=10.0, obeyed=20.0)
    assert [retry.pause(n, draw=lambda _, most: most) for n in (1, 2, 3, 4, 5, 5000)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert retry.pause(3, draw=lambda least, _: least) == 0.0
    assert retry.pause(1, 1e9, draw=lambda least, _: least) == 20.0
    assert len({retry.pause(3) for _ in range(20)}) > 10


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        (" 120 ", 120.0),
        ("Sun, 29 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 29 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("9" * 40, 999_999_999.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, lambda: NOW) == seconds


def test_large_bodies_are_packed_where_that_was_asked_for() -> None:
    events = [event() for _ in range(10)]
    with scripted(Told(422, {}, b"{}")) as service, Door(service.url, packed=True) as door, pytest.raises(Refused):
        door.post(events)
    [asked] = service.asked
    assert asked.headers["content-encoding"] == "gzip"
    assert len(json.loads(gzip.decompress(asked.body))) == 10


def test_every_try_is_signed_anew() -> None:
    key = SigningKey(id="K-1", algorithm="ed25519", secret=new_secret())
    with scripted(BUSY, Told()) as service, Door(service.url, auth=Signing(key), pause=lambda _: None) as door:
        door.post([event()], token="rlt_x")
    signatures = {asked.headers["signature"] for asked in service.asked}
    assert len(signatures) == len(service.asked) == 2
    for asked in service.asked:
        assert asked.headers["authorization"] == "Bearer rlt_x"
        assert 'keyid="K-1"' in asked.headers["signature-input"]
        assert '"authorization"' in asked.headers["signature-input"]
        assert asked.headers["content-digest"].startswith("sha-256=")


def test_a_token_goes_with_the_acts_of_its_person_and_with_no_other_post() -> None:
    with scripted() as service, Door(service.url) as door:
        act(door, event(HoldRound(reason="dispute")), "rlt_x")
        door.post([event()])
    assert [asked.headers.get("authorization") for asked in service.asked] == ["Bearer rlt_x", None]


@pytest.mark.parametrize("code", ["LGR-0801", "LGR-0804"])
def test_a_refusal_of_the_person_is_final_for_the_act(code: str) -> None:
    with scripted(_refusing(code)) as service, Door(service.url, pause=lambda _: None) as door:
        item = act(door, event(HoldRound(reason="dispute"), id=ROUND), "rlt_x")
    assert (item.status, len(service.asked)) == ("rejected", 1)
    assert item.problem is not None
    assert item.problem.code == code


def test_an_act_that_is_turned_away_for_the_moment_is_sent_again_as_often_as_the_door_is_patient() -> None:
    with scripted(_refusing("LGR-0521")) as service, Door(service.url, retry=Retry(tries=3), pause=lambda _: None) as door:
        assert act(door, event(HoldRound(reason="dispute"), id=ROUND), "rlt_x").status == "rejected"
    assert len(service.asked) == 3


def _refusing(code: str) -> Told:
    problem = {"code": code, "status": 403, "detail": "no", "retryable": True}
    return Told(200, {}, json.dumps({"items": [{"id": str(ROUND), "status": "rejected", "problem": problem}]}).encode())


@pytest.mark.parametrize("data", [CloseBetting(), RecordOutcome(outcome="17")])
def test_a_fact_is_nobodys_act(data: Data) -> None:
    with scripted() as service, Door(service.url) as door, pytest.raises(ValueError, match="not a fresh act"):
        act(door, event(data), "rlt_x")
    assert service.asked == []


@pytest.mark.parametrize("url", ["", "localhost:8044", "ftp://x", "http://"])
def test_what_is_no_address_is_said_at_once(url: str) -> None:
    with pytest.raises((ValueError, httpx.InvalidURL)):
        Door(url)


def test_the_services_clock_is_read() -> None:
    with scripted(Told(200, {}, b'{"time":"2026-11-29T12:00:00Z"}')) as service, Door(service.url) as door:
        assert door.time() == NOW


def test_fields_that_a_later_service_adds_are_passed_over() -> None:
    made = event()
    item: dict[str, Any] = {"id": str(made.id), "status": "accepted", "round": None, "positions": [], "news": 1}
    body = json.dumps({"items": [item], "more": {}}).encode()
    with scripted(Told(200, {}, body)) as service, Door(service.url) as door:
        assert door.post([made]).items[0].status == "accepted"
