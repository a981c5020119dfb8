"""The rate: by name where it is proved, by address where not; for everybody, in bounded memory."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.api.rate import BURST_SECONDS, Rate, address


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


def test_a_burst_is_let_through_and_what_comes_after_it_waits() -> None:
    clock = Clock()
    rate = Rate(10, now=clock)
    assert [rate.wait("T-R01") for _ in range(20)] == [0.0] * 20
    assert rate.wait("T-R01") == pytest.approx(0.1)
    assert rate.wait("T-R02") == 0.0
    clock.time += 0.1
    assert rate.wait("T-R01") == 0.0
    assert rate.wait("T-R01") > 0


def test_who_waits_as_long_as_told_is_served() -> None:
    clock = Clock()
    rate = Rate(3, now=clock)
    while not (seconds := rate.wait("T-R01")):
        pass
    clock.time += seconds
    assert rate.wait("T-R01") == 0.0


@given(gaps=st.lists(st.floats(0, 1), min_size=1, max_size=300), per_second=st.sampled_from([0.2, 1.0, 7.0, 500.0]))
def test_nobody_is_served_more_than_the_rate_and_the_burst(gaps: list[float], per_second: float) -> None:
    clock = Clock()
    rate = Rate(per_second, now=clock)
    served = 0
    for gap in gaps:
        clock.time += gap
        served += rate.wait("anybody") == 0.0
    assert served >= 1
    assert served <= max(1.0, per_second * BURST_SECONDS) + per_second * (clock.time - 1000) + 1e-6


def test_so_many_are_known_at_once_and_the_one_who_asked_longest_ago_is_forgotten() -> None:
    rate = Rate(1, known=3, now=Clock())
    for n in range(1000):
        assert rate.wait(f"address {n}") == 0.0
    assert len(rate) == 3


@pytest.mark.parametrize(
    ("client", "known_as"),
    [
        (("127.0.0.1", 1), "address 127.0.0.1"),
        (("2001:db8::1:2:3:4", 1), "address 2001:db8::/64"),
        (("2001:db8::9", 1), "address 2001:db8::/64"),
        (("testclient", 1), "address testclient"),
        (None, "address "),
    ],
)
def test_of_an_address_the_network_counts(client: Any, known_as: str) -> None:
    assert address({"type": "http", "client": client}) == known_as
