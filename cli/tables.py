"""`roundledger tables`: what each table may still have to pay."""

from __future__ import annotations

import click

from cli.near import did_you_mean
from cli.options import Form, examples, output_options
from cli.output import Column, Report, Sheet, emit, header
from cli.session import database, houses, known_tables, position, reading

_COLUMNS = (
    Column("table", "table"),
    Column("game", "game", below=3),
    Column("regulation", "regulation", drawn=False),
    Column("currency", "currency"),
    Column("round", "round", drawn=False),
    Column("status", "status", below=2),
    Column("bets", "bets", "number", below=2),
    Column("stakes", "stakes", "amount"),
    Column("escrow", "escrow", "amount", below=1),
    Column("exposure", "exposure", "amount"),
    Column("limit", "limit", "amount", below=1, if_any=True),
    Column("room", "room", "amount", below=1, if_any=True),
    Column("over", "over limit", if_any=True),
)
_LEGEND = (
    "stakes = of the open bets; escrow = those and of bets received late that wait for their correction; exposure = the most "
    "that the table can lose on the open bets, payouts less stakes; room = limit less exposure; over limit = which one the "
    "open bets exceed, after a late bet or a withdrawal"
)


@click.command(
    epilog=examples(
        "roundledger tables",
        "roundledger tables R01",
        "roundledger tables --json | jq '.tables[] | {table, exposure, limit}'",
    )
)
@click.argument("table", required=False)
@output_options
def tables(table: str | None, form: Form) -> None:
    """Show what each table may still have to pay.

    Of each table, or of one: the stakes that lie on it and the worst that it can lose on them, whatever it shows. The exposure is
    exact, and the one that the table's limit is held against.
    """
    import msgspec

    from ledger.api.liabilities import liabilities
    from ledger.application.liability import Terms
    from ledger.errors import Refusal

    with database() as dsn:
        with reading(dsn) as conn:
            at, found = liabilities(conn, Terms(), table)
            _, stopped = position(conn, "ledger")
            known = known_tables(dsn, conn)
        facts = header(property=houses(dsn), table=table, as_of_position=at)
    if table is not None and not found:
        near = did_you_mean(table, known) or "roundledger tables shows all"
        raise Refusal("LGR-0602", "no table of this id is configured", field="TABLE", value=table, help=near)
    rows = [msgspec.structs.asdict(line) for line in found]
    emit(Report("Tables", [Sheet(_COLUMNS, rows, name="tables", legend=_LEGEND)], facts, stopped), form)
