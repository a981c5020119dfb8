"""A round under its table's limits: what counts, whatever became of the bets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.errors import Refusal
from ledger.events import Event
from ledger.limits import Band, Limits
from ledger.round import Asked, Origin, Round, Status, Successor, Terms
from ledger.rules import Regulation, regulation

ROULETTE, CRAPS = regulation("30/2003"), regulation("53/2010").with_unverified()


def origin(sequence: int | None = None) -> Origin:
    moment = datetime(2026, 11, 29, 12, tzinfo=UTC)
    return Origin(uuid4(), "T-1", sequence, moment, moment, by="S-7")


def opened(limits: Limits | None, rules: Regulation = ROULETTE) -> Round:
    terms = Terms("H", "0" * 64, "A", "R01", "MOP", 1, rules, None, date(2026, 11, 29), limits=limits)
    return Round.open(uuid4(), terms, origin(1))


def bet(round_: Round, spot: str, stake: int, sequence: int | None = None, rules: Regulation = ROULETTE) -> UUID:
    id_ = uuid4()
    round_.place_bet(rules, id_, origin(sequence), player="P-1", spot=spot, stake=str(stake), currency="MOP")
    return id_


def test_a_round_says_the_limits_that_it_was_opened_under() -> None:
    limits = Limits("MOP", Band(100_00, 50_000_00), exposure=500_000_00)
    assert opened(limits).terms.limits == "min 100.00 max 50000.00 exposure 500000.00"
    assert opened(None).terms.limits is None


def withdraw(round_: Round, bet: UUID) -> None:
    round_.withdraw_bet(ROULETTE, bet, origin())


def void(round_: Round, bet: UUID) -> None:
    round_.void_bet(ROULETTE, bet, origin(), reason="miskeyed")


def lower(round_: Round, bet: UUID) -> None:
    round_.change_bet(ROULETTE, bet, origin(), stake="100")


def move(round_: Round, bet: UUID) -> None:
    round_.change_bet(ROULETTE, bet, origin(), spot="red")


@pytest.mark.parametrize("act", [withdraw, void, lower, move])
def test_a_withdrawn_void_or_changed_bet_makes_room(act: Callable[[Round, UUID], None]) -> None:
    round_ = opened(Limits("MOP", Band(maximum=100_00), exposure=3_500_00))
    first = bet(round_, "straight:17", 100_00)
    with pytest.raises(Refusal, match="LGR-0606"):
        bet(round_, "straight:17", 99_00)
    with pytest.raises(Refusal, match="LGR-0607"):
        bet(round_, "odd", 1)
    book = round_.book
    act(round_, first)
    bet(round_, "straight:17", 99_00)
    assert round_.book is book, "it keeps in step and is not made anew"


def test_a_change_beyond_a_limit_is_refused_and_leaves_the_bet() -> None:
    round_ = opened(Limits("MOP", Band(10_00, 100_00)))
    first = bet(round_, "red", 50_00)
    for stake in ("900", "10001"):
        with pytest.raises(Refusal, match=r"LGR-060[56]"):
            round_.change_bet(ROULETTE, first, origin(), stake=stake)
    assert round_.bets[first].stake == 50_00
    round_.change_bet(ROULETTE, first, origin(), stake="10000")


def test_a_round_read_from_the_log_counts_what_it_holds() -> None:
    round_ = opened(Limits("MOP", exposure=3_500_00))
    bet(round_, "straight:17", 100_00)
    again = Round(round_.id)
    again.fold(event.body for event in round_.collect_events())
    again.limits = round_.limits
    with pytest.raises(Refusal, match="LGR-0607"):
        bet(again, "odd", 1)
    bet(again, "straight:18", 100_00)


def test_a_bet_in_time_that_comes_late_is_not_stopped_by_the_exposure_but_by_the_maximum() -> None:
    round_ = opened(Limits("MOP", Band(maximum=100_00), exposure=3_500_00))
    bet(round_, "straight:17", 100_00, 2)
    round_.close_betting(ROULETTE, origin(5))
    bet(round_, "odd", 50_00, 3)
    with pytest.raises(Refusal, match="LGR-0606"):
        bet(round_, "odd", 60_00, 4)
    assert [each.late for each in round_.bets.values()] == [False, True]


def test_53_2010_the_exposure_follows_the_throws() -> None:
    round_ = opened(Limits("MOP", exposure=100_00), CRAPS)
    bet(round_, "pass", 100_00, rules=CRAPS)
    with pytest.raises(Refusal, match="LGR-0607"):
        bet(round_, "big6", 1_00, rules=CRAPS)
    round_.close_betting(CRAPS, origin())
    round_.record_throw(CRAPS, origin(), dice="2-2")
    round_.reopen_betting(origin())
    # The point is 4, and six may come before it: both would be paid.
    with pytest.raises(Refusal, match="LGR-0607"):
        bet(round_, "big6", 1_00, rules=CRAPS)
    # Four or a seven decides this one and the line, and never for both.
    bet(round_, "place_lose:4", 50_00, rules=CRAPS)


def test_after_an_approved_correction_the_exposure_is_that_of_the_bets_as_they_lie() -> None:
    round_ = opened(Limits("MOP", exposure=100_00), CRAPS)
    first = bet(round_, "pass", 50_00, rules=CRAPS)
    round_.close_betting(CRAPS, origin())
    round_.record_throw(CRAPS, origin(), dice="2-2")
    round_.reopen_betting(origin())
    bet(round_, "big6", 1_00, rules=CRAPS)
    round_.close_betting(CRAPS, origin())
    asked, proposal = Asked(kind="bet", reason="miskeyed_stake", bet=first, stake="10000"), origin()
    round_.propose_correction(CRAPS, asked, proposal)
    round_.approve_correction(CRAPS, proposal.cause, origin()._replace(by="S-8"))
    assert round_.bets[first].stake == 100_00
    round_.record_throw(CRAPS, origin(), dice="5-6")
    round_.reopen_betting(origin())
    with pytest.raises(Refusal, match=r"it could lose MOP 102\.00"):
        bet(round_, "big6", 1_00, rules=CRAPS)


def test_31_2003_carried_bets_count_in_the_exposure_of_the_round_that_has_them() -> None:
    rules = regulation("31/2003")
    terms = Terms("H", "0" * 64, "A", "C01", "MOP", 1, rules, None, date(2026, 11, 29), limits=Limits("MOP", exposure=100_00))
    round_ = Round.open(uuid4(), terms, origin())
    bet(round_, "small", 100_00, rules=rules)
    round_.close_betting(CUSSEC, origin())
    successor = round_.void(rules, origin(), reason="bridged_dice", successor=Successor(uuid4(), date(2026, 11, 29)))
    assert successor is not None
    with pytest.raises(Refusal, match="LGR-0607"):
        bet(successor, "small", 1_00, rules=rules)
    bet(successor, "big", 1_00, rules=rules)


CUSSEC = regulation("31/2003")
SPOTS = ("small", "total:6")


def corrected(round_: Round, rules: Regulation, kind: str, **asked: str | UUID) -> None:
    proposal = origin()
    round_.propose_correction(rules, Asked(kind, "miskeyed", **asked), proposal)  # type: ignore[arg-type]
    round_.approve_correction(rules, proposal.cause, origin()._replace(by="S-8"))


def carried_on(round_: Round) -> Round:
    following = round_.void(CUSSEC, origin(), reason="bridged_dice", successor=Successor(uuid4(), date(2026, 11, 29)))
    assert following is not None
    return following


def room(round_: Round, rules: Regulation, spot: str, heir: Round | None = None) -> int:
    """The largest late stake, in steps of 10.00, that the round takes; raises what else speaks against it."""

    def fits(stake: int) -> bool:
        said = {"player": "P-1", "spot": spot, "stake": str(stake), "currency": "MOP"}
        try:
            placed, amount, _ = round_.verify_bet(rules, uuid4(), origin(2), **said)
            if heir is not None:
                heir.verify_late_carry(rules, "P-1", placed, amount)
        except Refusal as refusal:
            if refusal.code != "LGR-0606":
                raise
            return False
        return True

    return max((stake for stake in range(10_00, 101_00, 10_00) if fits(stake)), default=0)


def test_a_late_bet_counts_beside_what_was_decided_or_carried_and_not_beside_what_went_back() -> None:
    round_ = opened(Limits("MOP", Band(maximum=100_00)), CUSSEC)
    first, wrong = bet(round_, "small", 30_00, 3, CUSSEC), bet(round_, "small", 20_00, 4, CUSSEC)
    round_.close_betting(CUSSEC, origin(9))
    assert room(round_, CUSSEC, "small") == 50_00
    heir = carried_on(round_)
    assert room(round_, CUSSEC, "small") == 50_00, "what was carried on lay there all the same"
    bet(heir, "small", 40_00, rules=CUSSEC)
    assert room(round_, CUSSEC, "small", heir) == 10_00, "and the successor takes no more than its maximum either"
    heir.close_betting(CUSSEC, origin(20))
    heir.record_outcome(CUSSEC, "1-2-3", origin())
    assert room(round_, CUSSEC, "small", heir) == 10_00, "what is decided was there"
    corrected(heir, CUSSEC, "bet", bet=wrong, stake="1000")
    assert room(round_, CUSSEC, "small", heir) == 20_00
    corrected(heir, CUSSEC, "bet", bet=first, player="P-2")
    assert room(round_, CUSSEC, "small", heir) == 50_00


def test_53_2010_a_late_bet_counts_beside_what_lay_there_in_its_time_of_betting() -> None:
    round_ = opened(Limits("MOP", Band(maximum=100_00)), CRAPS)
    bet(round_, "pass", 10_00, 1, CRAPS)
    bet(round_, "field", 70_00, 1, CRAPS)
    round_.close_betting(CRAPS, origin(9))
    round_.record_throw(CRAPS, origin(), dice="2-2")
    round_.reopen_betting(origin(10))
    bet(round_, "field", 90_00, 11, CRAPS)
    round_.close_betting(CRAPS, origin(19))
    round_.record_throw(CRAPS, origin(), dice="3-4")
    assert room(round_, CRAPS, "field") == 30_00, "the second bet was placed when the first had been paid"


STEPS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 5), st.sampled_from(SPOTS), st.integers(1, 4)), min_size=15, max_size=30
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_what_is_remembered_and_what_is_read_from_the_log_leave_the_same_room(steps: list[tuple[int, int, str, int]]) -> None:
    """A chain of rounds, played and put right at random: after each step each takes and refuses the same as one read anew."""
    chain = [opened(Limits("MOP", Band(maximum=100_00), exposure=3_000_00), CUSSEC)]
    events: dict[UUID, list[Event]] = {chain[0].id: []}

    def step(act: int, which: int, spot: str, tens: int) -> None:
        last, some = chain[-1], chain[which % len(chain)]
        known = [*some.bets, *some.gone]
        if act <= 2:
            bet(some, spot, tens * 10_00, 2 if act == 2 else None, CUSSEC)
        elif act == 3 and known:
            last.withdraw_bet(CUSSEC, known[which % len(known)], origin())
        elif act == 4:
            last.close_betting(CUSSEC, origin(9))
        elif act == 5:
            chain.append(carried_on(last))
            events[chain[-1].id] = []
        elif act == 6:
            last.record_outcome(CUSSEC, "1-2-3", origin())
        elif act == 7 and known:
            corrected(some, CUSSEC, "bet", bet=known[which % len(known)], stake=str(tens * 5_00))
        elif known:
            corrected(some, CUSSEC, "bet_void", bet=known[which % len(known)])

    for each in steps:
        with suppress(Refusal):
            step(*each)
        for round_ in chain:
            events[round_.id] += [event.body for event in round_.collect_events()]
        anew = []
        for round_ in chain:
            again = Round(round_.id)
            again.fold(events[round_.id])
            again.limits = round_.limits
            anew.append(again)
        for warm, cold in zip(chain, anew, strict=True):
            heirs = (chain[-1], anew[-1]) if warm.status is Status.CARRIED else (None, None)
            for spot in SPOTS:
                rooms = []
                for round_, heir in zip((warm, cold), heirs, strict=True):
                    try:
                        rooms.append(str(room(round_, CUSSEC, spot, heir)))
                    except Refusal as other:  # another reason, which has to be the same too
                        rooms.append(str(other))
                assert rooms[0] == rooms[1]
