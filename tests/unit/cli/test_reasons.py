"""`roundledger help` knows the reason codes of verify and reconcile, and every page says what to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli.main import run
from cli.reporting import verify_place
from ledger.audit.findings import CODES as FINDINGS
from ledger.errors import CODES, Refusal
from ledger.pages import page
from projections.reconcile.reasons import REASONS


def test_every_reason_code_has_a_page_with_its_meaning_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    for reason in {*FINDINGS, *REASONS}:
        assert run(["help", reason, "--json"]) == 0
        told = {each["command"]: each for each in json.loads(capsys.readouterr().out)}
        assert ("verify" in told, "reconcile" in told) == (reason in FINDINGS, reason in REASONS)
        assert all(each["meaning"] and each["what_to_do"] for each in told.values())
    assert run(["help", "UNPAID_WIN"]) == 0
    said = capsys.readouterr().out
    assert said.count("What to do: ") == 2
    assert FINDINGS["UNPAID_WIN"] in said


def test_a_reason_that_is_none_is_refused_with_what_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "UNPAID_WINS"]) == 2
    assert "did you mean UNPAID_WIN" in capsys.readouterr().err


def test_every_error_s_page_says_what_to_do() -> None:
    assert [code for code in CODES if "\nWhat to do: " not in (page(code) or "")] == []


@pytest.mark.parametrize("made_by_dev", [True, False])
def test_a_package_that_is_missing_is_told_before_anything_is_worked_out_with_what_installs_it(
    made_by_dev: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    if made_by_dev:
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv" / "made-by-dev.json").write_text("{}")
    with pytest.raises(Refusal) as refused:
        verify_place("parquet", tmp_path / "out.parquet")
    assert refused.value.code == "LGR-0732"
    what = "python3 dev.py run -- true" if made_by_dev else "-m pip install pyarrow"
    assert what in str(refused.value.help)
