"""`roundledger man`: manual pages, made of the help texts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from cli.options import Group, examples, quiet_option, shown_examples
from cli.output import counted, say
from cli.writing import told_where
from ledger import __version__

ENVIRONMENT = {
    "LEDGER_DSN": "The Postgres to use, as a connection string; the embedded one without it.",
    "LEDGER_DATA_DIR": "Where the embedded Postgres keeps its data.",
    "NO_COLOR": "Whatever it is set to: no colours.",
}


@click.command(
    epilog=examples(
        "roundledger man --out /usr/local/share/man/man1",
        "roundledger man --out man && man -l man/roundledger-explain.1",
    )
)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory; it is made where there is none.",
)
@quiet_option
@click.pass_context
def man(ctx: click.Context, out: Path) -> None:
    """Write the manual pages, one for each command.

    They say what the help texts of this version say; a package puts them under share/man/man1.
    """
    with told_where("--out", out):
        out.mkdir(parents=True, exist_ok=True)
        written = [(out / f"{name}.1").write_text(page, "utf-8") for name, page in pages(ctx.find_root().command)]
    say(f"{counted(len(written), 'page')} in {out}")


def pages(command: click.Command, parent: click.Context | None = None, name: str = "roundledger") -> Iterator[tuple[str, str]]:
    """(name, page in roff) of a command and all below it."""
    ctx = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    below = _below(ctx)
    yield _name(ctx), "\n".join(_page(ctx, below)) + "\n"
    for inner, each in below:
        yield from pages(each, ctx, inner)


def _below(ctx: click.Context) -> list[tuple[str, click.Command]]:
    if not isinstance(ctx.command, click.Group):
        return []
    found = ((name, ctx.command.get_command(ctx, name)) for name in ctx.command.list_commands(ctx))
    return [(name, command) for name, command in found if command is not None and not command.hidden]


def _name(ctx: click.Context) -> str:
    return ctx.command_path.replace(" ", "-")


def _page(ctx: click.Context, below: list[tuple[str, click.Command]]) -> Iterator[str]:
    command = ctx.command
    yield f'.TH "{_name(ctx).upper()}" 1 "" "roundledger {__version__}" "Round Ledger"'
    yield from (".nh", ".ad l")
    yield from (".SH NAME", f"{_roff(_name(ctx))} \\- {_roff(command.get_short_help_str(limit=200).rstrip('.'))}")
    yield from (".SH SYNOPSIS", f".B {_roff(ctx.command_path)}", _roff(" ".join(command.collect_usage_pieces(ctx))))
    yield ".SH DESCRIPTION"
    yield from _paragraphs(command.help or "")
    yield ".SH OPTIONS"
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None:
            yield from (".TP", f".B {_roff(record[0])}", _roff(record[1]))
    if below:
        yield ".SH COMMANDS"
        for name, each in below:
            yield from (".TP", f".BR {_roff(f'{_name(ctx)}-{name}')} (1)", _roff(each.get_short_help_str(limit=200)))
    epilog = command.epilog or (command.examples_of_commands(ctx) if isinstance(command, Group) else "")
    yield from (".SH EXAMPLES", ".nf", *map(_roff, shown_examples(epilog)), ".fi")
    yield from (".SH EXIT STATUS", _roff(epilog.partition("Exit codes: ")[2]))
    yield ".SH ENVIRONMENT"
    for name, meaning in ENVIRONMENT.items():
        yield from (".TP", f".B {name}", _roff(meaning))
    yield from (".SH SEE ALSO", f".BR {_roff(_name(ctx.parent))} (1)" if ctx.parent else ".BR roundledger\\-help (1)")


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        yield from (".PP", _roff(" ".join(paragraph.replace("\b", "").split())))


def _roff(text: str) -> str:
    """Text as roff has it: nothing in it is a command, and a hyphen that is typed stays one."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
