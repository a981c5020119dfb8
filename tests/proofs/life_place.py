"""Where lives of rounds are played: a house with many tables, the application, and what was counted over all lives."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from hypothesis import strategies as st

from ledger.application import Rounds
from ledger.property import Choice, OptIn, Person, Property, Table
from ledger.reports import (
    Report,
)
from tests.proofs.life_model import LIMITS, STRANGER, UNITS, Coup

GAMES = ("roulette", "cussec", "fantan", "craps")
CURRENCY = {"roulette": "MOP", "cussec": "HKD", "fantan": "MOP", "craps": "HKD"}
SHOWN = {
    "roulette": ["17", "0", "20", "36", "14"],
    "cussec": ["2-2-2", "1-2-3", "6-5-4", "1-1-4", "2-2-5"],
    "fantan": ["1", "2", "7", "64"],
    "craps": ["2-4", "3-5", "3-4", "1-1", "5-6", "2-2", "void"],
}
ROUNDS_OF_CRAPS = ["2-4,3-5,3-3", "3-4", "5-6", "2-2,void,1-3", "2-4,3-4", "3-5,2-6", "1-1", "2-4,void,3-4", "2-4", "3-4,3-4"]
KINDS = ("outcome", "bet", "bet_void", "late_bet", "return", "mispay", "ex_gratia")
PEOPLE = ("S-1", "S-2", "S-3")
ANYBODY = (*PEOPLE, STRANGER, None)
"""Who may be there: the house's supervisors, another's, and somebody who proves nothing."""
SETS = 100
"""Tables of each game: a life that failed leaves its table as it was, and the next takes another."""

NUMBER = st.integers(0, 4095)
STAKE = st.integers(0, 39_999).map(lambda n: 1 + (n * 7_919 + 20_000) % 40_000)  # small ones would come too often


def house() -> Property:
    """A house with many tables of each game."""
    tables = [
        Table(f"{game}-{n}", "A", game, CURRENCY[game], _plain(UNITS[game]), **_limited(game))
        for game in GAMES
        for n in range(SETS)
    ]
    opt_ins = tuple(OptIn(order, "a proof", "nobody") for order in ("30/2003", "31/2003"))
    people = tuple(Person(id, ("supervisor",)) for id in PEOPLE)
    choices = (Choice("53/2010", unverified_bets=True),)
    return Property("LIFE", "Life", "Asia/Macau", "06:00", tuple(tables), opt_ins, choices, people=people)


def other_house() -> Property:
    """Another house, whose supervisor has no right at the tables of the first."""
    table = Table("elsewhere", "A", "roulette", "MOP", "0.01")
    opt_ins = (OptIn("30/2003", "a proof", "nobody"),)
    return Property("OTHER", "Other", "Asia/Macau", "06:00", (table,), opt_ins, people=(Person(STRANGER, ("supervisor",)),))


def _limited(game: str) -> dict[str, Any]:
    return dict(zip(("minimum", "maximum", "exposure"), map(_plain, LIMITS.get(game, ())), strict=False))


def _plain(minor: int) -> str:
    return f"{minor // 100}.{minor % 100:02}"


class Counted(NamedTuple):
    """What was done over all lives."""

    lives: int
    rounds: int
    accepted: Counter[str]
    """By what was reported."""
    refused: Counter[str]
    """By code."""
    seen: Counter[str]

    @property
    def steps(self) -> int:
        return self.accepted.total() + self.refused.total()


class Place:
    """Where the lives are played, and what was counted over all of them."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.rounds = Rounds(dsn)
        self.rounds.apply_property(house())
        self.rounds.apply_property(other_house())
        self.conn = psycopg.connect(dsn, autocommit=True)
        self.taken: Counter[str] = Counter()
        """Of each game, tables that failing lives have used up."""
        self.money: Counter[tuple[str, str]] = Counter()
        """What the model says of each account, all lives together."""
        self.all: dict[UUID, tuple[Coup, str]] = {}
        self.accepted: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        """What no report says by itself: bets that outlived a round of craps, an application that forgot."""
        self.lives = 0
        self.fault: BaseException | None = None
        """The first thing that did not agree."""
        self.trail: list[tuple[str, Report, list[str]]] = []
        """What was posted in the last life, with the model's reasons against it."""

    def close(self) -> None:
        """Closes its connections."""
        self.conn.close()
        self.rounds.close()

    def counted(self) -> Counted:
        """What was done until now."""
        return Counted(self.lives, len(self.all), Counter(self.accepted), Counter(self.refused), Counter(self.seen))

    @property
    def steps(self) -> int:
        """Reports posted."""
        return self.counted().steps


def verify(rounds: Rounds, id: UUID, coup: Coup) -> None:
    """The round as it is read from the log says what the model says."""
    round_ = rounds.round(id)
    assert round_.status.name.lower() == coup.status
    assert 0 <= round_.returned <= round_.taken
    held = [bet for bet in coup.bets.values() if not bet.left]
    assert set(round_.bets) == {bet.id for bet in held}
    for bet in held:
        found = round_.bets[bet.id]
        assert (found.player, found.result, found.spot, found.stake) == (bet.player, *bet.now[:3]), bet.id
        assert int(found.standing.returned) >= 0 or found.result == "lost"
    if coup.status == "settled":
        assert round_.totals is not None
        assert (int(round_.totals.handle), int(round_.totals.prizes)) == coup.figures()
