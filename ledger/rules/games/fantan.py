"""Fantan: a heap of buttons counted off in fours; what remains of the last four is the number."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from ledger.rules.games.kernel import LOST, PLAIN, PUSH, WON, Decision, Kernel, Selections
from ledger.rules.notation import illegal, read_number
from ledger.rules.outcomes import Outcome, not_an_outcome

if TYPE_CHECKING:
    from ledger.rules.games.craps import State
    from ledger.rules.model import Chance
    from ledger.rules.regulation import Regulation
    from ledger.rules.spots import Payoff, Spot

NUMBERS = (1, 2, 3, 4)

_WINNERS = {"fan": 1, "nim": 1, "kuoc": 2, "nga": 2, "sshong": 3}
_WITH_TIE = ("nim", "nga")
_LONGEST_COUNT = 4


class Fantan(Kernel):
    """A selection is some numbers that win and perhaps one that ties; the numbers that are left lose.

    In `Spot.numbers` of a chance with a tie the last number is the one that ties.
    """

    game = "fantan"
    chances: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(_WINNERS, (PLAIN,))
    articles = ("closing", "result", "zero", "fragments", "tie")
    outcome_help = "write the count of whole buttons (23) or its number, 1 to 4; a remainder of 0 counts as 4"

    def __init__(self, regulation: Regulation) -> None:
        super().__init__(regulation)
        self._selections = {code: _legal(size, tie=code in _WITH_TIE) for code, size in _WINNERS.items()}
        self._outcomes = tuple(_outcome(number, str(number)) for number in NUMBERS)

    def selections(self, chance: Chance) -> Selections:
        return self._selections[chance.code]

    def read_selection(self, chance: Chance, text: str, written: str) -> str:
        by_text = self._selections[chance.code].by_text
        if text in by_text:
            return text
        start = len(chance.code) + 1
        if (dash := text.find("-")) >= 0:
            for right in (text.replace("-", "/", 1), text.replace("-", "")):
                if right in by_text:
                    detail = f"no dash stands between the numbers of {chance.code}: write {chance.code}:{right}"
                    raise illegal(self.regulation, chance, written, detail, span=(start + dash, start + dash + 1), near=[right])
        winners, slash, tie = text.partition("/")
        spans = [(start + position, start + position + 1) for position in range(len(winners))]
        if slash:
            spans.append((len(written) - len(tie), len(written)))
        numbers = [read_number(self.regulation, chance, written, *span) for span in spans]
        near = self._near(chance, numbers[: len(winners)])
        for position, (number, span) in enumerate(zip(numbers, spans, strict=True)):
            if number not in NUMBERS:
                detail = f"there is no {number}: the numbers are 1 to 4"
                raise illegal(self.regulation, chance, written, detail, span=span, near=near)
            if number in numbers[:position]:
                raise illegal(self.regulation, chance, written, f"{number} stands twice", span=span, near=near)
        ordered = "".join(map(str, sorted(numbers[: len(winners)]))) + (f"/{numbers[-1]}" if slash else "")
        if ordered in by_text:
            return ordered
        raise illegal(self.regulation, chance, written, _shape(chance.code), near=near)

    def _near(self, chance: Chance, numbers: list[int]) -> list[str]:
        size = _WINNERS[chance.code]
        by_winners = [(text, legal[:size]) for text, legal in self._selections[chance.code].by_text.items()]
        wanted = set(numbers)
        best = max(len(wanted.intersection(legal)) for _, legal in by_winners)
        return [text for text, legal in by_winners if len(wanted.intersection(legal)) == best]

    def outcomes(self) -> tuple[Outcome, ...]:
        return self._outcomes

    def read_outcome(self, raw: str) -> Outcome:
        if raw.isascii() and raw.isdigit() and len(raw) <= _LONGEST_COUNT and raw[0] != "0":
            return _outcome(int(raw), raw)
        articles = self.regulation.articles
        if raw == "0":
            cite = self.regulation.cite(articles["result"], articles["zero"])
            help_text = "a remainder of 0 counts as 4: write the count, or 4"
            raise not_an_outcome(raw, "there is no 0: the numbers are 1 to 4", help_text, cite)
        raise not_an_outcome(raw, "this is not a count of buttons", self.outcome_help, self.regulation.cite(articles["result"]))

    def decide(self, chance: Chance, numbers: tuple[int, ...], outcome: Outcome, phase: int) -> Decision:
        number = outcome.values[0]
        winners = numbers[: _WINNERS[chance.code]]
        if number in winners:
            return Decision(WON)
        return Decision(PUSH, ground="tie") if number in numbers else Decision(LOST)

    def reason(self, spot: Spot, outcome: Outcome, payoff: Payoff, state: State) -> str:
        number, regulation = outcome.values[0], self.regulation
        counted = f"nothing is left over, which by art. {regulation.articles['zero']} counts as 4; " if number == 4 else ""
        if payoff.result == WON:
            return f"{counted}{number} is a number to win: won"
        if payoff.result == PUSH:
            return f"{counted}{number} is the number to tie, and by art. {regulation.articles['tie']} the stake goes back"
        return f"{counted}{number} is neither a number to win nor one to tie: lost"


def _legal(winners: int, *, tie: bool) -> Selections:
    by_text: dict[str, tuple[int, ...]] = {}
    for chosen in combinations(NUMBERS, winners):
        text = "".join(map(str, chosen))
        if not tie:
            by_text[text] = chosen
        else:
            by_text.update({f"{text}/{other}": (*chosen, other) for other in NUMBERS if other not in chosen})
    return Selections(by_text, {})


def _shape(code: str) -> str:
    size = _WINNERS[code]
    winners = "one number to win" if size == 1 else f"{size} numbers to win"
    return f"{code} takes {winners}{' and, after a slash, one to tie' if code in _WITH_TIE else ''}"


def _outcome(count: int, raw: str) -> Outcome:
    number = count % 4 or 4
    shown = str(number) if count == number else f"{count} buttons, {number}"
    return Outcome("fantan", raw, str(number), shown, number - 1, (number,))
