"""A stream read straight from the log: the same as the library reads, and nothing left out without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast
from uuid import UUID, uuid4

import psycopg
import pytest

from ledger.application import Rounds
from ledger.errors import Refusal
from ledger.round import Round, RoundEvent
from ledger.store import recorder, waits
from ledger.store.recorder import LedgerRecorder
from tests.support import Terminal, accepted, house

BETS = [("straight:17", "10000"), ("red", "5000"), ("low", "100")]


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    rounds = house(dsn)
    yield rounds
    rounds.close()


def played(rounds: Rounds) -> UUID:
    table = Terminal()
    accepted(rounds.post(table.whole_round(BETS, "17")))
    return table.round


def test_it_is_what_the_library_reads(rounds: Rounds) -> None:
    id_ = played(rounds)
    log = cast(LedgerRecorder, rounds.recorder)
    by_library = [cast(RoundEvent, event).body for event in rounds.events.get(id_)]
    assert log.stream(id_) == by_library
    assert log.stream(id_, after=3) == by_library[3:]
    assert log.stream(uuid4()) == []


def test_it_is_read_in_the_order_of_its_key(rounds: Rounds, dsn: str) -> None:
    """Even while Postgres has no statistics. An event of a long stream that is sorted costs more than one of a short stream."""
    accepted(rounds.post(Terminal().whole_round([("red", "100")] * 1000, "17")))
    with psycopg.connect(dsn) as conn:
        waits.bound(conn)
        plan = "\n".join(line for (line,) in conn.execute("EXPLAIN " + recorder._HAPPENED, (uuid4(), 0, 500)))
    assert "Index Scan using events_pkey" in plan
    assert "Sort" not in plan


def test_a_round_loaded_either_way_is_the_same(rounds: Rounds) -> None:
    id_ = played(rounds)
    ours, theirs = rounds.round(id_), cast(Round, rounds.repository.get(id_))
    assert (ours.version, ours.status, ours.outcome, ours.bets) == (theirs.version, theirs.status, theirs.outcome, theirs.bets)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("originator_version", 7, "has no version 2"),
        ("topic", "BetMade.v1", "BetMade.v1 (stream {id}, version 2)"),
        ("state", b"[]", "BetPlaced.v1 (stream {id}, version 2)"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_place(rounds: Rounds, dsn: str, column: str, value: object, said: str) -> None:
    id_ = uuid4()
    rows = [
        {"originator_version": n, "topic": event.body.TOPIC, "state": rounds.mapper.to_stored_event(event).state}
        for n, event in enumerate(cast(list[RoundEvent], list(rounds.events.get(played(rounds), lte=2))), 1)
    ]
    rows[1][column] = value
    with psycopg.connect(dsn) as conn:
        for row in rows:
            conn.execute(
                "INSERT INTO ledger.events (originator_id, originator_version, topic, state) VALUES (%s, %s, %s, %s)",
                (id_, *row.values()),
            )
    with pytest.raises(Refusal) as caught:
        rounds.round(id_)
    assert caught.value.code == "LGR-0504"
    assert said.format(id=id_) in caught.value.detail
