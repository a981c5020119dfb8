"""The use cases: what the door and the command line may do.

Reports come in groups, whatever waited at the same moment; a group is decided in order and appended in one transaction. The
rounds in memory are believed until the database says otherwise: a version, an event id or an open round that is already there
sends the group back to be decided afresh. Before anything is refused, the log is asked whether the refusal rests on stale memory
or on a report that was already answered.
"""

from __future__ import annotations

import logging
import random
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from threading import Lock
from typing import Any, cast
from uuid import UUID

import psycopg
from eventsourcing.application import Application
from eventsourcing.persistence import (
    InfrastructureFactory,
    IntegrityError,
    InterfaceError,
    Mapper,
    OperationalError,
    PersistenceError,
)
from eventsourcing.utils import Environment

from ledger.errors import Refusal
from ledger.events import DocumentRecorded
from ledger.houses import Houses
from ledger.property import Property
from ledger.reports import CloseBetting, Malformed, OpenRound, PlaceBet, RecordOutcome, Report, Verdict
from ledger.round import Origin, Round, RoundEvent, Terms
from ledger.rules import Regulation
from ledger.store.lease import Leases
from ledger.store.mapper import EventMapper
from ledger.store.pause import collector_paused
from ledger.store.recorder import Claim, LeaseLost, LedgerFactory, LedgerRecorder, Occupancy, Receipt, Rejection
from ledger.store.server import UNFIT

_log = logging.getLogger(__name__)

_ROUNDS_KEPT = 4096
"""Rounds kept in memory: many times the tables of a large floor; the least recently used goes first."""
_EVENTS_KEPT = 500_000
"""Events that those rounds may have together when one more is loaded: late posts to long rounds, settled long since, do not add
up in memory. The rounds being played are as long as they are."""
_TRIES = 4
_PAUSE = 0.02
"""Seconds, at most, between two tries of a report on which writers get in each other's way."""
_ENVELOPE = frozenset({"specversion", "id", "source", "type", "subject", "time", "sequence", "datacontenttype", "data"})
"""The attributes of an event beside the fields of its data."""


class _Group:
    """What one append will hold, while it is being decided."""

    __slots__ = (
        "claims",
        "closed",
        "documents",
        "doubt",
        "events",
        "leases",
        "opened",
        "premises",
        "rejections",
        "settled",
        "spans",
    )

    def __init__(self, *, doubt: bool) -> None:
        self.doubt = doubt
        """Whether a first try met a conflict, so that even what was never seen is looked up."""
        self.events: list[RoundEvent] = []
        self.claims: dict[int, Claim] = {}
        """Index in `events` of the first event of a report → its claim on its event id."""
        self.leases: dict[str, int] = {}
        self.premises: dict[UUID, int] = {}
        """Stream → the latest version that was known of it when the group was decided by it."""
        self.rejections: list[Rejection] = []
        self.spans: dict[int, tuple[int, int]] = {}
        """Index of the report → its events' slice of `events`."""
        self.opened: dict[str, UUID] = {}
        self.closed: list[UUID] = []
        self.settled: list[UUID] = []
        self.documents: set[str] = set()


class Rounds(Application[UUID]):
    """The ledger's application. Thread-safe; one group is decided and appended at a time."""

    name = "ledger"

    def __init__(self, dsn: str, *, lease_idle: float = 2.0) -> None:
        """The application on the database at `dsn`, whose schema must be current.

        `lease_idle`: seconds without a report after which a table may be given back to other processes.
        """
        self._dsn = dsn
        super().__init__()
        self._lock = Lock()
        self._leases = Leases(dsn, idle=lease_idle)
        self._rounds: OrderedDict[UUID, Round] = OrderedDict()
        self._open: dict[str, UUID | None] = {}
        """Table → its open round, for tables that have been asked about."""
        self._houses = Houses(self.events)

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        """The store on this application's own connection string."""
        return LedgerFactory(self._dsn)

    def construct_mapper(self) -> Mapper[UUID]:
        """Flat JSON under stable topics."""
        return EventMapper(RoundEvent)

    def close(self) -> None:
        """Gives back its tables and closes its connections."""
        with self._lock:
            self._leases.close()
        super().close()

    @property
    def _recorder(self) -> LedgerRecorder:
        return cast(LedgerRecorder, self.recorder)

    # What tables report.

    def post(self, reports: Sequence[Report]) -> list[Verdict]:
        """Decides and appends `reports`, item by item, in their order; one verdict each.

        A report that was answered before gets its first answer again. A refused one leaves no event and disturbs no other. Raises
        Refusal LGR-0501 when the database cannot be reached or is not as a ledger needs it: what was stored is then unknown, and
        sending the same reports again finds out.
        """
        with self._lock:
            try:
                return self._post(reports)
            except BaseException as error:
                self._forget()
                if (cause := _of_the_database(error)) is None:
                    raise
                raise _unanswered(cause) from error

    def rest(self) -> None:
        """Gives back the tables that nobody has posted to for a while; for whoever calls `post`, between two calls."""
        with self._lock:
            self._leases.rest()

    def _post(self, reports: Sequence[Report]) -> list[Verdict]:
        verdicts: dict[int, Verdict] = {}
        waiting = list(range(len(reports)))
        while waiting:
            first, later = _without_repeats(reports, waiting)
            self._post_distinct(reports, first, verdicts)
            waiting = later
        return [verdicts[n] for n in range(len(reports))]

    def _post_distinct(self, reports: Sequence[Report], waiting: list[int], verdicts: dict[int, Verdict]) -> None:
        """Fills `verdicts` for the reports at `waiting`, whose event ids all differ."""
        try:
            self._append_group(reports, waiting, verdicts, known=None)
        except (IntegrityError, OperationalError) as error:
            if not _is_conflict(error):
                raise
            # Somebody was here first: another writer, or this report's own earlier try. Decide again from the log, and if that
            # is refused as well, one by one, so that a conflict costs only the item that has it.
            self._doubt(error)
            known = self._recorder.receipts([reports[n].event_id for n in waiting])
            try:
                self._append_group(reports, waiting, verdicts, known)
            except (IntegrityError, OperationalError) as again:
                if not _is_conflict(again):
                    raise
                self._doubt(again)
                for n in waiting:
                    self._post_alone(reports, n, verdicts)

    def _post_alone(self, reports: Sequence[Report], n: int, verdicts: dict[int, Verdict]) -> None:
        for _ in range(_TRIES):
            known = self._recorder.receipts([reports[n].event_id])
            try:
                self._append_group(reports, [n], verdicts, known)
            except (IntegrityError, OperationalError) as error:
                if not _is_conflict(error):
                    raise
                self._doubt(error)
                time.sleep(random.uniform(0, _PAUSE))  # noqa: S311 - so that two do not meet again in step
            else:
                return
        busy = Refusal("LGR-0503", "other writers keep changing this round", help="send the same event again")
        verdicts[n] = _rejected(reports[n], busy)

    def _append_group(
        self,
        reports: Sequence[Report],
        waiting: list[int],
        verdicts: dict[int, Verdict],
        known: dict[UUID, Receipt] | None,
    ) -> None:
        group = _Group(doubt=known is not None)
        if group.doubt and any(isinstance(reports[n].body, OpenRound) for n in waiting):
            self._houses.read()  # it may have been for another process' configuration that the first try was turned away
        decided: dict[int, Verdict] = {}
        refused: list[tuple[int, Refusal]] = []
        for n in waiting:
            report = reports[n]
            receipt = None if known is None else known.get(report.event_id)
            if receipt is not None:
                decided[n] = _again(report, receipt)
                continue
            try:
                events = self._decide(report, group).collect_events()
            except Refusal as refusal:
                refused.append((n, _within(report, refusal)))
                continue
            start = len(group.events)
            group.events.extend(events)
            group.spans[n] = (start, len(group.events))
            group.claims[start] = Claim(report.event_id, _mark(report), len(events))
        if refused and known is None:
            # A refusal is final only if the report was not accepted before.
            known = self._recorder.receipts([reports[n].event_id for n, _ in refused])
        for n, reason in refused:
            report = reports[n]
            receipt = None if known is None else known.get(report.event_id)
            decided[n] = _rejected(report, reason) if receipt is None else _again(report, receipt)
            if receipt is not None or reason.meaning.retryable:
                continue
            if reason.meaning.status >= 500:
                # The ledger's own fault (a log that cannot be read) is no verdict: once it is mended, the report may be right.
                _log.error("event %s cannot be decided: %s: %s", report.event_id, reason, reason.value)
                continue
            group.rejections.append(
                Rejection(report.event_id, report.terminal, report.sequence, report.round, _mark(report), reason)
            )
        positions = self._append(group)
        for n, (start, end) in group.spans.items():
            decided[n] = Verdict(
                event_id=reports[n].event_id, status="accepted", round=reports[n].round, positions=tuple(positions[start:end])
            )
        verdicts.update(decided)

    def _append(self, group: _Group) -> list[int]:
        if not group.events and not group.rejections:
            return []
        stored = [self.mapper.to_stored_event(event) for event in group.events]
        positions = self._recorder.insert_events(
            stored,
            claims=group.claims,
            rejections=group.rejections,
            occupancy=Occupancy(tuple(group.closed), tuple(group.opened.items())),
            leases=group.leases,
            premises=group.premises,
        )
        for sha256 in group.documents:
            self._houses.was_logged(sha256)
        for id_ in group.settled:
            self._rounds.pop(id_, None)
        return positions

    # Deciding one report.

    def _decide(self, report: Report, group: _Group) -> Round:
        """The round after `report`, with its new events pending; raises the Refusal otherwise, changing nothing."""
        try:
            return self._try(report, group)
        except Refusal as refusal:
            if refusal.code == "LGR-0521" or isinstance(report.body, Malformed):
                raise  # the table is another process's, and so is what there is to know of it; or nothing there is to know helps
            # Memory may be behind the log where another process writes too. Ask, and decide again if it was.
            if not self._catch_up(report, group):
                raise
            return self._try(report, group)

    def _try(self, report: Report, group: _Group) -> Round:
        origin = Origin(
            report.event_id,
            report.terminal,
            report.sequence,
            report.occurred_at,
            report.received_at,
            report.epoch,
            report.by,
        )
        body = report.body
        if isinstance(body, Malformed):
            raise body.refusal
        if isinstance(body, OpenRound):
            return self._open_round(report, body, origin, group)
        round_ = self._round(report.round)
        if self._hold(round_.terms.table, group):
            round_ = self._round(report.round)
        if isinstance(body, PlaceBet):
            round_.place_bet(
                self._houses.regulation(round_.terms.regulation_hash),
                report.event_id,
                origin,
                player=body.player,
                spot=body.spot,
                stake=body.stake,
                currency=body.currency,
                seat=body.seat,
                chip=body.chip or "cash",
            )
        elif isinstance(body, CloseBetting):
            round_.close_betting(origin)
        elif isinstance(body, RecordOutcome):
            self._record_outcome(round_, body, origin, group)
        else:
            raise Refusal("LGR-0107", "no round takes this report yet", field="type", value=report.type)
        return round_

    def _open_round(self, report: Report, body: OpenRound, origin: Origin, group: _Group) -> Round:
        house = self._houses.house(body.table, body.game)
        if report.round in self._rounds or (group.doubt and self._exists(report.round)):
            raise Refusal("LGR-0203", "a round with this id exists already", field="subject", value=str(report.round))
        self._hold(body.table, group)
        if body.table not in self._open:
            self._open[body.table] = self._recorder.open_rounds([body.table]).get(body.table)
        occupied = self._open[body.table]
        if occupied is not None:
            raise Refusal(
                "LGR-0201",
                f"table {body.table} has round {occupied} open",
                field="data.table",
                value=body.table,
                help="record that round's outcome first; the next opens when every winner is paid",
            )
        applied = self._houses.applied(house, body.game, report.received_at)
        terms = Terms(
            property=house.property.id,
            property_hash=house.property.sha256,
            pit=house.table.pit,
            table=house.table.id,
            currency=house.table.currency,
            payable_unit=house.table.payable_minor,
            regulation=applied.regulation,
            applied=applied.note,
            gaming_day=house.property.gaming_day(report.received_at),
            shift=body.shift,
            dealer=body.dealer,
            supervisor=body.supervisor,
        )
        # Another process may apply a configuration at any time: it counts from the next opening on, so the append asks.
        group.premises |= self._houses.premise
        round_ = Round.open(report.round, terms, origin)
        self._log_regulation(applied.regulation, round_, group)
        group.opened[body.table] = round_.id
        self._open[body.table] = round_.id
        self._keep(round_)
        return round_

    def _log_regulation(self, regulation: Regulation, round_: Round, group: _Group) -> None:
        """Puts the regulation's content into the group, ahead of the round that names it, unless the log has it."""
        if regulation.sha256 not in group.documents:
            taken = {round_.id, *(event.originator_id for event in group.events)}
            if (document := self._houses.to_log(regulation, taken)) is not None:
                group.events.append(document)
                group.documents.add(regulation.sha256)

    def _record_outcome(self, round_: Round, body: RecordOutcome, origin: Origin, group: _Group) -> None:
        round_.record_outcome(self._houses.regulation(round_.terms.regulation_hash), body.outcome, origin)
        table = round_.terms.table
        self._open[table] = None
        group.settled.append(round_.id)
        if group.opened.get(table) == round_.id:
            del group.opened[table]  # opened and settled within one group: the table never shows as occupied
        else:
            group.closed.append(round_.id)

    # What is known, and when to doubt it.

    def _keep(self, round_: Round) -> None:
        self._rounds[round_.id] = round_
        self._rounds.move_to_end(round_.id)
        while len(self._rounds) > _ROUNDS_KEPT:
            self._rounds.popitem(last=False)

    def _round(self, id: UUID) -> Round:
        round_ = self._rounds.get(id)
        if round_ is None:
            round_ = self._load(id)
            self._keep(round_)
            while len(self._rounds) > 1 and sum([each.version for each in self._rounds.values()]) > _EVENTS_KEPT:
                self._rounds.popitem(last=False)
        else:
            self._rounds.move_to_end(id)
        return round_

    def _load(self, id: UUID) -> Round:
        round_ = Round(id)
        with closing(self._recorder.pieces(id)) as pieces, collector_paused():
            for happened in pieces:
                if isinstance(happened[0], DocumentRecorded):  # a document's stream is not a round, whatever its id
                    break
                round_.fold(happened)
        if not round_.version:
            raise Refusal(
                "LGR-0202",
                "no round has this id",
                field="subject",
                value=str(id),
                help="open the round first, then send it again",
            )
        return round_

    def _catch_up(self, report: Report, group: _Group) -> bool:
        """Reads what other writers have recorded since; True where it changes what is known of the report's round or table."""
        changed = False
        round_ = self._rounds.get(report.round)
        if round_ is not None:
            newer = self._recorder.stream(report.round, after=round_.version)
            changed = bool(newer)
            round_.fold(newer)
        if isinstance(report.body, OpenRound):
            changed |= self._houses.read()
            table = report.body.table
            if table not in group.opened:
                now = self._recorder.open_rounds([table]).get(table)
                if now not in group.closed and now != self._open.get(table):
                    self._open[table] = now
                    changed = True
        return changed

    def _hold(self, table: str, group: _Group) -> bool:
        """Makes sure that this process writes the table; True where it did not until now, so that what it knew is forgotten."""
        epoch = self._leases.epoch(table)
        if epoch is not None:
            group.leases[table] = epoch
            return False
        group.leases[table] = self._leases.take(table)
        self._open.pop(table, None)
        for id_ in [id_ for id_, round_ in self._rounds.items() if round_.terms.table == table]:
            del self._rounds[id_]
        return True

    def _exists(self, stream: UUID) -> bool:
        return next(iter(self.events.get(stream, limit=1)), None) is not None

    def _doubt(self, error: Exception) -> None:
        """What an append was turned away for is not to be believed any more."""
        if isinstance(error, LeaseLost):
            self._leases.lost()
        self._forget()

    def _forget(self) -> None:
        self._rounds.clear()
        self._open.clear()

    # Properties.

    def apply_property(self, config: Property) -> bool:
        """Logs the configuration and plays by it from now on; False where it is the one already in force.

        Raises Refusal LGR-0604 for a table that another property has.
        """
        with self._lock, _as_it_said():
            return self._houses.apply(config)

    def properties(self) -> list[Property]:
        """The properties in force, by id."""
        with self._lock, _as_it_said():
            self._houses.read()
            return list(self._houses.properties().values())

    # Reading.

    def round(self, id: UUID) -> Round:
        """The round as the log has it now. Raises Refusal LGR-0202 where there is none."""
        with _as_it_said():
            return self._load(id)

    def regulation_of(self, round_: Round) -> Regulation:
        """The regulation under which the round is played, by its content in the log."""
        with self._lock, _as_it_said():
            return self._houses.regulation(round_.terms.regulation_hash)


def _of_the_database(error: BaseException) -> BaseException | None:
    """What the database said, where it is the reason and not what it was given: psycopg's own error behind the library's."""
    cause = error.__cause__ if isinstance(error, PersistenceError) else error
    if isinstance(cause, (psycopg.OperationalError, psycopg.InterfaceError, *UNFIT)):
        return cause
    return error if isinstance(error, OperationalError | InterfaceError) else None


@contextmanager
def _as_it_said() -> Iterator[None]:
    """psycopg's errors in the place of the library's, for callers who know nothing of the library."""
    try:
        yield
    except PersistenceError as error:
        if (cause := _of_the_database(error)) is None or cause is error:
            raise
        raise cause from error


def _unanswered(cause: BaseException) -> Refusal:
    """The refusal of a group of which nobody knows what became; retryable, since the retry finds out."""
    reason = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
    again = "send the same events again with the same ids: what was stored is answered as replayed"
    if isinstance(cause, psycopg.errors.LockNotAvailable | psycopg.errors.QueryCanceled):
        return Refusal("LGR-0505", f"the database keeps this waiting: {reason}", help=again)
    if isinstance(cause, UNFIT):
        _log.error("the database refuses what a ledger does: %s", " ".join(str(cause).split()))
    return Refusal("LGR-0501", f"the database did not answer: {reason}", help=again)


def _is_conflict(error: Exception) -> bool:
    """Whether another writer is the reason, so that deciding again can succeed."""
    return isinstance(error, IntegrityError) or isinstance(
        error.__cause__, psycopg.errors.SerializationFailure | psycopg.errors.DeadlockDetected
    )


def _without_repeats(reports: Sequence[Report], waiting: list[int]) -> tuple[list[int], list[int]]:
    """Splits off reports whose event id comes a second time in the group; they are answered after the first is stored."""
    if len({reports[n].event_id for n in waiting}) == len(waiting):
        return waiting, []
    seen: set[UUID] = set()
    first: list[int] = []
    later: list[int] = []
    for n in waiting:
        event_id = reports[n].event_id
        (later if event_id in seen else first).append(n)
        seen.add(event_id)
    return first, later


def _mark(report: Report) -> bytes:
    """What is stored of a report's fingerprint: 128 bits, against accident and malice alike."""
    return report.fingerprint[:16]


def _within(report: Report, refusal: Refusal) -> Refusal:
    """The refusal with the path of its field within the event; the rules name it as they know it.

    What is no part of the event (a moment that was looked up, an opt-in) is told by the detail alone.
    """
    if refusal.field in report.body.__struct_fields__:
        refusal.field = f"data.{refusal.field}"
    elif refusal.field is not None and not refusal.field.startswith("data.") and refusal.field not in _ENVELOPE:
        refusal.field = None
    return refusal


def _rejected(report: Report, refusal: Refusal) -> Verdict:
    return Verdict(event_id=report.event_id, status="rejected", round=report.round, refusal=refusal)


def _again(report: Report, receipt: Receipt) -> Verdict:
    """The first answer to a report that comes again; a refusal where another body comes under the same id."""
    if receipt.fingerprint != _mark(report):
        other = Refusal(
            "LGR-0301",
            f"event id {report.event_id} was used for another body: "
            f"fingerprint {receipt.fingerprint.hex()} then, {_mark(report).hex()} now",
            field="id",
            value=str(report.event_id),
            help="a changed event is a new event: give it an id of its own",
        )
        return _rejected(report, other)
    if receipt.refusal is not None:
        return _rejected(report, receipt.refusal)
    return Verdict(event_id=report.event_id, status="replayed", round=receipt.round, positions=receipt.positions)
