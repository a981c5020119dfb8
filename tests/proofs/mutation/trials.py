"""Trials: each mutant meets the tests in a process of its own, into which the program is loaded anew.

The mutated text is handed to the import system of that process alone. A run that is interrupted leaves nothing behind.
"""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import selectors
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import hypothesis
import pytest  # noqa: F401 - loaded here once, not in every process

from tests.proofs.mutation.cases import ROOT, durations, first_to_fail
from tests.proofs.mutation.mutants import Mutant

NO_PROGRAM = "no program"
"""The verdict on a mutant that cannot be compiled: it counts for nothing."""


class Trial(NamedTuple):
    """What became of a mutant."""

    mutant: Mutant
    killer: str | None
    """The test that failed, or what else ended it; None if it survived."""


class Court:
    """The tests that mutants are tried by, and what is known of them: how long each takes, and which kills what."""

    def __init__(self, modules: Sequence[str]) -> None:
        """Try the program as it is. Raises ValueError where it does not pass: then no mutant would prove anything."""
        gc.freeze()  # what is loaded so far is shared by all processes, untouched
        self.modules = modules
        self._killers: dict[tuple[str, str], list[str]] = {}
        answer = json.loads(_Process(lambda: json.dumps(self._timed())).wait() or "{}")
        if "taken" not in answer:
            raise ValueError(f"the tests fail without any mutant: {answer.get('failed', 'on import, or out of time')}")
        self._taken: dict[str, float] = answer["taken"]

    def without(self, module: str) -> Court:
        """The same court, but for the tests of a module."""
        other = copy(self)
        other.modules = [each for each in self.modules if each != module]
        other._killers = {}
        return other

    @property
    def size(self) -> int:
        """How many tests there are, each set of parameters counted."""
        return len(self._taken)

    def try_all(self, mutants: Iterable[Mutant], jobs: int, listed: Callable[[Mutant], bool]) -> Iterator[Trial]:
        """Try mutants, `jobs` of them at a time, and answer in the order in which they are done.

        A `listed` survivor is given up on after the quick tests: it is counted as a survivor in any case.
        """
        waiting = iter(mutants)
        with selectors.DefaultSelector() as running:
            while True:
                while len(running.get_map()) < jobs and (mutant := next(waiting, None)) is not None:
                    process = _Process(self._trial(mutant, quick=listed(mutant)))
                    running.register(process.answer, selectors.EVENT_READ, (mutant, process))
                if not running.get_map():
                    return
                for key, _ in running.select():
                    running.unregister(key.fileobj)
                    mutant, process = key.data
                    killer = json.loads(process.wait() or '"out of time or memory"')
                    if killer in self._taken:
                        self._learn(mutant, killer)
                    yield Trial(mutant, killer)

    def _timed(self) -> dict[str, Any]:
        _prepare(None)
        try:
            return {"taken": durations(self.modules)}
        except BaseException as error:  # noqa: BLE001 - to be told, whatever it is
            return {"failed": repr(error)}

    def _trial(self, mutant: Mutant, *, quick: bool) -> Callable[[], str]:
        near = [*self._killers.get((mutant.file, mutant.where), [])[:NEAR], *self._killers.get((mutant.file, ""), [])[:NEAR]]
        favourites = list(dict.fromkeys(near))
        rest = sorted(self._taken.keys() - set(favourites), key=lambda name: (self._taken[name], name))
        allowed = [name for name in rest if self._belongs(name) and (not quick or self._taken[name] < QUICK)]

        def trial() -> str:
            try:
                _prepare(mutant)
            except SyntaxError:
                return json.dumps(NO_PROGRAM)
            return json.dumps(first_to_fail((favourites, allowed), self._taken))

        return trial

    def _belongs(self, name: str) -> bool:
        return name.partition(":")[0] in self.modules

    def _learn(self, mutant: Mutant, killer: str) -> None:
        for place in ((mutant.file, mutant.where), (mutant.file, "")):
            known = self._killers.setdefault(place, [])
            if killer in known:
                known.remove(killer)
            known.insert(0, killer)


QUICK = 0.05
"""Seconds: tests that take longer are kept for mutants that all others let pass."""

NEAR = 4
"""How many tests go first because they killed the mutants before this one, in the same function and in the same file."""


class _Process:
    """A forked process whose one answer is a text; none where it did not live to give it."""

    BYTES = 4 << 30
    """Of memory: beyond it, an allocation fails."""

    def __init__(self, work: Callable[[], str]) -> None:
        self.answer, writer = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            try:
                gc.disable()  # a short life
                resource.setrlimit(resource.RLIMIT_AS, (self.BYTES, self.BYTES))
                silence = os.open(os.devnull, os.O_RDWR)
                for stream in (0, 1, 2):
                    os.dup2(silence, stream)
                os.write(writer, work().encode())
            finally:
                os._exit(0)
        os.close(writer)

    def wait(self) -> str:
        text = b""
        while piece := os.read(self.answer, 1 << 16):
            text += piece
        os.close(self.answer)
        os.waitpid(self._pid, 0)
        return text.decode()


def _prepare(mutant: Mutant | None) -> None:
    """Make this process one in which the mutant is the program."""
    hypothesis.settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None, phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate]
    )
    hypothesis.settings.load_profile("mutants")
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("ledger", "seeds", "tests") and not name.startswith("tests.proofs"):
            del sys.modules[name]  # what was loaded before knows nothing of the mutant
    if mutant is None:
        return
    if mutant.file.endswith(".toml"):
        from ledger.rules import Regulation, loader

        original, load = (ROOT / mutant.file).read_text(encoding="utf-8"), loader.load
        loader.load = lambda text, name: Regulation(json.loads(mutant.text)) if text == original else load(text, name)
    else:
        compile(mutant.text, mutant.file, "exec")
        sys.meta_path.insert(0, _Finder(mutant))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the mutant in place of the module."""

    def __init__(self, mutant: Mutant) -> None:
        parts = Path(mutant.file).with_suffix("").parts
        self._package = parts[-1] == "__init__"
        self._name = ".".join(parts[:-1] if self._package else parts)
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Loader(fullname, str(ROOT / self._mutant.file))
        loader.text = self._mutant.text
        return importlib.util.spec_from_file_location(fullname, loader.path, loader=loader)


class _Loader(importlib.machinery.SourceFileLoader):
    text: str

    def get_code(self, fullname: str) -> Any:
        return compile(self.text, self.path, "exec", dont_inherit=True)
