"""The kinds of work that a client process does: plain SQL, the stock library, and the ledger's own use case.

A job is made once in its process and keeps its connections. `begin` and `end` surround a measured stretch and are not part of it;
`step` is one commit, and may be called by as many threads at once as the job was made for.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from http.client import HTTPConnection
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import psycopg
from eventsourcing.persistence import IntegrityError

from ledger.application import Rounds
from ledger.reports import Report, Verdict
from ledger.writer import Writer
from tests.benchmarks.library import Library, TableRound, environment
from tests.benchmarks.play import EVENTS_OF_A_ROUND, HOUSE, Terminal, cloud_events, uuid7
from tests.benchmarks.terminals import RAW, Order, fresh_ids, inserter, poster


class Setting(NamedTuple):
    """Where and how a job works."""

    dsn: str
    client: int
    """Number of the client process; it has tables of its own."""
    callers: int = 1
    """Threads of the process that call at the same time."""
    given: Any = None


class Job(Protocol):
    """See the module's text. `events`: events that one step stores."""

    events: int

    def begin(self, seconds: float) -> None:
        """Makes ready what a stretch of so many seconds takes; of one that is counted in steps they are 0."""

    def step(self, caller: int) -> bytes:
        """One commit; the event ids that it acknowledged, 16 bytes each."""

    def end(self) -> bytes: ...


SCHEMA = RAW + "CREATE TABLE raw.floor (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea NOT NULL);"
"""What plain SQL writes to: the log's own table without its triggers and functions, and a bare row for the floor."""


class Floor:
    """The floor: one prepared one-row INSERT, which commits by itself."""

    events = 1

    def __init__(self, setting: Setting) -> None:
        self._conn = psycopg.connect(setting.dsn, autocommit=True)
        self._body = setting.given

    def begin(self, _: float) -> None:
        pass

    def step(self, _: int) -> bytes:
        self._conn.execute("INSERT INTO raw.floor (body) VALUES (%b)", (self._body,), prepare=True, binary=True)
        return b""

    def end(self) -> bytes:
        return b""


Row = tuple[str, bytes, bool, int | None, bytes | None]
"""Topic, payload, whether it bears a claim, events caused, fingerprint."""


class Copy:
    """The rows of whole rounds by COPY, one round a commit."""

    events = EVENTS_OF_A_ROUND

    def __init__(self, setting: Setting) -> None:
        self._conn = psycopg.connect(setting.dsn, autocommit=True)
        self._rows: Sequence[Row] = setting.given

    def begin(self, _: float) -> None:
        pass

    def step(self, _: int) -> bytes:
        stream = uuid7()
        with (
            self._conn.cursor() as cursor,
            cursor.copy(
                "COPY raw.events (originator_id, originator_version, topic, state, cause, caused, fingerprint) "
                "FROM STDIN (FORMAT BINARY)"
            ) as copy,
        ):
            copy.set_types(["uuid", "int8", "text", "bytea", "uuid", "int4", "bytea"])
            for version, (topic, state, claims, caused, fingerprint) in enumerate(self._rows, 1):
                copy.write_row((stream, version, topic, state, uuid7() if claims else None, caused, fingerprint))
        return b""

    def end(self) -> bytes:
        return b""


_BETS_A_SECOND = 4000
"""More than one process posts. So many reports are ready when the clock starts, as the floor's bytes are; more are made then."""


class Bets:
    """Single bets by the ledger's use case: `Rounds.post` where there is one caller, through the writer where there are more."""

    events = 1

    def __init__(self, setting: Setting) -> None:
        self._rounds = Rounds(setting.dsn, lease_idle=0.0)
        self._terminals = _terminals(setting.client, self._tables(setting))
        self._writer: Writer | None = None
        if setting.callers > 1:
            self._writer = Writer(self._rounds.post)
            self._writer.start()

    def _tables(self, setting: Setting) -> int:
        return setting.callers

    def begin(self, seconds: float) -> None:
        self._opened = accepted(self._rounds.post([terminal.open() for terminal in self._terminals]))
        each = round(seconds * _BETS_A_SECOND / len(self._terminals))
        self._ready = [deque([terminal.bet() for _ in range(each)]) for terminal in self._terminals]

    def step(self, caller: int) -> bytes:
        table = caller % len(self._terminals)
        ready = self._ready[table]
        report = ready.popleft() if ready else self._terminals[table].bet()
        verdicts = self._rounds.post([report]) if self._writer is None else self._writer.submit([report]).result()
        return accepted(verdicts)

    def end(self) -> bytes:
        ended = accepted(self._rounds.post([report for terminal in self._terminals for report in terminal.end()]))
        self._rounds.rest()  # the tables are free for the next job, which may be another process
        return self._opened + ended


class SharedBets(Bets):
    """Single bets of all callers on one round."""

    def _tables(self, _: Setting) -> int:
        return 1


class WholeRounds:
    """Whole rounds by the ledger's use case, one a post."""

    events = EVENTS_OF_A_ROUND

    def __init__(self, setting: Setting) -> None:
        self._rounds = Rounds(setting.dsn, lease_idle=0.0)
        (self._terminal,) = _terminals(setting.client, 1)

    def begin(self, _: float) -> None:
        pass

    def step(self, _: int) -> bytes:
        return accepted(self._rounds.post(self._terminal.whole_round()))

    def end(self) -> bytes:
        self._rounds.rest()
        return b""


class DoorBets:
    """Batches of bets through the HTTP door, each client with a connection and a table of its own. `port` is the door's."""

    events = 20
    port = 0

    def __init__(self, setting: Setting) -> None:
        (self._terminal,) = _terminals(setting.client, 1)

    def begin(self, _: float) -> None:
        self._opened = self._post([self._terminal.open()])
        self._socket = socket.create_connection(("127.0.0.1", self.port), 60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._send = poster(self._socket, Order(True, self.events, self._terminal.table, self._terminal.round, 0.0, 0.0))

    def step(self, _: int) -> bytes:
        ids = fresh_ids(self.events)
        self._send(ids)
        return bytes.fromhex("".join(ids).replace("-", ""))

    def end(self) -> bytes:
        self._socket.close()
        return self._opened + self._post(self._terminal.end())

    def _post(self, reports: Sequence[Report]) -> bytes:
        door = HTTPConnection("127.0.0.1", self.port, timeout=60)
        with closing(door):
            door.request("POST", "/v1/events", cloud_events(reports), {"Content-Type": "application/json"})
            answer = door.getresponse().read()
        if answer.count(b'"status":"accepted"') != len(reports):
            raise RuntimeError(f"the door did not accept {len(reports)} events: {answer[:500]!r}")
        return b"".join([report.event_id.bytes for report in reports])


class RawBets:
    """The rows of such batches by plain SQL, each batch one prepared INSERT that commits by itself."""

    events = 20

    def __init__(self, setting: Setting) -> None:
        self._conn = psycopg.connect(setting.dsn, autocommit=True)

    def begin(self, _: float) -> None:
        self._send = inserter(self._conn, Order(False, self.events, "B000", uuid7(), 0.0, 0.0))

    def step(self, _: int) -> bytes:
        self._send(fresh_ids(self.events))
        return b""

    def end(self) -> bytes:
        return b""


class LibraryBets:
    """Single bets by the library: each caller saves an aggregate of its own, which it keeps in memory."""

    events = 1

    def __init__(self, setting: Setting) -> None:
        self._app = Library(environment(setting.dsn, connections=setting.callers))
        self._callers = setting.callers

    def begin(self, _: float) -> None:
        self._mine = [TableRound.open("B000") for _ in range(self._callers)]
        self._app.save(*self._mine)

    def step(self, caller: int) -> bytes:
        round_ = self._mine[caller]
        round_.place_bet()
        self._app.save(round_)
        return b""

    def end(self) -> bytes:
        return b""


class LibrarySharedBets:
    """Single bets by the library on a round that others bet on: load, bet, save; on a conflict again, at once, until it is in."""

    events = 1

    def __init__(self, setting: Setting) -> None:
        self._app = Library(environment(setting.dsn))
        self.round = UUID(int=0)

    def begin(self, _: float) -> None:
        pass

    def step(self, _: int) -> bytes:
        while True:
            round_: TableRound = self._app.repository.get(self.round)
            round_.place_bet()
            try:
                self._app.save(round_)
            except IntegrityError:
                continue
            return b""

    def end(self) -> bytes:
        return b""


class LibraryRounds:
    """Whole rounds by the library, one a save."""

    events = EVENTS_OF_A_ROUND

    def __init__(self, setting: Setting) -> None:
        self._app = Library(environment(setting.dsn))

    def begin(self, _: float) -> None:
        pass

    def step(self, _: int) -> bytes:
        self._app.save(TableRound.whole("B000"))
        return b""

    def end(self) -> bytes:
        return b""


def _terminals(client: int, count: int) -> list[Terminal]:
    """Those of the client's own tables: apart from every other client's."""
    return [Terminal(table.id) for table in HOUSE.tables[8 * client :][:count]]


def accepted(verdicts: Sequence[Verdict]) -> bytes:
    """The event ids, all of which were accepted."""
    for verdict in verdicts:
        if verdict.status != "accepted":
            raise RuntimeError(f"{verdict.event_id} was {verdict.status}: {verdict.refusal}")
    return b"".join([verdict.event_id.bytes for verdict in verdicts if verdict.event_id is not None])
