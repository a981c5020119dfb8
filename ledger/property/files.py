"""Configurations as text: TOML as a person writes it, and the canonical content as the log holds it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from ledger.errors import Refusal
from ledger.property.check import verify
from ledger.property.model import ChanceLimits, Choice, OptIn, Person, Pit, Property, Table, said

_PARTS = (Property, Pit, Table, ChanceLimits, Person, OptIn, Choice)
_FIELDS = sorted({field.name for part in _PARTS for field in msgspec.structs.fields(part)})
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")


def read(path: Path) -> Property:
    """The property configured by the TOML file at `path`.

    Raises Refusal LGR-0604 naming the file and the entry that is wrong.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal("LGR-0604", f"the configuration cannot be read: {error}", field=str(path)) from error
    try:
        found = msgspec.toml.decode(text, type=Property)
    except (msgspec.DecodeError, ValueError) as error:  # ValueError: a number of thousands of digits
        raise Refusal("LGR-0604", f"{error}", field=str(path), help=_advice(str(error))) from error
    except RecursionError:
        raise Refusal("LGR-0604", "the configuration is nested deeper than any entry is", field=str(path)) from None
    try:
        verify(found)
    except Refusal as refusal:
        raise Refusal(
            refusal.code, refusal.detail, field=f"{path}: {refusal.field}", value=refusal.value, help=refusal.help
        ) from refusal
    return found


def from_content(text: str) -> Property:
    """The property whose canonical content is `text`, as it stands in the log."""
    return msgspec.json.decode(text, type=Property)


def to_toml(config: Property) -> str:
    """The configuration as a file says it; `read` gives the same one back."""
    return "\n".join(_lines(said(config), ())) + "\n"


def _lines(part: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """The entries of a part, then its parts in turn: TOML counts what follows a header to that part."""
    parts = {name: value for name, value in part.items() if isinstance(value, list) and value and isinstance(value[0], dict)}
    for name, value in part.items():
        if name not in parts and value not in (None, []):
            yield f"{name} = {_value(value)}"
    for name, rows in parts.items():
        for row in rows:
            yield ""
            yield f"[[{'.'.join((*path, name))}]]"
            yield from _lines(row, (*path, name))


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    # A text of one line is written in TOML as in JSON, and so are true, false and whole numbers.
    return json.dumps(value, ensure_ascii=False)


def _advice(error: str) -> str:
    unknown = _UNKNOWN.search(error)
    near = get_close_matches(unknown[1], _FIELDS, 1) if unknown else []
    return f"did you mean `{near[0]}`?" if near else "`roundledger property example` prints a valid one"
