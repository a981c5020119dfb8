"""What streams other than rounds have in common: a state folded from events, and events decided and not stored yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from uuid import UUID

from ledger.events import Event
from ledger.round import RoundEvent


class Deciding(ABC):
    """An aggregate of plain events. Not thread-safe: whoever decides for its stream holds it."""

    __slots__ = ("_pending", "id", "version")

    def __init__(self, id_: UUID) -> None:
        self.id = id_
        """The stream's."""
        self.version = 0
        """That of the last event, with those that were decided and are not stored yet."""
        self._pending: list[Event] = []

    def apply(self, body: Event) -> None:
        """Changes the state by one event that has happened; decides nothing. Refuses LGR-0504 one of another stream."""
        self.version += 1
        self._change(body)

    @abstractmethod
    def _change(self, body: Event) -> None:
        """What one event changes, but the version."""

    def fold(self, happened: Iterable[Event]) -> None:
        """Changes the state by events that have happened, in order."""
        for body in happened:
            self.apply(body)

    def collect_events(self) -> list[RoundEvent]:
        """The events decided since the last call, in order."""
        pending, self._pending = self._pending, []
        return [RoundEvent(self.id, version, body) for version, body in enumerate(pending, self.version - len(pending) + 1)]

    def _happen(self, body: Event) -> None:
        self.apply(body)
        self._pending.append(body)
