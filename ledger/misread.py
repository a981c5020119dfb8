"""What is wrong with a value that is not of its field's type, in words that people use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

import msgspec

_IN_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number with a fraction",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "uuid": "a UUID",
    "Odd": "a number that no field takes",
}
"""msgspec's names of types, for people."""
_PLACE = re.compile(r" - at `\$\[(\d+)\]`")
_REFERENCE = "An opaque reference"
"""How the description of a reference begins (`ledger.reports.Ref`)."""


def reason(error: msgspec.ValidationError, wanted: object) -> str:
    """What msgspec says of a value that is not of the type wanted: what is expected, and in which entry of a list."""
    text = str(error)
    place = _PLACE.search(text)
    where = f"in entry {int(place[1]) + 1}, " if place else ""
    text = text.split(" - at ")[0]
    if "matching regex" in text:
        return where + _form(wanted)
    if text.startswith("Invalid enum value"):
        return f"expected {' or '.join(_choices(wanted))}"
    if text == "Invalid UUID":
        return f"{where}expected a UUID, such as 01937787-d400-7000-8000-000000000001"
    text = re.sub("`([^`]+)`", lambda named: " or ".join(_IN_WORDS.get(each, each) for each in named[1].split(" | ")), text)
    things = "entries" if "a list of" in text else "characters"
    text = re.sub(r" of length >= 1$", " that is not empty", text)
    text = re.sub(r" of length <= (\d+)$", rf" of at most \1 {things}", text)
    text = re.sub(r" ([<>])= (\d+)$", lambda bound: f", {bound[2]} or {'less' if bound[1] == '<' else 'more'}", text)
    return where + text[0].lower() + text[1:]


def of_field(error: msgspec.ValidationError, model: type[msgspec.Struct], name: str) -> str:
    """The same of the field of a struct, as a sentence that names it."""
    wanted = next((field.type for field in msgspec.structs.fields(model) if field.name == name), object)
    return f"the field `{name}` is not as it must be: {reason(error, wanted)}"


def _form(wanted: object) -> str:
    """What text may look like that has to match a pattern: as the type describes it."""
    described = next(_descriptions(wanted), "")
    if not described or described.startswith(_REFERENCE):
        return "expected ASCII letters, digits and . _ : - , beginning with a letter or digit"
    return f"expected {described[0].lower()}{described[1:].rstrip('.')}"


def _descriptions(wanted: object) -> Iterator[str]:
    """What the types within a type say of themselves, where they have a pattern."""
    for meta in getattr(wanted, "__metadata__", ()):
        if isinstance(meta, msgspec.Meta) and meta.pattern is not None and meta.description:
            yield meta.description
    for each in get_args(wanted):
        yield from _descriptions(each)


def _choices(wanted: object) -> Iterator[str]:
    """The texts of which a field takes one."""
    for each in get_args(wanted):
        if isinstance(each, str):
            yield f"`{each}`"
        else:
            yield from _choices(each)
