"""Planted defects: what an audit has to find and to name, in a ledger (`ledger`) and in the files beside it.

The interface, which each side has alike:

* `DEFECTS: tuple[Defect, ...]`, each with its `name` (a sentence in snake case), the reason `code` under which it has to be
  found, and `plant(place, rng) -> Where`, which plants it once and says where;
* `base(dsn)`, which makes the clean place that every defect is planted in a copy of;
* `found(place) -> list[Where]`, which runs the command and says what it found: code, and the round, bet or row it names.

A defect is found where `found` has its code at the place that `plant` gave; `Where.stream` and `Where.bet` may be None where the
defect lies in neither. The clean twin is a copy in which nothing was planted: `found` has to be empty there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID


class Where(NamedTuple):
    """A place in a ledger or a file, with what is wrong there."""

    code: str
    stream: UUID | None = None
    """The round, or another stream."""
    bet: UUID | None = None
    row: str | None = None
    """Table and key of a projection's row, or file and line."""


class Defect(NamedTuple):
    """One kind of defect."""

    name: str
    code: str
    plant: Callable[[Any, random.Random], Where]
    """Plants it in a place: of the ledger's side a psycopg connection as the database's owner, or the path of an export."""
    where: str = "database"
    """In what it is planted: `database` or `export`; of the files' side, the kind of file."""
