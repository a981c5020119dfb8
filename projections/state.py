"""What the steps of the ledger's fold share: what a run has come to, and what several kinds of events ask of a round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any
from uuid import UUID

from ledger.events import Recorded, RoundResettled, RoundSettled
from projections.bets import Bets
from projections.cage import Cage
from projections.checks import Contradiction, amount
from projections.registers import Registers
from projections.rows import RoundRow

OPEN, CLOSED = frozenset({"open"}), frozenset({"closed"})
PLAYED = OPEN | CLOSED
SETTLED = frozenset({"settled", "resettled"})
ALWAYS = PLAYED | SETTLED | {"voided"}

NOT_NOW = {
    "open": "betting is open",
    "closed": "betting was closed before",
    "settled": "the round was settled before",
    "resettled": "the round was settled before",
    "voided": "the round was void before",
}
"""Status → why an event cannot come in it."""


class State:
    """The rows that a run of events touched so far, on top of those known before it."""

    def __init__(self, known: Mapping[UUID, RoundRow], bets: Bets, registers: Registers, cage: Cage) -> None:
        self._known = known
        self.rounds: dict[UUID, RoundRow] = {}
        self.bets = bets
        self.registers = registers
        self.cage = cage

    def round(self, round_: UUID) -> RoundRow | None:
        """A round, for looking only; None where this run knows of none."""
        return self.rounds.get(round_) or self._known.get(round_)

    def present(self, round_: UUID) -> RoundRow | None:
        """A round, to be changed."""
        row = self.rounds.get(round_)
        if row is None and round_ in self._known:
            row = self.rounds[round_] = copy(self._known[round_])
        return row


Step = tuple[frozenset[str], Callable[[State, RoundRow, Recorded, Any], None]]
"""In which status of its round an event may come, and what it does."""


def back(row: RoundRow, stake: int) -> None:
    """A stake goes back undecided."""
    row.returned += stake
    row.escrow -= stake


def carry_out(state: State, row: RoundRow, recorded: Recorded, carried: str, successor: UUID | None) -> int:
    """Leaves what is open to the successor; how much that is."""
    stakes = amount(recorded, carried)
    if successor is None:
        if stakes:
            raise Contradiction(recorded, f"stakes of {stakes} are carried, and no round has them")
        return 0
    left = state.bets.carry_out(recorded)
    if not stakes == left == row.escrow:
        raise Contradiction(recorded, f"stakes of {row.escrow} are open, {stakes} carried")
    row.successor = successor
    row.carried_out += stakes
    row.escrow -= stakes
    return stakes


def verify_free(row: RoundRow, recorded: Recorded) -> None:
    """Raises Contradiction while the round or a bet of it is held for review."""
    if row.holds:
        raise Contradiction(recorded, "the round is held for review")


def verify_totals(row: RoundRow, recorded: Recorded, body: RoundSettled | RoundResettled) -> None:
    """Raises Contradiction unless the totals of a settlement are those of its bets."""
    totals = {
        "bets": (body.bets, row.resolved),
        "handle": (amount(recorded, body.handle), row.lost + row.won),
        "prizes": (amount(recorded, body.prizes), row.prizes + row.commission + row.breakage),
        "commission": (amount(recorded, body.commission), row.commission),
        "breakage": (amount(recorded, body.breakage), row.breakage),
        "returned": (amount(recorded, body.returned), row.won + row.pushed + row.prizes),
    }
    for name, (said, found) in totals.items():
        if said != found:
            raise Contradiction(recorded, f"its total of {name} is {said}, that of its bets {found}")
