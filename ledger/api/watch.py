"""What is noted of every request: its number, how long it took, what was answered; and a trace where traces are collected."""

from __future__ import annotations

import re
import secrets
import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ledger import logs
from ledger.api.metrics import Metrics
from ledger.api.tracing import Tracing

REQUEST_ID = "X-Request-Id"
_LEGIBLE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_RUN = secrets.token_hex(4)


class Watched:
    """ASGI: outermost, so that it sees what every request comes to.

    A request may bring its number, as a proxy gives it; whatever the log says of the request has it, and so has the answer.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, tracing: Tracing | None = None) -> None:
        self._app = app
        self._metrics = metrics
        self._tracing = tracing
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        number = self._number(headers.get(REQUEST_ID))
        status = 500
        began = time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", number.encode())]
            await send(message)

        span = None if self._tracing is None else self._tracing.request(scope, headers, number)
        token = logs.about(request=number)
        try:
            await self._app(scope, receive, sending)
        finally:
            logs.no_more(token)
            route = getattr(scope.get("route"), "path", "other")
            if span is not None:
                span.end(route, status)
            self._metrics.request(scope["method"], route, status, time.perf_counter() - began)

    def _number(self, given: str | None) -> str:
        if given is not None and _LEGIBLE.fullmatch(given):
            return given
        self._count += 1
        return f"{_RUN}-{self._count}"
