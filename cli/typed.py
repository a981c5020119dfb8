"""How this program is typed: what it tells people to type next has to work in their shell."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The clone, where the program runs in one."""


def program() -> str:
    """This program as it can be called from the current directory: by name only where PATH leads to this very one."""
    own = Path(sys.argv[0])
    if own.name != "roundledger":
        own = Path(sys.executable).with_name("roundledger")
    if not own.exists():
        return f"{shlex.quote(sys.executable)} -m cli"
    found = shutil.which("roundledger")
    if found is not None and Path(found).samefile(own):
        return "roundledger"
    return shlex.quote(from_here(own))


def from_here(path: Path) -> str:
    """A path as short as it can be typed from the current directory."""
    near = os.path.relpath(path)
    if near.startswith(os.pardir + os.sep):
        return str(path)
    return near if os.sep in near else f"{os.curdir}{os.sep}{near}"
