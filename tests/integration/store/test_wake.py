"""Wake-ups: an append of one process is heard in another at once, costs the append nothing, and may be lost without harm."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from eventsourcing.projection import ApplicationSubscription

from ledger.application import Rounds
from ledger.store import log, subscription, wake
from ledger.store.wake import CHANNEL, Bell, Listener
from projections.runner import Runner, wait_for
from tests.support import UNLIMITED, Terminal, accepted, house

NEVER = 600.0
"""Seconds between two looks of a reader who would wait for ever if nobody woke him."""


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    with closing(house(dsn, UNLIMITED)) as found:
        yield found


@pytest.fixture
def conn(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(dsn, autocommit=True) as found:
        yield found


class Heard:
    """Counts what a listener hears."""

    def __init__(self) -> None:
        self.times = 0
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self.times += 1
            self._changed.notify_all()

    def wait(self, times: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.times >= times, 10)


def sessions(conn: psycopg.Connection[Any], name: str) -> list[int]:
    found = conn.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s", (name,))
    return [pid for (pid,) in found]


def becomes(true: Callable[[], bool]) -> bool:
    until = time.monotonic() + 10
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def ended(conn: psycopg.Connection[Any], name: str) -> None:
    """Ends the one session of that name, and sees it gone."""
    (pid,) = sessions(conn, name)
    conn.execute("SELECT pg_terminate_backend(%s)", (pid,))
    assert becomes(lambda: pid not in sessions(conn, name))


def test_the_projections_are_woken_by_an_append_elsewhere(dsn: str, rounds: Rounds, conn: psycopg.Connection[Any]) -> None:
    terminal = Terminal()
    with Runner(dsn, poll=NEVER):
        for report in (terminal.open(), terminal.bet("red"), terminal.close(), terminal.outcome("17")):
            (verdict,) = accepted(rounds.post([report]))
            assert wait_for(conn, verdict.positions[-1], 10)


def test_a_subscription_is_woken_and_stopped_while_it_waits(rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "_POLL", NEVER)
    seen: list[int] = []

    def follow() -> None:
        seen.extend(tracking.notification_id for _, tracking in events)

    with ApplicationSubscription(rounds) as events:
        thread = threading.Thread(target=follow)
        thread.start()
        assert becomes(lambda: len(seen) == 1)
        (verdict,) = accepted(rounds.post([Terminal().open()]))
        assert becomes(lambda: seen[-1:] == [verdict.positions[-1]])
        events.subscription.stop()
        thread.join(10)
        assert not thread.is_alive()


def test_a_wake_up_says_nothing_comes_from_another_session_and_stands_for_many(
    dsn: str, rounds: Rounds, conn: psycopg.Connection[Any]
) -> None:
    terminal = Terminal()
    conn.execute(f"LISTEN {CHANNEL}".encode())
    began = time.monotonic()
    for report in (terminal.open(), *(terminal.bet("red") for _ in range(200))):
        accepted(rounds.post([report]))
    took = time.monotonic() - began
    heard = list(conn.notifies(timeout=0.5))
    assert {(notify.channel, notify.payload) for notify in heard} == {(CHANNEL, "")}
    assert [notify.pid for notify in heard][:1] == sessions(conn, "roundledger bell")
    assert 1 <= len(heard) <= took / wake._GAP + 2
    # The queue is one for the whole server: a session of another test that is just ending may still stand in its way.
    assert becomes(lambda: conn.execute("SELECT pg_notification_queue_usage()").fetchone() == (0.0,))


def test_what_was_rung_last_is_sent_before_the_end(dsn: str, conn: psycopg.Connection[Any]) -> None:
    conn.execute(f"LISTEN {CHANNEL}".encode())
    for _ in range(3):
        bell = Bell(dsn)
        bell.ring()
        bell.close()
        assert len(list(conn.notifies(timeout=10, stop_after=1))) == 1
    assert becomes(lambda: not sessions(conn, "roundledger bell"))


def test_a_bell_whose_session_ended_rings_at_the_next_append(dsn: str, conn: psycopg.Connection[Any]) -> None:
    heard = Heard()
    with closing(Bell(dsn)) as bell, Listener(dsn, heard):
        assert heard.wait(1)
        bell.ring()
        assert heard.wait(2)
        ended(conn, "roundledger bell")
        bell.ring()
        assert heard.wait(3)


def test_nobody_who_rings_waits_for_a_server_that_is_away(server_dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    bell = Bell(psycopg.conninfo.make_conninfo(server_dsn, dbname="nowhere"))
    began = time.monotonic()
    for _ in range(1000):
        bell.ring()
    assert time.monotonic() - began < 1
    assert becomes(lambda: "readers in other processes are not woken" in caplog.text)
    bell.close()
    assert time.monotonic() - began < 5


def test_a_listener_that_is_cut_off_listens_again_and_looks(dsn: str, conn: psycopg.Connection[Any]) -> None:
    """B33: what came while nobody listened was not heard, so the first thing is a look."""
    heard = Heard()
    with Listener(dsn, heard):
        for times in (1, 2, 3):
            assert heard.wait(times)
            ended(conn, "roundledger listener")
        assert heard.wait(4)
        conn.execute(f"NOTIFY {CHANNEL}".encode())
        assert heard.wait(5)
    assert becomes(lambda: not sessions(conn, "roundledger listener"))


def test_without_a_listener_the_projections_look_by_themselves(
    dsn: str, rounds: Rounds, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B33: the listener is gone and does not come back, and an append is folded within the longest pause between two looks."""
    monkeypatch.setattr(wake, "_RETRY", NEVER)
    terminal = Terminal()
    accepted(rounds.post([terminal.open()]))
    with Runner(dsn):
        assert becomes(lambda: len(sessions(conn, "roundledger listener")) == 1)
        ended(conn, "roundledger listener")
        for _ in range(3):
            time.sleep(1)  # until they look as seldom as they ever do
            (verdict,) = accepted(rounds.post([terminal.bet("red")]))
            log.head(conn)  # whoever writes elsewhere in the cluster is waited for besides
            assert wait_for(conn, verdict.positions[-1], 1)
        assert not sessions(conn, "roundledger listener")
