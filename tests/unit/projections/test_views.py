"""One round as people look at it."""

from __future__ import annotations

import random
import re

import msgspec
import pytest

from ledger.events import BetCorrected, OutcomeRecorded, Recorded, ThrowRecorded
from projections.checks import Contradiction
from projections.fold import keep_books
from projections.views import view
from tests.unit.projections.lives import EVERYTHING, life
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


@pytest.mark.parametrize("seed", range(8))
def test_a_round_by_itself_is_what_it_is_among_all_others(seed: int) -> None:
    """Whatever happened to it: the fold of one round's events needs nothing else."""
    log = life(seed)
    books = keep_books(log)
    for id_, row in books.rounds.items():
        shown = view([event for event in log if event.stream == id_])
        assert shown is not None
        assert (shown.status, shown.disposition, shown.outcome) == (row.status, row.disposition, row.outcome)
        assert (shown.predecessor, shown.successor, shown.void_launches) == (row.predecessor, row.successor, row.void_launches)
        assert (shown.holds_open, shown.corrections_pending) == (row.holds, row.corrections_pending)
        for name in ("stakes", "carried_in", "carried_out", "escrow", "lost", "prizes", "adjusted"):
            assert getattr(shown, name) == str(getattr(row, name))
        bets = {bet: row for (round_, bet), row in books.bets.items() if round_ == id_}
        assert {bet.bet: (bet.result or "open", bet.stake, len(bet.corrections)) for bet in shown.bets} == {
            bet: (row.result, str(row.stake), row.corrections) for bet, row in bets.items()
        }
        assert len(shown.throws) == sum(isinstance(event.body, ThrowRecorded) for event in log if event.stream == id_)
        assert len(shown.voids) == sum(each.round == id_ for each in books.voids)
        assert len(shown.holds) == sum(each.round == id_ for each in books.holds.values())
        assert len(shown.corrections) == sum(each.round == id_ for each in books.corrections.values())
        assert len(shown.late_bets) == sum(each.round == id_ for each in books.late_bets)
        moved = [(str(each.position), each.line) for each in books.movements if each.round == id_]
        assert [(each.position, each.line) for each in shown.movements] == moved


def test_a_corrected_bet_has_both_standings() -> None:
    log = life(EVERYTHING)
    at = next(event for event in log if isinstance(event.body, BetCorrected))
    shown = view([event for event in log if event.stream == at.stream])
    assert shown is not None
    assert isinstance(at.body, BetCorrected)
    (first, *_) = next(bet.corrections for bet in shown.bets if bet.bet == at.body.bet)
    assert (first.before, first.after, first.position) == (at.body.before, at.body.after, str(at.position))
    json = msgspec.to_builtins(shown)
    assert {hold["finding"] for hold in json["holds"]} <= {"stands"}
    assert all(isinstance(each["stakes"], str) for each in json["voids"])
