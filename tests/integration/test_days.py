"""Gaming days are closed: in order, once they have ended, with nothing under way; and nothing is posted to them afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
import psycopg
import pytest
from click.testing import CliRunner
from psycopg import sql

from cli.main import roundledger
from ledger.api.closings import Closings
from ledger.application import Rounds
from ledger.days import earliest
from ledger.errors import Refusal
from ledger.houses import since
from ledger.reports import (
    ApproveCorrection,
    CloseDay,
    ConfirmSlip,
    OpenRound,
    ProposeCorrection,
    RecordFill,
    Report,
    days_stream,
    table_stream,
)
from projections import days, queries
from projections.runner import catch_up
from tests.integration.reading_back import verify_read_back
from tests.integration.test_cage import Slips
from tests.support import DEMO, Terminal, accepted, codes, house, post_in_turn

START = datetime(2026, 11, 28, 22, 0, tzinfo=UTC)
"""06:00 on the 29th in Macau."""
DAY = date(2026, 11, 29)
NEXT = START + timedelta(days=1)


@pytest.fixture(autouse=True)
def read_back(dsn: str) -> Iterator[None]:
    """Whatever was done in a test comes out of the read side as it should."""
    yield
    verify_read_back(dsn)


@pytest.fixture
def houses(dsn: str) -> Iterator[list[Rounds]]:
    """Two processes on one database."""
    both = [house(dsn), house(dsn)]
    yield both
    for each in both:
        each.close()


@pytest.fixture
def rounds(houses: list[Rounds]) -> Rounds:
    return houses[0]


def last(dsn: str) -> int:
    with psycopg.connect(dsn) as conn:
        row = conn.execute("SELECT max(notification_id) FROM ledger.events").fetchone()
    assert row is not None
    return int(row[0])


def closing(
    dsn: str,
    day: date = DAY,
    at: datetime = NEXT,
    *,
    by: str | None = "C-1",
    as_of: int | None = None,
    despite: tuple[str, ...] = (),
) -> Report:
    body = CloseDay(property="DEMO", gaming_day=day, as_of=str(as_of or last(dsn)), figures="0" * 64, despite=despite)
    return Terminal().report(body, by=by, round=days_stream("DEMO"), received_at=at)


def play(table: Terminal, at: datetime, shown: str = "17", **bet: Any) -> list[Report]:
    opening = table.open(received_at=at)
    placed = table.bet("red", **bet, received_at=at)
    return [opening, placed, table.close(received_at=at), table.outcome(shown, received_at=at)]


def put_right(table: Terminal, at: datetime, **said: Any) -> list[Report]:
    asked = table.report(ProposeCorrection(reason="found_wrong", **said), by="S-7", received_at=at)
    return [asked, table.report(ApproveCorrection(correction=asked.event_id), by="S-8", received_at=at)]


def rows(dsn: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        return conn.execute(query.encode()).fetchall()


def report(dsn: str, day: date) -> list[tuple[str, ...]]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        found = queries.table_report(conn, day)
        assert not any(outcome.count < 0 for outcome in queries.outcomes(conn, day=day))
    return [(line.handle, line.lost, line.prizes, line.adjusted, line.earlier, line.win) for line in found.lines]


def fingerprint(dsn: str, day: date = DAY) -> str:
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        return days.fingerprint("DEMO", day, days.table_days(conn, "DEMO", day))


class TestWhenADayCanBeClosed:
    def test_not_before_it_has_ended_by_the_property_s_clock(self, rounds: Rounds, dsn: str) -> None:
        accepted(rounds.post(play(Terminal(), START)))
        early = closing(dsn, at=NEXT - timedelta(microseconds=1))
        assert codes(rounds.post([early, closing(dsn, at=NEXT)])) == ["LGR-0270", "accepted"]

    def test_in_order_and_once(self, rounds: Rounds, dsn: str) -> None:
        later = NEXT + timedelta(days=5)
        accepted(rounds.post(play(Terminal(), START)))
        answers = rounds.post([closing(dsn, at=later)])
        answers += rounds.post([closing(dsn, at=later), closing(dsn, DAY - timedelta(1), later)])
        answers += rounds.post([closing(dsn, DAY + timedelta(2), later), closing(dsn, DAY + timedelta(1), later)])
        assert codes(answers) == ["accepted", "LGR-0271", "LGR-0271", "LGR-0273", "accepted"]
        assert rows(dsn, "SELECT gaming_day, closed_by FROM projection.days ORDER BY 1") == [
            (DAY, "C-1"),
            (DAY + timedelta(1), "C-1"),
        ]

    def test_it_is_a_person_s_act(self, rounds: Rounds, dsn: str) -> None:
        assert codes(rounds.post([closing(dsn, by=None)])) == ["LGR-0801"]

    def test_not_while_a_round_of_it_is_open_nor_with_figures_that_are_old_or_of_the_future(
        self, rounds: Rounds, dsn: str
    ) -> None:
        table = Terminal()
        at = last(dsn)
        accepted(rounds.post([table.open(received_at=START)]))
        assert codes(rounds.post([closing(dsn)])) == ["LGR-0274"]
        # It settles a day later, and is of the day in which it opened all the same.
        accepted(rounds.post([table.close(received_at=NEXT), table.outcome("17", received_at=NEXT)]))
        stale, ahead = closing(dsn, as_of=at), closing(dsn, as_of=10**9)
        assert codes(rounds.post([stale, ahead, closing(dsn)])) == ["LGR-0275", "LGR-0108", "accepted"]

    def test_the_same_closing_again_is_answered_as_before(self, rounds: Rounds, dsn: str) -> None:
        close = closing(dsn)
        assert codes(rounds.post([close, close])) == ["accepted", "replayed"]


class TestWhatComesAfterTheClosing:
    def test_a_round_that_is_opened_by_a_clock_that_went_back_is_of_the_open_day(self, rounds: Rounds, dsn: str) -> None:
        accepted(rounds.post([closing(dsn), *play(Terminal(), NEXT - timedelta(seconds=1))]))
        assert rows(dsn, "SELECT gaming_day FROM projection.rounds") == [(DAY + timedelta(1),)]

    def test_a_correction_is_posted_to_the_open_day_and_names_the_closed_one(self, rounds: Rounds, dsn: str) -> None:
        table, today = Terminal(), DAY + timedelta(1)
        accepted(rounds.post(play(table, START)))
        before = fingerprint(dsn)
        accepted(rounds.post([closing(dsn), *put_right(table, NEXT, kind="outcome", outcome="19")]))
        assert report(dsn, DAY) == [("10000", "10000", "0", "0", "0", "10000")], "the closed day stands as it was closed"
        assert fingerprint(dsn) == before
        assert report(dsn, today) == [("0", "0", "0", "0", "-20000", "-20000")]
        said = "SELECT body->>'gaming_day', body->>'of_day' FROM ledger.log WHERE topic ~ '^(Bet|Outcome)Corrected'"
        assert rows(dsn, said) == [(str(today), str(DAY))] * 2
        assert rows(dsn, "SELECT gaming_day, earlier, ledger_win FROM projection.table_days ORDER BY 1") == [
            (DAY, 0, 10_000),
            (today, -20_000, -20_000),
        ]

    def test_so_is_a_mispay(self, rounds: Rounds, dsn: str) -> None:
        table = Terminal()
        reports = play(table, START)
        accepted(rounds.post([*reports]))
        accepted(rounds.post([closing(dsn)]))
        bet = reports[1].event_id
        accepted(rounds.post(put_right(table, NEXT, kind="mispay", bet=bet, amount="500", direction="to_player")))
        assert [line[3] for line in report(dsn, DAY) + report(dsn, DAY + timedelta(1))] == ["0", "500"]

    def test_a_correction_of_an_open_day_is_of_that_day(self, rounds: Rounds, dsn: str) -> None:
        table = Terminal()
        accepted(rounds.post([*play(table, START), *put_right(table, NEXT, kind="outcome", outcome="19")]))
        assert report(dsn, DAY) == [("10000", "0", "10000", "0", "0", "-10000")]

    def test_slips_of_a_closed_day_go_to_the_open_one(self, rounds: Rounds, dsn: str) -> None:
        slips, today = Slips(), DAY + timedelta(1)
        waiting = slips.fill((100, 1), received_at=START)
        posted = slips.fill((100, 2), received_at=START)
        signed = msgspec.structs.replace(slips.confirm(posted), received_at=START)
        accepted(rounds.post([waiting, posted, signed]))
        accepted(rounds.post([closing(dsn)]))
        late = slips.fill((100, 4), received_at=NEXT, gaming_day=DAY)
        after = [
            slips.confirm(waiting),
            late,
            slips.confirm(late),
            slips.cancel(posted),
            slips.confirm(posted, by="C-1", cancellation=True),
        ]
        accepted(rounds.post([msgspec.structs.replace(each, received_at=NEXT) for each in after]))
        found = rows(dsn, "SELECT number, gaming_day, of_day, reversed_day FROM projection.slips ORDER BY number")
        assert found == [(1, today, DAY, None), (2, DAY, None, today), (3, today, DAY, None)]
        assert rows(dsn, "SELECT gaming_day, fills FROM projection.table_days ORDER BY 1") == [
            (DAY, 200),
            (today, 100 + 400 - 200),
        ]


class TestRaces:
    """A closing in one process, and what posts to the day in another: one comes wholly before the other."""

    def test_rounds_that_open_and_settle_at_the_change_of_day(self, houses: list[Rounds], dsn: str) -> None:
        self._race(houses, dsn, lambda n: play(Terminal(), START + timedelta(days=n)))

    def test_slips_that_are_signed(self, houses: list[Rounds], dsn: str) -> None:
        slips = Slips()

        def signed(n: int) -> list[Report]:
            slip = slips.fill((100, 1))
            return [msgspec.structs.replace(each, received_at=START + timedelta(days=n)) for each in (slip, slips.confirm(slip))]

        self._race(houses, dsn, signed)

    def _race(self, houses: list[Rounds], dsn: str, act: Callable[[int], list[Report]]) -> None:
        """Day after day: what was received in its last moment is appended while another process closes it."""
        for n in range(12):
            day, ended = DAY + timedelta(days=n), NEXT + timedelta(days=n)
            late = act(n)

            def closed(day: date = day, ended: datetime = ended) -> str:
                while True:
                    [code] = codes(houses[1].post([closing(dsn, day, ended)]))
                    if code not in ("LGR-0274", "LGR-0275", "LGR-0503"):
                        return code
                    time.sleep(0.001)

            with ThreadPoolExecutor(2) as pool:
                posting = pool.submit(post_in_turn, houses, 0, late)
                assert pool.submit(closed).result() == "accepted"
                accepted(posting.result())
        # Whatever is posted to a day stands in the log before its closing.
        late_ones = rows(
            dsn,
            "SELECT e.topic FROM ledger.log AS e JOIN ledger.log AS c ON c.topic = 'GamingDayClosed.v1' "
            "AND c.body->>'gaming_day' = e.body->>'gaming_day' AND e.position > c.position",
        )
        assert late_ones == []
        assert rows(dsn, "SELECT count(*) FROM projection.days") == [(12,)]

    def test_a_correction_and_a_closing_at_the_same_moment(self, houses: list[Rounds], dsn: str) -> None:
        for n in range(8):
            table, day, ended = Terminal(), DAY + timedelta(days=n), NEXT + timedelta(days=n)
            accepted(post_in_turn(houses, 0, play(table, START + timedelta(days=n))))
            asked, approved = put_right(table, ended, kind="outcome", outcome="19")
            accepted(post_in_turn(houses, 0, [asked]))
            at = last(dsn)
            with ThreadPoolExecutor(2) as pool:
                correcting = pool.submit(post_in_turn, houses, 0, [approved])
                [answer] = codes(houses[1].post([closing(dsn, day, ended, as_of=at)]))
                accepted(correcting.result())
            posted = rows(
                dsn,
                "SELECT DISTINCT body->>'gaming_day' FROM ledger.log WHERE topic = 'BetCorrected.v1' "
                f"AND stream = '{table.round}'",
            )
            if answer == "accepted":
                assert posted == [(str(day + timedelta(1)),)]
            else:
                assert (answer, posted) == ("LGR-0275", [(None,)])
                accepted(houses[1].post([closing(dsn, day, ended)]))


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Kiritimati"])
@pytest.mark.parametrize("change", [date(2026, 3, 1), date(2026, 1, 1), date(2028, 2, 29)])
def test_b43_the_day_is_that_of_the_property_whatever_zone_server_and_session_keep(
    dsn: str, zone: str, change: date, monkeypatch: pytest.MonkeyPatch
) -> None:
    """05:59:59.999999 and 06:00 in Macau: two days, the same in every output."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {sql.Identifier(conn.info.dbname).as_string(conn)} SET timezone = '{zone}'".encode())
    at = datetime(change.year, change.month, change.day, 6, tzinfo=UTC) - timedelta(hours=8)
    rounds = house(dsn)
    try:
        table, slips = Terminal(), Slips()
        before = at - timedelta(microseconds=1)
        accepted(rounds.post([*play(table, before), *play(table, at)]))
        accepted(rounds.post([slips.fill((100, 1), received_at=before), slips.fill((100, 1), received_at=at)]))
        both = [(change - timedelta(1),), (change,)]
        assert rows(dsn, "SELECT gaming_day FROM projection.rounds ORDER BY first_position") == both
        assert rows(dsn, "SELECT gaming_day FROM projection.slips ORDER BY number") == both
        assert codes(rounds.post([closing(dsn, change, at), closing(dsn, change - timedelta(1), at)])) == ["LGR-0270", "accepted"]
        assert rows(dsn, "SELECT gaming_day FROM projection.days") == [(change - timedelta(1),)]
    finally:
        rounds.close()
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("first", "hours"),
    [(date(2026, 3, 7), 23), (date(2026, 10, 31), 25), (date(2026, 6, 1), 24)],
)
def test_a_day_of_23_and_of_25_hours_ends_with_the_clock(dsn: str, first: date, hours: int) -> None:
    """New York: the clocks change in the night to 8 March and 1 November 2026, within the gaming day before."""
    config = msgspec.structs.replace(DEMO, zone="America/New_York")
    rounds = house(dsn, config)
    try:
        start = datetime(first.year, first.month, first.day, 10, tzinfo=UTC) + timedelta(hours=1 if first.month == 3 else 0)
        assert config.gaming_day(start) == first
        assert config.gaming_day(start - timedelta(microseconds=1)) == first - timedelta(1)
        end = start + timedelta(hours=hours)
        early = closing(dsn, first, end - timedelta(microseconds=1))
        assert codes(rounds.post([early, closing(dsn, first, end)])) == ["LGR-0270", "accepted"]
    finally:
        rounds.close()


def test_what_a_person_of_another_house_closes_is_not_closed(rounds: Rounds, dsn: str) -> None:
    unknown = Terminal().report(
        CloseDay(property="OTHER", gaming_day=DAY, as_of="1", figures="0" * 64),
        by="C-1",
        round=days_stream("OTHER"),
        received_at=NEXT,
    )
    elsewhere = msgspec.structs.replace(closing(dsn), round=uuid4(), event_id=uuid4())
    assert codes(rounds.post([unknown, elsewhere])) == ["LGR-0612", "LGR-0108"]


def test_a_closing_and_what_came_before_it_may_be_posted_together(rounds: Rounds, dsn: str) -> None:
    """A group is decided as a whole, but a closing asks the log: what stands before it in a post is stored by then."""
    table = Terminal()
    opening = table.report(OpenRound(table="R01", game="roulette"), received_at=NEXT - timedelta(microseconds=1))
    assert codes(rounds.post([opening, closing(dsn, as_of=last(dsn))])) == ["accepted", "LGR-0274"]


def test_a_log_that_posts_to_a_closed_day_is_not_folded(rounds: Rounds, dsn: str) -> None:
    """The fold does not believe that the write side has kept its word."""
    slips = Slips()
    slip = slips.fill((100, 1), received_at=START)
    accepted(rounds.post([slip]))
    accepted(rounds.post([closing(dsn)]))
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "INSERT INTO ledger.events (originator_id, originator_version, topic, state) SELECT stream, version + 1, "
            "'SlipConfirmed.v1', convert_to((body || %s)::text, 'UTF8') FROM ledger.log WHERE topic = 'FillRecorded.v1'",
            ('{"by": "C-9", "kind": "fill", "amount": "100"}',),
        )
        catch_up(conn)
        reasons = [at.stop_reason or "" for at in queries.positions(conn) if at.name == "ledger"]
        assert "gaming day 2026-11-29 of property DEMO is closed" in reasons[0]
        # So that what every test ends with can be asked: the row is taken out again.
        conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER events_append_only")
        conn.execute("DELETE FROM ledger.events WHERE topic = 'SlipConfirmed.v1'")
        conn.execute("ALTER TABLE ledger.events ENABLE TRIGGER events_append_only")
        conn.execute("TRUNCATE projection.positions")
        conn.execute("UPDATE projection.positions SET stopped_at = NULL, stopped_by = NULL, stop_reason = NULL")
        for table in ("rounds", "slips", "chips", "days"):
            conn.execute(f"TRUNCATE projection.{table}".encode())


def test_what_is_unfinished_is_told_by_its_code(rounds: Rounds, dsn: str) -> None:
    slips, table = Slips(), Terminal()
    fill, far = slips.fill((100, 1), received_at=START), slips.fill((100, 1), number=5, received_at=START)
    accepted(rounds.post([*play(table, START), table.open(received_at=START), fill, far]))
    accepted(rounds.post([msgspec.structs.replace(slips.confirm(far), received_at=START)]))
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        found = [(each.code, each.table) for each in days.unfinished(conn, "DEMO", DAY, ())]
        assert [(gap.kind, gap.first, gap.last) for gap in days.gaps(conn)] == [("fill", 2, 4)]
        before = days.unfinished(conn, "DEMO", DAY - timedelta(1), ())
        assert before == [], "numbers between slips of a later day are of no day before it"
    assert found == [
        ("open_round", "R01"),
        ("unconfirmed_slip", "R01"),
        ("missing_opener", "R01"),
        ("missing_closer", "R01"),
        ("missing_drop", "R01"),
        ("slip_gap", None),
    ]


def test_days_before_the_first_and_to_come_are_told_as_such(dsn: str, rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a closed one when it was closed, and with which words."""
    monkeypatch.setenv("LEDGER_DSN", dsn)
    slips = Slips()
    accepted(rounds.post([*play(Terminal(), START), slips.fill((100, 1), received_at=START)]))

    def told(day: date) -> Any:
        shown = CliRunner().invoke(roundledger, ["day", "status", day.isoformat(), "--json"])
        assert shown.exit_code == 0, shown.output
        return json.loads(shown.stdout)

    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        begun = earliest(since(conn, "DEMO") or DAY)
    before = begun - timedelta(1)
    assert (told(before)["standing"], told(before)["unfinished"]) == (f"none: the ledger begins with {begun}", [])
    refused = CliRunner().invoke(roundledger, ["day", "close", before.isoformat()])
    assert isinstance(refused.exception, Refusal)
    assert refused.exception.code == "LGR-0276"
    later = told(date(2999, 1, 1))
    assert later["standing"].startswith("to come: it is ")
    assert later["unfinished"] == []
    said = closing(dsn, despite=tuple(code for code in days.UNFINISHED if code != days.OPEN_ROUND))
    accepted(rounds.post([msgspec.structs.replace(said, body=msgspec.structs.replace(said.body, note="no box was out"))]))
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
    shown = told(DAY)
    assert (shown["standing"], shown["note"]) == ("closed by C-1", "no box was out")
    assert shown["closed_at"].endswith("Z")


def test_a_closing_that_comes_through_the_door_has_to_acknowledge_what_day_close_asks_for(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same list for both: what the refusal names is what `day status` shows, gaps of terminals among it."""
    house(dsn).close()
    rounds, table, slips = Rounds(dsn, verify_closing=Closings(dsn).verify), Terminal(), Slips()
    try:
        opened, placed, *ended = play(table, START)
        placed = msgspec.structs.replace(placed, sequence=3)
        accepted(rounds.post([opened, placed, *ended, slips.fill((100, 1), received_at=START)]))
        before = closing(dsn)
        assert codes(rounds.post([before])) == ["LGR-0505"], "the read side has folded nothing yet"
        with psycopg.connect(dsn, autocommit=True) as conn:
            catch_up(conn)
        monkeypatch.setenv("LEDGER_DSN", dsn)
        shown = CliRunner().invoke(roundledger, ["day", "status", DAY.isoformat(), "--json"])
        unfinished = tuple(dict.fromkeys(each["code"] for each in json.loads(shown.stdout)["unfinished"]))
        assert {"unconfirmed_slip", "missing_opener", "missing_closer", "missing_drop", "terminal_gap"} == set(unfinished)
        for n in range(len(unfinished)):
            (verdict,) = rounds.post([closing(dsn, despite=unfinished[:n])])
            assert verdict.refusal is not None
            assert (verdict.refusal.code, verdict.refusal.help) == (
                "LGR-0277",
                f"finish it, or name in `despite` what is acknowledged: {', '.join(unfinished[n:])}",
            )
        assert rows(dsn, "SELECT gaming_day FROM projection.days") == []
        said = closing(dsn, despite=unfinished)
        assert codes(rounds.post([said])) == ["accepted"]
        assert codes(rounds.post([said])) == ["replayed"]
    finally:
        rounds.close()


def test_a_confirmation_for_another_table_is_refused(rounds: Rounds) -> None:
    slips = Slips()
    slip = slips.report(RecordFill(table="R01", number=1, chips=(), total="0", currency="MOP"), "C-1")
    other = slips.terminal.report(ConfirmSlip(table="R02", slip=slip.event_id, kind="fill"), by="D-11", round=table_stream("R02"))
    assert codes(rounds.post([other])) == ["LGR-0262"]


class TestNoDayBeforeTheLedgersFirst:
    """A mistyped year closes nothing: the days are closed in order, so that a closing of 1999 would ask for ten thousand more."""

    BEGUN = datetime(2026, 11, 27, 22, 0, tzinfo=UTC)
    """06:00 on the 28th in Macau: the gaming day of the 27th is the first that can be named."""

    @pytest.fixture
    def rounds(self, dsn: str) -> Iterator[Rounds]:
        rounds = Rounds(dsn)
        rounds.apply_property(DEMO, self.BEGUN)
        yield rounds
        rounds.close()

    @pytest.mark.parametrize("day", [date(1, 1, 1), date(1000, 2, 28), date(1999, 1, 1), date(2026, 11, 26)])
    def test_for_the_first_closing_and_for_every_kind_of_slip(self, rounds: Rounds, dsn: str, day: date) -> None:
        slips = Slips()
        said: dict[str, Any] = {"gaming_day": day, "received_at": NEXT}
        reports = [slips.count("opener", (100, 1), **said), slips.count("closer", (100, 1), **said)]
        reports += [slips.fill((100, 1), **said), slips.credit((100, 1), **said), slips.drop(100, **said)]
        assert set(codes(rounds.post(reports))) == {"LGR-0276"}
        assert codes(rounds.post([closing(dsn, day)])) == ["LGR-0276"]
        assert rows(dsn, "SELECT gaming_day FROM projection.days") == []

    def test_but_the_evening_before_may_be_counted_and_closed(self, rounds: Rounds, dsn: str) -> None:
        evening = date(2026, 11, 27)
        slip = Slips().fill((100, 1), gaming_day=evening, received_at=NEXT)
        accepted(rounds.post([slip]))
        accepted(rounds.post([closing(dsn, evening), closing(dsn, evening + timedelta(1))]))

    def test_day_status_names_none_that_an_older_program_let_in(
        self, rounds: Rounds, dsn: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # By a clock of that time, for no slip can name the day any more.
        slip = Slips().fill((100, 1), received_at=datetime(1999, 1, 1, 12, tzinfo=UTC))
        accepted(rounds.post([slip, Slips().confirm(slip, received_at=NEXT)]))
        rows(dsn, "SELECT 1")
        monkeypatch.setenv("LEDGER_DSN", dsn)
        shown = CliRunner().invoke(roundledger, ["day", "status", "--json"])
        assert json.loads(shown.stdout)["gaming_day"] == "2026-11-27"


def test_a_running_day_has_not_ended_whatever_is_unfinished_of_it(
    rounds: Rounds, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted(rounds.post([Terminal().open()]))
    rows(dsn, "SELECT 1")
    monkeypatch.setenv("LEDGER_DSN", dsn)
    for day in (DEMO.gaming_day(datetime.now(UTC)), date(9999, 1, 1)):
        refused = CliRunner().invoke(roundledger, ["day", "close", day.isoformat()])
        assert "LGR-0270" in str(refused.exception), refused.output


@pytest.mark.parametrize("option", ["--cash", "--vouchers"])
def test_a_box_holds_no_less_than_nothing(option: str) -> None:
    refused = CliRunner().invoke(roundledger, ["chips", "drop", "R01", "R01-1", option, "-5", "--currency", "MOP"])
    assert "LGR-0104" in str(refused.exception), refused.output
