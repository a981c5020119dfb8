"""Text in cells: what is in the log may neither move a terminal's cursor nor become a spreadsheet's formula."""

from __future__ import annotations

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""Some spreadsheets take the full-width signs as well."""


def visible(text: str) -> str:
    """Text with control characters as escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def guarded(text: str) -> str:
    """Text that no spreadsheet takes for a formula: an apostrophe goes before what begins like one."""
    return "'" + text if text.startswith(FORMULA) else text
