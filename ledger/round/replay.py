"""A round settled once more: what its bets would have become under another outcome, or as other bets.

Where one outcome decides all, that is `rules.settle`. Craps is thrown again from the first throw: each bet comes onto the table
after as many valid throws as had been thrown when it was placed, and is changed or taken back when it was.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, cast
from uuid import UUID

from ledger.errors import Refusal
from ledger.events import Standing
from ledger.round.bets import Bet
from ledger.round.standing import decided_standing, open_standing
from ledger.rules import COME_OUT, Outcome, Regulation, Spot, State, Wager, settle, verify_placing
from ledger.rules.outcomes import Throw


def settled_again(regulation: Regulation, outcome: Outcome, bets: Sequence[Bet], payable_unit: int) -> dict[UUID, Standing]:
    """What one outcome, told as a whole, makes of each bet. Refuses (LGR-0409) one that leaves a bet standing."""
    players = {bet.id: bet.player for bet in bets}
    wagers = [Wager(bet.id, regulation.spot(bet.placed_on), bet.stake) for bet in bets]
    found: dict[UUID, Standing] = {}
    for resolution in settle(regulation, outcome, wagers, payable_unit=payable_unit):
        bet = cast(UUID, resolution.wager.key)
        if resolution.result == "stands":
            raise still_standing(bet, resolution.wager.spot.text, outcome.raw)
        found[bet] = decided_standing(players[bet], resolution)
    return found


def still_standing(bet: UUID, spot: str, raw: str | None) -> Refusal:
    """The refusal of an outcome that leaves a bet of an ended round undecided."""
    return Refusal(
        "LGR-0409",
        f"bet {bet} on {spot} would neither win nor lose by these throws, and the round has ended",
        field="outcome",
        value=raw,
        help="write all throws of the round until every bet is decided, or void the bet by a correction of its own first",
    )


def verify_throws(outcome: Outcome) -> None:
    """Raises (LGR-0244) unless both faces of each throw are told and the last throw, and no other, decides the line."""
    state = COME_OUT
    for number, throw in enumerate(outcome.throws, 1):
        if state.decided:
            raise _no_round(outcome, f"throw {number - 1} decides the line, so throw {number} is none of this round")
        if not throw.void and "-" not in throw.text:
            raise _no_round(outcome, f"throw {number} is told by its sum, and a round is thrown by faces")
        state = state.after(throw)
    if not state.decided:
        raise _no_round(outcome, "after the last throw the line is not decided")


def _no_round(outcome: Outcome, detail: str) -> Refusal:
    return Refusal(
        "LGR-0244",
        detail,
        field="outcome",
        value=outcome.raw,
        help="write every throw of the round in order, both faces of each: 4-4,void,2-5",
    )


class _Stage(NamedTuple):
    """A bet as it lay from some moment on."""

    after: int
    """Valid throws before that moment."""
    spot: str
    stake: int
    moved: bool


def thrown_again(
    regulation: Regulation, throws: Sequence[Throw], bets: Sequence[Bet], payable_unit: int, judged: Collection[UUID]
) -> dict[UUID, Standing]:
    """What the throws make of each bet; `bets` are all that were ever in the round, those that left it as well.

    A change that comes after the bet would have been decided changes nothing any more; what was taken back stays taken back and
    is not named. The bets in `judged` have to lie where they could have been placed under these throws; the first that could not
    is named (LGR-0244).
    """
    table = _Table(regulation, payable_unit, judged)
    valid = [throw for throw in throws if not throw.void]
    for moment in range(len(valid) + 1):
        for bet in bets:
            table.come(bet, moment)
        for bet in bets:
            if bet.left_after == moment and bet.left in ("withdrawn", "void"):
                table.take_back(bet)
        if moment < len(valid):
            table.throw(valid[moment])
    for bet in bets:
        if bet.placed_after > len(valid) and bet.id in judged:
            raise _impossible(bet, bet.placed_on, f"it was placed after {bet.placed_after} throws, and there are fewer")
    return table.standings


class _Table:
    """The bets on the table between two throws, and what became of those that were decided."""

    def __init__(self, regulation: Regulation, payable_unit: int, judged: Collection[UUID]) -> None:
        self._regulation = regulation
        self._payable_unit = payable_unit
        self._judged = judged
        self._state: State = COME_OUT
        self._lying: dict[UUID, tuple[Bet, Spot, int]] = {}
        self.standings: dict[UUID, Standing] = {}

    def come(self, bet: Bet, moment: int) -> None:
        """Places and changes the bet as was done at this moment."""
        for number, stage in enumerate(_stages(bet)):
            if stage.after != moment or (number and bet.id not in self._lying):
                continue
            spot = self._regulation.spot_in_play(stage.spot) if stage.moved else self._lying[bet.id][1]
            if stage.moved and bet.id in self._judged and not (bet.carried and number == 0):
                self._verify(bet, spot)
            self._lie(bet, spot, stage.stake)

    def take_back(self, bet: Bet) -> None:
        """Takes the bet off the table."""
        self._lying.pop(bet.id, None)
        self.standings.pop(bet.id, None)

    def throw(self, throw: Throw) -> None:
        """Decides what the throw decides, and moves what it moves."""
        wagers = [Wager(id, spot, stake) for id, (_, spot, stake) in self._lying.items()]
        outcome = self._regulation.outcome(throw.text)
        for resolution in settle(self._regulation, outcome, wagers, payable_unit=self._payable_unit, state=self._state):
            id = cast(UUID, resolution.wager.key)
            bet, spot, stake = self._lying.pop(id)
            if resolution.result == "stands":
                moves_to = resolution.payoff.moves_to
                self._lie(bet, spot if moves_to is None else self._regulation.spot_in_play(moves_to), stake)
            else:
                self.standings[id] = decided_standing(bet.player, resolution)
        self._state = self._state.after(throw)

    def _lie(self, bet: Bet, spot: Spot, stake: int) -> None:
        self._lying[bet.id] = bet, spot, stake
        self.standings[bet.id] = open_standing(bet.player, spot.text, stake)

    def _verify(self, bet: Bet, spot: Spot) -> None:
        own = [lying for other, lying, _ in self._lying.values() if other.player == bet.player and other.id != bet.id]
        try:
            verify_placing(self._state, spot, own)
        except Refusal as refusal:
            raise _impossible(bet, spot.text, refusal.detail, refusal.cite) from refusal


def _stages(bet: Bet) -> list[_Stage]:
    """The bet as it lay when it came and after each change, oldest first. A change of the stake alone leaves it where it is."""
    spot, stake = bet.placed_on, bet.last_stake
    stages = []
    for change in reversed(bet.changes):
        stages.append(_Stage(change.after, spot, stake, change.moved))
        spot, stake = change.was_on if change.moved else spot, change.was_stake
    stages.append(_Stage(bet.placed_after, spot, stake, True))
    return stages[::-1]


def _impossible(bet: Bet, spot: str, detail: str, cite: str | None = None) -> Refusal:
    return Refusal(
        "LGR-0244",
        f"bet {bet.id} on {spot} could not have been placed: {detail}",
        value=spot,
        help="correct or void that bet first if it is the one that is wrong on record; else look at the throws again",
        cite=cite,
    )
