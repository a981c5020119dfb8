"""Several processes on one database at once: services, a demo, a command line. One order, nothing lost, nothing twice."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from ledger.events import BetPlaced, BettingClosed, OutcomeRecorded, PayoutMade, RoundOpened
from ledger.store import log
from tests.e2e.process import ROOT, roundledger
from tests.e2e.test_serve import process
from tests.integration.api.conftest import Floor
from tests.integration.projections.support import content, folded
from tests.support import house

TABLES = (("R01", "roulette", "MOP"), ("R02", "roulette", "HKD"))


def answered(floor: Floor, event: dict[str, Any]) -> dict[str, Any]:
    """The final answer to one event: as long as it is a refusal for now, a terminal sends it again."""
    until = time.monotonic() + 30
    while True:
        answer = floor.post([event])
        if answer.status_code == 200:
            (item,) = answer.json()["items"]
            if item["status"] != "rejected" or not item["problem"]["retryable"]:
                found: dict[str, Any] = item
                return found
        assert time.monotonic() < until, answer.text
        time.sleep(0.02)


def the_same_everywhere(dsn: str, *floors: Floor) -> None:
    """Every service shows all that is in the log, and what stands in the tables is what the log folds to."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        head = log.head(conn)
        for floor in floors:
            floor.get("/v1/reports/tables", at_least=str(head))
        assert content(conn) == folded(conn, "fresh")


def test_two_services_post_alternately_to_one_round(dsn: str) -> None:
    house(dsn).close()
    with process(dsn) as (_, one), process(dsn) as (_, other):
        first, second = Floor(one, dsn), Floor(other, dsn)
        events = [first.open(), first.bet("straight:17"), first.bet("red"), first.close(), first.outcome("17")]
        items = [answered((first, second)[n % 2], event) for n, event in enumerate(events)]
        assert [item["status"] for item in items] == ["accepted"] * 5
        # Whoever did not write it knows it as well: the same events sent to the other service have happened.
        again = [answered((second, first)[n % 2], event) for n, event in enumerate(events)]
        assert [(item["status"], item["positions"]) for item in again] == [("replayed", item["positions"]) for item in items]
        the_same_everywhere(dsn, first, second)
    with psycopg.connect(dsn) as conn:
        stream = log.stream(conn, UUID(str(first.round)))
    assert [recorded.version for recorded in stream] == list(range(1, len(stream) + 1))
    assert [recorded.position for recorded in stream] == sorted(recorded.position for recorded in stream)
    kinds = Counter(type(recorded.body) for recorded in stream)
    assert (kinds[RoundOpened], kinds[BetPlaced], kinds[BettingClosed], kinds[OutcomeRecorded], kinds[PayoutMade]) == (
        1,
        2,
        1,
        1,
        1,
    )


def test_two_services_race_for_the_same_events(dsn: str) -> None:
    """Each event of two tables is sent to both services at once: one of them has it accepted, the other finds it answered."""
    house(dsn).close()
    answers: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with process(dsn) as (_, one), process(dsn) as (_, other), ThreadPoolExecutor(8) as pool:

        def send(floor: Floor, events: list[dict[str, Any]]) -> None:
            for event in events:
                answers[event["id"]].append(answered(floor, event))

        floors = [(Floor(one, dsn, *table), Floor(other, dsn, *table)) for table in TABLES]
        racing = []
        for first, second in floors:
            # What both are sent, and bets that only one of them hears of, before betting closes.
            begun = [first.open(), *(first.bet("red") for _ in range(20))]
            second.round = first.round
            own = [[floor.bet("black") for _ in range(10)] for floor in (first, second)]
            racing += [pool.submit(send, floor, [*begun, *own[n]]) for n, floor in enumerate((first, second))]
        for waiting in racing:
            waiting.result(60)
        racing = []
        for first, second in floors:
            ended = [first.close(), first.outcome("17")]
            racing += [pool.submit(send, floor, ended) for floor in (first, second)]
        for waiting in racing:
            waiting.result(60)
        the_same_everywhere(dsn, *(floor for pair in floors for floor in pair))
    assert Counter(len(found) for found in answers.values()) == {2: 2 * 23, 1: 2 * 20}
    for found in answers.values():
        assert sorted(item["status"] for item in found) == ["accepted", "replayed"][: len(found)]
        assert len({tuple(item["positions"]) for item in found}) == 1
    with psycopg.connect(dsn) as conn:
        causes = conn.execute("SELECT cause::text, count(*) FROM ledger.events WHERE cause IS NOT NULL GROUP BY cause").fetchall()
        assert dict(causes) == dict.fromkeys(answers, 1)
        for first, _ in floors:
            stream = log.stream(conn, UUID(str(first.round)))
            assert [recorded.version for recorded in stream] == list(range(1, len(stream) + 1))
            assert sum(isinstance(recorded.body, BetPlaced) for recorded in stream) == 40
            assert sum(isinstance(recorded.body, OutcomeRecorded) for recorded in stream) == 1


def test_a_demo_plays_beside_a_service_with_a_terminal(dsn: str) -> None:
    """The demo takes over a table that the service still holds, and another is played at the service all the while."""
    house(dsn).close()
    stop = threading.Event()
    played: list[UUID] = []
    with process(dsn) as (_, url), ThreadPoolExecutor(1) as pool:
        mine, taken = Floor(url, dsn, *TABLES[1]), Floor(url, dsn, *TABLES[0])

        def play() -> None:
            while not stop.is_set():
                mine.accepted(mine.open(), mine.bet("red"), mine.bet("straight:17"), mine.close(), mine.outcome("17"))
                played.append(mine.round)
                taken.get("/v1/reports/tables", at_least="0")

        playing = pool.submit(play)
        taken.accepted(taken.open(), taken.bet(), taken.close(), taken.outcome("0"))
        try:
            told = roundledger("demo", "--rounds", "20", "--table", "R01", "--table", "C01", LEDGER_DSN=dsn)
        finally:
            stop.set()
        playing.result(30)
        assert "replay: equal" in told.stdout
        assert "40 rounds at 2 tables" in told.stderr
        taken.accepted_in_the_end(taken.open())  # the demo has given it back
        the_same_everywhere(dsn, mine, taken)
        totals = {row["table"]: row["rounds"] for row in mine.get("/v1/reports/tables", at_least="0")["lines"]}
    assert totals["R01"] == 1 + 20
    assert totals["R02"] == len(played) > 0


def test_a_property_is_applied_beside_a_running_service(dsn: str, tmp_path: Path) -> None:
    """Open rounds end under what they began under; from the next opening on the new configuration counts, without a restart."""
    house(dsn).close()
    changed = tmp_path / "house.toml"
    text = (ROOT / "seeds/demo/property.toml").read_text().replace('payable_unit = "0.01"', 'payable_unit = "0.10"')
    changed.write_text(text + text[text.index("[[tables]]") : text.index('[[tables]]\nid = "R02"')].replace("R01", "R09"))
    stop = threading.Event()
    with process(dsn) as (_, url), ThreadPoolExecutor(1) as pool:
        floor, busy, new = Floor(url, dsn), Floor(url, dsn, *TABLES[1]), Floor(url, dsn, "R09")
        (refused,) = new.items([new.open()])
        assert refused["problem"]["code"] == "LGR-0602"
        floor.accepted(floor.open(), floor.bet("straight:17"))
        before = floor.round
        rounds: list[UUID] = []

        def play() -> None:
            while not stop.is_set():
                busy.accepted(busy.open(), busy.bet("red"), busy.close(), busy.outcome("17"))
                rounds.append(busy.round)

        playing = pool.submit(play)
        try:
            assert "applied" in roundledger("property", "apply", str(changed), LEDGER_DSN=dsn).stderr
            new.accepted(new.open(), new.bet("red"), new.close(), new.outcome("17"))
            floor.accepted(floor.bet("red"), floor.close(), floor.outcome("17"))
            floor.accepted(floor.open())
        finally:
            stop.set()
        playing.result(30)
        the_same_everywhere(dsn, floor)
    with psycopg.connect(dsn) as conn:
        opened = {recorded.stream: recorded.body for recorded in log.read_all(conn) if isinstance(recorded.body, RoundOpened)}
    units = [opened[round_].payable_unit for round_ in rounds]
    assert units == sorted(units)  # "1", then "10": none goes back
    assert {units[0], units[-1]} == {"1", "10"}
    assert [opened[round_].payable_unit for round_ in (before, new.round, floor.round)] == ["1", "10", "10"]
    assert opened[before].property_hash != opened[new.round].property_hash == opened[floor.round].property_hash
