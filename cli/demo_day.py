"""The demo's day: terminals of several tables post rounds to a real service over HTTP, all at once.

Bettors are made up from a seed; outcomes are given. A terminal speaks as a real one does: it makes the ids of its rounds and
events, posts in batches, and sends again with the same ids until it is answered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import httpx

from cli.demo_outcomes import made_up
from ledger.client import uuid7
from ledger.errors import CODES, Refusal

Event = dict[str, Any]

BATCH = 400
"""Events in one post at most: a terminal that was offline sends its buffer so."""
_PATIENCE = 20.0
"""Seconds for which a terminal sends the same batch again before it gives up."""
_PAUSE = 0.2
_CHIPS = (1000, 2000, 2500, 5000, 10000, 20000, 50000)
"""Stakes of the made-up bettors, in minor units."""


class TableDay(NamedTuple):
    """One table's day: what it shows, round by round, and the spots that its bettors choose from."""

    table: str
    game: str
    currency: str
    outcomes: Sequence[str]
    spots: Sequence[Sequence[str]]
    """Bet notation of the legal spots, chance by chance: bettors choose the chance first."""


class OpenRound(NamedTuple):
    """A round that an earlier run left open at a table."""

    round: UUID
    betting: bool
    """Whether betting is still open."""


@dataclass(frozen=True)
class Played:
    """What a day came to."""

    rounds: list[UUID]
    """In the order in which each table played them, table after table."""
    bets: int
    events: int
    """Events posted by the terminals."""
    position: int
    """The highest position that the service answered."""
    seconds: float


class Terminal:
    """The terminal of one table."""

    def __init__(self, client: httpx.Client, day: TableDay, run: str, random: Random) -> None:
        self._client = client
        self._day = day
        self._run = run
        self._epoch = run.rpartition("-")[2]
        """Each run begins its numbers anew, as a terminal does that was started again."""
        self._random = random
        self._sequence = 0
        self._players = [f"P-{day.table}-{seat:02}" for seat in range(1, random.randint(4, 7) + 1)]
        self.rounds: list[UUID] = []
        self.bets = 0
        self.events = 0
        self.position = 0

    def play(self, *, at_once: int, stop: threading.Event, done: Callable[[int], None]) -> None:
        """Plays the day, `at_once` rounds in a post; ends early when `stop` is set. `done` hears of each post's rounds."""
        outcomes = self._day.outcomes
        for first in range(0, len(outcomes), at_once):
            if stop.is_set():
                return
            rounds = [self._round(outcome) for outcome in outcomes[first : first + at_once]]
            if at_once == 1:
                # A table that is online: the opening, bets while they are placed, the bell, then the outcome.
                [(opening, *bets, bell, outcome)] = rounds
                self._post([opening, *bets])
                self._post([bell])
                self._post([outcome])
            else:
                for batch in _batches(rounds):
                    self._post(batch)
            done(len(rounds))

    def finish(self, left: OpenRound, outcome: str) -> None:
        """Ends a round that was left open: a table settles before it opens again."""
        bell = [self._event(left.round, "BettingClosed", {})] if left.betting else []
        self._post([*bell, self._event(left.round, "OutcomeRecorded", {"outcome": outcome})])

    def _round(self, outcome: str) -> list[Event]:
        day, random = self._day, self._random
        round_ = uuid7()
        self.rounds.append(round_)
        events = [self._event(round_, "RoundOpened", {"table": day.table, "game": day.game, "shift": self._run})]
        for seat, player in enumerate(self._players, start=1):
            for _ in range(random.choice((0, 1, 1, 2))):
                spot = random.choice(random.choice(day.spots))
                stake = str(random.choice(_CHIPS))
                data = {"player": player, "seat": seat, "spot": spot, "stake": stake, "currency": day.currency}
                events.append(self._event(round_, "BetPlaced", data))
                self.bets += 1
        events.append(self._event(round_, "BettingClosed", {}))
        events.append(self._event(round_, "OutcomeRecorded", {"outcome": outcome}))
        return events

    def _event(self, round_: UUID, kind: str, data: dict[str, Any]) -> Event:
        self._sequence += 1
        return {
            "specversion": "1.0",
            "id": str(uuid7()),
            "source": f"/terminals/T-{self._day.table}",
            "type": f"roundledger.{kind}.v1",
            "subject": str(round_),
            "time": datetime.now(UTC).isoformat(),
            "epoch": self._epoch,
            "sequence": str(self._sequence),
            "datacontenttype": "application/json",
            "data": data,
        }

    def _post(self, batch: list[Event]) -> None:
        """Posts until every event is accepted, or found to have been accepted by an earlier try.

        What is refused for now (another service has just played at the table, and still has it) is sent again for a while.
        """
        waiting, deadline = batch, time.monotonic() + _PATIENCE
        while waiting:
            again = []
            for event, item in zip(waiting, self._send(waiting)["items"], strict=True):
                if item["status"] != "rejected":
                    self.position = max(self.position, *map(int, item["positions"]))
                elif item["problem"]["retryable"] and time.monotonic() < deadline:
                    again.append(event)
                else:
                    raise _refused(item["problem"])
            waiting = again
            if waiting:
                time.sleep(_PAUSE)
        self.events += len(batch)

    def _send(self, batch: list[Event]) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                answer = self._client.post(
                    "/v1/events", json=batch, headers={"content-type": "application/cloudevents-batch+json"}
                )
            except httpx.TransportError as error:
                if time.monotonic() > deadline:
                    raise Refusal(
                        "LGR-0706",
                        f"the service does not answer: {str(error) or type(error).__name__}",
                        value=str(self._client.base_url),
                    ) from error
                time.sleep(_PAUSE)
                continue
            if answer.status_code == 200:
                body: dict[str, Any] = answer.json()
                return body
            if answer.status_code not in (429, 503) or time.monotonic() > deadline:
                raise _refused(answer.json())
            time.sleep(min(float(answer.headers.get("retry-after", "0.2")), 2.0))


def _batches(rounds: Sequence[list[Event]]) -> Iterator[list[Event]]:
    """Whole rounds together, as many as a post takes."""
    batch: list[Event] = []
    for events in rounds:
        if batch and len(batch) + len(events) > BATCH:
            yield batch
            batch = []
        batch += events
    if batch:
        yield batch


def _refused(problem: dict[str, Any]) -> Refusal:
    """The service's problem (RFC 9457) as a refusal of this side."""
    code = problem.get("code", "")
    errors = problem.get("errors") or [{}]
    return Refusal(
        code if code in CODES else "LGR-0705",
        f"the service refused an event: {problem.get('detail') or problem.get('title')}",
        field=errors[0].get("field"),
        value=errors[0].get("value"),
        help=problem.get("help"),
        cite=problem.get("cite"),
    )


def play(
    url: str,
    days: Sequence[TableDay],
    *,
    run: str,
    seed: int,
    at_once: int,
    left_open: Mapping[str, OpenRound] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Played:
    """Plays every table's day at the service at `url`, each by a terminal of its own, all at once.

    `run` goes into each round as its shift, so the rounds of this run can be told from others; `seed` makes the bettors. Raises
    the Refusal of the first terminal that cannot go on; the others stop after the post that they are at. Rounds `left_open` by a
    run that was killed are ended first, with an outcome of their own; they are no part of this run.
    """
    began = time.monotonic()
    stop = threading.Event()
    lock = threading.Lock()
    finished = 0

    def done(rounds: int) -> None:
        nonlocal finished
        with lock:
            finished += rounds
            progress(finished)

    with httpx.Client(base_url=url, timeout=30.0, limits=httpx.Limits(max_connections=len(days))) as client:
        terminals = [Terminal(client, day, run, Random(f"{seed}/{day.table}/bettors")) for day in days]  # noqa: S311
        for terminal, day in zip(terminals, days, strict=True):
            left = (left_open or {}).get(day.table)
            if left is not None:
                terminal.finish(left, *made_up(day.game, Random(), 1))  # noqa: S311
        with ThreadPoolExecutor(len(terminals), thread_name_prefix="terminal") as pool:
            try:
                posts = [pool.submit(terminal.play, at_once=at_once, stop=stop, done=done) for terminal in terminals]
                wait(posts, return_when=FIRST_EXCEPTION)
            finally:
                stop.set()
        for post in posts:
            post.result()
    return Played(
        rounds=[round_ for terminal in terminals for round_ in terminal.rounds],
        bets=sum(terminal.bets for terminal in terminals),
        events=sum(terminal.events for terminal in terminals),
        position=max(terminal.position for terminal in terminals),
        seconds=time.monotonic() - began,
    )
