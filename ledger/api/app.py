"""The HTTP door: terminals post events, readers ask for rounds, balances and reports.

Every answer is JSON; every refusal is a problem of RFC 9457 with a stable code, whatever went wrong. The calls behind it
block, so they run in threads: posts in the one writer, reads in a few of their own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Protocol, TypeVar
from uuid import UUID, uuid4

import anyio
import anyio.to_thread
import msgspec
import psycopg
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ledger.api import auth, intake, openapi, problems, views
from ledger.api.access import Access
from ledger.api.strictjson import printable
from ledger.api.views import Answer, Health, Item, Reader, Time
from ledger.errors import Refusal
from ledger.pages import page
from ledger.reports import Report, Verdict
from ledger.store.server import UNFIT
from ledger.writer import Writer
from projections.queries import ProjectionPosition

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

BODY_SECONDS = 30.0
"""How long the body of a post may take to arrive."""
CATCH_UP_SECONDS = 2.0
"""How long a read with `at_least` waits for the read side."""
PAGE = 1000
"""Balances in one answer, where the request asks for no fewer."""
_READERS = 8
_CATCH_UP_PAUSE = 0.01


class Rounds(Protocol):
    """The write side, as the door needs it."""

    def post(self, reports: Sequence[Report], /) -> list[Verdict]: ...


def create_app(
    rounds: Rounds,
    reader: Reader,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    writer: Writer | None = None,
    access: Access | None = None,
    body_seconds: float = BODY_SECONDS,
    drain_seconds: float = 30.0,
) -> Starlette:
    """The application for an ASGI server. Its lifespan starts the writer and, at the end, writes what still waits.

    `now` is the service's clock; `writer` replaces the writer of default size; `access` says who may come in: without it
    everybody may, and nobody is known; `drain_seconds` bounds the end.
    """
    door = _Door(reader, writer or Writer(rounds.post), now, body_seconds)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        door.writer.start()
        try:
            yield
        finally:
            if not await anyio.to_thread.run_sync(door.writer.close, drain_seconds):
                _log.error("%d events still waited for their commit at the end; they were not answered", door.writer.waiting)

    app = Starlette(
        routes=[
            Route("/v1/events", door.post_events, methods=["POST"]),
            Route("/v1/rounds/{id}", door.get_round),
            Route("/v1/balances", door.get_balances),
            Route("/v1/reports/tables", door.get_tables),
            Route("/healthz", door.get_health),
            Route("/v1/terminals/{id}", door.get_terminal),
            Route("/v1/time", door.get_time),
            Route("/time", door.get_time),
            Route("/openapi.json", door.get_openapi),
            Route("/problems/{code}", door.get_problem),
        ],
        lifespan=lifespan,
        exception_handlers={
            Refusal: _refused,
            HTTPException: _no_route,
            ClientDisconnect: _gone,
            **dict.fromkeys((psycopg.OperationalError, *UNFIT), _database_away),
        },
    )
    app.router.redirect_slashes = False
    if access is not None:
        app.add_middleware(auth.Guard, access)
    app.add_middleware(_Faults)
    return app


class _Door:
    """The endpoints and what they share."""

    def __init__(self, reader: Reader, writer: Writer, now: Callable[[], datetime], body_seconds: float) -> None:
        self.writer = writer
        self._reader = reader
        self._now = now
        self._body_seconds = body_seconds

    async def post_events(self, request: Request) -> Response:
        _parameters(request)
        media_type = intake.check_media_type(request.headers.get("content-type"), request.headers.get("content-encoding"))
        raw = await self._body(request)
        sender = auth.admitted(request)
        sender.verify_body(raw)
        read, single = intake.read(raw, media_type, self._now())
        items = [sender.vouch(item) if isinstance(item, Report) else item for item in read]
        reports = [item for item in items if isinstance(item, Report)]
        # What was taken is written even if this request ends here.
        written = await self.writer.write(reports) if reports else []
        decided = iter(written)
        verdicts = [item if isinstance(item, Verdict) else next(decided) for item in items]
        for verdict in verdicts:
            if verdict.refusal is not None and verdict.refusal.meaning.status in (401, 403):
                auth.log_refused(request.scope, verdict.refusal, auth.name_of(sender.caller))
        sequences = _sequences(verdicts)
        if single and verdicts[0].refusal is not None:
            headers = auth.challenge(verdicts[0].refusal)
            return problems.response(verdicts[0].refusal, verdicts[0].event_id, headers, sequences=sequences)
        return _json(Answer(items=tuple(_answer(verdict) for verdict in verdicts), sequences=sequences))

    async def _body(self, request: Request) -> bytes:
        """The body, read no further than its limit whatever Content-Length promised."""
        promised = request.headers.get("content-length", "")
        if promised.isascii() and promised.isdigit() and (len(promised) > 18 or int(promised) > intake.MAX_BODY):
            raise _too_large(promised)
        raw = bytearray()
        try:
            async with asyncio.timeout(self._body_seconds):
                async for chunk in request.stream():
                    raw += chunk
                    if len(raw) > intake.MAX_BODY:
                        raise _too_large(promised)
        except TimeoutError:
            raise Refusal(
                "LGR-0113",
                f"the body did not arrive within {self._body_seconds:g} seconds",
                help="send it again; nothing was stored",
            ) from None
        return bytes(raw)

    async def get_round(self, request: Request) -> Response:
        _parameters(request)
        text = request.path_params["id"]
        try:
            round_id = UUID(text)
        except ValueError:
            raise Refusal("LGR-0108", "a round's id is a UUID", field="id", value=printable(text)) from None
        found = await self._read(lambda: self._reader.round(round_id))
        if found is None:
            raise Refusal(
                "LGR-0202",
                "no round has this id",
                field="id",
                value=text,
                help="it may not have been opened yet",
            )
        auth.admitted(request).verify_reads_table(found.table)
        return _json(found)

    async def get_terminal(self, request: Request) -> Response:
        _parameters(request)
        terminal = request.path_params["id"]
        auth.admitted(request).verify_reads_terminal(terminal)
        found = await self._read(lambda: self._reader.terminal(terminal)) if terminal.isprintable() else None
        if found is None:
            raise Refusal("LGR-0305", "no terminal of this id has numbered an event", field="id", value=printable(terminal))
        return _json(found)

    async def get_balances(self, request: Request) -> Response:
        parameters = _parameters(request, "at_least", "prefix", "currency", "after", "limit")
        limit = _digits(parameters, "limit", PAGE)
        if not 1 <= limit <= PAGE:
            raise Refusal("LGR-0108", f"a page holds 1 to {PAGE} balances", field="limit", value=parameters["limit"])
        await self._caught_up(parameters)
        prefix, currency, after = (parameters.get(name) for name in ("prefix", "currency", "after"))
        return _json(await self._read(lambda: self._reader.balances(prefix=prefix, currency=currency, after=after, limit=limit)))

    async def get_tables(self, request: Request) -> Response:
        parameters = _parameters(request, "at_least", "day")
        day = _date(parameters, "day")
        await self._caught_up(parameters)
        return _json(await self._read(lambda: self._reader.tables(day=day)))

    async def get_health(self, request: Request) -> Response:
        _parameters(request)
        end = await self._read(self._reader.end)  # first, so that what was read meanwhile does not show as missing
        projections = await self._read(self._reader.projections)
        health = Health(
            status="behind" if any(projection.stopped_at for projection in projections) else "ok",
            position=str(_reached(projections)),
            log=str(end),
            waiting=self.writer.waiting,
            projections=projections,
        )
        return _json(health)

    async def get_time(self, request: Request) -> Response:
        _parameters(request)
        return _json(Time(time=self._now()))

    async def get_openapi(self, request: Request) -> Response:
        _parameters(request)
        return _json(openapi.document())

    async def get_problem(self, request: Request) -> Response:
        _parameters(request)
        text = page(request.path_params["code"])
        if text is None:
            raise Refusal("LGR-0111", "there is no such code", field="code", value=printable(request.path_params["code"]))
        return Response(text, media_type="text/plain; charset=utf-8")

    @cached_property
    def _limiter(self) -> anyio.CapacityLimiter:
        # Of its own: reads that wait for a slow database must not take the threads of anything else.
        return anyio.CapacityLimiter(_READERS)

    async def _read(self, call: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(call, limiter=self._limiter)

    async def _caught_up(self, parameters: dict[str, str]) -> None:
        """Wait until the read side has reached the position that the request names."""
        wanted = _digits(parameters, "at_least", 0)
        if not wanted:
            return
        end = time.monotonic() + CATCH_UP_SECONDS
        while (position := _reached(await self._read(self._reader.projections))) < wanted:
            if time.monotonic() >= end:
                raise Refusal(
                    "LGR-0518", f"the read side is at position {position}", field="at_least", value=str(wanted), help="ask again"
                )
            await anyio.sleep(_CATCH_UP_PAUSE)


def _too_large(promised: str) -> Refusal:
    return Refusal(
        "LGR-0102",
        f"a post holds at most {intake.MAX_BODY} bytes",
        field="Content-Length",
        value=promised or None,
        help="send the events in smaller batches, in order; nothing of this one was stored",
    )


def _reached(projections: Sequence[ProjectionPosition]) -> int:
    """The position that every projection has read."""
    return min((int(projection.position) for projection in projections), default=0)


def _answer(verdict: Verdict) -> Item:
    refusal = verdict.refusal
    return Item(
        id=verdict.event_id,
        status=verdict.status,
        round=verdict.round,
        positions=tuple(map(str, verdict.positions)),
        problem=None if refusal is None else problems.problem(refusal, verdict.event_id),
    )


def _sequences(verdicts: Sequence[Verdict]) -> tuple[views.Sequence, ...]:
    """What was received of each terminal and epoch of a post; the last word on each counts."""
    told = {(each.terminal, each.epoch): each for verdict in verdicts if (each := verdict.received) is not None}
    return tuple(map(views.sequence, told.values()))


def _json(body: object) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json", headers={"Cache-Control": "no-store"})


def _parameters(request: Request, *known: str) -> dict[str, str]:
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


def _digits(parameters: dict[str, str], name: str, default: int) -> int:
    text = parameters.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Refusal("LGR-0108", "the parameter is a whole number in up to 18 digits", field=name, value=text)
    return int(text)


def _date(parameters: dict[str, str], name: str) -> date | None:
    text = parameters.get(name)
    if text is None:
        return None
    try:
        return msgspec.convert(text, date)
    except msgspec.ValidationError:
        raise Refusal("LGR-0108", "the parameter is a date such as 2026-11-29", field=name, value=text) from None


# Starlette calls these with the request and the exception that the key of its table names.


async def _refused(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)
    if refusal.meaning.status in (401, 403):
        auth.log_refused(request.scope, refusal, auth.name_of(auth.admitted(request).caller))
    # The rest of a body that was not read would be taken for the next request.
    unread = {"Connection": "close"} if refusal.code in ("LGR-0102", "LGR-0113") else {}
    return problems.response(refusal, headers={**auth.challenge(refusal), **unread})


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    allowed = dict(error.headers or {})
    if error.status_code == 405:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=allowed)
        refusal = Refusal(
            "LGR-0112", f"{printable(request.method)} is not for this path", help=f"use {allowed.get('Allow', 'another')}"
        )
        return problems.response(refusal, headers=allowed)
    path = printable(request.url.path)
    return problems.response(Refusal("LGR-0111", "nothing has this path", field="path", value=path, help="see /openapi.json"))


async def _gone(_: Request, __: Exception) -> Response:
    _log.info("a client left before its body was complete; nothing of it was stored")
    return Response(status_code=400)


async def _database_away(_: Request, error: Exception) -> Response:
    _log.warning("the database did not answer a read: %s", error)
    return problems.response(Refusal("LGR-0501", "the database did not answer", help="ask again in a moment"))


class _Faults:
    """Outermost: what nobody foresaw is logged whole under a number, and answered with that number alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception:
            if scope["type"] != "http":
                raise
            number = uuid4()
            _log.exception("fault %s: %s %s", number, scope["method"], printable(scope["path"]))
            if started:
                raise
            fault = Refusal("LGR-0509", f"the fault is in the log as {number}", help="send it again with the same ids")
            await problems.response(fault)(scope, receive, send)
