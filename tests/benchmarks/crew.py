"""Client processes that work in step: one leg at a time, from one moment to another, each reading every answer."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from tests.benchmarks import jobs
from tests.benchmarks.jobs import Job, Setting

_PATIENCE = 120.0


class Order(NamedTuple):
    """One leg for one client."""

    kind: str
    """Name of a class of `jobs`."""
    setting: Setting
    start: float
    """By the monotonic clock, which all processes share."""
    seconds: float
    steps: int | None
    """Steps after which each caller stops; as many as there is time for where it is None."""
    changes: dict[str, Any]
    """Attributes of the job that this leg sets."""


class Done(NamedTuple):
    """What one client did."""

    events: int
    seconds: float
    latencies: list[float]
    ids: bytes


class Leg(NamedTuple):
    """What all clients did together."""

    events: int
    rate: float
    """Events a second."""
    latencies: list[float]
    """Seconds of every step."""
    ids: bytes
    """Event ids that were acknowledged, 16 bytes each."""

    def latency(self, share: float) -> float:
        """The quantile, in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000


class Crew:
    """The clients; more are made when more are asked for."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([jobs.__name__])
        self._clients: list[tuple[Any, Connection]] = []

    def leg(
        self,
        kind: type[Job],
        clients: int,
        seconds: float,
        *,
        callers: int = 1,
        steps: int | None = None,
        given: Any = None,
        **changes: Any,
    ) -> Leg:
        """`clients` processes of `callers` threads each do the same work at the same time."""
        while len(self._clients) < clients:
            self._hire()
        pipes = [pipe for _, pipe in self._clients[:clients]]
        # Connections are made and rounds opened before the clock starts.
        for number, pipe in enumerate(pipes):
            setting = Setting(self._dsn, number, callers, given)
            pipe.send(Order(kind.__name__, setting, 0.0, seconds, steps, changes))
        for pipe in pipes:
            _received(pipe, _PATIENCE)
        start = time.monotonic() + 0.02
        for pipe in pipes:
            pipe.send(start)
        done: list[Done] = [_received(pipe, seconds + _PATIENCE) for pipe in pipes]
        events = sum(each.events for each in done)
        # With a count of steps the leg lasts until the last is done; with a time, each client has its own end a step later.
        rate = events / max(each.seconds for each in done) if steps else sum(each.events / each.seconds for each in done)
        return Leg(events, rate, [one for each in done for one in each.latencies], b"".join(each.ids for each in done))

    def close(self) -> None:
        for _, pipe in self._clients:
            pipe.close()
        for process, _ in self._clients:
            process.join(5)
            if process.is_alive():
                process.kill()

    def _hire(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_client, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        self._clients.append((process, ours))


def _received(pipe: Connection, timeout: float) -> Any:
    if not pipe.poll(timeout):
        raise TimeoutError(f"a client said nothing for {timeout:g} s")
    found = pipe.recv()
    if isinstance(found, Exception):
        raise found
    return found


def _client(parent: Connection) -> None:
    """The process: one job of each kind that it was asked for."""
    made: dict[tuple[str, int], Job] = {}
    try:
        while True:
            order: Order = parent.recv()
            key = order.kind, order.setting.callers
            if key not in made:
                made[key] = getattr(jobs, order.kind)(order.setting)
            job = made[key]
            for name, value in order.changes.items():
                setattr(job, name, value)
            job.begin(order.seconds)
            parent.send("ready")
            parent.send(_work(job, order._replace(start=parent.recv())))
    except (EOFError, KeyboardInterrupt):
        return
    except Exception as error:  # noqa: BLE001 - the parent raises it
        parent.send(RuntimeError(f"{type(error).__name__}: {error}"))


def _work(job: Job, order: Order) -> Done:
    callers = order.setting.callers
    done: list[tuple[list[float], list[bytes], float]] = []
    if callers == 1:
        done.append(_call(job.step, 0, order))
    else:
        errors: list[Exception] = []

        def run(caller: int) -> None:
            try:
                done.append(_call(job.step, caller, order))
            except Exception as error:  # noqa: BLE001 - raised below
                errors.append(error)

        threads = [threading.Thread(target=run, args=(caller,)) for caller in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
    last = job.end()
    latencies = [one for each, _, _ in done for one in each]
    ids = b"".join([*(id_ for _, ids, _ in done for id_ in ids), last])
    return Done(len(latencies) * job.events, max(ended for _, _, ended in done) - order.start, latencies, ids)


def _call(step: Callable[[int], bytes], caller: int, order: Order) -> tuple[list[float], list[bytes], float]:
    """Latencies, ids and the moment of the end."""
    latencies: list[float] = []
    ids: list[bytes] = []
    end = order.start + order.seconds
    time.sleep(max(0.0, order.start - time.monotonic()))
    now = time.monotonic()
    while len(latencies) != order.steps and (order.steps is not None or now < end):
        ids.append(step(caller))
        before, now = now, time.monotonic()
        latencies.append(now - before)
    return latencies, ids, now
