"""What every part of a judgement has: the round as told so far, what was found, and the numbers by which a bet was in time."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from ledger.audit.documents import Documents
from ledger.audit.findings import Finding, Measure, finding
from ledger.audit.told import Bet, Link, Told
from ledger.events import BettingClosed, BettingReopened, Body, Recorded
from ledger.events.body import numbering


class Window(NamedTuple):
    """A time of betting that has ended, and what began and ended it."""

    opened: BettingReopened | None
    """The report that opened it again; None where none did, or one of another terminal or without a number."""
    closed: BettingClosed
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
        self.epochs: list[tuple[str, int]] = []
        """Terminals and the epochs of their numbers, in the order in which the round first had something of each."""
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
        measure: Measure = "amount",
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
                measure=measure,
                evidence=evidence,
            )
        )

    def note_epoch(self, body: Body) -> None:
        """Remembers which of a terminal's epochs the round had something of first."""
        count = numbering(body.terminal, body.epoch)
        if body.sequence is not None and count not in self.epochs:
            self.epochs.append(count)

    def numbered_before(self, body: Body, other: Body | None) -> bool:
        """Whether a terminal's numbers show that it made one report before another (docs/adr/0021).

        An epoch that came into the round after a higher one, or has not come, shows nothing: it may be that a clock went back.
        """
        if other is None or body.sequence is None or other.sequence is None or body.terminal != other.terminal:
            return False
        one, two = numbering(body.terminal, body.epoch), numbering(other.terminal, other.epoch)
        if one == two:
            return body.sequence < other.sequence
        return one < two and one in self.epochs[: self.epochs.index(two)]

    def window_of(self, body: Body) -> Window | None:
        """The ended time of betting in which the terminal numbered a report so; None where its number shows none."""
        for window in self.windows:
            if self.numbered_before(body, window.closed):
                return window if window.opened is None or self.numbered_before(window.opened, body) else None
        return None

    def numbered_before_reopening(self, body: Body) -> bool:
        """Whether the terminal that opened betting again had numbered this report before that."""
        return self.numbered_before(body, self.reopened)

    def bet_of(self, id: UUID, doing: str) -> Bet | None:
        """The bet that an event names; a finding where the round has none of this id."""
        bet = self.told.bets.get(id)
        if bet is None:
            self.find("PAID_WITHOUT_BET", f"{doing} a bet that was never placed in this round", id)
        return bet


def whole(text: str) -> int | str:
    """A whole number where it is written as one, to be compared as such; else what stands there."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and str(int(text)) == text else text
