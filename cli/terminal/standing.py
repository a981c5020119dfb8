"""`roundledger terminal status`: what waits in an outbox, and what was rejected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from cli.options import Form, examples, output_options_without_amounts
from cli.output import Column, Report, Sheet, counted, emit, say, to_the_second, visible
from cli.terminal.options import key_option, outbox_options
from ledger.errors import Refusal

if TYPE_CHECKING:
    from ledger.client import Standing, TurnedAway

_SHOWN = 100
"""Events turned away for now that are listed; there may be a shift of them."""
STUCK = 20
"""Answers after which an event that the ledger still turns away is shown with what to do about it."""
_TURNED_AWAY = (
    Column("id", "event"),
    Column("type", "type"),
    Column("round", "round", below=2),
    Column("epoch", "epoch", "number", drawn=False),
    Column("sequence", "sequence", "number", below=3),
    Column("put_at", "put in", drawn=False),
    Column("answered_at", "answered", below=1, if_any=True),
    Column("tries", "tries", "number", below=2),
    Column("code", "code"),
    Column("detail", "reason"),
    Column("help", "what to do", below=4, if_any=True),
    Column("body", "body", drawn=False),
)


class _Ids(click.ParamType[list[UUID]]):
    """Event ids, with commas between."""

    name = "ids"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[UUID]:
        if isinstance(value, list):
            return value
        return [click.UUID.convert(text.strip(), param, ctx) for text in value.split(",")]


_IDS = _Ids()


@click.command(
    epilog=examples(
        "roundledger terminal status --outbox T-R01.outbox",
        "roundledger terminal status --outbox T-R01.outbox --json | jq -r '.rejected[].detail'",
        "roundledger terminal status --outbox T-R01.outbox --seen      the rejected events are dealt with",
        "roundledger terminal status --outbox T-R01.outbox --give-up 01937787-d400-7000-8000-000000000004",
        "roundledger terminal status --outbox T-R01.outbox --all-of-round 01937787-d400-7000-8000-00000000aa01",
        codes="0 nothing waits and nothing was rejected, 1 something does or was, 2 could not be done.",
    )
)
@outbox_options
@click.option("--seen", is_flag=True, help="Mark the rejected events as dealt with; they stay in the file.")
@click.option(
    "--give-up",
    "given_up",
    type=_IDS,
    multiple=True,
    help="Send this event, or these with commas between, no more: they count as rejected. May be repeated.",
)
@click.option(
    "--all-of-round",
    "rounds",
    type=click.UUID,
    multiple=True,
    help="Give up all that waits of this round. May be repeated.",
)
@click.option("--all", "every", is_flag=True, help="Show those that were dealt with, too.")
@key_option
@output_options_without_amounts
def status(
    path: Path,
    name: str | None,
    key: Path | None,
    seen: bool,
    given_up: tuple[list[UUID], ...],
    rounds: tuple[UUID, ...],
    every: bool,
    form: Form,
) -> int:
    """Show what waits in the outbox and what was rejected.

    Both are shown with the ledger's reasons. Needs no service. `contiguous` is the number, in the present epoch, up to
    which the ledger has judged every event; `received` is how far it said itself that it has them. Where that stays less, ask
    why: a ledger that was restored to an earlier moment no longer has what it acknowledged since. `failure` is the last post that
    came to nothing: `link` where nothing of the ledger answered, `refused` where it did and took nothing; `answered_at` says
    whether it has answered since. `key` is the id of the key in --key, which signs posts.
    `stuck` counts what the ledger has turned away 20 times or more: it is named with what to do.
    What is given up is rejected without the ledger, which never hears of its number: what is put in later begins a new epoch.
    Where the ledger waits for the number, a supervisor gives it up there too: `roundledger terminal send NumbersGivenUp`.
    """
    from ledger.client import Outbox, Signing

    if not path.exists():
        raise Refusal("LGR-0720", "there is no outbox here", field="outbox", value=str(path), help="`terminal send` makes one")
    with Outbox(path, terminal=name) as outbox:
        if given_up or rounds:
            ids = [*chain(*given_up), *chain(*map(outbox.waiting_of, rounds))]
            say(f"{counted(outbox.give_up(ids), 'event')} given up")
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
        stuck = [each for each in outbox.turned_away(-1) if each.tries >= STUCK]
    facts = {**_facts(stands), "stuck": len(stuck), "key": None if key is None else Signing.of_file(key).key_id}
    emit(Report(f"terminal {stands.terminal}", [rejected, turned_away], facts=facts), form)
    for round_, events in groupby(sorted(stuck, key=_round_of), key=_round_of):
        say(_advice(round_, list(events)))
    return 1 if stands.waiting or stands.rejected else 0


def _round_of(event: TurnedAway) -> UUID:
    return event.round


def _advice(round_: UUID, stuck: Sequence[TurnedAway]) -> str:
    """What to do about events of one round that the ledger keeps turning away."""
    first = stuck[0]
    way = f" ({visible(first.problem.help)})" if first.problem.help else ""
    return (
        f"stuck: {counted(len(stuck), 'event')} of round {round_}, turned away {first.tries} times: "
        f"{visible(str(first.problem))}; mend that{way}, or give up what waits of it: --all-of-round {round_}"
    )


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
    return [
        {
            **each._asdict(),
            "about": each.about,
            "code": each.problem.code,
            "detail": each.problem.detail or each.problem.title,
            "help": each.problem.help,
        }
        for each in events
    ]


def _short(row: Any) -> Any:
    answered = row["answered_at"]
    about = row["about"] if row["about"].startswith(("table ", "property ")) else row["round"]
    return {**row, "round": about, "type": row["type"].split(".")[1], "answered_at": answered and to_the_second(answered)}
