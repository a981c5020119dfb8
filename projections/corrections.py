"""The ledger's fold of what is put right afterwards, and of the approvals without which nothing is."""

from __future__ import annotations

from ledger.events import (
    BetCorrected,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    Event,
    OutcomeCorrected,
    PlayerAdjusted,
    Recorded,
    RoundResettled,
)
from projections.checks import Contradiction, amount
from projections.rows import BetRow, RoundRow
from projections.state import ALWAYS, PLAYED, SETTLED, State, Step, verify_totals


def _proposed(state: State, row: RoundRow, recorded: Recorded, body: CorrectionProposed) -> None:
    state.registers.propose(recorded, body)
    row.corrections_pending += 1


def _approved(state: State, row: RoundRow, recorded: Recorded, body: CorrectionApproved) -> None:
    if state.registers.approve(recorded, body):
        row.corrections_pending -= 1
        row.corrections += 1


def _declined(state: State, row: RoundRow, recorded: Recorded, body: CorrectionDeclined) -> None:
    state.registers.decline(recorded, body)
    row.corrections_pending -= 1


def _verify(state: State, row: RoundRow, recorded: Recorded, body: OutcomeCorrected | BetCorrected | PlayerAdjusted) -> None:
    """Raises Contradiction unless it was approved, and is posted to a day that is open."""
    state.registers.verify_approved(recorded, body.correction)
    state.cage.verify_posted(recorded, row.property, row.gaming_day, body.gaming_day, body.of_day)


def _outcome_corrected(state: State, row: RoundRow, recorded: Recorded, body: OutcomeCorrected) -> None:
    _verify(state, row, recorded, body)
    if body.was != row.outcome:
        raise Contradiction(recorded, f"the outcome on record was {row.outcome}, not {body.was}")
    row.outcome, row.shown = body.outcome, body.shown
    if row.throws:
        row.throws = body.outcome.count(",") + 1


def _bet_corrected(state: State, row: RoundRow, recorded: Recorded, body: BetCorrected) -> None:
    _verify(state, row, recorded, body)
    bet = state.bets.present(recorded, body.bet)
    state.bets.verify_standing(recorded, bet, body.before)
    was = bet.stake
    _count(row, bet, -1)
    state.bets.correct(recorded, bet, body.after)
    _count(row, bet, 1)
    if bet.placed_in == row.round or bet.stake > was:
        row.stakes += bet.stake - was
    else:  # it was taken in another round, where nothing of it goes back any more
        row.returned += was - bet.stake


def _count(row: RoundRow, bet: BetRow, sign: int) -> None:
    """Adds a bet's figures to its round's, or takes them out."""
    match bet.result:
        case "open":
            row.escrow += sign * bet.stake
        case "lost":
            row.lost += sign * bet.stake
        case "won":
            row.won += sign * bet.stake
            row.prizes += sign * bet.net_prize
            row.commission += sign * bet.commission
            row.breakage += sign * bet.breakage
        case "push":
            row.pushed += sign * bet.stake
        case _:
            row.returned += sign * bet.stake
    if bet.result in ("lost", "won", "push"):
        row.resolved += sign


def _adjusted(state: State, row: RoundRow, recorded: Recorded, body: PlayerAdjusted) -> None:
    _verify(state, row, recorded, body)
    minor = amount(recorded, body.amount)
    if body.bet is not None:
        state.bets.present(recorded, body.bet)
    row.adjusted += minor if body.direction == "to_player" else -minor


def _resettled(state: State, row: RoundRow, recorded: Recorded, body: RoundResettled) -> None:
    state.registers.verify_approved(recorded, body.correction)
    verify_totals(row, recorded, body)
    if row.status == "settled":
        row.status = "resettled"


STEPS: dict[type[Event], Step] = {
    CorrectionProposed: (ALWAYS, _proposed),
    CorrectionApproved: (ALWAYS, _approved),
    CorrectionDeclined: (ALWAYS, _declined),
    OutcomeCorrected: (PLAYED | SETTLED, _outcome_corrected),
    BetCorrected: (ALWAYS, _bet_corrected),
    PlayerAdjusted: (ALWAYS, _adjusted),
    RoundResettled: (SETTLED | {"voided"}, _resettled),
}
