"""What somebody may have meant who typed a name that is none."""

from __future__ import annotations

from collections.abc import Collection

_LONGEST = 64
_COMPARED = 20_000
"""Names that are compared at most: beyond that only those that begin alike."""


def nearest(word: str, known: Collection[str], number: int = 3) -> list[str]:
    """The names most like a word, whatever their case; the nearest first, none where nothing is near.

    One that differs in case alone is the only one.
    """
    from difflib import get_close_matches

    word = word[:_LONGEST].lower()
    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.lower(), name)
    if word in folded:
        return [folded[word]]
    if len(folded) > _COMPARED:
        folded = {low: name for low, name in folded.items() if low[:8] == word[:8]}
    return [folded[low] for low in get_close_matches(word, list(folded)[:_COMPARED], number)]


def did_you_mean(word: str, known: Collection[str]) -> str | None:
    """The question to ask; None where nothing is near."""
    near = nearest(word, known)
    return f"did you mean {' or '.join(near)}?" if near else None
