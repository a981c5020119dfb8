"""What is true of the house: its documents, and who works at its tables."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from ledger.events.body import Body


class StaffSignedOn(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A person begins to work at a table. In the table's own stream; rounds that open from now on name the person."""

    TOPIC: ClassVar[str] = "StaffSignedOn.v1"

    table: str
    """Id of the table."""
    person: str
    """An opaque reference."""
    role: str
    """`dealer` or `supervisor`."""


class StaffSignedOff(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A person leaves a table, or is relieved by the next who signs on."""

    TOPIC: ClassVar[str] = "StaffSignedOff.v1"

    table: str
    """Id of the table."""
    person: str
    """An opaque reference."""
    role: str
    """`dealer` or `supervisor`."""


class NumbersGivenUp(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of a terminal will not come: a person has put on record why. In the table's own stream.

    Nothing waits for them any more, and what comes with one of them after all is refused for good.
    """

    TOPIC: ClassVar[str] = "NumbersGivenUp.v1"

    table: str
    """Id of the table."""
    of_terminal: str
    """The terminal whose numbers they are."""
    of_epoch: int
    """Its count of its restarts; 0 where it keeps none."""
    first: int
    """The first number."""
    last: int
    """The last one; none between was received."""
    reason: str
    """The reason's code, for example `lost_disk`."""
    note: str | None = None
    """In words, where somebody wrote some."""


class DocumentRecorded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The canonical content of a regulation or of a property's configuration, logged once per content before its first use."""

    TOPIC: ClassVar[str] = "DocumentRecorded.v1"

    kind: str
    """`regulation` or `property`."""
    name: str
    """Order number of the regulation, or id of the property."""
    sha256: str
    """Of `content` in UTF-8, hex."""
    content: str
    """The canonical text, JSON."""
    recorded_at: datetime
    """When it was logged, by the service's clock."""
