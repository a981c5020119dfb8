"""A real `roundledger serve` as a process, for the proof of the door's contract."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def service(dsn: str, directory: Path, guarded: bool) -> Iterator[str]:
    """The service on a free port, where everybody has to prove who they are if `guarded`; its URL. Its log is in `directory`."""
    command = [sys.executable, "-m", "cli", "serve", "--port", "0", "--rate", "100000"]
    with (directory / f"serve-{guarded}.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, *(["--require-auth"] if guarded else [])],
            env={**os.environ, "LEDGER_DSN": dsn},
            stdout=subprocess.PIPE,
            stderr=log,
        )
        try:
            assert process.stdout is not None
            url = process.stdout.readline().decode().strip()
            assert url.startswith("http"), (directory / f"serve-{guarded}.log").read_text()
            yield url
        finally:
            process.terminate()
            process.wait(30)
