"""Groups that are begun without waiting: what comes of them is what `post` would have made of them, whatever comes in between."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ledger import sequences
from ledger.application import Rounds
from ledger.application.rounds import Begun
from ledger.errors import Refusal
from ledger.reports import Report, Verdict
from tests.support import UNLIMITED, Terminal, accepted, codes, house


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    with closing(house(dsn, UNLIMITED, lease_idle=60)) as made:
        yield made


@pytest.fixture
def table(rounds: Rounds) -> Terminal:
    """A table whose round is open, has a bet, and is at hand with all that it is played under."""
    made = Terminal()
    accepted(rounds.post([made.open(sequence=1), made.bet("black")]))
    return made


def through(rounds: Rounds, reports: Sequence[Report], *, waits: bool) -> list[Verdict]:
    """The verdicts of a group that is begun; `waits`: whether it is to need a thread at its end."""
    begun = rounds.begin(reports)
    assert begun is not None
    verdicts = ended(begun)
    assert (verdicts is None) is waits
    return begun.finish() if verdicts is None else verdicts


def ended(begun: Begun) -> list[Verdict] | None:
    """What an event loop comes to; None where the rest takes waiting."""
    verdicts = None
    while begun.descriptor is not None and verdicts is None:
        assert select.select([begun.descriptor], [], [], 10)[0]
        verdicts = begun.ended()
    return verdicts


def stored(dsn: str) -> list[Any]:
    with psycopg.connect(dsn) as conn:
        return [row[0] for row in conn.execute("SELECT cause::text FROM ledger.events WHERE cause IS NOT NULL ORDER BY 1")]


def test_bets_of_a_round_at_hand_go_all_the_way_without_waiting(rounds: Rounds, table: Terminal, dsn: str) -> None:
    verdicts = accepted(through(rounds, [table.bet("red") for _ in range(20)], waits=False))
    [one] = accepted(through(rounds, [table.bet("odd")], waits=False))
    positions = [position for verdict in [*verdicts, one] for position in verdict.positions]
    assert positions == sorted(set(positions))
    assert len(positions) == 21
    with psycopg.connect(dsn) as conn:
        assert positions == [row[0] for row in conn.execute("SELECT position FROM ledger.log WHERE topic = 'BetPlaced.v1'")][1:]
    accepted(rounds.post([table.close(), table.outcome("17")]))
    assert len(rounds.round(table.round).bets) == 22


def test_what_is_not_at_hand_is_finished_in_a_thread(table: Terminal, rounds: Rounds, dsn: str) -> None:
    rounds.close()
    with closing(Rounds(dsn)) as other:
        accepted(through(other, [table.bet("red")], waits=True))  # neither the round nor the table
        accepted(through(other, [table.bet("red")], waits=False))


def test_other_reports_and_ids_that_come_twice_are_not_begun(rounds: Rounds, table: Terminal) -> None:
    bet = table.bet("red")
    assert rounds.begin([bet, bet]) is None
    assert rounds.begin([bet, table.close()]) is None
    assert codes(rounds.post([bet, bet])) == ["accepted", "replayed"]


def test_a_refusal_amid_a_group_costs_the_others_nothing(rounds: Rounds, table: Terminal) -> None:
    good = [table.bet("red") for _ in range(4)]
    bad = table.bet("nonsense:99")
    verdicts = through(rounds, [*good[:2], bad, *good[2:]], waits=True)
    assert codes(verdicts) == ["accepted", "accepted", "LGR-0404", "accepted", "accepted"]
    assert len(rounds.round(table.round).bets) == 5
    assert codes(rounds.post([bad])) == ["LGR-0404"]


def test_a_retry_is_answered_as_the_first_time(rounds: Rounds, table: Terminal, dsn: str) -> None:
    group = [table.bet("red") for _ in range(3)]
    first = accepted(through(rounds, group, waits=False))
    fresh = table.bet("odd")
    again = through(rounds, [*group, fresh], waits=True)
    assert codes(again) == ["replayed", "replayed", "replayed", "accepted"]
    assert [verdict.positions for verdict in again[:3]] == [verdict.positions for verdict in first]
    [alone] = through(rounds, group[:1], waits=True)
    assert (alone.status, alone.positions) == ("replayed", first[0].positions)
    assert len(stored(dsn)) == 6


def test_what_another_process_did_meanwhile_is_found(rounds: Rounds, table: Terminal, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:  # as whoever took the table over
        conn.execute("UPDATE ledger.leases SET epoch = epoch + 1")
    accepted(through(rounds, [table.bet("red")], waits=True))
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("UPDATE ledger.leases SET epoch = epoch + 1")
    accepted(through(rounds, [table.bet("red") for _ in range(5)], waits=True))
    assert len(rounds.round(table.round).bets) == 7


@pytest.mark.parametrize("count", [1, 20])
def test_a_session_lost_on_the_way_leaves_nothing_believed(rounds: Rounds, table: Terminal, dsn: str, count: int) -> None:
    """Whether it was stored nobody knows; the retry finds out, and nothing stands twice."""
    group = [table.bet("red", sequence=2 + n) for n in range(count)]
    with psycopg.connect(dsn, autocommit=True) as other, other.transaction():
        other.execute("LOCK TABLE ledger.events IN SHARE MODE")
        begun = rounds.begin(group)
        assert begun is not None
        assert begun.descriptor is not None
        with psycopg.connect(dsn, autocommit=True) as killer:
            killer.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name = 'roundledger append'"
            )
        assert ended(begun) is None
    with pytest.raises(Refusal, match="the database did not answer") as refused:
        begun.finish()
    assert refused.value.code == "LGR-0501"
    verdicts = accepted(rounds.post(group))
    assert verdicts[-1].received is not None
    assert verdicts[-1].received.contiguous == 1 + count
    assert len(stored(dsn)) == 2 + count


def test_all_others_wait_until_it_has_ended(rounds: Rounds, table: Terminal) -> None:
    begun = rounds.begin([table.bet("red")])
    assert begun is not None
    assert rounds.begin([table.bet("odd")]) is None
    done: list[list[Verdict]] = []
    other = threading.Thread(target=lambda: done.append(rounds.post([table.bet("even")])))
    other.start()
    time.sleep(0.2)
    assert not done
    accepted(begun.finish())  # also where the loop has gone that would have looked for it
    other.join(10)
    accepted(done[0])
    assert [bet.spot for bet in rounds.round(table.round).bets.values()] == ["black", "red", "even"]


def test_an_application_is_closed_while_something_is_on_its_way(rounds: Rounds, table: Terminal, dsn: str) -> None:
    assert rounds.begin([table.bet("red")]) is not None
    rounds.close()
    assert len(stored(dsn)) == 3


def test_numbers_are_counted_and_written_down(rounds: Rounds, table: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "SAVED_EVERY", 8)
    verdicts = accepted(through(rounds, [table.bet("red", sequence=2 + n) for n in range(5)], waits=False))
    assert verdicts[-1].received is not None
    assert verdicts[-1].received.contiguous == 6
    accepted(through(rounds, [table.bet("red", sequence=7 + n) for n in range(5)], waits=True))  # they are written down
    [gap] = accepted(through(rounds, [table.bet("red", sequence=13)], waits=True))  # what others refused is asked for
    assert gap.received is not None
    assert gap.received.missing == ((12, 12),)
    [filled] = accepted(through(rounds, [table.bet("red", sequence=12)], waits=True))
    assert filled.received is not None
    assert filled.received.contiguous == 13
    fork = through(rounds, [table.bet("red", sequence=13)], waits=True)
    assert codes(fork) == ["LGR-0303"]
