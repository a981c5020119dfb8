"""The signatures that a door has seen: each once, within bounds, and no terminal at another's cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import anyio
from hypothesis import given
from hypothesis import strategies as st

from ledger.api.access import Access, Register, Replays
from ledger.signatures import Signed
from ledger.store.credentials import Key

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
WINDOW = 300


def signed(mark: bytes, seconds: int = 0, key: str = "k") -> Signed:
    """A signature that was made so many seconds from now."""
    return Signed(key, int(NOW.timestamp()) + seconds, mark, (), cast(Any, None), cast(Any, None))


def test_a_signature_is_taken_once() -> None:
    replays = Replays(WINDOW)
    assert replays.first(signed(b"a"), NOW)
    assert not replays.first(signed(b"a"), NOW)
    assert replays.first(signed(b"b"), NOW)
    assert replays.first(signed(b"a", key="another"), NOW)


def test_it_is_remembered_for_as_long_as_it_would_hold() -> None:
    replays = Replays(WINDOW)
    assert replays.first(signed(b"a", WINDOW), NOW)
    assert not replays.first(signed(b"a", WINDOW), NOW + timedelta(seconds=2 * WINDOW))
    assert replays.first(signed(b"b", 3 * WINDOW), NOW + timedelta(seconds=2 * WINDOW + 1))
    assert sum(len(seen.marks) for seen in replays._seen.values()) == 1, "what would hold no more is forgotten"


def test_beyond_its_bound_the_oldest_hold_no_more_instead_of_twice() -> None:
    replays = Replays(WINDOW, capacity=3)
    for n in range(5):
        assert replays.first(signed(b"%d" % n, n), NOW)
    assert not any(replays.first(signed(b"%d" % n, n), NOW) for n in range(5))
    assert not replays.first(signed(b"new", 0), NOW), "as old as one that was forgotten"
    assert replays.first(signed(b"new", 5), NOW)
    assert replays.first(signed(b"new", 0, key="another"), NOW)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(-WINDOW, WINDOW)), max_size=60), st.integers(1, 8))
def test_whatever_comes_none_is_taken_twice(coming: list[tuple[int, int]], capacity: int) -> None:
    replays = Replays(WINDOW, capacity)
    taken = [(n, seconds) for n, seconds in coming if replays.first(signed(b"%d/%d" % (n, seconds), seconds), NOW)]
    assert len(taken) == len(set(taken))
    assert all(len(seen.marks) == len(seen.ages) <= capacity for seen in replays._seen.values())


def test_a_crowd_of_guesses_is_a_few_looks_at_the_database() -> None:
    looks = []

    def load() -> Register:
        looks.append(1)
        return Register()

    access = Access(load, required=True)

    async def crowd() -> None:
        async with anyio.create_task_group() as tasks:
            for n in range(200):
                tasks.start_soon(guess, str(n))

    async def guess(id: str) -> None:
        assert id not in (await access.known(lambda known: id in known.keys)).keys

    anyio.run(crowd)
    assert len(looks) <= 2


def test_a_key_that_was_just_issued_is_found() -> None:
    keys: list[Key] = []
    access = Access(lambda: Register(keys=tuple(keys)), required=True)

    async def issue_and_ask() -> None:
        await access.known()
        for n in range(5):
            key = Key(id=str(n), terminal="T", algorithm="ed25519", material=b"", issued_at=NOW, not_before=NOW, expires=NOW)
            keys.append(key)
            assert key.id in (await access.known(lambda known, id=key.id: id in known.keys)).keys  # type: ignore[misc]

    anyio.run(issue_and_ask)
