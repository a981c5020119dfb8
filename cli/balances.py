"""`roundledger balances`: every account's balance, and that they sum to nothing."""

from __future__ import annotations

import click

from cli.options import Form, examples, output_options
from cli.output import Column, Report, Sheet, counted, emit, header
from cli.session import database, houses, position, reading
from ledger.errors import Refusal

COLUMNS = (Column("account", "account"), Column("currency", "currency"), Column("balance", "balance", "amount"))


@click.command(
    epilog=examples(
        "roundledger balances",
        "roundledger balances win/R01            the win of one table",
        "roundledger balances player/ --json     all players, for a program",
        "roundledger balances 'player/P-10*'     players whose reference begins so",
        codes="0 also where no such account is known, which is said; 2 could not be done.",
    )
)
@click.argument("account", default="")
@click.option("--currency", metavar="CODE", help="Accounts in this currency only.")
@output_options
def balances(account: str, currency: str | None, form: Form) -> None:
    """Show balances: of all accounts, of one, or of several.

    ACCOUNT is the name of one account; with / or * at its end, all accounts that begin so. A balance is credits less debits: a
    player who lost 100 has -100, the table's win account then has 100. Over all accounts of a currency they sum to zero.
    """
    with database() as dsn:
        report = balances_report(dsn, account, currency)
    emit(report, form)


def balances_report(dsn: str, account: str = "", currency: str | None = None) -> Report:
    """The balances of all accounts, of the one of this name, or of those that begin so (`player/`, `player/P-10*`)."""
    import msgspec

    from ledger import assumed
    from ledger.money import format_plain, minor_digits
    from projections import queries

    if currency is not None:
        minor_digits(currency)
    several = account.endswith(("/", "*"))
    prefix = account.removesuffix("*")
    with reading(dsn) as conn:
        found = queries.balances(conn, prefix or None, currency)
        at, stopped = position(conn, "ledger")
        notes = [*queries.applied(conn), *assumed.notes(conn, decided=False), *stopped]
    rows = [msgspec.structs.asdict(row) for row in found if several or account in ("", row.account)]
    if account and not rows:
        more = f"; {counted(len(found), 'account')} begin so: {account}*" if found and not several else ""
        of = f" in {currency}" if currency else ""
        notes.append(f"no account {'begins with' if several else 'is named'} {prefix}{of}{more}")
    sums: dict[str, int] = {}
    for row in rows:
        sums[row["currency"]] = sums.get(row["currency"], 0) + int(row["balance"])
    if not account and any(sums.values()):
        out = ", ".join(f"{code} {format_plain(total, code)}" for code, total in sorted(sums.items()) if total)
        raise Refusal("LGR-0520", f"the balances do not sum to zero: {out}", help="roundledger replay finds the difference")
    return Report(
        title="Balances",
        facts=header(property=houses(dsn), accounts=account or "all", currency=currency, as_of_position=at),
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
