"""Exposure: the most that a table can still lose on its open bets, exact, kept up bet by bet."""

from __future__ import annotations

from ledger.money import MinorUnits, verify_unit
from ledger.rules.games.craps import BEFORE_POINT, COME_OUT, FIXED_NUMBER, NO_POINT, OFF_ON_COME_OUT, PAIRS, PHASES, POINTS, State
from ledger.rules.games.kernel import STANDS
from ledger.rules.outcomes import Throw
from ledger.rules.regulation import Regulation
from ledger.rules.spots import Payoff, Spot
from ledger.rules.throws import moved, verify_placing


class Exposure:
    """The largest, over outcomes, of all payouts minus all open stakes, in minor units.

    A payout is what leaves the table: stake and net prize of a winner, the stake of a push. Each bet is rounded by itself, as it
    will be settled. Adding or removing a bet costs the same however many are open.

    For craps the maximum is over all continuations from `state` on in which every bet is decided, in this round or a later one.
    """

    def __init__(self, regulation: Regulation, *, payable_unit: MinorUnits = 1, state: State = COME_OUT) -> None:
        verify_unit(payable_unit)
        self.regulation = regulation
        self._book = (
            _ThrowBook(state, payable_unit) if len(regulation.kernel.phases) > 1 else _OutcomeBook(regulation, payable_unit)
        )

    def add(self, spot: Spot, stake: MinorUnits) -> None:
        """Count a bet in."""
        self._change(spot, stake, 1)

    def remove(self, spot: Spot, stake: MinorUnits) -> None:
        """Count a bet out that was counted in with this stake."""
        self._change(spot, stake, -1)

    @property
    def worst(self) -> int:
        """The most that the table can lose on the open bets; below zero where it wins whatever comes; 0 without bets."""
        return self._book.worst()

    def _change(self, spot: Spot, stake: MinorUnits, sign: int) -> None:
        if spot.regulation != self.regulation:
            raise ValueError(f"{spot!r} is not a spot of {self.regulation!r}")
        if type(stake) is not int or stake < 1:
            raise ValueError(f"a stake is a whole number of minor units, at least 1, not {stake!r}")
        self._book.change(spot, stake, sign)


class _OutcomeBook:
    """One counter an outcome: what would leave the table on it."""

    def __init__(self, regulation: Regulation, payable_unit: MinorUnits) -> None:
        self._returned = [0] * len(regulation.kernel.outcomes())
        self._staked = 0
        self._unit = payable_unit

    def change(self, spot: Spot, stake: MinorUnits, sign: int) -> None:
        self._staked += sign * stake
        returned = self._returned
        for payoff, slots in spot.winning:
            amount = sign * (stake + stake * payoff.net_num // (payoff.net_den * self._unit) * self._unit)
            for slot in slots:
                returned[slot] += amount

    def worst(self) -> int:
        return max(self._returned) - self._staked


class _ThrowBook:
    """Craps: 21 rows, one for each throw that may come next; adding a bet adds to their cells, whatever else is open.

    A row counts what the throw decides, and then what each number against 7 is worth to the bets that stand after it: from then
    on the worst order of numbers and sevens is known without trying (`_continued`).
    """

    def __init__(self, state: State, payable_unit: MinorUnits) -> None:
        self._state = State() if state.decided else state
        self._unit = payable_unit
        self._cells = [0] * (len(PAIRS) * _WIDTH)
        self._points = [self._state.after(Throw("", sum(pair), (slot,))).point for slot, pair in enumerate(PAIRS)]
        self._plans: dict[Spot, list[tuple[Payoff, list[int]]]] = {}

    def change(self, spot: Spot, stake: MinorUnits, sign: int) -> None:
        if spot not in self._plans:
            self._plans[spot] = self._plan(spot)
        cells = self._cells
        for payoff, places in self._plans[spot]:
            net = -stake if payoff.lost else stake * payoff.net_num // (payoff.net_den * self._unit) * self._unit
            for place in places:
                cells[place] += sign * net

    def worst(self) -> int:
        cells, starts = self._cells, range(0, len(self._cells), _WIDTH)
        return max(_continued(point, cells[start : start + _WIDTH]) for point, start in zip(self._points, starts, strict=True))

    def _plan(self, spot: Spot) -> list[tuple[Payoff, list[int]]]:
        """By payoff, the cells in which a bet on the spot counts. Refuses (LGR-0408) odds on a line that has no point."""
        if spot.text == "pass_odds" and self._state.point == NO_POINT:
            verify_placing(self._state, spot)
        plan: dict[Payoff, list[int]] = {}
        for slot, point in enumerate(self._points):
            payoff = _payoff(spot, self._state.point, slot)
            counted = _waiting(moved(spot, payoff), point) if payoff.result == STANDS else [(_DECIDED, payoff)]
            for column, each in counted:
                plan.setdefault(each, []).append(slot * _WIDTH + column)
        return list(plan.items())


# The columns of a row: what the throw decides; the line, if its point is made and if it is not; and, for each number, the bets
# that always work (made, seven) and those that are off without a point (made, seven).
_DECIDED, _LINE_MADE, _LINE_SEVEN, _NUMBERS = range(4)
_MADE, _SEVEN, _OFF_MADE, _OFF_SEVEN = range(4)
_WIDTH = _NUMBERS + 4 * len(POINTS)

_ON_LINE = (*BEFORE_POINT, "pass_odds")
_SLOTS = {total: [slot for slot, pair in enumerate(PAIRS) if sum(pair) == total] for total in (*POINTS, 7)}
"""The throws of a sum; the pair, where there is one, is the last. No bet on a number is paid less by its pair."""


def _waiting(spot: Spot, point: int) -> list[tuple[int, Payoff]]:
    """The columns in which a bet counts that stands, and what it is paid there. `point` is the one after the throw."""
    if spot.chance.code in _ON_LINE:
        return [(_LINE_MADE, _payoff(spot, point, _SLOTS[point][0])), (_LINE_SEVEN, _payoff(spot, point, _SLOTS[7][0]))]
    number = FIXED_NUMBER.get(spot.chance.code) or spot.numbers[0]
    # Any point will do but none: with one on, every bet on a number works.
    made, seven = (_payoff(spot, number, _SLOTS[total][-1]) for total in (number, 7))
    first = _NUMBERS + 4 * POINTS.index(number)
    columns = (_OFF_MADE, _OFF_SEVEN) if spot.chance.code in OFF_ON_COME_OUT else (_MADE, _SEVEN)
    return [(first + columns[0], made), (first + columns[1], seven)]


def _payoff(spot: Spot, point: int, slot: int) -> Payoff:
    return spot.pays[PHASES.index(point) * len(PAIRS) + slot]


def _continued(point: int, row: list[int]) -> int:
    """The worst continuation after a throw that left this point.

    With a point on, a seven ends it all, and numbers other than the point may come before it; or the point comes, and the table
    comes out anew.
    """
    numbers = {each: row[first : first + 4] for each, first in zip(POINTS, range(_NUMBERS, _WIDTH, 4), strict=True)}
    if point == NO_POINT:
        return row[_DECIDED] + sum(map(_from_come_out, numbers.values()))
    own = numbers.pop(point)
    seven_out = row[_LINE_SEVEN] + own[_SEVEN] + own[_OFF_SEVEN] + sum(map(_with_point, numbers.values()))
    made = row[_LINE_MADE] + own[_MADE] + own[_OFF_MADE] + sum(map(_from_come_out, numbers.values()))
    return row[_DECIDED] + max(seven_out, made)


def _with_point(number: list[int]) -> int:
    """The number made, or seven, while a point is on: all bets on the number are decided alike."""
    made, seven, off_made, off_seven = number
    return max(made + off_made, seven + off_seven)


def _from_come_out(number: list[int]) -> int:
    """Without a point: the number or a seven decides the bets that always work, and those that are off are made after that.

    They may as well be: a seven never gives them more than their number does.
    """
    made, seven, off_made, _ = number
    return max(made, seven) + off_made
