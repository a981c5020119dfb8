"""The property's configuration: what a file may say, and that each wrong entry is refused by name."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec
import pytest

from ledger import property as property_
from ledger.errors import Refusal
from ledger.events import DocumentRecorded
from ledger.limits import Band
from ledger.property import ChanceLimits, Choice, OptIn, Person, Property, Table
from ledger.rules import regulation
from tests.golden import rows
from tests.support import DEMO, ROOT

FILE = (ROOT / "seeds" / "demo" / "property.toml").read_text()


def refused(tmp_path: Path, text: str) -> Refusal:
    path = tmp_path / "property.toml"
    path.write_text(text)
    with pytest.raises(Refusal) as caught:
        property_.read(path)
    assert caught.value.code == "LGR-0604"
    assert str(path) in (caught.value.field or "")
    return caught.value


def test_the_demo_property_says_that_it_opts_in() -> None:
    assert DEMO.regulations_opted_in == {"30/2003", "31/2003"}


def test_its_content_is_canonical_and_brings_it_back() -> None:
    again = property_.from_content(DEMO.content)
    assert again == DEMO
    assert again.sha256 == DEMO.sha256


@pytest.mark.parametrize(
    ("now", "then", "said"),
    [
        ('id = "DEMO"', 'id = "D EMO"', "ASCII"),
        ('zone = "Asia/Macau"', 'zone = "Asia/Makao"', "time zone"),
        ('zone = "Asia/Macau"', 'zone = "+08:00"', "time zone"),
        ('gaming_day_start = "06:00"', 'gaming_day_start = "24:00"', "time of day"),
        ('gaming_day_start = "06:00"', 'gaming_day_start = "6"', "time of day"),
        ('id = "R02"', 'id = "R01"', "two tables"),
        ('currency = "HKD"', 'currency = "HKX"', "not known"),
        ('payable_unit = "0.01"', 'payable_unit = "0.001"', ""),
        ('payable_unit = "0.01"', 'payable_unit = "0"', ""),
        ('payable_unit = "0.01"', "payable_unit = 0.01", "str"),
        ('regulation = "31/2003"', 'regulation = "30/2003"', "twice"),
        ('regulation = "31/2003"', 'regulation = "60/2004"', "not held"),
        ('game = "roulette"', 'gmae = "roulette"', "gmae"),
        ('game = "roulette"', 'game = "baccarat"', "baccarat"),
        ("[[tables]]", "[[tables]", ""),
        ('pit = "A"', 'pit = "A\\u0000"', "one line"),
        ('pit = "A"', 'pit = "A\\u001b[31m"', "one line"),
        ('pit = "A"', 'pit = "A\\u2028"', "one line"),
        ('pit = "A"', 'pit = "A\\u202e"', "one line"),
        ('pit = "A"', 'pit = ""', "1 to 500"),
        ('pit = "A"', f'pit = "{"A" * 501}"', "1 to 500"),
        ('name = "Demo', 'name = " Demo', "no space"),
        ('approved_by = "demo-manager"', 'approved_by = ""', "1 to 500"),
        ('reason = "', 'reason = "\\n', "one line"),
        ('zone = "Asia/Macau"', 'zone = "localtime"', "time zone"),
        ('zone = "Asia/Macau"', 'zone = "/etc/passwd"', "time zone"),
        ('pit = "A"', f"pit = {'9' * 5000}", ""),
        ('pit = "A"', f"pit = {'[' * 3000}{']' * 3000}", "nested"),
        ('pit = "A"', 'pit = "C"', "no such pit; pits: A, B"),
        ('id = "B"', 'id = "A"', "two pits"),
        ("clock_tolerance = 120", "clock_tolerance = 0", "1 to 86400"),
        ("clock_tolerance = 120", 'clock_tolerance = "120"', "int"),
        ('terminals = ["T-R02"]', 'terminals = ["T-R01"]', "posts for table R01 already"),
        ('terminals = ["T-R02"]', 'terminals = ["T R02"]', "an id is"),
        ('minimum = "1.00"', 'minimum = "10.001"', "decimals"),
        ('minimum = "1.00"', 'minimum = "0"', "greater than zero"),
        ('minimum = "1.00"', 'minimum = "1e1"', "plain decimal"),
        ('minimum = "1.00"', 'minimum = "6000.00"', "the maximum is lower: MOP 5000.00"),
        ('maximum = "2000.00"', 'maximum = "0.50"', "the maximum is lower: MOP 0.50"),
        ('chance = "straight"', 'chance = "straigth"', "roulette has no such chance"),
        ('id = "D-12"', 'id = "D-11"', "two people"),
        ('id = "D-11"', 'id = "ho@example.com"', "e-mail"),
        ('id = "D-11"', 'id = "Ho Man Wai"', "a reference is"),
        ('id = "D-11"', 'id = "1234567-8"', "number of a document"),
        ('id = "D-11"', 'id = "MA123456"', "number of a document"),
        ('roles = ["auditor"]', 'roles = ["boss"]', "boss"),
        ('roles = ["auditor"]', "roles = []", "one role or more"),
        ('roles = ["auditor"]', 'roles = ["auditor", "auditor"]', "each named once"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(tmp_path: Path, now: str, then: str, said: str) -> None:
    assert now in FILE
    assert said in str(refused(tmp_path, FILE.replace(now, then, 1)))


@pytest.mark.parametrize(
    ("now", "then", "near"),
    [
        ('zone = "Asia/Macau"', 'zone = "Asia/Makao"', "did you mean Asia/Macao?"),
        ('game = "roulette"', 'game = "roulete"', "did you mean roulette?"),
        ('currency = "MOP"', 'currency = "MPO"', "did you mean MOP?"),
        ('chance = "straight"', 'chance = "straigth"', "did you mean straight?"),
        ("minimum =", "minimun =", "did you mean `minimum`?"),
        ('regulation = "31/2003"', 'regulation = "31/2004"', "did you mean 31/2003?"),
        ("[[people]]", "[[peolpe]]", "did you mean `people`?"),
    ],
)
def test_a_near_miss_is_named(tmp_path: Path, now: str, then: str, near: str) -> None:
    assert now in FILE
    assert refused(tmp_path, FILE.replace(now, then, 1)).help == near


def test_a_differential_needs_spots_that_oppose_each_other() -> None:
    craps = Table("K01", "A", "craps", "MOP", "0.01", differential="100.00")
    with pytest.raises(Refusal, match="no spots that oppose each other"):
        property_.verify(msgspec.structs.replace(DEMO, tables=(craps,)))


def test_the_limits_of_a_table_are_minor_units_of_its_currency() -> None:
    table = Table("R09", "A", "roulette", "JPY", "1", minimum="100", chances=(ChanceLimits("straight", maximum="5000"),))
    assert table.limits is not None
    assert table.limits.of(regulation("30/2003").spot("straight:17")) == Band(100, 5000)
    assert table.limits.of(regulation("30/2003").spot("red")) == Band(100, None)
    assert str(table.limits) == "min 100; straight min 100 max 5000"
    assert msgspec.structs.replace(table, minimum=None, chances=()).limits is None


def test_b38_a_configuration_of_the_first_release_keeps_its_content_and_hash() -> None:
    logged = [json.loads(row["state"]) for row in rows("0.1.0", "events") if row["topic"] == DocumentRecorded.TOPIC]
    configurations = [body for body in logged if body["kind"] == "property"]
    assert len(configurations) == 2
    for body in configurations:
        config = property_.from_content(body["content"])
        assert (config.content, config.sha256) == (body["content"], body["sha256"])
        assert (config.people, config.pits, config.tolerance) == ((), (), None)
        assert not any(table.limits or table.terminals for table in config.tables)


def test_what_is_in_force_can_be_written_as_a_file_again(tmp_path: Path) -> None:
    path = tmp_path / "again.toml"
    choices = (Choice("30/2003", nine_number_sets=((1, 2, 3, 4, 5, 6, 7, 8, 9),)), Choice("53/2010", unverified_bets=True))
    for config in (DEMO, msgspec.structs.replace(DEMO, name='Casa "金" \\ ü', choices=choices, people=(), pits=())):
        path.write_text(property_.to_toml(config), "utf-8")
        assert property_.read(path) == config


def test_the_difference_names_each_entry_by_its_part() -> None:
    first, *others = DEMO.tables
    raised = msgspec.structs.replace(first, minimum=None, maximum="6000.00", chances=())
    changed = msgspec.structs.replace(DEMO, tables=(Table("R00", "A", "roulette", "MOP", "1"), raised, *others), people=())
    found = {change.entry: (change.was, change.now) for change in property_.difference(DEMO, changed)}
    assert found["tables[R00].game"] == (None, "roulette")
    assert found["tables[R01].minimum"] == ("1.00", None)
    assert found["tables[R01].maximum"] == ("5000.00", "6000.00")
    assert found["tables[R01].chances[straight].maximum"] == ("2000.00", None)
    assert found["people[S-8].roles"] == ("supervisor, admin", None)
    assert not any(entry.startswith("tables[R02]") for entry in found)
    assert property_.difference(DEMO, DEMO) == []


def test_no_tables_no_property(tmp_path: Path) -> None:
    refused(tmp_path, FILE[: FILE.index("[[tables]]")] + "tables = []\n")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="LGR-0604"):
        property_.read(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("at", "day"),
    [
        # Macau is UTC+8; the day begins at 06:00 and is named by the date on which it does.
        (datetime(2026, 2, 28, 21, 59, 59, 999999, tzinfo=UTC), date(2026, 2, 28)),
        (datetime(2026, 2, 28, 22, 0, tzinfo=UTC), date(2026, 3, 1)),
        (datetime(2025, 12, 31, 21, 59, 59, tzinfo=UTC), date(2025, 12, 31)),
        (datetime(2025, 12, 31, 22, 0, tzinfo=UTC), date(2026, 1, 1)),
        (datetime(2028, 2, 28, 22, 0, tzinfo=UTC), date(2028, 2, 29)),
    ],
)
def test_the_gaming_day_is_that_of_the_zone_whatever_the_server_keeps(at: datetime, day: date) -> None:
    assert DEMO.gaming_day(at) == day


def choosing(*choices: Choice) -> Property:
    return msgspec.structs.replace(DEMO, choices=choices)


def test_unverified_bets_are_taken_only_where_the_property_says_so() -> None:
    craps = regulation("53/2010")
    with pytest.raises(Refusal, match="LGR-0403"):
        DEMO.as_played(craps).spot("field")
    played = choosing(Choice(regulation="53/2010", unverified_bets=True, field_twelve="3")).as_played(craps)
    assert played.spot("field").text == "field"
    assert played.sha256 != craps.sha256


def test_a_property_may_list_the_nine_number_sets_of_its_layout() -> None:
    sets = tuple(tuple(range(first, first + 9)) for first in (4, 13, 22))
    played = choosing(Choice(regulation="30/2003", nine_number_sets=sets)).as_played(regulation("30/2003"))
    assert played.spot("sector9:4-12").numbers == sets[0]
    with pytest.raises(Refusal, match="LGR-0412"):
        played.spot("sector9:1-9")


@pytest.mark.parametrize(
    "choice",
    [
        Choice(regulation="60/2004"),
        Choice(regulation="30/2003", unverified_bets=True),
        Choice(regulation="53/2010", nine_number_sets=((1, 2, 3, 4, 5, 6, 7, 8, 9),)),
        Choice(regulation="30/2003", nine_number_sets=((1, 2, 3),)),
        Choice(regulation="53/2010", unverified_bets=True, field_twelve="4"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(choice: Choice) -> None:
    with pytest.raises(Refusal, match="LGR-0604"):
        property_.verify(choosing(choice))


def test_an_opt_in_stands_once() -> None:
    twice = (OptIn(regulation="30/2003", reason="r", approved_by="a"),) * 2
    with pytest.raises(Refusal, match="twice"):
        property_.verify(msgspec.structs.replace(DEMO, opt_ins=twice))


@pytest.mark.parametrize("reference", ["S:7", "-S7", "S/7", "S 7", "S" * 65])
def test_a_person_s_reference_can_be_the_source_of_an_event(reference: str) -> None:
    """The configuration took one that the door does not read: that person could report nothing."""
    config = msgspec.structs.replace(DEMO, people=(Person(id=reference, roles=("dealer",)),))
    with pytest.raises(Refusal) as caught:
        property_.verify(config)
    assert (caught.value.code, caught.value.field) == ("LGR-0604", "people[0].id")


def test_a_person_has_no_terminal_s_id() -> None:
    """What the person numbers would use up the terminal's numbers."""
    terminal = DEMO.tables[0].terminals[0]
    config = msgspec.structs.replace(DEMO, people=(*DEMO.people, Person(id=terminal, roles=("dealer",))))
    with pytest.raises(Refusal) as caught:
        property_.verify(config)
    assert (caught.value.code, caught.value.value) == ("LGR-0604", terminal)
