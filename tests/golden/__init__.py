"""Golden logs: what a release wrote, kept as it wrote it, and what came of it by that release's own account.

A folder for each release, made once by `make` before it goes out and never changed after: whatever later releases move, rename or
add, they read these bytes and come to the same figures.

    events.ndjson           the log: position, stream, version, topic, and `state`, the exact text of the stored bytes
    terminal_events.ndjson  the verdicts by which a terminal's retry finds its first answer
    open_rounds.ndjson      the rounds that were left open
    posts.ndjson            what the terminals had posted, each with the moment at which it was received
    expected.ndjson         balances, reports, rounds and bets, field by field (a later release may show more fields)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import psycopg

from projections import queries
from projections.runner import catch_up

HERE = Path(__file__).parent
RELEASES = sorted(path.name for path in HERE.iterdir() if (path / "events.ndjson").exists())
"""The releases that have a golden log."""

Row = dict[str, Any]
Connection = psycopg.Connection[Any]


def rows(release: str, name: str) -> list[Row]:
    """What one file of a release holds, line by line."""
    text = (HERE / release / f"{name}.ndjson").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def ndjson(found: Iterable[Row]) -> str:
    """One line a row, keys in the order given."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)


def dump(conn: Connection) -> dict[str, str]:
    """What a ledger's write side holds, as the text of the files."""
    return {
        "events": ndjson(_events(conn)),
        "terminal_events": ndjson(_table(conn, "terminal_events", "terminal, event_id")),
        "open_rounds": ndjson(_table(conn, "open_rounds", "table_id")),
    }


def _events(conn: Connection) -> Iterator[Row]:
    for position, stream, version, topic, state in conn.execute(
        "SELECT notification_id, originator_id, originator_version, topic, state FROM ledger.events ORDER BY notification_id"
    ):
        # Strictly UTF-8, so that the text stands for exactly these bytes.
        yield {
            "position": str(position),
            "stream": str(stream),
            "version": version,
            "topic": topic,
            "state": bytes(state).decode("utf-8", "strict"),
        }


def _table(conn: Connection, table: str, order: str) -> Iterator[Row]:
    for (text,) in conn.execute(f"SELECT row_to_json(t)::text FROM ledger.{table} AS t ORDER BY {order}"):
        yield json.loads(text)


def load(conn: Connection, release: str, events: Iterable[Row] | None = None) -> None:
    """Puts a release's rows into an empty ledger as they were, past every decision; `events` go in place of its own."""
    with conn.transaction(), conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO ledger.events (notification_id, originator_id, originator_version, topic, state) "
            "VALUES (%s, %s, %s, %s, %s)",
            [
                (int(row["position"]), UUID(row["stream"]), row["version"], row["topic"], row["state"].encode())
                for row in (rows(release, "events") if events is None else events)
            ],
        )
        for table in ("terminal_events", "open_rounds"):
            for row in rows(release, table):
                names = ", ".join(row)
                cursor.execute(
                    f"INSERT INTO ledger.{table} ({names}) SELECT {names} FROM json_populate_record(NULL::ledger.{table}, %s)",
                    (json.dumps(row),),
                )
        cursor.execute("SELECT setval('ledger.positions', (SELECT max(notification_id) FROM ledger.events))")


def expected(conn: Connection) -> str:
    """What comes of a log, folded by this release's projections and told field by field: the text of `expected.ndjson`."""
    catch_up(conn)
    return ndjson(_told(conn))


def _told(conn: Connection) -> Iterator[Row]:
    report = queries.table_report(conn)
    for at in queries.positions(conn):
        yield {"of": "positions", **_fields(at, "name position stop_reason")}
    for currency, total in queries.trial_balance(conn).items():
        yield {"of": "trial balance", "currency": currency, "sum": str(total)}
    for balance in queries.balances(conn):
        yield {"of": "balances", **_fields(balance, "account currency balance")}
    for line in report.lines:
        yield {"of": "table report", **_fields(line, "table game regulation applied " + _FIGURES)}
    for figures in report.totals:
        yield {"of": "totals", **_fields(figures, _FIGURES)}
    for count in queries.outcomes(conn):
        yield {"of": "outcomes", **_fields(count, "table game outcome count")}
    for row in reversed(queries.rounds_list(conn, limit=100_000)):
        found = queries.round_view(conn, row.round)
        assert found is not None
        yield {"of": "rounds", **_fields(found, _ROUND)}
        for bet in found.bets:
            yield {"of": "bets", **_fields(bet, _BET)}
        for moved in found.movements:
            yield {"of": "movements", **_fields(moved, "position line bet debit credit amount")}


_FIGURES = "currency rounds bets handle pushed prizes commission breakage win win_percent theoretical_win theoretical_win_exact"
_ROUND = (
    "round property pit table game regulation applied gaming_day shift dealer supervisor status opened_at closed_at settled_at "
    "outcome shown currency stakes handle prizes commission breakage win first_position last_position"
)
_BET = (
    "bet position player seat spot numbers stake chip result odds prize_exact prize commission breakage net_prize returned "
    "article resolved_position"
)


def _fields(struct: object, names: str) -> Row:
    return {name: msgspec.to_builtins(getattr(struct, name)) for name in names.split()}
