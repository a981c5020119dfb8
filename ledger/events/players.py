"""Players that a house has to forget, and those that it has to keep: the erasure of a reference, and legal holds against it.

All of them are in one stream of the ledger, since a reference has one account over all its properties.
"""

from __future__ import annotations

from typing import ClassVar

from ledger.events.body import Body


class PlayerErased(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A player's reference is shown to nobody any more: who reads has `shown` in its place. No money moves.

    The house has deleted in its own identity store whose reference it was. The log keeps it: it cannot change, and whoever
    repeats the calculation needs it.
    """

    TOPIC: ClassVar[str] = "PlayerErased.v1"

    property: str
    """Id of the house whose person did it."""
    player: str
    """The reference."""
    shown: str
    """What is shown in its place: `erased-` and twelve hexadecimal digits, drawn at random."""
    reason: str
    """The reason's code, for example `request`."""
    note: str | None = None
    """In words, where somebody wrote some."""


class PlayerHeld(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A player's reference may not be erased: a duty to keep goes before. No money moves."""

    TOPIC: ClassVar[str] = "PlayerHeld.v1"

    property: str
    """Id of the house whose person did it."""
    player: str
    """The reference."""
    reason: str
    """The code of the duty or the case, for example `aml_2026_17`: a player may be held for several."""
    note: str | None = None
    """In words, where somebody wrote some."""


class PlayerReleased(Body, frozen=True, kw_only=True, omit_defaults=True):
    """One of the reasons for which a player's reference was held has ended."""

    TOPIC: ClassVar[str] = "PlayerReleased.v1"

    property: str
    """Id of the house whose person did it."""
    player: str
    """The reference."""
    reason: str
    """The code under which it was held."""
    note: str | None = None
    """In words, where somebody wrote some."""
