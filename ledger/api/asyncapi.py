"""The ledger's events as AsyncAPI 3.0: what terminals send, and what the log makes of it; CloudEvents both ways.

Terminals' reports come over HTTP and are described there in full (`ledger.api.openapi`); here they are messages of a channel. The
events of the log come from the feed (`ledger.api.feed`), whatever carries them: a page, a stream, a webhook, a broker.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from ledger.api import bodies, openapi
from ledger.events import EVENTS, Event
from ledger.feed.envelope import SOURCE
from ledger.reports import TYPES, type_of

_REF = "#/components/schemas/{name}"


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
                "address": "/v1/feed",
                "title": "The log",
                "description": "What became of the reports, in one order: in pages of lines, or as server-sent events. "
                "`/openapi.json` has the parameters. In SQL it is the view `ledger.log`, whose column `body` is `data`.",
                "servers": [{"$ref": "#/servers/door"}],
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
                "bindings": {"http": {"method": "GET", "bindingVersion": "0.3.0"}},
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
                "table": {"type": "string", "description": "The table that it is about, where it is about one."},
                "property": {"type": "string", "description": "The property that it belongs to, where it belongs to one."},
                "datacontenttype": {"const": "application/json"},
                "data": {"$ref": _REF.format(name=model.__name__)},
            },
        },
        "examples": [] if example is None else [{"payload": example}],
    }
