"""The command line as a whole: help, suggestions, exit codes, and what is not imported."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.main import COMMANDS, roundledger, run
from ledger.errors import Refusal
from tests.e2e.process import to_nobody

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


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command",
    ["--help", "rules list -h", "rules edge --all", "rules edge --csv", "rules edge --json", "explain-error", "property example"],
)
def test_a_reader_that_goes_away_is_no_difference(command: str, unbuffered: str) -> None:
    """click, rich and the interpreter's last flush each have an exit code of their own for it."""
    done = to_nobody([sys.executable, "-m", "cli", *command.split()], PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_reader_of_both_streams_that_goes_away_is_no_difference() -> None:
    command = f"{sys.executable} -m cli rules settle 2>&1 | exec true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout in ("141\n", "2\n")  # whichever comes first


GROUPS = [[], *[[name] for name in dict.fromkeys(words[0] for words, _ in commands() if words[1:])]]
ANSWERS_NOTHING = {
    ("serve",),
    ("feed",),
    ("publish",),
    ("rules", "page"),
    ("property", "example"),
    ("reconcile", "mappings", "show"),
}


@pytest.mark.parametrize("words", [words for words, _ in commands() if words not in ANSWERS_NOTHING], ids=" ".join)
def test_every_command_that_answers_does_so_in_json_and_csv_and_never_in_both(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    [command] = [command for path, command in commands() if path == words]
    options = {name for option in command.params for name in option.opts}
    assert {"--json", "--csv"} <= options
    arguments = [str(ROOT / "README.md") for option in command.params if isinstance(option, click.Argument) and option.required]
    for option in command.params:
        if isinstance(option, click.Option) and option.required:
            arguments += [option.opts[0], "x"]
    assert run([*words, *arguments, "--csv", "--json"]) == 2
    assert "choose one" in capsys.readouterr().err


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_what_a_command_does_fits_its_line(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*words, "-h"]) == 0
    listed = capsys.readouterr().out.split("Commands:")[1].split("Examples:")[0]
    assert "..." not in listed
    assert max(map(len, listed.splitlines())) <= 80


@pytest.mark.parametrize("day", ["29.11.2026", "2026-02-30", "2026-1-1", "２０２６-01-01", "tomorrow"])
def test_a_day_is_asked_for_in_the_words_of_the_help(day: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "tables", "--day", day]) == 2
    assert "YYYY-MM-DD" in capsys.readouterr().err
    assert run(["report", "tables", "-h"]) == 0
    assert "--day YYYY-MM-DD" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "big5"])
def test_what_an_encoding_cannot_show_is_shown_by_what_comes_nearest(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cli", "rules", "settle", "31/2003", "2-2-2", "any_triple=10", "--explain"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    out, said = done.stdout.decode(encoding), done.stderr.decode(encoding)
    assert "\\" not in out
    assert re.search("MOP 10.00 [x×] 24 = MOP 240.00", out)
    assert re.search("S[eé]rie", out)
    assert ("全圍" if encoding == "big5" else "zh ????,") in out
    assert ("PYTHONIOENCODING=utf-8" in said) == (encoding != "big5")


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_code_is_explained_to_programs_too(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain-error", "501", f"--{form}"]) == 0
    out = capsys.readouterr().out
    told = json.loads(out) if form == "json" else next(csv.DictReader(io.StringIO(out)))
    assert told["code"] == "LGR-0501"
    assert str(told["retryable"]).lower() == "true"
    assert run(["explain-error", f"--{form}"]) == 0
    out = capsys.readouterr().out
    assert len(json.loads(out) if form == "json" else list(csv.DictReader(io.StringIO(out)))) > 50


def test_the_example_of_a_property_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["property", "example"]) == 0
    file = tmp_path / "house.toml"
    file.write_text(capsys.readouterr().out)
    assert run(["property", "check", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["valid"], told["property"], told["tables"], len(told["sha256"])) == (True, "DEMO", 4, 64)
    assert run(["property", "check", str(file)]) == 0
    assert f"4 tables, sha256 {told['sha256']}" in capsys.readouterr().err


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
