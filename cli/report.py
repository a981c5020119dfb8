"""`roundledger report`: the reports of the house, and two that are not of the catalogue.

The catalogue's reports are made of views over the projection `ledger`. `tables` and `outcomes` are of the projection `tables`, a
fold of its own, so that each finds what the other gets wrong; their JSON has its own names (`tables`, `outcomes`, flat `totals`),
by which programs read it; and how often an outcome came stays as it was once its day is closed, where the view `report.outcomes`
shows it as corrected by now.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import click

from cli.options import DAY, Form, examples, output_options
from cli.output import Column, Report, Sheet, emit, header
from cli.reporting import Reports
from cli.session import database, houses, position, reading, strange_table

COLUMNS = (
    Column("table", "table"),
    Column("game", "game", below=2),
    Column("regulation", "regulation", below=4),
    Column("applied", "applied", drawn=False),
    Column("currency", "currency"),
    Column("rounds", "rounds", "number", below=1),
    Column("bets", "bets", "number", below=3),
    Column("handle", "handle", "amount"),
    Column("pushed", "pushed", "amount", drawn=False),
    Column("lost", "lost", "amount"),
    Column("prizes", "prizes", "amount"),
    Column("commission", "commission", "amount", below=3, if_any=True),
    Column("breakage", "breakage", "amount", below=3, if_any=True),
    Column("adjusted", "adjusted", "amount", below=3, if_any=True),
    Column("earlier", "earlier days", "amount", below=3, if_any=True),
    Column("win", "win", "amount"),
    Column("win_percent", "win %", "number"),
    Column("theoretical_win", "theo. win", "amount"),
    Column("theoretical_win_exact", "exact theo. win", "exact", drawn=False),
)
LEGEND = "win = stakes lost − prizes, which are net of commission and breakage; win % is of the handle, the stakes lost and won"
EARLIER = "earlier days = corrections of days that are closed, posted to this one; they are in the win"
ADJUSTED = "adjusted = what was paid to players beside the regulation, less what was taken from them; it is no part of the win"
OUTCOMES = (
    Column("table", "table"),
    Column("game", "game"),
    Column("outcome", "outcome"),
    Column("count", "times", "number"),
)


@click.group(cls=Reports)
def report() -> None:
    """The reports of the house."""


@report.command(
    epilog=examples(
        "roundledger report tables",
        "roundledger report tables --day 2026-11-29 --csv",
        "roundledger report tables --json | jq '.tables[] | {table, win}'",
    )
)
@click.option("--day", type=DAY, help="One gaming day only; without it, all of them.")
@output_options
def tables(day: date | None, form: Form) -> None:
    """What each table did: rounds, handle, prizes, win.

    Handle is the stakes that won or lost; win is the stakes that lost less the prizes, which are net of commission and breakage;
    theoretical win is the sum of stake × house edge, rounded to the minor unit once, half to even (its exact value is in JSON and
    CSV). What was corrected is counted as corrected, under the gaming day of its round, as long as that was open; what was
    corrected later stands under the day to which it was posted, as earlier days. Mispays put right and payments ex gratia stand
    by themselves. JSON has how often each outcome came as well.
    """
    with database() as dsn:
        made = tables_report(dsn, day)
    emit(made, form)


def tables_report(dsn: str, day: date | None = None, notes: Sequence[str] = ()) -> Report:
    """The table report of one gaming day, or of all; `notes` stand above those of the report itself."""
    import msgspec

    from ledger import assumed
    from projections import queries

    with reading(dsn) as conn:
        found = queries.table_report(conn, day)
        resting = assumed.notes(conn, day=day, posted=True)
        counts = queries.outcomes(conn, day=day)
        _, stopped = position(conn, "tables")
    return Report(
        title="Table report",
        facts=header(property=houses(dsn), period=_period(day), as_of_position=found.position),
        notes=[*notes, *found.notes, *resting, *stopped],
        sheets=[
            Sheet(
                COLUMNS,
                [msgspec.structs.asdict(line) for line in found.lines],
                name="tables",
                totals=[msgspec.structs.asdict(total) for total in found.totals],
                legend="; ".join(
                    [LEGEND]
                    + [ADJUSTED] * any(int(total.adjusted) for total in found.totals)
                    + [EARLIER] * any(int(total.earlier) for total in found.totals)
                ),
            ),
            Sheet(OUTCOMES, [msgspec.structs.asdict(count) for count in counts], name="outcomes", drawn=False),
        ],
    )


def shift_sheet(dsn: str, shift: str) -> Sheet:
    """What each table did in the rounds of a shift."""
    import msgspec

    from projections import queries

    with reading(dsn) as conn:
        lines = queries.shift_report(conn, shift)
    columns = [column for column in COLUMNS if column.key in queries.ShiftLine.__struct_fields__]
    totals: dict[str, dict[str, Any]] = {}
    for line in lines:
        total = totals.setdefault(line.currency, {"currency": line.currency})
        for column in columns:
            if column.kind == "amount" or column.key in ("rounds", "bets"):
                total[column.key] = total.get(column.key, 0) + int(getattr(line, column.key))
    for total in totals.values():
        total["win_percent"] = queries.percent(total["win"], total["handle"])
    rows = [msgspec.structs.asdict(line) for line in lines]
    return Sheet(columns, rows, name="tables", totals=list(totals.values()), legend=LEGEND)


@report.command(
    epilog=examples(
        "roundledger report outcomes",
        "roundledger report outcomes --table R01 --csv",
        codes="0 also where no such table is known, which is said; 2 could not be done.",
    )
)
@click.option("--table", help="One table only.")
@click.option("--day", type=DAY, help="One gaming day only; without it, all of them.")
@output_options
def outcomes(table: str | None, day: date | None, form: Form) -> None:
    """How often each table showed each outcome.

    A corrected outcome is counted as corrected, unless its gaming day was closed by then: its books stay. Of craps each throw is
    counted, void ones left out.
    """
    import msgspec

    from projections import queries

    with database() as dsn:
        with reading(dsn) as conn:
            counts = queries.outcomes(conn, table, day)
            at, notes = position(conn, "tables")
            notes += strange_table(dsn, conn, table)
        facts = header(property=houses(dsn), table=table, period=_period(day), as_of_position=at)
    rows = [msgspec.structs.asdict(count) for count in counts]
    emit(Report("Outcomes", [Sheet(OUTCOMES, rows, name="outcomes")], facts, notes), form)


def _period(day: date | None) -> str:
    return f"gaming day {day}" if day else "all gaming days"
