"""A reader that follows the log while others write, in a process of its own, and says at the end what it was given."""

from __future__ import annotations

import multiprocessing
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import NamedTuple, Self

import psycopg

from ledger.store import log

_POLL = 0.05
_PAGE = 5000


class Seen(NamedTuple):
    """What the reader was given; compared with what is stored."""

    events: int
    positions: int
    """The sum of the positions."""
    ordered: bool
    """Whether every position was above the one before."""


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
    """Polls, as any reader may; goes on from the last position that it was given."""
    try:
        with psycopg.connect(dsn, autocommit=True) as conn:
            seen, after, tail, ending = Seen(0, 0, True), 0, log.Tail(), False
            while not ending:
                ending = parent.poll(_POLL)
                upto = log.head(conn) if ending else tail.final(conn)
                while upto > after and (events := log.read(conn, after, _PAGE, upto)):
                    places = [after, *(event.position for event in events)]
                    rising = all(before < place for before, place in pairwise(places))
                    seen = Seen(seen.events + len(events), seen.positions + sum(places[1:]), seen.ordered and rising)
                    after = places[-1]
            parent.send(seen)
    except (EOFError, KeyboardInterrupt):
        return
    except Exception as error:  # noqa: BLE001 - the parent raises it
        parent.send(RuntimeError(f"{type(error).__name__}: {error}"))
