"""`roundledger reconcile` as it is typed: exit codes, forms, and what a run leaves behind."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import msgspec
import psycopg
import pytest
from click.testing import CliRunner, Result

from cli.main import run
from ledger.application import Rounds
from ledger.property import Person
from projections.reports.writers import FORMS
from tests.integration.reconcile.support import rows_of, write
from tests.integration.test_erasure import erase
from tests.proofs.corpus import house
from tests.support import accepted

PEOPLE = (Person("D-1", ("dealer",)), Person("C-1", ("cage",)), Person("A-1", ("auditor",)))
ELSEWHERE = (Person("A-9", ("auditor",)),)


@pytest.fixture
def filled(dsn: str, monkeypatch: pytest.MonkeyPatch) -> str:
    house.fill(dsn, 200)
    monkeypatch.setenv("LEDGER_DSN", dsn)
    return dsn


@pytest.fixture
def journal(filled: str, tmp_path: Path) -> Path:
    return write(tmp_path / "journal.csv", rows_of(filled, "terminal-bets"))


def typed(*arguments: str | Path) -> int:
    """The exit code of `roundledger reconcile` with these."""
    return run(["reconcile", *map(str, arguments)])


class TestB46TheExitCode:
    """0 equal, 1 different, 2 could not run: nothing that was not compared is equal."""

    def test_equal(self, journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert typed(journal) == 0
        said = capsys.readouterr()
        assert "differences: 0" in said.out
        assert "mapping terminal-bets, by its columns" in said.err

    def test_different(self, journal: Path) -> None:
        journal.write_text(journal.read_text().replace("P-", "Q-", 1))
        assert typed(journal, "--mapping", "terminal-bets", "--quiet") == 1

    def test_a_file_that_is_not_there(self, filled: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert typed("nowhere.csv") == 2
        assert "LGR-0753" in capsys.readouterr().err

    @pytest.mark.parametrize("option", ["--nonsense", "--day=yesterday", "--mapping=terminal-bet", "--memory=much"])
    def test_a_bad_option(self, journal: Path, option: str) -> None:
        assert typed(journal, option) == 2

    def test_the_database_is_down(self, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LEDGER_DSN", "host=127.0.0.1 port=1 dbname=nothing connect_timeout=2")
        assert typed(journal) == 2

    @pytest.mark.parametrize("text", ["", "bet,round,table,spot,stake,currency,player,occurred_at\n"])
    def test_an_empty_file(self, filled: str, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        empty = tmp_path / "empty.csv"
        empty.write_text(text)
        assert typed(empty, "--mapping", "terminal-bets") == 2
        assert "LGR-0756" in capsys.readouterr().err
        assert typed(empty, "--mapping", "terminal-bets", "--empty-is-difference") == 1

    def test_no_row_in_the_period(self, journal: Path) -> None:
        assert typed(journal, "--day", "2020-01-01") == 2


def test_every_form_has_the_same_exceptions(journal: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([*lines[:5], *lines[6:], lines[7]]))
    reasons = ["MISSING_IN_FILE", "DUPLICATE_IN_FILE"]
    assert typed(journal, "--json") == 1
    document = json.loads(capsysbinary.readouterr().out)
    assert [row["reason"] for row in document["rows"]] == reasons
    assert [row["reason"] for row in document["reasons"]] == reasons
    assert typed(journal, "--json") == 1
    again = json.loads(capsysbinary.readouterr().out)
    assert again["rows"] == document["rows"]
    for form in FORMS:
        out = tmp_path / f"report.{form}"
        assert typed(journal, "--format", form, "--out", out) == 1
        assert document["rows"][0]["id"].encode() in out.read_bytes() or form in ("xlsx", "parquet")


def test_nothing_is_written_unasked_and_what_is_recorded_has_a_state(
    filled: str, journal: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import timedelta

    from ledger.store.credentials import issue_token

    journal.write_text(journal.read_text().replace("P-", "Q-", 1))

    def states() -> list[str]:
        assert typed(journal, "--json") in (0, 1)
        return [row["state"] for row in json.loads(capsys.readouterr().out)["rows"]]

    def kept() -> tuple[int, ...]:
        with psycopg.connect(filled) as conn:
            counts = [f"(SELECT count(*) FROM reconciliation.{name})" for name in ("runs", "findings", "resolutions")]
            row = conn.execute(f"SELECT {', '.join(counts)}, (SELECT count(*) FROM ledger.events)".encode()).fetchone()
            assert row is not None
            return row

    before = kept()
    assert states() == ["new"]
    assert kept() == before
    assert typed(journal, "--record") == 1
    assert kept()[:3] == (1, 1, 0)
    assert kept()[3] == before[3]
    capsys.readouterr()
    assert states() == ["still open"]
    assert typed("list", "--json") == 0
    [exception] = json.loads(capsys.readouterr().out)["exceptions"]
    assert typed("resolve", exception["exception"], "--why", "seen") == 2  # nobody says who
    with closing(Rounds(filled)) as rounds:
        rounds.apply_property(msgspec.structs.replace(house.HOUSE, people=PEOPLE))
        its_table = msgspec.structs.replace(house.HOUSE.tables[0], id="Z1")
        rounds.apply_property(
            msgspec.structs.replace(house.HOUSE, id="OTHER", name="Other", tables=(its_table,), people=ELSEWHERE)
        )
    with psycopg.connect(filled, autocommit=True) as conn:
        tokens = {each.id: issue_token(conn, each.id, lasts=timedelta(days=1))[1] for each in (*PEOPLE, *ELSEWHERE)}
    for person in ("D-1", "C-1", "A-9"):  # a dealer, a cage; an auditor of another house
        monkeypatch.setenv("LEDGER_TOKEN", tokens[person])
        capsys.readouterr()
        assert typed("resolve", exception["exception"], "--why", "seen") == 2
        assert "LGR-0804" in capsys.readouterr().err
    assert kept()[2] == 0
    monkeypatch.setenv("LEDGER_TOKEN", tokens["A-1"])
    assert typed("resolve", exception["exception"][:6], "--why", "the player moved his chips himself") == 0
    assert typed("resolve", exception["exception"], "--why", "again") == 2
    capsys.readouterr()
    assert states() == ["resolved"]
    assert typed(journal, "--quiet") == 0
    journal.write_text(journal.read_text().replace("Q-", "R-", 1))  # another value is another finding
    assert states() == ["still open"]
    with psycopg.connect(filled) as conn, pytest.raises(psycopg.errors.RestrictViolation):
        conn.execute("UPDATE reconciliation.resolutions SET why = 'no'")


def test_a_role_that_reads_reports_can_run_it(filled: str, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(filled, autocommit=True) as conn:
        conn.execute("DROP ROLE IF EXISTS reconciler")
        conn.execute("CREATE ROLE reconciler IN ROLE ledger_report")
    monkeypatch.setenv("LEDGER_DSN", psycopg.conninfo.make_conninfo(filled, options="-c role=reconciler"))
    assert typed(journal, "--json") == 0
    assert typed(journal, "--record", "--quiet") == 2


def shown(*arguments: str) -> Result:
    from cli.main import roundledger

    return CliRunner().invoke(roundledger, ["reconcile", *arguments])


def test_every_ready_mapping_is_listed_and_shown() -> None:
    from projections.reconcile.mapping import ready

    rows = json.loads(shown("mappings", "list", "--json").output)["mappings"]
    assert [row["mapping"] for row in rows] == list(ready())
    for name in ready():
        assert shown("mappings", "show", name).output.strip() == ready()[name].strip()


def test_a_file_that_still_names_an_erased_player_is_compared_with_what_is_shown(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    titles, first, *_ = bets = rows_of(filled, "terminal-bets")
    player = first[titles.index("player")]
    journal = write(tmp_path / "journal.csv", bets)
    text = journal.read_text()
    journal.write_text(text.replace(f",{player},", ",Q-1,", 1))
    assert typed(journal, "--record") == 1
    with closing(Rounds(filled)) as rounds:
        accepted(rounds.post([erase(player, house.HOUSE.id)]))
    capsys.readouterr()
    assert typed("list", "--all", "--json") == 0
    found = capsys.readouterr().out
    assert player not in found
    assert "erased-" in found, "what was found before the erasure is shown as all else"
    journal.write_text(text)
    assert typed(journal, "--json") == 0, "every line is matched, and the player is who is shown"
    assert player not in capsys.readouterr().out
