"""`roundledger terminals`: what was received of each terminal, and what is missing."""

from __future__ import annotations

from typing import Any

import click

from cli.options import Form, examples, output_options_without_amounts
from cli.output import Column, Report, Sheet, counted, emit, header
from cli.session import database

_COLUMNS = (
    Column("terminal", "terminal"),
    Column("epoch", "epoch", "number"),
    Column("table", "table"),
    Column("contiguous", "all up to", "number"),
    Column("highest", "highest", "number"),
    Column("missing", "missing"),
    Column("given_up", "given up", if_any=True),
)
_ALL = 1 << 62
"""No limit to the gaps that are counted."""
_SUMMED = (
    Column("terminal", "terminal"),
    Column("table", "table"),
    Column("epoch", "epoch", "number"),
    Column("contiguous", "all up to", "number"),
    Column("highest", "highest", "number"),
    Column("epochs", "epochs", "number"),
    Column("received", "received", "number"),
    Column("gaps", "missing", "number"),
    Column("given_up_count", "given up", "number", if_any=True),
)


@click.command(
    epilog=examples(
        "roundledger terminals",
        "roundledger terminals T-R01",
        "roundledger terminals T-R01 --epochs",
        "roundledger terminals --gaps --csv",
        "roundledger terminals --forks                     reads the whole log",
        codes="0 nothing is missing, or forked; 1 something is; 2 could not be done.",
    )
)
@click.argument("terminal", required=False)
@click.option("--epochs", is_flag=True, help="One line for each epoch, and not only for each terminal.")
@click.option("--gaps", is_flag=True, help="The epochs of which something is missing or given up, and what.")
@click.option("--forks", is_flag=True, help="Instead: the numbers that stand for more than one event.")
@output_options_without_amounts
def terminals(terminal: str | None, epochs: bool, gaps: bool, forks: bool, form: Form) -> int:
    """Show what was received of each terminal.

    Terminals number their events from 1, anew in each epoch. A number that is missing between others is an event that the
    terminal has made and the ledger has not got. One that will never come, a supervisor gives up (`roundledger terminal send
    NumbersGivenUp`): it is not missing any more, and --gaps shows it apart.

    One line for each terminal shows its latest epoch, and over all its epochs how many there are, how many numbers were received
    and how many are missing. --epochs shows each epoch by itself.

    A number on two events is a fork. The service that has the terminal's table refuses the second (LGR-0303). Two services, each
    with another table, see it only afterwards: with --forks.
    """
    if gaps and forks:
        raise click.UsageError("--gaps and --forks are two questions: choose one", click.get_current_context())
    if forks:
        return _forks(terminal, form)
    import psycopg

    from ledger.errors import Refusal
    from ledger.sequences import Numbers, accounted
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
        numbers = accounted(each)
        missing = numbers.missing()
        if missing or each.given_up or not gaps:
            rows.append(
                {
                    "received": sum(last - first + 1 for first, last in each.received),
                    "gaps": sum(last - first + 1 for first, last in numbers.missing(limit=_ALL)),
                    "terminal": each.terminal,
                    "epoch": each.epoch,
                    "table": each.table,
                    "contiguous": numbers.contiguous,
                    "highest": each.received[-1][1] if each.received else 0,
                    "missing": _spans(missing),
                    "given_up": _spans(Numbers().with_(each.given_up).spans),
                    "given_up_count": sum(last - first + 1 for first, last in each.given_up),
                }
            )
    incomplete = sum(1 for row in rows if row["missing"])
    notes = [f"{counted(incomplete, 'epoch')} with events that have not come"] if incomplete else []
    by_epoch = epochs or gaps
    if incomplete and not by_epoch:
        notes.append("which: roundledger terminals --gaps")
    sheet = Sheet(_COLUMNS, rows, name="terminals") if by_epoch else Sheet(_SUMMED, _summed(rows), name="terminals")
    emit(Report("Terminals", [sheet], header(), notes), form)
    return 1 if incomplete else 0


def _spans(spans: list[tuple[int, int]]) -> str:
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _summed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each terminal: its latest epoch, and the sums over all."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["terminal"], []).append(row)
    return [
        {
            **max(own, key=lambda row: row["epoch"]),
            "epochs": len(own),
            "received": sum(row["received"] for row in own),
            "gaps": sum(row["gaps"] for row in own),
            "given_up_count": sum(row["given_up_count"] for row in own),
        }
        for own in found.values()
    ]


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
