"""Spots: the chance and selection that a bet is placed on, and what each outcome does to it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ledger.rules.games.kernel import LOST, PUSH, WON, Decision

if TYPE_CHECKING:
    from ledger.rules.model import Chance, Name
    from ledger.rules.regulation import Regulation

NONE = Fraction(0)


class Payoff:
    """What one kind of decision pays on a spot: computed once per regulation, then looked up.

    Whole numbers stand beside the fractions so that settling a bet is integer arithmetic: net prize = stake × net_num // net_den.
    """

    __slots__ = (
        "cite",
        "com_den",
        "com_num",
        "commission",
        "ground",
        "lost",
        "moves_to",
        "net",
        "net_den",
        "net_num",
        "odds",
        "odds_den",
        "odds_num",
        "rank",
        "result",
    )

    def __init__(self, spot: Spot, decision: Decision, rank: int) -> None:
        regulation, chance = spot.regulation, spot.chance
        self.result = decision.result
        self.lost = decision.result == LOST
        self.ground = decision.ground
        self.rank = rank
        """The place of the chance in the order of payment."""
        self.moves_to: str | None = decision.moves_to
        """Craps: the notation under which a bet that stands goes on."""
        self.odds, self.commission = _odds(regulation, chance, decision)
        self.net = self.odds - self.commission
        self.odds_num, self.odds_den = self.odds.as_integer_ratio()
        self.net_num, self.net_den = self.net.as_integer_ratio()
        self.com_num, self.com_den = self.commission.as_integer_ratio()
        ground = regulation.articles[decision.ground] if decision.ground else None
        own = chance.article_of(spot.selection)
        won = decision.result == WON
        fee = regulation.commission.article if won and regulation.commission else None
        self.cite = regulation.cite(own, chance.odds_article if won else None, ground, fee)

    def __repr__(self) -> str:
        return f"<Payoff {self.result} {self.odds} {self.cite}>"


class Spot:
    """A chance and a selection under one regulation. Made by `Regulation.spot`; the same spot is always the same object."""

    __slots__ = ("_edge", "_winning", "chance", "numbers", "pays", "regulation", "selection", "text", "travelled")

    def __init__(
        self, regulation: Regulation, chance: Chance, selection: str, numbers: tuple[int, ...], *, travelled: bool
    ) -> None:
        self.regulation = regulation
        self.chance = chance
        self.selection = selection
        self.text = f"{chance.code}:{selection}" if selection else chance.code
        """Canonical bet notation."""
        self.numbers = numbers
        """The numbers that were selected, or that the chance lists; none where neither is so."""
        self.travelled = travelled
        """Craps: the spot is where a come bet has gone, and cannot be bet."""
        self.pays: tuple[Payoff, ...] = ()
        """What each outcome pays, by `Outcome.slot`; for craps, for each phase (no point, then each point) in turn."""
        self._edge: Fraction | None = None
        self._winning: tuple[tuple[Payoff, tuple[int, ...]], ...] | None = None

    @property
    def winning(self) -> tuple[tuple[Payoff, tuple[int, ...]], ...]:
        """The payoffs by which stakes go back (wins and ties), each with its places in `pays`."""
        if self._winning is None:
            places: dict[Payoff, list[int]] = {}
            for place, payoff in enumerate(self.pays):
                if payoff.result in (WON, PUSH):
                    places.setdefault(payoff, []).append(place)
            self._winning = tuple((payoff, tuple(slots)) for payoff, slots in places.items())
        return self._winning

    @property
    def names(self) -> Mapping[str, Name]:
        """The terms of the chance, or of the selection where it has its own (dozen 1: pequeno)."""
        return self.chance.names_of(self.selection)

    @property
    def cite(self) -> str:
        """Order, article and item of the bet and of its odds: `30/2003 art. 6(2), 7(2)`."""
        return self.regulation.cite(self.chance.article_of(self.selection), self.chance.odds_article)

    @property
    def edge(self) -> Fraction:
        """The exact part of a stake that the bank keeps on average, by enumeration of all outcomes, before any rounding."""
        if self._edge is None:
            from ledger.rules.analysis import analyse

            self._edge = analyse(self).edge
        return self._edge

    def __repr__(self) -> str:
        return f"<Spot {self.text} of {self.regulation.order}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _spot_of, (self.regulation, self.text)


def _spot_of(regulation: Regulation, text: str) -> Spot:
    return regulation.spot_in_play(text)


def make_spots(regulation: Regulation) -> tuple[dict[str, Spot], dict[str, Spot]]:
    """Every spot that can be bet, by its notation; and where a bet may have moved while it stood."""
    kernel = regulation.kernel
    ranks = payment_ranks(regulation)
    spots: dict[str, Spot] = {}
    in_play: dict[str, Spot] = {}
    for chance in regulation.offered:
        for table, selections in ((spots, kernel.selections(chance).by_text), (in_play, kernel.travelled(chance))):
            for selection, numbers in selections.items():
                spot = Spot(regulation, chance, selection, kernel.covered(chance, numbers), travelled=table is in_play)
                spot.pays = _payoffs(spot, ranks.get(chance.code, 0))
                table[spot.text] = spot
    return spots, in_play


def _payoffs(spot: Spot, rank: int) -> tuple[Payoff, ...]:
    """What each outcome pays; outcomes that are decided alike share one payoff."""
    kernel = spot.regulation.kernel
    known: dict[Decision, Payoff] = {}
    pays = []
    for phase in kernel.phases:
        for outcome in kernel.outcomes():
            decision = kernel.decide(spot.chance, spot.numbers, outcome, phase)
            if decision not in known:
                known[decision] = Payoff(spot, decision, rank)
            pays.append(known[decision])
    return tuple(pays)


def payment_ranks(regulation: Regulation) -> dict[str, int]:
    """The place of each chance in the order of payment; all in one place where the text sets no order."""
    return {code: rank for rank, group in enumerate(regulation.payment_order) for code in group}


def _odds(regulation: Regulation, chance: Chance, decision: Decision) -> tuple[Fraction, Fraction]:
    """Prize and commission for one unit of the stake."""
    if decision.result != WON:
        return NONE, NONE
    odds = chance.odds[decision.case]
    commission = chance.commission or regulation.commission
    if commission is None:
        return odds, NONE
    fee = commission.fraction * (odds if commission.of == "prize" else 1)
    if commission.taken == "always":
        # The stake as bet is what is at risk plus the fee on it; a losing bet has lost both.
        return odds / (1 + fee), fee / (1 + fee)
    return odds, fee
