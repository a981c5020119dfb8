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


def output_options(command: Command) -> Command:
    """The options --json and --csv, of which one may be given; the command receives `form`."""

    @functools.wraps(command)
    def with_form(*arguments: Any, as_json: bool, as_csv: bool, **options: Any) -> Any:
        form: Form = "json" if as_json else "csv" if as_csv else "table"
        return command(*arguments, form=form, **options)

    csv = click.option(
        "--csv",
        "as_csv",
        is_flag=True,
        is_eager=True,
        callback=_one_form,
        help="Print CSV. Amounts are plain decimals of their currency, exact ones too, or a fraction of the same unit (7/3) "
        "where they are no whole minor units. ' goes before text like =1+1.",
    )
    json = click.option(
        "--json",
        "as_json",
        is_flag=True,
        is_eager=True,
        callback=_one_form,
        help="Print JSON. Amounts are strings of minor units, exact ones too, or a fraction of these (700/3).",
    )
    return cast(Command, json(csv(with_form)))  # the wrapper takes what the command does


def examples(*lines: str, codes: str = "") -> str:
    """The end of a help text: real examples as they are typed, and the exit codes where they say more than 0 and 2."""
    shown = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
    return f"{shown}\n\n\b\nExit codes: {codes}" if codes else shown


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
