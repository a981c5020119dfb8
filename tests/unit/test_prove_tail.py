"""The counting of `prove tail` counts what it says: a proof whose alarm cannot ring proves nothing."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.proofs.prove_tail import Found, compare
from tests.proofs.tail_processes import Seen, mark

STREAM = UUID(int=7)
STORED = {position: mark(STREAM, position) for position in (1, 2, 4, 5)}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([1, 2, 4, 5], Found(4, missed=0, twice=0, backwards=0, unstored=0)),
        ([1, 4, 5], Found(3, missed=1, twice=0, backwards=0, unstored=0)),
        ([1, 2, 2, 4, 5], Found(5, missed=0, twice=1, backwards=1, unstored=0)),
        ([1, 2, 5, 4], Found(4, missed=0, twice=0, backwards=1, unstored=0)),
        ([1, 2, 3, 4, 5], Found(5, missed=0, twice=0, backwards=0, unstored=1)),
        ([], Found(0, missed=4, twice=0, backwards=0, unstored=0)),
    ],
)
def test_what_a_reader_was_given_is_counted(given: list[int], found: Found) -> None:
    seen = Seen()
    for position in given:
        seen.add(position, STREAM, position)
    assert compare(seen, STORED) == found
    assert found.whole == (given == [1, 2, 4, 5])


def test_another_event_at_a_stored_position_is_counted() -> None:
    seen = Seen()
    for position in STORED:
        seen.add(position, STREAM, position + 1)
    assert compare(seen, STORED).unstored == 4
