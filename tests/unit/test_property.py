"""The property's configuration: what a file may say, and that each wrong entry is refused by name."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import msgspec
import pytest

from ledger import property as property_
from ledger.errors import Refusal
from ledger.property import Choice, OptIn, Property
from ledger.rules import regulation
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
    ],
)
def test_a_wrong_entry_is_refused_by_name(tmp_path: Path, now: str, then: str, said: str) -> None:
    assert now in FILE
    assert said in str(refused(tmp_path, FILE.replace(now, then, 1)))


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
