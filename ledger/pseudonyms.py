"""Players are known by references of the house's own making: no name, no address and no document's number comes into the log.

What is once in the log stays there, so it is turned away at the door. The alphabet of a reference has neither spaces nor `@`;
what remains are the numbers of identity papers, whose forms are known.
"""

from __future__ import annotations

import re

from ledger.errors import Refusal

_DOCUMENT = re.compile(r"[157][0-9]{7}|[A-Za-z]{1,2}[0-9]{6,9}[0-9Aa]?|[0-9]{17}[0-9Xx]", re.ASCII)
"""Identity cards of Macau (eight digits), of Hong Kong and passports (letters, then digits), and of the mainland (18 digits)."""


def verify_pseudonym(player: str, field: str) -> None:
    """Raises Refusal LGR-0122 for a player's reference that has the form of a document's number."""
    if _DOCUMENT.fullmatch(player):
        raise Refusal(
            "LGR-0122",
            "a player's reference is of the house's own making, and this has the form of a document's number",
            field=field,
            value=player,
            help=f"where it is a number of the house's own, put letters and a hyphen before it: P-{player}",
        )
