"""`roundledger tokens`: the bearer tokens by which people prove who they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.credentials import connected, hand_over, into_file, lasts, overlap, verify_free
from cli.options import Form, Group, examples, output_options_without_amounts
from cli.output import Column, Report, Sheet, emit, emit_record, header, say, timestamp

if TYPE_CHECKING:
    import psycopg

    from ledger.property import Property
    from ledger.store.credentials import Token

_COLUMNS = (
    Column("token", "token"),
    Column("person", "person"),
    Column("roles", "roles"),
    Column("last_four", "ends in"),
    Column("state", "state"),
    Column("issued_at", "issued", below=1),
    Column("expires", "until"),
    Column("revoked", "revoked", if_any=True),
)


@click.group(cls=Group)
def tokens() -> None:
    """The bearer tokens of people.

    Each person has their own: what is done with a token is on record as theirs. Roles are given by the property's configuration.
    """


@tokens.command(epilog=examples("roundledger tokens issue S-7 --out ~/token", "roundledger tokens issue S-7 --days 1 --json"))
@click.argument("person")
@lasts(90)
@into_file
@output_options_without_amounts
def issue(person: str, days: int, out: Path | None, form: Form) -> None:
    """Issue a token to a PERSON; it is shown once.

    The person is one of the property in force. The file that --out writes holds the token alone, as --token-file reads it.
    """
    verify_free(out)
    with connected() as conn:
        made = _issued(conn, person, timedelta(days=days))
        hand_over(made, form, out)


@tokens.command(
    epilog=examples(
        "roundledger tokens rotate S-7.m2x8kd4a              the old token is taken for an hour more",
        "roundledger tokens rotate S-7.m2x8kd4a --overlap 0",
    )
)
@click.argument("token")
@lasts(90)
@overlap(1)
@into_file
@output_options_without_amounts
def rotate(token: str, days: int, overlap: int, out: Path | None, form: Form) -> None:
    """Issue another token to whose TOKEN it is; the old one ends soon.

    A token is spoken of by its id, not by its text.
    """
    from ledger.store import credentials

    verify_free(out)
    with connected() as conn:
        old = credentials.end_token(conn, token, at=datetime.now(UTC) + timedelta(hours=overlap))
        made = _issued(conn, old.person, timedelta(days=days))
        hand_over(made, form, out)
    say(f"token {old.id} is taken until {timestamp(old.expires)}")


@tokens.command(epilog=examples("roundledger tokens revoke S-7.m2x8kd4a", "roundledger tokens list S-7"))
@click.argument("token")
@output_options_without_amounts
def revoke(token: str, form: Form) -> None:
    """Revoke a TOKEN, at once and for good.

    A token is spoken of by its id, not by its text. A running service refuses it within a second.
    """
    from ledger import houses
    from ledger.store import credentials

    with connected() as conn:
        ended = credentials.end_token(conn, token)
        row = _row(ended, houses.in_force(conn))
    if not emit_record(row, form):
        say(f"token {ended.id}: revoked")


@tokens.command("list", epilog=examples("roundledger tokens list", "roundledger tokens list S-7 --json"))
@click.argument("person", required=False)
@output_options_without_amounts
def list_(person: str | None, form: Form) -> None:
    """List the tokens that were ever issued, or a PERSON's.

    Of each its last four characters are shown.
    """
    from ledger import houses
    from ledger.store import credentials

    with connected() as conn:
        properties = houses.in_force(conn)
        rows = [_row(token, properties) for token in credentials.tokens(conn, person)]
    emit(Report("Tokens of people", [Sheet(_COLUMNS, rows, name="tokens")], facts=header(), notes=[]), form)


def _issued(conn: psycopg.Connection[Any], person: str, lasts: timedelta) -> dict[str, Any]:
    """Issues a token: what is shown of it, this once. Refuses (LGR-0805) who is nobody of the properties in force."""
    from ledger import houses, rights
    from ledger.errors import Refusal
    from ledger.store import credentials

    properties = houses.in_force(conn)
    roles = rights.roles_of(person, properties)
    if not roles:
        there = sorted({each.id for config in properties for each in config.people})
        raise Refusal(
            "LGR-0805",
            "the property in force names no such person",
            field="person",
            value=person,
            help=f"people: {', '.join(there)}" if there else "name the people and their roles in the configuration and apply it",
        )
    token, text = credentials.issue_token(conn, person, lasts=lasts)
    return {"id": token.id, "person": person, "roles": " ".join(sorted(roles)), "expires": token.expires, "token": text}


def _row(token: Token, properties: list[Property]) -> dict[str, Any]:
    from ledger import rights

    return {
        "token": token.id,
        "person": token.person,
        "roles": " ".join(sorted(rights.roles_of(token.person, properties))),
        "last_four": token.last_four,
        "state": token.state(datetime.now(UTC)),
        "issued_at": token.issued_at,
        "expires": token.expires,
        "revoked": token.revoked,
    }
