"""The round as an aggregate, without a database."""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import uuid4

import pytest

from ledger.errors import Refusal
from ledger.events import RoundSettled
from ledger.round import Origin, Round, Status, Terms
from ledger.rules import regulation


def origin() -> Origin:
    moment = datetime(2026, 11, 29, 12, tzinfo=UTC)
    return Origin(uuid4(), "T-1", None, moment, moment)


def test_an_outcome_that_leaves_a_bet_standing_settles_nothing() -> None:
    """53/2010 art. 5(2): a point decides nothing yet. A round settled with such a bet would hold its stake for ever."""
    rules = regulation("53/2010")
    terms = Terms("H", "0" * 64, "A", "K01", "MOP", 1, rules, None, date(2026, 11, 29))
    round_ = Round.open(uuid4(), terms, origin())
    round_.place_bet(rules, uuid4(), origin(), player="P-1", spot="pass", stake="10000", currency="MOP")
    round_.close_betting(origin())
    round_.collect_events()
    with pytest.raises(Refusal, match="neither won nor lost: pass") as caught:
        round_.record_outcome(rules, "6", origin())
    assert (caught.value.code, caught.value.value) == ("LGR-0409", "6")
    assert round_.collect_events() == []
    assert round_.status is Status.CLOSED
    round_.record_outcome(rules, "6,8,6", origin())
    *_, settled = (event.body for event in round_.collect_events())
    assert isinstance(settled, RoundSettled)
    assert settled.returned == "20000"
