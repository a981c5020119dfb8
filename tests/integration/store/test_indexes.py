"""The log's indexes: an append opens each of them, and what is looked for among millions of events is found by one."""

from __future__ import annotations

import psycopg
import pytest

from ledger.store.recorder import _NUMBERED

_FEW = ("DocumentRecorded.v1", "NumbersGivenUp.v1", "FillRecorded.v1", "CreditRecorded.v1")
_ANY = """
INSERT INTO ledger.events (originator_id, originator_version, topic, state)
SELECT gen_random_uuid(), 1, %s, convert_to(format('{"property": "P", "number": %%s}', n), 'UTF8')
FROM generate_series(1, %s) AS n
"""


@pytest.fixture
def log(dsn: str) -> psycopg.Connection[tuple[object, ...]]:
    """A log of 20,000 bets, among them 20 events of each kind that is seldom."""
    conn = psycopg.connect(dsn, autocommit=True)
    conn.execute(_ANY, ("BetPlaced.v1", 20_000))
    for topic in _FEW:
        conn.execute(_ANY, (topic, 20))
    conn.execute("ANALYZE ledger.events")
    return conn


def test_an_append_opens_four_indexes(dsn: str) -> None:
    """Another one is a fiftieth of the work of a bet's append: it is made knowingly, and with the benchmark at hand."""
    with psycopg.connect(dsn) as conn:
        found = conn.execute("SELECT indexname FROM pg_indexes WHERE schemaname = 'ledger' AND tablename = 'events' ORDER BY 1")
        assert [name for (name,) in found] == ["events_cause", "events_few", "events_pkey", "events_position"]


def test_what_is_seldom_is_found_without_reading_the_log(log: psycopg.Connection[tuple[object, ...]]) -> None:
    with log:
        for asked, params in [
            ("SELECT * FROM ledger.given_up", ()),
            ("SELECT * FROM report.assumptions", ()),
            (_NUMBERED, ("FillRecorded.v1", "P/7")),
            *(("SELECT notification_id FROM ledger.events WHERE topic = %s", (topic,)) for topic in _FEW),
        ]:
            plan = "\n".join(str(line) for (line,) in log.execute("EXPLAIN " + asked, params))
            assert "events_few" in plan, plan
            assert "Seq Scan on events" not in plan, plan


def test_a_slip_s_number_is_its_property_s_once_for_each_kind(log: psycopg.Connection[tuple[object, ...]]) -> None:
    with log:
        assert log.execute(_NUMBERED, ("FillRecorded.v1", "P/7")).fetchone() == (True,)
        assert log.execute(_NUMBERED, ("FillRecorded.v1", "P/21")).fetchone() is None
        for topic in ("FillRecorded.v1", "CreditRecorded.v1"):
            with pytest.raises(psycopg.errors.UniqueViolation):
                log.execute(_ANY, (topic, 1))
        for topic in ("DocumentRecorded.v1", "NumbersGivenUp.v1", "BetPlaced.v1"):
            log.execute(_ANY, (topic, 1))  # what has no number of its own may say the same twice
