"""What a report is: a heading, typed columns, rows in a fixed order, subtotals and totals per currency, and notes.

One report, many writers: every value of a row is already what every form shows, so that the figures are the same in all of them.
Amounts are `Decimal`s with the decimals of the currency that stands in the row; nothing is ever added across currencies.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, Literal, NamedTuple

from ledger.money import minor_digits

Kind = Literal["text", "id", "count", "position", "amount", "exact", "percent", "number", "probability", "time", "date", "flag"]
"""What a column's cells hold.

text      words; null where there is nothing to say.
id        a reference that no reader may bend: uuid, player, terminal.
count     a whole number. position: a place in the log.
amount    Decimal with the decimals of the row's currency.
exact     a fraction as text, such as 1/37, or of money in minor units.
percent   Decimal with two decimals; null where there is nothing to divide by.
number    Decimal with two decimals that is no money. probability: Decimal with six, from 0 to 1.
time      an instant, UTC. date: a day of the calendar. flag: true or false.
"""

Row = tuple[Any, ...]
"""One value a column, in their order."""

Derive = Callable[[Mapping[str, Any]], Any]
"""A value that follows from others of the row (or of the totals), by their keys."""

NOTHING = "No activity"
"""What a report says instead of being empty."""

EXACT = Context(prec=100)
"""Sums are exact: Python's own context would round after 28 digits."""

_CENT = Decimal("0.01")


class Column(NamedTuple):
    """One column. `said` says in a few words what it holds, where the title does not."""

    key: str
    title: str
    kind: Kind = "text"
    sums: bool = False
    """Whether subtotals and totals have it, where one of their rows does."""
    whole: Sequence[str] = ()
    """Keys of columns, of which one has to have a value in every row: else the total would be of fewer rows than those beside it,
    and what the legend says of a line would not hold for it."""
    source: str = ""
    """The view's column or an expression over it, where it is not the key."""
    derive: Derive | None = None
    """How it follows from the others, where it is not read."""
    hidden: bool = False
    """Whether it is only there to derive others from."""
    below: int = 0
    """Where a terminal is too narrow, the columns with the highest number go below their row first; those with 0 never."""
    if_any: bool = False
    """Whether a table shows it only where one of its cells holds something."""
    drawn: bool = True
    """Whether a table shows it."""


class Total(NamedTuple):
    """Sums over rows of one currency: all of them, or those that share the values of `over`."""

    over: tuple[tuple[str, str], ...]
    """(column title, value) of what the rows share; none for the grand total."""
    currency: str | None
    rows: int
    values: Row
    """As of a row; None where a column has no total."""


class Amounts(dict[str, str]):
    """Currency → minor units as text, among a report's facts: JSON has them so, every other form in words."""

    def __init__(self, minor: Mapping[str, int], words: str) -> None:
        super().__init__({code: str(minor[code]) for code in sorted(minor)})
        self._words = words

    def __str__(self) -> str:
        return self._words


class Beside(NamedTuple):
    """A small table that stands before the rows, where a form has a place for it: JSON, XLSX and HTML do."""

    name: str
    title: str
    keys: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    """Each with some of the keys; amounts are Decimals of the row's `currency`."""


@dataclass
class Report:
    """A report, ready to be written: read the rows, then the totals."""

    name: str
    title: str
    facts: Mapping[str, Any]
    """What the heading says, by name: property, period, filters, as of which position, when and by which software."""
    columns: Sequence[Column]
    """All of them, hidden ones too."""
    found: Iterable[Row]
    """What was read, one value for each column that is not derived. A list, or something that can be read once."""
    notes: Sequence[str] = ()
    later: Sequence[str] = ()
    """Notes that are complete once the rows were read."""
    legend: str = ""
    """What a reader has to know of its figures."""
    subtotal_by: Sequence[str] = ()
    """Keys of the columns whose common values have a subtotal."""
    beside: Sequence[Beside] = ()
    reading: Any = None
    """What it was made of; a plot may ask for more than rows."""
    copied: Callable[[], Generator[bytes, None, None]] | None = None
    """The rows as the server's own CSV, instead of those `found`: for whoever makes no value of a row in between. None where rows
    are not as they were read."""
    signed: Sequence[str] = ()
    """Who signs it on paper."""
    subtotals: list[Total] = field(default_factory=list)
    """Complete once the rows were read."""
    totals: list[Total] = field(default_factory=list)
    """One a currency, in order; complete once the rows were read."""
    count: int = 0
    """Of the rows read."""

    @property
    def shown(self) -> list[Column]:
        """The columns of a row as it is written."""
        return [column for column in self.columns if not column.hidden]

    def rows(self) -> Iterator[Row]:
        """The rows as they are written; counts the totals meanwhile."""
        columns = self.columns
        with self.counting() as count:
            for found in self.found:
                values = found if self.as_read else self._derived(found)
                count(values, 1)
                yield values if self.as_read else tuple(v for v, column in zip(values, columns, strict=True) if not column.hidden)

    @contextmanager
    def counting(self) -> Iterator[Callable[[Row, int], None]]:
        """Takes rows, or sums of so many rows that share what has subtotals, and has the totals at its end."""
        tally = _Tally(self)
        self.count, self.subtotals, self.totals = 0, [], []

        def count(values: Row, rows: int) -> None:
            self.count += rows
            tally.add(values, rows)

        yield count
        self.subtotals, self.totals = tally.subtotals(), tally.totals()

    @cached_property
    def as_read(self) -> bool:
        """Whether a row is written as it was read: nothing of it is derived or hidden."""
        return all(column.derive is None and not column.hidden for column in self.columns)

    @property
    def apart(self) -> list[str]:
        """Keys of the columns whose values sums are kept apart by: the currency and those that have subtotals."""
        return ["currency"] * any(column.key == "currency" for column in self.columns) + list(self.subtotal_by)

    def _derived(self, found: Row) -> Row:
        values = iter(found)
        known = {column.key: next(values) for column in self.columns if column.derive is None}
        for column in self.columns:
            if column.derive is not None:
                known[column.key] = column.derive(known)
        return tuple(known[column.key] for column in self.columns)


class _Tally:
    """The sums of the rows so far, by what they share."""

    def __init__(self, report: Report) -> None:
        self._columns = report.columns
        keys = [column.key for column in report.columns]
        self._currency = keys.index("currency") if "currency" in keys else None
        self._over = [keys.index(key) for key in report.subtotal_by]
        self._summed = [n for n, column in enumerate(report.columns) if column.sums]
        self._needed = [(key, keys.index(key)) for key in {key for column in report.columns for key in column.whole}]
        self._sums: dict[tuple[Any, str | None], list[Any]] = {}
        self._lacking: dict[tuple[Any, str | None], set[str]] = {}
        """Keys of columns that a row of them has not, of those that a total needs whole."""

    def add(self, values: Row, rows: int) -> None:
        if not self._summed:
            return
        currency = None if self._currency is None else values[self._currency]
        for key in ((), tuple(values[n] for n in self._over)) if self._over else ((),):
            sums = self._sums.get((key, currency))
            if sums is None:
                sums = self._sums[key, currency] = [0] + [None] * len(self._summed)
                self._lacking[key, currency] = set()
            sums[0] += rows
            for at, n in enumerate(self._summed, 1):
                value, before = values[n], sums[at]
                if value is not None:
                    sums[at] = (
                        value if before is None else EXACT.add(before, value) if isinstance(value, Decimal) else before + value
                    )
            self._lacking[key, currency].update(name for name, n in self._needed if values[n] is None)

    def subtotals(self) -> list[Total]:
        return self._told(lambda key: bool(key))

    def totals(self) -> list[Total]:
        return self._told(lambda key: not key)

    def _told(self, wanted: Callable[[tuple[Any, ...]], bool]) -> list[Total]:
        found = [(key, currency) for key, currency in self._sums if wanted(key)]
        found.sort(key=lambda each: ([_sortable(value) for value in each[0]], each[1] or ""))
        return [self._total(key, currency) for key, currency in found]

    def _total(self, key: tuple[Any, ...], currency: str | None) -> Total:
        rows, *sums = self._sums[key, currency]
        lacking = self._lacking[key, currency]
        known: dict[str, Any] = dict.fromkeys(column.key for column in self._columns)
        known["currency"] = currency
        for n, value in zip(self._summed, sums, strict=True):
            column = self._columns[n]
            if value is None or (column.whole and lacking.issuperset(column.whole)):
                continue
            is_amount = column.kind == "amount" and currency is not None
            known[column.key] = amount(0, currency or "") if is_amount and value == 0 else value
        for column in self._columns:
            if column.derive is not None and not column.sums:
                known[column.key] = column.derive(known)
        over = tuple((self._columns[n].title, _words(value)) for n, value in zip(self._over, key, strict=False))
        return Total(over, currency, rows, tuple(known[column.key] for column in self._columns if not column.hidden))


def _sortable(value: Any) -> tuple[bool, str]:
    return value is None, "" if value is None else _words(value)


def _words(value: Any) -> str:
    return "none" if value is None else str(value)


# Values.


def amount(minor: int, currency: str) -> Decimal:
    """Minor units as a decimal of their currency, exactly."""
    return Decimal(minor).scaleb(-minor_digits(currency), EXACT)


def minor(value: Decimal, currency: str) -> int:
    """The minor units of an amount."""
    return int(value.scaleb(minor_digits(currency), EXACT))


def rounded(exact: Fraction, currency: str) -> Decimal:
    """An exact amount of minor units, rounded half to even to whole ones, as a decimal."""
    return amount(round(exact), currency)


def percent(part: Any, whole: Any) -> Decimal | None:
    """`part` in percent of `whole`, two decimals, half to even; None where there is nothing to divide by."""
    if part is None or not whole:
        return None
    return two_decimals(Fraction(part) * 100 / Fraction(whole))


def two_decimals(value: Fraction) -> Decimal:
    """Rounded half to even to two decimals."""
    return Decimal(round(value * 100)).scaleb(-2, EXACT)


def root(square: Fraction) -> Fraction:
    """The square root to twelve decimals, rounded down: whoever prints it rounds once more."""
    scale = 10**12
    return Fraction(isqrt(int(square * scale * scale)), scale)


def ratio(part: str, whole: str) -> Derive:
    """A percentage of two columns."""
    return lambda row: percent(row[part], row[whole])


# Text of values.


def plain(value: Any) -> str:
    """A value as people, CSV and pages have it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value)


def machine(value: Any, kind: Kind, currency: str | None) -> Any:
    """A value as JSON carries it: amounts as text of minor units, positions and decimals as text."""
    if value is None or kind in ("text", "count", "flag"):
        return value
    if kind == "amount":
        assert currency is not None, "an amount without its currency is no amount"
        return str(minor(value, currency))
    return plain(value)
