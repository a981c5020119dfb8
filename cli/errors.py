"""`roundledger explain-error`: what a code means and what to do about it."""

from __future__ import annotations

import click

from cli.options import Form, examples, output_options_without_amounts
from cli.output import Column, emit_csv, emit_json
from ledger.errors import CODES, Refusal

_COLUMNS = ("code", "title", "status", "retryable", "text")


@click.command("explain-error", epilog=examples("roundledger explain-error LGR-0412", "roundledger explain-error 412"))
@click.argument("code", required=False)
@output_options_without_amounts
def explain_error(code: str | None, form: Form) -> None:
    """Say what the error CODE means; without one, list all."""
    from ledger.pages import page

    codes = list(CODES) if code is None else [f"LGR-{code.upper().removeprefix('LGR-'):0>4}"]
    if codes[0] not in CODES:
        raise Refusal("LGR-0111", "no error has this code", field="code", value=code, help="roundledger explain-error lists all")
    if form == "table":
        if code is not None:
            click.echo((page(codes[0]) or "").rstrip("\n"))
            return
        for known, meaning in CODES.items():
            click.echo(f"{known}  {meaning.title}")
        return
    told = [_told(each) for each in codes]
    if form == "csv":
        emit_csv([Column(name, name, "number" if name == "status" else "text") for name in _COLUMNS], told)
    else:
        emit_json(told if code is None else told[0])


def _told(code: str) -> dict[str, object]:
    from ledger.pages import PAGES

    meaning = CODES[code]
    return dict(zip(_COLUMNS, (code, meaning.title, meaning.status, meaning.retryable, PAGES.get(code)), strict=True))
