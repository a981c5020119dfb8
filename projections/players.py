"""Players' references on the read side: the register of what was decided about them, and what is unfinished of one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import psycopg

from ledger import erasure
from ledger.events import ColourChipsIssued, PlayerErased, PlayerHeld, PlayerReleased, Recorded, ShooterChanged
from ledger.reports import PLAYERS_STREAM, table_stream
from projections.checks import Contradiction

Connection = psycopg.Connection[Any]


class Decided(msgspec.Struct, kw_only=True):
    """What was decided about a player's reference, as it is shown: one line of the register."""

    position: str
    at: datetime
    """When the service received it."""
    what: str
    """`erased`, `held` or `released`."""
    player: str
    """The reference; of one that is erased what is shown in its place."""
    reason: str
    by: str | None
    property: str
    standing: bool
    """Of `held`: whether the reason stands."""
    note: str | None


_WHAT = {PlayerErased: "erased", PlayerHeld: "held", PlayerReleased: "released"}


def register(conn: Connection) -> list[Decided]:
    """All that was decided about players, in the order of the log."""
    found: list[Decided] = []
    standing: dict[tuple[str, str], Decided] = {}
    for recorded in erasure.stream(conn, PLAYERS_STREAM):
        body = recorded.body
        assert isinstance(body, PlayerErased | PlayerHeld | PlayerReleased)
        line = Decided(
            position=str(recorded.position),
            at=body.received_at.astimezone(UTC),
            what=_WHAT[type(body)],
            player=body.player,
            reason=body.reason,
            by=body.by,
            property=body.property,
            standing=isinstance(body, PlayerHeld),
            note=body.note,
        )
        found.append(line)
        if isinstance(body, PlayerHeld):
            standing[body.player, body.reason] = line
        elif isinstance(body, PlayerReleased):
            standing.pop((body.player, body.reason)).standing = False
    return found


_ACCOUNT = "SELECT FROM projection.balances WHERE account = %s LIMIT 1"
_REGISTERS = (
    "SELECT FROM projection.late_bets WHERE player = %(player)s "
    "UNION ALL SELECT FROM projection.corrections WHERE player = %(player)s LIMIT 1"
)
_OF_TABLES = (
    "SELECT FROM ledger.events WHERE originator_id = ANY (%s) AND topic = %s AND position(%s::bytea IN state) > 0 LIMIT 1"
)
_OF_CRAPS = (
    "SELECT FROM projection.rounds AS r JOIN ledger.events AS e ON e.originator_id = r.round "
    "WHERE r.game = 'craps' AND e.topic = %s AND position(%s::bytea IN e.state) > 0 LIMIT 1"
)
_SINCE = "SELECT FROM ledger.events WHERE notification_id > %s AND position(%s::bytea IN state) > 0 LIMIT 1"


def is_named(conn: Connection, player: str, tables: Sequence[str], after: int) -> bool:
    """Whether some event names the player: by an account or a register, or else as who had colour chips at one of the tables or
    threw the dice; and of what came after position `after`, up to where the registers are.
    """
    asked: list[tuple[str, Any]] = [
        (_ACCOUNT, (f"player/{player}",)),
        (_REGISTERS, {"player": player}),
        (_OF_TABLES, ([table_stream(table) for table in tables], ColourChipsIssued.TOPIC, _said("player", player))),
        (_SINCE, (after, _said("player", player))),
        (_OF_CRAPS, (ShooterChanged.TOPIC, _said("shooter", player))),
    ]
    return any(conn.execute(statement, values).fetchone() is not None for statement, values in asked)


def _said(field: str, player: str) -> bytes:
    """How an event names a player: payloads are canonical JSON, and no reference has a character that is escaped in it."""
    return f'"{field}":"{player}"'.encode()


_UNFINISHED = """
SELECT 'hold ' || h.hold || ' of round ' || h.round || ' is not released'
FROM projection.holds AS h
WHERE h.released_position IS NULL
  AND EXISTS (SELECT FROM ledger.events AS e WHERE e.originator_id = h.round AND position(%(said)s::bytea IN e.state) > 0)
UNION ALL
SELECT 'correction ' || c.correction || ' of round ' || c.round || ' waits for its approval'
FROM projection.corrections AS c
WHERE c.status = 'proposed'
  AND EXISTS (SELECT FROM ledger.events AS e WHERE e.originator_id = c.round AND position(%(said)s::bytea IN e.state) > 0)
ORDER BY 1
"""


def unfinished(conn: Connection, player: str) -> list[str]:
    """What is unfinished of rounds that name the player, in words: holds that stand, corrections that wait."""
    return [what for (what,) in conn.execute(_UNFINISHED, {"said": _said("player", player)})]


_REWRITTEN = (
    # The blocks in which an account moved are known, so that no more of the movements is read than those.
    """
    UPDATE movements AS m
    SET debit = CASE m.debit WHEN %(account)s THEN %(shown_account)s ELSE m.debit END,
        credit = CASE m.credit WHEN %(account)s THEN %(shown_account)s ELSE m.credit END
    FROM (SELECT DISTINCT block FROM balance_changes WHERE account = %(account)s) AS b
    WHERE m.position >= b.block << 16 AND m.position < (b.block + 1) << 16 AND %(account)s IN (m.debit, m.credit)
    """,
    "UPDATE balances SET account = %(shown_account)s WHERE account = %(account)s",
    "UPDATE balance_changes SET account = %(shown_account)s WHERE account = %(account)s",
    "UPDATE bets SET player = %(shown)s WHERE player = %(player)s",
    "UPDATE late_bets SET player = %(shown)s WHERE player = %(player)s",
    "UPDATE corrections SET player = %(shown)s WHERE player = %(player)s",
)


def erase(cursor: psycopg.Cursor[Any], events: Sequence[Recorded]) -> None:
    """Puts what is shown in the place of references that these events erase, in all rows of the ledger's tables.

    Raises Contradiction at an erasure of a reference that was erased before, or that draws what is shown of another.
    """
    erasing = [recorded for recorded in events if isinstance(recorded.body, PlayerErased)]
    if not erasing:
        return
    erased = dict(erasure.names(cursor, erasing[0].position - 1))
    for recorded in erasing:
        body = recorded.body
        assert isinstance(body, PlayerErased)
        if body.player in erased or body.shown in erased.values():
            raise Contradiction(recorded, "the player was erased before, or another is shown so")
        erased[body.player] = body.shown
        values = {
            "player": body.player,
            "shown": body.shown,
            "account": f"player/{body.player}",
            "shown_account": f"player/{body.shown}",
        }
        for statement in _REWRITTEN:
            cursor.execute(statement, values)
