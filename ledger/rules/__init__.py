"""The rules core: regulations as data, game kernels, settlement, explanation and exposure.

Pure functions and data: no clock, no database. The only files read are the regulations in `seeds/regulations`, once a process.

    >>> roulette = regulation("30/2003")
    >>> bet = Wager("b1", roulette.spot("split:20-17"), 100_00)
    >>> [paid] = settle(roulette, roulette.outcome("17"), [bet])
    >>> paid.result, paid.prize, paid.returned, paid.cite
    ('won', 170000, 180000, '30/2003 art. 6(2), 7(2)')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ledger.rules.games.craps import COME_OUT, State
from ledger.rules.model import UNVERIFIED, Assumption, Chance, Commission, Name, Void
from ledger.rules.outcomes import Outcome
from ledger.rules.register import MACAU, Applied, assumptions, regulation, regulation_for, regulations
from ledger.rules.regulation import Regulation
from ledger.rules.resolutions import Resolution, Wager
from ledger.rules.settlement import settle
from ledger.rules.spots import Payoff, Spot
from ledger.rules.throws import can_place, state_after, verify_placing

if TYPE_CHECKING:
    from ledger.rules.analysis import Analysis, analyse, analyse_by_point
    from ledger.rules.explanation import Explanation, explain
    from ledger.rules.exposure import Exposure

__all__ = [
    "COME_OUT",
    "MACAU",
    "UNVERIFIED",
    "Analysis",
    "Applied",
    "Assumption",
    "Chance",
    "Commission",
    "Explanation",
    "Exposure",
    "Name",
    "Outcome",
    "Payoff",
    "Regulation",
    "Resolution",
    "Spot",
    "State",
    "Void",
    "Wager",
    "analyse",
    "analyse_by_point",
    "assumptions",
    "can_place",
    "explain",
    "regulation",
    "regulation_for",
    "regulations",
    "settle",
    "state_after",
    "verify_placing",
]

# Settling needs none of these: they are loaded when they are first asked for, so that the import stays short.
_LATER = {
    "Analysis": "ledger.rules.analysis",
    "analyse": "ledger.rules.analysis",
    "analyse_by_point": "ledger.rules.analysis",
    "Explanation": "ledger.rules.explanation",
    "explain": "ledger.rules.explanation",
    "Exposure": "ledger.rules.exposure",
}

if not TYPE_CHECKING:  # a type checker must go on to refuse a name that is not there

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_LATER[name]), name)
        return value
