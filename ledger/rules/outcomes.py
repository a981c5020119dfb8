"""Outcomes: what the table showed, as written, as read, and in words."""

from __future__ import annotations

from typing import Any, NamedTuple

from ledger.errors import Refusal


class Throw(NamedTuple):
    """One throw of the two dice of craps."""

    text: str
    """By faces (`3-5`), by sum where the faces are not known (`8`), or `void`."""
    total: int
    slots: tuple[int, ...]
    """The pairs of faces that it may be, by their place among the 21; none if void."""

    @property
    def void(self) -> bool:
        return not self.slots


class Outcome(NamedTuple):
    """What the table showed. Two outcomes that pay alike in every way share their `slot`."""

    game: str
    raw: str
    """As the terminal wrote it."""
    text: str
    """In canonical form: roulette "17", cussec "2-2-2" (dice as they lay), fantan "3" of four, craps "6,void,3-3"."""
    shown: str
    """In words, as a table announces it: "17, black"; "2-2-2, total 6, triple"."""
    slot: int
    """Its place among the outcomes of the game; −1 for throws of craps that are not one throw by faces."""
    values: tuple[int, ...]
    """The numbers of it: the pocket; the three dice in order; the button count's number; the faces of a throw, if known."""
    weight: int = 1
    """How many equally likely outcomes it stands for, where outcomes are enumerated."""
    throws: tuple[Throw, ...] = ()
    """Craps: the throws, void ones included."""


LONGEST = 400
"""Characters of the longest outcome that is read (a long sequence of craps throws)."""


def check_text(raw: Any, game: str, how: str) -> str:
    """An outcome is text of printable ASCII; anything else is refused with what stood there (LGR-0406)."""
    if not isinstance(raw, str):
        raise Refusal(
            "LGR-0406", f"an outcome is written as text, not as {type(raw).__name__}", field="outcome", value=raw, help=how
        )
    if len(raw) > LONGEST:
        raise Refusal("LGR-0406", f"an outcome of {game} is not {len(raw)} characters long", field="outcome", value=raw, help=how)
    return raw


def not_an_outcome(raw: str, detail: str, how: str, cite: str | None = None, span: tuple[int, int] | None = None) -> Refusal:
    """The refusal of an outcome that the game cannot show."""
    return Refusal("LGR-0406", detail, field="outcome", value=raw, help=how, cite=cite, span=span)
