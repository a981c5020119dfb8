"""What every fold asks of an event before it believes it, and every reader of movements of what they come to."""

from __future__ import annotations

from ledger.errors import Refusal
from ledger.events import PayoutMade, Recorded, Standing
from ledger.money import format_plain


class Contradiction(Refusal):
    """An event that cannot follow the events before it, or that contradicts itself; folding it would invent money.

    To who reads a round it is LGR-0504: an event that says such a thing cannot be read as one of ours.
    """

    def __init__(self, recorded: Recorded, reason: str) -> None:
        topic = recorded.body.TOPIC
        super().__init__(
            "LGR-0504",
            f"{topic} at position {recorded.position} (round {recorded.stream}): {reason}",
            help="events are written by this program alone: find out who wrote this one, and bring back the row from a backup",
        )


def amount(recorded: Recorded, text: str) -> int:
    """An amount of an event, in minor units. Raises Contradiction for anything but ASCII digits."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise Contradiction(recorded, f"{text!r} is not an amount")


def verify_currency(recorded: Recorded, currency: str) -> None:
    """Raises Contradiction where an event names another currency than its round's."""
    named = getattr(recorded.body, "currency", currency)
    if named != currency:
        raise Contradiction(recorded, f"its currency is {named}, the round's is {currency}")


def verify_payout(recorded: Recorded, body: PayoutMade) -> None:
    """Raises Contradiction unless it pays a winner or returns a push, with figures that add up."""
    if body.result not in ("won", "push"):
        raise Contradiction(recorded, f"a payout cannot be {body.result!r}")
    _verify_prize(recorded, body)


def verify_standing(recorded: Recorded, body: Standing) -> None:
    """Raises Contradiction unless what is said to be true of a bet adds up."""
    if body.result in ("won", "push"):
        _verify_prize(recorded, body)
        return
    stake = amount(recorded, body.stake)
    returned = stake if body.result == "void" else 0
    if body.result not in ("open", "lost", "void"):
        raise Contradiction(recorded, f"a bet cannot be {body.result!r}")
    if amount(recorded, body.returned) != returned:
        raise Contradiction(recorded, f"of a bet that is {body.result} {returned} goes back, not {body.returned}")
    if any(amount(recorded, each) for each in (body.prize, body.commission, body.breakage, body.net_prize)):
        raise Contradiction(recorded, f"a bet that is {body.result} has a prize")


def _verify_prize(recorded: Recorded, body: PayoutMade | Standing) -> None:
    """Prize = net prize + commission + breakage, returned = stake + net prize, and a push has no prize."""
    prize, net, returned = amount(recorded, body.prize), amount(recorded, body.net_prize), amount(recorded, body.returned)
    if prize != net + amount(recorded, body.commission) + amount(recorded, body.breakage):
        raise Contradiction(recorded, "prize is not net prize + commission + breakage")
    if returned != amount(recorded, body.stake) + net:
        raise Contradiction(recorded, "returned is not stake + net prize")
    if body.result == "push" and prize:
        raise Contradiction(recorded, "a push has a prize")


def verify_comes_to(account: str, currency: str, moved: int, balance: int) -> None:
    """Raises Refusal LGR-0520 where what moved (minor units) does not come to the balance."""
    if moved != balance:
        came_to, has = format_plain(moved, currency), format_plain(balance, currency)
        raise Refusal(
            "LGR-0520",
            f"what moved comes to {currency} {came_to}, and the balance is {has}",
            field="account",
            value=account,
            help="roundledger replay finds the difference",
        )
