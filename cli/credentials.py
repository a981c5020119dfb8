"""What the commands for keys and for tokens have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from cli.options import Command, Form
from cli.output import emit_record, say, timestamp
from cli.session import database

if TYPE_CHECKING:
    import psycopg


def lasts(default: int) -> Callable[[Command], Command]:
    """The option --days."""
    return click.option(
        "--days", type=click.IntRange(1, 3660), default=default, show_default=True, help="For how long the new one is taken."
    )


def overlap(default: int) -> Callable[[Command], Command]:
    """The option --overlap of a rotation."""
    return click.option(
        "--overlap",
        type=click.IntRange(0, 24 * 90),
        default=default,
        show_default=True,
        metavar="HOURS",
        help="For how long the old one is taken besides the new one.",
    )


@contextmanager
def connected() -> Iterator[psycopg.Connection[Any]]:
    """A connection to the ledger's database, on which what is done is done whole or not at all."""
    import psycopg

    with database() as dsn, psycopg.connect(dsn) as conn:
        yield conn


def show_once(made: Mapping[str, Any], form: Form) -> None:
    """Prints what was issued, secret included, on stdout: there is no second time."""
    if not emit_record(made, form):
        width = max(map(len, made))
        for name, value in made.items():
            click.echo(f"{name:<{width}}  {timestamp(value) if hasattr(value, 'astimezone') else value}")
    if "secret" in made or "token" in made:
        say("it is shown this once and kept nowhere: put it where its owner alone can read it")
