"""Bets while they are taken: placed, withdrawn, moved, raised, lowered, declared void."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from ledger import money
from ledger.errors import Refusal
from ledger.events import BetChanged, BetPlaced, BetVoided, BetWithdrawn
from ledger.round.bets import Bet, Window
from ledger.round.guards import Guards
from ledger.round.limiting import Limiting
from ledger.round.order import precedes, verify_order
from ledger.round.persons import verify_person
from ledger.round.state import BETTING, CRAPS, Status
from ledger.round.terms import Origin
from ledger.round.trying import succeeds
from ledger.rules import COME_OUT, Regulation, Spot, State, can_place, state_after, verify_placing

_ODDS = ("pass_odds", "come_odds", "dont_odds")
"""Chances that are added to another bet of the same player."""


class Betting(Guards, Limiting):
    """What may happen to bets as long as they are taken."""

    __slots__ = ()

    # Placing.

    def verify_bet(
        self, regulation: Regulation, bet: UUID, origin: Origin, *, player: str, spot: str, stake: str, currency: str
    ) -> tuple[Spot, int, Window | None]:
        """The spot and the stake (minor units) of a bet that may be placed; raises the reason otherwise.

        A bet that arrives after the close is taken if the terminal that closed betting had numbered it before: the third part of
        the answer is then the time of betting in which it was placed.
        """
        terms = self.terms
        late = self._verify_in_time(regulation, origin, spot) if self.windows or self.status is not BETTING else None
        if bet in self.bets or (self.gone and bet in self.gone):
            raise Refusal("LGR-0209", "a bet with this id stands already", field="id", value=str(bet))
        if currency != terms.currency:
            money.minor_digits(currency)
            raise Refusal(
                "LGR-0208",
                f"table {terms.table} takes {terms.currency}",
                field="currency",
                value=currency,
                help=f"exchange the chips; stakes at this table are in {terms.currency}",
            )
        placed = regulation.spot(spot)
        if terms.game == CRAPS:
            if self.status.ended and late is not None:
                verify_placing(self._state_then(regulation, late), placed, self._own_then(regulation, player, late))
            else:
                verify_placing(self.state, placed, self._own(regulation, player, placed))
        amount = money.parse_minor(stake, field="stake")
        if self.limits is not None:
            if late is not None and self.status.ended:
                self.limits.verify_stake(player, placed, amount, self._had(regulation, player, placed, late))
            else:
                self._book_of(regulation).verify(player, placed, amount, late=late is not None)
        return placed, amount, late

    def can_bet(
        self, regulation: Regulation, bet: UUID, origin: Origin, *, player: str, spot: str, stake: str, currency: str
    ) -> bool:
        """Whether `place_bet` would succeed."""
        return succeeds(self.verify_bet, regulation, bet, origin, player=player, spot=spot, stake=stake, currency=currency)

    def place_bet(
        self,
        regulation: Regulation,
        bet: UUID,
        origin: Origin,
        *,
        player: str,
        spot: str,
        stake: str,
        currency: str,
        seat: int | None = None,
        chip: str = "cash",
    ) -> None:
        """Places one bet: `spot` in bet notation, `stake` in minor units of the round's currency."""
        placed, amount, late = self.verify_bet(regulation, bet, origin, player=player, spot=spot, stake=stake, currency=currency)
        self._happen(
            BetPlaced(  # of all events the one that has to be quick: a dict between would take longer than the rest
                cause=origin.cause,
                terminal=origin.terminal,
                sequence=origin.sequence,
                occurred_at=origin.occurred_at,
                received_at=origin.received_at,
                epoch=origin.epoch,
                by=origin.by,
                flags=origin.flags,
                bet=bet,
                player=player,
                seat=seat,
                spot=placed.text,
                numbers=placed.numbers,
                stake=str(amount),
                currency=currency,
                chip=chip,
                late=late is not None,
            )
        )
        if self.limits is not None:
            self._recount(came=(player, placed, amount))

    def _verify_in_time(self, regulation: Regulation, origin: Origin, spot: str) -> Window | None:
        """The ended time of betting in which a bet was placed, None where it is placed now; raises where it was in neither."""
        if self.status is Status.BETTING and not precedes(origin, self.reopened, self.epochs):
            return None
        if self.status is Status.RETURNED:
            raise self._over("spot", spot)
        window = self.window_of(origin)
        if window is None:
            raise Refusal(
                "LGR-0210",
                "the bet came when betting was closed, and no number of its terminal shows that it was placed before",
                field="spot",
                value=spot,
                help="return the chips to the player, or place the bet on the next round; a person records that it came late",
                cite=regulation.cite(regulation.articles.get("closing")),
            )
        if not self.status.ended and window.throws != self.valid_throws:
            raise Refusal(
                "LGR-0211",
                "the bet was placed in time, but the dice have been thrown since",
                field="spot",
                value=spot,
                help="send it again when the round is settled; it is then settled by a correction",
            )
        return window

    # Taking back and changing.

    def verify_withdrawal(self, regulation: Regulation, bet: UUID, origin: Origin | None = None) -> Bet:
        """The bet, which its player may take back; raises the reason otherwise."""
        found = self._verify_movable(regulation, bet, origin)
        self._verify_no_contract(regulation, found, "taken back")
        self._verify_odds_stay(regulation, found, instead=None)
        return found

    def can_withdraw(self, regulation: Regulation, bet: UUID) -> bool:
        """Whether `withdraw_bet` would succeed."""
        return succeeds(self.verify_withdrawal, regulation, bet)

    def withdraw_bet(self, regulation: Regulation, bet: UUID, origin: Origin) -> None:
        """A player takes a bet back while betting is open; the stake goes back."""
        found = self.verify_withdrawal(regulation, bet, origin)
        self._happen(
            BetWithdrawn(
                **origin._asdict(),
                bet=bet,
                player=found.player,
                spot=found.spot,
                stake=str(found.stake),
                currency=self.terms.currency,
            )
        )
        self._recount(went=(found.player, regulation.spot_in_play(found.spot), found.stake))

    def verify_change(
        self, regulation: Regulation, bet: UUID, origin: Origin | None = None, *, spot: str | None, stake: str | None
    ) -> tuple[Bet, Spot, int]:
        """The bet with the spot and the stake that it may have from now on; raises the reason otherwise."""
        found = self._verify_movable(regulation, bet, origin)
        before = regulation.spot_in_play(found.spot)
        after = before if spot is None else regulation.spot(spot)
        amount = found.stake if stake is None else money.parse_minor(stake, field="stake")
        if after is before and amount == found.stake:
            raise Refusal(
                "LGR-0222",
                f"the bet lies on {found.spot} with this stake already",
                field="bet",
                value=str(bet),
                help="name the spot or the stake that it shall have",
            )
        if after is not before or amount < found.stake:
            self._verify_no_contract(regulation, found, "moved or reduced")
        if after is not before:
            self._verify_odds_stay(regulation, found, instead=after)
        if self.terms.game == CRAPS and (after is not before or amount > found.stake):
            verify_placing(self.state, after, self._own(regulation, found.player, after, without=found))
        if self.limits is not None:
            self._book_of(regulation).verify_change(found.player, (before, found.stake), after, amount)
        return found, after, amount

    def can_change(self, regulation: Regulation, bet: UUID, *, spot: str | None, stake: str | None) -> bool:
        """Whether `change_bet` would succeed."""
        return succeeds(self.verify_change, regulation, bet, spot=spot, stake=stake)

    def change_bet(
        self, regulation: Regulation, bet: UUID, origin: Origin, *, spot: str | None = None, stake: str | None = None
    ) -> None:
        """A player moves, raises or lowers a bet while betting is open; the difference of the stakes moves."""
        found, after, amount = self.verify_change(regulation, bet, origin, spot=spot, stake=stake)
        went = (found.player, regulation.spot_in_play(found.spot), found.stake)
        self._happen(
            BetChanged(
                **origin._asdict(),
                bet=bet,
                player=found.player,
                was_spot=found.spot,
                was_stake=str(found.stake),
                spot=after.text,
                numbers=after.numbers,
                stake=str(amount),
                currency=self.terms.currency,
            )
        )
        self._recount(went=went, came=(found.player, after, amount))

    # A bet that a supervisor declares void.

    def verify_bet_void(self, regulation: Regulation, bet: UUID, origin: Origin) -> Bet:
        """The bet, which may be declared void; raises the reason otherwise."""
        verify_person(origin)
        found = self._verify_movable(regulation, bet)
        # One person could take an advantage from the house, or from the player: that is for two.
        self._verify_no_contract(
            regulation,
            found,
            "declared void by one person",
            help="propose a correction of kind bet_void, and have it approved",
            either_side=True,
        )
        self._verify_odds_stay(regulation, found, instead=None)
        return found

    def can_void_bet(self, regulation: Regulation, bet: UUID, origin: Origin) -> bool:
        """Whether `void_bet` would succeed."""
        return succeeds(self.verify_bet_void, regulation, bet, origin)

    def void_bet(self, regulation: Regulation, bet: UUID, origin: Origin, *, reason: str, note: str | None = None) -> None:
        """A supervisor declares one bet void before betting closes; the stake goes back."""
        found = self.verify_bet_void(regulation, bet, origin)
        self._happen(
            BetVoided(
                **origin._asdict(),
                bet=bet,
                player=found.player,
                spot=found.spot,
                stake=str(found.stake),
                currency=self.terms.currency,
                reason=reason,
                note=note,
            )
        )
        self._recount(went=(found.player, regulation.spot_in_play(found.spot), found.stake))

    # What all of these ask.

    def _verify_movable(self, regulation: Regulation, bet: UUID, origin: Origin | None = None) -> Bet:
        """The open bet with this id, as long as betting is open and nothing bars that it goes or changes.

        After the bell a player's act (that of `origin`) still counts as a bet would: if the terminal that rang it had numbered
        the act before, and the table has not shown its result.
        """
        found = self.verify_known_bet(bet)
        if self.status is not Status.BETTING or (origin is not None and precedes(origin, self.reopened, self.epochs)):
            in_time = None if origin is None else self.window_of(origin)
            if in_time is None or self.status.ended or in_time.throws != self.valid_throws:
                raise Refusal(
                    "LGR-0204",
                    f"no bet is changed or withdrawn any more: {self.stands}"
                    if in_time is None
                    else f"its terminal numbered it before the bell, and it came when the result was known: {self.stands}",
                    field="bet",
                    value=str(bet),
                    help=None if in_time is None else "put the bet right by a correction: of kind bet, or bet_void",
                    cite=regulation.cite(regulation.articles.get("closing")),
                )
        if found.decided is not None or found.left is not None:
            become = found.left or found.result
            raise Refusal("LGR-0213", f"the bet on {found.spot} is {become} already", field="bet", value=str(bet))
        if origin is not None:
            verify_order(
                origin, found.changed_by, self.epochs, "LGR-0222", "before a change that the bet has had since", bet, field="bet"
            )
        if found.locked:
            clause = next((void for void in regulation.voids if void.disposition == "carry"), None)
            raise Refusal(
                "LGR-0214",
                "the bet was carried from a void round, and may not be withdrawn, moved or reduced",
                field="bet",
                value=str(bet),
                help="new bets are taken beside it",
                cite=regulation.cite(clause and clause.article),
            )
        for hold in self.open_holds:
            if hold.held.bet == bet:
                raise self._under(hold)
        return found

    def _verify_no_contract(
        self, regulation: Regulation, bet: Bet, what: str, help: str | None = None, *, either_side: bool = False
    ) -> None:
        """Craps: a bet with the shooter stays once it has its number; its advantage was before."""
        number = self.number_of(regulation, bet, either_side=either_side)
        if number is not None:
            spot = regulation.spot_in_play(bet.spot)
            raise Refusal(
                "LGR-0214",
                f"{spot.chance.code} has its number, {number}, and may not be {what} until it is decided",
                field="bet",
                value=str(bet.id),
                help=help or "its odds may be taken back at any time",
                cite=spot.cite,
            )

    def _verify_odds_stay(self, regulation: Regulation, bet: Bet, *, instead: Spot | None) -> None:
        """Craps: odds lie behind a bet of the player's own, so that one does not go before them."""
        if self.terms.game != CRAPS:
            return
        own = [regulation.spot_in_play(each.spot) for each in self._others(bet.player, bet)]
        if instead is not None:
            own.append(instead)
        for odds in own:
            if odds.chance.code in _ODDS and not can_place(self.state, odds, own):
                raise Refusal(
                    "LGR-0214",
                    f"the player's {odds.text} lies behind it",
                    field="bet",
                    value=str(bet.id),
                    help="take back the odds first",
                    cite=odds.cite,
                )

    def _own(self, regulation: Regulation, player: str, spot: Spot, without: Bet | None = None) -> list[Spot]:
        """The spots of the player's open bets, where it depends on them whether a bet can be placed on the spot."""
        if spot.chance.code not in _ODDS:
            return []
        return [regulation.spot_in_play(bet.spot) for bet in self._others(player, without)]

    def _state_then(self, regulation: Regulation, window: Window) -> State:
        """Craps: where the round stood in an earlier time of betting."""
        valid = [throw for throw in self.throws if throw != "void"][: window.throws]
        return state_after(COME_OUT, regulation.outcome(",".join(valid))) if valid else COME_OUT

    def _own_then(self, regulation: Regulation, player: str, window: Window) -> list[Spot]:
        """Craps: where the player's bets lay in an earlier time of betting; of one that moved, both spots."""
        return [
            regulation.spot_in_play(spot)
            for bet in self.bets.values()
            if bet.player == player and bet.placed_after <= window.throws
            for spot in (bet.placed_on, bet.spot)
        ]

    def _others(self, player: str, without: Bet | None) -> Iterable[Bet]:
        return (bet for bet in self.bets.values() if bet.player == player and bet.decided is None and bet is not without)
