"""The HTTP door: terminals post events, readers ask for rounds, balances and reports.

Every answer is JSON, but the metrics and the pages of codes; every refusal is a problem of RFC 9457 with a stable code, whatever
went wrong. From the outside in, a request passes what notes it, what catches faults, the compression of its answer, the guard and
the rate, before an endpoint sees it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Protocol
from uuid import uuid4

import anyio.to_thread
import psycopg
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ledger.api import auth, problems
from ledger.api.access import Access
from ledger.api.door import Door, Noted
from ledger.api.feed import Feed
from ledger.api.metrics import Metrics
from ledger.api.rate import Limited, Rate
from ledger.api.strictjson import printable
from ledger.api.views import Reader
from ledger.api.watch import Watched
from ledger.errors import Refusal
from ledger.reports import Report, Verdict
from ledger.store.server import UNFIT
from ledger.writer import Writer

_log = logging.getLogger(__name__)

BODY_SECONDS = 30.0
"""How long the body of a post may take to arrive."""
_GZIP_BYTES = 1024
"""Answers that are longer are compressed for who reads that; at the quickest level, for the loop waits."""


_Handler = Callable[[Request, Exception], Awaitable[Response]]


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
    rate: Rate | None = None,
    noted: Noted | None = None,
    feed: Feed | None = None,
    projections: bool = True,
    body_seconds: float = BODY_SECONDS,
    drain_seconds: float = 30.0,
) -> Starlette:
    """The application for an ASGI server. Its lifespan starts the writer and, at the end, writes what still waits.

    `now` is the service's clock; `writer` replaces the writer of default size; `access` says who may come in: without it
    everybody may, and nobody is known; `rate` replaces the usual one; `noted` is where requests are noted; `feed` is where
    the feed comes from, without which it is refused; without `projections` none are run by this service, and it answers for none;
    `drain_seconds` bounds the end.
    """
    rate = Rate() if rate is None else rate
    noted = noted or Noted(Metrics())
    door = Door(reader, writer or Writer(rounds.post), now, body_seconds, noted, feed, projections=projections)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        door.writer.start()
        try:
            yield
        finally:
            if not await anyio.to_thread.run_sync(door.writer.close, drain_seconds):
                _log.error("%d events still waited for their commit at the end; they were not answered", door.writer.waiting)

    refusals: dict[type[Exception], _Handler] = {
        Refusal: partial(_refused, noted.metrics),
        HTTPException: _no_route,
        ClientDisconnect: _gone,
        **dict.fromkeys((psycopg.OperationalError, *UNFIT), _database_away),
    }
    posts = Route(auth.POSTS, _Posts(door, refusals), methods=["POST"])
    app = Starlette(
        routes=[
            posts,
            Route("/v1/feed", door.get_feed),
            Route("/v1/rounds/{id}", door.get_round),
            Route("/v1/balances", door.get_balances),
            Route("/v1/balances/trial", door.get_trial),
            Route("/v1/reports/tables", door.get_tables),
            Route("/v1/reports/{name}", door.get_report),
            Route("/v1/tables", door.get_liabilities),
            Route("/v1/tables/{id}/liability", door.get_liability),
            Route("/v1/terminals/{id}", door.get_terminal),
            Route("/v1/time", door.get_time),
            Route("/healthz", door.get_health),
            Route("/readyz", door.get_ready),
            Route("/metrics", door.get_metrics),
            Route("/time", door.get_time),
            Route("/openapi.json", door.get_openapi),
            Route("/asyncapi.json", door.get_asyncapi),
            Route("/problems/{code}", door.get_problem),
        ],
        lifespan=lifespan,
        exception_handlers=refusals,
    )
    app.router.redirect_slashes = False
    # The innermost first.
    app.add_middleware(_Ahead, posts)
    app.add_middleware(Limited, rate, auth.proved)
    if access is not None:
        app.add_middleware(auth.Guard, access, rate, noted.metrics.turned_away)
    app.add_middleware(_Gzip, minimum_size=_GZIP_BYTES, compresslevel=1)
    app.add_middleware(_Faults)
    app.add_middleware(Watched, noted.metrics, noted.tracing)
    return app


# These are called with the request and the exception that the key of their table names, by Starlette or by `_Posts`.


async def _refused(metrics: Metrics, request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)
    if refusal.meaning.status in (401, 403):
        metrics.turned_away(refusal.code)
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


class _Posts:
    """ASGI: posts of events, with the answers to what the door refuses."""

    def __init__(self, door: Door, refusals: Mapping[type[Exception], _Handler]) -> None:
        self._door = door
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._door.post_events(scope, receive)
        except Exception as error:
            handler = next((self._refusals[kind] for kind in type(error).__mro__ if kind in self._refusals), None)
            if handler is None:
                raise
            answer = await handler(Request(scope, receive), error)
        await answer(scope, receive, send)


class _Ahead:
    """ASGI: what is posted goes straight to its endpoint. The way through Starlette's router and what stands around each of its
    endpoints takes longer than all that a post of twenty bets is read by."""

    def __init__(self, app: ASGIApp, posts: Route) -> None:
        self._app = app
        self._posts = posts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] == self._posts.path:
            scope["route"] = self._posts
            await self._posts.app(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class _Gzip(GZipMiddleware):
    """Compression for who asks for it; for the others Starlette's would cost half as much as all the other layers."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            await super().__call__(scope, receive, send)
        else:
            await self.app(scope, receive, send)


class _Faults:
    """Around all that answers: what nobody foresaw is logged whole under a number, and answered with that number alone."""

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
