"""Files of recorded outcomes: read whole and checked before anything is played."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from cli.demo_outcomes import RecordedOutcome, made_up, read_recorded
from ledger.errors import Refusal


def written(tmp_path: Path, text: str, name: str = "wheel.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def test_a_file_is_read_with_its_lines_and_unknown_columns_are_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeffseq,block,table,outcome\r\n1,x,T1,0\r\n2,x,vip,36\r\n")
    assert read_recorded(path) == [RecordedOutcome(2, "0", "T1"), RecordedOutcome(3, "36", "vip")]


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("", "wheel.csv:1", "column seq is missing"),
        ("seq,outcome\n1,2\n", "wheel.csv:1", "column table is missing"),
        ("seq,outcome,table\n", "wheel.csv", "no outcomes"),
        ("seq,outcome,table\n1,17,A\n2,37,A\n", "wheel.csv:3", "no pocket"),
        ("seq,outcome,table\n1,00,A\n", "wheel.csv:2", "no pocket"),
        ("seq,outcome,table\n1,１７,A\n", "wheel.csv:2", "no pocket"),
        ("seq,outcome,table\n1,,A\n", "wheel.csv:2", "no pocket"),
        ("seq,outcome,table\n1,17\n", "wheel.csv:2", "no name"),
        ("seq,outcome,table\n1,17,A\n1,18,A\n", "wheel.csv:3", "does not follow"),
        ("seq,outcome,table\nx,17,A\n", "wheel.csv:2", "does not follow"),
        ("seq,outcome,table,throw,phase\n1,7,A,1,comeout\n", "wheel.csv", "no craps table yet"),
        ('seq,outcome,table\n1,"17,A\n', "wheel.csv", "cannot be read"),
    ],
)
def test_a_bad_file_is_refused_by_file_and_line(text: str, where: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refused:
        read_recorded(written(tmp_path, text))
    assert refused.value.code == "LGR-0703"
    assert says in refused.value.detail
    assert (refused.value.field or "").endswith(where)


@pytest.mark.parametrize(("data", "line"), [(b"\xff\xfe\x00", 1), (b"seq,outcome,table\n1,17,sal\xe3o\n", 2)])
def test_a_file_that_is_not_in_utf_8_is_refused_by_its_line_with_what_to_do(data: bytes, line: int, tmp_path: Path) -> None:
    path = tmp_path / "wheel.csv"
    path.write_bytes(data)
    with pytest.raises(Refusal, match="not text in UTF-8") as refused:
        read_recorded(path)
    assert (refused.value.code, refused.value.field) == ("LGR-0703", f"{path}:{line}")
    assert "iconv" in str(refused.value.help)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="cannot be read"):
        read_recorded(tmp_path)


@pytest.mark.parametrize("game", ["roulette", "cussec"])
def test_made_up_outcomes_are_those_of_the_seed_and_legal(game: str) -> None:
    from ledger.rules import regulations

    outcomes = made_up(game, Random("1"), 200)
    assert outcomes == made_up(game, Random("1"), 200)
    assert outcomes != made_up(game, Random("2"), 200)
    [regulation] = [each for each in regulations() if each.game == game]
    assert [regulation.outcome(raw).text for raw in outcomes] == outcomes
