"""How every command behaves: help with examples that can be typed, exit codes, quiet, completion, manual pages, colours."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.main import FORMERLY, roundledger, run
from cli.man import pages
from cli.near import nearest
from cli.options import examples, examples_of, shown_examples
from cli.output import say
from tests.e2e.process import ROOT, environment

SPEAKS_NOT = {"serve", "projections run", "rules page", "property example", "completion", "reconcile mappings show"}
"""Commands that have no words to leave out, or whose words are a service's log."""


def everything(ctx: click.Context) -> Iterator[click.Context]:
    """Every command and group, by its context."""
    yield ctx
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, name)
            assert command is not None
            yield from everything(click.Context(command, info_name=name, parent=ctx))


ROOT_CONTEXT = click.Context(roundledger, info_name="roundledger", **roundledger.context_settings)
CONTEXTS = list(everything(ROOT_CONTEXT))
NAMES = [ctx.command_path for ctx in CONTEXTS]
BY_NAME = dict(zip(NAMES, CONTEXTS, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_every_help_has_examples_and_exit_codes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*name.split()[1:], "--help"]) == 0
    text = capsys.readouterr().out
    examples, codes = text.partition("Examples:")[2].split("Exit codes:")
    assert re.search(rf"\b{name}\b", examples)
    assert {"0", "2"} <= set(re.findall(r"\b[0-9]+\b", codes))


def test_what_is_said_of_an_example_is_never_broken_off() -> None:
    """Where it does not fit a terminal of 80 columns beside the example, it stands above."""
    long = "roundledger explain 01939f2a-b3c4-7a1f"
    text = examples(f"{long}   the beginning of the id of a bet or of a round", f"{long}   a bet")
    assert examples_of(text) == [long, long]
    assert shown_examples(text) == ["# the beginning of the id of a bet or of a round", long, f"{long}   a bet"]
    for ctx in CONTEXTS:
        for line in shown_examples(ctx.command.epilog or ""):
            assert len(line) <= 76 or not re.search(r"\s{2,}[a-z]", line), line


def test_every_group_has_examples_of_its_commands() -> None:
    assert [name for name, ctx in BY_NAME.items() if type(ctx.command) is click.Group] == []


def typed(example: str) -> list[list[str]]:
    """The command lines of this program in an example, without what is quoted and what is said of them."""
    line = re.sub(r"'[^']*'|\"(?!\$)[^\"]*\"", "quoted", example)
    return [found.split() for found in re.findall(r"\broundledger ([^|;&<>)]*)", line)]


@pytest.mark.parametrize("name", [name for name, ctx in BY_NAME.items() if not isinstance(ctx.command, click.Group)])
def test_every_example_is_of_commands_and_options_that_there_are(name: str) -> None:
    for example in examples_of(BY_NAME[name].command.epilog or ""):
        for words in typed(example):
            ctx = ROOT_CONTEXT
            while isinstance(ctx.command, click.Group) and words and not words[0].startswith("-"):
                unnamed = words[0] not in ctx.command.list_commands(ctx) and "files" in ctx.command.list_commands(ctx)
                word, command, words = ctx.command.resolve_command(ctx, ["files", *words] if unnamed else words)
                assert command is not None
                ctx = click.Context(command, info_name=word, parent=ctx)
            known = {option for param in ctx.command.get_params(ctx) for option in (*param.opts, *param.secondary_opts)}
            options = {word.partition("=")[0] for word in words if re.match("--?[a-z]", word)}
            assert options <= known | {"--help", "-h"}, example


@pytest.mark.parametrize("name", [name for name, ctx in BY_NAME.items() if not isinstance(ctx.command, click.Group)])
def test_every_command_that_speaks_can_be_quiet(name: str) -> None:
    quiet = any("--quiet" in param.opts for param in BY_NAME[name].command.params)
    assert quiet or name.removeprefix("roundledger ") in SPEAKS_NOT


def test_quiet_leaves_words_out_and_errors_in(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words in ([], ["--quiet"], ["-q"]):
        capsys.readouterr()
        assert run(["man", "--out", str(tmp_path), *words]) == 0
        assert bool(capsys.readouterr().err) is not bool(words)
    assert run(["help", "--quiet", "LGR-9999"]) == 2
    assert "LGR-0111" in capsys.readouterr().err
    say("outside of a command")
    assert "outside" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("r01", ["R01", "R02"], ["R01"]),
        ("R1", ["R01", "C01"], ["R01"]),
        ("win/R09", ["win/R01", "cage/X"], ["win/R01"]),
        ("nothing like it", ["R01"], []),
        ("", ["R01"], []),
        ("x" * 100_000, ["R01"], []),
        ("player/P-77", [f"player/P-{n}" for n in range(30_000)], ["player/P-77"]),
    ],
)
def test_what_is_near_is_found(word: str, known: list[str], near: list[str]) -> None:
    assert nearest(word, known) == near


@pytest.mark.parametrize(("words", "shown"), [
    (["help", "LGR-0412"], "LGR-0412: "), (["help", "412"], "LGR-0412: "), (["help", "lgr-412"], "LGR-0412: "),
    (["help", "rules", "settle"], "Usage: roundledger rules settle "), (["help", "rules"], "Usage: roundledger rules "),
    (["help"], "Usage: roundledger "), (["help", "codes"], "LGR-0101  "),
    (["explain-error", "412"], "LGR-0412: "), (["explain-error"], "LGR-0101  "),
])  # fmt: skip
def test_help_is_of_codes_and_of_commands(words: list[str], shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    assert capsys.readouterr().out.startswith(shown)


@pytest.mark.parametrize(("words", "said"), [
    (["help", "9999"], "LGR-0111"), (["help", "rules", "setle"], "settle"), (["help", "replay", "more"], "no commands"),
    (["help", "LGR-99999"], "No such command"),
])  # fmt: skip
def test_help_of_nothing_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert said in capsys.readouterr().err


def test_what_a_command_was_called_is_understood_and_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-h"]) == 0
    listed = capsys.readouterr().out
    for name in FORMERLY:
        assert name not in listed
        assert run([name, "-h"]) == 0


# ------------------------------------------------------------------------------------------------------------- completion


def completed(*words: str) -> list[str]:
    """What bash offers for the last of the words."""
    script = """
        eval "$(roundledger completion bash)"
        complete -p roundledger >&2
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        _roundledger_completion roundledger
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script, "bash", "roundledger", *words],
        env=environment(PATH=path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_roundledger_completion" in done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(("words", "offered"), [
    (["repl"], {"replay"}), (["journal", "export", "--form"], {"--format"}),
    (["journal", "export", "--format", ""], {"beancount", "hledger", "csv"}),
])  # fmt: skip
def test_bash_completes_commands_options_and_values(words: list[str], offered: set[str]) -> None:
    assert set(completed(*words)) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_one(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"LEDGER_COMPLETE={shell}_complete" in script
    if found := shutil.which(shell):
        file = tmp_path / "script"
        file.write_text(script)
        subprocess.run([found, "-n", file], check=True)


# ------------------------------------------------------------------------------------------------------------ manual pages


def test_there_is_a_manual_page_of_every_command_and_roff_reads_it(tmp_path: Path) -> None:
    written = dict(pages(roundledger))
    assert set(written) == {name.replace(" ", "-") for name in NAMES}
    for page in written.values():
        sections = re.findall(r"^\.SH (.+)$", page, re.MULTILINE)
        assert sections[:4] == ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"]
        assert {"EXAMPLES", "EXIT STATUS", "SEE ALSO"} <= set(sections)
    groff = shutil.which("groff")
    for name in ("roundledger", "roundledger-rules-settle", "roundledger-correct-propose", "roundledger-report-ggr") * bool(
        groff
    ):
        file = tmp_path / "page.1"
        file.write_text(written[name], "utf-8")
        read = [str(groff), "-K", "utf8", "-man", "-ww", "-Tutf8", str(file)]
        done = subprocess.run(read, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        assert name.upper() in done.stdout


def test_what_a_manual_page_says_is_no_command_of_roff() -> None:
    @click.command(help="'quoted\\n.\n\n.SH a - b \\fB\n\nfurther", epilog="")
    def hostile() -> None: ...

    [(_, page)] = pages(hostile, name="hostile")
    assert "\\&'quoted\\en" in page
    assert "\\&.SH a \\- b \\efB" in page


# ----------------------------------------------------------------------------------------------------------------- colours


def on_a_terminal(*words: str, **settings: str) -> str:
    """What a command prints on a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cli", *words],
        cwd=ROOT,
        env=environment(**{"TERM": "xterm-256color", **settings}),
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # how Linux says that nobody writes to it any more
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert process.wait() == 0
    return shown.decode()


COLOUR = re.compile(r"\x1b\[[0-9;]*(?:3[0-7]|38;|4[0-7]|48;|9[0-7])")


def test_no_colour_is_shown_where_none_is_wanted_and_no_escape_where_no_terminal_is() -> None:
    words = ("rules", "edge", "30/2003")
    assert "\x1b[" in on_a_terminal(*words), "a title is bold on a terminal"
    assert not COLOUR.search(on_a_terminal(*words, NO_COLOR="1"))
    assert "\x1b" not in on_a_terminal(*words, NO_COLOR="1", TERM="dumb")
    piped = subprocess.run([sys.executable, "-m", "cli", *words], cwd=ROOT, env=environment(), capture_output=True, check=True)
    assert b"\x1b" not in piped.stdout
