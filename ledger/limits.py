"""A table's limits: what a bet may be, and how much a round may cost the house.

- The minimum holds for each bet.
- The maximum holds for what one player has on one spot of a round: two bets of the maximum on the same number exceed it.
- The exposure limit holds for the most that the table can lose on all open bets of the round, carried ones included, over
  everything that the table can still show (`ledger.rules.Exposure`).
- The differential holds for the stakes on two opposing spots.

The exposure limit stands against the house's own loss and against nobody's bet, so a bet that does not raise the worst case is
taken even above it. A bet that was placed in time and heard of late is a bet by the regulation, and the dealer took it: minimum
and maximum stood at the table, so they hold for it; what else was open was not to be seen there, so the other two do not. It
counts in the exposure from then on. Where its round has ended meanwhile, the maximum holds beside all that its player had on the
spot when betting closed, whatever has become of that since; and where the bets were carried on, beside what the player has on it
there by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from ledger.errors import Refusal
from ledger.money import MinorUnits, format_plain
from ledger.rules import COME_OUT, Exposure, Regulation, Spot, State


class Band(NamedTuple):
    """Least and largest stake, in minor units; None where there is no such limit."""

    minimum: MinorUnits | None = None
    maximum: MinorUnits | None = None

    def within(self, table: Band) -> Band:
        """This band of a chance, with the table's limit where it has none of its own."""
        minimum = table.minimum if self.minimum is None else self.minimum
        return Band(minimum, table.maximum if self.maximum is None else self.maximum)


class Limits:
    """The limits of one table, in minor units of its currency."""

    def __init__(
        self,
        currency: str,
        table: Band = Band(),  # noqa: B008 - an immutable tuple
        chances: Mapping[str, Band] | None = None,
        exposure: MinorUnits | None = None,
        differential: MinorUnits | None = None,
    ) -> None:
        """`chances`: code of a chance → what it has of its own."""
        self.currency = currency
        self.table = table
        self.chances = {code: band.within(table) for code, band in (chances or {}).items()}
        self.exposure = exposure
        self.differential = differential
        self.bands = any(band != Band() for band in (table, *self.chances.values()))
        """Whether any bet has a minimum or maximum."""
        self.sums = any(band.maximum is not None for band in (table, *self.chances.values()))
        """Whether it has to be known what a player has on a spot."""
        self.any = self.bands or exposure is not None or differential is not None

    def of(self, spot: Spot) -> Band:
        """The least and the largest stake on a spot."""
        return self.chances.get(spot.chance.code, self.table)

    def verify_stake(self, player: str, spot: Spot, stake: MinorUnits, held: MinorUnits) -> None:
        """Raises Refusal LGR-0605 or LGR-0606 of a stake that is too small, or too large beside what the player has there."""
        minimum, maximum = self.of(spot)
        money = self.money
        if minimum is not None and stake < minimum:
            raise Refusal(
                "LGR-0605",
                f"the table's minimum on {spot.text} is {money(minimum)}; this stake of {money(stake)} is "
                f"{money(minimum - stake)} below it",
                field="stake",
                value=str(stake),
                help=f"a stake of {money(minimum)} or more is taken here",
            )
        if maximum is not None and held + stake > maximum:
            room = maximum - held
            raise Refusal(
                "LGR-0606",
                f"the table's maximum of one player on {spot.text} is {money(maximum)}; with this stake of {money(stake)} "
                f"{player} would have {money(held + stake)} there, {money(held + stake - maximum)} above it",
                field="stake",
                value=str(stake),
                help=f"a stake of up to {money(room)} is taken here" if room >= max(minimum or 1, 1) else "choose another spot",
            )

    def money(self, amount: MinorUnits) -> str:
        """An amount as refusals write it."""
        return f"{self.currency} {format_plain(amount, self.currency)}"

    def __str__(self) -> str:
        """`min 100.00 max 50000.00 exposure 500000.00; straight min 100.00 max 1000.00`."""
        said = [*self._words(self.table)]
        for name, amount in (("exposure", self.exposure), ("differential", self.differential)):
            if amount is not None:
                said.append(f"{name} {format_plain(amount, self.currency)}")
        parts = [" ".join(said)] if said else []
        return "; ".join(parts + [" ".join((code, *self._words(band))) for code, band in self.chances.items()])

    def _words(self, band: Band) -> Iterable[str]:
        for name, amount in (("min", band.minimum), ("max", band.maximum)):
            if amount is not None:
                yield f"{name} {format_plain(amount, self.currency)}"


class Book:
    """The open bets of one round, counted as its table's limits need it.

    A bet costs the same however many are open. The exact exposure is asked for only where the bets since it was last known could
    have brought it to the limit: none of them can have raised it by more than its own largest prize.
    """

    def __init__(self, limits: Limits, regulation: Regulation, *, payable_unit: MinorUnits = 1, state: State = COME_OUT) -> None:
        """An empty book. `state`: craps, where the round stands between throws."""
        self.limits = limits
        self._unit = payable_unit
        self._on_spot: dict[tuple[str, Spot], int] | None = {} if limits.sums else None
        self._exposure = None if limits.exposure is None else Exposure(regulation, payable_unit=payable_unit, state=state)
        self._uncounted: list[tuple[Spot, int, bool]] = []
        """Bets that came or went since the exposure was last asked for."""
        self._at_most = 0
        """What the exposure cannot exceed."""
        self._odds: dict[Spot, list[tuple[int, int]]] = {}
        """Spot → what it can win, net, as numerator and denominator; as many as it has payoffs, mostly one."""
        self._opposite = {} if limits.differential is None else opposite(regulation)
        self._staked = dict.fromkeys(self._opposite, 0)

    def add(self, player: str, spot: Spot, stake: MinorUnits) -> None:
        """Count a bet in."""
        if self._on_spot is not None:
            key = (player, spot)
            self._on_spot[key] = self._on_spot.get(key, 0) + stake
        if self._exposure is not None:
            self._uncounted.append((spot, stake, True))
            self._at_most += self._largest_prize(spot, stake)
        if spot in self._staked:
            self._staked[spot] += stake

    def remove(self, player: str, spot: Spot, stake: MinorUnits) -> None:
        """Count a bet out that was counted in with this stake."""
        if self._on_spot is not None:
            self._on_spot[player, spot] -= stake
        if self._exposure is not None:
            self._uncounted.append((spot, stake, False))
            self._at_most += stake
        if spot in self._staked:
            self._staked[spot] -= stake

    @property
    def over(self) -> tuple[str, ...]:
        """The limits of the table as a whole above which the open bets stand: `exposure`, `differential`.

        No bet brings a table there, but a late one, or the withdrawal of one that lay against others.
        """
        said = []
        if self.limits.exposure is not None and self.worst > self.limits.exposure:
            said.append("exposure")
        most = self.limits.differential
        if most is not None and any(self._staked[spot] - self._staked[other] > most for spot, other in self._opposite.items()):
            said.append("differential")
        return tuple(said)

    @property
    def worst(self) -> int:
        """The most that the table can lose on the open bets; 0 where no limit asks for it."""
        if self._exposure is None:
            return 0
        for spot, stake, came in self._uncounted:
            (self._exposure.add if came else self._exposure.remove)(spot, stake)
        self._uncounted.clear()
        self._at_most = self._exposure.worst
        return self._at_most

    def verify(self, player: str, spot: Spot, stake: MinorUnits, *, late: bool = False) -> None:
        """Raises the Refusal (LGR-0605 to 0608) of a bet that may not be placed; counts nothing.

        `late`: it was placed before betting closed and is heard of only now.
        """
        limits = self.limits
        if limits.bands:
            held = 0 if self._on_spot is None else self._on_spot.get((player, spot), 0)
            limits.verify_stake(player, spot, stake, held)
        if late:
            return
        if self._exposure is not None and limits.exposure is not None:
            prize = self._largest_prize(spot, stake)
            if self._at_most + prize > limits.exposure and self.worst + prize > limits.exposure:
                self._verify_exposure(self._exposure, limits.exposure, spot, stake)
        if limits.differential is not None and spot in self._staked:
            self._verify_difference(limits.differential, spot, stake)

    def verify_change(self, player: str, was: tuple[Spot, MinorUnits], spot: Spot, stake: MinorUnits) -> None:
        """As `verify`, for a bet that is open as `was` and would be this one. Less on the same spot has its minimum to keep."""
        self.remove(player, *was)
        try:
            self.verify(player, spot, stake, late=spot is was[0] and stake <= was[1])
        finally:
            self.add(player, *was)

    def _verify_exposure(self, exposure: Exposure, limit: int, spot: Spot, stake: int) -> None:
        """All bets are counted by now."""
        before = exposure.worst
        exposure.add(spot, stake)
        worst = exposure.worst
        exposure.remove(spot, stake)
        if worst > limit and worst > before:
            money = self.limits.money
            raise Refusal(
                "LGR-0607",
                f"the table's exposure limit is {money(limit)}; with this bet it could lose {money(worst)} on the open bets of "
                f"the round, {money(worst - limit)} above it",
                field="stake",
                value=str(stake),
                help="a smaller stake may be taken, or a bet that wins when the others lose",
            )

    def _verify_difference(self, limit: int, spot: Spot, stake: int) -> None:
        other = self._opposite[spot]
        difference = self._staked[spot] + stake - self._staked[other]
        if difference > limit:
            money = self.limits.money
            raise Refusal(
                "LGR-0608",
                f"stakes on {spot.text} may exceed those on {other.text} by {money(limit)}; with this bet they would by "
                f"{money(difference)}, {money(difference - limit)} above it",
                field="stake",
                value=str(stake),
                help=f"a smaller stake may be taken, or this one once there is more on {other.text}",
            )

    def _largest_prize(self, spot: Spot, stake: int) -> int:
        odds = self._odds.get(spot)
        if odds is None:
            odds = self._odds[spot] = [(payoff.net_num, payoff.net_den * self._unit) for payoff, _ in spot.winning]
        if len(odds) == 1:
            return stake * odds[0][0] // odds[0][1] * self._unit
        return max([stake * net_num // net_den for net_num, net_den in odds]) * self._unit


def opposite(regulation: Regulation) -> dict[Spot, Spot]:
    """Spot → the spot that opposes it, for those that have one.

    Two spots oppose each other where both pay even money and push on nothing, no outcome wins both, and as many win the one as
    the other: red and black, even and odd, low and high (30/2003); big and small (31/2003); two kuoc that share no number
    (58/2004). Craps has none: its bets are decided over several throws.
    """
    return {regulation.spot(spot): regulation.spot(other) for spot, other in _opposing(regulation).items()}


@cache
def _opposing(regulation: Regulation) -> dict[str, str]:
    """The same in notation: a regulation read twice is equal to itself, and each reading has spots of its own."""
    if len(regulation.kernel.phases) > 1:
        return {}
    weights = [outcome.weight for outcome in sorted(regulation.outcomes(), key=lambda outcome: outcome.slot)]
    even = {
        spot: frozenset(slot for _, slots in spot.winning for slot in slots)
        for spot in regulation.spots()
        if all(payoff.odds == 1 for payoff, _ in spot.winning)
    }
    found: dict[Spot, Spot] = {}
    for spot, wins in even.items():
        weight = sum(weights[slot] for slot in wins)
        others = [
            other for other, also in even.items() if wins.isdisjoint(also) and sum(weights[slot] for slot in also) == weight
        ]
        if len(others) == 1:
            found[spot] = others[0]
    return {spot.text: other.text for spot, other in found.items() if found.get(other) is spot}
