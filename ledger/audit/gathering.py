"""Rounds gathered from a run of events: each comes out once, whole, as soon as its last event has come.

Memory does not grow with the log. A round is let go when it has ended and nothing of it follows; how many events follow its end
(corrections, reviews, bets received late) is known beforehand, so that one that comes back is kept until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from ledger.audit.claims import Claims
from ledger.errors import Refusal
from ledger.events import (
    ChipsCounted,
    ColourChipsIssued,
    CreditRecorded,
    DocumentRecorded,
    DropCounted,
    Event,
    FillRecorded,
    GamingDayClosed,
    Recorded,
    RoundOpened,
    RoundSettled,
    RoundVoided,
    SlipCancelled,
    SlipConfirmed,
    StaffSignedOff,
    StaffSignedOn,
)
from ledger.store import codec

OF_NO_ROUND: frozenset[type[Event]] = frozenset(
    {
        ChipsCounted,
        ColourChipsIssued,
        CreditRecorded,
        DocumentRecorded,
        DropCounted,
        FillRecorded,
        GamingDayClosed,
        SlipCancelled,
        SlipConfirmed,
        StaffSignedOff,
        StaffSignedOn,
    }
)
"""What is in the stream of a table, a property or a document."""


class Row(NamedTuple):
    """An event as it is stored, not decoded yet."""

    position: int
    stream: UUID
    version: int
    topic: str
    state: bytes
    following: int | None
    """With an event that may end a round: how many events of its stream follow. None with others, or where that is not known."""
    caused: int | None = None
    """With the first event of a report: how many it brought about, negative where the report's id is not that of the event."""


Rounds = Iterator[list[Recorded]]
"""Rounds, each as its events in the order of the log."""


def ends(body: Event) -> bool:
    """Whether the table goes on to its next round after this event."""
    return type(body) is RoundSettled or (type(body) is RoundVoided and body.disposition != "stand")


class Gatherer:
    """Takes events in the order of the log, as many runs of them as there are, and gives the rounds that are whole."""

    def __init__(
        self,
        *,
        wanted: Callable[[UUID, RoundOpened], bool] | None = None,
        afterwards: Mapping[UUID, int] | None = None,
        beside: Callable[[Recorded], None] | None = None,
        unreadable: Callable[[Row, Refusal], None] | None = None,
        claims: Claims | None = None,
    ) -> None:
        """`wanted`: which rounds are. `afterwards`: stream → events that follow its end, where the rows do not say so. `beside`
        is given what is of no round; `unreadable` what cannot be read, which is otherwise raised; `claims` all of them.
        """
        self._wanted = wanted
        self._afterwards = dict(afterwards or {})
        self._beside = beside
        self._unreadable = unreadable
        self._claims = claims
        # By the number of a stream's id: the hash and the comparison of a UUID are Python's, and take longer than all else here.
        self._under_way: dict[int, list[Recorded]] = {}
        self._ended: dict[int, int] = {}
        self.following: dict[UUID, int] = {}
        """Of rounds under way and strays, how many events follow the end, where rows said so."""
        self._unwanted: set[UUID] = set()
        self._strays: dict[UUID, list[Recorded]] = {}
        self.events = 0
        """Events that came, of whatever stream."""
        self.position = 0
        """Of the last one."""

    def whole(self, rows: Iterable[Row]) -> Rounds:
        """The rounds that are whole by the next run of events."""
        under_way, ended, claims, decode = self._under_way, self._ended, self._claims, codec.decode
        position = self.position
        for row in rows:
            position, stream, version, topic, state, following, caused = row
            self.events += 1
            try:
                body = decode(topic, state, " at position %d", position)
            except Refusal as refusal:
                self._cannot(row, refusal)
                continue
            recorded = Recorded(position, stream, version, body)
            if caused != 1 and claims is not None:
                claims.take(recorded, caused)
            number = stream.int
            here = under_way.get(number)
            if here is None:
                self._begin(recorded, following)
                continue
            here.append(recorded)
            kind = type(body)
            if (kind is RoundSettled or kind is RoundVoided or number in ended) and self._is_whole(recorded, following):
                self.position = position
                yield under_way.pop(number)
        self.position = position

    def take_up(self, events: Iterable[Recorded], following: Mapping[UUID, int]) -> Rounds:
        """As `whole`, of what another gatherer had left of the next part of the log, in order, with its `following`."""
        self._afterwards.update(following)
        for recorded in events:
            here = self._under_way.get(recorded.stream.int)
            if here is None:
                self._begin(recorded, None)
                continue
            here.append(recorded)
            if self._is_whole(recorded, None):
                yield self._under_way.pop(recorded.stream.int)

    def left(self) -> list[Recorded]:
        """What is not whole, in the order of the log."""
        some = (*self._under_way.values(), *self._strays.values())
        return sorted((each for events in some for each in events), key=lambda each: each.position)

    def rest(self) -> Rounds:
        """There are no more events: the rounds that have not ended, and what has no beginning."""
        left = [*self._under_way.values(), *self._strays.values()]
        self._under_way, self._strays = {}, {}
        yield from left

    def _cannot(self, row: Row, refusal: Refusal) -> None:
        if self._unreadable is None:
            raise refusal
        self._unreadable(row, refusal)

    def _is_whole(self, recorded: Recorded, following: int | None) -> bool:
        """Whether this is the last event of its round: the one that ends it, or the last of those that follow."""
        number = recorded.stream.int
        if number in self._ended:
            self._ended[number] -= 1
        elif ends(recorded.body):
            self._ended[number] = self._following(recorded.stream, following)
        else:
            return False
        if self._ended[number] > 0:
            return False
        del self._ended[number]
        self.following.pop(recorded.stream, None)
        return True

    def _begin(self, recorded: Recorded, following: int | None) -> None:
        stream, body = recorded.stream, recorded.body
        if type(body) is RoundOpened and recorded.version == 1 and stream not in self._strays:
            if self._wanted is None or self._wanted(stream, body):
                self._under_way[stream.int] = [recorded]
            else:
                self._unwanted.add(stream)
        elif stream in self._unwanted:
            # What follows its end would be a stray otherwise.
            if ends(body) and not self._following(stream, following):
                self._unwanted.discard(stream)
        elif type(body) in OF_NO_ROUND:
            if self._beside is not None:
                self._beside(recorded)
        else:
            self._strays.setdefault(stream, []).append(recorded)
            if ends(body):
                self._following(stream, following)

    def _following(self, stream: UUID, said: int | None) -> int:
        number = self._afterwards.get(stream, 0) if said is None else said
        if said:
            self.following[stream] = said
        return number
