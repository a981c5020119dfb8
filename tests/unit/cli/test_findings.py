"""What `roundledger verify` makes of a finding's values: amounts as money, counts as counts, words as they are."""

from __future__ import annotations

import pytest

from cli.output import plain
from cli.verify import COLUMNS, Verified, document, lines, row
from ledger.audit.findings import Finding, finding
from ledger.audit.run import Audited, Tally

AMOUNT = finding("AMOUNT_DIFF", "another amount", currency="MOP", expected=4, found=5)
COUNT = finding("TOTALS_DIFF", "another number of bets", currency="MOP", expected=4, found=5, measure="count")
WORDS = finding("SPOT_DIFF", "another spot", currency="MOP", expected="straight:4", found="straight:5")
NO_CURRENCY = finding("CHAIN_DIFF", "another stake", expected=4, found=5)
EQUAL = finding("OUT_OF_PLACE", "the words say it", currency="MOP", expected=0, found=0)


@pytest.mark.parametrize(
    ("one", "said", "cells", "measure"),
    [
        (AMOUNT, "expected MOP 0.04, found MOP 0.05, a difference of 0.01", ("0.04", "0.05", "0.01"), "amount"),
        (COUNT, "expected 4, found 5, a difference of 1", ("4", "5", "1"), "count"),
        (WORDS, "expected straight:4, found straight:5", ("straight:4", "straight:5", ""), None),
        (NO_CURRENCY, "expected 4, found 5, a difference of 1", ("4", "5", "1"), "amount"),
        (EQUAL, None, ("", "", ""), None),
    ],
    ids=["amount", "count", "words", "amount without currency", "equal values"],
)
def test_a_count_is_never_printed_as_money(one: Finding, said: str | None, cells: tuple[str, ...], measure: str | None) -> None:
    verified = Verified([one], Audited([one], Tally(rounds=1), 9, 0.0), None)
    values = [line.strip() for line in lines(verified) if "expected" in line]
    assert values == ([] if said is None else [said])
    in_csv = row(verified.findings[0])
    kinds = {column.key: column.kind for column in COLUMNS}
    assert tuple(plain(in_csv[key], kinds[key], "MOP") for key in ("expected", "found", "difference")) == cells
    [in_json] = document(verified)["findings"]
    assert in_json["measure"] == measure
