"""Which events of the log somebody wants: by type, table, property and stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self
from uuid import UUID

from ledger.errors import Refusal
from ledger.events import EVENTS
from ledger.feed.envelope import Place
from ledger.reports import type_of
from ledger.store import codec

FILTERS = ("type", "table", "property", "subject")
"""By what events are chosen: attributes of the CloudEvent. Several values of one are alternatives, several filters all hold."""

_TYPES = {name: type_of(event) for event in EVENTS for name in (type_of(event), event.TOPIC, event.__name__)}
"""Every name by which a type may be called → the type."""
_MOST = 100
_LONGEST = 64


class Wanted(NamedTuple):
    """A choice of events; an empty set chooses all."""

    types: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    properties: frozenset[str] = frozenset()
    subjects: frozenset[UUID] = frozenset()

    @classmethod
    def of(cls, given: Mapping[str, Iterable[str]]) -> Self:
        """The choice that is given as filter → values. Raises Refusal LGR-0108."""
        values = {name: frozenset(given.get(name, ())) for name in FILTERS}
        for name, some in values.items():
            if len(some) > _MOST:
                raise Refusal("LGR-0108", f"a filter names at most {_MOST} values", field=name, value=len(some))
            for each in some:
                if not each or len(each) > _LONGEST or not each.isprintable():
                    raise Refusal("LGR-0108", f"a filter's value has 1 to {_LONGEST} characters", field=name, value=each)
        return cls(
            types=frozenset(map(_type, values["type"])),
            tables=values["table"],
            properties=values["property"],
            subjects=frozenset(map(_subject, values["subject"])),
        )

    def given(self) -> dict[str, list[str]]:
        """What `of` reads, in order."""
        named: dict[str, Iterable[Any]] = dict(
            zip(FILTERS, (self.types, self.tables, self.properties, self.subjects), strict=True)
        )
        return {name: sorted(map(str, values)) for name, values in named.items() if values}

    def takes_key(self, topic: str, stream: UUID) -> bool:
        """Whether an event may be wanted, as far as its key says."""
        if self.subjects and stream not in self.subjects:
            return False
        if not self.types:
            return True
        kind = codec.kind(topic)
        return kind is not None and type_of(kind) in self.types

    def takes_place(self, place: Place | None) -> bool:
        """Whether what happened there is wanted. It is where nobody can say where it happened: better once too often."""
        return place is None or (
            (not self.tables or place.table in self.tables) and (not self.properties or place.property in self.properties)
        )


ALL = Wanted()


def _type(name: str) -> str:
    found = _TYPES.get(name)
    if found is None:
        known = ", ".join(event.__name__ for event in EVENTS)
        raise Refusal("LGR-0108", "no event of the log has this type", field="type", value=name, help=f"types: {known}")
    return found


def _subject(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Refusal(
            "LGR-0108", "a subject is the UUID of a stream, such as a round's id", field="subject", value=text
        ) from None
