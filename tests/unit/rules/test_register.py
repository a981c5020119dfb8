"""Which regulation applies when, in Macau days, by both time axes; and the register of what is assumed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from ledger.rules import MACAU, Regulation, assumptions, register, regulation, regulation_for, regulations
from tests.unit.rules.helpers import CUSSEC, FANTAN, ROULETTE, UNVERIFIED, refusal


def noon(day: str) -> datetime:
    return datetime.fromisoformat(f"{day}T12:00:00+08:00")


@pytest.mark.parametrize(
    ("order", "game", "dated", "published", "in_force", "first", "last", "revokes", "revoked_by"),
    [
        ("30/2003", "roulette", "2003-01-31", "2003-02-10", "2003-02-11", "2003-01-31", "2004-05-17",
         ("Portaria 168/75", "Portaria 153/88/M"), "60/2004"),
        ("31/2003", "cussec", "2003-01-31", "2003-02-10", "2003-02-11", "2003-01-31", "2004-05-17",
         ("Portaria 223/75",), "57/2004"),
        ("58/2004", "fantan", "2004-05-12", "2004-05-17", "2004-05-18", "2004-05-18", None,
         ("Portaria 211/80/M", "Portaria 178/89/M"), None),
        ("53/2010", "craps", "2010-02-26", "2010-03-08", "2010-03-09", "2010-03-09", None, ("Portaria 97/85/M",), None),
    ],
)  # fmt: skip
def test_dates_of_the_orders(
    order: str, game: str, dated: str, published: str, in_force: str, first: str, last: str | None,
    revokes: tuple[str, ...], revoked_by: str | None,
) -> None:  # fmt: skip
    held = regulation(order)
    assert held.game == game
    assert held.dates == (
        date.fromisoformat(dated),
        date.fromisoformat(published),
        date.fromisoformat(in_force),
        date.fromisoformat(first),
        date.fromisoformat(last) if last else None,
        revokes,
        revoked_by,
    )


def test_the_orders_held() -> None:
    assert [each.order for each in regulations()] == ["30/2003", "31/2003", "58/2004", "53/2010"]
    assert [(each.gazette.issue[-7:].strip(" ,"), each.gazette.pages) for each in regulations()] == [
        ("6/2003", "109-111"),
        ("6/2003", "from 111"),
        ("20/2004", None),
        ("10/2010", "from 125"),
    ]


def test_the_further_articles_that_decide() -> None:
    assert {each.order: each.articles for each in regulations()} == {
        "30/2003": {"closing": "3", "result": "4", "zero": "8"},
        "31/2003": {"closing": "3(1)", "result": "3(2)", "triple": "7"},
        "58/2004": {"closing": "4", "result": "5(1)", "zero": "3(2)", "fragments": "5(3)", "tie": "8"},
        "53/2010": {"result": "3(1)"},
    }


def test_languages_and_titles() -> None:
    assert [each.languages for each in regulations()] == [("pt", "zh"), ("zh",), ("pt",), ("pt", "zh")]
    titles = [[name.text for language, name in each.title.items() if language != "en"] for each in regulations()]
    assert titles == [
        ["Regulamento Oficial da «Roleta»", "輪盤法定規章"],
        ["骰寶法定規章"],
        ["Regulamento Oficial do «Fantan»"],
        [],
    ]


def test_the_order_of_payment_names_every_chance_or_there_is_none() -> None:
    assert {each.order: each.payment_order for each in regulations()} == {
        "30/2003": (
            ("column", "dozen"),
            ("sector12", "sector9"),
            ("even", "odd", "low", "high", "red", "black"),
            ("six_line",),
            ("street",),
            ("corner",),
            ("split",),
            ("straight",),
        ),
        "31/2003": (),
        "58/2004": (),
        "53/2010": (),
    }
    assert [each.payment_article for each in regulations()] == ["5(1)", None, None, None]


@pytest.mark.parametrize("order", ["60/2004", "57/2004", "Portaria 168/75", "Portaria 97/85/M"])
def test_an_order_that_is_named_but_not_held(order: str) -> None:
    refused = refusal(lambda: regulation(order), "LGR-0402")
    assert refused.detail == f"the text of {order} is not held"


@pytest.mark.parametrize("order", ["", "30/2004", "30-2003", "16/2010", "x" * 5000])
def test_an_unknown_order(order: str) -> None:
    assert "not a regulation that is known" in refusal(lambda: regulation(order), "LGR-0402").detail


@pytest.mark.parametrize(("game", "order"), [("roulette", "30/2003"), ("cussec", "31/2003")])
def test_30_and_31_2003_have_effect_from_2003_01_31_to_2004_05_17(game: str, order: str) -> None:
    for day in ("2003-01-31", "2003-02-10", "2003-02-11", "2004-05-17"):
        assert regulation_for(game, noon(day)) == (regulation(order), None)
    for day in ("2003-01-30", "2004-05-18", "2005-07-01"):
        refusal(lambda day=day: regulation_for(game, noon(day)), "LGR-0401")  # type: ignore[misc]


def test_a_roulette_round_of_2005_names_the_order_whose_text_is_missing() -> None:
    refused = refusal(lambda: regulation_for("roulette", noon("2005-03-01")), "LGR-0401")
    assert "60/2004" in refused.detail
    assert "opts in to 30/2003" in str(refused.help)
    assert "57/2004" in refusal(lambda: regulation_for("cussec", noon("2005-03-01")), "LGR-0401").detail


@pytest.mark.parametrize(
    ("game", "day", "named"),
    [
        ("roulette", "2003-01-30", "Portaria 168/75 as amended by Portaria 153/88/M"),
        ("cussec", "2003-01-30", "Portaria 223/75"),
        ("fantan", "2004-05-17", "Portaria 211/80/M as amended by Portaria 178/89/M"),
        ("craps", "2010-03-08", "Portaria 97/85/M"),
    ],
)
def test_before_the_first_order_the_old_one_is_named(game: str, day: str, named: str) -> None:
    assert named in refusal(lambda: regulation_for(game, noon(day)), "LGR-0401").detail


def test_58_2004_and_53_2010_are_not_retroactive_and_still_in_effect() -> None:
    assert regulation_for("fantan", noon("2004-05-18")).regulation is FANTAN
    assert regulation_for("fantan", noon("2026-11-29")).regulation is FANTAN
    assert regulation_for("craps", noon("2010-03-09")).regulation is regulation("53/2010")


def test_macau_is_named_as_the_zone_databases_name_it() -> None:
    assert MACAU.tzname(None) == "Asia/Macau"
    assert MACAU.utcoffset(None) == timedelta(hours=8)


def test_the_day_is_that_of_macau_whatever_zone_the_time_is_in() -> None:
    last_moment = datetime(2004, 5, 17, 23, 59, 59, 999999, tzinfo=MACAU)
    for zone in (MACAU, UTC, timezone(timedelta(hours=-5)), timezone(timedelta(hours=14))):
        assert regulation_for("roulette", last_moment.astimezone(zone)).regulation is ROULETTE
        refusal(
            lambda zone=zone: regulation_for("roulette", (last_moment + timedelta(microseconds=1)).astimezone(zone)),  # type: ignore[misc]
            "LGR-0401",
        )
    assert regulation_for("roulette", datetime(2003, 1, 30, 16, tzinfo=UTC)).regulation is ROULETTE
    refusal(lambda: regulation_for("roulette", datetime(2003, 1, 30, 15, 59, 59, tzinfo=UTC)), "LGR-0401")


@pytest.mark.parametrize(
    ("known", "applies"), [("2003-02-09", False), ("2003-02-10", False), ("2003-02-11", True), ("2026-01-01", True)]
)
def test_30_2003_art_3_of_the_order_effect_before_publication_is_known_only_once_in_force(known: str, applies: bool) -> None:
    at = noon("2003-02-05")
    if applies:
        assert regulation_for("roulette", at, noon(known)).regulation is ROULETTE
    else:
        refused = refusal(lambda: regulation_for("roulette", at, noon(known)), "LGR-0401")
        assert "in force from 2003-02-11" in refused.detail
        assert "Portaria 168/75" in refused.detail
        assert "explicit correction" in str(refused.help)


def test_a_moment_must_be_judged() -> None:
    assert refusal(lambda: regulation_for("roulette", datetime(2003, 6, 1)), "LGR-0410").field == "at"  # noqa: DTZ001
    at, earlier = noon("2003-06-01"), noon("2003-05-31")
    assert refusal(lambda: regulation_for("roulette", at, earlier), "LGR-0410").field == "known_at"
    refusal(lambda: regulation_for("roulette", at, datetime(2003, 6, 2)), "LGR-0410")  # noqa: DTZ001
    assert refusal(lambda: regulation_for("roulette", datetime.max.replace(tzinfo=UTC)), "LGR-0410").field == "at"
    assert regulation_for("roulette", at, at).regulation is ROULETTE


@pytest.mark.parametrize("game", ["", "baccarat", "Roulette", "roulette "])
def test_an_unknown_game(game: str) -> None:
    refusal(lambda: regulation_for(game, noon("2003-06-01")), "LGR-0402")


def test_a_property_may_apply_an_order_beyond_its_repeal_on_record() -> None:
    applied = regulation_for("roulette", noon("2026-11-29"), opt_ins={"30/2003", "31/2003"})
    assert applied == (ROULETTE, "30/2003, repealed by 60/2004, applied by opt-in")
    assert regulation_for("roulette", noon("2004-05-17"), opt_ins={"30/2003"}) == (ROULETTE, None)
    assert (
        regulation_for("cussec", noon("2004-05-18"), opt_ins=["31/2003"]).note
        == "31/2003, repealed by 57/2004, applied by opt-in"
    )
    refusal(lambda: regulation_for("roulette", noon("2003-01-30"), opt_ins={"30/2003"}), "LGR-0401")
    refusal(lambda: regulation_for("roulette", noon("2026-11-29"), opt_ins={"31/2003", "58/2004"}), "LGR-0401")


def test_two_opt_ins_for_one_day_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Regulation.from_content(ROULETTE.content.replace('"order":"30/2003"', '"order":"29/2002"'))
    monkeypatch.setattr(register, "regulations", lambda: (ROULETTE, other))
    both = ["30/2003", "29/2002"]
    refused = refusal(lambda: regulation_for("roulette", noon("2026-11-29"), opt_ins=both), "LGR-0401")
    assert refused.detail == "30/2003 and 29/2002 are all applied by opt-in, so none is"
    assert (refused.field, refused.value) == ("opt_ins", "30/2003, 29/2002")
    assert regulation_for("roulette", noon("2026-11-29"), opt_ins=["29/2002"]).regulation is other


def test_the_register_lists_every_assumption_and_opt_in() -> None:
    listed = {(each.order, each.where) for each in assumptions()}
    assert {
        ("30/2003", "chance sector9, sets"), ("30/2003", "chance red, numbers"), ("30/2003", "chance black, numbers"),
        ("30/2003", "payment, order"), ("30/2003", "rounding, rule"), ("30/2003", "dates, effective_to"),
        ("30/2003", "void golpe_nulo, reopens_betting"), ("31/2003", "chance triple, rule"), ("31/2003", "chance total, rule"),
        ("31/2003", "dates, effective_to"), ("58/2004", "chance nga, rule"), ("58/2004", "gazette, issue"),
        ("53/2010", "chance pass, odds"), ("53/2010", "chance pass_odds, odds"), ("53/2010", "void not_rolled, cause"),
    } <= listed  # fmt: skip
    assert not any(where == "opt-in" for _, where in listed)
    opted = assumptions({"30/2003", "58/2004"})
    assert [each.order for each in opted if each.where == "opt-in"] == ["30/2003"]
    with_unverified = assumptions(held=[CUSSEC, UNVERIFIED])
    assert ("53/2010", "chance dont_pass") in {(each.order, each.where) for each in with_unverified}
    assert ("53/2010", "chance pass, odds") in {(each.order, each.where) for each in with_unverified}
    assert not any(each.order == "30/2003" for each in with_unverified)
    assert all(each.reason for each in opted + with_unverified)
