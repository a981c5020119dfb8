"""Events to bytes and back: flat JSON under stable topics, and old forms read for ever.

The stored bytes are what was recorded and are never rewritten. Where an event's form changes, it gets a new topic version; `OLD`
names the released form's topic with the function that turns its fields into today's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ledger.errors import Refusal
from ledger.events import EVENTS, Event

Fields = dict[str, Any]

OLD: dict[str, tuple[type[Event], Callable[[Fields], Fields]]] = {}
"""Topic of a released form → today's class and the upcast of its fields."""

_kinds: dict[str, type[Event]] = {cls.TOPIC: cls for cls in EVENTS}
_decoders: dict[str, Callable[[bytes], Event]] = {cls.TOPIC: msgspec.json.Decoder(cls).decode for cls in EVENTS}


encode: Callable[[Event], bytes] = msgspec.json.Encoder().encode
"""The payload as it is stored."""


def kind(topic: str) -> type[Event] | None:
    """Today's class of what is stored under `topic`, in its present or an old form; None of an unknown topic."""
    return _kinds.get(topic) or (OLD[topic][0] if topic in OLD else None)


def decode(topic: str, state: bytes, where: str = "", *at: object) -> Event:
    """The event stored under `topic`.

    Raises Refusal LGR-0504 naming the event and what to do when the topic is unknown or the payload is not of its form. Where it
    stands is then said by `where`, with `at` in its % places: only then, for to say it takes longer than to decode.
    """
    try:
        return _decoders[topic](state)
    except KeyError:
        return _decode_old(topic, state, where % at)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _misshapen(topic, state, where % at, error) from error


def _decode_old(topic: str, state: bytes, where: str) -> Event:
    if topic not in OLD:
        raise Refusal(
            "LGR-0504",
            f"no event is known under the topic {topic}{where}",
            value=topic,
            help="the log was written by a newer release, or by another program: install that release to read it",
        )
    cls, upcast = OLD[topic]
    try:
        return msgspec.convert(upcast(msgspec.json.decode(state)), cls)
    # An upcast takes the old form for granted, so what is not of it can fail in any of these ways.
    except (msgspec.DecodeError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _misshapen(topic, state, where, error) from error


def _misshapen(topic: str, state: bytes, where: str, error: Exception) -> Refusal:
    return Refusal(
        "LGR-0504",
        f"the payload of {topic}{where} is not of its form: {type(error).__name__}: {error}",
        value=_text(state),
        help="events are written by this program alone: find out who wrote this one, and bring back the row from a backup",
    )


def _text(state: bytes) -> str:
    return state.decode("utf-8", "backslashreplace")
