"""What figures rest on that no held text of a regulation says: bets without rule text, and odds that are assumed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

    from ledger.rules import Regulation

_RESTING = "SELECT DISTINCT regulation FROM projection.table_rounds"
_SPOTS = """
WITH stood AS (
    SELECT b.spot, s.result, r.regulation, r.gaming_day AS day, r.property, r.pit, r.table_id, r.game, r.shift, r.currency
    FROM projection.bets AS b JOIN projection.rounds AS r USING (round) LEFT JOIN projection.results AS s USING (round, bet)
    UNION ALL
    -- What is corrected of a closed day stays there as it was, and what that makes is posted to another day, of no shift.
    SELECT s.spot, s.result, c.regulation, s.day, c.property, c.pit, c.table_id, c.game, s.shift, c.currency
    FROM report.corrected_bets AS c CROSS JOIN LATERAL (
        VALUES (before_spot, before_result, gaming_day, shift), (before_spot, before_result, posted_day, NULL),
               (after_spot, after_result, posted_day, NULL)
    ) AS s (spot, result, day, shift)
    WHERE %(posted)s AND c.posted_day <> c.gaming_day
)
SELECT DISTINCT spot FROM stood
WHERE regulation = %(order)s AND (%(first)s::date IS NULL OR day >= %(first)s) AND (%(last)s::date IS NULL OR day <= %(last)s)
AND (%(property)s::text IS NULL OR property = %(property)s) AND (%(pit)s::text IS NULL OR pit = %(pit)s)
AND (%(table)s::text IS NULL OR table_id = %(table)s) AND (%(game)s::text IS NULL OR game = %(game)s)
AND (%(shift)s::text IS NULL OR shift = %(shift)s) AND (%(currency)s::text IS NULL OR currency = %(currency)s)
AND (%(chance)s::text IS NULL OR split_part(spot, ':', 1) = %(chance)s)
AND (result IN ('lost', 'won', 'push') OR (result IS NULL AND NOT %(decided)s))
"""

_FILTERS = ("property", "pit", "table", "game", "chance", "shift", "currency", "first", "last")


def notes(
    conn: psycopg.Connection[Any],
    *,
    day: date | None = None,
    decided: bool = True,
    posted: bool = False,
    within: Mapping[str, Any] | None = None,
) -> list[str]:
    """A sentence for each kind of bet that stands in figures and whose odds no held text has, as `explain` says it of a bet.

    Of one gaming day or of all; with `decided`, of bets that won, lost or were pushed, else of open ones too; with `posted`, of
    figures in which corrections of closed days stand where they are posted. `within` are a report's filters by name, `first` and
    `last` day among them.
    """
    asked = dict.fromkeys(_FILTERS) | dict(within or {})
    if day is not None:
        asked |= {"first": day, "last": day}
    said = []
    for (order,) in conn.execute(f"{_RESTING} ORDER BY regulation").fetchall():
        found = _rests_on_something(order)
        if found is not None:
            rows = conn.execute(_SPOTS, {**asked, "order": order, "decided": decided, "posted": posted}).fetchall()
            said += _sentences(found, (spot for (spot,) in rows))
    return said


def notes_on(order: str, spots: Iterable[str]) -> list[str]:
    """The same of bets under one order on these spots, in canonical notation."""
    found = _rests_on_something(order)
    return [] if found is None else _sentences(found, spots)


def _sentences(regulation: Regulation, spots: Iterable[str]) -> list[str]:
    from ledger.rules import UNVERIFIED

    found = _with_all_bets(regulation)
    used = {found.spot_in_play(spot).chance.code for spot in set(spots)}
    without_text = ", ".join(chance.code for chance in found.unverified_chances if chance.code in used)
    said = [f"{found.order}: bets on {without_text} stand in these figures; {UNVERIFIED}"] if without_text else []
    by_reason: dict[str, list[str]] = defaultdict(list)
    for chance in found.chances:
        if chance.code in used and "odds" in chance.assumed:
            by_reason[chance.assumed["odds"]].append(chance.code)
    for reason, codes in by_reason.items():
        said.append(f"{found.order}: bets on {', '.join(codes)} stand in these figures at odds that are assumed; {reason}")
    return said


def _rests_on_something(order: str) -> Regulation | None:
    """The regulation, where it has bets of which there is something to say."""
    from ledger.errors import Refusal
    from ledger.rules import regulation

    try:
        found = regulation(order)
    except Refusal:  # it was played under, and this program holds it no more: what its bets rest on is in the log alone
        return None
    return found if found.unverified_chances or any("odds" in chance.assumed for chance in found.chances) else None


def _with_all_bets(regulation: Regulation) -> Regulation:
    """The regulation with its bets without rule text turned on, so that it can read every spot that was ever bet."""
    return regulation.with_unverified() if regulation.unverified_chances and not regulation.unverified_on else regulation
