"""Refusals as RFC 9457 problem details."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import msgspec
from starlette.responses import Response

from ledger.api.views import FieldError, Problem, Sequence
from ledger.errors import CODES, Refusal

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = 1
"""Seconds after which what waits for something is worth sending again, where nobody knows better."""
_WAITING = frozenset({408, 409, 429, 503})
"""The statuses of what waits: for a database, for a writer, for a report that has not come."""


def problem(refusal: Refusal, event_id: UUID | None = None) -> Problem:
    """The refusal as its sender reads it; `event_id` where it is about one event."""
    meaning = refusal.meaning
    return Problem(
        type=f"/problems/{refusal.code}",
        title=meaning.title,
        status=meaning.status,
        detail=refusal.detail,
        instance=None if event_id is None else event_id.urn,
        code=refusal.code,
        retryable=refusal.retryable,
        errors=() if refusal.field is None else (FieldError(field=refusal.field, value=refusal.value),),
        help=refusal.help,
        cite=refusal.cite,
    )


def waits(code: str) -> bool:
    """Whether a refusal says when to ask again (RFC 9110, section 10.2.3)."""
    meaning = CODES[code]
    return meaning.retryable and meaning.status in _WAITING


def response(
    refusal: Refusal,
    event_id: UUID | None = None,
    headers: Mapping[str, str] | None = None,
    sequences: tuple[Sequence, ...] = (),
) -> Response:
    """The whole answer to a request that was refused."""
    meaning = refusal.meaning
    sent = {"Cache-Control": "no-store", "Content-Language": "en"}
    if refusal.retryable and waits(refusal.code):
        sent["Retry-After"] = str(RETRY_AFTER)
    sent.update(headers or {})
    said = msgspec.structs.replace(problem(refusal, event_id), sequences=sequences)
    return Response(msgspec.json.encode(said), meaning.status, sent, MEDIA_TYPE)
