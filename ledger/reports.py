"""What terminals report, and what they are answered: the words between the door and the application.

A report is a request ("a bet was placed"); the log's events (`ledger.events`) are what became of it. Both carry the same name,
since a terminal speaks of facts of the table, but a report holds only what the terminal knows: property, regulation and payouts
are the ledger's to add.

Bodies are strict: no coercion, no unknown fields. The amount stays text here ("10000" minor units of `currency`); whoever acts on
it reads it with `ledger.money.parse_minor`.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal, get_args
from uuid import UUID, uuid5

import msgspec

from ledger.errors import Refusal
from ledger.events import (
    BetChanged,
    BetPlaced,
    BettingClosed,
    BettingReopened,
    BetVoided,
    BetWithdrawn,
    ChipsCounted,
    ChipsRestored,
    ColourChipsIssued,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    CreditRecorded,
    DropCounted,
    Event,
    FillRecorded,
    GamingDayClosed,
    LateBetRecorded,
    NumbersGivenUp,
    OutcomeRecorded,
    PlayerErased,
    PlayerHeld,
    PlayerReleased,
    RoundHeld,
    RoundOpened,
    RoundReleased,
    RoundVoided,
    ShooterChanged,
    SlipCancelled,
    SlipConfirmed,
    StaffSignedOff,
    StaffSignedOn,
    ThrowRecorded,
)

Ref = Annotated[
    str,
    # The last part keeps Python's `$` from matching before a newline; ECMA 262 reads the pattern the same way.
    msgspec.Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]*$(?!\n)",
        min_length=1,
        max_length=64,
        description="An opaque reference of ASCII letters, digits and . _ : - ; never a person's name.",
    ),
]
"""A reference to a table, game, player, dealer, shift or kind of chip. One alphabet, so that no two look alike and no spreadsheet
reads one as a formula."""


Note = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[^\x00-\x1f\x7f-\x9f]*$(?!\n)",
        min_length=1,
        max_length=500,
        description="One line in words; no person's name.",
    ),
]
_SPOT = msgspec.Meta(min_length=1, max_length=200, description="Bet notation.", examples=["straight:17", "total:9"])
_AMOUNT = msgspec.Meta(
    description='Minor units of `currency` as ASCII digits, 1 to 10^15: MOP 100.00 is "10000".',
    examples=["10000"],
)
_OUTCOME = msgspec.Meta(min_length=1, max_length=400, examples=["17", "2-2-2", "63", "6-2,void,5-3"])
Text = Annotated[str, _SPOT]
Amount = Annotated[str, _AMOUNT]
Currency = Annotated[str, msgspec.Meta(description="ISO 4217 code.", examples=["MOP"])]
Seat = Annotated[int, msgspec.Meta(ge=0, le=999)]


class Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The data of a report: strict, each field as the terminal knows it."""


# A round as it should go.


class OpenRound(Said, frozen=True, kw_only=True):
    """The table begins a round, whose id is the `subject`. Who works at the table is known by who signed on to it."""

    table: Ref
    """The table, as the property's configuration names it."""
    game: Ref
    """The game that the table deals: `roulette`, `cussec`, `fantan` or `craps`."""
    shift: Ref | None = None
    """The shift, by the house's own name for it."""
    dealer: Ref | None = None
    """Who deals, one of the property's dealers; without it, who signed on to the table as dealer."""
    supervisor: Ref | None = None
    """Who supervises, one of the property's supervisors; without it, who signed on to the table as supervisor."""


class PlaceBet(Said, frozen=True, kw_only=True):
    """One stake on one chance and selection."""

    player: Ref
    """Whose bet it is: a reference, never a name."""
    spot: Text
    """Chance and selection in bet notation."""
    stake: Amount
    """What is bet."""
    currency: Currency
    """Of the stake; it has to be the table's."""
    seat: Seat | None = None
    """Where the player sits."""
    chip: Ref | None = None
    """The kind of chip: `cash`, `non_negotiable` (bet until it is lost), `promotional` or `colour` (of roulette); without it
    `cash`. The stake is what the chips are worth, whatever their kind."""


class WithdrawBet(Said, frozen=True, kw_only=True):
    """A player takes a bet back while betting is open."""

    bet: UUID
    """The bet's id: the id of the event with which it was placed."""


class ChangeBet(Said, frozen=True, kw_only=True):
    """A player moves, raises or lowers a bet while betting is open."""

    bet: UUID
    """The bet's id: the id of the event with which it was placed."""
    spot: Text | None = None
    """Where it lies from now on; without it, where it lay."""
    stake: Amount | None = None
    """The whole stake from now on; without it, what it was."""


class CloseBetting(Said, frozen=True, kw_only=True):
    """No more bets."""


class ReopenBetting(Said, frozen=True, kw_only=True):
    """Craps: bets are taken again, between two throws."""


class ChangeShooter(Said, frozen=True, kw_only=True):
    """Craps: who throws from now on."""

    shooter: Ref
    """The player who throws from now on."""


class RecordOutcome(Said, frozen=True, kw_only=True):
    """What the table showed, as the game writes it: `17` (roulette), `2-2-2` (cussec), the count of buttons (fantan)."""

    outcome: Annotated[str, msgspec.Meta(min_length=1, max_length=64, examples=["17", "2-2-2", "63"])]
    """What the table showed."""


class RecordThrow(Said, frozen=True, kw_only=True):
    """Craps: one throw, both faces; or a void one, with the code of the void clause."""

    dice: Annotated[str, msgspec.Meta(min_length=1, max_length=16, examples=["6-2"])] | None = None
    """Both faces, with a hyphen between. Either this or `void`."""
    void: Ref | None = None
    """The code of the regulation's void clause. Either this or `dice`."""
    successor: UUID | None = None
    """The id of the next round, where the throw decides the line and bets of the unverified table outlive it."""


# What comes between.


class VoidRound(Said, frozen=True, kw_only=True):
    """The launch or the shake has no result, by the clause of the regulation that `reason` names."""

    reason: Ref
    """The code of the regulation's void clause."""
    successor: UUID | None = None
    """Where the stakes are carried: the id of the round that takes them over, which the ledger then opens."""
    note: Note | None = None
    """More in words."""


class VoidBet(Said, frozen=True, kw_only=True):
    """A supervisor declares one bet void before betting closes."""

    bet: UUID
    """The bet's id: the id of the event with which it was placed."""
    reason: Ref
    """Why, by the house's own code."""
    note: Note | None = None
    """More in words."""


class RecordLateBet(Said, frozen=True, kw_only=True):
    """Chips were placed after betting closed, and given back."""

    player: Ref
    """Whose chips they were."""
    spot: Text
    """Where they lay, in bet notation."""
    stake: Amount
    """How many they were."""
    currency: Currency
    """Of the chips; it has to be the table's."""
    seat: Seat | None = None
    """Where the player sits."""
    note: Note | None = None
    """More in words."""


class RestoreChips(Said, frozen=True, kw_only=True):
    """Winning chips that were disarranged were put back."""

    restored_by: Ref
    """Who put them back."""
    source: Literal["ledger", "surveillance", "players"]
    """By what it was known how they had lain."""
    bets: Annotated[tuple[UUID, ...], msgspec.Meta(max_length=1000)] = ()
    """The bets whose chips they were; none where it is not known."""
    note: Note | None = None
    """More in words."""


class HoldRound(Said, frozen=True, kw_only=True):
    """The round, or one bet of it, is held for review. The hold's id is that of the event."""

    reason: Ref
    """Why, by the house's own code."""
    bet: UUID | None = None
    """The bet in question; without it the whole round is held."""
    note: Note | None = None
    """More in words."""


class ReleaseRound(Said, frozen=True, kw_only=True):
    """The review of a hold has come to its finding."""

    hold: UUID
    """The hold's id: the id of the event by which it was held."""
    finding: Literal["stands", "corrected"]
    """What the review found."""
    correction: UUID | None = None
    """With the finding `corrected`: the approved correction to which it led."""
    note: Note | None = None
    """More in words."""


# What is put right afterwards.


class ProposeCorrection(Said, frozen=True, kw_only=True):
    """Somebody asks for a correction, whose id is that of the event. Which fields it has depends on `kind`:

    `outcome`: outcome, for craps all throws with commas between. `bet`: bet, and what of player, spot and stake was wrong.
    `bet_void` and `late_bet`: bet. `return`: none. `mispay`: bet, direction, amount. `ex_gratia`: player, amount, and spot and
    stake of the chips.
    """

    kind: Literal["outcome", "bet", "bet_void", "late_bet", "return", "mispay", "ex_gratia"]
    """What is to be put right."""
    reason: Ref
    """Why, by the house's own code."""
    note: Note | None = None
    """More in words."""
    hold: UUID | None = None
    """The review that led to it."""
    bet: UUID | None = None
    """The bet in question."""
    outcome: Annotated[str, _OUTCOME] | None = None
    """What the table showed indeed."""
    player: Ref | None = None
    """Whose bet it was, or who is paid ex gratia."""
    spot: Text | None = None
    """Where the chips lay indeed, in bet notation."""
    stake: Amount | None = None
    """What was bet indeed."""
    amount: Amount | None = None
    """What went between the house and the player: of a mispay, beside what was due."""
    direction: Literal["to_player", "from_player"] | None = None
    """Of a mispay, which way it went. `to_player`: more was paid than was due, or too little is made good. `from_player`: less
    was paid than was due, or too much came back."""


class ApproveCorrection(Said, frozen=True, kw_only=True):
    """Another person than the author approves a correction."""

    correction: UUID
    """The correction's id: the id of the event by which it was proposed."""


class DeclineCorrection(Said, frozen=True, kw_only=True):
    """Another person declines a correction, or its author withdraws it."""

    correction: UUID
    """The correction's id: the id of the event by which it was proposed."""
    note: Note | None = None
    """More in words."""


# Who works at a table. These are about a table and not a round: the report's `round` is `table_stream(table)`.


class SignOn(Said, frozen=True, kw_only=True):
    """A person begins to work at the table; whoever had the role there is relieved."""

    table: Ref
    """The table; the event's `subject` names the same."""
    person: Ref
    """Who begins."""
    role: Literal["dealer", "supervisor"]
    """As what."""


class SignOff(Said, frozen=True, kw_only=True):
    """A person leaves the table."""

    table: Ref
    """The table; the event's `subject` names the same."""
    person: Ref
    """Who leaves."""
    role: Literal["dealer", "supervisor"]
    """As what."""


# A terminal's numbers. Its `round` is `table_stream(table)`.

TerminalsNumber = Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]


class GiveUpNumbers(Said, frozen=True, kw_only=True):
    """Numbers that a terminal has used at the table will not come."""

    table: Ref
    """The table; the event's `subject` names the same."""
    of_terminal: Ref
    """The terminal whose numbers they are."""
    of_epoch: Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
    """The epoch in which it used them; 0 where it names none."""
    first: TerminalsNumber
    """The first number that is missing."""
    last: TerminalsNumber
    """The last one. All from the first to this one are missing."""
    reason: Ref
    """Why they will not come, by the house's own code."""
    note: Note | None = None
    """More in words."""


# The cage's side of a table: slips, which one person writes and another signs. Their `round` is `table_stream(table)`.

Total = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^(0|[1-9][0-9]{0,15})$(?!\n)",
        description='Minor units of `currency` as ASCII digits, or "0".',
        examples=["250000", "0"],
    ),
]
SlipKind = Literal["opener", "closer", "fill", "credit", "drop"]
SLIP_KINDS: tuple[SlipKind, ...] = get_args(SlipKind)
Number = Annotated[int, msgspec.Meta(ge=1, le=999_999_999_999)]


class ChipsOf(Said, frozen=True, kw_only=True):
    """Chips of one denomination."""

    value: Amount
    """What one chip is worth."""
    count: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
    """How many there are."""


Tray = Annotated[tuple[ChipsOf, ...], msgspec.Meta(max_length=100)]


class OnSlip(Said, frozen=True, kw_only=True):
    """What every slip says. The slip's id is the report's event id."""

    table: Ref
    """The table; the event's `subject` names the same."""
    total: Total
    """What the slip comes to; it has to be the sum of its lines."""
    currency: Currency
    """Of the slip. Chips are in the table's currency; what a drop box held may be in another."""
    shift: Ref | None = None
    """The shift that it belongs to."""
    gaming_day: date | None = None
    """The gaming day that it is about, where that is not the present one: a box is opened later."""
    note: Note | None = None
    """What there is to say."""


class CountChips(OnSlip, frozen=True, kw_only=True):
    """The chips in the table's float were counted when it opened or closed."""

    kind: Literal["opener", "closer"]
    """Which count it is."""
    chips: Tray
    """By denomination, none of them twice."""


class RecordFill(OnSlip, frozen=True, kw_only=True):
    """Chips go from the cage to the table; they have moved once the table has confirmed it."""

    number: Number
    """As printed on the slip; the property uses it once for a fill."""
    chips: Tray
    """By denomination, none of them twice."""


class RecordCredit(OnSlip, frozen=True, kw_only=True):
    """Chips go from the table to the cage; they have moved once another person has confirmed it."""

    number: Number
    """As printed on the slip; the property uses it once for a credit."""
    chips: Tray
    """By denomination, none of them twice."""


class CountDrop(OnSlip, frozen=True, kw_only=True):
    """What the table's drop box held was counted."""

    box: Ref
    """The box."""
    cash: Total
    """Banknotes."""
    vouchers: Total = "0"
    """Vouchers for chips."""


class ConfirmSlip(Said, frozen=True, kw_only=True):
    """Another person than its author signs a slip; or, with `cancellation`, that a signed slip counts for nothing."""

    table: Ref
    """The table; the event's `subject` names the same."""
    slip: UUID
    """The slip's id."""
    kind: SlipKind
    """Its kind, as whoever signs has it before them."""
    cancellation: bool = False
    """Whether it is the cancellation that is signed."""


class CancelSlip(Said, frozen=True, kw_only=True):
    """A slip is wrong and is to count for nothing."""

    table: Ref
    """The table; the event's `subject` names the same."""
    slip: UUID
    """The slip's id."""
    kind: SlipKind
    """Its kind."""
    reason: Ref
    """The house's code for why."""
    note: Note | None = None
    """What there is to say."""


class IssueColourChips(Said, frozen=True, kw_only=True):
    """What a player's colour chips at the table are worth from now on."""

    table: Ref
    """The table; the event's `subject` names the same."""
    player: Ref
    """Whose chips they are."""
    colour: Ref
    """The colour."""
    value: Amount
    """What one chip is worth."""
    currency: Currency
    """Of the value; it has to be the table's."""


SlipWritten = CountChips | RecordFill | RecordCredit | CountDrop
"""What begins a slip."""


# The days of the books. Their `round` is `days_stream(property)`.

SignedTotal = Annotated[
    str, msgspec.Meta(pattern=r"^(0|-?[1-9][0-9]{0,30})$(?!\n)", description="Minor units, with a sign.", examples=["-125000"])
]


class TotalOfDay(Said, frozen=True, kw_only=True):
    """What the day came to in one currency."""

    currency: Currency
    """Of the amounts."""
    handle: SignedTotal
    """Stakes lost and won."""
    win: SignedTotal
    """Of the rounds of the day."""
    earlier: SignedTotal
    """What corrections of earlier days, posted to this one, add to the win."""
    adjusted: SignedTotal
    """Paid to players beside the regulation, less what was taken from them."""
    drop: SignedTotal
    """As counted."""
    count_win: SignedTotal | None = None
    """By the counts, where none is missing."""


class CloseDay(Said, frozen=True, kw_only=True):
    """A gaming day of the property is closed, with the figures that were read of it."""

    property: Ref
    """The property; the event's `subject` names the same."""
    gaming_day: date
    """The day; it has ended, and the one before it is closed."""
    as_of: Annotated[str, msgspec.Meta(pattern=r"^[0-9]+$(?!\n)", min_length=1, max_length=18, examples=["4139"])]
    """The position up to which the figures were read."""
    figures: Annotated[
        str,
        msgspec.Meta(
            pattern=r"^[0-9a-f]+$(?!\n)",
            min_length=64,
            max_length=64,
            examples=["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
        ),
    ]
    """SHA-256 (hex) of their canonical form."""
    totals: Annotated[tuple[TotalOfDay, ...], msgspec.Meta(max_length=50)] = ()
    """By currency."""
    despite: Annotated[tuple[Ref, ...], msgspec.Meta(max_length=20)] = ()
    """What is unfinished and acknowledged, by its code."""
    note: Note | None = None
    """What there is to say."""


# Players. Their `round` is `PLAYERS_STREAM`.


class _OfAPlayer(Said, frozen=True, kw_only=True):
    """What a person decides about a player's reference; the event's `subject` names the property."""

    property: Ref
    """The property by whose right it is done."""
    player: Ref
    """The reference."""
    reason: Ref
    """Why, by a code of the house."""
    note: Note | None = None
    """What there is to say; no person's name, and no reference of a player."""


class ErasePlayer(_OfAPlayer, frozen=True, kw_only=True):
    """A player's reference is to be shown to nobody any more. Whose it was, the house deletes in its own identity store."""


class HoldPlayer(_OfAPlayer, frozen=True, kw_only=True):
    """A player's reference may not be erased, as long as the reason stands."""


class ReleasePlayer(_OfAPlayer, frozen=True, kw_only=True):
    """The reason for which a player's reference was held has ended."""


class Malformed(msgspec.Struct, frozen=True, kw_only=True):
    """Data that cannot be read, under a legible id. It is judged like any other report: the id stays rejected."""

    refusal: Refusal


Data = (
    OpenRound
    | PlaceBet
    | WithdrawBet
    | ChangeBet
    | CloseBetting
    | ReopenBetting
    | ChangeShooter
    | RecordOutcome
    | RecordThrow
    | VoidRound
    | VoidBet
    | RecordLateBet
    | RestoreChips
    | HoldRound
    | ReleaseRound
    | ProposeCorrection
    | ApproveCorrection
    | DeclineCorrection
    | SignOn
    | SignOff
    | GiveUpNumbers
    | CountChips
    | RecordFill
    | RecordCredit
    | CountDrop
    | ConfirmSlip
    | CancelSlip
    | IssueColourChips
    | CloseDay
    | ErasePlayer
    | HoldPlayer
    | ReleasePlayer
)
Body = Data | Malformed
"""What a report says."""

PERSONS_ACTS = (
    VoidBet,
    RecordLateBet,
    RestoreChips,
    HoldRound,
    ReleaseRound,
    ProposeCorrection,
    ApproveCorrection,
    DeclineCorrection,
    GiveUpNumbers,
    CountChips,
    RecordFill,
    RecordCredit,
    CountDrop,
    ConfirmSlip,
    CancelSlip,
    CloseDay,
    ErasePlayer,
    HoldPlayer,
    ReleasePlayer,
)
"""What a person decides and no terminal may report by itself (`ledger.rights`): it is somebody's, and counts by their token."""


def type_of(event: type[Event]) -> str:
    """The CloudEvents `type` under which an event travels: its topic, with this program's name before it."""
    return f"roundledger.{event.TOPIC}"


TYPES: dict[str, type[Data]] = {
    type_of(RoundOpened): OpenRound,
    type_of(BetPlaced): PlaceBet,
    type_of(BetWithdrawn): WithdrawBet,
    type_of(BetChanged): ChangeBet,
    type_of(BettingClosed): CloseBetting,
    type_of(BettingReopened): ReopenBetting,
    type_of(ShooterChanged): ChangeShooter,
    type_of(OutcomeRecorded): RecordOutcome,
    type_of(ThrowRecorded): RecordThrow,
    type_of(RoundVoided): VoidRound,
    type_of(BetVoided): VoidBet,
    type_of(LateBetRecorded): RecordLateBet,
    type_of(ChipsRestored): RestoreChips,
    type_of(RoundHeld): HoldRound,
    type_of(RoundReleased): ReleaseRound,
    type_of(CorrectionProposed): ProposeCorrection,
    type_of(CorrectionApproved): ApproveCorrection,
    type_of(CorrectionDeclined): DeclineCorrection,
    type_of(StaffSignedOn): SignOn,
    type_of(StaffSignedOff): SignOff,
    type_of(NumbersGivenUp): GiveUpNumbers,
    type_of(ChipsCounted): CountChips,
    type_of(FillRecorded): RecordFill,
    type_of(CreditRecorded): RecordCredit,
    type_of(DropCounted): CountDrop,
    type_of(SlipConfirmed): ConfirmSlip,
    type_of(SlipCancelled): CancelSlip,
    type_of(ColourChipsIssued): IssueColourChips,
    type_of(GamingDayClosed): CloseDay,
    type_of(PlayerErased): ErasePlayer,
    type_of(PlayerHeld): HoldPlayer,
    type_of(PlayerReleased): ReleasePlayer,
}
"""CloudEvents `type` → what its `data` must be."""

PLAYERS: dict[type[Data], str] = {
    PlaceBet: "player",
    ChangeShooter: "shooter",
    RecordLateBet: "player",
    ProposeCorrection: "player",
    IssueColourChips: "player",
}
"""What is said of play and names a player → the field that does."""

_TABLES = UUID("0b8f2f0e-8c53-5d0c-9b1e-6a4b0c7f53d2")
"""Namespace of the streams of tables; any fixed value does."""


_DAYS = UUID("5d0f6a52-6c0e-5b4b-8a37-9a2f1c64d7e9")
"""Namespace of the streams of properties' gaming days; any fixed value does."""


PLAYERS_STREAM = UUID("2b9d1f0a-7c46-5e1d-a5c3-1f6e8d40b7a2")
"""The stream of what is decided about players' references: one, since a reference has one account over all properties."""


def table_stream(table: str) -> UUID:
    """The stream of what concerns a table and no round of it."""
    return uuid5(_TABLES, table)


def days_stream(house: str) -> UUID:
    """The stream of a property's gaming days."""
    return uuid5(_DAYS, house)


OfATable = (
    SignOn
    | SignOff
    | GiveUpNumbers
    | CountChips
    | RecordFill
    | RecordCredit
    | CountDrop
    | ConfirmSlip
    | CancelSlip
    | IssueColourChips
)
"""What is about a table and no round of it: its subject is the table's id."""
OfAPlayer = ErasePlayer | HoldPlayer | ReleasePlayer
"""What is about a player's reference: its subject is the id of the property by whose right it is done."""
OfAProperty = CloseDay | OfAPlayer
"""What is about a property, or done by its right: its subject is the property's id."""
ABOUT_TABLES: tuple[type[OfATable], ...] = get_args(OfATable)
ABOUT_PROPERTIES: tuple[type[OfAProperty], ...] = get_args(OfAProperty)
ABOUT_PLAYERS: tuple[type[OfAPlayer], ...] = get_args(OfAPlayer)


def stream_of(data: OfATable | OfAProperty) -> UUID:
    """The stream of a report that is about no round."""
    if isinstance(data, OfAPlayer):
        return PLAYERS_STREAM
    return days_stream(data.property) if isinstance(data, OfAProperty) else table_stream(data.table)


def subject_of(data: OfATable | OfAProperty) -> str:
    """The CloudEvents `subject` of such a report."""
    return data.property if isinstance(data, OfAProperty) else data.table


def is_derived(id: UUID) -> bool:
    """Whether the id is of the kind that the ledger makes of names, for tables and documents; no round has such a one."""
    return id.version == 5


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who sent a request, as far as that was proved."""

    terminal: str | None = None
    """The terminal by whose key it is signed."""
    person: str | None = None
    """The person whose token it bears."""
    trusts_terminals: bool = False
    """Whether a terminal that did not sign is believed: on a machine of one's own."""

    def author(self, body: Body, *, personal: bool) -> str | None:
        """The person whose act a report is, where it is a person's; `personal`: it comes from no terminal.

        A fact of the table is nobody's: whose token travelled with it was never asked whether they may report it.
        """
        return self.person if self.person is not None and (personal or isinstance(body, PERSONS_ACTS)) else None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One event as a terminal reported it, checked in its shape but not yet decided upon."""

    event_id: UUID
    """The terminal's own id of the event, made at the moment it happened; the key of every retry."""
    terminal: str
    type: str
    """A key of `TYPES`."""
    round: UUID
    occurred_at: datetime
    """By the terminal's clock, in UTC."""
    received_at: datetime
    """By this service's clock, in UTC."""
    sequence: int | None = None
    """The terminal's own number of the event, where it numbers them."""
    epoch: int | None = None
    """The terminal's count of its own restarts, where it keeps one; its numbers begin anew with each."""
    behind: bool = False
    """Whether its sender says that events of its terminal's earlier epochs still wait, of which its own number says nothing."""
    by: str | None = None
    """The person whose act it is, where it is a person's and one has proved to be the one."""
    personal: bool = False
    """Whether it is the person's own, from no terminal: `terminal` then holds the person's reference."""
    caller: Caller | None = None
    """Who sent it over HTTP; None where it was made within the program, which then has judged who may."""
    fingerprint: bytes
    """SHA-256 of the event's canonical form: the same for another key order or spacing, another for any other content."""
    body: Body

    def from_caller(self, caller: Caller) -> Report:
        """The report with who sent it, and whose act it is."""
        return msgspec.structs.replace(self, caller=caller, by=caller.author(self.body, personal=self.personal))


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What was received of one epoch of a terminal: which of its numbers were answered for good."""

    terminal: str
    epoch: int
    """0 where the terminal names none."""
    contiguous: int
    """The highest number up to which all from 1 were received."""
    missing: tuple[tuple[int, int], ...] = ()
    """From, to: the lowest numbers below the highest received one that were not; twenty spans at most."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one report.

    `event_id` and `round` are None only where a rejected item did not say them legibly. `positions` are those of the events
    that the report caused, in order; none where it was rejected. `refusal` is set if and only if it was rejected.
    """

    event_id: UUID | None
    status: Literal["accepted", "replayed", "rejected"]
    round: UUID | None
    positions: tuple[int, ...] = ()
    refusal: Refusal | None = None
    received: Received | None = None
    """What was received of the report's terminal by the time of this answer, where the report had a number."""
