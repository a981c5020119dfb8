"""Tests that assert nothing: a run of the proof with these alone must fail."""

from __future__ import annotations

from ledger import rules


def test_nothing() -> None:
    for regulation in rules.regulations():
        regulation.spots()
