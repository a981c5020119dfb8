"""Game kernels: what a game can show, which selections are legal, and what each does on each outcome.

A kernel knows the game, the regulation's data know the law: odds, articles, dates and listed numbers never stand here.
"""

from __future__ import annotations

from ledger.rules.games.craps import Craps
from ledger.rules.games.cussec import Cussec
from ledger.rules.games.fantan import Fantan
from ledger.rules.games.kernel import Kernel
from ledger.rules.games.roulette import Roulette

KERNELS: dict[str, type[Kernel]] = {kernel.game: kernel for kernel in (Roulette, Cussec, Fantan, Craps)}
"""The kernel of each game by the game's name."""
