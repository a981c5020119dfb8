"""The exported journal: beancount and hledger, which are none of ours, accept it and come to every balance of the ledger."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
from contextlib import closing
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from beancount import loader
from beancount.core import realization
from beancount.core.data import Open
from hypothesis import example, given
from hypothesis import strategies as st

from cli.main import run
from ledger.application import Rounds
from ledger.money import format_plain
from projections import queries
from projections.journal import forms
from projections.journal.entries import Closing, Entry, Journal, Leg, Line, Opening, Transaction
from projections.journal.forms import beancount_account, hledger_account
from tests.integration.everything import CLOSED, play_everything
from tests.proofs.report_month import HOUSE, Month

# Of beancount these have no types.
_iter: Any = realization.iter_children
_realize: Any = realization.realize

Sums = dict[tuple[str, str], Fraction]
"""(account, currency) → what it has, where that is not zero."""

needs_hledger = pytest.mark.skipif(
    shutil.which("hledger") is None,
    reason="hledger is not installed, so nobody but beancount has checked the journal: apt-get install hledger",
)


@pytest.fixture(scope="module")
def month(shared_dsn: str) -> str:
    """A house of four games, thirty gaming days long: voids, slips, closed days and corrections of them."""
    with closing(Rounds(shared_dsn)) as rounds:
        rounds.apply_property(HOUSE)
        Month(rounds, shared_dsn, 30, 1, 7).play()
    return shared_dsn


@pytest.fixture(scope="module")
def whole(month: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The journal of all of it, by form."""
    place = tmp_path_factory.mktemp("whole")
    return {form: exported(form, dsn=month, to=place) for form in forms.FORMS}


def exported(form: str, *period: str, dsn: str, to: Path) -> Path:
    """The journal that the command writes into a new file."""
    path = to / f"journal-{len(list(to.iterdir()))}.{form}"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LEDGER_DSN", dsn)
        assert run(["journal", "export", "--format", form, "--out", str(path), *period]) == 0
    return path


def by_the_ledger(dsn: str) -> Sums:
    with psycopg.connect(dsn) as conn:
        found = [(each, format_plain(int(each.balance), each.currency)) for each in queries.balances(conn)]
    return {(each.account, each.currency): Fraction(plain) for each, plain in found if Fraction(plain)}


def bean_check(path: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("bean-check")
    return subprocess.run([program, "--no-cache", path], capture_output=True, text=True, check=False)


def by_beancount(path: Path) -> Sums:
    entries, errors, _ = loader.load_file(str(path))
    assert errors == []
    ours = {entry.account: entry.meta["account"] for entry in entries if isinstance(entry, Open)}
    return {
        (ours[account.account], held.units.currency): Fraction(held.units.number)
        for account in _iter(_realize(entries), leaf_only=True)
        for held in account.balance
    }


def hledger(path: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["hledger", "-f", path, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def by_hledger(path: Path) -> Sums:
    out = hledger(path, "balance", "--flat", "--no-total", "--layout=bare", "-O", "csv").stdout
    rows = csv.DictReader(io.StringIO(out))
    return {(row["account"].replace(":", "/", 1), row["commodity"]): Fraction(row["balance"]) for row in rows}


def by_csv(path: Path) -> Sums:
    sums: Sums = {}
    for row in csv.DictReader(path.open(encoding="utf-8", newline="")):
        if row["record"] != "balance":
            key = row["account"], row["currency"]
            sums[key] = sums.get(key, Fraction(0)) + Fraction(row["amount"])
    return {key: balance for key, balance in sums.items() if balance}


def test_beancount_accepts_the_journal_of_a_month_and_agrees_on_every_balance(month: str, whole: dict[str, Path]) -> None:
    done = bean_check(whole["beancount"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(by_the_ledger(month)) > 50
    assert by_beancount(whole["beancount"]) == by_the_ledger(month)


@needs_hledger
def test_hledger_accepts_the_journal_of_a_month_and_agrees_on_every_balance(month: str, whole: dict[str, Path]) -> None:
    assert hledger(whole["hledger"], "check", "--strict", "ordereddates", "payees").stdout == ""
    assert by_hledger(whole["hledger"]) == by_the_ledger(month)


def test_the_legs_of_the_csv_come_to_every_balance(month: str, whole: dict[str, Path]) -> None:
    assert by_csv(whole["csv"]) == by_the_ledger(month)


def off_by_one(path: Path, amount: str, to: Path) -> Path:
    """The journal with the first amount that is found so, decimals in the second group, changed by the smallest there is."""

    def changed(found: re.Match[str]) -> str:
        return f"{found[1]}{(int(found[2]) + 1) % 100:02}"

    text, count = re.subn(amount, changed, path.read_text("utf-8"), count=1, flags=re.MULTILINE)
    assert count == 1
    to.write_text(text, "utf-8")
    return to


@pytest.mark.parametrize("amount", [r"^(\S+ balance \S+ -?[0-9]+\.)([0-9]{2})", r"^(  Assets:\S+ -?[0-9]+\.)([0-9]{2})"])
def test_beancount_finds_one_minor_unit(amount: str, whole: dict[str, Path], tmp_path: Path) -> None:
    """That it checks what it accepts: a balance, or one side of a movement."""
    assert bean_check(off_by_one(whole["beancount"], amount, tmp_path / "wrong")).returncode == 1


@needs_hledger
@pytest.mark.parametrize("amount", [r"( = -?[0-9]+\.)([0-9]{2})", r"^(    \S+  -?[0-9]+\.)([0-9]{2})"])
def test_hledger_finds_one_minor_unit(amount: str, whole: dict[str, Path], tmp_path: Path) -> None:
    hledger(off_by_one(whole["hledger"], amount, tmp_path / "wrong"), "check", code=1)


def test_a_period_begins_with_what_the_one_before_ended_with(month: str, whole: dict[str, Path], tmp_path: Path) -> None:
    periods = {"before": ("--to", "2026-11-12"), "after": ("--from", "2026-11-13")}
    paths = {name: exported("csv", *period, dsn=month, to=tmp_path) for name, period in periods.items()}
    records = {name: list(csv.DictReader(path.open("r"))) for name, path in [*paths.items(), ("whole", whole["csv"])]}
    opening = [row for row in records["after"] if row["record"] == "opening"]
    assert {(row["account"], row["currency"]): Fraction(row["balance"]) for row in opening} == by_csv(paths["before"])
    moved = {name: [row for row in some if row["record"] == "posting"] for name, some in records.items()}
    assert moved["before"] + moved["after"] == moved["whole"]
    assert not [row for row in records["before"] if row["record"] == "opening"]
    later = exported("beancount", *periods["after"], dsn=month, to=tmp_path)
    assert bean_check(later).returncode == 0
    assert by_beancount(later) == by_the_ledger(month)


def test_every_day_ends_in_the_balances_of_what_moved_on_it(whole: dict[str, Path]) -> None:
    rows = list(csv.DictReader(whole["csv"].open("r")))
    moved, asserted = (
        {(row["day"], row["account"], row["currency"]) for row in rows if row["record"] == record}
        for record in ("posting", "balance")
    )
    assert len({day for day, *_ in moved}) == 30
    assert moved <= asserted


def test_the_same_log_gives_the_same_journal(month: str, whole: dict[str, Path], tmp_path: Path) -> None:
    assert exported("beancount", dsn=month, to=tmp_path).read_bytes() == whole["beancount"].read_bytes()


def test_what_was_corrected_of_a_closed_day_stands_under_the_day_that_took_it(dsn: str, tmp_path: Path) -> None:
    play_everything(dsn)
    rows = list(csv.DictReader(exported("csv", dsn=dsn, to=tmp_path).open()))
    rounds = {row["round"] for row in rows if row["day"] == CLOSED and row["round"]}
    corrected = {
        row["day"] for row in rows if row["round"] in rounds and row["topic"] in ("BetCorrected.v1", "PlayerAdjusted.v1")
    }
    assert corrected
    assert min(corrected) > CLOSED
    assert bean_check(exported("beancount", dsn=dsn, to=tmp_path)).returncode == 0


def test_books_that_are_out_of_balance_give_no_file(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play_everything(dsn)
    monkeypatch.setenv("LEDGER_DSN", dsn)
    exported("csv", dsn=dsn, to=tmp_path)
    with psycopg.connect(dsn) as conn:
        conn.execute("UPDATE projection.balances SET balance = balance + 1 WHERE account = 'win/R01'")
    out = tmp_path / "wrong"
    capsys.readouterr()
    assert run(["journal", "export", "--format", "csv", "--out", str(out)]) == 2
    assert "LGR-0520" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal-0.csv"]


def test_a_journal_of_nothing_is_one_and_says_so(dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in forms.FORMS:
        path = exported(form, dsn=dsn, to=tmp_path)
        assert "No activity" in capsys.readouterr().err
        assert form != "beancount" or bean_check(path).returncode == 0
    assert bean_check(exported("beancount", "--day", "2026-11-29", dsn=dsn, to=tmp_path)).returncode == 0


HOSTILE = (
    "player/p_1",
    "player/p.1",
    "player/p:1",
    "player/P:1:",
    "player/P-1",
    "player/Ref-P-2d1",
    "player/ref",
    "player/1-",
    "player/A%3A",
)


def made() -> Journal:
    """A journal of references as hostile as the door takes them, in currencies with and without decimals."""
    day = date(2026, 11, 29)
    accounts = sorted([*HOSTILE, "win/t.1"])
    legs = [
        Leg(side, currency, amount, UUID(int=1))
        for currency in ("MOP", "JPY")
        for account in HOSTILE
        for side, amount in ((account, -1), ("win/t.1", 1))
    ]
    ended = {
        (account, currency): len(HOSTILE) if account == "win/t.1" else -1 for account in accounts for currency in ("JPY", "MOP")
    }
    opening = [Line("player/p_1", "MOP", -5), Line("win/t.1", "MOP", 5)]
    for each in opening:
        ended[each.account, each.currency] += each.balance
    entries: list[Entry] = [
        Opening(day, opening),
        Transaction(day, 7, "OutcomeRecorded.v1", UUID(int=2), "t.1", UUID(int=3), None, tuple(legs)),
        Closing(day, [Line(account, currency, balance) for (account, currency), balance in ended.items()]),
    ]
    return Journal(day, [(account, ["JPY", "MOP"]) for account in accounts], iter(entries))


def written(form: str, path: Path) -> Path:
    with path.open("wb") as file:
        forms.write(made(), form, {"period": "a day"}, file)
    return path


def test_beancount_takes_every_reference_and_currency(tmp_path: Path) -> None:
    found = by_beancount(written("beancount", tmp_path / "j"))
    assert found["player/p_1", "MOP"] == Fraction("-0.06")
    assert found["win/t.1", "JPY"] == len(HOSTILE)
    assert {account for account, _ in found} == {*HOSTILE, "win/t.1"}


@needs_hledger
def test_hledger_takes_every_reference_and_currency(tmp_path: Path) -> None:
    path = written("hledger", tmp_path / "j")
    hledger(path, "check", "--strict", "ordereddates", "payees")
    found = by_hledger(path)
    assert found["player/p_1", "MOP"] == Fraction("-0.06")
    assert len({account for account, _ in found}) == len(HOSTILE) + 1


REFERENCE = st.text("Aa1R-e2d_.:", min_size=1, max_size=12)


@given(REFERENCE, REFERENCE)
@example("p_", "Ref-p-5f")
def test_no_two_accounts_get_one_name(one: str, other: str) -> None:
    for named in (beancount_account, hledger_account):
        assert (named(f"player/{one}") == named(f"player/{other}")) == (one == other)
    assert re.fullmatch("Assets:Player:[A-Z0-9][A-Za-z0-9-]*", beancount_account(f"player/{one}"))
    assert re.fullmatch("player:[^: ]+", hledger_account(f"player/{one}"))
