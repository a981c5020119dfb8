"""What tables may still have to pay, as the door and the command line tell it: rounds from the log, escrow from the books."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import psycopg

from ledger import houses
from ledger.application.liability import Liability, Terms, between_rounds, of_round
from projections import queries

Connection = psycopg.Connection[Any]


def liabilities(conn: Connection, terms: Terms, table: str | None = None) -> tuple[str, list[Liability]]:
    """Every table that is configured or still holds stakes, or one of them, and the position as of which that is.

    A table has one line for each currency; none where it is unknown. `conn` sees one state.
    """
    position = next((int(each.position) for each in queries.positions(conn) if each.name == "ledger"), 0)
    configured = {each.id: each for config in houses.in_force(conn) for each in config.tables}
    escrow: dict[str, dict[str, int]] = defaultdict(dict)
    for row in queries.balances(conn, "escrow/"):
        if row.balance != "0":
            escrow[row.account.partition("/")[2]][row.currency] = int(row.balance)
    names = sorted(configured.keys() | escrow.keys()) if table is None else [table]
    found = []
    for name, latest in queries.latest_rounds(conn, names).items():
        held = escrow[name]
        playing = latest is not None and latest.status in ("open", "closed")
        if latest is not None and playing:
            found.append(of_round(conn, terms, latest.round, position, held.pop(latest.currency, 0)))
        elif name in configured:
            at = configured[name]
            found.append(between_rounds(name, at.game, at.currency, held.pop(at.currency, 0)))
        if latest is not None:
            found += [between_rounds(name, latest.game, currency, balance) for currency, balance in sorted(held.items())]
    return str(position), found
