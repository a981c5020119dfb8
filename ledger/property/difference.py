"""What one configuration says otherwise than another, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ledger.property.model import Property, said

_NAMED_BY = ("id", "chance", "regulation")
"""What names a part within its list, so that an inserted table does not look like a change of all that follow."""


class Change(NamedTuple):
    """One entry that differs: its path (`tables[R01].maximum`), what it was and what it is; None where there is no such entry."""

    entry: str
    was: str | None
    now: str | None


def difference(was: Property | None, now: Property) -> list[Change]:
    """The entries that differ, in the order in which `now` says them, then those that are gone."""
    before = {} if was is None else dict(_entries(said(was)))
    after = dict(_entries(said(now)))
    return [
        Change(entry, before.get(entry), after.get(entry))
        for entry in {**after, **before}
        if before.get(entry) != after.get(entry)
    ]


def _entries(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _entries(each, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for each in value:
            name = next(each[key] for key in _NAMED_BY if key in each)
            yield from _entries(each, f"{path}[{name}]")
    elif isinstance(value, list):
        if value:
            yield path, ", ".join(map(str, value))
    elif value is not None:
        yield path, str(value).lower() if isinstance(value, bool) else str(value)
