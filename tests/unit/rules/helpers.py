"""What the tests of the rules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from ledger.errors import Refusal
from ledger.rules import Outcome, Regulation, Resolution, Wager, regulation, settle

ROULETTE = regulation("30/2003")
CUSSEC = regulation("31/2003")
FANTAN = regulation("58/2004")
CRAPS = regulation("53/2010")
UNVERIFIED = CRAPS.with_unverified()
SINGLE_OUTCOME = (ROULETTE, CUSSEC, FANTAN)


def wagers(law: Regulation, *bets: str, stake: int = 100) -> list[Wager]:
    """Bets in notation, each with a stake after "=" or the usual one; keyed by the notation as written."""
    placed = []
    for bet in bets:
        text, _, amount = bet.partition("=")
        placed.append(Wager(bet, law.spot(text), int(amount or stake)))
    return placed


def results(law: Regulation, outcome: str, *bets: str, stake: int = 100) -> dict[str, Resolution]:
    """Each bet's resolution by its notation."""
    return {str(each.wager.key): each for each in settle(law, law.outcome(outcome), wagers(law, *bets, stake=stake))}


def prizes(law: Regulation, outcome: str, *bets: str) -> dict[str, int | str]:
    """The prize of each bet of 100, or `lost`, `push`, `stands`."""
    return {bet: each.prize if each.result == "won" else each.result for bet, each in results(law, outcome, *bets).items()}


def winning(law: Regulation, spot: str, outcomes: Iterable[Outcome] | None = None) -> list[str]:
    """The outcomes on which a spot wins."""
    placed = Wager(spot, law.spot(spot), 100)
    return [each.text for each in outcomes or law.outcomes() if settle(law, each, [placed])[0].result == "won"]


def refusal(call: Callable[[], object], code: str) -> Refusal:
    """The refusal that a call ends in; it can always be printed."""
    with pytest.raises(Refusal) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.render().startswith(f"error[{code}]: ")
    assert caught.value.meaning.title
    return caught.value
