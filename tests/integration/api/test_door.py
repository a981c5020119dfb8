"""Rounds through the door, end to end: HTTP, the rules, Postgres, the projections, and the answers to bad input."""

from __future__ import annotations

import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString
from uuid import uuid4

import httpx
import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg import sql

from cli.main import roundledger
from ledger.api.serve import opened
from ledger.errors import Refusal
from tests.integration.api.conftest import Floor, serving
from tests.integration.homes import eventually
from tests.integration.projections.support import connected, store_raw


def test_a_round_from_the_first_post_to_the_report(floor: Floor) -> None:
    items = floor.accepted(
        floor.open(dealer="D-11"),
        floor.bet("straight:17", "10000", player="P-1", seat=3),
        floor.bet("red", "5000", player="P-2"),
        floor.close(),
        floor.outcome("17"),
    )
    last = items[-1]["positions"][-1]
    view = floor.view()
    assert view["round"] == str(floor.round)
    assert (view["status"], view["outcome"], view["shown"]) == ("settled", "17", "17, black")
    won, lost = view["bets"]
    assert (won["spot"], won["stake"], won["result"], won["net_prize"], won["returned"]) == (
        *("straight:17", "10000", "won", "350000", "360000"),
    )
    assert (lost["spot"], lost["result"]) == ("red", "lost")
    balances = floor.get("/v1/balances", last)["balances"]
    of = {balance["account"]: balance["balance"] for balance in balances}
    assert (of["player/P-1"], of["player/P-2"], of["win/R01"]) == ("350000", "-5000", "-345000")
    assert sum(int(balance["balance"]) for balance in balances) == 0
    report = floor.get("/v1/reports/tables", last)
    (line,) = report["lines"]
    assert (line["table"], line["rounds"], line["handle"], line["win"]) == ("R01", 1, "15000", "-345000")
    assert "60/2004" in report["notes"][0]


def test_cussec_settles_through_the_door(floor: Floor) -> None:
    cussec = floor.at("C01", "cussec", "MOP")
    cussec.accepted(cussec.open(), cussec.bet("big"), cussec.bet("triple:2"), cussec.close(), cussec.outcome("2-2-2"))
    bets = {bet["spot"]: bet["result"] for bet in cussec.view()["bets"]}
    assert bets == {"big": "lost", "triple:2": "won"}


class TestBadInput:
    """Each gets a clear error; nothing of it is stored, and nothing else is disturbed."""

    @pytest.mark.parametrize(
        "stake",
        [
            *("0", "-100", "0.001", "2557.68", "NaN", "1e999", "true", "null"),
            *('"0"', '"-100"', '"100.00"', '"１００"', '"1_000"', '"1E3"', '""'),
        ],
    )
    def test_b10_b15_b16_b17_stakes(self, floor: Floor, stake: str) -> None:
        floor.accepted(floor.open())
        bad = json.dumps(floor.bet(stake="@")).replace('"@"', stake)
        assert floor.refused(bad) == "LGR-0104"
        floor.accepted(floor.bet())

    @pytest.mark.parametrize(
        "spot", ["straight:37", "straight:-1", "split:1-9", "corner:1-2-3-4", "basket", "straight", "big", "17", "：17"]
    )
    def test_chances_and_selections(self, floor: Floor, spot: str) -> None:
        floor.accepted(floor.open())
        assert floor.refused(floor.bet(spot)).startswith("LGR-04")
        floor.accepted(floor.bet())

    def test_an_illegal_selection_names_its_legal_neighbours(self, floor: Floor) -> None:
        floor.accepted(floor.open())
        problem = floor.post(floor.bet("split:3-4")).json()
        assert "2-3" in problem["help"]
        assert "3-6" in problem["help"]
        assert "30/2003" in problem["cite"]

    def test_currencies(self, floor: Floor) -> None:
        floor.accepted(floor.open())
        assert floor.refused(floor.bet(currency="XXX")) == "LGR-0105"
        assert floor.refused(floor.bet(currency="HKD")) == "LGR-0208"

    def test_the_wrong_game_and_the_wrong_table(self, floor: Floor) -> None:
        assert floor.refused(floor.open(game="cussec")) == "LGR-0603"
        assert floor.refused(floor.open(table="R99")) == "LGR-0602"

    def test_the_wrong_moment(self, floor: Floor) -> None:
        assert floor.refused(floor.bet()) == "LGR-0202"
        floor.accepted(floor.open(), floor.bet())
        first = floor.round
        assert floor.refused(floor.outcome("17")) == "LGR-0205"
        assert floor.refused(floor.open()) == "LGR-0201"
        floor.round = first
        floor.accepted(floor.close())
        assert floor.refused(floor.bet()) == "LGR-0210"
        assert floor.refused(floor.open()) == "LGR-0201"
        floor.round = first
        for impossible in ("37", "-1", "0-0-7", "00", "１７", "red", "1.0"):
            assert floor.refused(floor.outcome(impossible)).startswith("LGR-04")
        floor.accepted(floor.outcome("17"))
        assert floor.refused(floor.outcome("18")) == "LGR-0206"
        assert floor.view()["outcome"] == "17"
        floor.accepted(floor.open())

    def test_three_dice_show_what_three_dice_can(self, floor: Floor) -> None:
        cussec = floor.at("C01", "cussec", "MOP")
        cussec.accepted(cussec.open(), cussec.close())
        for impossible in ("0-0-7", "1-2", "1-2-3-4", "17", "7-7-7"):
            assert cussec.refused(cussec.outcome(impossible)).startswith("LGR-04")
        cussec.accepted(cussec.outcome("1-2-3"))

    @pytest.mark.parametrize("raw", [b"", b"round and round", b"\x00", b'{"specversion": "1.0"', b"<xml/>", b"[" * 100_000])
    def test_what_is_not_json(self, floor: Floor, raw: bytes) -> None:
        assert floor.refused(raw) == "LGR-0101"

    def test_fifty_megabytes(self, floor: Floor) -> None:
        assert floor.refused(b"[" + b" " * (50 << 20) + b"]") == "LGR-0102"

        def chunks() -> Any:
            for _ in range(800):
                yield b" " * 65536

        before = floor.count()
        answer = floor.client.post("/v1/events", content=chunks(), headers={"Content-Type": "application/json"})
        assert answer.json()["code"] == "LGR-0102"
        assert floor.count() == before
        floor.accepted(floor.open())

    def test_b23_a_bad_item_touches_no_other(self, floor: Floor) -> None:
        batch = [floor.open(), floor.bet("straight:99"), floor.bet(), floor.bet(stake=1), floor.close(), floor.outcome("17")]
        counts = []
        for status in ("accepted", "replayed", "replayed"):
            items = floor.items(batch)
            assert [item["status"] for item in items] == [status, "rejected", status, "rejected", status, status]
            counts.append(floor.count())
        assert counts[0] == counts[1] == counts[2]


class TestRetries:
    def test_b21_the_same_body_however_it_is_spelt_is_the_same_event(self, floor: Floor) -> None:
        floor.accepted(floor.open())
        bet = floor.bet()
        (first,) = floor.accepted(bet)
        before = floor.count()
        turned = json.dumps(dict(reversed(list(bet.items()))), indent=3)
        assert floor.post(turned).json()["items"] == [first | {"status": "replayed"}]
        assert floor.count() == before

    def test_b21_another_body_under_the_same_id_is_refused_with_both_fingerprints(self, floor: Floor) -> None:
        floor.accepted(floor.open())
        bet = floor.bet(stake="100")
        floor.accepted(bet)
        before = floor.count()
        problem = floor.post({**bet, "data": {**bet["data"], "stake": "1000"}}).json()
        assert problem["code"] == "LGR-0301"
        assert len(set(re.findall(r"\b[0-9a-f]{32}\b", problem["detail"]))) == 2
        assert floor.count() == before

    def test_b19_twenty_posts_of_one_outcome_settle_once(self, floor: Floor) -> None:
        floor.accepted(floor.open(), floor.bet(), floor.bet("black"), floor.close())
        outcome = floor.outcome("17")

        def post(_: int) -> dict[str, Any]:
            (item,) = httpx.post(floor.url + "/v1/events", json=outcome).json()["items"]
            return dict(item)

        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(post, range(20)))
        assert sorted(answer["status"] for answer in answers) == ["accepted", *["replayed"] * 19]
        assert len({tuple(answer["positions"]) for answer in answers}) == 1
        with psycopg.connect(floor.dsn) as conn:
            row = conn.execute("SELECT count(*) FROM ledger.log WHERE topic = 'PayoutMade.v1'").fetchone()
        assert row == (2,)

    def test_many_terminals_at_once(self, floor: Floor) -> None:
        tables = [floor, floor.at("R02", "roulette", "HKD"), floor.at("C01", "cussec", "MOP"), floor.at("C02", "cussec", "HKD")]

        def play(table: Floor) -> str:
            position = "0"
            for _ in range(10):
                spot, shown = ("straight:17", "17") if table.game == "roulette" else ("big", "4-5-6")
                for event in (table.open(), *(table.bet(spot) for _ in range(5)), table.close(), table.outcome(shown)):
                    (item,) = table.accepted(event)
                    position = item["positions"][-1]
            return position

        with ThreadPoolExecutor(4) as pool:
            last = max(map(int, pool.map(play, tables)))
        reports = floor.get("/v1/reports/tables", str(last))["lines"]
        assert [(report["table"], report["rounds"], report["handle"]) for report in reports] == [
            (table, 10, "500000") for table in ("C01", "C02", "R01", "R02")
        ]
        for currency in ("MOP", "HKD"):
            found = floor.client.get("/v1/balances", params={"currency": currency}).json()["balances"]
            assert found
            assert sum(int(balance["balance"]) for balance in found) == 0

    def test_a_client_that_leaves_in_the_middle_leaves_nothing_half_done(self, floor: Floor) -> None:
        floor.accepted(floor.open())
        before = floor.count()
        host, port = floor.url.removeprefix("http://").split(":")
        bet = floor.bet()
        body = json.dumps(bet).encode()
        lines = ("POST /v1/events HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(body)}")
        head = "".join(line + "\r\n" for line in (*lines, "")).encode()
        with socket.create_connection((host, int(port))) as half:
            half.sendall(head + body[:50])
        assert floor.client.get("/healthz").status_code == 200
        assert floor.count() == before
        # Whole body, but nobody there to read the answer: it is written, and the retry finds it.
        with socket.create_connection((host, int(port))) as gone:
            gone.sendall(head + body)
        (item,) = floor.items([bet])
        assert item["status"] in ("accepted", "replayed")
        assert floor.items([bet])[0]["status"] == "replayed"
        assert floor.count() == before + 1


def test_the_database_away_is_a_retryable_answer_and_no_more(floor: Floor) -> None:
    floor.accepted(floor.open())
    with psycopg.connect(floor.dsn, autocommit=True) as conn:
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    bet = floor.bet()
    answers = [floor.post([bet]) for _ in range(3)]
    for answer in answers:
        assert answer.status_code in (200, 503), answer.text
        assert answer.status_code == 200 or (answer.json()["code"] == "LGR-0501" and answer.headers["retry-after"])
    assert answers[-1].status_code == 200
    assert floor.client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("ALTER DATABASE {} SET default_transaction_read_only = on", "ALTER DATABASE {} RESET default_transaction_read_only"),
        ("ALTER TABLE ledger.events RENAME TO gone", "ALTER TABLE ledger.gone RENAME TO events"),
    ],
    ids=["read-only", "a table is missing"],
)
def test_a_database_that_is_unfit_for_a_while_is_a_retryable_answer_and_no_fault(
    floor: Floor, broken: LiteralString, mended: LiteralString
) -> None:
    floor.accepted(floor.open())
    bets = [floor.bet("red"), floor.bet("split:3-4")]
    with psycopg.connect(floor.dsn, autocommit=True) as conn:
        conn.execute("SET default_transaction_read_only = off")
        name = sql.Identifier(conn.info.dbname)
        sessions = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        conn.execute(sql.SQL(broken).format(name))
        conn.execute(sessions)
        for event in (*bets, bets, *bets):
            answer = floor.post(event)
            assert (answer.status_code, answer.json()["code"]) == (503, "LGR-0501"), answer.text
        assert floor.client.get(f"/v1/rounds/{bets[0]['subject']}").status_code in (200, 503)
        conn.execute(sql.SQL(mended).format(name))
        conn.execute(sessions)
    assert eventually(lambda: floor.post(bets).status_code == 200)
    assert [item["status"] for item in floor.items(bets)] == ["replayed", "rejected"]
    assert floor.get("/v1/balances", floor.items(bets)[0]["positions"][0], prefix="escrow/")["balances"][0]["balance"] == "10000"
    assert floor.client.get("/healthz").json()["status"] == "ok"


def test_reads_of_what_is_not_there(floor: Floor) -> None:
    assert floor.client.get(f"/v1/rounds/{uuid4()}").json()["code"] == "LGR-0202"
    assert floor.client.get("/v1/balances").json()["balances"] == []
    assert floor.client.get("/v1/balances", params={"at_least": "999999"}).json()["code"] == "LGR-0518"


def test_balances_as_of_a_moment_beyond_the_log_are_the_same_by_the_door_and_by_the_command_line(floor: Floor, dsn: str) -> None:
    """After the last event they are the present ones; a time that is still to come, and a position that is none, are refused."""
    last = floor.accepted(floor.open(), floor.bet("red"), floor.bet("split:17-20"))[-1]["positions"][-1]
    present = floor.get("/v1/balances", last)["balances"]
    assert present

    def typed(*words: str) -> Result:
        env = {"LEDGER_DSN": dsn}
        return CliRunner(env=env).invoke(roundledger, ["balances", "--json", *words], standalone_mode=False)

    now = datetime.now(UTC).isoformat()
    answer, printed = floor.client.get("/v1/balances", params={"at": now}).json(), json.loads(typed("--at", now).stdout)
    assert (answer["position"], answer["balances"]) == (printed["as_of_position"], printed["balances"]) == (last, present)
    trial = floor.client.get("/v1/balances/trial", params={"at": now}).json()
    assert trial["lines"] == json.loads(typed("--trial", "--at", now).stdout)["kinds"]

    for moment, reason in (
        ((datetime.now(UTC) + timedelta(hours=1)).isoformat(), "the time is still to come"),
        (str(int(last) + 1), f"the log ends at position {last}"),
        ("9" * 18, f"the log ends at position {last}"),
    ):
        for path, words in (("/v1/balances", []), ("/v1/balances/trial", ["--trial"])):
            problem = floor.client.get(path, params={"at": moment}).json()
            said = typed("--at", moment, *words).exception
            assert isinstance(said, Refusal)
            assert (problem["code"], problem["errors"][0]["field"], problem["errors"][0]["value"]) == ("LGR-0108", "at", moment)
            assert (said.code, said.field, said.value) == ("LGR-0108", "--at", moment)
            assert problem["detail"].startswith(reason)
            assert said.detail.startswith(reason)


def test_balances_come_in_pages(floor: Floor) -> None:
    bets = [floor.bet(player=f"P-{n:03}") for n in range(12)]
    opening = floor.open()
    for bet in bets:
        bet["subject"] = str(floor.round)
    last = floor.accepted(opening, *bets)[-1]["positions"][-1]
    seen: list[str] = []
    after = None
    while True:
        page = floor.get("/v1/balances", last, limit=5, prefix="player/", **({"after": after} if after else {}))
        seen += [balance["account"] for balance in page["balances"]]
        after = page.get("after")
        if after is None:
            break
    assert seen == [f"player/P-{n:03}" for n in range(12)]


def test_an_older_schema_is_refused_and_not_changed(bare_dsn: str) -> None:
    with pytest.raises(Refusal) as caught, opened(bare_dsn, port=0):
        pass
    assert caught.value.code == "LGR-0502"
    with psycopg.connect(bare_dsn) as conn:
        assert conn.execute("SELECT to_regnamespace('ledger')").fetchone() == (None,)


def test_a_port_in_use_is_refused(floor: Floor, dsn: str) -> None:
    port = int(floor.url.rpartition(":")[2])
    with pytest.raises(Refusal) as caught, opened(dsn, port=port):
        pass
    assert caught.value.code == "LGR-0711"
    assert caught.value.value == f"127.0.0.1:{port}"


def test_an_id_that_was_rejected_for_its_shape_stays_rejected(floor: Floor) -> None:
    floor.accepted(floor.open())
    bad = floor.bet(stake=100)
    mended = {**bad, "data": {**bad["data"], "stake": "100"}}
    assert floor.refused(bad) == "LGR-0104"
    assert floor.refused(bad) == "LGR-0104"
    assert floor.refused(mended) == "LGR-0301"
    floor.accepted(floor.bet(stake="100"))


def test_two_services_on_one_database_tell_one_story(floor: Floor, dsn: str) -> None:
    """A table has one writer at a time, and takes turns: a terminal that meets the other one sends again."""
    with serving(dsn) as second:
        other = Floor(second.url, dsn)
        floor.accepted(floor.open())
        other.round = floor.round
        bet = other.bet()
        assert other.refused(bet) == "LGR-0521"
        other.accepted_in_the_end(bet)
        assert floor.items([bet])[0]["status"] == "replayed"
        floor.accepted_in_the_end(floor.close())
        other.accepted_in_the_end(other.outcome("17"))
        assert floor.view()["status"] == "settled"


def test_b45_each_answer_to_numbered_events_says_what_was_received(floor: Floor) -> None:
    opening = {**floor.open(), "epoch": "2", "sequence": "1"}
    assert "sequences" not in floor.post(floor.bet()).json(), "it has no number"
    answer = floor.post([opening, {**floor.bet(), "epoch": "2", "sequence": "2"}]).json()
    told = {"terminal": "T-R01", "epoch": 2, "contiguous": 2, "missing": []}
    assert answer["sequences"] == [told]
    refused = floor.post({**floor.bet("split:3-4"), "epoch": "2", "sequence": "5"})
    assert (refused.status_code, refused.json()["sequences"]) == (422, [{**told, "missing": [[3, 4]]}])
    waits = floor.post([{**floor.outcome("17"), "epoch": "2", "sequence": "6"}, {**floor.close(), "sequence": "1"}]).json()
    assert waits["sequences"] == [
        {**told, "missing": [[3, 4]]},
        {"terminal": "T-R01", "epoch": 0, "contiguous": 1, "missing": []},
    ]
    seen = floor.client.get("/v1/terminals/T-R01").json()
    assert [(each["epoch"], each["contiguous"], each["missing"]) for each in seen["sequences"]] == [(2, 2, [[3, 4]]), (0, 1, [])]
    for unknown in ("T-R99", "%00"):
        nobody = floor.client.get(f"/v1/terminals/{unknown}")
        assert (nobody.status_code, nobody.json()["code"]) == (404, "LGR-0305")
    assert floor.client.get("/v1/time").json().keys() == {"time"}


def test_b12_a_terminal_that_posts_a_hundred_times_too_much_is_refused_with_the_limit(floor: Floor) -> None:
    floor.accepted(floor.open(), floor.bet("red", stake="500000"))
    problem = floor.post(floor.bet("black", stake="50000000")).json()
    assert (problem["code"], problem["retryable"]) == ("LGR-0606", False)
    assert problem["errors"] == [{"field": "data.stake", "value": "50000000"}]
    assert "MOP 5000.00" in problem["detail"]
    assert "MOP 495000.00 above it" in problem["detail"]


def test_an_event_that_cannot_be_read_leaves_the_service_able_to_say_how_it_is(floor: Floor, dsn: str) -> None:
    with connected(dsn) as conn:
        store_raw(conn, "BetPlaced.v1", b"{", uuid4(), 1)
    assert eventually(lambda: any(each.get("stopped_by") for each in floor.client.get("/healthz").json()["projections"]))
    health = floor.client.get("/healthz")
    assert (health.status_code, health.json()["status"]) == (200, "behind")
    seen = floor.client.get("/metrics")
    assert seen.status_code == 200
    assert "roundledger_projection_lag_seconds NaN" in seen.text
