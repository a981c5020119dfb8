"""`roundledger replay`: the whole log folded afresh, compared with the live tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.output import Form, Progress, emit_json, examples, say
from cli.session import database

if TYPE_CHECKING:
    from projections.replay import Comparison


@click.command(
    epilog=examples(
        "roundledger replay",
        "roundledger replay --json | jq .equal",
        codes="0 equal, 1 different (the first difference is named), 2 could not run or nothing to compare.",
    )
)
@click.option("--json", "form", flag_value="json", default="table", show_default=False, help="Print JSON.")
def replay(form: Form) -> int:
    """Fold the whole log afresh in a scratch schema and compare every row with the live tables.

    Nothing is appended to the log. Regulations and properties are read from the log alone.
    """
    with database() as dsn:
        found = compare(dsn)
    if form == "json":
        emit_json(document(found))
    else:
        for line in verdict(found):
            click.echo(line)
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
    say(f"{found.events} events folded afresh in {found.seconds:.1f} s, {found.rate:.0f}/s")
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
        return ["replay: No activity: the log is empty, so nothing was compared"]
    at = max(found.positions.values(), key=int)
    lines = [f"replay: equal: {sum(found.rows.values())} rows of {len(found.rows)} tables, up to position {at}"]
    lines += [f"  not compared: projection {name} stands still: {reason}" for name, reason in found.stopped.items()]
    if found.behind != "0":
        lines.append(f"  not compared: the last {found.behind} positions, which the live tables have not come to")
    return lines


def document(found: Comparison) -> dict[str, object]:
    """The same for programs."""
    import msgspec

    fields: dict[str, object] = msgspec.to_builtins(found)
    return fields
