"""`roundledger chips` and `roundledger day`, through a running service and without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from cli.demo_service import service
from tests.e2e.process import printed, roundledger
from tests.support import DEMO, Terminal, accepted, house

PEOPLE = ("S-7", "D-11", "C-1", "C-2", "A-1")


@pytest.fixture
def tokens(dsn: str) -> dict[str, str]:
    """Person → token."""
    with closing(house(dsn)):
        return {person: printed("tokens", "issue", person, LEDGER_DSN=dsn)["token"] for person in PEOPLE}


@pytest.fixture(params=["straight", "service"])
def way(request: pytest.FixtureRequest, dsn: str) -> Iterator[dict[str, Any]]:
    """The settings by which the ledger is reached: the database itself, or a service on it."""
    if request.param == "straight":
        yield {"LEDGER_DSN": dsn}
    else:
        with service(dsn) as url:
            yield {"LEDGER_URL": url, "LEDGER_DSN": dsn}


def test_a_slip_is_written_by_one_person_and_signed_by_another(dsn: str, tokens: dict[str, str], way: dict[str, Any]) -> None:
    def as_(person: str) -> dict[str, Any]:
        return way | {"LEDGER_TOKEN": tokens[person], "LEDGER_PERSON": person}

    fill = printed("chips", "fill", "R01", "7", "100x40", "1000x21", "--currency", "MOP", "--shift", "day", **as_("C-1"))
    assert fill["total"] == "2500000"
    own = roundledger("chips", "confirm", "R01", "fill", fill["slip"], code=None, **as_("C-1"))
    assert (own.returncode, "LGR-0249" in own.stderr) == (2, True)
    auditor = roundledger("chips", "fill", "R01", "8", "100x1", "--currency", "MOP", code=None, **as_("A-1"))
    assert (auditor.returncode, "LGR-0804" in auditor.stderr) == (2, True)
    printed("chips", "confirm", "R01", "fill", fill["slip"], **as_("D-11"))
    drop = printed("chips", "drop", "R01", "B-1", "--cash", "95.00", "--vouchers", "5", "--currency", "MOP", **as_("C-1"))
    dealer = roundledger("chips", "confirm", "R01", "drop", drop["slip"], code=None, **as_("D-11"))
    assert (dealer.returncode, "LGR-0804" in dealer.stderr) == (2, True), "the count team alone signs a drop"
    printed("chips", "confirm", "R01", "drop", drop["slip"], **as_("C-2"))
    count = printed("chips", "count", "R01", "opener", "--currency", "MOP", **as_("S-7"))
    printed("chips", "cancel", "R01", "opener", count["slip"], "--reason", "wrong_table", **as_("S-7"))
    listed = printed("chips", "slips", **way)
    assert [(line["kind"], line["number"], line["status"], line["confirmed_by"]) for line in listed["slips"]] == [
        ("opener", None, "cancelled", None),
        ("drop", None, "confirmed", "C-2"),
        ("fill", 7, "confirmed", "D-11"),
    ]
    assert listed["gaps"] == []
    wrong = roundledger("chips", "fill", "R01", "9", "100", "--currency", "MOP", code=None, **as_("C-1"))
    assert (wrong.returncode, "VALUExCOUNT" in wrong.stderr) == (2, True)
    strange = roundledger("chips", "fill", "R1", "9", "100x1", "--currency", "MOP", code=None, **as_("C-1"))
    assert (strange.returncode, "LGR-0602" in strange.stderr, "did you mean R01?" in strange.stderr) == (2, True, True)
    much = roundledger("chips", "fill", "R01", "9", "9999999999999x9999999999", "--currency", "MOP", code=None, **as_("C-1"))
    assert (much.returncode, "no slip is over more than MOP" in much.stderr) == (2, True)


def test_numbers_that_are_missing_are_told_with_exit_code_1(dsn: str, tokens: dict[str, str]) -> None:
    for number in ("3", "6"):
        printed("chips", "credit", "R01", number, "100x1", "--currency", "MOP", LEDGER_DSN=dsn, LEDGER_TOKEN=tokens["C-1"])
    listed = roundledger("chips", "slips", code=None, LEDGER_DSN=dsn)
    assert listed.returncode == 1
    assert "4-5" in listed.stdout


def test_a_day_is_closed_with_its_figures_and_what_is_unfinished_is_acknowledged(
    dsn: str, tokens: dict[str, str], way: dict[str, Any]
) -> None:
    cage = way | {"LEDGER_TOKEN": tokens["C-1"], "LEDGER_PERSON": "C-1"}
    at = datetime.now(UTC) - timedelta(days=2)
    day = DEMO.gaming_day(at).isoformat()
    table = Terminal()
    reports = [table.open(), table.bet("red"), table.close(), table.outcome("17")]
    with closing(house(dsn)) as rounds:
        accepted(rounds.post([msgspec.structs.replace(each, received_at=at) for each in reports]))
    status = printed("day", "status", **way)
    assert (status["gaming_day"], status["standing"]) == (day, "ended, and not closed")
    assert [line["code"] for line in status["unfinished"]] == ["missing_opener", "missing_closer", "missing_drop"]
    refused = roundledger("day", "close", day, code=None, **cage)
    assert refused.returncode == 1
    assert "--despite missing_opener --despite missing_closer --despite missing_drop" in refused.stderr
    unknown = roundledger("day", "close", day, "--despite", "open_round", code=None, **cage)
    assert (unknown.returncode, "cannot be acknowledged" in unknown.stderr) == (2, True)
    despite = [part for code in ("missing_opener", "missing_closer", "missing_drop") for part in ("--despite", code)]
    dealer = roundledger(
        "day", "close", day, *despite, code=None, **cage | {"LEDGER_TOKEN": tokens["D-11"], "LEDGER_PERSON": "D-11"}
    )
    assert (dealer.returncode, "LGR-0804" in dealer.stderr) == (2, True)
    closed = printed("day", "close", day, *despite, **cage)
    assert closed["totals"] == [
        {"currency": "MOP", "handle": "10000", "win": "10000", "earlier": "0", "adjusted": "0", "drop": "0"}
    ]
    again = printed("day", "status", day, **way)
    assert (again["standing"], again["figures"], again["unfinished"]) == ("closed by C-1", closed["figures"], [])
    twice = roundledger("day", "close", day, *despite, code=None, **cage)
    assert (twice.returncode, "LGR-0271" in twice.stderr) == (2, True)
    shown = roundledger("day", "status", day, code=None, **way)
    assert (shown.returncode, "100.00" in shown.stdout) == (0, True)


def test_a_closed_day_whose_figures_are_others_is_told_with_exit_code_1(dsn: str, tokens: dict[str, str]) -> None:
    import psycopg

    mine: dict[str, Any] = {"LEDGER_DSN": dsn, "LEDGER_TOKEN": tokens["C-1"]}
    day = (DEMO.gaming_day(datetime.now(UTC)) - timedelta(days=1)).isoformat()
    printed("day", "close", day, **mine)
    roundledger("day", "status", day, LEDGER_DSN=dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("UPDATE projection.days SET figures = repeat('f', 64)")
    status = roundledger("day", "status", day, code=None, LEDGER_DSN=dsn)
    assert (status.returncode, "not those with which the day was closed" in status.stdout + status.stderr) == (1, True)
