"""What a client may send besides the body of a request, and for how long: uvicorn bounds neither.

A request's head (and a chunked body's extensions and trailers, which nobody reads) is held in memory until it is complete, so
without a bound one connection fills the memory, and without a deadline connections that say nothing use up the process's
descriptors. The body has its own bound and deadline (`ledger.api.app`).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

_log = logging.getLogger(__name__)

ABORT = "roundledger.abort"
"""In the scope of a request: what ends its connection at once, without waiting for its client to take what was sent."""
HEAD_SECONDS = 15.0
"""How long a connection may take from its beginning, or from the first byte of a later request, to the end of the head."""
HEAD_BYTES = 1 << 16
"""Bytes of a request that are no body; what one read of the socket brings comes on top."""
GOODBYE_SECONDS = 1.0
"""How long a connection that is closed at the service's end may take to agree to it."""
_FRAMING = 8
"""Bytes of chunk framing that are granted for each byte of body: even chunks of one byte need only five."""


class OneWrite:
    """A transport that sends what is written in one turn of the loop as one: uvicorn writes an answer's head and body each by
    itself, and whoever waits for them would be woken twice."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Sends `data` before the loop's next turn."""
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(data)

    def close(self) -> None:
        """Sends what is held, then closes as the transport does."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Sends what is held."""
        held, self._held = self._held, []
        if held:
            self._transport.write(b"".join(held))


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 as uvicorn speaks it, within these bounds. Beyond them the connection is closed."""

    _deadline: asyncio.TimerHandle | None = None
    _began = False
    _awaited = False
    """Whether a request's head has begun and not ended."""
    _body = 0
    _other = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        super().connection_made(cast(asyncio.Transport, OneWrite(transport, self.loop)))
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            # By TLS an end is agreed on, and an idle client does not answer: it would hold up the service's own end.
            self.loop.call_later(GOODBYE_SECONDS, self.transport.abort)

    def on_response_complete(self) -> None:
        # Whoever waits for the answer reads it while the rest of the request's work is done.
        cast(OneWrite, self.transport).flush()
        super().on_response_complete()

    def data_received(self, data: bytes) -> None:
        self._began = False
        body = self._body
        super().data_received(data)
        if self._awaited and self._deadline is None:  # a head that comes whole needs no clock
            self._expect_head()
        if self._began:
            return
        self._other += len(data) - (self._body - body)
        if self._other > HEAD_BYTES + _FRAMING * self._body and not self.transport.is_closing():
            _log.warning("a client sent more than %d bytes that are no body; its connection is closed", HEAD_BYTES)
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        self._began = True
        self._body = self._other = 0
        self._awaited = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._awaited = False
        self._head_came()
        cast("dict[str, Any]", self.scope)[ABORT] = self.transport.abort
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        super().on_body(body)

    def _expect_head(self) -> None:
        self._head_came()
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._late)

    def _head_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        under_way = cast("RequestResponseCycle | None", self.cycle)
        if under_way is not None and not under_way.response_complete:
            self._expect_head()  # the next request's, while this one's answer is still being made
            return
        _log.info("a connection without a request was closed after %g s", HEAD_SECONDS)
        self.transport.close()
