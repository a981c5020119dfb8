"""The projections' process: it follows the log, comes back when it dies, and never outlives its service."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from ledger import again
from ledger.api.examination import examine
from ledger.store import log
from projections.process import RunnerProcess
from projections.runner import wait_for
from tests.integration.homes import alive, eventually
from tests.integration.projections.support import connected, content, folded, played, store

_SERVICE = """
import sys
from projections.process import RunnerProcess
with RunnerProcess(sys.argv[1]) as runner:
    print(runner.pid, flush=True)
    sys.stdin.read()
"""


def test_it_follows_comes_back_when_it_is_killed_and_ends_with_the_block(dsn: str) -> None:
    with connected(dsn) as conn, RunnerProcess(dsn) as runner:
        store(conn, played(seed=1, rounds=10))
        runner.wake()
        assert wait_for(conn, log.head(conn), 20)
        killed = runner.pid
        os.kill(killed, signal.SIGKILL)
        store(conn, played(seed=2, rounds=10))
        runner.wake()
        assert wait_for(conn, log.head(conn), 20)
        assert runner.pid != killed
        assert alive(runner.pid)
        assert content(conn) == folded(conn, "fresh")
    assert not alive(killed)
    assert not alive(runner.pid)


def test_it_ends_where_the_service_is_killed(dsn: str) -> None:
    command = [sys.executable, "-c", _SERVICE, dsn]
    with subprocess.Popen(command, env=again.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        pid = int(service.stdout.readline())
        assert alive(pid)
        service.kill()
    assert eventually(lambda: not alive(pid))


def test_by_themselves_they_follow_the_log_until_they_are_told_to_stop(dsn: str) -> None:
    """`roundledger projections run`, beside a service that runs none."""
    command = again.command("cli", "projections", "run")
    with subprocess.Popen(command, env=again.environment(LEDGER_DSN=dsn), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert process.stderr.readline() == "projections: running\n"
            with connected(dsn) as conn:
                store(conn, played(seed=1, rounds=10))
                assert wait_for(conn, log.head(conn), 20)
                assert content(conn) == folded(conn, "fresh")
                said = {each.name: each for each in examine(dsn)}["projections"]
            assert said.result == "ok"
            assert said.detail.startswith("run by 1 process;")
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            assert process.stderr.read() == "stopped\n"
        finally:
            process.kill()
    said = {each.name: each for each in examine(dsn)}["projections"]
    assert said.detail.startswith("run by nobody just now;")
