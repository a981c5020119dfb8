"""What the reference terminal plays: rounds of its game with made-up bettors, and the end of a round that was left open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from ledger.client import Event, happened
from ledger.money import parse_plain
from ledger.reports import (
    CloseBetting,
    Data,
    OpenRound,
    PlaceBet,
    RecordOutcome,
    RecordThrow,
    ReopenBetting,
)

CHIPS = ("10", "20", "25", "50", "100", "200", "500")
"""Stakes of the made-up bettors, in units of the currency."""
_NATURAL, _CRAPS = (7, 11), (2, 3, 12)


class Standing(NamedTuple):
    """Where a round is, as far as its terminal knows."""

    closed: bool = False
    point: int = 0
    """Craps: 0 before a point is set."""
    over: bool = False


def standing(events: Sequence[bytes]) -> Standing:
    """Where the round of these events is: what a terminal that was killed has to know in order to go on."""
    found = Standing()
    for event in map(json.loads, events):
        match event["type"]:
            case "roundledger.BettingClosed.v1":
                found = found._replace(closed=True)
            case "roundledger.BettingReopened.v1":
                found = found._replace(closed=False)
            case "roundledger.RoundVoided.v1" if event["data"].get("successor"):
                found = found._replace(over=True)
            case "roundledger.OutcomeRecorded.v1":
                found = found._replace(over=True)
            case "roundledger.ThrowRecorded.v1":
                found = thrown(found, sum(map(int, event["data"].get("dice", "0").split("-"))))
    return found


def thrown(before: Standing, total: int) -> Standing:
    """Craps: where the line is after a throw of this total (53/2010 art. 5(2)(1)); 0 for a void throw, which changes nothing."""
    if not total:
        return before
    if not before.point:
        over = total in (*_NATURAL, *_CRAPS)
        return before._replace(over=over, point=0 if over else total)
    return before._replace(over=total in (7, before.point))


class Play:
    """Makes the events of one table. Made up: no table ever showed these outcomes."""

    def __init__(
        self, *, terminal: str, table: str, game: str, currency: str, stakes: Sequence[str] = CHIPS, random: Random
    ) -> None:
        """Refuses stakes that are no amounts of the currency (LGR-0104, LGR-0105)."""
        self._terminal = terminal
        self._table = table
        self._game = game
        self._currency = currency
        self._stakes = [str(parse_plain(stake, currency, field="--stake")) for stake in stakes]
        self._random = random
        self._spots = _spots(game)
        self._players = [f"P-{table}-{seat:02}" for seat in range(1, random.randint(4, 7) + 1)]
        self.bets = 0

    def round(self) -> Iterator[Event]:
        """A whole round, event by event: opening, bets, and what follows."""
        opening = happened(OpenRound(table=self._table, game=self._game), terminal=self._terminal)
        yield opening
        for seat, player in enumerate(self._players, start=1):
            for _ in range(self._random.choice((0, 1, 1, 2))):
                self.bets += 1
                spot = self._random.choice(self._random.choice(self._spots))
                stake = self._random.choice(self._stakes)
                bet = PlaceBet(player=player, seat=seat, spot=spot, stake=stake, currency=self._currency)
                yield self._event(opening.round, bet)
        yield from self.rest(opening.round, Standing())

    def rest(self, round_: UUID, stands: Standing) -> Iterator[Event]:
        """What a round still needs to be over, from where it stands."""
        while not stands.over:
            if not stands.closed:
                yield self._event(round_, CloseBetting())
            if self._game != "craps":
                yield self._event(round_, RecordOutcome(outcome=self._outcome()))
                return
            dice = (self._random.randint(1, 6), self._random.randint(1, 6))
            yield self._event(round_, RecordThrow(dice=f"{dice[0]}-{dice[1]}"))
            stands = thrown(stands._replace(closed=True), sum(dice))
            if not stands.over:
                yield self._event(round_, ReopenBetting())
                stands = stands._replace(closed=False)

    def _event(self, round_: UUID, data: Data) -> Event:
        return happened(data, terminal=self._terminal, round=round_)

    def _outcome(self) -> str:
        draw = self._random.randint
        match self._game:
            case "roulette":
                return str(draw(0, 36))
            case "cussec":
                return "-".join(str(draw(1, 6)) for _ in range(3))
            case _:
                return str(draw(20, 99))  # the count of a fantan heap


def _spots(game: str) -> list[list[str]]:
    """The spots that bettors choose from, chance by chance."""
    from ledger.rules import regulations

    if game == "craps":
        return [["pass"]]  # other bets come and go with the point, and some have no rule text
    chances: dict[str, list[str]] = {}
    for regulation in regulations():
        if regulation.game == game:
            for spot in regulation.spots():
                chances.setdefault(spot.chance.code, []).append(spot.text)
    return list(chances.values())


def opened(events: Sequence[bytes]) -> UUID:
    """The round of these events."""
    found: dict[str, Any] = json.loads(events[0])
    return UUID(found["subject"])
