"""What tests of rounds need: a house, and a terminal that reports as a real one would."""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec

from ledger import property as property_
from ledger.application import Rounds
from ledger.property import Property
from ledger.reports import TYPES, Body, CloseBetting, OpenRound, PlaceBet, RecordOutcome, RecordThrow, Report, Verdict

ROOT = Path(__file__).parent.parent
DEMO = property_.read(ROOT / "seeds" / "demo" / "property.toml")
UNLIMITED = msgspec.structs.replace(
    DEMO,
    tables=tuple(
        msgspec.structs.replace(table, minimum=None, maximum=None, exposure=None, differential=None, chances=())
        for table in DEMO.tables
    ),
)
"""The demo property, whose tables take any stake: for what is not about limits and plays more than they allow."""
KINDS: dict[type[Body], str] = {model: topic for topic, model in TYPES.items()}
"""What a report says → the CloudEvents type under which it travels."""


class Terminal:
    """Makes the reports of one terminal at one table; the ids are its own, as they must be."""

    def __init__(self, table: str = "R01", game: str = "roulette", currency: str = "MOP") -> None:
        self.name = f"T-{table}"
        self.table = table
        self.game = game
        self.currency = currency
        self.round = uuid4()

    def report(self, body: Body, *, round: UUID | None = None, **changes: Any) -> Report:
        said = msgspec.json.encode([type(body).__name__, body, round or self.round])
        fields: dict[str, Any] = {
            "event_id": uuid4(),
            "terminal": self.name,
            "type": KINDS[type(body)],
            "round": round or self.round,
            "occurred_at": datetime.now(UTC),
            "received_at": datetime.now(UTC),
            "fingerprint": hashlib.sha256(said).digest(),
            "body": body,
        }
        return Report(**fields | changes)

    def open(self, **changes: Any) -> Report:
        """The opening of a new round, which the following reports are about."""
        self.round = uuid4()
        return self.report(OpenRound(table=self.table, game=self.game), **changes)

    def bet(self, spot: str, stake: str = "10000", player: str = "P-1", **changes: Any) -> Report:
        currency = changes.pop("currency", self.currency)
        return self.report(PlaceBet(player=player, spot=spot, stake=stake, currency=currency), **changes)

    def close(self, **changes: Any) -> Report:
        return self.report(CloseBetting(), **changes)

    def outcome(self, shown: str, **changes: Any) -> Report:
        return self.report(RecordOutcome(outcome=shown), **changes)

    def throw(self, dice: str | None = None, void: str | None = None, successor: UUID | None = None, **changes: Any) -> Report:
        return self.report(RecordThrow(dice=dice, void=void, successor=successor), **changes)

    def whole_round(self, bets: list[tuple[str, str]], shown: str) -> list[Report]:
        """Open, bets as (spot, stake in minor units), close, outcome."""
        return [self.open(), *(self.bet(spot, stake) for spot, stake in bets), self.close(), self.outcome(shown)]


def accepted(verdicts: list[Verdict]) -> list[Verdict]:
    """The same verdicts, all of which were accepted."""
    for verdict in verdicts:
        assert verdict.status == "accepted", verdict.refusal
    return verdicts


def codes(verdicts: list[Verdict]) -> list[str]:
    """Each verdict in a word: its status, or the code of its refusal."""
    return [verdict.refusal.code if verdict.refusal else verdict.status for verdict in verdicts]


BEGUN = datetime(2003, 1, 1, tzinfo=UTC)
"""When the property of a test was configured: whatever days a test plays are none before its ledger's first."""


def house(dsn: str, config: Property = DEMO, *, lease_idle: float = 2.0) -> Rounds:
    """The application on `dsn` with a property applied: the demo's, if no other is named."""
    rounds = Rounds(dsn, lease_idle=lease_idle)
    rounds.apply_property(config, BEGUN)
    return rounds


def post_in_turn(houses: list[Rounds], n: int, reports: list[Report]) -> list[Verdict]:
    """Posts to the n-th of several processes as a terminal does: while another has the table, it sends the same again."""
    while True:
        verdicts = houses[n].post(reports)
        houses[n].rest()
        if not any(verdict.refusal and verdict.refusal.code in ("LGR-0503", "LGR-0521") for verdict in verdicts):
            return verdicts
        time.sleep(0.002)
