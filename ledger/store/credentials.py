"""By what terminals and people prove who they are: keys that requests are signed with, and bearer tokens.

Of a token only its hash is kept. Of an ed25519 key only the public half is; the secret of an hmac-sha256 key has to stand here
as it is, for the door computes with it: it is protected by who may read the table, and by nothing else.

What is revoked or expired stays on record: who could sign when is a question that audits ask.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec
import psycopg
from psycopg.rows import class_row

from ledger.errors import Refusal
from ledger.signatures import Algorithm, VerifyingKey

Connection = psycopg.Connection[Any]
State = Literal["live", "pending", "expired", "revoked"]
TOKEN_PREFIX = "rlt_"  # noqa: S105 - what a token begins with, so that a scanner of files finds one that was left lying about

_TOKEN_BYTES = 32
_ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""No letter that is read as another or as a digit: ids are typed by people."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A terminal's key, as the door knows it."""

    id: str
    terminal: str
    algorithm: Algorithm
    material: bytes
    issued_at: datetime
    not_before: datetime
    expires: datetime
    revoked: datetime | None = None

    def __repr__(self) -> str:
        return f"Key({self.id!r})"

    def state(self, now: datetime) -> State:
        """What may be done with it: only a `live` key signs. Two keys of a terminal may be live or pending at once."""
        if self.revoked is None and now < self.not_before:
            return "pending"
        return _state(self, now)

    def verifying(self) -> VerifyingKey:
        """For `ledger.signatures.verify`."""
        return VerifyingKey(id=self.id, algorithm=self.algorithm, material=self.material)


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a person's token."""

    id: str
    person: str
    hash: bytes
    last_four: str
    issued_at: datetime
    expires: datetime
    revoked: datetime | None = None

    def __repr__(self) -> str:
        return f"Token({self.id!r})"

    def state(self, now: datetime) -> State:
        """Only a `live` token is taken."""
        return _state(self, now)

    def is_of(self, token: str) -> bool:
        """Whether `token` is the one that was issued; takes the same time for each that is not."""
        return hmac.compare_digest(token_hash(token), self.hash)


def _state(one: Key | Token, now: datetime) -> State:
    if one.revoked is not None:
        return "revoked"
    return "expired" if one.expires <= now else "live"


def token_hash(token: str) -> bytes:
    """SHA-256 of a token's text: under what it is kept and looked up. Whatever was sent has one."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


# Keys.


def issue_key(
    conn: Connection,
    terminal: str,
    algorithm: Algorithm,
    material: bytes,
    *,
    lasts: timedelta,
    not_before: datetime | None = None,
) -> Key:
    """A new key of a terminal. Raises Refusal LGR-0805 where it has two live ones."""
    now = datetime.now(UTC)
    begins = not_before or now
    key = Key(
        id=_new_id(terminal),
        terminal=terminal,
        algorithm=algorithm,
        material=material,
        issued_at=now,
        not_before=begins,
        expires=begins + lasts,
    )
    try:
        with conn.transaction():
            conn.execute(
                "INSERT INTO ledger.keys (id, terminal, algorithm, material, issued_at, not_before, expires) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s)",
                (key.id, key.terminal, key.algorithm, key.material, key.issued_at, key.not_before, key.expires),
            )
    except psycopg.errors.CheckViolation as error:
        if error.diag.constraint_name != "keys_two_live":
            raise
        live = [each.id for each in keys(conn, terminal) if each.state(now) in ("live", "pending")]
        raise Refusal(
            "LGR-0805",
            "the terminal has two live keys already",
            field="terminal",
            value=terminal,
            help=f"revoke one that is not in use: roundledger keys revoke {' or '.join(live)}",
        ) from None
    return key


def keys(conn: Connection, terminal: str | None = None) -> list[Key]:
    """All keys that were ever issued, or those of one terminal: by terminal, the oldest first."""
    with conn.cursor(row_factory=class_row(Key)) as cursor:
        cursor.execute(
            "SELECT * FROM ledger.keys WHERE %(terminal)s::text IS NULL OR terminal = %(terminal)s "
            "ORDER BY terminal, issued_at, id",
            {"terminal": terminal},
        )
        return cursor.fetchall()


def end_key(conn: Connection, id: str, *, at: datetime | None = None) -> Key:
    """Revokes a key now; with `at`, has it expire then, or as before where that is sooner. Raises Refusal LGR-0805."""
    row = conn.execute(_END.format(table="keys"), {"id": id, "at": at, "now": datetime.now(UTC)}).fetchone()
    found = next((key for key in keys(conn) if key.id == id), None)
    if row is None or found is None:
        raise _not_to_end("key", id, found is not None)
    return found


# Tokens.


def issue_token(conn: Connection, person: str, *, lasts: timedelta) -> tuple[Token, str]:
    """A new token of a person, and its text, which nobody can find again."""
    text = TOKEN_PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(_TOKEN_BYTES)).decode().rstrip("=")
    now = datetime.now(UTC)
    token = Token(
        id=_new_id(person), person=person, hash=token_hash(text), last_four=text[-4:], issued_at=now, expires=now + lasts
    )
    conn.execute(
        "INSERT INTO ledger.tokens (id, person, hash, last_four, issued_at, expires) VALUES (%s, %s, %s, %s, %s, %s)",
        (token.id, token.person, token.hash, token.last_four, token.issued_at, token.expires),
    )
    return token, text


def tokens(conn: Connection, person: str | None = None) -> list[Token]:
    """All tokens that were ever issued, or those of one person: by person, the oldest first."""
    with conn.cursor(row_factory=class_row(Token)) as cursor:
        cursor.execute(
            "SELECT * FROM ledger.tokens WHERE %(person)s::text IS NULL OR person = %(person)s ORDER BY person, issued_at, id",
            {"person": person},
        )
        return cursor.fetchall()


def end_token(conn: Connection, id: str, *, at: datetime | None = None) -> Token:
    """Revokes a token now; with `at`, has it expire then, or as before where that is sooner. Raises Refusal LGR-0805."""
    row = conn.execute(_END.format(table="tokens"), {"id": id, "at": at, "now": datetime.now(UTC)}).fetchone()
    found = next((token for token in tokens(conn) if token.id == id), None)
    if row is None or found is None:
        raise _not_to_end("token", id, found is not None)
    return found


def authenticate_token(conn: Connection, token: str) -> str:
    """The person whose token this is, by their reference. Raises Refusal LGR-0802, whether it is unknown, expired or revoked.

    What the person may do is decided where the table is known: `ledger.rights`.
    """
    with conn.cursor(row_factory=class_row(Token)) as cursor:
        found = cursor.execute("SELECT * FROM ledger.tokens WHERE hash = %s", (token_hash(token),)).fetchone()
    return person_of(found, token, datetime.now(UTC))


def person_of(found: Token | None, token: str, now: datetime) -> str:
    """As `authenticate_token`, of what was looked up."""
    if found is None or not found.is_of(token) or found.state(now) != "live":
        raise Refusal("LGR-0802", "the token is not valid", help="ask for a new one: roundledger tokens issue PERSON")
    return found.person


_END = """
UPDATE ledger.{table} SET
    revoked = CASE WHEN %(at)s::timestamptz IS NULL THEN %(now)s ELSE revoked END,
    expires = least(expires, coalesce(%(at)s::timestamptz, expires))
WHERE id = %(id)s AND revoked IS NULL RETURNING id
"""


def _new_id(owner: str) -> str:
    """Says whose it is, and nothing of the secret."""
    return f"{owner}.{''.join(secrets.choice(_ID_ALPHABET) for _ in range(8))}"


def _not_to_end(what: str, id: str, known: bool) -> Refusal:
    detail = f"the {what} is revoked already" if known else f"no {what} has this id"
    # Somebody may have typed the secret in place of the id: then no screen, log or script shall have it once more.
    shown = id if _AN_ID.fullmatch(id) else "(not shown: it is no id)"
    help = f"a {what} is spoken of by its id, such as S-7.m2x8kd4a: roundledger {what}s list"
    return Refusal("LGR-0805", detail, field=what, value=shown, help=help)


_AN_ID = re.compile(rf"(?!{TOKEN_PREFIX})[A-Za-z0-9][A-Za-z0-9._:-]{{0,63}}\.[a-z0-9]{{1,8}}", re.ASCII)
"""What the id of a key or token looks like: whose it is, and eight characters or fewer."""
