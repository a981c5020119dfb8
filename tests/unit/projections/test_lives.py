"""The fold of whole lives: whatever happens, no stake is lost sight of, and no lie is folded."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.events import (
    EVENTS,
    BetChanged,
    BetCorrected,
    BetPlaced,
    BetsCarried,
    BettingClosed,
    BettingReopened,
    BetVoided,
    BetWithdrawn,
    CarriedBet,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    DocumentRecorded,
    Event,
    LostBet,
    MovedBet,
    OutcomeCorrected,
    OutcomeRecorded,
    PayoutMade,
    PlayerAdjusted,
    Recorded,
    RoundHeld,
    RoundReleased,
    RoundResettled,
    RoundSettled,
    RoundVoided,
    StaffSignedOff,
    Standing,
    ThrowRecorded,
)
from projections.checks import Contradiction
from projections.fold import NOTHING, Books, keep_books
from projections.movements import balances, movements
from projections.rows import RoundRow
from projections.tally import Heading, Line, count_up
from tests.unit.projections.lives import EVERYTHING, Lane, life, lived, mingled
from tests.unit.projections.made import uuid

SEEDS = st.integers(0, 2**32)


def test_every_event_of_the_log_has_a_place_in_the_fold() -> None:
    assert {type(event.body) for event in life(EVERYTHING)} | {DocumentRecorded} == set(EVENTS)


# What always holds.


def conserved(row: RoundRow) -> bool:
    return row.stakes + row.carried_in == row.lost + row.won + row.pushed + row.returned + row.carried_out + row.escrow


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_corrections_differences_sum_to_the_final_standings(seed: int) -> None:
    lanes = lived(seed)
    books = keep_books(Recorded(position, *placed) for position, placed in enumerate(mingled(lanes, seed), 1))
    left = Counter[tuple[str, str]]()
    for lane in lanes:
        left.update(lane.balances())
    assert {key: delta for key, delta in books.balances.items() if delta} == {key: delta for key, delta in left.items() if delta}
    for round_ in (round_ for lane in lanes for round_ in lane.rounds):
        row = books.rounds[round_.id]
        assert conserved(row)
        assert row.escrow == sum(int(bet.stake) for bet in round_.bets.values() if bet.result == "open")
        for id_, bet in round_.bets.items():
            found = books.bets[round_.id, id_]
            assert (found.player, found.spot, str(found.stake), found.result) == (bet.player, bet.spot, bet.stake, bet.result)
            assert str(found.returned) == bet.returned


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_money_sums_to_zero_and_no_stake_is_lost_sight_of_after_every_event(seed: int) -> None:
    log, known = life(seed, 2), NOTHING
    for event in log:
        books = keep_books([event], known)
        known = books.onto(known)
        sums = Counter[str]()
        for (_, currency), delta in books.balances.items():
            sums[currency] += delta
        assert not any(sums.values())
        for row in books.rounds.values():
            assert conserved(row)
            assert min(row.escrow, row.stakes, row.carried_in, row.carried_out, row.returned, row.lost, row.won, row.pushed) >= 0


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_over_a_chain_stakes_are_taken_once_and_handle_is_counted_once(seed: int) -> None:
    (lane,) = (lane for lane in lived(seed, 6) if lane.game == "cussec")
    books = keep_books(Recorded(position, *placed) for position, placed in enumerate(lane.events, 1))
    rows = books.rounds.values()
    assert sum(row.carried_in for row in rows) == sum(row.carried_out for row in rows)
    taken = sum(row.stakes for row in rows)
    assert taken == sum(row.lost + row.won + row.pushed + row.returned + row.escrow for row in rows)
    alive = Counter(bet for (_, bet), row in books.bets.items() if row.result != "carried")
    assert set(alive.values()) <= {1}, "a bet is in one round at a time"


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_any_cut_into_batches_gives_the_same_books(seed: int, cuts: list[int]) -> None:
    log = life(seed, 3)
    whole = keep_books(log)
    parts, known = [], NOTHING
    for start, end in pairwise([0, *sorted(cuts), len(log)]):
        before = msgspec.to_builtins({str(key): row for key, row in known.bets.items()})
        part = keep_books(log[start:end], known)
        assert msgspec.to_builtins({str(key): row for key, row in known.bets.items()}) == before, "what is known is not changed"
        known = part.onto(known)
        parts.append(part)
    assert [moved for part in parts for moved in part.movements] == whole.movements
    assert (known.rounds, known.bets, known.holds, known.corrections) == (
        whole.rounds,
        whole.bets,
        whole.holds,
        whole.corrections,
    )
    assert [row for part in parts for row in part.voids] == whole.voids
    assert [row for part in parts for row in part.late_bets] == whole.late_bets
    staff = {position: row for part in parts for position, row in part.staff.items()}
    assert staff == whole.staff
    assert balances([moved for part in parts for moved in part.movements]) == whole.balances


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_any_cut_into_batches_gives_the_same_report(seed: int, cuts: list[int]) -> None:
    log = life(seed, 3)
    whole = count_up(log)
    known: dict[UUID, Heading] = {}
    lines: dict[Heading, Line] = {}
    stakes, outcomes = Counter[Any](), Counter[Any]()
    for start, end in pairwise([0, *sorted(cuts), len(log)]):
        part = count_up(log[start:end], known)
        known |= part.opened
        for heading, line in part.lines.items():
            total = lines.setdefault(heading, Line())
            total += line
        stakes.update(part.stakes)
        outcomes.update(part.outcomes)
    assert (known, lines) == (whole.opened, whole.lines)
    assert (stakes, outcomes) == (whole.stakes, whole.outcomes)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_the_report_says_what_the_rounds_say(seed: int) -> None:
    log = life(seed, 3)
    rows, tally = keep_books(log).rounds.values(), count_up(log)
    for name in ("lost", "won", "pushed", "prizes", "commission", "breakage", "adjusted"):
        assert sum(getattr(line, name) for line in tally.lines.values()) == sum(getattr(row, name) for row in rows)
    assert sum(line.bets for line in tally.lines.values()) == sum(row.resolved for row in rows)
    assert sum(tally.stakes.values()) == sum(row.lost + row.won + row.pushed for row in rows)
    shown = [face for row in rows if row.outcome for face in row.outcome.split(",") if face != "void"]
    assert {key: count for key, count in tally.outcomes.items() if count} == Counter(
        (row.gaming_day, row.table_id, row.game, face)
        for row in rows
        if row.outcome
        for face in row.outcome.split(",")
        if face != "void"
    )
    assert sum(tally.outcomes.values()) == len(shown)


# How each correction moves.


def moved(before: Standing, after: Standing) -> list[tuple[str, str, int]]:
    body = BetCorrected(
        cause=uuid(random.Random(1)),
        terminal="T-t",
        occurred_at=life(1)[0].body.received_at,  # type: ignore[union-attr]
        received_at=life(1)[0].body.received_at,  # type: ignore[union-attr]
        correction=uuid(random.Random(2)),
        bet=uuid(random.Random(3)),
        currency="MOP",
        before=before,
        after=after,
    )
    return [(m.debit, m.credit, m.amount) for m in movements(Recorded(1, body.bet, 1, body), "T")]


OPEN = Standing(player="P-1", spot="red", stake="100", result="open")
LOST = Standing(player="P-1", spot="red", stake="100", result="lost", edge="1/37")
PUSH = Standing(player="P-1", spot="red", stake="100", result="push", returned="100", edge="1/37")
VOID = Standing(player="P-1", spot="red", stake="100", result="void", returned="100")
WON = Standing(
    player="P-1",
    spot="red",
    stake="100",
    result="won",
    odds="2",
    prize_exact="200",
    prize="200",
    commission="10",
    breakage="5",
    net_prize="185",
    returned="285",
    edge="1/37",
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (LOST, WON, [("win/T", "player/P-1", 285), ("win/T", "commission/T", 10), ("win/T", "breakage/T", 5)]),
        (WON, LOST, [("player/P-1", "win/T", 285), ("commission/T", "win/T", 10), ("breakage/T", "win/T", 5)]),
        (LOST, PUSH, [("win/T", "player/P-1", 100)]),
        (LOST, VOID, [("win/T", "player/P-1", 100)]),
        (PUSH, VOID, []),
        (OPEN, LOST, [("escrow/T", "win/T", 100)]),
        (
            OPEN,
            WON,
            [
                ("win/T", "player/P-1", 285),
                ("escrow/T", "win/T", 100),
                ("win/T", "commission/T", 10),
                ("win/T", "breakage/T", 5),
            ],
        ),
        (OPEN, VOID, [("escrow/T", "player/P-1", 100)]),
        (LOST, OPEN, [("win/T", "escrow/T", 100)]),
        (LOST, msgspec.structs.replace(LOST, player="P-2"), [("win/T", "player/P-1", 100), ("player/P-2", "win/T", 100)]),
        (OPEN, msgspec.structs.replace(OPEN, player="P-2"), [("escrow/T", "player/P-1", 100), ("player/P-2", "escrow/T", 100)]),
        (OPEN, msgspec.structs.replace(OPEN, stake="40"), [("escrow/T", "player/P-1", 60)]),
        (OPEN, msgspec.structs.replace(OPEN, stake="140"), [("player/P-1", "escrow/T", 40)]),
        (LOST, msgspec.structs.replace(LOST, stake="140"), [("player/P-1", "win/T", 40)]),
        (LOST, LOST, []),
    ],
)
def test_a_correction_moves_the_difference_of_each_account_once(
    before: Standing, after: Standing, expected: list[tuple[str, str, int]]
) -> None:
    assert moved(before, after) == expected


# What the registers hold.


def folded(seed: int) -> Books:
    return keep_books(life(seed, 6))


def test_the_registers_have_every_hold_correction_void_and_late_bet() -> None:
    log = life(EVERYTHING)
    kinds = Counter(type(event.body) for event in log)
    voids = sum(1 for event in log if isinstance(event.body, ThrowRecorded) and event.body.void)
    books = keep_books(log)
    assert len(books.holds) == kinds[RoundHeld]
    assert all(row.finding == "stands" and row.released_by == "S-2" for row in books.holds.values())
    assert len(books.corrections) == kinds[CorrectionProposed]
    assert Counter(row.status for row in books.corrections.values())["declined"] == kinds[CorrectionDeclined]
    assert {(row.proposed_by, row.approved_by) for row in books.corrections.values() if row.status == "approved"} == {
        ("S-4", "S-5")
    }
    assert all((row.seconded_by == "S-6") is (row.kind == "ex_gratia") for row in books.corrections.values())
    assert Counter(row.what for row in books.voids) == {
        "round": kinds[RoundVoided],
        "bet": kinds[BetVoided],
        "throw": voids,
    }
    assert sum(row.corrections for row in books.rounds.values()) == len(
        [row for row in books.corrections.values() if row.status == "approved"]
    )
    assert not any(row.holds or row.corrections_pending for row in books.rounds.values())


def test_who_worked_where_from_when_to_when() -> None:
    lane = Lane(random.Random(1), "T-1", "roulette").live(0)
    rows = keep_books(Recorded(position, *placed) for position, placed in enumerate(lane.events, 1)).staff.values()
    assert [(row.role, row.person, row.from_position, row.to_position) for row in rows] == [
        ("dealer", "S-1", 1, 3),
        ("supervisor", "S-2", 2, 4),
        ("dealer", "S-3", 3, None),
    ]


# Lies.


def changed(kind: type[Event], fields: dict[str, Any], which: Any = None) -> list[Recorded]:
    """A log of everything, with the first event of a kind (of which `which` is true) changed."""
    for seed in range(EVERYTHING, EVERYTHING + 30):
        log = life(seed)
        for at, event in enumerate(log):
            if isinstance(event.body, kind) and (which is None or which(event.body)):
                body = msgspec.structs.replace(event.body, **{k: v(event.body) if callable(v) else v for k, v in fields.items()})
                return [*log[:at], msgspec.structs.replace(event, body=body), *log[at + 1 :]]
    raise AssertionError("no such event")


OTHER = UUID(int=7)
LIES: list[tuple[type[Event], Any, dict[str, Any], str]] = [
    (BetWithdrawn, None, {"stake": "3"}, "the stake of bet"),
    (BetWithdrawn, None, {"player": "P-7"}, "not P-7's"),
    (BetWithdrawn, None, {"bet": OTHER}, "was never placed"),
    (BetVoided, None, {"spot": "spot:q"}, "not P-"),
    (BetVoided, None, {"bet": OTHER}, "was never placed"),
    (BetChanged, None, {"was_stake": "3"}, "the stake of bet"),
    (BetChanged, None, {"was_spot": "spot:q"}, "on spot:q"),
    (BetChanged, None, {"stake": "-3"}, "is not an amount"),
    (BetPlaced, lambda body: body.late, {"late": False}, " before"),
    (BetPlaced, None, {"currency": "USD"}, "its currency is USD"),
    (OutcomeRecorded, lambda body: body.lost, {"lost": lambda body: (*body.lost, body.lost[0])}, "was lost before"),
    (OutcomeRecorded, lambda body: body.lost, {"lost": lambda body: body.lost[1:]}, "not resolved"),
    (PayoutMade, None, {"stake": "3", "returned": lambda body: str(3 + int(body.net_prize))}, "the stake of bet"),
    (PayoutMade, None, {"player": "P-7"}, "not P-7's"),
    (PayoutMade, None, {"bet": OTHER}, "was never placed"),
    (ThrowRecorded, None, {"throw": 9}, "it is throw 9, and 0 were thrown before"),
    (ThrowRecorded, lambda body: body.void, {"decided": True}, "a void throw changes something"),
    (ThrowRecorded, lambda body: body.moved, {"moved": (MovedBet(bet=OTHER, was="x", spot="y"),)}, "was never placed"),
    (
        ThrowRecorded,
        lambda body: body.moved,
        {"moved": lambda body: (msgspec.structs.replace(body.moved[0], was="q"),)},
        "not on q",
    ),
    (
        ThrowRecorded,
        None,
        {"lost": (LostBet(bet=OTHER, player="P", spot="x", stake="1", edge="0", article="1"),)},
        "was never placed",
    ),
    (RoundSettled, lambda body: body.successor, {"carried": "1"}, "are open, 1 carried"),
    (RoundSettled, lambda body: body.successor, {"successor": None}, "no round has them"),
    (RoundSettled, lambda body: body.successor, {"successor": OTHER}, f"are carried to round {OTHER}"),
    (RoundSettled, None, {"bets": 99}, "its total of bets is 99"),
    (RoundVoided, lambda body: body.disposition == "stand", {"launch": 5}, "it is void launch 5, and 0 were"),
    (RoundVoided, lambda body: body.disposition == "stand", {"disposition": "drop"}, "no disposition is 'drop'"),
    (RoundVoided, lambda body: body.disposition == "carry", {"carried": "1"}, "are open, 1 carried"),
    (RoundVoided, lambda body: body.disposition == "carry", {"successor": None}, "no round has the bets"),
    (RoundVoided, lambda body: body.disposition == "carry", {"successor": OTHER}, f"are carried to round {OTHER}"),
    (RoundVoided, lambda body: body.disposition == "return", {"correction": None}, "the round has no correction None"),
    (RoundVoided, lambda body: body.disposition == "return", {"correction": OTHER}, "the round has no correction"),
    (BetsCarried, lambda body: body.bets, {"bets": ()}, "were carried, 0 are taken over"),
    (
        BetsCarried,
        lambda body: body.bets,
        {"bets": lambda body: (msgspec.structs.replace(body.bets[0], stake="1"), *body.bets[1:])},
        "in the round before",
    ),
    (BetsCarried, lambda body: body.bets, {"bets": lambda body: (*body.bets, body.bets[0])}, "was placed before"),
    (RoundReleased, None, {"hold": OTHER}, f"the round has no hold {OTHER}"),
    (CorrectionProposed, None, {"by": None}, "nobody has proved to be its author"),
    (CorrectionProposed, None, {"by": "S-5"}, "another person's than the author's"),
    (CorrectionProposed, None, {"approvals": 0}, "needs the approval of another person"),
    (CorrectionProposed, lambda body: body.kind == "bet_void", {"approvals": 2}, "is proposed, not approved"),
    (CorrectionApproved, None, {"by": None}, "another person's than the author's"),
    (CorrectionApproved, None, {"by": "S-4"}, "another person's than the author's"),
    (CorrectionApproved, lambda body: body.approval == 2, {"by": "S-5"}, "and the first approver's"),
    (CorrectionApproved, None, {"approval": 2}, "it is approval 2, and 0 were given"),
    (CorrectionApproved, None, {"correction": OTHER}, "the round has no correction"),
    (CorrectionDeclined, None, {"correction": OTHER}, "the round has no correction"),
    (OutcomeCorrected, None, {"was": "99"}, "the outcome on record was"),
    (BetCorrected, None, {"correction": OTHER}, "the round has no correction"),
    (BetCorrected, None, {"bet": OTHER}, "was never placed"),
    (BetCorrected, None, {"before": lambda body: msgspec.structs.replace(body.before, player="P-7")}, "not 'P-7'"),
    (
        BetCorrected,
        lambda body: body.before.result == "lost",
        {"before": lambda body: msgspec.structs.replace(body.before, stake="1")},
        "the stake of bet",
    ),
    (
        BetCorrected,
        lambda body: body.before.result == "lost",
        {"before": lambda body: msgspec.structs.replace(body.before, result="void", returned=body.before.stake)},
        "the result of bet",
    ),
    (
        BetCorrected,
        lambda body: body.after.result == "won",
        {"after": lambda body: msgspec.structs.replace(body.after, returned="1")},
        "returned is not stake + net prize",
    ),
    (
        BetCorrected,
        lambda body: body.after.result == "lost",
        {"after": lambda body: msgspec.structs.replace(body.after, net_prize="1", prize="1")},
        "has a prize",
    ),
    (
        BetCorrected,
        lambda body: body.after.result == "void",
        {"after": lambda body: msgspec.structs.replace(body.after, returned="1")},
        "goes back, not 1",
    ),
    (
        BetCorrected,
        lambda body: body.after.result == "void",
        {"after": lambda body: msgspec.structs.replace(body.after, result="gone")},
        "a bet cannot be 'gone'",
    ),
    (PlayerAdjusted, None, {"correction": OTHER}, "the round has no correction"),
    (PlayerAdjusted, None, {"kind": "gift"}, "for 'gift'"),
    (PlayerAdjusted, None, {"direction": "up"}, "nothing moves 'up'"),
    (PlayerAdjusted, lambda body: body.bet, {"bet": OTHER}, "was never placed"),
    (RoundResettled, None, {"prizes": "1"}, "its total of prizes is 1"),
    (RoundResettled, None, {"correction": OTHER}, "the round has no correction"),
    (StaffSignedOff, None, {"person": "S-9"}, "S-9 is not the supervisor"),
]


@pytest.mark.parametrize(("kind", "which", "fields", "reason"), LIES)
def test_a_lie_is_named_and_not_folded(kind: type[Event], which: Any, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(Contradiction, match=r"position \d+") as caught:
        keep_books(changed(kind, fields, which))
    assert reason in str(caught.value)


@pytest.mark.parametrize("kind", [OutcomeRecorded, ThrowRecorded, RoundVoided])
def test_nothing_settles_a_round_that_is_held(kind: type[Event]) -> None:
    log, at = first(kind, lambda log, at: log[at].stream in holds(log[:at]))
    stream = log[at].stream
    with pytest.raises(Contradiction, match="held for review"):
        keep_books(event for event in log if not (event.stream == stream and isinstance(event.body, RoundReleased)))


def first(kind: type[Event], such: Callable[[list[Recorded], int], bool]) -> tuple[list[Recorded], int]:
    """The first log with an event of the kind of which something is true, and where it is there."""
    for seed in range(100):
        log = life(seed)
        for at, event in enumerate(log):
            if isinstance(event.body, kind) and such(log, at):
                return log, at
    raise AssertionError("no such event")


def holds(log: list[Recorded]) -> set[UUID]:
    return {event.stream for event in log if isinstance(event.body, RoundHeld)}


def twice(kind: type[Event], which: Any = None) -> list[Recorded]:
    log = changed(kind, {}, which)
    at = next(at for at, event in enumerate(log) if isinstance(event.body, kind) and (which is None or which(event.body)))
    return [*log[: at + 1], msgspec.structs.replace(log[at], position=log[at].position), *log[at + 1 :]]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (BetPlaced, "was placed before"),
        (BetWithdrawn, "was withdrawn before"),
        (BetVoided, "was void before"),
        (BettingClosed, "betting was closed before"),
        (BettingReopened, "betting is open"),
        (OutcomeRecorded, "before"),
        (PayoutMade, "before"),
        (RoundSettled, "the round was settled before"),
        (RoundHeld, "was opened before"),
        (RoundReleased, "was released before"),
        (CorrectionProposed, "was proposed before"),
        (CorrectionDeclined, "was declined before"),
        (OutcomeCorrected, "the outcome on record was"),
        (StaffSignedOff, "is not the supervisor"),
    ],
)
def test_what_happens_once_is_folded_once(kind: type[Event], reason: str) -> None:
    with pytest.raises(Contradiction) as caught:
        keep_books(twice(kind))
    assert reason in str(caught.value)


def test_a_correction_is_made_once() -> None:
    with pytest.raises(Contradiction, match="was approved before"):
        keep_books(twice(CorrectionApproved, lambda body: body.approval == 1))


def test_a_locked_bet_is_never_withdrawn_changed_or_returned() -> None:
    """31/2003 art. 3(3)."""
    log, at = first(BettingClosed, lambda log, at: bool(locked(log[:at], log[at].stream)))
    close: Any = log[at].body
    carried, currency = locked(log, log[at].stream)[0]
    common: dict[str, Any] = {name: getattr(close, name) for name in ("cause", "terminal", "occurred_at", "received_at")}
    said: dict[str, Any] = {"bet": carried.bet, "player": carried.player, "currency": currency}
    for lie in (
        BetWithdrawn(**common, **said, spot=carried.spot, stake=carried.stake),
        BetVoided(**common, **said, spot=carried.spot, stake=carried.stake, reason="spilled"),
        BetChanged(**common, **said, was_spot=carried.spot, was_stake=carried.stake, spot="x", stake="1"),
    ):
        with pytest.raises(Contradiction, match="is locked"):
            keep_books([*log[:at], msgspec.structs.replace(log[at], body=lie)])


def locked(log: list[Recorded], stream: UUID) -> list[tuple[CarriedBet, str]]:
    """The locked bets of a round, with the currency."""
    return [
        (carried, event.body.currency)
        for event in log
        if event.stream == stream and isinstance(event.body, BetsCarried) and event.body.locked
        for carried in event.body.bets
    ]
