"""The demo: the main job from a terminal's post to a printed report, through real processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.e2e.process import ROOT, environment, printed, roundledger, to_nobody

RECORDED = ROOT.parent / "shared" / "data"
FEW = ("demo", "--rounds", "3")


def test_a_day_is_played_reported_explained_and_replayed(dsn: str) -> None:
    done = roundledger(*FEW, LEDGER_DSN=dsn)
    out, said = done.stdout, done.stderr
    assert "made up from seed" in said
    assert "made up from seed" in out
    assert "30/2003, repealed by 60/2004, applied by opt-in" in out
    assert "31/2003, repealed by 57/2004, applied by opt-in" in out
    for word in ("Table report", "Balances", "Amounts in MOP", "Amounts in HKD", "theo. win", "replay: equal"):
        assert word in out
    assert re.search(r"odds: 3[01]/2003 art\. \S+: \S+ to 1", out)
    assert re.search(r"position \d+: PayoutMade\.v1", out)
    assert "of this run, demo-1" in out
    assert "--seed 302003" in said
    assert "12 rounds at 4 tables" in said
    [command] = re.findall(r"\n  (\S*roundledger) explain ", said)
    bet = re.findall(r"roundledger explain (\S+)\n", said)[0]
    told = subprocess.run(
        [command, "explain", bet], cwd=Path.cwd(), env=environment(LEDGER_DSN=dsn), capture_output=True, check=True
    )
    assert bet in told.stdout.decode()
    assert re.search(r"serve +# then post a round to it: (see docs/how-to/post-a-round.md|/openapi.json)", said.splitlines()[-1])


def test_it_can_be_run_again_and_each_run_can_be_told_from_the_others(dsn: str) -> None:
    first, second = (printed(*FEW, LEDGER_DSN=dsn) for _ in range(2))
    assert (first["run"], second["run"]) == ("demo-1", "demo-2")
    assert (first["seed"], second["seed"]) == ("302003", "302004")
    assert first["counts"] != second["counts"]
    assert sum(second["counts"].values()) == second["rounds"] == 12
    assert first["replay"]["equal"]
    assert second["replay"]["equal"]
    assert [row["rounds"] for row in second["report"]["tables"]] == [6, 6, 6, 6]
    for name in ("rounds", "bets", "handle", "lost", "prizes", "win"):
        for now, before, total in zip(
            second["of_this_run"]["tables"], first["of_this_run"]["tables"], second["report"]["tables"], strict=True
        ):
            assert int(now[name]) + int(before[name]) == int(total[name])
    with psycopg.connect(dsn) as conn:
        shifts = conn.execute(
            "SELECT shift, count(*) FROM projection.rounds GROUP BY shift ORDER BY min(first_position)"
        ).fetchall()
        zero = conn.execute("SELECT currency, sum(balance) FROM projection.balances GROUP BY currency").fetchall()
    assert shifts == [(first["run"], 12), (second["run"], 12)]
    assert dict(zero) == {"MOP": 0, "HKD": 0}


def test_the_same_seed_is_the_same_day_and_later_runs_are_told_from_the_total(dsn: str) -> None:
    one, two = (roundledger(*FEW, "--seed", "7", "--csv", LEDGER_DSN=dsn).stdout for _ in range(2))
    assert one.replace("demo-1", "demo-2") == two
    assert "Run demo-3" in (out := roundledger(*FEW, LEDGER_DSN=dsn).stdout)
    assert "figures are of this run alone" in out
    assert "of every run in this ledger, of which demo-3 is the last" in out
    [report] = [printed("report", "tables", LEDGER_DSN=dsn)["tables"]]
    assert [row["rounds"] for row in report] == [9, 9, 9, 9]


def test_one_round_at_one_table_is_said_so(dsn: str) -> None:
    assert "1 round at 1 table;" in roundledger("demo", "--rounds", "1", "--table", "R01", LEDGER_DSN=dsn).stderr


def test_a_reader_that_goes_away_is_no_difference(dsn: str) -> None:
    done = to_nobody([sys.executable, "-m", "cli", "demo", "--rounds", "1", "--table", "R01"], LEDGER_DSN=dsn)
    assert done.returncode == 141


def test_another_seed_makes_another_day_and_a_table_can_be_chosen(dsn: str) -> None:
    one = printed("demo", "--rounds", "30", "--table", "R01", "--seed", "1", LEDGER_DSN=dsn)
    two = printed("demo", "--rounds", "30", "--table", "R01", "--seed", "2", LEDGER_DSN=dsn)
    assert one["counts"] != two["counts"]
    assert {row["table"] for row in two["report"]["tables"]} == {"R01"}


def test_it_needs_no_configuration_and_comes_back_to_its_data(tmp_path: Path) -> None:
    home = str(tmp_path / "ledger")
    assert printed(*FEW, LEDGER_DSN="", LEDGER_DATA_DIR=home)["replay"]["equal"]
    again = printed(*FEW, LEDGER_DSN="", LEDGER_DATA_DIR=home)
    assert sum(row["rounds"] for row in again["report"]["tables"]) == 24
    assert "equal" in roundledger("replay", LEDGER_DSN="", LEDGER_DATA_DIR=home).stdout


def test_recorded_outcomes_are_counted_as_in_the_file(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "wheels.csv"
    outcomes = [n * n % 37 for n in range(90)]
    lines = [f"{seq},{outcome},wheel {seq % 3},x" for seq, outcome in enumerate(outcomes, start=1)]
    path.write_text("\n".join(["seq,outcome,table,note", *lines]) + "\n")
    found = printed("demo", "--outcomes", str(path), LEDGER_DSN=dsn)
    assert found["counts"] == {str(number): count for number, count in sorted(Counter(outcomes).items())}
    assert found["counts_equal"]
    assert [row["table"] for row in found["report"]["tables"]] == ["REC-wheel-0", "REC-wheel-1", "REC-wheel-2"]
    out = roundledger("demo", "--outcomes", str(path), LEDGER_DSN=dsn).stdout
    assert "90 rounds, equal to the source's counts" in out
    assert "made up" not in roundledger("rounds", "list", LEDGER_DSN=dsn).stdout


@pytest.mark.parametrize(
    "text", ["seq,outcome,table\n1,17,A\n2,37,A\n", "seq,outcome\n1,17\n", "seq,outcome,table,throw\n1,7,A,1\n", ""]
)
def test_a_bad_file_is_refused_before_anything_is_posted(text: str, dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "wheel.csv"
    path.write_text(text)
    done = roundledger("demo", "--outcomes", str(path), code=2, LEDGER_DSN=dsn)
    assert "error[LGR-0703]" in done.stderr
    assert str(path) in done.stderr
    with psycopg.connect(dsn) as conn:
        assert conn.execute("SELECT count(*) FROM ledger.events").fetchone() == (0,)


@pytest.mark.parametrize("name", ["live_a", "live_b", "wiesbaden_t1", "wiesbaden_t5", "wiesbaden_t7"])
def test_real_recorded_spins_are_settled_and_counted(name: str, dsn: str) -> None:
    path = RECORDED / f"roulette_{name}.csv"
    if not path.exists():
        pytest.skip(f"the recorded outcomes are not here: {path}")
    column = Counter(line.split(",")[1] for line in path.read_text().splitlines()[1:])
    found = printed("demo", "--outcomes", str(path), LEDGER_DSN=dsn)
    assert found["counts"] == dict(column)
    assert found["rounds"] == sum(column.values())
    assert found["replay"]["equal"]


@pytest.mark.parametrize("name", ["craps_casino", "dice_weldon_counts"])
def test_recorded_dice_are_refused(name: str, dsn: str) -> None:
    path = RECORDED / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"the recorded outcomes are not here: {path}")
    assert "no craps table yet" in roundledger("demo", "--outcomes", str(path), code=2, LEDGER_DSN=dsn).stderr


def test_a_ledger_of_another_property_is_left_alone(dsn: str, tmp_path: Path) -> None:
    house = tmp_path / "house.toml"
    house.write_text((ROOT / "seeds/demo/property.toml").read_text().replace('"DEMO"', '"HOUSE"'))
    roundledger("property", "apply", str(house), LEDGER_DSN=dsn)
    assert "error[LGR-0707]" in roundledger(*FEW, code=2, LEDGER_DSN=dsn).stderr


@pytest.fixture
def playing(dsn: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A demo in the middle of a long day, and the URL of its service."""
    demo = subprocess.Popen(
        [sys.executable, "-m", "cli", "demo", "--rounds", "5000"],
        env=environment(LEDGER_DSN=dsn),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A run in the background of a script ignores Ctrl-C, and whatever it starts inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert demo.stderr is not None
    url = next(line.split()[-1] for line in demo.stderr if line.startswith("service at"))
    while httpx.get(f"{url}/v1/reports/tables").json()["position"] == "0":
        time.sleep(0.05)
    yield demo, url
    demo.kill()
    demo.wait()
    demo.stderr.close()


def gone(url: str) -> bool:
    """Whether nobody listens there any more, soon."""
    for _ in range(200):
        try:
            httpx.get(f"{url}/healthz")
        except httpx.TransportError:
            return True
        time.sleep(0.1)
    return False


def test_ctrl_c_stops_it_and_its_service_and_the_next_run_goes_on(playing: tuple[subprocess.Popen[str], str], dsn: str) -> None:
    demo, url = playing
    demo.send_signal(signal.SIGINT)
    assert demo.wait(60) == 130
    assert demo.stderr is not None
    said = demo.stderr.read()
    assert "interrupted" in said
    assert "Traceback" not in said
    assert gone(url)
    assert printed(*FEW, LEDGER_DSN=dsn)["replay"]["equal"]


def test_killed_in_the_middle_it_leaves_no_service_and_the_next_run_ends_its_rounds(
    playing: tuple[subprocess.Popen[str], str], dsn: str
) -> None:
    demo, url = playing
    os.kill(demo.pid, signal.SIGKILL)
    demo.wait()
    assert gone(url)
    found = printed(*FEW, LEDGER_DSN=dsn)
    assert found["replay"]["equal"]
    assert found["counts_equal"]
    with psycopg.connect(dsn) as conn:
        assert conn.execute("SELECT count(*) FROM ledger.open_rounds").fetchone() == (0,)
