"""`roundledger replay`: the whole log folded afresh, compared with the live tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import Form, examples, output_options
from cli.output import counted, emit_json, emit_lines, emit_record, quiet, say
from cli.progress import Progress
from cli.session import database

if TYPE_CHECKING:
    from projections.replay import Comparison


@click.command(
    epilog=examples(
        "roundledger replay",
        "roundledger replay --json | jq .equal",
        "roundledger replay --quiet || echo different",
        codes="0 equal, 1 different (the first difference is named), 2 could not run or nothing to compare.",
    )
)
@output_options
def replay(form: Form) -> int:
    """Fold the log afresh and compare with the live tables.

    The whole log is folded into tables of their own, and every row is compared. Nothing is appended to the log, nothing live is
    written; regulations and properties are read from the log alone. With --quiet nothing is printed where all is equal.
    """
    with database() as dsn:
        found = compare(dsn)
    if form == "json":
        emit_json(document(found))
    elif form == "csv":
        emit_record(record(found), form)
    elif exit_code(found) or not quiet():
        emit_lines(verdict(found))
    return exit_code(found)


def compare(dsn: str) -> Comparison:
    """Brings the live tables to the end of the log, whether or not a service runs, and compares them with a fresh fold."""
    import psycopg

    from projections.replay import replay as fold_afresh
    from projections.runner import catch_up

    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
    with Progress("replay", unit="positions") as progress:
        found = fold_afresh(dsn, lambda done, total: progress.update(done, total=total))
    say(f"{counted(found.events, 'event')} folded afresh in {found.seconds:.1f} s, {found.rate:.0f}/s")
    return found


def exit_code(found: Comparison) -> int:
    """0 equal, 1 different, 2 where something was not compared."""
    if not found.equal:
        return 1
    return 2 if found.stopped or found.behind != "0" or not found.events else 0


def verdict(found: Comparison) -> list[str]:
    """What a replay found, as people read it."""
    if found.difference is not None:
        return ["replay: DIFFERENT", f"  first difference: {found.difference}"]
    if not found.events:
        return ["replay: no activity: the log is empty, so nothing was compared"]
    at = max(found.positions.values(), key=int)
    rows, tables = counted(sum(found.rows.values()), "row"), counted(len(found.rows), "table")
    lines = [f"replay: equal: {rows} of {tables}, up to position {at}"]
    lines += [f"  not compared: projection {name} stands still: {reason}" for name, reason in found.stopped.items()]
    if found.behind != "0":
        lines.append(f"  not compared: the last {found.behind} positions, which the live tables have not come to")
    return lines


def document(found: Comparison) -> dict[str, object]:
    """The same for programs."""
    import msgspec

    fields: dict[str, object] = msgspec.to_builtins(found)
    return fields


def record(found: Comparison) -> dict[str, object]:
    """The same in one record."""
    difference = found.difference
    return {
        "equal": found.equal,
        "compared": exit_code(found) != 2,
        "events": found.events,
        "rows": sum(found.rows.values()),
        "position": max(found.positions.values(), key=int, default="0"),
        "behind": found.behind,
        "stopped": "; ".join(f"{name}: {reason}" for name, reason in found.stopped.items()),
        "table": difference and difference.table,
        "key": difference and " ".join(f"{name}={value}" for name, value in difference.key.items()),
        "column": difference and difference.column,
        "live": difference and difference.live,
        "replayed": difference and difference.replayed,
    }
