"""Runs the `console` blocks of a document, so that what a reader is told to type is known to work.

    ```console
    $ roundledger rounds show nonsense
    error[LGR-0108]: …
    [2]
    ```

A line that begins with `$ ` is a command, given to bash; one that begins with `> ` goes on with it. The lines below it are what
it prints, stdout and stderr together, where `…` stands for anything, on one line or alone for any number of lines; with no lines
below, only the exit code is looked at. A last line `[2]` is the exit code, which is otherwise 0.

The blocks of one document run in order, in the clone, with one empty HOME. What a command `export NAME=…` sets holds for those
that come after it. A block that cannot run here is preceded by a comment
`<!-- not run: the reason -->`, and nothing else is left out. What a reader leaves running in another terminal is preceded by
`<!-- left running -->`: once it has printed what is shown the next block runs, and at the end of the document it is told to stop
(SIGTERM) and has to exit with 0. The service's port, 8044, is a free one here, so that documents run side by side.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from ledger.errors import Refusal
from ledger.store import binaries

ROOT = Path(__file__).resolve().parents[2]
TIME_LIMIT = 120
"""Seconds for one command."""
PORT = "8044"
_LEFT = "<!-- left running -->"

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>\w*)\s*$")
_REASON = re.compile(r"^<!-- not run: (?P<reason>.+) -->$")
_EXIT = re.compile(r"^\[(?P<code>\d+)\]$")


class Command(NamedTuple):
    """One command of a document, and what the document says of it."""

    line: int
    text: str
    shown: list[str]
    code: int


class Block(NamedTuple):
    """One `console` block; `reason` says why it is not run, `left` whether its commands go on beside those that follow."""

    line: int
    commands: list[Command]
    reason: str | None
    left: bool = False


def blocks(document: str) -> list[Block]:
    """The `console` blocks of a Markdown text. A block that begins with anything but a command is an error of the document."""
    found = []
    reason: str | None = None
    left = False
    lines = document.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if comment := _REASON.match(line.strip()):
            reason = comment["reason"]
        elif line.strip() == _LEFT:
            left = True
        elif fence := _FENCE.match(line):
            first = number
            while number < len(lines) and lines[number].strip() != fence["ticks"]:
                number += 1
            if fence["language"] == "console":
                body = [text.removeprefix(fence["indent"]) for text in lines[first:number]]
                found.append(Block(first, _commands(body, first + 1), reason, left))
            number += 1
            reason, left = None, False
        elif line.strip():
            reason, left = None, False
    return found


def _commands(body: list[str], first: int) -> list[Command]:
    found: list[Command] = []
    for number, line in enumerate(body, first):
        if line.startswith("$ "):
            found.append(Command(number, line[2:], [], 0))
        elif not found:
            raise ValueError(f"line {number}: a console block begins with a command, '$ …'")
        elif (line == ">" or line.startswith("> ")) and not found[-1].shown:
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{line[2:]}")
        elif code := _EXIT.match(line):
            found[-1] = found[-1]._replace(code=int(code["code"]))
        else:
            found[-1].shown.append(line)
    return found


def agrees(shown: list[str], printed: str) -> bool:
    """Whether `printed` is what the document shows; spaces at the ends of lines do not count."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "…" else _line_pattern(line) for line in shown)
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed.splitlines())) is not None


def _line_pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.rstrip().split("…")) + "\n"


def run(document: Path, home: Path) -> list[str]:
    """Run every block of `document` that is to be run; what did not come out as shown, in words."""
    faults: list[str | None] = []
    left: list[_Service] = []
    port = _free_port()
    environment = _newcomer(home)
    try:
        for block in blocks(document.read_text("utf-8")):
            for command in block.commands if block.reason is None else ():
                here = command._replace(
                    text=command.text.replace(PORT, port), shown=[line.replace(PORT, port) for line in command.shown]
                )
                if block.left:
                    left.append(_Service(here, document, home, environment))
                    faults.append(left[-1].fault)
                elif here.text.startswith("export "):
                    environment = _exported(here, environment)
                else:
                    faults.append(_run(here, document, environment))
    finally:
        faults += [service.end() for service in reversed(left)]
    return [fault for fault in faults if fault]


class _Service:
    """A command that is left running; `fault` says what was wrong with its start."""

    def __init__(self, command: Command, document: Path, home: Path, environment: dict[str, str]) -> None:
        self._name = f"{document.name}:{command.line}: $ {command.text}"
        self._said = home / f"line-{command.line}.log"
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                ["bash", "-c", f"exec {command.text}"],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.fault = self._wait(command.shown)

    def _wait(self, shown: list[str]) -> str | None:
        deadline = time.monotonic() + TIME_LIMIT
        while not agrees(shown, printed := self._said.read_text()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                return f"{self._name}\n  printed:\n{printed}"
            time.sleep(0.05)
        return None

    def end(self) -> str | None:
        """Tells it to stop; what was wrong with its end."""
        self._process.terminate()
        try:
            code = self._process.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            return f"{self._name}\n  did not end within {TIME_LIMIT} s"
        return None if code == 0 else f"{self._name}\n  exited {code}, and printed:\n{self._said.read_text()}"


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return str(held.getsockname()[1])


def _exported(command: Command, environment: dict[str, str]) -> dict[str, str]:
    """The environment as an `export` leaves it."""
    left = subprocess.run(
        ["bash", "-ec", f"{command.text}\nenv -0"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return dict(line.split("=", 1) for line in left.stdout.split("\0") if line)


def _run(command: Command, document: Path, environment: dict[str, str]) -> str | None:
    name = f"{document.name}:{command.line}: $ {command.text}"
    with subprocess.Popen(
        ["bash", "-c", command.text],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"{name}\n  did not end within {TIME_LIMIT} s"
    if process.returncode != command.code:
        return f"{name}\n  exited {process.returncode}, not {command.code}, and printed:\n{printed}"
    if command.shown and not agrees(command.shown, printed):
        return f"{name}\n  printed:\n{printed}"
    return None


def _newcomer(home: Path) -> dict[str, str]:
    """The environment of somebody who has just cloned the project: nothing set, the program and psql on PATH."""
    try:
        programs = [str(binaries.find())]
    except Refusal:
        programs = []
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin", *programs])
    kept = {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "COLUMNS": "130", "NO_COLOR": "1", **kept}
