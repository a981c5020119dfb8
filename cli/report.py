"""`roundledger report`: the reports of the house."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

import click

from cli.output import Column, Form, Report, Sheet, emit, examples, header, output_options
from cli.session import database, houses, position, reading

COLUMNS = (
    Column("table", "table"),
    Column("game", "game"),
    Column("regulation", "regulation"),
    Column("applied", "applied", drawn=False),
    Column("currency", "currency"),
    Column("rounds", "rounds", "number"),
    Column("bets", "bets", "number"),
    Column("handle", "handle", "amount"),
    Column("pushed", "pushed", "amount", drawn=False),
    Column("prizes", "prizes", "amount"),
    Column("commission", "commission", "amount"),
    Column("breakage", "breakage", "amount"),
    Column("win", "win", "amount"),
    Column("win_percent", "win % of handle", "number"),
    Column("theoretical_win", "theoretical win", "amount"),
    Column("theoretical_win_exact", "exact theoretical win in minor units", "number", drawn=False),
)


@click.group()
def report() -> None:
    """The reports of the house."""


@report.command(
    epilog=examples(
        "roundledger report tables",
        "roundledger report tables --day 2026-11-29 --csv",
        "roundledger report tables --json | jq '.tables[] | {table, win}'",
    )
)
@click.option("--day", type=click.DateTime(["%Y-%m-%d"]), help="One gaming day only; without it, all of them.")
@output_options
def tables(day: datetime | None, form: Form) -> None:
    """What each table did.

    Handle is the stakes that won or lost; win is the stakes that lost less the net prizes, with commission and breakage in it;
    theoretical win is the sum of stake × house edge, rounded to the minor unit once, half to even (its exact value is in JSON and
    CSV).
    """
    with database() as dsn:
        made = tables_report(dsn, day.date() if day else None)
    emit(made, form)


def tables_report(dsn: str, day: date | None = None, notes: Sequence[str] = ()) -> Report:
    """The table report of one gaming day, or of all; `notes` stand above those of the report itself."""
    import msgspec

    from projections import queries

    with reading(dsn) as conn:
        found = queries.table_report(conn, day)
        _, stopped = position(conn, "tables")
    return Report(
        title="Table report",
        facts=header(
            property=houses(dsn),
            period=f"gaming day {day}" if day else "all gaming days",
            as_of_position=found.position,
        ),
        notes=[*notes, *found.notes, *stopped],
        sheets=[
            Sheet(
                COLUMNS,
                [msgspec.structs.asdict(line) for line in found.lines],
                name="tables",
                totals=[msgspec.structs.asdict(total) for total in found.totals],
            )
        ],
    )
