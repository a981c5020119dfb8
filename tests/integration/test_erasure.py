"""A player is erased: nothing shows the reference any more, and every amount is as it was (docs/adr/0023)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from ledger import erasure
from ledger.api.erasures import Erasures
from ledger.application import Rounds
from ledger.audit.run import audit
from ledger.events import BetCorrected, PlayerErased
from ledger.reports import (
    PLAYERS_STREAM,
    ApproveCorrection,
    ChangeShooter,
    DeclineCorrection,
    ErasePlayer,
    HoldPlayer,
    HoldRound,
    IssueColourChips,
    OfAPlayer,
    ProposeCorrection,
    RecordLateBet,
    ReleasePlayer,
    ReleaseRound,
    Report,
    table_stream,
)
from ledger.store import log
from projections import players, queries, rebuild
from projections.replay import replay
from projections.replay_rounds import replay_rounds, rounds_of
from projections.runner import catch_up
from projections.tables import PROJECTIONS
from tests.integration.everything import play_everything
from tests.integration.reading_back import verify_read_back
from tests.support import Terminal, accepted, codes, house

ERASED = ("P-1001", "P-1002", "P-1009")
"""Of the day on which everything happened: one who did nearly everything, and two with bets that were corrected."""


@pytest.fixture
def read_back(dsn: str) -> Iterator[None]:
    """Whatever was done in a test comes out of the read side as it should."""
    yield
    verify_read_back(dsn)


@pytest.fixture
def rounds(dsn: str, read_back: None) -> Iterator[Rounds]:
    """The application, and what was done in it is read back afterwards."""
    house(dsn).close()
    with closing(Rounds(dsn, verify_player=Erasures(dsn, fold=True).verify)) as found:
        yield found


def said(body: OfAPlayer, by: str | None = "A-1", **changes: Any) -> Report:
    """What a person decides about a player."""
    return Terminal().report(body, round=PLAYERS_STREAM, terminal=by or "T-R01", by=by, personal=by is not None, **changes)


def erase(player: str, house: str = "DEMO", **changes: Any) -> Report:
    return said(ErasePlayer(property=house, player=player, reason="request"), **changes)


def hold(player: str, reason: str) -> Report:
    return said(HoldPlayer(property="DEMO", player=player, reason=reason))


def release(player: str, reason: str) -> Report:
    return said(ReleasePlayer(property="DEMO", player=player, reason=reason))


def played(rounds: Rounds, players: tuple[str, ...] = ("P-1", "P-2")) -> Terminal:
    """A round in which the first player wins and all others lose."""
    table = Terminal()
    bets = [table.bet("red" if n else "black", player=player) for n, player in enumerate(players)]
    accepted(rounds.post([table.open()]))
    bets = [table.bet("red" if n else "black", player=player) for n, player in enumerate(players)]
    accepted(rounds.post([*bets, table.close(), table.outcome("17")]))
    return table


def finished(dsn: str) -> None:
    """A day on which everything happened, with its last rounds settled: what is under way keeps its players from being erased."""
    play_everything(dsn)
    with psycopg.connect(dsn) as conn:
        under_way: dict[str, UUID] = dict(conn.execute("SELECT table_id, round FROM ledger.open_rounds").fetchall())
    with closing(Rounds(dsn)) as rounds:
        for name, shown in (("C01", "1-2-3"), ("R02", "17"), ("X01", "3-4")):
            table = Terminal(name)
            table.round = under_way.pop(name)
            last = table.throw(shown) if name == "X01" else table.outcome(shown)
            rounds.post([table.close()])  # one is closed already
            accepted(rounds.post([last]))
    assert not under_way


def figures(dsn: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the projections' tables, by table, but for what names players."""
    found = {}
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        for projection in PROJECTIONS:
            for table in projection.tables:
                rows = conn.execute(sql.SQL("SELECT * FROM projection.{}").format(sql.Identifier(table))).fetchall()
                found[table] = sorted(rows, key=repr)
    return found


def names(dsn: str) -> erasure.Names:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return erasure.names(conn)


def test_b47_no_balance_changes_by_an_erasure_nor_by_folding_the_log_anew(dsn: str) -> None:
    finished(dsn)
    before, already = figures(dsn), names(dsn)
    with closing(Rounds(dsn)) as rounds:
        accepted(rounds.post([erase(player, "GOLDEN") for player in ERASED]))
    after = figures(dsn)
    instead = names(dsn)
    assert tuple(instead) == (*already, *ERASED)
    assert len(set(instead.values())) == len(instead)
    expected = {
        table: sorted((_as_shown(row, instead) for row in rows), key=repr)
        for table, rows in before.items()
        if table != "log_times"
    }
    assert expected == {table: rows for table, rows in after.items() if table != "log_times"}
    with psycopg.connect(dsn, autocommit=True) as conn:
        assert not any(queries.trial_balance(conn).values())
    for _ in range(2):
        compared = replay(dsn)
        assert compared.equal, compared.difference
    one_by_one = replay_rounds(dsn, rounds_of(dsn))
    assert one_by_one.equal, one_by_one.difference


def _as_shown(row: tuple[Any, ...], names: erasure.Names) -> tuple[Any, ...]:
    instead = {**names, **{f"player/{player}": f"player/{shown}" for player, shown in names.items()}}
    return tuple(instead.get(value, value) if isinstance(value, str) else value for value in row)


def test_b47_a_rebuild_is_byte_equal_to_the_live_tables_and_takes_their_place(dsn: str) -> None:
    finished(dsn)
    with closing(Rounds(dsn)) as rounds:
        accepted(rounds.post([erase(player, "GOLDEN") for player in ERASED]))
    before = figures(dsn)
    for _ in range(2):
        rebuild.build(dsn)
        compared = rebuild.compare(dsn)
        assert [each.difference for each in compared.tables if each.difference is not None] == []
        assert compared.left_out == {}
        rebuild.switch(dsn)
        rebuild.drop(dsn, "old")
    assert figures(dsn) == before


def test_b47_what_was_recorded_is_as_it_was_and_the_erasure_is_in_the_log(dsn: str) -> None:
    finished(dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        recorded = list(log.read_all(conn))
        with closing(Rounds(dsn)) as rounds:
            accepted(rounds.post([erase("P-1001", "GOLDEN")]))
        *before, erased = log.read_all(conn)
        assert before == recorded
        assert isinstance(erased.body, PlayerErased)
        assert (erased.body.player, erased.body.reason, erased.body.by) == ("P-1001", "request", "A-1")
        line = players.register(conn)[-1]
    assert (line.what, line.player, line.reason, line.by) == ("erased", erased.body.shown, "request", "A-1")
    audited = audit(dsn)
    assert audited.findings == []


def test_a_refusal_of_an_erasure_says_why_and_stores_nothing(dsn: str, rounds: Rounds) -> None:
    table = Terminal()
    accepted(rounds.post([table.open(), table.bet("red", player="P-1"), table.bet("red", player="P-22")]))
    assert codes(rounds.post([erase("P-2")])) == ["LGR-0280"], "no event names it, though one names P-22"
    assert codes(rounds.post([hold("P-2", "aml_17")])) == ["LGR-0280"], "a mistyped hold would keep nothing"
    assert codes(rounds.post([erase("P-1")])) == ["LGR-0282"], "a bet is open"
    accepted(rounds.post([table.close(), table.outcome("17")]))
    accepted(rounds.post([hold("P-1", "aml_17"), hold("P-1", "tax")]))
    assert codes(rounds.post([hold("P-1", "tax")])) == ["LGR-0222"]
    assert codes(rounds.post([erase("P-1")])) == ["LGR-0281"]
    accepted(rounds.post([release("P-1", "aml_17")]))
    assert codes(rounds.post([erase("P-1"), release("P-1", "aml_17")])) == ["LGR-0281", "LGR-0283"], "one reason stands"
    accepted(rounds.post([release("P-1", "tax"), erase("P-1")]))
    assert codes(rounds.post([erase("P-1"), hold("P-1", "tax"), release("P-1", "tax")])) == ["LGR-0123", "LGR-0123", "LGR-0283"]
    assert codes(rounds.post([said(ErasePlayer(property="NOWHERE", player="P-22", reason="request"))])) == ["LGR-0612"]
    assert codes(rounds.post([erase("P-22", by=None)])) == ["LGR-0801"], "an erasure is a person's"
    assert list(names(dsn)) == ["P-1"]


def test_what_is_unfinished_of_a_round_keeps_its_players(dsn: str, rounds: Rounds) -> None:
    table = played(rounds)
    held = table.report(HoldRound(reason="dispute"), by="S-7")
    asked = table.report(ProposeCorrection(kind="outcome", reason="miskeyed", outcome="18"), by="S-7")
    accepted(rounds.post([held]))
    assert codes(rounds.post([erase("P-2")])) == ["LGR-0282"]
    accepted(rounds.post([table.report(ReleaseRound(hold=held.event_id, finding="stands"), by="S-7"), asked]))
    assert codes(rounds.post([erase("P-2")])) == ["LGR-0282"]
    accepted(rounds.post([table.report(DeclineCorrection(correction=asked.event_id), by="S-8"), erase("P-2")]))


def test_nothing_new_is_said_under_an_erased_reference(dsn: str, rounds: Rounds) -> None:
    played(rounds)
    accepted(rounds.post([erase("P-1")]))
    table = played(rounds, ("P-3",))
    ended = table.round
    accepted(rounds.post([table.open()]))
    bet = table.bet("red", player="P-1")
    [verdict] = rounds.post([bet])
    assert verdict.refusal is not None
    assert (verdict.refusal.code, verdict.refusal.value, verdict.refusal.retryable) == ("LGR-0123", None, False)
    assert "P-1" not in str(verdict.refusal.render())
    for said_of in (
        ChangeShooter(shooter="P-1"),
        RecordLateBet(player="P-1", spot="red", stake="100", currency="MOP"),
        IssueColourChips(table="R01", player="P-1", colour="red", value="500", currency="MOP"),
    ):
        stream = table_stream("R01") if isinstance(said_of, IssueColourChips) else table.round
        assert codes(rounds.post([table.report(said_of, round=stream, by="S-7")])) == ["LGR-0123"], said_of
    asked = ProposeCorrection(kind="ex_gratia", reason="goodwill", player="P-1", amount="100", spot="red", stake="100")
    assert codes(rounds.post([table.report(asked, round=ended, by="S-7")])) == ["LGR-0123"]
    accepted(rounds.post([table.bet("red", player="P-4"), table.close(), table.outcome("17")]))
    with closing(house(dsn)) as other:  # a process that begins later
        table = Terminal("R02", currency="HKD")
        assert codes(other.post([table.open(), table.bet("red", player="P-1")])) == ["accepted", "LGR-0123"]
        accepted(other.post([table.close(), table.outcome("17")]))


def test_another_process_knows_of_an_erasure_once_it_has_looked(dsn: str, rounds: Rounds) -> None:
    played(rounds)
    with closing(house(dsn)) as other:
        table = Terminal("R02", currency="HKD")
        accepted(other.post([table.open(), table.bet("red", player="P-2")]))
        accepted(rounds.post([erase("P-1")]))
        accepted(other.post([table.bet("red", player="P-1")]))  # it is taken, and shown as the erased player's all the same
        other.rest()
        assert codes(other.post([table.bet("red", player="P-1")])) == ["LGR-0123"]
        accepted(other.post([table.close(), table.outcome("17")]))
    [shown] = names(dsn).values()
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        assert {each.account for each in queries.balances(conn, "player/")} == {"player/P-2", f"player/{shown}"}


def test_what_is_put_right_of_an_erased_players_round_moves_the_money_and_names_nobody(dsn: str, rounds: Rounds) -> None:
    table = played(rounds)
    accepted(rounds.post([erase("P-1")]))
    asked = table.report(ProposeCorrection(kind="outcome", reason="miskeyed", outcome="18"), by="S-7")
    accepted(rounds.post([asked]))
    effects = rounds.effects_of(rounds.round(table.round), asked.event_id)
    assert "P-1" not in {each.before.player for each in effects if isinstance(each, BetCorrected)}
    accepted(rounds.post([table.report(ApproveCorrection(correction=asked.event_id), by="S-8")]))
    [shown] = names(dsn).values()
    with psycopg.connect(dsn, autocommit=True) as conn:
        catch_up(conn)
        assert {each.account: each.balance for each in queries.balances(conn, "player/")} == {
            f"player/{shown}": "-10000",
            "player/P-2": "10000",
        }


def test_an_erasure_that_comes_again_has_its_first_answer(rounds: Rounds) -> None:
    played(rounds)
    asked = erase("P-1")
    [first] = rounds.post([asked])
    [again] = rounds.post([asked])
    assert (again.status, again.positions) == ("replayed", first.positions)


def test_a_second_erasure_of_a_player_in_the_log_is_not_folded(dsn: str) -> None:
    house(dsn).close()
    with closing(Rounds(dsn)) as rounds:
        played(rounds)
        accepted(rounds.post([erase("P-1")]))
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "INSERT INTO ledger.events (originator_id, originator_version, topic, state) SELECT originator_id, 2, topic, "
            "convert_to(replace(convert_from(state, 'UTF8'), 'erased-', 'erased-f'), 'UTF8') FROM ledger.events "
            "WHERE topic = 'PlayerErased.v1'"
        )
        catch_up(conn)
        [reason] = [at.stop_reason for at in queries.positions(conn) if at.stop_reason is not None]
        assert reason is not None
        assert "the player was erased before" in reason
        assert conn.execute("SELECT count(DISTINCT player) FROM report.players").fetchone() == (1,)


def test_a_read_side_that_is_behind_lets_nothing_unfinished_slip_through(dsn: str) -> None:
    """As in the service, where a process of its own folds."""
    house(dsn).close()
    with closing(Rounds(dsn, verify_player=Erasures(dsn).verify)) as rounds, psycopg.connect(dsn, autocommit=True) as conn:
        table = played(rounds)
        held = table.report(HoldRound(reason="dispute"), by="S-7")
        accepted(rounds.post([held, hold("P-2", "aml_17"), release("P-2", "aml_17")]))  # who is named, the log knows itself
        assert codes(rounds.post([erase("P-2")])) == ["LGR-0505"], "nothing is folded yet, and a round was held"
        catch_up(conn)
        assert codes(rounds.post([erase("P-2")])) == ["LGR-0282"]
        accepted(rounds.post([table.report(ReleaseRound(hold=held.event_id, finding="stands"), by="S-7")]))
        catch_up(conn)
        accepted(rounds.post([erase("P-2")]))
    verify_read_back(dsn)
