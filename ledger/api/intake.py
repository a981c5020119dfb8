"""From the bytes of a post to reports: each item read by itself, in order, and nothing believed.

Terminals send CloudEvents 1.0 in its JSON format (https://github.com/cloudevents/spec, v1.0.2), one event or a batch. What is
wrong with the body as a whole is raised; what is wrong with one item becomes that item's verdict and touches no other.

Unknown extension attributes are ignored, as CloudEvents asks (a proxy may add a trace id). Unknown fields of `data` are refused:
there a misspelt word would change what a bet means.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import msgspec

from ledger import misread
from ledger.api import plain
from ledger.api.bodies import BATCH, ONE
from ledger.api.strictjson import Odd, Twice, canonical, kind, loads, printable, shown
from ledger.errors import Refusal
from ledger.money import minor_digits, parse_minor
from ledger.pseudonyms import verify_pseudonym
from ledger.reports import (
    PLAYERS,
    PLAYERS_STREAM,
    TYPES,
    Body,
    Caller,
    Data,
    Malformed,
    PlaceBet,
    Report,
    Verdict,
    days_stream,
    table_stream,
)

MAX_ITEMS = 1000
"""Events of one batch."""
HINTS = 10
"""Misspelt names of one post for which the nearest known one is sought: each takes some tenths of a millisecond."""
_HINT_LENGTH = 40
"""Characters of a name that can be a misspelling of any known one."""

_ATTRIBUTES = frozenset(
    {"specversion", "id", "source", "type", "subject", "time", "epoch", "sequence", "datacontenttype", "dataschema", "data"}
)
_TABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
_EXTENSION = re.compile(r"[a-z0-9]+")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_SOURCE = re.compile(r"/(terminals|people)/([A-Za-z0-9][A-Za-z0-9._-]{0,63})")
_DIGITS = re.compile(r"[0-9]{1,16}")
_LARGEST_NUMBER = 2**53 - 1
"""It stands as a number in the log's payloads, and beyond this readers of JSON round (RFC 7493, 2.2)."""
_JSON_TYPE = re.compile(r"application/([a-z0-9.+-]+\+)?json\s*(;.*)?", re.IGNORECASE)
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_canonical = msgspec.json.Encoder(order="sorted")


class Intake(NamedTuple):
    """What a body held, in the order sent."""

    items: list[Report | Verdict]
    """A report, or the verdict on an item that is none (always `rejected`)."""
    single: bool
    """One event, not a batch: the answer to a refusal is then that refusal alone."""


class _Hints:
    """What a post's misspelt names may have meant: of the first few only, for who misspells a thousand needs no more."""

    def __init__(self) -> None:
        self._left = HINTS

    def near(self, name: str, known: Collection[str]) -> str | None:
        """The known name that is most like `name`, if any is and the post has hints left."""
        if len(name) > _HINT_LENGTH or not self._left:
            return None
        self._left -= 1
        return next(iter(get_close_matches(name, known, 1)), None)


def read(raw: bytes, media_type: str, received_at: datetime, caller: Caller | None = None) -> Intake:
    """Every item of a body as a report of this caller, or as the verdict that it is none.

    Refuses the whole body where it is not JSON (LGR-0101), is neither an event nor an array of them or not what its media type
    says (LGR-0103), or holds more than `MAX_ITEMS` events (LGR-0109).
    """
    return read_plain(raw, media_type, received_at, caller) or read_careful(raw, media_type, received_at, caller)


def read_plain(raw: bytes, media_type: str, received_at: datetime, caller: Caller | None = None) -> Intake | None:
    """As `read`, of a batch with nothing unusual in it, in one quick step; else None."""
    if media_type == ONE or (reports := _plainly(raw, received_at, caller)) is None:
        return None
    return Intake([*reports], single=False)


def read_careful(raw: bytes, media_type: str, received_at: datetime, caller: Caller | None = None) -> Intake:
    """As `read`, item by item: of a body that was made for it this may take half a second."""
    body = loads(raw)
    hints = _Hints()
    if isinstance(body, dict):
        if media_type == BATCH:
            raise Refusal(
                "LGR-0103", "the media type promises a batch, but the body is one object", help=f"send an array, or {ONE}"
            )
        return Intake([_item(body, received_at, hints, caller)], single=True)
    if not isinstance(body, list):
        raise Refusal("LGR-0103", f"the body is {kind(body)}, not an event or an array of events", value=shown(body))
    if media_type == ONE:
        raise Refusal(
            "LGR-0103", "the media type promises one event, but the body is an array", help=f"send an object, or {BATCH}"
        )
    if len(body) > MAX_ITEMS:
        raise Refusal(
            "LGR-0109",
            f"the batch holds {len(body)} events; {MAX_ITEMS} are read at once",
            value=str(len(body)),
            help="send it in parts, in order. Nothing of this one was stored",
        )
    return Intake([_item(item, received_at, hints, caller) for item in body], single=False)


def _plainly(raw: bytes, received_at: datetime, caller: Caller | None) -> list[Report] | None:
    """The reports of a batch in which nothing has to be looked at twice, as the readers below would give them; else None."""
    events = plain.read(raw)
    if events is None or len(events) > MAX_ITEMS:
        return None
    try:
        return [
            Report(
                event_id=event.event_id,
                terminal=event.terminal,
                type=event.type,
                round=event.round,
                occurred_at=event.occurred_at,
                received_at=received_at,
                sequence=event.sequence,
                epoch=event.epoch,
                fingerprint=fingerprint(
                    event.terminal,
                    event.type,
                    event.round,
                    event.occurred_at,
                    event.sequence,
                    _verified(event.data),
                    event.epoch,
                ),
                caller=caller,
                by=None if caller is None else caller.author(event.data, personal=False),
                body=event.data,
            )
            for event in events
        ]
    except Refusal:
        return None


def _item(item: object, received_at: datetime, hints: _Hints, caller: Caller | None) -> Report | Verdict:
    """One item, by itself. A verdict names event and round as far as they could be read."""
    try:
        return _report(item, received_at, hints, caller)
    except Refusal as refusal:
        said = refusal
    except UnicodeError:
        # JSON can write half a surrogate pair, and no encoder takes it. Where that is seen is named below; wherever it is not,
        # it is still the fault of this item alone.
        said = Refusal("LGR-0103", "the event holds a character that cannot be encoded: half a surrogate pair")
    legible = item if isinstance(item, dict) else {}
    return Verdict(
        event_id=_uuid_or_none(legible.get("id")), status="rejected", round=_uuid_or_none(legible.get("subject")), refusal=said
    )


def _report(item: object, received_at: datetime, hints: _Hints, caller: Caller | None) -> Report:
    if not isinstance(item, dict):
        raise Refusal("LGR-0103", f"an event is a JSON object; this is {kind(item)}", value=shown(item))
    _refuse_twice(item, "")
    _refuse_foreign_attributes(item)
    if item.get("specversion") != "1.0":
        raise _attribute(item, "specversion", 'is "1.0"')
    event_id = _uuid(item, "id", "is the event's own UUID, made by the terminal when it happened and kept for every retry")
    source = _SOURCE.fullmatch(_text(item, "source", "names the terminal"))
    if source is None:
        raise _attribute(
            item,
            "source",
            "is /terminals/ or /people/ and the id of the terminal or person (ASCII letters, digits and . _ -, up to 64)",
        )
    personal = source[1] == "people"
    # What a fingerprint says of a terminal is as old as the log; a terminal's id has no slash.
    named = f"people/{source[2]}" if personal else source[2]
    topic = _text(item, "type", "names what happened")
    if topic not in TYPES:
        near = hints.near(topic, TYPES)
        known = f"did you mean {near}?" if near else "the types that are read stand in /openapi.json, each with an example"
        raise Refusal("LGR-0107", "no event of this type is read", field="type", value=shown(topic), help=known)
    stream = _subject(item, topic)
    occurred_at = _time(item)
    epoch = _number(item, "epoch", "is the terminal's count of its own restarts")
    sequence = _number(item, "sequence", "is the terminal's own number of the event, from 1 in each epoch", least=1)
    content_type = item.get("datacontenttype")
    if content_type is not None and not (isinstance(content_type, str) and _JSON_TYPE.fullmatch(content_type)):
        raise _attribute(item, "datacontenttype", "is application/json, or left out")
    body: Body
    try:
        body = _body(item.get("data"), topic, hints)
        said = fingerprint(named, topic, stream, occurred_at, sequence, body, epoch)
    except Refusal as refusal:
        body = Malformed(refusal=refusal)
        said = fingerprint(named, topic, stream, occurred_at, sequence, canonical(item.get("data")), epoch)
    return Report(
        event_id=event_id,
        terminal=source[2],
        personal=personal,
        type=topic,
        round=stream,
        occurred_at=occurred_at,
        received_at=received_at,
        sequence=sequence,
        epoch=epoch,
        fingerprint=said,
        caller=caller,
        by=None if caller is None else caller.author(body, personal=personal),
        body=body,
    )


def fingerprint(
    terminal: str,
    topic: str,
    round_id: UUID,
    occurred_at: datetime,
    sequence: int | None,
    body: Body | str,
    epoch: int | None = None,
) -> bytes:
    """SHA-256 of what a report says, in one canonical form: the same for any spelling of it, for as long as logs live.

    `body` is text where the data could not be read: their canonical JSON.

    Key order, spacing, escapes, the letter case of UUIDs, the offset of the time and fields given as null do not count. Extension
    attributes do not either: they may change from one try to the next. A new optional field changes no old fingerprint.
    """
    meaning = {
        "source": terminal,
        "type": topic,
        "subject": round_id,
        "time": plain.utc(occurred_at),
        "sequence": None if sequence is None else str(sequence),
        "data": body,
    }
    if epoch is not None:
        meaning["epoch"] = str(epoch)
    return hashlib.sha256(_canonical.encode(meaning)).digest()


def _refuse_twice(found: Mapping[str, Any], path: str) -> None:
    if isinstance(found, Twice):
        raise Refusal(
            "LGR-0106",
            "the key stands twice in one object, so its meaning is not certain",
            field=path + printable(found.key),
            value=" and ".join(shown(value) for value in found.pair),
        )
    data = found.get("data")
    if not path and isinstance(data, dict):
        _refuse_twice(data, "data.")


def _refuse_foreign_attributes(item: Mapping[str, Any]) -> None:
    for name in item.keys() - _ATTRIBUTES:
        value = item[name]
        if name == "data_base64":
            raise Refusal("LGR-0103", "data is read as JSON, not as bytes", field=name, help="put the object in `data`")
        if not _EXTENSION.fullmatch(name):
            raise Refusal(
                "LGR-0103",
                "the names of CloudEvents attributes are lower-case ASCII letters and digits",
                field=printable(name[:200]),
                value=shown(value),
                help="fields of the event itself stand inside `data`",
            )
        if isinstance(value, dict | list):
            raise Refusal(
                "LGR-0103", f"a CloudEvents attribute holds one value, not {kind(value)}", field=name, value=shown(value)
            )
        if not _is_value(value):
            raise Refusal(
                "LGR-0103",
                f"the attribute `{name}` holds what no other reader of JSON takes: {kind(value)}",
                field=name,
                value=shown(value)[:80],
                help="write text of whole characters or a finite number (RFC 8259, sections 6 and 8.2), or leave it out",
            )


def _is_value(value: object) -> bool:
    """Whether others read this value as it is meant: a finite number, or text without half a surrogate pair."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return not isinstance(value, Odd) or value.finite


def _attribute(item: Mapping[str, Any], name: str, rule: str) -> Refusal:
    if item.get(name) is None:
        return Refusal("LGR-0103", f"the attribute `{name}` is missing; it {rule}", field=name)
    return Refusal(
        "LGR-0103", f"the attribute `{name}` {rule}, not {kind(item[name])} like this", field=name, value=shown(item[name])
    )


def _subject(item: Mapping[str, Any], topic: str) -> UUID:
    """The stream that the event is about: a round, by its id, or a table or a property, by its."""
    if topic in plain.OF_TABLES:
        return table_stream(_name(item, "is the table's id"))
    if topic in plain.OF_PROPERTIES:
        house = _name(item, "is the property's id")
        return PLAYERS_STREAM if topic in plain.OF_PLAYERS else days_stream(house)
    return _uuid(item, "subject", "is the round's UUID")


def _name(item: Mapping[str, Any], rule: str) -> str:
    name = _text(item, "subject", rule)
    if not _TABLE.fullmatch(name):
        raise _attribute(item, "subject", rule)
    return name


def _text(item: Mapping[str, Any], name: str, rule: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise _attribute(item, name, rule)
    return value


def _uuid(item: Mapping[str, Any], name: str, rule: str) -> UUID:
    found = _uuid_or_none(item.get(name))
    if found is None:
        raise _attribute(item, name, rule)
    return found


def _uuid_or_none(value: object) -> UUID | None:
    # UUID() and convert() also take 32 bare digits, and UUID() braces and a urn: as well. It is also several times slower.
    return msgspec.convert(value, UUID) if isinstance(value, str) and _UUID.fullmatch(value) else None


def _time(item: Mapping[str, Any]) -> datetime:
    text = _text(item, "time", "says when it happened, such as 2026-11-29T20:00:00+08:00")
    try:
        return msgspec.convert(text, _Time).astimezone(UTC)
    except (msgspec.ValidationError, OverflowError, UnicodeError):
        raise _attribute(item, "time", "is a time of RFC 3339 with its offset, such as 2026-11-29T20:00:00+08:00") from None


def _number(item: Mapping[str, Any], name: str, rule: str, *, least: int = 0) -> int | None:
    value = item.get(name)
    if value is None:
        return None
    if not (isinstance(value, str) and _DIGITS.fullmatch(value) and least <= int(value) <= _LARGEST_NUMBER):
        raise _attribute(item, name, f'{rule}, as a string of digits, such as "12", up to {_LARGEST_NUMBER}')
    return int(value)


def _body(data: object, topic: str, hints: _Hints) -> Data:
    """The data of an event of this type. Refuses with the field named and its value shown (LGR-0104, 0105, 0108)."""
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise Refusal("LGR-0108", f"`data` is a JSON object, not {kind(data)}", field="data", value=shown(data))
    model = TYPES[topic]
    for name, value in data.items():
        if not all(text.isprintable() for text in _texts(value)):
            raise _field(name, value, "holds a character that cannot be printed")
    try:
        body = msgspec.convert(data, model)
    except (msgspec.ValidationError, UnicodeError):
        raise _culprit(data, model, hints) from None
    return _verified(body)


def _texts(value: object) -> Iterator[str]:
    """Every text in a value that `loads` gave, the names of fields as well, however deep it is."""
    left = [value]
    while left:
        match left.pop():
            case str() as text:
                yield text
            case dict() as fields:
                left += [*fields, *fields.values()]
            case list() as entries:
                left += entries


def _verified(body: Data) -> Data:
    """The body, of which all holds that its type cannot say. Refuses LGR-0104, 0105 and 0122."""
    if isinstance(body, PlaceBet):
        parse_minor(body.stake, field="data.stake")
        minor_digits(body.currency, field="data.currency")
    named = PLAYERS.get(type(body))
    if named is not None and (player := getattr(body, named)) is not None:
        verify_pseudonym(player, f"data.{named}")
    return body


_STAKE = 'write it in quotes, in minor units: MOP 100.00 is "10000"'


def _culprit(data: Mapping[str, Any], model: type[Body], hints: _Hints) -> Refusal:
    """Which field it was that could not be read. Only for bodies that are known to be wrong."""
    fields = {field.name: field for field in msgspec.structs.fields(model)}
    for name in data:
        if name not in fields:
            near = hints.near(name, fields)
            return _field(name, data[name], "is unknown", f"did you mean `{near}`?" if near else f"known: {', '.join(fields)}")
    for name, field in fields.items():
        if name not in data:
            if field.required:
                return Refusal("LGR-0108", f"the field `{name}` is missing", field=f"data.{name}")
            continue
        try:
            msgspec.convert(data[name], field.type)
        except msgspec.ValidationError as error:
            if name == "stake":
                return Refusal(
                    "LGR-0104",
                    f"a stake is a string of digits, not {kind(data[name])}",
                    field="data.stake",
                    value=shown(data[name]),
                    help=_STAKE,
                )
            return _field(name, data[name], f"is not as it must be: {misread.reason(error, field.type)}")
    return Refusal("LGR-0108", "the data is not as it must be", field="data", value=shown(data))


def _field(name: str, value: object, fault: str, help_: str | None = None) -> Refusal:
    name = printable(name[:64])
    return Refusal("LGR-0108", f"the field `{name}` {fault}", field=f"data.{name}", value=shown(value), help=help_)
