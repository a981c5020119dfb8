"""What people are told to type works where they are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cli.typed import from_here, program


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program, installed where PATH does not lead."""
    path = tmp_path / "clone" / ".venv" / "bin" / "roundledger"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.chdir(tmp_path / "clone")
    return path


def test_by_name_only_where_path_leads_to_it(script: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert program() == ".venv/bin/roundledger"
    other = tmp_path / "other" / "roundledger"
    other.parent.mkdir()
    other.write_bytes(script.read_bytes())
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert program() == ".venv/bin/roundledger"
    monkeypatch.setenv("PATH", str(script.parent))
    assert program() == "roundledger"


def test_from_elsewhere_by_its_whole_path(script: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert program() == str(script)
    monkeypatch.chdir(script.parent)
    assert program() == "./roundledger"


def test_as_a_module_where_there_is_no_script(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/cli/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(script.with_name("python")))
    assert program() == ".venv/bin/roundledger"
    script.unlink()
    assert program() == f"{script.with_name('python')} -m cli"


@pytest.mark.usefixtures("script")
def test_a_path_is_never_longer_than_it_has_to_be() -> None:
    assert from_here(Path.cwd() / "docs" / "x.md") == "docs/x.md"
    assert from_here(Path("/etc/hosts")) == "/etc/hosts"
