"""What a table may still have to pay: the stakes that lie on it, and the worst that its limits reckon with.

Asked as of a position of the log, so that it agrees with the balances as of the same: the escrow of a table is the stakes of its
open round and of bets received late that wait for their correction. The exposure is the one that the table's limit is held
against, by the regulation and the limits that the round was opened under.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import psycopg

from ledger import houses
from ledger.property import Table
from ledger.round import Round, Status
from ledger.rules import Regulation
from ledger.store import log

Connection = psycopg.Connection[Any]


class Liability(msgspec.Struct, frozen=True, kw_only=True):
    """One table in one currency. Amounts are text of whole minor units."""

    table: str
    game: str
    currency: str
    round: UUID | None
    """The round that is being played; null between rounds."""
    regulation: str | None
    status: str | None
    """`open` while bets are taken, `closed` after the bell."""
    bets: int
    """Bets undecided in the round."""
    stakes: str
    """Their stakes."""
    escrow: str
    """All stakes that lie on the table undecided: of the round, and of bets received late that wait for their correction."""
    exposure: str
    """The most that the table can lose on the round's bets, whatever it shows: payouts less stakes, exact. Negative where it wins
    whatever comes."""
    limit: str | None
    """What the exposure may not exceed, by the configuration under which the round was opened; null where nothing is said."""
    room: str | None
    """By how much the exposure may still rise; negative where it is above the limit."""
    over: str | None
    """The limits above which the open bets stand, which a late bet or a withdrawal brings about: `exposure`, `differential` or
    `exposure, differential`; null where they are kept."""


class Terms:
    """The regulations and configurations that rounds were opened under, read from the log once. Not thread-safe."""

    def __init__(self) -> None:
        self._regulations: dict[str, Regulation] = {}
        self._tables: dict[tuple[str, str], Table | None] = {}

    def regulation(self, conn: Connection, sha256: str) -> Regulation:
        """The regulation with this content. Raises Refusal LGR-0504 where the log does not hold it."""
        if sha256 not in self._regulations:
            self._regulations[sha256] = houses.regulation(conn, sha256)
        return self._regulations[sha256]

    def table(self, conn: Connection, property_hash: str, table: str) -> Table | None:
        """The table as a configuration has it; None where it has none of this id. Raises Refusal LGR-0504."""
        key = (property_hash, table)
        if key not in self._tables:
            config = houses.configuration(conn, property_hash)
            self._tables[key] = next((each for each in config.tables if each.id == table), None)
        return self._tables[key]


def of_round(conn: Connection, terms: Terms, round_id: UUID, position: int, escrow: int) -> Liability:
    """What lies on the table of a round that is being played, as of a position at which it had been opened."""
    round_ = Round(round_id)
    round_.fold(recorded.body for recorded in log.stream(conn, round_id) if recorded.position <= position)
    opened = round_.terms
    table = terms.table(conn, opened.property_hash, opened.table)
    limit = None if table is None or table.limits is None else table.limits.exposure
    bets = round_.open_bets
    round_.limits = None if table is None else table.limits
    regulation = terms.regulation(conn, opened.regulation_hash)
    exposure = round_.exposure(regulation) if bets else 0
    over = round_.over_limits(regulation) if bets else ()
    return Liability(
        table=opened.table,
        game=opened.game,
        currency=opened.currency,
        round=round_id,
        regulation=opened.regulation,
        status="open" if round_.status is Status.BETTING else "closed",
        bets=len(bets),
        stakes=str(sum(bet.stake for bet in bets)),
        escrow=str(escrow),
        exposure=str(exposure),
        limit=None if limit is None else str(limit),
        room=None if limit is None else str(limit - exposure),
        over=", ".join(over) or None,
    )


def between_rounds(table: str, game: str, currency: str, escrow: int) -> Liability:
    """What lies on a table that plays no round."""
    return Liability(
        table=table,
        game=game,
        currency=currency,
        round=None,
        regulation=None,
        status=None,
        bets=0,
        stakes="0",
        escrow=str(escrow),
        exposure="0",
        limit=None,
        room=None,
        over=None,
    )
