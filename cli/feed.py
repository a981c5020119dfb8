"""`roundledger feed`: the log's events as they come, and what publishes them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from cli.options import Command, examples, quiet_option
from cli.output import say
from cli.session import database

if TYPE_CHECKING:
    import psycopg

    from ledger.feed.source import Mark, Page, Source
    from ledger.feed.wanted import Wanted

_PATIENCE = 10.0
"""Seconds for which the log's end is waited for where nobody waits for more."""
_IDLE = 1.0
"""Seconds after which the log is looked at though nobody said that there is something new."""


def filters(*, subject: bool = True) -> Callable[[Command], Command]:
    """The options by which events are chosen."""

    def decorate(command: Command) -> Command:
        if subject:
            command = click.option("--round", "rounds", multiple=True, metavar="ID", help="Of this round; may be repeated.")(
                command
            )
        command = click.option("--property", "properties", multiple=True, help="Of this property; may be repeated.")(command)
        command = click.option("--table", "tables", multiple=True, help="Of this table; may be repeated.")(command)
        return click.option("--type", "types", multiple=True, help="Of this type, such as BetPlaced; may be repeated.")(command)

    return decorate


def after_option(help: str) -> Callable[[Command], Command]:
    """The option --after."""
    return click.option("--after", metavar="POSITION", help=help)


def chosen(types: tuple[str, ...], tables: tuple[str, ...], properties: tuple[str, ...], rounds: tuple[str, ...] = ()) -> Wanted:
    """What the options of `filters` choose. Refuses LGR-0108."""
    from ledger.feed.wanted import Wanted

    return Wanted.of({"type": types, "table": tables, "property": properties, "subject": rounds})


def head_of(conn: psycopg.Connection[Any], after: str | None) -> Mark:
    """Where to begin: behind what is given, else at the log's end. Refuses LGR-0108, and LGR-0522 what the log does not hold."""
    from ledger.feed.source import end, mark, verify

    if after is None:
        return end(conn)
    found = mark(after, "--after")
    verify(conn, found)
    return found


@click.command(
    epilog=examples(
        "roundledger feed                                        all that ever was, an event a line",
        "roundledger feed --type PayoutMade --table R01 --follow   what comes, until interrupted",
        "roundledger feed --after 1200 > events.ndjson",
    ),
)
@filters()
@after_option("Begin behind this position, or behind a cursor as this command says it at its end; at the beginning without it.")
@click.option("--follow", "-f", is_flag=True, help="Wait for more at the end of the log.")
@quiet_option
def feed(
    types: tuple[str, ...],
    tables: tuple[str, ...],
    properties: tuple[str, ...],
    rounds: tuple[str, ...],
    after: str | None,
    follow: bool,
) -> None:
    """Print the events of the log as CloudEvents, one a line.

    No event is printed before one that may still come before it. Where it ends, it says the cursor behind the last event.
    """
    from ledger.feed.source import Source, mark

    wanted = chosen(types, tables, properties, rounds)
    reached = mark("0" if after is None else after, "--after")
    try:
        with database() as dsn, Source(dsn) as source:
            for page in _pages(source, reached, wanted, follow=follow):
                for item in page.items:
                    click.echo(item.json())
                    reached = item.cursor
                reached = page.cursor
    finally:
        say(f"after: {reached}")


def _pages(source: Source, after: Mark, wanted: Wanted, *, follow: bool) -> Iterator[Page]:
    """The pages behind `after`; with `follow` without end."""
    heard = threading.Event()
    with source.horizon.following(heard.set):
        while True:
            heard.clear()
            page = source.page(after, wanted, patience=0.0 if follow else _PATIENCE)
            yield page
            after = page.cursor
            if not page.more:
                if not follow:
                    return
                sys.stdout.flush()
                heard.wait(_IDLE)
