"""`roundledger verify`: every planted defect found by its reason code, no alarm on the clean twin, and its exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg import conninfo

from cli.main import roundledger
from ledger.audit.findings import CODES
from ledger.audit.run import audit
from ledger.store import files, migrate
from projections.runner import catch_up
from tests.e2e.process import roundledger as roundledger_process
from tests.golden import RELEASES, rows
from tests.proofs.corpus import Defect
from tests.proofs.corpus.ledger import DEFECTS, base, export, found, found_in_export, is_there, where_of

Copy = Callable[[], str]
_numbers = count(1)


@pytest.fixture(scope="module")
def copies(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Makes copies of one base ledger."""
    place = tmp_path_factory.getbasetemp().parent
    with files.locked(place / "corpus.lock"), psycopg.connect(server_dsn, autocommit=True) as admin:
        if not admin.execute("SELECT 1 FROM pg_database WHERE datname = 'corpus'").fetchone():
            admin.execute("DROP DATABASE IF EXISTS corpus_building")
            admin.execute("CREATE DATABASE corpus_building")
            building = conninfo.make_conninfo(server_dsn, dbname="corpus_building")
            migrate.init(building)
            base(building)
            admin.execute("ALTER DATABASE corpus_building RENAME TO corpus")

    def copy() -> str:
        name = f"corpus_{os.environ.get('PYTEST_XDIST_WORKER', 'gw')}_{next(_numbers)}"
        with psycopg.connect(server_dsn, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name} TEMPLATE corpus STRATEGY FILE_COPY".encode())
        return conninfo.make_conninfo(server_dsn, dbname=name)

    return copy


@pytest.fixture(scope="module")
def clean(copies: Copy) -> str:
    """The clean twin."""
    return copies()


def verify(dsn: str, *options: str) -> Result:
    return CliRunner(env={"LEDGER_DSN": dsn, "COLUMNS": "200"}).invoke(roundledger, ["verify", *options], standalone_mode=False)


def test_there_are_enough_kinds_of_defects() -> None:
    assert len(DEFECTS) == len({each.name for each in DEFECTS}) >= 40
    assert {each.code for each in DEFECTS} <= CODES.keys()


SOME = [each for each in DEFECTS if each.where == "database"][::4]
"""`prove corpus` plants them all, and tests/unit/audit has each code."""


@pytest.mark.parametrize("defect", SOME, ids=lambda each: each.name)
def test_a_defect_planted_in_the_ledger_is_found_by_its_code(copies: Copy, defect: Defect) -> None:
    dsn = copies()
    with psycopg.connect(dsn, autocommit=True) as conn:
        planted = defect.plant(conn, random.Random(defect.name))
    if defect.code in ("ROW_DIFF", "ROW_MISSING", "BALANCE_DIFF"):
        assert is_there(planted, found(dsn))
    else:
        assert is_there(planted, [where_of(each) for each in audit(dsn).findings])


@pytest.mark.parametrize("defect", [each for each in DEFECTS if each.where == "export"], ids=lambda each: each.name)
def test_a_defect_planted_in_an_export_is_found_by_its_code(clean: str, tmp_path: Path, defect: Defect) -> None:
    path = tmp_path / "log.ndjson"
    export(clean, path)
    assert found_in_export(path) == []
    planted = defect.plant(path, random.Random(defect.name))
    assert is_there(planted, found_in_export(path))


def test_the_clean_twin_raises_no_alarm_in_any_form(clean: str) -> None:
    table = verify(clean)
    assert table.return_value == 0
    number = sum(row["topic"].startswith("RoundOpened.") for row in rows(RELEASES[-1], "events"))
    assert f"verify: clean: {number} rounds recomputed" in table.output
    said = json.loads(verify(clean, "--json").stdout)
    assert (said["clean"], said["findings"], said["rounds"]) == (True, [], number)
    assert list(csv.DictReader(io.StringIO(verify(clean, "--csv").stdout))) == []
    assert verify(clean, "--quiet").stdout == ""


def test_b28_a_bet_that_was_paid_twice_ends_with_exit_code_1_and_says_all_of_it(copies: Copy) -> None:
    dsn = copies()
    twice = next(each for each in DEFECTS if each.name == "doubled_payout")
    with psycopg.connect(dsn, autocommit=True) as conn:
        planted = twice.plant(conn, random.Random(1))
        catch_up(conn)
    table = verify(dsn)
    assert table.return_value == 1
    for word in ("verify: DIFFERENT", "PAID_TWICE", f"next: roundledger explain {planted.bet}", "seen at position"):
        assert word in table.stdout
    said = json.loads(verify(dsn, "--json").stdout)
    one = next(each for each in said["findings"] if each["code"] == "PAID_TWICE")
    assert (one["bet"], one["expected"], one["difference"]) == (str(planted.bet), "0", one["found"])
    [line] = [each for each in csv.DictReader(io.StringIO(verify(dsn, "--csv").stdout)) if each["code"] == "PAID_TWICE"]
    assert line["id"] == one["id"]
    assert float(line["found"]) * 100 == int(one["found"])
    assert verify(dsn, "--round", str(planted.stream)).return_value == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--day", "2026-11-29"], 0),
        (["--day", "2026-11-29", "--table", "R01", "--jobs", "1"], 0),
        (["--until", "200"], 0),
        (["--day", "2001-01-01"], 2),
        (["--round", "00000000-0000-0000-0000-000000000000"], 2),
        (["--until", "0"], 2),
    ],
    ids=str,
)
def test_b46_the_exit_code_of_a_scope_and_of_nothing_to_check(clean: str, options: list[str], code: int) -> None:
    done = verify(clean, *options)
    assert done.return_value == code, done.output
    assert ("there is nothing to check" in done.stdout) is (code == 2)


def test_b46_a_file_that_is_no_export_could_not_be_checked(tmp_path: Path) -> None:
    empty, other = tmp_path / "empty", tmp_path / "other"
    empty.write_bytes(b"")
    other.write_bytes(b"{}\n")
    assert verify("", "--from", str(empty)).return_value == 2
    for words in (["--from", str(tmp_path / "none")], ["--jobs", "0"], ["--until", "nonsense"]):
        assert verify("", *words).exception is not None
    done = roundledger_process("verify", "--from", str(other), code=2)
    assert done.stderr.startswith("error[LGR-0740]")


def test_b36_b37_a_verification_leaves_no_trace_and_there_is_no_snapshot_that_could_be_stale(clean: str) -> None:
    with psycopg.connect(clean, autocommit=True) as conn:

        def state() -> object:
            return conn.execute(
                "SELECT (SELECT count(*) FROM ledger.events), (SELECT last_value FROM ledger.positions), "
                "(SELECT count(*) FROM ledger.rejections), (SELECT count(*) FROM ledger.webhooks)"
            ).fetchall()

        before = state()
        assert verify(clean).return_value == 0
        assert state() == before


@pytest.mark.parametrize("command", ["verify", "replay"])
@pytest.mark.parametrize("scope", [(), ("--table", "R01")], ids=["whole", "a table"])
def test_live_tables_that_are_behind_are_said_to_be_and_left_as_they_are(
    copies: Copy, monkeypatch: pytest.MonkeyPatch, command: str, scope: tuple[str, ...]
) -> None:
    """Also on a damaged log: what stops a projection is for whoever drives it to find."""
    monkeypatch.setattr("projections.replay.wait_for", lambda *_: False)
    monkeypatch.setattr("projections.replay_rounds.wait_for", lambda *_: False)
    dsn = copies()
    with psycopg.connect(dsn, autocommit=True) as conn:

        def standing() -> object:
            return conn.execute("SELECT * FROM projection.positions ORDER BY name").fetchall()

        twice = next(each for each in DEFECTS if each.name == "doubled_payout")
        twice.plant(conn, random.Random(1))
        before = standing()
        done = CliRunner(env={"LEDGER_DSN": dsn, "COLUMNS": "200"}).invoke(roundledger, [command, *scope], standalone_mode=False)
        assert standing() == before
    assert done.return_value != 0
    if command == "verify":
        assert "the live tables are 1 position behind, not compared" in done.stdout
