"""What corrections changed of a round: its outcome, its throws and its bets, as they were recorded and as they were corrected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cli.output import Column

if TYPE_CHECKING:
    from ledger.events import OutcomeCorrected, Recorded
    from ledger.rules import Regulation
    from projections.views import CorrectionView, RoundView

_BY = (
    Column("correction", "by correction", below=1, if_any=True),
    Column("proposed_by", "asked for by", below=2, if_any=True),
    Column("approved_by", "approved by", below=2, if_any=True),
    Column("seconded_by", "and by", below=2, if_any=True),
)
_STRUCK = Column("struck_by", "struck by correction", below=1, if_any=True)
OUTCOMES = (
    Column("position", "position", "position"),
    Column("outcome", "outcome"),
    Column("shown", "shown"),
    *_BY,
    _STRUCK,
)
THROWS = (
    Column("throw", "throw", "number"),
    Column("position", "position", "position"),
    Column("outcome", "faces"),
    Column("shown", "shown"),
    Column("point", "point after it", "number"),
    Column("void", "void", if_any=True),
    Column("article", "article", if_any=True),
    *_BY,
    _STRUCK,
)
BETS = (
    Column("bet", "bet"),
    Column("position", "position", "position", below=3),
    Column("player_was", "player was", below=1, if_any=True),
    Column("player", "player is", below=1, if_any=True),
    Column("spot_was", "spot was", if_any=True),
    Column("spot", "spot is", if_any=True),
    Column("currency", "currency"),
    Column("stake_was", "stake was", "amount"),
    Column("stake", "is", "amount"),
    Column("result_was", "result was"),
    Column("result", "is"),
    Column("returned_was", "returned was", "amount"),
    Column("returned", "is", "amount"),
    *_BY,
)
_OFTEN_THE_SAME = ("player", "spot")
_ALWAYS_TOLD = ("stake", "result", "returned")


def outcomes(found: RoundView, events: Sequence[Recorded]) -> list[dict[str, Any]]:
    """The outcomes, oldest first, each but the last struck by the correction after it; none where no outcome was corrected."""
    from ledger.events import OutcomeRecorded, ThrowRecorded

    corrected = _corrections_of_the_outcome(events)
    if not corrected:
        return []
    recorded = [each.position for each in events if isinstance(each.body, OutcomeRecorded | ThrowRecorded)][-1]
    first = corrected[0][1]
    rows: list[dict[str, Any]] = [{"position": recorded, "outcome": first.was, "shown": first.was_shown}]
    for position, body in corrected:
        rows[-1]["struck_by"] = body.correction
        rows.append({"position": position, "outcome": body.outcome, "shown": body.shown, **_by(found, body.correction)})
    return rows


def throws(found: RoundView, events: Sequence[Recorded], regulation: Regulation | None) -> list[dict[str, Any]]:
    """The throws as recorded, and then as each correction has them; `regulation` says what they showed and made the point."""
    import msgspec

    corrected = _corrections_of_the_outcome(events) if found.throws else []
    stories: list[list[dict[str, Any]]] = [[msgspec.structs.asdict(throw) for throw in found.throws]]
    for position, body in corrected:
        for row in stories[-1]:
            row["struck_by"] = body.correction
        by = {"position": position, **_by(found, body.correction)}
        before = stories[-1]
        after = [row | by for row in _thrown(body.outcome.split(","), regulation)]
        for was, now in zip(before, after, strict=False):  # a throw that stays void is so by the same clause
            if was["outcome"] == now["outcome"] == "void":
                now |= {name: was.get(name) for name in ("shown", "void", "article")}
        stories.append(after)
    return [row for story in stories for row in story]


def bets(found: RoundView) -> list[dict[str, Any]]:
    """What each correction changed of each bet, oldest first."""
    rows = []
    for bet in found.bets:
        for corrected in bet.corrections:
            was, now = corrected.before, corrected.after
            row: dict[str, Any] = {"bet": bet.bet, "position": corrected.position, "currency": found.currency}
            for name in (*_OFTEN_THE_SAME, *_ALWAYS_TOLD):
                if name in _ALWAYS_TOLD or getattr(was, name) != getattr(now, name):
                    row |= {f"{name}_was": getattr(was, name), name: getattr(now, name)}
            rows.append(row | _by(found, corrected.correction))
    return sorted(rows, key=lambda row: int(row["position"]))


def _corrections_of_the_outcome(events: Sequence[Recorded]) -> list[tuple[int, OutcomeCorrected]]:
    from ledger.events import OutcomeCorrected

    return [(each.position, each.body) for each in events if isinstance(each.body, OutcomeCorrected)]


def _by(found: RoundView, correction: Any) -> dict[str, Any]:
    """Who asked for a correction, and who approved it."""
    asked: CorrectionView = next(each for each in found.corrections if each.correction == correction)
    return {
        "correction": asked.correction,
        "proposed_by": asked.proposed_by,
        "approved_by": asked.approved_by,
        "seconded_by": asked.seconded_by,
    }


def _thrown(faces: Sequence[str], regulation: Regulation | None) -> Iterator[dict[str, Any]]:
    """Throws that a correction tells, as the rules read them."""
    from ledger.rules import COME_OUT, state_after

    state = COME_OUT
    for number, face in enumerate(faces, 1):
        row: dict[str, Any] = {"throw": number, "outcome": face, "shown": face, "point": None}
        if regulation is not None:
            outcome = regulation.outcome(face)
            state = state if face == "void" else state_after(state, outcome)
            row |= {"shown": outcome.shown, "point": state.point}
        yield row
