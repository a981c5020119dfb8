"""Golden logs: what a release wrote, kept as it wrote it, and what came of it by that release's own account.

A folder for each release, made once by `make` before it goes out and never changed after: whatever later releases move, rename or
add, they read these bytes and come to the same figures.

    events.ndjson       the log: position, stream, version, topic, the exact text of the payload's bytes as `state`, and, on the
                        first event of a report, the report's event id as `cause`, how many it `caused`, and its fingerprint
    rejections.ndjson   the reports that were refused for good
    open_rounds.ndjson  the rounds that were left open
    posts.ndjson        what the terminals had posted, each with the moment at which it was received
    expected.ndjson     balances, reports, rounds and bets, field by field (a later release may show more fields)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

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
    return {"events": ndjson(_events(conn)), **{table: ndjson(_table(conn, table, key)) for table, key in _TABLES.items()}}


_TABLES = {"rejections": "event_id", "open_rounds": "table_id"}
_NAMES = {"notification_id": "position", "originator_id": "stream", "originator_version": "version"}


def _events(conn: Connection) -> Iterator[Row]:
    for columns, state in conn.execute("SELECT to_jsonb(e) - 'state', state FROM ledger.events AS e ORDER BY notification_id"):
        row = {_NAMES.get(name, name): value for name, value in columns.items() if value is not None}
        first = {"position": str(row.pop("position")), **{name: row.pop(name) for name in ("stream", "version", "topic")}}
        # Strictly UTF-8, so that the text stands for exactly these bytes.
        yield {**first, "state": bytes(state).decode("utf-8", "strict"), **row}


def _table(conn: Connection, table: str, key: str) -> Iterator[Row]:
    # When a row was written is no business of anybody's figures, and would differ each time. Terminals had no epochs at first, so
    # one that has none says nothing of it.
    for (row,) in conn.execute(f"SELECT to_jsonb(t) - 'recorded_at' FROM ledger.{table} AS t ORDER BY {key}"):
        yield {name: value for name, value in row.items() if name != "epoch" or value is not None}


def load(conn: Connection, release: str, events: Iterable[Row] | None = None) -> None:
    """Puts a release's rows into an empty ledger as they were, past every decision; `events` go in place of its own."""
    columns = {name: column for column, name in _NAMES.items()}
    with conn.transaction(), conn.cursor() as cursor:
        for row in rows(release, "events") if events is None else events:
            others = {columns.get(name, name): value for name, value in row.items() if name != "state"}
            _insert(cursor, "events", others, row["state"].encode())
        for table in _TABLES:
            for row in rows(release, table):
                _insert(cursor, table, row)
        cursor.execute("SELECT setval('ledger.positions', (SELECT max(notification_id) FROM ledger.events))")


def _insert(cursor: psycopg.Cursor[Any], table: str, row: Row, state: bytes | None = None) -> None:
    names = ", ".join(row)
    given, state_of = ([state], ", state") if state is not None else ([], "")
    cursor.execute(
        f"INSERT INTO ledger.{table} ({names}{state_of}) "
        f"SELECT {names}{', %b' * len(given)} FROM json_populate_record(NULL::ledger.{table}, %s)",
        [*given, json.dumps(row)],
    )


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
        # What a round has where it did not go as it should, so that a log without it says nothing of it.
        if found.disposition or found.predecessor or found.successor or found.adjusted != "0":
            yield {"of": "lives", "round": str(row.round), **_fields(found, _LIFE)}
        for bet in found.bets:
            yield {"of": "bets", **_fields(bet, _BET)}
            if bet.late or bet.locked or bet.corrections or bet.placed_in != row.round:
                yield {"of": "lives of bets", "bet": str(bet.bet), **_fields(bet, "placed_in late locked corrections")}
        for moved in found.movements:
            yield {"of": "movements", **_fields(moved, "position line bet debit credit amount")}
        for name, fields in _EPISODES.items():
            for episode in getattr(found, name):
                yield {"of": name, **_fields(episode, fields)}


_FIGURES = "currency rounds bets handle pushed prizes commission breakage win win_percent theoretical_win theoretical_win_exact"
_ROUND = (
    "round property pit table game regulation applied gaming_day shift dealer supervisor status opened_at closed_at settled_at "
    "outcome shown currency stakes handle prizes commission breakage win first_position last_position"
)
_BET = (
    "bet position player seat spot numbers stake chip result odds prize_exact prize commission breakage net_prize returned "
    "article resolved_position"
)
_LIFE = "disposition predecessor successor escrow adjusted"
_EPISODES = {
    "throws": "position throw outcome shown point void article lost moved",
    "voids": "position what disposition bet number reason article successor stakes declared_by note",
    "late_bets": "position player seat spot stake article note",
    "holds": "hold position bet reason note held_by finding correction release_note released_by released_position",
    "corrections": "correction position kind reason hold outcome bet player spot stake amount direction proposed_by status "
    "approved_by seconded_by declined_by decided_position",
}


def _fields(struct: object, names: str) -> Row:
    return {name: msgspec.to_builtins(getattr(struct, name)) for name in names.split()}
