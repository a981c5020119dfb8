"""Of any number of bets those that are placed twice are found, on disk as well, whatever kind of ids they have."""

from __future__ import annotations

import random
import uuid
from uuid import UUID

import pytest

from ledger.audit import placed
from ledger.audit.placed import Placed, marks, raw

HOST = 0x0123456789AB


def _ids(rng: random.Random) -> list[UUID]:
    at_random = [UUID(int=rng.getrandbits(128), version=4) for _ in range(2000)]
    by_name = [uuid.uuid5(uuid.NAMESPACE_DNS, f"bet {n}") for n in range(2000)]
    in_a_row = [UUID(int=n) for n in range(2000)]
    by_the_time = [UUID(fields=(0x9ABCDEF0 + n, 0x1234, 0x11F1, 0x80, 0x01, HOST)) for n in range(2000)]
    by_unix_time = [UUID(int=(0x019A2F000000 + n << 80) | 7 << 76 | 2 << 62 | n) for n in range(2000)]
    return [*at_random, *by_name, *in_a_row, *by_the_time, *by_unix_time]


@pytest.mark.parametrize("kept", [1, 1000, 1 << 20])
def test_what_comes_twice_is_found_and_nothing_else(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr(placed, "_KEPT", kept)
    rng = random.Random(kept)
    ids = _ids(rng)
    again = [each.bytes for each in rng.sample(ids, 50)]
    with Placed() as bets:
        for n in range(0, len(ids), 700):
            bets.add(b"".join(each.bytes for each in ids[n : n + 700]))
        assert bets.twice() == frozenset()
    with Placed() as bets:
        for n in range(0, len(ids), 700):
            bets.add(raw([str(each) for each in ids[n : n + 700]]))
        bets.add(b"".join(again))
        assert bets.twice() == set(marks(b"".join(again)))


@pytest.mark.parametrize("bets", [["zzz"], ["0123"], ["g" * 32], [str(UUID(int=7)), "12"], ["1" * 30]])
def test_what_is_no_id_is_told_apart(bets: list[str]) -> None:
    with pytest.raises(ValueError, match=r"hexadecimal|another length"):
        raw(bets)
