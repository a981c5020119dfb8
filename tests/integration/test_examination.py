"""`roundledger doctor`: every code is found where its fault is, and nowhere else; each names what to do."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from msgspec.structs import replace

from cli.main import run
from ledger.api import examination
from ledger.api.examination import FINDINGS, Checked, Examination, examine
from ledger.events import GamingDayClosed
from ledger.feed import webhooks
from ledger.feed.wanted import ALL
from ledger.reports import ApproveCorrection, CloseDay, HoldRound, ProposeCorrection, ReleaseRound, days_stream
from ledger.store import credentials, wake
from ledger.store.sequences import SetBack, set_back
from projections import days
from projections.rebuild import build, switch
from projections.runner import catch_up
from tests.integration.projections.support import connected, lived_through, store, store_raw
from tests.integration.test_cage import Slips
from tests.integration.test_days import DAY, NEXT, START
from tests.support import Terminal, accepted, house
from tests.unit.projections.lives import EVERYTHING

Patch = pytest.MonkeyPatch
TESTS_HAVE = "DR-02"
"""The tests' server does not flush, and is told so each time."""


@pytest.fixture
def day(dsn: str) -> str:
    """A ledger at which there is nothing to find but what the tests' server is."""
    with connected(dsn) as conn:
        store(conn, lived_through(EVERYTHING))
        catch_up(conn)
        conn.execute("DELETE FROM projection.holds WHERE released_position IS NULL")
        conn.execute("DELETE FROM projection.corrections WHERE status = 'proposed'")
    return dsn


def codes(done: list[Checked]) -> set[str]:
    return {finding.code for check in done for finding in check.findings}


def sql(*statements: str) -> Callable[[str, Patch], Any]:
    def provoke(dsn: str, _: Patch) -> None:
        with connected(dsn) as conn:
            for statement in statements:
                conn.execute(statement.encode())

    return provoke


def patched(*where: Any) -> Callable[[str, Patch], Any]:
    def provoke(_: str, patch: Patch) -> None:
        patch.setattr(*where)

    return provoke


def poison(dsn: str, _: Patch) -> None:
    with connected(dsn) as conn:
        store_raw(conn, "BetPlaced.v1", b"{}", uuid4(), 1)
        catch_up(conn)


def webhook(change: str) -> Callable[[str, Patch], Any]:
    """There are two webhooks, and this became of one."""

    def provoke(dsn: str, _: Patch) -> None:
        with connected(dsn) as conn:
            added, other = [webhooks.add(conn, "https://example.com/", ALL, 0, plain=False, private=False)[0] for _ in range(2)]
            conn.execute(
                "UPDATE ledger.webhooks SET failures = 3, retry_at = now() - interval '5 seconds' WHERE id = %s", (other.id,)
            )
            conn.execute(f"UPDATE ledger.webhooks SET {change} WHERE id = %s".encode(), (added.id,))

    return provoke


def late(dsn: str, _: Patch) -> None:
    """Events of long ago that nobody has folded."""
    with connected(dsn) as conn:
        store(conn, lived_through(77, 2))


def gap(dsn: str, _: Patch) -> None:
    rounds = house(dsn)
    table = Terminal()
    accepted(rounds.post([table.open(sequence=1)]))
    accepted(rounds.post([table.bet("red", sequence=4)]))
    rounds.close()
    with connected(dsn) as conn:
        catch_up(conn)


def reported(dsn: str, *epochs: int | None, first: int = 1) -> None:
    """A table's terminal plays a round under each of these epochs, numbered from `first`, and gives it back."""
    for epoch in epochs:
        rounds, table = house(dsn), Terminal()
        said = table.open(), table.close(), table.outcome("17")
        accepted(rounds.post([replace(each, epoch=epoch, sequence=number) for number, each in enumerate(said, first)]))
        rounds.close()
    with connected(dsn) as conn:
        catch_up(conn)


def back(dsn: str, _: Patch) -> None:
    reported(dsn, 5, 9, 7)


def closed(dsn: str, figures: str | None = None, *, day: date = DAY, as_of: int | None = None, by_hand: bool = False) -> None:
    """A day is closed a day later, with the figures that it has if no others are given; by hand past every decision."""
    with connected(dsn) as conn:
        catch_up(conn)
        [(last,)] = conn.execute("SELECT max(notification_id) FROM ledger.events").fetchall()
        said = CloseDay(
            property="DEMO",
            gaming_day=day,
            as_of=str(as_of or last),
            figures=figures or days.fingerprint("DEMO", day, days.table_days(conn, "DEMO", day)),
        )
        at = NEXT + (day - DAY)
        report = Terminal().report(said, by="C-1", round=days_stream("DEMO"), received_at=at)
        if by_hand:
            event = GamingDayClosed(
                cause=report.event_id,
                terminal=report.terminal,
                occurred_at=at,
                received_at=at,
                by="C-1",
                property=said.property,
                gaming_day=day,
                as_of=said.as_of,
                figures=said.figures,
            )
            store(conn, [(report.round, 1, event)])
    if not by_hand:
        rounds = house(dsn)
        accepted(rounds.post([report]))
        rounds.close()
    with connected(dsn) as conn:
        catch_up(conn)


def played(dsn: str, *shown: str, until: int = 4) -> Terminal:
    """A table's rounds on the day of `START`, each with red for 100.00; of the last one so many reports."""
    rounds, table = house(dsn), Terminal()
    for n, each in enumerate(shown, 1):
        said = [table.open(), table.bet("red"), table.close(), table.outcome(each)]
        accepted(rounds.post([replace(each, received_at=START) for each in said[: until if n == len(shown) else 4]]))
    rounds.close()
    return table


def closed_with_others(dsn: str, _: Patch) -> None:
    played(dsn, "17", "1")
    closed(dsn, "0" * 64)


def changed_in_the_log(dsn: str, _: Patch) -> None:
    """A stake of a closed day is doubled in all its events, by who may switch triggers off, and the live tables folded anew."""
    table = played(dsn, "17")
    closed(dsn)
    with connected(dsn) as conn:
        conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER events_append_only")
        conn.execute(
            "UPDATE ledger.events SET state = convert_to(replace(convert_from(state, 'UTF8'), '\"10000\"', '\"20000\"'), 'UTF8') "
            "WHERE originator_id = %s",
            (table.round,),
        )
    build(dsn)
    switch(dsn)


def changed_in_the_closing(dsn: str, _: Patch) -> None:
    """What the log says of the figures is another than what was folded of it."""
    played(dsn, "17")
    closed(dsn)
    with connected(dsn) as conn:
        conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER events_append_only")
        conn.execute(
            "UPDATE ledger.events SET state = convert_to((convert_from(state, 'UTF8')::jsonb || %s)::text, 'UTF8') "
            "WHERE topic = 'GamingDayClosed.v1' AND originator_id = %s",
            (f'{{"figures": "{"f" * 64}"}}', days_stream("DEMO")),
        )


def open_as_it_was_closed(dsn: str, _: Patch) -> None:
    """A closing that no decision let in: a round of the day was open, and is settled after it."""
    table = played(dsn, "17", "1", until=3)
    closed(dsn, by_hand=True)
    rounds = house(dsn)
    accepted(rounds.post([table.outcome("1", received_at=NEXT)]))
    rounds.close()
    with connected(dsn) as conn:
        catch_up(conn)


def signed_after_the_figures_were_read(dsn: str, _: Patch) -> None:
    """A slip between the position up to which the figures were read and the closing, which no decision let in."""
    rounds, slips = house(dsn), Slips()
    slip = slips.fill((100, 1), received_at=START)
    accepted(rounds.post([slip]))
    with connected(dsn) as conn:
        [(read,)] = conn.execute("SELECT max(notification_id) FROM ledger.events").fetchall()
    accepted(rounds.post([replace(slips.confirm(slip), received_at=START)]))
    rounds.close()
    closed(dsn, "0" * 64, as_of=read, by_hand=True)


def key(dsn: str, _: Patch) -> None:
    with psycopg.connect(dsn) as conn:
        credentials.issue_token(conn, "A-1", lasts=timedelta(days=3))
        credentials.issue_token(conn, "A-2", lasts=timedelta(days=3))
        credentials.issue_token(conn, "A-2", lasts=timedelta(days=90))


@contextlib.contextmanager
def dead(dsn: str, _: Patch) -> Iterator[None]:
    """A table whose holder's process has ended, and whose session has not."""
    with connected(dsn) as conn:
        conn.execute(
            "INSERT INTO ledger.leases (table_id, epoch, holder) VALUES ('R01', 1, %s)",
            (f"{socket.gethostname()} process 4194305",),
        )
        conn.execute("SELECT pg_advisory_lock(hashtextextended('round-ledger table R01', 0))")
        yield


@contextlib.contextmanager
def writing(dsn: str, patch: Patch) -> Iterator[None]:
    patch.setattr(examination, "LATE", 0.0)
    with connected(dsn) as conn, conn.transaction():
        conn.execute("SELECT pg_current_xact_id()")
        yield


@contextlib.contextmanager
def blocking(dsn: str, patch: Patch) -> Iterator[None]:
    patch.setattr(examination, "LATE", 0.0)
    with connected(dsn) as conn, connected(dsn) as other:
        other.execute("SET lock_timeout = '20s'")

        def wait() -> None:
            with other.transaction():
                other.execute("LOCK TABLE ledger.open_rounds")

        waiting = threading.Thread(target=wait)
        pid = other.info.backend_pid
        with conn.transaction():
            conn.execute("LOCK TABLE ledger.open_rounds")
            waiting.start()
            while not conn.execute("SELECT 1 FROM pg_locks WHERE NOT granted AND pid = %s", (pid,)).fetchone():
                assert waiting.is_alive()
            yield
        waiting.join()


class _Behind(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"status": "behind", "waiting": 5000}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


Provoke = Callable[[str, Patch], Any]
FAULTS: list[tuple[str, str, Provoke]] = [
    ("DR-01", "an old server", patched(examination, "OLDEST_SERVER", 990000)),
    ("DR-03", "no schema table", sql("DELETE FROM ledger.schema_version WHERE version > 3")),
    ("DR-03", "another migration", sql("UPDATE ledger.schema_version SET checksum = 'x' WHERE version = 2")),
    ("DR-04", "an event without its fields", poison),
    ("DR-05", "nobody folds", late),
    (
        "DR-06",
        "a balance changed by hand",
        sql("UPDATE projection.balances SET balance = balance + 1 WHERE account = 'win/T-01'"),
    ),
    ("DR-07", "a bell that is not heard", patched(wake.Bell, "ring", lambda _: None)),
    ("DR-08", "a clock that is off", patched(examination, "SKEW", -1.0)),
    ("DR-09", "a full disk", patched(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20, total=1 << 40))),
    ("DR-10", "numbers left out", gap),
    ("DR-11", "a token that ends", key),
    (
        "DR-12",
        "an old hold",
        sql(
            "INSERT INTO projection.holds (hold, round, reason, held_at, held_position) "
            "VALUES (gen_random_uuid(), gen_random_uuid(), 'dispute', now() - interval '25 hours', 1)"
        ),
    ),
    (
        "DR-13",
        "an old correction",
        sql(
            "INSERT INTO projection.corrections (correction, round, kind, reason, currency, proposed_by, proposed_at, "
            "proposed_position, approvals_needed, approvals, status) VALUES (gen_random_uuid(), gen_random_uuid(), 'outcome', "
            "'found_wrong', 'MOP', 'S-1', now() - interval '25 hours', 1, 1, 0, 'proposed')"
        ),
    ),
    ("DR-14", "a dead holder", dead),
    ("DR-15", "a long transaction", writing),
    ("DR-15", "a long wait", blocking),
    ("DR-17", "a clock that was ahead", back),
    ("DR-18", "closed with other figures", closed_with_others),
    ("DR-18", "a closed day's bet changed in the log", changed_in_the_log),
    ("DR-18", "a closing changed in the log", changed_in_the_closing),
    ("DR-19", "a round that was open at the closing", open_as_it_was_closed),
    ("DR-19", "a slip that the figures do not have", signed_after_the_figures_were_read),
    ("DR-21", "positions that no log has", sql("UPDATE projection.positions SET position = position + 1000")),
    ("DR-22", "a sequence that was set back", sql("SELECT setval('ledger.positions', 3)")),
    ("DR-20", "a webhook that is stopped", webhook("stopped = 'it answered 410: it wants no more'")),
    ("DR-20", "a webhook that nobody sends to", webhook("failures = 1, retry_at = now() - interval '2 minutes'")),
    ("DR-20", "a webhook that takes nothing", webhook("failures = 9, retry_at = now() + interval '2 minutes'")),
]


@pytest.mark.parametrize(("code", "fault", "provoke"), FAULTS, ids=[fault for _, fault, _ in FAULTS])
def test_each_fault_has_its_code_and_no_other_has(day: str, code: str, fault: str, provoke: Provoke, monkeypatch: Patch) -> None:
    before = list(examine(day))
    assert codes(before) <= {TESTS_HAVE}, fault
    assert {check.result for check in before} <= {"ok", "found", "left out"}
    provoked = provoke(day, monkeypatch)
    with provoked if isinstance(provoked, contextlib.AbstractContextManager) else contextlib.nullcontext():
        done = list(examine(day))
    assert codes(done) - {TESTS_HAVE} == {code}, done
    for check in done:
        for finding in check.findings:
            assert finding.title == FINDINGS[finding.code]
            assert finding.detail
            assert finding.fix


def test_a_projection_beyond_the_log_is_right_again_by_what_the_finding_says(
    day: str, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LEDGER_DSN", day)
    sql("UPDATE projection.positions SET position = position + 1000")(day, monkeypatch)
    assert run(["projections", "status"]) == 1
    assert "beyond the last position that was drawn" in " ".join("".join(capsys.readouterr()).split())
    assert run(["projections", "rebuild", "--switch"]) == 0
    assert run(["projections", "status"]) == 0
    assert codes(list(examine(day))) <= {TESTS_HAVE, "DR-12", "DR-13"}


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"received_at": "soon"}', b"\xff", b"[" * 50000])
def test_an_event_that_cannot_be_read_and_was_not_come_to_yet_is_told_as_such(day: str, raw: bytes) -> None:
    with connected(day) as conn:
        store_raw(conn, "BetPlaced.v1", raw, uuid4(), 1)
        conn.execute("UPDATE projection.positions SET stopped_at = NULL")
    done = {check.name: check for check in examine(day)}
    assert {finding.code for finding in done["projections"].findings} == {"DR-05"}
    assert "cannot be read" in done["projections"].findings[0].detail


def test_a_day_that_was_closed_as_it_should_be_stays_so_whatever_is_put_right_of_it(dsn: str) -> None:
    """Corrections, reviews and slips of closed days, each of which is posted to a day that is closed in its turn."""
    rounds, table, slips = house(dsn), Terminal(), Slips()
    waiting, signed = slips.fill((100, 1), received_at=START), slips.fill((100, 2), received_at=START)
    accepted(rounds.post([waiting, signed, replace(slips.confirm(signed), received_at=START)]))
    said = [table.open(), table.bet("red"), table.close(), table.outcome("17")]
    accepted(rounds.post([replace(each, received_at=START) for each in said]))
    for day in (DAY, DAY + timedelta(1), DAY + timedelta(2)):
        closed(dsn, day=day)
        at = START + timedelta(days=(day - DAY).days + 1)
        wrong = table.report(
            ProposeCorrection(kind="outcome", reason="found_wrong", outcome=str(19 + (day - DAY).days)), by="S-7"
        )
        hold = table.report(HoldRound(reason="dispute"), by="S-7")
        after = [
            *(wrong, table.report(ApproveCorrection(correction=wrong.event_id), by="S-8")),
            *(hold, table.report(ReleaseRound(hold=hold.event_id, finding="stands"), by="S-7")),
        ]
        if day == DAY:
            mispay = ProposeCorrection(kind="mispay", reason="x", bet=said[1].event_id, amount="5", direction="to_player")
            asked = table.report(mispay, by="S-7")
            after += [asked, table.report(ApproveCorrection(correction=asked.event_id), by="S-8")]
            after += [slips.confirm(waiting), slips.cancel(signed), slips.confirm(signed, by="C-1", cancellation=True)]
        accepted(rounds.post([replace(each, received_at=at) for each in after]))
    rounds.close()
    with connected(dsn) as conn:
        catch_up(conn)
    [of_days] = [check for check in examine(dsn) if check.name == "gaming days"]
    assert (of_days.result, of_days.detail, of_days.findings) == ("ok", "3 closed", [])


def test_what_only_one_projection_has_folded_of_a_closed_day_is_nothing_that_was_looked_at(dsn: str) -> None:
    """An event by hand that posts to a closed day stops one projection, which is told, and the other counts it."""
    table = played(dsn, "17")
    closed(dsn)
    with connected(dsn) as conn:
        paid = "SELECT body FROM ledger.log WHERE stream = %s AND topic = 'RoundOpened.v1'"
        [(opened,)] = conn.execute(paid, (table.round,)).fetchall()
        stream = uuid4()
        store_raw(conn, "RoundOpened.v1", json.dumps(opened).encode(), stream, 1)
        settled = "SELECT topic, body FROM ledger.log WHERE stream = %s AND version > 3 ORDER BY version"
        for version, (topic, body) in enumerate(conn.execute(settled, (table.round,)).fetchall(), 2):
            store_raw(conn, topic, json.dumps(body).encode(), stream, version)
        catch_up(conn)
    done = {check.name: check for check in examine(dsn)}
    assert {finding.code for finding in done["projections"].findings} == {"DR-04"}
    assert done["gaming days"].result == "failed"
    assert f"gaming day {DAY} of property DEMO" in done["gaming days"].detail


def test_epochs_go_back_where_the_last_one_is_not_the_highest(dsn: str) -> None:
    def found() -> list[SetBack]:
        with connected(dsn) as conn:
            return set_back(conn, examination.LONG_AGO)

    reported(dsn, 4, 6)
    assert found() == []
    reported(dsn, 4, first=4)
    assert found() == [("T-R01", 4, 6)], "what an earlier epoch had kept back, or a clock that is behind again"
    reported(dsn, None)
    assert found() == [("T-R01", 0, 6)], "a report without an epoch is of epoch 0"
    with connected(dsn) as conn:
        assert set_back(conn, timedelta(0)) == [], "what is long ago is told no more"
    rounds, table = house(dsn), Terminal()
    accepted(rounds.post([table.open(epoch=8, sequence=1)]))
    assert found() == [], "what is not written down yet is read in the log"
    accepted(rounds.post([table.close(epoch=3, sequence=1)]))
    assert found() == [("T-R01", 3, 8)]
    rounds.close()


def test_every_code_is_tried_and_told() -> None:
    assert {code for code, _, _ in FAULTS} | {TESTS_HAVE, "DR-16"} == set(FINDINGS)
    told = (Path(__file__).parents[2] / "docs" / "how-to" / "watch-the-service.md").read_text("utf-8")
    assert dict(re.findall(r"^\| `(DR-\d\d)` \| ([^|]+?) \|", told, re.MULTILINE)) == FINDINGS


def test_a_server_that_does_not_flush_is_told(dsn: str) -> None:
    [durable] = [check for check in examine(dsn) if check.name == "durability"]
    assert {finding.code for finding in durable.findings} == {"DR-02"}
    assert any("ALTER SYSTEM SET fsync = on" in finding.fix for finding in durable.findings)


def test_clocks_are_told_apart_by_seconds(dsn: str) -> None:
    with connected(dsn) as conn:
        for off in (-90, 0, 90):
            asked = Examination(conn, dsn, None, lambda: datetime.now(UTC) + timedelta(seconds=off))  # noqa: B023
            found = [each.detail for each in examination._clock(asked) if not isinstance(each, str)]
            assert len(found) == bool(off)
            assert not off or re.match(
                rf"the database's clock is (89|90|91).\d s {'behind' if off > 0 else 'ahead of'}", found[0]
            )


def test_a_service_that_is_behind_or_silent(dsn: str) -> None:
    with HTTPServer(("127.0.0.1", 0), _Behind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        [service] = [check for check in examine(dsn, service=url) if check.name == "service"]
        assert len(service.findings) == 2
        server.shutdown()
    for silent in (url, "nonsense", "http://["):
        [service] = [check for check in examine(dsn, service=silent) if check.name == "service"]
        assert [finding.code for finding in service.findings] == ["DR-16"]


def test_a_bare_database_lacks_its_schema_and_the_rest_is_left_out(bare_dsn: str) -> None:
    done = {check.name: check for check in examine(bare_dsn)}
    assert [finding.fix for finding in done["schema"].findings] == ["roundledger db init"]
    assert done["balances"].result == "left out"
    assert done["projections"].detail == "it needs the schema of this release"


def test_what_fails_is_no_clean_bill(day: str, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LEDGER_DSN", day)
    with connected(day) as conn:
        conn.execute("ALTER TABLE projection.holds RENAME TO gone")
    monkeypatch.setattr(examination, "_durable", lambda _: iter(("not asked",)))
    checks = tuple(
        each if each[0] != "durability" else ("durability", lambda _: iter(("",)), False) for each in examination._CHECKS
    )
    monkeypatch.setattr(examination, "_CHECKS", checks)
    assert run(["doctor"]) == 2
    assert "holds                   failed: relation" in (told := capsys.readouterr().out)
    assert "nothing was found; not looked at: holds" in told
    with connected(day) as conn:
        conn.execute("ALTER TABLE projection.gone RENAME TO holds")
    assert run(["doctor"]) == 0
    capsys.readouterr()
    sql("UPDATE projection.balances SET balance = balance + 1 WHERE account = 'win/T-01'")(day, monkeypatch)
    assert run(["doctor", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["clean"] is False
    assert [finding["code"] for finding in document["findings"]] == ["DR-06"]
    assert run(["doctor", "--csv"]) == 1
    assert capsys.readouterr().out.splitlines()[1].startswith("balances,DR-06,")
    monkeypatch.setenv("LEDGER_DSN", "host=/nowhere")
    assert run(["doctor"]) == 2
    assert "error[LGR-0501]" in capsys.readouterr().err
