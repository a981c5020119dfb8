"""What a round is played under, held against the documents that it names."""

from __future__ import annotations

from typing import NamedTuple

from ledger.audit.documents import Documents
from ledger.events import RoundOpened
from ledger.rules import MACAU
from ledger.rules.register import opt_in_note


class Fault(NamedTuple):
    """One thing that is wrong with the terms."""

    code: str
    what: str
    expected: str | None = None
    found: str | None = None


def wrong_terms(documents: Documents, body: RoundOpened) -> list[Fault]:
    """What the opening says otherwise than its documents; the first fault of each kind."""
    regulation, house = documents.of(body), documents.houses.get(body.property_hash)
    missing = [
        Fault("DOCUMENT_MISSING", f"the log does not hold the {kind} that the round names", sha256)
        for kind, sha256, held in (
            ("regulation", body.regulation_hash, regulation),
            ("property", body.property_hash, house),
        )
        if held is None
    ]
    said: list[tuple[str, str, str]] = []
    if regulation is not None:
        said += [("regulation", regulation.order, body.regulation), ("game", regulation.game, body.game)]
    if house is not None:
        terms = house.tables.get(body.table)
        said += [("property", house.id, body.property)]
        if terms is None:
            said += [("table", "one of the property's", body.table)]
        else:
            said += [("game", terms.game, body.game), ("currency", terms.currency, body.currency)]
            said += [("payable unit", str(terms.payable_unit), body.payable_unit), ("pit", terms.pit, body.pit)]
    wrong = [
        Fault("TERMS_DIFF", f"the round's {name} is not that of its configuration", expected, found)
        for name, expected, found in said
        if expected != found
    ]
    return missing + wrong[:1]


def wrong_moment(documents: Documents, body: RoundOpened, position: int) -> list[Fault]:
    """What the moment of the opening says otherwise: whether the law was in effect then, and the gaming day.

    Of a round that took over bets nothing of this is asked: it has the law of the round before.
    """
    regulation, house = documents.of(body), documents.houses.get(body.property_hash)
    if regulation is None or house is None:
        return []
    faults = []
    day = body.received_at.astimezone(MACAU).date()
    first, last = regulation.dates.effective_from, regulation.dates.effective_to
    over = last is not None and day > last
    if day < first or (over and regulation.order not in house.opt_ins):
        what = f"{regulation.order} was not in effect on {day}"
        faults.append(Fault("NOT_IN_EFFECT", what, f"{first} to {last or 'now'}", str(day)))
    elif body.applied != (opt_in_note(regulation) if over else None):
        faults.append(Fault("TERMS_DIFF", "what is said of how the regulation applies is not so", None, str(body.applied)))
    posted_to = documents.open_day(house, body.received_at, position)
    if body.gaming_day != posted_to:
        what = "the round's gaming day is not that of its opening"
        faults.append(Fault("TERMS_DIFF", what, str(posted_to), str(body.gaming_day)))
    return faults
