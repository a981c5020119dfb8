"""The quick look: whether a round is as plain as most, and all of it right.

Most rounds are opened, bet on, closed, decided and paid, and that is all. Of such a round it is enough to lay the lines beside
what each spot pays on the outcome, which is worked out once and then looked up. Whatever is not plain, or not right to the last
letter, is judged with care (`ledger.audit.judging`): here nothing is ever found, only passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ledger.audit.documents import Documents
from ledger.audit.due import by_payoff
from ledger.audit.terms import wrong_moment, wrong_terms
from ledger.errors import Refusal
from ledger.events import (
    BetPlaced,
    BettingClosed,
    OutcomeRecorded,
    PayoutMade,
    Recorded,
    RoundOpened,
    RoundSettled,
)
from ledger.money import MinorUnits, parse_minor
from ledger.rules import Outcome, Regulation, Spot

_MOST = 100_000
"""Results that are kept; then they are worked out anew."""


class Result(NamedTuple):
    """What a stake on a spot comes to under an outcome, as events write it."""

    rank: int
    """Place in the order of payment; -1 where it lost."""
    paid: tuple[str, ...]
    """The fields of its payout, from `spot` on; or spot, stake, edge and article of a loser."""
    stake: MinorUnits
    prize: MinorUnits
    commission: MinorUnits
    breakage: MinorUnits
    returned: MinorUnits
    handle: MinorUnits


class Plain(NamedTuple):
    """What a plain round came to, in minor units of its currency."""

    currency: str
    bets: int
    payouts: int
    handle: MinorUnits
    lost: MinorUnits
    prizes: MinorUnits
    commission: MinorUnits
    breakage: MinorUnits


class _Table:
    """One regulation with one payable unit: what was worked out of it until now."""

    def __init__(self, regulation: Regulation, payable_unit: MinorUnits) -> None:
        self.regulation = regulation
        self.payable_unit = payable_unit
        self.spots: dict[str, Spot] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.results: dict[tuple[str, str, int], Result] = {}

    def spot(self, text: str) -> Spot:
        """The spot. Raises Refusal."""
        found = self.spots[text] = self.regulation.spot(text)
        return found

    def outcome(self, raw: str) -> Outcome:
        """The outcome. Raises Refusal."""
        found = self.outcomes[raw] = self.regulation.outcome(raw)
        return found

    def result(self, key: tuple[str, str, int]) -> Result:
        """What a stake on a spot comes to. Raises Refusal."""
        text, stake, slot = key
        spot = self.regulation.spot(text)
        due = by_payoff(spot, spot.pays[slot], parse_minor(stake), self.payable_unit)
        says = due.standing("")
        if due.result == "lost":
            found = Result(-1, (says.spot, says.stake, says.edge, says.article or ""), due.stake, 0, 0, 0, 0, due.stake)
        else:
            paid: tuple[str, ...] = (says.spot, says.result, says.stake, says.odds, says.prize_exact, says.prize, says.commission)
            paid += (says.breakage, says.net_prize, says.returned, says.edge, says.article or "")
            rank = 0 if due.payoff is None else due.payoff.rank
            handle = 0 if due.result == "push" else due.stake
            found = Result(rank, paid, due.stake, due.prize, due.commission, due.breakage, due.returned, handle)
        if len(self.results) >= _MOST:
            self.results.clear()
        self.results[key] = found
        return found


class Looking:
    """Looks at rounds, with the documents of their log."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._tables: dict[tuple[str, str], _Table] = {}
        self._terms: set[tuple[str, ...]] = set()

    def passes(self, events: Sequence[Recorded]) -> Plain | None:
        """What the round came to where it is plain and right; None where it has to be judged with care."""
        opened = events[0].body
        if type(opened) is not RoundOpened or type(events[-1].body) is not RoundSettled:
            return None
        table = self._table(opened, events[0].position)
        if table is None:
            return None
        try:
            return _passes(events, table, opened.currency)
        except Refusal:
            return None

    def _table(self, opened: RoundOpened, position: int) -> _Table | None:
        terms = (
            *(opened.regulation, opened.regulation_hash, opened.game, opened.property, opened.property_hash),
            *(opened.table, opened.currency, opened.payable_unit, opened.pit),
        )
        if terms not in self._terms:
            if wrong_terms(self._documents, opened):
                return None
            self._terms.add(terms)
        if wrong_moment(self._documents, opened, position):
            return None
        key = (opened.regulation_hash, opened.payable_unit)
        found = self._tables.get(key)
        if found is None:
            regulation = self._documents.regulations[opened.regulation_hash]
            found = self._tables[key] = _Table(regulation, int(opened.payable_unit))
        return found


def _passes(events: Sequence[Recorded], table: _Table, currency: str) -> Plain | None:
    spots, bets = table.spots, dict[int, BetPlaced]()  # by the number of a bet's id: see Gatherer
    position, at, number = events[0].position, 0, len(events)
    while True:  # the bets
        at += 1
        recorded = events[at]
        body = recorded.body
        if recorded.version != at + 1 or recorded.position <= position:
            return None
        position = recorded.position
        if type(body) is not BetPlaced:
            break
        spot = spots.get(body.spot) or table.spot(body.spot)
        id_ = body.bet.int
        if spot.numbers != body.numbers or spot.text != body.spot or body.late or body.currency != currency or id_ in bets:
            return None
        bets[id_] = body
    if type(body) is not BettingClosed or at + 2 >= number:
        return None
    recorded = events[at + 1]
    shown = recorded.body
    if type(shown) is not OutcomeRecorded or shown.currency != currency or recorded.version != at + 2:
        return None
    if recorded.position <= position:
        return None
    outcome = table.outcomes.get(shown.raw) or table.outcome(shown.raw)
    if outcome.text != shown.outcome or outcome.shown != shown.shown or outcome.throws:
        return None
    return _settled(events, at + 2, recorded.position, table, bets, shown, outcome.slot, currency)


def _settled(
    events: Sequence[Recorded],
    at: int,
    position: int,
    table: _Table,
    bets: dict[int, BetPlaced],
    shown: OutcomeRecorded,
    slot: int,
    currency: str,
) -> Plain | None:
    """The losers as the outcome names them, then every payout in its order, then the totals, and nothing more."""
    results = table.results
    winners: list[tuple[int, int, BetPlaced, Result]] = []
    lines, taken, lost = shown.lost, 0, 0
    handle = prizes = commission = breakage = returned = 0
    for id_, bet in bets.items():
        key = (bet.spot, bet.stake, slot)
        result = results.get(key) or table.result(key)
        if result.rank >= 0:
            winners.append((result.rank, id_, bet, result))
            continue
        if taken == len(lines):
            return None
        line = lines[taken]
        taken += 1
        if line.bet.int != id_ or line.player != bet.player or (line.spot, line.stake, line.edge, line.article) != result.paid:
            return None
        lost += result.stake
    if taken != len(lines) or at + len(winners) + 1 != len(events):
        return None
    winners.sort(key=_rank)
    for _, id_, bet, result in winners:
        recorded = events[at]
        paid = recorded.body
        at += 1
        if (
            type(paid) is not PayoutMade
            or paid.bet.int != id_
            or paid.player != bet.player
            or paid.currency != currency
            or recorded.version != at
            or recorded.position <= position
            or (
                *(paid.spot, paid.result, paid.stake, paid.odds, paid.prize_exact, paid.prize, paid.commission),
                *(paid.breakage, paid.net_prize, paid.returned, paid.edge, paid.article),
            )
            != result.paid
        ):
            return None
        position = recorded.position
        handle += result.handle
        prizes += result.prize
        commission += result.commission
        breakage += result.breakage
        returned += result.returned
    recorded = events[at]
    body = recorded.body
    handle += lost
    right = (len(bets), str(handle), str(prizes), str(commission), str(breakage), str(returned), "0", None, currency)
    if type(body) is not RoundSettled or recorded.version != at + 1 or recorded.position <= position:
        return None
    said = (body.bets, body.handle, body.prizes, body.commission, body.breakage, body.returned)
    if (*said, body.carried, body.successor, body.currency) != right:
        return None
    return Plain(currency, len(bets), len(winners), handle, lost, prizes, commission, breakage)


def _rank(winner: tuple[int, int, BetPlaced, Result]) -> int:
    return winner[0]
