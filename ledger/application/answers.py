"""Verdicts, and the database's errors in the words of the door."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from eventsourcing.persistence import DataError, IntegrityError, InterfaceError, OperationalError, PersistenceError

from ledger.errors import Refusal
from ledger.reports import Report, Verdict
from ledger.store.recorder import Receipt, SequenceBehind
from ledger.store.server import UNFIT

_log = logging.getLogger(__name__)

_ENVELOPE = frozenset({"specversion", "id", "source", "type", "subject", "time", "sequence", "datacontenttype", "data"})
"""The attributes of an event beside the fields of its data."""


def of_the_database(error: BaseException) -> BaseException | None:
    """What the database said, where it is the reason and not what it was given: psycopg's own error behind the library's."""
    if isinstance(error, SequenceBehind):
        return error
    cause = error.__cause__ if isinstance(error, PersistenceError) else error
    if isinstance(cause, (psycopg.OperationalError, psycopg.InterfaceError, *UNFIT)):
        return cause
    return error if isinstance(error, OperationalError | InterfaceError) else None


@contextmanager
def as_it_said() -> Iterator[None]:
    """psycopg's errors in the place of the library's, for callers who know nothing of the library."""
    try:
        yield
    except SequenceBehind as error:
        raise unanswered(error) from error
    except PersistenceError as error:
        if (cause := of_the_database(error)) is None or cause is error:
            raise
        raise cause from error


def unanswered(cause: BaseException) -> Refusal:
    """The refusal of a group of which nobody knows what became; retryable, since the retry finds out."""
    if isinstance(cause, SequenceBehind):
        _log.error("nothing can be appended: %s", cause)
        return Refusal(
            "LGR-0525", str(cause), help="roundledger doctor, which says what to set it to; then send the same events again"
        )
    reason = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
    again = "send the same events again with the same ids: what was stored is answered as replayed"
    if isinstance(cause, psycopg.errors.LockNotAvailable | psycopg.errors.QueryCanceled):
        return Refusal("LGR-0505", f"the database keeps this waiting: {reason}", help=again)
    if isinstance(cause, UNFIT):
        _log.error("the database refuses what a ledger does: %s", " ".join(str(cause).split()))
    return Refusal("LGR-0501", f"the database did not answer: {reason}", help=again)


def untakeable(report: Report, error: DataError) -> Refusal:
    """The refusal of a report that comes to something which the database cannot hold, however often it is sent."""
    reason = str(error).splitlines()[0]  # the lines after it show the row
    _log.error("the database cannot take event %s of terminal %s: %s", report.event_id, report.terminal, reason)
    return Refusal(
        "LGR-0524",
        f"the database cannot take what this event comes to: {reason}",
        help="the service's log names the event and the reason; once that is mended, send it as a new event with a new id",
    )


def is_conflict(error: Exception) -> bool:
    """Whether another writer is the reason, so that deciding again can succeed."""
    return isinstance(error, IntegrityError) or isinstance(
        error.__cause__, psycopg.errors.SerializationFailure | psycopg.errors.DeadlockDetected
    )


def mark(report: Report) -> bytes:
    """What is stored of a report's fingerprint: 128 bits, against accident and malice alike."""
    return report.fingerprint[:16]


def within(report: Report, refusal: Refusal) -> Refusal:
    """The refusal with the path of its field within the event; the rules name it as they know it.

    What is no part of the event (a moment that was looked up, an opt-in) is told by the detail alone.
    """
    if refusal.field in report.body.__struct_fields__:
        refusal.field = f"data.{refusal.field}"
    elif refusal.field is not None and not refusal.field.startswith("data.") and refusal.field not in _ENVELOPE:
        refusal.field = None
    return refusal


def rejected(report: Report, refusal: Refusal) -> Verdict:
    return Verdict(event_id=report.event_id, status="rejected", round=report.round, refusal=refusal)


def again(report: Report, receipt: Receipt) -> Verdict:
    """The first answer to a report that comes again; a refusal where another body comes under the same id."""
    if receipt.fingerprint != mark(report):
        other = Refusal(
            "LGR-0301",
            f"event id {report.event_id} was used for another body: "
            f"fingerprint {receipt.fingerprint.hex()} then, {mark(report).hex()} now",
            field="id",
            value=str(report.event_id),
            help="a changed event is a new event: give it an id of its own",
        )
        return rejected(report, other)
    if receipt.refusal is not None:
        return rejected(report, receipt.refusal)
    return Verdict(event_id=report.event_id, status="replayed", round=receipt.round, positions=receipt.positions)
