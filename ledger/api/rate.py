"""How often somebody may ask: a bucket of tokens for each, so that one terminal that runs wild leaves the others their door.

A bucket fills at the rate and holds what two seconds bring; a request takes one token. It is kept as the moment at which it will
be full again (the virtual scheduling of ITU-T I.371), one number for each who asks. So many are known at once; who asked longest
ago is forgotten first, and a bucket that was forgotten is full.

Terminals and people have a bucket by their name, once that is proved. Whoever has proved nothing shares one with the rest of the
address, which is ten times as large: a whole floor may stand behind it.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from ledger.api import problems
from ledger.errors import Refusal

RATE = 500.0
"""Requests a second of one terminal or person. A request may hold a thousand events."""
BURST_SECONDS = 2.0
OF_AN_ADDRESS = 10
"""How many times the rate an address has for all who name nobody."""
_KNOWN = 10_000
_EXEMPT = frozenset({"/healthz"})
"""What costs nothing and says whether the service lives: who is told that it does not might end it."""


class Rate:
    """The buckets of all who ask. For one thread."""

    def __init__(self, per_second: float = RATE, *, known: int = _KNOWN, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._now = now
        self._known = known
        self._full: OrderedDict[str, float] = OrderedDict()
        """Who → when the bucket will be full; the latest to ask last."""

    def __len__(self) -> int:
        return len(self._full)

    def wait(self, who: str, times: int = 1) -> float:
        """Takes a token and gives 0, or takes none and gives the seconds until there is one; `times` multiplies the rate."""
        now = self._now()
        token = 1 / (self._per_second * times)
        full = max(self._full.get(who, now), now) + token
        lacking = full - now - max(BURST_SECONDS, token)
        if lacking > 1e-9:
            self._full.move_to_end(who)
            return lacking
        self._full[who] = full
        self._full.move_to_end(who)
        if len(self._full) > self._known:
            self._full.popitem(last=False)
        return 0.0


class Limited:
    """ASGI: answers 429 to whoever asks too often. `who` names the sender of a request, where that was proved."""

    def __init__(self, app: ASGIApp, rate: Rate, who: Callable[[Scope], str | None]) -> None:
        self._app = app
        self._rate = rate
        self._who = who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _EXEMPT:
            who = self._who(scope)
            seconds = self._rate.wait(who) if who else self._rate.wait(address(scope), OF_AN_ADDRESS)
            if seconds:
                await too_often(seconds, scope)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def too_often(seconds: float, scope: Scope) -> ASGIApp:
    """The answer to a request for which there is no token for so many seconds."""
    wait = math.ceil(seconds)
    refusal = Refusal("LGR-0306", "more requests came than the rate allows", help=f"wait {wait} s, then send it again as it is")
    unread = {"Connection": "close"} if scope["method"] == "POST" else {}  # nobody waits for the rest of its body
    return problems.response(refusal, headers={"Retry-After": str(wait), **unread})


def address(scope: Scope) -> str:
    """Where a request came from; of IPv6 the network, for each machine has countless addresses in its own."""
    return _named((scope.get("client") or ("",))[0])


@lru_cache(maxsize=1024)
def _named(host: str) -> str:
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return f"address {host}"
    return f"address {host if found.version == 4 else ipaddress.ip_network((found, 64), strict=False)}"
