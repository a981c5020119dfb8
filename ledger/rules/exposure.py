"""Exposure: the most that a table can still lose on its open bets, exact, kept up bet by bet."""

from __future__ import annotations

from fractions import Fraction

from ledger.money import MinorUnits
from ledger.rules.games.craps import BEFORE_POINT, COME_OUT, FIXED_NUMBER, NO_POINT, OFF_ON_COME_OUT, PAIRS, PHASES, POINTS, State
from ledger.rules.games.kernel import PUSH, STANDS
from ledger.rules.regulation import Regulation
from ledger.rules.spots import Payoff, Spot
from ledger.rules.throws import moved


class Exposure:
    """The largest, over outcomes, of all payouts minus all open stakes, in minor units.

    A payout is what leaves the table: stake and net prize of a winner, the stake of a push. Each bet is rounded by itself, as it
    will be settled. Adding or removing a bet costs the same however many are open.

    For craps the maximum is over all continuations from `state` on in which every bet is decided, in this round or a later one.
    """

    def __init__(self, regulation: Regulation, *, payable_unit: MinorUnits = 1, state: State = COME_OUT) -> None:
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


class _Group:
    """The open bets of one spot: their stakes, and their net prizes at each odds that they can win."""

    __slots__ = ("prizes", "stake")

    def __init__(self) -> None:
        self.stake = 0
        self.prizes: dict[Fraction, int] = {}

    def value(self, payoff: Payoff) -> int:
        """What the table pays on the bets of the group, stakes taken off."""
        if payoff.lost:
            return -self.stake
        return 0 if payoff.result in (PUSH, STANDS) else self.prizes.get(payoff.net, 0)

    def joined(self, other: _Group) -> _Group:
        both = _Group()
        both.stake = self.stake + other.stake
        both.prizes = {net: self.prizes.get(net, 0) + other.prizes.get(net, 0) for net in {*self.prizes, *other.prizes}}
        return both


class _ThrowBook:
    """Craps. One group a spot, so that the search for the worst continuation does not grow with the bets.

    The first throw is tried out, all 21 of it. What stands after it waits for a number against 7, and the worst order of numbers
    and sevens is known without trying (`_after`).
    """

    def __init__(self, state: State, payable_unit: MinorUnits) -> None:
        self._point = NO_POINT if state.decided else state.point
        self._unit = payable_unit
        self._groups: dict[Spot, _Group] = {}

    def change(self, spot: Spot, stake: MinorUnits, sign: int) -> None:
        group = self._groups.setdefault(spot, _Group())
        group.stake += sign * stake
        for net in {payoff.net for payoff, _ in spot.winning}:
            amount = stake * net.numerator // (net.denominator * self._unit) * self._unit
            group.prizes[net] = group.prizes.get(net, 0) + sign * amount
        if group.stake == 0:
            del self._groups[spot]

    def worst(self) -> int:
        if not self._groups:
            return 0
        return max(self._with_first(slot) for slot in range(len(PAIRS)))

    def _with_first(self, slot: int) -> int:
        """The worst continuation that begins with this throw."""
        value = 0
        left: dict[Spot, _Group] = {}
        for spot, group in self._groups.items():
            payoff = _payoff(spot, self._point, slot)
            value += group.value(payoff)
            if payoff.result == STANDS:
                after = moved(spot, payoff)
                left[after] = left[after].joined(group) if after in left else group
        total = sum(PAIRS[slot])
        if self._point == NO_POINT:
            point = total if total in POINTS else NO_POINT
        else:
            point = NO_POINT if total in (self._point, 7) else self._point
        return value + _after(point, left)


class _Number:
    """What the bets that wait for one number are worth to the players: those that work always, and those off without a point."""

    __slots__ = ("made", "off_made", "off_seven", "seven")

    def __init__(self) -> None:
        self.made = self.seven = self.off_made = self.off_seven = 0

    @property
    def best(self) -> int:
        """With a point on: the number made, or seven; both kinds of bets are decided alike."""
        return max(self.made + self.off_made, self.seven + self.off_seven)


def _after(point: int, groups: dict[Spot, _Group]) -> int:
    """The worst continuation for bets that all wait for a number against 7 (or, on the line, for the point)."""
    numbers = {each: _count(each, groups) for each in POINTS}
    if point == NO_POINT:
        return _from_come_out(list(numbers.values()))
    line_made = line_seven = 0
    for spot, group in groups.items():
        if spot.chance.code in _ON_LINE:
            line_made += group.value(_payoff(spot, point, _SLOTS[point][0]))
            line_seven += group.value(_payoff(spot, point, _SEVEN))
    own = numbers.pop(point)
    # A seven ends it all; numbers other than the point may come before it. Or the point comes, and the table comes out anew.
    seven_out = line_seven + own.seven + own.off_seven + sum(number.best for number in numbers.values())
    made = line_made + own.made + own.off_made + _from_come_out(list(numbers.values()))
    return max(seven_out, made)


def _from_come_out(numbers: list[_Number]) -> int:
    """Without a point. Every number can be thrown twice: the first time with some bets off, the second time with all on.

    Either a seven on some come-out decides the bets that always work, and the others are free after it; or none does, and then at
    most one number can be thrown once only: the last point, before the seven that ends it all.
    """
    with_seven = sum(max(number.best, number.seven + number.off_made) for number in numbers)
    gain = max((number.made + number.off_seven - number.best for number in numbers), default=0)
    return max(with_seven, sum(number.best for number in numbers) + gain)


def _count(number: int, groups: dict[Spot, _Group]) -> _Number:
    found = _Number()
    hard = easy = 0
    for spot, group in groups.items():
        if spot.chance.code in _ON_LINE or _waits_for(spot) != number:
            continue
        if spot.chance.code in OFF_ON_COME_OUT:
            hard += group.value(_payoff(spot, number, _SLOTS[number][-1]))
            easy += group.value(_payoff(spot, number, _SLOTS[number][0]))
            found.off_seven += group.value(_payoff(spot, number, _SEVEN))
        else:
            found.made += group.value(_payoff(spot, number, _SLOTS[number][0]))
            found.seven += group.value(_payoff(spot, number, _SEVEN))
    found.off_made = max(hard, easy)
    return found


_ON_LINE = (*BEFORE_POINT, "pass_odds")
_SLOTS = {total: [slot for slot, pair in enumerate(PAIRS) if sum(pair) == total] for total in (*POINTS, 7)}
"""The throws of a sum; the pair, where there is one, is the last."""
_SEVEN = _SLOTS[7][0]


def _waits_for(spot: Spot) -> int:
    return FIXED_NUMBER.get(spot.chance.code) or spot.numbers[0]


def _payoff(spot: Spot, point: int, slot: int) -> Payoff:
    return spot.pays[PHASES.index(point) * len(PAIRS) + slot]
