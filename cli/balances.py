"""`roundledger balances`: every account's balance, now or as of any moment, and that they sum to nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from cli.near import did_you_mean
from cli.options import Form, examples, output_options
from cli.output import Column, Report, Sheet, counted, emit, header
from cli.session import database, houses, position, reading
from ledger.errors import Refusal

if TYPE_CHECKING:
    from psycopg import Connection

    from projections.moments import Moment
    from projections.queries import Balance

COLUMNS = (Column("account", "account"), Column("currency", "currency"), Column("balance", "balance", "amount"))
KINDS = (
    Column("kind", "accounts of kind"),
    Column("currency", "currency"),
    Column("accounts", "accounts", "number"),
    Column("balance", "balance", "amount"),
)


@click.command(
    epilog=examples(
        "roundledger balances",
        "roundledger balances win/R01            the win of one table",
        "roundledger balances player/ --json     all players, for a program",
        "roundledger balances 'player/P-10*'     players whose reference begins so",
        "roundledger balances --at 2026-11-29T22:30:00+08:00",
        "roundledger balances win/R01 --at 12345",
        "roundledger balances --trial            by kind of account, and that all sum to zero",
        codes="0 also where no such account is known, which is said; 1 the trial balance is not zero; 2 could not be done.",
    )
)
@click.argument("account", default="")
@click.option("--currency", metavar="CODE", help="Accounts in this currency only.")
@click.option(
    "--at", metavar="MOMENT", help="As of a position of the log, or of a time with its offset (2026-11-29T22:30:00+08:00)."
)
@click.option("--trial", is_flag=True, help="The trial balance: all accounts by kind, and their sum in each currency.")
@output_options
def balances(account: str, currency: str | None, at: str | None, trial: bool, form: Form) -> int:
    """Show balances: of all accounts, of one, or of several.

    ACCOUNT is the name of one account; with / or * at its end, all accounts that begin so. A balance is credits less debits: a
    player who lost 100 has -100, the table's win account then has 100. Over all accounts of a currency they sum to zero.

    With --at, balances are as of a position, its event included, or as of the last event that the service had received by a time;
    which position that is, is printed. A time of the last seconds may still gain events.
    """
    if trial and account:
        raise click.UsageError("--trial is of all accounts")
    with database() as dsn:
        if trial:
            found, zero = trial_report(dsn, currency, at)
        else:
            found, zero = balances_report(dsn, account, currency, at), True
    emit(found, form)
    return 0 if zero else 1


def trial_report(dsn: str, currency: str | None = None, at: str | None = None) -> tuple[Report, bool]:
    """The trial balance, and whether each currency sums to zero."""
    import msgspec

    from ledger.money import minor_digits
    from projections import moments

    if currency is not None:
        minor_digits(currency)
    when = _moment(at)
    with reading(dsn) as conn:
        found, as_of, stopped = _read(conn, when, None, currency)
    lines = moments.trial(found)
    sums: dict[str, int] = {}
    for line in lines:
        sums[line.currency] = sums.get(line.currency, 0) + int(line.balance)
    report = Report(
        title="Trial balance",
        facts=header(property=houses(dsn), currency=currency, **_as_of(as_of, when)),
        notes=stopped,
        sheets=[
            Sheet(
                KINDS,
                [msgspec.structs.asdict(line) for line in lines],
                name="kinds",
                totals=[{"currency": code, "balance": total} for code, total in sums.items()],
                legend="a balance is credits less debits; in each currency they sum to zero, or the books are broken",
            )
        ],
    )
    return report, not any(sums.values())


def _moment(at: str | None) -> Moment | None:
    from projections import moments

    return None if at is None else moments.moment(at, datetime.now(UTC), "--at")


def _as_of(position: str, when: Moment | None) -> dict[str, object]:
    return {"as_of_position": position, **({"received_by": when} if isinstance(when, datetime) else {})}


def _read(
    conn: Connection, when: Moment | None, prefix: str | None, currency: str | None
) -> tuple[list[Balance], str, list[str]]:
    """The balances, the position as of which they are, and a note where the read side stands still before its time."""
    from projections import moments, queries

    at, stopped = position(conn, "ledger")
    if when is None:
        return queries.balances(conn, prefix, currency), at, stopped
    if isinstance(when, int):
        return moments.balances_at(conn, when, prefix, currency, field="--at"), str(when), []
    reached = moments.position_at(conn, when)
    return moments.balances_at(conn, reached, prefix, currency, field="--at"), str(reached), stopped


def balances_report(dsn: str, account: str = "", currency: str | None = None, at: str | None = None) -> Report:
    """The balances of all accounts, of the one of this name, or of those that begin so (`player/`, `player/P-10*`)."""
    import msgspec

    from ledger import assumed
    from ledger.money import format_plain, minor_digits
    from projections import queries
    from projections.trace import accounts

    if currency is not None:
        minor_digits(currency)
    several = account.endswith(("/", "*"))
    prefix, when = account.removesuffix("*"), _moment(at)
    with reading(dsn) as conn:
        found, as_of, stopped = _read(conn, when, prefix or None, currency)
        known = accounts(conn) if account and not found else []
        notes = [*queries.applied(conn), *assumed.notes(conn, decided=False), *stopped]
    rows = [msgspec.structs.asdict(row) for row in found if several or account in ("", row.account)]
    if account and not rows:
        more = f"; {counted(len(found), 'account')} begin so: {account}*" if found and not several else ""
        of = f" in {currency}" if currency else ""
        named = f"no account {'begins with' if several else 'is named'} {prefix}"
        if any(name.startswith(prefix) if several else name == prefix for name in known):
            notes.append(f"{prefix} has not moved{of} up to position {as_of}")
        else:
            near = did_you_mean(prefix, known)
            notes.append(f"{named}{of}{more}{f'; {near}' if near else ''}")
    sums: dict[str, int] = {}
    for row in rows:
        sums[row["currency"]] = sums.get(row["currency"], 0) + int(row["balance"])
    if not account and any(sums.values()):
        out = ", ".join(f"{code} {format_plain(total, code)}" for code, total in sorted(sums.items()) if total)
        raise Refusal("LGR-0520", f"the balances do not sum to zero: {out}", help="roundledger replay finds the difference")
    return Report(
        title="Balances",
        facts=header(property=houses(dsn), accounts=account or "all", currency=currency, **_as_of(as_of, when)),
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
