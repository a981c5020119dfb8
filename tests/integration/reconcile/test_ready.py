"""Every ready mapping reads a file that says what a played ledger says, and finds nothing; one figure more, and it finds that."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from ledger.application import Rounds
from projections.reconcile.mapping import ready
from projections.runner import catch_up
from tests.integration.reconcile.support import QUERIES, found, write
from tests.proofs.report_month import HOUSE, Month

PLAYED = {
    **QUERIES,
    "terminal-bets": "SELECT bet, round, table_id AS table, spot, stake, currency, player, occurred_at FROM report.bets "
    "WHERE result NOT IN ('carried', 'void', 'withdrawn') ORDER BY position",
    "terminal-results": "SELECT bet, table_id AS table, gaming_day, result, coalesce(returned, 0) AS paid, currency, regulation "
    "FROM report.bets WHERE result NOT IN ('carried', 'open') ORDER BY position",
    "cage-slips": "SELECT number AS slip_no, kind, table_id AS table, gaming_day, currency, total, status FROM report.slips "
    "WHERE kind IN ('fill', 'credit') AND status <> 'cancelled' ORDER BY number",
    "wallet-players": "SELECT substr(account, 8) AS player, gaming_day, currency, amount FROM report.postings "
    "WHERE account LIKE 'player/%' ORDER BY position, line, leg",
    "table-days": "SELECT table_id AS table, gaming_day, currency, handle, win FROM report.table_days ORDER BY 1, 2",
}
AMOUNTS = {
    "terminal-bets": 4,
    "terminal-results": 4,
    "cage-slips": 5,
    "chip-counts": 5,
    "drop-counts": 5,
    "wallet-players": 3,
    "table-days": 4,
}
"""Ready mapping → the column of an amount."""


def test_every_ready_mapping_fits_a_played_ledger(dsn: str, tmp_path: Path) -> None:
    with closing(Rounds(dsn)) as rounds:
        rounds.apply_property(HOUSE)
        Month(rounds, dsn, 1, 6, 1).play()
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        conn.execute("SET TimeZone = 'Asia/Macau'")
        files: dict[str, list[list[Any]]] = {}
        for name, query in PLAYED.items():
            cursor = conn.execute(query.encode())
            files[name] = [[column.name for column in cursor.description or ()], *([*row] for row in cursor)]
        events = conn.execute(
            "SELECT l.body, b.round FROM ledger.log AS l JOIN report.bets AS b ON b.position = l.position "
            "WHERE topic = 'BetPlaced.v1' AND b.result NOT IN ('carried', 'withdrawn', 'void') ORDER BY l.position"
        ).fetchall()
    assert {*files, "cloudevents-bets"} == set(ready())
    for name, rows in files.items():
        assert found(dsn, (name, write(tmp_path / f"{name}.csv", rows))) == [], name
    for name, at in AMOUNTS.items():
        spoiled = [files[name][0], [*files[name][1][:at], files[name][1][at] + 7, *files[name][1][at + 1 :]], *files[name][2:]]
        [(reason, _, _)] = found(dsn, (name, write(tmp_path / f"{name}.csv", spoiled)))
        assert reason == "AMOUNT_DIFF", name
    path = tmp_path / "events.ndjson"
    path.write_text(
        "".join(f"{json.dumps(_event(body, round_))}\n" for body, round_ in events) + '{"type": "roundledger.BettingClosed.v1"}\n'
    )
    current = {str(row[0]): row for row in files["terminal-bets"][1:]}
    changed = {what for _, what, _ in found(dsn, ("cloudevents-bets", path))}
    # What was corrected since is all that differs from what the terminals said.
    for body, _ in events:
        row = current[body["bet"]]
        same = (body["spot"], body["player"], int(body["stake"])) == (row[3], row[6], int(row[4] * 100))
        assert same != (f"bet {body['bet']}" in changed), (body, row)


def _event(body: dict[str, Any], round_: Any) -> dict[str, Any]:
    """The CloudEvent that a terminal posted, of what the log made of it."""
    data = {name: body[name] for name in ("player", "spot", "stake", "currency")}
    kind = "roundledger.BetPlaced.v1"
    return {"id": body["bet"], "type": kind, "subject": str(round_), "time": body["occurred_at"], "data": data}
