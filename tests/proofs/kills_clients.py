"""The clients of `prove kills`: terminals that post over HTTP, and a process that appends large groups.

They keep books of what they sent and what was acknowledged. Whatever is killed, a client does what a terminal has to do: it sends
the same with the same ids again, until it is answered.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from contextlib import closing
from multiprocessing.connection import Connection, Pipe
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any
from uuid import UUID, uuid4

import httpx

from ledger.application import Rounds
from ledger.errors import Refusal
from ledger.reports import Report, Verdict
from tests.proofs.audit import Books
from tests.support import Terminal

PATIENCE = 90.0
"""Seconds after which a client that is not answered gives up, and the proof fails."""
_SPOTS = ("red", "odd", "dozen:2", "straight:17", "corner:16-17-19-20", "sector12:A")


class Client:
    """A thread that has books, goes on until told to stop, and says how it is getting on."""

    def __init__(self, name: str) -> None:
        self.books = Books()
        self.tries: Counter[str] = Counter()
        """How often what was answered: `answered`, `no answer`, and codes of problems."""
        self.answered_at = time.monotonic()
        self.longest = 0.0
        """Seconds of the longest stretch without an answer."""
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        self._abandon = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, abandon: bool) -> None:
        """No new round after this; with `abandon` what is not answered now is not sent again."""
        self._abandon = abandon
        self._stop.set()

    def join(self) -> None:
        self._thread.join(PATIENCE + 30)
        if self.failure is not None:
            raise self.failure
        assert not self._thread.is_alive(), f"{self._thread.name} has not ended"

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._play()
        except _AbandonedError:
            pass
        except BaseException as failure:  # noqa: BLE001 - raised by join
            self.failure = failure

    def _play(self) -> None:
        raise NotImplementedError

    def _got(self) -> None:
        now = time.monotonic()
        self.longest = max(self.longest, now - self.answered_at)
        self.answered_at = now
        self.tries["answered"] += 1

    def _wait(self, what: str, detail: object = "") -> None:
        """Between two tries."""
        self.tries[what] += 1
        if self._stop.is_set() and self._abandon:
            raise _AbandonedError
        assert time.monotonic() - self.answered_at < PATIENCE, f"{self._thread.name}: {what} for {PATIENCE:g} s: {detail}"
        time.sleep(random.uniform(0.02, 0.1))


class _AbandonedError(Exception):
    """The client was told to leave what is not answered."""


class HttpTerminal(Client):
    """A terminal of one table that posts to the door."""

    def __init__(self, url: str, table: str, seed: str) -> None:
        super().__init__(f"terminal {table}")
        self._table = table
        self._random = random.Random(seed)
        self._http = httpx.Client(base_url=url, timeout=20, limits=httpx.Limits(max_keepalive_connections=1))

    def _play(self) -> None:
        """One round, in posts of one or several events."""
        round_, rng = uuid4(), self._random
        events = [self._event(round_, "RoundOpened", {"table": self._table, "game": "roulette"})]
        for _ in range(rng.randrange(1, 16)):
            bet = {"player": f"P-{rng.randrange(50)}", "spot": rng.choice(_SPOTS), "stake": "10000", "currency": "MOP"}
            events.append(self._event(round_, "BetPlaced", bet))
        events.append(self._event(round_, "BettingClosed", {}))
        events.append(self._event(round_, "OutcomeRecorded", {"outcome": str(rng.randrange(37))}))
        while events:
            size = rng.choice((1, 1, 2, 5))
            self._post(events[:size])
            del events[:size]

    def _event(self, round_: UUID, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        return {
            "specversion": "1.0",
            "id": str(uuid4()),
            "source": f"/terminals/X-{self._table}",
            "type": f"roundledger.{kind}.v1",
            "subject": str(round_),
            "time": "2026-11-29T20:00:00+08:00",
            "data": data,
        }

    def _post(self, events: list[dict[str, Any]]) -> None:
        """Sends them until each has its final answer; raises AssertionError where one is refused for good."""
        while events:
            self.books.sent.update(UUID(event["id"]) for event in events)
            try:
                answer = self._http.post("/v1/events", content=json.dumps(events), headers={"Content-Type": "application/json"})
            except httpx.TransportError as error:
                self._wait("no answer", repr(error))
                continue
            if answer.status_code != 200:
                problem = answer.json()
                assert problem["retryable"], problem
                assert answer.status_code != 503 or "retry-after" in answer.headers
                self._wait(problem["code"], problem["detail"])
                continue
            self._got()
            again = []
            for event, item in zip(events, answer.json()["items"], strict=True):
                if item["status"] == "rejected":
                    assert item["problem"]["retryable"], item
                    again.append(event)
                else:
                    self.books.acknowledge(UUID(event["id"]), tuple(map(int, item["positions"])))
            events = again
            if again:
                self._wait("again")


class GroupWriter(Client):
    """Appends whole rounds in large groups, by a process of its own that is killed in the middle and started anew."""

    def __init__(self, context: ForkServerContext, dsn: str, table: str, seed: str) -> None:
        super().__init__(f"writer {table}")
        self._context = context
        self._dsn = dsn
        self._table = table
        self._random = random.Random(seed)
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self.posting = threading.Event()
        """Set while the process has a group in hand."""
        self.cut: Counter[str] = Counter()
        """What had become of the groups whose writer was killed: `whole` in the log, or `absent`."""

    def kill(self) -> bool:
        """SIGKILL to the process while it has a group in hand; False where it had none for a second."""
        if not self.posting.wait(1.0):
            return False
        time.sleep(self._random.uniform(0.0, 0.02))
        process = self._process
        if process is None or not self.posting.is_set():
            return False
        process.kill()
        return True

    def end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.join(10)
            if self._process.is_alive():
                self._process.kill()

    def _play(self) -> None:
        reports: list[Report] = []
        for _ in range(self._random.randrange(5, 25)):
            bets = [(self._random.choice(_SPOTS), "10000") for _ in range(self._random.randrange(1, 40))]
            reports += Terminal(self._table).whole_round(bets, str(self._random.randrange(37)))
        self.books.sent.update(report.event_id for report in reports)
        cut = False
        while True:
            answer = self._ask(reports)
            if answer is None:
                cut = True
                self._wait("no answer")
                continue
            refused = [verdict.refusal for verdict in answer if verdict.refusal is not None]
            if not refused:
                break
            assert all(refusal.meaning.retryable for refusal in refused), refused[0]
            self._wait(refused[0].code, refused[0].detail)
        self._got()
        for verdict in answer:
            assert verdict.event_id is not None
            self.books.acknowledge(verdict.event_id, verdict.positions)
        if cut:
            found = {verdict.status for verdict in answer}
            assert len(found) == 1, f"of one group some was stored and some was not: {Counter(v.status for v in answer)}"
            self.cut["whole" if found == {"replayed"} else "absent"] += 1

    def _ask(self, reports: list[Report]) -> list[Verdict] | None:
        """The process's answer; None where it ended without one."""
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            self._pipe, theirs = Pipe()
            self._process = self._context.Process(target=append_groups, args=(theirs, self._dsn), daemon=True)
            self._process.start()
            theirs.close()
        try:
            self._pipe.send(reports)
            assert self._pipe.recv() == "posting"
            self.posting.set()
            answer: list[Verdict] | Exception = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            return None
        finally:
            self.posting.clear()
        if isinstance(answer, Exception):
            raise answer
        return answer


def append_groups(parent: Connection, dsn: str) -> None:
    """The process: posts each group that it is sent, and answers with the verdicts."""
    with closing(Rounds(dsn)) as rounds:
        while True:
            try:
                reports: list[Report] = parent.recv()
            except EOFError:
                return
            parent.send("posting")
            parent.send(_posted(rounds, reports))


def _posted(rounds: Rounds, reports: list[Report]) -> list[Verdict] | Exception:
    try:
        return rounds.post(reports)
    except Refusal as refusal:
        return [Verdict(event_id=r.event_id, status="rejected", round=r.round, refusal=refusal) for r in reports]
    except Exception as fault:  # noqa: BLE001 - the parent raises it
        return fault
