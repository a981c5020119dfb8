"""The door's feed: the log as pages of lines, and as a stream that goes on.

A page (NDJSON) has an event a line; its `Feed-Cursor` is where the next begins, and a `Link` to that is there as long as more is
to be had at once. A stream (server-sent events) gives each event with its cursor as id, so that a client which reconnects as the
standard says, with `Last-Event-ID`, goes on where it was; where events were left out by the filter, an id without data comes now
and then, and a client that was away looks at none of them again.

A stream ends when the service does, when its reader's token does, when the log was restored to an earlier point (an event
`problem` says so), and when its reader takes nothing for a while: what is sent waits in memory otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

import anyio
import anyio.to_thread
import msgspec
import psycopg
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from ledger.api import auth, problems
from ledger.api.heads import ABORT
from ledger.api.metrics import Metrics
from ledger.api.parameters import digits, parameters
from ledger.api.strictjson import printable
from ledger.errors import Refusal
from ledger.feed.source import PAGE, PAGE_MOST, Mark, Source, mark, position_of
from ledger.feed.wanted import FILTERS, Wanted
from ledger.store.server import UNFIT

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

NDJSON = "application/x-ndjson"
EVENTS = "text/event-stream"
CURSOR = "Feed-Cursor"
RETRY_MILLISECONDS = 1000
"""After how long a client is to connect again."""
_AGAIN_SECONDS = 1.0
"""How often it is looked whether the reader may still read, and whether there is a cursor to tell."""
_STREAM_PAGE = 250
_READERS = 4
_AWAY = (psycopg.OperationalError, *UNFIT)


class Limits(NamedTuple):
    """What streams and pages are held to."""

    streams: int = 64
    """Streams at once; a connection and some tens of kilobytes each."""
    heartbeat_seconds: float = 15.0
    """The longest silence of a stream."""
    slow_seconds: float = 30.0
    """How long a reader may take nothing of what was sent."""
    patience_seconds: float = 1.0
    """How long a page waits for older writers, in any database of the server, so that whoever has posted finds it there."""


LIMITS = Limits()


class Feed:
    """The feed of one door, with its streams."""

    def __init__(
        self,
        source: Source,
        metrics: Metrics,
        limits: Limits = LIMITS,
        *,
        webhooks: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """`webhooks` says up to where each webhook has been sent the log."""
        self.source = source
        self.webhooks = webhooks
        self.metrics = metrics
        self.limits = limits
        self.closing = False
        self._open: set[Stream] = set()

    async def answer(self, request: Request) -> Response:
        """The answer to one request for the feed."""
        given = parameters(request, "after", *FILTERS, "limit")
        wanted = Wanted.of({name: given[name].split(",") for name in FILTERS if name in given})
        after = _after(given.get("after"), request.headers.get("last-event-id"))
        if request.method == "GET" and EVENTS in request.headers.get("accept", ""):
            if "limit" in given:
                raise Refusal("LGR-0108", "a stream has no limit", field="limit", value=given["limit"], help="leave it out")
            return await self._stream(request, after, wanted)
        limit = digits(given, "limit", PAGE)
        if not 1 <= limit <= PAGE_MOST:
            raise Refusal("LGR-0108", f"a page holds 1 to {PAGE_MOST} events", field="limit", value=given["limit"])
        page = await self.read(partial(self.source.page, after, wanted, limit, patience=self.limits.patience_seconds))
        self.metrics.fed(len(page.items))
        headers = {"Cache-Control": "no-store", CURSOR: str(page.cursor)}
        if page.more:
            headers["Link"] = f'<{request.url.path}?{urlencode({**given, "after": str(page.cursor)}, safe=":,")}>; rel="next"'
        return Response(b"".join(item.json() + b"\n" for item in page.items), 200, headers, NDJSON)

    async def _stream(self, request: Request, after: Mark, wanted: Wanted) -> Response:
        if self.closing:
            raise Refusal("LGR-0505", "the service is stopping", help="ask another one")
        if len(self._open) >= self.limits.streams:
            raise Refusal("LGR-0505", f"{self.limits.streams} streams are open", help="ask again later, or read pages")
        stream = Stream(self, after, wanted, auth.again(request))
        with self.opened(stream):  # so that no more are let in while this one is looked at
            await self.read(self.source.verify, after)
        return stream

    @contextmanager
    def opened(self, stream: Stream) -> Iterator[None]:
        """Counts a stream during the block."""
        self._open.add(stream)
        try:
            yield
        finally:
            self._open.discard(stream)

    async def read(self, call: Callable[..., _T], *arguments: Any) -> _T:
        """A call of the source, in a thread of the feed's own."""
        return await anyio.to_thread.run_sync(call, *arguments, limiter=self._limiter)

    @cached_property
    def _limiter(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(_READERS)

    def positions(self) -> Sequence[int]:
        """Up to where each stream has been given the log."""
        return [position_of(stream.after) for stream in self._open]

    def close(self) -> None:
        """Ends all streams, and lets no more in. In the loop."""
        self.closing = True
        for stream in self._open:
            stream.wake()


class Stream(StreamingResponse):
    """One reader's stream, as the answer to its request."""

    def __init__(self, feed: Feed, after: Mark, wanted: Wanted, again: Callable[[], Awaitable[None]]) -> None:
        """`again` raises a Refusal once the reader may read no more."""
        # Proxies that gather an answer before they pass it on let this one pass.
        headers = {"Cache-Control": "no-store", CURSOR: str(after), "X-Accel-Buffering": "no"}
        super().__init__(self._blocks(), headers=headers, media_type=EVENTS)
        self.after = after
        self._feed = feed
        self._wanted = wanted
        self._again = again
        self._awake = asyncio.Event()
        self._told = after
        self._sent = time.monotonic()
        self._allowed = float("-inf")

    def wake(self) -> None:
        """There may be something to do. In the loop."""
        self._awake.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            with anyio.move_on_after(self._feed.limits.slow_seconds) as limit:
                await send(message)
            if limit.cancelled_caught:
                self._feed.metrics.feed_dropped()
                _log.info("a stream's reader took nothing for %g s; its connection is closed", self._feed.limits.slow_seconds)
                scope.get(ABORT, _nothing)()
            self._sent = time.monotonic()

        loop = asyncio.get_running_loop()

        def heard() -> None:
            loop.call_soon_threadsafe(self._awake.set)

        with self._feed.opened(self), self._feed.source.horizon.following(heard):
            await super().__call__(scope, receive, sending)

    async def _blocks(self) -> AsyncIterator[bytes]:
        """What is sent, block by block."""
        yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
        while not self._feed.closing:
            self._awake.clear()
            try:
                await self._verify_reader()
                page = await self._feed.read(self._feed.source.page, self.after, self._wanted, _STREAM_PAGE)
            except Refusal as refusal:
                yield _block("problem", msgspec.json.encode(problems.problem(refusal)))
                return
            except _AWAY as error:
                _log.warning("the database does not answer a stream, which waits for it: %s", error)
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                self.after = page.cursor
                if page.items:
                    self._feed.metrics.fed(len(page.items))
                    self._told = page.items[-1].cursor
                    yield b"".join(_block(None, item.json(), item.cursor) for item in page.items)
                if page.more:
                    continue
            if silence := self._silence():
                yield silence
            await self._rest()

    async def _verify_reader(self) -> None:
        if time.monotonic() - self._allowed > _AGAIN_SECONDS:
            await self._again()
            self._allowed = time.monotonic()

    def _due(self) -> float:
        """When something has to be sent, event or not."""
        return self._sent + (self._feed.limits.heartbeat_seconds if self.after == self._told else _AGAIN_SECONDS)

    def _silence(self) -> bytes:
        """What is sent for want of an event, where it is time: the cursor, where that has moved on, or a comment."""
        if time.monotonic() < self._due():
            return b""
        if self.after == self._told:
            return b":\n\n"
        self._told = self.after
        return f"id: {self.after}\n\n".encode()

    async def _rest(self) -> None:
        with anyio.move_on_after(max(0.0, self._due() - time.monotonic())):
            await self._awake.wait()


def _block(event: str | None, data: bytes, cursor: Mark | None = None) -> bytes:
    """One event of the stream. The data is JSON, so it is one line."""
    head = b"" if event is None else f"event: {event}\n".encode()
    return head + (b"" if cursor is None else f"id: {cursor}\n".encode()) + b"data: " + data + b"\n\n"


def _after(given: str | None, last_event_id: str | None) -> Mark:
    """Where to read on. A client that reconnects sends its first request again, with the id that it has seen last."""
    if last_event_id:
        return mark(printable(last_event_id), "Last-Event-ID")
    return 0 if given is None else mark(given, "after")


def _nothing() -> None: ...
