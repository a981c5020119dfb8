"""The bell: betting closes; in craps it opens again between two throws, and another player may throw."""

from __future__ import annotations

from ledger.errors import Refusal
from ledger.events import BettingClosed, BettingReopened, ShooterChanged
from ledger.round.guards import Guards
from ledger.round.order import verify_order
from ledger.round.state import Status
from ledger.round.terms import Origin
from ledger.round.trying import succeeds


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

    def close_betting(self, origin: Origin) -> None:
        """The bell: no bet is accepted, changed or withdrawn from here on."""
        self.verify_close()
        verify_order(origin, self.reopened, "LGR-0204", "before betting was opened again", self.id)
        self._happen(BettingClosed(**origin._asdict()))

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
        verify_order(origin, self.closed_by, "LGR-0218", "before the bell, when betting was still open", self.id)
        verify_order(origin, self.threw, "LGR-0218", "before the throw", self.id)
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
