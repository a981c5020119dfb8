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
    NumbersGivenUp,
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
        NumbersGivenUp,
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
        self.under_way: dict[UUID, list[Recorded]] = {}
        """Rounds that are not whole yet, the one that came first first."""
        self._ended: dict[UUID, int] = {}
        """Of those, the ones that have ended → events that still follow."""
        self.following: dict[UUID, int] = {}
        """Of rounds under way and strays, how many events follow the end, where rows said so."""
        self._unwanted: set[UUID] = set()
        self.strays: dict[UUID, list[Recorded]] = {}
        """Events of rounds whose beginning has not been seen here."""
        self.events = 0
        """Events that came, of whatever stream."""
        self.position = 0
        """Of the last one."""

    def whole(self, rows: Iterable[Row]) -> Rounds:
        """The rounds that are whole by the next run of events."""
        claims = self._claims
        for row in rows:
            recorded = self._decoded(row)
            if recorded is None:
                continue
            if claims is not None:
                claims.take(recorded, row[6])
            if (found := self._take(recorded, row[5])) is not None:
                yield found

    def take_up(self, events: Iterable[Recorded], following: Mapping[UUID, int]) -> Rounds:
        """As `whole`, of what another gatherer had left of the next part of the log, in order, with its `following`."""
        self._afterwards.update(following)
        for recorded in events:
            if (found := self._take(recorded, None)) is not None:
                yield found

    def left(self) -> list[Recorded]:
        """What is not whole, in the order of the log."""
        some = (*self.under_way.values(), *self.strays.values())
        return sorted((each for events in some for each in events), key=lambda each: each.position)

    def rest(self) -> Rounds:
        """There are no more events: the rounds that have not ended, and what has no beginning."""
        left = [*self.under_way.values(), *self.strays.values()]
        self.under_way, self.strays = {}, {}
        yield from left

    def _decoded(self, row: Row) -> Recorded | None:
        position, stream, version, topic, state, _, _ = row
        try:
            return Recorded(position, stream, version, codec.decode(topic, state, " at position %d", position))
        except Refusal as refusal:
            if self._unreadable is None:
                raise
            self._unreadable(row, refusal)
            return None

    def _take(self, recorded: Recorded, following: int | None) -> list[Recorded] | None:
        self.events += 1
        self.position = recorded.position
        stream, body = recorded.stream, recorded.body
        here = self.under_way.get(stream)
        if here is None:
            self._begin(recorded, following)
            return None
        here.append(recorded)
        if stream in self._ended:
            self._ended[stream] -= 1
        elif ends(body):
            self._ended[stream] = self._following(stream, following)
        else:
            return None
        if self._ended[stream] > 0:
            return None
        del self._ended[stream]
        self.following.pop(stream, None)
        return self.under_way.pop(stream)

    def _begin(self, recorded: Recorded, following: int | None) -> None:
        stream, body = recorded.stream, recorded.body
        if type(body) is RoundOpened and recorded.version == 1 and stream not in self.strays:
            if self._wanted is None or self._wanted(stream, body):
                self.under_way[stream] = [recorded]
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
            self.strays.setdefault(stream, []).append(recorded)
            if ends(body):
                self._following(stream, following)

    def _following(self, stream: UUID, said: int | None) -> int:
        number = self._afterwards.get(stream, 0) if said is None else said
        if said:
            self.following[stream] = said
        return number
