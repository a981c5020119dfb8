"""The round as `eventsourcing` knows it: an aggregate by protocol, made of its state and its decisions."""

from __future__ import annotations

from uuid import UUID

import msgspec

from ledger.events import Event, RoundOpened
from ledger.round.bell import Bell
from ledger.round.betting import Betting
from ledger.round.corrections import Correcting
from ledger.round.interruptions import Interruptions
from ledger.round.settling import Settling
from ledger.round.terms import Origin, Terms


class RoundEvent(msgspec.Struct, eq=False, gc=False):
    """An event in its place: the envelope that `eventsourcing` stores and replays."""

    originator_id: UUID
    originator_version: int
    body: Event

    def mutate(self, aggregate: Round | None) -> Round:
        """The round after this event (`eventsourcing`: CanMutateProtocol)."""
        round_ = aggregate if aggregate is not None else Round(self.originator_id)
        round_.apply(self.body)
        return round_


class Round(Betting, Bell, Settling, Interruptions, Correcting):
    """One round: what is true of it, and what may happen next. Not thread-safe: one writer holds it."""

    __slots__ = ()

    def collect_events(self) -> list[RoundEvent]:
        """The events decided since the last call, in order (`eventsourcing`: CollectEventsProtocol)."""
        pending, self._pending = self._pending, []
        return [RoundEvent(self.id, version, body) for version, body in enumerate(pending, self.version - len(pending) + 1)]

    @classmethod
    def open(cls, id: UUID, terms: Terms, origin: Origin) -> Round:
        """A new round with betting open."""
        round_ = cls(id)
        round_._happen(
            RoundOpened(
                **origin._asdict(),
                property=terms.property,
                pit=terms.pit,
                table=terms.table,
                game=terms.regulation.game,
                currency=terms.currency,
                payable_unit=str(terms.payable_unit),
                regulation=terms.regulation.order,
                regulation_hash=terms.regulation.sha256,
                property_hash=terms.property_hash,
                applied=terms.applied,
                gaming_day=terms.gaming_day,
                shift=terms.shift,
                dealer=terms.dealer,
                supervisor=terms.supervisor,
                limits=None if terms.limits is None else str(terms.limits),
            )
        )
        round_.limits = terms.limits
        return round_
