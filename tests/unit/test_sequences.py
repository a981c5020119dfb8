"""The numbers that were received of a terminal: spans that say the same as a plain set would."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import CODES, Refusal
from ledger.reports import CloseBetting, Report
from ledger.sequences import Before, Line, Numbers, weighed


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


def before(missing: list[tuple[int, int]] | None = None, *, behind: bool = False, others: bool = False) -> Before:
    return Before("T-1", 0, missing or [], behind, others)


@pytest.mark.parametrize(
    ("code", "early"),
    [("LGR-0204", True), ("LGR-0206", True), ("LGR-0607", True), ("LGR-0408", True), ("LGR-0208", False), ("LGR-0412", False)],
)
def test_b24_a_refusal_by_the_round_s_state_is_not_final_while_earlier_reports_are_missing(code: str, early: bool) -> None:
    refusal = Refusal(code, "the reason", field="data.spot", value="red")
    found = weighed(report(4), refusal, before([(2, 3)]))
    waits = weighed(report(4), refusal, before(behind=True))
    if early:
        assert found.code == waits.code == "LGR-0304"
        assert "events 2 to 3 of terminal T-1, epoch 0" in found.detail
        assert "an earlier epoch of terminal T-1" in waits.detail
        assert f"{code}, the reason" in found.detail
        assert found.retryable
    else:
        assert found is waits is refusal
    assert weighed(report(4), refusal, before()) is refusal, "nothing is missing below it"
    assert weighed(report(None), refusal, before([(2, 3)])) is refusal


EARLY = sorted(code for code, meaning in CODES.items() if meaning.early)


@pytest.mark.parametrize("code", EARLY)
def test_what_was_refused_only_because_something_might_be_under_way_is_refused_for_good_where_nothing_is(code: str) -> None:
    def final(number: int | None, known: Before) -> bool:
        refusal = weighed(report(number), Refusal(code, "the reason"), known)
        assert refusal.code == code
        assert refusal.retryable is not refusal.final
        return refusal.final

    assert final(4, before())
    assert not final(4, before([(2, 3)]))
    assert not final(4, before(behind=True)), "its number says nothing of an earlier epoch"
    assert not final(4, Before("T-1", 0, None, behind=False, others=False)), "nothing is known of the epoch"
    assert not final(None, before())
    assert not final(4, before(others=True)), "what is not there may be another terminal's"


@pytest.mark.parametrize("code", ["LGR-0201", "LGR-0211", "LGR-0215", "LGR-0226", "LGR-0240", "LGR-0501", "LGR-0521", "LGR-0804"])
def test_what_passes_by_itself_stays_worth_sending_again(code: str) -> None:
    assert weighed(report(4), Refusal(code, "the reason"), before()).retryable
