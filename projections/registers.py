"""The registers' part of the ledger's fold: holds, corrections, voids, late bets, and who worked at which table.

Here it is held to that nothing takes effect which nobody else approved: whoever changes the rows of money asks this first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import NamedTuple, TypeVar
from uuid import UUID

from ledger.events import (
    BetVoided,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    LateBetRecorded,
    Recorded,
    RoundHeld,
    RoundReleased,
    RoundVoided,
    StaffSignedOff,
    StaffSignedOn,
    ThrowRecorded,
)
from projections.checks import Contradiction, amount
from projections.rows import CorrectionRow, HoldRow, LateBetRow, StaffRow, VoidRow

Row = TypeVar("Row")


class Post(NamedTuple):
    """A role at a table."""

    table_id: str
    role: str


class Registers:
    """What events so far say, on top of the holds, corrections and staff known from those before; those are never changed."""

    def __init__(
        self, holds: Mapping[UUID, HoldRow], corrections: Mapping[UUID, CorrectionRow], staff: Mapping[Post, StaffRow]
    ) -> None:
        self._known_holds = holds
        self._known_corrections = corrections
        self._working = dict(staff)
        self.holds: dict[UUID, HoldRow] = {}
        self.corrections: dict[UUID, CorrectionRow] = {}
        self.voids: list[VoidRow] = []
        self.late_bets: list[LateBetRow] = []
        self.staff: dict[int, StaffRow] = {}

    # Holds.

    def hold(self, recorded: Recorded, body: RoundHeld) -> None:
        """Opens a hold."""
        if body.hold in self.holds or body.hold in self._known_holds:
            raise Contradiction(recorded, f"hold {body.hold} was opened before")
        self.holds[body.hold] = HoldRow(
            hold=body.hold,
            round=recorded.stream,
            bet=body.bet,
            reason=body.reason,
            note=body.note,
            held_by=body.by,
            held_at=body.received_at,
            held_position=recorded.position,
        )

    def release(self, recorded: Recorded, body: RoundReleased) -> None:
        """Ends an open hold of the round."""
        row = _kept(self.holds, self._known_holds, body.hold)
        if row is None or row.round != recorded.stream:
            raise Contradiction(recorded, f"the round has no hold {body.hold}")
        if row.released_position is not None:
            raise Contradiction(recorded, f"hold {body.hold} was released before")
        row.finding, row.correction, row.release_note = body.finding, body.correction, body.note
        row.released_by, row.released_at, row.released_position = body.by, body.received_at, recorded.position

    # Corrections.

    def propose(self, recorded: Recorded, body: CorrectionProposed) -> None:
        """Enters a correction that waits for its approval."""
        if body.correction in self.corrections or body.correction in self._known_corrections:
            raise Contradiction(recorded, f"correction {body.correction} was proposed before")
        if body.by is None:
            raise Contradiction(recorded, "nobody has proved to be its author")
        if body.approvals < 1:
            raise Contradiction(recorded, "a correction needs the approval of another person")
        self.corrections[body.correction] = CorrectionRow(
            correction=body.correction,
            round=recorded.stream,
            kind=body.kind,
            reason=body.reason,
            note=body.note,
            hold=body.hold,
            outcome=body.outcome,
            bet=body.bet,
            player=body.player,
            spot=body.spot,
            stake=None if body.stake is None else amount(recorded, body.stake),
            amount=None if body.amount is None else amount(recorded, body.amount),
            direction=body.direction,
            currency=body.currency,
            article=body.article,
            proposed_by=body.by,
            proposed_at=body.received_at,
            proposed_position=recorded.position,
            approvals_needed=body.approvals,
        )

    def approve(self, recorded: Recorded, body: CorrectionApproved) -> bool:
        """Enters an approval; whether it was the last that was needed."""
        row = self._waiting(recorded, body.correction)
        if body.approval != row.approvals + 1:
            raise Contradiction(recorded, f"it is approval {body.approval}, and {row.approvals} were given")
        if body.by is None or body.by in (row.proposed_by, row.approved_by):
            raise Contradiction(recorded, "an approval is another person's than the author's and the first approver's")
        if row.approvals == 0:
            row.approved_by = body.by
        else:
            row.seconded_by = body.by
        row.approvals += 1
        if row.approvals < row.approvals_needed:
            return False
        row.status, row.decided_at, row.decided_position = "approved", body.received_at, recorded.position
        return True

    def decline(self, recorded: Recorded, body: CorrectionDeclined) -> None:
        """Ends a correction that waits."""
        row = self._waiting(recorded, body.correction)
        row.status, row.declined_by, row.decline_note = "declined", body.by, body.note
        row.decided_at, row.decided_position = body.received_at, recorded.position

    def verify_approved(self, recorded: Recorded, correction: UUID | None) -> None:
        """Raises Contradiction unless this is a correction of the round that has all approvals it needs."""
        row = None if correction is None else self._correction(correction)
        if row is None or row.round != recorded.stream:
            raise Contradiction(recorded, f"the round has no correction {correction}")
        if row.status != "approved":
            raise Contradiction(recorded, f"correction {correction} is {row.status}, not approved")

    def _waiting(self, recorded: Recorded, correction: UUID) -> CorrectionRow:
        row = _kept(self.corrections, self._known_corrections, correction)
        if row is None or row.round != recorded.stream:
            raise Contradiction(recorded, f"the round has no correction {correction}")
        if row.status != "proposed":
            raise Contradiction(recorded, f"correction {correction} was {row.status} before")
        return row

    def _correction(self, correction: UUID) -> CorrectionRow | None:
        return self.corrections.get(correction) or self._known_corrections.get(correction)

    # Voids and late bets.

    def void_round(self, recorded: Recorded, body: RoundVoided, stakes: int) -> None:
        """Enters a void launch, or the end of a round without a result, with the stakes that were carried or returned."""
        self.voids.append(
            VoidRow(
                position=recorded.position,
                round=recorded.stream,
                what="round",
                disposition=body.disposition,
                bet=None,
                number=body.launch or None,
                reason=body.reason,
                article=body.article,
                successor=body.successor,
                stakes=stakes,
                currency=body.currency,
                correction=body.correction,
                declared_by=body.by,
                declared_at=body.received_at,
                note=body.note,
            )
        )

    def void_throw(self, recorded: Recorded, body: ThrowRecorded, reason: str) -> None:
        """Enters a void throw."""
        self.voids.append(
            VoidRow(
                position=recorded.position,
                round=recorded.stream,
                what="throw",
                disposition="stand",
                bet=None,
                number=body.throw,
                reason=reason,
                article=body.article,
                successor=None,
                stakes=0,
                currency=body.currency,
                correction=None,
                declared_by=body.by,
                declared_at=body.received_at,
                note=None,
            )
        )

    def void_bet(self, recorded: Recorded, body: BetVoided, stake: int) -> None:
        """Enters a bet that a supervisor declared void."""
        self.voids.append(
            VoidRow(
                position=recorded.position,
                round=recorded.stream,
                what="bet",
                disposition="return",
                bet=body.bet,
                number=None,
                reason=body.reason,
                article=None,
                successor=None,
                stakes=stake,
                currency=body.currency,
                correction=None,
                declared_by=body.by,
                declared_at=body.received_at,
                note=body.note,
            )
        )

    def late_bet(self, recorded: Recorded, body: LateBetRecorded) -> None:
        """Enters chips that came too late."""
        self.late_bets.append(
            LateBetRow(
                position=recorded.position,
                round=recorded.stream,
                player=body.player,
                seat=body.seat,
                spot=body.spot,
                stake=amount(recorded, body.stake),
                currency=body.currency,
                article=body.article,
                recorded_by=body.by,
                recorded_at=body.received_at,
                note=body.note,
            )
        )

    # Who works where.

    def sign_on(self, recorded: Recorded, body: StaffSignedOn) -> None:
        """A person takes a post; whoever had it leaves it by that."""
        post = Post(body.table, body.role)
        if post in self._working:
            self._leave(recorded, self._working[post], body)
        row = StaffRow(recorded.position, body.table, body.role, body.person, body.received_at)
        self._working[post] = self.staff[recorded.position] = row

    def sign_off(self, recorded: Recorded, body: StaffSignedOff) -> None:
        """A person leaves a post."""
        row = self._working.get(Post(body.table, body.role))
        if row is None or row.person != body.person:
            raise Contradiction(recorded, f"{body.person} is not the {body.role} of table {body.table}")
        self._leave(recorded, row, body)

    def _leave(self, recorded: Recorded, row: StaffRow, body: StaffSignedOn | StaffSignedOff) -> None:
        left = copy(row)
        left.to_position, left.to_at = recorded.position, body.received_at
        self.staff[left.from_position] = left
        del self._working[Post(row.table_id, row.role)]


def in_post(rows: Iterable[StaffRow]) -> dict[Post, StaffRow]:
    """Those of the rows who still work at their table, by post."""
    return {Post(row.table_id, row.role): row for row in rows if row.to_position is None}


def _kept(rows: dict[UUID, Row], known: Mapping[UUID, Row], key: UUID) -> Row | None:
    """The row to be changed: one of these events, or a copy of what is known."""
    if key not in rows and key in known:
        rows[key] = copy(known[key])
    return rows.get(key)
