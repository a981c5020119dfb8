"""What sends the feed to webhooks: each by itself, one event after the other, until it is taken or given up.

One loop in one thread sends for all of them, so a webhook that is down costs the others nothing. Of several processes before one
database each webhook has one: whoever holds its session lock, for as long as its connection lives; and what a process writes that
lost it without knowing is turned away by the epoch. So a message may come twice (its id says so), and none is left out.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

import anyio
import anyio.abc
import anyio.to_thread
import httpx
import msgspec
import psycopg

from ledger import __version__
from ledger.errors import Refusal
from ledger.feed import signing, targets, webhooks
from ledger.feed.source import Item, Source, position_of
from ledger.feed.webhooks import DeadLetter, Webhook
from ledger.store import waits

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

Result = Literal["taken", "failed", "dead"]

_LOOK = 1.0
"""Seconds from one look at the list of webhooks to the next."""
_RETRY = 1.0
_FAULT = 30.0
_SAVE = 1.0
"""Seconds after which a cursor that moved without a message is written down."""
_PAGE = 50
_ANSWER_BYTES = 1024
"""Bytes of an answer that are read: nobody needs them, and a connection that was read to its end is used again."""
_THREADS = 8
_LEAVE = 20.0
_GONE = 410


class Options(NamedTuple):
    """How patient a courier is."""

    tries: int = 15
    """How often an event is sent before it is a dead letter: some three to six hours, with these pauses."""
    first: float = 1.0
    longest: float = 3600.0
    """Seconds up to which the first and any pause between two tries may last (exponential, the upper half of it by chance)."""
    seconds: float = 15.0
    """How long one message may take, from the lookup of the name to the answer."""
    body_bytes: int = 1 << 20
    """A message that is longer has the event without its data, and says where that is."""

    def pause(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row (1 for the first)."""
        most = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        return random.uniform(most / 2, most)  # noqa: S311 - nobody gains by guessing it

    def until(self, moment: datetime, now: datetime) -> float:
        """Seconds to wait for the moment of a try that was written down, perhaps by a process that has ended since: none where it
        has passed, and no more than the longest pause where a clock was set back."""
        return min(max(0.0, (moment - now).total_seconds()), self.longest)


OPTIONS = Options()


class Noted(Protocol):
    """Where a courier notes what it does."""

    def sent(self, webhook: str, result: Result, /) -> None: ...


class Courier:
    """Sends to the webhooks of the database at `dsn` during the block, in a thread of its own."""

    def __init__(self, dsn: str, source: Source, noted: Noted, options: Options = OPTIONS) -> None:
        self._register = _Register(dsn)
        self._source = source
        self._noted = noted
        self._options = options
        self._positions: dict[str, int] = {}
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=lambda: anyio.run(self._run), name="webhooks", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self._thread.join(_LEAVE)

    def positions(self) -> Mapping[str, int]:
        """Webhook → up to where it has been sent the log, of those that this process sends to."""
        return dict(self._positions)

    async def _run(self) -> None:
        limiter = anyio.CapacityLimiter(_THREADS)

        async def call(function: Callable[..., _T], *arguments: Any) -> _T:
            return await anyio.to_thread.run_sync(function, *arguments, limiter=limiter)

        trusted = httpx.create_ssl_context()
        running: dict[str, tuple[int, anyio.CancelScope]] = {}
        async with anyio.create_task_group() as tasks:
            while not self._leaving.is_set():
                held = await call(self._register.look, {id: epoch for id, (epoch, _) in running.items()})
                for id, (epoch, scope) in list(running.items()):
                    if id not in held or held[id].epoch != epoch:
                        scope.cancel()
                        del running[id]
                        self._positions.pop(id, None)
                for id, row in held.items():
                    if id not in running:
                        scope = anyio.CancelScope()
                        running[id] = row.epoch, scope
                        tasks.start_soon(self._one, _Delivery(self, row, call, trusted), scope, partial(running.pop, id, None))
                await call(self._leaving.wait, _LOOK)
            tasks.cancel_scope.cancel()
        self._register.close()

    @staticmethod
    async def _one(delivery: _Delivery, scope: anyio.CancelScope, over: Callable[[], object]) -> None:
        """Sends to one webhook. A fault in that costs the others nothing."""
        with scope:
            try:
                await delivery.run()
            except Exception:  # noqa: BLE001 - whatever it is, it is not the others' fault
                _log.exception("webhook %s: a fault; it is tried again in %g s", delivery.id, _FAULT)
                await anyio.sleep(_FAULT)
            over()


class _Register:
    """The list of webhooks, and which of them are this process's. For one call at a time."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._conn: psycopg.Connection[Any] | None = None
        self._held: dict[str, Webhook] = {}

    def look(self, running: Mapping[str, int]) -> dict[str, Webhook]:
        """The webhooks that are this process's now, each under the epoch in which it took it last; none where the database is
        away. `running` says under which epochs it sends: one that was changed since is taken anew."""
        try:
            conn = self._connected()
            there = {row.id: row for row in webhooks.webhooks(conn)}
            for id in [id for id in self._held if id not in there or there[id].stopped is not None]:
                webhooks.give_back(conn, id)
                del self._held[id]
            for id, row in there.items():
                mine = self._held.get(id)
                if row.stopped is None and (mine is None or mine.epoch != row.epoch):
                    if mine is not None:
                        webhooks.give_back(conn, id)  # locks of one session are counted
                        del self._held[id]
                    if (taken := webhooks.take(conn, id)) is not None:
                        self._held[id] = taken
        except psycopg.OperationalError as error:
            _log.warning("webhooks wait for the database: %s", error)
            self.close()
        return dict(self._held)

    def close(self) -> None:
        """Gives all back."""
        self._held.clear()
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _connected(self) -> psycopg.Connection[Any]:
        if self._conn is None or self._conn.closed:
            self._held.clear()
            self._conn = psycopg.connect(waits.patient(self._dsn), autocommit=True, application_name="roundledger webhooks")
            self._conn.execute(f"SET statement_timeout = '{waits.POOL}s'")
        return self._conn


class _Lost(Exception):
    """The webhook is another process's, or nobody's: the look at the list will find out."""


class _Delivery:
    """What is sent to one webhook, for as long as it is this process's."""

    def __init__(self, courier: Courier, row: Webhook, call: Callable[..., Any], trusted: ssl.SSLContext) -> None:
        self._courier = courier
        self._row = row
        self._call = call
        self._trusted = trusted
        self._source = courier._source
        self._options = courier._options
        self._failures = row.failures
        self._retry_at = row.retry_at

    @property
    def id(self) -> str:
        """The webhook."""
        return self._row.id

    async def run(self) -> None:
        """Sends until it is cancelled, lost or stopped."""
        loop, heard = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(heard.set)

        # An address is looked up and judged for each message, so nothing may be left to a proxy of the environment.
        client = httpx.AsyncClient(verify=self._trusted, trust_env=False, follow_redirects=False, timeout=self._options.seconds)
        with suppress(_Lost), self._source.horizon.following(wake):
            async with client:
                await self._again(client)
                await self._follow(client, heard)

    async def _follow(self, client: httpx.AsyncClient, heard: asyncio.Event) -> None:
        after = saved = self._row.after
        wanted = self._row.wanted
        while True:
            heard.clear()
            self._courier._positions[self._row.id] = position_of(after)
            try:
                page = await self._call(self._source.page, after, wanted, _PAGE)
                for item in page.items:
                    await self._deliver(client, item)
                    after = saved = item.cursor
                    self._courier._positions[self._row.id] = item.cursor.position
                after = page.cursor
                if page.more:
                    continue
                with anyio.move_on_after(_SAVE):
                    await heard.wait()
                if after != saved and not heard.is_set():
                    await self._write(partial(webhooks.moved, cursor=after, delivered=False))
                    saved = after
            except Refusal as refusal:
                await self._stop(f"{refusal.code}: {refusal.detail}")
            except psycopg.OperationalError as error:
                _log.warning("webhook %s waits for the database: %s", self._row.id, error)
                await anyio.sleep(_RETRY)

    async def _deliver(self, client: httpx.AsyncClient, item: Item) -> None:
        """Sends one event until it is taken or given up."""
        while True:
            if self._retry_at is not None:
                await anyio.sleep(self._options.until(self._retry_at, datetime.now(UTC)))
            failure = await self._post(client, item)
            if failure is None:
                self._failures, self._retry_at = 0, None
                await self._write(partial(webhooks.moved, cursor=item.cursor, delivered=True))
                return
            self._failures += 1
            if self._failures >= self._options.tries:
                letter = self._letter(item, self._failures, failure)
                _log.warning("webhook %s did not take event %d in %d tries", letter.webhook, letter.position, letter.tries)
                self._failures, self._retry_at = 0, None
                await self._write(partial(webhooks.died, cursor=item.cursor, letter=letter))
                self._courier._noted.sent(self._row.id, "dead")
                return
            self._retry_at = datetime.now(UTC) + timedelta(seconds=self._options.pause(self._failures))
            change = partial(webhooks.failed, failures=self._failures, retry_at=self._retry_at, failure=failure)
            await self._write(change)

    async def _again(self, client: httpx.AsyncClient) -> None:
        """Sends the dead letters once more for which somebody has asked."""
        for letter in await self._read(partial(webhooks.dead_letters, id=self._row.id, again=True)):
            try:
                page = await self._call(partial(self._source.page, letter.position - 1, limit=1))
                found = [item for item in page.items if item.cursor.position == letter.position]
                failure = await self._post(client, found[0]) if found else "the log does not hold it any more"
            except Refusal as refusal:
                failure = f"{refusal.code}: {refusal.detail}"
            if failure is None:
                await self._write(partial(webhooks.raised, position=letter.position))
            else:
                dead = msgspec.structs.replace(letter, tries=1, failure=failure, died_at=datetime.now(UTC))
                await self._read(partial(webhooks.bury, letter=dead))

    def _letter(self, item: Item, tries: int, failure: str) -> DeadLetter:
        return DeadLetter(
            webhook=self._row.id,
            position=item.cursor.position,
            type=item.event.type,
            tries=tries,
            failure=failure,
            died_at=datetime.now(UTC),
            again=False,
        )

    async def _post(self, client: httpx.AsyncClient, item: Item) -> str | None:
        """Sends one message; why it was not taken, None where it was. Raises _Lost after a receiver that wants no more."""
        target = targets.target(self._row.url, plain=self._row.plain)
        body = item.json(self._options.body_bytes)
        headers = {
            "Host": target.authority,
            "Content-Type": "application/cloudevents+json",
            "User-Agent": f"round-ledger/{__version__}",
            **signing.headers(self._row.secret, item.message, datetime.now(UTC), body),
        }
        try:
            with anyio.fail_after(self._options.seconds):
                address = await targets.address(target, private=self._row.private)
                request = client.build_request(
                    "POST",
                    target.at(address),
                    content=body,
                    headers=headers,
                    extensions={"sni_hostname": target.host},
                )
                answer = await client.send(request, stream=True)
                try:
                    read = 0
                    async for part in answer.aiter_raw():
                        read += len(part)
                        if read > _ANSWER_BYTES:
                            break
                finally:
                    await answer.aclose()
        except TimeoutError:
            failure = f"no answer in {self._options.seconds:g} s"
        except Refusal as refusal:
            failure = f"{refusal.code}: {refusal.detail}"
        except (httpx.HTTPError, OSError) as error:
            failure = f"{type(error).__name__}: {error}"[:200]
        else:
            if answer.is_success:
                self._courier._noted.sent(self._row.id, "taken")
                return None
            failure = f"answered {answer.status_code}"
            if answer.status_code == _GONE:
                await self._stop("it answered 410: it wants no more")
        self._courier._noted.sent(self._row.id, "failed")
        return failure

    async def _stop(self, reason: str) -> None:
        _log.warning("nothing more is sent to webhook %s: %s", self._row.id, reason)
        await self._write(partial(webhooks.stopped, reason=reason))
        raise _Lost

    async def _write(self, change: Callable[..., bool]) -> None:
        """Writes what became of an event. While the database is away it waits: to send on would be to send again."""
        if not await self._read(lambda conn: change(conn, self._row)):
            raise _Lost

    async def _read(self, question: Callable[[psycopg.Connection[Any]], _T]) -> _T:
        while True:
            try:
                return await self._call(self._source.write, question)  # type: ignore[no-any-return]  # as `question` says
            except psycopg.OperationalError as error:
                _log.warning("webhook %s waits for the database: %s", self._row.id, error)
                await anyio.sleep(_RETRY)
