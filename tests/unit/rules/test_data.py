"""The data of a regulation are read strictly: what is wrong is refused where it stands, by file and line."""

from __future__ import annotations

import pickle
import re
import zipfile
from pathlib import Path

import pytest

import seeds
from ledger.errors import Refusal
from ledger.rules import regulations
from ledger.rules.data import DataFault
from ledger.rules.loader import line_of, load, load_folder
from tests.unit.rules.helpers import refusal

FOLDER = Path(seeds.__file__).parent / "regulations"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.toml"))}
ROULETTE, CRAPS, FANTAN = "30-2003-roulette.toml", "53-2010-craps.toml", "58-2004-fantan.toml"
CUSSEC = "31-2003-cussec.toml"


def spoilt(name: str, old: str, new: str) -> tuple[Refusal, int]:
    """The refusal of a file in which the first `old` reads `new`, and the line of that place."""
    text = TEXTS[name]
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    return refusal(lambda: load(text.replace(old, new, 1), name), "LGR-0407"), line


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        (FANTAN, 'odds = "1/2"', "odds = 0.5", "a bare number"),
        (FANTAN, 'odds = "1/2"', "odds = 2", "a bare number"),
        (FANTAN, 'odds = "1/2"', "odds = nan", "a bare number"),
        (FANTAN, 'odds = "1/2"', 'odds = "2/4"', "lowest terms"),
        (FANTAN, 'odds = "1/2"', 'odds = "0.5"', "lowest terms"),
        (FANTAN, 'odds = "1/2"', 'odds = "-1/2"', "lowest terms"),
        (FANTAN, 'odds = "1/2"', 'odds = "0"', "lowest terms"),
        (FANTAN, 'odds = "1/2"', 'odds = "1/0"', "lowest terms"),
        (FANTAN, 'odds = "1/2"', 'odds = "１/2"', "lowest terms"),
        (FANTAN, 'odds = "1/2"', 'odds = { 1 = "1/2" }', "found a table"),
        (FANTAN, 'fraction = "1/20"', 'fraction = "1"', "less than the whole"),
        (FANTAN, 'of = "prize"', 'of = "win"', "is not one of prize, stake"),
        (FANTAN, "dated = 2004-05-12", 'dated = "2004-05-32"', "not a date"),
        (FANTAN, "dated = 2004-05-12", 'dated = "20040512"', "date"),
        (FANTAN, "dated = 2004-05-12", "dated = 2004-05-12T00:00:00", "date"),
        (FANTAN, "published = 2004-05-17", "published = 2004-05-11", "do not follow"),
        (FANTAN, "effective_from = 2004-05-18", "effective_from = 2004-05-19", "after the order is in force"),
        (FANTAN, 'code = "nga"', 'code = "niu"', "not a chance of fantan"),
        (FANTAN, 'code = "nga"', 'code = "nim"', "stands twice"),
        (FANTAN, 'languages = ["pt"]', 'languages = ["pt", "en"]', "not an official language"),
        (ROULETTE, 'rule = "one number of', 'rulle = "one number of', "rule is missing"),
        (ROULETTE, 'game = "roulette"', 'game = "bingo"', "is not one of roulette"),
        (ROULETTE, "ends_round = false", "ends_round = 0", "true or false"),
        (ROULETTE, 'disposition = "stand"', 'disposition = "refund"', "is not one of stand, carry"),
        (ROULETTE, 'numbers = "1-18"', 'numbers = "1-19"', "18 numbers of 1 to 36"),
        (ROULETTE, 'numbers = "1-18"', 'numbers = "1,2"', "neither a range"),
        (ROULETTE, 'numbers = "1-18"', 'numbers = "18-1"', "does not ascend"),
        (ROULETTE, 'sets = ["1-9"', 'sets = ["0-8"', "9 numbers of 1 to 36"),
        (ROULETTE, 'sets = ["1-9", "10-18"', 'sets = ["1-9", "1-9"', "twice"),
        (ROULETTE, 'sets = { 1 = "1-12"', 'sets = { 0 = "1-12"', "1 is missing"),
        (ROULETTE, "assumed = { numbers", "assumed = { colour", "not a part of this entry"),
        (ROULETTE, '["street"],\n', "", "every chance once"),
        (ROULETTE, '["street"]', '["street", "street"]', "every chance once"),
        (ROULETTE, '["street"]', '["rua"]', "every chance once"),
        (ROULETTE, "effective_to = 2004-05-17\n", "", "stand together"),
        (ROULETTE, "effective_to = 2004-05-17\n", "effective_to = 2003-02-10\n", "ends before"),
        (ROULETTE, 'zh = "孤丁", en = "straight up"', 'zh = "孤丁"', "en is missing"),
        (ROULETTE, 'zero = "8"', 'nought = "8"', "zero is missing"),
        (CUSSEC, '17 = "50" }', '18 = "50" }', "17 is missing"),
        (CUSSEC, 'zh = "小"', 'pt = "pequeno"', "not held in 'pt'"),
        (CUSSEC, 'zh = "小"', 'jp = "小"', "not a language of names"),
        (CRAPS, 'unverified_bets = "off"', 'unverified_bets = "no"', "is not one of off, on"),
        (CRAPS, 'taken = "wins"', 'taken = "sometimes"', "is not one of wins, always"),
    ],
)
def test_a_fault_is_refused_on_its_line(name: str, old: str, new: str, words: str) -> None:
    refused, line = spoilt(name, old, new)
    assert words in refused.detail
    found = re.match(rf"{re.escape(name)}:(\d+): ", refused.detail)
    assert found
    # The line itself, or the head of the table that it stands in.
    assert line - 12 <= int(found[1]) <= line


@pytest.mark.parametrize(
    ("name", "old"),
    [
        (ROULETTE, 'article = { bet = "6(1)", odds = "7(1)" }\n'),
        (ROULETTE, ', odds = "7(1)"'),
        (FANTAN, 'fragments = "5(3)"\n'),
        (ROULETTE, 'article = "5(1)"\n'),
        (ROULETTE, 'article = "2(2)"\n'),
        (ROULETTE, 'zero = "8"\n'),
        (CUSSEC, 'triple = "7"\n'),
        (FANTAN, 'tie = "8"\n'),
        (FANTAN, 'article = "9"\n'),
        (FANTAN, 'article = { bet = "6(2)(3)", odds = "7(1)(3)" }\n'),
        (CRAPS, 'article = { bet = "5(2)(1)", odds = "6" }\n'),
    ],
)
def test_a_missing_article_is_refused(name: str, old: str) -> None:
    refused, _ = spoilt(name, old, "")
    assert "missing" in refused.detail


@pytest.mark.parametrize("name", TEXTS)
def test_an_unknown_key_is_refused_in_every_table(name: str) -> None:
    lines = TEXTS[name].splitlines()
    tables = [number for number, line in enumerate(lines) if line.startswith("[")]
    for number in (lines.index(next(line for line in lines if line.startswith("order"))), *tables):
        text = "\n".join([*lines[: number + 1], 'oods = "1"', *lines[number + 1 :]])
        refused = refusal(lambda text=text: load(text, name), "LGR-0407")  # type: ignore[misc]
        assert refused.detail.startswith(f"{name}:{number + 2}: ")
        assert "oods" in refused.detail


@pytest.mark.parametrize("name", TEXTS)
def test_every_key_of_every_table_is_needed_or_known_to_be_optional(name: str) -> None:
    optional = {"assumed", "inferred", "unofficial", "pages", "commission", "items", "revoked_by", "effective_to"}
    lines = TEXTS[name].splitlines()
    for number, line in enumerate(lines):
        key = re.match(r"([a-z_]+)(?:\.\d)? = (?!\[$)", line)
        if key and key[1] not in optional:
            text = "\n".join([*lines[:number], *lines[number + 1 :]])
            refusal(lambda text=text: load(text, name), "LGR-0407")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "line"), [("order = \n", 1), ('order = "30/2003"\norder = "x"\n', 2), ("a = 1\n\n[x\n", 3), ("\x00", 1)]
)
def test_what_is_not_toml_is_refused_on_its_line(text: str, line: int) -> None:
    assert refusal(lambda: load(text, "x.toml"), "LGR-0407").detail.startswith(f"x.toml:{line}: ")


def test_two_regulations_in_effect_at_once_are_refused(tmp_path: Path) -> None:
    later = TEXTS[ROULETTE].replace('order = "30/2003"', 'order = "60/2004"').replace("2003-01-31", "2004-05-12")
    later = later.replace("2003-02-10", "2004-05-17").replace("2003-02-11", "2004-05-18")
    later = later.replace("effective_from = 2004-05-12", "effective_from = 2004-05-18")
    later = re.sub(r"(effective_to|revoked_by|inferred) = .*\n", "", later)
    (tmp_path / "30.toml").write_text(TEXTS[ROULETTE], encoding="utf-8")
    (tmp_path / "60.toml").write_text(later, encoding="utf-8")
    assert [each.order for each in load_folder(tmp_path)] == ["30/2003", "60/2004"]
    # An order that was dated before the one that it follows.
    (tmp_path / "60.toml").write_text(later.replace("dated = 2004-05-12", "dated = 2003-01-30"), encoding="utf-8")
    assert [each.order for each in load_folder(tmp_path)] == ["30/2003", "60/2004"]
    overlapping = later.replace("effective_from = 2004-05-18", "effective_from = 2004-05-17")
    (tmp_path / "60.toml").write_text(overlapping, encoding="utf-8")
    refused = refusal(lambda: load_folder(tmp_path), "LGR-0407")
    line = overlapping[: overlapping.index("\neffective_from") + 1].count("\n") + 1
    assert refused.detail.startswith(f"{tmp_path / '60.toml'}:{line}: 60/2004 and 30/2003")
    assert "in effect at once" in refused.detail


def test_a_file_that_is_not_utf_8_is_refused_on_its_line(tmp_path: Path) -> None:
    text = TEXTS[ROULETTE]
    (tmp_path / "30.toml").write_bytes(text.replace("médio", "m\0dio").encode().replace(b"m\0dio", "médio".encode("latin-1")))
    refused = refusal(lambda: load_folder(tmp_path), "LGR-0407")
    line = text[: text.index("médio")].count("\n") + 1
    assert refused.detail == f"{tmp_path / '30.toml'}:{line}: the byte 0xe9 is not UTF-8"


def test_a_folder_in_an_archive_is_read_as_well(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "wheel.zip", "w") as archive:
        for name in reversed(TEXTS):
            archive.writestr(f"regulations/{name}", TEXTS[name])
    found = load_folder(zipfile.Path(tmp_path / "wheel.zip", "regulations/"))
    assert [each.order for each in found] == ["30/2003", "31/2003", "53/2010", "58/2004"]


def test_a_faulty_file_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('order = "1/2003"\n\ngame = "x"\n', encoding="utf-8")
    (tmp_path / "b.txt").write_text("no regulation", encoding="utf-8")
    refused = refusal(lambda: load_folder(tmp_path), "LGR-0407")
    assert refused.detail.startswith(f"{tmp_path / 'a.toml'}:3: game: 'x' is not one of ")


def test_an_order_that_stands_in_two_files_is_refused(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(TEXTS[FANTAN], encoding="utf-8")
    refused = refusal(lambda: load_folder(tmp_path), "LGR-0407")
    line = TEXTS[FANTAN][: TEXTS[FANTAN].index("order = ")].count("\n") + 1
    assert refused.detail == f"{tmp_path / 'b.toml'}:{line}: 58/2004 stands in {tmp_path / 'a.toml'} as well"
    assert refused.field == f"{tmp_path / 'b.toml'}:{line}"


@pytest.mark.parametrize(
    ("path", "line"),
    [(("a",), 1), (("b",), 2), (("b", "c"), 3), (("d", 0, "e"), 5), (("d", 1, "e", "f"), 8), (("d", 1, "x"), 6), (("z",), 1)],
)
def test_the_line_of_a_part(path: tuple[str | int, ...], line: int) -> None:
    assert line_of("a = 1\n[b]\nc = 2\n[[d]]\ne = 3\n[[d]]\n# e\ne = { f = 4 }\n", path) == line


def test_the_line_of_a_dotted_table_and_of_a_key_in_quotes() -> None:
    text = 'a = 1\n[b.c]\n"d e" = 2\nf."g" = 3\n[[ h ]]\n i.j=4 # k\n'
    lines = [("a",), ("b", "c"), ("b", "c", "d"), ("b", "c", "f", "g"), ("h", 0), ("h", 0, "i", "j"), ("h",), ("b",)]
    assert [line_of(text, path) for path in lines] == [1, 2, 2, 4, 5, 6, 5, 2]
    assert [line_of("a = 1\nB = 2\n", path) for path in (("a",), ("B",))] == [1, 2]


@pytest.mark.parametrize(
    ("name", "entry", "parts"),
    [
        (ROULETTE, 'code = "even"', ["odds", "rule", "sets", "numbers", "names"]),
        (
            CRAPS,
            'code = "off_layout"',
            ["code", "article", "names", "cause", "consequence", "disposition", "ends_round", "reopens_betting"],
        ),
        (FANTAN, "[gazette]", ["issue", "pages"]),
        (FANTAN, "[dates]", ["dated", "published", "in_force_from", "effective_from", "effective_to", "revokes", "revoked_by"]),
        (FANTAN, "[payment]", ["order"]),
        (FANTAN, "[rounding]", ["rule"]),
    ],
)
def test_every_part_of_an_entry_can_be_marked(name: str, entry: str, parts: list[str]) -> None:
    head, _, rest = TEXTS[name].partition(entry)
    key = "inferred" if entry in ("[gazette]", "[dates]") else "assumed"
    rest = (
        re.sub(rf"^{key} = .*\n", "", rest, count=1, flags=re.MULTILINE) if entry != "[dates]" and "even" not in entry else rest
    )
    marks = ", ".join(f'{part} = "because"' for part in parts)
    law = load(f"{head}{entry}\n{key} = {{ {marks} }}\n{rest}", name)
    marked = [each.where.rpartition(", ")[2] for each in law.assumptions if each.reason == "because"]
    assert marked == parts


def test_a_fault_travels_between_processes() -> None:
    fault = DataFault(("chance", 3, "odds"), "no fraction")
    again = pickle.loads(pickle.dumps(fault))
    assert (again.path, again.detail, str(again)) == (fault.path, "no fraction", "chance[3].odds: no fraction")
    assert fault.args == again.args == (("chance", 3, "odds"), "no fraction")
    assert str(DataFault((), "no fraction")) == "no fraction"


def test_the_files_are_the_register() -> None:
    assert {each.content for each in regulations()} == {load(text, name).content for name, text in TEXTS.items()}
