"""The house of the golden logs, and what its terminals and its people post, moment by moment. Ids and times are fixed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from ledger.events import BetPlaced, BettingClosed, OutcomeRecorded, RoundOpened, ThrowRecorded
from ledger.events import Event as LogEvent
from ledger.property import Choice, OptIn, Person, Pit, Property, Table
from ledger.reports import type_of

Event = dict[str, Any]
Post = dict[str, Any]

BEGIN = datetime(2026, 11, 28, 21, 59, 59, 999_999, tzinfo=UTC)
"""One microsecond before the gaming day of the 29th begins in Macau."""

HOUSE = Property(
    id="GOLDEN",
    name="Golden House 金 (made up)",
    zone="Asia/Macau",
    gaming_day_start="06:00",
    tables=(
        Table("R01", "A", "roulette", "MOP", "0.01"),
        Table("R02", "A", "roulette", "HKD", "0.01"),
        Table("C01", "B", "cussec", "MOP", "0.01"),
        Table("F01", "B", "fantan", "MOP", "0.10"),
        Table("X01", "B", "craps", "MOP", "1", terminals=("T-X01",), minimum="1", maximum="100000"),
    ),
    opt_ins=(OptIn("30/2003", "the golden log", "manager"), OptIn("31/2003", "the golden log", "manager")),
    choices=(Choice(regulation="53/2010", unverified_bets=True),),
    pits=(Pit("A", "wheels"), Pit("B", "dice and buttons")),
    people=(
        *(Person("D-7", ("dealer",)), Person("D-8", ("dealer",)), Person("S-2", ("supervisor",)), Person("S-5", ("supervisor",))),
        *(Person("A-1", ("admin",)), Person("U-1", ("auditor",)), Person("C-1", ("cage",))),
    ),
    clock_tolerance=60,
)
EXTENDED = msgspec.structs.replace(HOUSE, tables=(*HOUSE.tables, Table("C02", "B", "cussec", "HKD", "1")))
"""The house with another table: its second configuration in the log."""


class Floor:
    """The terminals and the people of the house, and what they post."""

    def __init__(self, *, round: str = "", made: int = 0) -> None:
        """`round` is the one that events are about before another is opened; `made` ids are taken."""
        self.posts: list[Post] = []
        self._now = BEGIN
        self._made = made
        self.round = round

    def open(self, table: str, game: str, **more: Any) -> Event:
        """A new round, which the following events are about."""
        self.round = self.id()
        return self.event(table, RoundOpened, {"table": table, "game": game}, **more)

    def bet(self, table: str, spot: str, stake: int, currency: str = "MOP", player: str = "P-1001", **more: Any) -> Event:
        """A bet of `stake` minor units; `seat` and `chip` are of the bet, all else of its envelope."""
        data: dict[str, Any] = {name: more.pop(name) for name in ("seat", "chip") if name in more}
        said = {"player": player, "spot": spot, "stake": str(stake), "currency": currency, **data}
        return self.event(table, BetPlaced, said, **more)

    def close(self, table: str, **more: Any) -> Event:
        """The bell."""
        return self.event(table, BettingClosed, {}, **more)

    def outcome(self, table: str, shown: str, **more: Any) -> Event:
        """What the table showed."""
        return self.event(table, OutcomeRecorded, {"outcome": shown}, **more)

    def throw(self, table: str, dice: str | None = None, **data: Any) -> Event:
        """Craps: one throw, or with `void` the code of what makes it none."""
        said: dict[str, Any] = data | ({} if dice is None else {"dice": dice})
        return self.event(table, ThrowRecorded, said)

    def staff(self, table: str, kind: type[LogEvent], person: str, role: str) -> Event:
        """Somebody comes to a table or leaves it."""
        said = {"table": table, "person": person, "role": role}
        return self.event(table, kind, said, subject=table)

    def event(self, table: str, kind: type[LogEvent], data: Any, **more: Any) -> Event:
        """Whatever a terminal may report; `more` are attributes of its envelope. RoundOpened's own are of its data."""
        own = {name: more.pop(name) for name in ("shift", "dealer", "supervisor") if name in more}
        return {
            "specversion": "1.0",
            "id": self.id(),
            "source": f"/terminals/T-{table}",
            "type": type_of(kind),
            "subject": self.round,
            "time": (self._now - timedelta(milliseconds=120)).isoformat(),
            "data": {**data, **own},
            **more,
        }

    def post(self, *events: Event, by: str | None = None) -> None:
        """Posts the events together, with a person's token or without; then 37 seconds and a microsecond pass."""
        bears = {} if by is None else {"by": by}
        self.posts.append({"received_at": self._now.isoformat(), **bears, "events": list(events)})
        self._now += timedelta(seconds=37, microseconds=1)

    def whole(self, table: str, game: str, currency: str, bets: Sequence[tuple[str, int]], shown: str) -> list[Event]:
        """A round from its opening to its outcome in one post, its bets by three players in turn; the bets."""
        opening = self.open(table, game)
        placed = [
            self.bet(table, spot, stake, currency, f"P-{1001 + n % 3}", seat=1 + n % 3) for n, (spot, stake) in enumerate(bets)
        ]
        self.post(opening, *placed, self.close(table), self.outcome(table, shown))
        return placed

    def id(self) -> str:
        """The next id: of the form of a UUID of version 7."""
        self._made += 1
        return f"019a2f00-0000-7000-8000-{self._made:012x}"
