"""What was received of each terminal, in the application: gaps, repeats, forks, epochs, and what outlives a crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any
from uuid import uuid4

import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import sequences
from ledger.application import Rounds
from ledger.errors import Refusal
from ledger.property import Table
from ledger.reports import CloseBetting, Malformed, OpenRound, Received, RecordOutcome, ReopenBetting, Report, Verdict, VoidRound
from ledger.store import log
from ledger.store.sequences import standings
from tests.support import DEMO, UNLIMITED, Terminal, accepted, codes, house


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    with closing(house(dsn)) as made:
        yield made


def told(verdict: Verdict) -> tuple[int, tuple[tuple[int, int], ...]]:
    assert isinstance(verdict.received, Received)
    return verdict.received.contiguous, verdict.received.missing


def kept(dsn: str, terminal: str | None = None) -> dict[tuple[str, int], list[tuple[int, int]]]:
    with psycopg.connect(dsn) as conn:
        return {(each.terminal, each.epoch): each.received for each in standings(conn, terminal)}


def test_b45_a_gap_in_the_log_s_positions_is_silent_and_one_in_a_terminal_s_numbers_is_named(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    accepted(rounds.post([table.open(sequence=1)]))
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT ledger.next_position()")  # as an append that was rolled back
    assert told(rounds.post([table.bet("red", sequence=2)])[0]) == (2, ())
    assert told(rounds.post([table.bet("red", sequence=4)])[0]) == (2, ((3, 3),))
    # The terminal was started again: its numbers begin anew.
    [verdict] = accepted(rounds.post([table.bet("red", sequence=1, epoch=1)]))
    assert told(verdict) == (1, ())
    # What it had not sent before that still comes.
    assert told(accepted(rounds.post([table.bet("red", sequence=3)]))[0]) == (4, ())
    assert kept(dsn) == {(table.name, 0): [(1, 4)], (table.name, 1): [(1, 1)]}


def test_a_report_without_a_number_is_told_of_none(rounds: Rounds) -> None:
    table = Terminal()
    assert [verdict.received for verdict in rounds.post([table.open(), table.bet("red")])] == [None, None]


def test_a_repeat_is_replayed_and_a_fork_is_refused_with_both_events_named(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    accepted(rounds.post([table.open(sequence=1)]))
    first, fork = table.bet("red", sequence=2), table.bet("black", sequence=2)
    assert codes(rounds.post([first, fork, first])) == ["accepted", "LGR-0303", "replayed"]
    [verdict] = rounds.post([fork])
    assert verdict.refusal is not None
    assert verdict.refusal.code == "LGR-0303"
    assert str(first.event_id) in verdict.refusal.detail
    assert str(fork.event_id) in verdict.refusal.detail
    assert codes(rounds.post([first, fork, first])) == ["replayed", "LGR-0303", "replayed"]
    with psycopg.connect(dsn) as conn:
        assert len(log.stream(conn, table.round)) == 2


def test_a_fork_is_named_from_the_log_when_memory_no_longer_has_it(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "SAVED_EVERY", 3)
    monkeypatch.setattr(sequences, "_BLOCK", 4)
    table = Terminal()
    with closing(house(dsn)) as rounds:
        reports = [table.open(sequence=1), *(table.bet("red", sequence=n) for n in range(2, 20))]
        rejected = table.bet("split:3-4", sequence=20)
        for report in [*reports, rejected]:
            rounds.post([report])
        for other in [*reports[1:], rejected]:
            [verdict] = rounds.post([table.bet("odd", sequence=other.sequence)])
            assert verdict.refusal is not None
            assert verdict.refusal.code == "LGR-0303"
            assert str(other.event_id) in verdict.refusal.detail, other.sequence
    with psycopg.connect(dsn) as conn:
        row = conn.execute("SELECT count(*) FROM ledger.sequences").fetchone()
    assert row is not None
    assert row[0] > 2, "a row for each block"


def test_b24_nothing_is_burnt_by_coming_out_of_order(rounds: Rounds) -> None:
    """Outcome, close, and the bet that came before them: the outcome waits, the bet is one."""
    table = Terminal()
    opening, bet, close = table.open(sequence=1), table.bet("straight:17", sequence=2), table.close(sequence=3)
    outcome = table.outcome("17", sequence=4)
    accepted(rounds.post([opening]))
    assert codes(rounds.post([outcome])) == ["LGR-0205"]
    assert told(accepted(rounds.post([close]))[0]) == (1, ((2, 2),))
    accepted(rounds.post([outcome]))
    assert told(rounds.post([bet])[0]) == (4, ())


def test_a_refusal_by_the_round_s_state_is_final_only_when_nothing_before_it_is_missing(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    accepted(rounds.post([table.open(sequence=1), table.close(sequence=2)]))
    late = table.bet("red", sequence=5)
    [verdict] = rounds.post([late])
    assert verdict.refusal is not None
    assert verdict.refusal.code == "LGR-0304"
    assert "3 to 4" in verdict.refusal.detail
    assert told(verdict) == (2, ())
    # A refusal that no earlier event could change is final, and counts as received.
    [verdict] = rounds.post([table.outcome("37", sequence=4)])
    assert codes([verdict]) == ["LGR-0406"]
    assert told(verdict) == (2, ((3, 3),))
    assert "events 3 of" in str(rounds.post([late])[0].refusal)
    rounds.post([table.outcome("38", sequence=3)])
    [verdict] = rounds.post([late])
    assert verdict.refusal is not None
    assert verdict.refusal.code == "LGR-0210"
    assert told(verdict) == (5, ())
    assert codes(rounds.post([late])) == ["LGR-0210"], "burnt"
    assert kept(dsn, table.name) == {(table.name, 0): [(1, 5)]}


@pytest.mark.parametrize("restarted", [False, True], ids=["in memory", "from the log"])
def test_an_outcome_that_its_terminal_numbered_before_its_bell_is_no_outcome_for_good(dsn: str, restarted: bool) -> None:
    """It waited, and when the bell came it settled the round: the bets as well that were placed after it."""
    table = Terminal()
    with closing(house(dsn)) as rounds:
        accepted(rounds.post([table.open(sequence=1), table.bet("red", sequence=2)]))
        early = table.outcome("17", sequence=3)
        [verdict] = rounds.post([early])
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.retryable) == ("LGR-0205", False)
        assert told(verdict) == (3, ())
    with closing(house(dsn)) as rounds:
        if restarted:
            rounds.rest()
        accepted(rounds.post([table.bet("straight:17", sequence=4), table.close(sequence=5)]))
        [verdict] = rounds.post([early])
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.retryable) == ("LGR-0205", False), "burnt"
        accepted(rounds.post([table.outcome("4", sequence=6)]))


def refused_for_good(verdict: Verdict) -> str:
    assert verdict.refusal is not None
    assert not verdict.refusal.retryable, verdict.refusal
    return verdict.refusal.code


@pytest.mark.parametrize(
    "numbered", [{"sequence": 3, "epoch": 2}, {"sequence": 9, "epoch": 1}], ids=["same epoch", "earlier one"]
)
@pytest.mark.parametrize("void", [False, True], ids=["outcome", "void"])
def test_what_waited_over_its_terminals_bell_ends_no_round(
    rounds: Rounds, dsn: str, numbered: dict[str, Any], void: bool
) -> None:
    """Whatever else of its terminal waited, and whoever says so: by its number it was keyed while bets were still placed."""
    table = Terminal("C01", "cussec")
    accepted(rounds.post([table.open(sequence=1, epoch=numbered["epoch"]), table.bet("big", sequence=2, epoch=2)]))
    body = VoidRound(reason="bridged_dice", successor=uuid4()) if void else RecordOutcome(outcome="1-1-2")
    early = table.report(body, behind=True, **numbered)
    [verdict] = rounds.post([early])
    assert verdict.refusal is not None
    assert (verdict.refusal.code, verdict.refusal.retryable) == ("LGR-0205", True)
    accepted(rounds.post([table.bet("total:4", sequence=4, epoch=2, behind=True), table.close(sequence=5, epoch=2, behind=True)]))
    [verdict] = rounds.post([early])
    assert refused_for_good(verdict) == "LGR-0205"
    accepted(rounds.post([table.outcome("6-6-1", sequence=6, epoch=2)]))
    [verdict] = rounds.post([early])
    assert refused_for_good(verdict) == "LGR-0205", "burnt"


def test_craps_what_waited_over_a_bell_or_a_throw_of_its_terminal_is_out_of_turn(dsn: str) -> None:
    of_craps = Table("X01", "A", "craps", "MOP", "0.01", terminals=("T-X01",))
    config = msgspec.structs.replace(DEMO, tables=(*DEMO.tables, of_craps))
    table = Terminal("X01", "craps")

    def reopening(sequence: int) -> Report:
        return table.report(ReopenBetting(), sequence=sequence, behind=True)

    with closing(house(dsn, config)) as rounds:
        accepted(rounds.post([table.open(sequence=1), table.bet("pass", sequence=2)]))
        throw, first = table.throw("3-4", sequence=3, behind=True), reopening(4)
        assert codes(rounds.post([throw, first])) == ["LGR-0205", "LGR-0221"]
        accepted(rounds.post([table.bet("pass", sequence=5), table.close(sequence=6)]))
        again, bell = reopening(7), table.close(sequence=8, behind=True)
        assert codes(rounds.post([again, bell])) == ["LGR-0218", "LGR-0304"]
        [verdict] = rounds.post([throw])
        assert refused_for_good(verdict) == "LGR-0205"
        accepted(rounds.post([table.throw("2-2", sequence=9, behind=True)]))
        assert [refused_for_good(verdict) for verdict in rounds.post([first, again])] == ["LGR-0218"] * 2
        accepted(rounds.post([reopening(10)]))
        [verdict] = rounds.post([bell])
        assert refused_for_good(verdict) == "LGR-0204"
        accepted(rounds.post([table.close(sequence=11), table.throw("2-2", sequence=12)]))


def test_what_came_after_it_in_one_post_was_not_here_when_it_was_refused(rounds: Rounds) -> None:
    """Bell and bet are numbered before the outcome and come behind it: it was overtaken, and fits the next time."""
    table = Terminal()
    accepted(rounds.post([table.open(sequence=1)]))
    outcome = table.outcome("17", sequence=4)
    verdicts = rounds.post([outcome, table.close(sequence=3), table.bet("red", sequence=2)])
    assert codes(verdicts) == ["LGR-0205", "accepted", "accepted"]
    assert verdicts[0].refusal is not None
    assert verdicts[0].refusal.retryable
    accepted(rounds.post([outcome]))


def test_refusals_in_one_post_settle_each_others_numbers_in_their_order(rounds: Rounds) -> None:
    table = Terminal()
    accepted(rounds.post([table.open(sequence=1)]))
    wrong = [table.bet("split:3-4", sequence=2), table.bet("split:3-5", sequence=3), table.outcome("17", sequence=4)]
    verdicts = rounds.post(wrong)
    assert [verdict.refusal is not None and verdict.refusal.retryable for verdict in verdicts] == [False] * 3
    assert told(verdicts[-1]) == (4, ())


def test_a_bet_of_a_round_that_its_terminal_never_opened_is_refused_for_good(rounds: Rounds, dsn: str) -> None:
    """The first of its epoch, and the next ones, without the ledger having heard of any table of theirs."""
    table = Terminal()
    for number in (1, 2, 3):
        [verdict] = rounds.post([table.bet("red", sequence=number, epoch=7)])
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.retryable) == ("LGR-0202", False)
    [verdict] = rounds.post([table.bet("red", sequence=5, epoch=7)])
    assert verdict.refusal is not None
    assert verdict.refusal.retryable, "4 may be the opening"
    assert kept(dsn, table.name) == {(table.name, 7): [(1, 3)]}


def of_two(table: Table) -> Table:
    return msgspec.structs.replace(table, terminals=("T-R01", "T-R01-b")) if table.id == "R01" else table


def of_none(table: Table) -> Table:
    return msgspec.structs.replace(table, terminals=())


@pytest.mark.parametrize("changed", [of_two, of_none])
def test_what_another_terminal_of_the_table_may_still_bring_is_waited_for(dsn: str, changed: Callable[[Table], Table]) -> None:
    config = msgspec.structs.replace(DEMO, tables=tuple(map(changed, DEMO.tables)))
    table = Terminal()
    with closing(house(dsn, config)) as rounds:
        orphan = table.bet("red", sequence=1, terminal="T-R01-b", round=uuid4())
        [verdict] = rounds.post([orphan])
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.retryable) == ("LGR-0202", True)
        table.round = orphan.round
        accepted(rounds.post([table.report(OpenRound(table="R01", game="roulette"), sequence=1), orphan]))
        outcome, bell = table.outcome("17", sequence=2, terminal="T-R01-b"), table.close(sequence=2)
        [verdict] = rounds.post([outcome])
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.retryable) == ("LGR-0205", True)
        accepted(rounds.post([bell, outcome]))


def test_what_waits_in_an_earlier_epoch_keeps_a_refusal_from_being_final(rounds: Rounds) -> None:
    """A terminal that was restarted still has the bell of its last epoch; its numbers cannot say so, and its post does."""
    table = Terminal()
    accepted(rounds.post([table.open(sequence=1, epoch=1)]))
    outcome, close = table.outcome("17", sequence=1, epoch=2, behind=True), table.close(sequence=2, epoch=1)
    [verdict] = rounds.post([outcome])
    assert verdict.refusal is not None
    assert verdict.refusal.retryable
    accepted(rounds.post([close]))
    accepted(rounds.post([outcome]))


def test_what_a_group_could_not_append_was_not_received(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    accepted(rounds.post([table.open(sequence=1)]))
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("""
            CREATE FUNCTION ledger.busy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE serialization_failure; END $$;
            CREATE TRIGGER busy BEFORE INSERT ON ledger.events FOR EACH ROW WHEN (NEW.topic = 'BettingClosed.v1')
            EXECUTE FUNCTION ledger.busy()
        """)
        verdicts = rounds.post([table.bet("red", sequence=2), table.close(sequence=3)])
        assert codes(verdicts) == ["accepted", "LGR-0503"]
        conn.execute("DROP TRIGGER busy ON ledger.events")
    assert [told(verdict) for verdict in verdicts] == [(2, ()), (2, ())]
    assert told(accepted(rounds.post([table.bet("red", sequence=4)]))[0]) == (2, ((3, 3),))


def test_two_processes_that_take_turns_know_the_same(dsn: str) -> None:
    table = Terminal()
    with closing(house(dsn, lease_idle=0.0)) as one, closing(house(dsn, lease_idle=0.0)) as other:
        accepted(one.post([table.open(sequence=1)]))
        one.rest()
        for number in (2, 3, 4, 5, 6, 7):
            process = (one, other)[number % 2]
            assert told(accepted(process.post([table.bet("red", sequence=number)]))[0]) == (number, ())
            process.rest()
        assert told(accepted(one.post([table.bet("red", sequence=10)]))[0]) == (7, ((8, 9),))
    assert kept(dsn) == {(table.name, 0): [(1, 7), (10, 10)]}


_DIES = """
import sys
from uuid import UUID
from ledger import sequences
from ledger.application import Rounds
from tests.support import Terminal
sequences.SAVED_EVERY = 4
rounds, table, numbered = Rounds(sys.argv[1]), Terminal(), int(sys.argv[3])
table.round = UUID(sys.argv[2])
for number in range(2, numbered + 1):
    [verdict] = rounds.post([table.bet("split:3-4" if number % 3 == 0 else "red", sequence=number)])
print(verdict.status, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("numbered", [3, 5, 6, 7])
def test_kill_9_between_two_checkpoints_loses_no_number(dsn: str, numbered: int) -> None:
    """The rows end before the crash; the log and the rejections have what came after."""
    table = Terminal()
    with closing(house(dsn)) as rounds:
        accepted(rounds.post([table.open(sequence=1)]))
    with subprocess.Popen(
        [sys.executable, "-c", _DIES, dsn, str(table.round), str(numbered)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    assert kept(dsn, table.name) == {(table.name, 0): [(1, numbered)]}, "by the database alone"
    with closing(Rounds(dsn)) as rounds:
        while True:
            [verdict] = rounds.post([table.bet("red", sequence=numbered + 2)])
            if verdict.refusal is None or verdict.refusal.code != "LGR-0521":
                break
        assert told(accepted([verdict])[0]) == (numbered, ((numbered + 1, numbered + 1),))
        [verdict] = rounds.post([table.bet("odd", sequence=numbered)])
        assert codes([verdict]) == ["LGR-0303"]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sent=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 1), st.booleans()), min_size=1, max_size=25),
    crashes=st.sets(st.integers(0, 24)),
)
def test_whatever_comes_and_whenever_it_crashes_the_answer_is_that_of_a_plain_set(
    dsn: str, sent: list[tuple[int, int, bool]], crashes: set[int]
) -> None:
    table = Terminal()
    table.name = f"T-{uuid4().hex}"
    rounds = house(dsn)
    opening = table.report(OpenRound(table="R01", game="roulette"))
    if codes(rounds.post([opening])) == ["LGR-0201"]:
        with psycopg.connect(dsn) as conn:
            row = conn.execute("SELECT round FROM ledger.open_rounds WHERE table_id = 'R01'").fetchone()
        assert row is not None
        table.round = row[0]
    plain: dict[tuple[int, int], Report] = {}
    for n, (number, epoch, good) in enumerate(sent):
        if n in crashes:
            rounds._leases.close()  # its memory is gone, and nothing was written down
            rounds = Rounds(dsn)
        report = table.bet("red" if good else "split:3-4", sequence=number, epoch=epoch)
        [verdict] = rounds.post([report])
        first = plain.setdefault((epoch, number), report)
        assert codes([verdict]) == [("accepted" if good else "LGR-0412") if first is report else "LGR-0303"]
        mine = {seen for of, seen in plain if of == epoch}
        assert told(verdict)[0] == next(k for k in range(20) if k + 1 not in mine)
        missing = {k for first_, last in told(verdict)[1] for k in range(first_, last + 1)}
        assert missing == {k for k in range(1, max(mine)) if k not in mine}
    rounds.close()


def test_b26_a_clock_that_is_off_is_flagged_and_the_gaming_day_is_the_server_s(rounds: Rounds, dsn: str) -> None:
    """Three days ahead, three behind, before the round was opened: all are accepted, and flagged."""
    table = Terminal()
    opening = table.open()
    moved: list[Any] = [
        table.report(OpenRound(table="R01", game="roulette"), occurred_at=opening.received_at + timedelta(days=3)),
        table.bet("red", occurred_at=opening.received_at - timedelta(days=3)),
        table.bet("red", occurred_at=opening.received_at - timedelta(minutes=3)),
        table.bet("red", occurred_at=opening.received_at - timedelta(seconds=100)),
        table.report(CloseBetting()),
    ]
    accepted(rounds.post(moved))
    with psycopg.connect(dsn) as conn:
        bodies: list[Any] = [each.body for each in log.stream(conn, table.round)]
    assert [body.flags for body in bodies] == [("clock_skew",)] * 3 + [()] * 2
    assert bodies[0].gaming_day == rounds.properties()[0].gaming_day(opening.received_at)


@pytest.mark.parametrize("together", [False, True], ids=["post by post", "in one post"])
@pytest.mark.parametrize("back", [False, True], ids=["moved", "moved and back"])
@pytest.mark.parametrize("fault", ["killed", "lost"])
def test_a_terminal_that_reports_of_another_table_keeps_its_numbers(dsn: str, together: bool, back: bool, fault: str) -> None:
    """Its numbers at the first table were written down with that table, and no longer known as that table's."""
    first, second = Terminal("R01"), Terminal("R02", currency="HKD")
    second.name = first.name
    numbered = iter(range(1, 100))

    def of(table: Terminal, *spots: str) -> list[Report]:
        return [table.bet(spot, sequence=next(numbered)) for spot in spots]

    with closing(house(dsn, UNLIMITED, lease_idle=60)) as rounds:
        posts = [[first.open(sequence=next(numbered)), *of(first, "red", "odd")]]
        posts += [[second.open(sequence=next(numbered)), *of(second, "red", "odd")]]
        posts += [of(first, "even"), of(second, "even")] if back else []
        for post in [[report for each in posts for report in each]] if together else posts:
            accepted(rounds.post(post))
        if fault == "lost":
            rounds._memory.forget()
            rounds._memory.sequences.lost()
            at = rounds
        else:  # as kill -9: nothing is written down, and nothing given back but by the database
            assert rounds._leases._conn is not None
            rounds._leases._conn.close()
            rounds._memory.sequences.lost()
            at = Rounds(dsn)
        [verdict] = accepted(at.post(of(second, "black")))
        assert told(verdict) == (next(numbered) - 1, ())
        assert codes(at.post([second.bet("even", "7700", sequence=n) for n in (1, 2, 5)])) == ["LGR-0303"] * 3
        if at is not rounds:
            at.close()


def test_a_terminal_is_at_one_table_of_all_properties(rounds: Rounds) -> None:
    table = msgspec.structs.replace(DEMO.tables[0], id="X01", pit="B")
    other = msgspec.structs.replace(DEMO, id="OTHER", name="Other", pits=(), tables=(table,), people=())
    with pytest.raises(Refusal) as caught:
        rounds.apply_property(other)
    assert (caught.value.code, caught.value.field, caught.value.value) == (
        "LGR-0604",
        "tables[0].terminals[0]",
        table.terminals[0],
    )
    assert f"table {DEMO.tables[0].id} of property {DEMO.id}" in caught.value.detail
    given = msgspec.structs.replace(other, tables=(msgspec.structs.replace(table, terminals=("T-X01",)),))
    assert rounds.apply_property(given)


def malformed(table: Terminal, number: int) -> Report:
    """A bet whose data cannot be read: whichever process gets it refuses it for good."""
    unread = Malformed(refusal=Refusal("LGR-0108", "the field `spot` is missing"))
    return msgspec.structs.replace(table.bet("red", sequence=number), body=unread)


def test_what_another_process_refused_for_good_is_not_missing(dsn: str) -> None:
    """It takes no lease to refuse what cannot be read: the service that has the table learns of it from the database alone."""
    with closing(house(dsn, lease_idle=0.05)) as first, closing(Rounds(dsn)) as second:
        table = Terminal()
        accepted(first.post([table.open(sequence=1), table.bet("red", sequence=2)]))
        refused = malformed(table, 3)
        assert codes(second.post([refused])) == ["LGR-0108"]
        verdicts = accepted(first.post([table.close(sequence=4), table.outcome("17", sequence=5)]))
        assert [told(verdict) for verdict in verdicts] == [(5, ())] * 2
        # While it is still told of as missing, it is looked for before anything is refused for now.
        assert codes(second.post([malformed(table, 6)])) == ["LGR-0108"]
        late = table.bet("black", sequence=7)
        [verdict] = first.post([late])
        assert verdict.refusal is not None
        assert (verdict.refusal.code, verdict.refusal.retryable, told(verdict)) == ("LGR-0210", False, (7, ()))
        # And before a number is given again.
        assert codes(second.post([malformed(table, 8)])) == ["LGR-0108"]
        accepted(first.post([table.open(sequence=9)]))
        [verdict] = first.post([table.bet("odd", sequence=8)])
        assert codes([verdict]) == ["LGR-0303"]
        # And when the table is taken again by the process that had it last.
        assert codes(second.post([malformed(table, 10)])) == ["LGR-0108"]
        time.sleep(0.1)
        first.rest()
        [verdict] = first.post([table.bet("odd", sequence=10)])
        assert codes([verdict]) == ["LGR-0303"]
        assert told(verdict) == (10, ())
        assert kept(dsn, table.name) == {(table.name, 0): [(1, 10)]}
