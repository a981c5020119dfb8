"""What the door and the command line read of the projections.

Each function is one statement, hence one state of the tables, and names the position of that state where it matters. Rows come in
a fixed order, times in UTC. Amounts and positions are text in every result: 64-bit numbers and more do not survive the JSON of
most readers. Amounts are minor units of the row's currency, and nothing is ever added across currencies.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql

from ledger import erasure
from projections.tally import Line
from projections.views import RoundView, view

Connection = psycopg.Connection[Any]


class Balance(msgspec.Struct, frozen=True, kw_only=True):
    """One account in one currency."""

    account: str
    currency: str
    balance: str
    """Credits less debits, minor units."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What came of rounds, in minor units of `currency`."""

    currency: str
    rounds: int
    """Rounds settled."""
    bets: int
    """Bets resolved: lost, won or pushed."""
    handle: str
    """Stakes lost and won; pushed stakes are not counted."""
    lost: str
    """Stakes lost."""
    pushed: str
    """Stakes that neither won nor lost."""
    prizes: str
    """Net prizes paid, after commission and breakage."""
    commission: str
    breakage: str
    adjusted: str
    """Paid to players beside the regulation less what was taken from them (mispays, ex gratia); no part of the win."""
    earlier: str
    """What corrections of days that are closed, posted to this one, add to the win."""
    win: str
    """Stakes lost less net prizes, and `earlier`; commission and breakage are in it once. Negative where the table lost."""
    win_percent: str | None
    """Win without `earlier` in percent of handle, two decimals, half to even; null where there was no handle."""


class ShiftLine(Figures, frozen=True, kw_only=True):
    """What one table did in the rounds of a shift."""

    table: str
    game: str


class TableFigures(Figures, frozen=True, kw_only=True):
    """The figures of a table report's line or total."""

    theoretical_win: str
    """Sum of stake × house edge over every bet resolved, rounded half to even to whole minor units, once."""
    theoretical_win_exact: str
    """The same as a fraction in lowest terms."""


class TableLine(TableFigures, frozen=True, kw_only=True):
    """One table's line, under one regulation and in one currency."""

    table: str
    game: str
    regulation: str
    applied: str | None
    """The sentence to print where the regulation is applied beyond its repeal."""


class TableReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the tables did, and up to where in the log that is known."""

    position: str
    day: date | None
    """The gaming day; null for all days together."""
    lines: list[TableLine]
    totals: list[TableFigures]
    """One per currency."""
    notes: list[str]
    """What the figures rest on, each sentence once: regulations applied beyond their repeal, and odds that no held text has."""


class OutcomeCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often a table showed an outcome."""

    table: str
    game: str
    outcome: str
    count: int


class RoundSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One round in a list, amounts in minor units of `currency`. The fields are in the order in which they are read."""

    round: UUID
    position: str
    """Of the event that opened it; `before` of the next page."""
    table: str
    game: str
    regulation: str
    applied: str | None
    gaming_day: date
    status: str
    disposition: str | None
    """Of a voided round: `carry` or `return`."""
    opened_at: datetime
    settled_at: datetime | None
    outcome: str | None
    shown: str | None
    predecessor: UUID | None
    """The round whose bets it took over."""
    successor: UUID | None
    """The round that took over its bets."""
    currency: str
    bets: int
    stakes: str
    escrow: str
    """Stakes undecided; of a round that has ended, bets received late that wait for their correction."""
    lost: str
    """Stakes lost: zero until the round is settled, as are prizes and win."""
    prizes: str
    """Net prizes."""
    win: str
    """Stakes lost less net prizes."""
    adjusted: str
    """Paid to players beside the regulation less what was taken from them; no part of the win."""
    holds: int
    """Open ones."""
    corrections_pending: int
    corrections: int
    """Approved ones."""


class ProjectionPosition(msgspec.Struct, frozen=True, kw_only=True):
    """How far a projection is, and why it stands still if it does."""

    name: str
    position: str
    updated_at: datetime
    stopped_at: datetime | None
    stopped_by: str | None
    """Position of the event that it cannot fold."""
    stop_reason: str | None


def beyond(projections: Sequence[ProjectionPosition], end: int) -> list[str]:
    """The projections that stand beyond `end`, the last position that was drawn: they pass over whatever comes up to there."""
    return [each.name for each in projections if int(each.position) > end]


def balances(conn: Connection, account_prefix: str | None = None, currency: str | None = None) -> list[Balance]:
    """Balances by account, then currency; of the accounts that begin with a prefix, or in one currency only."""
    rows = conn.execute(
        "SELECT account, currency, balance FROM projection.balances "
        "WHERE (%(prefix)s::text IS NULL OR starts_with(account, %(prefix)s)) "
        "AND (%(currency)s::text IS NULL OR currency = %(currency)s) ORDER BY account, currency",
        {"prefix": account_prefix, "currency": currency},
    )
    return [Balance(account=account, currency=code, balance=str(int(balance))) for account, code, balance in rows]


def trial_balance(conn: Connection) -> dict[str, int]:
    """Sum of all balances per currency, in minor units: zero, or the books are broken. Empty before anything moved."""
    rows = conn.execute("SELECT currency, sum(balance) FROM projection.balances GROUP BY currency ORDER BY currency")
    return {currency: int(total) for currency, total in rows}


def table_report(conn: Connection, day: date | None = None) -> TableReport:
    """The table report of one gaming day, or of all days: by table, game, regulation and currency, with totals per currency."""
    rows = conn.execute(
        """
        WITH figures AS (
            SELECT table_id, game, regulation, applied, currency, sum(rounds) AS rounds, sum(bets) AS bets, sum(lost) AS lost,
                   sum(won) AS won, sum(pushed) AS pushed, sum(prizes) AS prizes, sum(commission) AS commission,
                   sum(breakage) AS breakage, sum(adjusted) AS adjusted, sum(earlier) AS earlier
            FROM projection.table_reports WHERE %(day)s::date IS NULL OR gaming_day = %(day)s
            GROUP BY table_id, game, regulation, applied, currency
        ), edges AS (
            SELECT table_id, game, regulation, applied, currency, array_agg(edge) AS edges, array_agg(stakes) AS stakes
            FROM (
                SELECT table_id, game, regulation, applied, currency, edge, sum(stakes) AS stakes
                FROM projection.table_edges WHERE %(day)s::date IS NULL OR gaming_day = %(day)s
                GROUP BY table_id, game, regulation, applied, currency, edge
            ) AS by_edge
            GROUP BY table_id, game, regulation, applied, currency
        )
        SELECT coalesce((SELECT position FROM projection.positions WHERE name = 'tables'), 0), f.table_id, f.game, f.regulation,
               f.applied, f.currency, f.rounds, f.bets, f.lost, f.won, f.pushed, f.prizes, f.commission, f.breakage, f.adjusted,
               f.earlier, e.edges, e.stakes
        FROM (VALUES (1)) AS always LEFT JOIN figures AS f ON true
        LEFT JOIN edges AS e USING (table_id, game, regulation, applied, currency)
        ORDER BY f.table_id, f.game, f.regulation, f.applied, f.currency
        """,
        {"day": day},
    ).fetchall()
    lines: list[TableLine] = []
    sums: dict[str, Line] = defaultdict(Line)
    expected: dict[str, Fraction] = defaultdict(Fraction)
    for _, table, game, regulation, applied, currency, *counted, edges, stakes in rows:
        if table is None:
            continue
        line, theoretical = Line(*map(int, counted)), _theoretical(edges, stakes)
        sums[currency] += line
        expected[currency] += theoretical
        figures = _figures(currency, line) | _theory(theoretical)
        lines.append(TableLine(table=table, game=game, regulation=regulation, applied=applied or None, **figures))
    return TableReport(
        position=str(rows[0][0]),
        day=day,
        lines=lines,
        totals=[TableFigures(**_figures(currency, sums[currency]), **_theory(expected[currency])) for currency in sorted(sums)],
        notes=sorted({line.applied for line in lines if line.applied}),
    )


def applied(conn: Connection) -> list[str]:
    """The sentences on regulations applied beyond their repeal in any round, each once."""
    rows = conn.execute(
        "SELECT applied FROM projection.table_reports WHERE applied <> '' UNION "
        "SELECT applied FROM projection.table_rounds WHERE applied <> '' ORDER BY applied"
    )
    return [sentence for (sentence,) in rows]


def shift_report(conn: Connection, shift: str) -> list[ShiftLine]:
    """What the tables did in the rounds of a shift, by table and currency."""
    rows = conn.execute(
        "SELECT table_id, game, currency, count(*), sum(resolved), sum(lost), sum(won), sum(pushed), sum(prizes), "
        "sum(commission), sum(breakage), sum(adjusted) FROM projection.rounds WHERE shift = %s AND settled_at IS NOT NULL "
        "GROUP BY table_id, game, currency ORDER BY table_id, game, currency",
        (shift,),
    )
    found = []
    for table, game, currency, *counted in rows:
        found.append(ShiftLine(table=table, game=game, **_figures(currency, Line(*map(int, counted)))))
    return found


def outcomes(conn: Connection, table: str | None = None, day: date | None = None) -> list[OutcomeCount]:
    """How often each outcome came, by table and game, then outcome in the order of its numbers."""
    rows = conn.execute(
        "SELECT table_id, game, outcome, sum(count) FROM projection.table_outcomes "
        "WHERE (%(table)s::text IS NULL OR table_id = %(table)s) AND (%(day)s::date IS NULL OR gaming_day = %(day)s) "
        "GROUP BY table_id, game, outcome HAVING sum(count) <> 0",
        {"table": table, "day": day},
    )
    counts = [OutcomeCount(table=at, game=game, outcome=outcome, count=int(count)) for at, game, outcome, count in rows]
    return sorted(counts, key=lambda row: (row.table, row.game, [int(n) for n in re.findall("[0-9]+", row.outcome)], row.outcome))


def tables_played(conn: Connection) -> list[str]:
    """Every table at which a round was opened, in order."""
    return [table for (table,) in conn.execute("SELECT DISTINCT table_id FROM projection.rounds ORDER BY table_id")]


class LatestRound(NamedTuple):
    """The round that was opened last at a table."""

    round: UUID
    status: str
    game: str
    currency: str


def latest_rounds(conn: Connection, tables: Sequence[str]) -> dict[str, LatestRound | None]:
    """Table → its latest round, which is the one that is being played if any is; in the order of the tables."""
    rows = conn.execute(
        "SELECT named.id, r.round, r.status, r.game, r.currency FROM unnest(%s::text[]) WITH ORDINALITY AS named(id, place) "
        "LEFT JOIN LATERAL (SELECT * FROM projection.rounds WHERE table_id = named.id ORDER BY first_position DESC LIMIT 1) AS r "
        "ON true ORDER BY named.place",
        (list(tables),),
    )
    return {table: None if round_ is None else LatestRound(round_, *rest) for table, round_, *rest in rows}


def rounds_list(
    conn: Connection,
    *,
    table: str | None = None,
    status: str | None = None,
    day: date | None = None,
    before: int | None = None,
    waiting: bool = False,
    limit: int = 50,
) -> list[RoundSummary]:
    """Rounds, the latest first; of one table, status (see `RoundView`) or gaming day; opened before a position.

    `waiting`: only those that are settled and have stakes in escrow, of bets that were received late.
    """
    rows = conn.execute(
        "SELECT round, first_position, table_id, game, regulation, applied, gaming_day, status, disposition, opened_at, "
        "settled_at, outcome, shown, predecessor, successor, currency, bets, stakes, escrow, lost, prizes, lost - prizes, "
        "adjusted, holds, corrections_pending, corrections FROM projection.rounds "
        "WHERE (%(table)s::text IS NULL OR table_id = %(table)s) AND (%(status)s::text IS NULL OR status = %(status)s) "
        "AND (%(day)s::date IS NULL OR gaming_day = %(day)s) AND (%(before)s::bigint IS NULL OR first_position < %(before)s) "
        "AND (NOT %(waiting)s OR (settled_at IS NOT NULL AND escrow <> 0)) "
        "ORDER BY first_position DESC LIMIT %(limit)s",
        {"table": table, "status": status, "day": day, "before": before, "waiting": waiting, "limit": limit},
        binary=True,
    )
    return [_summary(dict(zip(RoundSummary.__struct_fields__, row, strict=True))) for row in rows]


def _summary(fields: dict[str, Any]) -> RoundSummary:
    for name in ("opened_at", "settled_at"):
        fields[name] = fields[name] and fields[name].astimezone(UTC)
    for name in ("position", "stakes", "escrow", "lost", "prizes", "win", "adjusted"):
        fields[name] = str(int(fields[name]))
    return RoundSummary(**fields)


def round_view(conn: Connection, round_id: UUID) -> RoundView | None:
    """One round with its bets and movements, folded from its own events at this moment; None where there is no such round."""
    return view(erasure.stream(conn, round_id))


def positions(conn: Connection, schema: str = "projection") -> list[ProjectionPosition]:
    """Where each projection stands, by name. What it lags behind is `ledger.store.log.head` less its position."""
    rows = conn.execute(
        sql.SQL(
            'SELECT name, position, updated_at, stopped_at, stopped_by, stop_reason FROM {}.positions ORDER BY name COLLATE "C"'
        ).format(sql.Identifier(schema)),
        binary=True,
    )
    return [
        ProjectionPosition(
            name=name,
            position=str(position),
            updated_at=updated_at.astimezone(UTC),
            stopped_at=stopped_at and stopped_at.astimezone(UTC),
            stopped_by=None if stopped_by is None else str(stopped_by),
            stop_reason=stop_reason,
        )
        for name, position, updated_at, stopped_at, stopped_by, stop_reason in rows
    ]


def percent(part: int, whole: int) -> str | None:
    """`part` in percent of `whole` with two decimals, rounded half to even; None of nothing."""
    if not whole:
        return None
    hundredths = round(Fraction(part * 10000, whole))
    sign, (units, rest) = "-" if hundredths < 0 else "", divmod(abs(hundredths), 100)
    return f"{sign}{units}.{rest:02}"


def _figures(currency: str, line: Line) -> dict[str, Any]:
    handle, own = line.lost + line.won, line.lost - line.prizes
    return {
        "currency": currency,
        "rounds": line.rounds,
        "bets": line.bets,
        "handle": str(handle),
        "lost": str(line.lost),
        "pushed": str(line.pushed),
        "prizes": str(line.prizes),
        "commission": str(line.commission),
        "breakage": str(line.breakage),
        "adjusted": str(line.adjusted),
        "earlier": str(line.earlier),
        "win": str(own + line.earlier),
        "win_percent": percent(own, handle),
    }


def _theory(theoretical: Fraction) -> dict[str, Any]:
    return {"theoretical_win": str(round(theoretical)), "theoretical_win_exact": str(theoretical)}


def _theoretical(edges: Iterable[str] | None, stakes: Iterable[Any] | None) -> Fraction:
    return sum((Fraction(edge) * int(stake) for edge, stake in zip(edges or (), stakes or (), strict=True)), Fraction(0))
