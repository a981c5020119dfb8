"""Bets, as long as they are taken; and the bell."""

from __future__ import annotations

from uuid import UUID

from ledger import money
from ledger.errors import Refusal
from ledger.events import BetPlaced, BettingClosed
from ledger.round.state import RoundState, Status
from ledger.round.terms import Origin
from ledger.round.trying import succeeds
from ledger.rules import Regulation, Spot

_STANDS = {
    Status.BETTING: "betting is open",
    Status.CLOSED: "betting is closed already",
    Status.SETTLED: "it is settled already",
    Status.CARRIED: "it was void, and the next round has its bets",
    Status.RETURNED: "the house ended it and gave the stakes back",
}


class Betting(RoundState):
    """What may happen to bets before the bell."""

    __slots__ = ()

    # Betting.

    def verify_bet(self, regulation: Regulation, bet: UUID, spot: str, stake: str, currency: str) -> tuple[Spot, int]:
        """The spot and the stake (minor units) of a bet that may be placed; raises the reason otherwise."""
        terms = self.terms
        if self.status is not Status.BETTING:
            raise Refusal(
                "LGR-0204",
                f"no more bets are taken on this round: {_STANDS[self.status]}",
                field="spot",
                value=spot,
                help="return the chips to the player, or place the bet on the next round",
                cite=regulation.cite(regulation.articles.get("closing")),
            )
        if bet in self.bets:
            raise Refusal("LGR-0209", "a bet with this id stands already", field="id", value=str(bet))
        if currency != terms.currency:
            money.minor_digits(currency)
            raise Refusal(
                "LGR-0208",
                f"table {terms.table} takes {terms.currency}",
                field="currency",
                value=currency,
                help=f"exchange the chips; stakes at this table are in {terms.currency}",
            )
        return regulation.spot(spot), money.parse_minor(stake, field="stake")

    def can_bet(self, regulation: Regulation, bet: UUID, spot: str, stake: str, currency: str) -> bool:
        """Whether `place_bet` would succeed."""
        return succeeds(self.verify_bet, regulation, bet, spot, stake, currency)

    def place_bet(
        self,
        regulation: Regulation,
        bet: UUID,
        origin: Origin,
        *,
        player: str,
        spot: str,
        stake: str,
        currency: str,
        seat: int | None = None,
        chip: str = "cash",
    ) -> None:
        """Places one bet: `spot` in bet notation, `stake` in minor units of the round's currency."""
        placed, amount = self.verify_bet(regulation, bet, spot, stake, currency)
        self._happen(
            BetPlaced(  # of all events the one that has to be quick: a dict between would take longer than the rest
                cause=origin.cause,
                terminal=origin.terminal,
                sequence=origin.sequence,
                occurred_at=origin.occurred_at,
                received_at=origin.received_at,
                epoch=origin.epoch,
                by=origin.by,
                flags=origin.flags,
                bet=bet,
                player=player,
                seat=seat,
                spot=placed.text,
                numbers=placed.numbers,
                stake=str(amount),
                currency=currency,
                chip=chip,
            )
        )

    # No more bets.

    def verify_close(self) -> None:
        """Raises unless betting is open."""
        if self.opened is None or self.status is not Status.BETTING:
            _ = self.terms
            raise Refusal("LGR-0204", f"betting cannot be closed: {_STANDS[self.status]}", value=str(self.id))

    def can_close(self) -> bool:
        """Whether `close_betting` would succeed."""
        return succeeds(self.verify_close)

    def close_betting(self, origin: Origin) -> None:
        """The bell: no bet is accepted, changed or withdrawn from here on."""
        self.verify_close()
        self._happen(BettingClosed(**origin._asdict()))
