"""The library's subscription: an application's consumers see every event once, in order, as it becomes final.

Woken by an append, and by itself now and then: a wake-up may be lost (`ledger.store.wake`). The library's own relies on a NOTIFY
in the append's transaction, and listens only after it has read, so an event in between waits for the next one.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from eventsourcing.persistence import Notification, Subscription
from psycopg.rows import tuple_row

from ledger.store import log
from ledger.store.wake import Listener

if TYPE_CHECKING:
    from ledger.store.recorder import LedgerRecorder

_PAGE = 500
_POLL = 0.05
_POLL_IDLE = 0.4


class LogSubscription(Subscription["LedgerRecorder"]):
    """Iterates over the log after position `gt`, and waits at its end for more until `stop`.

    Holds a connection of the recorder's pool from its first event to its end: the horizon is one session's (`log.Tail`). Listens
    over another, which it may lose. Raises
    the library's OperationalError where that connection is lost; a new subscription after the last event seen goes on.
    """

    def __init__(self, recorder: LedgerRecorder, gt: int | None = None, topics: Sequence[str] = ()) -> None:
        super().__init__(recorder, gt=gt, topics=topics)
        self._stopping = threading.Event()
        self._awake = threading.Event()
        self._events = self._follow()

    def stop(self) -> None:
        """Ends the iteration. From any thread."""
        super().stop()
        self._stopping.set()
        self._awake.set()

    def __exit__(self, *args: object, **kwargs: Any) -> None:
        super().__exit__(*args, **kwargs)
        with suppress(ValueError):  # another thread is just being told to end it
            self._events.close()

    def __next__(self) -> Notification:
        if self._stopping.is_set():
            raise StopIteration
        return next(self._events)

    def _follow(self) -> Generator[Notification, None, None]:
        tail, after, wait = log.Tail(), self._last_notification_id or 0, _POLL
        datastore = self._recorder.datastore
        with (
            datastore.get_connection() as conn,
            conn.cursor(row_factory=tuple_row) as cursor,
            Listener(datastore.conninfo, self._awake.set),
        ):
            while True:
                self._awake.clear()
                if self._stopping.is_set():
                    return
                final = tail.final(cursor)
                if final <= after:
                    self._awake.wait(wait)
                    wait = min(wait * 2, _POLL_IDLE)
                    continue
                page = self._recorder.select_final(cursor, after, final, _PAGE, self._topics)
                yield from page
                # What is not in a page that is not full has another topic, or was never recorded: it is not looked for again.
                after, wait = page[-1].id if len(page) == _PAGE else final, _POLL
