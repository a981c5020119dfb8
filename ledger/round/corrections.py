"""Corrections: one person asks, another approves, and only then does anything move. Nothing is edited."""

from __future__ import annotations

from uuid import UUID

from ledger import money
from ledger.errors import Refusal
from ledger.events import Body, CorrectionApproved, CorrectionDeclined, CorrectionProposed, Event
from ledger.round.bets import Correction
from ledger.round.effects import Asked, Case, article_breached, decided_since, effects, in_one_form, verify_fields
from ledger.round.guards import Guards
from ledger.round.persons import verify_person
from ledger.round.terms import Origin
from ledger.round.trying import succeeds
from ledger.rules import Regulation


class Correcting(Guards):
    """What may be put right afterwards, by one person and with the approval of another."""

    __slots__ = ()

    # Somebody asks.

    def verify_proposal(self, regulation: Regulation, asked: Asked, origin: Origin) -> tuple[Asked, Origin]:
        """What is asked for, in canonical form, and its origin with what is odd about it.

        Raises the reason where it could not be approved as the round is now.
        """
        verify_person(origin)
        verify_fields(asked)
        asked = in_one_form(regulation, asked)
        return asked, _flagged(origin, effects(Case(self, regulation, asked, origin.cause, origin)))

    def can_propose(self, regulation: Regulation, asked: Asked, origin: Origin) -> bool:
        """Whether `propose_correction` would succeed."""
        return succeeds(self.verify_proposal, regulation, asked, origin)

    def propose_correction(self, regulation: Regulation, asked: Asked, origin: Origin) -> None:
        """Puts a correction on record; its id is the report's. Nothing moves. Several may wait at the same time."""
        asked, origin = self.verify_proposal(regulation, asked, origin)
        ex_gratia = asked.kind == "ex_gratia"
        self._happen(
            CorrectionProposed(
                **origin._asdict(),
                **asked._asdict(),
                correction=origin.cause,
                approvals=2 if ex_gratia else 1,
                currency=self.terms.currency,
                article=article_breached(regulation) if ex_gratia else None,
            )
        )

    def effects_of(self, regulation: Regulation, correction: UUID, origin: Origin) -> list[Event]:
        """What the last approval of a correction that waits would bring about, on the round as it is now. Nothing happens.

        Raises the reason where it could not be approved (any more).
        """
        asked = Asked.of(self._waiting(correction).proposed)
        return effects(Case(self, regulation, asked, correction, origin))

    # Another person decides.

    def verify_approval(self, regulation: Regulation, correction: UUID, origin: Origin) -> list[Event]:
        """The events that this approval brings about; raises the reason where there is one against it."""
        person = verify_person(origin)
        found = self._waiting(correction)
        if person == found.author:
            raise _not_this_person("who asked for a correction does not approve it", person)
        if person in found.approved_by:
            raise _not_this_person("this person has approved it already, and it takes two", person)
        number = len(found.approved_by) + 1
        case = Case(self, regulation, Asked.of(found.proposed), correction, origin)
        made = effects(case)
        if (overtaken := self.overtaken(correction, thrown=decided_since(case, found.throws))) is not None:
            raise overtaken
        approved = CorrectionApproved(**_flagged(origin, made)._asdict(), correction=correction, approval=number)
        return [approved, *made] if number == found.proposed.approvals else [approved]

    def can_approve(self, regulation: Regulation, correction: UUID, origin: Origin) -> bool:
        """Whether `approve_correction` would succeed."""
        return succeeds(self.verify_approval, regulation, correction, origin)

    def approve_correction(self, regulation: Regulation, correction: UUID, origin: Origin) -> None:
        """Approves a correction, on what it was proposed on; with the last approval needed it is made."""
        for event in self.verify_approval(regulation, correction, origin):
            self._happen(event)

    def overtaken(self, correction: UUID, *, thrown: bool = False) -> Refusal | None:
        """Why nobody can approve a correction that waits, where what it was proposed on has changed; else None.

        Whoever proposed it saw other figures, and so does whoever approves it who was shown the proposal. `thrown`: throws since
        then decided the bet as it would be.
        """
        found = self._waiting(correction)
        proposed = found.proposed
        if self.basis_of(proposed) == found.basis and not thrown:
            return None
        now = "bets of the round were decided or corrected since"
        if proposed.kind == "ex_gratia":
            now = f"{proposed.player} was paid ex gratia in this round since"
        if proposed.bet is not None:
            bet = self.verify_known_bet(proposed.bet)
            stake = f"{self.terms.currency} {money.format_plain(bet.last_stake, self.terms.currency)}"
            now = f"the bet on {bet.spot} is {bet.player}'s by now, {bet.left or bet.result}, with a stake of {stake}"
            mispaid = [each for each in self.adjustments if each.bet == bet.id]
            now += f" and {len(mispaid)} mispays put right" if mispaid else ""
            if thrown and self.basis_of(proposed) == found.basis:
                now = f"the dice were thrown since, and decided the bet as it would be: on {proposed.spot}"
        return Refusal(
            "LGR-0250",
            f"the correction was proposed on what is not so any more: {now}",
            field="correction",
            value=str(proposed.correction),
            help="look at the round as it is now, decline this correction, and propose what is still to be put right",
        )

    def verify_decline(self, correction: UUID, origin: Origin) -> None:
        """Raises unless a person declines, or as its author withdraws, a correction that still waits."""
        verify_person(origin)
        self._waiting(correction)

    def can_decline(self, correction: UUID, origin: Origin) -> bool:
        """Whether `decline_correction` would succeed."""
        return succeeds(self.verify_decline, correction, origin)

    def decline_correction(self, correction: UUID, origin: Origin, note: str | None = None) -> None:
        """Declines a correction, or withdraws it where it is its author who does: it can never be approved."""
        self.verify_decline(correction, origin)
        self._happen(CorrectionDeclined(**origin._asdict(), correction=correction, note=note))

    def _waiting(self, id: UUID) -> Correction:
        found = self.corrections.get(id)
        if found is None:
            raise Refusal("LGR-0248", "the round has no correction with this id", field="correction", value=str(id))
        if found.status != "proposed":
            how = "was made" if found.status == "made" else "was declined"
            raise Refusal(
                "LGR-0243",
                f"the correction {how} already",
                field="correction",
                value=str(id),
                help="what a correction did is undone by another one",
            )
        return found


def _not_this_person(detail: str, person: str) -> Refusal:
    return Refusal("LGR-0249", detail, field="by", value=person, help="it takes another person who may approve corrections")


def _flagged(origin: Origin, made: list[Event]) -> Origin:
    """Who proposes or approves is shown what is odd about the events that it comes to."""
    for event in made:
        for flag in event.flags if isinstance(event, Body) else ():
            origin = origin.flagged(flag)
    return origin
