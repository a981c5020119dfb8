"""The round: one coup at one table, the aggregate of the ledger.

A round decides whether something may happen (`verify_…` raises the reason, `can_…` answers, the bare verb does it) and says it
in events; its state is what its events say and nothing else. It is an `eventsourcing` aggregate by protocol: envelopes with a
`mutate`, an id, a version, `collect_events()`. The rules come in as an argument: the round knows its state, the regulation
knows the money.

Void, correction, dispute and the throws of craps join here with their events; the places are `Status` and `Round.apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime
from enum import Enum
from typing import Any, NamedTuple, cast
from uuid import UUID

from ledger import money
from ledger.errors import Refusal
from ledger.events import (
    BetPlaced,
    BettingClosed,
    Event,
    LostBet,
    OutcomeRecorded,
    PayoutMade,
    RoundOpened,
    RoundSettled,
)
from ledger.rules import Regulation, Resolution, Spot, Wager, settle


class Status(Enum):
    """Where a round stands."""

    BETTING = "betting open"
    CLOSED = "betting closed"
    SETTLED = "settled"


_STANDS = {
    Status.BETTING: "betting is open",
    Status.CLOSED: "betting is closed already",
    Status.SETTLED: "it is settled already",
}


class Origin(NamedTuple):
    """Who reported an event, under which id, and when; every event carries it."""

    cause: UUID
    terminal: str
    sequence: int | None
    occurred_at: datetime
    received_at: datetime
    epoch: int | None = None
    by: str | None = None
    flags: tuple[str, ...] = ()


class Terms(NamedTuple):
    """What a round is played under, fixed when it opens."""

    property: str
    property_hash: str
    pit: str
    table: str
    currency: str
    payable_unit: int
    """Minor units."""
    regulation: Regulation
    applied: str | None
    gaming_day: date
    shift: str | None = None
    dealer: str | None = None
    supervisor: str | None = None


class RoundEvent:
    """An event in its place: the envelope that `eventsourcing` stores and replays."""

    __slots__ = ("body", "originator_id", "originator_version")

    def __init__(self, originator_id: UUID, originator_version: int, body: Event) -> None:
        self.originator_id = originator_id
        self.originator_version = originator_version
        self.body = body

    def mutate(self, aggregate: Round | None) -> Round:
        """The round after this event (`eventsourcing`: CanMutateProtocol)."""
        round_ = aggregate if aggregate is not None else Round(self.originator_id)
        round_.apply(self.body)
        return round_


class Bet(NamedTuple):
    """A bet that stands: who, on what, how much (minor units)."""

    id: UUID
    player: str
    spot: str
    stake: int


class Round:
    """One round; see the module's text. Not thread-safe: one writer holds it."""

    __slots__ = ("_pending", "bets", "id", "opened", "outcome", "status", "version")

    def __init__(self, id: UUID) -> None:
        self.id = id
        self.version = 0
        self.status = Status.BETTING
        self.opened: RoundOpened | None = None
        self.bets: dict[UUID, Bet] = {}
        self.outcome: str | None = None
        self._pending: list[RoundEvent] = []

    # The state, event by event.

    def apply(self, body: Event) -> None:
        """Changes the state by one event that has happened; decides nothing."""
        self.version += 1
        match body:
            case BetPlaced():
                self.bets[body.bet] = Bet(body.bet, body.player, body.spot, int(body.stake))
            case RoundOpened():
                self.opened = body
            case BettingClosed():
                self.status = Status.CLOSED
            case OutcomeRecorded():
                self.outcome = body.outcome
            case PayoutMade():
                pass
            case RoundSettled():
                self.status = Status.SETTLED
            case _:
                raise Refusal("LGR-0504", f"a round has no event {type(body).__name__}", value=str(self.id))

    def fold(self, happened: Iterable[Event]) -> None:
        """Changes the state by events that have happened, in order."""
        for body in happened:
            self.apply(body)

    def collect_events(self) -> list[RoundEvent]:
        """The events decided since the last call, in order (`eventsourcing`: CollectEventsProtocol)."""
        pending, self._pending = self._pending, []
        return pending

    def _happen(self, body: Event) -> None:
        self.apply(body)
        self._pending.append(RoundEvent(self.id, self.version, body))

    @property
    def terms(self) -> RoundOpened:
        """The opening event; a round without one has never been read from the log."""
        if self.opened is None:
            raise Refusal("LGR-0202", "no such round", value=str(self.id), help="open the round first")
        return self.opened

    # Opening.

    @classmethod
    def open(cls, id: UUID, terms: Terms, origin: Origin) -> Round:
        """A new round with betting open."""
        round_ = cls(id)
        round_._happen(
            RoundOpened(
                **origin._asdict(),
                property=terms.property,
                pit=terms.pit,
                table=terms.table,
                game=terms.regulation.game,
                currency=terms.currency,
                payable_unit=str(terms.payable_unit),
                regulation=terms.regulation.order,
                regulation_hash=terms.regulation.sha256,
                property_hash=terms.property_hash,
                applied=terms.applied,
                gaming_day=terms.gaming_day,
                shift=terms.shift,
                dealer=terms.dealer,
                supervisor=terms.supervisor,
            )
        )
        return round_

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
        return _succeeds(lambda: self.verify_bet(regulation, bet, spot, stake, currency))

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
        return _succeeds(self.verify_close)

    def close_betting(self, origin: Origin) -> None:
        """The bell: no bet is accepted, changed or withdrawn from here on."""
        self.verify_close()
        self._happen(BettingClosed(**origin._asdict()))

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
        return _succeeds(self.verify_outcome)

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


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except Refusal:
        return False
    return True
