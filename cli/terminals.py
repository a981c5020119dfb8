"""`roundledger terminals`: what was received of each terminal, and what is missing."""

from __future__ import annotations

import click

from cli.options import Form, examples, output_options
from cli.output import Column, Report, Sheet, counted, emit, header
from cli.session import database

_COLUMNS = (
    Column("terminal", "terminal"),
    Column("epoch", "epoch", "number"),
    Column("table", "table"),
    Column("contiguous", "all up to", "number"),
    Column("highest", "highest", "number"),
    Column("missing", "missing"),
)


@click.command(
    epilog=examples(
        "roundledger terminals",
        "roundledger terminals T-R01",
        "roundledger terminals --gaps --csv",
        codes="0 nothing is missing, 1 something is, 2 could not be done.",
    )
)
@click.argument("terminal", required=False)
@click.option("--gaps", is_flag=True, help="Only epochs of which something is missing.")
@output_options
def terminals(terminal: str | None, gaps: bool, form: Form) -> int:
    """Show what was received of each terminal.

    Terminals number their events from 1, anew in each epoch. A number that is missing between others is an event that the
    terminal has made and the ledger has not got.
    """
    import psycopg

    from ledger.errors import Refusal
    from ledger.sequences import Numbers
    from ledger.store.sequences import standings

    with database() as dsn, psycopg.connect(dsn) as conn:
        found = standings(conn, terminal)
    if terminal is not None and not found:
        raise Refusal(
            "LGR-0305",
            "no terminal of this id has numbered an event",
            field="TERMINAL",
            value=terminal,
            help="roundledger terminals",
        )
    rows = []
    for each in found:
        numbers = Numbers(each.received)
        missing = numbers.missing()
        if missing or not gaps:
            rows.append(
                {
                    "terminal": each.terminal,
                    "epoch": each.epoch,
                    "table": each.table,
                    "contiguous": numbers.contiguous,
                    "highest": each.received[-1][1] if each.received else 0,
                    "missing": ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in missing),
                }
            )
    incomplete = sum(1 for row in rows if row["missing"])
    notes = [f"{counted(incomplete, 'epoch')} with events that have not come"] if incomplete else []
    emit(Report("Terminals", [Sheet(_COLUMNS, rows, name="terminals")], header(), notes), form)
    return 1 if incomplete else 0
