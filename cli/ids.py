"""Rounds and bets by id, or by as much of the beginning of one as is unambiguous."""

from __future__ import annotations

import re
from collections.abc import Collection
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


def whole(text: str) -> UUID | None:
    """The id, where the text is a whole one."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def among(text: str, kind: str, ids: Collection[UUID]) -> UUID:
    """The one of these ids that begins with `text`. Raises Refusal LGR-0701 (none) or LGR-0702 (several)."""
    first, last = _range(text)
    return _one(text, kind, [Found(id_, None) for id_ in sorted(ids) if first <= id_ <= last], _SHOWN).round


def shortened(conn: psycopg.Connection[Any], ids: Collection[UUID]) -> dict[UUID, str]:
    """The beginning of each of these ids that no other round or bet of the log shares, all equally long: enough to type."""
    if not ids:
        return {}
    rows = conn.execute(_NEIGHBOURS, {"ids": list(ids)}).fetchall()
    digits = max([_SHORT, *(_shared(id_.hex, other.hex) + 1 for id_, *others in rows for other in others if other is not None)])
    return {id_: _beginning(str(id_), digits) for id_ in ids}


_SHORT = 8
"""Hexadecimal digits that people are shown at least."""

_NEIGHBOURS = """
    SELECT wanted.id, round_before.id, round_after.id, bet_before.id, bet_after.id
    FROM unnest(%(ids)s::uuid[]) AS wanted(id)
    LEFT JOIN LATERAL (SELECT originator_id AS id FROM ledger.events WHERE originator_id < wanted.id AND originator_version = 1
                       AND topic LIKE 'RoundOpened.%%' ORDER BY originator_id DESC LIMIT 1) AS round_before ON true
    LEFT JOIN LATERAL (SELECT originator_id AS id FROM ledger.events WHERE originator_id > wanted.id AND originator_version = 1
                       AND topic LIKE 'RoundOpened.%%' ORDER BY originator_id LIMIT 1) AS round_after ON true
    LEFT JOIN LATERAL (SELECT cause AS id FROM ledger.events WHERE cause < wanted.id AND topic LIKE 'BetPlaced.%%'
                       ORDER BY cause DESC LIMIT 1) AS bet_before ON true
    LEFT JOIN LATERAL (SELECT cause AS id FROM ledger.events WHERE cause > wanted.id AND topic LIKE 'BetPlaced.%%'
                       ORDER BY cause LIMIT 1) AS bet_after ON true
"""
"""The id that comes next in order shares the most with an id, so no other has to be looked at."""


def _shared(one: str, other: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))


def _beginning(text: str, digits: int) -> str:
    """The beginning of an id as it is written, with so many hexadecimal digits."""
    end = digits
    while len(text[:end].replace("-", "")) < digits:
        end += 1
    return text[:end]


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


_LISTED = "roundledger rounds list shows rounds"
_SHOWN = "roundledger rounds show shows what the round has"


def _one(text: str, kind: str, found: list[Found], help_: str = _LISTED) -> Found:
    if not found:
        raise Refusal("LGR-0701", f"no {kind} has an id that begins so", field="id", value=text, help=help_)
    if len(found) > 1:
        some = ", ".join(str(each.bet or each.round) for each in found[:2])
        raise Refusal(
            "LGR-0702", f"more than one {kind} has an id that begins so", field="id", value=text, help=f"write more: {some}, …"
        )
    return found[0]
