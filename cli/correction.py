"""What a correction that waits would change: what whoever approves it has to have seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cli.output import Column, Report, Sheet, header

if TYPE_CHECKING:
    from ledger.application import Rounds
    from ledger.events import Event, OutcomeCorrected, Standing

_CHANGES = (
    Column("what", "what"),
    Column("bet", "bet", below=2, if_any=True),
    Column("field", "changes"),
    Column("was", "from"),
    Column("becomes", "to"),
)
_PLAYERS = (
    Column("player", "player"),
    Column("currency", "currency"),
    Column("difference", "difference", "amount"),
)
_OTHERS = (
    Column("correction", "correction"),
    Column("kind", "kind"),
    Column("reason", "reason"),
    Column("bet", "bet", if_any=True),
    Column("outcome", "outcome", if_any=True),
    Column("proposed_by", "asked by"),
    Column("proposed_at", "asked at", below=1),
)
_AMOUNTS = frozenset({"stake", "prize", "commission", "net_prize", "returned"})
_SHOWN = ("player", "spot", "stake", "result", "prize", "commission", "returned")
"""What is shown of a bet where it changes."""


def preview(rounds: Rounds, round_id: UUID, correction: UUID) -> Report:
    """What the approval of a correction would change, by the round as it is now.

    Raises Refusal LGR-0248 for one that the round does not have, LGR-0243 for one that is decided, and the reason where it could
    not be approved any more.
    """
    from ledger.round.effects import BEYOND_LIMITS

    round_ = rounds.round(round_id)
    made = rounds.effects_of(round_, correction)
    found = round_.corrections[correction]
    asked, currency = found.proposed, round_.terms.currency
    notes = []
    overtaken = round_.overtaken(correction)
    if overtaken is not None:
        notes.append(f"nobody can approve it any more ({overtaken.code}): {overtaken.detail}; {overtaken.help}")
    if any(BEYOND_LIMITS in getattr(event, "flags", ()) for event in made):
        limits = round_.limits
        notes.append(f"the stake is beyond the limits of table {round_.terms.table}: {limits}")
    others = [
        {**_fields(each.proposed), "correction": id, "proposed_by": each.author, "proposed_at": each.proposed.received_at}
        for id, each in round_.corrections.items()
        if id != correction and each.status == "proposed"
    ]
    if others:
        notes.append("other proposals on this round wait: what this one changes may be different once one of them is made")
    facts = {
        "round": round_id,
        "table": round_.terms.table,
        "kind": asked.kind,
        "reason": asked.reason,
        "note": asked.note,
        "proposed_by": found.author,
        "proposed_at": asked.received_at,
        "approvals": f"{len(found.approved_by)} of {asked.approvals}",
        "overtaken": overtaken.code if overtaken else None,
    }
    moved = [
        {"player": player, "currency": currency, "difference": amount}
        for player, amount in sorted(_differences(made).items())
        if amount
    ]
    return Report(
        f"Correction {correction}",
        [
            Sheet(_CHANGES, _changes(made, currency), name="changes", title="What changes"),
            Sheet(_PLAYERS, moved, name="players", title="What each player gets more (+) or less (-)", mixed=True),
            Sheet(_OTHERS, others, name="others", title="Other proposals that wait", drawn=bool(others)),
        ],
        header(**facts),
        notes,
    )


def _fields(proposed: Any) -> dict[str, Any]:
    return {name: getattr(proposed, name) for name in ("kind", "reason", "bet", "outcome")}


def _changes(made: Sequence[Event], currency: str) -> list[dict[str, Any]]:
    from ledger import events

    rows: list[dict[str, Any]] = []
    for event in made:
        match event:
            case events.OutcomeCorrected():
                rows += _of_the_outcome(event)
            case events.BetCorrected():
                rows += _of_a_bet(event.bet, event.before, event.after, currency)
            case events.PlayerAdjusted():
                towards = "paid to" if event.direction == "to_player" else "taken from"
                words = f"{towards} {event.player}"
                rows.append(
                    {"what": event.kind, "bet": event.bet, "field": words, "was": "", "becomes": _amount(event.amount, currency)}
                )
            case events.RoundVoided():
                rows.append({"what": "round", "field": "ends", "was": "", "becomes": "all stakes go back"})
                for line in event.returned:
                    rows += _of_a_bet(line.bet, _open(line), _void(line), currency)
    return rows


def _of_the_outcome(event: OutcomeCorrected) -> list[dict[str, Any]]:
    """The outcome; of craps throw by throw, as far as they differ."""
    was, now = event.was.split(","), event.outcome.split(",")
    if len(was) == len(now) == 1:
        return [{"what": "outcome", "field": "outcome", "was": event.was_shown, "becomes": event.shown}]
    return [
        {"what": "outcome", "field": f"throw {number}", "was": before or "none", "becomes": after or "none"}
        for number, (before, after) in enumerate(zip_longest(was, now), 1)
        if before != after
    ]


def _of_a_bet(bet: UUID, before: Standing, after: Standing, currency: str) -> list[dict[str, Any]]:
    def said(standing: Standing, name: str) -> str:
        value = getattr(standing, name)
        return _amount(value, currency) if name in _AMOUNTS else str(value)

    return [
        {"what": f"bet {before.spot}", "bet": bet, "field": name, "was": said(before, name), "becomes": said(after, name)}
        for name in _SHOWN
        if getattr(before, name) != getattr(after, name)
    ]


def _open(line: Any) -> Standing:
    from ledger.events import Standing

    return Standing(player=line.player, spot=line.spot, stake=line.stake, result="open")


def _void(line: Any) -> Standing:
    from ledger.events import Standing

    return Standing(player=line.player, spot=line.spot, stake=line.stake, result="void", returned=line.stake)


def _differences(made: Sequence[Event]) -> dict[str, int]:
    """Player → what they have more or less than now, in minor units: what comes back to them, less what they staked."""
    from ledger import events

    found: defaultdict[str, int] = defaultdict(int)
    for event in made:
        match event:
            case events.BetCorrected():
                found[event.before.player] -= _net(event.before)
                found[event.after.player] += _net(event.after)
            case events.PlayerAdjusted():
                found[event.player] += int(event.amount) if event.direction == "to_player" else -int(event.amount)
            case events.RoundVoided():
                for line in event.returned:
                    found[line.player] += int(line.stake)
    return dict(found)


def _net(standing: Standing) -> int:
    return int(standing.returned) - int(standing.stake)


def _amount(minor: str, currency: str) -> str:
    from ledger.money import format_plain

    return f"{currency} {format_plain(int(minor), currency)}"
