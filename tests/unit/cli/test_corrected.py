"""A corrected outcome of craps is told throw by throw, and what stays void keeps its clause."""

from __future__ import annotations

from cli.corrected import throws
from cli.correction import _changes
from ledger.events import Recorded
from projections.views import view
from tests.unit.test_corrections import Table


def corrected(*faces: str, outcome: str) -> Table:
    table = Table("craps")
    table.bet("pass")
    table.throw(*faces)
    table.correct("outcome", outcome=outcome)
    return table


def test_only_the_throws_that_differ_are_said_to_change() -> None:
    table = corrected("void", "4-4", "4-4", outcome="void,4-4,6-3,3-4")
    told = [(row["field"], row["was"], row["becomes"]) for row in _changes(table.events, "MOP") if row["what"] == "outcome"]
    assert told == [("throw 3", "4-4", "3-6"), ("throw 4", "none", "3-4")]


def test_a_void_throw_keeps_its_reason_and_its_article_through_every_correction() -> None:
    table = corrected("void", "4-4", "void", "4-4", outcome="void,4-4,void,3-4")
    table.correct("outcome", outcome="void,4-4,5-4,3-4")
    events = [Recorded(place, table.round.id, place, body) for place, body in enumerate(table.events, 1)]
    found = view(events)
    assert found is not None
    told = throws(found, events, table.rules)
    voids = [(row["throw"], row["void"], row["article"]) for row in told if row["outcome"] == "void"]
    first, third = voids[0][1:], voids[1][1:]
    assert first[0] == third[0] == "off_layout"
    assert first[1]
    assert voids == [(1, *first), (3, *third), (1, *first), (3, *third), (1, *first)]
