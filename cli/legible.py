"""What a terminal is sent that cannot show every character: the nearest it has, never an escape or a traceback."""

from __future__ import annotations

import codecs
import io
import sys
from unicodedata import east_asian_width, normalize

LEGIBLE = "roundledger.legible"
"""The error handler for encodings."""

_ALIKE = {"×": "x", "−": "-", "–": "-", "─": "-", "·": "-", "…": "...", "→": "->", "’": "'", "“": '"', "”": '"'}

_missing: set[str] = set()


def make_legible() -> None:
    """From now on stdout and stderr show what their encoding has not by what comes nearest."""
    codecs.register_error(LEGIBLE, _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=LEGIBLE)


def what_was_missing() -> str | None:
    """What to tell the person, where characters had to be left out; None where none was."""
    if not _missing:
        return None
    return f"? stands for what {sys.stdout.encoding} cannot show; PYTHONIOENCODING=utf-8 prints it"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_nearest, error.object[error.start : error.end])), error.end


def _nearest(character: str) -> str:
    if alike := _ALIKE.get(character):
        return alike
    letters = "".join(part for part in normalize("NFKD", character) if part.isascii())
    if letters:
        return letters
    _missing.add(character)
    return "??" if east_asian_width(character) in "WF" else "?"
