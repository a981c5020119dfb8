"""Whatever is killed under load, every acknowledged event is there once, and nothing is half there.

Terminals post over HTTP, each at its own table, and a writer process appends large groups; all of them send the same again until
they are answered. Meanwhile, in turn, SIGKILL goes to the service, to the writer in the middle of a group, to Postgres (its
postmaster, then the server process that is just writing). Each comes back, and the clients go on. At the end the log is held
against the clients' books (`tests.proofs.audit`): acknowledged means stored once at the positions that were named, a round is
settled whole or not at all, no bet is paid twice, a replay gives the same tables, and all sums are zero.

Then faults are planted in copies of the log, and the same audit has to find each of them.

SIGKILL loses what the processes had in mind, not what the kernel has in its page cache: it does not stand for a power cut.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import conninfo, sql

from ledger.store.embedded import EmbeddedPostgres
from tests.proofs import place
from tests.proofs.audit import Audit, Books, audit
from tests.proofs.kills_clients import Client, GroupWriter, HttpTerminal

TERMINALS = 4
_KINDS = ("service", "writer", "postmaster", "backend")
_BACK = 90.0
"""Seconds within which every client must be answered again."""
_SETTINGS = {"max_connections": "100"}


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    began = time.monotonic()
    place.end_cleanly()
    with place.directory() as directory, ExitStack() as servers:
        floor = _Floor(directory, servers, options.seed)
        try:
            floor.open()
            for number in range(options.rounds):
                floor.round(_KINDS[number % len(_KINDS)])
            floor.close()
        except BaseException:
            print(floor.last_words(), file=sys.stderr)
            raise
        finally:
            floor.end()
        books = Books.of_all(client.books for client in floor.clients)
        _await(floor.dsn)
        found = audit(floor.dsn, books)
        rang = _canaries(floor.dsn, books)
    return _conclude(floor, found, rang, time.monotonic() - began)


def _await(dsn: str) -> None:
    """Waits for the server, which recovers where the last kill was its own; a minute at most."""
    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(dsn).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py prove kills", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, help="kills; 30, or 4 with --short")
    parser.add_argument("--seed", type=int, default=0, help="of what the clients do; when they do it is the machine's affair")
    parser.add_argument("--short", action="store_true", help="a form of some seconds")
    options = parser.parse_args(argv)
    options.rounds = options.rounds or (4 if options.short else 30)
    return options


class _Floor:
    """The server, the service and the clients."""

    def __init__(self, directory: Path, servers: ExitStack, seed: int) -> None:
        self._directory = directory
        self._servers = servers
        self._random = random.Random(seed)
        self._seed = seed
        self.dsn = place.furnished(self._bring_up(), TERMINALS + 1)
        self._port = 0
        self._log = directory / "service.log"
        self._service: subprocess.Popen[str] | None = None
        self.clients: list[Client] = []
        self.writer: GroupWriter
        self.killed: Counter[str] = Counter()
        self.back: dict[str, float] = {}
        """Kind of kill → seconds until the last client was answered again, at worst."""

    def open(self) -> None:
        """Starts the service and the clients."""
        url = self._serve()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.proofs.kills_clients"])
        terminals = [HttpTerminal(url, place.table(n), f"{self._seed} {n}") for n in range(TERMINALS)]
        self.writer = GroupWriter(context, self.dsn, place.table(TERMINALS), f"{self._seed} writer")
        self.clients = [*terminals, self.writer]
        for client in self.clients:
            client.start()
        self._all_answered(time.monotonic())

    def round(self, kind: str) -> None:
        """One kill, and waiting until everybody has been answered again."""
        time.sleep(self._random.uniform(0.2, 0.8))
        killing: dict[str, Callable[[], bool]] = {
            "service": self._kill_service,
            "writer": self.writer.kill,
            "postmaster": self._kill_postmaster,
            "backend": self._kill_backend,
        }
        for _ in range(50):
            began = time.monotonic()
            if killing[kind]():
                break
        else:
            raise AssertionError(f"no {kind} to kill")
        self.killed[kind] += 1
        took = self._all_answered(time.monotonic()) - began
        self.back[kind] = max(self.back.get(kind, 0.0), took)
        print(f"  {sum(self.killed.values())}: {kind} killed, all answered again after {took:.1f} s", file=sys.stderr, flush=True)

    def close(self) -> None:
        """The end: the service is killed once more, and nobody sends again what was not answered."""
        for client in self.clients:
            client.stop(abandon=True)
        assert self._service is not None
        self._service.kill()
        for client in self.clients:
            client.join()

    def end(self) -> None:
        """Nobody stays behind, whatever happened."""
        for client in self.clients:
            client.stop(abandon=True)
        if self._service is not None:
            self._service.kill()
            self._service.communicate()
        if self.clients:
            self.writer.end()

    def last_words(self) -> str:
        """What Postgres and the service said last, for whoever has to find out."""
        return "\n".join(
            f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            for log in (self._server.log, self._log)
            if log.exists()
        )

    # --- what is killed, and how it comes back

    def _kill_service(self) -> bool:
        assert self._service is not None
        self._service.kill()
        self._service.communicate()
        self._serve()
        return True

    def _kill_postmaster(self) -> bool:
        pid = self._server.status().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while self._server.status().state == "running":
            time.sleep(0.005)  # it is still dying
        self._bring_up()
        return True

    def _kill_backend(self) -> bool:
        """The server process that is writing at this moment: Postgres then ends all others, and recovers."""
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            row = conn.execute(
                "SELECT pid FROM pg_stat_activity "
                "WHERE application_name = 'roundledger append' AND state = 'active' AND backend_xid IS NOT NULL"
            ).fetchone()
        if row is None:
            return False
        os.kill(row[0], signal.SIGKILL)
        return True

    def _bring_up(self) -> EmbeddedPostgres:
        self._server = self._servers.enter_context(EmbeddedPostgres(self._directory, settings=_SETTINGS))
        return self._server

    def _serve(self) -> str:
        with self._log.open("a") as log:
            self._service = subprocess.Popen(
                [sys.executable, "-P", "-m", "cli", "serve", "--port", str(self._port), "--while-stdin"],
                env={**os.environ, "LEDGER_DSN": self.dsn},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._service.stdout is not None
        ready, _, _ = select.select([self._service.stdout], [], [], 60)
        url = self._service.stdout.readline().strip() if ready else ""
        assert url.startswith("http"), "the service did not start"
        self._port = int(url.rpartition(":")[2])
        return url

    def _all_answered(self, since: float) -> float:
        """Waits until each client has had an answer after `since`; the moment of the last."""
        deadline = time.monotonic() + _BACK
        while True:
            for client in self.clients:
                if client.failure is not None:
                    raise client.failure
            answered = [client.answered_at for client in self.clients]
            if min(answered) > since:
                return max(answered)
            assert time.monotonic() < deadline, f"not answered again within {_BACK:g} s: {[dict(c.tries) for c in self.clients]}"
            time.sleep(0.01)


# ------------------------------------------------------------------------------------------------------------------- canaries

_A_PAYOUT = "SELECT * FROM ledger.events WHERE topic = 'PayoutMade.v1' ORDER BY notification_id LIMIT 1"

_PLANTED = {
    "a payout made twice": (
        "is resolved 2 times",
        f"""INSERT INTO ledger.events (originator_id, originator_version, topic, state)
            SELECT p.originator_id, max(e.originator_version) + 1, p.topic, p.state
            FROM ({_A_PAYOUT}) AS p JOIN ledger.events AS e USING (originator_id) GROUP BY 1, p.topic, p.state""",
    ),
    "an acknowledged event lost": (
        "was acknowledged at",
        """DELETE FROM ledger.events WHERE notification_id =
            (SELECT min(notification_id) FROM ledger.events WHERE topic = 'BettingClosed.v1')""",
    ),
    "a settlement without its payouts": (
        "is settled by half",
        f"""DELETE FROM ledger.events
            WHERE topic = 'PayoutMade.v1' AND originator_id = (SELECT originator_id FROM ({_A_PAYOUT}) AS p)""",
    ),
    "a movement changed": (
        "replay differs",
        "UPDATE projection.movements SET amount = amount + 1 WHERE ctid = (SELECT min(ctid) FROM projection.movements)",
    ),
}
"""Fault → what the audit has to say of it, and the statement that plants it. What is lost is the first of its kind: the last may
be among those that nobody had an answer to at the end."""


def _canaries(dsn: str, books: Books) -> dict[str, bool]:
    """Planted fault → whether the audit found it."""
    rang = {}
    for number, (fault, (words, plant)) in enumerate(_PLANTED.items()):
        name = f"canary_{number}"
        with psycopg.connect(conninfo.make_conninfo(dsn, dbname="postgres"), autocommit=True) as admin:
            source = conninfo.conninfo_to_dict(dsn)["dbname"]
            copy = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(str(source)))
            admin.execute(copy)
        copied = conninfo.make_conninfo(dsn, dbname=name)
        with psycopg.connect(copied, autocommit=True) as conn:
            conn.execute("ALTER TABLE ledger.events DISABLE TRIGGER events_append_only")
            assert conn.execute(plant.encode()).rowcount > 0, f"nothing was planted: {fault}"
        logging.disable()  # the projections would complain of what was planted
        rang[fault] = any(words in found for found in audit(copied, books).faults)
    logging.disable(logging.NOTSET)
    lost = uuid4()
    made_up = Books({*books.sent, lost}, {**books.acknowledged, lost: (1,)})
    rang["an acknowledgement of what is not there"] = len(audit(dsn, made_up).faults) == 1
    return rang


def _conclude(floor: _Floor, found: Audit, rang: dict[str, bool], seconds: float) -> int:
    tries = sum((client.tries for client in floor.clients), Counter[str]())
    killed = ", ".join(f"{kind} {n} (answered again within {floor.back[kind]:.1f} s)" for kind, n in floor.killed.items())
    print(f"killed: {killed}")
    print(f"groups cut in the middle: {floor.writer.cut['whole']} found whole, {floor.writer.cut['absent']} absent, 0 in part")
    print(f"tries: {', '.join(f'{n} {what}' for what, n in tries.most_common())}")
    print(
        f"log: {found.events} events, {found.rounds} rounds, {found.settled} settled whole, {found.payouts} payouts, none twice; "
        f"{found.rows} rows equal to a fresh fold"
    )
    print(
        f"books: {found.acknowledged} events acknowledged, each there once; of those without an answer at the end "
        f"{found.unacknowledged_whole} were whole, {found.unacknowledged_absent} absent"
    )
    print(f"canaries: {', '.join(f'{fault}: ' + ('found' if heard else 'NOT FOUND') for fault, heard in rang.items())}\n")
    if found.faults:
        for fault in found.faults[:20]:
            print(f"FAULT {fault}")
        print(f"prove kills: FAILED: {len(found.faults)} faults after {sum(floor.killed.values())} kills")
        return 1
    if not all(rang.values()):
        print("prove kills: FAILED: the audit did not find a fault that was planted, so it proves nothing")
        return 1
    print(
        f"prove kills: {sum(floor.killed.values())} kills, {found.acknowledged} acknowledged events there once, 0 half there, "
        f"0 paid twice; {len(rang)} of {len(rang)} planted faults found ({seconds:.0f} s)"
    )
    return 0
