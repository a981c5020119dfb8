"""What if the rules core were wrong? Every part of it and of its data is made wrong, one at a time: the tests must notice.

    python3 dev.py prove mutation [--short] [--seed N] [--jobs N] [--afresh] [TEXT...]

`--short` tries a sample (by `--seed`) instead of all. TEXTs limit a run to mutants whose file or function has one of them in it.
A whole run may be interrupted: the next one goes on from there, unless the program, its data or the tests have changed, or
`--afresh` is given.

The proof holds if at least 95 % of the program's mutants are killed, if every survivor is listed with a reason in
`mutation/survivors.toml`, if no mutant of the data survives, and if a run with tests that assert nothing fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, TextIO

from tests.proofs.mutation.cases import MODULES
from tests.proofs.mutation.data import FILES, of_data
from tests.proofs.mutation.mutants import PROGRAM, ROOT, Mutant, of_program
from tests.proofs.mutation.trials import NO_PROGRAM, Court, Trial

LEAST_KILLED = 0.95
SAMPLE = {"program": 130, "data": 60, "canary": 12}
LIST = Path(__file__).parent / "mutation/survivors.toml"
UNPLUGGED = "tests.proofs.mutation.unplugged"

Key = tuple[str, ...]


class Tally:
    """What became of the mutants of a run."""

    def __init__(self, reasons: dict[Key, str]) -> None:
        self._reasons = reasons
        self.killed = 0
        self.survivors: list[Mutant] = []

    def add(self, trial: Trial) -> None:
        if trial.killer is None:
            self.survivors.append(trial.mutant)
        elif trial.killer != NO_PROGRAM:
            self.killed += 1

    @property
    def tried(self) -> int:
        return self.killed + len(self.survivors)

    @property
    def unlisted(self) -> list[Mutant]:
        return [mutant for mutant in self.survivors if mutant.key not in self._reasons]

    def __str__(self) -> str:
        return f"killed {self.killed} of {self.tried} = {100 * self.killed / max(1, self.tried):.2f} %"

    def enough(self, least: float) -> bool:
        return bool(self.tried) and self.killed >= least * self.tried


class Memory:
    """The trials of a whole run so far, in a file of the user's cache, by what they depend on."""

    def __init__(self, *, afresh: bool) -> None:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "round-ledger" / "mutation"
        folder.mkdir(parents=True, exist_ok=True)
        depends = [*PROGRAM, *FILES, "ledger/errors.py", *(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))]
        digest = sha256(version("mutmut").encode())
        for file in sorted(map(str, depends)):
            digest.update(f"{file}\n".encode() + (ROOT / file).read_bytes())
        self._path = folder / f"{digest.hexdigest()[:16]}.jsonl"
        if afresh:
            self._path.unlink(missing_ok=True)
        lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True) if self._path.exists() else []
        # The last line may have been cut off.
        self._known: dict[str, str | None] = dict(json.loads(line) for line in lines if line.endswith("\n"))
        self._path.write_text("".join(line for line in lines if line.endswith("\n")), encoding="utf-8")
        self._file: TextIO = self._path.open("a", encoding="utf-8")

    def split(self, mutants: Sequence[Mutant]) -> tuple[list[Trial], list[Mutant]]:
        """The trials that are known, and the mutants that are still to be tried."""
        known = [Trial(mutant, self._known[name]) for mutant in mutants if (name := _name(mutant)) in self._known]
        return known, [mutant for mutant in mutants if _name(mutant) not in self._known]

    def keep(self, trial: Trial) -> None:
        self._file.write(json.dumps([_name(trial.mutant), trial.killer], ensure_ascii=False) + "\n")
        self._file.flush()


def _name(mutant: Mutant) -> str:
    return sha256(f"{mutant.file}\n{mutant.text}".encode()).hexdigest()[:24]


class Arguments(NamedTuple):
    short: bool
    seed: int
    jobs: int
    afresh: bool
    texts: list[str]


def main(argv: list[str]) -> int:
    arguments = _arguments(argv)
    began = time.monotonic()
    reasons = _listed()
    court = Court(MODULES)
    print(f"{court.size} tests of the rules pass without a mutant", flush=True)
    memory = None if arguments.short else Memory(afresh=arguments.afresh)
    dice = random.Random(arguments.seed)
    program, data = list(of_program()), list(of_data())
    _tell_of_those_gone(program, reasons)
    tallies = {}
    for what, mutants in (("program", program), ("data", data)):
        chosen = [mutant for mutant in mutants if _asked(mutant, arguments.texts)]
        if arguments.short:
            chosen = dice.sample(chosen, min(SAMPLE[what], len(chosen)))
        tallies[what] = _try(court, what, chosen, arguments.jobs, reasons, memory)
    unplugged = _unplugged(dice, program, data, arguments.jobs)
    for what, tally in tallies.items():
        for mutant in tally.unlisted:
            print(f"survived, and is not listed: {mutant}")
        print(f"{what}: {tally}, {len(tally.survivors) - len(tally.unlisted)} survivors listed with a reason")
    print(
        "canary: a run with tests that assert nothing "
        + ("fails, as it must" if unplugged else "HOLDS: the proof proves nothing")
    )
    # Of a sample, the rate says little; that nothing unknown survives says all.
    least = 0 if arguments.short or arguments.texts else LEAST_KILLED
    held = unplugged and all(_holds(tally, least) for tally in tallies.values())
    whole = "sample" if arguments.short else "all"
    print(f"mutation ({whole}): {tallies['program']} of the program, {tallies['data']} of the data, in {time.monotonic() - began:.0f} s: "
          f"{'holds' if held else 'FAILED'}")  # fmt: skip
    return 0 if held else 1


def _holds(tally: Tally, least: float) -> bool:
    return tally.enough(least) and not tally.unlisted


def _try(court: Court, what: str, mutants: Sequence[Mutant], jobs: int, reasons: dict[Key, str], memory: Memory | None) -> Tally:
    tally = Tally(reasons)
    known, left = memory.split(mutants) if memory else ([], list(mutants))
    for trial in known:
        tally.add(trial)
    for count, trial in enumerate(court.try_all(left, jobs, lambda mutant: mutant.key in reasons), len(known) + 1):
        tally.add(trial)
        if memory:
            memory.keep(trial)
        if count % 250 == 0:
            print(f"{what}: {count} of {len(mutants)}, {len(tally.survivors)} survive", file=sys.stderr, flush=True)
    return tally


def _unplugged(dice: random.Random, program: list[Mutant], data: list[Mutant], jobs: int) -> bool:
    """Whether the alarm can be heard at all: with tests that assert nothing, neither half of the proof may hold."""
    court = Court([UNPLUGGED])
    return all(
        not _holds(_try(court, "canary", dice.sample(mutants, SAMPLE["canary"]), jobs, {}, None), LEAST_KILLED)
        for mutants in (program, data)
    )


def _asked(mutant: Mutant, texts: Iterable[str]) -> bool:
    return not texts or any(text in f"{mutant.file}:{mutant.where}" for text in texts)


def _listed() -> dict[Key, str]:
    """The survivors that are known, each with its reason."""
    with LIST.open("rb") as file:
        groups = tomllib.load(file)["survivors"]
    return {tuple(key): group["reason"] for group in groups for key in group["mutants"]}


def _tell_of_those_gone(program: Iterable[Mutant], reasons: dict[Key, str]) -> None:
    made = {mutant.key for mutant in program}
    for key in _gone(made, reasons):
        print(f"listed, but there is no such mutant any more: {' | '.join(key)}")


def _gone(made: set[tuple[str, str, str, str]], reasons: dict[Key, str]) -> Iterator[Key]:
    return (key for key in reasons if key not in made)


def _arguments(argv: list[str]) -> Arguments:
    parser = argparse.ArgumentParser(prog="dev.py prove mutation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a sample, within a minute")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="mutants tried at a time")
    parser.add_argument("--afresh", action="store_true", help="forget what an earlier run found")
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="part of the file or function of the mutants to try")
    given = parser.parse_args(argv)
    return Arguments(given.short, given.seed, max(1, given.jobs), given.afresh, given.texts)
