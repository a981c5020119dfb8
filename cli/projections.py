"""`roundledger projections`: how far the read side is, and its tables built anew beside the live ones and put in their place."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import click

from cli.options import Form, Group, examples, log_option, output_options_without_amounts
from cli.output import Column, Report, Sheet, counted, emit, emit_json, emit_lines, emit_record, header, say, to_the_second
from cli.progress import Progress
from cli.session import database
from ledger.logs import FORM

if TYPE_CHECKING:
    from projections.rebuild import Compared, Version

_POSITIONS = (
    Column("tables", "tables"),
    Column("projection", "projection"),
    Column("position", "position", "position"),
    Column("behind", "behind", "number"),
    Column("stopped_by", "stopped by", "position", if_any=True),
    Column("stop_reason", "reason", if_any=True),
)
_COMPARED = (
    Column("table", "table"),
    Column("live", "live rows", "number"),
    Column("built", "built rows", "number"),
    Column("equal", "equal"),
    Column("key", "first difference at", if_any=True),
    Column("column", "column", if_any=True),
    Column("live_value", "live", if_any=True),
    Column("built_value", "built", if_any=True),
)


@click.group(cls=Group)
def projections() -> None:
    """Look after what balances and reports are read from.

    Their tables are folded from the log and can be folded anew at any time. `run` keeps them up to date where no service does;
    `rebuild` builds them beside the live ones while everything goes on, `diff` compares, `switch` puts them in place, `drop` lets
    go of those that were replaced.
    """


@projections.command(
    epilog=examples(
        "roundledger projections status",
        "roundledger projections status --json | jq '.positions[] | {tables, projection, behind}'",
        codes="0 all go on, 1 a projection stands still or is beyond the log's end, 2 could not be done.",
    )
)
@output_options_without_amounts
def status(form: Form) -> int:
    """Show how far each projection is.

    Behind are the positions between it and the log's end. Where it stands still, the event that it cannot fold is named: after
    a repair, roundledger projections resume.
    """
    import psycopg

    from ledger.store import log
    from projections import queries, rebuild

    with database() as dsn, psycopg.connect(dsn, autocommit=True) as conn:
        end = log.last(conn)
        versions = rebuild.versions(conn)
        rows = []
        for version in versions:
            for each in queries.positions(conn, _SCHEMAS[version.which]):
                row = {name: getattr(each, name) for name in ("position", "stopped_by", "stop_reason")}
                behind = max(0, end - int(each.position))
                rows.append({"tables": version.which, "projection": each.name, "behind": behind, **row})
        drawn = max(end, log.drawn(conn))
        beyond = [row for row in rows if row["tables"] != "old" and int(row["position"]) > drawn]
        working = rebuild.at_work(conn)
    notes = [_said(version) for version in versions if version.which != "live"]
    if working:
        notes.append(f"{working} is building, comparing or switching")
    notes += [
        f"the {row['tables']} tables of projection {row['projection']} are beyond the last position that was drawn, {drawn}, and "
        "pass over what comes; next: roundledger doctor"
        for row in beyond
    ]
    live = [row for row in rows if row["tables"] != "old"]
    emit(Report("Projections", [Sheet(_POSITIONS, live, name="positions")], header(log_ends_at=end), notes), form)
    return 1 if any(row["stopped_by"] or row in beyond for row in live if row["tables"] == "live") else 0


_SCHEMAS = {"live": "projection", "built": "projection_next", "old": "projection_old"}


def _said(version: Version) -> str:
    since = "" if version.at is None else f" {to_the_second(version.at)}"
    size = f"{version.bytes / 2**20:.0f} MiB"
    if version.which == "old":
        return f"old tables: replaced{since}, {size}; roundledger projections drop old"
    usable = "roundledger projections diff, switch" if version.usable else "not by this release: rebuild begins anew"
    return f"built tables: begun{since} by version {version.software or 'unknown'}, {size}; {usable}"


@projections.command(
    epilog=examples(
        "roundledger projections rebuild",
        "roundledger projections rebuild --switch     and put them in place at once",
        "roundledger projections rebuild --anew       whatever was built before",
        codes="0 done, 1 what was built stands still at an event, 2 could not be done.",
    )
)
@click.option("--anew", is_flag=True, help="Begin anew where something was built already.")
@click.option("--switch", "at_once", is_flag=True, help="Put the tables in place once they are built.")
@output_options_without_amounts
def rebuild(anew: bool, at_once: bool, form: Form) -> int:
    """Build the tables anew, beside the live ones.

    The whole log is folded into tables of their own while terminals post, the service runs and readers read. What a killed
    rebuild has built, the next one goes on with, if it is of the same release. Two at once there cannot be.
    """
    from projections import rebuild as rebuilding

    with database() as dsn:
        with Progress("rebuild", unit="positions") as progress:
            found = rebuilding.build(dsn, progress.told, anew=anew)
        rate = found.events / found.seconds if found.seconds else 0.0
        say(f"{counted(found.events, 'event')} folded in {found.seconds:.1f} s, {rate:.0f}/s")
        switched = rebuilding.switch(dsn) if at_once and not found.stopped else None
    record = {
        "position": found.position,
        "resumed_at": found.resumed_at,
        "events": found.events,
        "switched": switched is not None,
        "stopped": "; ".join(f"{name}: {reason}" for name, reason in found.stopped.items()),
    }
    if not emit_record(record, form):
        began = "anew" if found.resumed_at is None else f"going on at position {found.resumed_at}"
        lines = [f"rebuild: built up to position {found.position}, {began}"]
        lines += [f"  projection {name} stands still: {reason}" for name, reason in found.stopped.items()]
        if switched is not None:
            lines.append(f"switched at position {switched.position}; the old tables are kept: roundledger projections drop old")
        elif not found.stopped:
            lines.append("next: roundledger projections diff, then roundledger projections switch")
        emit_lines(lines)
    return 1 if found.stopped else 0


@projections.command(
    epilog=examples(
        "roundledger projections diff",
        "roundledger projections diff --json | jq '.tables[] | select(.equal == false)'",
        codes="0 equal, 1 different, 2 could not be compared.",
    )
)
@output_options_without_amounts
def diff(form: Form) -> int:
    """Compare what was built with the live tables.

    Row by row, as of the same position. Of each table: how many rows on either side, and the first row that differs, by its key;
    of movements that begins with the position of the event.
    """
    from projections import rebuild as rebuilding

    with database() as dsn:
        found = rebuilding.compare(dsn)
    emit(_difference(found), form)
    if any(table.difference for table in found.tables):
        return 1
    return 2 if found.left_out else 0


def _difference(found: Compared) -> Report:
    rows = []
    for table in found.tables:
        first = table.difference
        rows.append(
            {
                "table": table.table,
                "live": table.live,
                "built": table.built,
                "equal": first is None,
                "key": first and " ".join(f"{name}={value}" for name, value in first.key.items()),
                "column": first and first.column,
                "live_value": first and first.live,
                "built_value": first and first.replayed,
            }
        )
    notes = [f"projection {name} was not compared: {why}" for name, why in found.left_out.items()]
    at = {f"{name}_at": position for name, position in found.positions.items()}
    return Report("Built tables beside the live ones", [Sheet(_COMPARED, rows, name="tables")], header(**at), notes)


@projections.command(
    epilog=examples(
        "roundledger projections switch",
        "roundledger projections switch --patience 300",
        codes="0 switched, 2 could not be done, and nothing was changed.",
    )
)
@click.option("--patience", default=30.0, show_default=True, type=click.FloatRange(0, 86400), help="Seconds to wait for readers.")
@output_options_without_amounts
def switch(patience: float, form: Form) -> None:
    """Put what was built in place.

    Everything at once or nothing, while the service runs: its projections and readers go on without a restart. Views over the
    tables, with their rights, are made anew in the same transaction. The tables that are replaced stay until they are dropped.
    """
    from projections import rebuild as rebuilding

    with database() as dsn:
        found = rebuilding.switch(dsn, patience=patience)
    if form == "table":
        views = f"; made anew: {', '.join(found.views)}" if found.views else ""
        emit_lines(
            [
                f"switched at position {found.position} in {found.seconds:.2f} s{views}",
                "the old tables are kept: roundledger projections drop old",
            ]
        )
    elif form == "json":
        import msgspec

        emit_json(msgspec.to_builtins(found))
    else:
        emit_record({"position": found.position, "seconds": str(found.seconds), "views": " ".join(found.views)}, form)


@projections.command(
    epilog=examples(
        "roundledger projections run                   beside: roundledger serve --no-projections",
        "LEDGER_DSN='host=db.example.com dbname=ledger' roundledger projections run --log json",
        codes="0 it was told to stop, 2 could not be done.",
    )
)
@log_option
def run(form: str) -> None:
    """Keep balances and reports up to date, until interrupted.

    What `roundledger serve` does in a process beside it, this does on any machine that reaches the database, and hears of new
    events from there. More than one may run: each batch is folded once, and where one process ends the others go on.
    """
    import threading

    from projections.process import run as follow

    os.environ[FORM] = form
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.set())
    with database() as dsn:
        say("projections: running")
        follow(dsn, lambda _: told.wait())
    say("stopped")


@projections.command(
    epilog=examples(
        "roundledger projections resume",
        codes="0 all go on, 1 one still stands still, 2 could not be done.",
    )
)
@output_options_without_amounts
def resume(form: Form) -> int:
    """Let what stands still try once more.

    For after a repair or a new release. The others go on as they did. What still cannot be folded stops its projection again,
    and the reason is shown.
    """
    import psycopg

    from projections import queries
    from projections.runner import catch_up
    from projections.runner import resume as try_again

    with database() as dsn, psycopg.connect(dsn, autocommit=True) as conn:
        tried = try_again(conn)
        catch_up(conn)
        still = [each for each in queries.positions(conn) if each.stopped_at is not None]
    record = {"resumed": " ".join(tried), "stopped": " ".join(each.name for each in still)}
    if not emit_record(record, form):
        gone_on = [name for name in tried if name not in {each.name for each in still}]
        lines = [f"projection {name} goes on" for name in gone_on]
        lines += [f"projection {each.name} stands still at position {each.stopped_by}: {each.stop_reason}" for each in still]
        emit_lines(lines or ["no projection stands still"])
    return 1 if still else 0


@projections.command(
    epilog=examples(
        "roundledger projections drop old       those that a switch has replaced",
        "roundledger projections drop built     those that were built and are not wanted",
    )
)
@click.argument("which", type=click.Choice(["old", "built"]))
@output_options_without_amounts
def drop(which: str, form: Form) -> None:
    """Drop replaced or built tables."""
    from projections import rebuild as rebuilding

    with database() as dsn:
        there = rebuilding.drop(dsn, which)
    if not emit_record({"tables": which, "dropped": there}, form):
        emit_lines([f"the {which} tables are dropped" if there else f"there are no {which} tables"])
