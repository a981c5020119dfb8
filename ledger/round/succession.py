"""The round that takes over the bets of the one before: opened, and given them, in the append that ended it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple
from uuid import UUID

import msgspec

from ledger.errors import Refusal
from ledger.events import BetsCarried, CarriedBet
from ledger.round.bets import Bet
from ledger.round.guards import Guards
from ledger.round.terms import Origin
from ledger.rules import Regulation


class Successor(NamedTuple):
    """What a successor has of its own. All else it has from the round before: a carried bet keeps the rules and the limits by
    which it was placed, the currency and the payable unit in which it is paid."""

    id: UUID
    gaming_day: date
    dealer: str | None = None
    supervisor: str | None = None


class Succession(Guards):
    """What a round hands on, and how the next one takes it."""

    __slots__ = ()

    def verify_successor(self, successor: Successor | None, why: str) -> Successor:
        """The successor, where one is named that is not this round. Raises Refusal LGR-0216 otherwise; `why` it is needed."""
        if successor is None:
            raise Refusal(
                "LGR-0216",
                f"the report names no next round, and {why}",
                field="successor",
                help="make an id for the next round and send the event with it; the ledger then opens that round by itself",
            )
        if successor.id == self.id:
            raise Refusal("LGR-0216", "a round does not follow itself", field="successor", value=str(successor.id))
        return successor

    def _begin(self, before: Guards, successor: Successor, origin: Origin) -> None:
        """The first event of a successor."""
        own = {**origin._asdict(), **successor._asdict()}
        del own["id"]
        self._happen(msgspec.structs.replace(before.terms, **own))
        self.limits = before.limits

    def take_over(
        self, regulation: Regulation, origin: Origin, bets: Iterable[Bet], *, from_round: UUID, locked: bool, article: str | None
    ) -> None:
        """Takes over bets from a round that has ended. No money moves."""
        self._happen(
            BetsCarried(
                **origin._asdict(),
                from_round=from_round,
                locked=locked,
                article=regulation.cite(article),
                currency=self.terms.currency,
                bets=tuple(
                    CarriedBet(
                        bet=bet.id,
                        player=bet.player,
                        seat=bet.seat,
                        spot=bet.spot,
                        numbers=regulation.spot_in_play(bet.spot).numbers,
                        stake=str(bet.stake),
                        chip=bet.chip,
                        placed_in=bet.placed_in,
                    )
                    for bet in bets
                ),
            )
        )
