"""Which Postgres this process talks to: one that the environment names, else the embedded one.

1. `LEDGER_DSN`, a libpq connection string or URL.
2. libpq's own variables, when one of PGHOST, PGHOSTADDR, PGSERVICE or PGDATABASE says where to go. The others (PGUSER, PGPORT,
   PGPASSWORD …) then count as well, but alone they do not name a server: people have them set for other purposes.
3. The embedded server of this user's data directory (`LEDGER_DATA_DIR`), which runs while at least one process uses it.

A password is never shown: not in a message, not by `Server.origin`, not by `url`.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psycopg
from psycopg import conninfo, pq

from ledger.errors import Refusal

if TYPE_CHECKING:
    from ledger.store.embedded import EmbeddedPostgres

CONNECT_TIMEOUT = 5
"""Seconds for each address that the server's name stands for, unless the settings say otherwise (connect_timeout)."""

NAMING = ("PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE")
"""libpq's variables that name a server or a database and so win over the embedded server."""


@dataclass(frozen=True)
class Server:
    """A server that was named and reached."""

    dsn: str
    """A libpq connection string. May hold a password: not for eyes."""
    origin: str
    """Why this one, for eyes: "LEDGER_DSN", "PGHOST" …, or "embedded"."""


@contextmanager
def postgres() -> Iterator[str]:
    """The connection string of the server to use, which runs at least as long as the block. Raises what `server` raises."""
    with server() as found:
        yield found.dsn


@contextmanager
def server() -> Iterator[Server]:
    """The server to use; the embedded one is started again should it die during the block.

    Raises Refusal LGR-0501 where it cannot be reached, LGR-0516 where its settings make no sense, and for the embedded server
    what `EmbeddedPostgres` raises.
    """
    found = named()
    if found is not None:
        connect(found.dsn).close()
        yield found
        return
    from ledger.store.watch import Watch

    with embedded() as cluster, Watch(cluster):
        yield Server(cluster.conninfo(), "embedded")


def named() -> Server | None:
    """The server that the environment names, not contacted yet; None where it names none and the embedded one is used."""
    dsn = os.environ.get("LEDGER_DSN")
    if dsn:
        return Server(_bounded(dsn), "LEDGER_DSN")
    for name in NAMING:
        if os.environ.get(name):
            return Server(_bounded(_of_libpq()), name)
    return None


def embedded() -> EmbeddedPostgres:
    """The embedded server of this user's data directory, neither started nor made yet."""
    if sys.platform == "win32":
        raise Refusal("LGR-0506", "the embedded Postgres does not run on Windows", help="name a server in LEDGER_DSN, or use WSL")
    from ledger.store.embedded import EmbeddedPostgres  # here, because it needs what Windows does not have

    return EmbeddedPostgres(default_data_dir())


def default_data_dir() -> Path:
    """Where this user's ledger lives: `LEDGER_DATA_DIR`, else the platform's place for a user's data (XDG; macOS: Library)."""
    try:
        if chosen := os.environ.get("LEDGER_DATA_DIR"):
            return Path(chosen).expanduser().absolute()
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / "roundledger"
        shared = Path(os.environ.get("XDG_DATA_HOME", ""))
        # The XDG specification has relative paths ignored.
        return (shared if shared.is_absolute() else Path.home() / ".local" / "share") / "roundledger"
    except RuntimeError as error:
        raise Refusal(
            "LGR-0514", "this user has no home directory for the data", help="name a directory in LEDGER_DATA_DIR"
        ) from error


_WHERE_ITS_DATA_IS = """
SELECT CASE WHEN pg_has_role(current_user, 'pg_read_all_settings', 'USAGE') THEN current_setting('data_directory') END
"""


def which(connection: psycopg.Connection[Any]) -> str:
    """Which ledger a connection leads to, and what names another: words for whoever may have meant another."""
    if named() is None:
        directory = Path(os.path.realpath(default_data_dir()))
        if connection.execute(_WHERE_ITS_DATA_IS).fetchone() == (str(directory / "postgres" / "data"),):
            return (
                f"this ledger is in the data directory {directory}; LEDGER_DATA_DIR names another, and what is new is made there"
            )
    return f"this ledger is the database {connection.info.dbname} at {connection.info.host}; LEDGER_DSN names another"


def connect(dsn: str, **options: Any) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection to `dsn` (`options` as `psycopg.connect` takes them). Raises Refusal LGR-0501 within the connect timeout."""
    try:
        return psycopg.connect(dsn, **options)
    except psycopg.OperationalError as error:
        raise unreachable(dsn, error) from error
    except (psycopg.ProgrammingError, ValueError):
        raise _senseless() from None


@contextmanager
def session(dsn: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection for the block, each statement its own transaction unless told otherwise.

    Raises Refusal as `told` does.
    """
    with connect(dsn, autocommit=True) as connection, told(dsn):
        yield connection


UNFIT = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedTable,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.DataCorrupted,
    psycopg.errors.IndexCorrupted,
    psycopg.NotSupportedError,
)
"""What the database says of itself and not of what it is given: it is read-only, a table or a right is missing, a file is
damaged. It may be mended while we run."""


@contextmanager
def told(dsn: str) -> Iterator[None]:
    """Turns what is wrong with the database in the block into a Refusal.

    LGR-0501 where it cannot be reached or goes away in the middle, LGR-0517 where the role lacks a right, LGR-0515 where it is
    not as a ledger needs it (`UNFIT`).
    """
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise Refusal(
            "LGR-0517",
            f"the database's role lacks a right: {error.diag.message_primary}",
            field="user",
            value=_parsed(dsn).get("user"),
            help="connect as the owner of the database, or have the owner GRANT the right",
        ) from error
    except UNFIT as error:
        raise Refusal(
            "LGR-0515",
            f"the database refuses what a ledger does: {error.diag.message_primary or error}",
            value=url(dsn),
            help="a server that stands by is read-only: name the one that writes; tables that were changed by hand have to be as "
            "`roundledger db init` made them",
        ) from error
    except psycopg.OperationalError as error:
        raise unreachable(dsn, error) from error


def unreachable(dsn: str, error: psycopg.Error) -> Refusal:
    """The refusal for a server that does not answer, or answers no longer. Shows where, never the password."""
    reason = " ".join(str(error).split()) or type(error).__name__
    secrets = [text for name, text in _parsed(dsn).items() if _secret(name)] + [os.environ.get("PGPASSWORD")]
    for secret in filter(None, secrets):
        reason = reason.replace(str(secret), "***")
    return Refusal(
        "LGR-0501",
        f"the database cannot be reached: {reason}",
        value=url(dsn),
        help=_way_out(dsn, reason),
    )


def _way_out(dsn: str, reason: str) -> str:
    """What helps against the reason: a server that answers and turns us away need not be started."""
    parts = _parsed(dsn)
    options = (("-h", "host"), ("-p", "port"))
    where = "".join(f" {option} {shlex.quote(str(parts[name]))}" for option, name in options if parts.get(name))
    as_whom = f" -U {shlex.quote(str(parts['user']))}" if parts.get("user") else ""
    if absent := re.search(r'database "(.+)" does not exist', reason):
        return f"create it: createdb{where}{as_whom} {shlex.quote(absent[1])}, then: roundledger db init"
    if absent := re.search(r'role "(.+)" does not exist', reason):
        role = shlex.quote(absent[1])
        return f"name another user in the settings, or have the server's owner create this one: createuser{where} {role}"
    if re.search("password authentication failed|no password supplied", reason):
        return "put the user's password into PGPASSFILE or PGPASSWORD"
    return "start that server, or correct LEDGER_DSN or PGHOST and its like, or unset them to use the embedded one"


def url(dsn: str) -> str:
    """`dsn` as a URL for people and other tools, without the password."""
    parts = {name: text for name, text in _parsed(dsn).items() if not _secret(name)}
    user = quote(str(parts["user"]), safe="") + "@" if "user" in parts else ""
    host, port = str(parts.get("host", "")), str(parts.get("port", ""))
    rest = [name for name in parts if name not in ("user", "host", "port", "dbname", "connect_timeout", "client_encoding")]
    query = [f"{name}={quote(str(parts[name]), safe='')}" for name in rest]
    if host.startswith("/") or "," in host + port:  # a socket's directory, or several servers, do not fit between // and /
        query[:0] = [f"{name}={quote(text, safe='')}" for name, text in (("host", host), ("port", port)) if text]
        place = ""
    else:
        place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    return f"postgresql://{user}{place}/{quote(str(parts.get('dbname', '')), safe='')}" + ("?" + "&".join(query) if query else "")


def _secret(name: str) -> bool:
    return name.endswith(("password", "secret"))  # password, sslpassword, oauth_client_secret


def _of_libpq() -> str:
    """What libpq's variables and its service file say, written out so that people see where it leads; secrets stay there."""
    said = {option.keyword.decode(): option.val for option in pq.Conninfo.get_defaults()}
    chosen = {name: said[name] for name in ("host", "hostaddr", "port", "user", "dbname")}
    return conninfo.make_conninfo("", **{name: text.decode() for name, text in chosen.items() if text})


def _bounded(dsn: str) -> str:
    parts = _parsed(dsn)
    if "connect_timeout" not in parts and not os.environ.get("PGCONNECT_TIMEOUT"):
        parts["connect_timeout"] = CONNECT_TIMEOUT
    parts["client_encoding"] = "UTF8"  # whatever PGCLIENTENCODING says: names in Portuguese and Chinese are stored and shown
    return conninfo.make_conninfo("", **parts)


def _parsed(dsn: str) -> dict[str, Any]:
    try:
        return dict(conninfo.conninfo_to_dict(dsn))
    except psycopg.ProgrammingError:
        raise _senseless() from None


def _senseless() -> Refusal:
    # libpq's own words would repeat the settings, and a password may be among them; so they are not even chained.
    return Refusal(
        "LGR-0516",
        "the settings of the database connection cannot be read; they are not shown, for there may be a password in them",
        field="LEDGER_DSN",
        help="write postgresql://user@host:5432/name or host=… user=… dbname=…; the password goes into PGPASSFILE or PGPASSWORD",
    )
