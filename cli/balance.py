"""What `roundledger explain` says of an account: what it is, what it has, and which kinds of movement make that up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.output import Amounts, Column, Report, Sheet, header
from cli.session import houses, position, reading
from cli.trace import NOTHING_YET, verify_account

if TYPE_CHECKING:
    from projections.trace import Part

COLUMNS = (
    Column("kind", "movements"),
    Column("other", "from or to"),
    Column("currency", "currency"),
    Column("movements", "number", "number"),
    Column("change", "come to", "amount"),
    Column("first_position", "first at", "position", below=1),
    Column("last_position", "last at", "position", below=1),
)


def balance_explained(dsn: str, account: str) -> Report:
    """The report on one account. Refuses one that never moved (LGR-0770), and a balance that is not its movements (LGR-0520)."""
    from projections import moments, trace
    from projections.checks import verify_comes_to
    from projections.movements import ACCOUNTS

    with reading(dsn) as conn:
        verify_account(conn, account)
        found = trace.parts(conn, account)
        balances = trace.balances(conn, account, moments.reached(conn))
        at, stopped = position(conn, "ledger")
    for currency, balance in balances.items():
        verify_comes_to(account, currency, sum(part.change for part in found if part.currency == currency), balance)
    kind = account.partition("/")[0]
    meaning = next((words for name, words in ACCOUNTS.items() if name.partition("/")[0] == kind), None)
    return Report(
        title=f"Balance of {account}",
        facts=header(
            property=houses(dsn), account=account, meaning=meaning, as_of_position=at, balance=Amounts(balances, NOTHING_YET)
        ),
        notes=stopped,
        sheets=[
            Sheet(
                COLUMNS,
                [_row(part) for part in found],
                name="parts",
                totals=[
                    {
                        "currency": currency,
                        "movements": sum(part.movements for part in found if part.currency == currency),
                        "change": balance,
                    }
                    for currency, balance in sorted(balances.items())
                ],
                legend=f"each movement, in order: roundledger trace {account}; a balance is credits less debits",
            )
        ],
    )


def _row(part: Part) -> dict[str, Any]:
    return {
        "kind": part.kind,
        "other": part.other,
        "currency": part.currency,
        "movements": part.movements,
        "change": part.change,
        "first_position": part.first,
        "last_position": part.last,
    }
