"""What is read from a post, and what is refused: each item by itself, the field named, the value shown."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.api import bodies, intake, openapi
from ledger.errors import Refusal
from ledger.reports import (
    TYPES,
    CloseBetting,
    Malformed,
    OpenRound,
    PlaceBet,
    RecordOutcome,
    Report,
    SignOn,
    Verdict,
    table_stream,
)
from tests.unit.api.events import EVENT, ROUND, bet, event, raw_bet

NOT_STRINGS = (
    *("10000", "100.5", "2557.68", "0.29", "1.15", "4.35", "1e4", "1E3", "1e999", "-1e999", "NaN", "Infinity", "-Infinity"),
    *("-100", "0", "0.001", "true", "false", "null", "[]", "{}"),
)
NOT_AMOUNTS = (
    *("１００", "1_000", "1,000", "+100", "-100", "0", "00", "0100", "1E3", "1e3", "100.00", "0.001", "٣", "²", "NaN"),
    *("Infinity", "0x10", "1000000000000001"),
)
NOW = datetime(2026, 11, 29, 12, 0, 1, tzinfo=UTC)


def read(body: Any, media_type: str = bodies.EITHER) -> list[Report | Verdict]:
    raw = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return intake.read(raw, media_type, NOW).items


def report(body: Any) -> Report:
    (item,) = read(body)
    assert isinstance(item, Report), item
    return item


def refusal(body: Any) -> Refusal:
    (item,) = read(body)
    if isinstance(item, Report):
        assert isinstance(item.body, Malformed)
        return item.body.refusal
    assert item.status == "rejected"
    assert item.positions == ()
    assert item.refusal is not None
    return item.refusal


def whole(body: Any, media_type: str = bodies.EITHER) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read(body, media_type)
    return caught.value


def test_a_bet_is_read_as_it_was_sent() -> None:
    found = report(event(id=str(EVENT), sequence="0012"))
    assert found.event_id == EVENT
    assert found.terminal == "T-R01"
    assert found.type == "roundledger.BetPlaced.v1"
    assert found.round == ROUND
    assert found.occurred_at == datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert found.occurred_at.tzinfo is UTC
    assert found.received_at == NOW
    assert found.sequence == 12
    assert found.body == PlaceBet(player="P-1001", spot="straight:17", stake="10000", currency="MOP", seat=3)


@pytest.mark.parametrize(
    ("kind", "data", "body"),
    [
        ("RoundOpened", {"table": "R01", "game": "roulette"}, OpenRound(table="R01", game="roulette")),
        ("RoundOpened", {"table": "R01", "game": "roulette", "dealer": None}, OpenRound(table="R01", game="roulette")),
        ("BettingClosed", {}, CloseBetting()),
        ("BettingClosed", ..., CloseBetting()),
        ("OutcomeRecorded", {"outcome": "17"}, RecordOutcome(outcome="17")),
    ],
)
def test_every_type_has_its_body(kind: str, data: Any, body: Any) -> None:
    assert report(event(kind, data)).body == body


def test_what_concerns_a_table_has_the_table_s_id_as_its_subject() -> None:
    said = {"table": "R01", "person": "D-7", "role": "dealer"}
    found = report(event("StaffSignedOn", said) | {"subject": "R01"})
    assert (found.round, found.body) == (table_stream("R01"), SignOn(table="R01", person="D-7", role="dealer"))
    for subject in (None, 7, "", "R 01", "x" * 65):
        refused = refusal(event("StaffSignedOff", said) | {"subject": subject})
        assert (refused.code, refused.field) == ("LGR-0103", "subject")


class TestB16NumbersThatAreNone:
    """Each is refused with the field named and the value shown as it was written; so is each of its kind in any other field."""

    @pytest.mark.parametrize(
        "stake",
        [*NOT_STRINGS, '["10000"]', '{"amount":"10000"}', "9" * 30, "9" * 5000],
    )
    def test_a_stake_is_a_string(self, stake: str) -> None:
        found = refusal(raw_bet(stake))
        assert (found.code, found.field) == ("LGR-0104", "data.stake")
        shown = {"[]": "an array", "{}": "an object"}.get(stake[:1] + stake[-1:], stake)
        assert found.value == (shown if len(shown) <= 200 else shown[:200] + "…")

    @pytest.mark.parametrize(
        "stake",
        [*NOT_AMOUNTS, "", " 100", "100 ", "9" * 5000],
    )
    def test_of_ascii_digits(self, stake: str) -> None:
        found = refusal(bet(stake=stake))
        assert (found.code, found.field) == ("LGR-0104", "data.stake")
        assert found.value == (stake if len(stake) <= 200 else stake[:200] + "…")

    @pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999", "3.0", "true", '"3"', "９", "9" * 5000, "-1", "1000", "[3]"])
    def test_a_seat_is_a_small_whole_number(self, value: str) -> None:
        text = raw_bet('"10000"').replace('"seat": 3', f'"seat": {value}')
        if value == "９":
            assert whole(text).code == "LGR-0101"
            return
        found = refusal(text)
        assert (found.code, found.field) == ("LGR-0108", "data.seat")

    def test_largest_and_smallest_stake_are_read(self) -> None:
        assert report(bet(stake="1")).body.stake == "1"  # type: ignore[union-attr]
        assert report(bet(stake=str(10**15))).body.stake == "1000000000000000"  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("text", "field", "value"),
        [
            (raw_bet('"10000", "stake": "20000"'), "data.stake", "10000 and 20000"),
            (raw_bet('"10000", "stake": "10000"'), "data.stake", "10000 and 10000"),
            (raw_bet('"10000", "\\u0073take": "20000"'), "data.stake", "10000 and 20000"),
            (json.dumps(event()).replace('{"spec', '{"id":"x", "spec'), "id", None),
            (json.dumps(event()).replace('{"spec', '{"data":{}, "spec'), "data", "an object and an object"),
            (json.dumps(event()).replace('{"spec', '{"trace":1, "trace":2, "spec'), "trace", "1 and 2"),
        ],
    )
    def test_a_key_stands_once(self, text: str, field: str, value: str | None) -> None:
        found = refusal(text)
        assert (found.code, found.field) == ("LGR-0106", field)
        assert value is None or found.value == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("specversion", "0.3"),
        ("specversion", 1.0),
        ("id", "1"),
        ("id", 7),
        ("id", EVENT.hex),
        ("id", "{" + str(EVENT) + "}"),
        ("id", EVENT.urn),
        ("id", str(EVENT) + "\n"),
        ("source", "T-R01"),
        ("source", "/terminals/"),
        ("source", "/terminals/../admin"),
        ("source", "/terminals/Ｔ1"),
        ("source", "/terminals/T1\n"),
        ("source", "/terminals/" + "T" * 65),
        ("source", ["/terminals/T1"]),
        ("subject", "R01"),
        ("time", "2026-11-29T20:00:00"),
        ("time", "2026-11-29"),
        ("time", "2026-02-30T20:00:00Z"),
        ("time", "yesterday"),
        ("time", 1796000000),
        ("time", "0001-01-01T00:00:00+08:00"),
        ("sequence", 12),
        ("sequence", "-1"),
        ("sequence", "0"),
        ("sequence", "000"),
        ("sequence", "1.0"),
        ("sequence", "１２"),
        ("sequence", "9007199254740992"),
        ("sequence", "9" * 16),
        ("sequence", "9" * 19),
        ("datacontenttype", "text/xml"),
        ("datacontenttype", 1),
    ],
)
def test_attributes_are_checked(name: str, value: object) -> None:
    found = refusal(event(**{name: value}))
    assert (found.code, found.field) == ("LGR-0103", name)
    assert found.value is not None


@pytest.mark.parametrize("name", ["specversion", "id", "source", "type", "subject", "time"])
def test_attributes_are_needed(name: str) -> None:
    for missing in (event(**{name: ...}), event(**{name: None})):
        found = refusal(missing)
        assert (found.code, found.field) == ("LGR-0103", name)
        assert "missing" in found.detail


def test_extension_attributes_are_ignored() -> None:
    plain, traced = event(id=str(EVENT)), event(id=str(EVENT), traceparent="00-…", sequencetype="Integer", n=1.5, sampled=True)
    assert report(plain) == report(traced)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e400", "-1E999", "9" * 400, r'"\ud800"', r'"a\udfffb"'])
def test_what_no_other_reader_of_json_takes_stands_in_no_attribute(value: str) -> None:
    raw = json.dumps(event())[:-1] + f', "traced": {value}}}'
    found = refusal(raw)
    assert (found.code, found.field) == ("LGR-0103", "traced")
    (found.value or "").encode()


@pytest.mark.parametrize("name", ["Stake", "occurred_at", "stake-2", "", "\ud800", "data_base64"])
def test_names_that_no_attribute_has_are_refused(name: str) -> None:
    found = refusal(event(**{name: "1"}))
    assert found.code == "LGR-0103"
    assert found.field is not None
    found.field.encode()


def test_an_unknown_type_is_refused_with_the_near_one() -> None:
    found = refusal(event("BetsPlaced"))
    assert (found.code, found.field) == ("LGR-0107", "type")
    assert found.help == "did you mean roundledger.BetPlaced.v1?"


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"stake": ...}, "data.stake"),
        ({"player": ...}, "data.player"),
        ({"stakes": "1"}, "data.stakes"),
        ({"\ud800": "1"}, "data.\\ud800"),
        ({"player": ""}, "data.player"),
        ({"player": "=1+1"}, "data.player"),
        ({"player": "-5"}, "data.player"),
        ({"player": "P 1"}, "data.player"),
        ({"player": "P1\n"}, "data.player"),
        ({"player": "Ｐ1"}, "data.player"),
        ({"player": "P" * 65}, "data.player"),
        ({"player": "\ud800"}, "data.player"),
        ({"player": 1001}, "data.player"),
        ({"spot": ""}, "data.spot"),
        ({"spot": "straight:17\x00"}, "data.spot"),
        ({"spot": "s" * 201}, "data.spot"),
        ({"spot": ["straight", 17]}, "data.spot"),
        ({"spot": None}, "data.spot"),
        ({"currency": "\u202eMOP"}, "data.currency"),
        ({"currency": 1}, "data.currency"),
    ],
)
def test_fields_are_strict(data: dict[str, Any], field: str) -> None:
    found = refusal(bet(**data))
    assert (found.code, found.field) == ("LGR-0108", field)
    for text in (found.detail, found.field, found.value, found.help):
        (text or "").encode()


@pytest.mark.parametrize("currency", ["XXX", "mop", "MOP ", "澳門元", ""])
def test_an_unknown_currency_is_refused(currency: str) -> None:
    found = refusal(bet(currency=currency))
    assert (found.code, found.field, found.value) == ("LGR-0105", "data.currency", currency)


def test_a_near_miss_is_named() -> None:
    assert refusal(bet(staek="1")).help == "did you mean `stake`?"


@pytest.mark.parametrize("item", [5, None, "x", [], True, 1.5])
def test_an_item_that_is_no_object_is_refused_by_itself(item: object) -> None:
    bad, good = read([item, event()])
    assert isinstance(bad, Verdict)
    assert (bad.event_id, bad.round) == (None, None)
    assert bad.refusal is not None
    assert bad.refusal.code == "LGR-0103"
    assert isinstance(good, Report)


def test_b23_only_the_bad_item_carries_the_error() -> None:
    bad = bet(stake=1)
    items = read([event(), bad, event()])
    assert [isinstance(item, Report) and isinstance(item.body, Malformed) for item in items] == [False, True, False]
    assert isinstance(items[1], Report)
    assert (items[1].event_id, items[1].round) == (UUID(bad["id"]), ROUND)


def test_malformed_data_have_a_fingerprint_of_their_own() -> None:
    """So that a second try gets the first refusal, and a mended body under the same id is told that the id was used."""
    bad = bet(stake=1)
    first, again, other = (read(item)[0] for item in (bad, bad, bet(stake=2)))
    assert isinstance(first, Report)
    assert isinstance(again, Report)
    assert isinstance(other, Report)
    assert first.fingerprint == again.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "LGR-0101"),
        (b" \n", "LGR-0101"),
        (b"hello", "LGR-0101"),
        (b"{", "LGR-0101"),
        (b"{}{}", "LGR-0101"),
        (b"[1,]", "LGR-0101"),
        (b"{'a':1}", "LGR-0101"),
        (b'"\x01"', "LGR-0101"),
        (b"\xef\xbb\xbf{}", "LGR-0101"),
        (b"\xff\xfe{\x00}\x00", "LGR-0101"),
        (b'"\xed\xa0\x80"', "LGR-0101"),
        (b"[" * 200_000, "LGR-0101"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "LGR-0101"),
        (b"5", "LGR-0103"),
        (b"null", "LGR-0103"),
        (b"NaN", "LGR-0103"),
        (b'"\\ud800"', "LGR-0103"),
        (b"9" * 100_000, "LGR-0103"),
        (b"[" + b",".join([b"{}"] * 1001) + b"]", "LGR-0109"),
    ],
)
def test_a_body_that_holds_no_events_is_refused_whole(raw: bytes, code: str) -> None:
    found = whole(raw)
    assert found.code == code
    (found.detail + (found.value or "")).encode()


def test_a_thousand_are_read_and_none_is_enough() -> None:
    assert len(read([5] * 1000)) == 1000
    assert read([]) == []


def test_the_media_type_must_be_true() -> None:
    assert whole([event()], bodies.ONE).code == "LGR-0103"
    assert whole(event(), bodies.BATCH).code == "LGR-0103"
    assert len(read(event(), bodies.ONE)) == len(read([event()], bodies.BATCH)) == 1


@pytest.mark.parametrize(
    "text", ["application/json", "Application/JSON; charset=UTF-8", bodies.ONE, bodies.BATCH + ';charset="utf-8"']
)
def test_media_types_that_are_read(text: str) -> None:
    assert bodies.check_media_type(text) == text.partition(";")[0].lower()


@pytest.mark.parametrize("text", [None, "", "text/plain", "application/json; charset=latin1"])
def test_media_types_that_are_not(text: str | None) -> None:
    with pytest.raises(Refusal) as caught:
        bodies.check_media_type(text)
    assert caught.value.code == "LGR-0110"


class TestB21Fingerprint:
    def test_spelling_does_not_count(self) -> None:
        plain = event(id=str(EVENT), sequence="12")
        turned = dict(reversed(list(plain.items()))) | {"data": dict(reversed(list(plain["data"].items())))}
        spelt = json.dumps(turned, indent=2).replace("straight", "\\u0073traight")
        others = [
            spelt,
            plain | {"time": "2026-11-29T12:00:00.000Z"},
            plain | {"subject": str(ROUND).upper()},
            plain | {"traceparent": "00-1"},
            plain | {"sequence": "012"},
            plain | {"data": plain["data"] | {"chip": None}},
        ]
        assert {report(other).fingerprint for other in others} == {report(plain).fingerprint}

    @pytest.mark.parametrize(
        "stake", ["100.50", "1e999", "NaN", "1" * 30, '"0"', "[[[{}]]]", '{"a": [1.5, {"b": -0.0}]}', "null"]
    )
    def test_what_cannot_be_read_is_the_same_when_it_comes_again(self, stake: str) -> None:
        turned = json.dumps(event(data=dict(reversed(bet(stake="@")["data"].items())))).replace('"@"', stake)
        first = report(raw_bet(stake)).fingerprint
        assert {report(text).fingerprint for text in (raw_bet(stake), turned)} == {first}
        assert report(raw_bet("1.25")).fingerprint != first

    def test_data_that_are_too_deep_to_be_read_are_refused(self) -> None:
        for depth in range(800, 1000, 5):
            deep = raw_bet("[" * depth + "]" * depth)
            try:
                code = refusal(deep).code
            except Refusal as of_the_whole_body:
                code = of_the_whole_body.code
            assert code in ("LGR-0101", "LGR-0104")

    @pytest.mark.parametrize(
        "change",
        [
            {"source": "/terminals/T-R02"},
            {"subject": str(EVENT)},
            {"time": "2026-11-29T20:00:01+08:00"},
            {"sequence": "13"},
            {"sequence": ...},
            {"data": {"player": "P-1001", "spot": "straight:17", "stake": "100000", "currency": "MOP", "seat": 3}},
            {"data": {"player": "P-1001", "spot": "straight:17", "stake": "10000", "currency": "MOP"}},
            {"type": "roundledger.BettingClosed.v1", "data": {}},
        ],
    )
    def test_content_does(self, change: dict[str, Any]) -> None:
        plain = event(sequence="12")
        assert (
            report(plain).fingerprint
            != report({name: value for name, value in (plain | change).items() if value is not ...}).fingerprint
        )

    def test_it_is_the_same_for_ever(self) -> None:
        """Retries of last year's events find their answers by it: this value never changes."""
        found = report(event(id=str(EVENT), sequence="12"))
        canonical = (
            '{"data":{"currency":"MOP","player":"P-1001","seat":3,"spot":"straight:17","stake":"10000"},"sequence":"12",'
            '"source":"T-R01","subject":"019a2f00-0000-7000-8000-000000000001","time":"2026-11-29T12:00:00Z",'
            '"type":"roundledger.BetPlaced.v1"}'
        )
        assert found.fingerprint == hashlib.sha256(canonical.encode()).digest()
        assert found.fingerprint.hex() == "f7a0aaefba2fa70dae775152bb185e9b0ee734536352052e5b064bd73c088fd5"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["stake", "player", "spot", "seat", "currency", "chip", "x"]), _JSON), _JSON, _JSON)
def test_whatever_is_sent_the_answer_is_a_report_or_a_refusal(data: dict[str, Any], attribute: Any, item: Any) -> None:
    sent = [
        event(data={**bet()["data"], **data}),
        event(subject=attribute),
        event(trace=attribute),
        event(data=attribute),
        item,
        event(),
    ]
    items = read(json.dumps(sent))
    assert isinstance(items[-1], Report)
    for found in items:
        said = found.body.refusal if isinstance(found, Report) and isinstance(found.body, Malformed) else None
        said = found.refusal if isinstance(found, Verdict) else said
        if said is not None:
            for text in (said.detail, said.field, said.value, said.help):
                (text or "").encode()


@given(st.binary(max_size=200))
def test_whatever_bytes_are_sent_nothing_breaks(raw: bytes) -> None:
    try:
        read(raw)
    except Refusal as refusal:
        (refusal.detail + (refusal.value or "")).encode()


@pytest.mark.parametrize("name", ["epoch", "sequence"])
def test_b45_a_terminal_s_numbers_are_digits_and_part_of_what_it_said(name: str) -> None:
    same = {"id": str(EVENT), "sequence": "4", "epoch": "7"}
    found = report(event(**same))
    assert (found.epoch, found.sequence) == (7, 4)
    assert found.fingerprint == report(event(**same | {name: "00" + same[name]})).fingerprint
    assert found.fingerprint != report(event(**same | {name: "8"})).fingerprint
    assert found.fingerprint != report(event(**same | {name: ...})).fingerprint
    assert getattr(report(event(**{name: str(2**53 - 1)})), name) == 2**53 - 1
    for wrong in (7, -1, "-1", "", "1.0", "１", str(2**53), "1" * 17, True, [1]):
        assert refusal(event(**{name: wrong})).field == name


def test_b38_a_terminal_without_epochs_keeps_its_fingerprints() -> None:
    """As the first release made them, so that a retry over an upgrade finds its answer."""
    meaning = {
        "source": "T-R01",
        "type": "roundledger.BettingClosed.v1",
        "subject": str(ROUND),
        "time": "2026-11-29T12:00:00Z",
        "sequence": "4",
        "data": {},
    }
    said = json.dumps(meaning, sort_keys=True, separators=(",", ":")).encode()
    assert report(event("BettingClosed", {}, sequence="4")).fingerprint == hashlib.sha256(said).digest()


@pytest.mark.parametrize(
    ("kind", "field", "value", "said"),
    [
        ("RoundHeld", "reason", 5, "expected text, got a whole number"),
        ("RoundHeld", "reason", "x" * 65, "expected text of at most 64 characters"),
        ("RoundHeld", "bet", "x", "expected a UUID, such as"),
        ("RoundReleased", "finding", "no", "expected `stands` or `corrected`"),
        ("BetPlaced", "spot", "", "expected text that is not empty"),
        ("BetPlaced", "seat", 1000, "expected a whole number, 999 or less"),
        ("BetPlaced", "seat", -1, "expected a whole number, 0 or more"),
        ("BetPlaced", "seat", "3", "expected a whole number or null, got text"),
        ("ChipsRestored", "bets", "x", "expected a list, got text"),
        ("ChipsRestored", "bets", [str(EVENT), 1], "in entry 2, expected a UUID, got a whole number"),
    ],
)
def test_a_field_that_is_wrong_is_told_with_what_is_wanted_in_words(kind: str, field: str, value: Any, said: str) -> None:
    example = openapi.EXAMPLES["events"][TYPES[f"roundledger.{kind}.v1"].__name__]
    found = refusal({**example, "data": {**example["data"], field: value}})
    assert (found.code, found.field) == ("LGR-0108", f"data.{field}")
    assert said in found.detail
    assert found.value is not None


_ODD_TEXTS = (
    "\ud800",
    "\udfff",
    "a\ud800",
    "\x00",
    "a\x00b",
    "\x1b[2J",
    "\u202e",
    "\u2066a",
    "\ufeff",
    "\U000e0001",
    "x" * 2_000,
)
"""Texts that JSON can write and nobody should: half a surrogate pair, NUL, controls, what turns the line round, and very much."""


def _with(sent: Any, odd: Any) -> list[Any]:
    """The same with `odd` in the place of each of its texts, of each name, and beside each entry of a list, one at a time."""
    if isinstance(sent, str):
        return [odd, [odd], {odd: odd}, [[{"a": [odd]}]]]
    if isinstance(sent, dict):
        inside: list[Any] = [{**sent, name: bent} for name, value in sent.items() for bent in _with(value, odd)]
        return [*inside, {**sent, odd: "a"}]
    if isinstance(sent, list):
        inside = [[*sent[:n], bent, *sent[n + 1 :]] for n, value in enumerate(sent) for bent in _with(value, odd)]
        return [*inside, [*sent, odd]]
    return [odd]


@pytest.mark.parametrize("model", TYPES.values(), ids=lambda model: model.__name__)
def test_no_text_of_an_item_costs_its_mates(model: type) -> None:
    """Whatever stands in one item, wherever: the others of its post are read, and what is refused can be sent and stored."""
    sent = dict(openapi.EXAMPLES["events"][model.__name__])
    for odd in _ODD_TEXTS:
        for bent in _with(json.loads(json.dumps(sent)), odd):
            good, item = read([bet(), bent])
            assert isinstance(good, Report)
            assert not isinstance(good.body, Malformed)
            refused = (
                item.refusal if isinstance(item, Verdict) else item.body.refusal if isinstance(item.body, Malformed) else None
            )
            if refused is None:  # a note may be in any script, and an unknown attribute is nobody's business
                json.dumps(str(item), ensure_ascii=False).encode()
            else:
                assert not refused.retryable
                json.dumps([refused.detail, refused.field, refused.value, refused.help], ensure_ascii=False).encode()


def test_what_no_reader_foresaw_of_a_character_is_still_that_item_s_fault_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_time = intake._time

    def encodes(item: Any) -> Any:
        item.get("traceparent", "").encode()
        return plain_time(item)

    monkeypatch.setattr(intake, "_time", encodes)
    good, bad = read([bet(), bet() | {"traceparent": "\ud800"}])
    assert isinstance(good, Report)
    assert isinstance(bad, Verdict)
    assert bad.refusal is not None
    assert bad.refusal.code == "LGR-0103"
