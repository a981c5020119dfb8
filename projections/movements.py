"""What an event moves: from one account to another, event by event, and nothing but the event is asked.

How money moves (debit → credit, zero amounts left out):

* a bet is placed or raised: `player/<reference>` → `escrow/<table>`; withdrawn, lowered, voided or returned: back;
* it loses: `escrow/<table>` → `win/<table>`, the stake;
* it wins or pushes: `escrow/<table>` → `player/<reference>`, the stake; `win/<table>` → `player/<reference>`, the net prize;
  `win/<table>` → `commission/<table>`, the commission; `win/<table>` → `breakage/<table>`, the breakage;
* it is carried to another round: nothing, the escrow is the table's;
* it is corrected: for each account that has another amount than before, the difference, from or to `win/<table>`, or
  `escrow/<table>` where the house has no part in it;
* a slip of the cage is confirmed (its cancellation: the other way): a fill `cage/<property>` → `float/<table>`, a credit back; a
  drop `float/<table>` → `drop/<table>`; an opener `tray/<table>` → `float/<table>`, a closer back;
* a mispay went over the table, or a payment ex gratia: `mispay/<table>` or `ex_gratia/<table>` → `player/<reference>`, or back.

Every movement is one row with both its accounts, so none can be out of balance. A balance is credits less debits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from uuid import UUID

from ledger.events import (
    BetChanged,
    BetCorrected,
    BetPlaced,
    BetVoided,
    BetWithdrawn,
    Event,
    OutcomeRecorded,
    PayoutMade,
    PlayerAdjusted,
    Recorded,
    RoundVoided,
    SlipConfirmed,
    Standing,
    ThrowRecorded,
)
from projections.checks import Contradiction, amount


class Movement(NamedTuple):
    """An amount that moved from one account to another. The fields are the columns of `movements`, in order."""

    position: int
    line: int
    round: UUID | None
    """None of what a slip moves."""
    bet: UUID | None
    """None of a payment ex gratia: there was no bet."""
    table_id: str
    currency: str
    debit: str
    credit: str
    amount: int
    """Minor units of `currency`, always positive."""
    slip: UUID | None = None
    """None of what a round moves."""


Balances = dict[tuple[str, str], int]
"""(account, currency) → credits less debits, in minor units."""

Entry = tuple[UUID | None, str, str, int]
"""Bet, debit, credit, amount."""


def balances(moved: Iterable[Movement]) -> Balances:
    """Credits less debits of each account and currency, in minor units."""
    sums: Balances = defaultdict(int)
    for movement in moved:
        amount, currency = movement.amount, movement.currency
        sums[movement.debit, currency] -= amount
        sums[movement.credit, currency] += amount
    return dict(sums)


def movements(recorded: Recorded, table: str) -> list[Movement]:
    """What one event moves at its round's table; empty for an event that moves nothing."""
    body: Any = recorded.body
    entries = _ENTRIES.get(type(body))
    if entries is None:
        return []
    position, stream = recorded.position, recorded.stream
    kept = [entry for entry in entries(recorded, body, table) if entry[3]]
    return [
        Movement(position, line, stream, bet, table, body.currency, debit, credit, minor)
        for line, (bet, debit, credit, minor) in enumerate(kept, 1)
    ]


def slip_movements(recorded: Recorded, body: SlipConfirmed) -> list[Movement]:
    """What a slip moves; empty where it comes to nothing."""
    minor = amount(recorded, body.amount)
    if body.kind not in SLIPS:
        raise Contradiction(recorded, f"no slip is {body.kind!r}")
    debit, credit = (account.format(table=body.table, property=body.property) for account in SLIPS[body.kind])
    if body.cancellation:
        debit, credit = credit, debit
    if not minor:
        return []
    return [Movement(recorded.position, 1, None, None, body.table, body.currency, debit, credit, minor, body.slip)]


SLIPS = {
    "opener": ("tray/{table}", "float/{table}"),
    "closer": ("float/{table}", "tray/{table}"),
    "fill": ("cage/{property}", "float/{table}"),
    "credit": ("float/{table}", "cage/{property}"),
    "drop": ("float/{table}", "drop/{table}"),
}
"""Kind of a slip → the account that it debits and the one that it credits."""

ACCOUNTS: dict[str, str] = {
    "player/<reference>": "What a player has from bets: net prizes less stakes, and what was paid beside the regulation.",
    "escrow/<table>": "Stakes at risk: bets that are not decided.",
    "win/<table>": "Stakes that lost, less net prizes, commission and breakage.",
    "commission/<table>": "What the regulation lets the house keep of prizes.",
    "breakage/<table>": "What rounding leaves with the house.",
    "mispay/<table>": "Handed over less than was due (positive) or more (negative), and not put right yet.",
    "ex_gratia/<table>": "Paid to players where there was no bet: negative by that.",
    "cage/<property>": "The chips of the cage: credits less fills, so negative by what it has out at tables.",
    "float/<table>": "The chips in play by the slips: openers and fills, less closers, credits and drop. Once a table is closed "
    "and its drop counted, it is negative by the count win.",
    "tray/<table>": "The chips counted and locked away: closers less openers.",
    "drop/<table>": "What was counted in the drop boxes.",
}
"""Account → what it has. A balance is credits less debits."""


def _placed(recorded: Recorded, body: BetPlaced, table: str) -> list[Entry]:
    return [(body.bet, f"player/{body.player}", f"escrow/{table}", amount(recorded, body.stake))]


def _taken_back(recorded: Recorded, body: BetWithdrawn | BetVoided, table: str) -> list[Entry]:
    return [(body.bet, f"escrow/{table}", f"player/{body.player}", amount(recorded, body.stake))]


def _changed(recorded: Recorded, body: BetChanged, table: str) -> list[Entry]:
    difference = amount(recorded, body.stake) - amount(recorded, body.was_stake)
    return [_difference(body.bet, f"escrow/{table}", f"player/{body.player}", -difference)]


def _returned(recorded: Recorded, body: RoundVoided, table: str) -> list[Entry]:
    return [(each.bet, f"escrow/{table}", f"player/{each.player}", amount(recorded, each.stake)) for each in body.returned]


def _lost(recorded: Recorded, body: OutcomeRecorded | ThrowRecorded, table: str) -> list[Entry]:
    escrow, win = f"escrow/{table}", f"win/{table}"
    return [(lost.bet, escrow, win, amount(recorded, lost.stake)) for lost in body.lost]


def _paid(recorded: Recorded, body: PayoutMade, table: str) -> list[Entry]:
    escrow, win, player = f"escrow/{table}", f"win/{table}", f"player/{body.player}"
    return [
        (body.bet, escrow, player, amount(recorded, body.stake)),
        (body.bet, win, player, amount(recorded, body.net_prize)),
        (body.bet, win, f"commission/{table}", amount(recorded, body.commission)),
        (body.bet, win, f"breakage/{table}", amount(recorded, body.breakage)),
    ]


def _corrected(recorded: Recorded, body: BetCorrected, table: str) -> list[Entry]:
    left: dict[str, int] = defaultdict(int)
    for standing, sign in ((body.before, -1), (body.after, 1)):
        for account, balance in where_it_leaves(recorded, standing, table):
            left[account] += sign * balance
    win, escrow = f"win/{table}", f"escrow/{table}"
    undecided = "open" in (body.before.result, body.after.result) and not left[win]
    against = escrow if undecided else win
    return [_difference(body.bet, against, account, change) for account, change in left.items() if account != against]


def where_it_leaves(recorded: Recorded, standing: Standing, table: str) -> list[tuple[str, int]]:
    """What each account has in the end of a bet of which this is true; the amounts sum to zero."""
    player, stake = f"player/{standing.player}", amount(recorded, standing.stake)
    if standing.result == "open":
        return [(player, -stake), (f"escrow/{table}", stake)]
    if standing.result == "lost":
        return [(player, -stake), (f"win/{table}", stake)]
    if standing.result == "won":
        return [
            (player, amount(recorded, standing.net_prize)),
            (f"commission/{table}", amount(recorded, standing.commission)),
            (f"breakage/{table}", amount(recorded, standing.breakage)),
            (f"win/{table}", -amount(recorded, standing.prize)),
        ]
    return []


def _adjusted(recorded: Recorded, body: PlayerAdjusted, table: str) -> list[Entry]:
    if body.kind not in ("mispay", "ex_gratia"):
        raise Contradiction(recorded, f"a player's account is not adjusted for {body.kind!r}")
    if body.direction not in ("to_player", "from_player"):
        raise Contradiction(recorded, f"nothing moves {body.direction!r}")
    minor = amount(recorded, body.amount) * (1 if body.direction == "to_player" else -1)
    return [_difference(body.bet, f"{body.kind}/{table}", f"player/{body.player}", minor)]


def _difference(bet: UUID | None, source: str, target: str, change: int) -> Entry:
    """The entry after which `target` has `change` more, and `source` less; it runs the other way where that is negative."""
    return (bet, source, target, change) if change >= 0 else (bet, target, source, -change)


_ENTRIES: dict[type[Event], Callable[[Recorded, Any, str], list[Entry]]] = {
    BetPlaced: _placed,
    BetWithdrawn: _taken_back,
    BetVoided: _taken_back,
    BetChanged: _changed,
    RoundVoided: _returned,
    OutcomeRecorded: _lost,
    ThrowRecorded: _lost,
    PayoutMade: _paid,
    BetCorrected: _corrected,
    PlayerAdjusted: _adjusted,
}
