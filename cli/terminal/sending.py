"""`roundledger terminal send`: events into the outbox, and from there to the ledger; a person's act at once, and past it."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import click

from cli.options import Form, examples, output_options_without_amounts
from cli.output import Column, counted, emit_csv, emit_json, emit_lines, say, visible
from cli.persons import token_file_option, token_of
from cli.terminal.options import door, door_options, outbox_options
from ledger.errors import Refusal

if TYPE_CHECKING:
    import msgspec

    from ledger.client import Door, Event, Flushed, Item, Outbox, Problem, Refused, Unanswered


@click.command(
    epilog=examples(
        "roundledger terminal send RoundOpened table=R01 game=roulette --outbox T-R01.outbox --terminal T-R01",
        "roundledger terminal send BetPlaced --round 01937787-d400-7000-8000-00000000aa01 player=P-1001 spot=straight:17 \\",
        "    stake=10000 currency=MOP --outbox T-R01.outbox",
        "roundledger terminal send RoundHeld --round 01937787-d400-7000-8000-00000000aa01 reason=dispute \\",
        "    --token-file ~/token --outbox T-R01.outbox                      a person's act",
        "roundledger terminal send --outbox T-R01.outbox < events.ndjson",
        "roundledger terminal send --outbox T-R01.outbox < /dev/null       only send what waits",
        codes="0 all that was put in, or else all that waited, was accepted; 1 some of it waits, or something was rejected; "
        "2 could not be done.",
    )
)
@click.argument("type_", metavar="[TYPE", required=False)
@click.argument("fields", metavar="[FIELD=VALUE]...]", nargs=-1)
@outbox_options
@click.option("--round", "round_", type=click.UUID, help="The round; an opening without one begins a round with a fresh id.")
@door_options
@token_file_option
@click.option("--later", is_flag=True, help="Only put it into the outbox.")
@output_options_without_amounts
def send(
    type_: str | None,
    fields: tuple[str, ...],
    path: Path,
    name: str | None,
    round_: UUID | None,
    url: str,
    key: Path | None,
    packed: bool,
    token_file: Path | None,
    later: bool,
    form: Form,
) -> int:
    """Put events into the outbox, then send all that waits.

    TYPE is what happened (`BetPlaced`; /openapi.json lists all), each FIELD=VALUE a field of its data; amounts are minor units.
    Without TYPE, events are read from stdin, one JSON object a line: {"type": …, "round": …, "data": {…}}. They happen now; a
    line may have `id` and `time` of its own. If one line cannot be read, nothing is put in.

    What a person decides (a bet declared void, a hold, a correction) needs that person's token, which is kept nowhere: it is
    sent at once, after what waits, and never put into the outbox. It takes a TYPE, and neither stdin nor --later. A token is
    sent with nothing else.
    """
    from ledger.client import Outbox

    with Outbox(path, terminal=name) as outbox:
        if type_ is not None:
            events = [_event(outbox.terminal, type_, round_, _fields(fields))]
        elif round_ is not None or fields:
            raise click.UsageError("--round belongs to an event whose TYPE is given", click.get_current_context())
        else:
            events = _lines(outbox.terminal, sys.stdin)
        token = None
        if len(events) == 1 and events[0].persons and type_ is not None and not later:
            token = token_of(token_file)
        put = outbox.put(*events) if events and token is None else []
        before = {each.id for each in outbox.rejected()}
        flushed, act = None, None
        if not later:
            with door(url, key, packed, tries=4) as found:
                if token is None:
                    flushed = _flushed(outbox, found)
                else:
                    flushed, act = _acted(outbox, found, events[0], token)
        _tell(outbox, put, flushed, act, before, form)
        waits = flushed is not None and _waits(outbox, flushed, put, act)
    if flushed is not None and (waits or flushed.rejected or flushed.failure):
        return 1
    return 0 if act is None or act.taken else 1


def _waits(outbox: Outbox, flushed: Flushed, put: list[Event], act: _Act | None) -> bool:
    """Whether any of what this call was about waits still; where it was about nothing of its own, anything at all.

    What was put in before and waits is told, and is no fault of what was sent now.
    """
    if not put and act is None:
        return flushed.waiting > 0
    own = {event.id for event in put}
    return any(event.id in own for event in outbox.turned_away(-1))


class _Act(NamedTuple):
    """A person's act, and what became of it."""

    event: Event
    item: Item | None = None
    unknown: Unanswered | None = None
    """Why nobody knows what became of it."""
    unsent: Unanswered | Refused | None = None
    """Why it was not judged at all."""

    @property
    def taken(self) -> bool:
        return self.item is not None and self.item.status != "rejected"

    def told(self) -> dict[str, Any]:
        """As programs read it."""
        import msgspec

        problem = None if self.item is None else self.item.problem
        failure = self.unknown or self.unsent
        return {
            "id": str(self.event.id),
            "type": self.event.type,
            "round": str(self.event.round),
            "status": self.item.status if self.item is not None else "unknown" if self.unknown else "unsent",
            "problem": None if problem is None else msgspec.to_builtins(problem),
            "failure": None if failure is None else str(failure),
        }

    def words(self) -> str:
        """As people read it."""
        if self.unknown is not None:
            look = f"look before you do it again: {_where(self.event)}"
            return f"nobody knows whether it was taken: {visible(str(self.unknown))}; {look}"
        if self.unsent is not None:
            return f"not sent: {visible(str(self.unsent))}; nothing of it is kept: do it again when that is mended"
        assert self.item is not None
        if self.item.problem is not None:
            return f"refused: {visible(str(self.item.problem))}; nothing of it is kept{_way(self.item.problem)}"
        return self.item.status


def _acted(outbox: Outbox, door: Door, event: Event, token: str) -> tuple[Flushed, _Act]:
    """Sends a person's act between what waited before it and what waited for it.

    Where what waits cannot be sent, neither is the act, which may rest on it.
    """
    from ledger.client import Refused, Unanswered, act, flush

    flushed = flush(outbox, door)
    if flushed.failure is not None:
        return flushed, _Act(event, unsent=flushed.failure)
    try:
        acted = _Act(event, act(door, event, token))
    except Unanswered as failure:
        acted = _Act(event, unknown=failure) if failure.sent else _Act(event, unsent=failure)
    except Refused as failure:
        acted = _Act(event, unsent=failure)
    return (_flushed(outbox, door, flushed) if flushed.waiting and acted.taken else flushed), acted


def _flushed(outbox: Outbox, door: Door, total: Flushed | None = None) -> Flushed:
    """Flushes until all is judged, or patience ends with what is turned away for now; counted on top of `total`."""
    from ledger.client import Flushed, flush

    total = total or Flushed()
    for failures in range(1, door.retry.tries + 1):
        done = flush(outbox, door)
        total.posts += done.posts
        total.accepted += done.accepted
        total.replayed += done.replayed
        total.rejected += done.rejected
        total.waiting, total.failure = done.waiting, done.failure
        if done.failure is not None or not done.waiting or failures == door.retry.tries:
            break
        time.sleep(door.retry.pause(failures))
    return total


_PUT = ("id", "type", "round", "epoch", "sequence")


def _about(event: Event) -> str:
    """What an event is about, in words."""
    from ledger.reports import OfAProperty, OfATable, subject_of

    if isinstance(event.data, OfATable):
        return f"table {subject_of(event.data)}"
    return f"property {subject_of(event.data)}" if isinstance(event.data, OfAProperty) else f"round {event.round}"


def _where(event: Event) -> str:
    """Where to look for an event."""
    from ledger.reports import OfAProperty, OfATable

    return "roundledger feed" if isinstance(event.data, OfATable | OfAProperty) else f"roundledger rounds show {event.round}"


def _way(problem: Problem) -> str:
    """What the ledger says to do about it, on a line of its own."""
    return f"\n  help: {visible(problem.help)}" if problem.help else ""


def _tell(
    outbox: Outbox, put: Sequence[Event], flushed: Flushed | None, act: _Act | None, before: Collection[UUID], form: Form
) -> None:
    """Says what became of what was put in, and what else was rejected by the way; `before` had been rejected earlier."""
    import msgspec

    stands, ids = outbox.standing(), {event.id for event in put}
    all_rejected = [each for each in outbox.rejected() if each.id not in before]
    rejected = [each for each in all_rejected if each.id in ids]
    others = [each for each in all_rejected if each.id not in ids]
    turned_away = [each for each in outbox.turned_away(-1) if each.id in ids]
    rows = [{column: getattr(event, column) for column in _PUT} for event in put]
    if form == "json":
        sent = None
        if flushed is not None:
            sent = {name: getattr(flushed, name) for name in ("posts", "accepted", "replayed", "rejected")}
            sent["failure"] = None if flushed.failure is None else str(flushed.failure)
        emit_json(
            {
                "terminal": stands.terminal,
                "put": [{key: str(value) for key, value in row.items()} for row in rows],
                "sent": sent,
                "act": None if act is None else act.told(),
                "waiting": stands.waiting,
                "rejected": [{"id": str(each.id), "problem": msgspec.to_builtins(each.problem)} for each in rejected],
                "rejected_before": [{"id": str(each.id), "problem": msgspec.to_builtins(each.problem)} for each in others],
                "turned_away": [{"id": str(each.id), "problem": msgspec.to_builtins(each.problem)} for each in turned_away],
            }
        )
        return
    if form == "csv":
        emit_csv([Column(key, key) for key in _PUT], rows)
    else:
        emit_lines([f"{event.type}  {event.id}  {_about(event)}" for event in put])
    if flushed is None:
        say(f"{counted(stands.waiting, 'event')} in the outbox to be sent")
        return
    if not put and act is None and not flushed.posts and flushed.failure is None:
        say("nothing was sent: nothing was put in, and nothing waited")
        return
    say(f"sent: {flushed.accepted} accepted, {flushed.replayed} replayed, {flushed.rejected} rejected, {stands.waiting} waiting")
    for each in rejected:
        say(f"rejected {each.id}: {visible(str(each.problem))}{_way(each.problem)}")
    for each in others:
        name = f"{each.type.split('.')[1]} {str(each.id)[:13]}"
        say(f"rejected, put in before: {name} of {each.about}: {visible(str(each.problem))}{_way(each.problem)}")
    if act is not None:
        say(f"{act.event.type} {act.event.id}: {act.words()}")
    if flushed.failure is not None:
        say(f"not sent: {visible(str(flushed.failure))}; what waits is kept, and sent by the next call")
        return
    for each in turned_away:
        say(f"turned away for now {each.id}: {visible(str(each.problem))}{_way(each.problem)}")
    if earlier := stands.waiting - len(turned_away):
        say(f"{counted(earlier, 'event')} put in before {'waits' if earlier == 1 else 'wait'}: roundledger terminal status")


def _fields(given: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in given:
        field, equals, value = text.partition("=")
        if not equals or field in found:
            raise Refusal("LGR-0108", "a field is written FIELD=VALUE, once", field="FIELD=VALUE", value=text)
        found[field] = value.split(",") if field == "bets" else value
    return found


def _event(terminal: str, name: str, round_: UUID | None, data: dict[str, Any], *, strict: bool = False, **own: Any) -> Event:
    """The event that a person or a line of input means. Refuses LGR-0107 and LGR-0108."""
    import msgspec

    from ledger.client import happened
    from ledger.reports import TYPES

    known = {type_.split(".")[1]: model for type_, model in TYPES.items()}
    short = name.removeprefix("roundledger.").removesuffix(".v1")
    if short not in known:
        near = get_close_matches(short, known, 1)
        meant = f"did you mean {near[0]}?" if near else f"known types: {', '.join(known)}"
        raise Refusal("LGR-0107", "no event has this type", field="type", value=name, help=meant)
    try:
        read = msgspec.convert(data, known[short], strict=strict)
    except msgspec.ValidationError as error:
        raise _misread(error, known[short], short, data) from None
    return happened(read, terminal=terminal, round=round_, **own)


def _misread(error: msgspec.ValidationError, model: type[msgspec.Struct], name: str, data: dict[str, Any]) -> Refusal:
    """The refusal of data of which a field is missing, unknown or not as it must be."""
    from ledger.misread import of_field, reason

    at = re.search(r" - at `\$\.([a-z_]+)", str(error))
    field = at[1] if at else None
    said = of_field(error, model, field) if field in data else reason(error, model)
    names = ", ".join(model.__struct_fields__) or "none"
    shown = data.get(field) if field else None
    return Refusal("LGR-0108", said, field=field or "data", value=shown, help=f"fields of {name}: {names}")


def _lines(terminal: str, lines: Iterable[str]) -> list[Event]:
    """Every line as an event; refuses all where one cannot be read, and names it."""
    import msgspec

    class Line(msgspec.Struct, forbid_unknown_fields=True):
        type: str
        round: UUID | None = None
        data: dict[str, Any] = {}
        id: UUID | None = None
        time: datetime | None = None

    events = []
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            line = msgspec.json.decode(text, type=Line)
            if line.time is not None and line.time.tzinfo is None:
                raise Refusal("LGR-0108", "a time has its offset", field="time", value=line.time.isoformat())
            events.append(_event(terminal, line.type, line.round, line.data, strict=True, id=line.id, at=line.time))
        except msgspec.DecodeError as error:
            raise Refusal("LGR-0108", str(error), field=f"line {number}", value=text.strip()) from None
        except Refusal as refusal:
            refusal.field = f"line {number}: {refusal.field}"
            raise
    return events
