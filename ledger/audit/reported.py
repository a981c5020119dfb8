"""What each event says of the report that brought it about: its id, its terminal, its times, and whether its clock was off.

All that one report brings about is decided at one moment and stored in one append, so it names the same report with the same
times. Between two reports no such thing holds: a time is that of whoever received it, and a clock may have been set back
(docs/explanation/audit.md).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from msgspec import Struct

from ledger.audit.documents import NEVER
from ledger.audit.hearing import Hearing
from ledger.events import (
    BetCorrected,
    BetPlaced,
    BetsCarried,
    Body,
    CorrectionProposed,
    OutcomeCorrected,
    PayoutMade,
    PlayerAdjusted,
    Recorded,
    RoundHeld,
    RoundResettled,
    RoundSettled,
    RoundVoided,
)

SAID = ("cause", "terminal", "epoch", "sequence", "occurred_at", "received_at", "by")
"""What all events of one report say alike of it."""
SKEWED = "clock_skew"
"""The flag of a report whose terminal's clock is further off than the house tolerates."""

_BROUGHT = frozenset({PayoutMade, RoundSettled, OutcomeCorrected, BetCorrected, PlayerAdjusted, RoundResettled})
"""What no report is about, and some bring about: it stands behind the event by which its report begins."""
_OWN: dict[type[Body], str] = {BetPlaced: "bet", CorrectionProposed: "correction", RoundHeld: "hold"}
"""Event → the field that has the id of its report, by which it is known from then on."""


def differs(says: Struct, other: Struct) -> str | None:
    """The first of `SAID` in which two events of one report are not alike; None where they are."""
    return next((name for name in SAID if getattr(says, name, None) != getattr(other, name, None)), None)


class Clocked(Protocol):
    """What has the times of a report, and what is odd about it."""

    @property
    def occurred_at(self) -> datetime: ...
    @property
    def received_at(self) -> datetime: ...
    @property
    def flags(self) -> tuple[str, ...]: ...


def flags_its_clock(report: Clocked, tolerance: timedelta) -> bool:
    """Whether a report is flagged where, and only where, its times are further apart than the house tolerates."""
    return (abs(report.received_at - report.occurred_at) > tolerance) == (SKEWED in report.flags)


class Reported(Hearing):
    """The reports of a round, each with what it brought about there."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.strays: dict[int, UUID] = {}
        """Positions of events that name another report than the one that brought them about → that one."""
        self._begun: Recorded | None = None
        """The event by which the report under way begins; None where it is not known."""
        self._before: Recorded | None = None
        """The event before."""
        self._reports: dict[UUID, Recorded] = {}
        """Reports of the round → the event by which each begins."""

    def lose_report(self) -> None:
        """Events are missing: what comes next may have been brought about by one of them."""
        self._begun = self._before = None

    def verify_report(self, body: Body, *, tell: bool) -> None:
        """What the event that is gone through says of its report; with `tell` false what is wrong with it has been told."""
        begun, before = self._begun, self._before
        self._before = self.now
        if begun is None or not self._is_of(body, begun):
            self._verify_begins(body, tell=tell)
            self._verify_clock(body, tell=tell)
            return
        name = differs(body, begun.body)
        if name is None:
            self._verify_clock(body, tell=tell and before is not None and _flagged(body) != _flagged(before.body))
            return
        if name == "cause":
            self.strays[self.now.position] = getattr(begun.body, name)
        if tell and before is not None and differs(body, before.body) is not None:  # else it was told of the event before
            self.find(
                "REPORT_DIFF",
                f"{_named(body)} has another {name} than the report that brought it about",
                getattr(body, "bet", None),
                expected=getattr(begun.body, name),
                found=getattr(body, name),
                also=(begun,),
            )

    def _is_of(self, body: Body, begun: Recorded) -> bool:
        """Whether the report under way brought the event about: it names that, or nothing else can have."""
        if getattr(begun.body, "cause", None) == body.cause or type(body) in _BROUGHT:
            return True
        if isinstance(body, RoundVoided):
            return body.correction is not None
        return isinstance(body, BetsCarried) and self.now.version == 2

    def _verify_begins(self, body: Body, *, tell: bool) -> None:
        first = self._reports.setdefault(body.cause, self.now)
        own = _OWN.get(type(body))
        self._begun = self.now
        if not tell:
            return
        if first is not self.now:
            what = f"{_named(body)} names a report that brought about an earlier event"
            self.find("REPORT_DIFF", what, getattr(body, "bet", None), also=(first,))
        elif own is not None and getattr(body, own) != body.cause:
            self.find(
                "REPORT_DIFF",
                f"the {own} has another id than the report that {_named(body)} names",
                getattr(body, "bet", None),
                expected=body.cause,
                found=getattr(body, own),
            )

    def _verify_clock(self, body: Body, *, tell: bool) -> None:
        """Whether the flag follows from the two times, by the configuration that the round names."""
        opened = self.told.opened
        house = None if opened is None else self.documents.houses.get(opened.property_hash)
        if not tell or house is None or flags_its_clock(body, house.tolerance):
            return
        apart = abs(body.received_at - body.occurred_at).total_seconds()
        tolerated = "any" if house.tolerance == NEVER else f"{house.tolerance.total_seconds():g} s"
        how = "is" if _flagged(body) else "is not"
        what = f"{_named(body)} {how} flagged {SKEWED}, with its times {apart:g} s apart where the house tolerates {tolerated}"
        self.find("REPORT_DIFF", what, getattr(body, "bet", None))


def _named(body: Body) -> str:
    return type(body).__name__


def _flagged(body: Struct) -> bool:
    return SKEWED in getattr(body, "flags", ())
