"""How to configure a house: every field of the file is on the page, in the table of its part, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ledger.property import ChanceLimits, Choice, OptIn, Person, Pit, Property, Table

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "configure-a-house.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("model", "heading"),
    [
        (Property, "## Every field"),
        (Pit, "`[[pits]]`"),
        (Table, "`[[tables]]`"),
        (ChanceLimits, "`[[tables.chances]]`"),
        (Person, "`[[people]]`"),
        (OptIn, "`[[opt_ins]]`"),
        (Choice, "`[[choices]]`"),
    ],
)
def test_every_field_stands_in_its_table(model: type[msgspec.Struct], heading: str) -> None:
    [text] = re.findall(rf"^{re.escape(heading)}.*?\n\n(\|.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    parts = {"tables", "opt_ins", "choices", "pits", "people"} if model is Property else set()
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == {f.name for f in msgspec.structs.fields(model)} - parts
