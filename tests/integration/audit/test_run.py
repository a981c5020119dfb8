"""An audit of a whole log, in one process and in several: the same comes of it, and nothing is appended."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import msgspec
import psycopg
import pytest

from ledger.audit.run import Audited, audit
from ledger.audit.scope import Scope
from tests.integration.audit.test_reading import compressed, export, golden

__all__ = ["compressed", "export", "golden"]


def said(found: Audited) -> tuple[object, ...]:
    """What does not depend on the clock."""
    return found.findings, found.tally, found.position


@pytest.mark.parametrize("size", [None, 25, 100])
def test_a_clean_log_is_clean_in_whatever_parts(golden: str, export: Path, compressed: Path, size: int | None) -> None:
    whole = audit(golden)
    assert whole.findings == []
    assert whole.tally.events > 300
    assert said(audit(golden, part_size=size)) == said(whole)
    assert said(audit(export, part_size=size and size * 500)) == said(whole)
    assert said(audit(compressed)) == said(whole)


def test_several_processes_come_to_the_same(golden: str, export: Path) -> None:
    progress: list[tuple[int, int]] = []
    whole = audit(golden)
    assert said(audit(golden, jobs=2, part_size=150, progress=lambda done, of: progress.append((done, of)))) == said(whole)
    assert progress[-1][0] == progress[-1][1] == len(progress) > 2
    assert said(audit(export, jobs=2, part_size=150_000)) == said(whole)


def test_a_bet_that_is_placed_in_two_rounds_is_found_in_whatever_parts_and_in_several_processes(export: Path) -> None:
    """However far apart the rounds are: each of the others has that of the first bet."""
    lines = [msgspec.json.decode(line) for line in export.read_bytes().splitlines()]
    placed = [line for line in lines if "BetPlaced" in line["type"]]
    late = [line for line in placed if line["subject"] != placed[0]["subject"]][::9]
    for line in late:
        line["data"] |= {"bet": placed[0]["data"]["bet"], "cause": placed[0]["data"]["cause"]}
    accused = {UUID(line["subject"]) for line in late}
    assert len(accused) > 5
    export.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    for options in ({}, {"part_size": 12_500}, {"part_size": 150_000, "jobs": 2}):
        twice = [each for each in audit(export, **options).findings if each.code == "BET_TWICE"]  # type: ignore[arg-type]
        assert {each.stream for each in twice} >= accused
        assert {(str(each.bet), each.evidence[1].position) for each in twice if each.stream in accused} == {
            (placed[0]["data"]["bet"], placed[0]["position"])
        }


def test_what_a_log_came_to_is_added_up_as_the_reports_have_it(golden: str) -> None:
    from projections import queries
    from projections.runner import catch_up

    found = audit(golden)
    with psycopg.connect(golden, autocommit=True) as conn:
        catch_up(conn)
        balances = {(each.account, each.currency): int(each.balance) for each in queries.balances(conn)}
        rounds, unsettled = conn.execute(
            "SELECT count(*), count(*) FILTER (WHERE status IN ('open', 'closed')) FROM projection.rounds"
        ).fetchall()[0]
    assert (found.tally.rounds, found.tally.open) == (rounds, unsettled)
    for currency, money in found.tally.money.items():

        def total(kind: str, currency: str = currency) -> int:
            return sum(minor for (account, code), minor in balances.items() if code == currency and account.startswith(kind))

        assert money.escrow == total("escrow/")
        assert money.commission == total("commission/")
        assert money.breakage == total("breakage/")
        assert money.win == total("win/") + total("commission/") + total("breakage/")


def test_b36_an_audit_appends_nothing(golden: str, export: Path) -> None:
    def state() -> object:
        with psycopg.connect(golden, autocommit=True) as conn:
            return conn.execute(
                "SELECT (SELECT count(*) FROM ledger.events), (SELECT last_value FROM ledger.positions), "
                "(SELECT count(*) FROM ledger.rejections)"
            ).fetchall()

    before = state()
    audit(golden, part_size=100)
    audit(golden, Scope(table="R01"))
    assert state() == before


@pytest.mark.parametrize("table", ["R01", "C01", "F01", "X01"])
def test_a_scope_is_clean_though_its_chains_go_beyond_it(golden: str, export: Path, table: str) -> None:
    with psycopg.connect(golden, autocommit=True) as conn:
        rounds = conn.execute(
            "SELECT stream FROM ledger.log WHERE topic = 'RoundOpened.v1' AND body->>'table' = %s ORDER BY position", (table,)
        ).fetchall()
    for where in (golden, export):
        found = audit(where, Scope(table=table))
        assert found.findings == []
        assert found.tally.rounds == len(rounds)
        for (id_,) in rounds[:4]:
            assert audit(where, Scope(round=id_)).findings == []
