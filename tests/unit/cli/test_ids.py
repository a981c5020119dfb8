"""What a person may write in place of a whole id: its beginning, as long as nothing else begins so."""

from __future__ import annotations

from uuid import UUID

import pytest

from cli.ids import among, whole
from ledger.errors import Refusal

ONE, OTHER = UUID("5d1c0000-0000-4000-8000-000000000001"), UUID("5d1c0000-ffff-4000-8000-000000000002")


@pytest.mark.parametrize("text", ["5d1c0000-f", "5D1C0000F", " 5d1c0000-ffff ", str(OTHER)])
def test_the_beginning_of_an_id_is_enough(text: str) -> None:
    assert among(text, "bet", [ONE, OTHER]) == OTHER


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("5d1c", "LGR-0702", f"write more: {ONE}, {OTHER}, …"),
        ("abcd", "LGR-0701", "roundledger rounds show"),
        ("5d1", "LGR-0701", "the first 4 or more are enough"),
        ("first", "LGR-0701", "32 hexadecimal digits"),
    ],
)
def test_what_names_none_or_several_is_refused_with_what_to_write(text: str, code: str, said: str) -> None:
    with pytest.raises(Refusal) as refused:
        among(text, "bet", [ONE, OTHER])
    assert refused.value.code == code
    assert said in str(refused.value.help)


def test_a_whole_id_is_known_as_one() -> None:
    assert whole(str(ONE).upper()) == ONE
    assert whole("5d1c0000") is None
