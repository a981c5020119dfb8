"""The whole system for each test: the service on a real socket and a real Postgres, and the command line on the same database."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cli.main import run
from ledger.application import Rounds
from ledger.property import OptIn, Property, Table
from tests.integration.api.conftest import Floor, serving
from tests.support import BEGUN

HOUSE = Property(
    id="H",
    name="House",
    zone="Asia/Macau",
    gaming_day_start="06:00",
    tables=(
        Table("R01", "A", "roulette", "MOP", "0.01", ("T-R01",)),
        Table("R02", "A", "roulette", "HKD", "0.01"),
        Table("C01", "B", "cussec", "MOP", "0.01"),
        Table("F01", "B", "fantan", "MOP", "0.10"),
    ),
    opt_ins=(OptIn("30/2003", "tests", "nobody"), OptIn("31/2003", "tests", "nobody")),
)


@pytest.fixture
def rounds(dsn: str) -> Iterator[Rounds]:
    """The application on a house with tables of each game of one outcome."""
    found = Rounds(dsn)
    found.apply_property(HOUSE, BEGUN)
    yield found
    found.close()


@pytest.fixture
def floor(dsn: str, rounds: Rounds) -> Iterator[Floor]:
    """The terminal of a roulette table in MOP, and the service that it posts to."""
    with serving(dsn) as server:
        found = Floor(server.url, dsn)
        yield found
        found.client.close()


Command = Callable[..., str]


@pytest.fixture
def command(dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command line on the test's database; what it prints on stdout."""
    monkeypatch.setenv("LEDGER_DSN", dsn)
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run(list(arguments)) == code, capsys.readouterr().err
        return capsys.readouterr().out

    return call
