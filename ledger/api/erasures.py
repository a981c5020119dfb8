"""Whether a player may be erased, or held, by what the read side knows of them: the write side knows rounds and no players."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from ledger.errors import Refusal
from ledger.events import CorrectionProposed, RoundHeld
from ledger.reports import ErasePlayer, OfAPlayer
from ledger.store import log, waits
from projections import players, queries
from projections.runner import catch_up


class Erasures:
    """Asks on connections of its own: players are erased seldom."""

    def __init__(self, dsn: str, *, fold: bool = False) -> None:
        """`fold`: whether it brings the read side up to the log's end itself, where nobody else may be doing it."""
        self._dsn = waits.patient(dsn)
        self._fold = fold

    def verify(self, said: OfAPlayer, tables: Sequence[str]) -> None:
        """Whether some event names the player, and, where the player is to be erased, nothing is unfinished.

        Raises Refusal LGR-0280 or LGR-0282, and LGR-0505 where the read side is behind with what could be unfinished.
        """
        with psycopg.connect(self._dsn, autocommit=True) as conn:
            if self._fold:
                catch_up(conn)
            with conn.transaction():
                conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                reached = next((int(each.position) for each in queries.positions(conn) if each.name == "ledger"), 0)
                if not players.is_named(conn, said.player, tables, after=reached):
                    raise Refusal(
                        "LGR-0280",
                        "no event names this player",
                        field="data.player",
                        value=said.player,
                        help="look for a mistyped letter: capitals and small ones are different",
                    )
                if isinstance(said, ErasePlayer):
                    self._verify_finished(conn, said.player, reached)

    def _verify_finished(self, conn: psycopg.Connection[tuple[object, ...]], player: str, reached: int) -> None:
        if log.has_since(conn, reached, (RoundHeld.TOPIC, CorrectionProposed.TOPIC)):
            raise Refusal(
                "LGR-0505",
                f"the read side has come to position {reached}, and a round was held or a correction asked for since",
                help="erase the player in a moment",
            )
        left = players.unfinished(conn, player)
        if left:
            raise Refusal(
                "LGR-0282",
                "; ".join(left),
                field="data.player",
                value=player,
                help="release the hold and decide the correction first, then erase the player",
            )
