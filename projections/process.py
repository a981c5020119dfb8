"""The projections' runner in a process of its own: beside a service, which keeps it running for as long as it lives itself, or
wherever `roundledger projections run` is typed.

Folding is computing, and one Python process computes one thing at a time. A service and its child are joined by a pipe, the
child's stdin: its first line is the connection string, for a command line and an environment can be read by others; every byte
after that is a wake-up; and its end, which comes even where the service is killed, ends the child.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Self

from ledger import again, logs
from projections.runner import Runner

_log = logging.getLogger(__name__)

_RETRY = 0.2
_RETRY_LONGEST = 5.0
_STEADY = 60.0
"""Seconds after which a child that dies was no failed start."""
_GAP = 0.005
"""Seconds from one wake-up to the next: a stream of posts has many for one batch. The runner looks soon again after each, so the
end of a stream is found without."""
_STOP = 10.0
"""Seconds that the child has to end its batch."""
_NICE = 10
"""By how much others are served first where the processors are too few for all."""
_READY = b"ready\n"


class RunnerProcess:
    """Keeps a process that runs the projections on the database at `dsn` during the block, and starts another where it dies."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._lock = threading.Lock()
        self._next_wake = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="projections", daemon=True)

    def __enter__(self) -> Self:
        self._child = self._begun()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._stopping.set()
            self._let_go()
        self._thread.join(_STOP)
        if self._thread.is_alive():
            self._child.kill()
            self._thread.join(_STOP)

    @property
    def pid(self) -> int:
        """The child's process id; another after it died."""
        return self._child.pid

    def wake(self) -> None:
        """Says that there is something new in the log. Cheap; from any thread."""
        now = time.monotonic()
        if now < self._next_wake:
            return
        self._next_wake = now + _GAP
        # A pipe that is full wakes as well as one byte more would, and a child that died begins with a look at the log.
        with self._lock, contextlib.suppress(OSError, ValueError):
            os.write(_stdin(self._child).fileno(), b"\n")

    def _begun(self) -> subprocess.Popen[bytes]:
        """A child that runs; or one that has ended before it came to that."""
        child = subprocess.Popen(
            again.command(__name__),
            env=again.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # a terminal's Ctrl-C is for the service, which then ends the child
        )
        with contextlib.suppress(BrokenPipeError):
            _stdin(child).write(json.dumps(self._dsn).encode() + b"\n")
        assert child.stdout is not None
        with child.stdout:
            child.stdout.readline()
        os.set_blocking(_stdin(child).fileno(), False)
        return child

    def _keep(self) -> None:
        pause = _RETRY
        while True:
            began = time.monotonic()
            code = self._child.wait()
            if self._stopping.is_set():
                return
            if time.monotonic() - began > _STEADY:
                pause = _RETRY
            _log.warning("the projections' process ended with exit code %d; another starts in %.1f s", code, pause)
            if self._stopping.wait(pause):
                return
            pause = min(pause * 2, _RETRY_LONGEST)
            try:
                child = self._begun()
            except OSError as error:  # no memory or no descriptor for it now; the old child's end is found once more
                _log.warning("the projections' process does not start: %s", error)
                continue
            with self._lock:
                self._let_go()
                self._child = child
                if self._stopping.is_set():
                    self._let_go()

    def _let_go(self) -> None:
        _stdin(self._child).close()


def _stdin(child: subprocess.Popen[bytes]) -> IO[bytes]:
    assert child.stdin is not None
    return child.stdin


def run(dsn: str, during: Callable[[Runner], object]) -> None:
    """Runs the projections on the database at `dsn` in this process, for as long as `during` takes."""
    # Who posts waits for the log and not for this: in a rush the reports come a little later, and the posts do not.
    os.nice(_NICE)
    log = logs.begin()
    with Runner(dsn) as runner:
        during(runner)
    log.tell()


def main() -> None:
    """The child."""
    with open(0, "rb", buffering=0) as parent:

        def follow(runner: Runner) -> None:
            os.write(sys.stdout.fileno(), _READY)
            while parent.read(4096):
                runner.wake()

        if told := parent.readline():  # else the service has ended already
            run(json.loads(told), follow)


if __name__ == "__main__":
    main()
