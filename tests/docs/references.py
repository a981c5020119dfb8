"""Writes what is made and not written: the reference pages and the door's examples. Tests hold each file to what is made today.

python3 dev.py run -- python -m tests.docs.references
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from ledger.store import migrate
from ledger.store.embedded import EmbeddedPostgres
from tests.docs import door_examples

ROOT = Path(__file__).resolve().parents[2]
MADE_BY = "python3 dev.py run -- python -m tests.docs.references"
EXAMPLES = ROOT / "ledger" / "api" / "examples.json"


def examples(dsn: str) -> str:
    """The file of the door's examples, from a migrated database without a log."""
    return json.dumps(door_examples.made(dsn), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    with tempfile.TemporaryDirectory() as directory, EmbeddedPostgres(Path(directory)) as server:
        dsn = server.conninfo()
        migrate.init(dsn)
        EXAMPLES.write_text(examples(dsn), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
