"""The desk: what becomes of one report.

A report is decided by the round that it is about, under the regulation by which that round is played. What concerns more than
one round is arranged here: which round a table has open, and the successor that takes over a round's bets in the same append.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from ledger import erasure, money, rights
from ledger.application.group import Group, Sitting
from ledger.application.memory import Memory
from ledger.cage import CHIP_KINDS
from ledger.days import Days
from ledger.errors import Refusal
from ledger.events import CreditRecorded, FillRecorded, RoundOpened
from ledger.events.body import numbering
from ledger.houses import House, Houses
from ledger.property import Property
from ledger.reports import (
    PLAYERS,
    PLAYERS_STREAM,
    ApproveCorrection,
    CancelSlip,
    ChangeBet,
    ChangeShooter,
    CloseBetting,
    CloseDay,
    ConfirmSlip,
    CountChips,
    CountDrop,
    DeclineCorrection,
    ErasePlayer,
    GiveUpNumbers,
    HoldPlayer,
    HoldRound,
    IssueColourChips,
    Malformed,
    OfAPlayer,
    OfAProperty,
    OfATable,
    OpenRound,
    PlaceBet,
    ProposeCorrection,
    RecordCredit,
    RecordFill,
    RecordLateBet,
    RecordOutcome,
    RecordThrow,
    ReleasePlayer,
    ReleaseRound,
    ReopenBetting,
    Report,
    RestoreChips,
    SignOff,
    SignOn,
    SlipWritten,
    VoidBet,
    VoidRound,
    WithdrawBet,
    days_stream,
    is_derived,
    table_stream,
)
from ledger.round import Asked, Origin, Round, RoundEvent, Status, Successor, Terms
from ledger.round.state import CARRIED, CRAPS
from ledger.rules import Regulation
from ledger.store.recorder import Closing, Hindrance

VerifyClosing = Callable[[Property, CloseDay], None]
"""Raises the Refusal of a gaming day that cannot be closed so, by what the read side knows of it."""
VerifyPlayer = Callable[[OfAPlayer, Sequence[str]], None]
"""Raises the Refusal of a player whom no event names, or of whom something is unfinished, by what the read side knows. It is told
the tables that are configured."""


class Desk:
    """Decides reports, one after the other. Not thread-safe: the application holds it."""

    def __init__(
        self,
        houses: Houses,
        memory: Memory,
        verify_closing: VerifyClosing | None = None,
        verify_player: VerifyPlayer | None = None,
    ) -> None:
        self._houses = houses
        self._memory = memory
        self._verify_closing = verify_closing
        self._verify_player = verify_player

    def decide(self, report: Report, group: Group) -> list[RoundEvent]:
        """The events of a report that is accepted; raises the Refusal otherwise, changing nothing."""
        try:
            return self._try(report, group)
        except Refusal as refusal:
            malformed = isinstance(report.body, Malformed)
            if refusal.code in ("LGR-0303", "LGR-0304", "LGR-0307", "LGR-0521") or (malformed and refusal.code != "LGR-0804"):
                raise  # the table is another process's, and so is what there is to know of it; or nothing there is to know helps
            # Memory may be behind the log where another process writes too. Ask, and decide again if it was. So it may be of who
            # may do what, where another process has applied a configuration.
            moved = refusal.code == "LGR-0804" and self._houses.read()
            if not self._catch_up(report, group) and not moved:
                raise
            return self._try(report, group)

    def _try(self, report: Report, group: Group) -> list[RoundEvent]:
        about_round = _ABOUT_ROUNDS.get(type(report.body))
        if about_round is None:
            return self._about_no_round(report, group)
        sitting = group.sittings.get(report.round) if group.sittings else None
        if sitting is None:
            sitting = self._sit(report, group)
        else:
            house = self._houses.in_force(sitting.round.terms)
            if not sitting.has_let_in(report, house):
                self._rest_on_roles(report, group)
                self._verify_right(report, sitting.round)
                sitting.let_in(report, house)
            self._verify_number(report, sitting.house.table.id, group)
        round_ = sitting.round
        if report.sequence is not None and (round_.terms.game == CRAPS or isinstance(report.body, _IN_TURN)):
            self._verify_turn(report, round_.terms)
        begun = about_round(self, round_, sitting.rules, report.body, _origin(report, sitting.house.property.tolerance), group)
        events = round_.collect_events()
        return events if begun is None else events + begun.collect_events()

    def _about_no_round(self, report: Report, group: Group) -> list[RoundEvent]:
        body = report.body
        if isinstance(body, Malformed):
            self._verify_may_say(report)
            raise body.refusal
        if isinstance(body, CloseDay):
            return self._close_day(report, body, group)
        if isinstance(body, OfAPlayer):
            return self._decide_on_player(report, body, group)
        about_table = _ABOUT_TABLES.get(type(body))
        if about_table is None:
            raise Refusal("LGR-0107", "no round takes such a report", field="type", value=report.type)
        assert isinstance(body, OpenRound | OfATable)
        self._rest_on_roles(report, group)
        house = self._houses.property_of(body.table)
        if house is None and report.personal:
            # Who may do such a thing at no table is told that; whoever may, that there is no such table.
            rights.verify_act_somewhere(report, self._houses.properties().values())
            self._houses.table(body.table)
        rights.verify_act(report, body.table, house)
        return about_table(self, report, body, _origin(report, self._houses.tolerance(body.table)), group)

    def _sit(self, report: Report, group: Group) -> Sitting:
        """The report's round, and what it is played under; at hand for the rest of the group where this process has the table."""
        try:
            round_ = self._memory.round(report.round)
        except Refusal:
            rights.verify_act_somewhere(report, self._houses.properties().values())
            raise
        terms = round_.terms
        if report.caller is not None:  # else it comes from within the program, and was judged there
            self._rest_on_roles(report, group)
            self._verify_right(report, round_)
        # Nothing at the table depends on a round that has ended: its version alone decides between two who correct it. What a
        # terminal numbers is the table's all the same.
        alone = round_.status.ended and report.sequence is None and isinstance(report.body, _CORRECTIONS)
        if not alone and self._take(report, terms.table, group):
            round_ = self._memory.round(report.round)
        house = self._houses.played_under(terms)
        round_.limits = house.table.limits
        sitting = Sitting(round_, house, self._houses.regulation(terms.regulation_hash))
        if not alone:
            group.sittings[round_.id] = sitting
        return sitting

    def _verify_may_say(self, report: Report) -> None:
        """Raises where a report that cannot be read is not its sender's to make: who was not let in has said nothing.

        It is about a round by its subject; what is about a table or a property says which one in what cannot be read.
        """
        if report.caller is None:
            return
        try:
            round_ = self._memory.round(report.round)
        except Refusal:
            rights.verify_act_somewhere(report, self._houses.properties().values())
        else:
            self._verify_right(report, round_)

    def _rest_on_roles(self, report: Report, group: Group) -> None:
        if rights.takes_role(report):
            group.rest_on(self._houses.premise)

    def _verify_right(self, report: Report, round_: Round) -> None:
        if report.caller is None:
            return  # it comes from within the program, and was judged there
        opened, body = round_.terms, report.body
        proposed = round_.corrections.get(body.correction) if isinstance(body, DeclineCorrection) else None
        house = self._houses.in_force(opened)
        gone = house is not None and not house.has(opened.table)
        rights.verify_act(
            report,
            opened.table,
            house,
            self._houses.played_under(opened).property if gone else None,
            own=proposed is not None and proposed.author == report.caller.person,
        )

    def _take(self, report: Report, table: str, group: Group) -> bool:
        """Makes sure that this process writes the table, and that the report's number is not another's.

        True where the table was not held until now, so that what was known of it is forgotten.
        """
        taken = self._memory.hold(table, group)
        self._verify_number(report, table, group)
        return taken

    def _verify_number(self, report: Report, table: str, group: Group) -> None:
        if report.sequence is None:
            return
        line = self._memory.sequences.line(report, table, group.numbered)
        if line is None:
            return
        if report.sequence in line.given_up:
            raise Refusal(
                "LGR-0307",
                f"a person has given up number {report.sequence} of terminal {line.terminal}, epoch {line.epoch}, "
                f"and table {table} went on without it",
                field="sequence",
                value=str(report.sequence),
                help="what it says is put right by a correction, or reported as a new event with a number of its own",
            )
        if report.sequence in line.numbers:
            # A retry, mostly: the receipts tell.
            raise Refusal("LGR-0303", "another event has this number", field="sequence", value=str(report.sequence))

    def _verify_turn(self, report: Report, opened: RoundOpened) -> None:
        """Raises Refusal LGR-0304 for a report while one that its terminal numbered before it in the round is missing.

        What was missing when the round opened stops none of it: it may never come.
        """
        line = self._memory.sequences.known(report)
        if line is None or report.sequence is None:
            return
        same = numbering(opened.terminal, opened.epoch) == (line.terminal, line.epoch)
        refusal = line.out_of_turn(report.sequence, (opened.sequence or 0) if same else 0)
        if refusal is None and report.behind and isinstance(report.body, _IN_TURN):
            refusal = Refusal(
                "LGR-0304",
                f"events of an earlier epoch of terminal {line.terminal} about this round wait to be sent again",
                help="send those first, then this one again with the same id",
            )
        if refusal is not None:
            raise refusal

    def _catch_up(self, report: Report, group: Group) -> bool:
        """Reads what other writers have recorded since; True where it changes what is known of the report's round or table.

        Raises the library's IntegrityError where it comes between events of the group, which is then decided again.
        """
        changed = self._memory.reread_round(report.round, group)
        body = report.body
        if isinstance(body, OpenRound | OfATable | OfAProperty):
            changed |= self._houses.read()
        if isinstance(body, OpenRound):
            changed |= self._memory.reread_table(body.table, group)
        elif isinstance(body, OfATable):
            changed |= self._memory.reread_record(body.table, group)
            house = self._houses.property_of(body.table)
            changed |= self._memory.reread_days(None if house is None else house.id, group)
        elif isinstance(body, CloseDay):
            changed |= self._memory.reread_days(body.property, group)
        elif isinstance(body, OfAPlayer):
            changed |= self._memory.reread_players(group)
        return changed

    # What is about a table: its rounds begin, its people come and go, its slips are written and signed.

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
        at = self._staff(body)
        terms = Terms(
            property=house.property.id,
            property_hash=house.property.sha256,
            pit=house.table.pit,
            table=house.table.id,
            currency=house.table.currency,
            payable_unit=house.table.payable_minor,
            regulation=applied.regulation,
            applied=applied.note,
            gaming_day=self._days(house.property.id, group).present(house.property.gaming_day(report.received_at)),
            shift=body.shift,
            dealer=at.get("dealer"),
            supervisor=at.get("supervisor"),
            limits=house.table.limits,
        )
        # Another process may apply a configuration at any time: it counts from the next opening on, so the append asks.
        group.rest_on(self._houses.premise)
        round_ = Round.open(report.round, terms, origin)
        self._log_regulation(applied.regulation, group)
        self._begin(round_, group)
        return round_.collect_events()

    def _staff(self, body: OpenRound) -> Mapping[str, str]:
        """Who works at the table by role: who signed on to it, and in their place whom the opening names.

        Raises Refusal LGR-0610 where it names somebody whom the property does not know in that role, and who has not signed on.
        """
        signed_on = self._memory.record(body.table).at
        named = {role: who for role, who in (("dealer", body.dealer), ("supervisor", body.supervisor)) if who is not None}
        for role, who in named.items():
            if signed_on.get(role) != who:
                self._houses.verify_works(body.table, who, role, field=f"data.{role}")
        return {**signed_on, **named}

    def _log_regulation(self, regulation: Regulation, group: Group) -> None:
        """Puts the regulation's content into the group, ahead of the round that names it, unless the log has it."""
        if regulation.sha256 not in group.documents and (document := self._houses.to_log(regulation)) is not None:
            group.events.append(document)
            group.documents.add(regulation.sha256)

    def _sign_on(self, report: Report, body: SignOn, origin: Origin, group: Group) -> list[RoundEvent]:
        self._verify_table(report, body.table, group)
        group.rest_on(self._houses.premise)
        self._houses.verify_works(body.table, body.person, body.role, field="data.person")
        record = self._memory.record(body.table)
        record.sign_on(body.person, body.role, origin)
        return record.collect_events()

    def _sign_off(self, report: Report, body: SignOff, origin: Origin, group: Group) -> list[RoundEvent]:
        self._verify_table(report, body.table, group)
        record = self._memory.record(body.table)
        record.sign_off(body.person, body.role, origin)
        return record.collect_events()

    def _write_slip(self, report: Report, body: SlipWritten, origin: Origin, group: Group) -> list[RoundEvent]:
        house = self._verify_table(report, body.table, group)
        group.rest_on(self._houses.premise)  # its currency, and its property's clock
        days = self._days(house.property.id, group)
        posting = days.posting(
            house.property.gaming_day(report.received_at), body.gaming_day, self._houses.since(house.property.id)
        )
        if isinstance(body, RecordFill | RecordCredit):
            topic = FillRecorded.TOPIC if isinstance(body, RecordFill) else CreditRecorded.TOPIC
            if self._memory.slip_is_numbered(topic, house.property.id, body.number):
                raise Refusal(
                    "LGR-0261",
                    f"property {house.property.id} has such a slip of number {body.number}",
                    field="data.number",
                    value=str(body.number),
                    help="a wrong slip is cancelled and keeps its number; take the next one from the pad",
                )
        record = self._memory.record(body.table)
        record.write_slip(body, house.property.id, house.table.currency, posting, origin)
        return record.collect_events()

    def _confirm_slip(self, report: Report, body: ConfirmSlip, origin: Origin, group: Group) -> list[RoundEvent]:
        house = self._verify_table(report, body.table, group)
        record = self._memory.record(body.table)
        slip = record.verify_confirmation(body, origin)
        days = self._days(slip.property, group)
        posting = days.posting(max(slip.gaming_day, house.property.gaming_day(report.received_at)), slip.gaming_day)
        if slip.of_day is not None:
            posting = posting._replace(of_day=slip.of_day)
        record.confirm_slip(body, posting, origin)
        return record.collect_events()

    def _cancel_slip(self, report: Report, body: CancelSlip, origin: Origin, group: Group) -> list[RoundEvent]:
        self._verify_table(report, body.table, group)
        record = self._memory.record(body.table)
        record.cancel_slip(body, origin)
        return record.collect_events()

    def _issue_colours(self, report: Report, body: IssueColourChips, origin: Origin, group: Group) -> list[RoundEvent]:
        house = self._verify_table(report, body.table, group)
        self._verify_named(body)
        record = self._memory.record(body.table)
        record.issue_colours(body, house.table.currency, origin)
        return record.collect_events()

    def _give_up(self, report: Report, body: GiveUpNumbers, origin: Origin, group: Group) -> list[RoundEvent]:
        self._verify_table(report, body.table, group)
        record = self._memory.record(body.table)
        record.verify_giving_up(body, origin)
        self._memory.sequences.verify_missing(body)
        record.give_up(body, origin)
        return record.collect_events()

    def _verify_table(self, report: Report, table: str, group: Group) -> House:
        house = self._houses.table(table)
        if report.round != table_stream(table):
            raise Refusal("LGR-0108", "the subject of a table's report is that table", field="subject", value=str(report.round))
        self._take(report, table, group)
        return house

    # What is about a property: its gaming days.

    def _days(self, house: str, group: Group) -> Days:
        """The gaming days of a property, on which the group rests: what it posts comes before the next closing, or sees it."""
        days = self._memory.days(house)
        group.rest_on(days.premise)
        return days

    def _close_day(self, report: Report, body: CloseDay, group: Group) -> list[RoundEvent]:
        self._rest_on_roles(report, group)
        rights.verify_act(report, body.property, self._houses.properties().get(body.property))
        house = self._houses.configured(body.property)
        if report.round != days_stream(body.property):
            raise Refusal("LGR-0108", "the subject is the property", field="subject", value=str(report.round))
        days = self._memory.days(body.property)
        now = house.gaming_day(report.received_at)
        origin = _origin(report, None)
        since = self._houses.since(house.id)
        days.verify_close(body.gaming_day, now, since, origin)
        closing = Closing(body.property, body.gaming_day, int(body.as_of))
        for hindrance in self._memory.hindrances(closing):
            raise _hindered(hindrance, closing)
        if self._verify_closing is not None:
            self._verify_closing(house, body)
        group.closing = closing
        days.close(body, now, since, origin)
        return days.collect_events()

    # What is about a player's reference.

    def _decide_on_player(self, report: Report, body: OfAPlayer, group: Group) -> list[RoundEvent]:
        self._rest_on_roles(report, group)
        rights.verify_act(report, body.property, self._houses.properties().get(body.property))
        self._houses.configured(body.property)
        if report.round != PLAYERS_STREAM:
            raise Refusal("LGR-0108", "the subject is the property", field="subject", value=str(report.round))
        players = self._memory.players()
        origin = _origin(report, None)
        match body:
            case ErasePlayer():
                players.verify_erase(body, origin)
                self._verify_idle(body.player)
                self._verify_by_read_side(body)
                players.erase(body, origin)
            case HoldPlayer():
                players.verify_hold(body, origin)
                self._verify_by_read_side(body)
                players.hold(body, origin)
            case ReleasePlayer():
                players.release(body, origin)
        return players.collect_events()

    def _verify_idle(self, player: str) -> None:
        """Raises Refusal LGR-0282 where the player is in a round that is under way."""
        round_ = self._memory.plays(player)
        if round_ is not None:
            raise Refusal(
                "LGR-0282",
                f"the player is in round {round_}, which is not settled",
                field="data.player",
                value=player,
                help="erase the player once the round has ended",
            )

    def _verify_by_read_side(self, body: OfAPlayer) -> None:
        if self._verify_player is not None:
            self._verify_player(body, [table.id for house in self._houses.properties().values() for table in house.tables])

    def _verify_named(self, body: PlaceBet | ChangeShooter | RecordLateBet | ProposeCorrection | IssueColourChips) -> None:
        """Raises Refusal LGR-0123 where it is about a player who is erased."""
        named = PLAYERS[type(body)]
        player = getattr(body, named)
        if player is not None:
            self._memory.players().verify_named(player, f"data.{named}")

    def _present(self, opened: RoundOpened, at: datetime, group: Group) -> date:
        """The gaming day to which something is posted that happens now, in the property of a round."""
        return self._days(opened.property, group).present(self._houses.gaming_day(opened, at))

    # What is about a round.

    def _place(self, round_: Round, rules: Regulation, body: PlaceBet, origin: Origin, group: Group) -> Round | None:
        self._verify_named(body)
        player, spot, stake, currency = body.player, body.spot, body.stake, body.currency
        if body.chip is not None and body.chip != "cash":
            origin = self._in_kind(round_, body, origin)
        heir = None
        if round_.status is CARRIED:
            heir = self._heir(round_, group)
            heir.limits = round_.limits
            said = round_.verify_bet(rules, origin.cause, origin, player=player, spot=spot, stake=stake, currency=currency)
            heir.verify_late_carry(rules, player, *said[:2])
        round_.place_bet(
            rules,
            origin.cause,
            origin,
            player=player,
            spot=spot,
            stake=stake,
            currency=currency,
            seat=body.seat,
            chip=body.chip or "cash",
        )
        if heir is not None:
            heir.carry_late(rules, origin, round_, origin.cause)
        return heir

    def _in_kind(self, round_: Round, body: PlaceBet, origin: Origin) -> Origin:
        """The origin of a bet in other chips than cash, with what is odd about it. Raises Refusal LGR-0265 for no known kind."""
        if body.chip not in CHIP_KINDS:
            raise Refusal(
                "LGR-0265",
                f"no kind of chip is called {body.chip}",
                field="chip",
                value=body.chip,
                help=f"kinds: {', '.join(CHIP_KINDS)}; what the chips are worth, the stake says",
            )
        stake = money.parse_minor(body.stake, field="stake")
        if body.chip == "colour" and not self._memory.record(round_.terms.table).are_in_colours(body.player, stake):
            return origin.flagged("undeclared_colour")
        return origin

    def _heir(self, round_: Round, group: Group) -> Round:
        """The round that has the bets of a void one by now: the latest of the chain."""
        while round_.status is Status.CARRIED and round_.successor is not None:
            sitting = group.sittings.get(round_.successor)
            round_ = self._memory.round(round_.successor) if sitting is None else sitting.round
        return round_

    def _withdraw(self, round_: Round, rules: Regulation, body: WithdrawBet, origin: Origin, group: Group) -> None:
        round_.withdraw_bet(rules, body.bet, origin)

    def _change(self, round_: Round, rules: Regulation, body: ChangeBet, origin: Origin, group: Group) -> None:
        round_.change_bet(rules, body.bet, origin, spot=body.spot, stake=body.stake)

    def _void_bet(self, round_: Round, rules: Regulation, body: VoidBet, origin: Origin, group: Group) -> None:
        round_.void_bet(rules, body.bet, origin, reason=body.reason, note=body.note)

    def _close(self, round_: Round, rules: Regulation, body: CloseBetting, origin: Origin, group: Group) -> None:
        round_.close_betting(rules, origin)

    def _reopen(self, round_: Round, rules: Regulation, body: ReopenBetting, origin: Origin, group: Group) -> None:
        round_.reopen_betting(origin)

    def _shooter(self, round_: Round, rules: Regulation, body: ChangeShooter, origin: Origin, group: Group) -> None:
        self._verify_named(body)
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
        if body.restored_by not in self._memory.record(round_.terms.table).at.values():
            self._houses.verify_at_table(round_.terms, body.restored_by, field="data.restored_by")
            group.rest_on(self._houses.premise)
        round_.restore_chips(rules, origin, restored_by=body.restored_by, source=body.source, bets=body.bets, note=body.note)

    def _late_bet(self, round_: Round, rules: Regulation, body: RecordLateBet, origin: Origin, group: Group) -> None:
        self._verify_named(body)
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
        self._verify_named(body)
        round_.propose_correction(rules, Asked(**msgspec.structs.asdict(body)), origin)

    def _approve(self, round_: Round, rules: Regulation, body: ApproveCorrection, origin: Origin, group: Group) -> None:
        before = round_.status
        opened = round_.terms
        closed = self._days(opened.property, group).is_closed(opened.gaming_day)
        round_.posted_on = self._present(opened, origin.received_at, group) if closed else None
        try:
            round_.approve_correction(rules, body.correction, origin)
        except Refusal as refusal:
            refusal.detail = erasure.in_words(refusal.detail, self._memory.players().erased)
            raise
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
        at = self._memory.record(table).at
        day = self._present(round_.terms, origin.received_at, group)
        return Successor(id, day, at.get("dealer"), at.get("supervisor"))

    def _verify_new(self, id: UUID, field: str, group: Group) -> None:
        """Raises Refusal LGR-0203 where the id of a round to be opened is taken, as far as that is known, and LGR-0108 for one of
        the kind that the ledger makes by itself (`ledger.reports.is_derived`): those of tables to come stay free for them.
        """
        if is_derived(id):
            raise Refusal(
                "LGR-0108",
                "a round's id is no UUID of version 5: such ids are made of names, and the ledger makes its own so",
                field=field,
                value=str(id),
                help="make the id at random or by the time (UUID version 4 or 7), a new one for each round",
            )
        if self._memory.knows(id) or (group.doubt and self._memory.exists(id)):
            raise Refusal("LGR-0203", "a round with this id exists already", field=field, value=str(id))


def rests_on_configuration(report: Report) -> bool:
    """Whether what becomes of a report depends on the configuration in force at the moment of its append."""
    return isinstance(report.body, OpenRound | SignOn | RestoreChips) or rights.takes_role(report)


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


def _hindered(hindrance: Hindrance, closing: Closing) -> Refusal:
    if hindrance.what == "open":
        return Refusal(
            "LGR-0274",
            f"round {hindrance.stream} at table {hindrance.table} is not settled",
            field="data.gaming_day",
            value=closing.gaming_day.isoformat(),
            help="a round belongs to the day in which it opened, however late it settles: settle it first",
        )
    if hindrance.what == "ahead":
        return Refusal("LGR-0108", f"the log ends at position {hindrance.position}", field="data.as_of", value=str(closing.as_of))
    return Refusal(
        "LGR-0275",
        f"something came to the day at position {hindrance.position}",
        field="data.as_of",
        value=str(closing.as_of),
        help="read the figures again and close the day with those",
    )


_CORRECTIONS = (ProposeCorrection, ApproveCorrection, DeclineCorrection)
_IN_TURN = (ChangeBet, WithdrawBet)
"""What waits for the numbers before it in every game: among them may be the bell, and what was done to a bet before it arrived
could not be undone by it, for the player has the chips, or the place on the layout is another's. In craps all waits."""
_ABOUT_TABLES: dict[type, Callable[[Desk, Report, Any, Origin, Group], list[RoundEvent]]] = {
    OpenRound: Desk._open_round,
    SignOn: Desk._sign_on,
    SignOff: Desk._sign_off,
    CountChips: Desk._write_slip,
    RecordFill: Desk._write_slip,
    RecordCredit: Desk._write_slip,
    CountDrop: Desk._write_slip,
    ConfirmSlip: Desk._confirm_slip,
    CancelSlip: Desk._cancel_slip,
    IssueColourChips: Desk._issue_colours,
    GiveUpNumbers: Desk._give_up,
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
