"""The numbers that were received of a terminal: spans that say the same as a plain set would."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import Refusal
from ledger.reports import CloseBetting, Report
from ledger.sequences import Line, Numbers, perhaps_early


def report(sequence: int | None) -> Report:
    return Report(
        event_id=uuid4(),
        terminal="T-1",
        type="roundledger.BettingClosed.v1",
        round=uuid4(),
        occurred_at=datetime.now(UTC),
        received_at=datetime.now(UTC),
        sequence=sequence,
        fingerprint=b"",
        body=CloseBetting(),
    )


def spans(numbers: set[int]) -> list[tuple[int, int]]:
    """A plain set's spans, number by number."""
    firsts = [n for n in sorted(numbers) if n - 1 not in numbers]
    lasts = [n for n in sorted(numbers) if n + 1 not in numbers]
    return list(zip(firsts, lasts, strict=True))


def naive_missing(numbers: set[int], below: int | None) -> list[tuple[int, int]]:
    highest = max(numbers, default=0) if below is None else below - 1
    return spans({n for n in range(1, highest + 1) if n not in numbers})


@given(st.lists(st.tuples(st.sampled_from(["add", "add", "add", "discard"]), st.integers(0, 40))), st.integers(1, 45))
def test_spans_say_what_a_plain_set_says(acts: list[tuple[str, int]], below: int) -> None:
    numbers, plain = Numbers(), set[int]()
    for act, number in acts:
        getattr(numbers, act)(number)
        getattr(plain, act)(number)
        assert numbers.spans == spans(plain)
        assert (number in numbers) == (number in plain)
    again = Numbers(numbers.spans)
    assert all((n in again) == (n in plain) for n in range(50))
    assert again.contiguous == next(n for n in range(50) if n + 1 not in plain)
    assert again.missing(limit=99) == naive_missing(plain, None)
    assert again.missing(below, limit=99) == naive_missing(plain, below)
    assert again.missing(limit=2) == naive_missing(plain, None)[:2]


def test_b45_one_two_four_names_three() -> None:
    line = Line("T-1", 0, "R01", 0)
    for number in (1, 2, 4):
        line.receive(number, uuid4())
    assert (line.standing().contiguous, line.standing().missing) == (2, ((3, 3),))
    line.receive(3, uuid4())
    assert (line.standing().contiguous, line.standing().missing) == (4, ())


def test_what_was_not_stored_after_all_is_taken_back_by_its_own_report_alone() -> None:
    line = Line("T-1", 0, "R01", 0)
    first, other = uuid4(), uuid4()
    line.receive(1, first)
    line.undo(1, other)
    assert 1 in line.numbers
    line.undo(1, first)
    assert 1 not in line.numbers


@pytest.mark.parametrize(
    ("code", "early"),
    [("LGR-0204", True), ("LGR-0206", True), ("LGR-0607", True), ("LGR-0408", True), ("LGR-0208", False), ("LGR-0412", False)],
)
def test_b24_a_refusal_by_the_round_s_state_is_not_final_while_earlier_reports_are_missing(code: str, early: bool) -> None:
    line = Line("T-1", 0, "R01", 0)
    line.receive(1, UUID(int=1))
    refusal = Refusal(code, "the reason", field="data.spot", value="red")
    found = perhaps_early(report(4), refusal, line)
    if early:
        assert found.code == "LGR-0304"
        assert "events 2 to 3 of terminal T-1, epoch 0" in found.detail
        assert f"{code}, the reason" in found.detail
        assert found.meaning.retryable
    else:
        assert found is refusal
    line.receive(2, UUID(int=2))
    line.receive(3, UUID(int=3))
    assert perhaps_early(report(4), refusal, line) is refusal, "nothing is missing below it"
    assert perhaps_early(report(None), refusal, None) is refusal
