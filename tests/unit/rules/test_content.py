"""What a round was played under can be brought back from the log, to the letter."""

from __future__ import annotations

import doctest
import json
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ledger import rules
from ledger.rules import Regulation, Wager, explanation, regulation, regulations, settle
from tests.unit.rules.helpers import CRAPS, FANTAN, ROULETTE, UNVERIFIED, refusal

ROOT = Path(__file__).resolve().parents[3]

EVERY = pytest.mark.parametrize("law", [*regulations(), UNVERIFIED], ids=lambda law: f"{law.order}{'+' * law.unverified_on}")


@EVERY
def test_content_gives_an_equal_regulation(law: Regulation) -> None:
    again = Regulation.from_content(law.content)
    assert again == law
    assert again is not law
    assert hash(again) == hash(law)
    assert (again.content, again.sha256) == (law.content, law.sha256)
    assert (again.dates, again.chances, again.voids, again.assumptions) == (law.dates, law.chances, law.voids, law.assumptions)
    assert [spot.text for spot in again.spots()] == [spot.text for spot in law.spots()]


def test_a_round_is_settled_alike_under_the_content_of_the_log() -> None:
    again = Regulation.from_content(ROULETTE.content)
    mixed = [Wager(1, ROULETTE.spot("red"), 100), Wager(2, again.spot("red"), 100)]
    one, other = settle(again, again.outcome("1"), mixed)
    assert one[2:] == other[2:]
    assert one.cite == other.cite


HASHES = {
    "30/2003": "55779ab579488df83f42eee8ae96cb48ba0556e943a8cbcf12fbd9736a4a2043",
    "31/2003": "2b6c12ecb2e762e66ea4d5fdc0bfd1a141658bc191b2c0aed9e59a3355329c25",
    "58/2004": "f26d6b75b42503f88ea393448bfc8bdce4404597e0af5c6c07b5981947839e56",
    "53/2010": "cc1a72d68bc2bf92a154d1445761c9bd67448df24213b78dcfce0c7e5e9cc1bd",
}


def test_the_data_are_changed_on_purpose() -> None:
    """Whoever changes a regulation's data changes what rounds are played under: here too, and in the change log."""
    assert {law.order: law.sha256 for law in regulations()} == HASHES


def test_the_example_of_the_package() -> None:
    assert doctest.testmod(rules).failed == 0


def test_content_is_canonical_json() -> None:
    for law in regulations():
        data = json.loads(law.content)
        assert json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":")) == law.content
        assert len(law.sha256) == 64
    assert len({law.sha256 for law in (*regulations(), UNVERIFIED)}) == 5
    assert len({hash(law) for law in (*regulations(), UNVERIFIED)}) == 5


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "1", '"x"', "{}", "NaN", '{"order":"30/2003"}', "[" * 100_000, '{"order":1}', '{"dates":[]}'],
    ids=lambda text: text[:12],
)
def test_what_is_no_content_is_refused(text: str) -> None:
    refusal(lambda: Regulation.from_content(text), "LGR-0407")


def test_content_in_another_form_is_refused_for_its_hash_would_mean_nothing() -> None:
    data = json.loads(FANTAN.content)
    for text in (json.dumps(data), FANTAN.content + " ", FANTAN.content.replace('"order":', '"order":"x","order":', 1)):
        refused = refusal(lambda text=text: Regulation.from_content(text), "LGR-0407")  # type: ignore[misc]
        assert refused.detail == "the content is not in canonical form, so its hash means nothing"
        assert refused.field == "content"


def test_a_changed_paytable_is_another_regulation() -> None:
    changed = Regulation.from_content(FANTAN.content.replace('"odds":"3"', '"odds":"4"'))
    assert changed != FANTAN
    assert changed.sha256 != FANTAN.sha256
    assert changed.spot("fan:1").edge != FANTAN.spot("fan:1").edge
    with pytest.raises(ValueError, match="is not a spot of"):
        settle(FANTAN, FANTAN.outcome("1"), [Wager(1, changed.spot("fan:1"), 100)])


@EVERY
def test_regulations_spots_and_resolutions_travel_between_processes(law: Regulation) -> None:
    again, spot = pickle.loads(pickle.dumps((law, law.spots()[-1])))
    assert again == law
    assert spot.text == law.spots()[-1].text
    assert spot.regulation is again
    travelled = UNVERIFIED.spot_in_play("come:6")
    assert pickle.loads(pickle.dumps(travelled)).travelled


def test_regulations_are_read_once() -> None:
    assert regulation("30/2003") is ROULETTE
    assert regulation("53/2010") is CRAPS
    assert repr(ROULETTE) == f"<Regulation 30/2003 roulette {ROULETTE.sha256[:12]}>"


def test_what_is_loaded_later_is_found_by_its_name() -> None:
    for _ in range(2):
        vars(rules).pop("explain", None)
        assert rules.explain is explanation.explain
        assert vars(rules)["explain"] is explanation.explain
    found = [getattr(rules, name) for name in rules.__all__]
    assert len(set(rules.__all__)) == len(rules.__all__)
    assert not any(each is None or isinstance(each, ModuleType) for each in found)
    with pytest.raises(AttributeError, match="no attribute 'explane'"):
        _ = rules.explane  # type: ignore[attr-defined]


def test_the_import_is_light() -> None:
    """Terminals' services and command lines import the core first: what is slow to import waits until it is used."""
    heavy = ["json", "tomllib", "hashlib", "dataclasses", "zoneinfo", "msgspec", "importlib.resources", "difflib", "inspect"]
    code = f"import sys, ledger.rules; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
