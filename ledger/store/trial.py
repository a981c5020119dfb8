"""A trial of the log's order on the user's own database, which touches nothing of the log.

The log's parts (its sequence, its functions, its table with indexes) are copied as they are in this database into a scratch
schema, which is dropped at the end. Writers append there with late commits, rollbacks and inverted order, a reader follows by the
same code that reads the log, and what it was given is counted against what was stored. A naive reader stands beside it and has to
miss events: otherwise nothing was tried.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any, LiteralString, NamedTuple
from uuid import UUID, uuid4

import msgspec
import psycopg
from psycopg import sql

from ledger.errors import Refusal
from ledger.store import log, waits
from ledger.store.migrate import migrations
from ledger.store.server import session
from ledger.store.standing import oldest_writing

Connection = psycopg.Connection[Any]
Progress = Callable[[int], None]

FUNCTIONS = ("next_position", "next_positions", "drawn", "horizon")
"""What order depends on, besides the sequence and the column's default."""

_LAST_WAIT = 10.0
"""Seconds for which the reader waits at the end for older transactions of the cluster."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What was tried and found."""

    parts: list[str]
    """What of the log's parts is not as this release makes it; empty where all is."""
    events: int
    """Events that were stored in the scratch schema."""
    transactions: int
    rolled_back: int
    inverted: int
    """Transactions that took their id before, and drew their positions after, a younger one."""
    missed: int
    twice: int
    backwards: int
    unstored: int
    naive_missed: int
    """Events that the naive reader missed."""
    longest_wait: float
    """Seconds for which the horizon stood still at the longest."""
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether no event was missed, given twice, out of order or before its time, and the parts are as they have to be."""
        return not (self.parts or self.missed or self.twice or self.backwards or self.unstored)

    @property
    def tried(self) -> bool:
        """Whether a reader could have missed anything."""
        return self.naive_missed > 0


def try_tail(dsn: str, *, seconds: float = 3.0, writers: int = 4, progress: Progress | None = None) -> Trial:
    """Runs the trial on the database at `dsn`, whose schema must be current.

    Raises Refusal LGR-0517 where the role may not create a schema, LGR-0505 where another transaction of the cluster writes for
    so long that the reader cannot come to the end.
    """
    began = time.monotonic()
    with session(dsn) as conn:
        parts = differences(conn)
        if any(part.endswith(_MISSING) for part in parts):
            return _untried(parts)
        with _scratch(conn) as schema, ExitStack() as opened:
            crowd = _Crowd(dsn, schema, opened)
            _inverted(crowd)
            _late(crowd)
            crowd.race(seconds, writers, progress)
            crowd.finish()
            stored = dict(_rows(conn, schema, 0, None))
    given, naive = crowd.given, {position for position, _ in crowd.naively}
    positions = {position for position, _ in given}
    return Trial(
        parts=parts,
        events=len(stored),
        transactions=crowd.transactions,
        rolled_back=crowd.rolled_back,
        inverted=crowd.inverted,
        missed=len(stored.keys() - positions),
        twice=len(given) - len(positions),
        backwards=sum(later <= earlier for (earlier, _), (later, _) in pairwise(given)),
        unstored=sum(stored.get(position) != stream for position, stream in given),
        naive_missed=len(stored.keys() - naive),
        longest_wait=crowd.longest_wait,
        seconds=time.monotonic() - began,
    )


def _untried(parts: list[str]) -> Trial:
    """Of a log that lacks a part there is nothing to copy."""
    none = dict.fromkeys(
        ("events", "transactions", "rolled_back", "inverted", "missed", "twice", "backwards", "unstored", "naive_missed"), 0
    )
    return Trial(parts=parts, longest_wait=0.0, seconds=0.0, **none)


# ------------------------------------------------------------------------------------------------------------- the log's parts

_MISSING = "is not there"


def differences(conn: Connection) -> list[str]:
    """What of the parts that the order depends on is not as this release makes it."""
    conn.execute("SET search_path = pg_catalog")  # so that the database names everything with its schema
    found = []
    cache, step, cycle = _one(
        conn, "SELECT seqcache, seqincrement, seqcycle FROM pg_sequence WHERE seqrelid = 'ledger.positions'::regclass"
    )
    if (cache, step, cycle) != (1, 1, False):
        found.append(f"the sequence ledger.positions has cache {cache}, increment {step}, cycle {cycle}; it must be 1, 1, False")
    default = _default(conn)
    if default is None:
        found.append(f"the default of ledger.events.notification_id {_MISSING}")
    elif default != "ledger.next_position()":
        found.append(f"positions come from {default}, and not from ledger.next_position()")
    for name in FUNCTIONS:
        row = conn.execute(
            "SELECT prosrc FROM pg_proc WHERE proname = %s AND pronamespace = 'ledger'::regnamespace", (name,)
        ).fetchone()
        if row is None or row[0] != _source(name):
            found.append(f"the function ledger.{name} {_MISSING if row is None else 'is not the one of this release'}")
    return found


def _default(conn: Connection) -> str | None:
    row = conn.execute(
        "SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef AS d JOIN pg_attribute AS a ON (a.attrelid, a.attnum) = "
        "(d.adrelid, d.adnum) WHERE d.adrelid = 'ledger.events'::regclass AND a.attname = 'notification_id'"
    ).fetchone()
    return None if row is None else str(row[0])


def _source(name: str) -> str:
    """The body that the migrations give a function, the last one where there are several."""
    pattern = re.compile(rf"CREATE (?:OR REPLACE )?FUNCTION ledger\.{name}\(.*?\$\$(.*?)\$\$", re.DOTALL)
    bodies: list[str] = [body for migration in migrations() for body in pattern.findall(migration.sql)]
    return bodies[-1]


# -------------------------------------------------------------------------------------------------------------- scratch schema

_NAME = "ledger_trial_"
_COMMENT = "Scratch of a trial of the log''s order; dropped at its end, or by the next trial."


@contextmanager
def _scratch(conn: Connection) -> Iterator[str]:
    """A schema with the log's parts as they are in this database; what a killed trial left behind goes first."""
    for (left,) in conn.execute("SELECT nspname FROM pg_namespace WHERE nspname ~ %s", (f"^{_NAME}[0-9a-f]{{32}}$",)).fetchall():
        if _one(conn, "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", left)[0]:
            _drop(conn, left)
            conn.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (left,))
    schema = _NAME + uuid4().hex
    conn.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (schema,))
    try:
        with conn.transaction():
            _make(conn, schema)
        yield schema
    finally:
        if not conn.closed:
            _drop(conn, schema)
            conn.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (schema,))


def _make(conn: Connection, schema: str) -> None:
    name = sql.Identifier(schema)
    cache, step = _one(conn, "SELECT seqcache, seqincrement FROM pg_sequence WHERE seqrelid = 'ledger.positions'::regclass")
    conn.execute(sql.SQL("CREATE SCHEMA {}").format(name))
    conn.execute(sql.SQL(f"COMMENT ON SCHEMA {{}} IS '{_COMMENT}'").format(name))
    conn.execute(
        sql.SQL("CREATE SEQUENCE {}.positions AS bigint CACHE {} INCREMENT {}").format(
            name, sql.Literal(cache), sql.Literal(step)
        )
    )
    for (definition,) in conn.execute(
        "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = ANY (%s) AND pronamespace = 'ledger'::regnamespace",
        (list(FUNCTIONS),),
    ).fetchall():
        conn.execute(definition.replace("ledger.", f"{schema}.").encode())
    conn.execute(sql.SQL("CREATE TABLE {}.events (LIKE ledger.events INCLUDING ALL)").format(name))
    default = str(_default(conn)).replace("ledger.", f"{schema}.")
    conn.execute(
        sql.SQL("ALTER TABLE {}.events ALTER notification_id SET DEFAULT ").format(name).as_string().encode() + default.encode()
    )


def _drop(conn: Connection, schema: str) -> None:
    conn.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def _one(conn: Connection, query: LiteralString, *params: object) -> tuple[Any, ...]:
    row = conn.execute(query, params).fetchone()
    assert row is not None
    return tuple(row)


# ----------------------------------------------------------------------------------------------------------- writers and readers


class _Row(NamedTuple):
    position: int
    stream: UUID


def _rows(conn: Connection, schema: str, after: int, upto: int | None) -> list[_Row]:
    """As `log.read` reads, without decoding; without an end, all that can be seen."""
    query = sql.SQL(
        "SELECT notification_id, originator_id FROM {}.events "
        "WHERE notification_id > %s AND notification_id <= %s ORDER BY notification_id"
    )
    end = 2**63 - 1 if upto is None else upto
    return [_Row(*row) for row in conn.execute(query.format(sql.Identifier(schema)), (after, end))]


class _Crowd:
    """Writers and readers of one scratch schema, and what came of them."""

    def __init__(self, dsn: str, schema: str, opened: ExitStack) -> None:
        self._dsn = dsn
        self._schema = schema
        self._opened = opened
        self._reader = self.connect(autocommit=True)
        self._tail = log.Tail(schema=schema)
        self.given: list[_Row] = []
        self.naively: list[_Row] = []
        self.transactions = self.rolled_back = self.inverted = 0
        self.longest_wait = 0.0
        self._moved = time.monotonic()
        self._lock = threading.Lock()

    def connect(self, *, autocommit: bool = False) -> Connection:
        conn = psycopg.connect(self._dsn, autocommit=True, application_name="roundledger trial")
        waits.bound(conn)
        conn.autocommit = autocommit
        return self._opened.enter_context(conn)

    def insert(self, conn: Connection, number: int, *, together: bool = False) -> None:
        """Rows of one stream, whose positions are drawn one by one or in one go; not committed."""
        stream, name = uuid4(), sql.Identifier(self._schema)
        if together:
            query = sql.SQL(
                "INSERT INTO {0}.events (originator_id, originator_version, topic, state, notification_id) "
                "SELECT %s, v, 'trial', '', p FROM unnest(%s::bigint[], {0}.next_positions(%s)) AS drawn(v, p)"
            )
            conn.execute(query.format(name), (stream, list(range(1, number + 1)), number))
            return
        query = sql.SQL(
            "INSERT INTO {}.events (originator_id, originator_version, topic, state) "
            "SELECT %s, v, 'trial', '' FROM generate_series(1, %s) AS v"
        )
        conn.execute(query.format(name), (stream, number))

    def commit(self, conn: Connection, *, inverted: bool = False) -> None:
        conn.commit()
        with self._lock:
            self.transactions += 1
            self.inverted += inverted

    def read(self) -> bool:
        """Both readers take what there is for them; whether our own is at the end."""
        after = self.naively[-1].position if self.naively else 0
        self.naively += _rows(self._reader, self._schema, after, None)
        after = self.given[-1].position if self.given else 0
        final = self._tail.final(self._reader)
        self.given += _rows(self._reader, self._schema, after, final)
        (drawn,) = self._reader.execute(sql.SQL("SELECT {}()").format(sql.Identifier(self._schema, "drawn"))).fetchone() or (0,)
        now = time.monotonic()
        if final >= drawn:
            self._moved = now
        self.longest_wait = max(self.longest_wait, now - self._moved)
        return bool(final >= drawn)

    def race(self, seconds: float, writers: int, progress: Progress | None) -> None:
        """So many writers at once, each in transactions that dawdle, while the readers go on reading."""
        until = time.monotonic() + seconds
        failures: list[BaseException] = []
        conns = [self.connect() for _ in range(writers)]

        def write(conn: Connection, rng: random.Random) -> None:
            try:
                while time.monotonic() < until:
                    self._dawdle(conn, rng)
            except BaseException as failure:  # noqa: BLE001 - raised below
                failures.append(failure)

        threads = [threading.Thread(target=write, args=(conn, random.Random(n)), daemon=True) for n, conn in enumerate(conns)]  # noqa: S311
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            self.read()
            if progress is not None:
                progress(len(self.given))
            time.sleep(0.002)
        if failures:
            raise failures[0]

    def _dawdle(self, conn: Connection, rng: random.Random) -> None:
        inverted = rng.random() < 0.3
        if inverted:
            conn.execute("SELECT pg_current_xact_id()")
            time.sleep(rng.uniform(0, 0.01))
        self.insert(conn, rng.randrange(1, 20), together=rng.random() < 0.5)
        time.sleep(rng.uniform(0, 0.02))
        if rng.random() < 0.125:
            conn.rollback()
            with self._lock:
                self.rolled_back += 1
        else:
            self.commit(conn, inverted=inverted)

    def finish(self) -> None:
        """Reads to the end."""
        deadline = time.monotonic() + _LAST_WAIT
        while not self.read():
            if time.monotonic() > deadline:
                oldest = oldest_writing(self._reader)
                raise Refusal(
                    "LGR-0505",
                    f"another transaction has been writing for {oldest.seconds if oldest else 0:.0f} s, and readers wait for it",
                    value=f"{oldest.session}, database {oldest.database}, {oldest.application}" if oldest else None,
                    help="try again when it has ended; SELECT pg_terminate_backend(process) ends it",
                )
            time.sleep(0.005)


def _late(crowd: _Crowd) -> None:
    """The plain case: the lower position commits last."""
    slow, quick = crowd.connect(), crowd.connect()
    crowd.insert(slow, 1)
    crowd.insert(quick, 1)
    crowd.commit(quick)
    crowd.read()
    crowd.commit(slow)


def _inverted(crowd: _Crowd) -> None:
    """The older transaction draws the higher position and commits first."""
    older, younger = crowd.connect(), crowd.connect()
    older.execute("SELECT pg_current_xact_id()")
    crowd.insert(younger, 1)
    crowd.insert(older, 1)
    crowd.commit(older, inverted=True)
    crowd.read()
    crowd.commit(younger)
