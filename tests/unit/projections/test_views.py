"""One round as people look at it."""

from __future__ import annotations

import random
import re

import msgspec
import pytest

from ledger.events import OutcomeRecorded, Recorded
from projections.checks import Contradiction
from projections.views import view
from tests.unit.projections.made import DOCUMENT, Bet, made_round, recorded, uuid


def test_bets_in_order_with_their_fates_and_positions() -> None:
    bets = [Bet("P-1", 100, "won", 35), Bet("P-2", 9_007_199_254_740_993), Bet("P-3", 50, "push")]
    stream, events = made_round(bets, rng=random.Random(1))
    shown = view(recorded([(stream, events)]))
    assert shown is not None
    assert [(bet.player, bet.result, bet.stake, bet.returned) for bet in shown.bets] == [
        ("P-1", "won", "100", "3600"),
        ("P-2", "lost", "9007199254740993", "0"),
        ("P-3", "push", "50", "50"),
    ]
    assert [(bet.position, bet.resolved_position) for bet in shown.bets] == [("2", "7"), ("3", "6"), ("4", "8")]
    assert (shown.status, shown.handle, shown.win) == ("settled", "9007199254741093", "9007199254737493")
    sums = sum(int(m.amount) for m in shown.movements if m.debit == "escrow/T-R01")
    assert sums == int(shown.stakes)


def test_its_json_has_no_number_that_a_reader_could_round() -> None:
    """B14."""
    shown = view(recorded([made_round([Bet("P-1", 10**15, "won", 180)], rng=random.Random(1))]))
    numbers = re.findall("[0-9.]+", re.sub('"[^"]*"', "", msgspec.json.encode(shown).decode()))
    assert numbers
    assert all(int(number) < 1000 for number in numbers), "lines and seats only"


def test_an_open_round_has_bets_without_fates() -> None:
    shown = view(recorded([made_round([Bet("P-1", 100)], rng=random.Random(1), until="open")]))
    assert shown is not None
    assert (shown.status, shown.outcome, shown.bets[0].result, shown.bets[0].returned) == ("open", None, None, None)


def test_no_events_or_a_document_are_no_round() -> None:
    rng = random.Random(1)
    assert view([]) is None
    assert view([Recorded(1, uuid(rng), 1, DOCUMENT)]) is None


def test_a_fate_of_a_bet_that_was_never_placed_is_a_contradiction() -> None:
    rng = random.Random(1)
    log = recorded([made_round([Bet("P-1", 100)], rng=rng)])
    at = next(place for place, event in enumerate(log) if isinstance(event.body, OutcomeRecorded))
    outcome = log[at].body
    assert isinstance(outcome, OutcomeRecorded)
    other = msgspec.structs.replace(outcome.lost[0], bet=uuid(rng))
    log[at] = msgspec.structs.replace(log[at], body=msgspec.structs.replace(outcome, lost=(other,)))
    with pytest.raises(Contradiction, match="never placed"):
        view(log)
