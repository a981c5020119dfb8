"""What the commands' options and help texts have in common."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import click

from ledger.logs import FORM

Form = Literal["table", "json", "csv"]
Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
"""A file to read."""


def _one_form(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    """Refuses the second of two forms. Both are eager, so it is said before any argument is judged."""
    other = "as_csv" if param.name == "as_json" else "as_json"
    if value and ctx.params.get(other):
        raise click.UsageError("--json and --csv were both given: choose one", ctx)
    return value


def quiet_option(command: Command) -> Command:
    """The option --quiet, which `cli.output.say` and progress obey; a command that needs to know asks `cli.output.quiet`."""

    def silenced(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            ctx.meta[QUIET] = True

    return click.option(
        "--quiet",
        "-q",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=silenced,
        help="Say nothing on stderr but errors: no notes, no progress.",
    )(command)


QUIET = "cli.quiet"
"""Under which a context keeps that nothing is to be said."""


COMPLETE = "LEDGER_COMPLETE"
"""The variable by which a shell asks the program what completes a word."""


_TEXT_LIKE = "' goes before text like =1+1."


def output_options(command: Command) -> Command:
    """The options --json and --csv, of which one may be given, and --quiet; the command receives `form`."""
    return _forms(
        "Print JSON. Amounts are strings of minor units, exact ones too, or a fraction of these (700/3).",
        "Print CSV. Amounts are plain decimals of their currency, exact ones too, or a fraction of the same unit (7/3) "
        f"where they are no whole minor units. {_TEXT_LIKE}",
    )(command)


def output_options_without_amounts(command: Command) -> Command:
    """The same, of a command that prints no amounts."""
    return _forms("Print JSON.", f"Print CSV. {_TEXT_LIKE}")(command)


def _forms(json_help: str, csv_help: str) -> Callable[[Command], Command]:
    def with_options(command: Command) -> Command:
        @functools.wraps(command)
        def with_form(*arguments: Any, as_json: bool, as_csv: bool, **options: Any) -> Any:
            form: Form = "json" if as_json else "csv" if as_csv else "table"
            return command(*arguments, form=form, **options)

        csv = click.option("--csv", "as_csv", is_flag=True, is_eager=True, callback=_one_form, help=csv_help)
        json = click.option("--json", "as_json", is_flag=True, is_eager=True, callback=_one_form, help=json_help)
        return cast(Command, json(csv(quiet_option(with_form))))  # the wrapper takes what the command does

    return with_options


def log_option(command: Command) -> Command:
    """The option --log of what runs until it is told to stop; the command receives `form`."""
    option = click.option(
        "--log",
        "form",
        default="lines",
        show_default=True,
        envvar=FORM,
        type=click.Choice(["lines", "json"]),
        help="How the log is written to stderr.",
    )
    return option(command)


CODES = "0 done, 2 could not be done."


def examples(*lines: str, codes: str = CODES) -> str:
    """The end of a help text: real examples as they are typed, what is said of one two spaces behind it, and the exit codes."""
    shown = "\n".join(f"  {part}" for line in lines for part in _fitting(line))
    return f"\b\n{_EXAMPLES}\n{shown}\n\nExit codes: {codes}"


_EXAMPLES = "Examples:"
_SAID = re.compile(r"\s{2,}(?=[a-z])")
_WIDTH = 80 - 4
"""Columns that an example has on the narrowest terminal: beyond that, what is said of it stands above it."""


def _fitting(line: str) -> list[str]:
    typed, *said = _SAID.split(line, 1)
    return [line] if len(line) <= _WIDTH or not said else [f"# {said[0]}", typed]


def examples_of(epilog: str) -> list[str]:
    """The examples at the end of a help text as they are typed, without what is said of them."""
    lines = (line.strip() for line in shown_examples(epilog))
    return [_SAID.split(line, 1)[0] for line in lines if not line.startswith("#")]


def shown_examples(epilog: str) -> list[str]:
    """The same as they are shown."""
    _, _, after = epilog.partition(f"{_EXAMPLES}\n")
    return [line.removeprefix("  ") for line in after.partition("\n\n")[0].splitlines() if line.strip()]


class Group(click.Group):
    """A group whose help ends in the first examples of what is in it."""

    _SHOWN = 6

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does it, with examples where the group has none of its own."""
        if self.epilog:
            super().format_epilog(ctx, formatter)
            return
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(self.examples_of_commands(ctx))

    def examples_of_commands(self, ctx: click.Context) -> str:
        """The end of the help text, made of what is in the group."""
        commands = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
        found = [examples_of(command.epilog or "") for command in commands if command is not None]
        return examples(
            *[some[0] for some in found if some][: self._SHOWN], codes="0 done, 1 a difference was found, 2 could not be done."
        )


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Day(click.ParamType[date]):
    """A day of the calendar."""

    name = "YYYY-MM-DD"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        if isinstance(value, date):
            return value
        if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            self.fail(f"{value!r} is no day: write YYYY-MM-DD, for example 2026-11-29", param, ctx)
        try:
            return date.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} (YYYY-MM-DD) is no day of the calendar", param, ctx)


DAY = _Day()
