"""The examples of the door's contract, made by posting them to a real door; `python -m tests.docs.references` writes them.

The clock stands still and the ids are fixed, so that the same door gives the same examples.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import anyio
import httpx
import psycopg

from ledger.api.app import create_app
from ledger.api.intake import BATCH, ONE
from ledger.api.reader import SqlReader
from projections.runner import catch_up
from tests.support import house

NOW = datetime(2026, 11, 29, 12, 0, 1, tzinfo=UTC)
ROUND = "01937787-d400-7000-8000-00000000aa01"


def event(number: int, kind: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": f"01937787-d400-7000-8000-{number:012}",
        "source": "/terminals/T-R01",
        "type": f"roundledger.{kind}.v1",
        "subject": ROUND,
        "time": f"2026-11-29T20:00:{number:02}+08:00",
        "sequence": str(number),
        "datacontenttype": "application/json",
        "data": data,
    }


def bet(number: int, spot: str, **data: Any) -> dict[str, Any]:
    return event(number, "BetPlaced", {"player": "P-1001", "spot": spot, "stake": "10000", "currency": "MOP", **data})


OPEN = event(1, "RoundOpened", {"table": "R01", "game": "roulette", "shift": "swing", "dealer": "D-7", "supervisor": "S-2"})
STRAIGHT = bet(2, "straight:17", seat=3)
RED = bet(3, "red", player="P-1002", seat=5)
WRONG = bet(4, "split:17-19")
CLOSE = event(5, "BettingClosed", {})
OUTCOME = event(6, "OutcomeRecorded", {"outcome": "17"})
LATE = bet(7, "black")


def made(dsn: str) -> dict[str, Any]:
    """Events, answers and problems by operation, from a new ledger at `dsn`."""
    return anyio.run(_made, dsn)


async def _made(dsn: str) -> dict[str, Any]:
    with closing(house(dsn)) as rounds, SqlReader(dsn) as reader, psycopg.connect(dsn, autocommit=True) as conn:
        app = create_app(rounds, reader, now=lambda: NOW)
        transport = httpx.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://door") as door:

            async def post(body: Any, media: str = ONE) -> Any:
                return (await door.post("/v1/events", json=body, headers={"Content-Type": media})).json()

            async def get(path: str) -> Any:
                return (await door.get(path)).json()

            early = await get(f"/v1/rounds/{ROUND}")
            answers = {
                "one event": await post(OPEN),
                "the same event again": await post(OPEN),
                "a batch, of which one event is refused": await post([STRAIGHT, RED, WRONG], BATCH),
                "an outcome, and what it brought about": await post([CLOSE, OUTCOME], BATCH),
            }
            refused = {
                "404": {"the round is not open": await post(bet(8, "red") | {"subject": ROUND[:-1] + "9"})},
                "409": {"a bet after the bell": await post(LATE)},
                "415": {"no JSON": await post("junk", "text/plain")},
                "422": {"an illegal selection": await post(WRONG)},
            }
            catch_up(conn)
            health = await get("/healthz")
            for projection in health["projections"]:
                projection["updated_at"] = "2026-11-29T12:00:00Z"
            return {
                "events": {"OpenRound": OPEN, "PlaceBet": STRAIGHT, "CloseBetting": CLOSE, "RecordOutcome": OUTCOME},
                "batches": {"bets, of which one is refused": [STRAIGHT, RED, WRONG], "the end of a round": [CLOSE, OUTCOME]},
                "answers": {
                    "postEvents": answers,
                    "getRound": {"a settled round": await get(f"/v1/rounds/{ROUND}")},
                    "getBalances": {"all balances": await get("/v1/balances")},
                    "getTableReports": {"all days": await get("/v1/reports/tables")},
                    "getHealth": {"all is well": health},
                    "getTerminal": {"nothing is missing": await get("/v1/terminals/T-R01")},
                    "getTerminalTime": {"now": await get("/v1/time")},
                    "getTime": {"now": await get("/time")},
                },
                "problems": {
                    "postEvents": refused,
                    "getRound": {"404": {"no such round": early}},
                    "getBalances": {"422": {"an unknown parameter": await get("/v1/balances?account=win/R01")}},
                },
            }
