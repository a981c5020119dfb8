"""The door's contract as OpenAPI 3.1, built from the very structs that read and write the bodies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ledger.api import codes, intake, problems
from ledger.api.views import Answer, Balances, Health, Problem, TerminalView, Time
from ledger.errors import CODES
from ledger.reports import TYPES
from projections.queries import TableReport
from projections.views import RoundView

_ANSWERS = (Answer, Balances, Health, Problem, RoundView, TableReport, TerminalView, Time)
_REF = "#/components/schemas/{name}"
_UUID = {"type": "string", "format": "uuid"}
_ROUND = {**_UUID, "description": "The round's id, made by the terminal (UUID version 7 keeps the log compact)."}
_TABLE = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$", "description": "The table's id."}


_EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_text("utf-8"))
"""What a real door was posted and answered; a test holds it to what the door answers today."""


@cache
def document() -> dict[str, Any]:
    """The whole document, as JSON values."""
    models = (*_ANSWERS, *TYPES.values())
    _, schemas = msgspec.json.schema_components(models, ref_template=_REF)
    schemas["Problem"]["properties"]["code"] = {"enum": sorted(codes.ALL), "description": _codes(codes.ALL)}
    events = {model.__name__ + "Event": _event(topic, model.__name__) for topic, model in TYPES.items()}
    for name, event in events.items():
        shown = _EXAMPLES["events"].get(name.removesuffix("Event"))
        schemas[name] = event if shown is None else event | {"examples": [shown]}
    schemas["Event"] = {"oneOf": [_ref(name) for name in events], "description": "A CloudEvent 1.0 in structured JSON."}
    schemas["Batch"] = {"type": "array", "items": _ref("Event"), "maxItems": intake.MAX_ITEMS}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "round-ledger",
            "version": "1",
            "summary": "Table terminals post what happens at the table; readers ask what came of it.",
            "description": "Amounts and positions are strings, in and out. Refusals are problems of RFC 9457 with stable codes; "
            "each has a page at its `type`. Each operation lists the codes that it can answer with; besides, any path answers "
            "`LGR-0112` to a method that is not its own, and any other path `LGR-0111`.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": _paths(),
        "components": {"schemas": schemas},
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}


def _codes(some: Iterable[str]) -> str:
    return "\n".join(f"- `{code}` {CODES[code].title}" for code in sorted(some))


def _examples(some: Mapping[str, Any]) -> dict[str, Any]:
    return {"examples": {name: {"value": value} for name, value in some.items()}} if some else {}


def _event(topic: str, data: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": "CloudEvents 1.0, structured mode. Attributes that are not listed are ignored.",
        "required": ["specversion", "id", "source", "type", "subject", "time", "data"],
        "properties": {
            "specversion": {"const": "1.0"},
            "id": {**_UUID, "description": "The event's own id, made by the terminal when it happened and kept for every retry."},
            "source": {"type": "string", "pattern": "^/(terminals|people)/[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
            "type": {"const": topic},
            "subject": _TABLE if data in ("SignOn", "SignOff") else _ROUND,
            "time": {
                "type": "string",
                "format": "date-time",
                "description": "When it happened, by the terminal's clock, with offset.",
            },
            "epoch": {
                "type": "string",
                "pattern": "^[0-9]{1,16}$",
                "description": "The terminal's count of its own restarts, below 2^53; it numbers from 1 in each. 0 if left out.",
            },
            "sequence": {
                "type": "string",
                "pattern": "^[0-9]{1,16}$",
                "description": "The terminal's own number of the event, from 1 in each epoch, below 2^53.",
            },
            "datacontenttype": {"type": "string", "description": "application/json, or left out."},
            "data": _ref(data),
        },
        "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
    }


def _paths() -> dict[str, Any]:
    at_least = _query(
        "at_least", "Wait up to two seconds until the read side has reached this position.", {"pattern": "^[0-9]{1,18}$"}
    )
    round_id = {"name": "id", "in": "path", "required": True, "schema": _UUID}
    return {
        "/v1/events": {
            "post": {
                "operationId": "postEvents",
                "summary": "Post one event, or a batch of them",
                "description": "Each item is judged by itself, in order. One event that is refused is answered with its problem; "
                "in a batch each item has its own. Sending the same event again is safe: it is answered as `replayed`.",
                "requestBody": {
                    "required": True,
                    "content": {
                        intake.ONE: {"schema": _ref("Event"), **_examples(_EXAMPLES["events"])},
                        intake.BATCH: {"schema": _ref("Batch"), **_examples(_EXAMPLES["batches"])},
                        intake.EITHER: {"schema": {"oneOf": [_ref("Event"), _ref("Batch")]}},
                    },
                },
                "responses": _responses("postEvents", "What became of each event.", "Answer"),
            }
        },
        "/v1/rounds/{id}": _get("getRound", "One round, its bets and what came of them", "RoundView", [round_id]),
        "/v1/balances": _get(
            "getBalances",
            "Balances by account and currency",
            "Balances",
            [
                _query("prefix", "Accounts whose name begins with it: `player/`, `win/R01`.", {}),
                _query("currency", "ISO 4217 code.", {}),
                _query("after", "Continue behind this balance: the `after` of the page before.", {}),
                _query("limit", "Balances in the answer.", {"pattern": "^[0-9]{1,4}$", "default": "1000"}),
                at_least,
            ],
        ),
        "/v1/reports/tables": _get(
            "getTableReports",
            "What each table took and gave",
            "TableReport",
            [_query("day", "One gaming day; all without it.", {"format": "date"}), at_least],
        ),
        "/healthz": _get("getHealth", "Whether the service can read and write", "Health", []),
        "/v1/terminals/{id}": _get(
            "getTerminal",
            "What was received of a terminal, and what is missing",
            "TerminalView",
            [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
        ),
        "/v1/time": _get("getTerminalTime", "The service's clock, for terminals", "Time", []),
        "/time": _get("getTime", "The service's clock", "Time", []),
    }


def _get(operation: str, summary: str, answer: str, parameters: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "get": {
            "operationId": operation,
            "summary": summary,
            "parameters": parameters,
            "responses": _responses(operation, summary + ".", answer),
        }
    }


def _query(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": {"type": "string", **schema}}


def _responses(operation: str, description: str, answer: str) -> dict[str, Any]:
    """The answer, and the operation's own refusals by status."""
    content = {"schema": _ref(answer), **_examples(_EXAMPLES["answers"].get(operation, {}))}
    found: dict[str, Any] = {"200": {"description": description, "content": {"application/json": content}}}
    by_status: dict[str, list[str]] = {}
    for code in sorted(codes.OPERATIONS[operation]):
        by_status.setdefault(str(CODES[code].status), []).append(code)
    shown = _EXAMPLES["problems"].get(operation, {})
    for status, some in sorted(by_status.items()):
        problem = {"schema": _ref("Problem"), **_examples(shown.get(status, {}))}
        found[status] = {"description": _codes(some), "content": {problems.MEDIA_TYPE: problem}}
        if status == "503":
            found[status]["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    return found
