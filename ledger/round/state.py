"""The state of a round: what its events say and nothing else.

Folding decides nothing and asks no rule: whatever an event says has happened. Here is what every decision of the round is made
on; the decisions are in the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from enum import Enum
from typing import Any
from uuid import UUID

from ledger.errors import Refusal
from ledger.events import (
    BetChanged,
    BetCorrected,
    BetPlaced,
    BetsCarried,
    BettingClosed,
    BettingReopened,
    BetVoided,
    BetWithdrawn,
    ChipsRestored,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    Event,
    LateBetRecorded,
    OutcomeCorrected,
    OutcomeRecorded,
    PayoutMade,
    PlayerAdjusted,
    RoundHeld,
    RoundOpened,
    RoundReleased,
    RoundResettled,
    RoundSettled,
    RoundVoided,
    ShooterChanged,
    Standing,
    ThrowRecorded,
)
from ledger.events.body import Body, numbering
from ledger.limits import Book, Limits
from ledger.round.bets import Bet, Change, Correction, Hold, Window, lost
from ledger.round.order import Numbered, precedes
from ledger.rules import COME_OUT, State

CRAPS = "craps"


class Status(Enum):
    """Where a round stands."""

    BETTING = "betting open"
    CLOSED = "betting closed"
    SETTLED = "settled"
    CARRIED = "void, its bets carried into the next round"
    RETURNED = "ended by the house, its stakes returned"

    ended: bool
    """Whether the table has gone on to its next round."""


# What is asked of every bet is at hand: until Python 3.12 an enumeration looks its members up by calling a function.
BETTING, CARRIED = Status.BETTING, Status.CARRIED
for _each in Status:
    _each.ended = _each not in (Status.BETTING, Status.CLOSED)


class RoundState:
    """What is true of one round after its events. Not thread-safe: one writer holds it."""

    __slots__ = (
        "_pending",
        "adjustments",
        "bets",
        "book",
        "booked",
        "carried",
        "carried_from",
        "closed_by",
        "corrections",
        "counted",
        "epochs",
        "gone",
        "holds",
        "id",
        "launches",
        "limits",
        "opened",
        "outcome",
        "posted_on",
        "raw",
        "reopened",
        "returned",
        "shooter",
        "shown",
        "state",
        "status",
        "successor",
        "taken",
        "threw",
        "thrown",
        "throws",
        "totals",
        "valid_throws",
        "version",
        "windows",
    )

    def __init__(self, id: UUID) -> None:
        self.id = id
        self.version = 0
        self.status = Status.BETTING
        self.opened: RoundOpened | None = None
        self.epochs: dict[tuple[str, int], int] = {}
        """Terminal and epoch → the version of the first event that was numbered in it; in which order they came."""
        self.counted: tuple[str, int] | None = None
        """Terminal and epoch of the last event that was numbered: mostly those of the one before, of which one is kept."""
        self.bets: dict[UUID, Bet] = {}
        """The bets that are open or were decided here, in the order in which they came."""
        self.gone: dict[UUID, Bet] = {}
        """The bets that left the round undecided: withdrawn, void, or carried on."""
        self.taken = 0
        """Stakes that came into the round, in minor units: placed, raised, carried in, or found by a correction."""
        self.returned = 0
        """Stakes that went back to players, prizes not counted; never more than were taken."""
        self.carried = 0
        """Stakes that the successor has."""
        self.outcome: str | None = None
        """What the table showed, in canonical form and as last corrected; for craps the throws so far."""
        self.raw: str | None = None
        self.shown: str | None = None
        self.totals: RoundSettled | RoundResettled | None = None
        """The totals of the settlement, as last corrected."""
        self.windows: list[Window] = []
        """The times of betting that have ended; more than one only in craps."""
        self.reopened: BettingReopened | None = None
        """The last reopening, which began the present time of betting or the last one."""
        self.closed_by: BettingClosed | None = None
        """The last bell."""
        self.launches = 0
        """Launches or shakes that were void."""
        self.carried_from: UUID | None = None
        self.successor: UUID | None = None
        self.state: State = COME_OUT
        """Craps: where the round stands between throws."""
        self.throws: tuple[str, ...] = ()
        """Craps: the throws in canonical form, void ones included; none of a round whose throws came as one outcome."""
        self.threw: ThrowRecorded | None = None
        """Craps: the last throw, void or not."""
        self.valid_throws = 0
        self.thrown = False
        """Craps: whether there has been a throw, void or not, since betting closed."""
        self.shooter: str | None = None
        self.holds: dict[UUID, Hold] = {}
        self.corrections: dict[UUID, Correction] = {}
        self.adjustments: list[PlayerAdjusted] = []
        self._pending: list[Event] = []
        # No event says these: whoever holds the round tells it its table's limits, by the configuration that it names.
        self.limits: Limits | None = None
        self.posted_on: date | None = None
        """The gaming day to which a correction is posted now; None where that is the round's own."""
        self.book: Book | None = None
        self.booked = 0
        """The version at which the book is right."""

    @property
    def terms(self) -> RoundOpened:
        """The opening event; a round without one has never been read from the log."""
        if self.opened is None:
            raise Refusal("LGR-0202", "no such round", value=str(self.id), help="open the round first")
        return self.opened

    def apply(self, body: Event) -> None:
        """Changes the state by one event that has happened; decides nothing."""
        self.version += 1
        if isinstance(body, Body) and body.sequence is not None:
            counted = numbering(body.terminal, body.epoch)
            if counted != self.counted:
                self.counted = counted
                self.epochs.setdefault(counted, self.version)
        if type(body) is BetPlaced:  # of all events by far the commonest
            self._fold_placed(body)
            return
        fold = _FOLDS.get(type(body))
        if fold is None:
            raise Refusal("LGR-0504", f"a round has no event {type(body).__name__}", value=str(self.id))
        fold(self, body)

    def fold(self, happened: Iterable[Event]) -> None:
        """Changes the state by events that have happened, in order."""
        for body in happened:
            self.apply(body)

    def _happen(self, body: Event) -> None:
        self.apply(body)
        self._pending.append(body)

    def window_of(self, report: Numbered) -> Window | None:
        """The ended time of betting in which the terminal provably numbered a report; None where it was none of them."""
        for window in self.windows:
            if precedes(report, window.closed, self.epochs):
                return window if window.opened is None or precedes(window.opened, report, self.epochs) else None
        return None

    @property
    def open_bets(self) -> list[Bet]:
        """The bets whose stakes are in escrow, in the order in which they came."""
        return [bet for bet in self.bets.values() if bet.decided is None]

    @property
    def open_holds(self) -> list[Hold]:
        """The holds that have not been released."""
        return [hold for hold in self.holds.values() if hold.finding is None]

    def basis_of(self, proposed: CorrectionProposed) -> tuple[object, ...]:
        """What the figures of a correction come from; another value once something of it has changed.

        Of one bet: how it lies, what decided it, and the mispays put right on it. Of the whole round: which bets are decided, and
        every correction. Of a payment ex gratia: what the player was paid so before. The throws of a round that goes on change
        nothing as long as they do not decide the bet: as it is on record by this, as corrected by `effects.decided_since`.
        """
        made = [each.proposed for each in self.corrections.values() if each.status == "made"]
        if proposed.kind == "ex_gratia":
            return (sum(each.kind == "ex_gratia" and each.player == proposed.player for each in made),)
        if proposed.bet is None:
            decided = sum(bet.decided is not None for bet in self.bets.values())
            return (self.status.ended, decided, sum(each.kind != "ex_gratia" for each in made))
        bet = self.bets.get(proposed.bet) or self.gone.get(proposed.bet)
        if bet is None:
            return ()
        upon = sum(each.kind == "outcome" or (each.kind == "mispay" and each.bet == bet.id) for each in made)
        return (bet.player, bet.placed_on, bet.last_stake, bet.decided, bet.left, upon)

    # The fold of each event.

    def _fold_placed(self, body: BetPlaced) -> None:
        stake, sequence = int(body.stake), body.sequence
        bet = Bet(
            body.bet,
            body.player,
            body.seat,
            body.chip,
            body.spot,
            stake,
            self.id,
            body.spot,
            self.valid_throws,
            counted=None if sequence is None else self.counted,
            sequence=sequence,
            placed_in_time=len(self.windows),
        )
        self.taken += stake
        self.bets[body.bet] = bet
        if body.late:
            bet.late = True
            window = self.window_of(body)
            bet.placed_after = self.valid_throws if window is None else window.throws
            if self.status is Status.CARRIED:  # the append that took it carried it on, to where the others are
                self._leave(bet.id, "carried")

    def _leave(self, id: UUID, how: Any) -> None:
        bet = self.bets.pop(id)
        bet.left, bet.left_after = how, self.valid_throws
        self.gone[id] = bet
        if how == "carried":
            self.carried += bet.stake
        else:
            self.returned += bet.stake

    def _fold_opened(self, body: RoundOpened) -> None:
        self.opened = body

    def _fold_withdrawn(self, body: BetWithdrawn) -> None:
        self._leave(body.bet, "withdrawn")

    def _fold_bet_voided(self, body: BetVoided) -> None:
        self._leave(body.bet, "void")

    def _fold_changed(self, body: BetChanged) -> None:
        bet = self.bets[body.bet]
        stake = int(body.stake)
        self.taken += max(0, stake - bet.stake)
        self.returned += max(0, bet.stake - stake)
        moved = body.spot != body.was_spot
        bet.changes += (Change(self.valid_throws, bet.placed_on, bet.stake, moved),)
        if moved:
            bet.spot = bet.placed_on = body.spot
        bet.stake = stake
        bet.changed_by = body

    def _fold_closed(self, body: BettingClosed) -> None:
        self.status = Status.CLOSED
        self.closed_by = body
        self.thrown = False
        again = self.reopened
        opened = again if again is not None and again.terminal == body.terminal and again.sequence is not None else None
        self.windows.append(Window(opened, body, self.valid_throws))

    def _fold_reopened(self, body: BettingReopened) -> None:
        self.status = Status.BETTING
        self.reopened = body

    def _fold_shooter(self, body: ShooterChanged) -> None:
        self.shooter = body.shooter

    def _fold_carried_in(self, body: BetsCarried) -> None:
        if self.carried_from is None:
            self.carried_from = body.from_round
        for carried in body.bets:
            stake = int(carried.stake)
            self.taken += stake
            self.bets[carried.bet] = Bet(
                carried.bet,
                carried.player,
                carried.seat,
                carried.chip,
                carried.spot,
                stake,
                carried.placed_in,
                carried.spot,
                locked=body.locked,
                carried=True,
                late=self.status.ended,  # it was placed in time in a round before, and is open until a correction settles it
            )

    def _fold_voided(self, body: RoundVoided) -> None:
        if body.disposition == "stand":
            self.launches = body.launch
        elif body.disposition == "carry":
            self.launches = body.launch
            self._end_carrying(body.successor)
            self.status = Status.CARRIED
        else:
            for line in body.returned:
                bet = self.bets[line.bet]
                bet.decided = Standing(
                    player=bet.player, spot=bet.spot, stake=line.stake, result="void", returned=line.stake, article=body.article
                )
                self.returned += bet.stake
            self.status = Status.RETURNED

    def _end_carrying(self, successor: UUID | None) -> None:
        self.successor = successor
        for bet in self.open_bets:
            self._leave(bet.id, "carried")

    def _fold_outcome(self, body: OutcomeRecorded) -> None:
        self.raw, self.outcome, self.shown = body.raw, body.outcome, body.shown
        for line in body.lost:
            self.bets[line.bet].decided = lost(line.edge, line.article)
        if self.terms.game == CRAPS:
            self.state = State(decided=True)

    def _fold_throw(self, body: ThrowRecorded) -> None:
        self.thrown = True
        self.threw = body
        self.throws += (body.outcome,)
        self.raw, self.outcome, self.shown = body.raw, ",".join(self.throws), body.shown
        if body.void is not None:
            return
        self.valid_throws += 1
        self.state = State(body.point, body.decided)
        for line in body.lost:
            self.bets[line.bet].decided = lost(line.edge, line.article)
        for moved in body.moved:
            self.bets[moved.bet].spot = moved.spot

    def _fold_paid(self, body: PayoutMade) -> None:
        bet = self.bets[body.bet]
        bet.decided = body
        self.returned += bet.stake

    def _fold_settled(self, body: RoundSettled) -> None:
        self.status = Status.SETTLED
        self.totals = body
        if body.successor is not None:
            self._end_carrying(body.successor)

    def _fold_nothing(self, body: LateBetRecorded | ChipsRestored) -> None:
        """It is on record and changes nothing that a decision is made on."""

    def _fold_held(self, body: RoundHeld) -> None:
        self.holds[body.hold] = Hold(body)

    def _fold_released(self, body: RoundReleased) -> None:
        self.holds[body.hold].finding = body.finding

    def _fold_proposed(self, body: CorrectionProposed) -> None:
        self.corrections[body.correction] = Correction(body, self.basis_of(body), self.valid_throws)

    def _fold_approved(self, body: CorrectionApproved) -> None:
        correction = self.corrections[body.correction]
        correction.approved_by += (body.by or "",)
        if body.approval >= correction.proposed.approvals:
            correction.status = "made"

    def _fold_declined(self, body: CorrectionDeclined) -> None:
        self.corrections[body.correction].status = "declined"

    def _fold_outcome_corrected(self, body: OutcomeCorrected) -> None:
        self.raw, self.outcome, self.shown = body.raw, body.outcome, body.shown
        if self.throws:
            self.throws = tuple(body.outcome.split(","))
            self.valid_throws = sum(throw != "void" for throw in self.throws)

    def _fold_bet_corrected(self, body: BetCorrected) -> None:
        bet, before, after = self.bets[body.bet], body.before, body.after
        self.taken += int(after.stake) - int(before.stake)
        self.returned += _stake_back(after) - _stake_back(before)
        staked = bet.last_stake
        correction = self.corrections.get(body.correction)
        if correction is not None and correction.proposed.kind == "bet":
            bet.placed_on = correction.proposed.spot or bet.placed_on
            staked = int(correction.proposed.stake or staked)
        bet.player, bet.spot, bet.stake = after.player, after.spot, int(after.stake)
        bet.staked = None if staked == bet.stake else staked
        bet.decided = None if after.result == "open" else after

    def _fold_adjusted(self, body: PlayerAdjusted) -> None:
        self.adjustments.append(body)

    def _fold_resettled(self, body: RoundResettled) -> None:
        self.totals = body


def _stake_back(standing: Standing) -> int:
    return int(standing.stake) if standing.result in ("won", "push", "void") else 0


_FOLDS: dict[type[Event], Callable[[RoundState, Any], None]] = {
    BetPlaced: RoundState._fold_placed,
    PayoutMade: RoundState._fold_paid,
    RoundOpened: RoundState._fold_opened,
    BettingClosed: RoundState._fold_closed,
    OutcomeRecorded: RoundState._fold_outcome,
    ThrowRecorded: RoundState._fold_throw,
    RoundSettled: RoundState._fold_settled,
    BetWithdrawn: RoundState._fold_withdrawn,
    BetChanged: RoundState._fold_changed,
    BetVoided: RoundState._fold_bet_voided,
    LateBetRecorded: RoundState._fold_nothing,
    BettingReopened: RoundState._fold_reopened,
    ShooterChanged: RoundState._fold_shooter,
    BetsCarried: RoundState._fold_carried_in,
    RoundVoided: RoundState._fold_voided,
    ChipsRestored: RoundState._fold_nothing,
    RoundHeld: RoundState._fold_held,
    RoundReleased: RoundState._fold_released,
    CorrectionProposed: RoundState._fold_proposed,
    CorrectionApproved: RoundState._fold_approved,
    CorrectionDeclined: RoundState._fold_declined,
    OutcomeCorrected: RoundState._fold_outcome_corrected,
    BetCorrected: RoundState._fold_bet_corrected,
    PlayerAdjusted: RoundState._fold_adjusted,
    RoundResettled: RoundState._fold_resettled,
}
