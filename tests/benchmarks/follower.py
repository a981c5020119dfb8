"""A reader that follows the log while others write, in a process of its own, and says at the end what it was given."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from typing import NamedTuple, Self

import psycopg

from ledger.store import log

_POLL = 0.05
_GIVEN = """
SELECT count(*), coalesce(sum(notification_id), 0)::bigint, min(notification_id), max(notification_id) FROM ledger.events
WHERE notification_id > %s AND notification_id <= %s
"""


class Seen(NamedTuple):
    """What the reader was given; compared with what is stored."""

    events: int
    positions: int
    """The sum of the positions."""
    ordered: bool
    """Whether nothing was given at or below what had been given before."""


class Follower:
    """`with Follower(dsn) as follower: …; follower.end()`."""

    def __init__(self, dsn: str) -> None:
        context = multiprocessing.get_context("forkserver")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_follow, args=(theirs, dsn), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def end(self) -> Seen:
        """Lets the reader come to the end of the log; what it has seen by then."""
        self._pipe.send("end")
        if not self._pipe.poll(60):
            raise TimeoutError("the follower did not come to the end of the log")
        found = self._pipe.recv()
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Seen)
        return found

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()


def _follow(parent: Connection, dsn: str) -> None:
    """Polls, as any reader may, up to the horizon; goes on from the last position that it was given.

    Of the events it asks only where they are, and lets the server add that up: to decode them would be a load on one side of
    the comparison and not on the other.
    """
    try:
        with psycopg.connect(dsn, autocommit=True) as conn:
            seen, after, tail, ending = Seen(0, 0, True), 0, log.Tail(), False
            while not ending:
                ending = parent.poll(_POLL)
                upto = log.head(conn) if ending else tail.final(conn)
                if upto <= after:
                    continue
                row = conn.execute(_GIVEN, (after, upto)).fetchone()
                assert row is not None
                events, positions, first, last = row
                if events:
                    seen = Seen(seen.events + events, seen.positions + positions, seen.ordered and first > after)
                    after = last
            parent.send(seen)
    except (EOFError, KeyboardInterrupt):
        return
    except Exception as error:  # noqa: BLE001 - the parent raises it
        parent.send(RuntimeError(f"{type(error).__name__}: {error}"))
