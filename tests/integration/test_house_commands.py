"""`roundledger property` and `terminals` on a real database: what would change, what is in force as a file, what is missing."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from cli.main import run
from tests.support import ROOT, Terminal, accepted, codes, house

FILE = ROOT / "seeds" / "demo" / "property.toml"


@pytest.fixture(autouse=True)
def ledger(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands find the test's database."""
    monkeypatch.setenv("LEDGER_DSN", dsn)
    monkeypatch.setenv("COLUMNS", "160")


def test_a_dry_run_says_what_would_change_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "house.toml"
    file.write_text(FILE.read_text("utf-8").replace('maximum = "2000.00"', 'maximum = "3000.00"', 1), "utf-8")
    assert run(["property", "apply", "--dry-run", str(FILE), "--json"]) == 1
    assert all(change["was"] is None for change in json.loads(capsys.readouterr().out)["changes"])
    assert run(["property", "apply", str(FILE)]) == 0
    assert run(["property", "apply", "--dry-run", str(FILE)]) == 0
    assert "already in force" in capsys.readouterr().err
    for _ in range(2):
        assert run(["property", "apply", "--dry-run", str(file), "--json"]) == 1
        [change] = json.loads(capsys.readouterr().out)["changes"]
        assert change == {"entry": "tables[R01].chances[straight].maximum", "was": "2000.00", "now": "3000.00"}
    assert run(["property", "apply", "--dry-run", str(file)]) == 1
    assert "2000.00" in capsys.readouterr().out


def test_what_is_in_force_is_shown_whole_and_as_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["property", "show", "--toml"]) == 0
    assert "no property is configured" in capsys.readouterr().err
    assert run(["property", "apply", str(FILE)]) == 0
    capsys.readouterr()
    assert run(["property", "show", "--toml"]) == 0
    again = tmp_path / "again.toml"
    again.write_text(capsys.readouterr().out, "utf-8")
    assert run(["property", "apply", "--dry-run", str(again)]) == 0
    capsys.readouterr()
    assert run(["property", "show", "--json"]) == 0
    [shown] = json.loads(capsys.readouterr().out)
    assert shown["people"][2] == {"id": "S-7", "roles": ["supervisor"]}
    assert shown["tables"][0]["exposure"] == "500000.00"
    assert run(["property", "show"]) == 0
    out = capsys.readouterr().out
    for word in ("A Roulette", "T-R01", "exposure 500000.00", "S-8", "120 s"):
        assert word in out
    assert run(["property", "show", "--toml", "--json"]) == 2


def test_the_terminals_with_what_is_missing(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    table, other = Terminal(), Terminal("R02", currency="HKD")
    with closing(house(dsn)) as rounds:
        accepted(rounds.post([other.open(sequence=1)]))
        assert run(["terminals", "--json"]) == 0
        capsys.readouterr()
        accepted(rounds.post([table.open(sequence=1), *(table.bet("red", sequence=n, epoch=1) for n in (1, 2, 5, 9))]))
        for _ in range(2):  # while the process holds the tables, and after it has given them back
            assert run(["terminals", "--epochs", "--json"]) == 1
            rows = json.loads(capsys.readouterr().out)["terminals"]
            assert [(row["terminal"], row["epoch"], row["contiguous"], row["highest"], row["missing"]) for row in rows] == [
                ("T-R01", 0, 1, 1, ""),
                ("T-R01", 1, 2, 9, "3-4, 6-8"),
                ("T-R02", 0, 1, 1, ""),
            ]
            assert {row["table"] for row in rows} == {"R01", "R02"}
            rounds.rest()
    assert run(["terminals", "--json"]) == 1
    summed = json.loads(capsys.readouterr().out)["terminals"]
    assert [tuple(row[name] for name in ("terminal", "epoch", "highest", "epochs", "received", "gaps")) for row in summed] == [
        ("T-R01", 1, 9, 2, 5, 5),
        ("T-R02", 0, 1, 1, 1, 0),
    ], "one line for each terminal"
    assert run(["terminals", "T-R01", "--gaps", "--csv"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ['T-R01,1,R01,2,9,"3-4, 6-8",']
    assert run(["terminals", "T-R02"]) == 0
    assert run(["terminals", "T-R99"]) == 2


def test_a_number_on_two_events_is_found_even_across_two_services(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With an open door one terminal reports of two tables, and two services have one each: neither sees the other's numbers."""
    here, there = Terminal(), Terminal("R02", currency="HKD")
    with closing(house(dsn)) as one, closing(house(dsn)) as other:
        accepted(one.post([here.open(sequence=1, epoch=3), here.bet("red", sequence=2, epoch=3)]))
        assert run(["terminals", "--forks"]) == 0
        capsys.readouterr()
        twice = [there.open(terminal="T-R01", sequence=2, epoch=3), there.bet("red", terminal="T-R01", sequence=3, epoch=3)]
        accepted(other.post(twice))
        within = here.bet("black", sequence=1, epoch=3)
        assert codes(one.post([within])) == ["LGR-0303"]
    assert run(["terminals", "--forks", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["forks"]
    assert [(row["terminal"], row["epoch"], row["number"], row["tables"]) for row in found] == [
        ("T-R01", 3, 1, "R01"),
        ("T-R01", 3, 2, "R01, R02"),
    ]
    assert str(within.event_id) in found[0]["events"]
    assert str(twice[0].event_id) in found[1]["events"]
    assert run(["terminals", "T-R02", "--forks"]) == 0
    assert run(["terminals", "--forks", "--gaps"]) == 2
