"""Roulette: 37 pockets, and the layout of twelve rows of three with 0 above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from ledger.rules.games.kernel import LOST, NO_SELECTION, PLAIN, WON, Decision, Kernel, Listed, Selections
from ledger.rules.notation import illegal, nearest, pieces, read_number
from ledger.rules.outcomes import Outcome, not_an_outcome

if TYPE_CHECKING:
    from ledger.rules.games.craps import State
    from ledger.rules.model import Chance
    from ledger.rules.regulation import Regulation
    from ledger.rules.spots import Payoff, Spot

POCKETS = range(37)
NUMBERS = range(1, 37)
"""The pockets but 0, which by article 8 is in no set."""
_ROWS = tuple(range(1, 37, 3))

_SIZES = {
    "straight": 1,
    "split": 2,
    "street": 3,
    "corner": 4,
    "six_line": 6,
    "sector9": 9,
    "sector12": 12,
    "column": 12,
    "dozen": 12,
}
_BY_NAME = ("sector12", "column", "dozen")
_BY_ENDS = ("six_line", "sector9")


class Roulette(Kernel):
    """Every selection is a set of numbers; it wins on them and loses on the rest."""

    game = "roulette"
    chances: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        (*_SIZES, "even", "odd", "low", "high", "red", "black"), (PLAIN,)
    )
    articles = ("closing", "result", "zero")
    listed: ClassVar[Mapping[str, Listed]] = {
        "sector9": Listed("sets", 9, NUMBERS),
        "sector12": Listed("named", 12, NUMBERS, ("A", "B")),
        "dozen": Listed("named", 12, NUMBERS, ("1", "2", "3")),
        **dict.fromkeys(("low", "high", "red", "black"), Listed("numbers", 18, NUMBERS)),
    }
    outcome_help = "write the pocket's number, 0 to 36, as it is: 7, not 07"

    def __init__(self, regulation: Regulation) -> None:
        super().__init__(regulation)
        self._selections = {chance.code: _legal(chance) for chance in regulation.chances}
        red = self._covered("red")
        self._outcomes = tuple(_outcome(number, str(number), red) for number in POCKETS)

    def selections(self, chance: Chance) -> Selections:
        return self._selections[chance.code]

    def covered(self, chance: Chance, numbers: tuple[int, ...]) -> tuple[int, ...]:
        return numbers or self._covered(chance.code)

    def outcomes(self) -> tuple[Outcome, ...]:
        return self._outcomes

    def read_outcome(self, raw: str) -> Outcome:
        if raw.isascii() and raw.isdigit() and len(raw) <= 2 and (raw == "0" or raw[0] != "0") and int(raw) in POCKETS:
            return self._outcomes[int(raw)]
        raise not_an_outcome(
            raw, "the wheel has no such pocket", self.outcome_help, self.regulation.cite(self.regulation.articles["result"])
        )

    def decide(self, chance: Chance, numbers: tuple[int, ...], outcome: Outcome, phase: int) -> Decision:
        number = outcome.values[0]
        ground = "zero" if number == 0 and numbers != (0,) else None
        return Decision(WON if number in numbers else LOST, ground=ground)

    def reason(self, spot: Spot, outcome: Outcome, payoff: Payoff, state: State) -> str:
        number, numbers = outcome.values[0], ", ".join(map(str, spot.numbers))
        if payoff.ground == "zero":
            return (
                f"the ball rests on 0, and by art. {self.regulation.articles['zero']} only a straight-up bet on 0 wins then: lost"
            )
        if payoff.lost:
            return f"{number} is not among the numbers of the bet ({numbers}): lost"
        return f"{number} is among the numbers of the bet ({numbers}): won"

    def read_selection(self, chance: Chance, text: str, written: str) -> str:
        by_text, by_numbers = self._selections[chance.code]
        if text in by_text:
            return text
        if chance.code in _BY_NAME and "-" not in text:
            detail = f"there is no {chance.names['en'].text} {text[:20]}"
            raise illegal(self.regulation, chance, written, detail, near=by_text)
        spans = pieces(text, len(chance.code) + 1, "-")
        numbers = [read_number(self.regulation, chance, written, *span) for span in spans]
        self._check_numbers(chance, numbers, spans, written)
        if chance.code in _BY_ENDS and len(numbers) == 2:
            text = f"{min(numbers)}-{max(numbers)}"
            if text in by_text:
                return text
        found = by_numbers.get(tuple(sorted(numbers)))
        if found is not None:
            return found
        raise illegal(self.regulation, chance, written, self._reason(chance, numbers), near=nearest(by_text.items(), numbers))

    def _check_numbers(self, chance: Chance, numbers: list[int], spans: list[tuple[int, int]], written: str) -> None:
        """What is wrong with a number wherever it stands."""
        by_text = self._selections[chance.code].by_text
        for position, (number, span) in enumerate(zip(numbers, spans, strict=True)):
            near = nearest(by_text.items(), [each for each in numbers if each in POCKETS])
            if number not in POCKETS:
                detail = f"{number} is not on the layout, which has 0 to 36"
                raise illegal(self.regulation, chance, written, detail, span=span, near=near)
            if number in numbers[:position]:
                raise illegal(self.regulation, chance, written, f"{number} stands twice", span=span, near=near)
            if number == 0 and len(numbers) > 1:
                zero = self.regulation.cite(chance.bet_article, self.regulation.articles["zero"])
                raise illegal(
                    self.regulation,
                    chance,
                    written,
                    f"0 can only be bet straight up, it is in no {chance.names['en'].text}",
                    span=span,
                    help="write straight:0",
                    cite=f"{zero}: on 0 only a straight-up bet on 0 wins",
                )

    def _reason(self, chance: Chance, numbers: list[int]) -> str:
        size = _SIZES[chance.code]
        if len(numbers) != size:
            return f"{chance.names['en'].text} takes {_count(size)}, here {'is' if len(numbers) == 1 else 'are'} {len(numbers)}"
        listed = ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"
        if chance.code == "split":
            low, high = sorted(numbers)
            if high == low + 1 and low % 3 == 0:
                return f"{low} and {high} are not neighbours on the layout: {low} ends its row and {high} begins the next"
            return f"{listed} are not neighbours on the layout"
        if chance.code == "street":
            return f"{listed} are not one row of the layout"
        if chance.code == "corner":
            return f"{listed} do not meet in one corner of the layout"
        if chance.code == "six_line":
            return f"{listed} are not two rows that follow each other"
        return f"{listed} are none of the listed sets"

    def _covered(self, code: str) -> tuple[int, ...]:
        if code == "even":
            return tuple(range(2, 37, 2))
        if code == "odd":
            return tuple(range(1, 37, 2))
        chance = self.regulation.find(code)
        return chance.sets[""] if chance else ()


def _legal(chance: Chance) -> Selections:
    """The legal selections of a chance, from the layout or from the sets that the data list."""
    if chance.code == "straight":
        return Selections.of({str(number): (number,) for number in POCKETS})
    if chance.code == "split":
        pairs = [(n, n + 1) for n in range(1, 36) if n % 3] + [(n, n + 3) for n in range(1, 34)]
        return _by_full_list(sorted(pairs))
    if chance.code == "street":
        return _by_full_list([(n, n + 1, n + 2) for n in _ROWS])
    if chance.code == "corner":
        return _by_full_list([(n, n + 1, n + 3, n + 4) for n in range(1, 33) if n % 3])
    if chance.code == "six_line":
        return Selections.of({f"{n}-{n + 5}": tuple(range(n, n + 6)) for n in _ROWS[:-1]})
    if chance.code == "column":
        return Selections.of({str(n): tuple(range(n, 37, 3)) for n in (1, 2, 3)})
    if chance.code == "sector9":
        return Selections.of({_by_ends(numbers): numbers for numbers in chance.sets.values()})
    if chance.code in _BY_NAME:
        return Selections.of(chance.sets)
    return NO_SELECTION


def _by_full_list(sets: list[tuple[int, ...]]) -> Selections:
    return Selections.of({"-".join(map(str, numbers)): numbers for numbers in sets})


def _by_ends(numbers: tuple[int, ...]) -> str:
    """First and last of a run of numbers; the whole list where it is no run."""
    first, last = numbers[0], numbers[-1]
    return f"{first}-{last}" if last - first == len(numbers) - 1 else "-".join(map(str, numbers))


def _count(size: int) -> str:
    return "one number" if size == 1 else f"{size} numbers"


def _outcome(number: int, raw: str, red: tuple[int, ...]) -> Outcome:
    shown = "0" if number == 0 else f"{number}, {'red' if number in red else 'black'}"
    return Outcome("roulette", raw, str(number), shown, number, (number,))
