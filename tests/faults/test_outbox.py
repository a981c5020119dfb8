"""Faults of other programs' terminals, from the terminal's side: an outbox, the real service, and a link that breaks."""

from __future__ import annotations

import json
import random
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger.client import Door, Event, Flushed, Item, Outbox, Problem, Queued, Refused, Retry, Unanswered, flush, happened, uuid7
from ledger.reports import CloseBetting, Data, OpenRound, PlaceBet, RecordOutcome
from tests.faults.proxy import POST, Link
from tests.integration.api.conftest import Floor, serving

TERMINAL = "T-R01"
ONCE = Retry(tries=1)


class Table:
    """Events of one table's rounds, in the order in which they happen."""

    def __init__(self, table: str = "R01", terminal: str = TERMINAL) -> None:
        self.table, self.terminal = table, terminal
        self.opening = self.opened()

    def opened(self) -> Event:
        self.opening = happened(OpenRound(table=self.table, game="roulette"), terminal=self.terminal)
        return self.opening

    def event(self, data: Data) -> Event:
        return happened(data, terminal=self.terminal, round=self.opening.round)

    def bet(self, spot: str = "red", stake: str = "10000") -> Event:
        return self.event(PlaceBet(player="P-1", spot=spot, stake=stake, currency="MOP"))

    def whole(self, bets: int) -> list[Event]:
        """Opening, bets, close, outcome."""
        opening, placed = self.opened(), [self.bet() for _ in range(bets)]
        return [opening, *placed, self.event(CloseBetting()), self.event(RecordOutcome(outcome="17"))]


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    with Outbox(tmp_path / "outbox", terminal=TERMINAL) as found:
        yield found


@pytest.fixture
def link(floor: Floor) -> Iterator[Link]:
    with Link(floor.url) as found:
        yield found


def logged(dsn: str) -> Counter[str]:
    """Event id of a terminal → how many of the log's appends it caused."""
    with psycopg.connect(dsn) as conn:
        return Counter(str(cause) for (cause,) in conn.execute("SELECT cause FROM ledger.events WHERE cause IS NOT NULL"))


def once(floor: Floor, events: list[Event]) -> None:
    """Asserts that each of these events is in the log once, and no other."""
    assert logged(floor.dsn) == Counter(str(event.id) for event in events)


def sent(outbox: Outbox, url: str, **settings: Any) -> Flushed:
    with Door(url, retry=settings.pop("retry", ONCE)) as door:
        return flush(outbox, door, **settings)


# B20


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_b20_the_answer_to_a_flush_is_lost(floor: Floor, link: Link, outbox: Outbox, batch: int) -> None:
    """B20: the service committed and its answer did not come back. The next flush finds the first answers."""
    events = Table().whole(4)
    outbox.put(*events)
    link.cut_the_answer_to(POST)
    lost = sent(outbox, link.url, batch=batch)
    assert isinstance(lost.failure, Unanswered)
    assert (lost.judged, lost.waiting, link.cuts) == (0, 7, 1)
    found = sent(outbox, link.url, batch=batch)
    assert (found.failure, found.waiting, found.rejected) == (None, 0, 0)
    assert found.replayed == min(batch, 7)
    assert found.accepted == 7 - found.replayed
    once(floor, events)


def test_b20_a_door_that_tries_again_finds_out_by_itself(floor: Floor, link: Link, outbox: Outbox) -> None:
    events = Table().whole(2)
    outbox.put(*events)
    link.cut_the_answer_to(POST)
    assert sent(outbox, link.url, retry=Retry(first=0.01)).replayed == len(events)
    once(floor, events)


def flushing(path: Path, url: str) -> None:
    """A process that sends what waits, one event at a time, until it is killed."""
    with Outbox(path) as outbox, Door(url) as door:
        while True:
            flush(outbox, door, batch=1)
            time.sleep(0.005)


def test_b20_kill_9_of_whoever_sends(floor: Floor, outbox: Outbox) -> None:
    """B20: killed between the ledger's commit and the outbox's own; whoever comes next sends again, and nothing is twice."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.faults.test_outbox"])
    table, rng, events = Table(), random.Random(20), []
    for _ in range(6):
        round_ = table.whole(20)
        events += round_
        outbox.put(*round_)
        process = context.Process(target=flushing, args=(outbox.path, floor.url), daemon=True)
        before = outbox.standing().waiting
        process.start()
        while outbox.standing().waiting == before:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.join()
    assert sent(outbox, floor.url).failure is None
    stands = outbox.standing()
    assert (stands.waiting, stands.rejected, stands.acknowledged) == (0, 0, len(events))
    once(floor, events)


# B21


def test_b21_the_same_id_with_another_body(floor: Floor, outbox: Outbox, tmp_path: Path) -> None:
    """B21: another outbox sends other content under an id that was used. It is told so for good, and the first stands."""
    table = Table()
    events = [table.opening, table.bet(stake="10000")]
    outbox.put(*events)
    assert sent(outbox, floor.url).accepted == 2
    with Outbox(tmp_path / "other", terminal=TERMINAL) as other:
        other.put(happened(table.bet(stake="100000").data, terminal=TERMINAL, round=table.opening.round, id=events[1].id))
        assert sent(other, floor.url).rejected == 1
        [kept] = other.rejected()
    assert kept.problem.code == "LGR-0301"
    assert len(re.findall(r"[0-9a-f]{32}", kept.problem.detail)) == 2, "both fingerprints"
    once(floor, events)


# B22


@pytest.mark.parametrize("copies", ["one file", "a copy of the file"])
def test_b22_a_buffer_of_fifty_flushed_twice_in_parallel_and_again_later(
    floor: Floor, outbox: Outbox, tmp_path: Path, copies: str
) -> None:
    """B22: fifty events are in the log once, whoever sends them and how often; the second time all are replayed."""
    table = Table()
    events = [*table.whole(20), *table.whole(24)]
    assert len(events) == 50
    outbox.put(*events)
    old = _copied(outbox, tmp_path / "as it was")
    paths = [outbox.path, outbox.path if copies == "one file" else _copied(outbox, tmp_path / "copy")]
    _Meeting.meet = threading.Barrier(2)
    with _Meeting(paths[0]) as one, _Meeting(paths[1]) as other, ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda box: sent(box, floor.url, batch=10), (one, other)))
        stands = [box.standing() for box in (one, other)]
    assert [each.failure for each in done] == [None, None]
    assert [(s.waiting, s.acknowledged, s.rejected, s.contiguous) for s in stands] == [(0, 50, 0, 50)] * 2
    assert sum(each.accepted for each in done) == 50
    assert 60 <= sum(each.judged for each in done) <= 100, "the first ten went twice, and none more often"
    once(floor, events)
    before = floor.count()
    assert sent(outbox, floor.url).posts == 0, "everything is acknowledged"
    with Outbox(old) as restored:
        again = sent(restored, floor.url)
    assert (again.replayed, again.accepted, again.rejected) == (50, 0, 0)
    assert floor.count() == before


def _copied(outbox: Outbox, path: Path) -> Path:
    shutil.copy(outbox.path, path)
    shutil.copy(f"{outbox.path}-wal", f"{path}-wal")
    return path


class _Meeting(Outbox):
    """An outbox whose reader waits, before its first post, for the reader of another."""

    meet: threading.Barrier

    def waiting(self, *, after: int = 0, limit: int, most: int) -> list[Queued]:
        found = super().waiting(after=after, limit=limit, most=most)
        if found and found[0].n == 1:
            self.meet.wait(10)
        return found


def test_b22_an_outbox_that_was_restored_gives_no_number_to_a_second_event(floor: Floor, outbox: Outbox, tmp_path: Path) -> None:
    """B22: yesterday's backup goes on beside the original; the ledger takes what both have to say, and finds no fork."""
    table, events = Table(), []
    events += table.whole(2)
    outbox.put(*events)
    assert sent(outbox, floor.url).accepted == 5
    with Outbox(_copied(outbox, tmp_path / "restored")) as restored:
        for box in (outbox, restored, outbox, restored):
            round_ = table.whole(1)
            events += round_
            box.put(*round_)
            done = sent(box, floor.url)
            assert (done.accepted, done.rejected, done.waiting) == (4, 0, 0)
    once(floor, events)


# B23


def test_b23_only_the_bad_event_of_a_batch_is_rejected_and_kept_with_its_reason(floor: Floor, outbox: Outbox) -> None:
    """B23: [good, bad, good]. The good ones are stored once, and the bad one stays in the outbox for a person."""
    table = Table()
    good = [table.opening, table.bet("red"), table.bet("odd")]
    bad = table.bet("split:17-19")
    outbox.put(*good[:2], bad, good[2])
    done = sent(outbox, floor.url)
    assert (done.accepted, done.rejected, done.waiting) == (3, 1, 0)
    [kept] = outbox.rejected()
    assert (kept.id, kept.problem.code, kept.problem.cite is not None) == (bad.id, "LGR-0412", True)
    assert json.loads(kept.body)["data"]["spot"] == "split:17-19"
    assert outbox.standing().contiguous == 4
    once(floor, good)
    assert sent(outbox, floor.url).posts == 0, "what is rejected for good is not sent again"


def test_b23_what_is_refused_as_a_whole_blames_nobody(floor: Floor, outbox: Outbox) -> None:
    """B23: the service reads no batch of this kind; every event stays as it was."""
    outbox.put(*Table().whole(2))
    with Door(floor.url) as door:
        door._http.event_hooks = {"request": [lambda request: request.headers.update({"Content-Type": "text/plain"})]}
        done = flush(outbox, door)
    assert isinstance(done.failure, Refused)
    assert done.failure.problem.code == "LGR-0110"
    assert (done.judged, outbox.standing().waiting, outbox.standing().rejected) == (0, 5, 0)
    assert sent(outbox, floor.url).accepted == 5


# B24


@pytest.mark.parametrize("batch", [1, 100])
def test_b24_an_outcome_that_was_put_in_before_its_close_settles_nothing(floor: Floor, outbox: Outbox, batch: int) -> None:
    """B24: it is told so for good, so that it cannot settle the bets that were placed after it; the next outcome does."""
    table = Table()
    opening, bet, close, outcome = table.whole(1)
    outbox.put(opening, outcome, bet, close)
    done = sent(outbox, floor.url, batch=batch)
    assert (done.accepted, done.waiting, done.rejected) == (3, 0, 1)
    [early] = outbox.rejected()
    assert (early.id, early.problem.code) == (outcome.id, "LGR-0205")
    after = table.event(RecordOutcome(outcome="4"))
    outbox.put(after)
    assert sent(outbox, floor.url).accepted == 1
    assert outbox.standing().contiguous == outbox.standing().received == 5
    once(floor, [opening, bet, close, after])


def test_an_outcome_of_another_opening_of_the_outbox_is_judged_by_what_waits_before_it(
    floor: Floor, outbox: Outbox, tmp_path: Path
) -> None:
    """Each opening begins an epoch, whose numbers say nothing of the earlier ones: whether they wait is said with the post."""
    opening, bet, close, outcome = Table().whole(1)
    for event in (opening, outcome, bet, close):
        with Outbox(outbox.path) as box:
            box.put(event)
    done = sent(outbox, floor.url)
    assert (done.accepted, done.waiting, done.rejected) == (3, 0, 1)
    assert outbox.rejected()[0].id == outcome.id


def test_what_waits_for_an_event_of_an_earlier_opening_is_not_given_up(floor: Floor, outbox: Outbox) -> None:
    """The opening waits, because the table has a round; its bets, of a later epoch, are turned away with it and taken with it."""
    table, other = Table(), Table()
    before = table.whole(0)
    floor.accepted(
        *(json.loads(event.encoded()) for event in before[:2])
    )  # another program opened the table's round, and closed it
    opening, bet, close, outcome = other.whole(1)
    for event in (opening, bet, close, outcome):
        with Outbox(outbox.path) as box:
            box.put(event)
    done = sent(outbox, floor.url)
    assert (done.accepted, done.waiting, done.rejected) == (0, 4, 0)
    floor.accepted(json.loads(before[2].encoded()))
    done = sent(outbox, floor.url)
    assert (done.accepted, done.waiting, done.rejected) == (4, 0, 0)


def test_what_waits_for_something_else_keeps_no_refusal_from_being_final(floor: Floor, outbox: Outbox) -> None:
    """A stuck event of an earlier opening made an early outcome wait for its bell, and settle what was placed in between."""
    table = Table()
    elsewhere = Table("R02")
    floor.accepted(json.loads(elsewhere.opened().encoded()))
    outbox.put(elsewhere.opened())
    assert sent(outbox, floor.url).waiting == 1, "that table has a round open"
    first = table.opened()
    with Outbox(outbox.path) as other:
        early = happened(RecordOutcome(outcome="17"), terminal=TERMINAL, round=first.round)
        other.put(first, table.bet(), early)
        done = sent(other, floor.url)
        assert (done.accepted, done.rejected, done.waiting) == (2, 1, 1)
        [rejected] = other.rejected()
        assert (rejected.id, rejected.problem.code) == (early.id, "LGR-0205")


def test_what_can_never_be_taken_holds_up_nothing_else(floor: Floor, outbox: Outbox) -> None:
    """The bet of a round that was never opened is refused for good, and the table goes on."""
    table = Table()
    orphan = table.bet()
    events = table.whole(3)
    outbox.put(orphan, *events)
    done = sent(outbox, floor.url, batch=2)
    assert (done.accepted, done.waiting, done.rejected, done.failure) == (6, 0, 1, None)
    [rejected] = outbox.rejected()
    assert (rejected.id, rejected.problem.code, rejected.problem.retryable) == (orphan.id, "LGR-0202", False)
    assert outbox.standing().contiguous == 7
    once(floor, events)


def test_what_is_turned_away_is_passed_over_until_a_person_gives_it_up(floor: Floor, outbox: Outbox) -> None:
    """A second opening waits for the end of the first round, which its terminal does not report."""
    table = Table()
    first, second = table.opened(), table.opened()
    bet = happened(table.bet().data, terminal=TERMINAL, round=first.round)
    outbox.put(first, second, bet)
    done = sent(outbox, floor.url)
    assert (done.accepted, done.waiting, done.failure) == (2, 1, None)
    [waiting] = outbox.turned_away()
    assert (waiting.id, waiting.problem.code, waiting.answered_at) == (second.id, "LGR-0201", None)
    assert (outbox.give_up([second.id]), outbox.give_up([second.id])) == (1, 0)
    assert sent(outbox, floor.url).posts == 0, "somebody decided that it is sent no more"
    [given_up] = outbox.rejected()
    assert (given_up.id, given_up.problem.code) == (second.id, "LGR-0201")
    assert "given up by a person" in given_up.problem.detail
    assert "has round" in given_up.problem.detail, "and what the ledger had said"


def test_what_comes_after_a_number_that_the_ledger_never_hears_of_is_judged_for_good(floor: Floor, outbox: Outbox) -> None:
    table = Table()
    first, second = table.opened(), table.opened()
    outbox.put(first, second)
    sent(outbox, floor.url)
    outbox.give_up([second.id])
    late = [happened(data, terminal=TERMINAL, round=first.round) for data in (CloseBetting(), table.bet().data)]
    outbox.put(*late)
    done = sent(outbox, floor.url)
    assert (done.accepted, done.rejected, done.waiting) == (1, 1, 0)
    assert outbox.rejected()[-1].problem.code == "LGR-0210"


def test_events_of_a_round_whose_opening_was_rejected_come_to_an_end(outbox: Outbox) -> None:
    """At a table with two terminals the ledger waits for the other one's opening; this outbox knows that its own was none."""
    table = Table()
    opening, other = table.opened(), table.bet()
    outbox.put(opening, other, happened(CloseBetting(), terminal=TERMINAL, round=uuid7()))
    queued = outbox.waiting(limit=9, most=1 << 20)
    no_round = Problem(code="LGR-0202", status=404, detail="no round has this id", retryable=True)
    answers = [Problem(code="LGR-0602", status=422, detail="no table R09 is configured"), no_round, no_round]
    outbox.answered([(q, Item(id=q.id, status="rejected", problem=p)) for q, p in zip(queued, answers, strict=True)])
    rejected = outbox.rejected()
    assert [each.id for each in rejected] == [opening.id, other.id]
    assert "was rejected: LGR-0602: no table R09 is configured" in rejected[1].problem.detail
    assert (outbox.backlog, outbox.turned_away()[0].tries) == (1, 1), "of another's round nothing is known"


def test_a_round_that_was_open_already_is_one(outbox: Outbox) -> None:
    table = Table()
    outbox.put(table.opened(), table.bet())
    queued = outbox.waiting(limit=9, most=1 << 20)
    answers = [Problem(code="LGR-0203", status=409), Problem(code="LGR-0202", status=404, retryable=True)]
    outbox.answered([(q, Item(id=q.id, status="rejected", problem=p)) for q, p in zip(queued, answers, strict=True)])
    assert outbox.backlog == 1


# The link.


def test_a_terminal_keeps_working_while_the_link_is_down(floor: Floor, link: Link, outbox: Outbox) -> None:
    table, events = Table(), []
    link.go_away()
    for _ in range(5):
        round_ = table.whole(3)
        events += round_
        outbox.put(*round_)
        assert isinstance(sent(outbox, link.url).failure, Unanswered)
    assert outbox.standing().waiting == len(events)
    link.come_back()
    assert sent(outbox, link.url).accepted == len(events)
    once(floor, events)


def test_a_service_that_starts_again_is_found_again(floor: Floor, dsn: str, outbox: Outbox) -> None:
    table = Table()
    first, second = table.whole(2), table.whole(2)
    outbox.put(*first)
    assert sent(outbox, floor.url).accepted == 5
    outbox.put(*second)
    with serving(dsn) as other:
        done = _until(lambda: sent(outbox, other.url))
    assert done.rejected == 0
    once(floor, [*first, *second])


def _until(call: Callable[[], Flushed]) -> Flushed:
    """Until nothing waits: another process may still have the table."""
    deadline = time.monotonic() + 20
    while (done := call()).waiting and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not done.waiting
    return done
