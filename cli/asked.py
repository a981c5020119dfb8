"""Which rounds of the log, and up to which moment, a command is asked about. What names nothing is refused, with what is near."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ledger.errors import Refusal

if TYPE_CHECKING:
    import psycopg

    from ledger.audit.from_export import ExportSource


def until(text: str | None, field: str = "--until") -> int | datetime | None:
    """A position or a time, as it was typed. Refuses LGR-0108."""
    from projections.moments import moment

    return None if text is None else moment(text, datetime.now(UTC), field)


def until_in(conn: psycopg.Connection[Any], text: str | None, field: str = "--until") -> int | datetime | None:
    """The same, of a log that has come so far. Refuses LGR-0108 a position beyond its end."""
    from ledger.store import log
    from projections.moments import verify_in_log

    found = until(text, field)
    if isinstance(found, int):
        verify_in_log(found, log.last(conn), field)
    return found


def round_in(conn: psycopg.Connection[Any], text: str | None) -> UUID | None:
    """The round with this id, or whose id begins so. Refuses LGR-0701 and LGR-0702.

    A whole id is taken as it is: a round may be in the live tables though the log has none, and that is to be found.
    """
    from cli.ids import find_round, whole

    return None if text is None else whole(text) or find_round(conn, text)


def round_of_export(file: Path, text: str | None) -> UUID | None:
    """The same, of an export."""
    from cli.ids import among, whole

    if text is None:
        return None
    return whole(text) or among(text, "round", [stream for stream, _ in _export(file).openings()])


def verify_table(dsn: str, conn: psycopg.Connection[Any], table: str | None) -> None:
    """Raises Refusal LGR-0602, with what is near, for a table that no property has and at which nothing was played."""
    from cli.session import known_tables
    from ledger.store import log

    if table is None or table in (known := known_tables(dsn, conn)):
        return
    if not log.has_round_at(conn, table):  # the live tables may have lost it, and that is to be found
        raise unknown_table(table, known)


def verify_table_of_export(file: Path, table: str | None) -> None:
    """The same, of an export."""
    if table is not None and table not in (known := {each for _, each in _export(file).openings()}):
        raise unknown_table(table, known)


def unknown_table(table: str, known: Iterable[str]) -> Refusal:
    """What is said of a table that is none, and of those that are near. LGR-0602."""
    from cli.near import did_you_mean

    there = sorted(known)
    near = did_you_mean(table, there)
    return Refusal(
        "LGR-0602",
        "no table of this id is known",
        field="--table",
        value=table,
        help=f"{f'{near} ' if near else ''}tables: {', '.join(there) or 'none'}",
    )


def _export(file: Path) -> ExportSource:
    from ledger.audit.from_export import ExportSource

    return ExportSource(file)
