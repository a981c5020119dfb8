"""The outcome, and with it the settlement."""

from __future__ import annotations

from typing import Any, cast

from ledger.errors import Refusal
from ledger.events import LostBet, OutcomeRecorded, PayoutMade, RoundSettled
from ledger.round.bets import Bet
from ledger.round.state import RoundState, Status
from ledger.round.terms import Origin
from ledger.round.trying import succeeds
from ledger.rules import Regulation, Resolution, Wager, settle


class Settling(RoundState):
    """What the table showed, and what becomes of every bet by it."""

    __slots__ = ()

    # The outcome, and with it the settlement.

    def verify_outcome(self) -> None:
        """Raises unless betting is closed and no outcome stands."""
        _ = self.terms
        if self.status is Status.BETTING:
            raise Refusal(
                "LGR-0205", "the outcome came before betting closed", value=str(self.id), help="close betting, then send it again"
            )
        if self.status is Status.SETTLED:
            raise Refusal(
                "LGR-0206",
                f"this round's outcome is {self.outcome} and it is settled",
                field="outcome",
                value=self.outcome,
                help="a wrong outcome is corrected by an approved correction, never by a second outcome",
            )

    def can_record_outcome(self) -> bool:
        """Whether `record_outcome` would succeed with an outcome that the table can show."""
        return succeeds(self.verify_outcome)

    def record_outcome(self, regulation: Regulation, raw: str, origin: Origin) -> None:
        """Records what the table showed and settles every bet: losers, then payouts in the article's order, then the totals.

        All of it is decided here and stored in one append, so there is no moment in which a winner is unpaid.
        """
        self.verify_outcome()
        outcome = regulation.outcome(raw)
        terms = self.terms
        wagers = [Wager(bet, regulation.spot(bet.spot), bet.stake) for bet in self.bets.values()]
        resolutions = settle(regulation, outcome, wagers, payable_unit=int(terms.payable_unit))
        by_result: dict[str, list[Resolution]] = {"lost": [], "won": [], "push": [], "stands": []}
        for resolution in resolutions:
            by_result[resolution.payoff.result].append(resolution)
        if by_result["stands"]:
            standing = dict.fromkeys(resolution.wager.spot.text for resolution in by_result["stands"])
            raise Refusal(
                "LGR-0409",
                f"after this outcome the round has bets that neither won nor lost: {', '.join(standing)}",
                field="outcome",
                value=raw,
                help="record all that the table showed until every bet is decided, as one outcome",
            )
        lost, won = by_result["lost"], by_result["won"]
        paid = [resolution for resolution in resolutions if not resolution.payoff.lost] if by_result["push"] else won
        by = origin._asdict()
        self._happen(
            OutcomeRecorded(
                **by,
                raw=raw,
                outcome=outcome.text,
                shown=outcome.shown,
                currency=terms.currency,
                lost=tuple([self._lost(resolution) for resolution in lost]),
            )
        )
        for resolution in paid:
            self._happen(PayoutMade(**by, **self._paid(resolution, terms.currency)))
        self._happen(
            RoundSettled(
                **by,
                currency=terms.currency,
                bets=len(resolutions),
                handle=str(sum([r.wager.stake for r in lost]) + sum([r.wager.stake for r in won])),
                prizes=str(sum([r.prize for r in paid])),
                commission=str(sum([r.commission for r in paid])),
                breakage=str(sum([r.breakage for r in paid])),
                returned=str(sum([r.returned for r in paid])),
            )
        )

    def _lost(self, resolution: Resolution) -> LostBet:
        key, spot, _ = resolution.wager
        bet = cast(Bet, key)
        return LostBet(
            bet=bet.id, player=bet.player, spot=spot.text, stake=str(bet.stake), edge=str(spot.edge), article=resolution.cite
        )

    def _paid(self, resolution: Resolution, currency: str) -> dict[str, Any]:
        key, spot, _ = resolution.wager
        bet = cast(Bet, key)
        return {
            "bet": bet.id,
            "player": bet.player,
            "spot": spot.text,
            "result": resolution.result,
            "currency": currency,
            "stake": str(bet.stake),
            "odds": str(resolution.odds),
            "prize_exact": str(resolution.prize_exact),
            "prize": str(resolution.prize),
            "commission": str(resolution.commission),
            "breakage": str(resolution.breakage),
            "net_prize": str(resolution.net_prize),
            "returned": str(resolution.returned),
            "edge": str(spot.edge),
            "article": resolution.cite,
        }
