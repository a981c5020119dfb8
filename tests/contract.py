"""The door's contract, held at every answer that any test of the door gets: a code that the document does not list for the
operation, or a field that is no part of what was posted, fails the test that met it."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import msgspec

from ledger.api import codes, openapi
from ledger.reports import TYPES

_ATTRIBUTES = {"specversion", "id", "source", "type", "subject", "time", "sequence", "datacontenttype", "data"}
_OTHER = ("text/", "application/x-ndjson")
"""Beginnings of media types that hold no answer of which a field could be wrong."""
_WHOLE = {"Content-Type", "Content-Encoding", "Content-Length"}
"""Fields of a refusal of the post as a whole."""


def hold(answer: httpx.Response) -> None:
    """Fails where the answer is not one that the document lists for its request."""
    method, path = answer.request.method, answer.request.url.path
    operation = _operation(method, path)
    if operation is None or answer.headers["content-type"].startswith(_OTHER):
        return
    answer.read()
    problem = answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    if operation == "postEvents":
        for event, refused in _refusals(_posted(answer.request), body, problem):
            listed = codes.OPERATIONS[operation] if problem else codes.EVENT
            assert refused["code"] in listed, f"{refused['code']} is not listed for {operation}"
            _hold_of_its_type(event, refused["code"])
            for error in refused.get("errors", ()):
                assert _part(error["field"], event), f"{error['field']} is no part of {event}"
    elif problem:
        assert body["code"] in codes.OPERATIONS[operation], f"{body['code']} is not listed for {operation}"


def _hold_of_its_type(event: Any, code: str) -> None:
    """Fails where an event was refused as no event of its type is said to be."""
    model = TYPES.get(event["type"]) if isinstance(event, dict) and isinstance(event.get("type"), str) else None
    if model is not None and code in codes.EVENT:
        listed = {*codes.ANY_EVENT, *codes.BY_REPORT[model]}
        assert code in listed, f"{code} is not listed for {event['type']}"


def _operation(method: str, path: str) -> str | None:
    for pattern, methods in openapi.document()["paths"].items():
        if method.lower() in methods and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", pattern), path):
            return str(methods[method.lower()]["operationId"])
    return None


def _posted(request: httpx.Request) -> Any:
    try:
        return json.loads(request.content)
    except (ValueError, RecursionError, httpx.RequestNotRead):
        return None


def _refusals(posted: Any, body: Any, problem: bool) -> list[tuple[Any, Any]]:
    """Each refusal of the answer with the event that it is about."""
    if problem:
        return [(posted, body)]
    events = posted if isinstance(posted, list) else [posted]
    return [(event, item["problem"]) for event, item in zip(events, body["items"], strict=True) if "problem" in item]


def _part(field: str, event: Any) -> bool:
    """Whether `field` is a path within the event: an attribute, or a field of its data, there or missing."""
    if not isinstance(event, dict):
        return field in _WHOLE
    name, dot, inner = field.partition(".")
    if not dot:
        return field in _ATTRIBUTES | _WHOLE | event.keys() | {_escaped(key) for key in event}
    model = TYPES.get(event.get("type", ""))
    known = {each.name for each in msgspec.structs.fields(model)} if model else set()
    data = event.get("data")
    return name == "data" and inner in known | {_escaped(key)[:64] for key in (data if isinstance(data, dict) else {})}


def _escaped(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
