"""What one append will hold, while it is being decided."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import msgspec

from ledger.houses import House
from ledger.property import Property
from ledger.reports import Body, Caller, DeclineCorrection, Report
from ledger.round import Round, RoundEvent
from ledger.rules import Regulation
from ledger.sequences import Line
from ledger.store.recorder import UNCHANGED, Claim, Closing, Occupancy, Rejection


class Sitting(msgspec.Struct, eq=False):
    """A round, and what it is played under; and who was found to be in the right at it, for the rest of a group."""

    round: Round
    house: House
    rules: Regulation
    _let_in: tuple[Caller | None, type[Body], Property | None] | None = None

    def let_in(self, report: Report, house: Property | None) -> None:
        """The report's sender may do what it says, by the configuration in force."""
        if not report.personal and type(report.body) is not DeclineCorrection:  # which also goes by whose the correction is
            self._let_in = report.caller, type(report.body), house

    def has_let_in(self, report: Report, house: Property | None) -> bool:
        """Whether the last sender that was let in was the same one with the same kind of act, by the same configuration."""
        if self._let_in is None or report.personal:
            return False
        caller, act, by = self._let_in
        return report.caller is caller and type(report.body) is act and house is by


class Group(msgspec.Struct, kw_only=True, eq=False):
    """The events, verdicts and bookkeeping of the reports that are appended together."""

    doubt: bool
    """Whether a first try met a conflict, so that even what was never seen is looked up."""
    events: list[RoundEvent] = []
    claims: dict[int, Claim] = {}
    """Index in `events` of the first event of a report → its claim on its event id."""
    leases: dict[str, int] = {}
    numbered: list[tuple[Line, Report]] = []
    """The numbered reports that the group answers for good, for the first time."""
    premises: dict[UUID, int] = {}
    """Stream → the latest version that was known of it when the group was decided by it."""
    rejections: list[Rejection] = []
    spans: dict[int, tuple[int, int]] = {}
    """Index of the report → its events' slice of `events`."""
    opened: dict[str, UUID] = {}
    """Table → the round that it has open after the group, where it had another before, or none."""
    closed: list[UUID] = []
    """Rounds that were open before the group and are not after it."""
    closing: Closing | None = None
    """The gaming day that the group closes; it holds nothing else then."""
    ended: list[UUID] = []
    """All rounds that end within the group."""
    documents: set[str] = set()
    sittings: dict[UUID, Sitting] = {}
    """Rounds that were asked for before in this group, at tables that it holds: most groups have many bets of one round."""
    _made: dict[UUID, int] = {}
    _counted: int = 0

    @property
    def occupancy(self) -> Occupancy:
        """How the group changes which round each table has open."""
        return Occupancy(self.closed, list(self.opened.items())) if self.closed or self.opened else UNCHANGED

    def made(self, stream: UUID) -> int:
        """How many events of a stream the group holds so far, which no log has yet. Asked seldom, so it counts only then."""
        for event in self.events[self._counted :]:
            self._made[event.originator_id] = self._made.get(event.originator_id, 0) + 1
        self._counted = len(self.events)
        return self._made.get(stream, 0)

    def rest_on(self, premises: Mapping[UUID, int]) -> None:
        """What was just decided holds as long as these streams have no later version: of two looks the earlier one counts."""
        for stream, version in premises.items():
            self.premises[stream] = min(version, self.premises.get(stream, version))

    def receive(self, line: Line | None, report: Report) -> None:
        """A report is answered for good; `line` is the epoch of its terminal, where it has a number."""
        if line is not None and report.sequence is not None and line.receive(report.sequence, report.event_id):
            self.numbered.append((line, report))

    def undo(self) -> None:
        """The group was not appended."""
        for line, report in self.numbered:
            assert report.sequence is not None
            line.undo(report.sequence, report.event_id)

    def open(self, table: str, round_: UUID) -> None:
        """The table has this round open."""
        self.opened[table] = round_

    def end(self, table: str, round_: UUID) -> None:
        """The table's round is over."""
        self.ended.append(round_)
        if self.opened.get(table) == round_:
            del self.opened[table]  # opened and over within one group: the table never shows as occupied by it
        else:
            self.closed.append(round_)
