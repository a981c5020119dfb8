"""Money: whole minor units of a declared currency, and the one rounding.

An amount is an `int` of minor units (MOP 100.00 is 10000); the currency always stands beside it, never inside it. Exact figures
are `Fraction`s. No float comes near: what cannot be read exactly is refused, by name of the field it stood in.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from ledger.errors import Refusal

MinorUnits: TypeAlias = int
"""A whole number of a currency's smallest unit (avos, cents, yen)."""

CURRENCIES: dict[str, int] = {
    "MOP": 2,
    "HKD": 2,
    "CNY": 2,
    "USD": 2,
    "EUR": 2,
    "GBP": 2,
    "AUD": 2,
    "SGD": 2,
    "TWD": 2,
    "PHP": 2,
    "THB": 2,
    "MYR": 2,
    "JPY": 0,
    "KRW": 0,
    "VND": 0,
}
"""Currencies (ISO 4217) and the decimal digits of their minor unit."""

LARGEST: MinorUnits = 10**15
"""The largest single amount that is read: far above any stake, far below what a 64-bit column or a sum of amounts holds."""

# [0-9], never \d: full-width and other digits would pass as well, and int() would read them.
_PLAIN = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?")

_EXAMPLE_MINOR = 'digits in quotes, with no sign, point, space, exponent or leading zero: "10000" is 100.00'

# Beyond this no amount is meant; it keeps int() away from megabytes of digits.
_LONGEST = 40


def minor_digits(currency: Any, *, field: str = "currency") -> int:
    """The decimal digits of a currency's minor unit (MOP 2, JPY 0). Refuses an unknown currency (LGR-0105)."""
    if isinstance(currency, str) and currency in CURRENCIES:
        return CURRENCIES[currency]
    raise Refusal(
        "LGR-0105",
        "this currency is not known here",
        field=field,
        value=currency,
        help=f"write one of {', '.join(CURRENCIES)}, in capitals",
    )


def parse_minor(text: Any, *, field: str = "amount") -> MinorUnits:
    """Read an amount of minor units as events and the API carry it: a string of ASCII digits, from "1" to 10**15.

    Refuses (LGR-0104) all else: numbers that are not strings, signs, spaces, leading zeros, exponents, "1_000", digits that are
    not ASCII.
    """
    if type(text) is str and (amount := _minor(text)):
        return amount
    if not isinstance(text, str):
        raise _refused(
            field,
            text,
            f"an amount is a string of digits, not {_kind(text)}",
            _EXAMPLE_MINOR,
        )
    if not _is_whole(text):
        raise _refused(
            field,
            text,
            "this is not a whole, positive number of minor units",
            _EXAMPLE_MINOR,
        )
    return _bounded(int(text), field, text)


@lru_cache(maxsize=4096)  # every stake is read at the door and by the round, and most are one of a few
def _minor(text: str) -> MinorUnits:
    """The amount that `parse_minor` reads from a text; 0 where it refuses."""
    return int(text) if _is_whole(text) and int(text) <= LARGEST else 0


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST and not text.startswith("0")


def parse_plain(text: Any, currency: str, *, field: str = "amount", positive: bool = True) -> MinorUnits:
    """Read a plain decimal of a file or the command line ("100", "100.5", "100.00") as minor units of `currency`, exactly.

    With `positive=False` zero and negative amounts (a leading "-") are read as well. Refuses (LGR-0104) exponents, other signs,
    spaces, grouping, leading zeros, digits that are not ASCII, and more decimals than the currency has.
    """
    digits = minor_digits(currency)
    if not isinstance(text, str):
        raise _refused(field, text, f"an amount is read from its text, not from {_kind(text)}", "write it as plain text: 100.00")
    match = _PLAIN.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise _refused(
            field,
            text,
            "this is not a plain decimal amount",
            _example_plain(currency),
        )
    sign, whole, fraction = match[1], match[2], match[3] or ""
    if len(fraction) > digits:
        raise _refused(
            field,
            text,
            f"{currency} has {digits} decimals, this amount has {len(fraction)}",
            _example_plain(currency),
        )
    minor = int(whole + fraction.ljust(digits, "0"))
    if positive and (sign or minor == 0):
        raise _refused(field, text, "the amount must be greater than zero", None)
    if sign and minor == 0:
        raise _refused(field, text, "zero has no sign", None)
    if minor == 0:
        return 0
    return -_bounded(minor, field, text) if sign else _bounded(minor, field, text)


def format_plain(minor: MinorUnits, currency: str) -> str:
    """Minor units as a plain decimal, always fixed point: 10000 of MOP is "100.00", -5 is "-0.05"."""
    digits = minor_digits(currency)
    sign = "-" if minor < 0 else ""
    text = str(abs(minor)).rjust(digits + 1, "0")
    return f"{sign}{text[:-digits]}.{text[-digits:]}" if digits else sign + text


def verify_unit(unit: Any) -> None:
    """Raises ValueError for a unit to floor to that is no whole number of minor units, at least 1: a float would spread."""
    if type(unit) is not int or unit < 1:
        raise ValueError(f"a unit is a whole number of minor units, at least 1, not {unit!r}")


def floor_to(exact: Fraction, unit: MinorUnits) -> MinorUnits:
    """The largest multiple of `unit` that is not above `exact` (both in minor units): the one rounding there is."""
    verify_unit(unit)
    return exact.numerator // (exact.denominator * unit) * unit


def _bounded(minor: int, field: str, text: str) -> int:
    if minor > LARGEST:
        raise _refused(
            field,
            text,
            f"the amount is above {LARGEST} minor units, the largest that is read",
            "check the unit: minor units or whole ones?",
        )
    return minor


def _example_plain(currency: str) -> str:
    return f"write it like {format_plain(123450, currency)}: no sign, space, grouping or exponent"


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return "a bare number" if isinstance(value, int | float) else f"a {type(value).__name__}"


def _refused(field: str, value: object, detail: str, help: str | None) -> Refusal:
    return Refusal("LGR-0104", detail, field=field, value="null" if value is None else value, help=help)
