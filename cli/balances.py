"""`roundledger balances`: every account's balance, and that they sum to nothing."""

from __future__ import annotations

import click

from cli.output import Column, Form, Report, Sheet, emit, examples, header, output_options
from cli.session import database, houses, position, reading
from ledger.errors import Refusal

COLUMNS = (Column("account", "account"), Column("currency", "currency"), Column("balance", "balance", "amount"))


@click.command(
    epilog=examples(
        "roundledger balances",
        "roundledger balances player/           all players",
        "roundledger balances win/R01 --json    one table's win, for a program",
    )
)
@click.argument("account", default="")
@click.option("--currency", metavar="CODE", help="Accounts in this currency only.")
@output_options
def balances(account: str, currency: str | None, form: Form) -> None:
    """Show the balance of each account that begins with ACCOUNT.

    A balance is credits less debits: a player who lost 100 has -100, the table's win account then has 100. Over all accounts of a
    currency they sum to zero.
    """
    with database() as dsn:
        report = balances_report(dsn, account, currency)
    emit(report, form)


def balances_report(dsn: str, account: str = "", currency: str | None = None) -> Report:
    """The accounts that begin with `account`, in one currency or all."""
    import msgspec

    from ledger.money import minor_digits
    from projections import queries

    if currency is not None:
        minor_digits(currency)
    with reading(dsn) as conn:
        rows = [msgspec.structs.asdict(row) for row in queries.balances(conn, account or None, currency)]
        at, stopped = position(conn, "ledger")
        notes = [*queries.applied(conn), *stopped]
    sums: dict[str, int] = {}
    for row in rows:
        sums[row["currency"]] = sums.get(row["currency"], 0) + int(row["balance"])
    if not account and any(sums.values()):
        raise Refusal("LGR-0520", f"the balances do not sum to zero: {sums}", help="roundledger replay finds the difference")
    return Report(
        title="Balances",
        facts=header(property=houses(dsn), accounts=f"{account}…" if account else "all", currency=currency, as_of_position=at),
        notes=notes,
        sheets=[
            Sheet(
                COLUMNS,
                rows,
                name="balances",
                totals=[{"currency": code, "balance": total} for code, total in sums.items()],
            )
        ],
    )
