"""Craps between throws: when a bet may be placed, and what a throw or a sequence of throws makes of the bets on the table."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ledger.errors import Refusal
from ledger.money import MinorUnits
from ledger.rules.games.craps import AFTER_POINT, BEFORE_POINT, COME_OUT, NO_POINT, PAIRS, PHASES, State
from ledger.rules.games.kernel import STANDS, Decision
from ledger.rules.outcomes import Outcome, Throw
from ledger.rules.resolutions import Resolution, Wager, resolve
from ledger.rules.spots import Payoff, Spot


def verify_placing(state: State, spot: Spot, own: Collection[Spot] = ()) -> None:
    """Refuse (LGR-0408) a bet that cannot be placed in this state. `own` are the spots of the same player's open bets."""
    reason = _reason_against(state, spot, own)
    if reason is not None:
        raise Refusal("LGR-0408", reason, field="spot", value=spot.text, cite=f"{spot.cite}: {spot.chance.rule}")


def can_place(state: State, spot: Spot, own: Collection[Spot] = ()) -> bool:
    """Whether a bet can be placed in this state."""
    return _reason_against(state, spot, own) is None


def _reason_against(state: State, spot: Spot, own: Collection[Spot]) -> str | None:
    code, point = spot.chance.code, state.point
    texts = {each.text for each in own}
    if state.decided:
        return "the line is decided: the round is over"
    if spot.travelled:
        return f"{code} is bet by its name alone; a throw gives it its number"
    if code in BEFORE_POINT and point != NO_POINT:
        return f"{code} is placed before the come-out throw, and the point is {point} already"
    if code in AFTER_POINT and point == NO_POINT:
        return f"{code} is placed once there is a point, and there is none"
    if code == "pass_odds" and "pass" not in texts:
        return "odds on the pass line are added to the player's own pass bet, and there is none"
    if code == "come_odds" and f"come:{spot.selection}" not in texts:
        return f"odds are added to the player's own come bet on {spot.selection}, and there is none"
    if code == "dont_odds":
        on_line = "dont_pass" in texts and str(point) == spot.selection
        if not on_line and f"dont_come:{spot.selection}" not in texts:
            return f"odds are added to the player's own don't bet on {spot.selection}, and there is none"
    return None


def settle_throws(outcome: Outcome, wagers: Iterable[Wager], state: State | None, payable_unit: MinorUnits) -> list[Resolution]:
    """What the throws of an outcome make of the bets: losers first, then winners and pushes, then bets that stand.

    With a `state` the bets are those on the table in it. Without one the throws begin a round and each bet is placed at the first
    moment at which it can be; one for which that moment never comes is refused (LGR-0408).
    """
    now = COME_OUT if state is None else state
    table: list[tuple[Wager, Spot]] = []
    waiting: list[Wager] = []
    for wager in wagers:
        if state is None:
            waiting.append(wager)
        else:
            if wager.spot.text == "pass_odds" and state.point == NO_POINT:
                verify_placing(state, wager.spot)
            table.append((wager, wager.spot))
    done: list[Resolution] = []
    waiting = _place(now, table, waiting)
    before, own = now, _spots(table)
    for position, throw in enumerate(outcome.throws):
        if now.decided:
            raise Refusal(
                "LGR-0408",
                f"the line was decided by throw {position}: throw {position + 1} belongs to the next round",
                field="outcome",
                value=outcome.raw,
            )
        if throw.void:
            continue
        left: list[tuple[Wager, Spot]] = []
        for wager, spot in table:
            payoff = payoff_of(spot, now, throw)
            if payoff.result == STANDS:
                left.append((wager, moved(spot, payoff)))
            else:
                done.append(resolve(wager, payoff, payable_unit))
        now, table = now.after(throw), left
        waiting = _place(now, table, waiting)
        if not now.decided:
            before, own = now, _spots(table)
    for wager in waiting:
        # Where the line is decided, the answer is what the bet lacked in the last moment before.
        verify_placing(before, wager.spot, own)
    standing = [resolve(wager, _standing(wager, spot), payable_unit) for wager, spot in table]
    return [each for each in done if each.payoff.lost] + [each for each in done if not each.payoff.lost] + standing


def state_after(state: State, outcome: Outcome) -> State:
    """The state of the round after the throws of an outcome."""
    for throw in outcome.throws:
        state = state.after(throw)
    return state


def payoff_of(spot: Spot, state: State, throw: Throw) -> Payoff:
    """What a throw that is not void does to a spot. Refuses (LGR-0409) a throw known by its sum where the faces decide."""
    start = PHASES.index(state.point) * len(PAIRS)
    first, *others = (spot.pays[start + slot] for slot in throw.slots)
    if any(other is not first for other in others):
        raise Refusal(
            "LGR-0409",
            f"{spot.text} is decided by the faces of the dice, and the throw is known by its sum",
            field="outcome",
            value=throw.text,
            help=f"write the faces: {' or '.join(_faces(throw))}",
        )
    return first


def moved(spot: Spot, payoff: Payoff) -> Spot:
    """The spot of a bet after a throw by which it stands: a come bet has its number now."""
    return spot if payoff.moves_to is None else spot.regulation.spot_in_play(payoff.moves_to)


def _place(state: State, table: list[tuple[Wager, Spot]], waiting: list[Wager]) -> list[Wager]:
    """Put the waiting bets on the table that can be placed now; answer those that still wait."""
    while True:
        own = _spots(table)
        ready = [wager for wager in waiting if not state.decided and can_place(state, wager.spot, own)]
        if not ready:
            return waiting
        table += [(wager, wager.spot) for wager in ready]
        waiting = [wager for wager in waiting if not any(wager is each for each in ready)]


def _spots(table: list[tuple[Wager, Spot]]) -> list[Spot]:
    return [spot for _, spot in table]


def _standing(wager: Wager, spot: Spot) -> Payoff:
    return Payoff(wager.spot, Decision(STANDS, moves_to=None if spot is wager.spot else spot.text), 0)


def _faces(throw: Throw) -> list[str]:
    return [f"{low}-{high}" for low, high in (PAIRS[slot] for slot in throw.slots)]
