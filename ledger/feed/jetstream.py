"""What publishes the feed to a stream of NATS JetStream, one event after the other, by a cursor kept in the database.

An event may be published twice: where the process ends between a publication and the writing of its cursor. Its `Nats-Msg-Id` is
the same then and no other event's, so the stream drops the second within its window for duplicates; and beyond that window a
publisher begins behind the last message of the stream.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio.to_thread
import nats
import psycopg
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from ledger.errors import Refusal
from ledger.feed.source import Item, Mark, Source, mark
from ledger.feed.wanted import ALL, Wanted

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

DUPLICATES_SECONDS = 3600.0
"""The window for duplicates of a stream that is made here."""
_PATIENCE = 10.0
_IDLE = 1.0
_RETRY = 1.0
_TIMEOUT = 5.0
_HEADERS = 4096
"""Bytes of a message that are left for its header fields."""
_MESSAGE = re.compile(r"evt_([0-9]+)_[0-9a-f]{16}")
_STREAM = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Goal(NamedTuple):
    """Where to publish."""

    url: str
    stream: str
    credentials: Path | None = None

    def verify(self) -> None:
        """Raises Refusal LGR-0108 for a name that no stream can have."""
        if not _STREAM.fullmatch(self.stream):
            raise Refusal("LGR-0108", "a stream's name is letters, digits, - and _", field="--stream", value=self.stream)

    @property
    def name(self) -> str:
        """Under which its cursor is kept."""
        return f"nats {self.stream}"


def subject(stream: str, item: Item) -> str:
    """`STREAM.BetPlaced.v1.R01`: the stream, the event's type and the table, `_` where it is about none."""
    event = item.event
    table = event.table.replace(".", "_") if isinstance(event.table, str) else "_"
    return f"{stream}.{event.type.removeprefix('roundledger.')}.{table}"


async def publish(
    source: Source,
    conn: psycopg.Connection[Any],
    goal: Goal,
    wanted: Wanted = ALL,
    after: Mark | None = None,
    *,
    follow: bool = True,
    told: Callable[[int], object] = lambda _: None,
) -> int:
    """Publishes what is wanted, behind `after` or where it was left; returns how many, unless it is to `follow` without end.

    `conn` is in autocommit mode and says for as long as it lives that nobody else publishes to this stream. `told` is called with
    the number of events published so far. Raises Refusal LGR-0733 where another process does, or where the broker is not there at
    the beginning or has no JetStream; later it is waited for.
    """
    goal.verify()
    _take(conn, goal)
    client = await _connected(goal)
    try:
        context = client.jetstream(timeout=_TIMEOUT)
        published = await _last(context, goal) if after is None else 0
        begin = _kept(conn, goal) if after is None else after
        return await _Publisher(source, conn, goal, client, context, told).run(begin, published, wanted, follow=follow)
    finally:
        with suppress(NatsError):
            await client.close()


class _Publisher:
    def __init__(
        self,
        source: Source,
        conn: psycopg.Connection[Any],
        goal: Goal,
        client: Client,
        context: JetStreamContext,
        told: Callable[[int], object],
    ) -> None:
        self._source = source
        self._conn = conn
        self._goal = goal
        self._client = client
        self._context = context
        self._told = told

    async def run(self, after: Mark, published: int, wanted: Wanted, *, follow: bool) -> int:
        loop, heard, number = asyncio.get_running_loop(), asyncio.Event(), 0

        def wake() -> None:
            loop.call_soon_threadsafe(heard.set)

        with self._source.horizon.following(wake):
            while True:
                heard.clear()
                page = await _threaded(lambda: self._source.page(after, wanted, patience=0.0 if follow else _PATIENCE))  # noqa: B023 - called at once
                for item in page.items:
                    if item.cursor.position > published:
                        await self._publish(item)
                        number += 1
                if page.cursor != after:
                    after = page.cursor
                    await _threaded(lambda: _keep(self._conn, self._goal, after))  # noqa: B023 - called at once
                    self._told(number)
                if page.more:
                    continue
                if not follow:
                    return number
                with suppress(TimeoutError):
                    await asyncio.wait_for(heard.wait(), _IDLE)

    async def _publish(self, item: Item) -> None:
        """Publishes one event; while the broker is away it waits, for nothing may overtake it."""
        body = item.json(self._client.max_payload - _HEADERS)
        headers = {"Nats-Msg-Id": item.message, "Content-Type": "application/cloudevents+json"}
        while True:
            try:
                await self._context.publish(subject(self._goal.stream, item), body, stream=self._goal.stream, headers=headers)
            except NatsError as error:
                _log.warning("event %s is not published yet: %s: %s", item.event.id, type(error).__name__, error)
                await asyncio.sleep(_RETRY)
            else:
                return


async def _connected(goal: Goal) -> Client:
    async def noted(error: Exception) -> None:
        _log.warning("the broker: %s: %s", type(error).__name__, error)

    credentials = {} if goal.credentials is None else {"user_credentials": str(goal.credentials)}
    try:
        client = await asyncio.wait_for(
            nats.connect(goal.url, error_cb=noted, max_reconnect_attempts=-1, connect_timeout=2, **credentials), _TIMEOUT
        )
    except (NatsError, OSError, ValueError, TimeoutError) as error:
        raise _unusable(goal, f"the broker does not answer: {type(error).__name__}: {error}") from None
    return client


async def _last(context: JetStreamContext, goal: Goal) -> int:
    """The position of the last event in the stream, which is made where there is none."""
    try:
        try:
            await context.stream_info(goal.stream)
        except NotFoundError:
            await context.add_stream(name=goal.stream, subjects=[f"{goal.stream}.>"], duplicate_window=DUPLICATES_SECONDS)
        message = await context.get_last_msg(goal.stream, f"{goal.stream}.>")
    except NotFoundError:
        return 0
    except (NatsError, TimeoutError) as error:
        raise _unusable(goal, f"it has no JetStream that can be used: {type(error).__name__}: {error}") from None
    match = _MESSAGE.fullmatch((message.headers or {}).get("Nats-Msg-Id", ""))
    return int(match[1]) if match else 0


def _take(conn: psycopg.Connection[Any], goal: Goal) -> None:
    row = conn.execute(
        "SELECT pg_try_advisory_lock(hashtextextended('round-ledger publisher ' || %s, 0))", (goal.name,)
    ).fetchone()
    if row != (True,):
        raise _unusable(goal, "another process publishes to this stream")


def _kept(conn: psycopg.Connection[Any], goal: Goal) -> Mark:
    row = conn.execute("SELECT cursor FROM ledger.publishers WHERE name = %s", (goal.name,)).fetchone()
    return 0 if row is None else mark(row[0], "cursor")


def _keep(conn: psycopg.Connection[Any], goal: Goal, cursor: Mark) -> None:
    conn.execute(
        "INSERT INTO ledger.publishers (name, cursor, moved_at) VALUES (%s, %s, clock_timestamp()) "
        "ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor, moved_at = excluded.moved_at",
        (goal.name, str(cursor)),
    )


async def _threaded(call: Callable[[], _T]) -> _T:
    return await anyio.to_thread.run_sync(call)


def _unusable(goal: Goal, detail: str) -> Refusal:
    return Refusal(
        "LGR-0733", detail, field="--stream", value=goal.stream, help="see that the broker runs with JetStream (nats-server -js)"
    )
