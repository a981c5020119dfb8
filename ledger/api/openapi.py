"""The door's contract as OpenAPI 3.1, built from the very structs that read and write the bodies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec

from ledger.api import bodies, codes, feed, intake, metrics, plain, problems
from ledger.api.parameters import REPORT_FORMS
from ledger.api.views import Answer, Balances, Health, Liabilities, Problem, Ready, TerminalView, Time, Trial
from ledger.errors import CODES
from ledger.feed.source import PAGE
from ledger.reports import TYPES
from projections.queries import TableReport
from projections.reports.catalog import DEFINITIONS
from projections.reports.filters import PLACES
from projections.reports.model import Kind
from projections.views import RoundView

_ANSWERS = (Answer, Balances, Health, Liabilities, Problem, Ready, RoundView, TableReport, TerminalView, Time, Trial)
_REF = "#/components/schemas/{name}"
_SECONDS = {"type": "integer", "minimum": 1}
_UUID = {"type": "string", "format": "uuid"}
_ROUND = {**_UUID, "description": "The round's id, made by the terminal (UUID version 7 keeps the log compact)."}
_PROPERTY = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$", "description": "The property's id."}
_MARK = r"^[0-9]{1,18}(\.[0-9a-f-]{36}\.[0-9]{1,18}\.[0-9a-f]{16})?$"
_TABLE = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$", "description": "The table's id."}


_SECURITY = {
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "Signature",
        "description": "A terminal's HTTP message signature (RFC 9421) in `Signature` and `Signature-Input`, made anew for each "
        "request; OpenAPI has no type of its own for it. It covers what the answer 401 lists in `Accept-Signature`: method, "
        "authority, path and query, and of a post its Content-Type and its Content-Digest (RFC 9530), which is of the bytes as "
        "they are sent, compressed or not. Keys: `roundledger keys issue`.",
    },
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A person's token (RFC 6750). Tokens: `roundledger tokens issue`. A person at a terminal sends both.",
    },
}
_HEADERS: dict[str, Any] = {
    "X-Request-Id": {
        "description": "The request's own number, or the one that the service gave it: what its log says of the request has it.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Cache-Control": {"required": True, "schema": {"const": "no-store"}},
    "Retry-After": {"description": "Seconds after which the very same request may succeed.", "schema": _SECONDS},
    "Feed-Cursor": {
        "description": "Where the next page begins: the `after` of its request. Of a stream, where that begins.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[0-9]"},
    },
    "Link": {
        "description": 'The next page, `rel="next"` (RFC 8288), where it may have something now.',
        "schema": {"type": "string"},
    },
    "WWW-Authenticate": {"required": True, "schema": {"type": "string"}},
    "Accept-Signature": {"description": "What a signature has to cover (RFC 9421, section 5.1).", "schema": {"type": "string"}},
}
_ALWAYS = {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", "Cache-Control")}
_CHALLENGE = {name: {"$ref": f"#/components/headers/{name}"} for name in ("WWW-Authenticate", "Accept-Signature")}
_NOBODY: dict[str, Any] = {"security": []}
"""Of an operation that asks nobody who they are."""

EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_text("utf-8"))
"""What a real door was posted and answered; a test holds it to what the door answers today."""


@cache
def document() -> dict[str, Any]:
    """The whole document, as JSON values."""
    models = (*_ANSWERS, *TYPES.values())
    _, schemas = msgspec.json.schema_components(models, ref_template=_REF)
    schemas["Problem"]["properties"]["code"] = {"enum": sorted(codes.ALL), "description": _codes(codes.ALL)}
    schemas |= events()
    schemas["Event"] = {"oneOf": [_ref(name) for name in events()], "description": "A CloudEvent 1.0 in structured JSON."}
    schemas["Document"] = {"type": "object"}
    schemas["ReportDocument"] = _REPORT
    schemas["Batch"] = {"type": "array", "items": _ref("Event"), "maxItems": intake.MAX_ITEMS}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "round-ledger",
            "version": "1",
            "summary": "Table terminals post what happens at the table; readers ask what came of it.",
            "description": "Amounts and positions are strings, in and out. Refusals are problems of RFC 9457 with stable codes; "
            "each has a page at its `type`. Each operation lists the codes that it can answer with; besides, any path answers "
            "`LGR-0112` to a method that is not its own, and any other path `LGR-0111`. Answers of more than a kilobyte are "
            "compressed with gzip for whoever accepts that. A request may bring its own `X-Request-Id`.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{}, {"signature": []}, {"token": []}, {"signature": [], "token": []}],
        "paths": _paths(),
        "components": {"schemas": schemas, "securitySchemes": _SECURITY, "headers": _HEADERS},
    }


def events() -> dict[str, dict[str, Any]]:
    """The CloudEvents that are read, by the names of their schemas, each with an example that was posted."""
    named = {model.__name__: _event(topic, model.__name__) for topic, model in TYPES.items()}
    return {f"{name}Event": event | {"examples": [EXAMPLES["events"][name]]} for name, event in named.items()}


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
            "subject": _TABLE if topic in plain.OF_TABLES else _PROPERTY if topic in plain.OF_PROPERTIES else _ROUND,
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
                "pattern": "^0{0,15}[1-9][0-9]{0,15}$",
                "maxLength": 16,
                "description": "The terminal's own number of the event, from 1 in each epoch, below 2^53.",
            },
            "datacontenttype": {
                "type": "string",
                "pattern": r"^application/([A-Za-z0-9.+-]+\+)?json$",
                "description": "application/json, or left out.",
            },
            "data": _ref(data),
        },
        "propertyNames": {"pattern": "^[a-z0-9]+$"},
        "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
    }


def _paths() -> dict[str, Any]:
    at_least = _query(
        "at_least", "Wait up to two seconds until the read side has reached this position.", {"pattern": "^[0-9]{1,18}$"}
    )
    at = _query(
        "at",
        "As of a position in digits, or as of a time with its offset (RFC 3339): all events up to the last one that had been "
        "received by then. The answer says which position that is. A time of the last seconds may still gain events; one that is "
        "still to come is refused, as is a position beyond the log's end.",
        {"examples": ["1234", "2026-11-29T22:30:00+08:00"]},
    )
    round_id = {"name": "id", "in": "path", "required": True, "schema": _UUID}
    return {
        "/v1/events": {
            "post": {
                "operationId": "postEvents",
                "summary": "Post one event, or a batch of them",
                "description": "Each item is judged by itself, in order. One event that is refused is answered with its problem; "
                "in a batch each item has its own. Sending the same event again is safe: it is answered as `replayed`. The body "
                "may be compressed (`Content-Encoding: gzip`); it holds at most 1 MiB, and so does what comes out of it.",
                "parameters": [
                    _query(
                        "earlier",
                        "Said where events of an earlier epoch of the terminal still wait to be sent again, which its numbers do "
                        "not tell: what those events could change is then refused for now and not for good.",
                        {"enum": ["waiting"]},
                    )
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        bodies.ONE: {"schema": _ref("Event"), **_examples(EXAMPLES["events"])},
                        bodies.BATCH: {"schema": _ref("Batch"), **_examples(EXAMPLES["batches"])},
                        bodies.EITHER: {"schema": {"oneOf": [_ref("Event"), _ref("Batch")]}},
                    },
                },
                "responses": _responses("postEvents", "What became of each event.", "Answer"),
            }
        },
        "/v1/feed": _feed(),
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
                at,
                at_least,
            ],
        ),
        "/v1/balances/trial": _get(
            "getTrialBalance", "The trial balance: all accounts by kind, summing to zero", "Trial", [at, at_least]
        ),
        "/v1/reports/tables": _get(
            "getTableReports",
            "What each table took and gave",
            "TableReport",
            [_query("day", "One gaming day; all without it.", {"format": "date"}), at_least],
        ),
        "/v1/reports/{name}": _report(at_least),
        "/v1/tables": _get("getLiabilities", "What each table may still have to pay", "Liabilities", [at_least]),
        "/v1/tables/{id}/liability": _get(
            "getLiability",
            "What one table may still have to pay",
            "Liabilities",
            [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}, at_least],
        ),
        "/v1/terminals/{id}": _get(
            "getTerminal",
            "What was received of a terminal, and what is missing",
            "TerminalView",
            [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
        ),
        "/v1/time": _get("getTerminalTime", "The service's clock, for terminals", "Time", []),
        "/time": _get("getTime", "The service's clock", "Time", []),
        "/healthz": _get("getHealth", "That the service lives, and how it is", "Health", [], **_NOBODY),
        "/readyz": _get("getReadiness", "Whether the service takes posts and answers questions", "Ready", [], **_NOBODY),
        "/metrics": _get("getMetrics", "What the service counts, for Prometheus", None, [], metrics.MEDIA_TYPE),
        "/openapi.json": _get("getOpenapi", "This document", "Document", []),
        "/asyncapi.json": _get("getAsyncapi", "Events as AsyncAPI 3.0", "Document", []),
        "/problems/{code}": _get(
            "getProblem",
            "What a code means and what to do about it",
            None,
            [{"name": "code", "in": "path", "required": True, "schema": {"type": "string"}, "example": "LGR-0204"}],
            "text/plain; charset=utf-8",
            **_NOBODY,
        ),
    }


def _feed() -> dict[str, Any]:
    """The one operation that answers in lines, or goes on answering."""
    some = "Several values with commas between are alternatives."
    last = {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "The id of the event that a stream's client has seen last; it counts instead of `after`.",
        "schema": {"type": "string", "pattern": _MARK},
    }
    found = _get(
        "getFeed",
        "The events of the log in order, as pages or as a stream",
        None,
        [
            _query("after", "Events behind this cursor or position; from the beginning without it.", {"pattern": _MARK}),
            _query("type", f"Types of events, as `roundledger.BetPlaced.v1` or `BetPlaced`. {some}", {}),
            _query("table", f"Events of these tables. {some}", {}),
            _query("property", f"Events of these properties. {some}", {}),
            _query("subject", f"Events of these streams: ids of rounds. {some}", {}),
            _query("limit", "Events of a page; a stream has none.", {"pattern": "^[0-9]{1,4}$", "default": str(PAGE)}),
            last,
        ],
        feed.NDJSON,
        description="Each event is a CloudEvent 1.0; `/asyncapi.json` has a schema for each type. An event is given once nothing "
        "can come before it any more, so that whoever goes on from a cursor misses none. Without more ado the answer is a page "
        "with an event a line; `Feed-Cursor` is where the next begins, also where the filter left everything out. With `Accept: "
        "text/event-stream` the answer goes on for as long as both sides live: each event's `id` is the cursor behind it, an "
        "`id` without data moves the cursor on, a comment is a heartbeat, and an event named `problem` says why it ends.",
    )
    answer = found["get"]["responses"]["200"]
    answer["content"][feed.EVENTS] = {"schema": {"type": "string"}}
    more = {name: {"$ref": f"#/components/headers/{name}"} for name in (feed.CURSOR, "Link")}
    answer["headers"] = {**answer["headers"], **more}
    return found


def _get(
    operation: str,
    summary: str,
    answer: str | None,
    parameters: list[dict[str, Any]],
    media_type: str = "application/json",
    **more: Any,
) -> dict[str, Any]:
    """A question; `answer` names the schema of its answer, None where that is text."""
    return {
        "get": {
            "operationId": operation,
            "summary": summary,
            "parameters": parameters,
            "responses": _responses(operation, summary + ".", answer, media_type),
            **more,
        }
    }


def _report(at_least: dict[str, Any]) -> dict[str, Any]:
    """Any report of the catalogue, in one of three forms."""
    named = {"name": "name", "in": "path", "required": True, "schema": {"enum": sorted(DEFINITIONS)}}
    parameters = [
        named,
        _query("format", "The form; else the first media type of `Accept` that is one, else JSON.", {"enum": [*REPORT_FORMS]}),
        _query("day", "One gaming day.", {"format": "date"}),
        _query("month", "The gaming days of one month.", {"pattern": "^[0-9]{4}-[0-9]{2}$"}),
        _query("from", "Gaming days from this one on.", {"format": "date"}),
        _query("to", "Gaming days up to this one, itself included.", {"format": "date"}),
        *(_query(place, f"One {place} only, where the report knows it.", {}) for place in PLACES),
        _query("threshold", "Of `exposure`: from which amount a player's day is listed, as `MOP=500000,HKD=500000`.", {}),
        at_least,
    ]
    found = _get("getReport", "A report", "ReportDocument", parameters)
    found["get"]["description"] = "\n".join(
        ["Not every report knows every filter; one that it does not know is refused.", ""]
        + [f"- `{one.name}`: {one.purpose}" for _, one in sorted(DEFINITIONS.items())]
    )
    content = found["get"]["responses"]["200"]["content"]
    content["application/x-ndjson"] = {"schema": {"type": "string", "description": "One object a line."}}
    content["text/csv"] = {"schema": {"type": "string", "description": "A header line, then one record a row."}}
    return found


_REPORT = {
    "type": "object",
    "description": "A report: its heading, columns, rows, sums per currency, notes. Amounts are strings of minor units.",
    "required": [
        *("name", "title", "property", "period", "filters", "as_of_position", "generated_at", "software"),
        *("columns", "rows", "subtotals", "totals", "notes"),
    ],
    "properties": {
        **{key: {"type": "string"} for key in ("name", "title", "property", "period", "filters", "as_of_position", "software")},
        "generated_at": {"type": "string", "format": "date-time"},
        "columns": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["key", "title", "kind"],
                "properties": {"key": {"type": "string"}, "title": {"type": "string"}, "kind": {"enum": [*get_args(Kind)]}},
            },
        },
        "rows": {"type": "array", "items": {"type": "object", "description": "The columns' values by their keys."}},
        **{
            sums: {"type": "array", "items": {"type": "object", "required": ["currency", "rows"]}}
            for sums in ("subtotals", "totals")
        },
        "notes": {"type": "array", "items": {"type": "string"}},
    },
}


def _query(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": {"type": "string", **schema}}


def _responses(operation: str, description: str, answer: str | None, media_type: str = "application/json") -> dict[str, Any]:
    """The answer, and the operation's own refusals by status."""
    schema = {"type": "string"} if answer is None else _ref(answer)
    content = {"schema": schema, **_examples(EXAMPLES["answers"].get(operation, {}))}
    headers = _ALWAYS if operation != "getProblem" else {"X-Request-Id": _ALWAYS["X-Request-Id"]}
    found: dict[str, Any] = {"200": {"description": description, "headers": headers, "content": {media_type: content}}}
    by_status: dict[str, list[str]] = {}
    for code in sorted(codes.OPERATIONS[operation]):
        by_status.setdefault(str(CODES[code].status), []).append(code)
    shown = EXAMPLES["problems"].get(operation, {})
    for status, some in sorted(by_status.items()):
        problem = {"schema": _ref("Problem"), **_examples(shown.get(status, {}))}
        found[status] = {
            "description": _codes(some),
            "headers": {**_ALWAYS, **_waiting(some), **(_CHALLENGE if status == "401" else {})},
            "content": {problems.MEDIA_TYPE: problem},
        }
    return found


def _waiting(some: Iterable[str]) -> dict[str, Any]:
    """Retry-After, which comes with every code that waits: for sure where all of these do."""
    waiting = [problems.waits(code) for code in some]
    if all(waiting):
        return {"Retry-After": {**_HEADERS["Retry-After"], "required": True}}
    return {"Retry-After": {"$ref": "#/components/headers/Retry-After"}} if any(waiting) else {}
