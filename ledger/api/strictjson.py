"""JSON as RFC 8259 means it, read so that every fault of one item can be named and shown as it was written.

Python's own reader forgives too much for a ledger: it keeps the last of two equal keys, knows NaN, turns 1e999 into infinity and
fails on a long integer. Here such things survive as markers, so that the item which holds one is refused by field, and its
neighbours are not.
"""

from __future__ import annotations

import json
import math
from typing import Any

from ledger.errors import Refusal

_INT_DIGITS = 18
_BOM = b"\xef\xbb\xbf"


class Odd:
    """A number that no field of a report takes: a fraction, an exponent, NaN, or more digits than 64 bits hold."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def finite(self) -> bool:
        """Whether it is a number of JSON that others can hold: NaN and infinities are none, and 1e400 becomes one with them."""
        return math.isfinite(float(self.text))


class Twice(dict[str, Any]):
    """An object in which at least one key stands twice; `key` is the first such key, `pair` the two values."""

    __slots__ = ("key", "pair")

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen:
                self.key, self.pair = key, (seen[key], value)
                break
            seen[key] = value


def _int(text: str) -> int | Odd:
    return int(text) if len(text) <= _INT_DIGITS else Odd(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else Twice(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=Odd, parse_int=_int, parse_constant=Odd)


def loads(raw: bytes) -> Any:
    """The value of a JSON text, with `Odd` and `Twice` in the place of what a report cannot hold. Refuses LGR-0101."""
    if raw.startswith(_BOM):
        raise Refusal("LGR-0101", "the body begins with a byte order mark", help="send UTF-8 without one (RFC 8259, section 8.1)")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise Refusal(
            "LGR-0101",
            f"the body is not UTF-8: byte {error.start} cannot stand there",
            value=f"0x{raw[error.start]:02x}",
            help="send UTF-8 (RFC 8259, section 8.1)",
        ) from None
    if not text.strip(" \t\r\n"):
        raise Refusal("LGR-0101", "the body is empty", help="post one CloudEvent, or an array of them")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        around = text[max(0, error.pos - 20) : error.pos + 20]
        raise Refusal(
            "LGR-0101", f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}", value=printable(around)
        ) from None
    except RecursionError:
        raise _too_deep() from None


def canonical(value: object) -> str:
    """A value that `loads` gave, as one text however its keys were ordered; numbers that no field takes stand as written.

    Of a key that stands twice within it the last counts. Refuses LGR-0101 what is nested too deep to be written again.
    """
    try:
        return json.dumps(value, sort_keys=True, default=_written)
    except RecursionError:
        raise _too_deep() from None


def _written(odd: object) -> dict[str, str]:
    assert isinstance(odd, Odd)
    return {"number": odd.text}


def _too_deep() -> Refusal:
    return Refusal("LGR-0101", "the body is nested deeper than any event is")


def printable(text: str) -> str:
    """`text` with what cannot be printed or encoded (control characters, lone surrogates) as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shown(value: object) -> str:
    """A value of a request as its sender wrote it; a container by its kind only, for it may be deep."""
    match value:
        case str():
            return printable(value)
        case Odd():
            return value.text
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return "an object"
        case list():
            return "an array"
        case _:
            return str(value)


def kind(value: object) -> str:
    """What a value is, in the words of a sentence: `the number 1e999`, `a string`."""
    match value:
        case str():
            return "a string"
        case bool() | None:
            return shown(value)
        case int() | Odd():
            return f"the number {shown(value)[:40]}"
        case _:
            return shown(value)
