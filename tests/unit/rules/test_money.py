"""Amounts are exact or refused."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import Refusal
from ledger.money import CURRENCIES, LARGEST, floor_to, format_plain, minor_digits, parse_minor, parse_plain

NOT_MINOR: list[Any] = [
    float("nan"), float("inf"), 1e999, True, False, None, 100, 100.0, Decimal(100), b"100", ["100"],
    "", " ", "0", "00", "-100", "+100", "-0", "01", "0100", " 100", "100 ", "1 000", "1_000", "1,000", "100.0", "0.001",
    "1E3", "1e3", "1e999", "NaN", "nan", "Infinity", "inf", "null", "true", "0x10", "１００", "٣", "百", "1\n", "1\x00",
    str(LARGEST + 1), "9" * 30, "9" * 100_000,
]  # fmt: skip

NOT_PLAIN: list[Any] = [
    *(value for value in NOT_MINOR if value not in ("100.0", "9" * 30, str(LARGEST + 1))),
    "0.00", "-0.00", "-1.00", "+1.00", ".5", "5.", "1.001", "100.000", "1.0e2", "1,5", "1.５", "1..0", "1.0.0", "00.5",
    "10000000000000.01",
]  # fmt: skip


def shown(value: object) -> str:
    return repr(value)[:24]


@pytest.mark.parametrize(
    ("text", "minor"), [("1", 1), ("100", 100), ("10000", 10000), ("350000000000", 350000000000), (str(LARGEST), LARGEST)]
)
def test_minor_units_are_read_from_strings_of_digits(text: str, minor: int) -> None:
    assert parse_minor(text) == minor


@pytest.mark.parametrize("value", NOT_MINOR, ids=shown)
def test_what_is_not_a_string_of_digits_is_refused_with_its_field(value: Any) -> None:
    """B10, B15, B16, B17."""
    with pytest.raises(Refusal) as refused:
        parse_minor(value, field="stake")
    assert refused.value.code == "LGR-0104"
    assert refused.value.field == "stake"
    assert refused.value.value is not None
    assert len(refused.value.render()) < 1000


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("2557.68", 255768),
        ("0.29", 29),
        ("1.15", 115),
        ("4.35", 435),
        ("100", 10000),
        ("100.5", 10050),
        ("0.01", 1),
        ("10000000000000", LARGEST),
    ],
)
def test_plain_decimals_are_read_exactly(text: str, minor: int) -> None:
    """B10."""
    assert parse_plain(text, "MOP") == minor


@pytest.mark.parametrize("value", NOT_PLAIN, ids=shown)
def test_what_is_not_a_plain_decimal_is_refused_with_its_field(value: Any) -> None:
    """B10, B15, B16, B17."""
    with pytest.raises(Refusal) as refused:
        parse_plain(value, "MOP", field="amount")
    assert refused.value.code == "LGR-0104"
    assert refused.value.field == "amount"


def test_a_currency_without_decimals_takes_none() -> None:
    assert parse_plain("100", "JPY") == 100
    with pytest.raises(Refusal, match="JPY has 0 decimals"):
        parse_plain("100.0", "JPY")


def test_iso_4217_currencies_and_the_decimals_of_their_minor_units() -> None:
    assert {
        **dict.fromkeys(["MOP", "HKD", "CNY", "USD", "EUR", "GBP", "AUD", "SGD", "TWD", "PHP", "THB", "MYR"], 2),
        **dict.fromkeys(["JPY", "KRW", "VND"], 0),
    } == CURRENCIES
    assert [minor_digits(currency) for currency in ("MOP", "VND")] == [2, 0]


@pytest.mark.parametrize("currency", ["mop", "XXX", "", "MOP ", None, 2, ["MOP"]])
def test_an_unknown_currency_is_refused(currency: Any) -> None:
    with pytest.raises(Refusal) as refused:
        minor_digits(currency)
    assert refused.value.code == "LGR-0105"


def test_signed_amounts_are_read_where_asked_for() -> None:
    assert parse_plain("-1.50", "MOP", positive=False) == -150
    assert parse_plain("0.00", "MOP", positive=False) == 0
    with pytest.raises(Refusal, match="zero has no sign"):
        parse_plain("-0.00", "MOP", positive=False)
    with pytest.raises(Refusal, match="the largest that is read"):
        parse_plain("-10000000000000.01", "MOP", positive=False)


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (10000, "MOP", "100.00"),
        (5, "MOP", "0.05"),
        (-5, "MOP", "-0.05"),
        (0, "MOP", "0.00"),
        (-350000, "HKD", "-3500.00"),
        (1000, "JPY", "1000"),
        (-7, "KRW", "-7"),
    ],
)
def test_amounts_print_in_fixed_point(minor: int, currency: str, text: str) -> None:
    assert format_plain(minor, currency) == text


def test_large_amounts_neither_round_nor_lose_zeros() -> None:
    """B13, B14, B15."""
    assert format_plain(9007199254740993, "MOP") == "90071992547409.93"
    assert format_plain(1000000000000000, "MOP") == "10000000000000.00"
    assert json.dumps(str(parse_minor("1000000000000000"))) == '"1000000000000000"'
    assert parse_minor("100000000") * 35 == 3_500_000_000


@given(st.integers(-LARGEST, LARGEST), st.sampled_from(sorted(CURRENCIES)))
def test_printing_and_reading_are_inverse(minor: int, currency: str) -> None:
    """B10, B15."""
    assert parse_plain(format_plain(minor, currency), currency, positive=False) == minor


@given(st.text())
def test_any_text_is_an_amount_above_zero_or_refused(text: str) -> None:
    assert _minor(text) > 0
    assert _plain(text) > 0


def _minor(text: str) -> int:
    try:
        return parse_minor(text)
    except Refusal:
        return 1


def _plain(text: str) -> int:
    try:
        return parse_plain(text, "MOP")
    except Refusal:
        return 1


@given(st.fractions(min_value=0, max_value=10**9), st.integers(1, 10**4))
def test_the_floor_is_the_largest_multiple_not_above(exact: Fraction, unit: int) -> None:
    floored = floor_to(exact, unit)
    assert floored % unit == 0
    assert floored <= exact < floored + unit


@pytest.mark.parametrize("unit", [0, -1, True, 1.5, 1.0, float("nan"), "1", None, Fraction(1)])
def test_a_unit_that_is_no_whole_number_of_minor_units_is_a_fault_of_the_program(unit: Any) -> None:
    with pytest.raises(ValueError, match="a unit is a whole number of minor units, at least 1"):
        floor_to(Fraction(1), unit)
