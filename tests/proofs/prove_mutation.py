"""What if the rules core were wrong? Every part of it and of its data is made wrong, one at a time: the tests must notice.

The proof holds if at least 95 % of the program's mutants are killed, if every survivor is listed with a reason in
`mutation/survivors.toml`, if no mutant of the regulations' data survives, and if the same run with tests that assert nothing does
not hold. A mark in the source that forbids mutation counts for nothing.

A whole run takes about a quarter of an hour on two cores. It may be interrupted: what was found is kept in the user's cache, by
what it depends on, and the next run goes on from there. `--short` tries a sample instead, within a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
import tomllib
from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from tests.proofs.mutation.cases import MODULES
from tests.proofs.mutation.data import FILES, of_data
from tests.proofs.mutation.mutants import PROGRAM, ROOT, Mutant, of_program
from tests.proofs.mutation.trials import NO_PROGRAM, Court, Trial

LEAST_KILLED = 0.95
SAMPLE = {"program": 130, "data": 60, "canary": 12}
LIST = Path(__file__).parent / "mutation/survivors.toml"

UNPLUGGED = "tests.proofs.mutation.unplugged"
"""Tests that assert nothing."""

REWRITABLE = "tests.unit.rules.test_word_for_word"
"""Its answers can be written anew from the data, so they are no witness against the data."""


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    began = time.monotonic()
    reasons = listed()
    court = Court(MODULES)
    print(f"{court.size} tests of the rules pass without a mutant", flush=True)
    made = {"program": list(of_program()), "data": list(of_data())}
    courts = {"program": court, "data": court.without(REWRITABLE)}
    dice = random.Random(options.seed)
    memory = None if options.short else Memory(afresh=options.afresh)
    held, figures = True, []
    for what, mutants in made.items():
        chosen = [mutant for mutant in mutants if asked(mutant, options.texts)]
        if options.short:
            chosen = dice.sample(chosen, min(SAMPLE[what], len(chosen)))
        tally = Tally(reasons)
        tally.run(what, courts[what], chosen, options.jobs, memory)
        # Of a sample the rate says little: that nothing survives but what is known says all.
        held &= tally.holds(0 if options.short or options.texts else LEAST_KILLED)
        figures.append(f"{tally} of the {what}")
        for mutant in tally.unlisted:
            print(f"survives and is not listed: {mutant}")
        print(f"{what}: {tally}; {len(tally.survivors)} survive, {len(tally.unlisted)} of them not listed", flush=True)
    for key in sorted(reasons.keys() - {mutant.key for mutant in made["program"]}):
        print(f"listed, but made no more: {' | '.join(key)}")
    held &= heard(made.values(), dice, options.jobs)
    sampled = f", a sample by seed {options.seed}" if options.short else ""
    seconds = f"in {time.monotonic() - began:.0f} s"
    print(f"prove mutation: {'held' if held else 'FAILED'}: {', '.join(figures)}{sampled}, {seconds}")
    return 0 if held else 1


class Tally:
    """What became of the mutants of a run."""

    def __init__(self, reasons: Collection[tuple[str, ...]]) -> None:
        self.killed = 0
        self.survivors: list[Mutant] = []
        self._reasons = reasons

    def run(self, what: str, court: Court, mutants: Sequence[Mutant], jobs: int, memory: Memory | None) -> None:
        """Try the mutants, but for those of which the memory knows."""
        known, left = memory.split(mutants) if memory else ([], mutants)
        for trial in known:
            self._add(trial)
        for count, trial in enumerate(court.try_all(left, jobs, lambda mutant: mutant.key in self._reasons), len(known) + 1):
            self._add(trial)
            if memory:
                memory.keep(trial)
            if count % 250 == 0:
                print(f"{what}: {count} of {len(mutants)}, {len(self.survivors)} survive", file=sys.stderr, flush=True)

    @property
    def unlisted(self) -> list[Mutant]:
        return [mutant for mutant in self.survivors if mutant.key not in self._reasons]

    def holds(self, least: float) -> bool:
        """Whether enough were killed, and nothing survives but what is listed."""
        tried = self.killed + len(self.survivors)
        return tried > 0 and self.killed >= least * tried and not self.unlisted

    def __str__(self) -> str:
        tried = self.killed + len(self.survivors)
        return f"killed {self.killed} of {tried} = {100 * self.killed / max(1, tried):.2f} %"

    def _add(self, trial: Trial) -> None:
        if trial.killer is None:
            self.survivors.append(trial.mutant)
        elif trial.killer != NO_PROGRAM:
            self.killed += 1


class Memory:
    """The trials of a whole run so far, in a file of the user's cache that is named by all that they depend on."""

    def __init__(self, *, afresh: bool) -> None:
        digest = sha256(version("mutmut").encode())
        kinds = ("unit/rules/*.py", "unit/rules/*.txt", "oracle/*.py", "proofs/mutation/*.py")
        tests = [path.relative_to(ROOT).as_posix() for kind in kinds for path in (ROOT / "tests").glob(kind)]
        for file in (*PROGRAM, *FILES, "ledger/errors.py", *sorted(tests)):
            digest.update(f"{file}\n".encode() + (ROOT / file).read_bytes())
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "round-ledger"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"mutation-{digest.hexdigest()[:16]}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() and not afresh else []
        whole = [line for line in lines if line.endswith("\n")]  # the last one may have been cut off
        path.write_text("".join(whole), encoding="utf-8")
        self._known: dict[str, str | None] = dict(map(json.loads, whole))
        self._file = path.open("a", encoding="utf-8")

    def split(self, mutants: Sequence[Mutant]) -> tuple[list[Trial], list[Mutant]]:
        """The trials that are known, and the mutants that are still to be tried."""
        known = [Trial(mutant, self._known[mutant.digest]) for mutant in mutants if mutant.digest in self._known]
        return known, [mutant for mutant in mutants if mutant.digest not in self._known]

    def keep(self, trial: Trial) -> None:
        self._file.write(json.dumps([trial.mutant.digest, trial.killer]) + "\n")
        self._file.flush()


def heard(made: Iterable[Sequence[Mutant]], dice: random.Random, jobs: int) -> bool:
    """The canary: with its alarm unplugged, neither half of the proof may hold."""
    silent = Court([UNPLUGGED])
    held = []
    for mutants in made:
        tally = Tally(())
        tally.run("canary", silent, dice.sample(mutants, SAMPLE["canary"]), jobs, None)
        held.append(tally.holds(LEAST_KILLED))
    print("canary: with tests that assert nothing the proof " + ("HOLDS ALL THE SAME" if any(held) else "fails, as it must"))
    return not any(held)


def listed() -> dict[tuple[str, ...], str]:
    """The survivors that are known, each with its reason."""
    groups = tomllib.loads(LIST.read_text(encoding="utf-8"))["survivors"]
    return {tuple(key): group["reason"] for group in groups for key in group["mutants"]}


def asked(mutant: Mutant, texts: Collection[str]) -> bool:
    return not texts or any(text in f"{mutant.file}:{mutant.where}" for text in texts)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py prove mutation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--short", action="store_true", help="try a sample, within a minute")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="mutants tried at a time")
    parser.add_argument("--afresh", action="store_true", help="forget what an earlier run found")
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="only mutants with this in their file or function")
    return parser.parse_args(argv)
