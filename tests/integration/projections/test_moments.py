"""Balances as of any position and any time, against those added up from the raw events."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from ledger.errors import Refusal
from ledger.events import DocumentRecorded
from ledger.store import migrate
from projections import moments, queries
from projections.runner import catch_up
from tests.integration.projections.support import Connection, connected, content, count, lived_through, positions_of, store
from tests.unit.projections.lives import EVERYTHING

MOMENTS = next(one for one in migrate.migrations() if one.name == "moments")


def by_hand(conn: Connection, position: int) -> dict[tuple[str, str], int]:
    """Every account's balance, from the movements one by one."""
    sums: Counter[tuple[str, str]] = Counter()
    for debit, credit, currency, amount in conn.execute(
        "SELECT debit, credit, currency, amount FROM projection.movements WHERE position <= %s", (position,)
    ):
        sums[debit, currency] -= int(amount)
        sums[credit, currency] += int(amount)
    return {key: sums[key] for key in sorted(sums)}


@pytest.fixture(params=["blocks of two events", "blocks as they are"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of a few hundred events has one block: with small ones there are many, and their edges."""
    if request.param.startswith("blocks of"):
        monkeypatch.setattr(moments, "CHANGE_BITS", 1)
        monkeypatch.setattr(moments, "TIME_BITS", 1)


@pytest.mark.usefixtures("small")
def test_balances_as_of_every_position_are_the_sum_of_the_movements_up_to_it(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, lived_through(EVERYTHING))
        catch_up(conn, batch=7)
        end = positions_of(conn)["ledger"]
        assert end > 200
        for position in [*range(0, end, 13), end - 1, end]:
            found = moments.balances_at(conn, position)
            assert {(row.account, row.currency): int(row.balance) for row in found} == by_hand(conn, position)
            sums: Counter[str] = Counter()
            for line in moments.trial(found):
                sums[line.currency] += int(line.balance)
            assert not any(sums.values())
            assert moments.balances_at(conn, position, "player/", "HKD") == [
                row for row in found if row.account.startswith("player/") and row.currency == "HKD"
            ]
        assert moments.balances_at(conn, end) == queries.balances(conn)
        assert moments.balances_at(conn, 0) == []


@pytest.mark.usefixtures("small")
def test_the_position_of_a_time_is_that_of_the_last_event_received_by_then(dsn: str) -> None:
    """Events are stored in another order than that in which they were received: 12:00:03 may stand before 12:00:01."""
    with connected(dsn) as conn:
        store(conn, lived_through(EVERYTHING))
        catch_up(conn, batch=5)
        received = conn.execute(
            "SELECT position, (body->>'received_at')::timestamptz FROM ledger.log WHERE body ? 'received_at' ORDER BY position"
        ).fetchall()
        times = sorted({at for _, at in received})
        assert len(times) > 20
        for time in [times[0] - timedelta(microseconds=1), *times[::3], times[-1], times[-1] + timedelta(days=1)]:
            wanted = max((position for position, at in received if at <= time), default=0)
            assert moments.position_at(conn, time) == wanted
            assert moments.position_at(conn, time + timedelta(microseconds=0)) == wanted


def test_no_more_is_told_than_the_read_side_knows(dsn: str) -> None:
    with connected(dsn) as conn:
        store(conn, lived_through())
        catch_up(conn, upto=40)
        assert moments.position_at(conn, datetime.now(UTC)) <= 40
        with pytest.raises(Refusal, match="the read side is at position 40"):
            moments.balances_at(conn, 41)


def test_a_balance_as_of_a_position_stays_what_it_was(dsn: str) -> None:
    """What is recorded later, a correction too, changes no balance as of before."""
    with connected(dsn) as conn:
        store(conn, lived_through(EVERYTHING))
        catch_up(conn, upto=150)
        then = queries.balances(conn)
        catch_up(conn)
        assert queries.balances(conn) != then
        assert moments.balances_at(conn, 150) == then


def test_a_prefix_of_any_characters(dsn: str) -> None:
    with connected(dsn) as conn:
        names = ["player/P", "player/P%", "player/P\U0010ffff", "player/P\U0010ffffX", "player/Q", "player/\ud7ff"]
        for position, name in enumerate(names, 1):
            conn.execute(
                "INSERT INTO projection.movements VALUES (%s, 1, %s, NULL, 'R01', 'MOP', %s, 'escrow/R01', 5)",
                (position, uuid4(), name),
            )
            conn.execute("INSERT INTO projection.balance_changes VALUES (%s, 'MOP', 0, -5)", (name,))
        conn.execute("INSERT INTO projection.positions (name, position) VALUES ('ledger', 1000000)")
        for position in (6, 1_000_000):
            for prefix in [*names, "player/", "P", "player/P\ud7fe"]:
                found = {row.account for row in moments.balances_at(conn, position, prefix)}
                assert found == {name for name in names if name.startswith(prefix)}


@pytest.mark.parametrize("wrong", ["", "yesterday", "2026-11-29", "2026-11-29T12:00:00", "-1", "1.5", "９", "9" * 19])
def test_what_is_no_moment_is_refused(wrong: str) -> None:
    with pytest.raises(Refusal, match="LGR-0108: not a position, nor a time with its offset"):
        moments.moment(wrong, datetime.now(UTC), "--at")


def test_a_time_to_come_is_refused() -> None:
    now = datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert moments.moment("2026-11-29T20:00:00+08:00", now, "--at") == now
    with pytest.raises(Refusal, match="LGR-0108: the time is still to come"):
        moments.moment("2026-11-29T12:00:00.000001Z", now, "--at")


def test_a_migrated_database_has_what_a_fresh_fold_has(dsn: str) -> None:
    """The tables are filled by SQL where a log was folded before they were there."""
    with connected(dsn) as conn:
        document = DocumentRecorded(kind="note", name="", sha256="", content="", recorded_at=datetime(2003, 5, 1, tzinfo=UTC))
        store(conn, [(uuid4(), 1, document), *lived_through(EVERYTHING)])
        catch_up(conn, upto=180)
        before = content(conn)
        conn.execute("DROP TABLE projection.balance_changes, projection.log_times")
        conn.execute(MOMENTS.sql.encode())
        assert content(conn) == before
        assert count(conn, "projection.balance_changes") > 10
        assert count(conn, "projection.log_times") > 0
