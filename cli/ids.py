"""Rounds and bets by id, or by as much of the beginning of one as is unambiguous."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from ledger.errors import Refusal

if TYPE_CHECKING:
    import psycopg

_HEX = re.compile(r"[0-9a-f]{1,32}", re.ASCII)
_SHORTEST = 4
"""Hexadecimal digits; with fewer a slip of the finger would find something."""


class Found(NamedTuple):
    """A round, and the bet in it if that was what the id names."""

    round: UUID
    bet: UUID | None


def find_round(conn: psycopg.Connection[Any], text: str) -> UUID:
    """The round whose id begins with `text`. Raises Refusal LGR-0701 (none) or LGR-0702 (several)."""
    return _one(text, "round", _rounds(conn, text)).round


def find(conn: psycopg.Connection[Any], text: str) -> Found:
    """The bet or the round whose id begins with `text`. Raises Refusal LGR-0701 (none) or LGR-0702 (several)."""
    return _one(text, "round or bet", _rounds(conn, text) + _bets(conn, text))


def _rounds(conn: psycopg.Connection[Any], text: str) -> list[Found]:
    rows = conn.execute(
        "SELECT originator_id FROM ledger.events WHERE originator_id BETWEEN %s AND %s AND originator_version = 1 "
        "AND topic LIKE 'RoundOpened.%%' ORDER BY originator_id LIMIT 3",
        _range(text),
    )
    return [Found(round_, None) for (round_,) in rows]


def _bets(conn: psycopg.Connection[Any], text: str) -> list[Found]:
    # A bet's id is the id of the event by which its terminal reported it.
    rows = conn.execute(
        "SELECT originator_id, cause FROM ledger.events WHERE cause BETWEEN %s AND %s AND topic LIKE 'BetPlaced.%%' "
        "ORDER BY cause LIMIT 3",
        _range(text),
    )
    return [Found(round_, bet) for round_, bet in rows]


def _range(text: str) -> tuple[UUID, UUID]:
    digits = text.strip().lower().replace("-", "")
    if not _HEX.fullmatch(digits) or len(digits) < _SHORTEST:
        raise Refusal(
            "LGR-0701",
            "this is not an id, nor the beginning of one",
            field="id",
            value=text,
            help=f"an id is 32 hexadecimal digits, with dashes or without; the first {_SHORTEST} or more are enough",
        )
    return UUID(hex=digits.ljust(32, "0")), UUID(hex=digits.ljust(32, "f"))


def _one(text: str, kind: str, found: list[Found]) -> Found:
    if not found:
        raise Refusal(
            "LGR-0701", f"no {kind} has an id that begins so", field="id", value=text, help="roundledger rounds list shows rounds"
        )
    if len(found) > 1:
        some = ", ".join(str(each.bet or each.round) for each in found[:2])
        raise Refusal(
            "LGR-0702", f"more than one {kind} has an id that begins so", field="id", value=text, help=f"write more: {some}, …"
        )
    return found[0]
