"""The order in which a terminal numbered its reports of a round, as far as it decides who is paid (docs/adr/0021).

A report that waited (it was turned away for now, or the link was down) would come true later than it was meant. Where the ledger
has taken what its terminal numbered after it, its moment is over: it is refused for good. Reports without a number, and those of
different terminals, are before nothing.

The numbers of one epoch prove an order. Epochs are drawn from a clock, and clocks go back: a lower epoch is before a higher one
only where the round had something of it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

import msgspec

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


class Number(msgspec.Struct, frozen=True, gc=False):
    """A terminal's number of one report, by itself."""

    terminal: str
    epoch: int | None
    sequence: int


Epochs = Mapping[tuple[str, int], int]
"""Terminal and epoch → the place of the round's first event that was numbered in it."""


def precedes_in_epoch(report: Numbered, happened: Numbered) -> bool:
    """Whether the terminal that reported what happened had numbered this report before it, in the same epoch."""
    if report.sequence is None or happened.sequence is None:
        return False
    same = numbering(report.terminal, report.epoch) == numbering(happened.terminal, happened.epoch)
    return same and report.sequence < happened.sequence


def precedes(report: Numbered, happened: Numbered | None, epochs: Epochs) -> bool:
    """Whether the terminal that reported what happened had provably numbered this report before it."""
    if happened is None or report.sequence is None or happened.sequence is None or report.terminal != happened.terminal:
        return False
    own, other = numbering(report.terminal, report.epoch), numbering(happened.terminal, happened.epoch)
    if own == other:
        return report.sequence < happened.sequence
    return own < other and own in epochs and other in epochs and epochs[own] < epochs[other]


def verify_order(
    report: Numbered, happened: Numbered | None, epochs: Epochs, code: str, detail: str, value: UUID, field: str | None = None
) -> None:
    """Raises the refusal, for good, of a report whose terminal had numbered it before what has happened."""
    if precedes(report, happened, epochs):
        refusal = Refusal(
            code,
            f"its terminal numbered it {detail}",
            field=field,
            value=str(value),
            help="its moment is over; if it is so now, report it as a new event",
        )
        refusal.final = True
        raise refusal
