"""A client of server-sent events, as the standard has it (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class Block(NamedTuple):
    """What came up to an empty line."""

    event: str
    """`message` where it names none."""
    id: str | None
    data: str
    """Empty in a block that only moves the id on, or is a comment."""

    @property
    def json(self) -> Any:
        return json.loads(self.data)


def blocks(lines: Iterable[str]) -> Iterator[Block]:
    """The stream's blocks, comments included."""
    fields: list[tuple[str, str]] = []
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields.append((name, value.removeprefix(" ")))
            continue
        named = dict(fields)
        yield Block(named.get("event", "message"), named.get("id"), "\n".join(value for name, value in fields if name == "data"))
        fields = []
