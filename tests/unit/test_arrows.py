"""The rules core stands alone. (What else may import what is written down as contracts in pyproject.toml.)"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = [ROOT / "ledger" / "money.py", *sorted((ROOT / "ledger" / "rules").glob("**/*.py"))]
OURS = ("ledger.errors", "ledger.money", "ledger.rules")
FORBIDDEN = {"os", "socket", "subprocess", "random", "secrets", "time", "threading", "asyncio", "sqlite3", "urllib", "http"}
"""Of the standard library: what reads a clock, draws lots, or reaches outside the process."""


def imported(source: str) -> set[str]:
    """The names of all modules that a source text imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{name.name}" for name in node.names} if node.module == "ledger" else {str(node.module)}
    return found


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_rules_core_imports_the_standard_library_and_itself(path: Path) -> None:
    for name in imported(path.read_text("utf-8")):
        top = name.partition(".")[0]
        assert name.startswith(OURS) or (top in sys.stdlib_module_names and top not in FORBIDDEN), name


def test_an_import_is_seen_wherever_it_stands() -> None:
    source = "import a.b, c\nfrom d.e import f\ndef g():\n    from ledger import store, money\n    import psycopg as p\n"
    assert imported(source) == {"a.b", "c", "d.e", "ledger.store", "ledger.money", "psycopg"}
