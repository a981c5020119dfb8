"""Locks and files that several processes share, and what to tell a person when the file system refuses."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.errors import Refusal


def open_lock(path: Path) -> int:
    """A descriptor of a lock file, which is made if need be. Not inherited by programs that are started later."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def try_lock(path: Path) -> int | None:
    """An open descriptor with the exclusive lock, or None while somebody holds it."""
    descriptor = open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def held(path: Path) -> bool:
    """Whether anybody holds the lock. Takes it for a moment, so only one process at a time may ask."""
    descriptor = try_lock(path)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the exclusive lock during the block, after waiting for it."""
    descriptor = open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write(path: Path, text: str, *, group: int | None = None) -> None:
    """Writes a whole file or none. Only its owner may read it, or `group` as well."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        if group is not None:
            os.fchown(descriptor, os.geteuid(), group)
            os.fchmod(descriptor, 0o640)
    Path(name).replace(path)


def sync(directory: Path) -> None:
    """Makes a rename within `directory` durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_foreign(directory: Path) -> None:
    """Refuses (LGR-0514) a directory that another user made or may write: a socket in it could be anybody's."""
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise Refusal(
            "LGR-0514",
            "a directory that only this user may write belongs to somebody else, or others may write it",
            value=str(directory),
            help="remove it if it is not yours to keep, or name another directory in LEDGER_DATA_DIR",
        )


def in_use(pid: int) -> bool:
    """Whether the system knows a process of this number, be it a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def works_in(pid: int, directory: Path) -> bool:
    """Whether a living process has `directory` as its working directory, as each process of a server has its data's.

    Where the system cannot tell (no /proc), the answer is True.
    """
    if sys.platform != "linux":
        return True
    try:
        return Path(f"/proc/{pid}/cwd").samefile(directory)
    except OSError:  # a zombie has none, and another user's process is none of ours
        return False


@contextmanager
def told_plainly(path: Path) -> Iterator[None]:
    """Turns what the file system refuses in the block into a Refusal (LGR-0513, LGR-0514) that a person can act on."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full(path) from error
        raise Refusal(
            "LGR-0514",
            f"the data directory cannot be used: {error.strerror or error}",
            value=str(error.filename or path),
            help="make it a directory that this user may write, or name another one in LEDGER_DATA_DIR",
        ) from error


def full(path: Path) -> Refusal:
    return Refusal(
        "LGR-0513",
        "the disk that holds the data directory is full",
        value=str(path),
        help="make room and try again: nothing that was acknowledged is lost; or name another directory in LEDGER_DATA_DIR",
    )
