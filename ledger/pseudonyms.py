"""Players are known by references of the house's own making: no name, no address and no document's number comes into the log.

What is once in the log stays there, so it is turned away at the door, as far as a door can know it. The alphabet of a reference
has neither spaces nor `@`. Of identity papers, the numbers of mainland China are known by their form. Shorter ones, of Macau,
Hong Kong or of passports, look like any house's own member numbers; to refuse these would stop games. The house sees to it.
"""

from __future__ import annotations

import re

from ledger.errors import Refusal

_DOCUMENT = re.compile(r"[1-9][0-9]{5}(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx]", re.ASCII)
"""Place, date of birth, serial number, check character (GB 11643-1999)."""


ERASED = "erased-"
"""How what is shown in the place of an erased reference begins; no player has such a one."""


def verify_pseudonym(player: str, field: str) -> None:
    """Raises Refusal LGR-0122 for a player's reference that has the form of a document's number, LGR-0124 for one that has that
    of what is shown in the place of an erased one.
    """
    if player.startswith(ERASED):
        raise Refusal(
            "LGR-0124",
            f"references that begin with {ERASED} are what is shown in the place of erased ones",
            field=field,
            value=player,
            help="give the player a reference of another form",
        )
    if _DOCUMENT.fullmatch(player):
        raise Refusal(
            "LGR-0122",
            "a player's reference is of the house's own making, and this has the form of a document's number",
            field=field,
            value=player,
            help=f"where it is a number of the house's own, put letters and a hyphen before it: P-{player}",
        )
