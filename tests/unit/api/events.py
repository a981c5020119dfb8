"""CloudEvents as terminals make them, to be bent by the tests."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

ROUND = UUID("019a2f00-0000-7000-8000-000000000001")
EVENT = UUID("019a2f00-0000-7000-8000-0000000000e1")
BET = {"player": "P-1001", "spot": "straight:17", "stake": "10000", "currency": "MOP", "seat": 3}


def event(kind: str = "BetPlaced", data: Any = None, /, **attributes: Any) -> dict[str, Any]:
    """One event; attributes given as `...` are left out."""
    made = {
        "specversion": "1.0",
        "id": str(uuid4()),
        "source": "/terminals/T-R01",
        "type": f"roundledger.{kind}.v1",
        "subject": str(ROUND),
        "time": "2026-11-29T20:00:00+08:00",
        "data": BET if data is None else data,
        **attributes,
    }
    return {name: value for name, value in made.items() if value is not ...}


def bet(**fields: Any) -> dict[str, Any]:
    """A bet; fields given as `...` are left out."""
    data = {**BET, **fields}
    return event(data={name: value for name, value in data.items() if value is not ...})


def raw_bet(stake: str) -> str:
    """A bet as text, with `stake` written into it as it is: for what no JSON writer would write."""
    return json.dumps(bet(stake="@")).replace('"@"', stake)
