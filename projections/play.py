"""The ledger's fold of a round as it should go: opened, bet on, closed, decided, paid."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.events import (
    BetChanged,
    BetPlaced,
    BettingClosed,
    BettingReopened,
    BetWithdrawn,
    Event,
    LostBet,
    OutcomeRecorded,
    PayoutMade,
    Recorded,
    RoundOpened,
    RoundSettled,
    ShooterChanged,
    ThrowRecorded,
)
from projections.checks import Contradiction, amount, verify_payout
from projections.rows import RoundRow
from projections.state import ALWAYS, CLOSED, NOT_NOW, OPEN, PLAYED, State, Step, back, carry_out, verify_free, verify_totals


def opened(recorded: Recorded, body: RoundOpened) -> RoundRow:
    """The row of a round that begins."""
    return RoundRow(
        round=recorded.stream,
        property=body.property,
        pit=body.pit,
        table_id=body.table,
        game=body.game,
        currency=body.currency,
        regulation=body.regulation,
        regulation_hash=body.regulation_hash,
        property_hash=body.property_hash,
        applied=body.applied,
        gaming_day=body.gaming_day,
        shift=body.shift,
        dealer=body.dealer,
        supervisor=body.supervisor,
        opened_at=body.received_at,
        first_position=recorded.position,
        last_position=recorded.position,
    )


def _placed(state: State, row: RoundRow, recorded: Recorded, body: BetPlaced) -> None:
    if row.status != "open" and not body.late:
        raise Contradiction(recorded, NOT_NOW[row.status])
    stake = amount(recorded, body.stake)
    bet = state.bets.place(recorded, body, stake)
    row.bets += 1
    row.stakes += stake
    row.escrow += stake
    if row.disposition == "carry":  # the append that took it carried it on to where the others are
        state.bets.end(recorded, bet, "carried")
        row.carried_out += stake
        row.escrow -= stake


def _withdrawn(state: State, row: RoundRow, recorded: Recorded, body: BetWithdrawn) -> None:
    bet = state.bets.free(recorded, body.bet)
    state.bets.verify(recorded, bet, body.player, body.spot, body.stake)
    state.bets.end(recorded, bet, "withdrawn", returned=bet.stake)
    back(row, bet.stake)


def _changed(state: State, row: RoundRow, recorded: Recorded, body: BetChanged) -> None:
    bet = state.bets.free(recorded, body.bet)
    state.bets.verify(recorded, bet, body.player, body.was_spot, body.was_stake)
    stake = amount(recorded, body.stake)
    if stake < bet.stake:
        back(row, bet.stake - stake)
    else:
        row.stakes += stake - bet.stake
        row.escrow += stake - bet.stake
    bet.spot, bet.stake = body.spot, stake


def _closed(state: State, row: RoundRow, recorded: Recorded, body: BettingClosed) -> None:
    row.status, row.closed_at = "closed", body.received_at


def _reopened(state: State, row: RoundRow, recorded: Recorded, body: BettingReopened) -> None:
    if not row.throws:
        raise Contradiction(recorded, "betting opens again after a throw")
    row.status, row.closed_at = "open", None


def _shooter_changed(state: State, row: RoundRow, recorded: Recorded, body: ShooterChanged) -> None:
    """It is on record, and no figure changes."""


def _decided(state: State, row: RoundRow, recorded: Recorded, body: OutcomeRecorded) -> None:
    verify_free(row, recorded)
    if row.outcome is not None:
        raise Contradiction(recorded, f"the outcome was {row.outcome} before")
    row.outcome, row.shown = body.outcome, body.shown
    _lose(state, row, recorded, body.lost)


def _thrown(state: State, row: RoundRow, recorded: Recorded, body: ThrowRecorded) -> None:
    verify_free(row, recorded)
    if body.throw != row.throws + 1:
        raise Contradiction(recorded, f"it is throw {body.throw}, and {row.throws} were thrown before")
    row.throws += 1
    row.outcome = body.outcome if row.outcome is None else f"{row.outcome},{body.outcome}"
    row.shown = body.shown
    if body.void is not None:
        if body.lost or body.moved or body.decided:
            raise Contradiction(recorded, "a void throw changes something")
        state.registers.void_throw(recorded, body, body.void)
        return
    _lose(state, row, recorded, body.lost)
    for moved in body.moved:
        bet = state.bets.open(recorded, moved.bet)
        if bet.spot != moved.was:
            raise Contradiction(recorded, f"bet {moved.bet} lay on {bet.spot}, not on {moved.was}")
        bet.spot = moved.spot


def _lose(state: State, row: RoundRow, recorded: Recorded, lost: Iterable[LostBet]) -> None:
    for line in lost:
        bet = state.bets.open(recorded, line.bet)
        state.bets.verify(recorded, bet, line.player, line.spot, line.stake)
        state.bets.lose(recorded, bet, line)
        row.lost += bet.stake
        row.escrow -= bet.stake
        row.resolved += 1


def _paid(state: State, row: RoundRow, recorded: Recorded, body: PayoutMade) -> None:
    if row.outcome is None:
        raise Contradiction(recorded, "the round has no outcome")
    verify_payout(recorded, body)
    bet = state.bets.open(recorded, body.bet)
    state.bets.verify(recorded, bet, body.player, body.spot, body.stake)
    state.bets.pay(recorded, bet, body)
    row.escrow -= bet.stake
    row.resolved += 1
    if body.result == "push":
        row.pushed += bet.stake
    else:
        row.won += bet.stake
        row.prizes += bet.net_prize
        row.commission += bet.commission
        row.breakage += bet.breakage


def _settled(state: State, row: RoundRow, recorded: Recorded, body: RoundSettled) -> None:
    verify_free(row, recorded)
    if row.outcome is None:
        raise Contradiction(recorded, "the round has no outcome")
    carry_out(state, row, recorded, body.carried, body.successor)
    if row.escrow:
        raise Contradiction(recorded, f"stakes of {row.escrow} are not resolved")
    verify_totals(row, recorded, body)
    row.status, row.settled_at = "settled", body.received_at


STEPS: dict[type[Event], Step] = {
    BetPlaced: (ALWAYS, _placed),
    BetWithdrawn: (PLAYED, _withdrawn),
    BetChanged: (PLAYED, _changed),
    BettingClosed: (OPEN, _closed),
    BettingReopened: (CLOSED, _reopened),
    ShooterChanged: (PLAYED, _shooter_changed),
    OutcomeRecorded: (CLOSED, _decided),
    ThrowRecorded: (CLOSED, _thrown),
    PayoutMade: (CLOSED, _paid),
    RoundSettled: (CLOSED, _settled),
}
