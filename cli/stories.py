"""What was true of a bet, story after story: as it was decided, and as each correction left it, held against the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from cli.output import plain

if TYPE_CHECKING:
    from ledger.events import Recorded, RoundOpened, Standing
    from ledger.rules import Explanation, Outcome, Regulation, Resolution, State
    from projections.views import BetView, CorrectionView, RoundView

_RESOLVED = ("lost", "won", "push")
_OF_A_LOST_BET = ("result", "stake")
_OF_A_PAID_BET = (*_OF_A_LOST_BET, "odds", "prize_exact", "prize", "commission", "breakage", "net_prize", "returned")


@dataclass(frozen=True)
class Story:
    """What the log says of a bet from some position on, and what the rules say to it."""

    position: int | None
    """Of the event that made it so; None of a bet that is open."""
    standing: Standing
    explanation: Explanation | None
    """None where no rule decided the bet."""
    words: str
    """What became of it, where no rule decided."""
    differences: list[str]
    correction: CorrectionView | None
    """By which it came to be so."""

    def lines(self) -> list[str]:
        """As a person reads it."""
        return [self.words] if self.explanation is None else self.explanation.lines()

    def document(self) -> dict[str, Any]:
        """The same for programs."""
        import msgspec

        return {
            "position": None if self.position is None else str(self.position),
            "standing": msgspec.to_builtins(self.standing) | {"result": self.standing.result},
            "explanation": None if self.explanation is None else self.explanation.to_json(),
            "words": self.words or None,
            "correction": None if self.correction is None else msgspec.to_builtins(self.correction),
        }


class Decided(NamedTuple):
    """What the rules give for a bet: by which outcome, in which state of the round."""

    outcome: Outcome
    resolution: Resolution
    state: State


class Teller:
    """Tells the bets of one round: its events, folded, and the regulation by which it was played."""

    def __init__(self, events: Sequence[Recorded], found: RoundView, opened: RoundOpened, regulation: Regulation) -> None:
        self._events = events
        self._found = found
        self._opened = opened
        self._regulation = regulation
        self._corrections = {correction.correction: correction for correction in found.corrections}

    def stories(self, bet: BetView) -> list[Story]:
        """Oldest first; the last is what is true now."""
        lay = self._lay(bet)
        told = [] if not bet.corrections else [self._story(bet, self._first(bet), bet.corrections[0].before, lay, None)]
        for corrected in bet.corrections:
            correction = self._corrections[corrected.correction]
            if correction.kind == "bet" and correction.spot is not None:
                lay = lay._replace(spot=correction.spot)
            told.append(self._story(bet, int(corrected.position), corrected.after, lay, correction))
        if not told:
            position = None if bet.resolved_position is None else int(bet.resolved_position)
            told.append(self._story(bet, position, _standing(bet), lay, None))
        return told

    def _story(
        self, bet: BetView, position: int | None, standing: Standing, lay: _Lay, correction: CorrectionView | None
    ) -> Story:
        make = partial(Story, position, standing, correction=correction)
        if standing.result not in _RESOLVED or position is None:
            return make(None, self._undecided(bet, standing), [])
        decided = self._decided(bet.bet, standing, lay, position)
        if decided is None:
            return make(None, f"{standing.result}, by a rule that is not found", ["the rules give no resolution of this bet"])
        from ledger.rules import explain

        opened = self._opened
        explanation = explain(
            self._regulation,
            decided.outcome,
            decided.resolution,
            currency=opened.currency,
            payable_unit=int(opened.payable_unit),
            state=decided.state,
            note=opened.applied,
        )
        return make(explanation, "", list(_differences(standing, decided.resolution, position)))

    def _undecided(self, bet: BetView, standing: Standing) -> str:
        stake = f"{self._opened.currency} {plain(standing.stake, 'amount', self._opened.currency)}"
        if standing.result == "void":
            return f"void: the stake of {stake} went back undecided"
        if bet.result == "withdrawn":
            return f"withdrawn: the stake of {stake} went back to its player"
        if bet.result == "carried":
            return f"carried: it lies in a later round with its stake of {stake}, first in {self._found.successor}"
        late = "; it was received late, and a correction of kind late_bet settles it" if self._found.settled_at else ""
        return f"open: nothing has decided it, and its stake of {stake} is in escrow{late}"

    # What the rules give.

    def _decided(self, bet: UUID, standing: Standing, lay: _Lay, position: int) -> Decided | None:
        """The resolution by the outcome that was on record at a position."""
        from ledger.errors import Refusal

        faces = self._faces(position)
        try:
            return self._at_once(bet, standing, position) if faces is None else self._thrown(bet, standing, lay, faces)
        except Refusal:  # what the rules refuse they do not resolve, and that is said of the bet
            return None

    def _at_once(self, bet: UUID, standing: Standing, position: int) -> Decided:
        from ledger.events import OutcomeCorrected, OutcomeRecorded
        from ledger.rules import COME_OUT, Wager, settle

        regulation = self._regulation
        # As it was written: a count of 8 buttons, not the 4 that follows from it.
        raw = [
            each.body.raw
            for each in self._events
            if isinstance(each.body, OutcomeRecorded | OutcomeCorrected) and each.position <= position
        ][-1]
        outcome = regulation.outcome(raw)
        wagers = [Wager(bet, regulation.spot(standing.spot), int(standing.stake))]
        if outcome.throws:  # a bet of craps may need the player's others beside it
            others = (each for each in self._found.bets if each.bet != bet)
            wagers += [Wager(each.bet, regulation.spot(each.spot), int(each.stake)) for each in others]
        resolutions = settle(regulation, outcome, wagers, payable_unit=int(self._opened.payable_unit))
        return Decided(outcome, next(each for each in resolutions if each.wager.key == bet), COME_OUT)

    def _faces(self, position: int) -> list[str] | None:
        """The throws on record at a position; None of a round that was not played throw by throw."""
        from ledger.events import OutcomeCorrected, ThrowRecorded

        faces: list[str] = []
        for each in self._events:
            if each.position > position:
                break
            if isinstance(each.body, ThrowRecorded):
                faces.append(each.body.outcome if each.body.void else each.body.raw)
            elif isinstance(each.body, OutcomeCorrected) and faces:
                faces = each.body.outcome.split(",")
        return faces or None

    def _thrown(self, bet: UUID, standing: Standing, lay: _Lay, faces: list[str]) -> Decided | None:
        from ledger.rules import COME_OUT, Wager, settle, state_after

        regulation, state, valid = self._regulation, COME_OUT, 0
        spot = regulation.spot_in_play(lay.spot)
        for face in faces:
            if face == "void":
                continue
            outcome = regulation.outcome(face)
            if valid >= lay.after:
                wager = Wager(bet, spot, int(standing.stake))
                unit = int(self._opened.payable_unit)
                [resolution] = settle(regulation, outcome, [wager], payable_unit=unit, state=state)
                if resolution.result != "stands":
                    return Decided(outcome, resolution, state)
                spot = regulation.spot_in_play(resolution.payoff.moves_to or spot.text)
            state, valid = state_after(state, outcome), valid + 1
        return None

    # Where the bet lay.

    def _lay(self, bet: BetView) -> _Lay:
        """Where its player put the bet last, and after how many valid throws."""
        from ledger.events import BetChanged, BetPlaced, BetsCarried, BettingClosed, ThrowRecorded
        from ledger.events.body import numbering

        lay, valid, before_close = _Lay(bet.spot, 0), 0, 0
        placed: BetPlaced | None = None
        closes: list[tuple[BettingClosed, int]] = []
        for each in self._events:
            body = each.body
            if isinstance(body, ThrowRecorded):
                valid += body.void is None
            elif isinstance(body, BettingClosed):
                closes.append((body, valid))
            elif isinstance(body, BetPlaced | BetChanged) and body.bet == bet.bet:
                lay = _Lay(body.spot, valid)
                placed = body if isinstance(body, BetPlaced) else placed
            elif isinstance(body, BetsCarried):
                lay = next((_Lay(carried.spot, valid) for carried in body.bets if carried.bet == bet.bet), lay)
        if placed is None or not placed.late or placed.sequence is None:
            return lay
        # Received late: by its terminal's numbers it was placed before the first close with a higher one.
        own = numbering(placed.terminal, placed.epoch)
        for close, before_close in closes:
            if numbering(close.terminal, close.epoch) == own and (close.sequence or 0) > placed.sequence:
                return lay._replace(after=before_close)
        return lay

    def _first(self, bet: BetView) -> int | None:
        """Position of the event that decided the bet first; None where a correction did."""
        from ledger.events import OutcomeRecorded, PayoutMade, ThrowRecorded

        for each in self._events:
            body = each.body
            if isinstance(body, PayoutMade) and body.bet == bet.bet:
                return each.position
            if isinstance(body, OutcomeRecorded | ThrowRecorded) and any(line.bet == bet.bet for line in body.lost):
                return each.position
        return None


class _Lay(NamedTuple):
    """Where a bet lay, and how many valid throws of the round there had been by then."""

    spot: str
    after: int


def _standing(bet: BetView) -> Standing:
    """What is true of a bet that no correction has changed."""
    from ledger.events import Standing

    return Standing(
        player=bet.player,
        spot=bet.spot,
        stake=bet.stake,
        result=bet.result or "open",
        odds=bet.odds or "0",
        prize_exact=bet.prize_exact or "0",
        prize=bet.prize or "0",
        commission=bet.commission or "0",
        breakage=bet.breakage or "0",
        net_prize=bet.net_prize or "0",
        returned=bet.returned or "0",
        article=bet.article,
    )


def _differences(standing: Standing, resolution: Resolution, position: int) -> Iterator[str]:
    """Where the log has another figure than the rules give; none, unless somebody's hands were in it."""
    for name in _OF_A_LOST_BET if standing.result == "lost" else _OF_A_PAID_BET:
        given = resolution.wager.stake if name == "stake" else getattr(resolution, name)
        if getattr(standing, name) != str(given):
            yield f"{name} is {getattr(standing, name)} at position {position}, and {given} by the rules"
    if standing.article is not None and standing.article != resolution.cite:
        yield f"article is {standing.article} at position {position}, and {resolution.cite} by the rules"
