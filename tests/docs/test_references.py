"""What is made and not written is what would be made today."""

from __future__ import annotations

from tests.docs import references

AGAIN = f"make it anew: {references.MADE_BY}"


def test_the_doors_examples_are_what_the_door_answers(dsn: str) -> None:
    assert references.EXAMPLES.read_text("utf-8") == references.examples(dsn), AGAIN
