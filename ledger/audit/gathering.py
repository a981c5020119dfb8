"""Rounds gathered from a run of events: each comes out once, whole, as soon as its last event has come.

Memory does not grow with the log. A round is let go when it has ended and nothing of it follows; how many events follow its end
(corrections, reviews, bets received late) is known beforehand, so that one that comes back is kept until then. Payloads are not
decoded here: of most events only the topic is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias
from uuid import UUID

from ledger import erasure
from ledger.audit.findings import Finding, finding
from ledger.errors import Refusal
from ledger.events import (
    EVENTS,
    ChipsCounted,
    ColourChipsIssued,
    CreditRecorded,
    DocumentRecorded,
    DropCounted,
    Event,
    FillRecorded,
    GamingDayClosed,
    NumbersGivenUp,
    PlayerErased,
    PlayerHeld,
    PlayerReleased,
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
        PlayerErased,
        PlayerHeld,
        PlayerReleased,
        SlipCancelled,
        SlipConfirmed,
        StaffSignedOff,
        StaffSignedOn,
    }
)
"""What is in the stream of a table, a property, a document, or of the players."""

Stream: TypeAlias = bytes | str
"""A stream's id as it was read: the sixteen bytes of it, or its text. A UUID of it takes longer to make than all else here."""


class Row(NamedTuple):
    """An event as it is stored, not decoded yet."""

    position: int
    stream: Stream
    version: int
    topic: str
    state: bytes
    following: int | None
    """With an event that may end a round: how many events of its stream follow. None with others, or where that is not known."""
    caused: int | None = None
    """With the first event of a report: how many it brought about, negative where the report's id is not that of the event."""


Rounds: TypeAlias = Iterator[list[Row]]
"""Rounds, each as its events in the order of the log."""


def uuid(stream: Stream) -> UUID:
    """A stream's id. Raises Refusal LGR-0740 where an export has none in its place."""
    try:
        return UUID(bytes=stream) if isinstance(stream, bytes) else UUID(stream)
    except ValueError as error:
        raise Refusal(
            "LGR-0740",
            "a line is no event of an export: its subject is no UUID",
            field="subject",
            value=str(stream),
            help="give a file that roundledger feed wrote",
        ) from error


def decoded(row: Row) -> Recorded:
    """An event with its payload. Raises Refusal LGR-0504 where it cannot be read."""
    position, stream, version, topic, state, *_ = row
    return Recorded(position, uuid(stream), version, codec.decode(topic, state, " at position %d", position))


def readable(rows: Iterable[Row], findings: list[Finding], erased: erasure.Names) -> list[Recorded]:
    """The events that can be read, as they are shown; each that cannot becomes a finding."""
    events = []
    for row in rows:
        try:
            events.append(erasure.shown(decoded(row), erased))
        except Refusal as refusal:
            where = f"position {row[0]}, version {row[2]}, {row[3]}"
            findings.append(finding("UNREADABLE", refusal.detail, stream=uuid(row[1]), found=where))
    return events


_OPENS, _SETTLES, _VOIDS, _BESIDE = "opens", "settles", "voids", "beside"
_KINDS = {RoundOpened: _OPENS, RoundSettled: _SETTLES, RoundVoided: _VOIDS, **dict.fromkeys(OF_NO_ROUND, _BESIDE)}
_ROLES = {
    topic: _KINDS[kind] for topic in (*(each.TOPIC for each in EVENTS), *codec.OLD) if (kind := codec.kind(topic)) in _KINDS
}
"""Topic → what it is to a round, where it is more than one of its events."""


class Gatherer:
    """Takes events in the order of the log, as many runs of them as there are, and gives the rounds that are whole."""

    def __init__(
        self,
        *,
        wanted: Callable[[UUID, RoundOpened], bool] | None = None,
        afterwards: Mapping[UUID, int] | None = None,
        beside: Callable[[Row], None] | None = None,
    ) -> None:
        """`wanted`: which rounds are. `afterwards`: stream → events that follow its end, where the rows do not say so. `beside`
        is given what is of no round.
        """
        self._wanted = wanted
        self._afterwards = afterwards or {}
        self._beside = beside
        self._under_way: dict[Stream, list[Row]] = {}
        self._ended: dict[Stream, int] = {}
        self.following: dict[Stream, int] = {}
        """Of what is not whole, how many events follow the end, where rows said so."""
        self._unwanted: set[Stream] = set()
        self._strays: dict[Stream, list[Row]] = {}
        """Events of rounds whose beginning has not been seen here."""
        self.events = 0
        """Events that came, of whatever stream."""
        self.position = 0
        """Of the last one."""

    def whole(self, rows: Iterable[Row]) -> Rounds:
        """The rounds that are whole by the next run of events."""
        under_way, ended, roles = self._under_way, self._ended, _ROLES
        events, row = self.events, None
        for row in rows:
            events += 1
            stream = row[1]
            here = under_way.get(stream)
            if here is None:
                self._begin(row)
                continue
            here.append(row)
            if (row[3] in roles or stream in ended) and self._is_whole(row):
                self.events, self.position = events, row[0]
                yield under_way.pop(stream)
        self.events = events
        if row is not None:
            self.position = row[0]

    def take_up(self, rows: Iterable[Row], following: Mapping[Stream, int]) -> Rounds:
        """As `whole`, of what another gatherer had left of the next part of the log, in order, with its `following`."""
        self.following.update(following)
        return self.whole(rows)

    def left(self) -> list[Row]:
        """What is not whole, in the order of the log."""
        some = (*self._under_way.values(), *self._strays.values())
        return sorted((each for rows in some for each in rows), key=lambda row: row[0])

    def rest(self) -> Rounds:
        """There are no more events: the rounds that have not ended, and what has no beginning."""
        left = [*self._under_way.values(), *self._strays.values()]
        self._under_way, self._strays = {}, {}
        yield from left

    def _is_whole(self, row: Row) -> bool:
        """Whether this is the last event of its round: the one that ends it, or the last of those that follow."""
        stream = row[1]
        if stream in self._ended:
            self._ended[stream] -= 1
        elif _ends(row):
            self._ended[stream] = self._following(row)
        else:
            return False
        if self._ended[stream] > 0:
            return False
        del self._ended[stream]
        self.following.pop(stream, None)
        return True

    def _begin(self, row: Row) -> None:
        stream, role = row[1], _ROLES.get(row[3])
        if role == _OPENS and row[2] == 1 and stream not in self._strays:
            if self._wanted is None or self._is_wanted(row):
                self._under_way[stream] = [row]
            else:
                self._unwanted.add(stream)
        elif stream in self._unwanted:
            # What follows its end would be a stray otherwise.
            if _ends(row) and not self._following(row):
                self._unwanted.discard(stream)
        elif role == _BESIDE:
            if self._beside is not None:
                self._beside(row)
        else:
            self._strays.setdefault(stream, []).append(row)
            if _ends(row):
                self._following(row)

    def _is_wanted(self, row: Row) -> bool:
        assert self._wanted is not None
        try:
            opened = decoded(row)
        except Refusal:
            return True  # what cannot be read is told
        return isinstance(opened.body, RoundOpened) and self._wanted(opened.stream, opened.body)

    def _following(self, row: Row) -> int:
        stream, said = row[1], row[5]
        if said:
            self.following[stream] = said
        if said is not None:
            return said
        known = self.following.get(stream)
        if known is not None or not self._afterwards:
            return known or 0
        return self._afterwards.get(uuid(stream), 0)


def _ends(row: Row) -> bool:
    """Whether the table goes on to its next round after this event."""
    role = _ROLES.get(row[3])
    if role != _VOIDS:
        return role == _SETTLES
    try:
        body = decoded(row).body
    except Refusal:
        return False
    return isinstance(body, RoundVoided) and body.disposition != "stand"
