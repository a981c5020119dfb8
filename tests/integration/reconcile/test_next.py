"""The command beside each exception can be typed as it stands, also where two houses share a ledger."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import psycopg
import pytest

from cli.main import run
from ledger.application import Rounds
from projections.reconcile import engine, ledger, mapping
from projections.runner import catch_up
from tests.integration.reconcile.support import write
from tests.integration.reconcile.test_ready import AMOUNTS, PLAYED
from tests.integration.reconcile.test_ways import JOURNAL
from tests.proofs.report_month import HOUSE, Month

IDS = {"terminal-bets": 0, "terminal-results": 0, "terminal-rounds": 0, "cage-slips": 0}
"""Ready mapping → the column of its key, where that is one column."""


def test_what_is_to_be_typed_next_runs(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Rounds(dsn)) as rounds:
        rounds.apply_property(HOUSE)
        rounds.apply_property(msgspec.structs.replace(HOUSE, id="OTHER", name="Other", tables=(another_table(),)))
        Month(rounds, dsn, 1, 6, 1).play()
    files: dict[str, list[list[Any]]] = {}
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        conn.execute("SET TimeZone = 'Asia/Macau'")
        for name, query in PLAYED.items():
            cursor = conn.execute(query.encode())
            files[name] = [[column.name for column in cursor.description or ()], *([*row] for row in cursor)]
        journal = conn.execute(
            "SELECT bet, table_id, stake, coalesce(returned, 0) + 1, currency FROM report.bets "
            "WHERE result NOT IN ('carried', 'void', 'withdrawn') ORDER BY position"
        ).fetchall()
    legs = [
        engine.Leg(mapping.load(name), [write(tmp_path / f"{name}.csv", spoiled(name, rows))]) for name, rows in files.items()
    ]
    paid = write(tmp_path / "paid.csv", [["bet", "table", "stake", "paid", "currency"], *journal])
    legs.append(engine.Leg(mapping.read(JOURNAL, "terminal-bets"), [paid]))
    with ledger.one_state(dsn) as conn, engine.reconciled(conn, legs, engine.Asked()) as result:
        found = result.db.execute("SELECT reason, leg, min(next) FROM x WHERE next <> '' GROUP BY ALL ORDER BY ALL").fetchall()
    assert {"COUNT_VARIANCE", "MISSING_IN_LEDGER", "MISSING_IN_FILE", "AMOUNT_DIFF"} <= {reason for reason, _, _ in found}
    commands = {command for _, _, command in found}
    assert any(command.startswith("roundledger trace player/") for command in commands)
    monkeypatch.setenv("LEDGER_DSN", dsn)
    refused = [command for command in sorted(commands) if run(shlex.split(command)[1:]) == 2]
    assert refused == []


def another_table() -> Any:
    """A table of the other house."""
    return msgspec.structs.replace(HOUSE.tables[0], id="Z99")


def spoiled(name: str, rows: list[list[Any]]) -> list[list[Any]]:
    """A row that is lost, one with another amount, one twice, and one that the ledger has not."""
    titles, _, *rest = rows
    if name in AMOUNTS:
        rest[0] = [*rest[0]]
        rest[0][AMOUNTS[name]] += 7
    if name in IDS:
        strange = [*rest[-1]]
        strange[IDS[name]] = uuid4() if name.startswith("terminal") else 999_999
        rest += [strange, rest[-1]]
    return [titles, *rest]
