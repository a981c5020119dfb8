"""Whether whoever closes a gaming day has acknowledged what is unfinished of it: asked of the read side, as `day close` does."""

from __future__ import annotations

import psycopg

from ledger.errors import Refusal
from ledger.property import Property
from ledger.reports import CloseDay
from ledger.store import waits
from projections import days, queries


class Closings:
    """Asks on connections of its own: days are closed seldom."""

    def __init__(self, dsn: str) -> None:
        self._dsn = waits.patient(dsn)

    def verify(self, house: Property, said: CloseDay) -> None:
        """Whether the closing acknowledges all that is unfinished, but open rounds, which nobody can.

        Raises Refusal LGR-0277 where it does not, LGR-0505 where the read side has not come to the closing's own figures.
        """
        with psycopg.connect(self._dsn) as conn:
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            reached = min((int(each.position) for each in queries.positions(conn)), default=0)
            found = days.unfinished(conn, house.id, said.gaming_day, {table.id for table in house.tables})
        if reached < int(said.as_of):
            raise Refusal(
                "LGR-0505",
                f"the read side has come to position {reached}, and the figures are as of {said.as_of}",
                help="close the day again in a moment",
            )
        left = [each for each in days.unacknowledged(found, said.despite) if each.code != days.OPEN_ROUND]
        if left:
            raise Refusal(
                "LGR-0277",
                "; ".join(f"{each.code}: {', '.join(filter(None, (each.table, each.what)))}" for each in left[:_TOLD])
                + (f"; and {len(left) - _TOLD} more" if len(left) > _TOLD else ""),
                field="data.despite",
                value=",".join(said.despite) or None,
                help="finish it, or name in `despite` what is acknowledged: "
                + ", ".join(dict.fromkeys(each.code for each in left)),
            )


_TOLD = 10
