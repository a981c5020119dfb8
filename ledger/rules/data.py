"""Reading a regulation's data strictly: every key is asked for, none is left over, and a fault knows where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Where something stands in the data: ("chance", 3, "odds") is the odds of the fourth [[chance]]."""

_FRACTION = re.compile(r"(0|[1-9][0-9]{0,8})(?:/([1-9][0-9]{0,8}))?")
_RANGE = re.compile(r"(0|[1-9][0-9]?)-([1-9][0-9]?)")
_NUMBER = re.compile(r"0|[1-9][0-9]?")


class DataFault(Exception):
    """What is wrong with a regulation's data, and where."""

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(path, detail)
        self.path = path
        self.detail = detail

    def __str__(self) -> str:
        return f"{spell(self.path)}: {self.detail}" if self.path else self.detail


def spell(path: Path) -> str:
    """A path as people write it: `chance[3].odds`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


class Table:
    """One table of the data, read key by key; `done` refuses the keys that nobody asked for."""

    __slots__ = ("_asked", "_data", "path")

    def __init__(self, data: Any, path: Path = ()) -> None:
        if not isinstance(data, dict):
            raise DataFault(path, f"expected a table, found {_kind(data)}")
        self._data: dict[str, Any] = data
        self._asked: set[str] = set()
        self.path = path

    def has(self, key: str) -> bool:
        return key in self._data

    def keys(self) -> list[str]:
        return list(self._data)

    def raw(self, key: str) -> Any:
        self._asked.add(key)
        if key not in self._data:
            raise DataFault(self.path, f"{key} is missing")
        return self._data[key]

    def text(self, key: str) -> str:
        value = self.raw(key)
        if not isinstance(value, str):
            raise DataFault((*self.path, key), f"expected text in quotes, found {_kind(value)}")
        if not value.strip() or value != value.strip():
            raise DataFault((*self.path, key), "the text is empty or has spaces around it")
        return value

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if self.has(key) else None

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        value = self.text(key)
        if value not in allowed:
            raise DataFault((*self.path, key), f"{value!r} is not one of {', '.join(allowed)}")
        return value

    def flag(self, key: str) -> bool:
        value = self.raw(key)
        if not isinstance(value, bool):
            raise DataFault((*self.path, key), f"expected true or false, found {_kind(value)}")
        return value

    def day(self, key: str) -> date:
        """A date: a TOML date, or the same as text in canonical content."""
        value = self.raw(key)
        try:
            day = date.fromisoformat(value) if isinstance(value, str) else value
        except ValueError:
            raise DataFault((*self.path, key), f"{value!r} is not a date (2003-01-31)") from None
        # A datetime is a date to isinstance; a time of day has no place here.
        if type(day) is not date or (isinstance(value, str) and value != day.isoformat()):
            raise DataFault((*self.path, key), f"expected a date (2003-01-31), found {_kind(value)}")
        return day

    def optional_day(self, key: str) -> date | None:
        return self.day(key) if self.has(key) else None

    def fraction(self, key: str) -> Fraction:
        """A fraction above zero in lowest terms, in quotes: "35", "1/3"."""
        value = self.raw(key)
        if not isinstance(value, str):
            raise DataFault((*self.path, key), f'expected a fraction in quotes ("35", "1/3"), found {_kind(value)}')
        match = _FRACTION.fullmatch(value)
        number = Fraction(int(match[1]), int(match[2] or 1)) if match else Fraction(0)
        if number <= 0 or str(number) != value:
            raise DataFault((*self.path, key), f'{value!r} is not a fraction above zero in lowest terms ("35", "1/3")')
        return number

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(read_text(value, (*self.path, key)) for value in self._array(key))

    def table(self, key: str) -> Table:
        return Table(self.raw(key), (*self.path, key))

    def optional_table(self, key: str) -> Table:
        """The table, or an empty one."""
        return self.table(key) if self.has(key) else Table({}, (*self.path, key))

    def tables(self, key: str) -> Iterator[Table]:
        """The tables of an array of tables; none where the key is missing."""
        if self.has(key):
            for index, value in enumerate(self._array(key)):
                yield Table(value, (*self.path, key, index))

    def texts_by_key(self, key: str) -> dict[str, str]:
        """An inner table of texts (names, reasons), as it stands."""
        inner = self.optional_table(key)
        return {name: inner.text(name) for name in inner.keys()}  # noqa: SIM118 - a Table is not a mapping

    def done(self) -> None:
        """Refuse what is left: an unknown key may be a known one misspelt, and would silently do nothing."""
        for key in self._data:
            if key not in self._asked:
                raise DataFault((*self.path, key), f"{key} is not a key that is known here")

    def _array(self, key: str) -> list[Any]:
        value = self.raw(key)
        if not isinstance(value, list):
            raise DataFault((*self.path, key), f"expected a list, found {_kind(value)}")
        return value


def read_text(value: Any, path: Path) -> str:
    if not isinstance(value, str) or not value.strip() or value != value.strip():
        raise DataFault(path, f"expected text in quotes, found {_kind(value)}")
    return value


def read_numbers(value: Any, path: Path) -> tuple[int, ...]:
    """Numbers as "1-18" or "1, 3, 5": ascending, none twice."""
    text = read_text(value, path)
    if match := _RANGE.fullmatch(text):
        numbers = tuple(range(int(match[1]), int(match[2]) + 1))
    else:
        parts = text.split(", ")
        if not all(_NUMBER.fullmatch(part) for part in parts):
            raise DataFault(path, f'{text!r} is neither a range ("1-18") nor a list ("1, 3, 5")')
        numbers = tuple(int(part) for part in parts)
    if not numbers or list(numbers) != sorted(set(numbers)):
        raise DataFault(path, f"{text!r} does not ascend, or names a number twice")
    return numbers


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a bare number"
    if isinstance(value, list | dict):
        return "a table" if isinstance(value, dict) else "a list"
    return "text" if isinstance(value, str) else f"a {type(value).__name__}"
