"""`roundledger rules`: the same answers as the rules core, in three forms."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from cli.main import run

FIELDS = ["bet", "stake", "result", "odds", "prize_exact", "prize", "commission", "breakage", "returned", "net", "article"]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["rules", *arguments]) == code
    return capsys.readouterr().out


def settled(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(printed(capsys, "settle", *arguments, "--json"))
    return found


def test_settle_prints_losers_first_with_the_named_fields(capsys: pytest.CaptureFixture[str]) -> None:
    lost, black, straight = settled(capsys, "30/2003", "17", "straight:17=100", "red=50.00", "black=10")
    assert list(lost) == FIELDS
    assert lost == {
        "bet": "red",
        "stake": "5000",
        "result": "lost",
        "odds": "0",
        "prize_exact": "0",
        "prize": "0",
        "commission": "0",
        "breakage": "0",
        "returned": "0",
        "net": "-5000",
        "article": lost["article"],
    }
    # 30/2003 art. 5(1): simple chances are paid before straights.
    assert (black["bet"], black["returned"]) == ("black", "2000")
    assert (straight["bet"], straight["odds"], straight["prize"], straight["returned"], straight["net"]) == (
        "straight:17",
        "35",
        "350000",
        "360000",
        "350000",
    )
    assert straight["article"].startswith("30/2003 art. 6(1), 7(1)")


def test_settle_58_2004_art_9_commission_and_breakage(capsys: pytest.CaptureFixture[str]) -> None:
    [won] = settled(capsys, "58/2004", "3", "sshong:123=100")
    # 100.00 × 1/3 = 33.33…; 5 % of it goes to the bank; 31.66 is paid.
    assert [won[field] for field in ("prize_exact", "prize", "commission", "breakage", "net")] == [
        "10000/3",
        "3333",
        "166",
        "1",
        "3166",
    ]
    [coarse] = settled(capsys, "58/2004", "3", "sshong:123=100", "--payable-unit", "1.00")
    assert (coarse["net"], coarse["breakage"]) == ("3100", "67")


def test_settle_craps_by_sums_and_void_throws(capsys: pytest.CaptureFixture[str]) -> None:
    line, odds = settled(capsys, "53/2010", "6,void,8,6", "pass=100", "pass_odds=100")
    assert (line["result"], line["net"]) == ("won", "10000")
    assert (odds["odds"], odds["net"]) == ("6/5", "12000")


@pytest.mark.parametrize("form", [[], ["--csv"]])
def test_settle_has_the_same_figures_in_every_form(form: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    bets = ("31/2003", "2-2-2", "total:6=10", "any_triple=10.50", "small=100", "three_army:2=1")
    rows = settled(capsys, *bets)
    out = printed(capsys, "settle", *bets, *form)
    for row in rows:
        [line] = [line for line in out.splitlines() if line.strip().startswith(row["bet"])]
        for field in ("stake", "prize", "returned", "net"):
            minor = int(row[field])
            shown = f"{'-' if minor < 0 else ''}{abs(minor) // 100}.{abs(minor) % 100:02}"
            assert shown in line


def test_settle_explains_with_terms_in_every_language(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "settle", "31/2003", "2-2-2", "any_triple=10", "--explain")
    assert "全圍" in out
    assert "not in sources" in out
    assert "31/2003 art. 6(5)" in out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("30/2003", "37", "red=1"), "LGR-0406"),
        (("30/2003", "17", "red"), "LGR-0710"),
        (("30/2003", "17", "red=0"), "LGR-0104"),
        (("30/2003", "17", "red=1e3"), "LGR-0104"),
        (("30/2003", "17", "red=1.001"), "LGR-0104"),
        (("30/2003", "17", "red=１"), "LGR-0104"),
        (("30/2003", "17", "rde=1"), "LGR-0404"),
        (("30/2003", "17", "straight:37=1"), "LGR-0412"),
        (("99/1999", "17", "red=1"), "LGR-0402"),
        (("30/2003", "17", "red=1", "--currency", "XXX"), "LGR-0105"),
    ],
)
def test_settle_refuses_what_makes_no_sense(arguments: tuple[str, ...], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "settle", *arguments]) == 2
    assert f"error[{code}]" in capsys.readouterr().err


def test_edges_are_exact_and_every_bet_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "edge", "roulette", "--json"))["edges"]
    assert {row["edge"] for row in rows} == {"1/37"}
    bets = list(csv.DictReader(io.StringIO(printed(capsys, "edge", "roulette", "--all", "--csv"))))
    assert len(bets) == sum(row["bets"] for row in rows) == 157
    cussec = json.loads(printed(capsys, "edge", "31/2003", "--json"))["edges"]
    assert {row["edge"] for row in cussec if row["bet"] == "big"} == {"1/36"}


def test_check_settles_every_bet_on_every_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "check", "--json"))["checks"]
    assert {row["verdict"] for row in rows} == {"ok"}
    assert {row["game"] for row in rows} == {"roulette", "cussec", "fantan", "craps"}
    roulette = [row for row in rows if row["game"] == "roulette"]
    assert sum(row["settled"] for row in roulette) == 157 * 37


def test_list_and_show_name_dates_articles_and_assumptions(capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(printed(capsys, "list", "--json"))["regulations"]
    assert (listed[0]["regulation"], listed[0]["effective_to"]) == ("30/2003", "2004-05-17")
    shown = json.loads(printed(capsys, "show", "30/2003", "--json"))
    assert shown["revoked_by"] == "60/2004"
    assert [row["article"] for row in shown["chances"] if row["chance"] == "dozen:2"] == ["30/2003 art. 6(10), 7(7)"]
    assert [row["disposition"] for row in shown["voids"]] == ["stand"]
    assert any("sector9" in note for note in shown["notes"])
    assert "小" in printed(capsys, "chances", "cussec")


def test_an_unknown_game_is_refused_with_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "chances", "roulete"]) == 2
    assert "roulette" in capsys.readouterr().err
