"""`roundledger terminal` against a real service: what it prints, what its exit code says, what it comes back to."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import msgspec
import psycopg
import pytest

from cli.main import run
from cli.terminal import standing
from ledger import property as house
from ledger.application import Rounds
from ledger.client import Door, Outbox, Retry, Sender, Signing, flush, happened
from ledger.property import OptIn, Property, Table
from ledger.reports import CloseBetting, HoldRound, OpenRound, PlaceBet, RecordOutcome, WithdrawBet
from tests.e2e.process import environment
from tests.faults.proxy import Link
from tests.integration.api.conftest import serving
from tests.integration.homes import eventually

HOUSE = Property(
    id="H",
    name="House",
    zone="Asia/Macau",
    gaming_day_start="06:00",
    tables=tuple(
        Table(name, "A", game, "MOP", "0.01", terminals=(f"T-{name}",))
        for name, game in (("R01", "roulette"), ("C01", "cussec"), ("F01", "fantan"), ("K01", "craps"))
    ),
    people=(
        house.Person(id="S-7", roles=("supervisor",)),
        house.Person(id="S-8", roles=("supervisor",)),
        house.Person(id="D-1", roles=("dealer",)),
    ),
    opt_ins=(OptIn("30/2003", "tests", "nobody"), OptIn("31/2003", "tests", "nobody")),
)


class Said:
    """A command line that ran: exit code and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Terminal = Callable[..., Said]


@pytest.fixture
def url(dsn: str) -> Iterator[str]:
    rounds = Rounds(dsn)
    rounds.apply_property(HOUSE)
    rounds.close()
    with serving(dsn) as server:
        yield server.url


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    return tmp_path / "T-R01.outbox"


@pytest.fixture
def terminal(url: str, outbox: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """`roundledger terminal …` with the outbox and the service named by the environment."""
    monkeypatch.setenv("LEDGER_OUTBOX", str(outbox))
    monkeypatch.setenv("LEDGER_URL", url)

    def call(*arguments: str, stdin: str = "") -> Said:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = run(["terminal", *arguments])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call


def settled(dsn: str) -> int:
    with psycopg.connect(dsn) as conn:
        row = conn.execute("SELECT count(*) FROM ledger.events WHERE topic = 'RoundSettled.v1'").fetchone()
    assert row is not None
    return int(row[0])


# send


def test_one_event_by_flags(terminal: Terminal) -> None:
    said = terminal("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01", "--json")
    assert said.code == 0, said.err
    [put] = said.json["put"]
    assert (put["type"], put["sequence"]) == ("roundledger.RoundOpened.v1", "1")
    bet = ("player=P-1", "spot=red", "stake=1000", "currency=MOP", "seat=3")
    said = terminal("send", "BetPlaced", *bet, "--round", put["round"], "--json")
    assert said.json["sent"] == {"posts": 1, "accepted": 1, "replayed": 0, "rejected": 0, "failure": None}


def test_events_from_stdin_go_in_together_or_not_at_all(terminal: Terminal, outbox: Path, dsn: str) -> None:
    round_ = str(uuid4())
    lines = [
        {"type": "RoundOpened", "round": round_, "data": {"table": "R01", "game": "roulette"}},
        {"type": "roundledger.BettingClosed.v1", "round": round_, "id": str(uuid4()), "time": "2026-11-29T20:00:00+08:00"},
        {"type": "OutcomeRecorded", "round": round_, "data": {"outcome": "17"}},
    ]
    text = "\n".join(map(json.dumps, lines))
    spoilt = text.replace("OutcomeRecorded", "OutcomeRecored")
    said = terminal("send", "--terminal", "T-R01", stdin=spoilt)
    assert said.code == 2
    assert "line 3: type: OutcomeRecored" in said.err
    assert "did you mean OutcomeRecorded?" in said.err
    with Outbox(outbox) as found:
        assert found.standing().last == 0
    said = terminal("send", stdin=f"\n{text}\n")
    assert (said.code, said.err) == (0, "sent: 3 accepted, 0 replayed, 0 rejected, 0 waiting\n")
    assert settled(dsn) == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["BetPlaced", "player=P-1"], "", "fields of BetPlaced: player, spot, stake"),
        (["BetPlaced", "player"], "", "a field is written FIELD=VALUE, once"),
        (["BettingClosed"], "", "belongs to a round"),
        (["BettingClosed", "--round", "x"], "", "is not a valid UUID"),
        ([], '{"type": "BettingClosed", "rond": "x"}', "rond"),
        ([], '{"type": "BettingClosed", "time": "2026-11-29T20:00:00"}', "a time has its offset"),
        ([], "junk", "line 1: junk"),
        (["--round", str(uuid4())], "", "--round belongs to an event"),
        (["--url", "localhost"], "", "not the URL of a service"),
        (["--key", str(Path(__file__))], "", "LGR-0722"),
    ],
)
def test_what_cannot_be_put_in_is_said(terminal: Terminal, arguments: list[str], stdin: str, words: str) -> None:
    said = terminal("send", *arguments, "--terminal", "T-R01", stdin=stdin)
    assert said.code == 2
    assert words in said.err


def test_what_is_rejected_is_said_and_stays_for_a_person(terminal: Terminal) -> None:
    opened = terminal("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01", "--json").json["put"][0]
    bet = ("player=P-1", "spot=split:17-19", "stake=1000", "currency=MOP")
    said = terminal("send", "BetPlaced", *bet, "--round", opened["round"])
    assert said.code == 1
    assert "rejected" in said.err
    assert "LGR-0412: 17 and 19 are not neighbours on the layout" in said.err
    status = terminal("status", "--json")
    assert (status.code, status.json["unseen"]) == (1, 1)
    [rejected] = status.json["rejected"]
    assert (rejected["code"], rejected["detail"]) == ("LGR-0412", "17 and 19 are not neighbours on the layout")
    seen = terminal("status", "--seen", "--json")
    assert (seen.code, seen.json["rejected"]) == (0, [])
    assert len(terminal("status", "--all", "--json").json["rejected"]) == 1


def test_the_way_out_and_what_else_was_rejected_are_said(terminal: Terminal) -> None:
    assert "nothing was sent" in terminal("send", "--terminal", "T-R01").err
    opened = terminal("send", "RoundOpened", "table=R01", "game=roulette", "--json").json["put"][0]["round"]
    bet = ("BetPlaced", "player=P-1", "spot=even_money:1", "stake=1000", "currency=MOP", "--round", opened)
    assert terminal("send", *bet, "--later").code == 0
    said = terminal("send", "BettingClosed", "--round", opened)
    assert "rejected, put in before: BetPlaced" in said.err
    assert "LGR-0404" in said.err
    assert "  help: " in said.err
    [rejected] = terminal("status", "--json").json["rejected"]
    assert rejected["help"]
    again = terminal("send", "RoundVoided", "reason=nothing", "--round", opened)
    assert "LGR-0404" not in again.err, "it was said before"
    assert "LGR-0219" in again.err
    assert "its void clauses" in again.err


def test_a_run_says_why_its_events_wait(terminal: Terminal, outbox: Path) -> None:
    assert terminal("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01").code == 0
    with_another = ("--outbox", str(outbox.parent / "other"), "--terminal", "T-R01")
    said = terminal("run", "--table", "R01", "--rounds", "1", "--rate", "0", "--drain", "1", *with_another)
    assert said.code == 1
    assert "the oldest event waits: LGR-0201" in said.err
    assert "roundledger terminal status --outbox" in said.err


def test_what_is_turned_away_for_ever_is_given_up_by_a_person(terminal: Terminal) -> None:
    opening = ("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01", "--json")
    assert terminal(*opening).code == 0
    said = terminal(*opening)
    assert (said.code, said.json["waiting"]) == (1, 1)
    [waiting] = terminal("status", "--json").json["turned_away"]
    assert waiting["code"] == "LGR-0201"
    given_up = terminal("status", "--give-up", waiting["id"], "--json")
    assert "1 event given up" in given_up.err
    assert (given_up.json["waiting"], given_up.json["rejected"][0]["id"]) == (0, waiting["id"])
    assert "given up by a person" in given_up.json["rejected"][0]["detail"]
    assert terminal("status", "--seen").code == 0


def test_what_is_stuck_is_said_with_what_to_do_and_given_up_by_its_round(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "STUCK", 1)
    opening = ("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01", "--json")
    assert terminal(*opening).code == 0
    round_ = terminal(*opening).json["put"][0]["round"]
    stuck = terminal("status", "--json")
    assert stuck.json["stuck"] == 1
    assert "LGR-0201" in stuck.err
    assert f"--all-of-round {round_}" in stuck.err
    assert "1 event given up" in terminal("status", "--all-of-round", round_).err
    assert "2 events" not in terminal("status", "--give-up", f"{uuid4()},{uuid4()}").err


def test_each_reason_that_is_told_is_that_events_own(terminal: Terminal) -> None:
    """An event that was turned away was told why another one, which waited before it, had been."""
    opening = ("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01")
    first = terminal(*opening, "--json").json["put"][0]["round"]
    waits = terminal(*opening, "--json").json
    [own] = waits["turned_away"]
    assert (own["id"], own["problem"]["code"]) == (waits["put"][0]["id"], "LGR-0201")
    bet = terminal("send", "BetPlaced", "player=P-1", "spot=red", "stake=1000", "currency=MOP", "--round", first)
    assert bet.code == 0, "what waits was put in before"
    assert "turned away" not in bet.err
    assert "1 event put in before waits" in bet.err
    lost = str(uuid4())
    orphan = terminal("send", "BettingClosed", "--round", lost)
    assert "LGR-0201" not in orphan.err
    assert "LGR-0202" in orphan.err
    other = terminal(*opening, "--round", lost)
    assert f"table R01 has round {first} open" in other.err
    assert other.err.count("LGR-0201") == 1


def test_an_outcome_before_the_bell_does_not_wait_for_it(terminal: Terminal, dsn: str) -> None:
    opening = terminal("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01", "--json").json["put"][0]
    early = terminal("send", "OutcomeRecorded", "outcome=17", "--round", opening["round"], "--json")
    assert (early.code, early.json["waiting"], early.json["rejected"][0]["problem"]["code"]) == (1, 0, "LGR-0205")
    bet = ("player=P-1", "spot=straight:17", "stake=1000", "currency=MOP")
    assert terminal("send", "BetPlaced", *bet, "--round", opening["round"]).code == 0
    assert terminal("send", "BettingClosed", "--round", opening["round"]).code == 0
    assert settled(dsn) == 0
    assert terminal("send", "OutcomeRecorded", "outcome=4", "--round", opening["round"]).code == 0
    assert settled(dsn) == 1


def test_nothing_is_lost_where_nobody_answers(terminal: Terminal, url: str) -> None:
    said = terminal("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01", "--url", "http://127.0.0.1:9")
    assert said.code == 1
    assert "what waits is kept, and sent by the next call" in said.err
    status = terminal("status")
    assert status.code == 1
    assert "waiting: 1" in status.out
    assert terminal("send").code == 0
    assert terminal("status").code == 0


def test_a_status_says_what_failed_last_and_when(terminal: Terminal, dsn: str) -> None:
    opening = ("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01")
    assert terminal(*opening, "--url", "http://127.0.0.1:9").code == 1
    away = terminal("status", "--json").json
    assert (away["waiting"], away["failure"], away["failure_code"]) == (1, "link", None)
    assert "http://127.0.0.1:9 does not answer" in away["failure_reason"]
    assert (datetime.now(UTC) - datetime.fromisoformat(away["failed_at"])).total_seconds() < 60
    assert away["answered_at"] is None
    with serving(dsn, require_auth=True) as server:
        assert terminal("send", "--url", server.url).code == 1
    refused = terminal("status")
    assert "failure: refused" in refused.out
    assert "failure code: LGR-0803" in refused.out
    assert "waiting: 1" in refused.out
    assert terminal("send").code == 0
    mended = terminal("status", "--json").json
    assert (mended["waiting"], mended["failure_code"]) == (0, "LGR-0803")
    assert mended["answered_at"] > mended["failed_at"]


def test_it_can_only_be_put_in(terminal: Terminal) -> None:
    said = terminal("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01", "--later", "--csv")
    assert said.code == 0
    assert said.out.startswith("id,type,round,epoch,sequence\n")
    assert "1 event in the outbox to be sent" in said.err


def test_an_act_that_was_taken_is_done_though_something_older_waits(people: People, outbox: Path) -> None:
    say = people.say
    round_, _ = opened(say, outbox)
    assert say("send", "RoundOpened", "table=R01", "game=roulette", "--later").code == 0
    held = say("send", "RoundHeld", "reason=dispute", "--round", round_, "--token-file", str(people.tokens["S-8"]))
    assert held.code == 0
    assert "1 event put in before waits: roundledger terminal status" in held.err
    assert say("send", "BettingClosed", "--round", round_).code == 0, "nor is a fact at fault"
    assert say("send").code == 1, "where nothing else is sent, it is what waits that was"


def test_a_run_says_when_its_events_begin_to_wait(terminal: Terminal, outbox: Path) -> None:
    assert terminal("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01").code == 0
    with_another = ("--outbox", str(outbox.parent / "other"), "--terminal", "T-R01")
    said = terminal("run", "--table", "R01", "--rounds", "4", "--rate", "2", "--drain", "1", *with_another)
    assert said.code == 1
    begin, reason = said.err.index("events begin to wait in the outbox"), said.err.index("the oldest event waits")
    assert begin < reason
    assert said.err.count("events begin to wait") == 1


def test_a_status_makes_no_outbox(terminal: Terminal, outbox: Path) -> None:
    assert terminal("status", "--terminal", "T-R01").code == 2
    assert not outbox.exists()


# run


@pytest.mark.parametrize(("table", "game"), [("R01", "roulette"), ("C01", "cussec"), ("F01", "fantan"), ("K01", "craps")])
def test_it_plays_its_tables_game(terminal: Terminal, dsn: str, table: str, game: str) -> None:
    said = terminal("run", "--table", table, "--game", game, "--rounds", "8", "--rate", "0", "--seed", "1", "--json")
    assert said.code == 0, said.err
    figures = said.json
    assert (figures["terminal"], figures["rounds"], figures["rejected"], figures["waiting"]) == (f"T-{table}", 8, 0, 0)
    assert figures["accepted"] == figures["events"] == figures["last"] == figures["contiguous"]
    assert 0 < figures["bets"] <= figures["events"] - 3 * 8
    assert settled(dsn) == 8


def test_it_ends_when_its_time_is_over(terminal: Terminal) -> None:
    began = time.monotonic()
    said = terminal("run", "--table", "R01", "--seconds", "0.5", "--rate", "10")
    assert said.code == 0
    assert 0.5 <= time.monotonic() - began < 10
    assert "answered: median" in said.out


def test_killed_within_a_round_it_comes_back_to_that_round(terminal: Terminal, url: str, outbox: Path, dsn: str) -> None:
    command = [sys.executable, "-m", "cli", "terminal", "run", "--table", "R01", "--rate", "0"]
    process = subprocess.Popen(command, env=environment(LEDGER_OUTBOX=str(outbox), LEDGER_URL=url), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not outbox.exists() or settled(dsn) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.wait()
    said = terminal("run", "--table", "R01", "--rounds", "2", "--rate", "0", "--json")
    assert said.code == 0, said.err
    with psycopg.connect(dsn) as conn:
        [(opened,)] = conn.execute("SELECT count(*) FROM ledger.events WHERE topic = 'RoundOpened.v1'").fetchall()
        assert conn.execute("SELECT * FROM ledger.open_rounds").fetchall() == []
    assert opened == settled(dsn) >= 5
    assert terminal("status", "--json").json["waiting"] == 0


def test_a_round_that_was_opened_by_hand_gets_no_made_up_outcome(terminal: Terminal, dsn: str) -> None:
    opening = terminal("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01", "--json").json["put"][0]
    play = ("run", "--table", "R01", "--rounds", "1", "--rate", "0")
    refused = terminal(*play)
    assert refused.code == 2
    assert "LGR-0725" in refused.err
    assert opening["round"] in refused.err
    assert settled(dsn) == 0
    for type_, *fields in (("BettingClosed",), ("OutcomeRecorded", "outcome=17")):
        assert terminal("send", type_, *fields, "--round", opening["round"]).code == 0
    assert terminal(*play).code == 0
    assert settled(dsn) == 2


def test_told_to_stop_it_ends_with_its_round(url: str, outbox: Path, dsn: str) -> None:
    command = [sys.executable, "-m", "cli", "terminal", "run", "--table", "R01", "--rate", "5", "--json"]
    process = subprocess.Popen(
        command, env=environment(LEDGER_OUTBOX=str(outbox), LEDGER_URL=url), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 30
    while settled(dsn) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert json.loads(out)["rounds"] == settled(dsn)


# Signed.


@pytest.fixture
def key(url: str, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """The key of T-R01, in a file."""
    monkeypatch.setenv("LEDGER_DSN", dsn)
    capsys.readouterr()
    assert run(["keys", "issue", "T-R01", "--json"]) == 0
    path = tmp_path / "key.json"
    path.write_text(capsys.readouterr().out)
    return path


def test_a_terminal_with_its_key_is_let_in_and_one_without_keeps_its_events(
    terminal: Terminal, outbox: Path, key: Path, dsn: str
) -> None:
    round_ = ("--table", "R01", "--rounds", "2", "--rate", "0", "--drain", "1")
    with serving(dsn, require_auth=True) as server:
        without = terminal("run", *round_, "--url", server.url)
        assert without.code == 1
        assert "LGR-0803" in without.err
        assert settled(dsn) == 0
        said = terminal("run", *round_, "--url", server.url, "--key", str(key), "--json")
    assert (said.code, said.json["waiting"], said.json["rejected"]) == (0, 0, 0)
    assert settled(dsn) == 4, "those that were turned away went with the others"
    secret = json.loads(key.read_text())["secret"]
    assert secret.encode() not in b"".join(file.read_bytes() for file in outbox.parent.glob("T-R01.outbox*"))


def test_a_key_is_replaced_while_the_terminal_plays(
    outbox: Path, key: Path, dsn: str, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = json.loads(key.read_text())["key"]
    with Outbox(outbox, terminal="T-R01") as box:
        opening = happened(OpenRound(table="R01", game="roulette"), terminal="T-R01")
        with serving(dsn, require_auth=True) as server, Door(server.url, auth=Signing.of_file(key), retry=Retry(tries=1)) as door:
            box.put(opening)
            assert flush(box, door).accepted == 1
            capsys.readouterr()
            assert run(["keys", "issue", "T-R01", "--json"]) == 0
            fresh = tmp_path / "fresh.json"
            fresh.write_text(capsys.readouterr().out)
            assert run(["keys", "revoke", old]) == 0
            deadline = time.monotonic() + 30
            while flush(box, door).failure is None:  # until the service has heard that the key was revoked
                assert time.monotonic() < deadline
                bet = PlaceBet(player="P-1", spot="red", stake="1000", currency="MOP")
                box.put(happened(bet, terminal="T-R01", round=opening.round))
                time.sleep(0.05)
            assert box.backlog == 1
            fresh.replace(key)
            assert flush(box, door).accepted == 1
    capsys.readouterr()
    run(["terminal", "status", "--outbox", str(outbox), "--key", str(key), "--json"])
    assert json.loads(capsys.readouterr().out)["key"] == json.loads(key.read_text())["key"] != old


# What a person decides.


class People(NamedTuple):
    """A terminal's outbox and key, and the tokens of two supervisors at it."""

    say: Terminal
    tokens: dict[str, Path]
    service: str


@pytest.fixture
def people(
    terminal: Terminal, key: Path, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[People]:
    """S-7 and S-8 may decide, D-1 may not; the service takes nobody by their word."""
    monkeypatch.setenv("LEDGER_KEY", str(key))
    tokens = {}
    for person in ("S-7", "S-8", "D-1"):
        capsys.readouterr()
        assert run(["tokens", "issue", person, "--json"]) == 0
        tokens[person] = tmp_path / person
        tokens[person].write_text(json.loads(capsys.readouterr().out)["token"])
    with serving(dsn, require_auth=True) as server:
        monkeypatch.setenv("LEDGER_URL", server.url)
        yield People(terminal, tokens, server.url)


def by(dsn: str, topic: str) -> list[str | None]:
    """Whose act each event of this topic is."""
    with psycopg.connect(dsn) as conn:
        return [who for (who,) in conn.execute("SELECT body ->> 'by' FROM ledger.log WHERE topic = %s", (topic,))]


def opened(say: Terminal, outbox: Path) -> tuple[str, str]:
    """A round with one bet: both ids."""
    opening = say("send", "RoundOpened", "table=R01", "game=roulette", "--terminal", "T-R01", "--json").json["put"][0]["round"]
    bet = ("player=P-1", "spot=red", "stake=1000", "currency=MOP")
    placed = say("send", "BetPlaced", *bet, "--round", opening, "--json")
    assert placed.code == 0, placed.err
    return opening, placed.json["put"][0]["id"]


def test_a_refused_act_of_one_person_is_never_sent_in_anothers_name(people: People, outbox: Path, dsn: str) -> None:
    """It was refused for want of a right, waited, and went with the token of the supervisor who came next."""
    say = people.say
    round_, bet = opened(say, outbox)
    void = ("send", "BetVoided", f"bet={bet}", "reason=misplaced", "--round", round_)
    refused = say(*void, "--token-file", str(people.tokens["D-1"]))
    assert refused.code == 1
    assert "LGR-0804: D-1 may not do this" in refused.err
    assert "nothing of it is kept" in refused.err
    said = say("send", "BettingClosed", "--round", round_, "--token-file", str(people.tokens["S-7"]), "--json")
    assert (said.code, said.json["waiting"], said.json["rejected"]) == (0, 0, [])
    assert by(dsn, "BetVoided.v1") == []
    assert by(dsn, "BettingClosed.v1") == [None], "a fact of the table is nobody's"
    with Outbox(outbox) as box:
        stands = box.standing()
    assert stands.contiguous == stands.last == stands.received == 1, "the act took no number, so none is missing"


def test_a_persons_act_is_theirs_and_is_sent_after_what_waits(people: People, outbox: Path, dsn: str) -> None:
    say = people.say
    round_, bet = opened(say, outbox)
    lowered = say("send", "BetChanged", f"bet={bet}", "stake=500", "--round", round_, "--later")
    assert lowered.code == 0
    void = ("send", "BetVoided", f"bet={bet}", "reason=misplaced", "--round", round_)
    said = say(*void, "--token-file", str(people.tokens["S-8"]), "--json")
    assert (said.code, said.json["put"], said.json["act"]["status"]) == (0, [], "accepted")
    assert said.json["sent"]["accepted"] == 1
    assert by(dsn, "BetVoided.v1") == ["S-8"]


def test_what_waited_for_an_act_is_sent_after_it(people: People, outbox: Path, dsn: str) -> None:
    say, token = people.say, str(people.tokens["S-7"])
    round_, _ = opened(say, outbox)
    hold = say("send", "RoundHeld", "reason=dispute", "--round", round_, "--token-file", token, "--json").json["act"]["id"]
    assert say("send", "BettingClosed", "--round", round_).code == 0
    assert say("send", "OutcomeRecorded", "outcome=17", "--round", round_).code == 1, "held"
    said = say("send", "RoundReleased", f"hold={hold}", "finding=stands", "--round", round_, "--token-file", token, "--json")
    assert (said.code, said.json["waiting"], said.json["sent"]["accepted"]) == (0, 0, 1)
    assert settled(dsn) == 1


def test_an_act_that_cannot_be_sent_is_not_kept(people: People, outbox: Path, dsn: str) -> None:
    say = people.say
    round_, bet = opened(say, outbox)
    void = ("send", "BetVoided", f"bet={bet}", "reason=misplaced", "--round", round_, "--token-file", str(people.tokens["S-7"]))
    away = say(*void, "--url", "http://127.0.0.1:9")
    assert away.code == 1
    assert "not sent: http://127.0.0.1:9 does not answer" in away.err, "there was no connection"
    assert say("send", "BettingClosed", "--round", round_, "--later").code == 0
    unsent = say(*void, "--url", "http://127.0.0.1:9", "--json")
    assert (unsent.code, unsent.json["act"]["status"], unsent.json["waiting"]) == (1, "unsent", 1), "the facts wait, not the act"
    assert say("send").code == 0
    assert by(dsn, "BetVoided.v1") == []


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["RoundHeld", "reason=dispute", "--round", str(uuid4()), "--later"], "", "LGR-0723"),
        ([], json.dumps({"type": "RoundHeld", "round": str(uuid4()), "data": {"reason": "dispute"}}), "LGR-0723"),
        (["RoundHeld", "reason=dispute", "--round", str(uuid4())], "", "no token says who you are"),
    ],
)
def test_an_act_neither_waits_nor_goes_without_its_person(
    terminal: Terminal, outbox: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], stdin: str, words: str
) -> None:
    monkeypatch.delenv("LEDGER_TOKEN", raising=False)
    said = terminal("send", *arguments, "--terminal", "T-R01", stdin=stdin)
    assert said.code == 2
    assert words in said.err
    with Outbox(outbox) as box:
        assert (box.standing().last, box.standing().waiting) == (0, 0)


def test_a_supervisor_gives_up_what_a_terminal_will_never_send(people: People, outbox: Path, key: Path, dsn: str) -> None:
    say = people.say
    round_, _ = opened(say, outbox)
    bet = happened(PlaceBet(player="P-1", spot="red", stake="1000", currency="MOP"), terminal="T-R01", round=UUID(round_))
    with Door(people.service, auth=Signing.of_file(key)) as door:
        assert door.post([msgspec.structs.replace(bet, epoch=5, sequence=3)]).items[0].status == "accepted"
    gone = ("NumbersGivenUp", "table=R01", "of_terminal=T-R01", "of_epoch=5", "first=1", "reason=lost_disk")
    refused = say("send", *gone, "last=3", "--token-file", str(people.tokens["S-7"]))
    assert refused.code == 1
    assert "missing: 1 to 2" in refused.err
    said = say("send", *gone, "last=2", "--token-file", str(people.tokens["S-7"]), "--json")
    assert (said.code, said.json["act"]["status"]) == (0, "accepted")
    assert by(dsn, "NumbersGivenUp.v1") == ["S-7"]


def test_what_is_about_a_table_is_told_by_its_table(people: People, outbox: Path) -> None:
    said = people.say("send", "StaffSignedOn", "table=R01", "person=D-1", "role=dealer", "--terminal", "T-R01")
    assert said.code == 0, said.err
    assert said.out.rstrip().endswith("table R01")
    misread = people.say("send", "BetPlaced", "player=Mr Wong", "spot=red", "stake=1", "currency=MOP", "--round", str(uuid4()))
    assert misread.code == 2
    assert "expected ASCII letters, digits" in " ".join(misread.err.split())
    assert "regex" not in misread.err


def test_an_act_that_an_older_outbox_holds_is_rejected_and_waits_no_more(people: People, outbox: Path, key: Path) -> None:
    """It was put in by a release that kept acts, and would wait for ever: no outbox has a person's token."""
    round_, bet = opened(people.say, outbox)
    with Outbox(outbox) as box, Door(people.service, auth=Signing.of_file(key)) as door:
        [put] = box.put(happened(WithdrawBet(bet=UUID(bet)), terminal="T-R01", round=UUID(round_)))
        held = happened(HoldRound(reason="dispute"), terminal="T-R01", round=UUID(round_), id=put.id)
        body = msgspec.structs.replace(held, epoch=put.epoch, sequence=put.sequence).encoded().decode()
        box._db.execute("UPDATE events SET body = ?, type = ? WHERE id = ?", (body, held.type, str(put.id)))
        box.put(happened(CloseBetting(), terminal="T-R01", round=UUID(round_)))
        done = flush(box, door)
        assert (done.accepted, done.rejected, done.waiting) == (1, 1, 0)
        [rejected] = box.rejected()
        assert (rejected.problem.code, rejected.problem.retryable) == ("LGR-0801", False)


# The sender.


def test_a_sender_survives_a_link_that_comes_and_goes(url: str, outbox: Path, dsn: str) -> None:
    retry = Retry(tries=1, first=0.02, longest=0.1)
    with Link(url) as link, Outbox(outbox, terminal="T-R01") as box, Door(link.url, retry=retry) as door:
        with Sender(box, door) as sender:
            for number in range(9):
                (link.go_away, link.come_back)[number % 2]()
                opening = happened(OpenRound(table="R01", game="roulette"), terminal="T-R01")
                rest = [
                    happened(data, terminal="T-R01", round=opening.round)
                    for data in (
                        PlaceBet(player="P-1", spot="red", stake="1000", currency="MOP"),
                        CloseBetting(),
                        RecordOutcome(outcome="0"),
                    )
                ]
                box.put(opening, *rest)
                sender.wake()
                time.sleep(0.1)
            link.come_back()
        assert (box.standing().waiting, box.standing().acknowledged) == (0, 36)
    assert sender.sent.failures > 0
    assert sender.sent.failure is None
    assert sender.sent.accepted + sender.sent.replayed == 36
    assert settled(dsn) == 9


def test_a_silence_begins_where_the_link_fails_and_not_with_what_was_turned_away_before(url: str, outbox: Path) -> None:
    early = happened(PlaceBet(player="P-1", spot="red", stake="1000", currency="MOP"), terminal="T-R01", round=uuid4())
    retry = Retry(tries=1, first=0.02, longest=0.05)
    began = time.monotonic()
    with Link(url) as link, Outbox(outbox, terminal="T-R01") as box, Door(link.url, retry=retry) as door:
        box.put(early)
        with Sender(box, door, drain=0.2) as sender:
            assert eventually(lambda: sender.sent.posts > 1)
            link.go_away()
            assert eventually(lambda: sender.sent.failures > 0)
        took = time.monotonic() - began
    assert 0 <= sender.sent.silence <= took


def test_a_sender_that_reaches_nobody_ends_in_time_and_keeps_all(outbox: Path) -> None:
    began = time.monotonic()
    with Outbox(outbox, terminal="T-R01") as box, Door("http://127.0.0.1:9", retry=Retry(tries=1, first=5, longest=60)) as door:
        box.put(happened(OpenRound(table="R01", game="roulette"), terminal="T-R01"))
        with Sender(box, door, drain=0.3) as sender:
            time.sleep(0.1)
        assert box.standing().waiting == 1
    assert sender.sent.failure is not None
    assert time.monotonic() - began < 2


def test_what_goes_wrong_in_a_sender_is_raised_at_its_end(outbox: Path) -> None:
    box = Outbox(outbox, terminal="T-R01")
    box.put(happened(OpenRound(table="R01", game="roulette"), terminal="T-R01"))
    sender = Sender(box, Door("http://127.0.0.1:9", retry=Retry(tries=1)))
    box.close()
    with pytest.raises(Exception, match="closed"), sender:
        pass
