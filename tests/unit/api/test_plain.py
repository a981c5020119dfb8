"""The quick reader of batches: what it reads, it reads as the careful one does, and it never reads what that one refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.api import bodies, intake, openapi, plain
from ledger.reports import TYPES, Malformed, Report
from tests.unit.api.events import BET, EVENT, event

NOW = datetime(2026, 11, 29, 12, 0, 1, tzinfo=UTC)
_VALUES = st.sampled_from(
    [
        *("", "1.0", "17", "0012", "10000", "MOP", "red", "a b", "é", "\u007f", "\n", '"', "\\", "application/json"),
        *("application/cloudevents+json", "2026-11-29T20:00:00+08:00", "2026-11-29T12:00:00-00:00", "0001-01-01T00:00:00+14:00"),
        *("2026-11-29T12:00:00", "0193A0C2-0000-7000-8000-000000000001", "0193a0c2000070008000000000000001", "/terminals/T-1"),
        *("/terminals/T-1\n", "9007199254740992", "999999999999999"),
        *(None, True, 0, -1, 3, 1000, 3.0, 10**30, [], {}, ["a"], {"a": "b"}),
    ]
)
_NAMES = st.sampled_from(
    [
        *(
            "specversion",
            "id",
            "source",
            "subject",
            "time",
            "type",
            "epoch",
            "sequence",
            "datacontenttype",
            "dataschema",
            "traceparent",
        ),
        *("player", "spot", "stake", "currency", "seat", "chip", "outcome", "table", "game"),
    ]
)


def carefully(raw: bytes) -> list[Any]:
    with patch.object(plain, "read", return_value=None):
        return intake.read(raw, bodies.BATCH, NOW).items


@st.composite
def _items(draw: st.DrawFn) -> str:
    """An event with up to two changes, in itself or its data: a member changed, added, left out or standing twice."""
    kind, data = draw(
        st.sampled_from(
            [
                ("BetPlaced", {"player": "P-1", "spot": "red", "stake": "10000", "currency": "MOP"}),
                ("RoundOpened", {"table": "R01", "game": "roulette"}),
                ("BettingClosed", {}),
                ("OutcomeRecorded", {"outcome": "17"}),
                ("StaffSignedOn", {"table": "R01", "person": "S-1", "role": "dealer"}),
                ("BetVoided", {"bet": str(EVENT), "reason": "spilt"}),
            ]
        )
    )
    made = event(kind, dict(data), id=str(EVENT))
    twice = None
    for _ in range(draw(st.integers(0, 2))):
        inside = draw(st.booleans())
        changed = made["data"] if inside else made
        name, value = draw(_NAMES), draw(_VALUES)
        match draw(st.sampled_from(["set", "leave out", "twice"])):
            case "set":
                changed[name] = value
            case "leave out":
                changed.pop(name, None)
            case _:
                twice = (inside, name, value)
    text = json.dumps(made, ensure_ascii=draw(st.booleans()), separators=draw(st.sampled_from([(",", ":"), (" , ", "\t:\n")])))
    if twice is not None:
        inside, name, value = twice
        at = text.index("{", 1) if inside else 0
        rest = text[at + 1 :]
        text = text[: at + 1] + f"{json.dumps(name)}:{json.dumps(value)}" + ("" if rest.startswith("}") else ",") + rest
    return text


@given(st.lists(_items(), max_size=3))
def test_what_it_reads_is_what_the_careful_reader_reads(items: list[str]) -> None:
    raw = f"[{','.join(items)}]".encode()
    events = plain.read(raw)
    read = carefully(raw)
    if events is not None:
        assert all(isinstance(item, Report) for item in read)
    if all(isinstance(item, Report) and not isinstance(item.body, Malformed) for item in read):
        assert intake.read(raw, bodies.BATCH, NOW).items == read


_ALIKE = st.one_of(
    st.uuids().map(str),
    st.integers(0, 10**30).map(str),
    st.dates().map(str),
    st.times().map(str),
    st.sampled_from(["1e5", "0x10", "1.0", "true", "null", "None", "NaN", "Infinity", "2026-11-29T12:00:00", "P1D", "0193a0c2"]),
)
"""References that look like something else."""


@given(st.sampled_from(sorted(TYPES)), _ALIKE)
def test_a_reference_stays_text_whatever_it_looks_like(kind: str, reference: str) -> None:
    """In both readers alike: a table that is called as a UUID, a number or a date is, is called so in the log."""
    model = TYPES[kind]
    sent = json.loads(json.dumps(openapi.EXAMPLES["events"][model.__name__])) | {"source": "/terminals/T-1"}
    properties = msgspec.json.schema(model)["$defs"][model.__name__]["properties"]
    found = {name: json.dumps(schema) for name, schema in properties.items()}
    references = [name for name, said in found.items() if "An opaque reference" in said and "array" not in said]
    sent["data"] |= dict.fromkeys(references, reference)
    if kind in plain.OF_TABLES | plain.OF_PROPERTIES:
        sent["subject"] = reference
    raw = json.dumps([sent]).encode()
    assert (plain.read(raw) is None) is (kind in plain.OF_TABLES | plain.OF_PROPERTIES)
    quick, careful = intake.read(raw, bodies.BATCH, NOW).items, carefully(raw)
    for item in (*quick, *careful):
        assert isinstance(item, Report)
        assert not isinstance(item.body, Malformed)
        assert [(type(getattr(item.body, name)), getattr(item.body, name)) for name in references] == [(str, reference)] * len(
            references
        )
    assert quick == careful
    assert msgspec.json.encode(quick) == msgspec.json.encode(careful)


_EDGES: dict[str, tuple[Any, ...]] = {
    "specversion": ("1.0", "1", "1.00", "0.3", ""),
    "id": (
        str(EVENT),
        str(EVENT).upper(),
        EVENT.hex,
        "{" + str(EVENT) + "}",
        f"urn:uuid:{EVENT}",
        str(EVENT)[:-1],
        str(EVENT) + "0",
    ),
    "subject": (str(EVENT), str(EVENT).upper(), EVENT.hex, "R01", ""),
    "source": (*(f"/terminals/{name}" for name in ("T", "T" * 64, "T" * 65, "", "-T", "T:1", "T/1", "T ")), "/people/S-1", "T"),
    "time": (
        *("2026-11-29T12:00:00Z", "2026-11-29t12:00:00z", "2026-11-29 12:00:00Z", "2026-11-29T12:00:00", "2026-11-29"),
        *("2026-11-29T12:00:60Z", "2026-11-29T24:00:00Z", "2026-11-29T12:00:00.1234567Z", "2026-11-29T12:00:00,5Z"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-11-29T12:00:00+24:00", "1764417600"),
    ),
    "epoch": ("0", "1", "00", "01", "999999999999999", str(2**53 - 1), str(2**53), "9" * 17, "-1", "+1", "1.0", " 1", ""),
    "sequence": ("0", "1", "00", "01", "999999999999999", str(2**53 - 1), str(2**53), "9" * 17, "-1", "+1", "1.0", " 1", ""),
    "datacontenttype": ("application/json", "APPLICATION/JSON", "application/json;charset=utf-8", "text/json", ""),
    "player": ("P", "P" * 64, "P" * 65, "", "-P", "P:1", "P 1"),
    "spot": ("r", "r" * 200, "r" * 201, ""),
    "stake": ("1", "0", "00", "01", "-1", "+1", "1.0", "1" + "0" * 15, "1" + "0" * 15 + "1", "1" + "0" * 16, ""),
    "currency": ("MOP", "mop", "XXX", "MO", "MOPS", ""),
    "seat": (0, -1, 999, 1000, 3.0, 10**30, "3"),
    "chip": ("cash", "c" * 64, "c" * 65, ""),
}
"""Field of a bet's event → values at the edge of what it takes, on both sides."""
_ANY: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    1.5,
    -0.0,
    10**30,
    [],
    {},
    ["a"],
    "\x00",
    "\x7f",
    "\ud800",
    "\u202e",
    "\u0661",
    "\uff11",
    "x" * 5000,
)


@pytest.mark.parametrize("field", _EDGES)
def test_at_the_edges_of_each_field_both_readers_come_to_the_same(field: str) -> None:
    for value in (*_EDGES[field], *_ANY):
        for escaped in (True, False):
            sent = event("BetPlaced", dict(BET), id=str(EVENT), epoch="1", sequence="7")
            (sent["data"] if field in BET or field == "chip" else sent)[field] = value
            try:
                raw = json.dumps([sent], ensure_ascii=escaped).encode()
            except UnicodeEncodeError:
                continue  # UTF-8 has no such text
            assert repr(intake.read(raw, bodies.BATCH, NOW)) == repr(intake.Intake(carefully(raw), single=False)), (field, value)


def test_it_reads_what_terminals_send() -> None:
    sent = [
        event(),
        event("RoundOpened", {"table": "R01", "game": "roulette"}),
        event(sequence="7", epoch="1"),
        event("BettingClosed", {}),
    ]
    assert plain.read(json.dumps(sent).encode()) is not None


@pytest.mark.parametrize("inside", [True, False])
def test_a_key_that_stands_twice_is_seen(inside: bool) -> None:
    """Python and msgspec alike keep the last of the two."""
    text = json.dumps([event()])
    name = '"seat":3,' if inside else '"specversion":"1.0",'
    at = text.index("{", 3 if inside else 0) + 1
    raw = (text[:at] + name + text[at:]).encode()
    assert plain.read(raw) is None
    (item,) = intake.read(raw, bodies.BATCH, NOW).items
    refusal = item.body.refusal if isinstance(item, Report) and isinstance(item.body, Malformed) else item.refusal  # type: ignore[union-attr]
    assert refusal is not None
    assert refusal.code == "LGR-0106"
