"""`roundledger terminal`: the reference terminal, with an outbox on its own disk."""

from __future__ import annotations

import click

from cli.options import Group
from cli.terminal.running import run
from cli.terminal.sending import send
from cli.terminal.standing import status


@click.group(cls=Group)
def terminal() -> None:
    """A table's terminal, which loses nothing.

    Every event is in the terminal's outbox, on its own disk, before anything is sent, and is sent until the ledger has judged
    it, whatever the link does. An outbox is one file (SQLite), made when it is first used, for one terminal.
    """


for command in (run, send, status):
    terminal.add_command(command)
