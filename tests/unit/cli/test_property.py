"""The register of a property: every assumption and opt-in that its tables play by, and nothing of games it does not deal."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

import seeds
from cli.main import run
from cli.property import in_force
from ledger import property as property_
from ledger.property import Choice, OptIn, Table

FILE = Path(seeds.__file__).parent / "demo" / "property.toml"
DEMO = property_.read(FILE)
CRAPS = Table("P01", "C", "craps", "MOP", "0.01")
FANTAN = Table("F01", "C", "fantan", "MOP", "0.01")


def test_it_lists_the_regulations_of_the_property_s_games_with_its_opt_ins() -> None:
    rows = in_force(DEMO)
    assert {row["regulation"] for row in rows} == {"30/2003", "31/2003"}
    [roulette, _] = [row["reason"] for row in rows if row["where"] == "opt-in"]
    assert roulette.startswith("30/2003, repealed by 60/2004, applied by opt-in, for days after 2004-05-17; ")
    assert roulette.endswith("; demonstration on the only roulette text held (approved by demo-manager)")
    assert any(row["where"] == "chance sector9, sets" for row in rows)


def test_a_repealed_regulation_that_is_not_opted_into_is_not_in_force() -> None:
    only_cussec = msgspec.structs.replace(DEMO, opt_ins=(OptIn("31/2003", "r", "a"),), tables=(*DEMO.tables, FANTAN))
    assert {row["regulation"] for row in in_force(only_cussec)} == {"31/2003", "58/2004"}


def test_choices_stand_in_it() -> None:
    sets = tuple(tuple(range(first, first + 9)) for first in (4, 13, 22))
    choices = (Choice("30/2003", nine_number_sets=sets), Choice("53/2010", unverified_bets=True))
    rows = in_force(msgspec.structs.replace(DEMO, choices=choices, tables=(*DEMO.tables, CRAPS)))
    unverified = [row["where"] for row in rows if "no source of the regulation holds this bet" in row["reason"]]
    assert {"chance dont_pass", "chance hop"} <= set(unverified)
    [sector] = [row["reason"] for row in rows if row["where"] == "chance sector9, sets"]
    assert "the sets that the property's layout prints" in sector


def test_the_register_of_a_file_is_as_its_property_plays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "house.toml"
    file.write_text(FILE.read_text("utf-8") + '\n[[choices]]\nregulation = "53/2010"\nunverified_bets = true\n', "utf-8")
    assert run(["rules", "assumptions", "craps", "--property", str(file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["assumptions"]
    assert any(row["where"] == "chance hop" for row in rows)
    file.write_text(file.read_text("utf-8").replace("53/2010", "16/2010"), "utf-8")
    assert run(["rules", "assumptions", "--property", str(file)]) == 2
    assert "error[LGR-0604]" in capsys.readouterr().err
