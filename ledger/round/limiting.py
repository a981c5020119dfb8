"""The table's limits, held against a round's open bets."""

from __future__ import annotations

from ledger.limits import Book
from ledger.round.state import RoundState
from ledger.rules import Regulation, Spot

_Lying = tuple[str, Spot, int]
"""Player, spot and stake."""


class Limiting(RoundState):
    """The book of the open bets, for a table with limits."""

    __slots__ = ()

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
