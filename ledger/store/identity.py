"""As whom the embedded server runs. Postgres refuses to run as root, so root needs another identity; nobody else does.

Three ways, none of which adds a user or changes the mode of a directory that we did not make:

`same`       an ordinary user: the server runs as that user.
`nobody`     root, where programs and data can be reached by others: the server runs as `nobody`, in a group that no account has.
             That group alone may enter our directory, so other processes that run as `nobody` stay out.
`namespace`  root, where they cannot be reached (a home of mode 0700), or a user without a passwd entry (initdb wants one): the
             server runs in a user namespace in which the caller has another number. Outside it is the caller, but without any
             capability.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ledger.errors import Refusal

Way = Literal["same", "nobody", "namespace"]

_FREE_GROUPS = range(60578, 61184)
"""Numbers that neither systemd nor the distributions give to accounts (systemd, "Users, Groups, UIDs and GIDs")."""


@dataclass(frozen=True)
class Identity:
    """Who the server is, and how to run a program as that."""

    way: Way
    uid: int
    """Owner of the server's files, as seen from outside."""
    gid: int
    client: str
    """The operating system's name of the client, as the server sees it (Postgres peer authentication)."""
    prefix: tuple[str, ...] = ()

    @property
    def group(self) -> int | None:
        """The group that has to be given files which the server reads and we own."""
        return self.gid if self.way == "nobody" else None

    def run(self, command: Sequence[str | Path], *, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a program to its end as the server; standard error comes with the output."""
        return subprocess.run(
            [*self.prefix, *command],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            **self._options(),
        )

    def spawn(self, command: Sequence[str | Path], *, log: int, keep: Sequence[int]) -> None:
        """Starts a program that outlives us, in a session of its own (a terminal's Ctrl-C is not for it), writing to `log`.

        The shell leaves at once, so the server is never our child: nobody here has to reap it, and it is never our zombie.
        `keep` are descriptors that the server inherits.
        """
        subprocess.run(
            ["/bin/sh", "-c", '"$@" &', "sh", *self.prefix, *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=tuple(keep),
            start_new_session=True,
            check=True,
            **self._options(),
        )

    def reaches(self, *paths: Path) -> bool:
        """Whether the server may enter directories and run programs."""
        try:
            return all(self.run(["/bin/sh", "-c", 'test -x "$1"', "sh", path]).returncode == 0 for path in paths)
        except (OSError, ValueError):
            return False

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"env": _environment(), "cwd": "/", "umask": 0o077}
        if self.way == "nobody":
            options |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return options


def of_owner(base: Path, data: Path) -> Identity:
    """The identity under which existing data was made, told by its owner."""
    owner = data.stat().st_uid
    me = os.geteuid()
    if owner == me:
        return _own()
    if me == 0 and owner == _nobody():
        return _as_nobody(base.stat().st_gid)
    raise Refusal(
        "LGR-0514",
        f"the data directory belongs to the user {_name(owner)}, and this is {_name(me)}",
        value=str(data),
        help=f"run this as {_name(owner)}, or name another directory in LEDGER_DATA_DIR",
    )


def for_new(base: Path, programs: Path) -> Identity:
    """The identity for a data directory yet to be made in `base`, which is ours and empty; gives `base` its group and mode."""
    uid = _nobody()
    if os.geteuid() == 0 and uid is not None:
        identity = _as_nobody(_free_group())
        try:
            os.chown(base, 0, identity.gid)
            base.chmod(0o710)
            if identity.reaches(base, programs / "postgres"):
                return identity
            os.chown(base, 0, os.getegid())
            base.chmod(0o700)
        except OSError:
            pass  # a file system or a container that knows no owners: the namespace is left
    return _own()


def _own() -> Identity:
    me = os.geteuid()
    if me != 0 and _known(me):
        return Identity("same", me, os.getegid(), pwd.getpwuid(me).pw_name)
    if sys.platform != "linux" or shutil.which("unshare") is None:
        raise Refusal(
            "LGR-0506",
            "Postgres runs neither as root nor as a user without a name, and there is no 'unshare' to give it another identity",
            help="run this as an ordinary user, or install util-linux, or name a server in LEDGER_DSN",
        )
    inside = _named_number()
    identity = Identity("namespace", me, os.getegid(), inside.pw_name, ("unshare", "--user", f"--map-user={inside.pw_uid}"))
    answer = identity.run(["/bin/sh", "-c", "exit 0"])
    if answer.returncode != 0:
        raise Refusal(
            "LGR-0506",
            f"Postgres does not run as {_name(me)}, and this system allows no user namespace: {answer.stdout.strip()}",
            help="run this as an ordinary user, or keep program and data where others may read (LEDGER_DATA_DIR), "
            "or name a server in LEDGER_DSN",
        )
    return identity


def _as_nobody(gid: int) -> Identity:
    uid = _nobody()
    assert uid is not None  # both callers have looked
    return Identity("nobody", uid, gid, _name(os.geteuid()))


def _nobody() -> int | None:
    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError:
        return None


def _known(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _name(uid: int) -> str:
    return pwd.getpwuid(uid).pw_name if _known(uid) else str(uid)


def _named_number() -> pwd.struct_passwd:
    """A passwd entry other than root's to be inside a namespace, where initdb wants one.

    Not `nobody` if it can be helped: whoever is not mapped appears under that number, and peer authentication could not tell
    them apart.
    """
    for name in ("daemon", "bin", "sys", "mail", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise Refusal(
        "LGR-0506",
        "the system's list of users names nobody but root, and initdb wants a named user",
        help="add an ordinary user and run this as that user, or name a server in LEDGER_DSN",
    )


def _free_group() -> int:
    for gid in _FREE_GROUPS:
        try:
            grp.getgrgid(gid)
        except KeyError:
            return gid
    return pwd.getpwnam("nobody").pw_gid


def _environment() -> dict[str, str]:
    """What the server may see of ours: no PG… variable may steer it, and no LEDGER_DSN with its password may lie in /proc."""
    kept = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"LC_ALL": "C", "TZ": "UTC"}
