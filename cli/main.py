"""`roundledger`: the group of all commands, and what a process says at its end.

Exit codes: 0 done, and where something was compared, equal; 1 a difference was found; 2 it could not be done (usage, file,
database, a refusal). Interrupted by Ctrl-C: 130. The reader of a pipe went away, as `head` does: 141, as for any program.

Commands are imported when they are called, and import what is heavy (psycopg, starlette, rich) when they run.
"""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from cli.legible import make_legible, what_was_missing
from cli.options import COMPLETE, examples
from ledger import __version__
from ledger.errors import Refusal

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

COMMANDS = {
    "demo": "cli.demo:demo",
    "serve": "cli.serve:serve",
    "terminal": "cli.terminal:terminal",
    "rounds": "cli.rounds:rounds",
    "explain": "cli.explain:explain",
    "tables": "cli.tables:tables",
    "balances": "cli.balances:balances",
    "trace": "cli.trace:trace",
    "report": "cli.report:report",
    "journal": "cli.journal:journal",
    "reconcile": "cli.reconcile:reconcile",
    "verify": "cli.verify:verify",
    "replay": "cli.replay:replay",
    "what-if": "cli.what_if:what_if",
    "projections": "cli.projections:projections",
    "rules": "cli.rules:rules",
    "correct": "cli.correct:correct",
    "chips": "cli.chips:chips",
    "day": "cli.day:day",
    "players": "cli.players:players",
    "property": "cli.property:property_",
    "terminals": "cli.terminals:terminals",
    "keys": "cli.keys:keys",
    "tokens": "cli.tokens:tokens",
    "feed": "cli.feed:feed",
    "publish": "cli.publish:publish",
    "webhooks": "cli.webhooks:webhooks",
    "db": "cli.db:db",
    "doctor": "cli.doctor:doctor",
    "help": "cli.help:help_",
    "completion": "cli.completion:completion",
    "man": "cli.man:man",
}
"""Command → where it is; the order of the help text."""
FORMERLY = {"explain-error": "cli.help:explain_error"}
"""Names that commands had, and that are understood as long as somebody may type them."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for; those of `formerly` are not listed."""

    def __init__(self, *args: Any, lazy: dict[str, str], formerly: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy
        self._known = {**lazy, **formerly}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which a newcomer needs them."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command."""
        if cmd_name not in self._known:
            return None
        module, _, name = self._known[cmd_name].partition(":")
        found = getattr(importlib.import_module(module), name)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, naming the near miss among commands that are not imported yet."""
        if args and not args[0].startswith("-") and args[0] not in self._known:
            raise click.NoSuchCommand(args[0], possibilities=self._lazy, ctx=ctx)
        return super().resolve_command(ctx, args)


class ReaderGone(Exception):
    """Nobody reads any more what is printed."""


@contextmanager
def _reader_may_go() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGone from error


class Program(LazyGroup):
    """The whole program. click itself ends it with 1 when a pipe breaks, which here means "a difference was found"."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Reads the command line; help is printed here."""
        with _reader_may_go():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Does what the command line says."""
        with _reader_may_go():
            return super().invoke(ctx)


@click.group(
    cls=Program,
    lazy=COMMANDS,
    formerly=FORMERLY,
    context_settings=CONTEXT,
    epilog=examples(
        "roundledger demo                                      play a day and see what comes out",
        "roundledger rules settle 30/2003 17 straight:17=100   what would it pay, by which article",
        "roundledger report tables --csv                       the table report, for a spreadsheet",
        codes="0 done and equal, 1 a difference was found, 2 could not be done, 141 nobody read on (as after | head).",
    ),
)
@click.version_option(__version__, "-V", "--version", prog_name="roundledger", message="%(prog)s %(version)s")
def roundledger() -> None:
    """A ledger of casino table rounds.

    Every amount that moved can be traced to an event nobody can change, an article anybody can read, and a calculation anybody
    can repeat. Without any configuration a Postgres of its own is started; LEDGER_DSN names another.
    """


_GONE = 128 + signal.SIGPIPE


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code; what a person did wrong never shows a traceback."""
    try:
        with _reader_may_go():
            return _run(arguments)
    except ReaderGone:
        return _GONE


def _run(arguments: Sequence[str]) -> int:
    try:
        returned = roundledger.main(list(arguments), prog_name="roundledger", complete_var=COMPLETE, standalone_mode=False)
        sys.stdout.flush()
    except Refusal as refusal:
        click.echo(refusal.render(), err=True)
        return 2
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("\ninterrupted", err=True)
        return 130
    return returned if isinstance(returned, int) else 0


def main() -> NoReturn:
    """The console script."""
    _stand_in_for_the_closed()
    make_legible()
    try:
        code = run(sys.argv[1:])
        if missing := what_was_missing():
            click.echo(missing, err=True)
    except BrokenPipeError:
        code = _GONE
    except OSError as error:
        if error.errno not in _CANNOT_BE_WRITTEN or error.filename is not None:
            sys.excepthook(*sys.exc_info())
        else:
            click.echo(f"error: what was to be printed cannot be written: {error.strerror}", err=True)
        code = 2
    except Exception:  # noqa: BLE001 - the interpreter's own code for a fault is 1, which here means "a difference was found"
        sys.excepthook(*sys.exc_info())
        code = 2
    raise SystemExit(_flushed(code))


_CANNOT_BE_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _stand_in_for_the_closed() -> None:
    """A stream that was closed before the start (`>&-`, or by whoever runs jobs) is replaced by one that nobody reads.

    Without it the next file that is opened, a socket or a lock, would have its number, and be written what is meant for people.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for the process's life


def _flushed(code: int) -> int:
    """The exit code after all is written: the interpreter flushes once more at its end, and would end with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            code = _GONE if isinstance(error, BrokenPipeError) else code or 2
    return code


if __name__ == "__main__":
    main()
