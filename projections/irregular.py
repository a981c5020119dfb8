"""The ledger's fold of what comes between: voids, carried bets, bets that do not count, chips in disarray, reviews."""

from __future__ import annotations

from ledger.events import (
    BetsCarried,
    BetVoided,
    ChipsRestored,
    Event,
    LateBetRecorded,
    Recorded,
    RoundHeld,
    RoundReleased,
    RoundVoided,
)
from projections.checks import Contradiction, amount
from projections.rows import RoundRow
from projections.state import ALWAYS, OPEN, PLAYED, SETTLED, State, Step, back, carry_out, verify_free


def _bet_voided(state: State, row: RoundRow, recorded: Recorded, body: BetVoided) -> None:
    bet = state.bets.free(recorded, body.bet)
    state.bets.verify(recorded, bet, body.player, body.spot, body.stake)
    state.bets.end(recorded, bet, "void", returned=bet.stake)
    state.registers.void_bet(recorded, body, bet.stake)
    back(row, bet.stake)


def _late(state: State, row: RoundRow, recorded: Recorded, body: LateBetRecorded) -> None:
    state.registers.late_bet(recorded, body)


def _carried_in(state: State, row: RoundRow, recorded: Recorded, body: BetsCarried) -> None:
    if body.from_round == recorded.stream:
        raise Contradiction(recorded, "a round carries its bets to another round")
    for carried in body.bets:
        stake = amount(recorded, carried.stake)
        left = state.bets.find(body.from_round, carried.bet)
        if left is not None and (left.result, left.player, left.stake) != ("carried", carried.player, stake):
            raise Contradiction(recorded, f"bet {carried.bet} is {left.result} with {left.stake} in the round before")
        state.bets.take_over(recorded, carried, stake, locked=body.locked)
        row.carried_in += stake
        row.escrow += stake
    if row.predecessor is None:
        row.predecessor = body.from_round
        # The first to come are those of the round before; a bet received late follows from further back.
        _verify_chain(state, row, recorded)


def _verify_chain(state: State, row: RoundRow, recorded: Recorded) -> None:
    """Raises Contradiction unless the round has what the one before it carried, as far as that one is known here."""
    assert row.predecessor is not None
    before = state.round(row.predecessor)
    if before is None:
        return
    if (before.successor, before.table_id, before.currency) != (row.round, row.table_id, row.currency):
        raise Contradiction(recorded, f"the bets of round {row.predecessor} are carried to round {before.successor}")
    if before.carried_out != row.carried_in:
        raise Contradiction(recorded, f"stakes of {before.carried_out} were carried, {row.carried_in} are taken over")


def _voided(state: State, row: RoundRow, recorded: Recorded, body: RoundVoided) -> None:
    stakes = 0
    if body.disposition != "return":
        verify_free(row, recorded)
        if row.status != "closed" or row.outcome is not None:
            raise Contradiction(recorded, "a launch is void between the close and the outcome")
        if body.launch != row.void_launches + 1:
            raise Contradiction(recorded, f"it is void launch {body.launch}, and {row.void_launches} were void before")
        row.void_launches += 1
    if body.returned and body.disposition != "return":
        raise Contradiction(recorded, "only a return gives stakes back")
    if body.disposition == "carry":
        if body.successor is None:
            raise Contradiction(recorded, "no round has the bets")
        stakes = carry_out(state, row, recorded, body.carried, body.successor)
        row.status, row.disposition = "voided", "carry"
    elif body.disposition == "return":
        stakes = _give_back(state, row, recorded, body)
        row.status, row.disposition = "voided", "return"
    elif body.disposition != "stand":
        raise Contradiction(recorded, f"no disposition is {body.disposition!r}")
    state.registers.void_round(recorded, body, stakes)


def _give_back(state: State, row: RoundRow, recorded: Recorded, body: RoundVoided) -> int:
    state.registers.verify_approved(recorded, body.correction)
    stakes = 0
    for line in body.returned:
        bet = state.bets.free(recorded, line.bet)
        state.bets.verify(recorded, bet, line.player, line.spot, line.stake)
        state.bets.end(recorded, bet, "void", returned=bet.stake)
        back(row, bet.stake)
        stakes += bet.stake
    if row.escrow:
        raise Contradiction(recorded, f"stakes of {row.escrow} are not returned")
    return stakes


def _restored(state: State, row: RoundRow, recorded: Recorded, body: ChipsRestored) -> None:
    """It is on record, and no figure changes."""


def _held(state: State, row: RoundRow, recorded: Recorded, body: RoundHeld) -> None:
    state.registers.hold(recorded, body)
    row.holds += 1


def _released(state: State, row: RoundRow, recorded: Recorded, body: RoundReleased) -> None:
    state.registers.release(recorded, body)
    row.holds -= 1


STEPS: dict[type[Event], Step] = {
    BetVoided: (OPEN, _bet_voided),
    LateBetRecorded: (ALWAYS, _late),
    BetsCarried: (ALWAYS, _carried_in),
    RoundVoided: (PLAYED | SETTLED, _voided),
    ChipsRestored: (ALWAYS, _restored),
    RoundHeld: (ALWAYS, _held),
    RoundReleased: (ALWAYS, _released),
}
