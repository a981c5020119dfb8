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
        "roundledger terminals --forks                     reads the whole log",
        codes="0 nothing is missing, or forked; 1 something is; 2 could not be done.",
    )
)
@click.argument("terminal", required=False)
@click.option("--gaps", is_flag=True, help="Only epochs of which something is missing.")
@click.option("--forks", is_flag=True, help="Instead: the numbers that stand for more than one event.")
@output_options
def terminals(terminal: str | None, gaps: bool, forks: bool, form: Form) -> int:
    """Show what was received of each terminal.

    Terminals number their events from 1, anew in each epoch. A number that is missing between others is an event that the
    terminal has made and the ledger has not got.

    A number on two events is a fork. The service that has the terminal's table refuses the second (LGR-0303). Two services, each
    with another table, see it only afterwards: with --forks.
    """
    if gaps and forks:
        raise click.UsageError("--gaps and --forks are two questions: choose one", click.get_current_context())
    if forks:
        return _forks(terminal, form)
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


_FORKS = (
    Column("terminal", "terminal"),
    Column("epoch", "epoch", "number"),
    Column("number", "number", "number"),
    Column("tables", "tables"),
    Column("events", "events"),
)


def _forks(terminal: str | None, form: Form) -> int:
    import psycopg

    from ledger.store.sequences import forks

    with database() as dsn, psycopg.connect(dsn) as conn:
        found = forks(conn, terminal)
    rows = [{**fork._asdict(), "tables": ", ".join(fork.tables), "events": ", ".join(fork.events)} for fork in found]
    notes = [f"{counted(len(rows), 'number')} on more than one event"] if rows else []
    emit(Report("Forks", [Sheet(_FORKS, rows, name="forks")], header(), notes), form)
    return 1 if rows else 0
