"""The service as a whole: write side, projections, read side and door on one database, and what is done at the end.

The projections fold in a process of their own: in this one they would take the processor from the door whenever it is busiest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from ledger.api.access import Access
from ledger.api.app import create_app
from ledger.api.reader import SqlReader
from ledger.api.server import HOST, PORT, Server, Tls, is_loopback
from ledger.application import Rounds
from ledger.errors import Refusal
from ledger.reports import Report, Verdict
from ledger.store.migrate import require_current
from ledger.writer import Writer
from projections.process import RunnerProcess


class _Woken(NamedTuple):
    """The write side, which tells the projections of every append instead of letting them find it at their next look."""

    rounds: Rounds
    runner: RunnerProcess

    def post(self, reports: Sequence[Report], /) -> list[Verdict]:
        verdicts = self.rounds.post(reports)
        self.runner.wake()
        return verdicts


@contextmanager
def opened(
    dsn: str,
    *,
    host: str = HOST,
    port: int = PORT,
    require_auth: bool = False,
    tls: Tls | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Iterator[Server]:
    """The service on the database at `dsn`, listening but not yet served: `run` it, in any thread, and `stop` it.

    With `require_auth`, and always on a host beyond this machine, requests have to be signed or to bear a token. `now` is the
    service's clock, by which it says when it received something. Refuses a schema that is not this program's (LGR-0502, never
    changed here), a database that cannot be reached (LGR-0501), a host beyond this machine while no terminal has a live key
    (LGR-0712) and what `Server` refuses.
    """
    require_current(dsn)
    beyond = not is_loopback(host, port)
    rounds = Rounds(dsn)
    try:
        with SqlReader(dsn) as reader:
            if beyond and not any(key.state(datetime.now(UTC)) == "live" for key in reader.register().keys):
                raise _without_keys(host)
            access = Access(reader.register, required=require_auth or beyond)
            # The projections end last. What they did not get to read, the next start reads.
            with RunnerProcess(dsn) as runner:
                writer = Writer(_Woken(rounds, runner).post, rest=rounds.rest)
                app = create_app(rounds, reader, now=now, writer=writer, access=access)
                with Server(app, host=host, port=port, tls=tls) as server:
                    yield server
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
) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is called with the URL once requests are answered. Refuses what `opened` refuses."""
    with opened(dsn, host=host, port=port, require_auth=require_auth, tls=tls) as server:
        server.run(ready)
