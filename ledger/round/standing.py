"""Standings: all that is true of a bet at one moment, and what that means in money.

A correction is the difference of two standings, and so is what it moves: the effect of the one is taken back, that of the other
takes its place, and only what is left over is posted.
"""

from __future__ import annotations

from typing import Any

from ledger.events import Standing
from ledger.rules import Resolution


def open_standing(player: str, spot: str, stake: int) -> Standing:
    """A bet that nothing has decided yet; its stake (minor units) is in escrow."""
    return Standing(player=player, spot=spot, stake=str(stake), result="open")


def decided_standing(player: str, resolution: Resolution) -> Standing:
    """What a resolution makes of a bet: lost, won or pushed; open where it stands."""
    _, spot, stake = resolution.wager
    if resolution.result == "stands":
        return open_standing(player, resolution.payoff.moves_to or spot.text, stake)
    said: dict[str, Any] = {
        "player": player,
        "spot": spot.text,
        "stake": str(stake),
        "result": resolution.result,
        "edge": str(spot.edge),
        "article": resolution.cite,
    }
    if not resolution.payoff.lost:
        said |= {
            "odds": str(resolution.odds),
            "prize_exact": str(resolution.prize_exact),
            "prize": str(resolution.prize),
            "commission": str(resolution.commission),
            "breakage": str(resolution.breakage),
            "net_prize": str(resolution.net_prize),
            "returned": str(resolution.returned),
        }
    return Standing(**said)


def void_standing(standing: Standing) -> Standing:
    """The same bet, undecided for good: its stake has gone back."""
    return Standing(player=standing.player, spot=standing.spot, stake=standing.stake, result="void", returned=standing.stake)


def stake_back(standing: Standing) -> int:
    """How much of the stake has gone back to the player, prizes not counted; never more than was taken. Minor units."""
    return int(standing.stake) if standing.result in ("won", "push", "void") else 0


def effect(standing: Standing) -> dict[str, int]:
    """What a standing leaves on each account, in minor units, compared with no bet at all. It sums to zero.

    Accounts are those of docs/explanation/money-flow.md, without the table: `player/<reference>`, `escrow`, `win`, `commission`,
    `breakage`. Those on which nothing is left are not named.
    """
    player, stake = f"player/{standing.player}", int(standing.stake)
    match standing.result:
        case "open":
            left = {player: -stake, "escrow": stake}
        case "lost":
            left = {player: -stake, "win": stake}
        case "won":
            left = {
                player: int(standing.net_prize),
                "win": -int(standing.prize),
                "commission": int(standing.commission),
                "breakage": int(standing.breakage),
            }
        case _:
            left = {}
    return _without_zeros(left)


def difference(before: Standing, after: Standing) -> dict[str, int]:
    """What a correction from one standing to another moves on each account, in minor units. It sums to zero."""
    moved = dict(effect(after))
    for account, amount in effect(before).items():
        moved[account] = moved.get(account, 0) - amount
    return _without_zeros(moved)


def _without_zeros(amounts: dict[str, int]) -> dict[str, int]:
    return {account: amount for account, amount in amounts.items() if amount}
