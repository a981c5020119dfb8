"""Cussec (sic bo): three dice under a cup."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import TYPE_CHECKING, ClassVar

from ledger.rules.games.kernel import LOST, NO_SELECTION, PLAIN, WON, Decision, Kernel, Listed, Selections
from ledger.rules.notation import illegal, read_number
from ledger.rules.outcomes import Outcome, not_an_outcome

if TYPE_CHECKING:
    from ledger.rules.games.craps import State
    from ledger.rules.model import Chance
    from ledger.rules.regulation import Regulation
    from ledger.rules.spots import Payoff, Spot

FACES = range(1, 7)
TOTALS = range(4, 18)

_ROLLS = tuple(combinations_with_replacement(FACES, 3))
"""The 56 rolls that can be told apart when the order of the dice does not count; it never does for a bet."""
_INDEX: dict[tuple[int, ...], int] = {roll: index for index, roll in enumerate(_ROLLS)}


class Cussec(Kernel):
    """Three dice, 216 equally likely rolls."""

    game = "cussec"
    chances: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "small": (PLAIN,),
        "big": (PLAIN,),
        "three_army": ("1", "2", "3"),
        "triple": (PLAIN,),
        "any_triple": (PLAIN,),
        "total": tuple(map(str, TOTALS)),
    }
    articles = ("closing", "result", "triple")
    listed: ClassVar[Mapping[str, Listed]] = dict.fromkeys(("small", "big"), Listed("numbers", 7, TOTALS))
    outcome_help = "write the three dice as they lie, each 1 to 6: 2-5-2"

    def __init__(self, regulation: Regulation) -> None:
        super().__init__(regulation)
        faces = Selections.of({str(face): (face,) for face in FACES})
        totals = Selections.of({str(total): (total,) for total in TOTALS})
        self._selections = {"three_army": faces, "triple": faces, "total": totals}
        self._outcomes = tuple(_outcome(roll, "-".join(map(str, roll))) for roll in _ROLLS)

    def selections(self, chance: Chance) -> Selections:
        return self._selections.get(chance.code, NO_SELECTION)

    def read_selection(self, chance: Chance, text: str, written: str) -> str:
        by_text = self.selections(chance).by_text
        if text in by_text:
            return text
        number = read_number(self.regulation, chance, written, len(chance.code) + 1, len(written))
        if chance.code == "total":
            detail = f"a total of {number} cannot be bet: the totals are 4 to 17"
        else:
            detail = f"a die has no {number}: the numbers are 1 to 6"
        raise illegal(self.regulation, chance, written, detail, near=by_text)

    def outcomes(self) -> tuple[Outcome, ...]:
        return self._outcomes

    def read_outcome(self, raw: str) -> Outcome:
        # Three single characters with two hyphens between: no other text can be three dice.
        if len(raw) == 5 and raw[1] == raw[3] == "-" and all(die in "123456" for die in raw[::2]):
            return _outcome((int(raw[0]), int(raw[2]), int(raw[4])), raw)
        raise not_an_outcome(
            raw, "these are not three dice", self.outcome_help, self.regulation.cite(self.regulation.articles["result"])
        )

    def decide(self, chance: Chance, numbers: tuple[int, ...], outcome: Outcome, phase: int) -> Decision:
        dice = outcome.values
        total = sum(dice)
        alike = len(set(dice)) == 1
        if chance.code in ("small", "big"):
            if alike:
                return Decision(LOST, ground="triple")
            return Decision(WON if total in chance.sets[""] else LOST)
        if chance.code == "three_army":
            matches = dice.count(numbers[0])
            return Decision(WON, str(matches)) if matches else Decision(LOST)
        if chance.code == "total":
            return Decision(WON, str(total)) if total == numbers[0] else Decision(LOST)
        if chance.code == "triple":
            return Decision(WON if dice == numbers * 3 else LOST)
        return Decision(WON if alike else LOST)

    def reason(self, spot: Spot, outcome: Outcome, payoff: Payoff, state: State) -> str:
        verdict = "lost" if payoff.lost else "won"
        if payoff.ground == "triple":
            article = self.regulation.articles["triple"]
            return f"the three dice are alike, and by art. {article} the bank then takes all bets on big and small: lost"
        if spot.chance.code == "three_army":
            return f"{spot.numbers[0]} shows on {outcome.values.count(spot.numbers[0])} of the three dice: {verdict}"
        if spot.chance.code in ("triple", "any_triple"):
            return f"the dice show {outcome.text}: {verdict}"
        return f"the dice sum to {sum(outcome.values)}: {verdict}"


def _outcome(dice: tuple[int, int, int], raw: str) -> Outcome:
    text = "-".join(map(str, dice))
    shown = f"{text}, total {sum(dice)}{', triple' if len(set(dice)) == 1 else ''}"
    weight = factorial(3) // prod(factorial(dice.count(face)) for face in set(dice))
    return Outcome("cussec", raw, text, shown, _INDEX[tuple(sorted(dice))], dice, weight)
