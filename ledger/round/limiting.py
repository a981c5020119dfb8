"""The table's limits, held against a round's open bets."""

from __future__ import annotations

from ledger.limits import Book
from ledger.round.bets import Window
from ledger.round.replay import thrown_again
from ledger.round.state import RoundState
from ledger.rules import Exposure, Regulation, Spot

_Lying = tuple[str, Spot, int]
"""Player, spot and stake."""


class Limiting(RoundState):
    """The book of the open bets, for a table with limits."""

    __slots__ = ()

    def exposure(self, regulation: Regulation) -> int:
        """The most that the table can lose on the open bets, as its limit counts it; also where it has no limit."""
        exposure = Exposure(regulation, payable_unit=int(self.terms.payable_unit), state=self.state)
        for bet in self.open_bets:
            exposure.add(regulation.spot_in_play(bet.spot), bet.stake)
        return exposure.worst

    def over_limits(self, regulation: Regulation) -> tuple[str, ...]:
        """The limits of the table as a whole above which the open bets stand; none where it has no limits."""
        return () if self.limits is None else self._book_of(regulation).over

    def _book_of(self, regulation: Regulation) -> Book:
        """The book as the round stands. What kept it in step were bets alone: after anything else it is made anew."""
        limits = self.limits
        assert limits is not None
        if self.book is None or self.booked != self.version or self.book.limits is not limits:
            self.book = Book(limits, regulation, payable_unit=int(self.terms.payable_unit), state=self.state)
            for bet in self.open_bets:
                self.book.add(bet.player, regulation.spot_in_play(bet.spot), bet.stake)
            self.booked = self.version
        return self.book

    def _recount(self, *, went: _Lying | None = None, came: _Lying | None = None) -> None:
        """A bet has come, gone or changed by the event before: the book keeps in step."""
        if self.book is not None and self.booked == self.version - 1:
            if went is not None:
                self.book.remove(*went)
            if came is not None:
                self.book.add(*came)
            self.booked = self.version

    def _had(self, regulation: Regulation, player: str, spot: Spot, window: Window | None = None) -> int:
        """What the player had on the spot when betting closed (of craps: in that window), in minor units and as last corrected.

        What was decided or carried on since counts, what was taken back or void does not. It is read off the bets themselves, so
        that whoever reads the round from the log finds the same.
        """
        bets = [bet for bet in (*self.bets.values(), *self.gone.values()) if bet.left == "carried" or bet.result != "void"]
        if window is None or not self.throws:
            return sum(bet.last_stake for bet in bets if bet.player == player and bet.placed_on == spot.text)
        bets += [bet for bet in self.gone.values() if bet.left != "carried"]  # they lay there until they were taken back
        valid = [throw for throw in self.throws if throw != "void"][: window.throws]
        throws = regulation.outcome(",".join(valid)).throws if valid else ()
        lay = thrown_again(regulation, throws, bets, 1, ())
        return sum(
            int(each.stake) for each in lay.values() if (each.result, each.player, each.spot) == ("open", player, spot.text)
        )
