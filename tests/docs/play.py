"""One whole round over HTTP, for documents in which the posting is not the subject.

    python3 tests/docs/play.py URL TABLE GAME OUTCOME [PLAYER BET STAKE]...

Prints what became of each event, and returns once the projections have read them.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any
from urllib.request import Request, urlopen
from uuid import uuid4


def main(url: str, table: str, game: str, outcome: str, *bets: str) -> None:
    """Posts the round as one batch."""
    round_id = str(uuid4())

    def event(kind: str, data: dict[str, Any]) -> dict[str, Any]:
        return {
            "specversion": "1.0",
            "id": str(uuid4()),
            "source": f"/terminals/T-{table}",
            "type": f"roundledger.{kind}.v1",
            "subject": round_id,
            "time": datetime.now(UTC).isoformat(),
            "data": data,
        }

    placed = [
        event("BetPlaced", {"player": player, "spot": spot, "stake": stake, "currency": "MOP"})
        for player, spot, stake in zip(bets[::3], bets[1::3], bets[2::3], strict=True)
    ]
    events = [
        event("RoundOpened", {"table": table, "game": game}),
        *placed,
        event("BettingClosed", {}),
        event("OutcomeRecorded", {"outcome": outcome}),
    ]
    body = json.dumps(events).encode()
    with urlopen(Request(f"{url}/v1/events", body, {"Content-Type": "application/json"})) as answer:
        items = json.load(answer)["items"]
    sys.stdout.write(" ".join(item.get("problem", item).get("code", item["status"]) for item in items) + "\n")
    last = max(int(position) for item in items for position in item["positions"])
    with urlopen(f"{url}/v1/balances?at_least={last}") as answer:
        answer.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
