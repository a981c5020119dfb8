"""What a correction does, kind by kind: the events that its last approval brings about, or the reason why it cannot be.

The same judgement is made when a correction is proposed and again when it is approved, each time on the round as it is then; and
what it was proposed on must not have changed in between (`RoundState.basis_of`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import msgspec

from ledger import money
from ledger.errors import Refusal
from ledger.events import (
    BetCorrected,
    CorrectionProposed,
    Event,
    OutcomeCorrected,
    PlayerAdjusted,
    ReturnedBet,
    RoundResettled,
    RoundVoided,
    Standing,
)
from ledger.round.bets import Bet
from ledger.round.guards import Guards
from ledger.round.replay import settled_again, still_standing, thrown_again, verify_throws
from ledger.round.settling import totals
from ledger.round.standing import open_standing, void_standing
from ledger.round.state import CRAPS, Status
from ledger.round.terms import Origin
from ledger.rules import Outcome, Regulation

BEYOND_LIMITS = "beyond_limits"
"""The flag of a bet that a correction says to have been smaller or larger than the table takes."""

T = TypeVar("T")


class Asked(NamedTuple):
    """What a correction asks for; which fields it has depends on its kind (`ledger.reports.ProposeCorrection`)."""

    kind: str
    reason: str
    note: str | None = None
    hold: UUID | None = None
    outcome: str | None = None
    bet: UUID | None = None
    player: str | None = None
    spot: str | None = None
    stake: str | None = None
    amount: str | None = None
    direction: str | None = None

    @classmethod
    def of(cls, proposed: CorrectionProposed) -> Asked:
        """What was asked for when it was proposed."""
        return cls(*(getattr(proposed, field) for field in cls._fields))


class Case(NamedTuple):
    """A correction in front of the round that it is about."""

    round: Guards
    regulation: Regulation
    asked: Asked
    correction: UUID
    origin: Origin
    """Of the report that is judged: a proposal or an approval."""

    @property
    def stamp(self) -> dict[str, Any]:
        """What each event of this correction carries."""
        return self.origin._asdict() | {"correction": self.correction}

    @property
    def posted(self) -> dict[str, Any]:
        """What an event carries besides that changes what a gaming day came to: of a closed one, it goes to another."""
        posted_on = self.round.posted_on
        return {} if posted_on is None else {"gaming_day": posted_on, "of_day": self.round.terms.gaming_day}

    @property
    def stamp_in_currency(self) -> dict[str, Any]:
        """The same where the event has amounts."""
        return self.stamp | {"currency": self.round.terms.currency}


_NEEDED: dict[str, frozenset[str]] = {
    "outcome": frozenset({"outcome"}),
    "bet": frozenset({"bet"}),
    "bet_void": frozenset({"bet"}),
    "late_bet": frozenset({"bet"}),
    "return": frozenset(),
    "mispay": frozenset({"bet", "direction", "amount"}),
    "ex_gratia": frozenset({"player", "amount", "spot", "stake"}),
}
_WRONG = ("player", "spot", "stake")
"""What may be wrong about a bet."""


def verify_fields(asked: Asked) -> None:
    """Raises (LGR-0108) unless the correction says what its kind needs, and nothing else."""
    needed = _NEEDED[asked.kind]
    allowed = needed | set(_WRONG) if asked.kind == "bet" else needed
    for field in Asked._fields[4:]:
        value = getattr(asked, field)
        if value is None and field in needed:
            raise Refusal("LGR-0108", f"a correction of kind {asked.kind} needs {field}", field=field)
        if value is not None and field not in allowed:
            raise Refusal("LGR-0108", f"a correction of kind {asked.kind} has no {field}", field=field, value=value)
    if asked.kind == "bet" and all(getattr(asked, field) is None for field in _WRONG):
        raise Refusal("LGR-0108", "a correction of a bet says what was wrong: player, spot or stake", field="player")


def in_one_form(regulation: Regulation, asked: Asked) -> Asked:
    """The same with its spot in canonical form. Refuses spots that cannot be bet and what is no amount."""
    for field in ("stake", "amount"):
        if (text := getattr(asked, field)) is not None:
            money.parse_minor(text, field=field)
    return asked if asked.spot is None else asked._replace(spot=regulation.spot(asked.spot).text)


def effects(case: Case) -> list[Event]:
    """The events by which the correction is made. Raises the reason where it cannot be, or would change nothing (LGR-0242)."""
    hold = case.asked.hold
    if hold is not None and hold not in case.round.holds:
        raise Refusal("LGR-0224", "the round was never held under this id", field="hold", value=str(hold))
    return _KINDS[case.asked.kind](case)


def article_breached(regulation: Regulation) -> str:
    """The article that bars bets after the close. Raises (LGR-0247) where the regulation as held has none."""
    article = regulation.articles.get("closing")
    if article is None:
        raise Refusal(
            "LGR-0247",
            f"no article of {regulation.order} as it is held here bars bets after the close, so none was breached",
            field="kind",
            value="ex_gratia",
            help="a bet that was placed in time is settled by a correction of kind late_bet",
        )
    return regulation.cite(article)


# The outcome.


def _outcome(case: Case) -> list[Event]:
    round_, raw = case.round, _said(case.asked.outcome)
    _verify_settled(round_, "an outcome")
    outcome = case.regulation.outcome(raw)
    if outcome.text == round_.outcome:
        raise Refusal("LGR-0242", f"the outcome on record is {round_.outcome} already", field="outcome", value=raw)
    if round_.throws:
        verify_throws(outcome)
    counting = {bet.id for bet in round_.bets.values() if bet.result not in ("open", "void")}
    carried = {bet.id: bet for bet in round_.gone.values() if bet.left == "carried"}
    found = _again(case, outcome, judged=counting | carried.keys())
    for id, bet in carried.items():
        if id in found and (found[id].result, found[id].spot) != ("open", bet.spot):
            raise Refusal(
                "LGR-0244",
                f"bet {id} would not stand on {bet.spot} at the end of this round, and round {round_.successor} has it there",
                field="outcome",
                value=raw,
                help="put the other bets right one by one",
            )
    changes = []
    for id in round_.bets:
        if id in counting:
            if found[id].result == "open":
                raise still_standing(id, found[id].spot, raw)
            changes.append((round_.bets[id], found[id]))
    corrected = OutcomeCorrected(
        **case.stamp,
        **case.posted,
        was=round_.outcome or "",
        was_shown=round_.shown or "",
        raw=raw,
        outcome=outcome.text,
        shown=outcome.shown,
    )
    return [corrected, *_corrected(case, changes)]


def _again(case: Case, outcome: Outcome, judged: set[UUID], instead: Bet | None = None) -> dict[UUID, Standing]:
    """What the outcome makes of the round's bets, with `instead` in the place of the bet that has its id."""
    round_ = case.round
    unit = int(round_.terms.payable_unit)
    bets = [*round_.bets.values(), *round_.gone.values()]
    if instead is not None:
        bets = [instead if bet.id == instead.id else bet for bet in bets]
    if round_.throws:
        return thrown_again(case.regulation, outcome.throws, bets, unit, judged)
    return settled_again(case.regulation, outcome, [bet for bet in bets if bet.id in judged or _counts(bet)], unit)


def _counts(bet: Bet) -> bool:
    return bet.left is None and bet.result not in ("open", "void")


# One bet.


def _bet(case: Case) -> list[Event]:
    bet = _find(case)
    before = bet.standing
    if before.result == "void":
        raise Refusal("LGR-0242", "the bet is void: whatever it was, its stake went back", field="bet", value=str(bet.id))
    if before.result == "open" and case.round.status is Status.BETTING:
        raise _too_early("betting is open: the bet itself can still be changed or taken back", "bet", bet.id)
    indeed = _indeed(case, bet)
    if (indeed.player, indeed.placed_on, indeed.stake) == (bet.player, bet.placed_on, bet.last_stake):
        raise Refusal("LGR-0242", "this is how the bet stands on record", field="bet", value=str(bet.id))
    if not _within_limits(case, indeed):
        case = case._replace(origin=case.origin.flagged(BEYOND_LIMITS))
    return _corrected(case, [(bet, _as_it_was(case, indeed))])


def _indeed(case: Case, bet: Bet) -> Bet:
    """The bet as the correction says that it was placed."""
    asked = case.asked
    return msgspec.structs.replace(
        bet,
        player=asked.player or bet.player,
        placed_on=bet.placed_on if asked.spot is None else case.regulation.spot(asked.spot).text,
        stake=bet.last_stake if asked.stake is None else money.parse_minor(asked.stake, field="stake"),
        staked=None,
    )


def decided_since(case: Case, throws: int) -> bool:
    """Craps: whether a throw after the first `throws` valid ones decided the bet as it is to be corrected.

    The bet on record may go on all the same, on its other spot, so that nothing else shows that the correction moves more by now.
    The correction is one that could be made.
    """
    round_ = case.round
    if case.asked.kind != "bet" or case.asked.spot is None or not round_.throws or throws >= round_.valid_throws:
        return False
    indeed = _indeed(case, _find(case))
    if _as_it_was(case, indeed).result == "open":
        return False
    valid = [throw for throw in round_.throws if throw != "void"][:throws]
    thrown = case.regulation.outcome(",".join(valid)).throws if valid else ()
    bets = [indeed if bet.id == indeed.id else bet for bet in (*round_.bets.values(), *round_.gone.values())]
    return thrown_again(case.regulation, thrown, bets, 1, {indeed.id})[indeed.id].result == "open"


def _within_limits(case: Case, indeed: Bet) -> bool:
    """Whether the stake lies between the table's minimum and maximum. The dealer took it, so it is said and stops nothing."""
    limits = case.round.limits
    if limits is None:
        return True
    minimum, maximum = limits.of(case.regulation.spot_in_play(indeed.placed_on))
    return (minimum or 1) <= indeed.stake and (maximum is None or indeed.stake <= maximum)


def _as_it_was(case: Case, indeed: Bet) -> Standing:
    """What is true of a bet that was placed otherwise than is on record."""
    round_ = case.round
    settled = round_.status is Status.SETTLED
    if settled and indeed.decided is None:  # a late bet, which a correction of its own settles
        return open_standing(indeed.player, indeed.placed_on, indeed.stake)
    if round_.outcome is None and round_.terms.game != CRAPS:
        return open_standing(indeed.player, indeed.placed_on, indeed.stake)
    if round_.outcome is None:
        bets = [indeed if bet.id == indeed.id else bet for bet in round_.bets.values()]
        return thrown_again(case.regulation, (), bets, 1, {indeed.id})[indeed.id]
    after = _again(case, case.regulation.outcome(round_.outcome), {indeed.id}, indeed)[indeed.id]
    if settled and after.result == "open":
        raise still_standing(indeed.id, indeed.placed_on, round_.outcome)
    return after


def _bet_void(case: Case) -> list[Event]:
    bet = _find(case)
    if bet.result == "void":
        raise Refusal("LGR-0242", "the bet is void already", field="bet", value=str(bet.id))
    bound = case.round.number_of(case.regulation, bet, either_side=True) is not None
    if bet.result == "open" and case.round.status is Status.BETTING and not bound:
        raise _too_early("betting is open: a supervisor voids the bet itself", "bet", bet.id)
    _verify_unlocked(case, [bet])
    return _corrected(case, [(bet, void_standing(bet.standing))])


def _late_bet(case: Case) -> list[Event]:
    round_, bet = case.round, _find(case)
    _verify_settled(round_, "a late bet")
    if bet.result != "open":
        raise Refusal("LGR-0242", f"the bet is not open: it is {bet.result}", field="bet", value=str(bet.id))
    after = _again(case, case.regulation.outcome(_said(round_.outcome)), {bet.id}, bet)[bet.id]
    if after.result == "open":
        raise still_standing(bet.id, after.spot, round_.outcome)
    return _corrected(case, [(bet, after)])


# The round as a whole.


def _return(case: Case) -> list[Event]:
    round_, reason = case.round, case.asked.reason
    if reason in {void.code for void in case.regulation.voids}:
        raise Refusal(
            "LGR-0246",
            f"{reason} is a case of the regulation, which says what becomes of the stakes, and they do not go back",
            field="reason",
            value=reason,
            help="report the void itself; a return is the house's own decision and has the house's own reason",
            cite=next(case.regulation.cite(void.article) for void in case.regulation.voids if void.code == reason),
        )
    if round_.status is Status.RETURNED:
        raise Refusal("LGR-0242", "the stakes of this round went back already", value=str(round_.id))
    if round_.status is Status.CARRIED:
        raise _gone(f"round {round_.successor} has the bets of this one", round_.id)
    _verify_unlocked(case, list(round_.bets.values()))
    settled = round_.status is Status.SETTLED
    bets = [bet for bet in round_.bets.values() if bet.result != "void"]
    undone = [(bet, void_standing(bet.standing)) for bet in bets if settled or bet.decided is not None]
    returned = () if settled else tuple(_line(bet) for bet in bets if bet.decided is None)
    voided = RoundVoided(
        **case.stamp_in_currency, disposition="return", reason=reason, launch=0, returned=returned, note=case.asked.note
    )
    return [*_corrected(case, undone), voided]


def _line(bet: Bet) -> ReturnedBet:
    return ReturnedBet(bet=bet.id, player=bet.player, spot=bet.spot, stake=str(bet.stake))


# Beside what the regulation gives.


def _mispay(case: Case) -> list[Event]:
    asked = case.asked
    bet = _known(case)
    if bet.left == "carried":
        bet = _find(case)
    if bet.result == "open":
        raise _too_early("nothing has been paid on the bet, for nothing has decided it yet", "bet", bet.id)
    _verify_mispaid(case, bet, 1 if asked.direction == "to_player" else -1, int(_said(asked.amount)))
    return [
        PlayerAdjusted(
            **case.stamp_in_currency,
            **case.posted,
            kind="mispay",
            player=bet.player,
            bet=bet.id,
            direction=_said(asked.direction),
            amount=_said(asked.amount),
        )
    ]


def _verify_mispaid(case: Case, bet: Bet, sign: int, amount: money.MinorUnits) -> None:
    """Raises (LGR-0252) unless the player can have got so much more (`sign` 1) or less (-1) on the bet than was due.

    At the least nothing was handed over, and a losing stake collected twice; at the most there was handed over, beside what was
    due, what the chance of the game that pays most would have brought the stake. What the bet's mispays on record have come to
    for this player counts with it.
    """
    terms, standing = case.round.terms, bet.standing
    due, stake = int(standing.returned), int(standing.stake)
    highest = max(payoff.net for spot in case.regulation.spots() for payoff in spot.pays if payoff.result == "won")
    most = stake + stake * highest.numerator // highest.denominator
    mispaid = sum(
        int(each.amount) if each.direction == "to_player" else -int(each.amount)
        for each in case.round.adjustments
        if (each.bet, each.player) == (bet.id, bet.player)
    )
    left = most - mispaid if sign > 0 else due + stake + mispaid
    if amount <= left:
        return

    def said(minor: int) -> str:
        return f"{terms.currency} {money.format_plain(minor, terms.currency)}"

    on_record = f", and mispays on record come to {said(mispaid)}" if mispaid else ""
    if sign > 0:
        detail = (
            f"a stake of {said(stake)} brings at most {said(most)} on any chance, and nobody hands over more than that beside "
            f"what is due{on_record}"
        )
    else:
        detail = (
            f"{said(due)} was due on a stake of {said(stake)}: at the worst nothing of it was paid and the stake collected "
            f"twice{on_record}"
        )
    raise Refusal(
        "LGR-0252",
        detail,
        field="amount",
        value=str(amount),
        help=f"at most {said(max(left, 0))} can have gone that way; where the bet is wrong on record, correct the bet",
    )


def _ex_gratia(case: Case) -> list[Event]:
    asked = case.asked
    article = article_breached(case.regulation)
    if case.round.status is Status.BETTING:
        raise _too_early("betting is open: what is placed now is a bet", "spot", asked.spot)
    _verify_goodwill(case, _said(asked.spot), int(_said(asked.stake)), int(_said(asked.amount)))
    return [
        PlayerAdjusted(
            **case.stamp_in_currency,
            **case.posted,
            kind="ex_gratia",
            player=_said(asked.player),
            direction="to_player",
            amount=_said(asked.amount),
            article=article,
        )
    ]


def _verify_goodwill(case: Case, spot: str, stake: money.MinorUnits, amount: money.MinorUnits) -> None:
    """Raises (LGR-0251) unless the table can pay the amount, and the chips could have won it.

    Whatever the table showed: that may itself be corrected. The chips themselves are no part of it: the books never took them, so
    to hand them back, whenever that was, moves nothing.
    """
    terms = case.round.terms
    unit = int(terms.payable_unit)
    if amount % unit:
        raise Refusal(
            "LGR-0251",
            f"the table pays whole units of {money.format_plain(unit, terms.currency)}",
            field="amount",
            value=str(amount),
        )
    payoffs = [payoff for payoff in case.regulation.spot(spot).pays if payoff.result == "won"]
    best = max((stake * payoff.net_num // (payoff.net_den * unit) * unit for payoff in payoffs), default=0)
    if amount > best:
        raise Refusal(
            "LGR-0251",
            f"{money.format_plain(stake, terms.currency)} on {spot} could at most have won "
            f"{money.format_plain(best, terms.currency)}",
            field="amount",
            value=str(amount),
            help="pay no more than that; the chips themselves were never taken by the books, and go back without a payment",
        )


_KINDS: dict[str, Callable[[Case], list[Event]]] = {
    "outcome": _outcome,
    "bet": _bet,
    "bet_void": _bet_void,
    "late_bet": _late_bet,
    "return": _return,
    "mispay": _mispay,
    "ex_gratia": _ex_gratia,
}


def _corrected(case: Case, changes: list[tuple[Bet, Standing]]) -> list[Event]:
    """The bets of which something else is true now, and the totals of a settled round."""
    events: list[Event] = [
        BetCorrected(**case.stamp_in_currency, **case.posted, bet=bet.id, before=bet.standing, after=after)
        for bet, after in changes
        if bet.standing != after
    ]
    if case.round.status is Status.SETTLED:
        standings = {bet.id: bet.standing for bet in case.round.bets.values()} | {bet.id: after for bet, after in changes}
        events.append(RoundResettled(**case.stamp_in_currency, **totals(standings.values())))
    return events


def _said(value: T | None) -> T:
    """What `verify_fields` has seen to be there."""
    assert value is not None
    return value


def _known(case: Case) -> Bet:
    """The bet with the id that was asked. Raises (LGR-0212) for one that was never in the round."""
    try:
        return case.round.verify_known_bet(_said(case.asked.bet))
    except Refusal as refusal:
        refusal.help = (
            "a bet that waits in its terminal's outbox is sent first; one whose placing was refused for good is no bet of the "
            "round, and no correction makes it one: its chips go back, or are paid by a correction of kind ex_gratia"
        )
        raise


def _find(case: Case) -> Bet:
    """The bet in question. Raises (LGR-0212) for one that was never in the round, and the reason for one that left it."""
    round_ = case.round
    bet = _known(case)
    if bet.left == "carried":
        raise _gone(f"the bet was carried, and round {round_.successor} has it", bet.id)
    if bet.left is not None:
        raise Refusal("LGR-0242", "the bet was taken back or declared void before betting closed", field="bet", value=str(bet.id))
    return bet


def _gone(detail: str, id: UUID) -> Refusal:
    return Refusal("LGR-0241", detail, value=str(id), help="correct it in the round that has it")


def _too_early(detail: str, field: str, value: object) -> Refusal:
    return Refusal("LGR-0240", detail, field=field, value=str(value))


def _verify_settled(round_: Guards, what: str) -> None:
    if round_.status is Status.SETTLED:
        return
    if round_.status is Status.RETURNED:
        raise Refusal("LGR-0241", "the house ended the round and gave the stakes back", value=str(round_.id))
    if round_.status is Status.CARRIED:
        raise _gone(f"the round is void, and round {round_.successor} has its bets", round_.id)
    raise Refusal("LGR-0240", f"{what} can be put right once the round is settled: {round_.status.value}", value=str(round_.id))


def _verify_unlocked(case: Case, bets: list[Bet]) -> None:
    """Stakes that the law carries into the next round cannot go back (31/2003 art. 3(3))."""
    locked = next((bet for bet in bets if bet.locked), None)
    if locked is not None:
        clause = next(void for void in case.regulation.voids if void.disposition == "carry")
        raise Refusal(
            "LGR-0245",
            f"bet {locked.id} was carried into this round and cannot be cancelled",
            field="bet",
            value=str(locked.id),
            help="correct what was wrong about the bet; a payment that was wrong is put right as a mispay",
            cite=case.regulation.cite(clause.article),
        )
