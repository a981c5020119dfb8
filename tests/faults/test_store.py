"""Faults of other programs' event stores and projections: order, notifications, crashes, conflicts, and waits without end."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any
from uuid import UUID

import httpx
import msgspec
import psycopg
import pytest
from psycopg import conninfo
from psycopg.rows import tuple_row

from ledger.api.app import create_app
from ledger.api.reader import SqlReader
from ledger.api.serve import opened
from ledger.api.server import Server
from ledger.application import Rounds
from ledger.errors import Refusal
from ledger.events import BetPlaced, PayoutMade
from ledger.reports import Report, Verdict
from ledger.store import log, waits
from ledger.store.lease import Leases
from ledger.store.recorder import LedgerDatastore
from ledger.writer import Writer
from tests.faults.conftest import HOUSE
from tests.faults.proxy import Proxy
from tests.integration.api.conftest import Floor, serving
from tests.integration.projections.support import content, folded
from tests.support import Terminal, accepted, codes
from tests.unit.projections.made import Bet, made_round, store


def health(floor: Floor) -> dict[str, Any]:
    answer = floor.client.get("/healthz")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def reached(floor: Floor, position: str, within: float) -> bool:
    """Whether the read side comes to a position in so many seconds."""
    deadline = time.monotonic() + within
    while int(health(floor)["position"]) < int(position):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


# B31


def test_b31_a_reader_waits_for_the_one_that_commits_late(floor: Floor, dsn: str) -> None:
    """B31: a writer holds its transaction, another commits a higher position; the projections read neither until both are final.
    The late one is a hand-written INSERT, which knows nothing of the recorder."""
    stream, events = made_round([Bet("P-7", 100, "won", 35)], rng=random.Random(31), table="T-LATE")
    with psycopg.connect(dsn) as slow:
        slow.execute("SELECT")  # from here on a transaction, which `store` does not end
        store(slow, [(stream, version, event) for version, event in enumerate(events, 1)])
        items = floor.accepted(floor.open(), floor.bet("straight:17"), floor.close(), floor.outcome("17"))
        last = items[-1]["positions"][-1]
        assert not reached(floor, last, within=0.5), "went past what is still being written"
        slow.commit()
    assert reached(floor, last, within=10)
    with psycopg.connect(dsn, autocommit=True) as conn:
        assert conn.execute("SELECT count(*) FROM projection.rounds").fetchone() == (2,)
        assert content(conn) == folded(conn, "fresh")


# B32


def test_b32_a_round_of_600_bets_and_wake_ups_that_say_nothing(floor: Floor, dsn: str) -> None:
    """B32: an outcome of far more than 8,000 bytes is stored; a wake-up has no payload, so none can be too long."""
    opening = floor.open()
    bets = [floor.bet("red", player=f"P-{n}-{'x' * 50}") for n in range(600)]
    with psycopg.connect(dsn, autocommit=True) as listener:
        channels = ("events", "ledger", "ledger_events")
        for channel in channels:
            listener.execute(f"LISTEN {channel}".encode())
        floor.accepted(opening, *bets, floor.close())
        (settled,) = floor.accepted(floor.outcome("17"))
        heard = {(notify.channel, notify.payload) for notify in listener.notifies(timeout=0.5)}
        assert heard == {("ledger", "")}
        (longest,) = listener.execute("SELECT max(length(state)) FROM ledger.events").fetchone() or (0,)
    assert longest > 8_000
    assert reached(floor, settled["positions"][-1], within=10)


# B33


def sessions(conn: psycopg.Connection[Any], names: str) -> list[int]:
    """The other sessions of this database whose names are like that."""
    found = conn.execute(
        "SELECT pid FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE %s",
        (names,),
    )
    return [pid for (pid,) in found]


def ended(conn: psycopg.Connection[Any], names: str) -> int:
    """Ends them; how many there were."""
    found = sessions(conn, names)
    for pid in found:
        conn.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    return len(found)


def appended(elsewhere: Rounds, report: Report) -> str:
    """Its position, once it is appended."""
    until = time.monotonic() + 10
    while codes(verdicts := elsewhere.post([report])) not in (["accepted"], ["replayed"]):
        assert time.monotonic() < until, verdicts
        time.sleep(0.05)
    return str(verdicts[0].positions[-1])


def test_b33_a_listener_that_is_cut_off_costs_a_poll_and_listens_again(floor: Floor, dsn: str, rounds: Rounds) -> None:
    """B33: the session that listens is ended, and one event is appended at once by another process: the read side has it within
    the time from one look to the next, says until then how far it is and has to go, and is soon listening again."""
    (opened,) = floor.accepted(floor.open())
    assert reached(floor, opened["positions"][-1], within=10)
    terminal = Terminal("R02", currency="HKD")
    before = int(appended(rounds, terminal.open()))
    assert reached(floor, str(before), within=10)
    with psycopg.connect(dsn, autocommit=True) as conn:
        for _ in range(3):
            time.sleep(0.8)  # until the service looks as seldom as it ever does
            assert ended(conn, "roundledger listener") == 1
            position = appended(rounds, terminal.bet("red"))
            told = health(floor)
            assert (int(told["position"]), told["log"]) in ((before, position), (int(position), position))
            assert reached(floor, position, within=4)  # a look is 0.8 s away, and tests beside this one keep transactions open
            before = int(position)
            until = time.monotonic() + 5
            while not sessions(conn, "roundledger listener"):
                assert time.monotonic() < until, "nobody listens again"
                time.sleep(0.02)


def test_b33_a_reader_that_is_cut_off_comes_back_by_itself(floor: Floor, dsn: str) -> None:
    """B33: every session of the service is ended, then one event is appended: the read side has it within a poll and a retry, and
    until then says how far it is."""
    (opened,) = floor.accepted(floor.open())
    assert reached(floor, opened["positions"][-1], within=10)
    with psycopg.connect(dsn, autocommit=True) as conn:
        assert ended(conn, "%") >= 3
    with closing(Rounds(dsn)) as elsewhere:
        position = appended(elsewhere, Terminal("R02", currency="HKD").open())
    assert int(health(floor)["position"]) in range(int(opened["positions"][-1]), int(position) + 1)
    assert reached(floor, position, within=3)


# B40


def _fails(state: str, times: int) -> str:
    """Statements after which so many appends fail with this SQLSTATE."""
    return f"""
        CREATE SEQUENCE failures;
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('failures') <= {times} THEN
                RAISE EXCEPTION 'planted' USING ERRCODE = '{state}';
            END IF;
            RETURN NULL;
        END
        $$;
        CREATE TRIGGER fail AFTER INSERT ON ledger.events FOR EACH STATEMENT EXECUTE FUNCTION fail();
    """


@pytest.mark.parametrize("state", ["40001", "40P01"])
@pytest.mark.parametrize("times", [1, 3, 5])
def test_b40_serialization_failures_and_deadlocks_are_tried_again(dsn: str, rounds: Rounds, state: str, times: int) -> None:
    """B40: 30 bets at once while a read side is rebuilt, and appends that fail as Postgres fails them: none lost, none twice."""
    terminal = Terminal()
    accepted(rounds.post([terminal.open()]))
    bets = [terminal.bet("red", player=f"P-{n}") for n in range(30)]
    writer = Writer(rounds.post)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(_fails(state, times).encode())
        writer.start()
        with ThreadPoolExecutor(31) as pool:
            rebuilt = pool.submit(folded, conn, "beside")
            verdicts = [v for vs in pool.map(lambda bet: writer.submit([bet]).result(30), bets) for v in vs]
            rebuilt.result(30)
        assert writer.close(30)
    accepted(verdicts)
    with psycopg.connect(dsn) as conn:
        placed = [recorded.body.bet for recorded in log.stream(conn, terminal.round) if isinstance(recorded.body, BetPlaced)]
    assert sorted(placed) == sorted(bet.event_id for bet in bets)


def test_b40_the_tries_are_bounded_and_the_answer_is_retryable(dsn: str, rounds: Rounds) -> None:
    """B40: what fails every time is given up after some tries, with nothing stored; later the same report is accepted."""
    terminal = Terminal()
    accepted(rounds.post([terminal.open()]))
    bet = terminal.bet("red")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(_fails("40001", 1000).encode())
        began = time.monotonic()
        (verdict,) = rounds.post([bet])
        assert time.monotonic() - began < 5
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.meaning.retryable) == ("LGR-0503", True)
        conn.execute("DROP TRIGGER fail ON ledger.events")
    assert codes(rounds.post([bet])) == ["accepted"]


def test_a_sequence_that_was_set_back_is_named_and_no_other_writer_is_blamed(dsn: str, rounds: Rounds) -> None:
    """One event by itself, several with a new round, and a configuration; a service does not start. Set right, all goes on."""
    table, other = Terminal(), Terminal(table="R02")
    accepted(rounds.post([table.open(), table.bet("red"), table.bet("odd")]))
    later = table.bet("black"), other.open()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT setval('ledger.positions', 1)")
        for report in later:
            with pytest.raises(Refusal, match="LGR-0525") as refused:
                rounds.post([report])
            assert refused.value.meaning.retryable
        with pytest.raises(Refusal, match="LGR-0525"):
            rounds.apply_property(msgspec.structs.replace(HOUSE, clock_tolerance=60))
        with pytest.raises(Refusal, match="LGR-0525"), opened(dsn, port=0):
            pass
        conn.execute("SELECT setval('ledger.positions', (SELECT max(notification_id) FROM ledger.events))")
        log.verify_sequence(conn)
    assert codes(rounds.post(list(later))) == ["accepted", "accepted"]


def test_b40_a_real_deadlock(dsn: str, rounds: Rounds) -> None:
    """B40: an append and somebody's psql wait for locks of each other; Postgres ends the append, which is tried again."""
    terminal = Terminal()
    accepted(rounds.post([terminal.open(), terminal.bet("straight:17"), terminal.close()]))
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SET deadlock_timeout = '60s'")
        other.execute("SELECT FROM ledger.open_rounds FOR UPDATE")
        settling = pool.submit(rounds.post, [terminal.outcome("17")])  # has looked at the leases, and waits for the open round
        _waiting_for_a_lock(dsn)
        other.execute("LOCK TABLE ledger.leases IN ACCESS EXCLUSIVE MODE")
        other.rollback()
        accepted(settling.result(30))
    with psycopg.connect(dsn) as conn:
        bodies = [recorded.body for recorded in log.stream(conn, terminal.round)]
    assert sum(isinstance(body, PayoutMade) for body in bodies) == 1
    assert _deadlocks(dsn) >= 1


def _deadlocks(dsn: str) -> int:
    """How many Postgres has ended in this database; it counts them with a delay of some seconds."""
    deadline, found = time.monotonic() + 15, 0
    with psycopg.connect(dsn, autocommit=True) as conn:
        while not found and time.monotonic() < deadline:
            time.sleep(0.05)
            (found,) = conn.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").fetchone() or (
                0,
            )
    return int(found)


def _waiting_for_a_lock(dsn: str) -> None:
    deadline = time.monotonic() + 10
    with psycopg.connect(dsn, autocommit=True) as conn:
        while (
            conn.execute(
                "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            ).fetchone()
            is None
        ):
            assert time.monotonic() < deadline, "nobody waits"
            time.sleep(0.01)


# B41


@contextmanager
def locked(dsn: str, table: str, mode: str) -> Iterator[None]:
    """Somebody's psql that holds a lock and does nothing more."""
    with psycopg.connect(dsn) as psql:
        psql.execute(f"LOCK TABLE {table} IN {mode} MODE".encode())
        yield
        psql.rollback()


@pytest.mark.parametrize(
    ("table", "mode"),
    [
        ("ledger.events", "ACCESS EXCLUSIVE"),
        ("ledger.events", "EXCLUSIVE"),
        ("ledger.leases", "ACCESS EXCLUSIVE"),
        ("ledger.open_rounds", "ACCESS EXCLUSIVE"),
        ("ledger.rejections", "ACCESS EXCLUSIVE"),
    ],
)
def test_b41_a_lock_that_somebody_holds(dsn: str, rounds: Rounds, monkeypatch: pytest.MonkeyPatch, table: str, mode: str) -> None:
    """B41: 503 with Retry-After within the configured time, for everybody who waits, and all is well when the lock is gone."""
    monkeypatch.setattr(waits, "LOCK", 1)
    rounds.close()
    with serving(dsn) as server:
        floor = Floor(server.url, dsn)
        other = floor.at("R02", "roulette", "HKD")
        floor.accepted(floor.open(), floor.bet("red"))
        bet, another, opening = floor.bet("straight:17"), floor.bet("red"), other.open()
        with locked(dsn, table, mode):
            began = time.monotonic()
            with ThreadPoolExecutor(3) as pool:
                posts = [pool.submit(of.post, [event]) for of, event in ((floor, bet), (other, opening), (floor, another))]
                answers = [post.result(30) for post in posts]
            took = time.monotonic() - began
        refused = [answer for answer in answers if answer.status_code != 200]
        if table != "ledger.open_rounds":  # which a bet has no need of
            assert len(refused) == 3
        for answer in refused:
            assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (503, "LGR-0505", True)
            assert int(answer.headers["retry-after"]) >= 1
        assert refused
        # Twice the limit, for the group before and for one's own; the rest is for a machine that has other things to do.
        assert took < 2 * waits.LOCK + 2
        began = time.monotonic()
        for event in (bet, another, floor.close(), floor.outcome("17")):
            assert floor.items([event])[0]["status"] in ("accepted", "replayed")
        assert other.items([opening])[0]["status"] in ("accepted", "replayed")
        assert time.monotonic() - began < 3
        assert health(floor)["waiting"] == 0


# Limits on waiting.


LIMITS = {
    "lock_timeout": "5s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "10s",
    "synchronous_commit": "on",
    "TimeZone": "UTC",
}


def test_every_session_that_writes_has_its_limits_and_waits_for_the_disk(dsn: str) -> None:
    """No wait is without end; and what is acknowledged has been flushed, whatever somebody has set for the database."""
    name = conninfo.conninfo_to_dict(dsn)["dbname"]
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} SET synchronous_commit = off".encode())
    with closing(LedgerDatastore(dsn)) as store_, closing(Leases(dsn)) as leases, store_.get_connection() as pooled:
        for session in (pooled, store_.appends._connected(), leases._connection()):
            with session.cursor(row_factory=tuple_row) as cursor:
                asked = cursor.execute(
                    "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY (%s)", (list(LIMITS),)
                )
                assert dict(asked.fetchall()) == LIMITS


class TestTheDatabaseAway:
    """The network between the service and its database is cut, for a while."""

    @pytest.fixture
    def cut(self, dsn: str, rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Floor, Proxy]]:
        monkeypatch.setattr(waits, "POOL", 1)
        rounds.close()
        with Proxy(dsn) as proxy, serving(proxy.dsn) as server:
            found = Floor(server.url, dsn)
            yield found, proxy
            found.client.close()

    def test_a_blink_costs_each_terminal_one_retry_at_most(self, cut: tuple[Floor, Proxy]) -> None:
        floor, proxy = cut
        floor.accepted(floor.open())
        for _ in range(3):
            proxy.go_away()
            proxy.come_back()
            bet = floor.bet("red")
            tries = [floor.post([bet]) for _ in range(3)]
            assert [answer.status_code for answer in tries].count(503) <= 1, [answer.text for answer in tries]
            assert tries[-1].status_code == 200

    def test_after_an_outage_it_is_back_within_seconds(self, cut: tuple[Floor, Proxy]) -> None:
        """However long it was: tries at the database do not become rarer and rarer."""
        floor, proxy = cut
        floor.accepted(floor.open())
        proxy.go_away()
        bet = floor.bet("red")
        until = time.monotonic() + 9
        while time.monotonic() < until:
            began = time.monotonic()
            away = floor.post([bet])
            assert (away.status_code, away.json()["code"]) == (503, "LGR-0501")
            assert away.headers["retry-after"]
            assert time.monotonic() - began < waits.POOL + 4
            assert floor.client.get("/time").status_code == 200
            assert floor.client.get("/v1/balances").status_code == 503
        proxy.come_back()
        began = time.monotonic()
        while floor.post([bet]).status_code != 200 or floor.client.get("/v1/balances").status_code != 200:
            assert time.monotonic() - began < 2 * waits.RECONNECT, "the database is back, and the service has not found out"
            time.sleep(0.05)
        (item,) = floor.items([bet])
        assert reached(floor, item["positions"][-1], within=7)


@contextmanager
def narrow(dsn: str, rounds: Rounds, capacity: int, gate: threading.Event) -> Iterator[Floor]:
    """A service in whose queue so many events fit, and whose writer waits at the gate."""

    def post(reports: Sequence[Report]) -> list[Verdict]:
        assert gate.wait(60)
        return rounds.post(reports)

    with SqlReader(dsn) as reader:
        app = create_app(rounds, reader, writer=Writer(post, capacity=capacity))
        with Server(app, port=0) as server:
            ready = threading.Event()
            thread = threading.Thread(target=server.run, args=(lambda _: ready.set(),))
            thread.start()
            assert ready.wait(20)
            yield Floor(server.url, dsn)
            server.stop()
            thread.join(30)
            assert not thread.is_alive()


def test_too_many_that_wait_are_refused_at_once_and_none_is_lost(dsn: str, rounds: Rounds) -> None:
    """Back-pressure: what does not fit into the queue is 503 with Retry-After at once; all others are written; retries are."""
    gate = threading.Event()
    with narrow(dsn, rounds, 10, gate) as floor, ThreadPoolExecutor(41) as pool:

        def post(event: dict[str, Any]) -> httpx.Response:
            return floor.client.post("/v1/events", json=event)

        bets = [floor.bet("red", player=f"P-{n}") for n in range(40)]
        opening = {**floor.open(), "subject": bets[0]["subject"]}
        first = pool.submit(post, opening)
        time.sleep(0.5)  # the writer has it, and stands at the gate
        posts = [pool.submit(post, bet) for bet in bets]
        until = time.monotonic() + 20
        while sum(waiting.done() for waiting in posts) < 30:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert not first.done()
        for refused in (waiting.result() for waiting in posts if waiting.done()):
            assert (refused.status_code, refused.json()["code"], refused.json()["retryable"]) == (503, "LGR-0505", True)
            assert int(refused.headers["retry-after"]) >= 1
        gate.set()
        assert first.result(30).status_code == 200
        assert Counter(waiting.result(30).status_code for waiting in posts) == {200: 10, 503: 30}
        assert [post(bet).json()["items"][0]["status"] for bet in bets].count("replayed") == 10
        with psycopg.connect(dsn) as conn:
            stored = [recorded.body for recorded in log.stream(conn, UUID(opening["subject"]))]
    assert sum(isinstance(body, BetPlaced) for body in stored) == 40


def test_a_stop_while_the_database_keeps_everybody_waiting(dsn: str, rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end is graceful and bounded: who waits is answered, as soon as the limit on his wait says so."""
    monkeypatch.setattr(waits, "LOCK", 1)
    rounds.close()
    with ThreadPoolExecutor(1) as pool, locked(dsn, "ledger.events", "EXCLUSIVE"):
        with serving(dsn) as server:
            floor = Floor(server.url, dsn)
            waiting = pool.submit(floor.post, [floor.open()])
            _waiting_for_a_lock(dsn)
            began = time.monotonic()
        assert time.monotonic() - began < 5
        assert waiting.result(5).status_code == 503
