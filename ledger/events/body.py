"""What every event carries."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar
from uuid import UUID

import msgspec


def numbering(terminal: str, epoch: int | None) -> tuple[str, int]:
    """The count to which a terminal's numbers belong: the epoch that it names, and epoch 0 where it names none."""
    return terminal, epoch or 0


# Events are immutable down to their last field, so none can refer to itself: the collector need not follow them (`gc=False`).
# To do so is a tenth of the work of reading a round.
class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What every event carries: who reported it, under which id, and when."""

    TOPIC: ClassVar[str] = ""

    cause: UUID
    """The terminal's event id (CloudEvents `id`) that brought this event about."""
    terminal: str
    """Id of the terminal, from the CloudEvents `source`."""
    sequence: int | None = None
    """The terminal's own number of the event, where it numbers them."""
    occurred_at: datetime
    """When it happened, by the terminal's clock: data, never an order."""
    received_at: datetime
    """When the service received it."""
    epoch: int | None = None
    """The terminal's count of its own restarts, where it keeps one: its numbers begin anew with each."""
    by: str | None = None
    """The person who reported it, where one has proved to be the one; an opaque reference."""
    flags: tuple[str, ...] = ()
    """What is odd about the report and did not stop it: `clock_skew` (its clock is further off than the house tolerates),
    `beyond_limits` (a corrected bet was smaller or larger than the table takes), `undeclared_colour` (a bet in colour chips is no
    number of the chips that are on record as the player's)."""
