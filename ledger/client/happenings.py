"""What happens at a table, as an event that a terminal can keep and send: CloudEvents 1.0 around the bodies of `ledger.reports`.

The id is made when the thing happens and never again: it is what a retry is known by.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import UUID

import msgspec

from ledger.errors import Refusal
from ledger.misread import of_field, reason
from ledger.pseudonyms import verify_pseudonym
from ledger.reports import PERSONS_ACTS, PLAYERS, TYPES, Data, OfAProperty, OfATable, OpenRound, stream_of, subject_of

BATCH_TYPE = "application/cloudevents-batch+json"
"""Media type of a batch (CloudEvents JSON format, section 4)."""

_TYPE_OF: dict[type[Data], str] = {body: name for name, body in TYPES.items()}
_PEOPLE = "people/"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_AT = re.compile(r" - at `\$\.?(?P<field>[^`]*)`$")


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened, with its own id; numbered once an outbox has taken it."""

    id: UUID
    terminal: str
    """Id of the terminal; of a person's own report `people/` and the person's reference."""
    round: UUID
    """The round that it is about; of what is about no round, the stream of its table or property."""
    at: datetime
    """By the terminal's clock; aware."""
    data: Data
    epoch: int | None = None
    sequence: int | None = None

    @property
    def type(self) -> str:
        """The CloudEvents `type`, for example `roundledger.BetPlaced.v1`."""
        return _TYPE_OF[type(self.data)]

    @property
    def persons(self) -> bool:
        """Whether a person decides it, so that it counts by that person's token and by no other."""
        return isinstance(self.data, PERSONS_ACTS)

    def encoded(self) -> bytes:
        """The event in the JSON format of CloudEvents 1.0, the same bytes at every call."""
        return msgspec.json.encode(
            {
                "specversion": "1.0",
                "id": self.id,
                "source": f"/{self.terminal}" if self.terminal.startswith(_PEOPLE) else f"/terminals/{self.terminal}",
                "type": self.type,
                "subject": subject_of(self.data) if isinstance(self.data, OfATable | OfAProperty) else self.round,
                "time": self.at,
                **({} if self.epoch is None else {"epoch": str(self.epoch)}),
                **({} if self.sequence is None else {"sequence": str(self.sequence)}),
                "datacontenttype": "application/json",
                "data": self.data,
            }
        )


def happened(
    data: Data,
    *,
    terminal: str | None = None,
    person: str | None = None,
    round: UUID | None = None,
    id: UUID | None = None,
    at: datetime | None = None,
) -> Event:
    """The event that `data` happened at the terminal: now, and under a fresh id, unless `at` and `id` say otherwise.

    `person` in the place of `terminal` is somebody who reports by a token and without a terminal, and so without an outbox.
    `round` is the round it belongs to. An opening without one begins a round with a fresh id; who signs on or off does so at the
    table. Raises Refusal LGR-0108 where a field is not as it must be, or the round is missing, LGR-0122
    for a player by the number of a document, and LGR-0124 for one who is called as an erased one is shown.
    """
    name, field = (person, "person") if terminal is None else (terminal, "terminal")
    if name is None or not is_name(name):
        raise Refusal("LGR-0108", "an id is 1 to 64 ASCII letters, digits, dots, dashes and underscores", field=field, value=name)
    checked = _checked(data)
    if round is None or isinstance(checked, OfATable | OfAProperty):
        round = _own_round(checked)
    who = _PEOPLE + name if terminal is None else name
    return Event(id=id or uuid7(), terminal=who, round=round, at=(at or datetime.now(UTC)).astimezone(UTC), data=checked)


def is_name(text: str) -> bool:
    """Whether a terminal or a person can be called so."""
    return _NAME.fullmatch(text) is not None


def batch(events: Iterable[bytes]) -> bytes:
    """Encoded events as the body of one post."""
    return b"[" + b",".join(events) + b"]"


def uuid7() -> UUID:
    """A fresh UUID of version 7 (RFC 9562, 5.7): milliseconds since 1970, then 74 random bits."""
    random = int.from_bytes(os.urandom(10))
    value = (time.time_ns() // 1_000_000) << 80 | random
    return UUID(int=value & ~(0xF << 76) & ~(0x3 << 62) | 7 << 76 | 2 << 62)


def _own_round(data: Data) -> UUID:
    if isinstance(data, OpenRound):
        return uuid7()
    if isinstance(data, OfATable | OfAProperty):
        return stream_of(data)
    raise Refusal("LGR-0108", f"{_TYPE_OF[type(data)]} belongs to a round", field="round", help="name the round's id")


def _checked(data: Data) -> Data:
    """The same data; a struct is not checked when it is made, only when it is read."""
    try:
        checked = msgspec.convert(msgspec.to_builtins(data, builtin_types=(UUID,)), type(data))
    except msgspec.ValidationError as error:
        at = _AT.search(str(error))
        field = at["field"] if at else None
        if not field or not field.isidentifier():
            raise Refusal("LGR-0108", reason(error, type(data)), field=f"data.{field}" if field else "data") from None
        value = getattr(data, field, None)
        raise Refusal("LGR-0108", of_field(error, type(data), field), field=f"data.{field}", value=value) from None
    named = PLAYERS.get(type(checked))
    if named is not None and (player := getattr(checked, named)) is not None:
        verify_pseudonym(player, f"data.{named}")
    return checked
