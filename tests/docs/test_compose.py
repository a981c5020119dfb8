"""docker-compose.yml is read by Compose's own parser, where one is at hand, and says what it must; no container was started here.

`LEDGER_COMPOSE` names the program `docker-compose` (version 2); without it, a `docker` that has the plugin is looked for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker-compose.yml"

SLIPS = {
    "a misspelt key": ("    shm_size:", "    shm_sise:"),
    "an unknown condition": ("condition: service_completed_successfully", "condition: service_done"),
    "a service that is nowhere": ("      schema: {", "      shema: {"),
    "a volume that is nowhere": ("log:/var/lib", "logs:/var/lib"),
    "no such port": ('"127.0.0.1:8044:8044"', '"127.0.0.1:80440:8044"'),
}
"""One slip each: what stands in the file, and what somebody might have written."""


def compose() -> list[str] | None:
    if named := os.environ.get("LEDGER_COMPOSE"):
        return [named]
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0:
        return [docker, "compose"]
    return None


def parse(file: Path) -> subprocess.CompletedProcess[str]:
    command = compose()
    if command is None:
        pytest.skip("no Compose here: install Docker's compose plugin, or name the program in LEDGER_COMPOSE")
    return subprocess.run(
        [*command, "--project-directory", str(ROOT), "-f", str(file), "config", "-q"], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    loaded = yaml.safe_load(FILE.read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_it_keeps_to_the_compose_specification() -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_composes_own_parser_takes_it() -> None:
    done = parse(FILE)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("slip", SLIPS)
def test_composes_own_parser_finds_a_slip(slip: str, tmp_path: Path) -> None:
    there, instead = SLIPS[slip]
    text = FILE.read_text("utf-8")
    assert there in text
    (tmp_path / "docker-compose.yml").write_text(text.replace(there, instead), "utf-8")
    assert parse(tmp_path / "docker-compose.yml").returncode != 0


def test_no_password_stands_in_an_environment(project: dict[str, Any]) -> None:
    for service in project["services"].values():
        for name in service["environment"]:
            assert "PASSWORD" not in name or name.endswith("_FILE")


def test_nothing_gains_privileges_and_the_service_has_none(project: dict[str, Any]) -> None:
    for name, service in project["services"].items():
        assert "no-new-privileges:true" in service["security_opt"]
        if name != "postgres":
            assert service["cap_drop"] == ["ALL"]
            assert service["read_only"] is True


def test_the_log_outlives_its_container_and_only_the_service_is_reached(project: dict[str, Any]) -> None:
    postgres = project["services"]["postgres"]
    assert postgres["volumes"] == ["log:/var/lib/postgresql"]
    assert [name for name, service in project["services"].items() if "ports" in service] == ["service"]
    assert project["services"]["service"]["ports"] == ["127.0.0.1:8044:8044"]


def test_each_that_stays_up_says_whether_it_is_well(project: dict[str, Any]) -> None:
    for service in project["services"].values():
        assert ("restart" in service) == ("healthcheck" in service)


def test_all_that_the_image_copies_is_there_and_let_through() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    copied = {name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE) for name in line.split()}
    let_through = {
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")
    }
    assert copied == let_through
    assert all((ROOT / name).exists() for name in copied)
