"""Corrections against a real database: who wins a race, what is in the log afterwards, and the table that plays on meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from queue import Queue
from uuid import UUID, uuid4

import psycopg
import pytest

from ledger.application import Rounds
from ledger.events import (
    BetCorrected,
    CorrectionApproved,
    CorrectionProposed,
    Event,
    OutcomeCorrected,
    RoundResettled,
    RoundVoided,
)
from ledger.reports import ApproveCorrection, DeclineCorrection, ProposeCorrection, Report, VoidRound
from ledger.round import Status
from ledger.store import log
from tests.integration.reading_back import verify_read_back
from tests.support import Terminal, accepted, codes, house, post_in_turn


@pytest.fixture(autouse=True)
def read_back(dsn: str) -> Iterator[None]:
    """Whatever was played in a test comes out of the read side as it should."""
    yield
    verify_read_back(dsn)


@pytest.fixture
def houses(dsn: str) -> Iterator[list[Rounds]]:
    """Two processes on one database."""
    both = [house(dsn), house(dsn)]
    yield both
    for each in both:
        each.close()


def told(dsn: str, round_: UUID) -> list[Event]:
    with psycopg.connect(dsn) as conn:
        return [recorded.body for recorded in log.stream(conn, round_)]


def settled(rounds: Rounds, table: Terminal) -> UUID:
    """A round of which 17 is on record, with a straight on it; the bet's id."""
    opening, placed = table.open(), table.bet("straight:17")
    accepted(rounds.post([opening, placed, table.bet("red", player="P-2"), table.close(), table.outcome("17")]))
    return placed.event_id


def propose(table: Terminal, by: str = "S-1", **said: object) -> Report:
    return table.report(ProposeCorrection(**{"reason": "found_wrong", **said}), by=by)  # type: ignore[arg-type]


def approve(table: Terminal, correction: Report, by: str = "S-2") -> Report:
    return table.report(ApproveCorrection(correction=correction.event_id), by=by, round=correction.round)


def test_an_outcome_is_corrected_in_one_append_after_its_approval(houses: list[Rounds], dsn: str) -> None:
    rounds, table = houses[0], Terminal()
    bet = settled(rounds, table)
    asked = propose(table, kind="outcome", outcome="7")
    [proposed, approved] = accepted(rounds.post([asked, approve(table, asked)]))
    assert len(proposed.positions) == 1
    assert [b - a for a, b in pairwise(approved.positions)] == [1] * (len(approved.positions) - 1)
    *_, first, second, third, fourth, fifth, last = told(dsn, table.round)
    kinds = [CorrectionProposed, CorrectionApproved, OutcomeCorrected, BetCorrected, BetCorrected, RoundResettled]
    assert [type(each) for each in (first, second, third, fourth, fifth, last)] == kinds
    assert isinstance(fourth, BetCorrected)
    assert (fourth.bet, fourth.before.returned, fourth.after.returned, fourth.by) == (bet, "360000", "0", "S-2")


def test_the_same_approval_twice_is_a_replay_and_another_one_is_refused(houses: list[Rounds]) -> None:
    rounds, table = houses[0], Terminal()
    settled(rounds, table)
    asked = propose(table, kind="outcome", outcome="7")
    yes = approve(table, asked)
    accepted(rounds.post([asked, yes]))
    assert codes(rounds.post([yes, approve(table, asked, by="S-3"), yes])) == ["replayed", "LGR-0243", "replayed"]


def test_an_approval_that_overtook_its_proposal_is_taken_after_it(houses: list[Rounds]) -> None:
    rounds, table = houses[0], Terminal()
    settled(rounds, table)
    asked = propose(table, kind="outcome", outcome="7")
    yes = approve(table, asked)
    assert codes(rounds.post([yes])) == ["LGR-0248"]
    assert codes(rounds.post([asked, yes])) == ["accepted", "accepted"]


def test_two_persons_who_approve_at_the_same_moment_in_two_processes_make_it_once(houses: list[Rounds], dsn: str) -> None:
    """Neither waits for a lease, since the round is over: the version of its stream decides."""
    table = Terminal()
    for _ in range(12):
        settled(houses[0], table)
        asked = propose(table, kind="outcome", outcome="7")
        accepted(houses[0].post([asked]))
        both = [approve(table, asked, by) for by in ("S-2", "S-3")]
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda house, yes: house.post([yes])[0], houses, both))
        assert sorted(codes(answers)) == ["LGR-0243", "accepted"]
        events = told(dsn, table.round)
        assert [type(each) for each in events].count(OutcomeCorrected) == 1
        assert sum(isinstance(each, BetCorrected) for each in events) == 2
        assert houses[1].round(table.round).outcome == "7"


def test_a_settled_round_is_corrected_from_another_process_while_the_table_plays_on(houses: list[Rounds], dsn: str) -> None:
    """The service holds the table's lease; a correction of yesterday's round asks for none."""
    service, desk = houses
    table = Terminal()
    bet = settled(service, table)
    asked = propose(table, kind="bet_void", bet=bet)
    accepted(service.post([table.open(), table.bet("red")]))
    accepted(desk.post([asked, approve(table, asked)]))
    accepted(service.post([table.bet("black"), table.close(), table.outcome("1")]))
    assert [each.round(asked.round).bets[bet].result for each in houses] == ["void", "void"]
    assert service.round(table.round).status is Status.SETTLED


def test_yesterday_is_corrected_as_fast_as_today_is_played(houses: list[Rounds], dsn: str) -> None:
    """A service plays a table without a pause; another process corrects each of its rounds twice, as soon as it is settled."""
    service, desk = houses
    done: Queue[tuple[Terminal, UUID] | None] = Queue()

    def play() -> None:
        for _ in range(25):
            table = Terminal()
            done.put((table, settled(service, table)))
        done.put(None)

    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play)
        corrected = []
        while (one := done.get(timeout=60)) is not None:
            table, bet = one
            asked = [propose(table, kind="outcome", outcome="7"), propose(table, kind="bet_void", bet=bet)]
            for each in asked:
                accepted(desk.post([each, approve(table, each)]))
            corrected.append((table.round, bet))
        playing.result()
    for round_, bet in corrected:
        found = service.round(round_)
        assert (found.outcome, found.bets[bet].result) == ("7", "void")
        assert found.returned <= found.taken


def test_a_round_that_goes_on_is_corrected_by_whoever_writes_its_table(houses: list[Rounds]) -> None:
    service, desk = houses
    table = Terminal()
    accepted(service.post([table.open(), placed := table.bet("red"), table.close()]))
    asked = propose(table, kind="bet", bet=placed.event_id, stake="500")
    assert codes(desk.post([asked])) == ["LGR-0521"]
    accepted(service.post([asked, approve(table, asked), table.outcome("1")]))
    assert service.round(table.round).totals.handle == "500"  # type: ignore[union-attr]


def test_a_return_frees_the_table(houses: list[Rounds], dsn: str) -> None:
    rounds, table = houses[0], Terminal()
    accepted(rounds.post([table.open(), table.bet("red")]))
    asked = propose(table, kind="return", reason="wheel_broken")
    accepted(rounds.post([asked, approve(table, asked)]))
    assert isinstance(told(dsn, table.round)[-1], RoundVoided)
    assert codes(rounds.post([table.close()])) == ["LGR-0204"]
    accepted(rounds.post(table.whole_round([("red", "10000")], "1")))


def test_a_return_of_a_settled_round_leaves_the_table_to_the_round_that_plays(houses: list[Rounds]) -> None:
    rounds, table = houses[0], Terminal()
    settled(rounds, table)
    asked = propose(table, kind="return", reason="wheel_broken")
    accepted(rounds.post([table.open(), table.bet("red")]))
    accepted(rounds.post([asked, approve(table, asked), table.close(), table.outcome("1")]))
    assert rounds.round(asked.round).status is Status.RETURNED
    assert rounds.round(table.round).status is Status.SETTLED


def test_ex_gratia_takes_two_persons_and_moves_nothing_before(houses: list[Rounds], dsn: str) -> None:
    rounds, table = houses[0], Terminal()
    settled(rounds, table)
    asked = propose(table, kind="ex_gratia", player="P-5", spot="straight:17", stake="10000", amount="350000")
    answers = rounds.post([asked, *(approve(table, asked, by) for by in ("S-2", "S-2", "S-1", "S-3", "S-4"))])
    assert codes(answers) == ["accepted", "accepted", "LGR-0249", "LGR-0249", "accepted", "LGR-0243"]
    assert [len(each.positions) for each in answers] == [1, 1, 0, 0, 2, 0]


def test_a_terminal_alone_decides_nothing(houses: list[Rounds]) -> None:
    rounds, table = houses[0], Terminal()
    settled(rounds, table)
    asked = propose(table, kind="outcome", outcome="7")
    accepted(rounds.post([asked]))
    no = DeclineCorrection(correction=asked.event_id)
    unsigned = [
        table.report(asked.body),
        table.report(ApproveCorrection(correction=asked.event_id)),
        table.report(no),
    ]
    assert codes(rounds.post(unsigned)) == ["LGR-0801"] * 3
    assert codes(rounds.post([table.report(no, by="S-9")])) == ["accepted"]
    assert codes(rounds.post([approve(table, asked)])) == ["LGR-0243"]


def test_two_processes_correct_one_round_in_turn_and_each_starts_from_what_the_other_made(houses: list[Rounds]) -> None:
    table = Terminal()
    settled(houses[0], table)
    for n, outcome in enumerate(["7", "17", "3", "7", "17"]):
        asked = propose(table, kind="outcome", outcome=outcome)
        accepted(post_in_turn(houses, n % 2, [asked]))
        accepted(post_in_turn(houses, (n + 1) % 2, [approve(table, asked)]))
    assert houses[0].round(table.round).totals == houses[1].round(table.round).totals


@pytest.mark.parametrize("settled_before", [False, True])
@pytest.mark.parametrize("stakes", [["4000"], ["25000"], ["4000", "25000", "6000"], ["25000", "4000", "10000"]])
def test_31_2003_art_3_3_a_carried_bet_with_another_stake_leaves_no_round_less_than_none(
    houses: list[Rounds], dsn: str, stakes: list[str], settled_before: bool
) -> None:
    """Over the chain its stake was taken once, and its handle is that of the last correction."""
    rounds, table = houses[0], Terminal("C01", "cussec")
    accepted(rounds.post([table.open(), bet := table.bet("small", "10000"), table.close()]))
    for _ in range(2):
        following = uuid4()
        accepted(rounds.post([table.report(VoidRound(reason="bridged_dice", successor=following))]))
        table.round = following
        accepted(rounds.post([table.close()]))
    if settled_before:
        accepted(rounds.post([table.outcome("1-2-3")]))
    for stake in stakes:
        asked = propose(table, kind="bet", bet=bet.event_id, stake=stake)
        accepted(rounds.post([asked, approve(table, asked)]))
        verify_read_back(dsn)
    if not settled_before:
        accepted(rounds.post([table.outcome("1-2-3")]))
    verify_read_back(dsn)
    with psycopg.connect(dsn) as conn:
        [(least, taken, handle)] = conn.execute(
            "SELECT min(least(stakes, carried_in, carried_out, returned, lost, won, pushed)), sum(stakes - returned), "
            "sum(lost + won) FROM projection.rounds"
        ).fetchall()
        [(reported, bets)] = conn.execute("SELECT sum(lost + won), sum(bets) FROM projection.table_reports").fetchall()
    assert least == 0
    assert taken == handle == reported == int(stakes[-1])
    assert bets == 1
