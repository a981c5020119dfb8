"""A log read for an audit: from Postgres and from an export the same rounds come, each once and whole, in flat memory."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest

from ledger import erasure
from ledger.audit.from_export import ExportSource, following
from ledger.audit.from_log import LogSource
from ledger.audit.gathering import Gatherer, Row, decoded
from ledger.audit.reading import reading
from ledger.audit.run import audit
from ledger.audit.scope import Scope
from ledger.errors import Refusal
from ledger.events import Recorded, RoundOpened
from ledger.feed.source import Source
from tests.golden import RELEASES, load

NOW = RELEASES[-1]


@pytest.fixture
def golden(dsn: str) -> str:
    """A database with the golden log of this release."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        load(conn, NOW)
    return dsn


@pytest.fixture
def export(golden: str, tmp_path: Path) -> Path:
    """The same log as `roundledger feed` writes it."""
    path = tmp_path / "log.ndjson"
    with Source(golden) as source, path.open("wb") as file:
        file.writelines(item.json() + b"\n" for item in source.page(0, limit=10_000, patience=10).items)
    return path


@pytest.fixture
def compressed(export: Path) -> Path:
    """And compressed."""
    path = export.with_suffix(".ndjson.gz")
    path.write_bytes(gzip.compress(export.read_bytes()))
    return path


Rounds = dict[UUID, list[Recorded]]


def read(where: str | Path, scope: Scope = Scope()) -> Rounds:  # noqa: B008  # an immutable tuple
    """The rounds that come, none of them twice."""
    found: Rounds = {}
    with reading(where, scope) as log:
        for events in log.rounds():
            assert events[0].stream not in found
            found[events[0].stream] = events
    return found


def stored(dsn: str, upto: int = 10**9) -> Rounds:
    """The rounds as the log holds them, and as they are shown."""
    from ledger.store import log

    found: Rounds = {}
    with psycopg.connect(dsn, autocommit=True) as conn:
        erased = erasure.names(conn)
        assert erased
        for recorded in (erasure.shown(each, erased) for each in log.read_all(conn)):
            if recorded.position <= upto and (recorded.stream in found or isinstance(recorded.body, RoundOpened)):
                found.setdefault(recorded.stream, []).append(recorded)
    return found


def test_each_round_comes_once_and_whole_from_the_log_and_from_its_exports(golden: str, export: Path, compressed: Path) -> None:
    rounds = stored(golden)
    assert len(rounds) > 20
    assert read(golden) == read(export) == read(compressed) == rounds


def test_what_is_read_is_clean_wherever_it_is_read(golden: str, export: Path) -> None:
    for where in (golden, export):
        with reading(where) as log:
            assert [finding for judgement in log.judgements() for finding in judgement.findings] == []
            assert log.findings == log.documents.findings == []
            assert log.position > 300


@pytest.mark.parametrize(
    "scope",
    [Scope(table="C01"), Scope(day=date(2026, 11, 28)), Scope(day=date(2026, 11, 29), table="R01"), Scope(day=date(2001, 1, 1))],
)
def test_a_scope_has_the_rounds_that_are_meant(golden: str, export: Path, scope: Scope) -> None:
    opened = {id_: events[0].body for id_, events in stored(golden).items()}
    meant = {id_ for id_, body in opened.items() if isinstance(body, RoundOpened) and scope.takes(id_, body)}
    assert read(golden, scope).keys() == read(export, scope).keys() == meant


def test_a_single_round_is_read_by_its_id(golden: str, export: Path) -> None:
    for id_, events in list(stored(golden).items())[:3]:
        assert read(golden, Scope(round=id_)) == read(export, Scope(round=id_)) == {id_: events}
    assert read(golden, Scope(round=UUID(int=7))) == {}


def test_the_log_as_it_stood_at_any_position_is_not_divided_within_a_report(golden: str, export: Path) -> None:
    with psycopg.connect(golden, autocommit=True) as conn:
        positions = [row[0] for row in conn.execute("SELECT notification_id FROM ledger.events ORDER BY 1")]
        causes: dict[int, str | None] = dict(conn.execute("SELECT position, body->>'cause' FROM ledger.log").fetchall())
    for until in positions[:: max(1, len(positions) // 12)]:
        ours, theirs = read(golden, Scope(until=until)), read(export, Scope(until=until))
        assert ours == theirs
        last = max((each.position for events in ours.values() for each in events), default=0)
        assert last <= until
        behind = next((each for each in positions if each > last), None)
        assert behind is None or causes[behind] is None or causes[behind] != causes.get(last)
        with reading(golden, Scope(until=until)) as log:
            assert [finding for judgement in log.judgements() for finding in judgement.findings] == [], until


def test_the_log_as_it_stood_at_a_time_ends_with_the_last_event_received_by_then(golden: str, export: Path) -> None:
    with psycopg.connect(golden, autocommit=True) as conn:
        rows = conn.execute(
            "SELECT position, coalesce(body->>'received_at', body->>'recorded_at')::timestamptz FROM ledger.log ORDER BY 1"
        ).fetchall()
    for _, when in rows[::100]:
        ours = read(golden, Scope(until=when))
        assert ours == read(export, Scope(until=when)) == read(golden, Scope(until=max(at for at, time in rows if time <= when)))
    assert read(golden, Scope(until=datetime(2000, 1, 1, tzinfo=UTC))) == {}


@pytest.mark.parametrize("number", [1, 2, 3, 7, 50])
def test_parts_that_are_read_side_by_side_come_to_the_same(golden: str, export: Path, number: int) -> None:
    """As processes do it: each gathers its own part, and what straddles goes to one that takes the parts in order."""
    whole = read(golden)
    source = ExportSource(export)
    parts = source.parts(number)
    follow = following(source.survey_part(part) for part in parts)
    with psycopg.connect(golden, autocommit=True) as conn:
        erased = erasure.names(conn)
    assert _in_parts([lambda part=part: source.rows(part) for part in parts], follow, erased) == whole  # type: ignore[misc]
    with LogSource(golden) as log:
        found = _in_parts([lambda part=part: log.rows(part) for part in log.parts(number)], {}, erased)  # type: ignore[misc]
    assert found == whole


def _in_parts(parts: list[Callable[[], Iterator[Row]]], follow: dict[UUID, int], erased: erasure.Names) -> Rounds:
    found: Rounds = {}
    over = Gatherer(afterwards=follow)

    def keep(rounds: Iterator[list[Row]]) -> None:
        for rows in rounds:
            events = [erasure.shown(decoded(row), erased) for row in rows]
            assert events[0].stream not in found
            found[events[0].stream] = events

    for rows in parts:
        own = Gatherer(afterwards=follow)
        keep(own.whole(rows()))
        keep(over.take_up(own.left(), own.following))
    keep(over.rest())
    return found


def test_a_file_that_is_no_export_is_refused_with_its_line(export: Path, tmp_path: Path) -> None:
    lines = export.read_bytes().splitlines(keepends=True)
    for name, text, code in (
        ("cut", b"".join(lines[:20]) + lines[20][:50], "LGR-0740"),
        ("other", b'{"hello": 1}\n', "LGR-0740"),
        ("csv", b"a,b\n1,2\n", "LGR-0740"),
        ("turned", b"".join(reversed(lines)), "LGR-0741"),
        ("twice", b"".join(lines[:9] * 2), "LGR-0741"),
    ):
        path = tmp_path / name
        path.write_bytes(text)
        with pytest.raises(Refusal) as refused:
            read(path)
        assert refused.value.code == code, name
    broken = tmp_path / "broken.gz"
    broken.write_bytes(gzip.compress(export.read_bytes())[:-200])
    with pytest.raises(Refusal) as refused:
        read(broken)
    assert refused.value.code == "LGR-0740"


def test_an_export_that_another_program_wrote_anew_is_read_as_well(export: Path, tmp_path: Path) -> None:
    path = tmp_path / "spaced"
    lines = [msgspec.json.format(line, indent=0).replace(b"\n", b" ") for line in export.read_bytes().splitlines()]
    path.write_bytes(b"\n".join(lines))
    assert read(path) == read(export)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda line: line | {"subject": "-" * 36},
        lambda line: line | {"subject": "zzz"},
        lambda line: line | {"subject": ""},
        lambda line: line | {"type": line["type"].replace("roundledger", "XXXXXXXXXXX")},
        lambda line: line | {"type": ""},
        lambda line: line | {"position": f"{line['position'][:1]}_{line['position'][1:]}"},
        lambda line: line | {"position": f" {line['position']}"},
        lambda line: line | {"position": f"+{line['position']}"},
        lambda line: line | {"position": "\uff11\uff12\uff13"},
        lambda line: line | {"version": "1.0"},
        lambda line: line | {"version": "-1"},
        lambda line: {name: value for name, value in line.items() if name != "subject"},
        lambda line: [line],
        lambda line: None,
    ],
)
def test_a_line_that_no_feed_writes_is_refused(export: Path, spoil: Callable[[Any], Any]) -> None:
    lines = export.read_bytes().splitlines()
    lines[120] = msgspec.json.encode(spoil(msgspec.json.decode(lines[120])))
    export.write_bytes(b"\n".join(lines))
    for where in (export, _gzipped(export)):
        with pytest.raises(Refusal) as refused:
            audit(where)
        assert refused.value.code == "LGR-0740"


def test_the_order_is_held_across_parts(export: Path) -> None:
    lines = export.read_bytes().splitlines(keepends=True)
    middle = len(b"".join(lines[: len(lines) // 2]))
    for again in (lines[: len(lines) // 2], lines[-1:], lines[len(lines) // 2 - 1 : len(lines) // 2]):
        export.write_bytes(b"".join([*lines, *again]))
        for size in (middle, 20_000, sum(map(len, lines))):
            with pytest.raises(Refusal) as refused:
                audit(export, part_size=size)
            assert refused.value.code == "LGR-0741"


def test_a_compressed_export_with_any_byte_changed_is_never_a_traceback(export: Path) -> None:
    whole = _gzipped(export)
    content = whole.read_bytes()
    seen = set()
    for at in [*range(4, 30), *range(30, len(content), len(content) // 40)]:
        whole.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        try:
            seen.add("found" if audit(whole).findings else "clean")
        except Refusal as refusal:
            seen.add(refusal.code)
    assert {"LGR-0740"} <= seen <= {"LGR-0740", "LGR-0741", "clean"}  # of some bytes of the head nothing depends


def _gzipped(path: Path) -> Path:
    packed = path.with_suffix(".packed.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed
