"""The cage's part of the ledger's fold: slips from their writing to their posting, and the gaming days that are closed.

Here it is held to that no slip moves anything which one person alone has signed, and that nothing comes to a closed day.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from ledger.events import (
    Chips,
    ChipsCounted,
    ColourChipsIssued,
    CreditRecorded,
    DropCounted,
    FillRecorded,
    GamingDayClosed,
    Recorded,
    SlipCancelled,
    SlipConfirmed,
)
from projections.checks import Contradiction, amount
from projections.rows import ChipsRow, CountRow, DayRow, DropRow, NumberedRow, SlipRow

Written = ChipsCounted | FillRecorded | CreditRecorded | DropCounted


class Cage:
    """What events so far say, on top of the slips and closed days known from those before; those are never changed."""

    def __init__(self, slips: Mapping[UUID, SlipRow], closed: Mapping[str, date]) -> None:
        self._known = slips
        self.closed = dict(closed)
        """Property → the last of its days that is closed."""
        self.slips: dict[UUID, SlipRow] = {}
        self.chips: list[ChipsRow] = []
        self.days: list[DayRow] = []

    # Slips.

    def write(self, recorded: Recorded, body: Written) -> None:
        """Enters a slip, which has moved nothing yet."""
        if body.slip in self.slips or body.slip in self._known:
            raise Contradiction(recorded, f"slip {body.slip} was written before")
        if body.by is None:
            raise Contradiction(recorded, "nobody has proved to be its author")
        self.verify_open(recorded, body.property, body.gaming_day)
        said: dict[str, Any] = {
            "slip": body.slip,
            "property": body.property,
            "table_id": body.table,
            "gaming_day": body.gaming_day,
            "of_day": body.of_day,
            "shift": body.shift,
            "currency": body.currency,
            "total": amount(recorded, body.total),
            "note": body.note,
            "written_by": body.by,
            "written_at": body.received_at,
            "written_position": recorded.position,
        }
        self.slips[body.slip] = row = _row(recorded, body, said)
        found = row.cash + row.vouchers if isinstance(row, DropRow) else self._count(recorded, body)
        if found != row.total:
            raise Contradiction(recorded, f"its lines come to {found}, its total is {row.total}")

    def _count(self, recorded: Recorded, body: Written) -> int:
        """Enters the chips of a slip; what they come to."""
        chips: tuple[Chips, ...] = () if isinstance(body, DropCounted) else body.chips
        lines = [ChipsRow(body.slip, amount(recorded, each.value), each.count) for each in chips]
        if len({line.value for line in lines}) < len(lines) or any(line.value < 1 or line.count < 1 for line in lines):
            raise Contradiction(recorded, "its chips are not listed by denomination")
        self.chips += lines
        return sum(line.value * line.count for line in lines)

    def confirm(self, recorded: Recorded, body: SlipConfirmed) -> None:
        """Posts a slip, or posts it back."""
        row = self._slip(recorded, body.slip, body.kind, body.table, "cancelling" if body.cancellation else "open")
        if (row.property, row.currency, row.total) != (body.property, body.currency, amount(recorded, body.amount)):
            raise Contradiction(recorded, f"the slip is over {row.currency} {row.total} of property {row.property}")
        first = row.cancelled_by if body.cancellation else row.written_by
        if body.by is None or body.by == first:
            raise Contradiction(recorded, "the second signature is another person's than the first")
        self.verify_open(recorded, body.property, body.gaming_day)
        if body.gaming_day != row.gaming_day and not self._is_closed(row.property, row.gaming_day):
            raise Contradiction(recorded, f"the slip's day {row.gaming_day} is open, and it is posted to {body.gaming_day}")
        if body.cancellation:
            row.status, row.reversed_day = "cancelled", body.gaming_day
            row.reversed_by, row.reversed_at, row.reversed_position = body.by, body.received_at, recorded.position
        else:
            row.status, row.gaming_day, row.of_day = "confirmed", body.gaming_day, body.of_day
            row.confirmed_by, row.confirmed_at, row.confirmed_position = body.by, body.received_at, recorded.position

    def cancel(self, recorded: Recorded, body: SlipCancelled) -> None:
        """Cancels a slip that has moved nothing, or enters that a posted one is to be."""
        row = self._slip(recorded, body.slip, body.kind, body.table, "confirmed" if body.confirmed else "open")
        row.status = "cancelling" if body.confirmed else "cancelled"
        row.cancel_reason, row.cancel_note = body.reason, body.note
        row.cancelled_by, row.cancelled_at, row.cancelled_position = body.by, body.received_at, recorded.position

    def colours(self, recorded: Recorded, body: ColourChipsIssued) -> None:
        """It is on record, and no figure changes."""

    def _slip(self, recorded: Recorded, slip: UUID, kind: str, table: str, status: str) -> SlipRow:
        """A slip to be changed. Raises Contradiction unless it is of this kind and table and stands so."""
        if slip not in self.slips and slip in self._known:
            self.slips[slip] = copy(self._known[slip])
        row = self.slips.get(slip)
        if row is None or (row.kind, row.table_id) != (kind, table):
            raise Contradiction(recorded, f"table {table} has no {kind} slip {slip}")
        if row.status != status:
            raise Contradiction(recorded, f"slip {slip} is {row.status}, not {status}")
        return row

    # Days.

    def close(self, recorded: Recorded, body: GamingDayClosed) -> None:
        """Closes a day."""
        last = self.closed.get(body.property)
        if last is not None and body.gaming_day != last + timedelta(days=1):
            raise Contradiction(recorded, f"the last day that is closed is {last}")
        if body.by is None:
            raise Contradiction(recorded, "nobody has proved to have closed the day")
        self.closed[body.property] = body.gaming_day
        self.days.append(
            DayRow(
                property=body.property,
                gaming_day=body.gaming_day,
                closed_by=body.by,
                closed_at=body.received_at,
                position=recorded.position,
                as_of=amount(recorded, body.as_of),
                figures=body.figures,
                despite=" ".join(body.despite),
                note=body.note,
            )
        )

    def verify_open(self, recorded: Recorded, house: str, day: date) -> None:
        """Raises Contradiction where something would be posted to a day that is known to be closed."""
        if self._is_closed(house, day):
            raise Contradiction(recorded, f"gaming day {day} of property {house} is closed")

    def verify_posted(self, recorded: Recorded, house: str, own: date, day: date | None, of_day: date | None) -> None:
        """Raises Contradiction unless a correction goes to its round's own day, or to a later one that is open."""
        if day is None:
            self.verify_open(recorded, house, own)
        elif of_day != own or day <= own:
            raise Contradiction(recorded, f"the round is of {own}; it is posted to {day}, of {of_day}")
        else:
            self.verify_open(recorded, house, day)

    def _is_closed(self, house: str, day: date) -> bool:
        last = self.closed.get(house)
        return last is not None and day <= last


def _row(recorded: Recorded, body: Written, said: dict[str, Any]) -> SlipRow:
    match body:
        case ChipsCounted():
            if body.kind not in ("opener", "closer"):
                raise Contradiction(recorded, f"no count is {body.kind!r}")
            return CountRow(**said, kind=body.kind)
        case FillRecorded():
            return NumberedRow(**said, kind="fill", number=body.number)
        case CreditRecorded():
            return NumberedRow(**said, kind="credit", number=body.number)
        case DropCounted():
            cash, vouchers = amount(recorded, body.cash), amount(recorded, body.vouchers)
            return DropRow(**said, kind="drop", box=body.box, cash=cash, vouchers=vouchers)
