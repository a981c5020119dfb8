"""What comes between: void launches and shakes, chips in disarray, bets placed too late, reviews."""

from __future__ import annotations

from typing import Self
from uuid import UUID

from ledger import money
from ledger.errors import Refusal
from ledger.events import ChipsRestored, LateBetRecorded, RoundHeld, RoundReleased, RoundVoided
from ledger.round.bets import Bet, Hold
from ledger.round.limiting import Limiting
from ledger.round.persons import verify_person
from ledger.round.state import Status
from ledger.round.succession import Successor
from ledger.round.terms import Origin
from ledger.round.throwing import Throwing
from ledger.round.trying import succeeds
from ledger.rules import Regulation, Spot, Void

_RESTORING = {"30/2003": "5(3)"}
"""Order → the article by which disarranged winning chips are put back."""


class Interruptions(Throwing, Limiting):
    """What may come between, and what it does to the bets."""

    __slots__ = ()

    # A launch or shake without result.

    def verify_void(self, regulation: Regulation, reason: str, successor: Successor | None) -> Void:
        """The clause by which the launch or shake is void; raises the reason why it is not, otherwise."""
        self.verify_game(craps=False, help="report a void throw as a throw, with the code of its clause in `void`")
        clause = self.verify_clause(regulation, reason, field="reason")
        self.verify_undecided()
        if clause.disposition == "carry":
            self.verify_successor(successor, f"by art. {clause.article} it takes over the stakes")
        elif successor is not None:
            raise Refusal(
                "LGR-0216",
                f"by art. {clause.article} the stakes stand in this round, so none follows it",
                field="successor",
                value=str(successor.id),
                help="leave the successor out",
                cite=regulation.cite(clause.article),
            )
        return clause

    def can_void(self, regulation: Regulation, reason: str, successor: Successor | None = None) -> bool:
        """Whether `void` would succeed."""
        return succeeds(self.verify_void, regulation, reason, successor)

    def void(
        self,
        regulation: Regulation,
        origin: Origin,
        *,
        reason: str,
        successor: Successor | None = None,
        note: str | None = None,
    ) -> Self | None:
        """Records that a launch or shake has no result. The stakes stand, or go to the successor, which is then the answer."""
        self.verify_after_bell(origin)
        clause = self.verify_void(regulation, reason, successor)
        carried = self.open_bets if clause.disposition == "carry" else []
        self._happen(
            RoundVoided(
                **origin._asdict(),
                disposition=clause.disposition,
                reason=clause.code,
                article=regulation.cite(clause.article),
                launch=self.launches + 1,
                currency=self.terms.currency,
                successor=None if successor is None else successor.id,
                carried=str(sum(bet.stake for bet in carried)),
                note=note,
            )
        )
        if successor is None:
            return None
        begun = type(self)(successor.id)
        begun._begin(self, successor, origin)
        begun.take_over(regulation, origin, carried, from_round=self.id, locked=True, article=clause.article)
        return begun

    def verify_late_carry(self, regulation: Regulation, player: str, spot: Spot, stake: int) -> None:
        """Raises where this round, which has the bets of a void one by now, cannot take one more that comes late.

        Where it has given them back, that one goes back as well, as a late bet of this round itself does: it would be locked
        here, with nothing left to decide it. And the player has no more on a spot here than the table takes.
        """
        if self.status is Status.RETURNED:
            raise Refusal(
                "LGR-0223",
                f"round {self.id} had the bets of this one; the house ended it and gave the stakes back",
                field="spot",
                value=spot.text,
                help="give the chips back to the player: no bet of these rounds stands any more",
            )
        if self.limits is not None:
            self.limits.verify_stake(player, spot, stake, self._had(regulation, player, spot))

    def carry_late(self, regulation: Regulation, origin: Origin, ended: Self, bet: UUID) -> None:
        """Takes over, locked, a bet that reached a void round after its others had been carried here."""
        clause = next(clause for clause in regulation.voids if clause.disposition == "carry")
        self.take_over(regulation, origin, [ended.gone[bet]], from_round=ended.id, locked=True, article=clause.article)

    # Winning chips in disarray.

    def verify_restoring(self, regulation: Regulation, bets: tuple[UUID, ...]) -> str:
        """The article by which disarranged winning chips are put back; raises the reason why they are not, otherwise."""
        article = _RESTORING.get(regulation.order)
        if article is None:
            raise Refusal(
                "LGR-0217",
                f"{regulation.order} has no article on chips in disarray",
                value=str(self.id),
                help="what was paid wrongly is put right by a correction",
            )
        _ = self.terms
        if not self.status.ended:
            raise Refusal(
                "LGR-0220",
                "no outcome is recorded, so no chips have won",
                value=str(self.id),
                help="record the outcome, then send the same event again",
                cite=regulation.cite(article),
            )
        for bet in bets:
            self.verify_known_bet(bet)
        return article

    def can_restore(self, regulation: Regulation, bets: tuple[UUID, ...] = ()) -> bool:
        """Whether `restore_chips` would succeed."""
        return succeeds(self.verify_restoring, regulation, bets)

    def restore_chips(
        self,
        regulation: Regulation,
        origin: Origin,
        *,
        restored_by: str,
        source: str,
        bets: tuple[UUID, ...] = (),
        note: str | None = None,
    ) -> None:
        """Winning chips that were disarranged lie as they did (30/2003 art. 5(3)). No money moves.

        Whether it was as the record has it is for a correction to say, where it was not.
        """
        article = self.verify_restoring(regulation, bets)
        self._happen(
            ChipsRestored(
                **origin._asdict(),
                restored_by=restored_by,
                source=source,
                bets=bets,
                article=regulation.cite(article),
                note=note,
            )
        )

    # Chips that came after the bell and were given back.

    def verify_late_bet(
        self, regulation: Regulation, origin: Origin, *, spot: str, stake: str, currency: str
    ) -> tuple[Spot, int]:
        """Where the chips lay and how many (minor units); raises the reason why this is not recorded, otherwise."""
        verify_person(origin)
        terms = self.terms
        if self.status is Status.BETTING:
            raise Refusal("LGR-0221", "betting is open, so no bet is late", value=str(self.id), help="place the bet")
        if currency != terms.currency:
            money.minor_digits(currency)
            raise Refusal("LGR-0208", f"table {terms.table} takes {terms.currency}", field="currency", value=currency)
        return regulation.spot(spot), money.parse_minor(stake, field="stake")

    def can_record_late_bet(self, regulation: Regulation, origin: Origin, *, spot: str, stake: str, currency: str) -> bool:
        """Whether `record_late_bet` would succeed."""
        return succeeds(self.verify_late_bet, regulation, origin, spot=spot, stake=stake, currency=currency)

    def record_late_bet(
        self,
        regulation: Regulation,
        origin: Origin,
        *,
        player: str,
        spot: str,
        stake: str,
        currency: str,
        seat: int | None = None,
        note: str | None = None,
    ) -> None:
        """Chips were placed after betting closed and given back: on record, and never a bet."""
        placed, amount = self.verify_late_bet(regulation, origin, spot=spot, stake=stake, currency=currency)
        self._happen(
            LateBetRecorded(
                **origin._asdict(),
                player=player,
                seat=seat,
                spot=placed.text,
                stake=str(amount),
                currency=currency,
                article=regulation.cite(regulation.articles.get("closing")),
                note=note,
            )
        )

    # Reviews.

    def verify_hold(self, origin: Origin, bet: UUID | None) -> Bet | None:
        """The bet in question, where one is; raises the reason why nothing is held, otherwise."""
        verify_person(origin)
        _ = self.terms
        if bet is None:
            return None
        found = self.verify_known_bet(bet)
        if found.left == "carried":  # nothing is decided here any more that this could hold up
            raise Refusal(
                "LGR-0241",
                f"the bet was carried, and round {self.successor} has it",
                field="bet",
                value=str(bet),
                help="hold it in the round that has it",
            )
        return found

    def can_hold(self, origin: Origin, bet: UUID | None = None) -> bool:
        """Whether `hold` would succeed."""
        return succeeds(self.verify_hold, origin, bet)

    def hold(self, origin: Origin, *, reason: str, bet: UUID | None = None, note: str | None = None) -> None:
        """Holds the round, or one bet of it, for review: nothing settles it until its release. The hold's id is the report's."""
        self.verify_hold(origin, bet)
        self._happen(RoundHeld(**origin._asdict(), hold=origin.cause, bet=bet, reason=reason, note=note))

    def verify_release(self, origin: Origin, hold: UUID, finding: str, correction: UUID | None) -> Hold:
        """The hold, which may be released; raises the reason why not, otherwise."""
        verify_person(origin)
        _ = self.terms
        found = self.holds.get(hold)
        if found is None:
            raise Refusal(
                "LGR-0224",
                "the round has no hold of this id",
                field="hold",
                value=str(hold),
                help="a hold's id is the event id with which it was reported; send that event first",
            )
        if found.finding is not None:
            raise Refusal("LGR-0225", f"the hold was released: {found.finding}", field="hold", value=str(hold))
        made = None if correction is None else self.corrections.get(correction)
        led_to = made is not None and made.status == "made"
        if not (led_to if finding == "corrected" else correction is None):
            refusal = Refusal(
                "LGR-0226",
                "the finding `corrected`, and no other, names the correction that it led to, once that is approved",
                field="correction",
                value=None if correction is None else str(correction),
                help="have the correction approved and name it with `corrected`; where nothing was wrong, it is `stands`",
            )
            refusal.final = finding != "corrected" or correction is None  # no approval changes what it says
            raise refusal
        return found

    def can_release(self, origin: Origin, hold: UUID, finding: str = "stands", correction: UUID | None = None) -> bool:
        """Whether `release` would succeed."""
        return succeeds(self.verify_release, origin, hold, finding, correction)

    def release(
        self, origin: Origin, hold: UUID, *, finding: str, correction: UUID | None = None, note: str | None = None
    ) -> None:
        """The review of a hold has come to its finding."""
        self.verify_release(origin, hold, finding, correction)
        self._happen(RoundReleased(**origin._asdict(), hold=hold, finding=finding, correction=correction, note=note))
