"""The tests as a mutant meets them: the ordinary test functions, called one by one, quick ones first.

pytest would take longer to start than most mutants live. What it does for these tests is little: parameters, and two fixtures.
"""

from __future__ import annotations

import importlib
import inspect
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for pattern in ("unit/rules/test_*.py", "oracle/test_core_*.py")
    for path in (ROOT / "tests").glob(pattern)
)
"""Where the tests stand that a mutant has to pass: those of the rules, and the oracle beside them."""

BLIND = {
    "test_results_are_the_same_in_every_process_and_under_every_hash_seed",
    "test_the_import_is_light",
    "test_the_data_are_changed_on_purpose",
}
"""The first two look at other processes, in which there is no mutant; the last would tell any change of data, right or wrong."""


SLACK = 3.0
"""Seconds of processor time that anything may take."""


class Case(NamedTuple):
    name: str
    call: Callable[[], object]


def cases(modules: Iterable[str]) -> Iterator[Case]:
    """Every test of the modules, with each of its sets of parameters."""
    for name in modules:
        module = importlib.import_module(name)
        for function in _functions(module):
            if function.__name__ not in BLIND:
                for index, arguments in enumerate(_parameters(function)):
                    yield Case(f"{name}:{function.__name__}[{index}]", _Call(function, arguments).run)


def first_to_fail(stages: Iterable[Sequence[str]], seconds: Mapping[str, float]) -> str | None:
    """The name of the first test that fails, of the tests named in the stages; None where all pass.

    The modules of a stage are loaded when it is reached. A test that takes much longer than its `seconds` ends the process.
    """
    for names in stages:
        clock(SLACK)
        try:
            found = {case.name: case for case in cases(dict.fromkeys(name.partition(":")[0] for name in names))}
        except Exception as error:  # noqa: BLE001 - whatever a mutant does on import, it has been found out
            return f"import: {type(error).__name__}"
        for name in names:
            # A mutant may have changed how many sets of parameters there are.
            if case := found.get(name):
                clock(SLACK + 10 * seconds[name])
                try:
                    case.call()
                except BaseException:  # noqa: BLE001 - pytest's own failures are no Exception
                    return name
    return None


def clock(seconds: float) -> None:
    """End the process when it has used so much more processor time: a mutant may run in circles."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def durations(modules: Iterable[str]) -> dict[str, float]:
    """The seconds of processor time that each test takes. Raises where one fails: without a mutant all have to pass."""
    taken = {}
    for case in cases(modules):
        began = time.process_time()
        case.call()
        taken[case.name] = time.process_time() - began
    return taken


class _Call(NamedTuple):
    function: Callable[..., object]
    arguments: dict[str, Any]

    def run(self) -> object:
        wanted = [name for name in inspect.signature(self.function).parameters if name in FIXTURES]
        with ExitStack() as stack:
            return self.function(**self.arguments, **{name: stack.enter_context(FIXTURES[name]()) for name in wanted})


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


FIXTURES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "tmp_path": _folder,
    "monkeypatch": pytest.MonkeyPatch.context,
}


def _functions(module: ModuleType) -> list[Callable[..., object]]:
    return [each for name, each in vars(module).items() if name.startswith("test_") and each.__module__ == module.__name__]


def _parameters(function: Callable[..., object]) -> Iterator[dict[str, Any]]:
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    for rows in product(*(_rows(*mark.args[:2]) for mark in marks)):
        yield {name: value for row in rows for name, value in row.items()}


def _rows(names: str | tuple[str, ...], values: Iterable[Any]) -> list[dict[str, Any]]:
    if isinstance(names, str):
        return [{names: value} for value in values]
    return [dict(zip(names, row, strict=True)) for row in values]
