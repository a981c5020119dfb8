"""The bets in their two tables: `bets` has what was placed, `results` what became of it.

In the ordinary run both are only added to: to change a row costs several times what it costs to add one, and every bet that is
placed is decided. What is changed is the odd bet that its player or a throw moved, or that is corrected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from projections.bets import BetKey
from projections.kept import Cursor, Kept
from projections.rows import BetRow

_KEY = ("round", "bet")
_FIELDS = BetRow.__struct_fields__
_PLACED, _DECIDED = _FIELDS[: _FIELDS.index("result")], _FIELDS[_FIELDS.index("result") :]

_BETS = Kept("bets", BetRow, _KEY, columns=_PLACED, fixed=("placed_in", "position", "seat", "chip", "late", "locked"))
_RESULTS = Kept("results", BetRow, _KEY, columns=(*_KEY, "stake", *_DECIDED))


def _looked_up(named: bytes, condition: str) -> tuple[bytes, bytes]:
    """The statements that read bets and results by their key, whatever the planner believes of the tables' size."""
    bets, results = (
        b"SELECT found.* FROM " + named + b" CROSS JOIN LATERAL (" + table.where(condition + " OFFSET 0") + b") AS found"
        for table in (_BETS, _RESULTS)
    )
    return bets, results


_OF_ROUNDS = _looked_up(b"unnest(%s::uuid[]) AS named(r)", "round = named.r")
_ONE_BY_ONE = _looked_up(b"unnest(%s::uuid[], %s::uuid[]) AS named(r, b)", "round = named.r AND bet = named.b")

_REOPEN = b"DELETE FROM results WHERE round = %s AND bet = %s"


def read_bets(cursor: Cursor, rounds: Collection[UUID], named: Sequence[BetKey]) -> dict[BetKey, BetRow]:
    """All bets of some rounds, and those that are named one by one."""
    found: dict[BetKey, BetRow] = {}
    if rounds:
        _read(cursor, found, _OF_ROUNDS, [list(rounds)])
    if named:
        _read(cursor, found, _ONE_BY_ONE, [[round_ for round_, _ in named], [bet for _, bet in named]])
    return found


def _read(cursor: Cursor, found: dict[BetKey, BetRow], statements: tuple[bytes, bytes], parameters: Sequence[Any]) -> None:
    bets, results = statements
    for placed in _BETS.values(cursor, bets, parameters):
        found[placed[0], placed[1]] = BetRow(*placed)
    for round_, bet, _, *decided in _RESULTS.values(cursor, results, parameters):
        row = found[round_, bet]
        for name, value in zip(_DECIDED, decided, strict=True):
            setattr(row, name, value)


def write_bets(cursor: Cursor, rows: Mapping[BetKey, BetRow], before: Mapping[BetKey, BetRow]) -> None:
    """Writes bets as the fold leaves them; `before` are those that are there, as they are there."""
    placed: list[BetRow] = []
    changed: list[BetRow] = []
    decided: list[BetRow] = []
    corrected: list[BetRow] = []
    reopened: list[BetRow] = []
    for key, row in rows.items():
        was = before.get(key) if before else None
        if was is None:
            placed.append(row)
        elif _BETS.changing(row) != _BETS.changing(was):
            changed.append(row)
        if was is None or was.result == "open":
            if row.result != "open":
                decided.append(row)
        elif row.result != "open":
            corrected.append(row)
        else:
            reopened.append(row)
    _BETS.write(cursor, changed, placed)
    if reopened:
        cursor.executemany(_REOPEN, [(row.round, row.bet) for row in reopened])
    _RESULTS.write(cursor, corrected, decided)
