"""How long the write side waits for the database: each limit once, so that a terminal's longest wait can be added up.

A post waits for the group before its own and then for its own; a group ends at its first statement that meets a limit. So it is
answered within twice `LOCK` seconds where somebody holds a lock, and twice `POOL` where the database is away.
"""

from __future__ import annotations

import select
from typing import Any

import psycopg
from psycopg import conninfo, pq

LOCK = 5
"""Seconds that a statement waits for a lock."""
STATEMENT = 30
"""Seconds that a statement runs, waits for the disk included."""
IDLE_IN_TRANSACTION = 10
"""Seconds after which a transaction that does nothing is cut off; readers of the log's end wait for it."""
POOL = 5
"""Seconds that a request waits for a connection: for a free one, or for the database to come back."""
RECONNECT = 2
"""Seconds for which a pool slows down its tries at a database that is away; then it starts afresh. The library's own tries would
be two minutes apart after an outage of as long, and the database back all the while."""
SILENCE = 15
"""Seconds after which a network that has gone silent counts as a lost connection (TCP only)."""

_NETWORK = {
    "connect_timeout": POOL,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": SILENCE * 1000,
}


def patient(dsn: str) -> str:
    """The connection string with limits for the network, where it names none itself."""
    return conninfo.make_conninfo("", **{**_NETWORK, **conninfo.conninfo_to_dict(dsn)})


def bound(conn: psycopg.Connection[Any]) -> None:
    """Sets the limits of a session that writes.

    Plans are made once: those of the append take arrays, which Postgres would otherwise plan anew for each length. A plan may be
    made while the log is empty and is kept as it grows, so one that suits small tables only is ruled out: all is found by key,
    and in the order of the key. (By a bitmap, a stream is collected first and then sorted.)
    """
    settings = {
        "lock_timeout": f"{LOCK}s",
        "statement_timeout": f"{STATEMENT}s",
        "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION}s",
        # The server's side of the same network: what a client held that is gone, its tables above all, is soon free again.
        "tcp_keepalives_idle": "5",
        "tcp_keepalives_interval": "5",
        "tcp_keepalives_count": "2",
        "tcp_user_timeout": f"{SILENCE}s",
        "timezone": "UTC",
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
    }
    asked = ", ".join(["set_config(%s, %s, false)"] * len(settings))
    conn.execute(f"SELECT {asked}", [part for setting in settings.items() for part in setting])
    # What is acknowledged is on disk, whatever somebody has set for the database or the role. Stronger settings stay.
    conn.execute("SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")


def alive(conn: psycopg.Connection[Any]) -> None:
    """A pool's check of a connection before it is used: raises psycopg.OperationalError where the server has ended it meanwhile.

    Looks at the socket and asks nothing: between two statements a server has nothing to say but its farewell.
    """
    poll = select.poll()
    poll.register(conn.fileno(), select.POLLIN)
    while poll.poll(0):
        conn.pgconn.consume_input()
        if conn.pgconn.status != pq.ConnStatus.OK:
            raise psycopg.OperationalError("the server has ended the session")
