"""The service as a whole: write side, projections, read side and door on one database, and what is done at the end.

The projections fold in a process of their own: in this one they would take the processor from the door whenever it is busiest.
Where they are to take none of this machine's at all, they run elsewhere (`roundledger projections run`), and not here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from ledger.api.access import Access
from ledger.api.app import create_app
from ledger.api.closings import Closings
from ledger.api.door import Noted
from ledger.api.erasures import Erasures
from ledger.api.feed import LIMITS, Feed, Limits
from ledger.api.metrics import Metrics
from ledger.api.rate import RATE, Rate
from ledger.api.reader import SqlReader
from ledger.api.server import HOST, PORT, Server, Tls, is_loopback
from ledger.api.tracing import exporting
from ledger.application import Rounds
from ledger.application.rounds import Begun
from ledger.errors import Refusal
from ledger.feed.courier import OPTIONS, Courier, Options
from ledger.feed.source import Source
from ledger.reports import Report, Verdict
from ledger.store import log
from ledger.store.migrate import require_current
from ledger.store.server import session
from ledger.writer import Writer
from projections.process import RunnerProcess

_log = logging.getLogger(__name__)

UNENCRYPTED = (
    "others reach this address and nothing is encrypted: whoever is on the way reads every bet and takes people's tokens; "
    "serve with --tls-cert and --tls-key, or on 127.0.0.1 behind a proxy that ends TLS"
)
"""What is said of a service beyond this machine without TLS, in its log and on the screen."""


class _Told(NamedTuple):
    """The write side, which tells the projections of every append instead of letting them find it at their next look, and the
    metrics how large it was and how long it took."""

    rounds: Rounds
    runner: RunnerProcess | None
    """None where they run elsewhere: there they hear of it by the database."""
    metrics: Metrics

    def post(self, reports: Sequence[Report], /) -> list[Verdict]:
        return self.noted(partial(self.rounds.post, reports), time.perf_counter())

    def begin(self, reports: Sequence[Report], /) -> _ToldBegun | None:
        began = time.perf_counter()
        begun = self.rounds.begin(reports)
        return None if begun is None else _ToldBegun(self, begun, began)

    def noted(self, call: Callable[[], list[Verdict]], began: float) -> list[Verdict]:
        """The verdicts that `call` gives, of a group that was begun at a moment of the performance counter."""
        try:
            verdicts = call()
        except Exception:
            self.metrics.append_failed()
            raise
        self.appended(len(verdicts), began)
        return verdicts

    def appended(self, reports: int, began: float) -> None:
        self.metrics.appended(reports, time.perf_counter() - began)
        if self.runner is not None:
            self.runner.wake()


class _ToldBegun(NamedTuple):
    """A group that was begun, of which the same are told once it is appended."""

    told: _Told
    begun: Begun
    began: float

    @property
    def descriptor(self) -> int | None:
        return self.begun.descriptor

    def ended(self) -> list[Verdict] | None:
        verdicts = self.begun.ended()
        if verdicts is not None:
            self.told.appended(len(verdicts), self.began)
        return verdicts

    def finish(self) -> list[Verdict]:
        return self.told.noted(self.begun.finish, self.began)


@contextmanager
def opened(
    dsn: str,
    *,
    host: str = HOST,
    port: int = PORT,
    require_auth: bool = False,
    tls: Tls | None = None,
    rate: float = RATE,
    projections: bool = True,
    feed_limits: Limits = LIMITS,
    courier: Options = OPTIONS,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Iterator[Server]:
    """The service on the database at `dsn`, listening but not yet served: `run` it, in any thread, and `stop` it.

    With `require_auth`, and always on a host beyond this machine, requests have to be signed or to bear a token. `rate` is how
    often one terminal or person may ask, in requests a second; without `projections` none are run here, and the service answers
    for none; `feed_limits` what the feed's streams are held to; `courier` how patiently webhooks are sent to. `now` is the
    service's clock, by which it says when it received something.

    Refuses a schema that is not this program's (LGR-0502, never changed here), a sequence behind the log (LGR-0525), a database
    that cannot be reached (LGR-0501), a host beyond this machine while no terminal has a live key (LGR-0712) and what `Server`
    refuses.
    """
    require_current(dsn)
    with session(dsn) as conn:
        log.verify_sequence(conn)
    beyond = not is_loopback(host, port)
    rounds = Rounds(dsn, verify_closing=Closings(dsn).verify, verify_player=Erasures(dsn).verify)
    try:
        with SqlReader(dsn) as reader:
            if beyond and not any(key.state(datetime.now(UTC)) == "live" for key in reader.register().keys):
                raise _without_keys(host)
            metrics, tracing = Metrics(), exporting()
            # The projections end last. What they did not get to read, the next start reads.
            with ExitStack() as stack:
                runner = stack.enter_context(RunnerProcess(dsn)) if projections else None
                source = stack.enter_context(Source(dsn))
                sending = stack.enter_context(Courier(dsn, source, metrics, courier))
                told = _Told(rounds, runner, metrics)
                feed = Feed(source, metrics, feed_limits, webhooks=sending.positions)
                app = create_app(
                    rounds,
                    reader,
                    now=now,
                    writer=Writer(told.post, begin=told.begin, rest=rounds.rest),
                    access=Access(reader.register, required=require_auth or beyond),
                    rate=Rate(rate),
                    noted=Noted(metrics, tracing),
                    feed=feed,
                    projections=projections,
                )
                with Server(app, host=host, port=port, tls=tls, stopping=feed.close) as server:
                    if beyond and tls is None:
                        _log.warning("%s: %s", server.url, UNENCRYPTED)
                    yield server
            if tracing is not None:
                tracing.close()
    finally:
        rounds.close()


def _without_keys(host: str) -> Refusal:
    return Refusal(
        "LGR-0712",
        "beyond this machine requests have to be signed, and no terminal has a live key",
        field="host",
        value=host,
        help=f"roundledger keys issue TERMINAL, then start again; or listen on {HOST}",
    )


def serve(
    dsn: str,
    *,
    host: str = HOST,
    port: int = PORT,
    ready: Callable[[str], None] | None = None,
    require_auth: bool = False,
    tls: Tls | None = None,
    rate: float = RATE,
) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is called with the URL once requests are answered. Refuses what `opened` refuses."""
    with opened(dsn, host=host, port=port, require_auth=require_auth, tls=tls, rate=rate) as server:
        server.run(ready)
