"""Data directories in each way the embedded server can run, and real processes that use them."""

from __future__ import annotations

import dataclasses
import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
import pytest

from ledger.errors import Refusal
from ledger.store.embedded import EmbeddedPostgres

ORDINARY = 65534
"""A user number other than root's for tests that run as root; it has to have a name."""

_USE = """
import json, sys
from pathlib import Path
from ledger.store.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
with server:
    print(json.dumps([server.status().pid, server.conninfo()]), flush=True)
    sys.stdin.read()
"""
_ASK = """
import dataclasses, json, sys
from pathlib import Path
from ledger.errors import Refusal
from ledger.store.embedded import EmbeddedPostgres
try:
    answer = getattr(EmbeddedPostgres(Path(sys.argv[1])), sys.argv[2])()
    print(json.dumps(dataclasses.asdict(answer) if sys.argv[2] == "status" else answer, default=str))
except Refusal as refusal:
    sys.exit(json.dumps([refusal.code, refusal.detail]))
"""
COME_AND_GO = """
import sys
from pathlib import Path
import psycopg
from ledger.store.embedded import EmbeddedPostgres
answers = 0
for _ in range(3):
    with EmbeddedPostgres(Path(sys.argv[1])) as server, psycopg.connect(server.conninfo()) as connection:
        answers += connection.execute("SELECT 1").fetchone()[0]
print(answers)
"""
FORK = """
import os, sys
from pathlib import Path
import psycopg
from ledger.store.embedded import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])) as server:
    child = os.fork()
    if child == 0:
        server.detach()
        os._exit(0)
    os.waitpid(child, 0)
    with psycopg.connect(server.conninfo()) as connection:
        print(connection.execute("SELECT 1").fetchone()[0])
"""
QUERY = """
import json, sys
import psycopg
with psycopg.connect(sys.argv[1]) as connection:
    print(json.dumps(connection.execute(sys.argv[2]).fetchall()[0][0]))
"""


def as_user(uid: int) -> list[str]:
    """The start of a command that runs as another user."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


def require_user(uid: int = ORDINARY) -> None:
    """Skips where the tests cannot run a Python as that user."""
    if os.geteuid() != 0:
        pytest.skip("only root can run a process as another user")
    command = [*as_user(uid), sys.executable, "-c", "import ledger.store.embedded"]
    if subprocess.run(command, capture_output=True, check=False, cwd=Path.cwd()).returncode != 0:
        pytest.skip("other users cannot reach this Python environment or this directory")


class User:
    """A process that uses the server until it is told to leave, or is killed."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def wait(self) -> Self:
        """Until the server is there."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the process ended before it had a server"
        self.postmaster, self.dsn = json.loads(line)
        return self

    def leave(self) -> None:
        if self.process.poll() is None:
            self.process.communicate("", timeout=60)
        assert self.process.returncode in (0, -signal.SIGKILL)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.leave() if error is None else self.kill()


@dataclasses.dataclass(frozen=True)
class Home:
    """A data directory and how its processes are started."""

    directory: Path
    way: str
    prefix: list[str] = dataclasses.field(default_factory=list)

    @property
    def base(self) -> Path:
        return self.directory / "postgres"

    def begin(self) -> User:
        """A user that may still be waiting for the server."""
        return User([*self.prefix, sys.executable, "-c", _USE, str(self.directory)])

    def use(self) -> User:
        """A user that has a server."""
        return self.begin().wait()

    def ask(self, verb: str) -> Any:
        """What `EmbeddedPostgres` answers to start, stop or status; a Refusal is raised as it is."""
        if not self.prefix:
            answer = getattr(EmbeddedPostgres(self.directory), verb)()
            return dataclasses.asdict(answer) if verb == "status" else answer
        command = [*self.prefix, sys.executable, "-c", _ASK, str(self.directory), verb]
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if said.returncode != 0:
            code, detail = json.loads(said.stderr)
            raise Refusal(code, detail)
        return json.loads(said.stdout)

    def query(self, dsn: str, sql: str) -> Any:
        """The first value of what the server answers to a user of this home."""
        if not self.prefix:
            with psycopg.connect(dsn) as connection:
                return connection.execute(sql.encode()).fetchall()[0][0]
        command = [*self.prefix, sys.executable, "-c", QUERY, dsn, sql]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)

    @property
    def state(self) -> str:
        return str(self.ask("status")["state"])


def make(parent: Path, way: str) -> Home:
    """A home yet without data: `same`, `nobody` or `namespace` as `ledger.store.identity` has them."""
    if way == "same" and os.geteuid() == 0:
        require_user()
        directory = parent / f"ordinary-{time.monotonic_ns()}"
        directory.mkdir(0o700)
        os.chown(directory, ORDINARY, ORDINARY)
        return Home(directory / "data", way, as_user(ORDINARY))
    directory = parent / f"{way}-{time.monotonic_ns()}"
    directory.mkdir(0o700)
    directory.chmod(0o700 if way == "namespace" else 0o755)
    return Home(directory / "data", way)


def owner(path: Path) -> str:
    return pwd.getpwuid(path.stat().st_uid).pw_name


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def eventually(true: Callable[[], bool], seconds: float = 20) -> bool:
    """Waits for what has to come."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
