"""Roulette by 30/2003: a printed layout on which every place for a chip is tried.

A chip in a box touches one number; on a line inside the layout, two; on a crossing inside, four. On the left edge it
stands for the rows that end there: for one row beside it, for two rows where a line meets the edge. Nothing on the layout
touches zero, which is bet as a single number only (art. 8 lets only a `pleno` win on it). All other chances are lists.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

LAYOUT = """\
+----+----+----+
|  1 |  2 |  3 |
+----+----+----+
|  4 |  5 |  6 |
+----+----+----+
|  7 |  8 |  9 |
+----+----+----+
| 10 | 11 | 12 |
+----+----+----+
| 13 | 14 | 15 |
+----+----+----+
| 16 | 17 | 18 |
+----+----+----+
| 19 | 20 | 21 |
+----+----+----+
| 22 | 23 | 24 |
+----+----+----+
| 25 | 26 | 27 |
+----+----+----+
| 28 | 29 | 30 |
+----+----+----+
| 31 | 32 | 33 |
+----+----+----+
| 34 | 35 | 36 |
+----+----+----+
""".splitlines()

POCKETS = ("0", *(box.strip() for line in LAYOUT if line.startswith("|") for box in line.strip("|").split("|")))

LISTED = {
    # art. 6(6): four printed boxes of three rows each; the article gives no numbers
    "sector9:1-9": "1 2 3 4 5 6 7 8 9",
    "sector9:10-18": "10 11 12 13 14 15 16 17 18",
    "sector9:19-27": "19 20 21 22 23 24 25 26 27",
    "sector9:28-36": "28 29 30 31 32 33 34 35 36",
    # art. 6(7)
    "sector12:A": "1 3 5 13 15 17 20 22 24 32 34 36",
    "sector12:B": "2 4 6 14 16 18 19 21 23 31 33 35",
    # art. 6(8)
    "column:1": "1 4 7 10 13 16 19 22 25 28 31 34",
    "column:2": "2 5 8 11 14 17 20 23 26 29 32 35",
    "column:3": "3 6 9 12 15 18 21 24 27 30 33 36",
    # art. 6(9) to 6(11)
    "dozen:1": "1 2 3 4 5 6 7 8 9 10 11 12",
    "dozen:2": "13 14 15 16 17 18 19 20 21 22 23 24",
    "dozen:3": "25 26 27 28 29 30 31 32 33 34 35 36",
    # art. 6(12) to 6(17); the colours are those of every wheel, the order does not list them
    "even": "2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36",
    "odd": "1 3 5 7 9 11 13 15 17 19 21 23 25 27 29 31 33 35",
    "low": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18",
    "high": "19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36",
    "red": "1 3 5 7 9 12 14 16 18 19 21 23 25 27 30 32 34 36",
    "black": "2 4 6 8 10 11 13 15 17 20 22 24 26 28 29 31 33 35",
}

ODDS = {
    "straight": Fraction(35, 1),
    "split": Fraction(17, 1),
    "street": Fraction(11, 1),
    "corner": Fraction(8, 1),
    "six_line": Fraction(5, 1),
    "sector9": Fraction(3, 1),
    "sector12": Fraction(2, 1),
    "column": Fraction(2, 1),
    "dozen": Fraction(2, 1),
    "even": Fraction(1, 1),
    "odd": Fraction(1, 1),
    "low": Fraction(1, 1),
    "high": Fraction(1, 1),
    "red": Fraction(1, 1),
    "black": Fraction(1, 1),
}

ARTICLES = {
    "straight": ("6(1)", "7(1)"),
    "split": ("6(2)", "7(2)"),
    "street": ("6(3)", "7(3)"),
    "corner": ("6(4)", "7(4)"),
    "six_line": ("6(5)", "7(5)"),
    "sector9": ("6(6)", "7(6)"),
    "sector12": ("6(7)", "7(7)"),
    "column": ("6(8)", "7(7)"),
    "dozen:1": ("6(9)", "7(7)"),
    "dozen:2": ("6(10)", "7(7)"),
    "dozen:3": ("6(11)", "7(7)"),
    "even": ("6(12)", "7(8)"),
    "odd": ("6(13)", "7(8)"),
    "low": ("6(14)", "7(8)"),
    "high": ("6(15)", "7(8)"),
    "red": ("6(16)", "7(8)"),
    "black": ("6(17)", "7(8)"),
}

PAID = (
    "column dozen",  # colunas, dúzias
    "sector9 sector12",  # sectores
    "even odd low high red black",  # «chances» simples
    "six_line",  # linhas
    "street",  # ruas
    "corner",  # quadros
    "split",  # cavalos
    "straight",  # plenos
)
"""Art. 5(1) in Portuguese, which has a place for all seventeen chances; the Chinese leaves some out."""


def _boxes() -> dict[tuple[int, int], int]:
    """Which number's box each character of the layout lies in; lines and crossings lie in none."""
    boxes: dict[tuple[int, int], int] = {}
    for row, line in enumerate(LAYOUT):
        if not line.startswith("|"):
            continue
        start = 1
        for printed in line.strip("|").split("|"):
            for column in range(start, start + len(printed)):
                boxes[row, column] = int(printed)
            start += len(printed) + 1
    return boxes


def _chips() -> list[tuple[str, frozenset[int]]]:
    """The kind and the numbers of a chip at every place of the layout where one can lie."""
    boxes = _boxes()

    def printed_in(row: int) -> frozenset[int]:
        return frozenset(number for place, number in boxes.items() if place[0] == row)

    def touched(row: int, column: int) -> frozenset[int]:
        around = [(row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
        return frozenset(boxes[place] for place in around if place in boxes)

    found: list[tuple[str, frozenset[int]]] = []
    for row, line in enumerate(LAYOUT):
        for column, mark in enumerate(line):
            near = touched(row, column)
            inside = 0 < column < len(line) - 1
            if (row, column) in boxes:
                found.append(("straight", frozenset({boxes[row, column]})))
            elif inside and mark in "|-" and len(near) == 2:
                found.append(("split", near))
            elif inside and mark == "+" and len(near) == 4:
                found.append(("corner", near))
            elif column == 0 and mark == "|":
                found.append(("street", printed_in(row)))
            elif column == 0 and mark == "+" and len(near) == 2:
                found.append(("six_line", printed_in(row - 1) | printed_in(row + 1)))
    return found


def _written(kind: str, numbers: frozenset[int]) -> str:
    ordered = [str(number) for number in sorted(numbers)]
    if kind == "six_line":
        return f"six_line:{ordered[0]}-{ordered[-1]}"
    return f"{kind}:{'-'.join(ordered)}"


@cache
def roulette_bets() -> dict[str, tuple[frozenset[str], Fraction]]:
    """Every bet of the order in canonical notation, with the pockets on which it wins and the prize to one."""
    bets = {"straight:0": (frozenset({"0"}), ODDS["straight"])}
    for kind, numbers in _chips():
        bets[_written(kind, numbers)] = (frozenset(str(number) for number in numbers), ODDS[kind])
    for notation, numbers_listed in LISTED.items():
        bets[notation] = (frozenset(numbers_listed.split()), ODDS[notation.split(":")[0]])
    return bets
