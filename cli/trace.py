"""`roundledger trace`: how the balance of an account came to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from cli import output
from cli.options import examples, output_options
from cli.output import Row
from cli.reporting import FORMS, drawn, form_of, tell, write
from cli.session import database, houses, position, reading
from cli.writing import OUT
from ledger.errors import Refusal

if TYPE_CHECKING:
    from psycopg import Connection

    from projections.reports.model import Amounts, Report
    from projections.trace import Span

LEGEND = "change and balance are credits less debits; the balance is of the currency, after the movement"


@click.command(
    epilog=examples(
        "roundledger trace win/R01",
        "roundledger trace player/P-1001 --from 2026-11-29T06:00:00+08:00 --until 2026-11-30T06:00:00+08:00",
        "roundledger trace escrow/R01 --from 1200 --until 1300 --json",
        "roundledger trace cage/DEMO --format xlsx --out cage.xlsx",
        codes="0 done, 2 could not be done, or the movements do not come to the balance (LGR-0520).",
    )
)
@click.argument("account")
@click.option("--currency", metavar="CODE", help="Movements in this currency only.")
@click.option(
    "--from",
    "start",
    metavar="MOMENT",
    help="From a position of the log on, itself included, or behind the last event received by a time "
    "(2026-11-29T22:30:00+08:00).",
)
@click.option("--until", metavar="MOMENT", help="Up to a position, itself included, or up to the last event received by a time.")
@output_options
@click.option("--format", "named", type=click.Choice(FORMS), help="The form: a table where none is named.")
@click.option("--out", type=OUT, help="Write to this file and not to the screen.")
def trace(account: str, currency: str | None, start: str | None, until: str | None, **given: Any) -> None:
    """Show how a balance came to be.

    Every movement of ACCOUNT in order, with its position, event, round and bet, the account on its other side, and the balance
    after it. What they come to is compared with the balance that the account has. What it began and ended with stands at the
    head; in JSON, `began_with` and `ended_with` are minor units by currency. `roundledger balances` lists the accounts.
    """
    from ledger.money import minor_digits
    from projections import moments
    from projections import trace as traced

    form = form_of(given["form"], given["named"], given["out"])
    if currency is not None:
        minor_digits(currency)
    now = datetime.now(UTC)
    begin, end = (
        None if text is None else moments.moment(text, now, name) for text, name in ((start, "--from"), (until, "--until"))
    )
    with database() as dsn, reading(dsn) as conn:
        verify_account(conn, account)
        _, stopped = position(conn, "ledger")
        over = traced.span(conn, begin, end)
        about = output.header(
            property=houses(dsn), account=account, currency=currency, positions=f"{over.first} to {over.last}",
            began_with=_held(traced.balances(conn, account, over.first - 1, currency)),
            ended_with=_held(traced.balances(conn, account, over.last, currency)),
        )  # fmt: skip
        report = _report(conn, account, over, currency, about, stopped)
        if form == "table":
            _draw(conn, report)
        else:
            write(report, form, given["out"])
            if form == "csv":
                tell(report)


def verify_account(conn: Connection[Any], account: str) -> None:
    """Raises Refusal LGR-0770, with what is near, for an account that never moved."""
    from cli.near import did_you_mean
    from projections import trace as traced

    known = traced.accounts(conn)
    if account not in known:
        near = did_you_mean(account, known)
        raise Refusal(
            "LGR-0770", "no account has this name", field="account", value=account, help=near or "roundledger balances lists them"
        )


def _held(balances: dict[str, int]) -> Amounts:
    """Balances of an account: by currency in JSON, in words (`HKD 12.50, MOP -3.00`) elsewhere."""
    from projections.reports.model import Amounts

    return Amounts(balances, str(output.Amounts(balances, NOTHING_YET)))


NOTHING_YET = "nothing, it had not moved yet"
"""What an account has that has not moved."""


def _report(
    conn: Connection[Any], account: str, over: Span, currency: str | None, about: dict[str, Any], notes: list[str]
) -> Report:
    from projections.reports.columns import CURRENCY, ROUND, money, text
    from projections.reports.model import Column, Report, amount
    from projections.trace import steps

    def rows() -> Iterator[tuple[Any, ...]]:
        for step in steps(conn, account, over, currency):
            change, balance = amount(step.change, step.currency), amount(step.balance, step.currency)
            ids = (None if each is None else str(each) for each in (step.round, step.bet, step.slip))
            yield (
                step.position, step.line, step.received_at, step.topic, step.kind, step.table, *ids, step.other, step.currency,
                change, balance,
            )  # fmt: skip

    columns = [
        Column("position", "position", "position"),
        Column("line", "line", "position", drawn=False),
        Column("received_at", "received at", "time", below=5),
        text("event", "event", drawn=False),
        text("kind", "what"),
        text("table", "table", drawn=False),
        ROUND._replace(below=4),
        Column("bet", "bet", "id", below=3, if_any=True),
        Column("slip", "slip", "id", below=3, if_any=True),
        text("other", "from or to", below=2),
        CURRENCY,
        money("change", "change"),
        money("balance", "balance", sums=False),
    ]
    return Report("trace", f"Trace of {account}", about, columns, rows(), notes=notes, legend=LEGEND)


def _draw(conn: Connection[Any], report: Report) -> None:
    """As a table, in which ids are as short as they can be typed."""
    from cli.ids import shortened

    shown = drawn(report)
    sheet = shown.sheets[0]
    ids = {UUID(row[key]) for row in sheet.rows for key in ("round", "bet") if row[key]}
    short = {str(id_): text for id_, text in shortened(conn, ids).items()}

    def for_people(row: Row) -> Row:
        return {**row, **{key: short.get(row[key], row[key]) for key in ("round", "bet") if key in row}}

    output.emit(replace(shown, sheets=[replace(sheet, for_people=for_people)]), "table")
