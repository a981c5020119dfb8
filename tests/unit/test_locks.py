"""The locks say what pyproject.toml asks for, with a hash for every file and no address."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
RUNTIME, DEV, BUILD = "requirements.txt", "requirements-dev.txt", "requirements-build.txt"

Pins = dict[str, tuple[Requirement, list[str]]]
"""Of each locked package: the pin, and the hashes of its files."""


def pins(lock: str) -> Pins:
    found: Pins = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / lock).read_text("utf-8").strip()):
        pin, *hashes = [part.strip() for part in entry.replace("\\\n", "\n").splitlines()]
        requirement = Requirement(pin)
        found[canonicalize_name(requirement.name)] = (requirement, hashes)
    return found


def asked() -> dict[str, list[str]]:
    """What pyproject.toml asks of each lock."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    build = project["dependency-groups"]["build"]
    dev = [item for item in project["dependency-groups"]["dev"] if isinstance(item, str)]
    runtime = project["project"]["dependencies"]
    return {RUNTIME: runtime, BUILD: [*build, *project["build-system"]["requires"]], DEV: [*runtime, *build, *dev]}


@pytest.mark.parametrize("lock", [RUNTIME, DEV, BUILD])
def test_all_that_is_asked_for_is_locked_at_a_version_that_satisfies(lock: str) -> None:
    locked = pins(lock)
    for line in asked()[lock]:
        wish = Requirement(line)
        pin, _ = locked[canonicalize_name(wish.name)]
        (version,) = [specifier.version for specifier in pin.specifier]
        assert version in wish.specifier, f"{pin} is not {wish}: run python3 dev.py lock"


@pytest.mark.parametrize("lock", [RUNTIME, DEV, BUILD])
def test_every_pin_is_exact_and_hashed_and_no_address_is_in_it(lock: str) -> None:
    for pin, hashes in pins(lock).values():
        assert [specifier.operator for specifier in pin.specifier] == ["=="]
        assert pin.url is None
        assert hashes
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", text) for text in hashes)


@pytest.mark.parametrize("part", [RUNTIME, BUILD])
def test_the_development_lock_has_the_same_pins_and_more(part: str) -> None:
    whole = pins(DEV)
    for name, (pin, hashes) in pins(part).items():
        assert (str(whole[name][0]), whole[name][1]) == (str(pin), hashes)
