"""The application: reports come in, verdicts go out, and what was accepted is in the log.

Reports come in groups, whatever waited at the same moment; a group is decided in order and appended in one transaction. The
rounds in memory are believed until the database says otherwise: a version, an event id or an open round that is already there
sends the group back to be decided afresh. Before anything is refused, the log is asked whether the refusal rests on stale memory
or on a report that was already answered.
"""

from __future__ import annotations

import logging
import random
import select
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import Any, cast
from uuid import UUID

import msgspec
from eventsourcing.application import Application
from eventsourcing.persistence import DataError, InfrastructureFactory, IntegrityError, Mapper, OperationalError
from eventsourcing.utils import Environment

from ledger import erasure
from ledger.application.answers import (
    again,
    as_it_said,
    is_conflict,
    mark,
    of_the_database,
    rejected,
    unanswered,
    untakeable,
    within,
)
from ledger.application.desk import Desk, VerifyClosing, VerifyPlayer, rests_on_configuration
from ledger.application.group import Group
from ledger.application.memory import Memory
from ledger.errors import Refusal
from ledger.events import Event
from ledger.houses import Houses
from ledger.property import Property
from ledger.reports import CloseDay, ErasePlayer, GiveUpNumbers, PlaceBet, Received, Report, Verdict
from ledger.round import Origin, Round, RoundEvent
from ledger.rules import Regulation
from ledger.sequences import Line, weighed
from ledger.store.lease import Leases
from ledger.store.mapper import EventMapper
from ledger.store.recorder import Claim, LeaseLost, LedgerFactory, LedgerRecorder, Receipt, Rejection, WouldWait

_log = logging.getLogger(__name__)

_TRIES = 4
_PAUSE = 0.02
"""Seconds, at most, between two tries of a report on which writers get in each other's way."""


class Decision(msgspec.Struct, eq=False):
    """A group that is being decided, as far as that has come."""

    reports: Sequence[Report]
    known: Mapping[UUID, Receipt] | None
    """The receipts of those that were judged before, where anybody has asked."""
    left: list[int]
    """Indices of the reports that are not decided yet, the last one first."""
    group: Group
    decided: dict[int, Verdict] = {}
    refused: list[tuple[int, Refusal, int]] = []
    """Index, reason, and how many numbered reports the group had answered for good by then."""

    @classmethod
    def of(cls, reports: Sequence[Report], waiting: list[int], known: Mapping[UUID, Receipt] | None) -> Decision:
        """Of those at the indices `waiting`, of which none is decided yet."""
        return cls(reports, known, waiting[::-1], Group(doubt=known is not None))


class Rounds(Application[UUID]):
    """The ledger's application. Thread-safe; one group is decided and appended at a time."""

    name = "ledger"

    def __init__(
        self,
        dsn: str,
        *,
        lease_idle: float = 2.0,
        verify_closing: VerifyClosing | None = None,
        verify_player: VerifyPlayer | None = None,
    ) -> None:
        """The application on the database at `dsn`, whose schema must be current.

        `lease_idle`: seconds without a report after which a table may be given back to other processes. `verify_closing` is
        asked of each gaming day that is to be closed; without it, whoever posts the closing has looked at what is unfinished.
        `verify_player` is asked of each player who is to be erased or held; without it, so has whoever posts that.
        """
        self._dsn = dsn
        super().__init__()
        self._recorder = cast(LedgerRecorder, self.recorder)
        self._lock = Lock()
        self._begun: Begun | None = None
        """What was begun and has not ended. It holds the lock."""
        self._leases = Leases(dsn, idle=lease_idle)
        self._houses = Houses(self.events, self._recorder)
        self._memory = Memory(self._recorder, self._leases)
        self._desk = Desk(self._houses, self._memory, verify_closing, verify_player)

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        """The store on this application's own connection string."""
        return LedgerFactory(self._dsn)

    def construct_mapper(self) -> Mapper[UUID]:
        """Flat JSON under stable topics."""
        return EventMapper(RoundEvent)

    def close(self) -> None:
        """Gives back its tables and closes its connections."""
        if self._begun is not None and not self._begun.finishing:
            with suppress(Exception):  # its loop has ended, and nobody waits for the answer
                self._begun.finish()
        with self._lock:
            self._write_down(self._leases.held)
            self._leases.close()
        super().close()

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
                self._be_sure_of_nothing(error)
                raise

    def begin(self, reports: Sequence[Report]) -> Begun | None:
        """As `post`, as far as that takes no waiting: `reports` are decided, and what comes of them is sent to the database.

        For an event loop, which may not be kept waiting; bets of rounds that are at hand go all the way. None where nothing could
        be begun, and nothing has happened: `post` does it. Else whoever calls has to bring it to its end, and until then all
        others wait.
        """
        if not all(type(report.body) is PlaceBet for report in reports) or not self._lock.acquire(blocking=False):
            return None
        try:
            first, later = _without_repeats(reports, list(range(len(reports))))
            if not later:
                self._begun = Begun(self, reports, first)
        except BaseException as error:
            self._be_sure_of_nothing(error)
            raise
        finally:
            if self._begun is None:
                self._lock.release()
        return self._begun

    def _end(self) -> None:
        """What was begun has come to its end."""
        self._begun = None
        self._lock.release()

    def _be_sure_of_nothing(self, error: BaseException) -> None:
        """What is known may be doubted after any fault. Raises what the database said, where it did, in the words of the door."""
        self._memory.forget()
        self._memory.sequences.lost()
        if (cause := of_the_database(error)) is not None:
            raise unanswered(cause) from error

    def rest(self) -> None:
        """Gives back the tables that nobody has posted to for a while; for whoever calls `post`, between two calls.

        And looks for configurations that other processes have applied, and players that they have erased: a terminal's word is
        not held against the log each time.
        """
        with self._lock:
            self._write_down(self._leases.idle())
            self._leases.rest()
            self._houses.read()
            self._memory.reread_players(Group(doubt=False))

    def _write_down(self, tables: Iterable[str]) -> None:
        """What was received at tables that are about to be given back; until one of them shows that it cannot be written."""
        for table in tables:
            if not self._memory.sequences.left(table, self._memory.sequences.reached):
                return

    def _post(self, reports: Sequence[Report]) -> list[Verdict]:
        verdicts: dict[int, Verdict] = {}
        waiting = list(range(len(reports)))
        while waiting:
            first, later = _without_repeats(reports, waiting)
            self._post_distinct(reports, first, verdicts)
            waiting = later
        return self._told(reports, verdicts)

    def _post_distinct(
        self,
        reports: Sequence[Report],
        waiting: list[int],
        verdicts: dict[int, Verdict],
        first: Callable[[], object] | None = None,
    ) -> None:
        """Fills `verdicts` for the reports at `waiting`, whose event ids all differ. `first`: the first try, if it has begun."""
        try:
            if first is None:
                self._append_decision(Decision.of(reports, waiting, None), verdicts)
            else:
                first()
        except DataError as error:
            # One of them is what the database cannot take, and nobody knows which: it is found by halves.
            self._doubt(error)
            if len(waiting) == 1:
                self._put_aside(reports, waiting[0], verdicts, error)
                return
            half = len(waiting) // 2
            self._post_distinct(reports, waiting[:half], verdicts)
            self._post_distinct(reports, waiting[half:], verdicts)
        except (IntegrityError, OperationalError) as error:
            if not is_conflict(error):
                raise
            # Somebody was here first: another writer, or this report's own earlier try. Decide again from the log, and if that
            # is refused as well, one by one, so that a conflict costs only the item that has it.
            self._doubt(error)
            known = self._recorder.receipts([reports[n].event_id for n in waiting])
            try:
                self._append_group(reports, waiting, verdicts, known)
            except (IntegrityError, OperationalError, DataError) as another:
                if not isinstance(another, DataError) and not is_conflict(another):
                    raise
                self._doubt(another)
                for n in waiting:
                    self._post_alone(reports, n, verdicts)

    def _post_alone(self, reports: Sequence[Report], n: int, verdicts: dict[int, Verdict]) -> None:
        for _ in range(_TRIES):
            known = self._recorder.receipts([reports[n].event_id])
            try:
                self._append_group(reports, [n], verdicts, known)
            except DataError as error:
                self._doubt(error)
                self._put_aside(reports, n, verdicts, error)
                return
            except (IntegrityError, OperationalError) as error:
                if not is_conflict(error):
                    raise
                self._doubt(error)
                time.sleep(random.uniform(0, _PAUSE))  # noqa: S311 - so that two do not meet again in step
            else:
                return
        busy = Refusal("LGR-0503", "other writers keep changing this round", help="send the same event again")
        verdicts[n] = rejected(reports[n], busy)

    def _put_aside(self, reports: Sequence[Report], n: int, verdicts: dict[int, Verdict], error: DataError) -> None:
        """Refuses for good the report that the database cannot take, so that it stands in nobody's way."""
        report, group = reports[n], Group(doubt=True)
        receipt = self._recorder.receipts([report.event_id]).get(report.event_id)
        if receipt is not None:
            verdicts[n] = self._again(report, receipt, group)
            return
        refusal = untakeable(report, error)
        verdicts[n] = rejected(report, refusal)
        group.rejections.append(_rejection(report, refusal))
        group.receive(self._memory.sequences.known(report), report)
        try:
            self._append(group)
        except DataError:
            group.undo()
            _log.exception("nor can it take that event %s was refused", report.event_id)

    def _append_group(
        self,
        reports: Sequence[Report],
        waiting: list[int],
        verdicts: dict[int, Verdict],
        known: dict[UUID, Receipt],
    ) -> None:
        """Tries once more, by what the log says of the reports."""
        if any(rests_on_configuration(reports[n]) for n in waiting):
            self._houses.read()  # it may have been for another process' configuration that the first try was turned away
        self._append_decision(Decision.of(reports, waiting, known), verdicts)

    def _decide(self, decision: Decision) -> None:
        """Decides the reports that are left to be decided; raises WouldWait before one for which the database has to be asked."""
        reports, group, known = decision.reports, decision.group, decision.known
        while decision.left:
            n = decision.left[-1]
            report = reports[n]
            receipt = None if known is None else known.get(report.event_id)
            if receipt is not None:
                decision.decided[n] = self._again(report, receipt, group)
                decision.left.pop()
                continue
            try:
                events = self._desk.decide(report, group)
            except Refusal as refusal:
                decision.refused.append((n, within(report, refusal), len(group.numbered)))
                self._memory.sequences.turned_away(report, refusal)
                decision.left.pop()
                continue
            except WouldWait:
                raise  # it goes on from here
            except BaseException:
                group.undo()
                raise
            decision.left.pop()
            start = len(group.events)
            group.events.extend(events)
            group.spans[n] = (start, len(group.events))
            group.claims[start] = Claim(report.event_id, mark(report), len(events))
            if report.sequence is not None:
                group.receive(self._memory.sequences.known(report), report)

    def _append_decision(self, decision: Decision, verdicts: dict[int, Verdict]) -> None:
        """Decides what is left of it, and appends what comes of it all."""
        self._decide(decision)
        if decision.refused:
            self._judge_refused(decision)
        try:
            positions = self._append(decision.group)
        except BaseException:
            decision.group.undo()
            raise
        self._appended(decision, positions, verdicts)

    def _judge_refused(self, decision: Decision) -> None:
        """Which of the refusals are final. A report is refused for good only if it was not accepted before."""
        reports, group, decided, known = decision.reports, decision.group, decision.decided, decision.known
        if known is None:
            known = self._recorder.receipts([reports[n].event_id for n, _, _ in decision.refused])
        all_decided = len(group.numbered)
        for n, reason, so_far in decision.refused:
            report = reports[n]
            receipt = known.get(report.event_id)
            if receipt is not None:
                decided[n] = self._again(report, receipt, group)
                continue
            line = self._memory.sequences.known(report)
            if reason.code == "LGR-0303":
                reason = self._memory.sequences.fork(report)
            if report.sequence is not None:
                later = [other.sequence for of, other in group.numbered[so_far:all_decided] if of is line and other.sequence]
                before = self._memory.sequences.before(report, later, others=self._houses.shared(report.terminal))
                reason = weighed(report, reason, before)
            decided[n] = rejected(report, reason)
            if reason.retryable:
                continue
            if reason.meaning.status >= 500:
                # The ledger's own fault (a log that cannot be read) is no verdict: once it is mended, the report may be right.
                _log.error("event %s cannot be decided: %s: %s", report.event_id, reason, reason.value)
                continue
            group.rejections.append(_rejection(report, reason))
            group.receive(line, report)

    def _appended(self, decision: Decision, positions: Sequence[int], verdicts: dict[int, Verdict]) -> None:
        """What was decided stands in the log at these positions."""
        sequences, numbered = self._memory.sequences, decision.group.numbered
        verdicts.update(decision.decided)
        for n, (start, end) in decision.group.spans.items():
            report = decision.reports[n]
            if type(report.body) is GiveUpNumbers:
                sequences.gave_up(report.body)
            verdicts[n] = Verdict(
                event_id=report.event_id, status="accepted", round=report.round, positions=tuple(positions[start:end])
            )
        if positions:
            sequences.reached = positions[-1]
        if numbered:
            sequences.save_some([line for line, _ in numbered], sequences.reached)

    def _again(self, report: Report, receipt: Receipt, group: Group) -> Verdict:
        verdict = again(report, receipt)
        if receipt.fingerprint == mark(report):
            group.receive(self._memory.sequences.known(report), report)
        return verdict

    def _told(self, reports: Sequence[Report], verdicts: dict[int, Verdict]) -> list[Verdict]:
        """The verdicts in order, with what was received by now of the terminals that number their reports."""
        told: list[Verdict] = []
        received: dict[Line, Received] = {}
        for n, report in enumerate(reports):
            verdict = verdicts[n]
            line = None if report.sequence is None else self._memory.sequences.known(report)
            if line is not None:
                if line not in received:
                    received[line] = self._memory.sequences.standing(line)
                verdict = msgspec.structs.replace(verdict, received=received[line])
            told.append(verdict)
        return told

    def _append(self, group: Group) -> list[int]:
        if not group.events and not group.rejections:
            return []
        positions = self._recorder.insert_events(
            list(map(self.mapper.to_stored_event, group.events)),
            claims=group.claims,
            rejections=group.rejections,
            occupancy=group.occupancy,
            leases=group.leases,
            premises=group.premises,
            closing=group.closing,
        )
        for sha256 in group.documents:
            self._houses.was_logged(sha256)
        self._memory.drop(group.ended)
        return positions

    def _send(self, group: Group) -> int | None:
        """Sends what is to be appended to the database; None where that would take waiting, or is more than events of rounds."""
        if not group.events or group.premises or group.closed or group.opened or group.ended or group.documents:
            return None
        try:
            return self._recorder.begin_events(
                list(map(self.mapper.to_stored_event, group.events)), claims=group.claims, leases=group.leases
            )
        except BaseException:
            group.undo()
            raise

    def _doubt(self, error: Exception) -> None:
        """What an append was turned away for is not to be believed any more."""
        if isinstance(error, LeaseLost):
            self._leases.lost()
        self._memory.forget()

    # Properties.

    def apply_property(self, config: Property, at: datetime | None = None) -> bool:
        """Logs the configuration and plays by it from now on; False where it is the one already in force.

        `at` is the time that the log gives for it, where that is not the present.

        Raises Refusal LGR-0604 for a table that another property has, LGR-0611 where one that has a round open would be given up.
        """
        with self._lock, as_it_said():
            return self._houses.apply(config, at)

    def verify_apply_property(self, config: Property) -> None:
        """Raises what `apply_property` would raise now; changes nothing."""
        with self._lock, as_it_said():
            self._houses.verify_apply(config)

    def properties(self) -> list[Property]:
        """The properties in force, by id."""
        with self._lock, as_it_said():
            self._houses.read()
            return list(self._houses.properties().values())

    # Reading.

    def round(self, id: UUID) -> Round:
        """The round as the log has it now. Raises Refusal LGR-0202 where there is none."""
        with as_it_said():
            return self._memory.load(id)

    def effects_of(self, round_: Round, correction: UUID) -> list[Event]:
        """What the approval of a correction of the round would bring about, as it is shown; raises the reason where it could not
        be approved.
        """
        with self._lock, as_it_said():
            self._houses.read()
            round_.limits = self._houses.played_under(round_.terms).table.limits
            rules = self._houses.regulation(round_.terms.regulation_hash)
            now = datetime.now(UTC)
            erased = self._memory.players().erased
            try:
                effects = round_.effects_of(rules, correction, Origin(correction, "", None, now, now))
            except Refusal as refusal:
                refusal.detail = erasure.in_words(refusal.detail, erased)
                raise
            return [erasure.veiled(each, erased) for each in effects]

    def regulation_of(self, round_: Round) -> Regulation:
        """The regulation under which the round is played, by its content in the log."""
        with self._lock, as_it_said():
            return self._houses.regulation(round_.terms.regulation_hash)


class Begun:
    """A group that was begun without waiting (`Rounds.begin`), and goes on in an event loop as long as nothing makes it wait.

    Where `descriptor` is set, `ended` is called each time that it can be read. Where it is None, from the beginning or then, the
    rest takes waiting: `finish` does it, in a thread. Either of them ends it, and lets others come in.
    """

    def __init__(self, rounds: Rounds, reports: Sequence[Report], waiting: list[int]) -> None:
        self.descriptor: int | None = None
        self.finishing = False
        """Whether a thread has it."""
        self._rounds = rounds
        self._reports = reports
        self._waiting = waiting
        self._decision = Decision.of(reports, waiting, None)
        self._verdicts: dict[int, Verdict] = {}
        self._go_on: Callable[[], object] = self._append
        """What is left of the first try."""
        try:
            with rounds._recorder.without_waiting():
                rounds._decide(self._decision)
                if not self._decision.refused:
                    self.descriptor = rounds._send(self._decision.group)
        except WouldWait:
            pass
        except Exception as error:  # noqa: BLE001 - whoever finishes it meets it there
            self._go_on = partial(_fail, error)

    def ended(self) -> list[Verdict] | None:
        """The verdicts; None where there are none yet. Then, if the descriptor has gone, `finish` has them."""
        rounds = self._rounds
        try:
            with rounds._recorder.without_waiting():
                positions = rounds._recorder.events_begun()
                if positions is None:
                    return None
                self._go_on = partial(rounds._appended, self._decision, positions, self._verdicts)
                self._go_on()
                told = rounds._told(self._reports, dict(self._verdicts))
        except WouldWait:
            self.descriptor = None
            return None
        except Exception as error:  # noqa: BLE001 - as above
            self._decision.group.undo()
            self._go_on = partial(_fail, error)
            self.descriptor = None
            return None
        rounds._end()
        return told

    def finish(self) -> list[Verdict]:
        """The verdicts, after all waiting that it takes. Raises what `Rounds.post` raises."""
        rounds = self._rounds
        self.finishing = True
        try:
            if self.descriptor is not None:
                self._go_on = self._wait
            rounds._post_distinct(self._reports, self._waiting, self._verdicts, self._go_on)
            return rounds._told(self._reports, self._verdicts)
        except BaseException as error:
            rounds._be_sure_of_nothing(error)
            raise
        finally:
            rounds._end()

    def _append(self) -> None:
        self._rounds._append_decision(self._decision, self._verdicts)

    def _wait(self) -> None:
        """What was sent is on its way, and nobody looks for it any more."""
        assert self.descriptor is not None
        answer = select.poll()
        answer.register(self.descriptor, select.POLLIN)
        try:
            while (positions := self._rounds._recorder.events_begun()) is None:
                answer.poll()
        except BaseException:
            self._decision.group.undo()
            raise
        self._rounds._appended(self._decision, positions, self._verdicts)


def _fail(error: Exception) -> None:
    raise error


def _rejection(report: Report, refusal: Refusal) -> Rejection:
    return Rejection(report.event_id, report.terminal, report.epoch, report.sequence, report.round, mark(report), refusal)


_ALONE = (CloseDay, ErasePlayer)


def _without_repeats(reports: Sequence[Report], waiting: list[int]) -> tuple[list[int], list[int]]:
    """Splits off reports whose event id comes a second time in the group; they are answered after the first is stored.

    A closing of a gaming day stands alone, for it asks the log what was stored before it; so does the erasure of a player.
    """
    if len(waiting) == 1:
        return waiting, []
    closings = [n for n in waiting if type(reports[n].body) in _ALONE]
    if not closings and len({reports[n].event_id for n in waiting}) == len(waiting):
        return waiting, []
    seen: set[UUID] = set()
    first: list[int] = []
    later: list[int] = []
    for n in waiting:
        event_id = reports[n].event_id
        waits = event_id in seen or bool(closings and first and (n in closings or first[0] in closings or n > closings[0]))
        (later if waits else first).append(n)
        seen.add(event_id)
    return first, later
