"""The documents hang together: links lead somewhere, decisions are listed, and every version says what it does to payouts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_inside_the_project_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text("utf-8")):
        assert "://" in target or (document.parent / target).exists(), target


def test_every_document_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = {ROOT / "README.md"}
    while ahead:
        document = ahead.pop()
        reached.add(document)
        targets = re.findall(r"\]\(([^):#]+\.md)[^)]*\)", document.read_text("utf-8"))
        ahead |= {(document.parent / target).resolve() for target in targets} - reached
    assert set(DOCUMENTS) <= reached


def test_decisions_are_numbered_without_a_gap_and_listed_with_their_titles() -> None:
    pages = sorted((ROOT / "docs" / "adr").glob("0*.md"))
    listed = (ROOT / "docs" / "adr" / "README.md").read_text("utf-8").splitlines()
    for number, page in enumerate(pages, 1):
        title = page.read_text("utf-8").splitlines()[0].removeprefix("# ")
        assert title.startswith(f"{number}. ")
        assert page.name.startswith(f"{number:04}-")
        assert f"- [{title}]({page.name})" in listed


def test_every_version_says_what_it_does_to_payouts() -> None:
    versions = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert versions
    for version in versions:
        words = re.search(r"^### Changes that alter a payout\n+(?!#)\S", version, re.MULTILINE)
        assert words, version.splitlines()[0]


def test_every_variable_of_this_program_begins_alike() -> None:
    """LEDGER_: who sets a variable should not have to know which command reads it."""
    files = [file for folder in ("cli", "ledger", "projections", "docs", ".ci") for file in (ROOT / folder).rglob("*")]
    told = [file for file in [*files, *ROOT.glob("*.*")] if file.is_file() and file.suffix != ".pyc"]
    other = re.compile("ROUND_?LEDGER_[A-Z]")
    assert [str(file.relative_to(ROOT)) for file in told if other.search(file.read_text("utf-8", "replace"))] == []


def test_no_page_leaves_a_file_of_its_own_in_the_clone() -> None:
    """What a reader is told to write goes elsewhere: a report that lay in the clone was once taken for a part of it."""
    usual = {"", ".md", ".toml", ".txt", ".py", ".yml", ".lock", ".key"}  # git takes no key
    assert [path.name for path in ROOT.iterdir() if path.is_file() and path.suffix not in usual and path.name[0] != "."] == []
