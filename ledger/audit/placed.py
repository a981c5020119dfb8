"""Bets over all rounds: each is placed once, in one of them, whatever rounds carry it from there.

A bet's id is that of its report, which no ledger takes twice. To see that over a log of any length, a mark of eight bytes is kept
of each bet, on shelves by its size; a shelf that has many goes to disk. Where two marks are alike, the log is read once more for
the bets that have them.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from operator import xor
from tempfile import SpooledTemporaryFile
from uuid import UUID

import msgspec

from ledger import erasure
from ledger.audit.findings import Finding, finding
from ledger.audit.gathering import Row, readable
from ledger.events import BetPlaced, Recorded

_SHELF_BITS = 6
_KEPT = 1 << 20
"""Bytes of a shelf that are kept in memory."""


class _Bet(msgspec.Struct, gc=False):
    bet: UUID


_bet = msgspec.json.Decoder(_Bet).decode


def raw(bets: Collection[str]) -> bytes:
    """Ids as they are written, sixteen bytes each. Raises ValueError where one is none."""
    found = bytes.fromhex("".join(bets).replace("-", ""))
    if len(found) != 16 * len(bets):
        raise ValueError("an id has another length")
    return found


def marks(ids: bytes | bytearray) -> Iterator[int]:
    """Of each id (`raw`) a number of 64 bits, by which two bets differ but for a rare pair."""
    words = array("Q", ids)
    return map(xor, words[::2], words[1::2])


class Placed:
    """The bets placed in all rounds; a context manager."""

    def __enter__(self) -> Placed:
        self._files = ExitStack()
        enter = self._files.enter_context
        self._shelves = [
            enter(SpooledTemporaryFile(_KEPT, prefix="roundledger-"))  # noqa: SIM115 - the stack closes it
            for _ in range(1 << _SHELF_BITS)
        ]
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def add(self, ids: bytes | bytearray) -> None:
        """The bets of some rounds, by their ids (`raw`)."""
        parts: list[list[int]] = [[] for _ in self._shelves]
        for each in marks(ids):
            parts[each >> 64 - _SHELF_BITS].append(each)
        for shelf, part in zip(self._shelves, parts, strict=True):
            shelf.write(array("Q", part).tobytes())

    def twice(self) -> frozenset[int]:
        """The marks that came more than once."""
        found: list[int] = []
        for shelf in self._shelves:
            shelf.seek(0)
            on_it = array("Q", shelf.read())
            if len(set(on_it)) < len(on_it):
                found += [each for each, number in Counter(on_it).items() if number > 1]
        return frozenset(found)


def placed_twice(rows: Iterable[Row], twice: frozenset[int], erased: erasure.Names) -> list[Finding]:
    """The bets with these marks that are placed in more rounds than one. What is twice in one round is told with that."""
    events = sorted(readable(_with(rows, twice), [], erased), key=lambda recorded: recorded.position)
    first: dict[UUID, Recorded] = {}
    found = []
    for recorded in events:
        body = recorded.body
        assert isinstance(body, BetPlaced)
        before = first.setdefault(body.bet, recorded)
        if before.stream != recorded.stream:
            what = f"the bet on {body.spot} was placed in round {before.stream} before"
            found.append(finding("BET_TWICE", what, stream=recorded.stream, bet=body.bet, evidence=[recorded, before]))
    return found


def _with(rows: Iterable[Row], twice: frozenset[int]) -> Iterator[Row]:
    for row in rows:
        if row[3] == BetPlaced.TOPIC:
            try:
                bet = _bet(row[4]).bet
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue  # that it cannot be read is told already
            if next(marks(bet.bytes)) in twice:
                yield row
