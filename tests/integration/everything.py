"""A day on which everything happened that can, a player who is kept, and a correction of a day that was closed by then."""

from __future__ import annotations

from contextlib import closing
from uuid import UUID

import psycopg

from ledger.application import Rounds
from ledger.reports import PLAYERS_STREAM, ApproveCorrection, HoldPlayer, ProposeCorrection
from tests.golden.make import write
from tests.support import Terminal, accepted

CLOSED = "2026-11-28"


def play_everything(dsn: str) -> None:
    """Plays it into the empty ledger at `dsn`."""
    write(dsn)
    with psycopg.connect(dsn) as conn:
        row = conn.execute(
            "SELECT stream FROM ledger.log WHERE topic = 'RoundOpened.v1' AND body ->> 'gaming_day' = %s ORDER BY 1 LIMIT 1",
            (CLOSED,),
        ).fetchone()
        assert row is not None
    with closing(Rounds(dsn)) as rounds:
        correct(rounds, row[0], kind="outcome", outcome="36")
        keep = HoldPlayer(property="GOLDEN", player="P-1003", reason="aml_17")
        accepted(rounds.post([Terminal("R01").report(keep, round=PLAYERS_STREAM, by="A-1")]))
        correct(rounds, row[0], kind="ex_gratia", player="P-1001", amount="777", spot="red", stake="777")


def correct(rounds: Rounds, round_: UUID, *, kind: str, **what: str) -> None:
    """Proposes a correction of a round and has it approved, as often as it takes."""
    desk = Terminal("R01")
    asked = desk.report(ProposeCorrection(kind=kind, reason="miskeyed", **what), round=round_, by="S-2")  # type: ignore[arg-type]
    accepted(rounds.post([asked]))
    for person in ("S-5", "A-1")[: 2 if kind == "ex_gratia" else 1]:
        accepted(rounds.post([desk.report(ApproveCorrection(correction=asked.event_id), round=round_, by=person)]))
