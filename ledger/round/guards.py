"""What several decisions ask before they ask anything else."""

from __future__ import annotations

from uuid import UUID

from ledger.errors import Refusal
from ledger.round.bets import Bet, Hold
from ledger.round.order import verify_order
from ledger.round.state import CRAPS, RoundState, Status
from ledger.round.terms import Origin
from ledger.rules import Regulation

_STANDS = {
    Status.BETTING: "betting is open",
    Status.CLOSED: "betting is closed",
    Status.SETTLED: "the round is settled",
    Status.CARRIED: "the round was void, and the next one has its bets",
    Status.RETURNED: "the house ended the round and gave the stakes back",
}


class Guards(RoundState):
    """The refusals that several decisions share."""

    __slots__ = ()

    @property
    def stands(self) -> str:
        """Where the round stands, in words."""
        return _STANDS[self.status]

    def verify_game(self, *, craps: bool, help: str) -> None:
        """Raises Refusal LGR-0217 unless the round is of craps (or, with False, of another game); `help` is the way out."""
        if (self.terms.game == CRAPS) is not craps:
            raise Refusal("LGR-0217", f"this is not reported of {self.terms.game}", value=str(self.id), help=help)

    def verify_undecided(self) -> None:
        """Raises unless betting is closed and the round has neither been settled nor ended otherwise, nor is it held."""
        _ = self.terms
        if self.status is Status.BETTING:
            raise Refusal(
                "LGR-0205", "betting is still open", value=str(self.id), help="close betting, then send the same event again"
            )
        if self.status is Status.SETTLED:
            raise Refusal(
                "LGR-0206",
                f"this round's outcome is {self.outcome} and it is settled",
                field="outcome",
                value=self.outcome,
                help="a wrong outcome is corrected by an approved correction, never by a second outcome",
            )
        if self.status.ended:
            raise self._over(None, str(self.id))
        for hold in self.open_holds:
            raise self._under(hold)

    def verify_after_bell(self, origin: Origin) -> None:
        """Raises Refusal LGR-0205, for good, where the terminal that closed betting had numbered the report before its bell.

        Whatever it waited for, it says nothing of the bets that were placed between it and the bell.
        """
        if self.status is Status.CLOSED:
            verify_order(origin, self.closed_by, self.epochs, "LGR-0205", "before the bell, when betting was still open", self.id)

    def verify_known_bet(self, bet: UUID) -> Bet:
        """The bet with this id, open or not. Raises Refusal LGR-0212 where the round has none."""
        found = self.bets.get(bet) or self.gone.get(bet)
        if found is None:
            _ = self.terms
            raise Refusal(
                "LGR-0212",
                "the round has no bet of this id",
                field="bet",
                value=str(bet),
                help="a bet's id is the event id with which it was placed; send that event first",
            )
        return found

    def number_of(self, regulation: Regulation, bet: Bet, *, either_side: bool = False) -> object:
        """Craps: the number on which an open bet with the shooter waits, after which it is bound; None of any other bet.

        `either_side`: and that of a bet against the shooter, who has the advantage from then on. Its player may take it back.
        """
        if self.terms.game != CRAPS or bet.decided is not None:
            return None
        spot = regulation.spot_in_play(bet.spot)
        code = spot.chance.code.removeprefix("dont_") if either_side else spot.chance.code
        if code == "pass":
            return self.state.point or None
        return spot.selection if code == "come" and spot.travelled else None

    def _over(self, field: str | None, value: str) -> Refusal:
        successor = "" if self.successor is None else f": {self.successor}"
        return Refusal("LGR-0223", f"{self.stands}{successor}", field=field, value=value, help="go on with the next round")

    def _under(self, hold: Hold) -> Refusal:
        what = "the round" if hold.held.bet is None else f"bet {hold.held.bet}"
        return Refusal(
            "LGR-0215",
            f"{what} is held for review ({hold.held.reason})",
            value=str(hold.held.hold),
            help="release the hold with its finding, then send the same event again",
        )
