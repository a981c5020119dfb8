"""The events as AsyncAPI 3.0.

The specification's own JSON Schema is in no package that Python installs, so the document is held to the specification's rules
here (https://www.asyncapi.com/docs/reference/specification/v3.0.0), and what is JSON Schema in it to its meta-schema.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from ledger.api import asyncapi
from ledger.events import EVENTS, BettingClosed, Recorded
from ledger.feed.envelope import Place, envelope
from ledger.reports import TYPES

DOCUMENT: dict[str, Any] = json.loads(msgspec.json.encode(asyncapi.document()))
FIELDS = {
    "": {"asyncapi", "id", "info", "servers", "defaultContentType", "channels", "operations", "components"},
    "info": {"title", "version", "termsOfService", "contact", "license", "description", "tags", "externalDocs"},
    "servers": {"host", "protocol", "protocolVersion", "pathname", "description", "title", "summary", "variables", "security"},
    "channels": {"address", "messages", "title", "summary", "description", "servers", "parameters", "tags", "bindings"},
    "operations": {"action", "channel", "title", "summary", "description", "security", "tags", "bindings", "messages", "reply"},
    "messages": {"headers", "payload", "correlationId", "contentType", "name", "title", "summary", "description", "examples"},
}
"""What the specification lets stand in each object that is used."""


def resolved(reference: str) -> Any:
    found: Any = DOCUMENT
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def test_the_document_has_the_parts_of_the_specification_and_no_others() -> None:
    assert DOCUMENT["asyncapi"] == "3.0.0"
    assert DOCUMENT.keys() <= FIELDS[""]
    assert DOCUMENT["info"].keys() <= FIELDS["info"]
    for kind in ("servers", "channels", "operations"):
        for name, each in DOCUMENT[kind].items():
            assert re.fullmatch(r"[A-Za-z0-9_-]+", name)
            assert each.keys() <= FIELDS[kind]
    for name, message in DOCUMENT["components"]["messages"].items():
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
        assert message.keys() <= FIELDS["messages"]
        assert all(example.keys() <= {"headers", "payload", "name", "summary"} for example in message["examples"])
    for operation in DOCUMENT["operations"].values():
        assert operation["action"] in ("send", "receive")
        assert resolved(operation["channel"]["$ref"]) in DOCUMENT["channels"].values()


def test_every_reference_leads_somewhere() -> None:
    references = set(re.findall(r'"\$ref": ?"([^"]+)"', json.dumps(DOCUMENT)))
    assert len(references) > 80
    for reference in references:
        assert resolved(reference)


def test_every_type_that_is_posted_and_every_event_of_the_log_is_a_message() -> None:
    def types(channel: str) -> set[str]:
        return {resolved(message["$ref"])["name"] for message in DOCUMENT["channels"][channel]["messages"].values()}

    assert types("reports") == set(TYPES)
    assert types("log") == {f"roundledger.{model.TOPIC}" for model in EVENTS}


@pytest.mark.parametrize("name", DOCUMENT["components"]["messages"])
def test_examples_fit_the_schema_of_their_message(name: str) -> None:
    message = DOCUMENT["components"]["messages"][name]
    schema = {**message["payload"], "components": DOCUMENT["components"]}
    Draft202012Validator.check_schema(schema)
    for example in message["examples"]:
        Draft202012Validator(schema).validate(example["payload"])
    assert message["examples"] or name in ("PlayerAdjusted.log", "DocumentRecorded.log")


def test_every_schema_is_one() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_an_event_of_the_log_travels_as_a_cloudevent() -> None:
    now, some = datetime(2026, 11, 29, 12, 0, 1, tzinfo=UTC), UUID(int=7)
    closed = BettingClosed(cause=some, terminal="T-R01", occurred_at=now, received_at=now)
    assert "table" not in msgspec.to_builtins(envelope(Recorded(12, some, 3, closed)))
    assert msgspec.to_builtins(envelope(Recorded(12, some, 3, closed), Place("R01", "DEMO"))) == {
        "specversion": "1.0",
        "id": "12",
        "source": "/ledger",
        "type": "roundledger.BettingClosed.v1",
        "subject": str(some),
        "time": "2026-11-29T12:00:01Z",
        "position": "12",
        "version": "3",
        "table": "R01",
        "property": "DEMO",
        "datacontenttype": "application/json",
        "data": {
            "cause": str(some),
            "terminal": "T-R01",
            "occurred_at": "2026-11-29T12:00:01Z",
            "received_at": "2026-11-29T12:00:01Z",
        },
    }
