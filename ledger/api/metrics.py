"""What the service counts of itself, in the text format of Prometheus: requests, verdicts, appends, the lag of the read side.

No label holds what a client chose: routes are those of the door, codes those of `ledger.errors`. So there is a bound to the
number of series, whoever asks for what.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from ledger.feed.courier import Result
from ledger.reports import Verdict
from projections.queries import ProjectionPosition

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
disable_created_metrics()  # type: ignore[no-untyped-call]  # of when each series began: nobody asks for that
_NOBODY: Mapping[str, int] = {}
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})


class Standing(NamedTuple):
    """How far the read side is."""

    projections: list[ProjectionPosition]
    end: int
    """The last event in the log."""
    age: float | None
    """Seconds since the oldest event was received that one of the projections has not folded; None where it cannot be read."""
    beyond: frozenset[str]
    """The projections that stand beyond the last position that was drawn."""


class Metrics:
    """The series of one service. Every method may be called from any thread."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=registry)
        self._requests = Counter("roundledger_requests", "Requests answered.", ("method", "route", "status"), registry=registry)
        self._seconds = Histogram(
            "roundledger_request_seconds",
            "From a request's head to the end of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._verdicts = Counter(
            "roundledger_verdicts",
            "Reports judged: accepted, replayed (a retry, answered as the first time) or rejected, with the code of the refusal.",
            ("status", "code"),
            registry=registry,
        )
        self._append = Histogram(
            "roundledger_append_seconds",
            "From a group's decision to its commit.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._group = Histogram(
            "roundledger_append_reports", "Reports decided and committed together.", buckets=_SIZES, registry=registry
        )
        self._events = Counter("roundledger_events_appended", "Events that reports caused in the log.", registry=registry)
        self._failed = Counter("roundledger_append_failures", "Groups of which nothing was committed.", registry=registry)
        self._turned_away = Counter(
            "roundledger_turned_away",
            "Requests and reports refused for want of a proof or a right, by code.",
            ("code",),
            registry=registry,
        )
        self._gaps = Counter(
            "roundledger_sequence_gaps",
            "Numbered reports that were answered while an earlier number of their terminal was missing.",
            registry=registry,
        )
        self._waiting = Gauge("roundledger_queue_reports", "Reports that wait for the next commit.", registry=registry)
        self._database = Gauge("roundledger_database_up", "Whether the database answered when this was asked.", registry=registry)
        self._lag_events = Gauge(
            "roundledger_projection_lag_events",
            "Positions between a projection and the log's end.",
            ("projection",),
            registry=registry,
        )
        self._lag_seconds = Gauge(
            "roundledger_projection_lag_seconds",
            "Age of the oldest event that the slowest projection has not folded; NaN where that event cannot be read.",
            registry=registry,
        )
        self._run = Gauge(
            "roundledger_projections_run", "1 where this service runs the projections, 0 where others have to.", registry=registry
        )
        self._stopped = Gauge(
            "roundledger_projection_stopped", "1 where a projection stands still.", ("projection",), registry=registry
        )
        self._beyond = Gauge(
            "roundledger_projection_beyond_log",
            "1 where a projection stands beyond the log's end, and passes over what comes.",
            ("projection",),
            registry=registry,
        )

        self._fed = Counter("roundledger_feed_events", "Events that were given to readers of the feed.", registry=registry)
        self._dropped = Counter(
            "roundledger_feed_dropped", "Streams that were closed because their reader took nothing.", registry=registry
        )
        self._streams = Gauge("roundledger_feed_streams", "Streams that are open.", registry=registry)
        self._feed_lag = Gauge(
            "roundledger_feed_lag_events",
            "Positions between the stream that is furthest behind and the log's end.",
            registry=registry,
        )

        self._messages = Counter(
            "roundledger_webhook_messages",
            "Messages to webhooks: taken, failed (it is sent again) or dead (it is not).",
            ("webhook", "result"),
            registry=registry,
        )
        self._webhook_lag = Gauge(
            "roundledger_webhook_lag_events",
            "Positions between a webhook and the log's end, of those that this process sends to.",
            ("webhook",),
            registry=registry,
        )

        # To find a series by its labels takes longer than to count in it.
        self._series_of = cache(
            lambda method, route, status: (self._requests.labels(method, route, str(status)), self._seconds.labels(route))
        )
        self._verdicts_of = cache(self._verdicts.labels)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is a path of the door as it is declared, or `other`."""
        requests, durations = self._series_of(method if method in _METHODS else "other", route, status)
        requests.inc()
        durations.observe(seconds)

    def judged(self, verdicts: Sequence[Verdict]) -> None:
        """What became of the reports of one post."""
        counted: dict[tuple[str, str], int] = {}
        labels: tuple[str, str]
        events = gaps = 0
        for verdict in verdicts:
            labels = verdict.status, "" if verdict.refusal is None else verdict.refusal.code
            counted[labels] = counted.get(labels, 0) + 1
            if verdict.status == "accepted":
                events += len(verdict.positions)
            if verdict.received is not None and verdict.received.missing:
                gaps += 1
        for labels, number in counted.items():
            self._verdicts_of(*labels).inc(number)
        self._events.inc(events)
        if gaps:
            self._gaps.inc(gaps)

    def appended(self, reports: int, seconds: float) -> None:
        """A group was committed."""
        self._append.observe(seconds)
        self._group.observe(reports)

    def append_failed(self) -> None:
        """A group could not be committed."""
        self._failed.inc()

    def turned_away(self, code: str) -> None:
        """Somebody did not prove who they are, or may not do what they asked for."""
        self._turned_away.labels(code).inc()

    def fed(self, events: int) -> None:
        """Events were given to a reader of the feed."""
        self._fed.inc(events)

    def sent(self, webhook: str, result: Result) -> None:
        """A message to a webhook came to this."""
        self._messages.labels(webhook, result).inc()

    def feed_dropped(self) -> None:
        """A stream's reader took nothing for too long."""
        self._dropped.inc()

    def exposition(
        self,
        waiting: int,
        standing: Standing | None,
        following: Sequence[int] = (),
        webhooks: Mapping[str, int] = _NOBODY,
        *,
        projections_run: bool = True,
    ) -> bytes:
        """All series as text; `standing` is what the reader says of the read side, None where the database did not answer,
        `following` the positions of the feed's streams and `webhooks` those of the webhooks; `projections_run` whether this
        service runs the projections. How far those are is the database's to say, whoever runs them."""
        self._run.set(projections_run)
        self._streams.set(len(following))
        self._waiting.set(waiting)
        self._database.set(standing is not None)
        if standing is not None:
            projections, end, age, beyond = standing
            self._lag_seconds.set(math.nan if age is None else age)
            self._webhook_lag.clear()
            for id, position in webhooks.items():
                self._webhook_lag.labels(id).set(max(0, end - position))
            self._feed_lag.set(max((end - position for position in following), default=0))
            for each in projections:
                self._lag_events.labels(each.name).set(max(0, end - int(each.position)))
                self._stopped.labels(each.name).set(each.stopped_at is not None)
                self._beyond.labels(each.name).set(each.name in beyond)
        return generate_latest(self.registry)
