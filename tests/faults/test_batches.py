"""Faults of other programs' batches, through the whole system."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.integration.api.conftest import Floor

BAD: dict[str, dict[str, Any]] = {
    "its shape": {"data": {"player": "P-1"}},
    "its amount": {"data": {"player": "P-1", "spot": "red", "stake": "0", "currency": "MOP"}},
    "its number": {"data": {"player": "P-1", "spot": "red", "stake": 100.5, "currency": "MOP"}},
    "its chance": {"data": {"player": "P-1", "spot": "split:3-4", "stake": "100", "currency": "MOP"}},
    "its currency": {"data": {"player": "P-1", "spot": "red", "stake": "100", "currency": "HKD"}},
    "its round": {"subject": "019a2f00-0000-7000-8000-000000000000"},
    "its type": {"type": "roundledger.BetTaken.v1"},
    "its time": {"time": "yesterday"},
}
"""What is wrong with the item in the middle: found by the door, by the rules, or by the round."""


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_b23_only_the_bad_item_of_a_batch_carries_the_error(bad: dict[str, Any], floor: Floor) -> None:
    """B23: [good, bad, good] sent three times; the good ones are stored once, in their order, and only item 2 is blamed."""
    floor.accepted(floor.open())
    batch = [floor.bet("red"), {**floor.bet("black"), **bad}, floor.bet("odd")]
    answers = [floor.items(batch) for _ in range(3)]
    for items, status in zip(answers, ("accepted", "replayed", "replayed"), strict=True):
        assert [item["status"] for item in items] == [status, "rejected", status]
        assert [item.get("problem", {}).get("code") for item in items] == [None, answers[0][1]["problem"]["code"], None]
        assert [item["positions"] for item in items] == [item["positions"] for item in answers[0]]
    with psycopg.connect(floor.dsn) as conn:
        stored = conn.execute("SELECT body->>'spot' FROM ledger.log WHERE body ? 'bet' ORDER BY position").fetchall()
    assert stored == [("red",), ("odd",)]
