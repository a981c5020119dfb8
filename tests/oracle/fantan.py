"""Fantan by 58/2004: the 38 bets as a table; the four letters are what becomes of the bet on 1, 2, 3 and 4.

W wins, T ties (art. 8), L loses. Art. 6 asks for no numbers side by side, so opposite ones are there too.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

TABLE = """
fan:1     WLLL  3
fan:2     LWLL  3
fan:3     LLWL  3
fan:4     LLLW  3
nim:1/2   WTLL  2
nim:1/3   WLTL  2
nim:1/4   WLLT  2
nim:2/1   TWLL  2
nim:2/3   LWTL  2
nim:2/4   LWLT  2
nim:3/1   TLWL  2
nim:3/2   LTWL  2
nim:3/4   LLWT  2
nim:4/1   TLLW  2
nim:4/2   LTLW  2
nim:4/3   LLTW  2
kuoc:12   WWLL  1
kuoc:13   WLWL  1
kuoc:14   WLLW  1
kuoc:23   LWWL  1
kuoc:24   LWLW  1
kuoc:34   LLWW  1
nga:12/3  WWTL  1/2
nga:12/4  WWLT  1/2
nga:13/2  WTWL  1/2
nga:13/4  WLWT  1/2
nga:14/2  WTLW  1/2
nga:14/3  WLTW  1/2
nga:23/1  TWWL  1/2
nga:23/4  LWWT  1/2
nga:24/1  TWLW  1/2
nga:24/3  LWTW  1/2
nga:34/1  TLWW  1/2
nga:34/2  LTWW  1/2
sshong:123 WWWL 1/3
sshong:124 WWLW 1/3
sshong:134 WLWW 1/3
sshong:234 LWWW 1/3
"""

COMMISSION = Fraction(5, 100)
"""Art. 9, of the prize: nothing of a stake and nothing of a tie."""

ARTICLES = {
    "fan": ("6(2)(1)", "7(1)(1)"),
    "nim": ("6(2)(2)", "7(1)(2)"),
    "kuoc": ("6(1)", "7(2)"),
    "nga": ("6(2)(3)", "7(1)(3)"),
    "sshong": ("6(2)(4)", "7(1)(4)"),
}

NUMBERS = ("1", "2", "3", "4")


@cache
def fantan_bets() -> dict[str, tuple[str, Fraction]]:
    """Every bet of the order in canonical notation, with its letters on 1, 2, 3, 4 and the prize to one."""
    rows = [line.split() for line in TABLE.splitlines() if line]
    return {notation: (letters, Fraction(odds)) for notation, letters, odds in rows}


def fantan_number(buttons: int) -> str:
    """The winning number of a heap, by taking four buttons off it again and again (art. 3 and 5(1))."""
    while buttons > 4:
        buttons -= 4
    return "4" if buttons == 0 else str(buttons)
