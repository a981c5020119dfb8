"""The service as a whole: write side, projections, read side and door on one database, and what is done at the end.

The projections fold in a process of their own: in this one they would take the processor from the door whenever it is busiest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ledger.api.app import create_app
from ledger.api.reader import SqlReader
from ledger.api.server import HOST, PORT, Server
from ledger.application import Rounds
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
def opened(dsn: str, *, host: str = HOST, port: int = PORT, beyond_loopback: bool = False) -> Iterator[Server]:
    """The service on the database at `dsn`, listening but not yet served: `run` it, in any thread, and `stop` it.

    Refuses a schema that is not this program's (LGR-0502, never changed here), a database that cannot be reached (LGR-0501) and
    what `Server` refuses.
    """
    require_current(dsn)
    rounds = Rounds(dsn)
    try:
        # The projections end last. What they did not get to read, the next start reads.
        with RunnerProcess(dsn) as runner, SqlReader(dsn) as reader:
            writer = Writer(_Woken(rounds, runner).post, rest=rounds.rest)
            app = create_app(rounds, reader, writer=writer)
            server = Server(app, host=host, port=port, beyond_loopback=beyond_loopback)
            with server:
                yield server
    finally:
        rounds.close()


def serve(
    dsn: str,
    *,
    host: str = HOST,
    port: int = PORT,
    ready: Callable[[str], None] | None = None,
    beyond_loopback: bool = False,
) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is called with the URL once requests are answered. Refuses what `opened` refuses."""
    with opened(dsn, host=host, port=port, beyond_loopback=beyond_loopback) as server:
        server.run(ready)
