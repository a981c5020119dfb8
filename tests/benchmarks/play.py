"""What is played in a benchmark: a house of roulette tables, and the reports that their terminals make."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from random import getrandbits
from uuid import UUID

import msgspec

from ledger.events import BetPlaced, BettingClosed, OutcomeRecorded, RoundOpened
from ledger.property import OptIn, Property, Table
from ledger.reports import Body, CloseBetting, OpenRound, PlaceBet, RecordOutcome, Report, type_of

TABLES = 400
HOUSE = Property(
    id="BENCH",
    name="Benchmark",
    zone="Asia/Macau",
    gaming_day_start="06:00",
    tables=tuple(Table(f"B{n:03}", "A", "roulette", "MOP", "0.01") for n in range(TABLES)),
    opt_ins=(OptIn("30/2003", "a benchmark", "nobody"),),
)
STAKE = 10_000
"""Minor units of every bet."""
_LOSERS = ("straight:1", "split:2-3", "street:4-5-6", "corner:8-9-11-12", "red", "even", "high", "column:3", "straight:0")
SPOTS = ("straight:17", "low", *(_LOSERS[n % len(_LOSERS)] for n in range(12)))
"""The bets of a whole round, which the outcome 17 makes into 20 events: opened, 14 bets, closed, outcome, 2 payouts, settled."""
EVENTS_OF_A_ROUND = 20

_TYPES = {
    OpenRound: type_of(RoundOpened),
    PlaceBet: type_of(BetPlaced),
    CloseBetting: type_of(BettingClosed),
    RecordOutcome: type_of(OutcomeRecorded),
}
_BETS = [
    PlaceBet(player=f"P-{1001 + n}", spot=spot, stake=str(STAKE), currency="MOP", seat=n + 1) for n, spot in enumerate(SPOTS)
]


def cloud_events(reports: Sequence[Report]) -> bytes:
    """The body in which a terminal posts them."""
    return msgspec.json.encode(
        [
            {
                "specversion": "1.0",
                "id": report.event_id,
                "source": f"/terminals/{report.terminal}",
                "type": report.type,
                "subject": report.round,
                "time": report.occurred_at,
                "data": report.body,
            }
            for report in reports
        ]
    )


def uuid7() -> UUID:
    """An id as terminals make them: in order of time, so that an index takes them at its end."""
    now = time.time_ns() // 1_000_000
    return UUID(int=now << 80 | 0x7 << 76 | getrandbits(12) << 64 | 0x2 << 62 | getrandbits(62))


class Terminal:
    """The terminal of one table. Its round is the last that it opened."""

    def __init__(self, table: str) -> None:
        self.table = table
        self._name = f"T-{table}"
        self.round = uuid7()

    def report(self, body: Body) -> Report:
        event_id, now = uuid7(), datetime.now(UTC)
        return Report(
            event_id=event_id,
            terminal=self._name,
            type=_TYPES[type(body)],
            round=self.round,
            occurred_at=now,
            received_at=now,
            fingerprint=event_id.bytes * 2,  # as long as a SHA-256, and another for every event
            body=body,
        )

    def open(self) -> Report:
        self.round = uuid7()
        return self.report(OpenRound(table=self.table, game="roulette"))

    def bet(self, n: int = 0) -> Report:
        """The n-th of the bets of a whole round, over and over. The first wins if the outcome is 17."""
        return self.report(_BETS[n % len(_BETS)])

    def end(self, outcome: str = "0") -> list[Report]:
        """The close of betting and the outcome."""
        return [self.report(CloseBetting()), self.report(RecordOutcome(outcome=outcome))]

    def whole_round(self) -> list[Report]:
        """The reports of a round of 20 events."""
        return [self.open(), *map(self.report, _BETS), *self.end("17")]
