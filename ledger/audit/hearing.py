"""What every part of a judgement has: the round as told so far, what was found, and the numbers by which a bet was in time."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from ledger.audit.documents import Documents
from ledger.audit.findings import Finding, finding
from ledger.audit.told import Bet, Link, Told
from ledger.events import BettingReopened, Body, Recorded
from ledger.events.body import numbering


class Window(NamedTuple):
    """A time of betting that has ended, by the numbers of the terminal that ended it."""

    terminal: str
    epoch: int
    opened: tuple[int, int] | None
    """Epoch and number of the report that opened it again; None where none did."""
    closed: int | None
    throws: int
    """Valid throws before it ended."""


class Hearing:
    """One round, on its way through its events."""

    def __init__(self, id: UUID, documents: Documents) -> None:
        self.told = Told(id)
        self.documents = documents
        self.findings: list[Finding] = []
        self.links: list[Link] = []
        self.now: Recorded
        """The event that is gone through."""
        self.windows: list[Window] = []
        self.reopened: BettingReopened | None = None
        self.holds: dict[UUID, Recorded] = {}
        """The reviews that have not come to a finding."""

    def find(
        self,
        code: str,
        what: str,
        bet: Bet | UUID | None = None,
        *,
        expected: object = None,
        found: object = None,
        also: tuple[Recorded, ...] = (),
    ) -> None:
        """Something is wrong with the event that is gone through; `also` are others by which it can be seen."""
        told, known = self.told, bet if isinstance(bet, Bet) else None
        evidence = [self.now, *(each for each in also if each is not self.now)]
        if known is not None:
            known.suspect = True
            evidence += [known.placed] if known.placed not in evidence else []
        self.findings.append(
            finding(
                code,
                what,
                stream=told.id,
                table=told.table,
                bet=known.id if known is not None else bet if isinstance(bet, UUID) else None,
                currency=None if told.opened is None else told.opened.currency,
                expected=expected,
                found=found,
                evidence=evidence,
            )
        )

    def window_of(self, body: Body) -> Window | None:
        """The ended time of betting in which the terminal numbered a report so; None where its number shows none."""
        if body.sequence is None:
            return None
        place = (body.epoch or 0, body.sequence)
        for window in self.windows:
            if window.terminal == body.terminal and window.closed is not None and place < (window.epoch, window.closed):
                return window if window.opened is None or place > window.opened else None
        return None

    def numbered_before_reopening(self, body: Body) -> bool:
        """Whether the terminal that opened betting again had numbered this report before that."""
        again = self.reopened
        if again is None or again.sequence is None or body.sequence is None or again.terminal != body.terminal:
            return False
        return (*numbering(body.terminal, body.epoch), body.sequence) < (*numbering(again.terminal, again.epoch), again.sequence)

    def bet_of(self, id: UUID, doing: str) -> Bet | None:
        """The bet that an event names; a finding where the round has none of this id."""
        bet = self.told.bets.get(id)
        if bet is None:
            self.find("PAID_WITHOUT_BET", f"{doing} a bet that was never placed in this round", id)
        return bet


def whole(text: str) -> int | str:
    """An amount where it is one, to be compared as such; else what stands there."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() else text
