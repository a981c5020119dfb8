"""Craps: two dice thrown again and again; the first throw decides or sets a point, then the point or a seven decides."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ledger.rules.games.kernel import LOST, NO_SELECTION, PLAIN, PUSH, STANDS, WON, Decision, Kernel, Selections
from ledger.rules.notation import illegal, pieces, read_number
from ledger.rules.outcomes import Outcome, Throw, not_an_outcome

if TYPE_CHECKING:
    from ledger.rules.model import Chance
    from ledger.rules.regulation import Regulation
    from ledger.rules.spots import Payoff, Spot

NO_POINT = 0
POINTS = (4, 5, 6, 8, 9, 10)
PHASES = (NO_POINT, *POINTS)
FACES = range(1, 7)
PAIRS = tuple(combinations_with_replacement(FACES, 2))
"""The 21 throws that can be told apart; the two dice are alike."""

VOID = "void"

_SLOT = {pair: slot for slot, pair in enumerate(PAIRS)}
_BY_POINT = tuple(map(str, POINTS))

# Bets on a number: it before 7 (True), or 7 before it (False).
_FOR_NUMBER = {
    "pass_odds": True,
    "come_odds": True,
    "place": True,
    "buy": True,
    "dont_odds": False,
    "place_lose": False,
    "lay": False,
}
FIXED_NUMBER = {"big6": 6, "big8": 8}
_LINES = {"pass": True, "come": True, "dont_pass": False, "dont_come": False}
_TRAVELLING = ("come", "dont_come")
AFTER_POINT = ("pass_odds", "come", "dont_come")
"""Placed only once there is a point."""
BEFORE_POINT = ("pass", "dont_pass")
"""Placed only before there is one."""
OFF_ON_COME_OUT = ("place", "buy", "hard")
"""They stand, whatever is thrown, while there is no point."""

_NEXT_THROW: dict[str, tuple[int, ...]] = {
    "field": (2, 3, 4, 9, 10, 11, 12),
    "any7": (7,),
    "any_craps": (2, 3, 12),
    "two": (2,),
    "three": (3,),
    "eleven": (11,),
    "twelve": (12,),
    "horn": (2, 3, 11, 12),
    "world": (2, 3, 11, 12),
    "c_and_e": (2, 3, 11, 12),
}
_ONE_FIGURE = ("any7", "any_craps", "two", "three", "eleven", "twelve")


class State(NamedTuple):
    """Where a round of craps stands between throws."""

    point: int = NO_POINT
    """The player's point; 0 before the come-out throw has set one."""
    decided: bool = False
    """The line has been decided: the round is over."""

    def after(self, throw: Throw) -> State:
        """The state after a throw. A void throw changes nothing."""
        if throw.void:
            return self
        if self.point == NO_POINT:
            return State(throw.total) if throw.total in POINTS else State(decided=True)
        return State(decided=True) if throw.total in (self.point, 7) else self


COME_OUT = State()
"""The state in which a round begins."""


class Craps(Kernel):
    """Bets that may stand over many throws; what a throw does to one depends on the point."""

    game = "craps"
    chances: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **dict.fromkeys((*_LINES, *FIXED_NUMBER, *_ONE_FIGURE), (PLAIN,)),
        **dict.fromkeys(_FOR_NUMBER, _BY_POINT),
        **{code: tuple(map(str, totals)) for code, totals in _NEXT_THROW.items() if code not in _ONE_FIGURE},
        "hard": ("4", "6", "8", "10"),
        "hop": ("easy", "hard"),
    }
    articles = ("result",)
    phases = PHASES
    outcome_help = "write the throws with commas between, by sum or by faces, void ones too: 6,void,5-3,6"

    def __init__(self, regulation: Regulation) -> None:
        super().__init__(regulation)
        numbers = Selections.of({str(point): (point,) for point in POINTS})
        self._selections = {code: numbers for code in _FOR_NUMBER if code != "pass_odds"}
        self._selections["hard"] = Selections.of({str(point): (point,) for point in (4, 6, 8, 10)})
        self._selections["hop"] = Selections.of({f"{one}-{other}": (one, other) for one, other in PAIRS})
        self._outcomes = tuple(self.read_outcome(f"{one}-{other}") for one, other in PAIRS)

    def selections(self, chance: Chance) -> Selections:
        return self._selections.get(chance.code, NO_SELECTION)

    def travelled(self, chance: Chance) -> Mapping[str, tuple[int, ...]]:
        return {str(point): (point,) for point in POINTS} if chance.code in _TRAVELLING else {}

    def read_selection(self, chance: Chance, text: str, written: str) -> str:
        by_text, by_numbers = self.selections(chance)
        if text in by_text:
            return text
        spans = pieces(text, len(chance.code) + 1, "-") if chance.code == "hop" else [(len(chance.code) + 1, len(written))]
        numbers = [read_number(self.regulation, chance, written, *span) for span in spans]
        found = by_numbers.get(tuple(sorted(numbers))) if chance.code == "hop" else None
        if found is None:
            detail = f"{text[:20]} is not a selection of {chance.code}"
            raise illegal(self.regulation, chance, written, detail, near=by_text)
        return found

    def outcomes(self) -> tuple[Outcome, ...]:
        return self._outcomes

    def read_outcome(self, raw: str) -> Outcome:
        spans = pieces(raw, 0, ",")
        throws = tuple(self._read_throw(raw, *span) for span in spans)
        first = throws[0]
        single = len(throws) == 1 and len(first.slots) == 1
        faces = PAIRS[first.slots[0]] if single else ()
        return Outcome(
            "craps",
            raw,
            ",".join(throw.text for throw in throws),
            ", ".join(_shown(throw, raw[start:end]) for throw, (start, end) in zip(throws, spans, strict=True)),
            first.slots[0] if single else -1,
            faces,
            len(set(faces)),
            throws,
        )

    def _read_throw(self, raw: str, start: int, end: int) -> Throw:
        text = raw[start:end]
        if text == VOID:
            return Throw(VOID, 0, ())
        faces = text.split("-")
        if len(faces) == 2 and all(len(face) == 1 and face in "123456" for face in faces):
            low, high = sorted(map(int, faces))
            return Throw(f"{low}-{high}", low + high, (_SLOT[low, high],))
        if text in _SUMS:
            return Throw(text, int(text), _SUMS[text])
        cite = self.regulation.cite(self.regulation.articles["result"])
        detail = f"{text[:20]} is not a throw of two dice" if text else "a throw is missing here"
        raise not_an_outcome(raw, detail, self.outcome_help, cite, (start, max(end, start + 1)))

    def decide(self, chance: Chance, numbers: tuple[int, ...], outcome: Outcome, phase: int) -> Decision:
        code, total = chance.code, sum(outcome.values)
        if code in _LINES:
            return _line(code, _LINES[code], total, numbers[0] if numbers else phase if code in BEFORE_POINT else NO_POINT)
        if phase == NO_POINT and (code in OFF_ON_COME_OUT or code == "pass_odds"):
            return Decision(STANDS)
        if code in _FOR_NUMBER:
            number = numbers[0] if numbers else phase
            return _race(total, number, str(number), for_number=_FOR_NUMBER[code])
        if code in FIXED_NUMBER:
            return _race(total, FIXED_NUMBER[code], PLAIN, for_number=True)
        if code == "hard":
            pair = outcome.values[0] == outcome.values[1]
            if total == numbers[0] and not pair:
                return Decision(LOST)
            return _race(total, numbers[0], str(numbers[0]), for_number=True)
        if code == "hop":
            case = "hard" if numbers[0] == numbers[1] else "easy"
            return Decision(WON, case) if outcome.values == numbers else Decision(LOST)
        if total in _NEXT_THROW[code]:
            return Decision(WON, PLAIN if code in _ONE_FIGURE else str(total))
        return Decision(PUSH if code == "world" and total == 7 else LOST)

    def reason(self, spot: Spot, outcome: Outcome, payoff: Payoff, state: State) -> str:
        told = []
        now = spot
        for throw in outcome.throws:
            told.append(_told(throw, state))
            if not throw.void and _lies(spot, state):
                each = now.pays[PHASES.index(state.point) * len(PAIRS) + throw.slots[0]]
                if each.result != STANDS:
                    break  # throws after the decision are no reason for it
                now = now if each.moves_to is None else self.regulation.spot_in_play(each.moves_to)
            state = state.after(throw)
        return f"{'; '.join(told)}: {payoff.result}"


def _lies(spot: Spot, state: State) -> bool:
    """Whether the bet is known to lie on the table: odds on come and don't bets wait for a bet that is not known here."""
    code = spot.chance.code
    return code not in ("come_odds", "dont_odds") and (state.point != NO_POINT or code not in AFTER_POINT)


def _told(throw: Throw, state: State) -> str:
    """What a throw did to the round."""
    if throw.void:
        return "a void throw, which changes nothing"
    total = throw.total
    if state.point != NO_POINT:
        if total == state.point:
            return f"{total}, the point is made"
        return f"{total} before the point {state.point}" if total == 7 else f"{total}, neither the point {state.point} nor 7"
    return f"{total} becomes the point" if total in POINTS else f"{total} on the come-out throw"


def _line(code: str, with_shooter: bool, total: int, number: int) -> Decision:
    """Pass and come (with the shooter), don't pass and don't come (against): by the first throw, then by their number."""
    if number != NO_POINT:
        return _race(total, number, PLAIN, for_number=with_shooter)
    if total in (7, 11):
        return Decision(WON if with_shooter else LOST)
    if total in (2, 3, 12):
        against = PUSH if total == 12 else WON
        return Decision(LOST if with_shooter else against)
    return Decision(STANDS, moves_to=f"{code}:{total}" if code in _TRAVELLING else None)


def _race(total: int, number: int, case: str, *, for_number: bool) -> Decision:
    """A number against 7, whichever comes first."""
    if total not in (number, 7):
        return Decision(STANDS)
    return Decision(WON, case) if (total == number) is for_number else Decision(LOST)


def _shown(throw: Throw, raw: str) -> str:
    """A throw as the dice lay, and their sum."""
    return throw.text if len(throw.slots) != 1 or "-" not in throw.text else f"{raw} ({throw.total})"


_SUMS = {str(total): tuple(slot for slot, pair in enumerate(PAIRS) if sum(pair) == total) for total in range(2, 13)}
