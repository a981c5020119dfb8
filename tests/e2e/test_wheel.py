"""A wheel, installed away from the clone, is the whole program."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cli", "ledger", "projections", "seeds")


def run(*command: str | Path, cwd: Path) -> str:
    """What a command of a newcomer's prints; that it failed is shown with what it had to say."""
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LEDGER_DSN")}
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as a release is: the wheel from the sdist."""
    place = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", place, cwd=ROOT)
    (sdist,) = place.glob("*.tar.gz")
    run("tar", "-xzf", sdist, cwd=place)
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place, cwd=place / sdist.name.removesuffix(".tar.gz"))
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a virtual environment that holds the wheel, and sees the dependencies of this one but not the clone."""
    place = tmp_path_factory.mktemp("elsewhere")
    venv.create(place / "venv", with_pip=False)
    python = place / "venv" / "bin" / "python"
    # A .pth inside a folder that a .pth adds is not read, so the editable install of the clone does not come along.
    (site,) = (place / "venv" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    uv = Path(sys.executable).parent / "uv"
    run(uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel, cwd=place)
    return place


def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    ours = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        licences = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
    assert packed == ours
    assert {f"{package}/py.typed" for package in PACKAGES} <= packed
    assert len(licences) == 1


def test_the_program_runs_from_the_wheel(elsewhere: Path) -> None:
    assert run("venv/bin/roundledger", "--version", cwd=elsewhere).startswith("roundledger")


def test_the_installed_packages_bring_regulations_and_migrations(elsewhere: Path) -> None:
    program = (
        "import cli, ledger, projections, seeds\n"
        "from ledger.rules import regulations\n"
        "from ledger.store import migrate\n"
        "for package in (cli, ledger, projections, seeds): print(package.__path__[0])\n"
        "print(sorted(regulation.order for regulation in regulations()), migrate.LATEST)\n"
    )
    *places, data = run("venv/bin/python", "-c", program, cwd=elsewhere).splitlines()
    assert all(place.startswith(str(elsewhere)) for place in places)
    orders, latest = data.rsplit(" ", 1)
    assert "'30/2003'" in orders
    assert "'31/2003'" in orders
    assert int(latest) == len(list((ROOT / "ledger" / "store" / "migrations").glob("*.sql")))
