"""`roundledger terminal status`: what waits in an outbox, and what was rejected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from cli.options import Form, examples, output_options
from cli.output import Column, Report, Sheet, counted, emit, say, to_the_second
from cli.terminal.options import outbox_options
from ledger.errors import Refusal

if TYPE_CHECKING:
    from ledger.client import Standing, TurnedAway

_SHOWN = 100
"""Events turned away for now that are listed; there may be a shift of them."""
_TURNED_AWAY = (
    Column("id", "event"),
    Column("type", "type"),
    Column("round", "round", below=2),
    Column("epoch", "epoch", "number", drawn=False),
    Column("sequence", "sequence", "number", below=3),
    Column("put_at", "put in", drawn=False),
    Column("answered_at", "answered", below=1, if_any=True),
    Column("code", "code"),
    Column("detail", "reason"),
    Column("body", "body", drawn=False),
)


@click.command(
    epilog=examples(
        "roundledger terminal status --outbox T-R01.outbox",
        "roundledger terminal status --outbox T-R01.outbox --json | jq -r '.rejected[].detail'",
        "roundledger terminal status --outbox T-R01.outbox --seen      the rejected events are dealt with",
        "roundledger terminal status --outbox T-R01.outbox --give-up 01937787-d400-7000-8000-000000000004",
        codes="0 nothing waits and nothing was rejected, 1 something does or was, 2 could not be done.",
    )
)
@outbox_options
@click.option("--seen", is_flag=True, help="Mark the rejected events as dealt with; they stay in the file.")
@click.option(
    "--give-up",
    "given_up",
    type=click.UUID,
    multiple=True,
    help="Send this event no more: it counts as rejected. May be repeated.",
)
@click.option("--all", "every", is_flag=True, help="Show those that were dealt with, too.")
@output_options
def status(path: Path, name: str | None, seen: bool, given_up: tuple[UUID, ...], every: bool, form: Form) -> int:
    """Show what waits in the outbox and what was rejected.

    Both are shown with the ledger's reasons. Needs no service. `contiguous` is the number, in the present epoch, up to
    which the ledger has judged every event; `received` is how far it said itself that it has them. Where that stays less, ask
    why: a ledger that was restored to an earlier moment no longer has what it acknowledged since. `failure` is the last post that
    came to nothing: `link` where nothing of the ledger answered, `refused` where it did and took nothing; `answered_at` says
    whether it has answered since.
    """
    from ledger.client import Outbox

    if not path.exists():
        raise Refusal("LGR-0720", "there is no outbox here", field="outbox", value=str(path), help="`terminal send` makes one")
    with Outbox(path, terminal=name) as outbox:
        if given_up:
            say(f"{counted(outbox.give_up(given_up), 'event')} given up")
        if seen:
            say(f"{counted(outbox.mark_seen(), 'rejected event')} marked as dealt with")
        stands = outbox.standing()
        rejected = Sheet(
            _TURNED_AWAY, _rows(outbox.rejected(seen=every)), name="rejected", title="Rejected for good", for_people=_short
        )
        turned_away = Sheet(
            _TURNED_AWAY,
            _rows(outbox.turned_away(_SHOWN)),
            name="turned_away",
            title="Turned away for now, and sent again",
            for_people=_short,
        )
    emit(Report(f"terminal {stands.terminal}", [rejected, turned_away], facts=_facts(stands)), form)
    return 1 if stands.waiting or stands.rejected else 0


def _facts(stands: Standing) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "epoch": stands.epoch,
        "last": stands.last,
        "contiguous": stands.contiguous,
        "received": stands.received,
        "waiting": stands.waiting,
        "oldest": stands.oldest,
        "oldest_seconds": None if stands.oldest is None else int((datetime.now(UTC) - stands.oldest).total_seconds()),
        "oldest_problem": stands.last_problem,
        "answered_at": stands.answered,
        "failed_at": None if stands.failure is None else stands.failure.at,
        "failure": None if stands.failure is None else stands.failure.kind,
        "failure_code": None if stands.failure is None else stands.failure.code,
        "failure_reason": None if stands.failure is None else stands.failure.words,
        "acknowledged": stands.acknowledged,
        "unseen": stands.rejected,
    }
    return facts


def _rows(events: Sequence[TurnedAway]) -> list[dict[str, Any]]:
    return [{**each._asdict(), "code": each.problem.code, "detail": each.problem.detail or each.problem.title} for each in events]


def _short(row: Any) -> Any:
    answered = row["answered_at"]
    return {**row, "type": row["type"].split(".")[1], "answered_at": answered and to_the_second(answered)}
