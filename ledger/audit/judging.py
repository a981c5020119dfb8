"""The judgement of one round: its events gone through in order, each held against what the regulation gives.

Nothing of the round's own code is asked, and no fold of the read side. An event that is wrong becomes a finding and is then taken
as the log has it, so that one fault is told once and not at everything that follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from ledger.audit.correcting import Correcting
from ledger.audit.documents import Documents
from ledger.audit.findings import Finding
from ledger.audit.reported import Reported
from ledger.audit.terms import wrong_moment, wrong_terms
from ledger.audit.told import Link, Told
from ledger.errors import Refusal
from ledger.events import (
    BetChanged,
    BetCorrected,
    BetPlaced,
    BetsCarried,
    BettingClosed,
    BettingReopened,
    BetVoided,
    BetWithdrawn,
    Body,
    ChipsRestored,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    Event,
    LateBetRecorded,
    OutcomeCorrected,
    OutcomeRecorded,
    PayoutMade,
    PlayerAdjusted,
    Recorded,
    RoundHeld,
    RoundOpened,
    RoundReleased,
    RoundResettled,
    RoundSettled,
    RoundVoided,
    ShooterChanged,
    ThrowRecorded,
)


class Judgement(NamedTuple):
    """What came of going through a round."""

    told: Told
    findings: list[Finding]
    links: list[Link]
    """The bets that it took over and handed on."""
    strays: Mapping[int, UUID]
    """Positions of events that name another report than the one that brought them about → that one."""


def judge(events: Iterable[Recorded], documents: Documents, id: UUID) -> Judgement:
    """Goes through the events of one round, in the order of their versions.

    `documents` has to hold those of the log that come before. A round that is cut short between two reports is judged as it
    stood then.
    """
    judging = _Judging(id, documents)
    for recorded in events:
        judging.take(recorded)
    judging.finish()
    return Judgement(judging.told, judging.findings, judging.links, judging.strays)


class _Judging(Correcting, Reported):
    """A round on its way through its events."""

    version = 0
    position = 0
    opened_at = 0
    """The position at which it was opened."""

    def take(self, recorded: Recorded) -> None:
        """The next event."""
        self.now = recorded
        body = recorded.body
        kind = type(body)
        if not self._verify_place(recorded):
            return
        if isinstance(body, Body):
            self.note_epoch(body)
        if kind is not PayoutMade and kind is not RoundSettled:
            self.end_settlement()
        if kind not in _EFFECTS:
            self.end_correction()
        hear = HEARD.get(kind)
        if hear is None:
            self.find("OUT_OF_PLACE", f"a round has no event {kind.__name__}")
            return
        if self.told.opened is None and kind is not RoundOpened:
            return
        known = len(self.findings)
        currency = getattr(body, "currency", None)
        if self.told.opened is not None and currency not in (None, self.told.opened.currency):
            self.find("CURRENCY_DIFF", "the event is in another currency", expected=self.told.opened.currency, found=currency)
        try:
            hear(self, body)
        except (Refusal, ValueError, LookupError, ArithmeticError) as error:
            self.find("UNREADABLE", f"the event has a value that cannot be read: {error}")
        if isinstance(body, Body):
            self.verify_report(body, tell=len(self.findings) == known)
        if kind is RoundSettled:
            self.end_settlement()

    def _verify_place(self, recorded: Recorded) -> bool:
        """Whether the event is the next of its stream; one that stands there twice is passed over."""
        version, told = recorded.version, self.told
        if version <= self.version or recorded.position <= self.position:
            self.find(
                "SEQ_ORDER",
                f"version {version} at position {recorded.position} comes after version {self.version}",
                expected=str(self.version + 1),
                found=str(version),
            )
            if version <= self.version:
                return False
        elif version != self.version + 1:
            self.lose_report()
            missing = f"{self.version + 1}" + (f" to {version - 1}" if version > self.version + 2 else "")
            self.find("SEQ_GAP", f"version {missing} of the round is missing", expected=str(self.version + 1), found=str(version))
        elif version == 1 and not isinstance(recorded.body, RoundOpened) and told.opened is None:
            self.find("OUT_OF_PLACE", "the round's first event does not open it")
        self.version, self.position = version, recorded.position
        return True

    def finish(self) -> None:
        """There are no more events."""
        if not self.version:
            return
        self.end_settlement()
        self.end_correction()
        self._verify_moment()
        told = self.told
        if told.outcome is not None and self.decided_line and not told.ended:
            self.find("HALF_SETTLED", f"the outcome {told.outcome} is on record, and the round is not settled")

    # What a round is played under.

    def open(self, body: RoundOpened) -> None:
        """The round begins."""
        told = self.told
        if told.opened is not None:
            self.find("OUT_OF_PLACE", "the round was opened a second time")
            return
        told.opened, told.payable_unit, self.opened_at = body, int(body.payable_unit), self.now.position
        told.regulation = self.documents.of(body)
        for fault in wrong_terms(self.documents, body):
            self.find(fault.code, fault.what, expected=fault.expected, found=fault.found)

    def _verify_moment(self) -> None:
        told = self.told
        if told.opened is not None and told.carried_from is None:
            for fault in wrong_moment(self.documents, told.opened, self.opened_at):
                self.find(fault.code, fault.what, expected=fault.expected, found=fault.found)


_EFFECTS = frozenset({OutcomeCorrected, BetCorrected, PlayerAdjusted, RoundResettled, RoundVoided})
"""What a correction brings about."""

HEARD: dict[type[Event], Callable[[_Judging, Any], None]] = {
    RoundOpened: _Judging.open,
    BetPlaced: _Judging.placed,
    BetWithdrawn: _Judging.withdrawn,
    BetChanged: _Judging.changed,
    BetVoided: _Judging.voided_one,
    LateBetRecorded: _Judging.late_bet,
    BettingClosed: _Judging.closed,
    BettingReopened: _Judging.reopen,
    ShooterChanged: _Judging.shooter,
    BetsCarried: _Judging.carried_in,
    RoundVoided: _Judging.voided,
    OutcomeRecorded: _Judging.outcome,
    ThrowRecorded: _Judging.throw,
    PayoutMade: _Judging.payout,
    RoundSettled: _Judging.settled,
    ChipsRestored: _Judging.restored,
    RoundHeld: _Judging.held,
    RoundReleased: _Judging.released,
    CorrectionProposed: _Judging.proposed,
    CorrectionApproved: _Judging.approved,
    CorrectionDeclined: _Judging.declined,
    OutcomeCorrected: _Judging.outcome_corrected,
    BetCorrected: _Judging.corrected,
    PlayerAdjusted: _Judging.adjusted,
    RoundResettled: _Judging.resettled,
}
"""Event → how it is heard; the others are of no round (`ledger.audit.gathering`)."""
