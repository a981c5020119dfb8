"""In any order of what may happen to a round, the ledger and an independent model of it come to the same, unit for unit.

Reports about rounds of all four games, right and wrong ones, retries and reused ids are posted to the application on a real
Postgres in random order. After every step the log as it is folded, the round as it is read from the log, and the model have to
agree on every account, every bet and every total; a report has to be refused if and only if the model has a reason, and with the
code of one. At the end a replay has to equal the tables, every round is read from the log once more, and an audit finds nothing.

Then faults are planted, one by one, in the ledger and in the model: the same lives have to find each.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any, NamedTuple
from unittest import mock

import psycopg
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from ledger.audit.findings import Finding
from ledger.audit.run import audit
from ledger.events import BetCorrected, BetsCarried
from ledger.round.bets import Correction
from ledger.store import migrate
from ledger.store.embedded import EmbeddedPostgres
from projections import movements, queries
from projections.replay import Comparison, replay
from projections.runner import catch_up
from tests.proofs import life_model, place
from tests.proofs.life_machine import Life
from tests.proofs.life_place import KINDS, Counted, Place, verify

_FAST = {"fsync": "off", "full_page_writes": "off"}
"""What is proved here is no matter of a crash."""
_STEPS = 60
"""Rules of one life at most."""
_TRIES = 10
"""Hundreds of lives in which a planted fault has to show; mostly the first does."""
_RULES = frozenset(
    {
        *(
            "open",
            "bet",
            "delayed bet",
            "late bet",
            "early bet",
            "late change",
            "late withdrawal",
            "withdraw",
            "change",
            "void bet",
            "close",
            "reopen",
            "outcome",
            "throw",
        ),
        *("void throw", "outlive", "carry", "void launch", "shooter", "hold", "release", "late chips", "decline"),
        *(f"ask {kind}" for kind in KINDS),
        *(f"approve {kind}" for kind in KINDS),
        *("again", "twin", "forget"),
    }
)
"""What has to have been done at least once, or nothing was proved of it."""
_REFUSALS = frozenset({"LGR-0605", "LGR-0606", "LGR-0607", "LGR-0804"})
"""And what has to have been refused: what a table's limits bar, and another house's people."""


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    began = time.monotonic()
    place.end_cleanly()
    with place.directory() as directory, EmbeddedPostgres(directory, settings=_FAST) as server:
        dsn = server.conninfo()
        migrate.init(dsn)
        with closing(Place(dsn)) as at:
            lives = 0
            while at.steps < options.steps or (idle(at.counted()) and at.steps < 3 * options.steps):
                told(at, f"{options.seed} {lives}", examples=min(100, max(20, 1 + (options.steps - at.steps) // 25)))
                lives += 1
                if at.steps < options.steps:
                    print(f"  {at.steps} steps after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            found, counted = compare(at), at.counted()
            caught = {name: rings(at, fault) for name, fault in CANARIES.items()}
    return _conclude(options, counted, found, caught, time.monotonic() - began)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py prove life", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, help="reports to post at least; 50,000, or 6,000 with --short")
    parser.add_argument("--seed", type=int, default=0, help="of the order of things")
    parser.add_argument("--short", action="store_true", help="a form of some seconds")
    options = parser.parse_args(argv)
    options.steps = options.steps or (6_000 if options.short else 50_000)
    return options


def told(at: Place, what: str, examples: int) -> None:
    """Plays, and tells what was posted in the life in which something does not agree."""
    try:
        play(at, what, examples)
    except Exception:
        traceback.print_exception(at.fault)
        for name, report, reasons in at.trail:
            print(f"  {name}: round {report.round}, event {report.event_id}, by {report.by}: {report.body} {reasons}")
        raise


def play(at: Place, what: str, examples: int) -> None:
    """Plays so many lives; raises AssertionError at the first in which something does not agree."""
    machine: Any = seed(what)(type("Life", (Life,), {"place": at}))
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=_STEPS,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


def idle(counted: Counted) -> list[str]:
    """What was never done."""
    return sorted(_RULES - counted.accepted.keys() - counted.seen.keys()) + sorted(_REFUSALS - counted.refused.keys())


class Found(NamedTuple):
    """What came of it at the end."""

    folded: Comparison
    """The tables against a fresh fold of the log."""
    same: bool
    """Whether every account is as the model has it."""
    held_against: Sequence[Finding]
    """What an audit finds in the log, which is a sound one."""


def compare(at: Place) -> Found:
    """The tables against a fresh fold of the log, every account and every round against the model, and the log audited."""
    with psycopg.connect(at.dsn, autocommit=True) as conn:
        catch_up(conn)
        tables = Counter({(row.account, row.currency): int(row.balance) for row in queries.balances(conn)})
    same = {key: n for key, n in tables.items() if n} == {key: n for key, n in at.money.items() if n}
    for id, (coup, _) in at.all.items():
        verify(at.rounds, id, coup)
    return Found(replay(at.dsn), same, audit(at.dsn).findings)


# Faults that have to be found.


@contextmanager
def _carried_twice() -> Iterator[None]:
    """A carried stake is taken from its player again."""

    def again(_: object, body: BetsCarried, table: str) -> list[movements.Entry]:
        return [(each.bet, f"player/{each.player}", f"escrow/{table}", int(each.stake)) for each in body.bets]

    with mock.patch.dict(movements._ENTRIES, {BetsCarried: again}):
        yield


@contextmanager
def _whole_correction() -> Iterator[None]:
    """A correction pays all that is due, and not the difference."""

    def whole(recorded: Any, body: BetCorrected, table: str) -> list[movements.Entry]:
        left = movements.where_it_leaves(recorded, body.after, table)
        return [
            (body.bet, f"win/{table}", account, n) if n > 0 else (body.bet, account, f"win/{table}", -n) for account, n in left
        ]

    with mock.patch.dict(movements._ENTRIES, {BetCorrected: whole}):
        yield


@contextmanager
def _two_eyes() -> Iterator[None]:
    """Whoever asked for a correction may approve it."""
    with mock.patch.object(Correction, "author", None):
        yield


@contextmanager
def _other_odds() -> Iterator[None]:
    """The model pays each chance of roulette one more to one."""
    more = {spot: (numbers, odds + 1) for spot, (numbers, odds) in life_model.ROULETTE.items()}
    with mock.patch.dict(life_model.ROULETTE, more):
        yield


CANARIES: dict[str, Callable[[], Any]] = {
    "a carried stake taken twice": _carried_twice,
    "a correction that pays the whole": _whole_correction,
    "an author who approves": _two_eyes,
    "roulette at one more to one": _other_odds,
}


def rings(at: Place, fault: Callable[[], Any]) -> bool:
    """Whether the lives find the fault."""
    with ExitStack() as planted, mock.patch("builtins.print"):
        planted.enter_context(fault())
        try:
            for tries in range(_TRIES):
                play(at, f"canary {tries}", examples=100)
        except AssertionError:
            return True
    return False


def _conclude(options: argparse.Namespace, counted: Counted, found: Found, caught: dict[str, bool], seconds: float) -> int:
    folded, same, held_against = found
    accepted, refused = counted.accepted, counted.refused
    print(f"seed {options.seed}: {counted.lives} lives, {counted.rounds} rounds, every step through the application")
    for name, times in (("done", accepted | counted.seen), ("refused", refused)):
        print(f"{name}: " + ", ".join(f"{what} {n}" for what, n in sorted(times.items())))
    print("canaries: " + ", ".join(f"{name}: {'found' if rang else 'NOT FOUND'}" for name, rang in caught.items()))
    why = [f"never done: {', '.join(never)}" for never in [idle(counted)] if never]
    why += [f"a replay differs: {folded.difference}"] * (not folded.equal) + ["the balances are not the model's"] * (not same)
    why += [f"an audit holds against it: {each.code} {each.what}" for each in held_against[:3]]
    why += ["a planted fault was not found"] * (not all(caught.values()))
    if why:
        print(f"prove life: FAILED: {'; '.join(why)}")
        return 1
    print(
        f"prove life: {counted.steps} steps, {accepted.total()} accepted and {refused.total()} refused, each as the model says; "
        f"{sum(folded.rows.values())} rows equal to a fresh fold ({seconds:.0f} s)"
    )
    return 0
