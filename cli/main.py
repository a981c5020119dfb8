"""`roundledger`: the root of the command line."""

from __future__ import annotations

import click

from ledger import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", prog_name="roundledger")
def main() -> None:
    """A ledger of casino table rounds."""
