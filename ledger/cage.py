"""What is on record of a table itself: who works there, its slips, what its players' colour chips are worth, and which of its
terminals' numbers will not come.

A slip is written by one person and signed by another; until then it has moved nothing. What is wrong is cancelled and never
edited: a slip that nobody has signed by one person, a signed one by two.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any
from uuid import UUID

import msgspec

from ledger import money
from ledger.days import Posting
from ledger.errors import Refusal
from ledger.events import (
    Chips,
    ChipsCounted,
    ColourChipsIssued,
    CreditRecorded,
    DropCounted,
    Event,
    FillRecorded,
    NumbersGivenUp,
    SlipCancelled,
    SlipConfirmed,
)
from ledger.reports import (
    CancelSlip,
    ChipsOf,
    ConfirmSlip,
    CountChips,
    CountDrop,
    GiveUpNumbers,
    IssueColourChips,
    RecordCredit,
    RecordFill,
    SlipWritten,
)
from ledger.round import Origin
from ledger.round.persons import verify_person
from ledger.round.trying import succeeds
from ledger.staff import Staff

Written = ChipsCounted | FillRecorded | CreditRecorded | DropCounted
CHIP_KINDS = ("cash", "non_negotiable", "promotional", "colour")
"""The kinds of chips that are bet."""


class Slip(msgspec.Struct):
    """A slip as it stands."""

    id: UUID
    kind: str
    """`opener`, `closer`, `fill`, `credit` or `drop`."""
    author: str
    property: str
    gaming_day: date
    """To which it is posted."""
    of_day: date | None
    currency: str
    total: str
    status: str = "open"
    """`open`, `confirmed`, `cancelling` (confirmed, and its cancellation waits for another person) or `cancelled`."""
    canceller: str | None = None
    """Who asked for its cancellation."""


class TableRecord(Staff):
    """The table's own stream. Not thread-safe: the one writer of the table holds it."""

    __slots__ = ("colours", "given_up", "slips")

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.slips: dict[UUID, Slip] = {}
        self.colours: dict[str, int] = {}
        """Player → what one of their colour chips is worth, in minor units."""
        self.given_up: list[tuple[str, int, int, int]] = []
        """Terminal, epoch, first and last number that will not come."""

    def _change(self, body: Event) -> None:
        fold = _FOLDS.get(type(body))
        if fold is None:
            super()._change(body)
        else:
            fold(self, body)

    # Slips are written.

    def verify_slip(self, said: SlipWritten, currency: str, origin: Origin) -> None:
        """Raises unless a person wrote a slip that adds up, in the table's currency; a drop may be in any that is known."""
        verify_person(origin)
        if isinstance(said, CountDrop):
            money.minor_digits(said.currency)
            found = int(said.cash) + int(said.vouchers)
        else:
            self._verify_currency(said.currency, currency)
            found = _sum_of(said.chips)
            if not found and not isinstance(said, CountChips):
                raise Refusal("LGR-0260", "a slip without chips moves nothing", field="chips", value="[]")
        if found > money.LARGEST:
            raise Refusal("LGR-0104", f"no slip is over more than {money.LARGEST} minor units", field="total", value=said.total)
        if int(said.total) != found:
            raise Refusal(
                "LGR-0260",
                f"what the slip lists comes to {said.currency} {money.format_plain(found, said.currency)}",
                field="total",
                value=said.total,
                help="count again, and send it as a new event: the total is that of the lines, in minor units",
            )

    def can_write_slip(self, said: SlipWritten, currency: str, origin: Origin) -> bool:
        """Whether `write_slip` would succeed."""
        return succeeds(self.verify_slip, said, currency, origin)

    def write_slip(self, said: SlipWritten, house: str, currency: str, posting: Posting, origin: Origin) -> None:
        """Puts a slip on record, whose id is the report's. Nothing moves until another person has signed it."""
        self.verify_slip(said, currency, origin)
        fields = {name: getattr(said, name) for name in ("table", "total", "currency", "shift", "note")}
        stamp = origin._asdict() | fields | posting._asdict() | {"slip": origin.cause, "property": house}
        match said:
            case CountChips():
                self._happen(ChipsCounted(**stamp, kind=said.kind, chips=_chips(said.chips)))
            case RecordFill():
                self._happen(FillRecorded(**stamp, number=said.number, chips=_chips(said.chips)))
            case RecordCredit():
                self._happen(CreditRecorded(**stamp, number=said.number, chips=_chips(said.chips)))
            case CountDrop():
                self._happen(DropCounted(**stamp, box=said.box, cash=said.cash, vouchers=said.vouchers))

    # Slips are signed.

    def verify_confirmation(self, said: ConfirmSlip, origin: Origin) -> Slip:
        """The slip that may be signed; raises the reason otherwise."""
        person = verify_person(origin)
        slip = self._slip(said.slip, said.kind)
        if slip.status != ("cancelling" if said.cancellation else "open"):
            raise _decided(slip, "no cancellation of it waits" if said.cancellation else None)
        first = slip.canceller if said.cancellation else slip.author
        if person == first:
            what = "asked for a cancellation" if said.cancellation else "wrote a slip"
            raise Refusal(
                "LGR-0249",
                f"who {what} does not confirm it",
                field="by",
                value=person,
                help="it takes the signature of another person",
            )
        return slip

    def can_confirm(self, said: ConfirmSlip, origin: Origin) -> bool:
        """Whether `confirm_slip` would succeed."""
        return succeeds(self.verify_confirmation, said, origin)

    def confirm_slip(self, said: ConfirmSlip, posting: Posting, origin: Origin) -> None:
        """Signs a slip, or its cancellation: it is posted."""
        slip = self.verify_confirmation(said, origin)
        self._happen(
            SlipConfirmed(
                **origin._asdict(),
                **posting._asdict(),
                slip=slip.id,
                kind=slip.kind,
                cancellation=said.cancellation,
                property=slip.property,
                table=self.table,
                currency=slip.currency,
                amount=slip.total,
            )
        )

    # Slips are cancelled.

    def verify_cancellation(self, said: CancelSlip, origin: Origin) -> Slip:
        """The slip that a person may cancel; raises the reason otherwise."""
        verify_person(origin)
        slip = self._slip(said.slip, said.kind)
        if slip.status not in ("open", "confirmed"):
            raise _decided(slip, None)
        return slip

    def can_cancel(self, said: CancelSlip, origin: Origin) -> bool:
        """Whether `cancel_slip` would succeed."""
        return succeeds(self.verify_cancellation, said, origin)

    def cancel_slip(self, said: CancelSlip, origin: Origin) -> None:
        """Cancels a slip that nobody has signed; of a signed one, asks for it, and another person has to confirm."""
        slip = self.verify_cancellation(said, origin)
        self._happen(
            SlipCancelled(
                **origin._asdict(),
                slip=slip.id,
                kind=slip.kind,
                table=self.table,
                confirmed=slip.status == "confirmed",
                reason=said.reason,
                note=said.note,
            )
        )

    # Colour chips.

    def verify_colours(self, said: IssueColourChips, currency: str) -> int:
        """What one chip is to be worth; raises where it is no amount of the table's currency, or is so already (LGR-0222)."""
        self._verify_currency(said.currency, currency)
        value = money.parse_minor(said.value, field="value")
        if self.colours.get(said.player) == value:
            raise Refusal("LGR-0222", "these chips are worth that much already", field="value", value=said.value)
        return value

    def can_issue_colours(self, said: IssueColourChips, currency: str) -> bool:
        """Whether `issue_colours` would succeed."""
        return succeeds(self.verify_colours, said, currency)

    def issue_colours(self, said: IssueColourChips, currency: str, origin: Origin) -> None:
        """Declares what a player's colour chips are worth from now on."""
        self.verify_colours(said, currency)
        self._happen(
            ColourChipsIssued(
                **origin._asdict(),
                table=self.table,
                player=said.player,
                colour=said.colour,
                value=said.value,
                currency=said.currency,
            )
        )

    def are_in_colours(self, player: str, stake: int) -> bool:
        """Whether a stake is a number of the colour chips that the player has."""
        value = self.colours.get(player)
        return value is not None and stake % value == 0

    # Numbers that will not come.

    def verify_giving_up(self, said: GiveUpNumbers, origin: Origin) -> None:
        """Raises unless a person says so, of numbers that were not given up before. Whether all are missing, the count knows."""
        verify_person(origin)
        for terminal, epoch, first, last in self.given_up:
            if (terminal, epoch) == (said.of_terminal, said.of_epoch) and first <= said.last and said.first <= last:
                raise Refusal(
                    "LGR-0308",
                    f"numbers {first} to {last} of terminal {terminal}, epoch {epoch}, were given up before",
                    field="first",
                    value=str(said.first),
                    help="roundledger terminals --gaps lists what is missing",
                )

    def can_give_up(self, said: GiveUpNumbers, origin: Origin) -> bool:
        """Whether `give_up` would succeed."""
        return succeeds(self.verify_giving_up, said, origin)

    def give_up(self, said: GiveUpNumbers, origin: Origin) -> None:
        """Puts on record that numbers of a terminal will not come."""
        self.verify_giving_up(said, origin)
        self._happen(NumbersGivenUp(**origin._asdict(), **msgspec.structs.asdict(said)))

    # What is asked of several.

    def _verify_currency(self, said: str, currency: str) -> None:
        if said != currency:
            money.minor_digits(said)
            raise Refusal("LGR-0264", f"the chips of table {self.table} are in {currency}", field="currency", value=said)

    def _slip(self, id: UUID, kind: str) -> Slip:
        slip = self.slips.get(id)
        if slip is None or slip.kind != kind:
            known = "no slip has this id" if slip is None else f"the slip is no {kind}: it is of kind {slip.kind}"
            raise Refusal("LGR-0262", f"{known} at table {self.table}", field="slip", value=str(id))
        return slip

    def _fold_written(self, body: Written) -> None:
        self.slips[body.slip] = Slip(
            body.slip, kind_of(body), body.by or "", body.property, body.gaming_day, body.of_day, body.currency, body.total
        )

    def _fold_confirmed(self, body: SlipConfirmed) -> None:
        slip = self.slips[body.slip]
        if not body.cancellation:
            slip.gaming_day, slip.of_day = body.gaming_day, body.of_day
        slip.status = "cancelled" if body.cancellation else "confirmed"

    def _fold_cancelled(self, body: SlipCancelled) -> None:
        slip = self.slips[body.slip]
        slip.status, slip.canceller = "cancelling" if body.confirmed else "cancelled", body.by

    def _fold_given_up(self, body: NumbersGivenUp) -> None:
        self.given_up.append((body.of_terminal, body.of_epoch, body.first, body.last))

    def _fold_colours(self, body: ColourChipsIssued) -> None:
        self.colours[body.player] = int(body.value)


def kind_of(body: Written) -> str:
    """The kind of a slip."""
    match body:
        case ChipsCounted():
            return body.kind
        case FillRecorded():
            return "fill"
        case CreditRecorded():
            return "credit"
        case DropCounted():
            return "drop"


def _decided(slip: Slip, detail: str | None) -> Refusal:
    return Refusal("LGR-0263", detail or f"the slip is {_SAID[slip.status]}", field="slip", value=str(slip.id), help=_ANOTHER)


_SAID = {
    "open": "not confirmed yet",
    "confirmed": "confirmed already",
    "cancelling": "confirmed, and its cancellation waits for another person",
    "cancelled": "cancelled",
}
_ANOTHER = (
    "roundledger chips slips shows how it stands; what a slip did is undone by its cancellation, and a new slip has a new id"
)


def _chips(tray: tuple[ChipsOf, ...]) -> tuple[Chips, ...]:
    return tuple(Chips(value=each.value, count=each.count) for each in tray)


def _sum_of(tray: tuple[ChipsOf, ...]) -> int:
    """What chips come to, in minor units. Raises Refusal LGR-0260 where a denomination stands twice."""
    values = [money.parse_minor(each.value, field="chips") for each in tray]
    for n, value in enumerate(values):
        if value in values[:n]:
            raise Refusal("LGR-0260", "a denomination stands twice", field="chips", value=str(value), help="one line for each")
    return sum(value * each.count for value, each in zip(values, tray, strict=True))


_FOLDS: dict[type[Event], Callable[[TableRecord, Any], None]] = {
    ChipsCounted: TableRecord._fold_written,
    FillRecorded: TableRecord._fold_written,
    CreditRecorded: TableRecord._fold_written,
    DropCounted: TableRecord._fold_written,
    SlipConfirmed: TableRecord._fold_confirmed,
    SlipCancelled: TableRecord._fold_cancelled,
    ColourChipsIssued: TableRecord._fold_colours,
    NumbersGivenUp: TableRecord._fold_given_up,
}
