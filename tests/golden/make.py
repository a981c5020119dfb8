"""Writes the golden log of this release: `python3 dev.py run -- python -m tests.golden.make`.

Before a release as often as need be: ids and times are fixed, so the same program writes the same bytes. After it, never again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from unittest import mock

import msgspec
import psycopg

from ledger import __version__, houses
from ledger.api import bodies, intake
from ledger.application import Rounds
from ledger.reports import Report, Verdict
from ledger.store import migrate
from ledger.store.embedded import EmbeddedPostgres
from tests.golden import HERE, dump, expected, ndjson
from tests.golden.day import play
from tests.golden.floor import BEGIN, EXTENDED, HOUSE, Post


def send(rounds: Rounds, post: Post) -> list[Verdict]:
    """Posts one post's events as the door does; `by` is the person whose token came with them."""
    items = intake.read(json.dumps(post["events"]).encode(), bodies.BATCH, datetime.fromisoformat(post["received_at"])).items
    reports = [item for item in items if isinstance(item, Report)]
    assert len(reports) == len(items), "what is not even a report leaves nothing in a log"
    return rounds.post([msgspec.structs.replace(report, by=post.get("by")) for report in reports])


def write(dsn: str) -> dict[str, str]:
    """Plays the day into the empty ledger at `dsn`; file → text."""
    posts = play()
    with ExitStack() as stack:
        clock = stack.enter_context(mock.patch.object(houses, "datetime", wraps=datetime))
        stack.enter_context(mock.patch("ledger.players.secrets.token_hex", return_value="0123456789ab"))
        rounds = stack.enter_context(closing(Rounds(dsn)))
        clock.now.return_value = BEGIN
        rounds.apply_property(HOUSE)
        for post in posts:
            send(rounds, post)
        rounds.apply_property(EXTENDED)
    with psycopg.connect(dsn, autocommit=True) as conn:
        tables = {f"{name}.ndjson": text for name, text in dump(conn).items()}
        return {**tables, "posts.ndjson": ndjson(posts), "expected.ndjson": expected(conn)}


def main() -> int:
    folder = HERE / __version__
    with tempfile.TemporaryDirectory(prefix="roundledger-golden-") as place:
        Path(place).chmod(0o711)  # as root the server is another user
        with EmbeddedPostgres(Path(place)) as server:
            migrate.init(server.conninfo())
            files = write(server.conninfo())
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    sys.stderr.write(f"{folder}: {files['events.ndjson'].count(chr(10))} events\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
