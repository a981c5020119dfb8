"""What the door knows of those who ask: keys, tokens and roles as they stand in the database, and the signatures it has seen.

Keys and tokens are looked up in memory, so that a signed post costs no round trip more than an unsigned one. What is in memory is
a second old at most: so long may a key or token that was revoked still be taken.

The signatures that were seen are known to this process alone, and until it ends. Of several processes before one database each
would take a signature once, and so would one that was just restarted. That costs nothing but work: a repeated post repeats its
events' ids, and the log answers those as replayed or turns them away, whoever sends them.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

import anyio.to_thread

from ledger.property import Property
from ledger.signatures import WINDOW_SECONDS, Signed
from ledger.store.credentials import Key, Token

AGE_SECONDS = 1.0
"""How old what is known may be."""
_MISS_SECONDS = 0.1
"""How long after one look there may be another for a key or token that was not found: it may just have been issued."""


class Register(NamedTuple):
    """Keys, tokens and properties as they stood at one moment."""

    keys: Sequence[Key] = ()
    tokens: Sequence[Token] = ()
    properties: Sequence[Property] = ()


class Known:
    """A register, laid out for looking up."""

    def __init__(self, register: Register, at: float) -> None:
        """`at`: when it began to be read, by the monotonic clock."""
        self.keys = {key.id: key for key in register.keys}
        self.tokens = {token.hash: token for token in register.tokens}
        self.properties = register.properties
        self.at = at


class Access:
    """By what a door decides who may come in."""

    def __init__(
        self,
        load: Callable[[], Register],
        *,
        required: bool,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        window: int = WINDOW_SECONDS,
    ) -> None:
        """`load` reads the database and may block. With `required` nobody is let in who has not proved who they are."""
        self.required = required
        self.now = now
        self.window = window
        self.replays = Replays(window)
        self._load = load
        self._known = Known(Register(), float("-inf"))

    async def known(self, found: Callable[[Known], bool] = lambda _: True) -> Known:
        """What is known, and where `found` says that something is missing in it, looked up anew."""
        asked = time.monotonic()
        if asked - self._known.at > AGE_SECONDS:
            await self._read(asked)
        if not found(self._known) and self._known.at < asked:
            # Whoever guesses waits for others who guess: so many looks a second, however many ask.
            await asyncio.sleep(max(0.0, self._known.at + _MISS_SECONDS - asked))
            await self._read(asked)
        return self._known

    async def _read(self, asked: float) -> None:
        """Reads the database, unless somebody has since it was asked for."""
        async with self._turn:
            if self._known.at < asked:
                began = time.monotonic()
                self._known = Known(await anyio.to_thread.run_sync(self._load, limiter=self._limiter), began)

    @cached_property
    def _turn(self) -> asyncio.Lock:
        return asyncio.Lock()

    @cached_property
    def _limiter(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(1)


class Replays:
    """The signatures that were seen and would still hold, so that none does a second time.

    So many are kept of each key. Where a key makes more, its oldest are forgotten, and with them goes the right to be that old:
    no signature of the key is taken any more that was made before the youngest that was forgotten. Nobody else is disturbed.
    """

    def __init__(self, window: int, capacity: int = 1 << 14) -> None:
        self._window = window
        self._capacity = capacity
        self._seen: defaultdict[str, _Seen] = defaultdict(_Seen)

    def first(self, signed: Signed, now: datetime) -> bool:
        """Whether the signature was not seen before; from now on it was. `now` is the time at which it was held to the window."""
        seen = self._seen[signed.key]
        while seen.ages and seen.ages[0][0] < now.timestamp() - self._window:
            seen.marks.discard(heapq.heappop(seen.ages)[1])
        if signed.created <= seen.floor or signed.mark in seen.marks:
            return False
        if len(seen.ages) >= self._capacity:
            seen.floor, forgotten = heapq.heappop(seen.ages)
            seen.marks.discard(forgotten)
            if signed.created <= seen.floor:
                return False
        seen.marks.add(signed.mark)
        heapq.heappush(seen.ages, (signed.created, signed.mark))
        return True


class _Seen:
    __slots__ = ("ages", "floor", "marks")

    def __init__(self) -> None:
        self.ages: list[tuple[int, bytes]] = []
        self.marks: set[bytes] = set()
        self.floor = 0
