"""`roundledger` as a process of its own, as a person starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def environment(**settings: str) -> dict[str, str]:
    """This process's environment with the program on the path and no prescribed width, plus `settings`."""
    inherited = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return {**inherited, "PYTHONPATH": str(ROOT), **settings}


def roundledger(*arguments: str, code: int | None = 0, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs a command line to its end; checks the exit code unless that is None. `settings` go into the environment."""
    done = subprocess.run(
        [sys.executable, "-m", "cli", *arguments],
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    if code is not None:
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def printed(*arguments: str, code: int = 0, **settings: str) -> Any:
    """What a command prints as JSON."""
    return json.loads(roundledger(*arguments, "--json", code=code, **settings).stdout)


def to_nobody(command: list[str], **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs a command line whose output nobody reads: the pipe is broken from the beginning."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            command, env=environment(**settings), stdout=writer, stderr=subprocess.PIPE, text=True, timeout=240, check=False
        )
    finally:
        os.close(writer)
