"""How long a terminal waits before it sends the same again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True)
class Retry:
    """Exponential backoff with full jitter, so that a floor of terminals does not come back in step when a link does.

    `tries`: how often the same post is sent before it is given up for now. `first` and `longest`: seconds up to which the first
    and any pause may last. What the service asks for by Retry-After is waited for at least, up to `obeyed` seconds.
    """

    tries: int = 5
    first: float = 0.2
    longest: float = 30.0
    obeyed: float = 300.0

    def pause(
        self, failures: int, retry_after: float | None = None, *, draw: Callable[[float, float], float] = random.uniform
    ) -> float:
        """Seconds to wait after so many failures in a row (1 for the first)."""
        most = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        return min(retry_after or 0.0, self.obeyed) + draw(0.0, most)


def retry_after(header: str | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> float | None:
    """The seconds that a header Retry-After asks for (RFC 9110, 10.2.3): a number or a date; None where it says neither."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now()).total_seconds())
