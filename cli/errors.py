"""`roundledger explain-error`: what a code means and what to do about it."""

from __future__ import annotations

import click

from cli.output import examples
from ledger.errors import CODES, Refusal


@click.command("explain-error", epilog=examples("roundledger explain-error LGR-0412", "roundledger explain-error 412"))
@click.argument("code", required=False)
def explain_error(code: str | None) -> None:
    """Say what the error CODE means; without one, list all."""
    from ledger.pages import page

    if code is None:
        for known, meaning in CODES.items():
            click.echo(f"{known}  {meaning.title}")
        return
    digits = code.upper().removeprefix("LGR-")
    text = page(f"LGR-{digits:0>4}")
    if text is None:
        raise Refusal("LGR-0111", "no error has this code", field="code", value=code, help="roundledger explain-error lists all")
    click.echo(text.rstrip("\n"))
