"""What a report may come to in the database: as many events as a round has bets; and one that cannot be stored stops no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import msgspec
import psycopg
import pytest

from ledger.application import Rounds
from ledger.reports import Report
from tests.support import UNLIMITED, Terminal, accepted, codes, house

MANY = 40_000
"""More than a count of 16 bits can say, which is 32,767."""
POST = 2_000


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    with closing(house(dsn, UNLIMITED)) as found:
        yield found


def test_a_round_of_more_winners_than_16_bits_count_settles_at_once(rounds: Rounds) -> None:
    """Slow: it takes that many bets. Its receipt names every event, when it is sent again as well."""
    table = Terminal()
    accepted(rounds.post([table.open()]))
    for first in range(0, MANY, POST):
        accepted(rounds.post([table.bet("red", "100", f"P-{n}") for n in range(first, min(first + POST, MANY))]))
    outcome = table.outcome("3")
    _, settled = accepted(rounds.post([table.close(), outcome]))
    assert len(settled.positions) == MANY + 2
    [again] = rounds.post([outcome])
    assert (again.status, again.positions) == ("replayed", settled.positions)


def poisoned(dsn: str, sqlstate: str) -> None:
    """The database takes no event in which the player BAD stands."""
    with psycopg.connect(dsn) as conn:
        conn.execute(f"""
            CREATE FUNCTION ledger.no_bad() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'it cannot be' USING ERRCODE = '{sqlstate}'; END $$;
            CREATE TRIGGER no_bad BEFORE INSERT ON ledger.events FOR EACH ROW
            WHEN (position('"BAD"' IN convert_from(NEW.state, 'UTF8')) > 0) EXECUTE FUNCTION ledger.no_bad()
        """)


@pytest.mark.parametrize("sqlstate", ["22003", "22021", "23502", "23514", "54000"])
@pytest.mark.parametrize("mates", [0, 1, 6])
def test_what_the_database_cannot_take_is_refused_for_good_and_alone(
    rounds: Rounds, dsn: str, sqlstate: str, mates: int, caplog: pytest.LogCaptureFixture
) -> None:
    poisoned(dsn, sqlstate)
    table = Terminal()
    accepted(rounds.post([table.open(sequence=1), table.bet("red", sequence=2)]))
    bad = table.bet("red", player="BAD", sequence=3 + mates)
    before = [table.bet("red", sequence=n) for n in range(3, 3 + mates)]
    after = [table.bet("odd", sequence=n) for n in range(4 + mates, 4 + 2 * mates)]
    batch: list[Report] = [*before, bad, *after]
    assert codes(rounds.post(batch)) == ["accepted"] * mates + ["LGR-0524"] + ["accepted"] * mates
    assert f"cannot take event {bad.event_id}" in caplog.text
    [again] = rounds.post([bad])
    assert again.refusal is not None
    assert again.refusal.code == "LGR-0524"
    assert not again.refusal.meaning.retryable
    assert again.received is not None
    assert (again.received.contiguous, again.received.missing) == (3 + 2 * mates, ())
    assert codes(rounds.post([table.close(), table.outcome("3")])) == ["accepted"] * 2
    assert len(rounds.round(table.round).bets) == 1 + 2 * mates


def test_a_number_that_no_column_holds_is_refused_alone(rounds: Rounds) -> None:
    table = Terminal()
    accepted(rounds.post([table.open()]))
    beyond = table.bet("split:3-4", sequence=2**70)  # refused by the rules, and nor can the refusal be kept
    seat = msgspec.structs.replace(table.bet("red"), event_id=beyond.event_id)
    assert codes(rounds.post([table.bet("red"), beyond, table.bet("odd")])) == ["accepted", "LGR-0524", "accepted"]
    assert codes(rounds.post([seat])) == ["accepted"], "nothing of it was kept"
