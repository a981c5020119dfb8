"""The regulations' data held against the dossier, leaf by leaf: terms, articles, odds, voids, dates and marks as literals."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ledger.rules import Regulation, regulations
from tests.unit.rules.helpers import CRAPS, CUSSEC, FANTAN, ROULETTE, UNVERIFIED

# code; article of the bet, of the odds; pt, zh, en
CHANCES: dict[str, list[tuple[str, str, str, str | None, str | None, str]]] = {
    "30/2003": [
        ("straight", "6(1)", "7(1)", "pleno", "孤丁", "straight up"),
        ("split", "6(2)", "7(2)", "cavalo", "兩門騎綫", "split"),
        ("street", "6(3)", "7(3)", "rua", "三門一列", "street"),
        ("corner", "6(4)", "7(4)", "quadro", "四門騎綫", "corner"),
        ("six_line", "6(5)", "7(5)", "linha", "六門", "six-line"),
        ("sector9", "6(6)", "7(6)", "sector", "九門", "nine numbers"),
        ("sector12", "6(7)", "7(7)", "sector de doze números", "一門十二個號碼", "twelve-number sector"),
        ("column", "6(8)", "7(7)", "coluna", "直綫十二門", "column"),
        ("dozen", "6(9)-(11)", "7(7)", "dúzia", "大、中、小十二門", "dozen"),
        ("even", "6(12)", "7(8)", "par", "雙", "even"),
        ("odd", "6(13)", "7(8)", "ímpar", "單", "odd"),
        ("low", "6(14)", "7(8)", "menor", "小", "low"),
        ("high", "6(15)", "7(8)", "maior", "大", "high"),
        ("red", "6(16)", "7(8)", "encarnado", "紅", "red"),
        ("black", "6(17)", "7(8)", "preto", "黑", "black"),
    ],
    "31/2003": [
        ("small", "5(1)", "6(1)", None, "小", "small"),
        ("big", "5(2)", "6(2)", None, "大", "big"),
        ("three_army", "5(3)", "6(3)", None, "三軍", "single number"),
        ("triple", "5(4)", "6(4)", None, "圍骰", "specific triple"),
        ("any_triple", "5(5)", "6(5)", None, "全圍", "any triple"),
        ("total", "5(6)", "6(6)", None, "點數", "total"),
    ],
    "58/2004": [
        ("fan", "6(2)(1)", "7(1)(1)", "Fan", "番", "one number"),
        ("nim", "6(2)(2)", "7(1)(2)", "Nim", "念", "one wins, one ties"),
        ("kuoc", "6(1)", "7(2)", "Kuoc", "角", "two numbers"),
        ("nga", "6(2)(3)", "7(1)(3)", "Nga", "丫攤", "two win, one ties"),
        ("sshong", "6(2)(4)", "7(1)(4)", "Sé-Sam-Hong", "三門", "three numbers"),
    ],
    "53/2010": [
        ("pass", "5(2)(1)", "6", None, "派司拉", "pass line"),
        ("pass_odds", "5(2)(2)", "6(2)", None, "派司拉之附加投注", "odds on the pass line"),
    ],
}


@pytest.mark.parametrize("order", CHANCES)
def test_the_articles_and_terms_of_every_chance(order: str) -> None:
    [law] = [each for each in regulations() if each.order == order]
    found = []
    for chance in law.chances:
        terms = [chance.names[language].text if language in chance.names else None for language in ("pt", "zh", "en")]
        found.append((chance.code, chance.bet_article, chance.odds_article, *terms))
        assert chance.verified
        assert chance.commission is None
        assert set(chance.names) <= {"pt", "zh", "en"}
        assert bool(chance.items) == (chance.code == "dozen")
    assert found == CHANCES[order]


def test_terms_are_official_where_the_text_is_held_in_their_language() -> None:
    for law in (*regulations(), UNVERIFIED):
        named = [chance.names for chance in law.offered] + [void.names for void in law.voids] + [law.title]
        for names in named:
            for language, name in names.items():
                if language == "en":
                    assert name.unofficial == "our translation"
                elif law is FANTAN and language == "zh":
                    assert name.unofficial is not None
                    assert name.unofficial.startswith("from public rule pages")
                else:
                    assert name.unofficial is None


def test_30_2003_art_6_9_to_6_11_the_terms_of_the_dozens() -> None:
    items = ROULETTE.chance("dozen").items
    found = {key: (item.article, {language: name.text for language, name in item.names.items()}) for key, item in items.items()}
    assert found == {
        "1": ("6(9)", {"pt": "pequeno", "zh": "小", "en": "first dozen"}),
        "2": ("6(10)", {"pt": "médio", "zh": "中", "en": "second dozen"}),
        "3": ("6(11)", {"pt": "grande", "zh": "大", "en": "third dozen"}),
    }


def test_titles() -> None:
    assert {law.order: {language: name.text for language, name in law.title.items()} for law in regulations()} == {
        "30/2003": {"pt": "Regulamento Oficial da «Roleta»", "zh": "輪盤法定規章", "en": "Official regulation of roulette"},
        "31/2003": {"zh": "骰寶法定規章", "en": "Official regulation of cussec"},
        "58/2004": {"pt": "Regulamento Oficial do «Fantan»", "en": "Official regulation of fantan"},
        "53/2010": {"en": "Official regulation of craps"},
    }


def test_gazettes() -> None:
    assert {law.order: tuple(law.gazette) for law in regulations()} == {
        "30/2003": ("Boletim Oficial de Macau, I Série, 6/2003", "109-111"),
        "31/2003": ("Boletim Oficial de Macau, I Série, 6/2003", "from 111"),
        "58/2004": ("Boletim Oficial de Macau, I Série, 20/2004", None),
        "53/2010": ("Boletim Oficial de Macau, I Série, 10/2010", "from 125"),
    }


# code, article, pt, zh, en, disposition, whether it ends the round, whether betting opens again
VOIDS = {
    "30/2003": [("golpe_nulo", "2(2)", "golpe nulo", "該局無效", "null stroke", "stand", False, False)],
    "31/2003": [("bridged_dice", "3(3)", None, "橋骰", "bridged dice", "carry", True, True)],
    "58/2004": [],
    "53/2010": [
        ("off_layout", "3(2)(1)", None, None, "off the layout", "stand", False, True),
        ("short_of_middle", "3(2)(2)", None, None, "short of the middle", "stand", False, True),
        ("not_rolled", "3(3)", None, None, "not rolled", "stand", False, True),
    ],
}


def test_what_becomes_of_the_stakes_in_a_void() -> None:
    found = {}
    for law in regulations():
        found[law.order] = [
            (
                void.code,
                void.article,
                *(void.names[language].text if language in void.names else None for language in ("pt", "zh", "en")),
                void.disposition,
                void.ends_round,
                void.reopens_betting,
            )
            for void in law.voids
        ]
    assert found == VOIDS


def test_58_2004_art_9_the_commission() -> None:
    assert FANTAN.commission == (Fraction(1, 20), "prize", "wins", "9")
    assert [law.commission for law in (ROULETTE, CUSSEC, CRAPS)] == [None, None, None]


BY_POINT = ("4", "5", "6", "8", "9", "10")
FOR = dict(zip(BY_POINT, ("2", "3/2", "6/5", "6/5", "3/2", "2"), strict=True))
AGAINST = dict(zip(BY_POINT, ("1/2", "2/3", "5/6", "5/6", "2/3", "1/2"), strict=True))

# code, term, odds by case; none of it stands in a source of the regulation
USUAL: list[tuple[str, str, dict[str, str]]] = [
    ("dont_pass", "don't pass", {"": "1"}),
    ("come", "come", {"": "1"}),
    ("dont_come", "don't come", {"": "1"}),
    ("come_odds", "odds on a come bet", FOR),
    ("dont_odds", "odds on don't pass or don't come", AGAINST),
    ("place", "place", dict(zip(BY_POINT, ("9/5", "7/5", "7/6", "7/6", "7/5", "9/5"), strict=True))),
    ("place_lose", "place to lose", dict(zip(BY_POINT, ("5/11", "5/8", "4/5", "4/5", "5/8", "5/11"), strict=True))),
    ("buy", "buy", FOR),
    ("lay", "lay", AGAINST),
    ("big6", "big six", {"": "1"}),
    ("big8", "big eight", {"": "1"}),
    ("hard", "hard way", {"4": "7", "6": "9", "8": "9", "10": "7"}),
    ("field", "field", {"2": "2", "3": "1", "4": "1", "9": "1", "10": "1", "11": "1", "12": "2"}),
    ("any7", "any seven", {"": "4"}),
    ("any_craps", "any craps", {"": "7"}),
    ("two", "two", {"": "30"}),
    ("three", "three", {"": "15"}),
    ("eleven", "eleven", {"": "15"}),
    ("twelve", "twelve", {"": "30"}),
    ("horn", "horn", {"2": "27/4", "3": "3", "11": "3", "12": "27/4"}),
    ("world", "world", {"2": "26/5", "3": "11/5", "11": "11/5", "12": "26/5"}),
    ("c_and_e", "craps and eleven", {"2": "3", "3": "3", "11": "7", "12": "3"}),
    ("hop", "hop", {"easy": "15", "hard": "30"}),
]


def test_the_unverified_table_of_craps() -> None:
    found = []
    for chance in CRAPS.unverified_chances:
        assert (chance.bet_article, chance.odds_article, chance.verified) == (None, None, False)
        assert list(chance.names) == ["en"]
        odds = {case: str(figure) for case, figure in chance.odds.items()}
        found.append((chance.code, chance.names["en"].text, odds))
    assert found == USUAL
    assert not CRAPS.unverified_on


def test_the_commissions_of_the_unverified_table() -> None:
    found = {chance.code: chance.commission for chance in CRAPS.unverified_chances if chance.commission}
    assert found == {"buy": (Fraction(1, 20), "stake", "wins", None), "lay": (Fraction(1, 20), "prize", "wins", None)}


def marks(law: Regulation) -> list[str]:
    return [each.where for each in law.assumptions]


def test_every_mark_of_what_is_assumed_or_inferred() -> None:
    rows = "split street corner six_line"
    assert marks(ROULETTE) == [
        *(f"chance {code}, rule" for code in rows.split()),
        "chance sector9, sets",
        "chance red, numbers",
        "chance black, numbers",
        "payment, order",
        "rounding, rule",
        "dates, effective_to",
        "void golpe_nulo, consequence",
        "void golpe_nulo, reopens_betting",
    ]
    assert marks(CUSSEC) == [
        "chance triple, rule",
        "chance total, rule",
        "payment, order",
        "rounding, rule",
        "dates, effective_to",
        "void bridged_dice, consequence",
    ]
    assert marks(FANTAN) == [
        *(f"chance {code}, rule" for code in ("nim", "kuoc", "nga")),
        "payment, order",
        "rounding, rule",
        "gazette, issue",
    ]
    assert marks(CRAPS) == [
        "chance pass, odds",
        "chance pass_odds, odds",
        "chance pass_odds, rule",
        "payment, order",
        "rounding, rule",
        *(f"void {code}, {part}" for code in ("off_layout", "short_of_middle") for part in ("disposition", "reopens_betting")),
        *(f"void not_rolled, {part}" for part in ("cause", "disposition", "reopens_betting")),
    ]


def test_what_the_lists_of_numbers_hold() -> None:
    every = [chance for law in regulations() for chance in (*law.chances, *law.unverified_chances)]
    assert all(type(chance.sets) is dict for chance in every)
    found = {chance.code: chance.sets for chance in every if chance.sets}
    red = (1, 3, 5, 7, 9, 12, 14, 16, 18, 19, 21, 23, 25, 27, 30, 32, 34, 36)
    assert found == {
        "sector9": {"0": tuple(range(1, 10)), "1": tuple(range(10, 19)), "2": tuple(range(19, 28)), "3": tuple(range(28, 37))},
        "sector12": {"A": (1, 3, 5, 13, 15, 17, 20, 22, 24, 32, 34, 36), "B": (2, 4, 6, 14, 16, 18, 19, 21, 23, 31, 33, 35)},
        "dozen": {"1": tuple(range(1, 13)), "2": tuple(range(13, 25)), "3": tuple(range(25, 37))},
        "low": {"": tuple(range(1, 19))},
        "high": {"": tuple(range(19, 37))},
        "red": {"": red},
        "black": {"": (2, 4, 6, 8, 10, 11, 13, 15, 17, 20, 22, 24, 26, 28, 29, 31, 33, 35)},
        "small": {"": (4, 5, 6, 7, 8, 9, 10)},
        "big": {"": (11, 12, 13, 14, 15, 16, 17)},
    }  # fmt: skip
