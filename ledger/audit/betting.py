"""Bets as they come, change and go: in time, as the regulation knows them, and with the stakes that they had."""

from __future__ import annotations

from uuid import UUID

from ledger.audit.due import Stage
from ledger.audit.hearing import Hearing, Window, whole
from ledger.audit.told import CRAPS, Bet, Link
from ledger.errors import Refusal
from ledger.events import (
    BetChanged,
    BetPlaced,
    BetsCarried,
    BettingClosed,
    BettingReopened,
    BetVoided,
    BetWithdrawn,
    ChipsRestored,
    LateBetRecorded,
    ShooterChanged,
)
from ledger.money import parse_minor


class Betting(Hearing):
    """What happens to bets before anything decides them."""

    def placed(self, body: BetPlaced) -> None:
        """A bet is placed."""
        told = self.told
        if body.bet in told.bets:
            self.find("BET_TWICE", f"the bet on {body.spot} was placed in this round before", told.bets[body.bet])
            return
        bet = self._came(body.bet, body.player, body.spot, body.stake, len(told.valid))
        if bet is None:
            return
        bet.late = body.late
        self._verify_spot(bet, body.spot, body.numbers)
        if body.late or told.status != "betting":
            self._verify_in_time(bet, body)
        if told.status == "carried":
            self.carry(bet)

    def _came(self, id: UUID, player: str, spot: str, stake: str, after: int) -> Bet | None:
        told = self.told
        try:
            first = Stage(after, spot, parse_minor(stake), True)
        except Refusal as refusal:
            self.find("ILLEGAL_BET", f"the stake is no amount: {refusal.detail}", id, found=stake)
            return None
        bet = told.bets[id] = Bet(id, player, first, self.now, len(told.bets))
        return bet

    def _verify_spot(self, bet: Bet, spot: str, numbers: tuple[int, ...]) -> None:
        regulation = self.told.regulation
        if regulation is None:
            return
        try:
            known = regulation.spot(spot)
        except Refusal as refusal:
            self.find("ILLEGAL_BET", f"{spot} is no bet of {regulation.order}: {refusal.detail}", bet, found=spot)
            return
        if (known.text, known.numbers) != (spot, numbers):
            listed = " ".join(map(str, known.numbers))
            self.find(
                "SPOT_DIFF",
                f"{spot} covers other numbers than are on record",
                bet,
                expected=f"{known.text} ({listed})",
                found=f"{spot} ({' '.join(map(str, numbers))})",
            )

    def _verify_in_time(self, bet: Bet, body: BetPlaced) -> None:
        told = self.told
        window = self.window_of(body)
        where = "after the close" if told.status != "betting" else "in a time of betting that had ended"
        if told.status == "returned":
            self.find("LATE_BET", "a bet was taken after the house had ended the round", bet)
        elif window is None:
            self.find(
                "LATE_BET", f"the bet was taken {where}, and no number of its terminal shows that it was placed before", bet
            )
        elif not body.late:
            self.find("LATE_BET", f"the bet was taken {where}, and is not marked as late", bet)
        elif not told.ended and window.throws != len(told.valid):
            self.find("LATE_BET", "the dice had been thrown since the time of betting in which the bet was placed", bet)
        if window is not None:
            bet.stages[0] = bet.stages[0]._replace(after=window.throws)

    def carried_in(self, body: BetsCarried) -> None:
        """Bets are taken over from the round before."""
        told = self.told
        if told.carried_from is None:
            told.carried_from = body.from_round
        for each in body.bets:
            if each.bet in told.bets:
                self.find("BET_TWICE", f"the bet on {each.spot} is in this round already", told.bets[each.bet])
                continue
            bet = self._came(each.bet, each.player, each.spot, each.stake, 0)
            if bet is not None:
                bet.locked, bet.carried_from, bet.late = body.locked, body.from_round, told.ended
            self.links.append(
                Link(False, body.from_round, each.bet, each.player, each.spot, each.stake, self.now, told.id, told.table)
            )

    def carry(self, bet: Bet) -> None:
        """The bet goes on to the round that follows."""
        bet.left, bet.left_after = "carried", len(self.told.valid)
        lies = bet.standing
        self.links.append(
            Link(
                True,
                self.told.id,
                bet.id,
                bet.player,
                lies.spot,
                lies.stake,
                self.now,
                self.told.id,
                self.told.table,
                self.told.successor,
            )
        )

    def withdrawn(self, body: BetWithdrawn) -> None:
        """A player takes a bet back."""
        self._taken_back(body, "withdrawn", in_time=self._acts_in_time(body))

    def voided_one(self, body: BetVoided) -> None:
        """A supervisor declares a bet void."""
        self._taken_back(body, "void", in_time=self.told.status == "betting")

    def _taken_back(self, body: BetWithdrawn | BetVoided, how: str, *, in_time: bool) -> None:
        bet = self.bet_of(body.bet, "taken back is")
        if bet is None or not self._verify_movable(bet, f"{how}", in_time=in_time):
            return
        self.verify_return(bet, body.player, body.spot, body.stake)
        bet.left = "withdrawn" if how == "withdrawn" else "void"
        bet.left_after = len(self.told.valid)

    def verify_return(self, bet: Bet, player: str, spot: str, stake: str) -> None:
        """What goes back is what was staked, to whom it belongs."""
        lies = bet.standing
        if stake != lies.stake:
            self.find(
                "RETURN_DIFF", f"another stake than that on {lies.spot} went back", bet, expected=bet.stake, found=whole(stake)
            )
        elif player != bet.player:
            self.find(
                "PLAYER_DIFF", f"the stake on {lies.spot} went back to another player", bet, expected=bet.player, found=player
            )
        elif spot != lies.spot:
            self.find("SPOT_DIFF", "the bet that went back lies elsewhere", bet, expected=lies.spot, found=spot)

    def changed(self, body: BetChanged) -> None:
        """A player moves, raises or lowers a bet."""
        bet = self.bet_of(body.bet, "changed is")
        if bet is None or not self._verify_movable(bet, "changed", in_time=self._acts_in_time(body)):
            return
        lies = bet.standing
        if body.player != bet.player:
            self.find("PLAYER_DIFF", "another player changes the bet", bet, expected=bet.player, found=body.player)
        elif body.was_spot != lies.spot:
            self.find("SPOT_DIFF", "the bet lay elsewhere before it was changed", bet, expected=lies.spot, found=body.was_spot)
        elif body.was_stake != lies.stake:
            self.find(
                "STAKE_DIFF",
                "the bet had another stake before it was changed",
                bet,
                expected=bet.stake,
                found=whole(body.was_stake),
            )
        moved = body.spot != body.was_spot
        if moved:
            self._verify_spot(bet, body.spot, body.numbers)
        bet.stages.append(Stage(len(self.told.valid), body.spot, int(body.stake), moved))
        bet.lies(bet.player, body.spot, int(body.stake))

    def _acts_in_time(self, body: BetWithdrawn | BetChanged) -> bool:
        """A player's act counts while betting is open, or where its number shows that it came before the bell."""
        told = self.told
        if told.status == "betting" and not self.numbered_before_reopening(body):
            return True
        window = self.window_of(body)
        return window is not None and not told.ended and window.throws == len(told.valid)

    def _verify_movable(self, bet: Bet, how: str, *, in_time: bool) -> bool:
        """Whether the bet can go or change at all; what bars it becomes a finding."""
        if not in_time:
            self.find("OUT_OF_PLACE", f"the bet on {bet.spot} was {how} after the close", bet)
        if bet.locked:
            self.find("LOCKED_BET", f"the bet on {bet.spot} was carried from a void round, and was {how}", bet)
        if not bet.open:
            become = bet.left or bet.standing.result
            self.find("OUT_OF_PLACE", f"the bet on {bet.spot} is {become}, and was {how} after that", bet)
        return bet.open

    def closed(self, body: BettingClosed) -> None:
        """The bell."""
        told = self.told
        if told.status != "betting":
            self.find("OUT_OF_PLACE", "betting was closed a second time")
            return
        told.status = "closed"
        again = self.reopened
        opened = again if again is not None and again.terminal == body.terminal and again.sequence is not None else None
        self.windows.append(Window(opened, body, len(told.valid)))

    def reopen(self, body: BettingReopened) -> None:
        """Craps: bets are taken again."""
        told = self.told
        if told.status != "closed" or told.opened is None or told.opened.game != CRAPS:
            self.find("OUT_OF_PLACE", "betting was opened again, which is not done here")
            return
        told.status = "betting"
        self.reopened = body

    def late_bet(self, body: LateBetRecorded) -> None:
        """Chips that came late and went back: never a bet."""
        if self.told.status == "betting":
            self.find("OUT_OF_PLACE", "chips were given back as late while betting was open")

    def restored(self, body: ChipsRestored) -> None:
        """Winning chips were put back as they lay: no money moves."""
        if not self.told.ended:
            self.find("OUT_OF_PLACE", "winning chips were put back before anything had won")

    def shooter(self, body: ShooterChanged) -> None:
        """Who throws: no money moves."""
