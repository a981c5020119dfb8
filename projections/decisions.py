"""The corrections of rounds, as people look for them: what waits for an approval, and what became of the rest."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import class_row

Connection = psycopg.Connection[Any]


class CorrectionLine(msgspec.Struct, frozen=True, kw_only=True):
    """One correction; the amounts it names are in minor units of `currency`."""

    correction: UUID
    round: UUID
    table: str
    kind: str
    reason: str
    note: str | None
    outcome: str | None
    bet: UUID | None
    player: str | None
    spot: str | None
    currency: str
    stake: str | None
    amount: str | None
    direction: str | None
    proposed_by: str
    proposed_at: datetime
    approvals: int
    approvals_needed: int
    status: str
    """`proposed`, `approved` or `declined`."""
    approved_by: str | None
    seconded_by: str | None
    declined_by: str | None
    decided_at: datetime | None


_LINES = """
SELECT c.correction, c.round, r.table_id AS table, c.kind, c.reason, c.note, c.outcome, c.bet, c.player, c.spot, c.currency,
       c.stake::text AS stake, c.amount::text AS amount, c.direction, c.proposed_by, c.proposed_at, c.approvals,
       c.approvals_needed, c.status, c.approved_by, c.seconded_by, c.declined_by, c.decided_at
FROM projection.corrections AS c JOIN projection.rounds AS r ON r.round = c.round
WHERE (%(round)s::uuid IS NULL OR c.round = %(round)s) AND (%(decided)s OR c.status = 'proposed')
ORDER BY c.proposed_position DESC LIMIT %(limit)s
"""


def corrections(conn: Connection, *, round_: UUID | None = None, decided: bool = False, limit: int = 100) -> list[CorrectionLine]:
    """The latest corrections that wait for an approval, and with `decided` those that do not any more; of one round, if named."""
    with conn.cursor(row_factory=class_row(CorrectionLine)) as cursor:
        return cursor.execute(_LINES, {"round": round_, "decided": decided, "limit": limit}).fetchall()
