"""Faults of other programs' terminals: retries, lost answers, offline buffers, and reports that overtake each other."""

from __future__ import annotations

import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ledger.application import Rounds
from ledger.errors import Refusal
from ledger.events import BetPlaced, BettingClosed, OutcomeRecorded, PayoutMade, RoundOpened, RoundSettled
from ledger.reports import Report
from ledger.store import log
from ledger.writer import Writer
from tests.faults.conftest import Command
from tests.faults.proxy import Proxy, proxied
from tests.integration.api.conftest import Floor, serving
from tests.support import Terminal, accepted, codes

Events = list[dict[str, Any]]


def stored(dsn: str) -> Counter[str]:
    """How many events of each kind the log holds."""
    with psycopg.connect(dsn) as conn:
        return Counter(dict(conn.execute("SELECT topic, count(*) FROM ledger.events GROUP BY topic").fetchall()))


def answered(floor: Floor, events: Events) -> list[dict[str, Any]]:
    """What a terminal is answered in the end: it sends the same again for as long as it is told to."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        answer = floor.post(events)
        if answer.status_code == 200:
            items: list[dict[str, Any]] = answer.json()["items"]
            if not any(item["status"] == "rejected" and item["problem"]["retryable"] for item in items):
                return items
        else:
            assert answer.json()["retryable"], answer.text
        time.sleep(0.05)
    raise AssertionError("not answered within 30 s")


# B19


def test_b19_two_services_settle_once(floor: Floor, dsn: str) -> None:
    """B19: the same outcome twenty times over, through two services on one database, at once."""
    floor.accepted(floor.open(), floor.bet("straight:17"), floor.bet("black"), floor.bet("red"), floor.close())
    outcome = floor.outcome("17")
    with serving(dsn) as second, ThreadPoolExecutor(20) as pool:
        doors = [floor, Floor(second.url, dsn)]
        answers = [item for items in pool.map(lambda n: answered(doors[n % 2], [outcome]), range(20)) for item in items]
    assert sorted(answer["status"] for answer in answers) == ["accepted", *["replayed"] * 19]
    assert len({tuple(answer["positions"]) for answer in answers}) == 1
    assert (stored(dsn)[PayoutMade.TOPIC], stored(dsn)[RoundSettled.TOPIC]) == (2, 1)


# B20

APPEND = re.compile(rb"\0append( one| on premises)?\0")
"""The execution of a statement by which the recorder appends, in Postgres' protocol: its name between two zero bytes."""


@pytest.fixture
def cut(dsn: str, rounds: Rounds) -> Iterator[tuple[Floor, Proxy]]:
    """A service that reaches its database over a network which can be cut."""
    with proxied(dsn) as proxy, serving(proxy.dsn) as server:
        found = Floor(server.url, dsn)
        yield found, proxy
        found.client.close()


@pytest.mark.parametrize("what", ["opening", "bet", "bets", "outcome", "whole round"])
def test_b20_committed_and_the_answer_lost(cut: tuple[Floor, Proxy], what: str) -> None:
    """B20: the connection is cut after COMMIT, before the reply. The retry finds its first answer; nothing is stored twice."""
    floor, proxy = cut
    opening = floor.open()
    table = {
        "opening": ([], [opening]),
        "bet": ([opening], [floor.bet("red")]),
        "bets": ([opening], [floor.bet("red"), floor.bet("black")]),
        "outcome": ([opening, floor.bet("straight:17"), floor.bet("red"), floor.close()], [floor.outcome("17")]),
        "whole round": ([], [opening, floor.bet("straight:17"), floor.bet("black"), floor.close(), floor.outcome("17")]),
    }
    before, sent = table[what]
    if before:
        floor.accepted(*before)
    proxy.cut_the_answer_to(APPEND)
    lost = floor.post(sent)
    assert proxy.cuts == 1
    assert (lost.status_code, lost.json()["code"]) == (503, "LGR-0501")
    assert lost.headers["retry-after"]
    committed = stored(floor.dsn)
    again = floor.items(sent)
    assert [item["status"] for item in again] == ["replayed"] * len(sent)
    assert stored(floor.dsn) == committed
    assert floor.items(sent) == again
    assert committed[PayoutMade.TOPIC] == {"outcome": 1, "whole round": 2}.get(what, 0)


def test_b20_committed_and_the_answer_lost_to_another_process(dsn: str, rounds: Rounds) -> None:
    """B20: the process that was not answered dies; the terminal's retry goes to its successor."""
    terminal = Terminal()
    accepted(rounds.post([terminal.open(), terminal.bet("straight:17"), terminal.close()]))
    rounds.close()
    outcome = terminal.outcome("17")
    with proxied(dsn) as proxy:
        with closing(Rounds(proxy.dsn)) as first:
            proxy.cut_the_answer_to(APPEND)
            with pytest.raises(Refusal) as caught:
                first.post([outcome])
            assert caught.value.code == "LGR-0501"
            assert caught.value.meaning.retryable
        with closing(Rounds(dsn)) as successor:
            assert codes(successor.post([outcome])) == ["replayed"]
            assert codes(successor.post([terminal.open()])) == ["accepted"]
    assert stored(dsn)[PayoutMade.TOPIC] == 1


# B22


def test_b22_an_offline_buffer_flushed_twice_and_again_later(floor: Floor, dsn: str) -> None:
    """B22: a buffer of 50 events, flushed by two senders at once, then again when the service has been started anew."""
    buffer = [floor.open(), *(floor.bet("red", player=f"P-{n}") for n in range(47)), floor.close(), floor.outcome("5")]
    with ThreadPoolExecutor(2) as pool:
        flushes = list(pool.map(lambda _: floor.items(buffer), range(2)))
    # Whichever came first; two halves of one flush may even have crossed.
    assert {item["status"] for items in flushes for item in items} == {"accepted", "replayed"}
    for first, second in zip(*flushes, strict=True):
        assert {first["status"], second["status"]} == {"accepted", "replayed"}
        assert first["positions"] == second["positions"]
    once = stored(dsn)
    assert (once[BetPlaced.TOPIC], once[PayoutMade.TOPIC], once[RoundSettled.TOPIC]) == (47, 47, 1)
    with serving(dsn) as later:
        items = answered(Floor(later.url, dsn), buffer)
    assert [item["status"] for item in items] == ["replayed"] * 50
    assert [item["positions"] for item in items] == [item["positions"] for item in flushes[0]]
    assert stored(dsn) == once


# B24


@pytest.mark.parametrize("together", [True, False], ids=["one batch", "one by one"])
def test_b24_what_arrives_in_the_wrong_order(floor: Floor, dsn: str, together: bool) -> None:
    """B24: the outcome arrives first, then the close, then a bet with a lower number of the terminal's. No outcome counts before
    the close; the bet was placed before it, by the terminal's own numbers, so it is one; what is numbered after it is none."""
    floor.accepted({**floor.open(), "sequence": "1"}, {**floor.bet("red"), "sequence": "2"})
    late = {**floor.bet("straight:17"), "sequence": "3"}
    close = {**floor.close(), "sequence": "4"}
    outcome = {**floor.outcome("17"), "sequence": "5"}
    past = {**floor.bet("straight:17"), "sequence": "6"}
    arriving = [outcome, close, late, past]
    items = floor.items(arriving) if together else [floor.items([event])[0] for event in arriving]
    said = [item.get("problem", {}).get("code", item["status"]) for item in items]
    assert said == ["LGR-0205", "accepted", "accepted", "LGR-0304"], "nothing is final while the outcome is missing"
    assert [item.get("problem", {}).get("retryable") for item in items] == [True, None, None, True]
    assert stored(dsn)[OutcomeRecorded.TOPIC] == 0
    floor.accepted(outcome)
    assert floor.items([late])[0]["status"] == "replayed"
    assert floor.items([past])[0]["problem"]["code"] == "LGR-0210"
    with psycopg.connect(dsn) as conn:
        bodies = [recorded.body for recorded in log.stream(conn, floor.round)]
    (settled,) = [body for body in bodies if isinstance(body, RoundSettled)]
    assert (settled.bets, settled.returned) == (2, "360000"), "the bet that was placed late is no bet"


# B25


def test_b25_a_bet_races_the_close_a_thousand_times(dsn: str, rounds: Rounds) -> None:
    """B25: each time exactly one order is in the log, and the answer to the bet is the one that the log gives."""
    writer, terminal, rng = Writer(rounds.post), Terminal(), random.Random(25)
    writer.start()
    said: dict[UUID, str] = {}

    def submit(report: Report, pause: float) -> str:
        time.sleep(pause)
        (code,) = codes(writer.submit([report]).result(30))
        return code

    with ThreadPoolExecutor(2) as pool:
        for _ in range(1000):
            accepted(writer.submit([terminal.open(), terminal.bet("red")]).result(30))
            bet = pool.submit(submit, terminal.bet("straight:17"), rng.uniform(0, 0.0005))
            close = pool.submit(submit, terminal.close(), rng.uniform(0, 0.0005))
            assert close.result(30) == "accepted"
            said[terminal.round] = bet.result(30)
            accepted(writer.submit([terminal.outcome("17")]).result(30))
    assert writer.close(30)
    kinds = defaultdict(list)
    with psycopg.connect(dsn) as conn:
        for recorded in log.read_all(conn):
            kinds[recorded.stream].append(type(recorded.body))
    for round_, answer in said.items():
        assert answer in ("accepted", "LGR-0210")
        bets = 2 if answer == "accepted" else 1
        paid = [PayoutMade] * (bets - 1)
        assert kinds[round_] == [RoundOpened, *[BetPlaced] * bets, BettingClosed, OutcomeRecorded, *paid, RoundSettled]
    assert set(said.values()) == {"accepted", "LGR-0210"}, "each has to win the race now and then"


def test_b25_a_bet_after_the_outcome_that_says_it_was_early(floor: Floor, dsn: str) -> None:
    """B25: what the terminal's clock says makes no bet of it: it was received after the close."""
    floor.accepted(floor.open(), floor.bet("red"), floor.close(), floor.outcome("17"))
    before = stored(dsn)
    assert floor.refused({**floor.bet("straight:17"), "time": "2026-11-29T00:00:00+08:00"}) == "LGR-0210"
    assert stored(dsn) == before


# B28

_FALLS_AT_THE_SECOND_PAYOUT = """
CREATE SEQUENCE payouts;
CREATE FUNCTION fall() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.topic = 'PayoutMade.v1' AND nextval('payouts') = 2 THEN
        RAISE EXCEPTION 'the machine fell over here';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER fall BEFORE INSERT ON ledger.events FOR EACH ROW EXECUTE FUNCTION fall();
"""


def test_b28_a_crash_between_two_payouts_pays_neither_and_then_each_once(floor: Floor, dsn: str) -> None:
    """B28: one atomic append for all bets of a round: there is no moment at which one of two winners is paid."""
    floor.accepted(floor.open(), floor.bet("straight:17"), floor.bet("black"), floor.close())
    before = stored(dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(_FALLS_AT_THE_SECOND_PAYOUT)
    outcome = floor.outcome("17")
    fell = floor.post([outcome])
    assert (fell.status_code, fell.json()["code"], fell.json()["retryable"]) == (500, "LGR-0509", True)
    assert stored(dsn) == before
    floor.accepted(outcome)
    assert floor.items([outcome])[0]["status"] == "replayed"
    with psycopg.connect(dsn) as conn:
        paid = [recorded.body.spot for recorded in log.stream(conn, floor.round) if isinstance(recorded.body, PayoutMade)]
    assert sorted(paid) == ["black", "straight:17"]


def test_b28_a_bet_paid_twice_is_named_and_never_booked(floor: Floor, dsn: str, command: Command) -> None:
    """B28: a second payout in the log, by whatever hand, stops the books at its position instead of going into them."""
    floor.accepted(floor.open(), floor.bet("straight:17"), floor.close(), floor.outcome("17"))
    balances = command("balances", "--json")
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(
            """
            INSERT INTO ledger.events (originator_id, originator_version, topic, state)
            SELECT originator_id, (SELECT max(originator_version) + 1 FROM ledger.events WHERE originator_id = p.originator_id),
                   topic, state
            FROM ledger.events AS p WHERE topic = 'PayoutMade.v1' RETURNING notification_id
            """
        ).fetchone()
    assert row is not None
    after = command("balances", "--json")
    assert f"before position {row[0]}" in after
    strip = [line for line in balances.splitlines() if '"balance"' in line]
    assert [line for line in after.splitlines() if '"balance"' in line] == strip
    replayed = command("replay", "--json", code=2)
    assert str(row[0]) in replayed
