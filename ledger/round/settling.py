"""The outcome, and with it the settlement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from ledger.events import LostBet, OutcomeRecorded, PayoutMade, RoundSettled, Standing
from ledger.round.bets import Bet
from ledger.round.guards import Guards
from ledger.round.terms import Origin
from ledger.round.trying import succeeds
from ledger.rules import Regulation, Resolution, Wager, settle


class Settling(Guards):
    """What the table showed, and what becomes of every bet by it: one outcome decides all."""

    __slots__ = ()

    def verify_outcome(self) -> None:
        """Raises unless betting is closed, no outcome stands, and the game has one outcome a round."""
        self.verify_game(
            craps=False,
            help="report each throw by itself, with both faces (roundledger.ThrowRecorded.v1); the last one settles the round",
        )
        self.verify_undecided()

    def can_record_outcome(self) -> bool:
        """Whether `record_outcome` would succeed with an outcome that the table can show."""
        return succeeds(self.verify_outcome)

    def record_outcome(self, regulation: Regulation, raw: str, origin: Origin) -> None:
        """Records what the table showed and settles every bet: losers, then payouts in the article's order, then the totals.

        All of it is decided here and stored in one append, so there is no moment in which a winner is unpaid.
        """
        self.verify_outcome()
        self.verify_after_bell(origin)
        outcome = regulation.outcome(raw)
        terms = self.terms
        wagers = [Wager(bet, regulation.spot(bet.spot), bet.stake) for bet in self.bets.values() if bet.decided is None]
        resolutions = settle(regulation, outcome, wagers, payable_unit=int(terms.payable_unit))
        lost = [resolution for resolution in resolutions if resolution.payoff.lost]
        paid = resolutions[len(lost) :]  # losers come first
        by = origin._asdict()
        self._happen(
            OutcomeRecorded(
                **by,
                raw=raw,
                outcome=outcome.text,
                shown=outcome.shown,
                currency=terms.currency,
                lost=lost_bets(lost),
            )
        )
        for resolution in paid:
            self._happen(PayoutMade(**by, **payout(resolution, terms.currency)))
        self._happen(
            RoundSettled(
                **by,
                currency=terms.currency,
                bets=len(resolutions),
                handle=str(sum([r.wager.stake for r in resolutions if r.payoff.result != "push"])),
                prizes=str(sum([r.prize for r in paid])),
                commission=str(sum([r.commission for r in paid])),
                breakage=str(sum([r.breakage for r in paid])),
                returned=str(sum([r.returned for r in paid])),
            )
        )


def lost_bets(lost: Iterable[Resolution]) -> tuple[LostBet, ...]:
    """The losers as the events name them, in the order given."""
    lines = []
    for resolution in lost:
        key, spot, _ = resolution.wager
        bet = cast(Bet, key)
        lines.append(
            LostBet(
                bet=bet.id, player=bet.player, spot=spot.text, stake=str(bet.stake), edge=str(spot.edge), article=resolution.cite
            )
        )
    return tuple(lines)


def payout(resolution: Resolution, currency: str) -> dict[str, Any]:
    """The fields of one winner's or push's PayoutMade, besides those that every event has."""
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


def totals(standings: Iterable[Standing]) -> dict[str, Any]:
    """The totals of a round over what is true of its bets, as RoundSettled and RoundResettled give them.

    Bets that are open or void are none of a settlement; a push is resolved, but its stake is no handle.
    """
    resolved = [each for each in standings if each.result in ("lost", "won", "push")]
    paid = [each for each in resolved if each.result != "lost"]
    return {
        "bets": len(resolved),
        "handle": str(sum(int(each.stake) for each in resolved if each.result != "push")),
        "prizes": str(sum(int(each.prize) for each in paid)),
        "commission": str(sum(int(each.commission) for each in paid)),
        "breakage": str(sum(int(each.breakage) for each in paid)),
        "returned": str(sum(int(each.returned) for each in paid)),
    }
