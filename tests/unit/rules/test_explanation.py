"""An explanation names order, article and item, the terms of the chance, and every number."""

from __future__ import annotations

import json

import pytest

from ledger.rules import Explanation, Regulation, State, explain, settle
from tests.unit.rules.helpers import CRAPS, CUSSEC, FANTAN, ROULETTE, SINGLE_OUTCOME, UNVERIFIED, wagers


def explained(law: Regulation, outcome: str, bet: str, unit: int = 1, **options: object) -> Explanation:
    shown = law.outcome(outcome)
    [resolution] = settle(law, shown, wagers(law, bet), payable_unit=unit)
    return explain(law, shown, resolution, payable_unit=unit, **options)  # type: ignore[arg-type]


def test_a_winning_straight_line_by_line() -> None:
    lines = explained(
        ROULETTE, "17", "straight:17=10000", currency="MOP", note="30/2003, repealed by 60/2004, applied by opt-in"
    ).lines()
    assert lines == [
        "bet: straight:17, stake MOP 100.00: won, net prize MOP 3500.00, returned MOP 3600.00",
        (
            "regulation: 30/2003, Regulamento Oficial da «Roleta» / 輪盤法定規章;"
            " Boletim Oficial de Macau, I Série, 6/2003, pages 109-111"
        ),
        "applied: 30/2003, repealed by 60/2004, applied by opt-in",
        "outcome: 17, black (written '17')",
        "chance: straight, pt pleno, zh 孤丁, en straight up (our translation)",
        "rule: 30/2003 art. 6(1): one number of 0 to 36; wins when the ball rests on it",
        "decision: 17 is among the numbers of the bet (17): won",
        "odds: 30/2003 art. 7(1): 35 to 1, on top of the stake",
        "prize: MOP 100.00 × 35 = MOP 3500.00",
        "returned: stake and net prize: MOP 100.00 + MOP 3500.00 = MOP 3600.00",
    ]


def test_a_commission_and_every_rounding() -> None:
    lines = explained(FANTAN, "24", "sshong:124=100", unit=100).lines()
    assert lines[0] == "bet: sshong:124, stake 100: won, net prize 0, returned 100 (amounts in minor units)"
    assert lines[1].endswith("20/2004 (the issue inferred), pages not in sources")
    assert lines[2] == "applied: in effect from 2004-05-18, no repeal known"
    assert lines[3] == "outcome: 24 buttons, 4 (written '24')"
    assert "zh 三門 (unofficial: from public rule pages" in lines[4]
    assert lines[6] == "decision: nothing is left over, which by art. 3(2) counts as 4; 4 is a number to win: won"
    assert lines[7:12] == [
        "odds: 58/2004 art. 7(1)(4): 1/3 to 1, on top of the stake",
        "prize: 100 × 1/3 = 100/3, floored to the minor unit: 33",
        "commission: 58/2004 art. 9: 1/20 of the prize = 5/3, floored to the minor unit: 1",
        "net prize: 100/3 − 5/3 = 95/3, floored to the payable unit, 100: 0",
        "breakage: 33 − 1 − 0 = 32, kept apart",
    ]
    assert lines[12] == "returned: stake and net prize: 100 + 0 = 100"
    assert lines[13].startswith("assumed: rounding, rule: ")
    assert len(lines) == 14


def test_losses_cite_what_took_them() -> None:
    zero = explained(ROULETTE, "0", "red")
    assert "by art. 8 only a straight-up bet on 0 wins then: lost" in "\n".join(zero.lines())
    assert any(line.startswith("assumed: chance red, numbers: ") for line in zero.lines())
    triple = "\n".join(explained(CUSSEC, "2-2-2", "small").lines())
    assert "by art. 7 the bank then takes all bets on big and small: lost" in triple
    assert "pt not in sources" in triple
    assert "returned: nothing: the stake of 100 goes to the bank" in triple
    tie = "\n".join(explained(FANTAN, "3", "nim:1/3").lines())
    assert "by art. 8 the stake goes back" in tie


def test_dozens_are_explained_by_their_own_item_and_term() -> None:
    lines = explained(ROULETTE, "17", "dozen:2").lines()
    assert lines[4] == "chance: dozen, pt médio, zh 中, en second dozen (our translation)"
    assert lines[5].startswith("rule: 30/2003 art. 6(10): ")


def test_a_last_day_that_is_not_inferred_is_not_marked() -> None:
    data = json.loads(ROULETTE.content)
    del data["dates"]["inferred"]
    known = Regulation(data)
    assert explained(known, "1", "odd").lines()[2] == "applied: in effect 2003-01-31 to 2004-05-17"
    data["dates"]["inferred"] = {"published": "because"}
    assert explained(Regulation(data), "1", "odd").lines()[2] == "applied: in effect 2003-01-31 to 2004-05-17"


def test_what_is_assumed_names_its_order() -> None:
    for law, outcome, bet in ((UNVERIFIED, "11", "horn"), (ROULETTE, "1", "red")):
        assert {each.order for each in explained(law, outcome, bet).assumptions} == {law.order}


def test_inferred_dates_are_marked() -> None:
    assert explained(ROULETTE, "1", "odd").lines()[2] == "applied: in effect 2003-01-31 to 2004-05-17, the last day inferred"


def test_the_gazette_is_named_with_pages_and_what_is_inferred_of_it() -> None:
    issue = "Boletim Oficial de Macau, I Série,"
    gazettes = {
        "30/2003": f"{issue} 6/2003, pages 109-111",
        "31/2003": f"{issue} 6/2003, pages from 111",
        "58/2004": f"{issue} 20/2004 (the issue inferred), pages not in sources",
        "53/2010": f"{issue} 10/2010, pages from 125",
    }
    for law, outcome, bet in ((ROULETTE, "1", "odd"), (CUSSEC, "1-1-2", "small"), (FANTAN, "1", "fan:1"), (CRAPS, "7", "pass")):
        assert explained(law, outcome, bet).lines()[1].endswith(gazettes[law.order])


def test_craps_tells_the_throws() -> None:
    lines = explained(CRAPS, "6,void,8,6", "pass").lines()
    told = "6 becomes the point; a void throw, which changes nothing; 8, neither the point 6 nor 7; 6, the point is made"
    assert f"decision: {told}: won" in lines
    assert any(line.startswith("assumed: chance pass, odds: Article 6 is not held") for line in lines)
    seven = CRAPS.outcome("7")
    [lost] = settle(CRAPS, seven, wagers(CRAPS, "pass"), state=State(6))
    assert "decision: 7 before the point 6: lost" in explain(CRAPS, seven, lost, state=State(6)).lines()
    stands = explained(CRAPS, "6", "pass").lines()
    assert stands[0].startswith("bet: pass, stake 100: stands")
    assert stands[7] == "returned: nothing yet: the bet stands"


@pytest.mark.parametrize(
    ("throws", "bet", "told"),
    [
        ("6,8", "field", "6 becomes the point: lost"),
        ("6,void,8,6", "any7", "6 becomes the point: lost"),
        ("void,7", "any7", "a void throw, which changes nothing; 7 on the come-out throw: won"),
        ("5,6,5", "place:6", "5 becomes the point; 6, neither the point 5 nor 7: won"),
        ("5,6,6,5", "come", "5 becomes the point; 6, neither the point 5 nor 7; 6, neither the point 5 nor 7: won"),
        ("5,11,5", "come", "5 becomes the point; 11, neither the point 5 nor 7: won"),
        ("5,8", "come", "5 becomes the point; 8, neither the point 5 nor 7: stands"),
        ("6,9,9", "come_odds:9", "6 becomes the point; 9, neither the point 6 nor 7; 9, neither the point 6 nor 7: won"),
    ],
)  # fmt: skip
def test_craps_tells_the_throws_up_to_the_one_that_decided(throws: str, bet: str, told: str) -> None:
    outcome = UNVERIFIED.outcome(throws)
    placed = wagers(UNVERIFIED, *(["come", bet] if bet == "come_odds:9" else [bet]))
    [resolution] = [each for each in settle(UNVERIFIED, outcome, placed) if each.wager.key == bet]
    assert f"decision: {told}" in explain(UNVERIFIED, outcome, resolution).lines()


def test_bets_without_rule_text_say_so() -> None:
    lines = explained(UNVERIFIED, "11", "horn").lines()
    assert "rule: no rule text in 53/2010: equal parts on 2, 3, 11 and 12" in "\n".join(lines)
    assert any("no source of the regulation holds this bet" in line for line in lines)


def test_the_same_as_data() -> None:
    data = explained(FANTAN, "3", "sshong:123=10000").to_json()
    assert json.loads(json.dumps(data)) == data
    wanted = {
        "regulation": "58/2004", "regulation_hash": FANTAN.sha256, "spot": "sshong:123", "result": "won", "stake": "10000",
        "odds": "1/3", "prize_exact": "10000/3", "prize": "3333", "commission": "166", "breakage": "1", "net_prize": "3166",
        "returned": "13166", "net": "3166", "article": "58/2004 art. 6(2)(4), 7(1)(4), 9", "numbers": [1, 2, 3],
    }  # fmt: skip
    assert {key: data[key] for key in wanted} == wanted
    assert data["names"]["zh"]["official"] is False
    assert data["names"]["pt"] == {"text": "Sé-Sam-Hong", "official": True, "from": None}
    assert data["assumptions"][0]["where"] == "rounding, rule"


def test_a_resolution_of_another_payable_unit_is_not_explained() -> None:
    shown = FANTAN.outcome("1")
    [paid] = settle(FANTAN, shown, wagers(FANTAN, "fan:1=9999"), payable_unit=100)
    with pytest.raises(ValueError, match="floored to 1"):
        explain(FANTAN, shown, paid)


@pytest.mark.parametrize("law", [*SINGLE_OUTCOME], ids=lambda law: law.game)
def test_every_spot_on_every_outcome_can_be_explained(law: Regulation) -> None:
    bets = wagers(law, *(spot.text for spot in law.spots()), stake=101)
    for shown in law.outcomes():
        for resolution in settle(law, shown, bets):
            explanation = explain(law, shown, resolution, currency="HKD")
            text = "\n".join(explanation.lines())
            assert law.order in text
            assert resolution.payoff.result in text or resolution.result == "push"
            assert explanation.to_json()["spot"] == resolution.wager.spot.text
