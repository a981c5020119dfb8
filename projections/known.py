"""What the ledger's fold has to know before a run of events: the rows that the events name, read by their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any
from uuid import UUID

from ledger.events import (
    BetChanged,
    BetCorrected,
    BetsCarried,
    BetVoided,
    BetWithdrawn,
    ChipsCounted,
    CorrectionApproved,
    CorrectionDeclined,
    CreditRecorded,
    DropCounted,
    Event,
    FillRecorded,
    GamingDayClosed,
    OutcomeCorrected,
    OutcomeRecorded,
    PayoutMade,
    PlayerAdjusted,
    Recorded,
    RoundOpened,
    RoundReleased,
    RoundResettled,
    RoundSettled,
    RoundVoided,
    SlipCancelled,
    SlipConfirmed,
    StaffSignedOff,
    StaffSignedOn,
    ThrowRecorded,
)
from projections.bets import BetKey
from projections.fold import Known
from projections.kept import Cursor, Kept
from projections.placed import read_bets
from projections.registers import in_post
from projections.rows import CorrectionRow, CountRow, DayRow, DropRow, HoldRow, NumberedRow, RoundRow, StaffRow

_SUMS = (
    *("stakes", "carried_in", "carried_out", "returned", "escrow"),
    *("lost", "won", "pushed", "prizes", "commission", "breakage", "adjusted"),
)
_OF_THE_OPENING = (
    *("property", "pit", "table_id", "game", "currency", "regulation", "regulation_hash", "property_hash", "applied"),
    *("gaming_day", "shift", "dealer", "supervisor", "opened_at", "first_position"),
)
ROUNDS = Kept("rounds", RoundRow, ["round"], sums=_SUMS, fixed=_OF_THE_OPENING)
HOLDS = Kept("holds", HoldRow, ["hold"])
CORRECTIONS = Kept("corrections", CorrectionRow, ["correction"])
STAFF = Kept("table_staff", StaffRow, ["from_position"])

_WRITTEN = (
    *("property", "table_id", "shift", "currency", "kind", "total", "note", "written_by", "written_at", "written_position"),
    *("number", "box", "cash", "vouchers"),
)
COUNTS = Kept("counts", CountRow, ["slip"], sums=["total"], fixed=_WRITTEN)
SLIPS = Kept("slips", NumberedRow, ["slip"], sums=["total"], fixed=_WRITTEN)
DROPS = Kept("drops", DropRow, ["slip"], sums=["total", "cash", "vouchers"], fixed=_WRITTEN)
DAYS = Kept("days", DayRow, ["property", "gaming_day"])
BY_KIND: dict[str, Kept[Any]] = {"opener": COUNTS, "closer": COUNTS, "fill": SLIPS, "credit": SLIPS, "drop": DROPS}
"""Kind of a slip → its register."""

_ROUNDS = ROUNDS.where("round = ANY (%s)")
_HOLDS = HOLDS.where("hold = ANY (%s)")
_CORRECTIONS = CORRECTIONS.where("correction = ANY (%s)")
_SLIPS = {id(register): register.where("slip = ANY (%s)") for register in (COUNTS, SLIPS, DROPS)}
_CLOSED = b"SELECT property, max(gaming_day) FROM days GROUP BY property"
_STAFF = STAFF.where("table_id = ANY (%s) AND to_position IS NULL")


def known(cursor: Cursor, events: Sequence[Recorded]) -> Known:
    """The rows that the events name. What they open or place themselves is not asked for: the tables' keys allow it but once."""
    rounds = {recorded.stream for recorded in events}
    opened = {recorded.stream for recorded in events if type(recorded.body) is RoundOpened}
    bets: list[BetKey] = []
    whole: set[UUID] = set()
    holds: set[UUID] = set()
    corrections: set[UUID] = set()
    tables: set[str] = set()
    slips: dict[int, tuple[Kept[Any], set[UUID]]] = {}
    dated = bool(opened)
    for recorded in events:
        body, stream = recorded.body, recorded.stream
        kind = type(body)
        if kind in _NAMED and stream not in opened:
            bets += [(stream, bet) for bet in _NAMED[kind](body)]
        if kind not in _ASKING:
            continue
        match body:
            case BetsCarried():
                rounds.add(body.from_round)
                if body.from_round not in opened:
                    bets += [(body.from_round, each.bet) for each in body.bets]
            case OutcomeRecorded() | RoundVoided() | RoundSettled():
                if stream not in opened and _of_all(body):
                    whole.add(stream)
            case RoundReleased():
                holds.add(body.hold)
            case StaffSignedOn() | StaffSignedOff():
                tables.add(body.table)
            case SlipConfirmed() | SlipCancelled():
                register = BY_KIND.get(body.kind)
                if register is not None:
                    slips.setdefault(id(register), (register, set()))[1].add(body.slip)
        dated = dated or kind in _DATED
        if kind in _BY_CORRECTION and (correction := _BY_CORRECTION[kind](body)) is not None:
            corrections.add(correction)
    return Known(
        {row.round: row for row in _read(cursor, ROUNDS, _ROUNDS, rounds)},
        read_bets(cursor, whole, [key for key in bets if key[0] not in whole]),
        {row.hold: row for row in _read(cursor, HOLDS, _HOLDS, holds)},
        {row.correction: row for row in _read(cursor, CORRECTIONS, _CORRECTIONS, corrections)},
        in_post(_read(cursor, STAFF, _STAFF, tables)),
        {row.slip: row for key, (register, named) in slips.items() for row in _read(cursor, register, _SLIPS[key], named)},
        dict(cursor.execute(_CLOSED, binary=True).fetchall()) if dated else {},
    )


def _read(cursor: Cursor, table: Kept[Any], statement: bytes, keys: Iterable[Any]) -> list[Any]:
    wanted = list(keys)
    return table.read(cursor, statement, [wanted]) if wanted else []


def _of_all(body: OutcomeRecorded | RoundVoided | RoundSettled) -> bool:
    """Whether an event is about every bet of its round: those are read by their round, which is quicker than one by one."""
    match body:
        case OutcomeRecorded():
            return True
        case RoundVoided():
            return body.successor is not None or bool(body.returned)
        case RoundSettled():
            return body.successor is not None


def _bet(body: Any) -> Iterable[UUID]:
    return () if body.bet is None else (body.bet,)


def _thrown(body: ThrowRecorded) -> Iterable[UUID]:
    return [*(line.bet for line in body.lost), *(line.bet for line in body.moved)]


_NAMED: dict[type[Event], Callable[[Any], Iterable[UUID]]] = {
    BetWithdrawn: _bet,
    BetChanged: _bet,
    BetVoided: _bet,
    PayoutMade: _bet,
    BetCorrected: _bet,
    PlayerAdjusted: _bet,
    ThrowRecorded: _thrown,
}
"""Event → the bets that it changes or asks for, where they are not those of the whole round."""

_BY_CORRECTION: dict[type[Event], Callable[[Any], UUID | None]] = dict.fromkeys(
    (CorrectionApproved, CorrectionDeclined, OutcomeCorrected, BetCorrected, PlayerAdjusted, RoundResettled, RoundVoided),
    attrgetter("correction"),
)
"""Event → the correction that it decides, or by which it came about."""

_DATED = frozenset(
    {
        *(OutcomeCorrected, BetCorrected, PlayerAdjusted),
        *(ChipsCounted, FillRecorded, CreditRecorded, DropCounted, SlipConfirmed, GamingDayClosed),
    }
)
"""Events that are posted to a gaming day by themselves; so is an opening."""

_ASKING = {
    SlipConfirmed,
    SlipCancelled,
    *_DATED,
    BetsCarried,
    OutcomeRecorded,
    RoundVoided,
    RoundSettled,
    RoundReleased,
    StaffSignedOn,
    StaffSignedOff,
    *_BY_CORRECTION,
}
"""Events that ask for more than their round and bets."""
