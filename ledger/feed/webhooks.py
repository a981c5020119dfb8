"""Webhooks as the database has them: where events are sent, how far each has come, and what it did not take."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import psycopg
from psycopg.rows import class_row

from ledger.errors import Refusal
from ledger.feed import signing
from ledger.feed.source import Mark, mark
from ledger.feed.targets import target
from ledger.feed.wanted import Wanted

Connection = psycopg.Connection[Any]
State = Literal["delivering", "failing", "stopped"]

MOST = 50
"""Webhooks at once."""
_ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook. The columns of `ledger.webhooks`, where they are described."""

    id: str
    url: str
    types: list[str]
    tables: list[str]
    properties: list[str]
    plain: bool
    private: bool
    secret: bytes
    added_at: datetime
    cursor: str
    epoch: int
    failures: int
    retry_at: datetime | None
    failure: str | None
    stopped: str | None
    delivered: int
    delivered_at: datetime | None

    def __repr__(self) -> str:
        return f"Webhook({self.id!r})"

    @property
    def wanted(self) -> Wanted:
        """The events that it is sent."""
        return Wanted.of({"type": self.types, "table": self.tables, "property": self.properties})

    @property
    def after(self) -> Mark:
        """The event that was dealt with last."""
        return mark(self.cursor, "cursor")

    @property
    def state(self) -> State:
        """`delivering`, `failing` (the next event was not taken yet) or `stopped` (until somebody says `retry`)."""
        return "stopped" if self.stopped is not None else "failing" if self.failures else "delivering"


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a webhook did not take. The columns of `ledger.dead_letters`."""

    webhook: str
    position: int
    type: str
    tries: int
    failure: str
    died_at: datetime
    again: bool


def add(conn: Connection, url: str, wanted: Wanted, after: Mark, *, plain: bool, private: bool) -> tuple[Webhook, str]:
    """A new webhook, which is sent what is wanted behind `after`, and its secret as text.

    Raises Refusal LGR-0730 for a URL to which nothing may be sent, or where there are `MOST` webhooks.
    """
    target(url, plain=plain)
    with conn.transaction():
        conn.execute("LOCK ledger.webhooks IN SHARE ROW EXCLUSIVE MODE")
        row = conn.execute("SELECT count(*) FROM ledger.webhooks").fetchone()
        if row is not None and row[0] >= MOST:
            raise Refusal("LGR-0730", f"there are {MOST} webhooks already", help="remove one: roundledger webhooks remove ID")
        id = f"wh_{''.join(secrets.choice(_ID_ALPHABET) for _ in range(8))}"
        secret = signing.new_secret()
        given = wanted.given()
        chosen = [given.get(name, []) for name in ("type", "table", "property")]
        conn.execute(
            "INSERT INTO ledger.webhooks (id, url, types, tables, properties, plain, private, secret, added_at, cursor) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (id, url, *chosen, plain, private, secret, datetime.now(UTC), str(after)),
        )
    return webhook(conn, id), signing.secret_text(secret)


def webhooks(conn: Connection) -> list[Webhook]:
    """All webhooks, the oldest first."""
    with conn.cursor(row_factory=class_row(Webhook)) as cursor:
        return cursor.execute("SELECT * FROM ledger.webhooks ORDER BY added_at, id").fetchall()


def webhook(conn: Connection, id: str) -> Webhook:
    """One of them. Raises Refusal LGR-0731."""
    with conn.cursor(row_factory=class_row(Webhook)) as cursor:
        found = cursor.execute("SELECT * FROM ledger.webhooks WHERE id = %s", (id,)).fetchone()
    if found is None:
        raise Refusal("LGR-0731", "no webhook has this id", field="webhook", value=id, help="roundledger webhooks list")
    return found


def remove(conn: Connection, id: str) -> Webhook:
    """Removes it with its dead letters; a running service sends nothing more within seconds. Raises Refusal LGR-0731."""
    found = webhook(conn, id)
    conn.execute("DELETE FROM ledger.webhooks WHERE id = %s", (id,))
    return found


def retry(conn: Connection, id: str, after: Mark | None = None) -> Webhook:
    """Has everything that was not taken sent again at once, and what comes after it, though it was stopped.

    With `after` it goes on from there. Raises Refusal LGR-0731.
    """
    webhook(conn, id)
    with conn.transaction():
        conn.execute(
            "UPDATE ledger.webhooks SET epoch = epoch + 1, failures = 0, retry_at = NULL, stopped = NULL, "
            "cursor = coalesce(%s, cursor) WHERE id = %s",
            (None if after is None else str(after), id),
        )
        conn.execute("UPDATE ledger.dead_letters SET again = true WHERE webhook = %s", (id,))
    return webhook(conn, id)


def dead_letters(conn: Connection, id: str | None = None, *, again: bool = False) -> list[DeadLetter]:
    """What was not taken, or by this webhook; with `again` what is to be sent once more."""
    with conn.cursor(row_factory=class_row(DeadLetter)) as cursor:
        return cursor.execute(
            "SELECT * FROM ledger.dead_letters WHERE (%(id)s::text IS NULL OR webhook = %(id)s) AND (again OR NOT %(again)s) "
            "ORDER BY webhook, position",
            {"id": id, "again": again},
        ).fetchall()


# What a courier writes: nothing, where the epoch is not its own any more.


def take(conn: Connection, id: str) -> Webhook | None:
    """The webhook under a new epoch, where no other process has it. It is this session's until that ends or gives it back."""
    with conn.cursor(row_factory=class_row(Webhook)) as cursor:
        return cursor.execute(
            "WITH locked AS MATERIALIZED ("
            "SELECT pg_try_advisory_lock(hashtextextended('round-ledger webhook ' || %(id)s, 0)) AS got) "
            "UPDATE ledger.webhooks SET epoch = epoch + 1 FROM locked WHERE got AND id = %(id)s RETURNING webhooks.*",
            {"id": id},
        ).fetchone()


def give_back(conn: Connection, id: str) -> None:
    """Lets another process have it."""
    conn.execute("SELECT pg_advisory_unlock(hashtextextended('round-ledger webhook ' || %s, 0))", (id,))


def moved(conn: Connection, held: Webhook, cursor: Mark, *, delivered: bool) -> bool:
    """An event was dealt with, or some that it is not sent."""
    return _write(
        conn,
        "cursor = %s, failures = 0, retry_at = NULL, failure = NULL, delivered = delivered + %s, "
        "delivered_at = CASE WHEN %s THEN clock_timestamp() ELSE delivered_at END",
        (str(cursor), int(delivered), delivered),
        held,
    )


def failed(conn: Connection, held: Webhook, failures: int, retry_at: datetime, failure: str) -> bool:
    """The next event was not taken, and will be sent again."""
    return _write(conn, "failures = %s, retry_at = %s, failure = %s", (failures, retry_at, failure), held)


def died(conn: Connection, held: Webhook, cursor: Mark, letter: DeadLetter) -> bool:
    """The next event was not taken in all tries; what comes after it is sent."""
    with conn.transaction():
        there = _write(conn, "cursor = %s, failures = 0, retry_at = NULL, failure = %s", (str(cursor), letter.failure), held)
        if there:
            bury(conn, letter)
    return there


def bury(conn: Connection, letter: DeadLetter) -> None:
    """Keeps a dead letter, which may be one that was sent once more."""
    conn.execute(
        "INSERT INTO ledger.dead_letters AS l (webhook, position, type, tries, failure, died_at) VALUES (%s, %s, %s, %s, %s, %s) "
        "ON CONFLICT (webhook, position) DO UPDATE SET "
        "tries = l.tries + excluded.tries, failure = excluded.failure, died_at = excluded.died_at, again = false",
        (letter.webhook, letter.position, letter.type, letter.tries, letter.failure, letter.died_at),
    )


def raised(conn: Connection, held: Webhook, position: int) -> bool:
    """A dead letter was taken at last."""
    with conn.transaction():
        there = _write(conn, "delivered = delivered + 1, delivered_at = clock_timestamp(), failure = NULL", (), held)
        if there:
            conn.execute("DELETE FROM ledger.dead_letters WHERE webhook = %s AND position = %s", (held.id, position))
    return there


def stopped(conn: Connection, held: Webhook, reason: str) -> bool:
    """Nothing is sent any more until somebody says `retry`."""
    return _write(conn, "stopped = %s", (reason,), held)


def _write(conn: Connection, change: str, values: Sequence[object], held: Webhook) -> bool:
    """Whether it was still this process's to write."""
    done = conn.execute(
        f"UPDATE ledger.webhooks SET {change} WHERE id = %s AND epoch = %s".encode(),  # noqa: S608 - words of this module
        (*values, held.id, held.epoch),
    )
    return done.rowcount == 1
