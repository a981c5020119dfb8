"""The bell: betting closes; in craps it opens again between two throws, and another player may throw."""

from __future__ import annotations

from ledger.errors import Refusal
from ledger.events import BettingClosed, BettingReopened, BetVoided, LateBetRecorded, ShooterChanged
from ledger.round.bets import Bet
from ledger.round.guards import Guards
from ledger.round.order import precedes, precedes_in_epoch, verify_order
from ledger.round.state import Status
from ledger.round.terms import Origin
from ledger.round.trying import succeeds
from ledger.rules import Regulation

AFTER_THE_BELL = "placed_after_bell"
"""The reason of a bet that its terminal placed after its bell, and that was here before the bell."""


class Bell(Guards):
    """When bets are taken."""

    __slots__ = ()

    def verify_close(self) -> None:
        """Raises unless betting is open."""
        _ = self.terms
        if self.status is not Status.BETTING:
            raise Refusal("LGR-0204", f"betting cannot be closed: {self.stands} already", value=str(self.id))

    def can_close(self) -> bool:
        """Whether `close_betting` would succeed."""
        return succeeds(self.verify_close)

    def close_betting(self, regulation: Regulation, origin: Origin) -> None:
        """The bell: no bet is accepted, changed or withdrawn from here on.

        A bet that its terminal numbered after this bell, and that came here before it, was placed late: its stake goes back, and
        it is on record as chips that came after the bell. One that is held stays, and its review finds what becomes of it.
        """
        self._verify_first_bell(origin)
        self.verify_close()
        verify_order(origin, self.reopened, self.epochs, "LGR-0204", "before betting was opened again", self.id)
        said, currency, late = origin._asdict(), self.terms.currency, self._placed_after(origin)
        for bet in late:
            self._happen(
                BetVoided(
                    **said,
                    bet=bet.id,
                    player=bet.player,
                    spot=bet.spot,
                    stake=str(bet.stake),
                    currency=currency,
                    reason=AFTER_THE_BELL,
                )
            )
        self._happen(BettingClosed(**said))
        for bet in late:
            assert bet.number is not None
            self._happen(
                LateBetRecorded(
                    **said,
                    player=bet.player,
                    seat=bet.seat,
                    spot=bet.spot,
                    stake=str(bet.stake),
                    currency=currency,
                    article=regulation.cite(regulation.articles.get("closing")),
                    note=f"bet {bet.id}, which its terminal numbered {bet.number.sequence}, after the bell",
                )
            )

    def _placed_after(self, bell: Origin) -> list[Bet]:
        """The open bets of this time of betting that the terminal of the bell had numbered after it, in the same epoch.

        Only those: an epoch is a clock's, and a bet that was taken goes back on proof alone. One that is held for review is left
        to its finding.
        """
        held = {hold.held.bet for hold in self.open_holds}
        return [
            bet
            for bet in self.open_bets
            if bet.number is not None
            and bet.placed_in_time == len(self.windows)
            and precedes_in_epoch(bell, bet.number)
            and not bet.late
            and bet.id not in held
        ]

    def _verify_first_bell(self, origin: Origin) -> None:
        """Raises Refusal LGR-0204 for a bell that its terminal numbered before the one that closed betting.

        It stays refused, for what was placed between the two has been played with since; the answer names those bets.
        """
        if self.status is Status.CLOSED and precedes(origin, self.closed_by, self.epochs):
            between = [
                str(bet.id) for bet in self.open_bets if bet.number is not None and precedes(origin, bet.number, self.epochs)
            ]
            raise Refusal(
                "LGR-0204",
                f"betting cannot be closed: {self.stands} already, by a bell that its terminal numbered later",
                value=str(self.id),
                help=f"placed after this bell: {', '.join(between)}; put each right by a correction of kind bet_void"
                if between
                else None,
            )

    def verify_reopening(self) -> None:
        """Raises unless the round is one of craps between two throws, with betting closed."""
        self.verify_game(craps=True, help="betting opens with the next round")
        if self.status.ended:
            raise self._over(None, str(self.id))
        if self.status is Status.BETTING:
            raise Refusal("LGR-0221", "betting is open already", value=str(self.id))
        if not self.thrown:
            raise Refusal(
                "LGR-0218",
                "betting was closed for a throw that has not been recorded",
                value=str(self.id),
                help="record the throw, or that it was void; then send the same event again",
            )

    def can_reopen(self) -> bool:
        """Whether `reopen_betting` would succeed."""
        return succeeds(self.verify_reopening)

    def reopen_betting(self, origin: Origin) -> None:
        """Craps: bets are taken again, between two throws."""
        self.verify_reopening()
        verify_order(origin, self.closed_by, self.epochs, "LGR-0218", "before the bell, when betting was still open", self.id)
        verify_order(origin, self.threw, self.epochs, "LGR-0218", "before the throw", self.id)
        self._happen(BettingReopened(**origin._asdict()))

    def verify_shooter(self, shooter: str) -> None:
        """Raises unless the round is one of craps, goes on, and somebody else has thrown until now."""
        self.verify_game(craps=True, help="only the dice of craps are thrown by a player")
        if self.status.ended:
            raise self._over("shooter", shooter)
        if shooter == self.shooter:
            raise Refusal("LGR-0222", f"{shooter} has the dice already", field="shooter", value=shooter)

    def can_change_shooter(self, shooter: str) -> bool:
        """Whether `change_shooter` would succeed."""
        return succeeds(self.verify_shooter, shooter)

    def change_shooter(self, shooter: str, origin: Origin) -> None:
        """Craps: who throws from now on (53/2010 art. 4). No money moves."""
        self.verify_shooter(shooter)
        self._happen(ShooterChanged(**origin._asdict(), shooter=shooter, was=self.shooter))
