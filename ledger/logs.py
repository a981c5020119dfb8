"""What a running service says of itself: one line a thing, in UTC, and nothing said twice in a row.

    2026-11-29T12:00:00.123Z INFO service: answering at http://127.0.0.1:8044

Levels: INFO what was done, WARNING what passes by itself, ERROR what somebody should look at; only an ERROR comes with a
traceback. A warning that comes again is counted instead of repeated, and its count follows in one line.

What a line is about (request, terminal, round, event) stands behind its words in brackets. Where another program reads the log,
each line is a JSON object with the same things under their names (`LEDGER_LOG=json`, or `serve --log json`).
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from typing import Any, TextIO

_NAMES = {
    "uvicorn": "service",
    "ledger.api": "service",
    "ledger.feed": "webhooks",
    "ledger.writer": "writer",
    "ledger.store": "store",
    "ledger.store.embedded": "postgres",
    "ledger.store.watch": "postgres",
    "projections": "projections",
    "psycopg": "database",
}
"""Logger → the part of the service that speaks, as an operator knows it; the longest beginning counts."""

WINDOW = 10.0
"""Seconds for which what is said again is only counted."""


FORM = "LEDGER_LOG"
"""The variable of the environment that says how this process and its children write: `json`, else in lines."""

_context: ContextVar[Mapping[str, str] | None] = ContextVar("about", default=None)


def about(**facts: str) -> Token[Mapping[str, str] | None]:
    """From now on, what is logged in this context is about these; until `no_more`."""
    return _context.set({**(_context.get() or {}), **facts})


def no_more(token: Token[Mapping[str, str] | None]) -> None:
    """Ends what `about` began."""
    _context.reset(token)


def on(**facts: object) -> dict[str, Any]:
    """What one record is about, as its `extra`; a fact that is None is left out."""
    return {"about": {name: str(fact) for name, fact in facts.items() if fact is not None}}


def _facts(record: logging.LogRecord) -> Mapping[str, str]:
    return {**(_context.get() or {}), **getattr(record, "about", {})}


class Lines(logging.Formatter):
    """One line a record: ISO time in UTC, level, part, words."""

    def format(self, record: logging.LogRecord) -> str:
        words = " ".join(record.getMessage().split())
        trace = ""
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            if record.levelno >= logging.ERROR:
                trace = "\n" + self.formatException(record.exc_info)
            elif str(error) not in words:
                words += f": {type(error).__name__}: {' '.join(str(error).split())}"
        facts = " ".join(f"{name}={fact}" for name, fact in getattr(record, "about", {}).items())
        return f"{_clock(record.created)} {record.levelname} {_part(record.name)}: {words}{f' [{facts}]' if facts else ''}{trace}"


class Objects(logging.Formatter):
    """One JSON object a record: time, level, part, message, and by name what it is about; of an exception its words and trace."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": _clock(record.created),
            "level": record.levelname,
            "part": _part(record.name),
            "message": " ".join(record.getMessage().split()),
            **getattr(record, "about", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            said["error"] = f"{type(error).__name__}: {error}"
            if record.levelno >= logging.ERROR:
                said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False)


class Collapsing(logging.StreamHandler[TextIO]):
    """Writes each record, but of a warning or error that comes again only the number, and its last words, every `WINDOW` seconds.

    The same is what the same line of code says, whatever it fills in. What carries a traceback is always written, for each is a
    fault of its own.
    """

    def __init__(
        self, stream: TextIO | None = None, *, window: float = WINDOW, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(stream)
        self.setFormatter(Objects() if os.environ.get(FORM) == "json" else Lines())
        self._window = window
        self._now = now
        self._seen: dict[tuple[str, int, str], _Seen] = {}
        self._timer: threading.Timer | None = None

    def emit(self, record: logging.LogRecord) -> None:
        record.about = _facts(record)  # now: the count of what comes again is told in another's context
        if record.levelno < logging.WARNING or (record.exc_info and record.levelno >= logging.ERROR):
            super().emit(record)
            return
        now = self._now()
        self._tell(now)
        key = (record.pathname, record.lineno, str(record.msg))
        seen = self._seen.get(key)
        if seen is None:
            self._seen[key] = _Seen(now)
            super().emit(record)
            return
        seen.again += 1
        seen.last = record
        if self._timer is None:
            # So that the count is told also where nothing more is said.
            self._timer = threading.Timer(self._window, self._later)
            self._timer.daemon = True
            self._timer.start()

    def tell(self) -> None:
        """Writes all counts that were not written yet."""
        with self.lock:  # type: ignore[union-attr]  # a handler's lock is None only between the making of its parts
            self._tell(float("inf"))

    def close(self) -> None:
        self.tell()
        super().close()

    def _later(self) -> None:
        with self.lock:  # type: ignore[union-attr]  # as in `tell`
            self._timer = None
            self._tell(self._now())

    def _tell(self, now: float) -> None:
        """Writes the counts whose window has passed; what did not come again meanwhile is forgotten, and is news next time."""
        for key, seen in [*self._seen.items()]:
            if now - seen.since < self._window:
                continue
            if (record := seen.last) is None:
                del self._seen[key]
                continue
            told = logging.makeLogRecord({**record.__dict__, "exc_info": None, "args": None, "created": time.time()})
            told.msg = f"{record.getMessage()} ({seen.again} more in {max(record.created - seen.wall, 0):.0f} s)"
            super().emit(told)
            self._seen[key] = _Seen(now)


class _Seen:
    """A record that was written, and how often it came again."""

    __slots__ = ("again", "last", "since", "wall")

    def __init__(self, since: float) -> None:
        self.since = since
        self.wall = time.time()
        self.again = 0
        self.last: logging.LogRecord | None = None


class Words(logging.Formatter):
    """The words of a record alone: who types a command is told by it what came of it, and has no use for a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{record.levelname.lower()}: {' '.join(record.getMessage().split())}"


def begin_with_words() -> None:
    """From now on, until `begin`, this process's warnings and errors go to stderr as words, if its log goes nowhere else yet."""
    handler = logging.StreamHandler()
    handler.setFormatter(Words())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def begin(stream: TextIO | None = None) -> Collapsing:
    """From now on this process's log goes to `stream` (stderr), in these lines. Returns the handler, to be closed at the end."""
    handler = Collapsing(stream or sys.stderr)
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    # Its lines about its own start and end say what `ledger.api.server` says in one.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return handler


def _clock(moment: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))
    return f"{whole}.{int(moment * 1000) % 1000:03}Z"


def _part(name: str) -> str:
    beginnings = name.split(".")
    for length in range(len(beginnings), 0, -1):
        if (part := _NAMES.get(".".join(beginnings[:length]))) is not None:
            return part
    return name
