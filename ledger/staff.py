"""Who works at a table: the aggregate of the table's own stream. One person in each role; the next relieves the former."""

from __future__ import annotations

from ledger.deciding import Deciding
from ledger.errors import Refusal
from ledger.events import Event, StaffSignedOff, StaffSignedOn
from ledger.reports import table_stream
from ledger.round import Origin
from ledger.round.trying import succeeds


class Staff(Deciding):
    """The people at one table. Not thread-safe: the one writer of the table holds it."""

    __slots__ = ("at", "table")

    def __init__(self, table: str) -> None:
        super().__init__(table_stream(table))
        self.table = table
        self.at: dict[str, str] = {}
        """Role (`dealer`, `supervisor`) → who has it, an opaque reference."""

    def _change(self, body: Event) -> None:
        match body:
            case StaffSignedOn():
                self.at[body.role] = body.person
            case StaffSignedOff():
                self.at.pop(body.role, None)
            case _:
                raise Refusal("LGR-0504", f"a table has no event {type(body).__name__}", value=str(self.id))

    def verify_sign_on(self, person: str, role: str) -> None:
        """Raises where the person has the role already."""
        if self.at.get(role) == person:
            raise Refusal("LGR-0222", f"{person} is {role} at table {self.table} already", field="person", value=person)

    def can_sign_on(self, person: str, role: str) -> bool:
        """Whether `sign_on` would succeed."""
        return succeeds(self.verify_sign_on, person, role)

    def sign_on(self, person: str, role: str, origin: Origin) -> None:
        """The person begins to work at the table; whoever had the role is relieved."""
        self.verify_sign_on(person, role)
        relieved = self.at.get(role)
        if relieved is not None:
            self._happen(StaffSignedOff(**origin._asdict(), table=self.table, person=relieved, role=role))
        self._happen(StaffSignedOn(**origin._asdict(), table=self.table, person=person, role=role))

    def verify_sign_off(self, person: str, role: str) -> None:
        """Raises unless the person has the role."""
        if self.at.get(role) != person:
            other = self.at.get(role)
            raise Refusal(
                "LGR-0227",
                f"{person} is not {role} at table {self.table}",
                field="person",
                value=person,
                help="nobody is" if other is None else f"{other} is",
            )

    def can_sign_off(self, person: str, role: str) -> bool:
        """Whether `sign_off` would succeed."""
        return succeeds(self.verify_sign_off, person, role)

    def sign_off(self, person: str, role: str, origin: Origin) -> None:
        """The person leaves the table."""
        self.verify_sign_off(person, role)
        self._happen(StaffSignedOff(**origin._asdict(), table=self.table, person=person, role=role))
