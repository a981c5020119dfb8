"""This very program in another process, wherever it was imported from."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def command(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module of this program."""
    return [sys.executable, "-P", "-m", module, *arguments]  # -P: no folder of the user's that is named like one of ours


def environment(**settings: str) -> dict[str, str]:
    """The environment for it: this process's own, with the program on the path, plus `settings`."""
    own = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **settings}
