"""The quick look: whether a round is as plain as most, and all of it right.

Most rounds are opened, bet on, closed, decided and paid, and that is all. Of such a round it is enough to lay the lines beside
what each spot pays on the outcome, which is worked out once and then looked up; and of its payloads only what is compared is
decoded. Whatever is not plain, or not right to the last letter, is judged with care (`ledger.audit.judging`): here nothing is
ever found, only passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

import msgspec

from ledger.audit.documents import Documents
from ledger.audit.due import by_payoff
from ledger.audit.gathering import Row
from ledger.audit.placed import raw
from ledger.audit.reported import SAID, SKEWED, flags_its_clock
from ledger.audit.terms import wrong_moment, wrong_terms
from ledger.errors import Refusal
from ledger.events import BetPlaced, BettingClosed, OutcomeRecorded, PayoutMade, RoundOpened, RoundSettled
from ledger.money import MinorUnits, parse_minor
from ledger.rules import Outcome, Regulation

_MOST = 100_000
"""Results that are kept; then they are worked out anew."""

# Of each payload what is compared. Ids are left as text: as they are written they are the same, or they are not.


class _Report(msgspec.Struct, gc=False, kw_only=True):
    cause: str
    terminal: str
    occurred_at: datetime
    received_at: datetime
    sequence: int | None = None
    epoch: int | None = None
    by: str | None = None
    flags: tuple[str, ...] = ()


class _Placed(msgspec.Struct, gc=False, kw_only=True):
    cause: str
    occurred_at: datetime
    received_at: datetime
    bet: str
    player: str
    spot: str
    stake: str
    currency: str
    numbers: tuple[int, ...] = ()
    late: bool = False
    flags: tuple[str, ...] = ()


class _Closed(msgspec.Struct, gc=False, kw_only=True):
    cause: str
    occurred_at: datetime
    received_at: datetime
    flags: tuple[str, ...] = ()


class _Lost(msgspec.Struct, gc=False):
    bet: str
    player: str
    spot: str
    stake: str
    edge: str
    article: str


class _Shown(_Report, gc=False, kw_only=True):
    raw: str
    outcome: str
    shown: str
    currency: str
    lost: tuple[_Lost, ...] = ()


class _Paid(_Report, gc=False, kw_only=True):
    bet: str
    player: str
    spot: str
    result: str
    currency: str
    stake: str
    odds: str
    prize_exact: str
    prize: str
    commission: str
    breakage: str
    net_prize: str
    returned: str
    edge: str
    article: str


class _Settled(_Report, gc=False, kw_only=True):
    currency: str
    bets: int
    handle: str
    prizes: str
    commission: str
    breakage: str
    returned: str
    carried: str = "0"
    successor: str | None = None


_opened = msgspec.json.Decoder(RoundOpened).decode
_placed = msgspec.json.Decoder(_Placed).decode
_closed = msgspec.json.Decoder(_Closed).decode
_shown = msgspec.json.Decoder(_Shown).decode
_paid = msgspec.json.Decoder(_Paid).decode
_settled = msgspec.json.Decoder(_Settled).decode
_OPENED, _PLACED, _CLOSED, _SHOWN, _PAID, _SETTLED = (
    kind.TOPIC for kind in (RoundOpened, BetPlaced, BettingClosed, OutcomeRecorded, PayoutMade, RoundSettled)
)


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
    placed: bytes = b""
    """The ids of its bets (`ledger.audit.placed.raw`)."""


class _Table:
    """One regulation with one payable unit and one tolerance of clocks: what was worked out of it until now."""

    def __init__(self, regulation: Regulation, payable_unit: MinorUnits, tolerance: timedelta) -> None:
        self.regulation = regulation
        self.payable_unit = payable_unit
        self.tolerance = tolerance
        self.numbers: dict[str, tuple[int, ...]] = {}
        """Of each spot in its canonical form that was bet on, the numbers that it covers."""
        self.outcomes: dict[str, Outcome] = {}
        self.results: dict[tuple[str, str, int], Result] = {}

    def learn(self, text: str) -> tuple[int, ...] | None:
        """The numbers of a spot; None where it is not written in its canonical form. Raises Refusal."""
        spot = self.regulation.spot(text)
        if spot.text != text:
            return None
        return self.numbers.setdefault(text, spot.numbers)

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
        self._tables: dict[tuple[str, str, timedelta], _Table] = {}
        self._terms: set[tuple[str, ...]] = set()
        self._moments: set[tuple[object, ...]] = set()

    def passes(self, rows: Sequence[Row]) -> Plain | None:
        """What the round came to where it is plain and right; None where it has to be judged with care."""
        first = rows[0]
        if first[3] != _OPENED or rows[-1][3] != _SETTLED or first[2] != 1:
            return None
        try:
            opened = _opened(first[4])
            table = self._table(opened, first[0])
            if table is None or not flags_its_clock(opened, table.tolerance):
                return None
            return _passes(rows, table, opened)
        except (Refusal, msgspec.DecodeError, ValueError):
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
        if not self._in_its_moment(opened, position):
            return None
        tolerance = self._documents.houses[opened.property_hash].tolerance
        key = (opened.regulation_hash, opened.payable_unit, tolerance)
        found = self._tables.get(key)
        if found is None:
            regulation = self._documents.regulations[opened.regulation_hash]
            found = self._tables[key] = _Table(regulation, int(opened.payable_unit), tolerance)
        return found

    def _in_its_moment(self, opened: RoundOpened, position: int) -> bool:
        """Whether the law and the gaming day are right: alike for all rounds of one minute, as long as no day is closed in it."""
        minute: datetime = opened.received_at.replace(second=0, microsecond=0)
        moment = (
            *(minute, self._documents.days_closed(position), opened.gaming_day),
            *(opened.regulation_hash, opened.property_hash, opened.applied),
        )
        if moment in self._moments:
            return True
        if wrong_moment(self._documents, opened, position):
            return False
        if len(self._moments) >= _MOST:
            self._moments.clear()
        self._moments.add(moment)
        return True


def _passes(rows: Sequence[Row], table: _Table, opened: RoundOpened) -> Plain | None:
    known, currency, bets = table.numbers, opened.currency, dict[str, _Placed]()
    most, least = table.tolerance, -table.tolerance
    position, at, count, caused = rows[0][0], 0, len(rows), rows[0][6]
    claims = caused is not None
    if claims and caused != 1:
        return None
    while True:  # the bets
        at += 1
        row = rows[at]
        if row[2] != at + 1 or row[0] <= position or (claims and row[6] != 1):
            return None
        position = row[0]
        if row[3] != _PLACED:
            break
        bet = _placed(row[4])
        numbers = known.get(bet.spot)
        if numbers is None:
            numbers = table.learn(bet.spot)
        if bet.numbers != numbers or bet.late or bet.currency != currency or bet.bet in bets or bet.bet != bet.cause:
            return None
        if (least <= bet.received_at - bet.occurred_at <= most) == (SKEWED in bet.flags):  # `flags_its_clock`, with no call
            return None
        bets[bet.bet] = bet
    if row[3] != _CLOSED or at + 2 >= count or not flags_its_clock(closed := _closed(row[4]), most):
        return None
    at += 1
    row = rows[at]
    if row[3] != _SHOWN or row[2] != at + 1 or row[0] <= position or (claims and row[6] != count - at):
        return None
    shown = _shown(row[4])
    if len({str(opened.cause), closed.cause, shown.cause} - bets.keys()) < 3 or not flags_its_clock(shown, most):
        return None
    outcome = table.outcomes.get(shown.raw) or table.outcome(shown.raw)
    if (outcome.text, outcome.shown, currency) != (shown.outcome, shown.shown, shown.currency) or outcome.throws:
        return None
    winners = _collected(table, bets, shown, outcome.slot)
    if winners is None or at + len(winners) + 2 != count:
        return None
    lost = sum(int(line.stake) for line in shown.lost)
    passed = _rewarded(rows, at + 1, winners, len(bets), lost, shown)
    return passed and passed._replace(placed=raw(bets))


_Winner = tuple[int, _Placed, Result]


def _collected(table: _Table, bets: dict[str, _Placed], shown: _Shown, slot: int) -> list[_Winner] | None:
    """The losers are those that the outcome names, in the order of the bets; then what is left wins, in the order of payment."""
    results, winners, lines = table.results, list[_Winner](), iter(shown.lost)
    for id_, bet in bets.items():
        key = (bet.spot, bet.stake, slot)
        result = results.get(key) or table.result(key)
        if result.rank >= 0:
            winners.append((result.rank, bet, result))
            continue
        line = next(lines, None)
        if line is None or (line.bet, line.player, line.spot, line.stake, line.edge, line.article) != (
            *(id_, bet.player),
            *result.paid,
        ):
            return None
    if next(lines, None) is not None:
        return None
    winners.sort(key=_rank)
    return winners


def _rewarded(rows: Sequence[Row], at: int, winners: list[_Winner], bets: int, lost: int, shown: _Shown) -> Plain | None:
    """Every payout in its order, then the totals, and nothing more; all of it by the report of the outcome."""
    position, currency, report = rows[at - 1][0], shown.currency, _said(shown)
    handle, prizes, commission, breakage, returned = lost, 0, 0, 0, 0
    for _, bet, result in winners:
        row = rows[at]
        at += 1
        if row[3] != _PAID or row[2] != at or row[0] <= position or row[6] is not None:
            return None
        position = row[0]
        paid = _paid(row[4])
        said = (
            *(paid.spot, paid.result, paid.stake, paid.odds, paid.prize_exact, paid.prize, paid.commission),
            *(paid.breakage, paid.net_prize, paid.returned, paid.edge, paid.article),
        )
        if said != result.paid or (paid.bet, paid.player, paid.currency, _said(paid)) != (bet.bet, bet.player, currency, report):
            return None
        handle += result.handle
        prizes += result.prize
        commission += result.commission
        breakage += result.breakage
        returned += result.returned
    row = rows[at]
    if row[3] != _SETTLED or row[2] != at + 1 or row[0] <= position or row[6] is not None:
        return None
    body = _settled(row[4])
    totals = (body.bets, body.handle, body.prizes, body.commission, body.breakage, body.returned)
    right = (bets, str(handle), str(prizes), str(commission), str(breakage), str(returned), "0", None, currency)
    if (*totals, body.carried, body.successor, body.currency) != right or _said(body) != report:
        return None
    return Plain(currency, bets, len(winners), handle, lost, prizes, commission, breakage)


_said = attrgetter(*SAID, "flags")


def _rank(winner: _Winner) -> int:
    return winner[0]
