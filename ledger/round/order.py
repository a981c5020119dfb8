"""The order in which a terminal numbered its reports of a round, as far as it decides who is paid (docs/adr/0021).

A report that waited (it was turned away for now, or the link was down) would come true later than it was meant. Where the ledger
has taken what its terminal numbered after it, its moment is over: it is refused for good. An earlier epoch of a terminal comes
before a later one. Reports without a number, and those of different terminals, are before nothing.
"""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from ledger.errors import Refusal
from ledger.events.body import numbering


class Numbered(Protocol):
    """A report or an event with its terminal's number, where it has one."""

    @property
    def terminal(self) -> str: ...
    @property
    def epoch(self) -> int | None: ...
    @property
    def sequence(self) -> int | None: ...


def precedes(report: Numbered, happened: Numbered | None) -> bool:
    """Whether the terminal that reported what happened had numbered this report before it."""
    if happened is None or report.sequence is None or happened.sequence is None or report.terminal != happened.terminal:
        return False
    return (*numbering(report.terminal, report.epoch), report.sequence) < (
        *numbering(happened.terminal, happened.epoch),
        happened.sequence,
    )


def verify_order(
    report: Numbered, happened: Numbered | None, code: str, detail: str, value: UUID, field: str | None = None
) -> None:
    """Raises the refusal, for good, of a report whose terminal had numbered it before what has happened."""
    if precedes(report, happened):
        refusal = Refusal(
            code,
            f"its terminal numbered it {detail}",
            field=field,
            value=str(value),
            help="its moment is over; if it is so now, report it as a new event",
        )
        refusal.final = True
        raise refusal
