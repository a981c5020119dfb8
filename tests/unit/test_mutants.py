"""The mutants of `dev.py prove mutation`: what is made wrong, and that a trial tells right from wrong."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice

import pytest

from tests.proofs.mutation.data import of_data, others
from tests.proofs.mutation.mutants import ROOT, Mutant, of_source
from tests.proofs.mutation.trials import NO_PROGRAM, Court
from tests.proofs.prove_mutation import Tally, listed

SOURCE = '''"""Documentation is no program."""

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from x import y

LIMIT: ClassVar[int] = 3


class Box:
    @property
    def full(self) -> bool:  # pragma: no mutate
        if self.count:
            return self.count >= LIMIT
        return False
'''


def test_every_part_of_a_module_is_mutated_whatever_mark_stands_there() -> None:
    found = {(mutant.where, mutant.was, mutant.now) for mutant in of_source("x.py", SOURCE)}
    assert found == {
        ("module", "LIMIT: ClassVar[int] = 3", "LIMIT: ClassVar[int] = None"),
        ("module", "LIMIT: ClassVar[int] = 3", "LIMIT: ClassVar[int] = 4"),
        ("Box.full", "if self.count:", "if not (self.count):"),
        ("Box.full", "return self.count >= LIMIT", "return None"),
        ("Box.full", "return self.count >= LIMIT", "return self.count > LIMIT"),
        ("Box.full", "return False", "return None"),
        ("Box.full", "return False", "return True"),
    }


def test_a_mutant_is_told_by_the_lines_that_differ_alone() -> None:
    source = "def f(a, b):\n    return g(\n        a,\n        1,\n    )\n"
    assert {(mutant.was, mutant.now) for mutant in of_source("x.py", source)} >= {("1,", "2,"), ("a,", "None,")}


@pytest.mark.parametrize(
    ("path", "was", "now"),
    [
        (("dates", "published"), "2004-05-31", ["2004-05-30", "2004-06-01"]),
        (("chance", 0, "odds"), "1/2", ["0", "1"]),
        (("chance", 0, "article", "odds"), "7(1)(3)", ["6(1)(3)", "8(1)(3)", "7(0)(3)", "7(2)(3)", "7(1)(2)", "7(1)(4)"]),
        (("chance", 0, "sets", 0), "1-9", ["0-9", "2-9", "1-8", "1-10"]),
        (("void", 0, "disposition"), "stand", ["carry"]),
        (("void", 0, "ends_round"), True, [False]),
        (("chance", 0, "names", "pt"), "pleno", ["pleno?"]),
        (("chance", 0, "rule"), "in our own words", []),
    ],
)
def test_a_leaf_of_the_data_is_changed_to_something_plausible(
    path: tuple[str | int, ...], was: object, now: list[object]
) -> None:
    assert others(path, was) == now


def test_a_trial_tells_a_killer_from_a_survivor() -> None:
    """In a process of its own: a mutant is tried where nothing of the rules has been imported yet, as the proof does."""
    done = subprocess.run(
        [sys.executable, "-c", "import tests.unit.test_mutants as these; these.trials()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def trials() -> None:
    court = Court(["tests.unit.rules.test_rounding"])
    file = "ledger/rules/spots.py"
    source = (ROOT / file).read_text(encoding="utf-8")
    wrong = next(mutant for mutant in of_source(file, source) if mutant.where == "_odds" and mutant.now == "return None")
    mutants = {
        "killed": wrong,
        "survives": Mutant(file, "", "", "", f"{source}\n"),
        "no program": Mutant(file, "", "", "", "def"),
        "no import": Mutant(file, "", "", "", "raise OSError"),
        "no end": Mutant(file, "", "", "", "while True:\n    pass"),
    }
    killers = {trial.mutant: trial.killer for trial in court.try_all(mutants.values(), 2, lambda mutant: False)}
    found = {what: killers[mutant] for what, mutant in mutants.items()}
    assert str(found.pop("killed")).startswith("tests.unit.rules.test_rounding:")
    assert found == {
        "survives": None,
        "no program": NO_PROGRAM,
        "no import": "import: OSError",
        "no end": "out of time or memory",
    }


def test_survivors_are_listed_with_a_reason_and_count_as_survivors() -> None:
    assert all(reason.strip() for reason in listed().values())
    first, second = islice(of_data(), 2)
    tally = Tally([first.key])
    tally.survivors += [first]
    assert not tally.holds(0.95)
    assert tally.holds(0)
    tally.survivors += [second]
    assert not tally.holds(0)
    assert tally.unlisted == [second]
    assert not Tally(()).holds(0)
