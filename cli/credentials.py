"""What the commands for keys and for tokens have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.options import Command, Form
from cli.output import as_one, emit_record, say, timestamp
from cli.session import database
from ledger.errors import Refusal

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


def into_file(command: Command) -> Command:
    """The option --out."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        help="Write it to this new file, which its owner alone can read, and not to the screen. A file that is there is kept.",
    )(command)


def verify_free(out: Path | None) -> None:
    """Refuses (LGR-0724) a file that is there, or cannot be made: before anything is issued whose secret would then be lost."""
    if out is None:
        return
    if out.is_symlink() or out.exists():
        raise _not_made(out, "this file is there already")
    if not os.access(out.parent, os.W_OK):
        raise _not_made(out, "no file can be made in this folder")


def hand_over(made: Mapping[str, Any], form: Form, out: Path | None) -> None:
    """Prints what was issued, secret included, or writes it to a new file of mode 0600: there is no second time.

    The file holds a key as one JSON object, and a token alone, as a line. To be called before the issue is committed: where the
    file cannot be written (LGR-0724), nothing was issued.
    """
    secret = next((name for name in ("secret", "token") if name in made), None)
    shown = {name: value for name, value in made.items() if out is None or name != secret}
    if out is not None:
        _write(out, f"{made['token']}\n" if "token" in made else as_one(made))
    if not emit_record(shown, form):
        width = max(map(len, shown))
        for name, value in shown.items():
            click.echo(f"{name:<{width}}  {timestamp(value) if hasattr(value, 'astimezone') else value}")
    if out is not None:
        say(f"written to {out}, which you alone can read; it is not shown again")
    elif secret is not None:
        say(f"it is shown this once: put it where its owner alone can read it. {kept(made)}")


def kept(made: Mapping[str, Any]) -> str:
    """What the ledger keeps of it, and so every backup."""
    if "token" in made:
        return "The ledger keeps its SHA-256 and its last four characters"
    if "url" in made:
        return "The ledger keeps it too, for with it it signs: whoever reads ledger.webhooks or a backup can sign"
    if made["algorithm"] == "hmac-sha256":
        return "The ledger keeps it too, for with it it checks what is signed: whoever reads ledger.keys or a backup can sign"
    return "The ledger keeps the public key alone"


def _write(out: Path, text: str) -> None:
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _not_made(out, f"it cannot be made: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)
        file.write(text)
        file.flush()
        os.fsync(descriptor)


def _not_made(out: Path, detail: str) -> Refusal:
    help = "name a new file in a folder of yours; nothing was issued"
    return Refusal("LGR-0724", detail, field="--out", value=str(out), help=help)
