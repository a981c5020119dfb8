"""Numbers of a terminal that will never come are given up by a person, and nothing waits for them any more."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import msgspec
import psycopg
import pytest

from cli.main import run
from ledger.application import Rounds
from ledger.reports import GiveUpNumbers, ReopenBetting, Report, table_stream
from ledger.sequences import accounted
from ledger.store.sequences import standings
from projections.runner import catch_up
from tests.integration.test_terminal_order import OF_CRAPS
from tests.support import DEMO, UNLIMITED, Terminal, accepted, codes, house


def giving_up(of: Terminal, first: int, last: int | None = None, **changes: Any) -> Report:
    """A supervisor's report that these numbers of epoch 1 will not come."""
    said = {"of_terminal": of.name, "of_epoch": 1, "first": first, "last": last or first, "reason": "lost_disk"}
    body = GiveUpNumbers(**{"table": of.table, **said, **changes})
    return of.report(body, round=table_stream(body.table), by="S-7")


def refused(rounds: Rounds, report: Report) -> tuple[str, str]:
    """The code of a refusal for good, and what to do."""
    [verdict] = rounds.post([report])
    assert verdict.refusal is not None
    assert not verdict.refusal.retryable
    return verdict.refusal.code, verdict.refusal.help or ""


def test_a_round_of_craps_goes_on_without_a_number_that_was_given_up(dsn: str) -> None:
    """B45: nothing of the round could be decided while the number was missing; and what bears it comes too late, visibly."""
    table = Terminal("X01", "craps")
    made = [table.open(sequence=1, epoch=1), table.bet("pass", sequence=2, epoch=1), table.bet("pass", sequence=3, epoch=1)]
    made += [table.close(sequence=4, epoch=1), table.throw("2-2", sequence=5, epoch=1)]
    made += [table.report(ReopenBetting(), sequence=6, epoch=1)]
    lost = made.pop(2)
    with closing(house(dsn, OF_CRAPS)) as rounds:
        assert codes(rounds.post(made)) == ["accepted"] * 2 + ["LGR-0304"] * 3
        accepted(rounds.post([giving_up(table, 3)]))
        [verdict] = accepted(rounds.post(made[2:3]))
        assert verdict.received is not None
        assert (verdict.received.contiguous, verdict.received.missing) == (4, ())
        assert refused(rounds, lost)[0] == "LGR-0307"
    with closing(house(dsn, OF_CRAPS)) as rounds:  # another process knows it from the log
        assert codes(rounds.post(made)) == ["replayed"] * 3 + ["accepted"] * 2
        assert refused(rounds, lost)[0] == "LGR-0307"
        assert refused(rounds, table.bet("pass", sequence=3, epoch=1))[0] == "LGR-0307"
        assert len(rounds.round(table.round).bets) == 1


def test_only_what_is_missing_is_given_up(dsn: str) -> None:
    table = Terminal()
    with closing(house(dsn, UNLIMITED)) as rounds:
        numbered = [table.open(sequence=1, epoch=1), *(table.bet("red", sequence=n, epoch=1) for n in (2, 5, 9))]
        accepted(rounds.post(numbered))
        for first, last in ((2, 2), (4, 5), (3, 9), (9, 9), (10, 12), (4, 3)):
            assert refused(rounds, giving_up(table, first, last)) == ("LGR-0308", "missing: 3 to 4, 6 to 8")
        for wrong in ({"of_terminal": "T-R02"}, {"of_epoch": 2}, {"table": "C01"}):
            assert refused(rounds, giving_up(table, 3, **wrong))[0] == "LGR-0305"
        assert codes(rounds.post([giving_up(table, 3, 4), giving_up(table, 4), giving_up(table, 7, 8)])) == [
            "accepted",
            "LGR-0308",
            "accepted",
        ]
        assert refused(rounds, giving_up(table, 6, 7)) == ("LGR-0308", "roundledger terminals --gaps lists what is missing")
        late = table.bet("red", sequence=6, epoch=1)
        accepted(rounds.post([late]))
        with psycopg.connect(dsn) as conn:
            [standing] = standings(conn, table.name)
        assert (standing.received, standing.given_up) == ([(1, 2), (5, 6), (9, 9)], [(3, 4), (7, 8)])
        assert accounted(standing).contiguous == 9
        nobody = msgspec.structs.replace(giving_up(table, 10), by=None)
        assert codes(rounds.post([nobody])) == ["LGR-0801"]


def test_the_gaps_tell_what_is_missing_from_what_was_given_up(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Terminal()
    monkeypatch.setenv("LEDGER_DSN", dsn)

    def asked(*command: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = run([*command, "--json"])
        return code, json.loads(capsys.readouterr().out)

    with closing(house(dsn, DEMO)) as rounds:
        accepted(rounds.post([table.open(sequence=1, epoch=1), table.bet("red", sequence=9, epoch=1)]))
        accepted(rounds.post([giving_up(table, 2, 5, note="the disk broke")]))
        with psycopg.connect(dsn, autocommit=True) as conn:
            catch_up(conn)
        code, found = asked("terminals", "--gaps")
        assert (code, found["terminals"][0]["missing"], found["terminals"][0]["given_up"]) == (1, "6-8", "2-5")
        _, report = asked("report", "terminal-gaps")
        [row] = [row for row in report["rows"] if row["state"] == "given_up"]
        assert (row["missing_from"], row["missing_to"], row["given_up_by"], row["reason"]) == ("2", "5", "S-7", "lost_disk")
        [row] = [row for row in report["rows"] if row["state"] == "missing"]
        assert (row["missing_from"], row["missing_to"], row["given_up_by"]) == ("6", "8", None)
        accepted(rounds.post([giving_up(table, 6, 8)]))
        code, found = asked("terminals")
        assert (code, found["terminals"][0]["gaps"], found["terminals"][0]["given_up_count"]) == (0, 0, 7)
