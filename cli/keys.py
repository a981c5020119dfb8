"""`roundledger keys`: the keys by which terminals sign what they post."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.credentials import connected, hand_over, into_file, lasts, overlap, verify_free
from cli.options import Form, Group, examples, output_options_without_amounts
from cli.output import Column, Report, Sheet, emit, emit_record, header, say, timestamp

if TYPE_CHECKING:
    import psycopg

    from ledger.signatures import Algorithm
    from ledger.store.credentials import Key

_COLUMNS = (
    Column("key", "key"),
    Column("terminal", "terminal"),
    Column("algorithm", "algorithm"),
    Column("state", "state"),
    Column("issued_at", "issued", below=2),
    Column("not_before", "from", below=1),
    Column("expires", "until"),
    Column("revoked", "revoked", if_any=True),
)
_algorithm = click.Choice(["ed25519", "hmac-sha256"])


@click.group(cls=Group)
def keys() -> None:
    """The keys by which terminals sign what they post.

    A terminal has at most two live keys, so that it can change from one to the other without losing a request.
    """


@keys.command(
    epilog=examples(
        "roundledger keys issue T-R01",
        "roundledger keys issue T-R01 --out T-R01.key        what the terminal reads",
        "roundledger keys issue T-R01 --public-key JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=",
        "roundledger keys issue T-R01 --algorithm hmac-sha256 --days 30",
    )
)
@click.argument("terminal")
@click.option(
    "--algorithm",
    type=_algorithm,
    default="ed25519",
    show_default=True,
    help="Of ed25519 the ledger keeps the public half alone; of hmac-sha256 the secret itself, which it needs.",
)
@click.option("--public-key", help="The 32 bytes in base64 of an ed25519 key that the terminal has made itself.")
@click.option(
    "--not-before",
    type=click.DateTime(["%Y-%m-%dT%H:%M:%SZ"]),
    metavar="2026-11-29T20:00:00Z",
    help="From when on it is taken; now without it.",
)
@lasts(365)
@into_file
@output_options_without_amounts
def issue(
    terminal: str,
    algorithm: Algorithm,
    public_key: str | None,
    not_before: datetime | None,
    days: int,
    out: Path | None,
    form: Form,
) -> None:
    """Issue a key to a TERMINAL; its secret is shown once.

    The terminal is one of the property in force. With --public-key there is no secret to show: the terminal has it. What --out
    writes is what a terminal reads. Do not redirect the output into the file of a key that is in use: the shell empties that
    file before this command has run.
    """
    verify_free(out)
    if public_key is not None and algorithm != "ed25519":
        raise click.UsageError("--public-key is of ed25519", click.get_current_context())
    begins = None if not_before is None else not_before.replace(tzinfo=UTC)
    with connected() as conn:
        _known(conn, terminal)
        made = _issued(conn, terminal, algorithm, public_key, timedelta(days=days), begins)
        hand_over(made, form, out)


@keys.command(
    epilog=examples(
        "roundledger keys rotate T-R01                  the old key holds for 24 hours more",
        "roundledger keys rotate T-R01 --overlap 1 --out T-R01-2.key",
    )
)
@click.argument("terminal")
@click.option("--algorithm", type=_algorithm, help="That of the old key without it.")
@click.option("--public-key", help="As for `keys issue`.")
@lasts(365)
@overlap(24)
@into_file
@output_options_without_amounts
def rotate(
    terminal: str,
    algorithm: Algorithm | None,
    public_key: str | None,
    days: int,
    overlap: int,
    out: Path | None,
    form: Form,
) -> None:
    """Issue a second key to a TERMINAL; the first one ends soon.

    Until then both are taken: give the terminal the new key, see that it signs with it, and nothing is lost. Write the new key to
    a new file (--out): it is not to take the place of the first before the terminal has it.
    """
    verify_free(out)
    from ledger.errors import Refusal
    from ledger.store import credentials

    with connected() as conn:
        _known(conn, terminal)
        now = datetime.now(UTC)
        live = [key for key in credentials.keys(conn, terminal) if key.state(now) == "live"]
        if not live:
            raise Refusal(
                "LGR-0805",
                "the terminal has no live key that another could follow",
                field="terminal",
                value=terminal,
                help=f"roundledger keys issue {terminal}",
            )
        made = _issued(conn, terminal, algorithm or live[-1].algorithm, public_key, timedelta(days=days), None)
        ends = [credentials.end_key(conn, old.id, at=now + timedelta(hours=overlap)) for old in live]
        hand_over(made, form, out)
    for old in ends:
        say(f"key {old.id} is taken until {timestamp(old.expires)}")


@keys.command(epilog=examples("roundledger keys revoke T-R01.7k3xq9ve", "roundledger keys list T-R01"))
@click.argument("key")
@output_options_without_amounts
def revoke(key: str, form: Form) -> None:
    """Revoke a KEY, at once and for good.

    A running service refuses it within a second.
    """
    from ledger.store import credentials

    with connected() as conn:
        ended = credentials.end_key(conn, key)
    if not emit_record(_row(ended), form):
        say(f"key {ended.id}: revoked")


@keys.command("list", epilog=examples("roundledger keys list", "roundledger keys list T-R01 --json"))
@click.argument("terminal", required=False)
@output_options_without_amounts
def list_(terminal: str | None, form: Form) -> None:
    """List the keys that were ever issued, or a TERMINAL's.

    Secrets are not shown.
    """
    from ledger.store import credentials

    with connected() as conn:
        rows = [_row(key) for key in credentials.keys(conn, terminal)]
    emit(Report("Keys of terminals", [Sheet(_COLUMNS, rows, name="keys")], facts=header(), notes=[]), form)


def _known(conn: psycopg.Connection[Any], terminal: str) -> None:
    """Refuses (LGR-0805) what is no terminal of the properties in force."""
    from ledger import houses
    from ledger.errors import Refusal

    there = sorted({each for config in houses.in_force(conn) for table in config.tables for each in table.terminals})
    if terminal not in there:
        raise Refusal(
            "LGR-0805",
            "the property in force has no such terminal",
            field="terminal",
            value=terminal,
            help=f"terminals: {', '.join(there)}"
            if there
            else "name the terminals of each table in the configuration and apply it",
        )


def _issued(
    conn: psycopg.Connection[Any],
    terminal: str,
    algorithm: Algorithm,
    public_key: str | None,
    lasts: timedelta,
    not_before: datetime | None,
) -> dict[str, Any]:
    """Issues a key: what is shown of it, this once."""
    from ledger.signatures import SigningKey, new_secret
    from ledger.store import credentials

    secret = new_secret()
    made = SigningKey(id="", algorithm=algorithm, secret=secret).verifying().material
    material = made if public_key is None else _public(public_key)
    key = credentials.issue_key(conn, terminal, algorithm, material, lasts=lasts, not_before=not_before)
    shown = {"key": key.id, "terminal": terminal, "algorithm": algorithm, "not_before": key.not_before, "expires": key.expires}
    return shown | ({"secret": secret} if public_key is None else {})


def _public(text: str) -> bytes:
    try:
        found = base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != 32:
        raise click.BadParameter(
            "an ed25519 public key is 32 bytes in base64", click.get_current_context(), None, "'--public-key'"
        )
    return found


def _row(key: Key) -> dict[str, Any]:
    return {
        "key": key.id,
        "terminal": key.terminal,
        "algorithm": key.algorithm,
        "state": key.state(datetime.now(UTC)),
        "issued_at": key.issued_at,
        "not_before": key.not_before,
        "expires": key.expires,
        "revoked": key.revoked,
    }
