"""The parameters of a question, read as strictly as a report is."""

from __future__ import annotations

from datetime import date

import msgspec
from starlette.requests import Request

from ledger.api.strictjson import printable
from ledger.errors import Refusal


def parameters(request: Request, *known: str) -> dict[str, str]:
    """The query's parameters, each at most once. An unknown one is refused: a filter that is ignored answers another question."""
    found: dict[str, str] = {}
    if not request.scope["query_string"]:
        return found
    for name, value in request.query_params.multi_items():
        if name not in known:
            allowed = f"known: {', '.join(known)}" if known else "this resource takes none"
            raise Refusal(
                "LGR-0108", "the parameter is unknown", field=printable(name[:64]), value=printable(value), help=allowed
            )
        if name in found:
            raise Refusal("LGR-0108", "the parameter stands twice", field=name, value=printable(value))
        if not value.isprintable():
            raise Refusal(
                "LGR-0108", "the parameter holds a character that cannot be printed", field=name, value=printable(value)
            )
        found[name] = value
    return found


REPORT_FORMS = {"json": "application/json", "ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
"""Forms of a report over HTTP → media type."""


def report_form(given: dict[str, str], accept: str) -> str:
    """The form that `format` names, or else the media types that are accepted; JSON where neither does. Refuses LGR-0121."""
    named = given.get("format")
    if named is not None:
        if named not in REPORT_FORMS:
            raise Refusal(
                "LGR-0121",
                "there is no such form over HTTP",
                field="format",
                value=named,
                help=f"forms: {', '.join(REPORT_FORMS)}",
            )
        return named
    accepted = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    by_type = {media_type.partition(";")[0]: form for form, media_type in REPORT_FORMS.items()}
    return next((by_type[each] for each in accepted if each in by_type), "json")


def digits(given: dict[str, str], name: str, default: int) -> int:
    """A whole number, `default` where it is not given. Refuses LGR-0108."""
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Refusal("LGR-0108", "the parameter is a whole number in up to 18 digits", field=name, value=text)
    return int(text)


def one_day(given: dict[str, str], name: str) -> date | None:
    """A date, where it is given. Refuses LGR-0108."""
    text = given.get(name)
    if text is None:
        return None
    try:
        return msgspec.convert(text, date)
    except msgspec.ValidationError:
        raise Refusal("LGR-0108", "the parameter is a date such as 2026-11-29", field=name, value=text) from None
