"""What each event of a round was to one of its bets, in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cli.output import plain, to_the_second

if TYPE_CHECKING:
    from ledger.events import Recorded


_APART = 1.0
"""Seconds; people are shown when an event was received where that was later by more than this."""


def came_apart(body: Any) -> bool:
    """Whether an event reached the service at another time than it happened."""
    return bool(abs((body.received_at - body.occurred_at).total_seconds()) > _APART)


def when(body: Any) -> str:
    """When an event happened, by its terminal's clock; and when it was received, where that was another time."""
    received = f", received {to_the_second(body.received_at)}" if came_apart(body) else ""
    return f"{to_the_second(body.occurred_at)}{received}"


def happened(events: Sequence[Recorded], bet: UUID, corrections: Collection[UUID]) -> list[tuple[str, Recorded]]:
    """The events that a bet's fate rests on, with what each was to it; `corrections` are those that concern it."""
    return [(words, recorded) for recorded in events if (words := _words(recorded.body, bet, corrections)) is not None]


def _words(body: Any, bet: UUID, corrections: Collection[UUID]) -> str | None:
    """None of an event that was nothing to the bet."""
    from ledger import events

    match body:
        case events.RoundOpened():
            return "the round opened"
        case events.BettingClosed():
            return "betting closed"
        case events.BettingReopened():
            return "betting was open again"
        case events.BetPlaced() | events.BetChanged() | events.BetWithdrawn() | events.BetVoided() | events.PayoutMade():
            return _of_the_bet(body) if body.bet == bet else None
        case events.BetsCarried():
            carried = any(each.bet == bet for each in body.bets)
            locked = ", to stay until it is decided" if body.locked else ""
            return f"the bet came from round {body.from_round}{_by(body.article)}{locked}" if carried else None
        case events.OutcomeRecorded():
            return f"the table showed {body.shown}{_lost(body, bet)}"
        case events.ThrowRecorded():
            return _throw(body, bet)
        case events.RoundVoided():
            return _void(body, bet)
        case events.RoundSettled():
            return "the round was settled"
        case events.RoundHeld() if body.bet in (None, bet):
            return f"{body.by} held the {'bet' if body.bet else 'round'} for review: {body.reason}{_note(body)}"
        case events.RoundReleased():
            return f"{body.by} ended the review: {body.finding}{_note(body)}"
        case events.CorrectionProposed() if body.correction in corrections:
            return f"{body.by} asked for a correction ({body.kind}): {body.reason}{_note(body)}"
        case events.CorrectionApproved() if body.correction in corrections:
            return f"{body.by} approved it"
        case events.CorrectionDeclined() if body.correction in corrections:
            return f"{body.by} declined it{_note(body)}"
        case events.OutcomeCorrected() if body.correction in corrections:
            return f"the outcome was put right: {body.shown}, not {body.was_shown}{_posted(body)}"
        case events.BetCorrected() if body.bet == bet:
            return f"{_put_right(body)}{_posted(body)}"
        case events.PlayerAdjusted() if body.bet == bet:
            towards = "paid to" if body.direction == "to_player" else "taken from"
            paid = f"{body.currency} {plain(body.amount, 'amount', body.currency)}"
            return f"{paid} {towards} {body.player} beside the regulation ({body.kind}){_posted(body)}"
        case events.RoundResettled() if body.correction in corrections:
            return "the round was settled anew"
    return None


def _of_the_bet(body: Any) -> str:
    from ledger import events

    match body:
        case events.BetPlaced():
            return "the bet was placed, and received after betting had closed" if body.late else "the bet was placed"
        case events.BetChanged():
            was, now = (f"{spot}={plain(stake, 'amount', body.currency)}" for spot, stake in _lay(body))
            return f"the bet was changed from {was} to {now}"
        case events.BetWithdrawn():
            return "its player took the bet back"
        case events.BetVoided():
            return f"the bet was declared void{'' if body.by is None else f' by {body.by}'}: {body.reason}{_note(body)}"
    return "the stake was returned" if body.result == "push" else "the bet was paid"


def _posted(body: Any) -> str:
    """To which day a correction was posted, where that of the round was closed."""
    return "" if body.gaming_day is None else f"; posted to gaming day {body.gaming_day}, for {body.of_day} was closed"


def _lay(body: Any) -> tuple[tuple[str, str], tuple[str, str]]:
    return (body.was_spot, body.was_stake), (body.spot, body.stake)


def _throw(body: Any, bet: UUID) -> str:
    if body.void is not None:
        return f"throw {body.throw} was void: {body.void}{_by(body.article)}"
    moved = next((f"; the bet moved to {each.spot}" for each in body.moved if each.bet == bet), "")
    point = "; the line is decided" if body.decided else f"; the point is {body.point}" if body.point else ""
    return f"throw {body.throw} showed {body.shown}{point}{moved}{_lost(body, bet)}"


def _void(body: Any, bet: UUID) -> str:
    what = f"{body.reason}{_by(body.article)}{_note(body)}"
    if body.disposition == "carry":
        return f"the round was void: {what}; round {body.successor} has its bets"
    if body.disposition == "return":
        returned = any(each.bet == bet for each in body.returned)
        return f"the house ended the round: {what}{'; the stake went back' if returned else ''}"
    return f"launch {body.launch} was void: {what}; the bets stand for the next launch"


def _lost(body: Any, bet: UUID) -> str:
    return "; the stake was lost" if any(line.bet == bet for line in body.lost) else ""


def _put_right(body: Any) -> str:
    was, now = body.before.result, body.after.result
    return f"the bet was put right: it is {now}{' as before' if was == now else f', not {was}'}{_restaked(body)}"


def _restaked(body: Any) -> str:
    changes = [
        f"; {name} {getattr(body.after, name)}, not {getattr(body.before, name)}"
        for name in ("player", "spot")
        if getattr(body.after, name) != getattr(body.before, name)
    ]
    if body.after.stake != body.before.stake:
        now, was = (plain(each.stake, "amount", body.currency) for each in (body.after, body.before))
        changes.append(f"; stake {now}, not {was}")
    return "".join(changes)


def _by(article: str | None) -> str:
    return "" if article is None else f" ({article})"


def _note(body: Any) -> str:
    return "" if body.note is None else f" ({body.note})"
