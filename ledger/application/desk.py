"""The desk: what becomes of one report.

A report is decided by the round that it is about, under the regulation by which that round is played. What concerns more than
one round is arranged here: which round a table has open, and the successor that takes over a round's bets in the same append.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec

from ledger import rights
from ledger.application.group import Group, Sitting
from ledger.application.memory import Memory
from ledger.errors import Refusal
from ledger.events import RoundOpened
from ledger.houses import Houses
from ledger.reports import (
    ApproveCorrection,
    ChangeBet,
    ChangeShooter,
    CloseBetting,
    DeclineCorrection,
    HoldRound,
    Malformed,
    OpenRound,
    PlaceBet,
    ProposeCorrection,
    RecordLateBet,
    RecordOutcome,
    RecordThrow,
    ReleaseRound,
    ReopenBetting,
    Report,
    RestoreChips,
    SignOff,
    SignOn,
    VoidBet,
    VoidRound,
    WithdrawBet,
    table_stream,
)
from ledger.round import Asked, Origin, Round, RoundEvent, Status, Successor, Terms
from ledger.rules import Regulation


class Desk:
    """Decides reports, one after the other. Not thread-safe: the application holds it."""

    def __init__(self, houses: Houses, memory: Memory) -> None:
        self._houses = houses
        self._memory = memory

    def decide(self, report: Report, group: Group) -> list[RoundEvent]:
        """The events of a report that is accepted; raises the Refusal otherwise, changing nothing."""
        try:
            return self._try(report, group)
        except Refusal as refusal:
            if refusal.code in ("LGR-0303", "LGR-0521") or isinstance(report.body, Malformed):
                raise  # the table is another process's, and so is what there is to know of it; or nothing there is to know helps
            # Memory may be behind the log where another process writes too. Ask, and decide again if it was. So it may be of who
            # may do what, where another process has applied a configuration.
            moved = refusal.code == "LGR-0804" and self._houses.read()
            if not self._catch_up(report, group) and not moved:
                raise
            return self._try(report, group)

    def _try(self, report: Report, group: Group) -> list[RoundEvent]:
        body = report.body
        if isinstance(body, Malformed):
            raise body.refusal
        if isinstance(body, OpenRound | SignOn | SignOff):
            self._rest_on_roles(report, group)
            rights.verify_act(report, body.table, self._houses.property_of(body.table))
            origin = _origin(report, self._houses.tolerance(body.table))
            return _ABOUT_TABLES[type(body)](self, report, body, origin, group)
        about_round = _ABOUT_ROUNDS.get(type(body))
        if about_round is None:
            raise Refusal("LGR-0107", "no round takes such a report", field="type", value=report.type)
        sitting = group.sittings.get(report.round)
        if sitting is None:
            sitting = self._sit(report, group)
        else:
            self._rest_on_roles(report, group)
            self._verify_right(report, sitting.round.terms)
            self._verify_number(report, sitting.house.table.id)
        round_ = sitting.round
        begun = about_round(self, round_, sitting.rules, body, _origin(report, sitting.house.property.tolerance), group)
        events = round_.collect_events()
        return events if begun is None else events + begun.collect_events()

    def _sit(self, report: Report, group: Group) -> Sitting:
        """The report's round, and what it is played under; at hand for the rest of the group where this process has the table."""
        round_ = self._memory.round(report.round)
        table = round_.terms.table
        self._rest_on_roles(report, group)
        self._verify_right(report, round_.terms)
        # Nothing at the table depends on a round that has ended: its version alone decides between two who correct it. What a
        # terminal numbers is the table's all the same.
        alone = round_.status.ended and report.sequence is None and isinstance(report.body, _CORRECTIONS)
        if not alone and self._take(report, table, group):
            round_ = self._memory.round(report.round)
        house = self._houses.played_under(round_.terms)
        round_.limits = house.table.limits
        sitting = Sitting(round_, house, self._houses.regulation(round_.terms.regulation_hash))
        if not alone:
            group.sittings[round_.id] = sitting
        return sitting

    def _rest_on_roles(self, report: Report, group: Group) -> None:
        if rights.takes_role(report):
            group.rest_on(self._houses.premise)

    def _verify_right(self, report: Report, opened: RoundOpened) -> None:
        if report.caller is None:
            return  # it comes from within the program, and was judged there
        house = self._houses.in_force(opened)
        gone = house is not None and not house.has(opened.table)
        rights.verify_act(report, opened.table, house, self._houses.played_under(opened).property if gone else None)

    def _take(self, report: Report, table: str, group: Group) -> bool:
        """Makes sure that this process writes the table, and that the report's number is not another's.

        True where the table was not held until now, so that what was known of it is forgotten.
        """
        taken = self._memory.hold(table, group)
        self._verify_number(report, table)
        return taken

    def _verify_number(self, report: Report, table: str) -> None:
        if report.sequence is None:
            return
        line = self._memory.sequences.line(report, table)
        if line is not None and report.sequence in line.numbers:
            # A retry, mostly: the receipts tell.
            raise Refusal("LGR-0303", "another event has this number", field="sequence", value=str(report.sequence))

    def _catch_up(self, report: Report, group: Group) -> bool:
        """Reads what other writers have recorded since; True where it changes what is known of the report's round or table."""
        changed = self._memory.reread_round(report.round)
        body = report.body
        if isinstance(body, OpenRound | SignOn | SignOff):
            changed |= self._houses.read()
        if isinstance(body, OpenRound):
            changed |= self._memory.reread_table(body.table, group)
        elif isinstance(body, SignOn | SignOff):
            changed |= self._memory.reread_staff(body.table)
        return changed

    # What is about a table: its rounds begin, its people come and go.

    def _open_round(self, report: Report, body: OpenRound, origin: Origin, group: Group) -> list[RoundEvent]:
        house = self._houses.house(body.table, body.game)
        self._verify_new(report.round, "subject", group)
        self._take(report, body.table, group)
        occupied = self._memory.open_round(body.table)
        if occupied is not None:
            raise Refusal(
                "LGR-0201",
                f"table {body.table} has round {occupied} open",
                field="data.table",
                value=body.table,
                help="record that round's outcome first; the next opens when every winner is paid",
            )
        applied = self._houses.applied(house, body.game, report.received_at)
        at = self._memory.staff(body.table).at
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
            dealer=body.dealer or at.get("dealer"),
            supervisor=body.supervisor or at.get("supervisor"),
            limits=house.table.limits,
        )
        # Another process may apply a configuration at any time: it counts from the next opening on, so the append asks.
        group.rest_on(self._houses.premise)
        round_ = Round.open(report.round, terms, origin)
        self._log_regulation(applied.regulation, round_, group)
        self._begin(round_, group)
        return round_.collect_events()

    def _log_regulation(self, regulation: Regulation, round_: Round, group: Group) -> None:
        """Puts the regulation's content into the group, ahead of the round that names it, unless the log has it."""
        if regulation.sha256 not in group.documents:
            taken = {round_.id, *(event.originator_id for event in group.events)}
            if (document := self._houses.to_log(regulation, taken)) is not None:
                group.events.append(document)
                group.documents.add(regulation.sha256)

    def _sign_on(self, report: Report, body: SignOn, origin: Origin, group: Group) -> list[RoundEvent]:
        self._verify_table(report, body.table, group)
        group.rest_on(self._houses.premise)
        self._houses.verify_works(body.table, body.person, body.role)
        staff = self._memory.staff(body.table)
        staff.sign_on(body.person, body.role, origin)
        return staff.collect_events()

    def _sign_off(self, report: Report, body: SignOff, origin: Origin, group: Group) -> list[RoundEvent]:
        self._verify_table(report, body.table, group)
        staff = self._memory.staff(body.table)
        staff.sign_off(body.person, body.role, origin)
        return staff.collect_events()

    def _verify_table(self, report: Report, table: str, group: Group) -> None:
        self._houses.table(table)
        if report.round != table_stream(table):
            raise Refusal("LGR-0108", "the subject of a table's report is that table", field="subject", value=str(report.round))
        self._take(report, table, group)

    # What is about a round.

    def _place(self, round_: Round, rules: Regulation, body: PlaceBet, origin: Origin, group: Group) -> Round | None:
        heir = self._heir(round_) if round_.status is Status.CARRIED else None
        round_.place_bet(
            rules,
            origin.cause,
            origin,
            player=body.player,
            spot=body.spot,
            stake=body.stake,
            currency=body.currency,
            seat=body.seat,
            chip=body.chip or "cash",
        )
        if heir is not None:
            heir.carry_late(rules, origin, round_, origin.cause)
        return heir

    def _heir(self, round_: Round) -> Round:
        """The round that has the bets of a void one by now: the latest of the chain."""
        while round_.status is Status.CARRIED and round_.successor is not None:
            round_ = self._memory.round(round_.successor)
        return round_

    def _withdraw(self, round_: Round, rules: Regulation, body: WithdrawBet, origin: Origin, group: Group) -> None:
        round_.withdraw_bet(rules, body.bet, origin)

    def _change(self, round_: Round, rules: Regulation, body: ChangeBet, origin: Origin, group: Group) -> None:
        round_.change_bet(rules, body.bet, origin, spot=body.spot, stake=body.stake)

    def _void_bet(self, round_: Round, rules: Regulation, body: VoidBet, origin: Origin, group: Group) -> None:
        round_.void_bet(rules, body.bet, origin, reason=body.reason, note=body.note)

    def _close(self, round_: Round, rules: Regulation, body: CloseBetting, origin: Origin, group: Group) -> None:
        round_.close_betting(origin)

    def _reopen(self, round_: Round, rules: Regulation, body: ReopenBetting, origin: Origin, group: Group) -> None:
        round_.reopen_betting(origin)

    def _shooter(self, round_: Round, rules: Regulation, body: ChangeShooter, origin: Origin, group: Group) -> None:
        round_.change_shooter(body.shooter, origin)

    def _outcome(self, round_: Round, rules: Regulation, body: RecordOutcome, origin: Origin, group: Group) -> None:
        round_.record_outcome(rules, body.outcome, origin)
        self._end(round_, None, group)

    def _throw(self, round_: Round, rules: Regulation, body: RecordThrow, origin: Origin, group: Group) -> Round | None:
        successor = self._successor(round_, body.successor, origin, group)
        begun = round_.record_throw(rules, origin, dice=body.dice, void=body.void, successor=successor)
        if round_.status is Status.SETTLED:
            self._end(round_, begun, group)
        return begun

    def _void(self, round_: Round, rules: Regulation, body: VoidRound, origin: Origin, group: Group) -> Round | None:
        successor = self._successor(round_, body.successor, origin, group)
        begun = round_.void(rules, origin, reason=body.reason, successor=successor, note=body.note)
        if begun is not None:
            self._end(round_, begun, group)
        return begun

    def _restore(self, round_: Round, rules: Regulation, body: RestoreChips, origin: Origin, group: Group) -> None:
        round_.restore_chips(rules, origin, restored_by=body.restored_by, source=body.source, bets=body.bets, note=body.note)

    def _late_bet(self, round_: Round, rules: Regulation, body: RecordLateBet, origin: Origin, group: Group) -> None:
        round_.record_late_bet(
            rules,
            origin,
            player=body.player,
            spot=body.spot,
            stake=body.stake,
            currency=body.currency,
            seat=body.seat,
            note=body.note,
        )

    def _hold(self, round_: Round, rules: Regulation, body: HoldRound, origin: Origin, group: Group) -> None:
        round_.hold(origin, reason=body.reason, bet=body.bet, note=body.note)

    def _release(self, round_: Round, rules: Regulation, body: ReleaseRound, origin: Origin, group: Group) -> None:
        round_.release(origin, body.hold, finding=body.finding, correction=body.correction, note=body.note)

    def _propose(self, round_: Round, rules: Regulation, body: ProposeCorrection, origin: Origin, group: Group) -> None:
        round_.propose_correction(rules, Asked(**msgspec.structs.asdict(body)), origin)

    def _approve(self, round_: Round, rules: Regulation, body: ApproveCorrection, origin: Origin, group: Group) -> None:
        before = round_.status
        round_.approve_correction(rules, body.correction, origin)
        if round_.status.ended and not before.ended:
            self._end(round_, None, group)

    def _decline(self, round_: Round, rules: Regulation, body: DeclineCorrection, origin: Origin, group: Group) -> None:
        round_.decline_correction(body.correction, origin, body.note)

    # Rounds that begin and end.

    def _begin(self, round_: Round, group: Group) -> None:
        table = round_.terms.table
        group.open(table, round_.id)
        self._memory.occupy(table, round_.id)
        self._memory.keep(round_)

    def _end(self, round_: Round, begun: Round | None, group: Group) -> None:
        table = round_.terms.table
        group.end(table, round_.id)
        self._memory.occupy(table, None)
        if begun is not None:
            self._begin(begun, group)

    def _successor(self, round_: Round, id: UUID | None, origin: Origin, group: Group) -> Successor | None:
        """The successor that a report names: its day and its people are those of now, all else it has from the round."""
        if id is None:
            return None
        if id != round_.id:
            self._verify_new(id, "data.successor", group)
        table = round_.terms.table
        at = self._memory.staff(table).at
        day = self._houses.gaming_day(table, origin.received_at) or round_.terms.gaming_day
        return Successor(id, day, at.get("dealer"), at.get("supervisor"))

    def _verify_new(self, id: UUID, field: str, group: Group) -> None:
        """Raises Refusal LGR-0203 where the id of a round to be opened is taken, as far as that is known."""
        if self._memory.knows(id) or id in self._houses.table_streams() or (group.doubt and self._memory.exists(id)):
            raise Refusal("LGR-0203", "a round with this id exists already", field=field, value=str(id))


def rests_on_configuration(report: Report) -> bool:
    """Whether what becomes of a report depends on the configuration in force at the moment of its append."""
    return isinstance(report.body, OpenRound | SignOn) or rights.takes_role(report)


def _origin(report: Report, tolerance: timedelta | None) -> Origin:
    """Who reported it, and when; flagged where the terminal's clock is further off than the house tolerates."""
    skewed = tolerance is not None and abs(report.received_at - report.occurred_at) > tolerance
    return Origin(
        report.event_id,
        report.terminal,
        report.sequence,
        report.occurred_at,
        report.received_at,
        report.epoch,
        report.by,
        ("clock_skew",) if skewed else (),
    )


_CORRECTIONS = (ProposeCorrection, ApproveCorrection, DeclineCorrection)
_ABOUT_TABLES: dict[type, Callable[[Desk, Report, Any, Origin, Group], list[RoundEvent]]] = {
    OpenRound: Desk._open_round,
    SignOn: Desk._sign_on,
    SignOff: Desk._sign_off,
}
_ABOUT_ROUNDS: dict[type, Callable[[Desk, Round, Regulation, Any, Origin, Group], Round | None]] = {
    PlaceBet: Desk._place,
    WithdrawBet: Desk._withdraw,
    ChangeBet: Desk._change,
    VoidBet: Desk._void_bet,
    CloseBetting: Desk._close,
    ReopenBetting: Desk._reopen,
    ChangeShooter: Desk._shooter,
    RecordOutcome: Desk._outcome,
    RecordThrow: Desk._throw,
    VoidRound: Desk._void,
    RestoreChips: Desk._restore,
    RecordLateBet: Desk._late_bet,
    HoldRound: Desk._hold,
    ReleaseRound: Desk._release,
    ProposeCorrection: Desk._propose,
    ApproveCorrection: Desk._approve,
    DeclineCorrection: Desk._decline,
}
