"""`roundledger correct`, through a running service and without one: whose token it is decides who speaks."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from cli.demo_service import service
from tests.e2e.process import ROOT, environment, printed, roundledger
from tests.support import Terminal, accepted, house

AUTHOR, APPROVER, AUDITOR = "S-7", "S-8", "A-1"
"""Of the demo house: two supervisors, and one who only looks."""


@pytest.fixture
def settled(dsn: str) -> tuple[Terminal, str]:
    """A settled round with a straight on 17, which is its outcome; and that bet's id."""
    table = Terminal()
    with closing(house(dsn)) as rounds:
        opening, bet = table.open(), table.bet("straight:17")
        accepted(rounds.post([opening, bet, table.close(), table.outcome("17")]))
    return table, str(bet.event_id)


@pytest.fixture
def tokens(dsn: str) -> dict[str, str]:
    """Person → token."""
    return {person: printed("tokens", "issue", person, LEDGER_DSN=dsn)["token"] for person in (AUTHOR, APPROVER, AUDITOR)}


@pytest.fixture(params=["straight", "service"])
def way(request: pytest.FixtureRequest, dsn: str) -> Iterator[dict[str, Any]]:
    """The settings by which the ledger is reached: the database itself, or a service on it."""
    if request.param == "straight":
        yield {"LEDGER_DSN": dsn}
    else:
        with service(dsn) as url:
            # The database stands in the way of nobody who has the service: this one does not exist.
            yield {"LEDGER_URL": url, "LEDGER_DSN": "host=nowhere.invalid"}


def as_(person: str, tokens: dict[str, str]) -> dict[str, Any]:
    return {"LEDGER_TOKEN": tokens[person], "LEDGER_PERSON": person}


def test_one_person_proposes_and_another_approves(
    dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str], way: dict[str, Any]
) -> None:
    table, bet = settled
    round_ = str(table.round)
    author, approver = as_(AUTHOR, tokens), as_(APPROVER, tokens)
    wish = ("correct", "propose", round_, "bet", "--bet", bet[:8], "--stake", "50.00", "--reason", "miskeyed_stake")
    proposed: dict[str, Any] = printed(*wish, **author, **way)
    correction = proposed["correction"]
    [waiting] = printed("correct", "list", LEDGER_DSN=dsn)["corrections"]
    assert (waiting["correction"], waiting["stake"], waiting["status"]) == (correction, "5000", "proposed")
    assert waiting["proposed_by"] == AUTHOR
    own = roundledger("correct", "approve", round_, correction, "--yes", code=2, **author, **way)
    assert "error[LGR-0249]" in own.stderr
    none = roundledger("correct", "approve", round_, "0123456789", "--yes", code=2, **approver, **way)
    assert "error[LGR-0701]: no correction has an id that begins so" in none.stderr
    approved = printed("correct", "approve", round_, correction[:10], "--yes", **approver, **way)
    assert approved["made"] is True
    assert printed("correct", "list", LEDGER_DSN=dsn)["corrections"] == []
    [made] = printed("correct", "list", "--round", round_[:13], "--all", LEDGER_DSN=dsn)["corrections"]
    assert (made["status"], made["approved_by"]) == ("approved", APPROVER)
    again = roundledger("correct", "decline", round_, correction, code=2, **approver, **way)
    assert "error[LGR-0243]" in again.stderr


def test_a_name_that_is_typed_is_nobody(
    dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str], way: dict[str, Any]
) -> None:
    table, _ = settled
    wish = ("correct", "propose", str(table.round), "outcome", "--outcome", "7", "--reason", "miskeyed_outcome")
    for settings, code in (
        ({"LEDGER_PERSON": AUTHOR}, "LGR-0801"),
        ({"LEDGER_PERSON": AUTHOR, "LEDGER_TOKEN": "rlt_made-up"}, "LGR-0802"),
        ({"LEDGER_PERSON": AUTHOR, "LEDGER_TOKEN": tokens[APPROVER]}, "LGR-0804"),
        (as_(AUDITOR, tokens), "LGR-0804"),
    ):
        refused = roundledger(*wish, code=2, **settings, **way)
        assert f"error[{code}]" in refused.stderr, refused.stderr
    assert printed("correct", "list", "--all", LEDGER_DSN=dsn)["corrections"] == []


def test_a_settled_round_is_corrected_beside_a_service_that_plays_its_table(
    dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str]
) -> None:
    table, bet = settled
    round_ = str(table.round)
    with closing(house(dsn, lease_idle=600.0)) as playing:
        accepted(playing.post([table.open(), table.bet("red")]))
        wish = ("correct", "propose", round_, "bet_void", "--bet", bet, "--reason", "dispute_upheld", "--note", "seen on camera")
        proposed = printed(*wish, **as_(AUTHOR, tokens), LEDGER_DSN=dsn)
        printed("correct", "approve", round_, proposed["correction"], "--yes", **as_(APPROVER, tokens), LEDGER_DSN=dsn)
        accepted(playing.post([table.bet("black"), table.close(), table.outcome("1")]))
        [found] = [each for each in playing.round(table.round).bets.values() if each.spot == "red"]
    assert found.result == "won"


def proposed(dsn: str, tokens: dict[str, str], table: Terminal, kind: str, *fields: str, reason: str = "miskeyed_stake") -> str:
    """The id of a correction that the author proposes."""
    wish = ("correct", "propose", str(table.round), kind, *fields, "--reason", reason)
    return str(printed(*wish, **as_(AUTHOR, tokens), LEDGER_DSN=dsn)["correction"])


def test_whoever_approves_is_shown_what_changes(dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str]) -> None:
    table, bet = settled
    fields = ("--bet", bet, "--stake", "50.00", "--player", "P-2", "--note", "the chips were of fifty")
    correction = proposed(dsn, tokens, table, "bet", *fields)
    other = proposed(dsn, tokens, table, "outcome", "--outcome", "7", reason="miskeyed_outcome")
    shown = printed("correct", "show", str(table.round), correction, LEDGER_DSN=dsn)
    changes = {row["field"]: (row["bet"], row["was"], row["becomes"]) for row in shown["changes"]}
    assert changes["player"] == (bet, "P-1", "P-2")
    assert changes["stake"] == (bet, "MOP 100.00", "MOP 50.00")
    assert changes["returned"] == (bet, "MOP 3600.00", "MOP 1800.00")
    assert {row["player"]: row["difference"] for row in shown["players"]} == {"P-1": "-350000", "P-2": "175000"}
    assert (shown["proposed_by"], shown["reason"], shown["note"]) == (AUTHOR, "miskeyed_stake", "the chips were of fifty")
    assert [row["correction"] for row in shown["others"]] == [other]
    assert "other proposals" in " ".join(shown["notes"])
    outcome = printed("correct", "show", str(table.round), other, LEDGER_DSN=dsn)
    assert ("17, black", "7, red") in [(row["was"], row["becomes"]) for row in outcome["changes"]]
    assert {row["player"]: row["difference"] for row in outcome["players"]} == {"P-1": "-360000"}
    assert not any("limits" in note for note in [*shown["notes"], *outcome["notes"]])


def test_the_beginning_of_each_id_is_enough_beside_the_database(
    dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str]
) -> None:
    table, bet = settled
    round_ = str(table.round)[:13]
    author, approver = as_(AUTHOR, tokens), as_(APPROVER, tokens)
    wish = ("correct", "propose", round_, "bet_void", "--bet", bet[:8], "--reason", "dispute_upheld")
    for decision in (("decline",), ("approve", "--yes")):
        correction = str(printed(*wish, **author, LEDGER_DSN=dsn)["correction"])[:8]
        shown = printed("correct", "show", round_, correction, LEDGER_DSN=dsn)
        assert shown["round"] == str(table.round)
        printed("correct", decision[0], round_, correction, *decision[1:], **approver, LEDGER_DSN=dsn)
    none = roundledger("correct", "show", round_, "0123456789", code=2, LEDGER_DSN=dsn)
    assert "error[LGR-0701]: no correction has an id that begins so" in none.stderr
    listed = printed("correct", "list", "--round", round_, "--all", LEDGER_DSN=dsn)["corrections"]
    assert sorted(each["status"] for each in listed) == ["approved", "declined"]


def test_what_another_correction_has_overtaken_is_shown_as_such(
    dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str]
) -> None:
    table, bet = settled
    earlier, later = (proposed(dsn, tokens, table, "bet", "--bet", bet, "--stake", stake) for stake in ("50.00", "20.00"))
    assert printed("correct", "show", str(table.round), later, LEDGER_DSN=dsn)["overtaken"] is None
    printed("correct", "approve", str(table.round), earlier, "--yes", **as_(APPROVER, tokens), LEDGER_DSN=dsn)
    shown = printed("correct", "show", str(table.round), later, LEDGER_DSN=dsn)
    assert shown["overtaken"] == "LGR-0250"
    assert any("nobody can approve it any more (LGR-0250)" in note for note in shown["notes"])
    refused = roundledger(
        *("correct", "approve", str(table.round), later, "--yes"), code=2, **as_(APPROVER, tokens), LEDGER_DSN=dsn
    )
    assert "error[LGR-0250]" in refused.stderr


def test_a_role_that_only_reads_the_log_sees_what_a_correction_would_change(
    dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str]
) -> None:
    """As docs/how-to/correct-a-round.md makes it."""
    table, bet = settled
    correction = proposed(dsn, tokens, table, "bet_void", "--bet", bet)
    page = (ROOT / "docs" / "how-to" / "correct-a-round.md").read_text("utf-8")
    [said] = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    role = f"reader_{uuid4().hex[:12]}"
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(said.replace("ledger_reader", role).encode())
        try:
            shown = printed("correct", "show", str(table.round), correction, LEDGER_DSN=f"{dsn} options='-c role={role}'")
            with (
                psycopg.connect(f"{dsn} options='-c role={role}'") as reader,
                pytest.raises(psycopg.errors.InsufficientPrivilege),
            ):
                reader.execute("SELECT hash FROM ledger.tokens")
        finally:
            conn.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())
    assert [row["player"] for row in shown["players"]] == ["P-1"]


def test_what_is_asked_for_is_named_as_it_is_typed(
    dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str], way: dict[str, Any]
) -> None:
    table, bet = settled
    wish = ("correct", "propose", str(table.round), "mispay", "--bet", bet, "--amount", "1.00", "--reason", "overpaid")
    refused = roundledger(*wish, code=2, **as_(AUTHOR, tokens), **way).stderr
    assert "--to-player or --from-player" in refused
    if "LEDGER_URL" in way:
        nobody = roundledger(*wish, "--to-player", code=2, LEDGER_TOKEN=tokens[AUTHOR], **way).stderr
        assert "LEDGER_URL" in nobody
        assert "LEDGER_PERSON" in nobody
        other = roundledger(*wish, "--to-player", code=2, LEDGER_TOKEN=tokens[AUTHOR], LEDGER_PERSON=APPROVER, **way).stderr
        assert f"say --person {AUTHOR}" in other
        assert "write the source" not in other


def test_ex_gratia_says_that_it_takes_two_others(dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str]) -> None:
    table, _ = settled
    wish = ("correct", "propose", str(table.round), "ex_gratia", "--player", "P-5", "--spot", "red", "--stake", "50.00")
    said = roundledger(*wish, "--amount", "50.00", "--reason", "goodwill", **as_(AUTHOR, tokens), LEDGER_DSN=dsn)
    assert "two other persons approve it" in said.stderr + said.stdout


def test_a_stake_beyond_the_tables_limits_is_said(dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str]) -> None:
    table, bet = settled
    correction = proposed(dsn, tokens, table, "bet", "--bet", bet, "--stake", "900000.00")
    shown = printed("correct", "show", str(table.round), correction, LEDGER_DSN=dsn)
    assert any("beyond the limits of table R01" in note for note in shown["notes"])


def test_nobody_approves_what_they_were_not_shown(
    dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str], way: dict[str, Any]
) -> None:
    table, bet = settled
    correction = proposed(dsn, tokens, table, "bet_void", "--bet", bet)
    approve = ("correct", "approve", str(table.round), correction)
    for form in ((), ("--json",)):
        blind = roundledger(*approve, *form, code=2, **as_(APPROVER, tokens), **way)
        assert f"roundledger correct show {table.round} {correction}" in blind.stderr
        assert "--yes" in blind.stderr
        assert not blind.stdout, "nothing is shown that nobody can be asked about"
    assert len(printed("correct", "list", LEDGER_DSN=dsn)["corrections"]) == 1
    done = roundledger(*approve, "--yes", **as_(APPROVER, tokens), **way)
    assert "approved and made" in done.stderr
    assert ("What changes" in done.stdout) is ("LEDGER_URL" not in way), "it is shown where it can be, before it is made"
    again = roundledger("correct", "show", str(table.round), correction, code=2, LEDGER_DSN=dsn)
    assert "error[LGR-0243]" in again.stderr


def test_a_person_at_a_screen_is_asked(dsn: str, settled: tuple[Terminal, str], tokens: dict[str, str]) -> None:
    table, bet = settled
    correction = proposed(dsn, tokens, table, "bet_void", "--bet", bet)
    words = [sys.executable, "-m", "cli", "correct", "approve", str(table.round), correction]
    for answer, code, left in (("n", 130, 1), ("y", 0, 0)):
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "w") as keyboard, os.fdopen(theirs) as stdin:
            keyboard.write(f"{answer}\n")
            keyboard.flush()
            settings = environment(**as_(APPROVER, tokens), LEDGER_DSN=dsn)
            done = subprocess.run(words, env=settings, stdin=stdin, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, done.stderr
        assert "Approve it?" in done.stderr
        assert "P-1" in done.stdout
        assert "-3500.00" in done.stdout, "what the player gives back, less the stake"
        assert len(printed("correct", "list", LEDGER_DSN=dsn)["corrections"]) == left
