"""The fold of the ledger: events of the log to movements, balances, rounds, bets and registers, without a database.

`keep_books` is a pure function. It takes any run of events, with what was known before it, and says what changes: so the events
of one round fold with nothing but themselves, and a log may be folded in any batches with the same result.

Whatever can be checked is: an event that cannot follow the events before it is a Contradiction, and nothing of it is folded. What
moves is told in `projections.movements`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

from ledger.events import (
    ChipsCounted,
    ColourChipsIssued,
    CreditRecorded,
    DocumentRecorded,
    DropCounted,
    Event,
    FillRecorded,
    GamingDayClosed,
    NumbersGivenUp,
    PlayerErased,
    PlayerHeld,
    PlayerReleased,
    Recorded,
    RoundOpened,
    SlipCancelled,
    SlipConfirmed,
    StaffSignedOff,
    StaffSignedOn,
)
from projections import corrections, irregular, play
from projections.bets import BetKey, Bets
from projections.cage import Cage
from projections.checks import Contradiction, verify_currency
from projections.movements import Balances, Movement, balances, movements, slip_movements
from projections.play import opened
from projections.registers import Post, Registers
from projections.rows import BetRow, ChipsRow, CorrectionRow, DayRow, HoldRow, LateBetRow, RoundRow, SlipRow, StaffRow, VoidRow
from projections.state import NOT_NOW, State, Step

__all__ = ["Balances", "BetKey", "Books", "Contradiction", "Known", "Movement", "balances", "keep_books", "movements"]


class Known(NamedTuple):
    """What the events before a run have left, as far as the run concerns it. Nothing of it is ever changed."""

    rounds: Mapping[UUID, RoundRow] = {}
    """The rounds that the run names."""
    bets: Mapping[BetKey, BetRow] = {}
    """The bets that the run names, and all of a round whose bets are carried on in it; those that it places need not be here."""
    holds: Mapping[UUID, HoldRow] = {}
    """The holds that the run names."""
    corrections: Mapping[UUID, CorrectionRow] = {}
    """The corrections that the run names."""
    staff: Mapping[Post, StaffRow] = {}
    """Who works at the tables that the run names."""
    slips: Mapping[UUID, SlipRow] = {}
    """The slips that the run names."""
    closed: Mapping[str, date] = {}
    """Property → the last of its gaming days that is closed."""


class Books(NamedTuple):
    """What a run of events changes: every row that it touched, as it leaves it."""

    movements: list[Movement]
    rounds: dict[UUID, RoundRow]
    bets: dict[BetKey, BetRow]
    holds: dict[UUID, HoldRow]
    corrections: dict[UUID, CorrectionRow]
    voids: list[VoidRow]
    late_bets: list[LateBetRow]
    staff: dict[int, StaffRow]
    """By the position at which they came."""
    slips: dict[UUID, SlipRow]
    chips: list[ChipsRow]
    days: list[DayRow]

    @property
    def balances(self) -> Balances:
        """By how much each account changes. An account that moved and came back to where it was is there with zero."""
        return balances(self.movements)

    def onto(self, known: Known) -> Known:
        """What is known after these events, where `known` was before them."""
        staff = dict(known.staff)
        for row in self.staff.values():
            post = Post(row.table_id, row.role)
            if row.to_position is None:
                staff[post] = row
            elif post in staff and staff[post].from_position == row.from_position:
                del staff[post]
        return Known(
            {**known.rounds, **self.rounds},
            {**known.bets, **self.bets},
            {**known.holds, **self.holds},
            {**known.corrections, **self.corrections},
            staff,
            {**known.slips, **self.slips},
            {**known.closed, **{day.property: day.gaming_day for day in self.days}},
        )


NOTHING = Known()
"""What is known before the first event."""


def keep_books(events: Iterable[Recorded], known: Known = NOTHING) -> Books:
    """Folds events, in the order of the log, onto what is `known` from the events before them.

    Raises Contradiction at an event that does not follow from those before it.
    """
    fold = _Fold(known)
    for recorded in events:
        fold.take(recorded)
    registers = fold.registers
    return Books(
        fold.moved,
        fold.rounds,
        fold.bets.rows,
        registers.holds,
        registers.corrections,
        registers.voids,
        registers.late_bets,
        registers.staff,
        fold.cage.slips,
        fold.cage.chips,
        fold.cage.days,
    )


class _Fold(State):
    """A run on its way through its events."""

    def __init__(self, known: Known) -> None:
        registers = Registers(known.holds, known.corrections, known.staff)
        super().__init__(known.rounds, Bets(known.bets), registers, Cage(known.slips, known.closed))
        self.moved: list[Movement] = []

    def take(self, recorded: Recorded) -> None:
        """Folds the next event."""
        body, stream = recorded.body, recorded.stream
        kind = type(body)
        if kind in _OF_NO_ROUND:
            _OF_NO_ROUND[kind](self.registers, recorded, body)
            return
        if kind in _OF_THE_CAGE:
            _OF_THE_CAGE[kind](self.cage, recorded, body)
            if isinstance(body, SlipConfirmed):
                self.moved += slip_movements(recorded, body)
            return
        row = self.present(stream)
        if isinstance(body, RoundOpened):
            if row is not None:
                raise Contradiction(recorded, "the round was opened before")
            self.cage.verify_open(recorded, body.property, body.gaming_day)
            self.rounds[stream] = opened(recorded, body)
            return
        if row is None:
            raise Contradiction(recorded, "the round was never opened")
        verify_currency(recorded, row.currency)
        when, step = _STEPS[kind]
        if row.status not in when:
            raise Contradiction(recorded, NOT_NOW[row.status])
        step(self, row, recorded, body)
        row.last_position = recorded.position
        self.moved += movements(recorded, row.table_id)


def _document(registers: Registers, recorded: Recorded, body: DocumentRecorded) -> None:
    """What a round was played under is read where it is asked for."""


def _given_up(registers: Registers, recorded: Recorded, body: NumbersGivenUp) -> None:
    """It is read in the log (view `ledger.given_up`), and no figure changes."""


def _player(registers: Registers, recorded: Recorded, body: PlayerErased | PlayerHeld | PlayerReleased) -> None:
    """It is read in the log (`projections.players.register`), and no figure changes. What is erased, whoever calls has put out of
    sight in all events (`ledger.erasure`).
    """


_OF_NO_ROUND: dict[type[Event], Callable[[Registers, Recorded, Any], None]] = {
    DocumentRecorded: _document,
    StaffSignedOn: Registers.sign_on,
    StaffSignedOff: Registers.sign_off,
    NumbersGivenUp: _given_up,
    PlayerErased: _player,
    PlayerHeld: _player,
    PlayerReleased: _player,
}

_OF_THE_CAGE: dict[type[Event], Callable[[Cage, Recorded, Any], None]] = {
    ChipsCounted: Cage.write,
    FillRecorded: Cage.write,
    CreditRecorded: Cage.write,
    DropCounted: Cage.write,
    SlipConfirmed: Cage.confirm,
    SlipCancelled: Cage.cancel,
    ColourChipsIssued: Cage.colours,
    GamingDayClosed: Cage.close,
}

_STEPS: dict[type[Event], Step] = {**play.STEPS, **irregular.STEPS, **corrections.STEPS}
"""Every other event is one of a round."""
