"""`roundledger what-if`: other rules on a log of everything; each figure is also asked of the database by a query of its own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cli.main import run
from ledger.application import Rounds
from ledger.audit.reading import reading
from ledger.audit.whatif import RESOLVED, ROUNDINGS, Apart, Compared, Rules, what_if
from ledger.money import floor_to
from projections.runner import catch_up
from tests.proofs.report_month import HOUSE, Month
from tests.support import ROOT

ROULETTE = (ROOT / "seeds" / "regulations" / "30-2003-roulette.toml").read_text("utf-8")
EDITED = ROULETTE.replace('odds = "35"', 'odds = "36"').replace('odds = "17"', 'odds = "16"').replace('odds = "2"', 'odds = "3"')
"""A straight-up bet, a column and a dozen pay one more, a split one less."""
_COLUMN = ROULETTE[ROULETTE.index('[[chance]]\ncode = "column"') : ROULETTE.index('[[chance]]\ncode = "dozen"')]
WITHOUT_COLUMNS = ROULETTE.replace(_COLUMN, "").replace('["column", "dozen"]', '["dozen"]')

Typed = Callable[..., tuple[str, str]]


@pytest.fixture(scope="module")
def month(shared_dsn: str) -> str:
    """Some days of a house of four games: voids, corrections, closed days."""
    with closing(Rounds(shared_dsn)) as rounds:
        rounds.apply_property(HOUSE)
        Month(rounds, shared_dsn, 4, 12, 3).play()
    with psycopg.connect(shared_dsn, autocommit=True) as conn:
        catch_up(conn)
    return shared_dsn


@pytest.fixture
def typed(month: str, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Typed:
    """Runs what-if; what it printed, and what it said."""
    monkeypatch.setenv("LEDGER_DSN", month)
    monkeypatch.setenv("COLUMNS", "200")

    def run_it(*words: str, code: int = 1) -> tuple[str, str]:
        capsysbinary.readouterr()
        returned = run(["what-if", *words])
        out, err = capsysbinary.readouterr()
        assert returned == code, err.decode()
        return out.decode(), err.decode()

    return run_it


@pytest.fixture
def rules(tmp_path: Path) -> Callable[[str], str]:
    """A file with a regulation."""

    def written(text: str) -> str:
        path = tmp_path / "my-rules.toml"
        path.write_text(text, "utf-8")
        return str(path)

    return written


def asked(dsn: str, query: str) -> dict[str, Decimal]:
    """Bet → amount, by a query."""
    with psycopg.connect(dsn) as conn:
        return dict(conn.execute(query.encode()).fetchall())


def differences(out: str) -> dict[str, Decimal]:
    return {row["bet"]: Decimal(row["difference"]) for row in csv.DictReader(io.StringIO(out)) if not row["code"]}


def test_an_edited_paytable_lists_the_bets_that_a_query_written_by_hand_lists(month: str, typed: Typed, rules: Any) -> None:
    expected = asked(
        month,
        """
        SELECT bet::text, CASE split_part(spot, ':', 1) WHEN 'split' THEN -stake ELSE stake END
        FROM report.bets WHERE game = 'roulette' AND result = 'won'
          AND split_part(spot, ':', 1) IN ('straight', 'split', 'column', 'dozen')
        """,
    )
    assert len(expected) > 5
    out, said = typed("--file", rules(EDITED), "--csv")
    assert differences(out) == expected
    document = json.loads(typed("--file", rules(EDITED), "--json")[0])
    assert {row["bet"]: Decimal(row["difference"]) / 100 for row in document["bets"]} == expected
    assert sum(Decimal(row["difference"]) for row in document["totals"]) / 100 == sum(expected.values())
    assert sum(Decimal(row["difference"]) for row in document["tables"]) / 100 == sum(expected.values())
    assert sum(row["differing"] for row in document["tables"]) == len(expected)
    assert "would be paid otherwise" in said


def test_what_was_paid_is_what_the_books_say(month: str, typed: Typed) -> None:
    """Stakes and what was paid, of all bets that are compared, equal what the projections made of the same events."""
    document = json.loads(typed("--rounding", "up", "--json")[0])
    compared = {(row["table"], row["gaming_day"]): (row["stakes"], row["old"]) for row in document["tables"]}
    with psycopg.connect(month) as conn:
        booked = conn.execute(
            "SELECT table_id, gaming_day::text, (sum(stake) * 100)::bigint::text, (sum(returned) * 100)::bigint::text "
            "FROM report.bets WHERE result IN ('lost', 'won', 'push') GROUP BY 1, 2"
        ).fetchall()
    assert compared == {(table, day): (stakes, paid) for table, day, stakes, paid in booked}


def test_a_payable_unit_floors_every_net_prize_to_it(month: str, typed: Typed) -> None:
    expected = asked(
        month,
        """
        SELECT bet::text, floor(net_exact) - net_prize FROM (
            SELECT bet, net_prize, stake * CASE split_part(spot, ':', 1)
                WHEN 'fan' THEN 3 WHEN 'nim' THEN 2 WHEN 'kuoc' THEN 1 WHEN 'nga' THEN 0.5 ELSE 1::numeric / 3 END
                * 0.95 AS net_exact
            FROM report.bets WHERE game = 'fantan' AND result = 'won'
        ) AS won WHERE floor(net_exact) <> net_prize
        """,
    )
    assert len(expected) > 5
    assert differences(typed("--payable-unit", "1.00", "--table", "F01", "--csv")[0]) == expected


def test_a_bet_that_the_other_regulation_does_not_know_is_listed_apart(month: str, typed: Typed, rules: Any) -> None:
    expected = asked(
        month,
        "SELECT bet::text, returned FROM report.bets WHERE game = 'roulette' AND result IN ('lost', 'won', 'push') "
        "AND split_part(spot, ':', 1) = 'column'",
    )
    assert len(expected) > 5
    file = rules(WITHOUT_COLUMNS)
    document = json.loads(typed("--file", file, "--json")[0])
    assert {row["bet"]: Decimal(row["old_paid"]) / 100 for row in document["apart"]} == expected
    assert {row["code"] for row in document["apart"]} == {"LGR-0404"}
    assert document["bets"] == []
    assert sum(row["apart"] for row in document["tables"]) == len(expected)
    rows = list(csv.DictReader(io.StringIO(typed("--file", file, "--csv")[0])))
    assert {row["bet"]: Decimal(row["old_paid"]) for row in rows if row["code"]} == expected
    assert "Apart" in typed("--file", file)[0]


def test_the_rules_of_the_log_change_nothing(month: str) -> None:
    """Each round given to its own regulation and unit once more: every bet comes to what it came to, corrections included."""
    own = Rules({}, rounding=lambda exact, unit: floor_to(exact, unit))
    with reading(month) as log:
        found = list(what_if(log.judgements(), own))
    bets = [each for each in found if isinstance(each, Compared)]
    assert {each.where.old_result for each in bets} == set(RESOLVED)
    assert {each.where.game for each in bets} == {"roulette", "cussec", "fantan", "craps"}
    assert [each for each in bets if each.differs] == []
    assert [each for each in found if isinstance(each, Apart)] == []


def test_where_nothing_differs_the_exit_code_says_so(typed: Typed, rules: Any) -> None:
    out, _ = typed("--file", rules(ROULETTE), code=0)
    assert "none" in out
    listed = json.loads(typed("--file", rules(ROULETTE), "--all", "--json", code=0)[0])
    assert len(listed["bets"]) == sum(row["compared"] for row in listed["tables"]) > 50


def test_a_part_of_the_log_is_a_part_of_the_answer(month: str, typed: Typed) -> None:
    up = ("--rounding", "up", "--csv")
    whole = differences(typed(*up)[0])
    days = [differences(typed(*up, "--day", f"2026-11-0{day}")[0]) for day in range(1, 5)]
    assert {bet: amount for day in days for bet, amount in day.items()} == whole
    with psycopg.connect(month) as conn:
        row = conn.execute(
            "SELECT round::text, count(*) FROM report.bets WHERE bet = %s GROUP BY 1", (next(iter(whole)),)
        ).fetchone()
    assert row is not None
    assert set(differences(typed(*up, "--round", row[0])[0])) <= set(whole)
    assert len(differences(typed(*up, "--until", "800")[0])) < len(whole)


def test_nothing_is_written(month: str, typed: Typed, rules: Any) -> None:
    def state() -> Any:
        with psycopg.connect(month) as conn:
            return conn.execute(
                "SELECT (SELECT count(*) FROM ledger.events), (SELECT last_value FROM ledger.positions), "
                "(SELECT sum(hashtext(m::text)::bigint) FROM projection.movements AS m)"
            ).fetchone()

    before = state()
    typed("--file", rules(EDITED))
    assert state() == before


@pytest.mark.parametrize(("words", "said"), [
    ((), "nothing is to be otherwise"),
    (("--regulation", "30/2004"), "LGR-0402"),
    (("--regulation", "30/2003", "--regulation", "30/2003"), "LGR-0772"),
    (("--payable-unit", "0.001"), "LGR-0104"),
    (("--rounding", "sideways"), "half-even"),
    (("--rounding", "up", "--table", "r01"), "did you mean R01?"),
    (("--rounding", "up", "--day", "2020-01-01"), "nothing to compare"),
    (("--rounding", "up", "--until", "yesterday"), "LGR-0108"),
])  # fmt: skip
def test_what_cannot_be_answered_is_refused(words: tuple[str, ...], said: str, typed: Typed) -> None:
    assert said in "".join(typed(*words, code=2))


@pytest.mark.parametrize(
    ("old", "new", "line"), [('odds = "17"', "odds = 17", 72), ('game = "roulette"', 'game = "rouleta"', 10)]
)
def test_a_file_is_held_to_what_the_seeds_are_held_to(old: str, new: str, line: int, typed: Typed, rules: Any) -> None:
    _, said = typed("--file", rules(ROULETTE.replace(old, new)), code=2)
    assert "LGR-0407" in said
    assert f"my-rules.toml:{line}" in said


@pytest.mark.parametrize(("exact", "unit", "rounded"), [
    ("7/2", 1, (3, 4, 4, 4)), ("5/2", 1, (2, 2, 3, 3)), ("11/4", 1, (2, 3, 3, 3)), ("3", 1, (3, 3, 3, 3)),
    ("149", 100, (100, 100, 100, 200)), ("150", 100, (100, 200, 200, 200)), ("250", 100, (200, 200, 300, 300)),
    ("0", 5, (0, 0, 0, 0)),
])  # fmt: skip
def test_how_a_net_prize_is_rounded(exact: str, unit: int, rounded: tuple[int, ...]) -> None:
    assert tuple(ROUNDINGS[name](Fraction(exact), unit) for name in ("down", "half-even", "half-up", "up")) == rounded
