"""What if: what each bet of the log would have been paid by another regulation, payable unit or rounding. Nothing is written.

Old is what the log says is true of a bet now, corrections included; new is what the other rules give the same bet under what the
table showed. Paid is what leaves the table for the bet: the stake returned and the net prize. What was settled beside the
regulation (mispays, payments ex gratia) is no part of either.

A bet that the other regulation does not know, or does not decide, is told apart with the reason. A bet that nothing has decided,
that was taken back or void, or that another round took over, is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from fractions import Fraction
from math import ceil
from typing import NamedTuple
from uuid import UUID

from ledger.audit.due import Due
from ledger.audit.judging import Judgement
from ledger.audit.told import CRAPS, Bet, Told
from ledger.errors import Refusal
from ledger.events import RoundOpened
from ledger.money import MinorUnits, floor_to, verify_unit
from ledger.rules import Outcome, Regulation

RESOLVED = ("lost", "won", "push")

Rounding = Callable[[Fraction, MinorUnits], MinorUnits]
"""An exact net prize and the payable unit, both in minor units → whole payable units, in minor units."""


def _in_units(whole: Callable[[Fraction], int]) -> Rounding:
    def rounded(exact: Fraction, unit: MinorUnits) -> MinorUnits:
        verify_unit(unit)
        return whole(exact / unit) * unit

    return rounded


ROUNDINGS: Mapping[str, Rounding] = {
    "down": floor_to,
    "half-even": _in_units(round),
    "half-up": _in_units(lambda exact: (exact + Fraction(1, 2)).__floor__()),
    "up": _in_units(ceil),
}
"""How a net prize becomes whole payable units. `down` is the ledger's own (docs/adr/0012)."""


class Rules(NamedTuple):
    """What is tried instead; what is not given stays as it was."""

    regulations: Mapping[str, Regulation]
    """By game; rounds of other games keep that of the log."""
    payable_unit: Callable[[str], MinorUnits] | None = None
    """Currency → minor units."""
    rounding: Rounding = floor_to

    def concern(self, game: str) -> bool:
        """Whether anything is otherwise for the rounds of a game."""
        return game in self.regulations or self.payable_unit is not None or self.rounding is not floor_to


class Where(NamedTuple):
    """Which bet it is."""

    bet: UUID
    round: UUID
    property: str
    table: str
    game: str
    gaming_day: date
    regulation: str
    """Order number by which the log has it settled."""
    player: str
    spot: str
    currency: str
    stake: MinorUnits
    outcome: str
    position: int
    """Of the event by which the bet came into the round."""
    old_result: str
    old_paid: MinorUnits


class Compared(NamedTuple):
    """A bet with what it was paid and what it would have been."""

    where: Where
    new: Due

    @property
    def difference(self) -> MinorUnits:
        """How much more the table would have paid; negative where less."""
        return self.new.returned - self.where.old_paid

    @property
    def differs(self) -> bool:
        """Whether another amount would have been paid, or the bet have come to something else."""
        return (self.new.result, self.new.returned) != (self.where.old_result, self.where.old_paid)


class Apart(NamedTuple):
    """A bet of which the other rules say nothing, and why."""

    where: Where
    code: str
    """A refusal's code, or `UNDECIDED`."""
    reason: str


class Left(NamedTuple):
    """What is not compared, and why."""

    what: str
    """`round` or `bet`."""
    reason: str


def what_if(judgements: Iterable[Judgement], rules: Rules) -> Iterator[Compared | Apart | Left]:
    """Every decided bet of the rounds, in their order; of a round, bets in the order in which they came."""
    for judgement in judgements:
        yield from _of_round(judgement.told, rules)


def _of_round(told: Told, rules: Rules) -> Iterator[Compared | Apart | Left]:
    opened = told.opened
    if opened is None:
        yield Left("round", "without its opening")
        return
    if not rules.concern(opened.game):
        yield Left("round", f"of {opened.game}, whose rules are as they were")
        return
    for bet in told.bets.values():
        if bet.left is not None or bet.standing.result not in RESOLVED:
            yield Left("bet", "undecided, taken back, void, or carried on to another round")
        else:
            yield _of_bet(told, opened, bet, rules)


def _of_bet(told: Told, opened: RoundOpened, bet: Bet, rules: Rules) -> Compared | Apart:
    where = _where(told, opened, bet)
    regulation = rules.regulations.get(opened.game, told.regulation)
    if regulation is None:
        return Apart(where, "DOCUMENT_MISSING", f"the log does not hold {opened.regulation} as the round names it")
    unit = told.payable_unit if rules.payable_unit is None else rules.payable_unit(opened.currency)
    try:
        new = told.due(bet, regulation, unit, outcome=_shown(told, regulation))
    except Refusal as refusal:
        return Apart(where, refusal.code, refusal.detail)
    if new.result not in RESOLVED:
        return Apart(where, "UNDECIDED", f"by {regulation.order} what the table showed does not decide it")
    return Compared(where, _rounded(new, unit, rules.rounding))


def _shown(told: Told, regulation: Regulation) -> Outcome | None:
    """What the table showed, where the log's own regulation was not there to read it; None where the round has it."""
    assert told.opened is not None
    if told.shown_outcome is not None or told.outcome is None or (told.opened.game == CRAPS and told.throws):
        return None
    return regulation.outcome(told.outcome)


def _rounded(new: Due, unit: MinorUnits, rounding: Rounding) -> Due:
    if rounding is floor_to or new.payoff is None:
        return new
    return new._replace(net_prize=rounding(new.stake * new.payoff.net, unit))


def _where(told: Told, opened: RoundOpened, bet: Bet) -> Where:
    says = bet.standing
    return Where(
        bet=bet.id,
        round=told.id,
        property=opened.property,
        table=opened.table,
        game=opened.game,
        gaming_day=opened.gaming_day,
        regulation=opened.regulation,
        player=says.player,
        spot=says.spot,
        currency=opened.currency,
        stake=int(says.stake),
        outcome=told.outcome or "",
        position=bet.placed.position,
        old_result=says.result,
        old_paid=int(says.returned),
    )


class Sum(NamedTuple):
    """What the compared bets of a table and gaming day come to, in one currency; minor units."""

    compared: int = 0
    differing: int = 0
    apart: int = 0
    stakes: MinorUnits = 0
    old: MinorUnits = 0
    new: MinorUnits = 0
    apart_paid: MinorUnits = 0
    """What the bets that are apart were paid; no part of `old`."""

    def with_bet(self, found: Compared | Apart) -> Sum:
        """With one bet more."""
        paid = found.where.old_paid
        if isinstance(found, Apart):
            return self._replace(apart=self.apart + 1, apart_paid=self.apart_paid + paid)
        return self._replace(
            compared=self.compared + 1,
            differing=self.differing + found.differs,
            stakes=self.stakes + found.where.stake,
            old=self.old + paid,
            new=self.new + found.new.returned,
        )
