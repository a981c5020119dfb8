"""The outcome and the settlement: what every bet had to get, held against what it got."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from ledger.audit.betting import Betting
from ledger.audit.due import Due
from ledger.audit.hearing import whole
from ledger.audit.told import Bet
from ledger.errors import Refusal
from ledger.events import (
    LostBet,
    OutcomeRecorded,
    PayoutMade,
    Recorded,
    RoundResettled,
    RoundSettled,
    RoundVoided,
    Standing,
    ThrowRecorded,
)
from ledger.rules import COME_OUT, Outcome, Regulation

_MONEY = ("odds", "prize_exact", "prize", "commission", "breakage", "net_prize", "returned")
PAID = ("won", "push")
RESOLVED = ("lost", "won", "push")
_TOTALED = {"prizes": "total of prizes", "returned": "total paid to players"}
"""Totals that need more words than their field has."""


class Settling(Betting, ABC):
    """What the table showed, and what became of every bet by it."""

    deciding: Recorded | None = None
    """The outcome or throw whose settlement is under way."""
    decided_line = False
    """Whether it ends the round."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.awaited: dict[UUID, Due] = {}
        """The bets that the outcome or throw decides and that have not been settled yet."""
        self.results: list[tuple[Bet, Standing]] = []
        """What has been settled of them, as the log has it."""
        self.paid_in_turn: list[tuple[int, int, str, Bet]] = []
        """Place in the order of payment, place of the bet, player; payout by payout."""

    # What the table showed.

    def outcome(self, body: OutcomeRecorded) -> None:
        """One outcome decides all."""
        told, regulation = self.told, self.told.regulation
        self._verify_decidable("an outcome")
        if told.outcome is not None:
            self.find("OUT_OF_PLACE", "a second outcome was recorded", found=body.outcome, expected=told.outcome)
            return None
        told.outcome = body.outcome
        self.deciding, self.decided_line = self.now, True
        if regulation is None:
            return self._take_as_logged(body.lost)
        shown = self._read(regulation, body)
        if shown is None:
            return self._take_as_logged(body.lost)
        told.shown_outcome = shown
        self._await(told.lying, regulation)
        return self._collect(body.lost)

    def throw(self, body: ThrowRecorded) -> None:
        """Craps: a throw decides what it decides."""
        told, regulation = self.told, self.told.regulation
        self._verify_decidable("a throw")
        told.throws.append(body.outcome)
        told.outcome = ",".join(told.throws)
        self.deciding, self.decided_line = self.now, False
        if body.throw != len(told.throws):
            self.find(
                "OUT_OF_PLACE", "the throws are not numbered one by one", expected=str(len(told.throws)), found=str(body.throw)
            )
        if regulation is None:
            return self._take_as_logged(body.lost)
        if body.void is not None:
            return self._void_throw(regulation, body)
        shown = self._read(regulation, body)
        if shown is None or len(shown.throws) != 1:
            return self._take_as_logged(body.lost)
        told.valid.append(shown.throws[0])
        lying = told.lying
        self._await(lying, regulation)
        self._verify_moves(body, lying)
        self._collect(body.lost)
        state = COME_OUT
        for throw in told.valid:
            state = state.after(throw)
        self.decided_line = state.decided
        if (body.point, body.decided) != (state.point, state.decided):
            self.find(
                "OUTCOME_DIFF",
                "the point, or whether the line is decided, is not what the throws make it",
                expected=_line(state.point, decided=state.decided),
                found=_line(body.point, decided=body.decided),
            )
        return None

    def _void_throw(self, regulation: Regulation, body: ThrowRecorded) -> None:
        clause = next((void for void in regulation.voids if void.code == body.void), None)
        if clause is None or body.article != regulation.cite(clause.article):
            self.find("VOID_DIFF", f"{regulation.order} has no such void clause", found=f"{body.void}, {body.article}")
        if body.lost or body.moved or body.decided:
            self.find("VOID_DIFF", "a void throw changes nothing, and this one does")
            self._take_as_logged(body.lost)

    def _verify_decidable(self, what: str) -> None:
        told = self.told
        if told.status == "betting":
            self.find("OUT_OF_PLACE", f"{what} was recorded while betting was open")
        elif told.ended:
            self.find("OUT_OF_PLACE", f"{what} was recorded after the round had ended")
        elif self.holds:
            self.find("ON_HOLD", f"{what} was recorded while a review was under way", also=tuple(self.holds.values()))

    def _read(self, regulation: Regulation, body: OutcomeRecorded | ThrowRecorded) -> Outcome | None:
        """The outcome on record; what it is called beside must follow from it."""
        try:
            said = regulation.outcome(body.raw)
            shown = said if said.text == body.outcome else regulation.outcome(body.outcome)
        except Refusal as refusal:
            self.find(
                "OUTCOME_DIFF", f"{regulation.game} cannot show this: {refusal.detail}", found=f"{body.raw}, {body.outcome}"
            )
            return None
        if not on_record(regulation, said, body.outcome, body.shown):
            self.find(
                "OUTCOME_DIFF",
                f"what was written, {body.raw}, is not the outcome on record",
                expected=f"{said.text}: {said.shown}",
                found=f"{body.outcome}: {body.shown}",
            )
        return shown

    # What every bet has to get.

    def _await(self, bets: Iterable[Bet], regulation: Regulation) -> None:
        for bet in bets:
            try:
                due = self.told.due(bet, regulation, self.told.payable_unit)
            except Refusal as refusal:
                if not bet.suspect:
                    self.find("ILLEGAL_BET", f"{bet.spot} is no bet of {regulation.order}: {refusal.detail}", bet)
                continue
            if due.result == "open":
                bet.want = due.standing(bet.player)
            else:
                self.awaited[bet.id] = due

    def _verify_moves(self, body: ThrowRecorded, lying: Sequence[Bet]) -> None:
        """Craps: a bet that a throw moves lies where the throws bring it."""
        moves = {each.bet: each for each in body.moved}
        for bet in lying:
            move = moves.pop(bet.id, None)
            goes = bet.spot if bet.id in self.awaited else bet.want.spot
            went = bet.spot if move is None else move.spot
            if (goes, bet.spot) != (went, bet.spot if move is None else move.was):
                self.find("SPOT_DIFF", f"the throw brings the bet on {bet.spot} elsewhere", bet, expected=goes, found=went)
            if move is not None:
                bet.standing = Standing(player=bet.player, spot=move.spot, stake=bet.standing.stake, result="open")
        for id in moves:
            self.bet_of(id, "moved is")

    def _collect(self, lost: Iterable[LostBet]) -> None:
        """The losers, which are taken first and in the order in which they came."""
        last = -1
        for line in lost:
            bet = self.bet_of(line.bet, "lost is")
            if bet is None:
                continue
            if bet.came < last:
                self.find("PAY_ORDER", f"the bet on {bet.spot} was collected after one that was placed later", bet)
            last = max(last, bet.came)
            self._settle(bet, _standing_of_lost(line))

    def _take_as_logged(self, lost: Iterable[LostBet]) -> None:
        """Where nothing can be worked out, the log's word is taken."""
        for line in lost:
            if (bet := self.told.bets.get(line.bet)) is not None:
                bet.standing = bet.want = _standing_of_lost(line)
                bet.settled = self.now

    def payout(self, body: PayoutMade) -> None:
        """A winner is paid, or a push goes back."""
        bet = self.bet_of(body.bet, "paid is")
        if bet is None:
            return
        paid = _standing_of_paid(body)
        if bet.left == "carried":
            self.find(
                "PAID_TWICE",
                "the bet went on to the next round, which settles it, and was paid here",
                bet,
                expected=0,
                found=int(paid.returned),
            )
        elif bet.left is not None or bet.standing.result == "void":
            self.find(
                "PAID_ON_VOID",
                f"the bet on {bet.spot} was {bet.left or 'void'}, and was paid",
                bet,
                expected=0,
                found=int(paid.returned),
            )
        elif bet.standing.result in PAID:
            also = () if bet.settled is None else (bet.settled,)
            self.find(
                "PAID_TWICE", f"the bet on {bet.spot} was paid before", bet, expected=0, found=int(paid.returned), also=also
            )
        elif bet.id not in self.awaited and bet.standing.result == "lost":
            if int(paid.returned):
                self.find("PAID_ON_LOSS", f"the bet on {bet.spot} lost, and was paid", bet, expected=0, found=int(paid.returned))
            else:
                what = f"the bet on {bet.spot} lost, and a payout of nothing is booked for it"
                self.find("RESULT_DIFF", what, bet, expected="lost", found=paid.result)
        elif bet.id not in self.awaited and self.told.regulation is not None:
            if not bet.suspect:
                self.find("OUT_OF_PLACE", f"the bet on {bet.spot} was paid before anything decided it", bet)
        else:
            self._settle(bet, paid)

    def _settle(self, bet: Bet, got: Standing) -> None:
        """A bet is settled so by the log: what was due is held against it."""
        due = self.awaited.pop(bet.id, None)
        if due is None:
            if bet.standing.result in RESOLVED:
                self.find(
                    "PAID_TWICE",
                    f"the bet on {bet.spot} was settled before",
                    bet,
                    also=() if bet.settled is None else (bet.settled,),
                )
                return
            if bet.open and not bet.suspect and self.told.regulation is not None:
                self.find("OUT_OF_PLACE", f"nothing decides the bet on {bet.spot}, and it was settled as {got.result}", bet)
        else:
            bet.want = due.standing(bet.player)
            if got != bet.want:
                self._tell(bet, due, got)
            if due.payoff is not None and got.result in PAID:
                self.paid_in_turn.append((due.payoff.rank, bet.came, bet.player, bet))
        self.results.append((bet, got))
        bet.standing = got
        bet.settled = self.now

    def _tell(self, bet: Bet, due: Due, got: Standing) -> None:
        """In which way a bet got something else than it was due."""
        want, also = bet.want, () if self.deciding is None else (self.deciding,)
        if got.player != want.player:
            self.find(
                "PLAYER_DIFF",
                f"the bet on {want.spot} was settled with another player",
                bet,
                expected=want.player,
                found=got.player,
                also=also,
            )
        elif got.spot != want.spot:
            self.find(
                "SPOT_DIFF",
                "the bet was settled on another spot than it lies on",
                bet,
                expected=want.spot,
                found=got.spot,
                also=also,
            )
        elif got.stake != want.stake:
            self.find(
                "STAKE_DIFF",
                f"another stake than that on {want.spot} was settled{_hundredfold(want.stake, got.stake)}",
                bet,
                expected=due.stake,
                found=whole(got.stake),
                also=also,
            )
        elif (version := self._version(bet, got)) is not None:
            self.find(
                "RULE_VERSION_DIFF",
                f"{want.spot} was settled by {version}",
                bet,
                expected=due.returned,
                found=whole(got.returned),
                also=also,
            )
        elif "lost" in (want.result, got.result) and got.result != want.result and got.returned != want.returned:
            code = "PAID_ON_LOSS" if want.result == "lost" else "UNPAID_WIN"
            became = "lost" if want.result == "lost" else "did not lose"
            what = f"{want.spot} {became} on {self.told.outcome}, and was settled as {got.result}"
            self.find(code, what, bet, expected=due.returned, found=whole(got.returned), also=also)
        elif wrong := [name for name in _MONEY if getattr(got, name) != getattr(want, name)]:
            self._tell_amount(bet, due, got, wrong, also)
        elif got.result != want.result:
            what = f"{want.spot} is on record under another result than it has on {self.told.outcome}"
            self.find("RESULT_DIFF", what, bet, expected=want.result, found=got.result, also=also)
        else:
            self.find(
                "CITE_DIFF",
                f"{want.spot} was settled under another article",
                bet,
                expected=f"{want.article}, edge {want.edge}",
                found=f"{got.article}, edge {got.edge}",
                also=also,
            )

    def _tell_amount(self, bet: Bet, due: Due, got: Standing, wrong: list[str], also: tuple[Recorded, ...]) -> None:
        name = next((each for each in ("returned", "net_prize", "commission", "prize", "breakage") if each in wrong), wrong[0])
        rounding = self._rounded_otherwise(due, got)
        code = "ROUNDING_DIFF" if rounding else "AMOUNT_DIFF"
        what = f"{due.spot}: {name.replace('_', ' ')} is not what the regulation gives"
        what += ", by its rounding" if rounding else _hundredfold(bet.want.net_prize, got.net_prize)
        expected, found = getattr(bet.want, name), getattr(got, name)
        if name == "odds":  # a ratio is neither an amount nor a count
            self.find(code, what, bet, expected=expected, found=found, also=also)
        else:
            self.find(code, what, bet, expected=whole(expected), found=whole(found), also=also)

    def _rounded_otherwise(self, due: Due, got: Standing) -> bool:
        """Whether the exact figures are right, and no amount is a whole unit away from what is due."""
        want = due.standing("")
        if (got.result, got.odds, got.prize_exact) != (want.result, want.odds, want.prize_exact):
            return False
        amounts = [(whole(getattr(got, name)), getattr(due, name)) for name in _MONEY[2:]]
        unit = self.told.payable_unit
        return all(isinstance(had, int) and abs(had - right) <= unit for had, right in amounts)

    def _version(self, bet: Bet, got: Standing) -> str | None:
        """The other regulation or payable unit by which the bet would have got just this."""
        told, own = self.told, self.told.regulation
        if own is None or told.opened is None:
            return None
        units = self.documents.units(told.opened.table) | {told.payable_unit}
        for regulation in (own, *self.documents.others(own)):
            for unit in sorted(units):
                if regulation is own and unit == told.payable_unit:
                    continue
                try:
                    other = told.due(bet, regulation, unit).standing(bet.player)
                except Refusal:
                    continue
                if all(getattr(other, name) == getattr(got, name) for name in ("result", *_MONEY)):
                    named = "" if regulation is own else f"{regulation.order} ({regulation.sha256[:12]}), "
                    return f"{named}a payable unit of {unit}"
        return None

    # The end of a settlement.

    def end_settlement(self) -> None:
        """Whatever an outcome or throw decided has been settled by now."""
        if self.deciding is None:
            return
        here, self.now = self.now, self.deciding
        for id, due in self.awaited.items():
            bet = self.told.bets[id]
            bet.want = due.standing(bet.player)
            if due.result == "lost":
                self.find(
                    "UNTAKEN_LOSS",
                    f"{due.spot} lost on {self.told.outcome}, and its stake was not collected",
                    bet,
                    expected=due.stake,
                    found=0,
                )
            else:
                won = "won" if due.result == "won" else "was a push"
                self.find(
                    "UNPAID_WIN",
                    f"{due.spot} {won} on {self.told.outcome}, and nothing was paid",
                    bet,
                    expected=due.returned,
                    found=0,
                )
        self._verify_order()
        self._verify_outcome_keyed()
        self.now = here
        self.awaited, self.results, self.paid_in_turn, self.deciding = {}, [], [], None

    def _verify_order(self) -> None:
        """The order of payment: by its article, and within a place of it as the bets came.

        One player's winnings may be paid at one time (30/2003 art. 5(2)), so among them there is no order: what follows a payout
        to the same player stands nowhere.
        """
        latest, before = (-1, -1), ""
        for rank, came, player, bet in self.paid_in_turn:
            if player == before:
                continue
            before = player
            if (rank, came) < latest:
                order = self.told.regulation.payment_article if self.told.regulation is not None else None
                self.find(
                    "PAY_ORDER", f"{bet.spot} was paid after bets that come later{f' (art. {order})' if order else ''}", bet
                )
            latest = max(latest, (rank, came))

    def _verify_outcome_keyed(self) -> None:
        """Whether several bets were settled wrongly, and all of them rightly by one other outcome."""
        told, regulation = self.told, self.told.regulation
        wrong = [bet for bet, got in self.results if got.result != bet.want.result]
        if len(wrong) < 2 or self.awaited or regulation is None or told.shown_outcome is None:
            return
        for other in regulation.outcomes():
            if other.slot != told.shown_outcome.slot and all(
                told.due(bet, regulation, told.payable_unit, outcome=other).standing(bet.player) == got
                for bet, got in self.results
            ):
                self.find(
                    "OUTCOME_DIFF",
                    "every bet was settled as by another outcome than is on record",
                    expected=other.text,
                    found=told.outcome,
                )
                return

    def settled(self, body: RoundSettled) -> None:
        """The totals, and the end of the round."""
        told = self.told
        if told.ended:
            self.find("OUT_OF_PLACE", "the round was settled a second time")
            return
        if told.outcome is None or not self.decided_line:
            self.find("OUT_OF_PLACE", "the round was settled, and nothing had decided it")
        left = told.lying
        told.status, told.successor = "settled", body.successor
        self.verify_totals(body)
        if body.successor is not None or body.carried != "0":
            self.hand_on(left, body.carried, body.successor)

    def verify_totals(self, body: RoundSettled | RoundResettled) -> None:
        """The totals are those of what was due. Where a bet is wrong that is told, and the totals follow from it."""
        told = self.told
        if told.regulation is None or any(bet.suspect for bet in told.bets.values()):
            return
        right = totals(bet.want for bet in told.bets.values() if bet.left is None)
        said = {name: str(getattr(body, name)) for name in right}
        if said != right:
            name = next(name for name in right if said[name] != right[name])
            expected, found = whole(right[name]), whole(said[name])
            if name == "bets":
                what = "the settlement says that it is of another number of bets than the round has"
                self.find("TOTALS_DIFF", what, expected=expected, found=found, measure="count")
            else:
                what = f"the settlement's {_TOTALED.get(name, name)} is not the sum over the round's bets"
                self.find("TOTALS_DIFF", what, expected=expected, found=found)

    # Voids.

    def voided(self, body: RoundVoided) -> None:
        """A launch or shake without result, or the end of the round by the house."""
        told, regulation = self.told, self.told.regulation
        if body.disposition == "return":
            self.returned(body)
            return
        if told.status != "closed":
            self.find("OUT_OF_PLACE", f"a launch or shake was void while the round was {told.status}")
        if self.holds:
            self.find(
                "ON_HOLD", "a launch or shake was declared void while a review was under way", also=tuple(self.holds.values())
            )
        told.launches += 1
        if regulation is not None:
            clause = next((void for void in regulation.voids if void.code == body.reason), None)
            right = None if clause is None else (clause.disposition, regulation.cite(clause.article))
            if right != (body.disposition, body.article):
                expected = "no such clause" if right is None else f"{right[0]}, {right[1]}"
                self.find(
                    "VOID_DIFF",
                    f"by {body.reason} the stakes go another way",
                    expected=expected,
                    found=f"{body.disposition}, {body.article}",
                )
        if body.launch != told.launches:
            self.find(
                "OUT_OF_PLACE",
                "the void launches are not numbered one by one",
                expected=str(told.launches),
                found=str(body.launch),
            )
            told.launches = body.launch
        if body.disposition == "carry":
            left = told.lying
            told.status, told.successor = "carried", body.successor
            self.hand_on(left, body.carried, body.successor)

    def hand_on(self, left: Sequence[Bet], carried: str, successor: UUID | None) -> None:
        """The open bets go on to the successor, with all their stakes."""
        stakes = sum(bet.stake for bet in left)
        if whole(carried) != stakes:
            self.find("CHAIN_DIFF", "the stakes handed on are not those of the open bets", expected=stakes, found=whole(carried))
        if left and successor is None:
            self.find("CHAIN_DIFF", "bets are open, and no round takes them over")
        for bet in left:
            self.carry(bet)

    @abstractmethod
    def returned(self, body: RoundVoided) -> None:
        """The house ends the round and gives the stakes back. By a correction: see `Correcting`."""


def on_record(regulation: Regulation, said: Outcome, text: str, shown: str) -> bool:
    """Whether an outcome is on record as it was said, in canonical form and in words.

    The words of a throw of craps name the dice as they lay; releases before 0.3.0 named them in canonical order.
    """
    return said.text == text and shown in (said.shown, regulation.outcome(said.text).shown)


def totals(standings: Iterable[Standing]) -> dict[str, str]:
    """The totals of a settlement; bets that are open or void are none of it, and a push is no handle."""
    resolved = [each for each in standings if each.result in RESOLVED]
    paid = [each for each in resolved if each.result != "lost"]

    def total(name: str, some: Iterable[Standing]) -> str:
        return str(sum(int(getattr(each, name)) for each in some))

    return {
        "bets": str(len(resolved)),
        "handle": total("stake", (each for each in resolved if each.result != "push")),
        "prizes": total("prize", paid),
        "commission": total("commission", paid),
        "breakage": total("breakage", paid),
        "returned": total("returned", paid),
    }


def _standing_of_lost(line: LostBet) -> Standing:
    return Standing(player=line.player, spot=line.spot, stake=line.stake, result="lost", edge=line.edge, article=line.article)


def _standing_of_paid(body: PayoutMade) -> Standing:
    return Standing(
        player=body.player,
        spot=body.spot,
        stake=body.stake,
        result=body.result,
        odds=body.odds,
        prize_exact=body.prize_exact,
        prize=body.prize,
        commission=body.commission,
        breakage=body.breakage,
        net_prize=body.net_prize,
        returned=body.returned,
        edge=body.edge,
        article=body.article,
    )


def _hundredfold(expected: str, found: str) -> str:
    """What may be behind a difference: an amount of whole units that was taken for one of minor units."""
    return ", a hundred times as much: was it meant in another unit?" if expected != "0" and found == expected + "00" else ""


def _line(point: int, *, decided: bool) -> str:
    return "decided" if decided else f"point {point}" if point else "no point"
