"""The benchmark of the rules finds a settlement that is wrong; its figures are another matter."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ledger.rules import Resolution, settle
from tests.benchmarks import bench_rules


def found(bets: int = 400) -> list[str]:
    wrong: list[str] = []
    bench_rules._verify(bench_rules._rounds(random.Random(1), bets), wrong)
    return wrong


def test_what_is_settled_is_what_the_naive_loop_pays_and_a_round_appends() -> None:
    assert found() == []


@pytest.mark.parametrize("spoilt", ["prize", "commission", "net_prize"])
def test_an_amount_that_is_off_by_one_is_found(spoilt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def off_by_one(*arguments: Any, **options: Any) -> list[Resolution]:
        return [
            each._replace(**{spoilt: getattr(each, spoilt) + 1}) if each.result == "won" else each
            for each in settle(*arguments, **options)
        ]

    monkeypatch.setattr(bench_rules, "settle", off_by_one)
    assert found()


def test_an_order_that_is_not_the_rounds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_rules, "settle", lambda *arguments, **options: settle(*arguments, **options)[::-1])
    assert found()


@pytest.mark.parametrize(
    ("rate", "growth", "seconds", "wrong", "code"),
    [
        (2e6, 1.0, 0.02, [], 0),
        (1e6, 1.2, 0.03, [], 0),
        (0.9e6, 1.0, 0.02, [], 1),
        (2e6, 1.3, 0.02, [], 1),
        (2e6, 1.0, 0.04, [], 1),
        (2e6, 1.0, 0.02, ["an amount"], 1),
    ],
)
def test_only_bars_that_hold_and_figures_that_are_right_end_in_0(
    rate: float, growth: float, seconds: float, wrong: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench_rules._conclude(rate, 0.2, growth, seconds, wrong, check=True) == code
    assert bench_rules._conclude(rate, 0.2, growth, seconds, wrong, check=False) == (1 if wrong else 0)
    assert capsys.readouterr().out.splitlines()[-1].startswith("rules: ")
