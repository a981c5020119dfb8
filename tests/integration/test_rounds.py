"""The use cases against a real database: what is accepted, refused, repeated and raced, and what the log then holds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from uuid import UUID, uuid4, uuid5

import msgspec
import psycopg
import pytest

from ledger.application import Rounds
from ledger.events import BetPlaced, DocumentRecorded, OutcomeRecorded, PayoutMade, RoundOpened, RoundSettled
from ledger.houses import _DOCUMENTS
from ledger.property import Table
from ledger.reports import ApproveCorrection, OpenRound, PlaceBet, ProposeCorrection, SignOn, VoidRound, table_stream
from ledger.rules import regulation
from ledger.store import log
from tests.support import DEMO, Terminal, accepted, codes, house, post_in_turn


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    with_house = house(dsn)
    yield with_house
    with_house.close()


def count(dsn: str, table: str = "ledger.events") -> int:
    with psycopg.connect(dsn) as conn:
        row = conn.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert row is not None
        return int(row[0])


def bodies(dsn: str, terminal: Terminal) -> list[object]:
    with psycopg.connect(dsn) as conn:
        return [recorded.body for recorded in log.stream(conn, terminal.round)]


def test_a_round_settles_whole_in_one_append(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    verdicts = accepted(rounds.post(table.whole_round([("straight:17", "10000"), ("red", "5000"), ("black", "5000")], "17")))
    opened, *_, last = events = bodies(dsn, table)
    assert isinstance(opened, RoundOpened)
    assert opened.regulation == "30/2003"
    assert "60/2004" in (opened.applied or "")
    outcome = next(e for e in events if isinstance(e, OutcomeRecorded))
    assert [line.spot for line in outcome.lost] == ["red"]
    paid = [e for e in events if isinstance(e, PayoutMade)]
    # 30/2003 art. 5(1): simple chances are paid before straights.
    assert [(p.spot, p.prize, p.returned) for p in paid] == [("black", "5000", "10000"), ("straight:17", "350000", "360000")]
    assert isinstance(last, RoundSettled)
    assert (last.bets, last.handle, last.returned) == (3, "20000", "370000")
    # The outcome's verdict names every event that it caused, next to each other.
    positions = verdicts[-1].positions
    assert list(positions) == list(range(positions[0], positions[0] + 4))


def test_the_regulation_is_logged_once_before_its_first_use(rounds: Rounds, dsn: str) -> None:
    for _ in range(3):
        accepted(rounds.post(Terminal().whole_round([], "0")))
    with psycopg.connect(dsn) as conn:
        events = list(log.read_all(conn))
    documents = [e for e in events if isinstance(e.body, DocumentRecorded) and e.body.kind == "regulation"]
    opened = [e for e in events if isinstance(e.body, RoundOpened)]
    assert len(documents) == 1
    assert documents[0].position < opened[0].position
    assert {e.body.regulation_hash for e in opened if isinstance(e.body, RoundOpened)} == {documents[0].body.sha256}  # type: ignore[union-attr]


def test_a_bad_item_disturbs_no_other(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    accepted(rounds.post([table.open()]))
    before = count(dsn)
    batch = [table.bet("straight:17"), table.bet("split:3-4"), table.bet("red")]
    for status in ("accepted", "replayed", "replayed"):
        assert codes(rounds.post(batch)) == [status, rounds.post([batch[1]])[0].refusal.code, status]  # type: ignore[union-attr]
    assert count(dsn) == before + 2


def test_the_same_id_with_another_body_is_refused_with_both_fingerprints(rounds: Rounds) -> None:
    table = Terminal()
    first = table.bet("straight:17", "10000")
    other = table.report(PlaceBet(player="P-1", spot="straight:17", stake="100000", currency="MOP"), event_id=first.event_id)
    accepted(rounds.post([table.open(), table.bet("red")]))
    first = table.bet("straight:17", "10000")
    other = table.bet("straight:17", "100000", event_id=first.event_id)
    accepted(rounds.post([first]))
    [verdict] = rounds.post([other])
    assert verdict.refusal is not None
    assert verdict.refusal.code == "LGR-0301"
    assert first.fingerprint[:16].hex() in verdict.refusal.detail
    assert other.fingerprint[:16].hex() in verdict.refusal.detail
    assert codes(rounds.post([first])) == ["replayed"]


def test_an_id_that_was_accepted_and_refused_in_one_instant_counts_as_accepted(rounds: Rounds, dsn: str) -> None:
    """Neither of two transactions sees the other's verdict on another body under the same id, and both commit."""
    table = Terminal()
    bet = table.bet("red")
    accepted(rounds.post([table.open(), table.bet("odd")]))
    accepting = (
        "INSERT INTO ledger.events (originator_id, originator_version, topic, state, cause, caused, fingerprint) "
        "SELECT originator_id, 3, topic, state, %s, 1, %s FROM ledger.events WHERE originator_id = %s AND originator_version = 2"
    )
    with psycopg.connect(dsn) as other:
        other.execute(accepting, (bet.event_id, bet.fingerprint[:16], table.round))
        wrong = table.bet("split:3-4", event_id=bet.event_id)
        assert codes(rounds.post([wrong])) == ["LGR-0412"]
    assert count(dsn, "ledger.rejections") == 1
    assert codes(rounds.post([bet])) == ["replayed"]
    assert codes(rounds.post([wrong])) == ["LGR-0301"]


def test_a_repeat_within_one_group_is_a_replay(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    opening, bet = table.open(), table.bet("red")
    assert codes(rounds.post([opening, bet, bet, opening])) == ["accepted", "accepted", "replayed", "replayed"]
    assert len(bodies(dsn, table)) == 2


def test_a_rejected_id_stays_rejected(rounds: Rounds) -> None:
    table = Terminal()
    accepted(rounds.post([table.open(), table.close()]))
    late = table.bet("red")
    assert codes(rounds.post([late])) == ["LGR-0210"]
    assert codes(rounds.post([late])) == ["LGR-0210"]


def test_a_retryable_refusal_is_not_kept(rounds: Rounds) -> None:
    table = Terminal()
    accepted(rounds.post([table.open()]))
    outcome = table.outcome("17")
    assert codes(rounds.post([outcome])) == ["LGR-0205"]
    assert codes(rounds.post([table.close(), outcome])) == ["accepted", "accepted"]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda t: t.bet("red", round=uuid4()), "LGR-0202"),
        (lambda t: t.bet("red", "0"), "LGR-0104"),
        (lambda t: t.bet("red", "-100"), "LGR-0104"),
        (lambda t: t.bet("red", currency="HKD"), "LGR-0208"),
        (lambda t: t.bet("red", currency="XXX"), "LGR-0105"),
        (lambda t: t.outcome("17"), "LGR-0205"),
    ],
)
def test_what_an_open_round_refuses(rounds: Rounds, dsn: str, make, code: str) -> None:  # type: ignore[no-untyped-def]
    table = Terminal()
    accepted(rounds.post([table.open()]))
    before = count(dsn)
    assert codes(rounds.post([make(table)])) == [code]
    assert count(dsn) == before


def test_what_opening_refuses(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    accepted(rounds.post([table.open()]))
    first = table.round
    before = count(dsn)
    [occupied] = rounds.post([table.open()])
    assert occupied.refusal is not None
    assert occupied.refusal.code == "LGR-0201"
    assert str(first) in occupied.refusal.detail
    assert codes(rounds.post([Terminal("X99").open()])) == ["LGR-0602"]
    assert codes(rounds.post([Terminal("C01", game="roulette").open()])) == ["LGR-0603"]
    table.round = first
    again = table.report(table.open(round=first).body, round=first)
    assert codes(rounds.post([again])) == ["LGR-0203"]
    assert count(dsn) == before


def test_no_property_no_round(dsn: str) -> None:
    rounds = Rounds(dsn)
    assert codes(rounds.post([Terminal().open()])) == ["LGR-0601"]
    rounds.close()


def test_a_round_id_is_used_once(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    accepted(rounds.post(table.whole_round([], "5")))
    rounds.close()
    fresh = house(dsn)
    again = table.report(Terminal().open().body)
    assert codes(fresh.post([again])) == ["LGR-0203"]
    fresh.close()


def test_twenty_concurrent_posts_of_one_outcome_settle_once(dsn: str) -> None:
    """B19: one outcome from twenty threads to two processes."""
    houses = [house(dsn, lease_idle=0), house(dsn, lease_idle=0)]
    table = Terminal()
    accepted(post_in_turn(houses, 0, [table.open(), table.bet("straight:17"), table.bet("red"), table.close()]))
    outcome = table.outcome("17")
    with ThreadPoolExecutor(20) as pool:
        verdicts = [v for vs in pool.map(lambda n: post_in_turn(houses, n % 2, [outcome]), range(20)) for v in vs]
    assert sorted(codes(verdicts)) == ["accepted"] + ["replayed"] * 19
    assert len({v.positions for v in verdicts}) == 1
    assert sum(isinstance(body, PayoutMade) for body in bodies(dsn, table)) == 1
    for each in houses:
        each.close()


def test_two_writers_on_one_table_never_lose_or_double_a_bet(dsn: str) -> None:
    houses = [house(dsn, lease_idle=0), house(dsn, lease_idle=0)]
    table = Terminal()
    accepted(post_in_turn(houses, 0, [table.open()]))
    bets = [table.bet("red", player=f"P-{n}") for n in range(60)]
    with ThreadPoolExecutor(6) as pool:
        verdicts = [v for vs in pool.map(lambda n: post_in_turn(houses, n % 2, [bets[n]]), range(60)) for v in vs]
    accepted(verdicts)
    placed = [body for body in bodies(dsn, table) if isinstance(body, BetPlaced)]
    assert sorted(body.bet for body in placed) == sorted(bet.event_id for bet in bets)
    for each in houses:
        each.close()


def test_a_second_process_settles_what_the_first_began(dsn: str) -> None:
    houses = [house(dsn, lease_idle=0), house(dsn, lease_idle=0)]
    table = Terminal()
    accepted(post_in_turn(houses, 0, [table.open(), table.bet("red")]))
    accepted(post_in_turn(houses, 1, [table.bet("black"), table.close()]))
    assert codes(post_in_turn(houses, 0, [table.bet("odd")])) == ["LGR-0210"]
    accepted(post_in_turn(houses, 0, [table.outcome("17")]))
    accepted(post_in_turn(houses, 1, [table.open()]))
    for each in houses:
        each.close()


def test_a_table_has_one_writer_while_it_is_in_use(dsn: str) -> None:
    first, second = house(dsn), house(dsn)
    table = Terminal()
    accepted(first.post([table.open()]))
    before = count(dsn)
    [held] = second.post([table.bet("red")])
    assert held.refusal is not None
    assert held.refusal.code == "LGR-0521"
    assert held.refusal.meaning.retryable
    assert count(dsn) == before
    assert count(dsn, "ledger.rejections") == 0
    accepted(second.post([Terminal("R02", currency="HKD").open()]))
    first.close()
    time.sleep(0.15)
    accepted(second.post([table.bet("red")]))
    second.close()


def test_a_writer_that_lost_its_table_unawares_is_turned_away_and_starts_afresh(dsn: str) -> None:
    """Its session ended (a network's doing), another process took the table and gave it back."""
    first, second = house(dsn), house(dsn)
    table = Terminal()
    accepted(first.post([table.open(), table.bet("red")]))
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name = 'roundledger lease'"
        )
    accepted(second.post([table.bet("black")]))
    assert codes(first.post([table.bet("odd")])) == ["LGR-0521"]
    second.close()
    time.sleep(0.15)
    accepted(first.post([table.close(), table.outcome("17")]))
    settled = bodies(dsn, table)[-1]
    assert isinstance(settled, RoundSettled)
    assert settled.bets == 2
    first.close()


def test_applying_a_property_is_logged_once_per_content(rounds: Rounds) -> None:
    assert rounds.apply_property(DEMO) is False
    assert [config.sha256 for config in rounds.properties()] == [DEMO.sha256]


def test_a_property_applied_by_another_process_counts_from_the_next_opening_on(dsn: str) -> None:
    serving, other = house(dsn), Rounds(dsn)
    table = Terminal()
    accepted(serving.post(table.whole_round([("straight:17", "10000")], "17")))
    accepted(serving.post([table.open()]))
    begun = bodies(dsn, table)[0]
    whole = [msgspec.structs.replace(each, pit="NEW", payable_unit="1.00") for each in DEMO.tables]
    changed = msgspec.structs.replace(DEMO, tables=tuple(whole), pits=())
    assert other.apply_property(changed)
    accepted(serving.post([table.close(), table.outcome("0")]))
    accepted(serving.post([table.open()]))
    opened = bodies(dsn, table)[0]
    assert isinstance(begun, RoundOpened)
    assert isinstance(opened, RoundOpened)
    assert (begun.property_hash, begun.pit, begun.payable_unit) == (DEMO.sha256, "A", "1")
    assert (opened.property_hash, opened.pit, opened.payable_unit) == (changed.sha256, "NEW", "100")
    accepted(serving.post([table.close(), table.outcome("0")]))
    assert other.apply_property(msgspec.structs.replace(changed, opt_ins=()))
    assert codes(serving.post([table.open()])) == ["LGR-0401"], "the opt-in was withdrawn"
    assert other.apply_property(msgspec.structs.replace(changed, tables=changed.tables[1:]))
    assert codes(serving.post([table.open()])) == ["LGR-0602"], "the table was withdrawn"
    serving.close()
    other.close()


def documents(dsn: str) -> list[tuple[UUID, DocumentRecorded]]:
    with psycopg.connect(dsn) as conn:
        return [(e.stream, e.body) for e in log.read_all(conn) if isinstance(e.body, DocumentRecorded)]


def test_there_is_no_round_under_the_id_of_a_document(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    accepted(rounds.post(table.whole_round([], "0")))
    for stream, _ in documents(dsn):
        for report in (table.bet("red", round=stream), table.close(round=stream), table.outcome("0", round=stream)):
            assert codes(rounds.post([report])) == ["LGR-0202"]
        opening = table.report(OpenRound(table="R01", game="roulette"), round=stream)
        assert codes(rounds.post([opening])) == ["LGR-0108"]
    assert count(dsn, "ledger.rejections") == 2  # the openings; the others may come before their round


def squat(dsn: str, stream: UUID) -> None:
    """A round under an id of the ledger's own making, as a log of release 0.2 can have one."""
    with psycopg.connect(dsn) as conn:
        conn.execute(
            "INSERT INTO ledger.events (originator_id, originator_version, topic, state) "
            "SELECT %s, 1, topic, state FROM ledger.events WHERE topic = 'RoundOpened.v1' LIMIT 1",
            (stream,),
        )


def test_a_round_of_an_old_log_under_the_id_of_a_regulation_leaves_it_to_be_logged(rounds: Rounds, dsn: str) -> None:
    wanted = uuid5(_DOCUMENTS, f"regulation:{regulation('31/2003').sha256}")
    accepted(rounds.post([Terminal().open()]))
    squat(dsn, wanted)
    table = Terminal("C01", "cussec")
    accepted(rounds.post(table.whole_round([("small", "10000")], "1-2-3")))
    rounds.close()
    with closing(house(dsn)) as later:
        accepted(later.post(table.whole_round([("small", "10000")], "1-2-3")))
    logged = [(stream, body.name) for stream, body in documents(dsn) if body.kind == "regulation"]
    assert sorted(name for _, name in logged) == ["30/2003", "31/2003"]
    assert wanted not in dict(logged)


def test_no_round_takes_the_stream_of_a_table_to_come(rounds: Rounds) -> None:
    """Neither an opening nor a void with its successor: the table then opens, and its people come and go."""
    table, to_come = Terminal("C01", "cussec"), table_stream("C09")
    opening = table.report(OpenRound(table="C01", game="cussec"), round=to_come)
    assert codes(rounds.post([opening])) == ["LGR-0108"]
    voided = table.report(VoidRound(reason="bridged_dice", successor=to_come), round=table.round)
    accepted(rounds.post([table.open(), table.close()]))
    assert codes(rounds.post([msgspec.structs.replace(voided, round=table.round)])) == ["LGR-0108"]
    extra = msgspec.structs.replace(DEMO.tables[0], id="C09", terminals=())
    rounds.apply_property(msgspec.structs.replace(DEMO, tables=(*DEMO.tables, extra)))
    later = Terminal("C09", extra.game, extra.currency)
    accepted(rounds.post([later.report(SignOn(table="C09", person="D-11", role="dealer"), round=to_come), later.open()]))


def test_a_table_whose_stream_is_a_round_of_an_old_log_is_told_so_for_good(rounds: Rounds, dsn: str) -> None:
    accepted(rounds.post([Terminal("R02", currency="HKD").open()]))
    squat(dsn, table_stream("R01"))
    table = Terminal()
    signing = table.report(SignOn(table="R01", person="D-11", role="dealer"), round=table_stream("R01"))
    verdicts = rounds.post([table.open(), signing])
    assert codes(verdicts) == ["LGR-0609", "LGR-0609"]
    assert not any(verdict.refusal and verdict.refusal.meaning.retryable for verdict in verdicts)


def test_an_id_may_be_that_of_anything_else_where_it_names_no_stream(rounds: Rounds, dsn: str) -> None:
    """Of events, and so of bets and corrections: they are looked up among their own."""
    table = Terminal()
    opening = table.open()
    accepted(rounds.post([opening]))
    streams = [table.round, table_stream("R01"), *(stream for stream, _ in documents(dsn))]
    bets = [table.bet("red", event_id=stream) for stream in streams]
    accepted(rounds.post([*bets, table.close(), table.outcome("3")]))
    asked = ProposeCorrection(kind="bet", reason="miskeyed", bet=table.round, spot="black")
    other = table.round
    table.open(event_id=uuid4())
    accepted(rounds.post([table.report(OpenRound(table="R01", game="roulette"), event_id=uuid4())]))
    proposed = table.report(asked, by="S-1", round=other, event_id=table.round)
    approved = table.report(ApproveCorrection(correction=table.round), by="S-2", round=other)
    accepted(rounds.post([proposed, approved]))
    assert [bet.result for bet in rounds.round(other).bets.values()] == ["lost"] + ["won"] * (len(streams) - 1)
    assert rounds.round(table.round).corrections == {}


def test_what_the_ledger_itself_cannot_read_is_no_final_verdict(rounds: Rounds, dsn: str) -> None:
    table = Terminal()
    accepted(rounds.post([table.open(), table.bet("red")]))
    rounds.close()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER events_append_only")
        spoil = "UPDATE ledger.events SET topic = %s WHERE originator_id = %s AND originator_version = 2"
        conn.execute(spoil, ("BetPlaced.v9", table.round))
        later, bet = house(dsn), table.bet("black")
        assert codes(later.post([bet])) == ["LGR-0504"]
        conn.execute(spoil, ("BetPlaced.v1", table.round))
    assert count(dsn, "ledger.rejections") == 0
    accepted(later.post([bet]))
    later.close()


def test_fantan_settles_with_its_commission_and_its_push(dsn: str) -> None:
    """58/2004 art. 7(1)(2), 8, 9: nim 1/3 wins double on 1 less five per cent, and has its stake back on 3."""
    rounds = Rounds(dsn)
    fantan = Table(id="F01", pit="B", game="fantan", currency="MOP", payable_unit="0.01")
    rounds.apply_property(msgspec.structs.replace(DEMO, tables=(*DEMO.tables, fantan)))
    table = Terminal("F01", "fantan")
    accepted(rounds.post(table.whole_round([("nim:1/3", "10000"), ("sshong:123", "100"), ("fan:2", "500")], "9")))
    won, small = (e for e in bodies(dsn, table) if isinstance(e, PayoutMade))
    assert (won.spot, won.prize, won.commission, won.returned) == ("nim:1/3", "20000", "1000", "29000")
    assert (small.prize, small.commission, small.breakage, small.net_prize) == ("33", "1", "1", "31")
    accepted(rounds.post(table.whole_round([("nim:1/3", "10000")], "3")))
    [push] = [e for e in bodies(dsn, table) if isinstance(e, PayoutMade)]
    assert (push.result, push.prize, push.returned) == ("push", "0", "10000")
    rounds.close()


def test_a_craps_round_is_decided_by_the_throws_that_the_table_showed(dsn: str) -> None:
    """53/2010 art. 5(2)(1): the point made wins the line. An outcome in one piece is refused, and the way out is named."""
    rounds = Rounds(dsn)
    craps = Table(id="X01", pit="B", game="craps", currency="MOP", payable_unit="0.01")
    rounds.apply_property(msgspec.structs.replace(DEMO, tables=(*DEMO.tables, craps)))
    table = Terminal("X01", "craps")
    accepted(rounds.post([table.open(), table.bet("pass"), table.close()]))
    [verdict] = rounds.post([table.outcome("6,8,6")])
    assert verdict.refusal is not None
    assert (verdict.refusal.code, "ThrowRecorded" in (verdict.refusal.help or "")) == ("LGR-0217", True)
    accepted(rounds.post([table.throw("4-2"), table.throw(void="off_layout"), table.throw("6-2"), table.throw("3-3")]))
    [paid] = [e for e in bodies(dsn, table) if isinstance(e, PayoutMade)]
    assert (paid.result, paid.returned) == ("won", "20000")
    rounds.close()


def test_b30_bets_that_pass_their_spots_limits_are_refused_where_the_round_would_cost_too_much(rounds: Rounds, dsn: str) -> None:
    """Its limits are those of the configuration under which it was opened, whichever is applied meanwhile."""
    tables = tuple(
        msgspec.structs.replace(table, minimum="1.00", maximum="1000.00", exposure="70000.00", differential=None, chances=())
        for table in DEMO.tables
    )
    rounds.apply_property(msgspec.structs.replace(DEMO, tables=tables))
    table = Terminal()
    accepted(rounds.post([table.open()]))
    accepted(rounds.post([table.bet("straight:17", "100000", player=f"P-{n}") for n in (1, 2)]))
    rounds.apply_property(DEMO)
    one_more = table.bet("straight:17", "100", player="P-3")
    [verdict] = rounds.post([one_more])
    assert verdict.refusal is not None
    assert verdict.refusal.code == "LGR-0607"
    assert "MOP 70035.00" in verdict.refusal.detail
    assert codes(rounds.post([one_more])) == ["LGR-0607"], "for good"
    opened = bodies(dsn, table)[0]
    assert isinstance(opened, RoundOpened)
    assert opened.limits == "min 1.00 max 1000.00 exposure 70000.00"
    # Another process reads the round from the log, with the same limits.
    rounds.close()
    with closing(Rounds(dsn)) as again:
        assert codes(again.post([table.bet("straight:17", "100", player="P-3")])) == ["LGR-0607"]
        accepted(again.post([table.bet("straight:18", "100000"), table.close(), table.outcome("17")]))
