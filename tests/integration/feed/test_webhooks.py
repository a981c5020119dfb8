"""Webhooks: every event is sent in order until it is taken, whatever the receiver does and whatever becomes of the service."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest

from ledger.errors import Refusal
from ledger.feed import webhooks
from ledger.feed.courier import Courier, Options
from ledger.feed.source import Mark, Source
from ledger.feed.wanted import ALL, Wanted
from ledger.feed.webhooks import Webhook
from ledger.store import log
from tests.e2e.process import ROOT, environment
from tests.integration.feed.receiver import Receiver
from tests.integration.homes import eventually
from tests.support import Terminal, accepted, house

HASTY = Options(tries=3, first=0.05, longest=0.1, seconds=1.0)


class Noted:
    def __init__(self) -> None:
        self.results: list[tuple[str, str]] = []

    def sent(self, webhook: str, result: str, /) -> None:
        self.results.append((webhook, result))


@contextmanager
def sending(dsn: str, options: Options = HASTY) -> Iterator[Courier]:
    with Source(dsn) as source, Courier(dsn, source, Noted(), options) as courier:
        yield courier


def add(dsn: str, url: str, wanted: Wanted = ALL, after: Mark = 0, **how: bool) -> tuple[Webhook, str]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return webhooks.add(conn, url, wanted, after, **{"plain": True, "private": True} | how)


def look(dsn: str, added: Webhook) -> Webhook:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return webhooks.webhook(conn, added.id)


def dead(dsn: str) -> list[Any]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return [(letter.position, letter.tries, letter.failure) for letter in webhooks.dead_letters(conn)]


def play(dsn: str, rounds: int = 1) -> list[str]:
    """Plays rounds, and gives the positions in the log."""
    application = house(dsn)
    for _ in range(rounds):
        accepted(application.post(Terminal().whole_round([("red", "10000"), ("black", "10000")], "17")))
    application.close()
    with psycopg.connect(dsn, autocommit=True) as conn:
        return [str(recorded.position) for recorded in log.read_all(conn)]


def test_every_event_is_sent_once_in_order_and_signed(dsn: str) -> None:
    with Receiver() as receiver:
        added, secret = add(dsn, receiver.url)
        there = play(dsn)
        with sending(dsn) as courier:
            assert eventually(lambda: len(receiver.messages) == len(there))
            there = play(dsn)
            assert eventually(lambda: len(receiver.messages) == len(there))
            assert eventually(lambda: courier.positions() == {added.id: int(there[-1])})
    assert receiver.taken() == there
    key = base64.b64decode(secret.removeprefix("whsec_"))
    for message in receiver.messages:
        signed = f"{message.headers['webhook-id']}.{message.headers['webhook-timestamp']}.".encode() + message.body
        mac = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        assert message.headers["webhook-signature"] == f"v1,{mac}"
        assert abs(int(message.headers["webhook-timestamp"]) - time.time()) < 60
        assert message.headers["content-type"] == "application/cloudevents+json"
        assert message.path == "/hook"
    assert len({message.headers["webhook-id"] for message in receiver.messages}) == len(there)
    found = look(dsn, added)
    assert (found.state, found.delivered, found.failures) == ("delivering", len(there), 0)
    assert secret not in repr(found)


def test_only_what_is_wanted_is_sent_and_the_cursor_moves_on(dsn: str) -> None:
    with Receiver() as receiver:
        added, _ = add(dsn, receiver.url, Wanted.of({"type": ["PayoutMade"], "table": ["R01"]}))
        there = play(dsn, 2)
        with sending(dsn):
            assert eventually(lambda: look(dsn, added).cursor.startswith(f"{there[-1]}."))
    assert {message.event["type"] for message in receiver.messages} == {"roundledger.PayoutMade.v1"}
    assert len(receiver.messages) == 2


@pytest.mark.parametrize("status", [302, 400, 500, 503])
def test_what_fails_is_sent_again_with_the_same_id_and_nothing_overtakes_it(dsn: str, status: int) -> None:
    failures: list[str] = []

    def answer(event: Any) -> int:
        if event["position"] == "3" and len(failures) < 2:
            failures.append(event["id"])
            return status
        return 200

    with Receiver(answer) as receiver:
        add(dsn, receiver.url)
        there = play(dsn)
        with sending(dsn):
            assert eventually(lambda: len(receiver.messages) == len(there) + 2)
    assert receiver.taken() == there
    assert [message.event["id"] for message in receiver.messages] == [*there[:3], there[2], there[2], *there[3:]]
    assert len({message.headers["webhook-id"] for message in receiver.messages[2:5]}) == 1
    assert {message.path for message in receiver.messages} == {"/hook"}, "a redirect is not followed"
    assert dead(dsn) == []


def test_what_is_never_taken_is_a_dead_letter_and_sent_again_on_demand(dsn: str) -> None:
    with Receiver(lambda event: 500 if event["position"] == "3" else 200) as receiver:
        added, _ = add(dsn, receiver.url)
        there = play(dsn)
        with sending(dsn):
            assert eventually(lambda: look(dsn, added).cursor.startswith(f"{there[-1]}."))
            assert receiver.taken() == [id for id in there if id != "3"]
            assert dead(dsn) == [(3, 3, "answered 500")]
            with psycopg.connect(dsn, autocommit=True) as conn:
                webhooks.retry(conn, added.id)
            assert eventually(lambda: dead(dsn) == [(3, 4, "answered 500")])
            receiver.answer = lambda _: 200
            with psycopg.connect(dsn, autocommit=True) as conn:
                webhooks.retry(conn, added.id)
            assert eventually(lambda: dead(dsn) == [])
    assert receiver.taken() == [*(id for id in there if id != "3"), "3"]
    assert look(dsn, added).delivered == len(there)


def test_a_webhook_that_is_down_holds_up_no_other(dsn: str) -> None:
    with Receiver() as well, Receiver(delay=30) as hanging, socket.create_server(("127.0.0.1", 0), backlog=0) as silent:
        add(dsn, f"http://127.0.0.1:{silent.getsockname()[1]}/")
        late, _ = add(dsn, hanging.url)
        add(dsn, "http://127.0.0.1:9/")
        add(dsn, "http://name.invalid/")
        add(dsn, well.url)
        there = play(dsn)
        began = time.monotonic()
        with sending(dsn):
            assert eventually(lambda: len(well.messages) == len(there))
            assert time.monotonic() - began < 5
            assert eventually(lambda: look(dsn, late).failure == "no answer in 1 s")
    assert well.taken() == there


def test_a_receiver_that_drips_its_answer_is_given_up_in_time(dsn: str) -> None:
    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            try:
                for _ in range(100):
                    connection.sendall(b"H")
                    time.sleep(0.1)
            except OSError:
                pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        dripping = threading.Thread(target=drip, args=(server,))
        dripping.start()
        added, _ = add(dsn, f"http://127.0.0.1:{server.getsockname()[1]}/")
        play(dsn)
        with sending(dsn, HASTY._replace(tries=100, first=60, longest=60)):
            assert eventually(lambda: look(dsn, added).failures == 1)
        dripping.join()


def test_a_receiver_that_is_gone_is_left_alone_until_somebody_says_so(dsn: str) -> None:
    with Receiver(lambda _: 410) as receiver:
        added, _ = add(dsn, receiver.url)
        there = play(dsn)
        with sending(dsn):
            assert eventually(lambda: look(dsn, added).state == "stopped")
            time.sleep(1.5)
            assert len(receiver.messages) == 1
            receiver.answer = lambda _: 200
            with psycopg.connect(dsn, autocommit=True) as conn:
                webhooks.retry(conn, added.id)
            assert eventually(lambda: receiver.taken() == there)


def test_nothing_is_sent_to_this_machine_unless_somebody_said_so(dsn: str) -> None:
    with Receiver() as receiver:
        literal, _ = add(dsn, receiver.url, private=False)
        named, _ = add(dsn, receiver.url.replace("127.0.0.1", "localhost"), private=False)
        play(dsn)
        with sending(dsn):
            for each in (literal, named):
                assert eventually(lambda: "LGR-0730" in (look(dsn, each).failure or ""))  # noqa: B023 - called at once
    assert receiver.messages == []
    with pytest.raises(Refusal, match="LGR-0730"):
        add(dsn, receiver.url, plain=False)


def test_a_long_event_comes_without_its_data_and_says_where_that_is(dsn: str) -> None:
    with Receiver() as receiver:
        add(dsn, receiver.url)
        there = play(dsn)
        with sending(dsn, HASTY._replace(body_bytes=700)):
            assert eventually(lambda: len(receiver.messages) == len(there))
    thin = [message.event for message in receiver.messages if "data" not in message.event]
    assert 0 < len(thin) < len(there)
    assert all(event["dataref"] == f"/v1/feed?after={int(event['id']) - 1}&limit=1" for event in thin)
    assert all(len(message.body) <= 700 for message in receiver.messages)


def test_of_two_processes_one_sends_and_the_other_takes_over(dsn: str) -> None:
    with Receiver() as receiver:
        added, _ = add(dsn, receiver.url)
        with sending(dsn):
            assert eventually(lambda: look(dsn, added).epoch == 1)
            with sending(dsn):
                there = play(dsn, 3)
                assert eventually(lambda: len(receiver.messages) == len(there))
                time.sleep(1.2)
                assert look(dsn, added).epoch == 1
        with sending(dsn):
            there = play(dsn)
            assert eventually(lambda: len(receiver.messages) == len(there))
    assert receiver.taken() == there


def test_a_process_that_lost_its_session_writes_nothing_more(dsn: str, server_dsn: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
    with Receiver(delay=0.02) as receiver:
        added, _ = add(dsn, receiver.url)
        there = play(dsn, 10)
        with sending(dsn), sending(dsn), psycopg.connect(server_dsn, autocommit=True) as admin:
            for n in range(3):
                assert eventually(lambda: len(receiver.messages) > 10 * n)  # noqa: B023 - called at once
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = %s AND application_name = 'roundledger webhooks'",
                    (name,),
                )
            assert eventually(lambda: look(dsn, added).cursor.startswith(f"{there[-1]}."), 40)
    assert list(dict.fromkeys(receiver.taken())) == there


@pytest.mark.parametrize("off", ["-30 days", "-1 second", "30 days"])
def test_whenever_the_next_try_was_to_be_the_next_service_sends_and_goes_on(dsn: str, off: str) -> None:
    """What another process wrote down may be long past, or lie far ahead by a clock that was set back since."""
    with Receiver() as receiver:
        added, _ = add(dsn, receiver.url)
        there = play(dsn)
        with psycopg.connect(dsn) as conn:
            conn.execute("UPDATE ledger.webhooks SET failures = 2, failure = 'x', retry_at = now() + %s::interval", (off,))
        with sending(dsn):
            assert eventually(lambda: look(dsn, added).delivered == len(there), 5)
    assert receiver.taken() == there
    found = look(dsn, added)
    assert (found.state, found.retry_at) == ("delivering", None)


def test_a_webhook_that_is_removed_is_sent_nothing_more(dsn: str) -> None:
    with Receiver() as receiver:
        added, _ = add(dsn, receiver.url)
        play(dsn)
        with sending(dsn):
            assert eventually(lambda: receiver.messages != [])
            with psycopg.connect(dsn, autocommit=True) as conn:
                webhooks.remove(conn, added.id)
                time.sleep(2)
                before = len(receiver.messages)
                play(dsn)
                time.sleep(1)
                assert len(receiver.messages) == before
                with pytest.raises(Refusal, match="LGR-0731"):
                    webhooks.retry(conn, added.id)


def test_a_restored_log_stops_a_webhook_until_it_is_told_where_to_go_on(dsn: str) -> None:
    with Receiver() as receiver:
        added, _ = add(dsn, receiver.url)
        there = play(dsn)
        with sending(dsn):
            assert eventually(lambda: look(dsn, added).cursor.startswith(f"{there[-1]}."))
            with psycopg.connect(dsn) as conn:  # what a restore comes to, as far as the log shows it
                conn.execute("SET session_replication_role = replica")
                conn.execute("DELETE FROM ledger.events WHERE notification_id > 3")
            assert eventually(lambda: "LGR-0522" in (look(dsn, added).stopped or ""))
            with psycopg.connect(dsn, autocommit=True) as conn:
                webhooks.retry(conn, added.id, 2)
            assert eventually(lambda: receiver.taken() == [*there, "3"])


def test_webhooks_are_bounded(dsn: str) -> None:
    for _ in range(webhooks.MOST):
        add(dsn, "https://example.com/")
    with pytest.raises(Refusal, match="LGR-0730"):
        add(dsn, "https://example.com/")


@contextmanager
def killed_at_the_end(dsn: str) -> Iterator[str]:
    """A real service; its URL."""
    command = [sys.executable, "-m", "cli", "serve", "--port", "0"]
    settings = environment(LEDGER_DSN=dsn)
    service = subprocess.Popen(
        command, cwd=ROOT, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert service.stdout is not None
        yield service.stdout.readline().strip()
    finally:
        service.kill()
        service.communicate()


def test_a_service_killed_in_the_middle_leaves_nothing_out_and_orders_stay(dsn: str) -> None:
    with Receiver(delay=0.005) as receiver:
        added, _ = add(dsn, receiver.url)
        there = play(dsn, 40)
        for turn in range(4):
            with killed_at_the_end(dsn) as url:
                before = len(receiver.messages)
                if turn == 3:
                    assert eventually(lambda: look(dsn, added).cursor.startswith(f"{there[-1]}."), 60)
                    lag = f'roundledger_webhook_lag_events{{webhook="{added.id}"}} 0.0'
                    assert eventually(lambda: lag in httpx.get(f"{url}/metrics").text)  # noqa: B023 - called at once
                    taken = f'roundledger_webhook_messages_total{{result="taken",webhook="{added.id}"}}'
                    assert taken in httpx.get(f"{url}/metrics").text
                else:
                    assert eventually(lambda: len(receiver.messages) > before + 20)  # noqa: B023 - called at once
    first = list(dict.fromkeys(receiver.taken()))
    assert first == there
    assert len(receiver.messages) < len(there) + 4 * 60, "what was written down is not sent again"
