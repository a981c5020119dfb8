"""Writes the golden log of this release: `python3 dev.py run -- python -m tests.golden.make`.

Before a release as often as need be: ids and times are fixed, so the same program writes the same bytes. After it, never again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import psycopg

from ledger import __version__, houses
from ledger.api import bodies, intake
from ledger.application import Rounds
from ledger.events import BetPlaced, BettingClosed, OutcomeRecorded, RoundOpened
from ledger.property import OptIn, Property, Table
from ledger.reports import Report, Verdict, type_of
from ledger.store import migrate
from ledger.store.embedded import EmbeddedPostgres
from tests.golden import HERE, dump, expected, ndjson

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
    ),
    opt_ins=(OptIn("30/2003", "the golden log", "manager"), OptIn("31/2003", "the golden log", "manager")),
)
EXTENDED = msgspec.structs.replace(HOUSE, tables=(*HOUSE.tables, Table("C02", "B", "cussec", "HKD", "1")))
"""The house with another table: its second configuration in the log."""

ROULETTE = (
    *("straight:17", "straight:0", "split:17-20", "street:16-17-18", "corner:16-17-19-20", "six_line:16-21", "sector9:10-18"),
    *("sector12:A", "sector12:B", "column:2", "dozen:2", "even", "odd", "low", "high", "red", "black"),
)
CUSSEC = ("small", "big", "three_army:2", "triple:2", "any_triple", "total:6", "total:11")
FANTAN = ("fan:3", "nim:3/1", "nim:1/3", "kuoc:12", "nga:12/3", "nga:34/1", "sshong:123")


class Floor:
    """The terminals of the house, and what they post, moment by moment."""

    def __init__(self, *, round: str = "", made: int = 0) -> None:
        """`round` is the one that events are about before another is opened; `made` ids are taken."""
        self.posts: list[Post] = []
        self._now = BEGIN
        self._made = made
        self._round = round

    def open(self, table: str, game: str, **more: str) -> Event:
        """A new round, which the following events are about."""
        self._round = self._id()
        return self._event(table, type_of(RoundOpened), {"table": table, "game": game, **more})

    def bet(self, table: str, spot: str, stake: int, currency: str, player: str = "P-1001", **more: Any) -> Event:
        """A bet of `stake` minor units."""
        return self._event(
            table, type_of(BetPlaced), {"player": player, "spot": spot, "stake": str(stake), "currency": currency, **more}
        )

    def close(self, table: str) -> Event:
        """The bell."""
        return self._event(table, type_of(BettingClosed), {})

    def outcome(self, table: str, shown: str) -> Event:
        """What the table showed."""
        return self._event(table, type_of(OutcomeRecorded), {"outcome": shown})

    def post(self, *events: Event) -> None:
        """Posts the events together; then 37 seconds and a microsecond pass."""
        self.posts.append({"received_at": self._now.isoformat(), "events": list(events)})
        self._now += timedelta(seconds=37, microseconds=1)

    def whole(self, table: str, game: str, currency: str, bets: Sequence[tuple[str, int]], shown: str) -> None:
        """A round from its opening to its outcome in one post, its bets by three players in turn."""
        opening = self.open(table, game)
        placed = [
            self.bet(table, spot, stake, currency, f"P-{1001 + n % 3}", seat=1 + n % 3) for n, (spot, stake) in enumerate(bets)
        ]
        self.post(opening, *placed, self.close(table), self.outcome(table, shown))

    def _event(self, table: str, kind: str, data: Any) -> Event:
        return {
            "specversion": "1.0",
            "id": self._id(),
            "source": f"/terminals/T-{table}",
            "type": kind,
            "subject": self._round,
            "time": (self._now - timedelta(milliseconds=120)).isoformat(),
            "data": data,
        }

    def _id(self) -> str:
        """The next id: of the form of a UUID of version 7."""
        self._made += 1
        return f"019a2f00-0000-7000-8000-{self._made:012x}"


def play() -> list[Post]:
    """A day of every kind of event: wins, losses and pushes, refusals, large amounts, and rounds that are left open."""
    floor = Floor()
    # The last round of a gaming day, in posts of their own, with all that a terminal may say.
    floor.post(floor.open("R01", "roulette", shift="night", dealer="D-7", supervisor="S-2"))
    bets = [floor.bet("R01", spot, 10_000, "MOP", seat=3, chip="value") for spot in ROULETTE]
    floor.post(*({**bet, "sequence": str(n)} for n, bet in enumerate(bets, 1)))
    floor.post(floor.close("R01"))
    floor.post(floor.outcome("R01", "17"))
    # Zero takes all but the straight on zero (30/2003 art. 8); a triple takes small and big (31/2003 art. 7).
    floor.whole("R01", "roulette", "MOP", [(spot, 5_000) for spot in ROULETTE], "0")
    floor.whole("C01", "cussec", "MOP", [(spot, 777) for spot in CUSSEC], "2-2-2")
    floor.whole("C01", "cussec", "MOP", [(spot, 1) for spot in CUSSEC], "6-1-4")
    # Commission, breakage and pushes.
    for shown in ("3", "1", "8"):
        floor.whole("F01", "fantan", "MOP", [(spot, 10_001) for spot in FANTAN], shown)
    # Amounts above 2^31 and 2^53, two currencies, a round without bets.
    floor.whole("R01", "roulette", "MOP", [("straight:36", 100_000_000), ("red", 10**15)], "36")
    floor.whole("R02", "roulette", "HKD", [("straight:7", 10**15), ("straight:7", 1), ("black", 10**15)], "7")
    floor.whole("R02", "roulette", "HKD", [], "26")
    # What is refused leaves its verdict and no event.
    floor.post(floor.open("C01", "cussec"), floor.bet("C01", "big", 5_000, "HKD"), floor.bet("C01", "total:3", 5_000, "MOP"))
    floor.post(floor.bet("C01", "big", 5_000, "MOP"), floor.close("C01"), floor.bet("C01", "small", 5_000, "MOP"))
    floor.post(floor.outcome("C01", "4-5-6"), floor.outcome("C01", "1-1-1"))
    # A round whose betting is closed, and one whose betting is open.
    floor.post(floor.open("C01", "cussec"), floor.bet("C01", "any_triple", 200, "MOP"), floor.close("C01"))
    floor.post(floor.open("R02", "roulette"), floor.bet("R02", "straight:0", 300, "HKD"))
    return floor.posts


def send(rounds: Rounds, post: Post) -> list[Verdict]:
    """Posts one post's events as the door does."""
    items = intake.read(json.dumps(post["events"]).encode(), bodies.BATCH, datetime.fromisoformat(post["received_at"])).items
    reports = [item for item in items if isinstance(item, Report)]
    assert len(reports) == len(items), "what is not even a report leaves nothing in a log"
    return rounds.post(reports)


def write(dsn: str) -> dict[str, str]:
    """Plays the day into the empty ledger at `dsn`; file → text."""
    posts = play()
    with mock.patch.object(houses, "datetime", wraps=datetime) as clock, closing(Rounds(dsn)) as rounds:
        clock.now.return_value = BEGIN
        rounds.apply_property(HOUSE)
        for post in posts:
            send(rounds, post)
        rounds.apply_property(EXTENDED)
    with psycopg.connect(dsn, autocommit=True) as conn:
        tables = {f"{name}.ndjson": text for name, text in dump(conn).items()}
        return {**tables, "posts.ndjson": ndjson(posts), "expected.ndjson": expected(conn)}


def main() -> int:
    folder = HERE / __version__
    with tempfile.TemporaryDirectory(prefix="roundledger-golden-") as place:
        Path(place).chmod(0o711)  # as root the server is another user
        with EmbeddedPostgres(Path(place)) as server:
            migrate.init(server.conninfo())
            files = write(server.conninfo())
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    sys.stderr.write(f"{folder}: {files['events.ndjson'].count(chr(10))} events\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
