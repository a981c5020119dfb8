"""B24: however a terminal's numbered reports of a round arrive, each sent until it is judged, they come to the same."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.application import Rounds
from ledger.audit.run import audit
from ledger.events import BetPlaced
from ledger.property import Table
from ledger.reports import ChangeBet, ReopenBetting, Report, WithdrawBet
from ledger.store import log
from projections.fold import keep_books
from projections.views import view
from tests.integration.reading_back import verify_read_back
from tests.support import DEMO, UNLIMITED, Terminal, accepted, codes, house

OF_CRAPS = msgspec.structs.replace(DEMO, tables=(*DEMO.tables, Table("X01", "A", "craps", "MOP", "0.01", terminals=("T-X01",))))


def life(first: int, bets: int, wrong: bool) -> tuple[Terminal, list[Report]]:
    """A round with a point and a seven-out, numbered from `first`; some of its reports are refused in order, too."""
    table = Terminal("X01", "craps")
    made: list[Report] = []

    def put(make: Any, *said: Any) -> Report:
        made.append(make(*said, sequence=first + len(made), epoch=1))
        return made[-1]

    put(table.open)
    for n in range(bets):
        put(table.bet, "pass", "12000", f"P-{n}")
    one = put(table.bet, "pass", "24000")
    put(table.report, ChangeBet(bet=one.event_id, stake="36000"))
    put(table.report, ChangeBet(bet=one.event_id, stake="12000"))
    put(table.close)
    if wrong:
        put(table.bet, "pass", "60000", "P-late")
        put(table.close)
    put(table.throw, "2-2")
    if wrong:
        put(table.report, WithdrawBet(bet=one.event_id))
    put(table.report, ReopenBetting())
    put(table.bet, "pass_odds", "12000")
    put(table.close)
    put(table.throw, "3-4")
    return table, made


def played(rounds: Rounds, table: Terminal, made: list[Report], sent: Sequence[Report], size: int) -> tuple[object, ...]:
    """Sends what was made in the order of `sent`, and again until each is judged: how every bet stands, and what was refused."""
    refused: dict[int, str] = {}
    waiting = list(sent)
    for _ in range(len(made) + 1):
        turned_away: list[Report] = []
        for at in range(0, len(waiting), size):
            batch = waiting[at : at + size]
            for report, verdict in zip(batch, rounds.post(batch), strict=True):
                if verdict.refusal is None:
                    continue
                if verdict.refusal.retryable:
                    turned_away.append(report)
                else:
                    refused[made.index(report)] = verdict.refusal.code
        waiting = turned_away
    assert not waiting, codes(rounds.post(waiting))
    places = {report.event_id: n for n, report in enumerate(made)}
    round_ = rounds.round(table.round)
    stands = {places[id]: bet.standing for id, bet in (round_.bets | round_.gone).items()}
    return round_.outcome, round_.status, stands, refused


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), bets=st.integers(0, 2), wrong=st.booleans(), size=st.sampled_from([1, 1, 3, 20]))
def test_b24_craps_comes_to_the_same_however_its_reports_arrive(
    dsn: str, data: st.DataObject, bets: int, wrong: bool, size: int
) -> None:
    with closing(house(dsn, OF_CRAPS)) as rounds:
        first = _LAST.get(dsn, 0) + 1
        table, made = life(first, bets, wrong)
        in_order = played(rounds, table, made, made, len(made))
        table, again = life(first + len(made), bets, wrong)
        shuffled = played(rounds, table, again, data.draw(st.permutations(again)), size)
        _LAST[dsn] = first + len(made) + len(again) - 1
    assert shuffled == in_order
    verify_folds(dsn, table.round)


_LAST: dict[str, int] = {}
"""Database → the last number that was used in it."""


def verify_folds(dsn: str, round_: UUID) -> None:
    """The projections' fold takes what the round has accepted, in whatever order it came."""
    with psycopg.connect(dsn) as conn:
        events = list(log.stream(conn, round_))
    assert keep_books(events).rounds[round_].bets == sum(isinstance(event.body, BetPlaced) for event in events)
    shown = view(events)
    assert shown is not None
    assert shown.round == round_


def verify_read(dsn: str) -> None:
    """Every reader of the log takes what the rounds have accepted: no projection stops, a replay is equal, an audit is clean."""
    verify_read_back(dsn)
    assert audit(dsn).findings == []


def test_a_throw_does_not_overtake_the_throw_before_it(dsn: str) -> None:
    with closing(house(dsn, OF_CRAPS)) as rounds:
        table, made = life(1, 0, wrong=False)
        seven_out = made.pop()
        rounds.post(made[:5])
        [verdict] = rounds.post([seven_out])
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.retryable) == ("LGR-0304", True)
        assert "events 6 to 9 of terminal T-X01" in verdict.refusal.detail
        assert codes(rounds.post([*made[5:], seven_out])) == ["accepted"] * 5
        assert rounds.round(table.round).outcome == "2-2,3-4"


def test_what_was_missing_before_the_round_stops_none_of_it(dsn: str) -> None:
    with closing(house(dsn, OF_CRAPS)) as rounds:
        _, made = life(7, 1, wrong=False)
        assert codes(rounds.post(made)) == ["accepted"] * len(made)


SPOTS = {"R01": ("roulette", "MOP", "red", "straight:17", "17"), "C01": ("cussec", "MOP", "small", "total:9", "2-3-4")}
"""Table → game, currency, two spots, outcome."""


def up_to_the_bell(table: Terminal, first: int) -> list[Report]:
    """A round with bets on both sides of its bell, changed and taken back on both sides of it."""
    _, _, spot, other, _ = SPOTS[table.table]
    made: list[Report] = []

    def put(make: Any, *said: Any) -> Report:
        made.append(make(*said, sequence=first + len(made), epoch=1))
        return made[-1]

    put(table.open)
    one, two, three = (put(table.bet, spot, stake) for stake in ("10000", "20000", "30000"))
    put(table.report, WithdrawBet(bet=one.event_id))
    put(table.report, ChangeBet(bet=two.event_id, spot=other))
    put(table.close)
    put(table.bet, other, "40000", "P-late")
    put(table.report, WithdrawBet(bet=two.event_id))
    put(table.report, ChangeBet(bet=three.event_id, stake="50000"))
    return made


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), place=st.sampled_from(sorted(SPOTS)), size=st.sampled_from([1, 1, 3, 20]))
def test_b25_what_was_numbered_after_the_bell_counts_for_nothing_however_it_arrives(
    dsn: str, data: st.DataObject, place: str, size: int
) -> None:
    """30/2003 art. 3, 31/2003 art. 3(1): from the bell on, no bet is placed, changed or taken back."""
    game, currency, spot, other, outcome = SPOTS[place]
    with closing(house(dsn, UNLIMITED)) as rounds:
        first = _LAST.get(dsn + place, 0) + 1
        table = Terminal(place, game, currency)
        made = up_to_the_bell(table, first)
        played(rounds, table, made, data.draw(st.permutations(made)), size)
        accepted(rounds.post([table.outcome(outcome, sequence=first + len(made), epoch=1)]))
        _LAST[dsn + place] = first + len(made)
        round_ = rounds.round(table.round)
    assert {(bet.player, bet.spot, bet.stake) for bet in round_.bets.values()} == {("P-1", other, 20000), ("P-1", spot, 30000)}
    assert round_.status.name == "SETTLED"
    assert {bet.left for bet in round_.gone.values()} <= {"withdrawn", "void"}
    verify_folds(dsn, table.round)


OF_ALL = msgspec.structs.replace(
    UNLIMITED, tables=(*OF_CRAPS.tables, Table("F01", "A", "fantan", "MOP", "0.01", terminals=("T-F01",)))
)
TWO_SPOTS = {
    "roulette": ("R01", "MOP", "red", "black"),
    "cussec": ("C01", "MOP", "small", "total:9"),
    "fantan": ("F01", "MOP", "fan:1", "fan:2"),
    "craps": ("X01", "MOP", "pass", "pass"),
}


@pytest.mark.parametrize("game", TWO_SPOTS)
def test_every_reader_takes_what_was_numbered_before_the_bell_and_came_after_it(dsn: str, game: str) -> None:
    """A bet, a raise, a move and a withdrawal, each of a bet of its own; the table goes on to its next round."""
    place, currency, spot, other = TWO_SPOTS[game]
    table = Terminal(place, game, currency)
    with closing(house(dsn, OF_ALL)) as rounds:
        opening = table.open(sequence=1, epoch=1)
        one, two, three = (table.bet(spot, "24000", sequence=n, epoch=1) for n in (2, 3, 4))
        behind = [
            table.bet(other, "24000", sequence=5, epoch=1),
            table.report(ChangeBet(bet=one.event_id, stake="36000"), sequence=6, epoch=1),
            table.report(ChangeBet(bet=two.event_id, spot=other, stake="12000"), sequence=7, epoch=1),
            table.report(WithdrawBet(bet=three.event_id), sequence=8, epoch=1),
        ]
        bell = table.close(sequence=9, epoch=1)
        first = [opening, one, two, three]
        waits = game == "craps"  # its bell waits for what is before it
        assert codes(rounds.post([*first, bell])) == ["accepted"] * 4 + ["LGR-0304" if waits else "accepted"]
        accepted(rounds.post([*behind, bell] if waits else behind))
        if not waits:
            verify_folds(dsn, table.round)
            accepted(rounds.post([table.outcome({"cussec": "2-3-4"}.get(game, "1"))]))
        stakes = {bet.id: bet.stake for bet in rounds.round(table.round).bets.values()}
    assert stakes == {one.event_id: 36000, two.event_id: 12000, behind[0].event_id: 24000}
    verify_read(dsn)


def test_a_bet_is_taken_over_a_gap_at_once_and_a_change_waits_for_what_is_missing(dsn: str) -> None:
    with closing(house(dsn, UNLIMITED)) as rounds:
        made = up_to_the_bell(Terminal(), 1)
        bell = made.pop(6)
        assert codes(rounds.post(made)) == ["accepted"] * 7 + ["LGR-0304"] * 2
        assert codes(rounds.post([bell, *made[7:]])) == ["accepted", "LGR-0204", "LGR-0204"]


def test_a_change_waits_for_what_an_earlier_epoch_has_still_to_send(dsn: str) -> None:
    with closing(house(dsn, UNLIMITED)) as rounds:
        table = Terminal()
        opening, bet = table.open(sequence=1, epoch=1), table.bet("red", sequence=2, epoch=1)
        accepted(rounds.post([opening, bet]))
        change = table.report(ChangeBet(bet=bet.event_id, stake="20000"), sequence=1, epoch=2, behind=True)
        assert codes(rounds.post([change])) == ["LGR-0304"]
        assert codes(rounds.post([table.close(sequence=3, epoch=1), change])) == ["accepted", "LGR-0304"]
        assert codes(rounds.post([msgspec.structs.replace(change, behind=False)])) == ["LGR-0204"]
