"""The command line as a whole: help, suggestions, exit codes, and what is not imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.main import COMMANDS, roundledger, run
from ledger.errors import Refusal

ROOT = Path(__file__).parents[3]
HEAVY = ("psycopg", "starlette", "uvicorn", "rich", "httpx", "eventsourcing", "msgspec")


def commands(group: click.Group = roundledger, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words by which it is called."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


@pytest.mark.parametrize("words", [words for words, _ in commands()], ids=" ".join)
def test_every_command_has_help_with_examples(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "-h"]) == 0
    text = capsys.readouterr().out
    assert "Examples:" in text
    assert f"roundledger {' '.join(words)}" in text.split("Examples:")[1]


@pytest.mark.parametrize("words", [words for words, _ in commands()], ids=" ".join)
def test_every_option_says_what_it_does(words: tuple[str, ...]) -> None:
    [command] = [command for path, command in commands() if path == words]
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{option.opts} of {' '.join(words)}"


def test_the_help_of_all_commands_imports_nothing_heavy() -> None:
    asked = f"import sys; from cli.main import run; run(['--help']); print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert all(command in done.stdout for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "near"),
    [(["repaly"], "replay"), (["rules", "setle"], "settle"), (["report", "table"], "tables"), (["replay", "--jsno"], "--json")],
)
def test_a_near_miss_is_suggested(arguments: list[str], near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert near in capsys.readouterr().err


def test_a_refusal_is_shown_on_stderr_and_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "settle", "30/2003", "17", "split:3-4=100"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error[LGR-0412]: ")
    assert "split:3-4" in err
    assert "30/2003 art. 6(2)" in err
    assert "help: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments", [["--nonsense"], ["rules", "settle"], ["property", "check", "/nowhere.toml"], ["rules", "show"]]
)
def test_usage_errors_are_exit_code_2(arguments: list[str]) -> None:
    assert run(arguments) == 2


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt(), 130), (Refusal("LGR-0501", "gone"), 2)])
def test_how_a_command_ends(raised: BaseException, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_: object) -> None:
        raise raised

    monkeypatch.setattr(click.Context, "invoke", lambda *_, **__: fails())
    assert run(["rules", "list"]) == code


def test_a_fault_of_the_program_is_not_taken_for_a_difference() -> None:
    fault = "import cli.main; cli.main.run = lambda _: 1 / 0; cli.main.main()"
    done = subprocess.run([sys.executable, "-c", fault], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "ZeroDivisionError" in done.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m cli rules edge --all --csv | head -1; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
    assert all(line.startswith("note: ") for line in done.stderr.splitlines())
    assert done.stdout.splitlines()[-1] in ("141", "0")


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    from ledger import __version__

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"roundledger {__version__}\n"


def test_every_error_code_has_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    from ledger.errors import CODES

    assert run(["explain-error"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(CODES)
    for code in CODES:
        assert run(["explain-error", code]) == 0
    assert run(["explain-error", "412"]) == 0
    assert run(["explain-error", "LGR-9999"]) == 2
