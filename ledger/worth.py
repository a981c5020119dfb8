"""What bets were worth before they were decided, by the regulations in the log: the `Theory` of reports.

The variance of a round is that of all its bets together, over every outcome that decides them: bets of one round are not
independent. A bet of craps may lie for many throws and is placed between them, so that there each bet stands by itself; whoever
prints such a figure says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import lcm
from operator import mul
from typing import Any, NamedTuple

import msgspec
import psycopg

from ledger.errors import Refusal
from ledger.events import DocumentRecorded
from ledger.rules import Outcome, Regulation, analyse, regulations
from ledger.rules.games.kernel import LOST, WON


class Spread(NamedTuple):
    """How far the house's win on one round may stray."""

    variance: Fraction
    """Of the house's win, in minor units squared."""
    exact: bool
    """Whether the bets were taken together, over the outcomes that decide them all; else each by itself, as if independent."""


class Worth:
    """Asks the regulations that a log holds; each is read once."""

    def __init__(self, held: Mapping[str, Regulation]) -> None:
        self._held = held
        self._games = {each.game: each for each in (*regulations(), *held.values())}
        self._tables: dict[str, _Table] = {}

    def spread(self, regulation_hash: str, bets: Sequence[tuple[str, int]]) -> Spread | None:
        """Of one round's bets, as (spot, stake in minor units); None where the regulation or a spot is not known."""
        table = self._tables.get(regulation_hash)
        if table is None:
            held = self._held.get(regulation_hash)
            if held is None:
                return None
            table = self._tables[regulation_hash] = _Table(held)
        try:
            return table.spread(bets)
        except Refusal:
            return None

    def codes(self) -> set[str]:
        """Those of all chances that the regulations have, those without rule text as well."""
        return {chance.code for held in self._held.values() for chance in (*held.chances, *held.unverified_chances)}

    def chances_of(self, game: str) -> Mapping[str, Mapping[str, Fraction]]:
        """What is counted of an outcome of the game → each of its values → its probability in a fair game."""
        held = self._games[game]
        found: dict[str, dict[str, Fraction]] = {}
        outcomes = held.outcomes()
        total = sum(outcome.weight for outcome in outcomes)
        for outcome in outcomes:
            for what, values in _counted(game, outcome).items():
                shares = found.setdefault(what, {})
                for value in values:
                    shares[value] = shares.get(value, Fraction(0)) + Fraction(outcome.weight, total * len(values))
        return found

    def counted(self, game: str, outcome: str) -> Mapping[str, Sequence[str]]:
        """What an outcome in canonical form counts for: what is counted → the values that it showed."""
        return _counted(game, self._games[game].outcome(outcome))


def of_log(conn: psycopg.Connection[Any]) -> Worth:
    """By the regulations that the log holds."""
    rows = conn.execute("SELECT state FROM ledger.events WHERE topic = %s", (DocumentRecorded.TOPIC,)).fetchall()
    documents = [msgspec.json.decode(state, type=DocumentRecorded) for (state,) in rows]
    held: dict[str, Regulation] = {}
    for document in documents:
        if document.kind == "regulation":
            try:
                held[document.sha256] = Regulation.from_content(document.content)
            except Refusal:  # of a release with other data: what it says of chances is not known here
                continue
    return Worth(held)


class _Table:
    """One regulation as integers: what each outcome takes from the house on one unit, over a common denominator."""

    def __init__(self, held: Regulation) -> None:
        self._held = held
        self._single = len(held.kernel.phases) == 1
        outcomes = held.outcomes()
        self._weights = [outcome.weight for outcome in outcomes]
        self._total = sum(self._weights)
        self._scale = 1
        if self._single:
            self._scale = lcm(*(payoff.net_den for spot in held.spots() for payoff in spot.pays))
        self._gains: dict[str, list[int]] = {}
        self._covariances: dict[str, _Shared] = {}
        self._alone = cache(lambda spot: analyse(held.spot_in_play(spot)).variance)

    def spread(self, bets: Sequence[tuple[str, int]]) -> Spread:
        if not self._single:
            return Spread(sum((stake * stake * self._variance(spot) for spot, stake in bets), Fraction(0)), len(bets) <= 1)
        stakes: dict[str, int] = {}
        for spot, stake in bets:
            stakes[spot] = stakes.get(spot, 0) + stake
        # Pairs of spots are far fewer than spots by outcomes, and few spots are bet on in one round.
        square = 0
        for spot, stake in stakes.items():
            shared = self._shared(spot)
            square += stake * sum(map(mul, map(shared.__getitem__, stakes), stakes.values()))
        return Spread(Fraction(square, (self._total * self._scale) ** 2), True)

    def _shared(self, spot: str) -> _Shared:
        found = self._covariances.get(spot)
        if found is None:
            found = self._covariances[spot] = _Shared(self, spot)
        return found

    def covariance(self, one: str, other: str) -> int:
        """Of what two spots take from the house on one unit each, times the square of all weights and of the scale."""
        first, second = self._gain(one), self._gain(other)
        together = sum(weight * a * b for weight, a, b in zip(self._weights, first, second, strict=True))
        means: int = sum(map(mul, self._weights, first)) * sum(map(mul, self._weights, second))
        return self._total * together - means

    def _gain(self, spot: str) -> list[int]:
        found = self._gains.get(spot)
        if found is None:
            found = self._gains[spot] = [self._of(payoff) for payoff in self._held.spot(spot).pays]
        return found

    def _of(self, payoff: Any) -> int:
        if payoff.result == WON:
            return int(payoff.net_num * self._scale // payoff.net_den)
        return -self._scale if payoff.result == LOST else 0

    def _variance(self, spot: str) -> Fraction:
        """Craps: of one unit, from when the bet is placed; of a bet that has moved, of the chance that it was placed on."""
        found = self._held.spot_in_play(spot)
        return self._alone(found.chance.code if found.travelled else spot)


class _Shared(dict[str, int]):
    """The covariances of one spot with others, each computed when it is first asked for."""

    def __init__(self, table: _Table, spot: str) -> None:
        super().__init__()
        self._table = table
        self._spot = spot

    def __missing__(self, other: str) -> int:
        found = self[other] = self._table.covariance(self._spot, other)
        return found


def _counted(game: str, outcome: Outcome) -> dict[str, list[str]]:
    match game:
        case "roulette":
            pocket = outcome.values[0]
            return {"pocket": [str(pocket)]}
        case "cussec":
            return {"die": [str(die) for die in outcome.values], "total": [str(sum(outcome.values))]}
        case "fantan":
            return {"number": [str(outcome.values[0])]}
        case "craps":
            faces = outcome.throws[0]
            both = {"sum": [str(faces.total)]}
            return both | ({"die": [str(die) for die in outcome.values]} if outcome.values else {})
    return {}
