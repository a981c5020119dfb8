"""Corrections: asked for by one person, approved by another, and doing just what was asked."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ledger.audit.due import Stage
from ledger.audit.hearing import whole
from ledger.audit.settling import Settling, on_record
from ledger.audit.told import Bet, Correction
from ledger.errors import Refusal
from ledger.events import (
    BetCorrected,
    CorrectionApproved,
    CorrectionDeclined,
    CorrectionProposed,
    Event,
    OutcomeCorrected,
    PlayerAdjusted,
    ReturnedBet,
    RoundHeld,
    RoundReleased,
    RoundResettled,
    RoundVoided,
    Standing,
)

_APPROVALS = {"ex_gratia": 2}
"""Kind of a correction → how many other persons have to approve, where it is not one."""
_OWED: dict[str, type[Event]] = {
    "outcome": OutcomeCorrected,
    "mispay": PlayerAdjusted,
    "ex_gratia": PlayerAdjusted,
    "return": RoundVoided,
}
"""Kind of a correction → the event that it has to bring, whatever bets it changes."""


class Correcting(Settling):
    """What is put right afterwards, and reviews."""

    making: Correction | None = None
    """The correction whose effects are under way."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.expected: dict[UUID, Standing] = {}
        """What the correction under way has to make true of each bet that it changes, and has not yet."""
        self.moved_on: dict[UUID, tuple[str, list[Stage]]] = {}
        """Whose each of these bets is then, and how it lay."""
        self.owed: type[Event] | None = None
        """The event that the correction under way has to bring besides, and has not yet."""
        self.faulted: set[UUID] = set()
        """The corrections whose approvals were found wanting already."""

    # Asked and approved.

    def proposed(self, body: CorrectionProposed) -> None:
        """Somebody asks for a correction."""
        if body.correction in self.told.corrections:
            self.find("OUT_OF_PLACE", "the correction was asked for before")
            return
        self.told.corrections[body.correction] = Correction(self.now, body)

    def approved(self, body: CorrectionApproved) -> None:
        """Another person approves it; with the last approval it is made."""
        found = self.told.corrections.get(body.correction)
        if found is None or found.declined or found.made:
            how = "nobody asked for" if found is None else "was declined" if found.declined else "was made already"
            self.find("OUT_OF_PLACE", f"a correction was approved that {how}")
            return
        author, needed = found.proposed.by, max(found.proposed.approvals, _APPROVALS.get(found.proposed.kind, 1))
        if body.by is None:
            self._fault(found, "UNAPPROVED_CORRECTION", "a correction was approved by nobody in particular")
        elif body.by == author:
            self._fault(found, "SELF_APPROVED", f"{body.by} asked for the correction and approved it")
        elif body.by in found.approved_by:
            self._fault(found, "SELF_APPROVED", f"{body.by} approved the correction twice")
        found.approved_by.append(body.by or "")
        if len(found.approved_by) < needed:
            return
        found.made, self.making, self.owed = True, found, _OWED.get(found.proposed.kind)
        try:
            self._expect(found.proposed)
        except Refusal as refusal:
            self.expected = {}
            self._fault(found, "CORRECTION_DIFF", f"what was asked cannot be: {refusal.detail}")

    def _fault(self, correction: Correction, code: str, what: str) -> None:
        asked = correction.proposed
        self.faulted.add(asked.correction)
        known = None if asked.bet is None else self.told.bets.get(asked.bet)
        self.find(code, f"{what} ({asked.kind}, {asked.correction})", known or asked.bet, also=(correction.asked,))

    def declined(self, body: CorrectionDeclined) -> None:
        """It can never be approved."""
        found = self.told.corrections.get(body.correction)
        if found is None or found.made:
            self.find("OUT_OF_PLACE", "a correction was declined that was made, or that nobody asked for")
        else:
            found.declined = True

    # What it has to do.

    def _expect(self, asked: CorrectionProposed) -> None:
        told, regulation = self.told, self.told.regulation
        self.expected, self.moved_on = {}, {}
        if regulation is None:
            return
        bet = None if asked.bet is None else told.bets.get(asked.bet)
        unit = told.payable_unit
        if asked.kind == "outcome" and asked.outcome is not None:
            outcome = regulation.outcome(asked.outcome)
            for each in self._here():
                if each.want.result not in ("open", "void"):
                    due = told.due(each, regulation, unit, outcome=outcome)
                    self.expected[each.id] = due.standing(each.player)
        elif asked.kind == "bet" and bet is not None:
            player, stages = bet.indeed(asked.player, asked.spot, None if asked.stake is None else int(asked.stake))
            self.moved_on[bet.id] = player, stages
            if told.status == "settled" and bet.want.result == "open":
                lies = Standing(player=player, spot=stages[-1].spot, stake=str(stages[-1].stake), result="open")
            else:
                lies = told.due(bet, regulation, unit, stages=stages).standing(player)
            self.expected[bet.id] = lies
        elif asked.kind == "bet_void" and bet is not None:
            self.expected[bet.id] = _void(bet.want)
        elif asked.kind == "late_bet" and bet is not None:
            self.expected[bet.id] = told.due(bet, regulation, unit).standing(bet.player)
        elif asked.kind == "return":
            settled = told.status == "settled"
            for each in self._here():
                if each.want.result != "void" and (settled or each.want.result != "open"):
                    self.expected[each.id] = _void(each.want)

    def _here(self) -> list[Bet]:
        return [bet for bet in self.told.bets.values() if bet.left is None]

    # What it did.

    def _made(self, correction: UUID) -> Correction | None:
        """The correction by which something is done; a finding, once, where it has no approval."""
        found = self.told.corrections.get(correction)
        if found is not None and found.made:
            if self.making is not found:
                self._fault(found, "CORRECTION_DIFF", "a correction goes on after it was made")
                self.making = found
            if type(self.now.body) is self.owed:
                self.owed = None
            return found
        if correction in self.faulted:
            return None
        self.faulted.add(correction)
        if found is None:
            self.find("UNAPPROVED_CORRECTION", f"something was corrected that nobody asked for ({correction})")
        else:
            needed = max(found.proposed.approvals, _APPROVALS.get(found.proposed.kind, 1))
            self._fault(
                found, "UNAPPROVED_CORRECTION", f"a correction was made with {len(found.approved_by)} of {needed} approvals"
            )
        return None

    def outcome_corrected(self, body: OutcomeCorrected) -> None:
        """The outcome on record was not what the table showed."""
        told, made, regulation = self.told, self._made(body.correction), self.told.regulation
        if body.was != told.outcome:
            self.find("CORRECTION_DIFF", "the outcome until now was another", expected=told.outcome, found=body.was)
        told.outcome = body.outcome
        if regulation is None:
            return
        try:
            shown = regulation.outcome(body.raw)
        except Refusal as refusal:
            self.find("OUTCOME_DIFF", f"{regulation.game} cannot show this: {refusal.detail}", found=body.raw)
            return
        if not on_record(regulation, shown, body.outcome, body.shown):
            self.find(
                "OUTCOME_DIFF",
                f"what was written, {body.raw}, is not the outcome on record",
                expected=f"{shown.text}: {shown.shown}",
                found=f"{body.outcome}: {body.shown}",
            )
        if made is not None and (made.proposed.kind, made.proposed.outcome) != ("outcome", body.raw):
            self.find("CORRECTION_DIFF", "another outcome was approved", expected=made.proposed.outcome, found=body.raw)
        if told.throws:
            told.throws = body.outcome.split(",")
            told.valid = [throw for throw in shown.throws if not throw.void]
        else:
            told.shown_outcome = shown

    def corrected(self, body: BetCorrected) -> None:
        """Something else is true of a bet now."""
        bet, made = self.bet_of(body.bet, "corrected is"), self._made(body.correction)
        if bet is None:
            return
        if body.before != bet.standing and not bet.suspect:
            self._tell_standing("CORRECTION_DIFF", "this was not true of the bet before", bet, bet.standing, body.before)
        want = self.expected.pop(bet.id, None)
        if want is None:
            want = bet.want if made is not None else body.after
        if body.after != want:
            if bet.locked and body.after.result == "void" != want.result:
                self.find("LOCKED_BET", f"the bet on {bet.spot} was carried from a void round, and was returned", bet)
            elif not bet.suspect or body.after.result != want.result:
                self._tell_standing(
                    "CORRECTION_DIFF", "the correction makes something else of the bet than was asked", bet, want, body.after
                )
        elif bet.locked and want.result == "void":
            self.find("LOCKED_BET", f"the bet on {bet.spot} was carried from a void round, and was returned", bet)
        self._take(bet, body.after, want)

    def _take(self, bet: Bet, after: Standing, want: Standing) -> None:
        player, stages = self.moved_on.pop(bet.id, (after.player, bet.stages))
        bet.player, bet.stages = player, stages
        bet.standing, bet.want, bet.settled = after, want, self.now

    def _tell_standing(self, code: str, what: str, bet: Bet, want: Standing, got: Standing) -> None:
        name = next(name for name in Standing.__struct_fields__ if getattr(want, name) != getattr(got, name))
        if name != "returned" and want.returned != got.returned:
            name = "returned"
        expected, found = getattr(want, name), getattr(got, name)
        amounts = name in ("stake", "prize", "commission", "breakage", "net_prize", "returned")
        self.find(
            code,
            f"{what}: {name.replace('_', ' ')}",
            bet,
            expected=whole(expected) if amounts else expected,
            found=whole(found) if amounts else found,
        )

    def adjusted(self, body: PlayerAdjusted) -> None:
        """Something was paid, or taken back, beside what the regulation gives."""
        made = self._made(body.correction)
        if made is None:
            return
        asked = made.proposed
        bet = None if asked.bet is None else self.told.bets.get(asked.bet)
        player = asked.player if bet is None else bet.player
        want = (asked.kind, player, asked.bet, asked.direction or "to_player", asked.amount)
        got = (body.kind, body.player, body.bet, body.direction, body.amount)
        if want != got:
            amounts = body.amount != asked.amount and asked.amount is not None
            self.find(
                "CORRECTION_DIFF",
                "another payment was approved",
                bet,
                expected=whole(asked.amount) if amounts and asked.amount is not None else " ".join(map(str, want)),
                found=whole(body.amount) if amounts else " ".join(map(str, got)),
                also=(made.asked,),
            )
        elif body.kind == "ex_gratia" and int(body.amount) % self.told.payable_unit:
            self.find("CORRECTION_DIFF", "the payment ex gratia is no whole number of payable units", found=whole(body.amount))

    def resettled(self, body: RoundResettled) -> None:
        """The totals after a correction."""
        self._made(body.correction)
        self.end_correction(keep=True)
        self.verify_totals(body)

    def returned(self, body: RoundVoided) -> None:
        """The house ends the round and gives the stakes back."""
        told = self.told
        made = None if body.correction is None else self._made(body.correction)
        if body.correction is None:
            self.find("UNAPPROVED_CORRECTION", "the house ended the round and gave stakes back, and no correction was approved")
        if made is not None and made.proposed.kind != "return":
            self.find("CORRECTION_DIFF", "another correction was approved", expected=made.proposed.kind, found="return")
        self.end_correction()
        left = {bet.id: bet for bet in told.lying} if told.status != "settled" else {}
        for line in body.returned:
            self._return_line(left.pop(line.bet, None), line, body)
        for bet in left.values():
            self.find("RETURN_DIFF", f"the stake on {bet.spot} did not go back", bet, expected=bet.stake, found=0)
        told.status = "returned"

    def _return_line(self, bet: Bet | None, line: ReturnedBet, body: RoundVoided) -> None:
        if bet is None:
            known = self.bet_of(line.bet, "returned is")
            if known is not None:
                self.find(
                    "RETURN_DIFF",
                    f"the bet on {line.spot} is not open, and its stake went back",
                    known,
                    expected=0,
                    found=whole(line.stake),
                )
            return
        if bet.locked:
            self.find("LOCKED_BET", f"the bet on {bet.spot} was carried from a void round, and was returned", bet)
        self.verify_return(bet, line.player, line.spot, line.stake)
        bet.standing = bet.want = Standing(
            player=bet.player, spot=bet.spot, stake=line.stake, result="void", returned=line.stake, article=body.article
        )
        bet.settled = self.now

    def end_correction(self, *, keep: bool = False) -> None:
        """The effects of a correction are all there by now; with `keep` it may still end the round."""
        if self.making is None:
            return
        for id, want in self.expected.items():
            bet = self.told.bets[id]
            if bet.standing != want:
                if not bet.suspect:
                    self._tell_standing(
                        "CORRECTION_DIFF", "the correction was approved, and not made of this bet", bet, want, bet.standing
                    )
                bet.want = want
        self.expected, self.moved_on = {}, {}
        if keep:
            return
        if self.owed is not None:
            self._fault(self.making, "CORRECTION_DIFF", f"the correction was approved, and {self.owed.__name__} did not follow")
        self.making = self.owed = None

    # Reviews.

    def held(self, body: RoundHeld) -> None:
        """A review begins."""
        self.holds[body.hold] = self.now

    def released(self, body: RoundReleased) -> None:
        """A review has come to its finding."""
        if self.holds.pop(body.hold, None) is None:
            self.find("OUT_OF_PLACE", "a review ended that was not under way")


def _void(standing: Standing) -> Standing:
    return Standing(player=standing.player, spot=standing.spot, stake=standing.stake, result="void", returned=standing.stake)
