"""The ledger's events as AsyncAPI 3.0: what terminals send, and what the log makes of it; CloudEvents both ways.

Terminals' reports come over HTTP and are described there in full (`ledger.api.openapi`); here they are messages of a channel. The
events of the log have an envelope too, so that whatever carries them says the same of each. No channel of this release carries
them by itself: they are read in SQL, where the view `ledger.log` has `data` as its column `body`.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import msgspec

from ledger.api import bodies, openapi
from ledger.events import EVENTS, DocumentRecorded, Event, Recorded
from ledger.reports import TYPES, type_of

SOURCE = "/ledger"
_REF = "#/components/schemas/{name}"


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the log as a CloudEvent."""

    specversion: str = "1.0"
    id: str
    """Its position in the log, which is its own: a consumer that has seen an id has seen the event."""
    source: str = SOURCE
    type: str
    """`roundledger.` and the topic under which it is stored."""
    subject: UUID
    """Its stream: the id of its round, or that of a table or document."""
    time: datetime
    """When the ledger received what brought it about, by the service's clock."""
    position: str
    """Its place in the log's one order; gaps are normal."""
    version: str
    """Its place in its stream, from 1 without gaps."""
    datacontenttype: str = "application/json"
    data: Event


def envelope(recorded: Recorded) -> Envelope:
    """The event as it travels."""
    body = recorded.body
    return Envelope(
        id=str(recorded.position),
        type=type_of(type(body)),
        subject=recorded.stream,
        time=body.recorded_at if isinstance(body, DocumentRecorded) else body.received_at,
        position=str(recorded.position),
        version=str(recorded.version),
        data=body,
    )


@cache
def document() -> dict[str, Any]:
    """The whole document, as JSON values."""
    reports = {name.removesuffix("Event"): schema for name, schema in openapi.events().items()}
    _, schemas = msgspec.json.schema_components((*TYPES.values(), *EVENTS), ref_template=_REF)
    messages = {f"{name}.report": _report(name, schema) for name, schema in reports.items()}
    messages |= {f"{model.__name__}.log": _logged(model) for model in EVENTS}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "round-ledger",
            "version": "1",
            "description": "Events of table rounds, as CloudEvents 1.0 in structured JSON: reports, as terminals and people post "
            "them, and events of the log, as they were recorded. Amounts and positions are strings.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": bodies.ONE,
        "servers": {
            "door": {
                "host": "127.0.0.1:8044",
                "protocol": "http",
                "description": "The usual address of `roundledger serve`; `https` where it has a certificate.",
            }
        },
        "channels": {
            "reports": {
                "address": "/v1/events",
                "title": "Reports",
                "description": "What happened at a table, one event or an array of them a post. `/openapi.json` has the answers.",
                "servers": [{"$ref": "#/servers/door"}],
                "messages": {name: _message(name) for name in messages if name.endswith(".report")},
            },
            "log": {
                "address": None,
                "title": "The log",
                "description": "What became of the reports, in one order. No address of this release sends it; in SQL it is the "
                "view `ledger.log`, whose column `body` is `data`.",
                "messages": {name: _message(name) for name in messages if name.endswith(".log")},
            },
        },
        "operations": {
            "receiveReports": {
                "action": "receive",
                "channel": {"$ref": "#/channels/reports"},
                "summary": "Judges each report and answers it once it is durable.",
                "bindings": {"http": {"method": "POST", "bindingVersion": "0.3.0"}},
            },
            "sendLog": {
                "action": "send",
                "channel": {"$ref": "#/channels/log"},
                "summary": "Each event once it can no longer be overtaken, in the order of its position.",
            },
        },
        "components": {"schemas": schemas, "messages": messages},
    }


def _message(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/messages/{name}"}


def _report(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    examples = schema.pop("examples", [])
    return {
        "name": schema["properties"]["type"]["const"],
        "title": name,
        "contentType": bodies.ONE,
        "payload": schema,
        "examples": [{"payload": example} for example in examples],
    }


def _logged(model: type[Event]) -> dict[str, Any]:
    example = openapi.EXAMPLES["log"].get(model.__name__)
    return {
        "name": type_of(model),
        "title": model.__name__,
        "summary": (model.__doc__ or "").strip().partition("\n")[0],
        "contentType": bodies.ONE,
        "payload": {
            "type": "object",
            "required": ["specversion", "id", "source", "type", "subject", "time", "position", "version", "data"],
            "properties": {
                "specversion": {"const": "1.0"},
                "id": {"type": "string", "pattern": "^[0-9]+$", "description": "The position: unique within the source."},
                "source": {"const": SOURCE},
                "type": {"const": type_of(model)},
                "subject": {"type": "string", "format": "uuid", "description": "The stream: a round, a table or a document."},
                "time": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When the ledger received what brought it about.",
                },
                "position": {"type": "string", "pattern": "^[0-9]+$", "description": "The place in the log's one order."},
                "version": {
                    "type": "string",
                    "pattern": "^[0-9]+$",
                    "description": "The place in its stream, from 1 on.",
                },
                "datacontenttype": {"const": "application/json"},
                "data": {"$ref": _REF.format(name=model.__name__)},
            },
        },
        "examples": [] if example is None else [{"payload": example}],
    }
