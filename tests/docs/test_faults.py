"""The table of faults in `tests/README.md` is true: every test that it names is there, and names the fault."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROW = re.compile(r"^\| (B\d\d) [^|]+ \| \[[^]]+\]\(https://[^)]+\) \| (`.+`) \|$", re.MULTILINE)
HELD = [
    (fault, name)
    for fault, names in ROW.findall((TESTS / "README.md").read_text("utf-8"))
    for name in re.findall("`([^`]+)`", names)
]


def words_of(name: str) -> str:
    """What a test says of itself: its name, its classes' names, and all their docstrings with the module's."""
    path, *parts = name.split("::")
    node: ast.Module | ast.ClassDef | ast.FunctionDef = ast.parse((TESTS / path).read_text("utf-8"))
    said = [ast.get_docstring(node) or ""]
    for part in parts:
        (node,) = (inner for inner in node.body if isinstance(inner, ast.ClassDef | ast.FunctionDef) and inner.name == part)
        said += [part, ast.get_docstring(node) or ""]
    return " ".join(said)


@pytest.mark.parametrize(("fault", "name"), HELD)
def test_a_test_that_is_named_is_there_and_names_the_fault(fault: str, name: str) -> None:
    assert re.search(rf"(?i)(?<![a-z0-9]){fault}(?![0-9])|Test{fault}", words_of(name)), name


def test_the_faults_of_this_release_are_held() -> None:
    promised = {*(f"B{n:02}" for n in (*range(1, 37), *range(38, 42), *range(43, 49)))}
    assert promised <= {fault for fault, _ in HELD}
