"""The sheet of a benchmark: medians are held to their bars, and nothing wrong passes for a figure."""

from __future__ import annotations

import pytest

from tests.benchmarks.sheet import Row, Sheet, asked


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (Row("a", [0.5, 0.9, 0.7], 0.6, 0.8), "must"),
        (Row("a", [0.5, 0.9, 0.9], 0.6, 0.8), "aim"),
        (Row("a", [0.5, 0.59, 0.9], 0.6, 0.8), "MISSED"),
        (Row("a", [0.6], 0.6), "must"),
        (Row("a", [650.0], 650, 580, at_most=True), "must"),
        (Row("a", [580.0], 650, 580, at_most=True), "aim"),
        (Row("a", [650.1], 650, 580, at_most=True), "MISSED"),
        (Row("a", [0.1]), ""),
    ],
)
def test_the_median_is_held_to_the_bars(row: Row, verdict: str) -> None:
    assert row.verdict == verdict


@pytest.mark.parametrize(
    ("row", "wrong", "check", "code"),
    [
        (Row("a", [1.0], 0.5), [], True, 0),
        (Row("a", [0.1], 0.5), [], True, 1),
        (Row("a", [0.1], 0.5), [], False, 0),
        (Row("a", [1.0], 0.5), ["an event was missed"], False, 1),
    ],
)
def test_a_missed_must_fails_a_check_and_a_wrong_result_fails_any_run(
    row: Row, wrong: list[str], check: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = Sheet()
    sheet.add(row)
    sheet.wrong += wrong
    sheet.show()
    assert sheet.conclude(check=check) == code
    printed = capsys.readouterr().out
    assert ("WRONG" in printed) == bool(wrong)
    assert ("MISSED: a" in printed) == (check and row.missed)


def test_the_short_form_is_only_shorter() -> None:
    short, whole = asked("append", None, ["single"], ["--short"]), asked("append", None, ["single"], [])
    assert whole.rounds >= 4
    assert short.seconds < whole.seconds
    assert asked("append", None, ["single"], ["--rounds", "7", "--seconds", "3"]).rounds == 7


def test_rows_that_are_not_there_are_not_measured_as_none() -> None:
    assert asked("append", "What it is.", ["single", "door"], ["--only", "doo"]).only == "doo"
    with pytest.raises(SystemExit) as raised:
        asked("append", "What it is.", ["single", "door"], ["--only", "single,door"])
    assert raised.value.code == 2
