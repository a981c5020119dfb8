"""What was put into an outbox is in it, once, whatever becomes of the process, the disk or the file."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, date, datetime, timedelta
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ledger.client import Item, Outbox, Problem, Queued, Refused, Unanswered
from ledger.errors import Refusal
from ledger.reports import (
    PERSONS_ACTS,
    ApproveCorrection,
    CancelSlip,
    CloseDay,
    ConfirmSlip,
    CountChips,
    CountDrop,
    Data,
    DeclineCorrection,
    ErasePlayer,
    GiveUpNumbers,
    HoldPlayer,
    HoldRound,
    OpenRound,
    ProposeCorrection,
    RecordCredit,
    RecordFill,
    RecordLateBet,
    ReleasePlayer,
    ReleaseRound,
    RestoreChips,
    VoidBet,
)
from tests.unit.client.support import TERMINAL, event

ROOT = Path(__file__).resolve().parents[3]
KILLS = 20
SLIP = {"table": "R01", "total": "0", "currency": "MOP"}
SAID: dict[type[Data], dict[str, Any]] = {
    VoidBet: {"bet": UUID(int=1), "reason": "misplaced"},
    RecordLateBet: {"player": "P-1", "spot": "red", "stake": "100", "currency": "MOP"},
    RestoreChips: {"restored_by": "S-7", "source": "ledger"},
    HoldRound: {"reason": "dispute"},
    ReleaseRound: {"hold": UUID(int=1), "finding": "stands"},
    ProposeCorrection: {"kind": "return", "reason": "dispute_upheld"},
    ApproveCorrection: {"correction": UUID(int=1)},
    DeclineCorrection: {"correction": UUID(int=1)},
    GiveUpNumbers: {"table": "R01", "of_terminal": "T-R01", "of_epoch": 0, "first": 3, "last": 4, "reason": "lost_disk"},
    CountChips: {**SLIP, "kind": "opener", "chips": ()},
    RecordFill: {**SLIP, "number": 1, "chips": ()},
    RecordCredit: {**SLIP, "number": 1, "chips": ()},
    CountDrop: {**SLIP, "box": "B-1", "cash": "0"},
    ConfirmSlip: {"table": "R01", "slip": UUID(int=1), "kind": "fill"},
    CancelSlip: {"table": "R01", "slip": UUID(int=1), "kind": "fill", "reason": "wrong_total"},
    CloseDay: {"property": "DEMO", "gaming_day": date(2026, 11, 29), "as_of": "1", "figures": "0" * 64},
    ErasePlayer: {"property": "DEMO", "player": "P-1", "reason": "request"},
    HoldPlayer: {"property": "DEMO", "player": "P-1", "reason": "aml_17"},
    ReleasePlayer: {"property": "DEMO", "player": "P-1", "reason": "aml_17"},
}
"""Each act of a person, with fields that can be read."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox"


def numbers(path: Path) -> dict[int, list[int]]:
    """Epoch → the numbers given out in it, in the order in which they were put."""
    found: dict[int, list[int]] = {}
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for epoch, sequence, body in db.execute("SELECT epoch, sequence, body FROM events ORDER BY n"):
            said = json.loads(body)
            assert (said["epoch"], said["sequence"]) == (str(epoch), str(sequence))
            found.setdefault(epoch, []).append(sequence)
    return found


def gapless(path: Path) -> int:
    """How many events there are; asserts that every epoch is numbered from 1 without a gap."""
    found = numbers(path)
    for given in found.values():
        assert given == list(range(1, len(given) + 1))
    return sum(map(len, found.values()))


@pytest.mark.parametrize("act", PERSONS_ACTS)
def test_no_act_of_a_person_waits_in_an_outbox_nor_takes_a_number(path: Path, act: type[Data]) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        with pytest.raises(Refusal) as caught:
            outbox.put(event(), event(act(**SAID[act])))
        outbox.put(event())
    assert caught.value.code == "LGR-0723"
    assert list(numbers(path).values()) == [[1]]


def test_a_file_of_before_failures_were_kept_is_furnished_with_them(path: Path) -> None:
    Outbox(path, terminal=TERMINAL).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE failure")
    with Outbox(path) as outbox:
        assert outbox.standing().failure is None
        for failure in (Refused(Problem(status=403, code="LGR-0804")), Unanswered("it does not answer")):
            outbox.failed(failure)
        kept = outbox.standing().failure
    assert kept is not None
    assert (kept.kind, kept.code, kept.words) == ("link", None, "it does not answer"), "the last one"


def all_of(outbox: Outbox) -> list[Queued]:
    """What waits, of all epochs."""
    found: list[Queued] = []
    while more := outbox.waiting(after=found[-1].n if found else 0, limit=10_000, most=1 << 30):
        found += more
    return found


def item(queued: Queued, status: str = "accepted", *, retryable: bool = False) -> tuple[Queued, Item]:
    problem = Problem(code="LGR-0204", status=409, detail="closed", retryable=retryable) if status == "rejected" else None
    return queued, Item(id=queued.id, status=status, problem=problem, positions=("5", "6") if problem is None else ())  # type: ignore[arg-type]


# Durable when put returns.


def test_each_commit_is_flushed_to_the_disk(path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        asked = ("journal_mode", "synchronous", "fullfsync", "checkpoint_fullfsync")
        settings = [outbox._db.execute(f"PRAGMA {name}").fetchone()[0] for name in asked]
    assert settings == ["wal", 2, 1, 1], "WAL, FULL: SQLite then syncs the log at each commit"


def test_the_kernel_is_told_to_flush_before_put_returns(path: Path, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace here: install it to see the flush itself")
    script = """if True:
        import sys
        from pathlib import Path
        from ledger.client import Outbox
        from tests.unit.client.support import event
        outbox = Outbox(Path(sys.argv[1]), terminal="T-R01")
        outbox.put(event())
        print("MARK", flush=True)
        outbox.put(event())
        print("MARK", flush=True)
    """
    trace = tmp_path / "trace"
    command = [strace, "-f", "-y", "-e", "trace=fdatasync,fsync,write", "-o", str(trace), sys.executable, "-c", script, str(path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    second = trace.read_text().split("MARK")[1]
    assert "sync(" in second
    assert "outbox-wal" in second


def test_what_was_put_is_in_the_files_although_nobody_closed_them(path: Path, tmp_path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        put = [outbox.put(event())[0].id for _ in range(20)]
        copied = tmp_path / "copied"
        copied.mkdir()
        for name in ("outbox", "outbox-wal"):
            shutil.copy(path.parent / name, copied / name)
        with Outbox(copied / "outbox") as found:
            assert [queued.id for queued in all_of(found)] == put


def putting(path: Path, at_once: int, told: Connection) -> None:
    """The process: puts without end, and tells what each `put` returned."""
    with Outbox(path, terminal=TERMINAL) as outbox:
        while True:
            told.send([put.id for put in outbox.put(*(event() for _ in range(at_once)))])


def heard(told: Connection) -> Iterator[UUID]:
    """What a process told until it was killed; of a message that was cut, nothing."""
    with suppress(EOFError, OSError):
        while True:
            yield from told.recv()


@pytest.mark.parametrize("at_once", [1, 7])
def test_b20_kill_9_in_a_loop_loses_nothing_and_leaves_nothing_by_half(path: Path, at_once: int) -> None:
    """Whatever instruction the process was at: what put had returned is there, a group whole or not at all."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.unit.client.test_outbox"])
    rng = random.Random(at_once)
    told: list[UUID] = []
    for _ in range(KILLS):
        mine, theirs = Pipe(duplex=False)
        process = context.Process(target=putting, args=(path, at_once, theirs), daemon=True)
        process.start()
        theirs.close()
        told += mine.recv()
        time.sleep(rng.uniform(0.0, 0.03))
        process.kill()
        told += heard(mine)
        process.join()
        stored = gapless(path)
        assert stored % at_once == 0
        with Outbox(path) as outbox:
            kept = [queued.id for queued in all_of(outbox)]
        assert set(told) <= set(kept)
        assert len(kept) == len(set(kept)) == stored
    assert len(numbers(path)) == KILLS, "each start had an epoch of its own"
    assert len(told) > KILLS * at_once


# Numbers.


def test_an_opening_that_puts_nothing_draws_no_epoch(path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        outbox.put(event())
        first = outbox.standing().epoch
    with Outbox(path) as outbox:
        assert outbox.standing().epoch == first
        [put] = outbox.put(event())
        assert put.epoch is not None
        assert put.epoch > first
        assert put.sequence == 1


def test_a_copy_and_a_restored_file_never_give_out_a_number_again(path: Path, tmp_path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        outbox.put(event(), event())
    old = tmp_path / "old"
    shutil.copy(path, old)
    given: set[tuple[int | None, int | None]] = set()
    for _ in range(5):
        for file in (path, old):
            with Outbox(file) as outbox:
                fresh = {(put.epoch, put.sequence) for put in outbox.put(event(), event(), event())}
            assert not fresh & given
            given |= fresh
        shutil.copy(old, path)  # restored, again and again


def test_two_copies_part_ways_even_where_the_clock_stands_still(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    Outbox(path, terminal=TERMINAL).close()
    epochs = set()
    for n in range(50):
        copy = tmp_path / f"copy-{n}"
        shutil.copy(path, copy)
        with Outbox(copy) as outbox:
            epochs.add(outbox.put(event())[0].epoch)
    assert len(epochs) == 50


def test_a_clock_that_goes_back_does_not_lower_the_epoch(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        first = outbox.put(event())[0].epoch
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    with Outbox(path) as outbox:
        second = outbox.put(event())[0].epoch
    assert first is not None
    assert second is not None
    assert second > first


def test_processes_and_threads_that_share_a_file_number_as_one(path: Path) -> None:
    def put(_: int) -> None:
        with Outbox(path, terminal=TERMINAL) as outbox:
            for _ in range(10):
                outbox.put(event(), event())

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(put, range(6)))
    assert gapless(path) == 120


# Answers.


def test_events_wait_in_order_until_they_are_judged(path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        put = outbox.put(*(event() for _ in range(6)))
        first, second, third, *rest = all_of(outbox)
        outbox.answered([item(first), item(second, "rejected", retryable=True), item(third, "rejected")])
        stands = outbox.standing()
        assert [queued.id for queued in all_of(outbox)] == [put[1].id, *(each.id for each in put[3:])]
        assert (stands.contiguous, stands.last, stands.waiting, stands.acknowledged, stands.rejected) == (1, 6, 4, 1, 1)
        assert stands.last_problem == "LGR-0204: closed"
        outbox.answered([item(second, "replayed"), *map(item, rest)])
        assert (outbox.standing().contiguous, outbox.standing().waiting, outbox.standing().oldest) == (6, 0, None)


def test_a_final_answer_is_never_taken_back(path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        outbox.put(event())
        [queued] = all_of(outbox)
        for answer in (
            item(queued),
            item(queued, "rejected"),
            item(queued, "rejected", retryable=True),
            item(queued, "replayed"),
        ):
            outbox.answered([answer])
        assert (outbox.standing().acknowledged, outbox.standing().rejected, outbox.standing().waiting) == (1, 0, 0)


def test_rejected_events_stay_with_their_reason_until_and_after_somebody_saw_them(path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        [put] = outbox.put(event())
        outbox.answered([item(all_of(outbox)[0], "rejected")])
        [kept] = outbox.rejected()
        assert (kept.id, kept.type, kept.round, kept.sequence) == (put.id, put.type, put.round, 1)
        assert (kept.problem.code, kept.problem.detail, kept.body) == ("LGR-0204", "closed", put.encoded().decode())
        assert (outbox.mark_seen(), outbox.mark_seen()) == (1, 0)
        assert (outbox.standing().rejected, outbox.rejected(), len(outbox.rejected(seen=True))) == (0, [], 1)


def test_what_was_acknowledged_long_ago_is_forgotten_and_nothing_else(path: Path) -> None:
    clock = [datetime(2026, 11, 1, tzinfo=UTC)]
    with Outbox(path, terminal=TERMINAL, now=lambda: clock[0]) as outbox:
        outbox.put(*(event() for _ in range(4)))
        first, second, third, _ = all_of(outbox)
        outbox.answered([item(first), item(second, "rejected")])
        clock[0] += timedelta(days=40)
        outbox.answered([item(third)])
        assert outbox.forget(timedelta(days=30)) == 1
        stands = outbox.standing()
        assert (stands.acknowledged, stands.rejected, stands.waiting, stands.contiguous) == (1, 1, 1, 3)


def test_a_post_is_bounded_in_events_and_in_bytes(path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        outbox.put(*(event() for _ in range(10)))
        size = len(all_of(outbox)[0].body)
        assert len(outbox.waiting(limit=3, most=1 << 20)) == 3
        assert len(outbox.waiting(limit=10, most=4 * (size + 8))) == 4
        assert len(outbox.waiting(limit=10, most=1)) == 1, "one at least, or it would never go"


def test_the_round_that_was_opened_last_is_found_again(path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        assert outbox.latest_round("roundledger.RoundOpened.v1") == []
        opening = event(OpenRound(table="R01", game="roulette"))
        outbox.put(opening, event())
        found = [json.loads(body)["type"] for body in outbox.latest_round(opening.type)]
    assert found == ["roundledger.RoundOpened.v1", "roundledger.BettingClosed.v1"]


# What cannot be.


def put_until_full(outbox: Outbox) -> Refusal:
    """Puts five at a time until that is refused."""
    for _ in range(1000):
        try:
            outbox.put(*(event() for _ in range(5)))
        except Refusal as refusal:
            return refusal
    raise AssertionError("there was room for everything")


def test_a_full_disk_is_said_and_nothing_is_half_there(path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        outbox.put(event())
        [(pages,)] = outbox._db.execute("PRAGMA page_count")
        outbox._db.execute(f"PRAGMA max_page_count = {pages + 2}")
        full = put_until_full(outbox)
        stored = outbox.standing().last
        assert full.code == "LGR-0721"
        assert "nothing of this was stored" in full.detail
        assert stored % 5 == 1
        outbox._db.execute("PRAGMA max_page_count = 1000000")
        outbox.put(event())
    assert gapless(path) == stored + 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a file system of its own")
def test_a_full_file_system_is_said_and_nothing_is_half_there(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(small)], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        with Outbox(small / "outbox", terminal=TERMINAL) as outbox:
            assert put_until_full(outbox).code == "LGR-0721"
            stored = outbox.standing().last
            assert len(all_of(outbox)) == stored
            assert stored % 5 == 0
            for name in ("outbox", "outbox-wal"):
                shutil.copy(small / name, tmp_path / name)
        assert gapless(tmp_path / "outbox") == stored
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


@pytest.mark.parametrize(
    ("content", "terminal", "words"),
    [
        (None, None, "there is no outbox here"),
        (b"", None, "there is no outbox here"),
        (b"a letter to somebody" * 400, TERMINAL, "file is not a database"),
    ],
)
def test_what_is_no_outbox_is_left_alone(path: Path, content: bytes | None, terminal: str | None, words: str) -> None:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Refusal, match=words) as caught:
        Outbox(path, terminal=terminal)
    assert (caught.value.code, caught.value.value) == ("LGR-0720", str(path))
    assert (path.read_bytes() if path.exists() else None) == content


def test_another_programs_database_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(Refusal, match="this file is no outbox"):
        Outbox(path, terminal=TERMINAL)
    assert path.read_bytes() == before


def test_one_terminal_has_one_outbox(path: Path) -> None:
    Outbox(path, terminal=TERMINAL).close()
    with pytest.raises(Refusal, match=f"the outbox of terminal {TERMINAL}, not of T-R02"):
        Outbox(path, terminal="T-R02")
    with Outbox(path) as outbox:
        assert outbox.terminal == TERMINAL


def test_a_terminal_that_could_not_be_called_so_has_no_outbox(path: Path) -> None:
    with pytest.raises(Refusal, match="no terminal can be called T R01"):
        Outbox(path, terminal="T R01")
    assert not path.exists()


def test_a_later_releases_outbox_is_left_alone(path: Path) -> None:
    Outbox(path, terminal=TERMINAL).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 2")
    with pytest.raises(Refusal, match="a later release"):
        Outbox(path)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=os.strerror(errno.ENOENT)):
        Outbox(tmp_path / "nowhere" / "outbox", terminal=TERMINAL)


def test_only_its_owner_may_read_it(path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        outbox.put(event())
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == {"outbox": 0o600, "outbox-wal": 0o600, "outbox-shm": 0o600}


def test_an_event_is_put_once(path: Path) -> None:
    with Outbox(path, terminal=TERMINAL) as outbox:
        made = event()
        [numbered] = outbox.put(made)
        for wrong in ([event(), made], [numbered]):
            with pytest.raises(ValueError, match=str(made.id)):
                outbox.put(*wrong)
        assert outbox.standing().last == 1
