"""How far a long command is."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from cli.output import quiet, say


class Progress:
    """How far a long command is, on stderr: one line that moves on a terminal, a plain line every few seconds elsewhere."""

    def __init__(self, what: str, total: int | None = None, unit: str = "events") -> None:
        self._what = what
        self._total = total
        self._unit = unit
        self._live = sys.stderr.isatty() and not quiet()
        self._every = 0.1 if self._live else 5.0
        self._began = self._last = time.monotonic()
        self._drawn = False
        self._first: int | None = None
        """What was done already when it was first told."""

    def __enter__(self) -> Self:
        return self

    def update(self, done: int, *, total: int | None = None) -> None:
        """Says that `done` of the total are done; cheap enough to call for every batch."""
        self._total = total if total is not None else self._total
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = done, now
        if now - self._last < self._every:
            return
        self._last = now
        of = f" of {self._total}" if self._total is not None else ""
        rate = (done - self._first) / max(now - self._began, 1e-9)
        line = f"{self._what}: {done}{of} {self._unit}, {rate:.0f}/s{self._left(done, rate)}"
        if self._live:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self._drawn = True
        else:
            say(line)

    def told(self, done: int, total: int) -> None:
        """The same, for who tells both each time."""
        self.update(done, total=total)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _left(self, done: int, rate: float) -> str:
        """How long the rest takes, where that can be told."""
        if self._total is None or rate <= 0 or done > self._total:
            return ""
        seconds = round((self._total - done) / rate)
        return f", {seconds} s left" if seconds < 120 else f", {round(seconds / 60)} min left"
