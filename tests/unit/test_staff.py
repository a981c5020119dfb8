"""Who works at a table, without a database."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ledger.errors import Refusal
from ledger.events import StaffSignedOff, StaffSignedOn
from ledger.staff import Staff
from tests.unit.round.made import origin


def test_the_next_who_signs_on_relieves_the_former_and_the_other_role_stays() -> None:
    staff = Staff("R01")
    for person, role in (("D-1", "dealer"), ("S-1", "supervisor"), ("D-2", "dealer")):
        staff.sign_on(person, role, origin())
    events = [event.body for event in staff.collect_events()]
    assert [type(event) for event in events] == [StaffSignedOn, StaffSignedOn, StaffSignedOff, StaffSignedOn]
    assert staff.at == {"dealer": "D-2", "supervisor": "S-1"}
    again = Staff("R01")
    again.fold(events)
    assert (again.at, again.version) == (staff.at, staff.version)


def test_nobody_signs_on_twice_or_off_without_being_on() -> None:
    staff = Staff("R01")
    staff.sign_on("D-1", "dealer", origin())
    refused: list[tuple[str, Callable[[], None]]] = [
        ("LGR-0222", lambda: staff.sign_on("D-1", "dealer", origin())),
        ("LGR-0227", lambda: staff.sign_off("D-2", "dealer", origin())),
        ("LGR-0227", lambda: staff.sign_off("D-1", "supervisor", origin())),
    ]
    for code, act in refused:
        with pytest.raises(Refusal) as caught:
            act()
        assert caught.value.code == code
    assert (staff.can_sign_on("D-1", "dealer"), staff.can_sign_on("D-1", "supervisor")) == (False, True)
    assert (staff.can_sign_off("D-1", "dealer"), staff.can_sign_off("D-2", "dealer")) == (True, False)
    staff.sign_off("D-1", "dealer", origin())
    assert staff.at == {}
