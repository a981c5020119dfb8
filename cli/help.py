"""`roundledger help`: what a command does, and what an error code means; of codes, `explain-error` says so as well."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from cli.options import Form, examples, output_options_without_amounts
from cli.output import Column, emit_csv, emit_json, emit_record
from ledger.errors import CODES, Refusal

_COLUMNS = ("code", "title", "status", "retryable", "text")
_REASON = re.compile(r"[A-Z][A-Z0-9_]{3,}", re.ASCII)
_CODE = re.compile(r"(?:LGR-)?([0-9]{1,4})", re.ASCII | re.IGNORECASE)


@click.command(
    "help",
    epilog=examples(
        "roundledger help LGR-0412       what an error code means, and what to do",
        "roundledger help rules settle   as rules settle --help",
        "roundledger help UNPAID_WIN     what a reason code of verify or reconcile means",
        "roundledger help codes          all error codes",
    ),
)
@click.argument("words", nargs=-1, metavar="[CODE|REASON|codes|COMMAND...]")
@output_options_without_amounts
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...], form: Form) -> None:
    """Say what an error CODE means, or what a COMMAND does.

    A code may be written without LGR- and zeros in front: 412. A REASON is what `roundledger verify` or `reconcile` names a
    difference by, such as UNPAID_WIN. Without anything, all commands are listed.
    """
    if len(words) == 1 and _CODE.fullmatch(words[0]):
        tell_code(words[0], form)
    elif len(words) == 1 and _REASON.fullmatch(words[0]):
        tell_reason(words[0], form)
    elif words == ("codes",):
        list_codes(form)
    else:
        text = _help_of(ctx.find_root(), words)
        if not emit_record({"command": " ".join(words), "text": text}, form):
            click.echo(text)


@click.command("explain-error", hidden=True, epilog=examples("roundledger explain-error LGR-0412"))
@click.argument("code", required=False)
@output_options_without_amounts
def explain_error(code: str | None, form: Form) -> None:
    """Say what the error CODE means; without one, list all. Another name of `roundledger help CODE`."""
    if code is None:
        list_codes(form)
    else:
        tell_code(code, form)


def _help_of(root: click.Context, words: Sequence[str]) -> str:
    """The help text of the command that the words name; click's own error, with near misses, where they name none."""
    ctx = root
    for word in words:
        if not isinstance(ctx.command, click.Group):
            raise click.UsageError(f"{ctx.command_path} has no commands of its own", ctx)
        name, command, _ = ctx.command.resolve_command(ctx, [word])
        assert command is not None, "click has refused what is no command"
        ctx = click.Context(command, info_name=name, parent=ctx)
    return ctx.get_help()


def tell_code(text: str, form: Form) -> None:
    """Prints the page of a code. Raises Refusal LGR-0111 for one that is none."""
    from ledger.pages import page

    found = _CODE.fullmatch(text)
    code = f"LGR-{found[1]:0>4}" if found else text
    if code not in CODES:
        raise Refusal("LGR-0111", "no error has this code", field="code", value=text, help="roundledger help codes lists all")
    if form == "table":
        click.echo((page(code) or "").rstrip("\n"))
    elif form == "csv":
        _csv([_told(code)])
    else:
        emit_json(_told(code))


def tell_reason(reason: str, form: Form) -> None:
    """Prints what a reason code says in `verify` and in `reconcile`. Raises Refusal LGR-0111 for one that is none."""
    from cli.near import did_you_mean
    from ledger.audit.findings import CODES as FINDINGS
    from projections.reconcile.reasons import REASONS

    if reason not in (known := {*FINDINGS, *REASONS}):
        near = did_you_mean(reason, known) or "docs/reference/findings.md and docs/reference/reason-codes.md list them"
        raise Refusal("LGR-0111", "no finding has this reason", field="reason", value=reason, help=near)
    told = []
    if reason in FINDINGS:
        todo = "Type the command that stands beside the finding after `next`."
        told.append({"reason": reason, "command": "verify", "meaning": FINDINGS[reason], "what_to_do": todo})
    if reason in REASONS:
        found = REASONS[reason]
        told.append({"reason": reason, "command": "reconcile", "meaning": found.meaning, "what_to_do": found.help})
    if form == "json":
        emit_json(told)
    elif form == "csv":
        emit_csv([Column(name, name) for name in told[0]], told)
    else:
        click.echo(reason)
        for each in told:
            click.echo(f"\nroundledger {each['command']}: {each['meaning']}\nWhat to do: {each['what_to_do']}")


def list_codes(form: Form) -> None:
    """Prints all codes with their titles."""
    if form == "table":
        for code, meaning in CODES.items():
            click.echo(f"{code}  {meaning.title}")
    elif form == "csv":
        _csv(list(map(_told, CODES)))
    else:
        emit_json(list(map(_told, CODES)))


def _csv(told: list[dict[str, object]]) -> None:
    emit_csv([Column(name, name, "number" if name == "status" else "text") for name in _COLUMNS], told)


def _told(code: str) -> dict[str, object]:
    from ledger.pages import PAGES

    meaning = CODES[code]
    return dict(zip(_COLUMNS, (code, meaning.title, meaning.status, meaning.retryable, PAGES.get(code)), strict=True))
