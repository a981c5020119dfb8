"""The feed at the door: pages and streams miss nothing and double nothing, whatever becomes of service, database or reader."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from ledger.api.feed import Limits
from ledger.store import credentials, log
from tests.integration.api.conftest import Floor, serving
from tests.integration.api.sse import Block, blocks
from tests.integration.homes import eventually
from tests.support import Terminal, accepted, house

QUICK = Limits(heartbeat_seconds=0.3, slow_seconds=1.0)


def lines(answer: httpx.Response) -> list[Any]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


ROULETTE, CUSSEC = ("R01", "roulette", "MOP"), ("C01", "cussec", "MOP")
ANOTHER = ("R02", "roulette", "HKD")


def play(dsn: str, *tables: tuple[str, str, str]) -> None:
    """A round at each table."""
    rounds = house(dsn)
    for table, game, currency in tables:
        terminal = Terminal(table, game, currency)
        bets, shown = ([("red", "10000"), ("black", "10000")], "17") if game == "roulette" else ([("small", "10000")], "1-2-4")
        accepted(rounds.post(terminal.whole_round(bets, shown)))
    rounds.close()


def logged(dsn: str) -> list[str]:
    """The positions in the log."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        return [str(recorded.position) for recorded in log.read_all(conn)]


@contextmanager
def following(url: str, last_id: str | None = None, **parameters: str) -> Iterator[Iterator[Block]]:
    """A stream's blocks, each that is more than a comment."""
    headers = {"Accept": "text/event-stream"} | ({} if last_id is None else {"Last-Event-ID": last_id})
    with httpx.stream("GET", f"{url}/v1/feed", params=parameters, headers=headers, timeout=20) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield (block for block in blocks(answer.iter_lines()) if block.id or block.data)


def taken(stream: Iterator[Block], number: int) -> list[Block]:
    """The next blocks with data."""
    found: list[Block] = []
    for block in stream:
        if block.data:
            found.append(block)
        if len(found) == number:
            return found
    raise AssertionError(f"the stream ended after {len(found)}")


# Pages.


def test_pages_give_the_whole_log_once_in_order(floor: Floor) -> None:
    play(floor.dsn, ROULETTE, CUSSEC)
    found: list[Any] = []
    path, page = "/v1/feed?limit=4", floor.client.get("/v1/feed?limit=4")
    while True:
        found += lines(page)
        if "next" not in page.links:
            break
        assert len(lines(page)) == 4
        path = page.links["next"]["url"]
        page = floor.client.get(path)
    assert [each["id"] for each in found] == logged(floor.dsn)
    assert {each["specversion"] for each in found} == {"1.0"}
    assert {(each.get("table"), each.get("property")) for each in found} == {
        (None, "DEMO"),
        (None, None),
        ("R01", "DEMO"),
        ("C01", "DEMO"),
    }
    cursor = page.headers["Feed-Cursor"]
    again = floor.client.get("/v1/feed", params={"after": cursor})
    assert lines(again) == []
    assert again.headers["Feed-Cursor"] == cursor
    assert [each["id"] for each in lines(floor.client.get("/v1/feed", params={"after": found[2]["id"]}))] == logged(floor.dsn)[3:]


def test_an_empty_log_is_an_empty_page(floor: Floor, bare_dsn: str) -> None:
    before = floor.client.get("/v1/feed", params={"type": "BetPlaced"})
    assert lines(before) == []


def test_long_pages_are_compressed_for_whoever_accepts_that(floor: Floor) -> None:
    play(floor.dsn, ROULETTE)
    page = floor.client.get("/v1/feed", headers={"Accept-Encoding": "gzip"})
    assert page.headers["content-encoding"] == "gzip"
    assert len(lines(page)) == len(logged(floor.dsn))


def test_filters_choose_by_type_table_property_and_stream(floor: Floor) -> None:
    play(floor.dsn, ROULETTE, ANOTHER, CUSSEC)
    floor.accepted(floor.event("StaffSignedOn", {"table": "R02", "person": "D-11", "role": "dealer"}, subject="R02"))
    whole = lines(floor.client.get("/v1/feed"))

    def ids(**filters: str) -> list[str]:
        return [each["id"] for each in lines(floor.client.get("/v1/feed", params=filters))]

    def having(**attributes: set[Any]) -> list[str]:
        return [each["id"] for each in whole if all(each.get(name) in some for name, some in attributes.items())]

    bets, paid = "roundledger.BetPlaced.v1", "roundledger.PayoutMade.v1"
    assert ids(type="BetPlaced") == ids(type="BetPlaced.v1") == ids(type=bets) == having(type={bets}) != []
    assert ids(type="BetPlaced,PayoutMade") == having(type={bets, paid})
    assert ids(table="R02,C01") == having(table={"R02", "C01"}) != []
    assert whole[-1]["type"] == "roundledger.StaffSignedOn.v1"
    assert (whole[-1]["table"], whole[-1]["property"]) == ("R02", "DEMO")
    assert ids(property="DEMO") == having(property={"DEMO"})
    assert ids(property="OTHER") == []
    assert ids(subject=whole[-2]["subject"], type="BetPlaced") == having(subject={whole[-2]["subject"]}, type={bets})
    assert ids(table="R01", type="PayoutMade") == having(table={"R01"}, type={paid}) != []


def test_what_is_filtered_out_moves_the_cursor_on(floor: Floor) -> None:
    play(floor.dsn, ROULETTE)
    page = floor.client.get("/v1/feed", params={"table": "C01"})
    assert lines(page) == []
    assert page.headers["Feed-Cursor"].startswith(f"{logged(floor.dsn)[-1]}.")


@pytest.mark.parametrize(
    ("parameters", "code", "field"),
    [
        ({"after": "x"}, "LGR-0108", "after"),
        ({"after": "12.3"}, "LGR-0108", "after"),
        ({"after": "9" * 18}, "LGR-0522", "after"),
        ({"after": "1.00000000-0000-0000-0000-000000000000.1.0123456789abcdef"}, "LGR-0522", "cursor"),
        ({"type": "BetEaten"}, "LGR-0108", "type"),
        ({"table": ""}, "LGR-0108", "table"),
        ({"table": "R01,"}, "LGR-0108", "table"),
        ({"subject": "R01"}, "LGR-0108", "subject"),
        ({"limit": "0"}, "LGR-0108", "limit"),
        ({"limit": "1001"}, "LGR-0108", "limit"),
        ({"tables": "R01"}, "LGR-0108", "tables"),
        ({"table": ",".join(f"R{n}" for n in range(101))}, "LGR-0108", "table"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_as_a_page_and_as_a_stream(
    floor: Floor, parameters: dict[str, str], code: str, field: str
) -> None:
    for accept in ("application/x-ndjson", "text/event-stream"):
        problem = floor.client.get("/v1/feed", params=parameters, headers={"Accept": accept}).json()
        assert (problem["code"], problem["errors"][0]["field"]) == (code, field)


def test_no_event_is_given_before_one_that_may_still_come_before_it(floor: Floor) -> None:
    cursor = floor.client.get("/v1/feed").headers["Feed-Cursor"]
    with (
        serving(floor.dsn, feed_limits=Limits(patience_seconds=0.1)) as hasty,
        psycopg.connect(floor.dsn) as late,
        following(floor.url, cursor) as stream,
    ):
        late.execute("SELECT ledger.next_position()")
        floor.accepted(floor.open())
        assert lines(httpx.get(f"{hasty.url}/v1/feed", params={"after": cursor})) == []
        first: list[Block] = []
        reading = threading.Thread(target=lambda: first.extend(taken(stream, 1)))
        reading.start()
        reading.join(0.5)
        assert first == []
        late.commit()
        reading.join(5)
        assert first[0].json["id"] == logged(floor.dsn)[1]


def test_an_event_that_cannot_be_read_stops_a_page_before_it_and_is_named(floor: Floor) -> None:
    play(floor.dsn, ROULETTE)
    before = logged(floor.dsn)
    with psycopg.connect(floor.dsn) as conn:
        conn.execute(
            "INSERT INTO ledger.events (originator_id, originator_version, topic, state) "
            "VALUES (gen_random_uuid(), 1, 'No.v9', '{}')"
        )
    page = floor.client.get("/v1/feed")
    assert [each["id"] for each in lines(page)] == before
    problem = floor.client.get(page.links["next"]["url"]).json()
    assert problem["code"] == "LGR-0504"
    with following(floor.url) as stream:
        found = [block for block in stream if block.data]
    assert [block.json["id"] for block in found[:-1]] == before
    assert (found[-1].event, found[-1].json["code"]) == ("problem", "LGR-0504")
    assert lines(floor.client.get("/v1/feed", params={"type": "BetPlaced"}))


# Streams.


def test_a_stream_goes_on_with_what_comes_and_resumes_after_the_last_id(floor: Floor) -> None:
    with following(floor.url) as stream:
        there = taken(stream, len(logged(floor.dsn)))
        floor.accepted(floor.open(), floor.bet())
        there += taken(stream, len(logged(floor.dsn)) - len(there))
    assert [block.json["id"] for block in there] == logged(floor.dsn)
    assert all((block.id or "").startswith(block.json["id"] + ".") for block in there)
    floor.accepted(floor.bet("red"))
    with following(floor.url, there[-2].id, after="0") as stream:
        assert [block.json["id"] for block in taken(stream, 2)] == logged(floor.dsn)[-2:]


def test_a_stream_tells_where_it_is_though_all_was_filtered_out(dsn: str) -> None:
    play(dsn, ROULETTE)
    with serving(dsn, feed_limits=QUICK) as server:
        with following(server.url, table="C01") as stream:
            first = next(stream)
        assert (first.data, first.id) != ("", None)
        assert (first.id or "").startswith(f"{logged(dsn)[-1]}.")
        with following(server.url, first.id, table="C01") as stream:
            play(dsn, ROULETTE, CUSSEC)
            assert taken(stream, 1)[0].json["type"] == "roundledger.RoundOpened.v1"


def test_a_stream_is_never_silent_for_long(dsn: str) -> None:
    house(dsn).close()
    with (
        serving(dsn, feed_limits=QUICK) as server,
        httpx.stream("GET", f"{server.url}/v1/feed", headers={"Accept": "text/event-stream"}, timeout=5) as answer,
    ):
        stream = blocks(answer.iter_lines())
        assert eventually(lambda: [next(stream).data, next(stream).data] == ["", ""])


def test_a_follower_misses_and_doubles_nothing_through_restarts_under_load(dsn: str) -> None:
    rounds, done = house(dsn), threading.Event()

    def load() -> None:
        while not done.is_set():
            accepted(rounds.post(Terminal().whole_round([("red", "10000")] * 5, "17")))
            time.sleep(0.01)

    loading = threading.Thread(target=load)
    loading.start()
    seen: list[str] = []
    last: str | None = None
    try:
        for turn in range(4):
            if turn == 3:
                done.set()
                loading.join()
            with serving(dsn) as server, following(server.url, last) as stream:
                end = logged(dsn)[-1] if done.is_set() else None
                if end is None:
                    threading.Timer(0.7, server.stop).start()
                for block in stream:
                    seen += [block.json["id"]] if block.data else []
                    last = block.id
                    if seen[-1] == end:
                        break
    finally:
        done.set()
        loading.join()
        rounds.close()
    assert len(seen) > 500
    assert seen == logged(dsn)


def test_a_reader_that_takes_nothing_is_dropped(dsn: str) -> None:
    rounds = house(dsn)
    for _ in range(60):
        accepted(rounds.post(Terminal().whole_round([("red", "100")] * 100, "17")))
    rounds.close()
    with serving(dsn, feed_limits=QUICK) as server:
        address = urlsplit(server.url)
        with socket.create_connection((address.hostname, address.port)) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            slow.sendall(b"GET /v1/feed HTTP/1.1\r\nHost: door\r\nAccept: text/event-stream\r\n\r\n")

            def dropped() -> bool:
                metrics = httpx.get(f"{server.url}/metrics").text
                return "roundledger_feed_dropped_total 1.0" in metrics and "roundledger_feed_streams 0.0" in metrics

            assert eventually(lambda: "roundledger_feed_streams 1.0" in httpx.get(f"{server.url}/metrics").text)
            assert eventually(dropped)
            *_, end = iter(lambda: slow.recv(1 << 16), b"")
            assert not end.endswith(b"\r\n0\r\n\r\n"), "an answer that broke off does not look complete"
        with following(server.url) as stream:
            assert len(taken(stream, 6000)) == 6000


def test_streams_are_bounded_and_end_when_the_service_does(dsn: str) -> None:
    house(dsn).close()
    with serving(dsn, feed_limits=QUICK._replace(streams=1)) as server, following(server.url) as stream:
        taken(stream, 1)
        refused = httpx.get(f"{server.url}/v1/feed", headers={"Accept": "text/event-stream"})
        assert (refused.status_code, refused.json()["code"]) == (503, "LGR-0505")
        assert refused.headers["Retry-After"]
        assert httpx.get(f"{server.url}/v1/feed").status_code == 200
        began = time.monotonic()
        server.stop()
        for _ in stream:
            pass
        assert time.monotonic() - began < 3


def test_a_stream_goes_on_when_the_database_comes_back(floor: Floor, server_dsn: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(floor.dsn)["dbname"]
    with following(floor.url) as stream:
        taken(stream, len(logged(floor.dsn)))
        with psycopg.connect(server_dsn, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = %s AND application_name = 'roundledger feed'",
                (name,),
            )
        floor.accepted_in_the_end(floor.open())
        *_, last = taken(stream, 2)
        assert last.json["id"] == logged(floor.dsn)[-1]


def test_after_a_restore_to_an_earlier_point_a_reader_is_told_so(dsn: str) -> None:
    play(dsn, ROULETTE)
    with serving(dsn, feed_limits=QUICK) as server, following(server.url) as stream:
        last = taken(stream, len(logged(dsn)))[-1].id
        with psycopg.connect(dsn) as conn:  # what a restore comes to, as far as the log shows it
            conn.execute("SET session_replication_role = replica")
            conn.execute("DELETE FROM ledger.events WHERE notification_id > 3")
        problem = next(block for block in stream if block.data)
        assert (problem.event, problem.json["code"]) == ("problem", "LGR-0522")
        for accept in ("*/*", "text/event-stream"):
            refused = httpx.get(f"{server.url}/v1/feed", headers={"Accept": accept, "Last-Event-ID": str(last)})
            assert (refused.status_code, refused.json()["code"]) == (410, "LGR-0522")
            assert "restored" in refused.json()["help"]


def test_auditors_and_admins_follow_and_nobody_else_and_no_longer_than_their_token_holds(dsn: str) -> None:
    house(dsn).close()
    with psycopg.connect(dsn, autocommit=True) as conn:
        tokens = {who: credentials.issue_token(conn, who, lasts=timedelta(days=1)) for who in ("A-1", "S-7", "D-11")}

        def headers(who: str) -> dict[str, str]:
            return {"Authorization": f"Bearer {tokens[who][1]}", "Accept": "text/event-stream"}

        with serving(dsn, feed_limits=QUICK, require_auth=True) as server:
            url = f"{server.url}/v1/feed"
            assert httpx.get(url).status_code == 401
            assert [httpx.get(url, headers=headers(who)).status_code for who in ("S-7", "D-11")] == [403, 403]
            with httpx.stream("GET", url, headers=headers("A-1"), timeout=20) as answer:
                stream = (block for block in blocks(answer.iter_lines()) if block.data)
                taken(stream, 1)
                credentials.end_token(conn, tokens["A-1"][0].id)
                *_, last = stream
            assert (last.event, last.json["code"]) == ("problem", "LGR-0802")
