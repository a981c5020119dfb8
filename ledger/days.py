"""The gaming days of a property: which of them are closed, and to which day something is posted that happens now.

The days of a property have a stream of their own. Whatever is posted to a day names that stream as its premise, so that a closing
comes wholly before it or after it (`ledger.store.recorder`).
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple
from uuid import UUID

import msgspec

from ledger.deciding import Deciding
from ledger.errors import Refusal
from ledger.events import DayTotal, Event, GamingDayClosed
from ledger.reports import CloseDay, days_stream
from ledger.round import Origin
from ledger.round.persons import verify_person
from ledger.round.trying import succeeds


class Posting(NamedTuple):
    """To which day something is posted."""

    gaming_day: date
    of_day: date | None = None
    """The day that it is about, where that one is closed."""


class Days(Deciding):
    """The gaming days of one property. Not thread-safe: the application holds it."""

    __slots__ = ("closed", "house")

    def __init__(self, house: str) -> None:
        super().__init__(days_stream(house))
        self.house = house
        """Id of the property."""
        self.closed: date | None = None
        """The last day that is closed, and all before it with it; None where none is."""

    @property
    def premise(self) -> dict[UUID, int]:
        """What is posted to an open day holds as long as this stream has no later version."""
        return {self.id: self.version}

    def _change(self, body: Event) -> None:
        if not isinstance(body, GamingDayClosed):
            raise Refusal("LGR-0504", f"a property's days have no event {type(body).__name__}", value=str(self.id))
        self.closed = body.gaming_day

    def is_closed(self, day: date) -> bool:
        """Whether nothing is posted to this day any more."""
        return self.closed is not None and day <= self.closed

    def present(self, now: date) -> date:
        """The day to which is posted what happens now, where `now` is the day by the property's clock."""
        return now if self.closed is None else max(now, self.closed + timedelta(days=1))

    def posting(self, now: date, about: date | None, since: date | None = None) -> Posting:
        """Where something is posted that is about a day: there, or where that one is closed to the present day.

        `since` is the day in which the property was first configured, for what names its day anew. Raises Refusal LGR-0272 for a
        day that is to come, LGR-0276 for one before the ledger's first.
        """
        present = self.present(now)
        if about is None or about == present:
            return Posting(present)
        if about > present:
            raise Refusal(
                "LGR-0272",
                f"the property's gaming day is {present}",
                field="data.gaming_day",
                value=about.isoformat(),
                help=_LEAVE,
            )
        if since is not None:
            verify_begun(about, earliest(since, now))
        return Posting(present, about) if self.is_closed(about) else Posting(about)

    # Closing.

    def verify_close(self, day: date, now: date, since: date, origin: Origin) -> None:
        """Raises unless a person closes the day that is next, and it has ended by the property's clock.

        The first may be any from the day before `since` on, in which the property was first configured.
        """
        verify_person(origin)
        if self.is_closed(day):
            raise Refusal(
                "LGR-0271",
                f"the gaming day was closed before: all up to {self.closed} are",
                field="data.gaming_day",
                value=str(day),
            )
        if day >= now:
            raise Refusal(
                "LGR-0270",
                f"by the property's clock it is gaming day {now}",
                field="data.gaming_day",
                value=day.isoformat(),
                help="close it once it has ended",
            )
        if self.closed is None:
            verify_begun(day, earliest(since, now))
        elif day != (following := self.closed + timedelta(days=1)):
            raise Refusal(
                "LGR-0273",
                f"the last day that is closed is {self.closed}",
                field="data.gaming_day",
                value=day.isoformat(),
                help=f"close {following} first, also where nothing happened on it",
            )

    def can_close(self, day: date, now: date, since: date, origin: Origin) -> bool:
        """Whether `close` would succeed."""
        return succeeds(self.verify_close, day, now, since, origin)

    def close(self, said: CloseDay, now: date, since: date, origin: Origin) -> None:
        """Closes a day; `now` is the day by the property's clock, `since` that in which it was first configured."""
        self.verify_close(said.gaming_day, now, since, origin)
        self._happen(
            GamingDayClosed(
                **origin._asdict(),
                property=said.property,
                gaming_day=said.gaming_day,
                as_of=said.as_of,
                figures=said.figures,
                totals=tuple(DayTotal(**msgspec.structs.asdict(total)) for total in said.totals),
                despite=said.despite,
                note=said.note,
            )
        )


def earliest(since: date, now: date | None = None) -> date:
    """The first gaming day of a property that was first configured on `since`: the one before, of which boxes are left to count.

    A clock that is behind that of the configuration does not make the present day an earlier one.
    """
    return (since if now is None else min(since, now)) - timedelta(days=1)


def verify_begun(about: date, first: date) -> None:
    """Raises Refusal LGR-0276 for a gaming day before the ledger's first."""
    if about < first:
        raise Refusal(
            "LGR-0276",
            f"the ledger of the property begins with gaming day {first}",
            field="data.gaming_day",
            value=about.isoformat(),
            help="look at the year: no gaming day before that one can be named",
        )


_LEAVE = "leave the field out for the present day; an earlier day is named by its date"
