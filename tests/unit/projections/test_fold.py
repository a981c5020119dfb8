"""The fold of the ledger: how money moves, and that no event of any kind can put it out of balance."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.events import (
    BetPlaced,
    BettingClosed,
    Event,
    OutcomeRecorded,
    PayoutMade,
    Recorded,
    RoundSettled,
)
from projections.checks import Contradiction
from projections.fold import keep_books
from projections.movements import balances, movements
from tests.unit.projections.made import DOCUMENT, Bet, made_round, recorded

STAKES = st.integers(1, 10**15)
BETS = st.builds(
    Bet,
    player=st.sampled_from(["P-1", "P-2", "P/3", "玩家"]),
    stake=STAKES,
    fate=st.sampled_from(["lost", "won", "push"]),
    odds=st.integers(0, 180),
    edge=st.sampled_from(["1/37", "17/216", "19/60"]),
    commission=st.booleans(),
)
ROUNDS = st.lists(
    st.tuples(
        st.lists(BETS, max_size=12),
        st.sampled_from(["T-1", "T-2"]),
        st.sampled_from(["MOP", "HKD"]),
        st.sampled_from(["open", "closed", "settled"]),
    ),
    max_size=6,
)


def made(rounds: list[tuple[list[Bet], str, str, str]], seed: int) -> list[Recorded]:
    rng = random.Random(seed)
    streams = [made_round(bets, rng=rng, table=table, currency=currency, until=until) for bets, table, currency, until in rounds]
    return recorded(streams, rng)


@settings(max_examples=60, deadline=None)
@given(rounds=ROUNDS, seed=st.integers(0, 2**32))
def test_every_event_of_every_kind_sums_to_zero_per_currency(rounds: list[tuple[list[Bet], str, str, str]], seed: int) -> None:
    log = made(rounds, seed)
    books = keep_books(log)
    for event in log:
        table = books.rounds[event.stream].table_id
        sums: Counter[str] = Counter()
        for (_, currency), delta in balances(movements(event, table)).items():
            sums[currency] += delta
        assert not any(sums.values())
    for currency in ("MOP", "HKD"):
        assert sum(delta for (_, code), delta in books.balances.items() if code == currency) == 0


@settings(max_examples=60, deadline=None)
@given(rounds=ROUNDS, seed=st.integers(0, 2**32))
def test_what_stays_in_escrow_is_what_unsettled_rounds_hold(rounds: list[tuple[list[Bet], str, str, str]], seed: int) -> None:
    books = keep_books(made(rounds, seed))
    at_risk: Counter[tuple[str, str]] = Counter()
    for row in books.rounds.values():
        if row.status != "settled":
            assert row.escrow == row.stakes
            at_risk[f"escrow/{row.table_id}", row.currency] += row.stakes
    escrow = {key: delta for key, delta in books.balances.items() if key[0].startswith("escrow/")}
    assert {key: delta for key, delta in escrow.items() if delta} == {key: delta for key, delta in at_risk.items() if delta}


def test_a_winner_a_loser_and_a_push_move_as_documented() -> None:
    bets = [
        Bet("P-1", 10_000, "won", 35),
        Bet("P-2", 5_000, "lost"),
        Bet("P-3", 700, "push"),
        Bet("P-4", 1_010, "won", 1, commission=True),
    ]
    stream, events = made_round(bets, rng=random.Random(1), table="T-9")
    books = keep_books(recorded([(stream, events)]))
    assert [(m.debit, m.credit, m.amount) for m in books.movements] == [
        ("player/P-1", "escrow/T-9", 10_000),
        ("player/P-2", "escrow/T-9", 5_000),
        ("player/P-3", "escrow/T-9", 700),
        ("player/P-4", "escrow/T-9", 1_010),
        ("escrow/T-9", "win/T-9", 5_000),
        ("escrow/T-9", "player/P-1", 10_000),
        ("win/T-9", "player/P-1", 350_000),
        ("escrow/T-9", "player/P-3", 700),
        ("escrow/T-9", "player/P-4", 1_010),
        ("win/T-9", "player/P-4", 960),
        ("win/T-9", "commission/T-9", 50),
    ]
    assert [m.line for m in books.movements] == [1, 1, 1, 1, 1, 1, 2, 1, 1, 2, 3]
    assert books.balances == {
        ("player/P-1", "MOP"): 350_000,
        ("player/P-2", "MOP"): -5_000,
        ("player/P-3", "MOP"): 0,
        ("player/P-4", "MOP"): 960,
        ("escrow/T-9", "MOP"): 0,
        ("win/T-9", "MOP"): 5_000 - 350_000 - 960 - 50,
        ("commission/T-9", "MOP"): 50,
    }
    row = books.rounds[stream]
    assert (row.status, row.bets, row.stakes, row.lost, row.won, row.pushed) == ("settled", 4, 16_710, 5_000, 11_010, 700)
    assert (row.prizes, row.commission, row.breakage) == (350_960, 50, 0)
    assert (row.first_position, row.last_position) == (1, len(events))


def test_breakage_is_booked_to_its_own_account() -> None:
    stream, events = made_round([Bet("P-1", 333, "won", 1, commission=True)], rng=random.Random(1))
    books = keep_books(recorded([(stream, events)]))
    # 333 at 1:1, 5% commission 16, payable unit 10: 317 is paid as 310.
    assert books.balances["player/P-1", "MOP"] == 310
    assert books.balances["commission/T-R01", "MOP"] == 16
    assert books.balances["breakage/T-R01", "MOP"] == 7
    assert books.balances["win/T-R01", "MOP"] == -333


def test_two_currencies_never_meet() -> None:
    """B18."""
    rng = random.Random(1)
    streams = [made_round([Bet("P-1", 100)], rng=rng, currency=currency) for currency in ("HKD", "MOP")]
    assert keep_books(recorded(streams)).balances == {
        (account, currency): delta
        for currency in ("HKD", "MOP")
        for account, delta in (("player/P-1", -100), ("escrow/T-R01", 0), ("win/T-R01", 100))
    }


def test_amounts_beyond_64_bits_stay_exact() -> None:
    """B13."""
    rng = random.Random(1)
    streams = [made_round([Bet("P-1", 10**15, "won", 180)], rng=rng) for _ in range(200)]
    books = keep_books(recorded(streams))
    assert books.balances["player/P-1", "MOP"] == 200 * 180 * 10**15 > 2**63


def test_documents_are_passed_over() -> None:
    document = Recorded(1, UUID(int=1), 1, DOCUMENT)
    books = keep_books([document])
    assert not any(books)


def changed(log: list[Recorded], kind: type[Event], **fields: Any) -> list[Recorded]:
    """The log with its first event of a kind changed."""
    at = next(place for place, event in enumerate(log) if isinstance(event.body, kind))
    body = msgspec.structs.replace(log[at].body, **fields)
    return [*log[:at], msgspec.structs.replace(log[at], body=body), *log[at + 1 :]]


@pytest.fixture
def settled() -> list[Recorded]:
    bets = [Bet("P-1", 100, "won", 35), Bet("P-2", 200)]
    return recorded([made_round(bets, rng=random.Random(1))])


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        (BetPlaced, {"currency": "HKD"}, "its currency is HKD, the round's is MOP"),
        (OutcomeRecorded, {"currency": "HKD"}, "its currency is HKD"),
        (PayoutMade, {"currency": "HKD"}, "its currency is HKD"),
        (BetPlaced, {"stake": "-100"}, "'-100' is not an amount"),
        (BetPlaced, {"stake": "1E3"}, "'1E3' is not an amount"),
        (BetPlaced, {"stake": "１００"}, "is not an amount"),
        (BetPlaced, {"stake": ""}, "'' is not an amount"),
        (PayoutMade, {"commission": "1"}, "prize is not net prize + commission + breakage"),
        (PayoutMade, {"returned": "3500"}, "returned is not stake + net prize"),
        (PayoutMade, {"result": "push"}, "a push has a prize"),
        (PayoutMade, {"result": "lost"}, "a payout cannot be 'lost'"),
        (OutcomeRecorded, {"lost": ()}, "stakes of 200 are not resolved"),
        (BetPlaced, {"stake": "101"}, "was 101, not 100"),
        (RoundSettled, {"bets": 3}, "its total of bets is 3, that of its bets 2"),
        (RoundSettled, {"handle": "301"}, "its total of handle is 301, that of its bets 300"),
        (RoundSettled, {"prizes": "3501"}, "its total of prizes is 3501, that of its bets 3500"),
        (RoundSettled, {"commission": "1"}, "its total of commission is 1"),
        (RoundSettled, {"breakage": "1"}, "its total of breakage is 1"),
        (RoundSettled, {"returned": "3500"}, "its total of returned is 3500, that of its bets 3600"),
    ],
)
def test_an_event_that_contradicts_is_named(
    settled: list[Recorded], kind: type[Event], fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Contradiction, match=r"position \d+") as caught:
        keep_books(changed(settled, kind, **fields))
    assert reason in str(caught.value)


@pytest.mark.parametrize("kind", [BetPlaced, BettingClosed, OutcomeRecorded, PayoutMade, RoundSettled])
def test_nothing_follows_a_settlement(settled: list[Recorded], kind: type[Event]) -> None:
    again = next(event for event in settled if isinstance(event.body, kind))
    with pytest.raises(Contradiction, match=r"position 99 .*settled before"):
        keep_books([*settled, msgspec.structs.replace(again, position=99)])


def test_a_round_without_its_opening_is_a_contradiction(settled: list[Recorded]) -> None:
    with pytest.raises(Contradiction, match=r"BetPlaced.*position 2 .*never opened"):
        keep_books(settled[1:])
    with pytest.raises(Contradiction, match="opened before"):
        keep_books([*settled, msgspec.structs.replace(settled[0], position=99)])
