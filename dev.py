#!/usr/bin/env python3
"""Every chore of this project, on a machine that has Python 3.11 and nothing else.

    python3 dev.py demo [ARG...]            play a table's day and see what comes out; ARGs go to `roundledger demo`
    python3 dev.py test [ARG...]            the tests, on all cores; ARGs go to pytest
    python3 dev.py lint                     ruff, mypy --strict and the import contracts
    python3 dev.py check                    lint, then test
    python3 dev.py prove [NAME|all] [ARG..] a proof that takes longer than a test; without a name, what there is
    python3 dev.py bench [NAME|all] [ARG..] a measurement; without a name, what there is
    python3 dev.py run -- COMMAND [ARG...]  any command inside the environment
    python3 dev.py lock [ARG...]            pin the dependencies of pyproject.toml again; ARGs go to `uv pip compile`

The environment is .venv beside this file. It is made on first use from the hashed lock, and made again when the lock, the
Python or the place of the clone changes; a half-made one is thrown away. Only the standard library is used here.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"
STAMP = VENV / "made-by-dev.json"
"""What .venv was made from; empty while it is being made, so that an interrupted making shows."""

PROJECT = "pyproject.toml"
TOOLS = "requirements-build.txt"
LOCKS = {"runtime": "requirements.txt", "dev": "requirements-dev.txt"}
"""What each level of the environment is installed from; `dev` has the pins of `runtime`, and more."""

HELP = ("-h", "--help", "help")

CHORES = {"prove": ("tests.proofs", "prove_"), "bench": ("tests.benchmarks", "bench_")}
"""Package and file prefix of each kind; a module has a docstring, whose first line is listed, and `main(argv) -> int`."""


class Failure(Exception):
    """The chore cannot be done; the message says what to do about it."""


# ---------------------------------------------------------------------------------------------------------------- environment


def environment(level: str) -> None:
    """Make sure that .venv holds the locks of `level` and the project itself; takes milliseconds when it does."""
    wanted = facts(level)
    if is_made(wanted):
        return
    import fcntl

    with (ROOT / ".venv.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # of two at once, the second finds the work done
        os.set_inheritable(turn.fileno(), True)  # an installer that outlives a killed dev.py keeps the turn
        if not is_made(wanted):
            began = time.monotonic()
            say(f"setting up .venv ({level}): some seconds, only this once")
            make(level, wanted)
            say(f".venv is ready after {time.monotonic() - began:.1f} s")


def facts(level: str) -> dict[str, str]:
    """All that .venv depends on; one of level `dev` serves as `runtime` too."""
    inputs = [PROJECT, TOOLS, *(LOCKS.values() if level == "dev" else [LOCKS[level]])]
    digests = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in inputs}
    return {"python": str(sys.implementation.cache_tag), "place": str(ROOT), **digests}


def made_from() -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return found if (BIN / "python").exists() else {}


def is_made(wanted: dict[str, str]) -> bool:
    return wanted.items() <= made_from().items()


def make(level: str, wanted: dict[str, str]) -> None:
    """Bring .venv to `wanted`: what is missing is added, and what was made from anything else is made anew."""
    made = made_from()
    if not made or any(made.get(name, fact) != fact for name, fact in wanted.items() if name != PROJECT):
        made = {}
        clear()
        VENV.mkdir()
    STAMP.write_text("{}")
    if not made:
        step(base_python(), "-m", "venv", "--without-pip", str(VENV))
        step(*pip(), *hashed(TOOLS))
    # uv takes a fifth of pip's time. pip has the last word: it goes where a person's settings say (a mirror, a certificate).
    if LOCKS[level] not in made and not attempt(*UV, *hashed(LOCKS[level])):
        say("uv could not; going on with pip")
        step(*pip(), *hashed(LOCKS[level]))
    step(*UV, "--no-deps", "--no-build-isolation", "--offline", "--editable", str(ROOT))
    partial = STAMP.with_suffix(".new")
    partial.write_text(json.dumps(made | wanted, indent=2) + "\n")
    partial.replace(STAMP)


def clear() -> None:
    """Remove .venv, but never a folder of that name which is no virtual environment."""
    if VENV.is_symlink() or VENV.is_file():
        raise Failure(f"{VENV} is not a folder: move it away")
    if VENV.exists():
        if any(VENV.iterdir()) and not STAMP.exists() and not (VENV / "pyvenv.cfg").exists():
            raise Failure(f"{VENV} holds no virtual environment: move it away")
        shutil.rmtree(VENV)


UV = [str(BIN / "uv"), "pip", "install", "--quiet", "--system-certs", "--python", str(BIN / "python")]


def pip() -> list[str]:
    """A pip that can fill .venv: the one of this Python, or else one put into .venv. Debian has each in a package of its own."""
    options = ["install", "-qq", "--disable-pip-version-check", "--no-input", "--no-compile"]
    asked = subprocess.run(
        [base_python(), "-c", "import pip; print(pip.__version__)"], capture_output=True, text=True, check=False
    )
    if asked.returncode == 0 and [int(part) for part in asked.stdout.split(".")[:2]] >= [22, 3]:  # 22.3 brought --python
        return [base_python(), "-m", "pip", "--python", str(BIN / "python"), *options]
    if attempt(str(BIN / "python"), "-m", "ensurepip"):
        return [str(BIN / "python"), "-m", "pip", *options]
    raise Failure(
        f"{base_python()} has neither pip nor ensurepip, so no package can be installed.\n"
        "  On Debian and Ubuntu: apt-get install python3-venv (or python3-pip)"
    )


def hashed(lock: str) -> list[str]:
    """Options that admit the lock's files and no others: a package built from source would bring build tools without a hash."""
    return ["--only-binary=:all:", "--no-deps", "--require-hashes", "-r", str(ROOT / lock)]


def base_python() -> str:
    """The Python outside any virtual environment, for .venv cannot remake itself."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def step(*command: str) -> None:
    if not attempt(*command):
        raise Failure(f"setting up .venv failed at: {' '.join(command)}\n  The next try starts it afresh.")


def attempt(*command: str) -> bool:
    """Run a command of the set-up; what it says goes to stderr, for stdout belongs to the chore."""
    # Settings of a person's own that would send the packages elsewhere.
    strange = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_NO_BINARY", "PYTHONHOME", "PYTHONPATH")
    environ = {name: value for name, value in os.environ.items() if name not in strange}
    done = subprocess.run(command, env=environ, stdout=sys.stderr, stdin=subprocess.DEVNULL, close_fds=False, check=False)
    return done.returncode == 0


# --------------------------------------------------------------------------------------------------------------------- chores


def enter(command: str, *arguments: str) -> int:
    """Become a command of the environment."""
    if command == "roundledger":
        command = str(BIN / command)  # with the person's own PATH, for it says what to type next
    else:
        os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.environ["VIRTUAL_ENV"] = str(VENV)
    os.environ.pop("PYTHONHOME", None)
    sys.stdout.flush()
    try:
        os.execvp(command, [command, *arguments])
    except FileNotFoundError:
        raise Failure(f"no such command: {command}") from None


def demo(arguments: list[str]) -> int:
    environment("runtime")
    return enter("roundledger", "demo", *arguments)


def test(arguments: list[str]) -> int:
    environment("dev")
    os.chdir(ROOT)
    alone = any(argument.startswith(("-n", "--numprocesses", "--pdb", "-s")) for argument in arguments)
    # Two more than there are processors: many tests wait for processes and disks.
    parallel = [] if alone else ["-n", str(cores() + 2), "--dist=worksteal"]
    return enter("python", "-m", "pytest", *parallel, *arguments)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lint(arguments: list[str]) -> int:
    """Every check is run, so that one run shows all there is to mend."""
    nothing_more(arguments)
    environment("dev")
    checks = {
        "ruff check": ["ruff", "check", "."],
        "ruff format": ["ruff", "format", "--check", "."],
        "mypy --strict": ["mypy"],
        "import contracts": ["lint-imports", "--no-logo"],
    }
    failed = []
    for name, (command, *options) in checks.items():
        say(name)
        if subprocess.run([str(BIN / command), *options], cwd=ROOT, check=False).returncode != 0:
            failed.append(name)
    say(f"lint: {'failed: ' + ', '.join(failed) if failed else 'clean'}")
    return 1 if failed else 0


def check(arguments: list[str]) -> int:
    return lint([]) or test(arguments)


def run(arguments: list[str]) -> int:
    command = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not command:
        raise Failure("what shall be run? python3 dev.py run -- COMMAND [ARG...]")
    environment("runtime" if command[0] == "roundledger" else "dev")
    return enter(*command)


def lock(arguments: list[str]) -> int:
    """One resolution for every platform. Pins that still fit stay; `--upgrade` moves them all."""
    environment("dev")
    form = [
        "--quiet",
        "--system-certs",
        "--universal",
        "--python-version",
        "3.11",
        "--generate-hashes",
        "--no-header",
        "--no-annotate",
    ]
    whole = LOCKS["dev"]
    targets = {
        whole: [PROJECT, "--group", "dev"],
        LOCKS["runtime"]: [PROJECT, "-c", whole],
        TOOLS: ["--group", "build", "-c", whole],
    }
    for name, source in targets.items():
        command = [str(BIN / "uv"), "pip", "compile", *form, *source, "-o", name, *arguments]
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            return 1
    return 0


def prove(arguments: list[str]) -> int:
    return chore("prove", arguments)


def bench(arguments: list[str]) -> int:
    return chore("bench", arguments)


def chore(kind: str, arguments: list[str]) -> int:
    package, prefix = CHORES[kind]
    there = {path.stem.removeprefix(prefix): path for path in sorted(ROOT.joinpath(*package.split(".")).glob(f"{prefix}*.py"))}
    if not arguments or arguments[0] in HELP:
        width = max(map(len, there), default=0)
        for name, path in there.items():
            print(f"  {name:<{width}}  {(ast.get_docstring(ast.parse(path.read_text('utf-8'))) or '').partition(chr(10))[0]}")
        print(f"\nRun one with: python3 dev.py {kind} NAME, or all of them with: python3 dev.py {kind} all")
        return 0
    name, *rest = arguments
    if name != "all" and name not in there:
        raise Failure(f"no such {kind}: {name}. There is: {', '.join(there) or 'none'}")
    environment("dev")
    os.environ["PYTHONPATH"] = str(ROOT)  # a package called `tests` may be anywhere
    call = "import importlib, sys; sys.exit(importlib.import_module(sys.argv.pop(1)).main(sys.argv[1:]))"
    python = [str(BIN / "python"), "-c", call]
    if name != "all":
        return enter(*python, f"{package}.{prefix}{name}", *rest)
    commands = {one: [*python, f"{package}.{prefix}{one}", *rest] for one in there}
    failed = []
    # Short proofs wait for much of their time, and nobody measures them: two at a time, each with its output when it has ended.
    if kind == "prove" and "--short" in rest:
        with ThreadPoolExecutor(2) as pool:
            for one, done in zip(there, pool.map(printing, commands.values()), strict=True):
                say(f"{kind} {one}")
                print(done.stdout, end="", flush=True)
                if done.returncode != 0:
                    failed.append(one)
    else:
        for one, command in commands.items():
            say(f"{kind} {one}")
            if subprocess.run(command, check=False).returncode != 0:
                failed.append(one)
    say(f"{kind}: {'failed: ' + ', '.join(failed) if failed else f'all {len(there)} held'}")
    return 1 if failed else 0


def printing(command: list[str]) -> subprocess.CompletedProcess[str]:
    """The command, ended, with all that it printed."""
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


# ------------------------------------------------------------------------------------------------------------------------ main


def say(line: str) -> None:
    print(f"dev.py: {line}", file=sys.stderr, flush=True)


def nothing_more(arguments: list[str]) -> None:
    if arguments:
        raise Failure(f"no argument is taken here: {' '.join(arguments)}")


def main(arguments: list[str]) -> int:
    chores = {one.__name__: one for one in (demo, test, lint, check, prove, bench, run, lock)}
    name, *rest = arguments or ["--help"]
    if name in HELP:
        print((__doc__ or "").strip())
        return 0
    try:
        if name not in chores:
            raise Failure(f"no such chore: {name}. There is: {', '.join(chores)}")
        keep_bytecode()
        return chores[name](rest)
    except Failure as failure:
        say(str(failure))
    except OSError as error:
        say(f"{error.strerror}: {error.filename}" if error.filename else str(error))
    except KeyboardInterrupt:
        say("stopped")
        return 130
    return 2


def keep_bytecode() -> None:
    """Let every process keep what it compiles, in .venv and so in nobody's way, whatever the person's settings say of it.

    A run of the tests begins a thousand processes, and to compile what one imports takes longer than the rest of its start.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(VENV / "bytecode"))


def newer_python() -> None:
    """Go on under a Python that is new enough, where this one is not and another is on PATH."""
    for minor in range(14, 10, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            os.execv(found, [found, *sys.argv])
    sys.exit(f"dev.py: Python 3.11 or newer is needed; this is {sys.version.split()[0]}")


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what an older Python is likely to meet
        newer_python()
    sys.exit(main(sys.argv[1:]))
