"""The page of each game is what the data say today: it is made anew and compared, and it says all that it must."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from cli.game_page import MADE_BY, game_page
from cli.main import run
from ledger.rules import Regulation, analyse, regulation, regulations

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "games"
GAMES = tuple(dict.fromkeys(each.game for each in regulations()))


def of(game: str) -> list[Regulation]:
    return [each for each in regulations() if each.game == game]


def page_of(game: str) -> str:
    return (FOLDER / f"{game}.md").read_text("utf-8")


def words_of(cells: str) -> list[str]:
    return [cell.strip() for cell in cells.strip("|").split("|")]


def rows_that_begin(text: str, start: str) -> list[list[str]]:
    """The cells of the table rows whose first cell begins so."""
    return [words_of(line) for line in text.splitlines() if line.startswith(f"| {start}")]


@pytest.mark.parametrize("game", GAMES)
def test_the_page_is_what_the_data_say(game: str) -> None:
    assert page_of(game) == game_page(game, of(game)), f"make it anew: {MADE_BY}"


def test_there_is_a_page_for_each_game_and_no_other() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*")) == sorted(GAMES)


def test_one_command_makes_them_all(tmp_path: Path) -> None:
    assert run(["rules", "page", "--into", str(tmp_path / "games")]) == 0
    assert {path.name: path.read_text("utf-8") for path in (tmp_path / "games").iterdir()} == {
        f"{game}.md": page_of(game) for game in GAMES
    }


def test_a_page_is_printed_where_no_folder_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "page", "fantan"]) == 0
    assert capsys.readouterr().out == page_of("fantan")


@pytest.mark.parametrize("game", GAMES)
def test_every_chance_stands_there_with_terms_odds_and_articles(game: str) -> None:
    text = page_of(game)
    for law in of(game):
        for chance in law.chances:
            keys = [f"`{chance.code}:{key}`" for key in chance.items] or [f"`{chance.code}`"]
            for key, selection in zip(keys, chance.items or [""], strict=True):
                row = rows_that_begin(text, key)[0]
                names = chance.names_of(selection)
                for cell, language in zip(row[1:4], ("pt", "zh", "en"), strict=True):
                    name = names.get(language)
                    assert cell.startswith(name.text if name else "*not in sources*")
                    assert ("unofficial" in cell) == (language != "en" and name is not None and name.unofficial is not None)
                assert {str(odds) for odds in chance.odds.values()} <= set(re.split(r"[ ;:,]+", row[5]))
                assert row[6] == f"{chance.article_of(selection)}, {chance.odds_article}"
            assert f"- `{chance.code}`: {chance.rule}" in text


@pytest.mark.parametrize("game", GAMES)
def test_every_legal_bet_stands_there(game: str) -> None:
    text = page_of(game)
    for law in of(game):
        for spot in law.spots():
            assert f"`{spot.text}`" in text
    assert "`sector12:A` = 1, 3, 5, 13, 15, 17, 20, 22, 24, 32, 34, 36" in page_of("roulette")
    assert "`small` = 4–10" in page_of("cussec")


def held_against(found: Iterable[Regulation], text: str) -> None:
    figures = text.split("### Exact figures")[1]
    for law in found:
        for spot in law.spots():
            if spot.text == "pass_odds":
                continue  # a line for each point, below
            alone = [row for row in rows_that_begin(figures, "`") if f"`{spot.text}`" in row[0].split(", ")]
            rows = alone or rows_that_begin(figures, f"`{spot.chance.code}` |")
            worth = analyse(spot)
            assert [str(each) for each in (worth.win, worth.push, worth.edge)] in [row[2:5] for row in rows], spot.text


@pytest.mark.parametrize("game", GAMES)
def test_every_exact_figure_stands_there(game: str) -> None:
    held_against(of(game), page_of(game))


def test_the_figures_of_unverified_bets_stand_there_too() -> None:
    held_against([regulation("53/2010").with_unverified()], page_of("craps"))
    [four, five, six] = rows_that_begin(page_of("craps"), "`pass_odds` at")
    assert (four[2], five[2], six[2]) == ("1/3", "2/5", "5/11")


@pytest.mark.parametrize("game", GAMES)
def test_everything_assumed_is_marked_and_explained(game: str) -> None:
    text = page_of(game)
    for law in of(game):
        for number, each in enumerate(law.assumptions, 1):
            assert f"{number}. {each.where}: {each.reason}" in text
            assert text.count(f"[{number}]") == 1, each.where


@pytest.mark.parametrize("game", GAMES)
def test_dates_voids_payment_and_hash_stand_there(game: str) -> None:
    text = page_of(game)
    for law in of(game):
        for name in ("dated", "published", "in_force_from", "effective_from", "effective_to"):
            assert str(getattr(law.dates, name) or "no repeal known") in text
        assert law.sha256 in text
        assert law.gazette.issue in text
        for void in law.voids:
            [row] = rows_that_begin(text, f"`{void.code}`")
            assert row[4] == void.article
        order = [code for group in law.payment_order for code in group]
        [paid] = [line for line in text.splitlines() if line.startswith("- Order of payment")]
        assert re.findall(r"`(\w+)`", paid) == order
    assert ("2004-05-17, inferred" in text) == (game in ("roulette", "cussec"))


def test_a_change_of_the_data_is_a_change_of_the_page() -> None:
    law = regulation("58/2004")
    for old, new in [('"3"', '"5"'), ('"6(1)"', '"6(9)"'), ("2004-05-18", "2004-05-19"), ("念", "稔"), ('"1/20"', '"1/25"')]:
        assert old in law.content
        changed = Regulation.from_content(law.content.replace(old, new))
        assert game_page("fantan", [changed]) != page_of("fantan")


def test_two_orders_of_one_game_have_a_part_each() -> None:
    text = game_page("roulette", [*of("roulette"), *of("fantan")])
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Order 30/2003", "Order 58/2004"]
