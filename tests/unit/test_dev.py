"""The set-up script: when .venv is made, made anew or left alone. The making itself is shown by every run from a fresh clone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import dev


class Clone(NamedTuple):
    """A clone whose environment is made by noting the fact."""

    venv: Path
    made: list[str]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    for name in (dev.PROJECT, dev.TOOLS, *dev.LOCKS.values()):
        (tmp_path / name).write_text(f"{name}\n")
    venv = tmp_path / ".venv"
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "VENV", venv)
    monkeypatch.setattr(dev, "BIN", venv / "bin")
    monkeypatch.setattr(dev, "STAMP", venv / "made-by-dev.json")
    made: list[str] = []

    def attempt(*command: str) -> bool:
        if "venv" in command:
            made.append("venv")
            (venv / "bin").mkdir()
            (venv / "bin" / "python").symlink_to(sys.executable)
        made.extend(Path(option).name for option in command if option.endswith(".txt"))
        made.extend("project" for option in command if option == "--editable")
        return True

    monkeypatch.setattr(dev, "attempt", attempt)
    return Clone(venv, made)


WHOLE = ["venv", "requirements-build.txt", "requirements.txt", "project"]


def test_first_use_makes_it_and_the_second_does_nothing(clone: Clone) -> None:
    dev.environment("runtime")
    assert clone.made == WHOLE
    dev.environment("runtime")
    assert clone.made == WHOLE


def test_tests_after_a_demo_add_what_is_missing_and_a_demo_after_tests_adds_nothing(clone: Clone) -> None:
    dev.environment("runtime")
    dev.environment("dev")
    dev.environment("runtime")
    assert clone.made == [*WHOLE, "requirements-dev.txt", "project"]


def test_a_changed_project_is_installed_again_and_a_changed_lock_makes_all_anew(clone: Clone) -> None:
    dev.environment("runtime")
    (clone.venv.parent / dev.PROJECT).write_text("another entry point\n")
    dev.environment("runtime")
    assert clone.made == [*WHOLE, "project"]
    (clone.venv / "left-over").touch()
    (clone.venv.parent / "requirements.txt").write_text("another pin\n")
    dev.environment("runtime")
    assert clone.made == [*WHOLE, "project", *WHOLE]
    assert not (clone.venv / "left-over").exists()


@pytest.mark.parametrize("break_it", ["interrupted", "python gone", "stamp cut", "empty folder"])
def test_a_half_made_one_is_made_anew(clone: Clone, break_it: str) -> None:
    dev.environment("runtime")
    match break_it:
        case "interrupted":
            dev.STAMP.write_text("{}")
        case "python gone":
            (clone.venv / "bin" / "python").unlink()
            (clone.venv / "bin" / "python").symlink_to("/nowhere/python3")
        case "stamp cut":
            dev.STAMP.write_text('{"python": "cpyth')
        case _:
            shutil.rmtree(clone.venv)
            clone.venv.mkdir()
    dev.environment("runtime")
    assert clone.made == WHOLE * 2


def test_a_failed_step_leaves_an_environment_that_the_next_try_makes_anew(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    works = dev.attempt
    monkeypatch.setattr(dev, "attempt", lambda *command: works(*command) and "-r" not in command)
    with pytest.raises(dev.Failure, match=r"requirements-build\.txt"):
        dev.environment("runtime")
    monkeypatch.setattr(dev, "attempt", works)
    clone.made.clear()
    dev.environment("runtime")
    assert clone.made == WHOLE


def test_pip_takes_over_where_uv_cannot(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    works = dev.attempt
    monkeypatch.setattr(dev, "attempt", lambda *command: works(*command) and not (command[0].endswith("/uv") and "-r" in command))
    dev.environment("runtime")
    assert clone.made == ["venv", "requirements-build.txt", "requirements.txt", "requirements.txt", "project"]


def test_a_folder_that_is_no_environment_is_never_removed(clone: Clone) -> None:
    clone.venv.mkdir()
    (clone.venv / "somebodys.txt").touch()
    with pytest.raises(dev.Failure, match="move it away"):
        dev.environment("runtime")
    assert (clone.venv / "somebodys.txt").exists()
    assert clone.made == []


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(dev.ROOT / "dev.py"), *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("asked", [(), ("--help",), ("-h",)], ids=["without a name", "--help", "-h"])
@pytest.mark.parametrize("kind", ["prove", "bench"])
def test_proofs_and_benchmarks_are_listed_with_what_they_are(kind: str, asked: tuple[str, ...]) -> None:
    package, prefix = dev.CHORES[kind]
    listed = run(kind, *asked)
    assert listed.returncode == 0
    for path in dev.ROOT.joinpath(*package.split(".")).glob(f"{prefix}*.py"):
        assert f"  {path.stem.removeprefix(prefix)}  " in listed.stdout
    assert "  \n" not in listed.stdout, "each has a docstring"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tets"], "no such chore: tets. There is: demo, test,"),
        (["prove", "nothing-of-the-kind"], "no such prove: nothing-of-the-kind"),
        (["run"], "what shall be run?"),
        (["lint", "--fix"], "no argument is taken here: --fix"),
    ],
)
def test_a_slip_is_told_and_exits_2(arguments: list[str], said: str) -> None:
    told = run(*arguments)
    assert told.returncode == 2
    assert said in told.stderr
    assert "Traceback" not in told.stderr


def test_what_is_compiled_is_kept_whatever_the_persons_settings_say_and_not_beside_the_sources(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To compile all that it imports is two thirds of the start of a process."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    told = run("run", "--", "python", "-c", "import sys; print(sys.dont_write_bytecode, sys.pycache_prefix)")
    assert told.stdout.split() == ["False", str(dev.VENV / "bytecode")]
