"""The real service as a process of its own, for as long as the demo plays."""

from __future__ import annotations

import select
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from ledger import again
from ledger.errors import Refusal

_START = 30.0
_STOP = 15.0


@contextmanager
def service(dsn: str, *, projections: bool = True) -> Iterator[str]:
    """`roundledger serve` on a free loopback port, on the database at `dsn`; gives its URL, and stops it at the end. Without
    `projections` somebody else has to run them.

    The service ends with this process even if this one is killed, for it stops when its stdin does. Raises Refusal LGR-0704 with
    the service's last words where it does not start.
    """
    with tempfile.TemporaryFile("w+") as words:
        process = subprocess.Popen(
            again.command("cli", "serve", "--port", "0", "--while-stdin", *([] if projections else ["--no-projections"])),
            env=again.environment(LEDGER_DSN=dsn),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            text=True,
            # A terminal's Ctrl-C is for us: we stop the service when its last post is answered.
            start_new_session=True,
        )
        try:
            yield _url(process, words)
            if process.poll() is not None:
                raise _gone(process, words)
        finally:
            _stop(process)


def _url(process: subprocess.Popen[str], words: IO[str]) -> str:
    """What the service prints when it answers requests."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _START)
    line = process.stdout.readline().strip() if ready else ""
    if not line.startswith("http"):
        raise _gone(process, words)
    return line


def _gone(process: subprocess.Popen[str], words: IO[str]) -> Refusal:
    try:
        code: int | None = process.wait(1.0)  # its stdout may end a moment before it does
    except subprocess.TimeoutExpired:
        code = None
    words.seek(0)
    said = words.read().strip().splitlines()[-8:]
    what = "does not answer" if code is None else f"ended with exit code {code}"
    return Refusal("LGR-0704", f"the service {what}" + "".join(f"\n  | {line}" for line in said))


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
