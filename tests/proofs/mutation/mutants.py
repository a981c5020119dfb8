"""Mutants: the program, or a regulation's data, with one thing wrong.

A mutant is a whole text that takes the place of a file while the tests run. It lives in memory only: no file is ever changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper
from mutmut.mutation.mutators import mutation_operators

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "ledger/rules").rglob("*.py"))
PROGRAM = ("ledger/money.py", *SOURCES)
"""The modules that are mutated, whole: module level, decorated functions and all, whatever mark may stand beside them."""


class Mutant(NamedTuple):
    """What names a mutant stays the same while other lines of the file change."""

    file: str
    where: str
    """The function, `Class.method` or "module"; in data the path of the leaf."""
    was: str
    now: str
    text: str
    """The whole file, mutated."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.where, self.was, self.now

    @property
    def digest(self) -> str:
        return sha256(f"{self.file}\n{self.text}".encode()).hexdigest()[:24]

    def __str__(self) -> str:
        return f"{self.file}, {self.where}:\n    - {indented(self.was)}\n    + {indented(self.now)}"


def indented(lines: str) -> str:
    return lines.replace("\n", "\n      ")


def of_program() -> Iterator[Mutant]:
    """Every mutant of the program: mutmut's, and two kinds that it lacks (see `OPERATORS`)."""
    for file in PROGRAM:
        yield from of_source(file, (ROOT / file).read_text(encoding="utf-8"))


def of_source(file: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a source, none twice. Some may be no program: that shows when they are compiled."""
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    finder = _Finder(wrapper.resolve(ByteSpanPositionProvider))
    wrapper.module.visit(finder)
    known, encoded = {source}, source.encode()
    for where, start, end, replacement in finder.found:
        text = (encoded[:start] + replacement.encode() + encoded[end:]).decode()
        if text not in known:
            known.add(text)
            yield Mutant(file, where, *changed(source, text), text)


def changed(old: str, new: str) -> tuple[str, str]:
    """The lines that differ, without their indentation."""
    before, after = ([" ".join(line.split()) for line in text.splitlines()] for text in (old, new))
    first = _alike(before, after)
    same = _alike(before[first:][::-1], after[first:][::-1])
    was, now = ("\n".join(lines[first : len(lines) - same]) for lines in (before, after))
    return was, now


def _alike(one: list[str], other: list[str]) -> int:
    """How many lines the two have in common before they part."""
    shorter = min(len(one), len(other))
    return next((place for place in range(shorter) if one[place] != other[place]), shorter)


def negate(node: cst.If | cst.While | cst.CompIf) -> Iterable[cst.CSTNode]:
    """The condition turned round, where no other operator does it: `if void` becomes `if not void`."""
    if not isinstance(node.test, cst.Comparison | cst.UnaryOperation):
        test = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        yield node.with_changes(test=cst.UnaryOperation(cst.Not(), test))


def return_nothing(node: cst.Return) -> Iterable[cst.CSTNode]:
    """`return x` becomes `return None`."""
    if node.value is not None:
        yield node.with_changes(value=cst.Name("None"))


OPERATORS: list[tuple[type, Callable[[Any], Iterable[cst.CSTNode]]]] = [
    *mutation_operators,
    (cst.Return, return_nothing),
]


class _Finder(cst.CSTVisitor):
    """All that the operators make of a module: (where, start, end, replacement), in bytes."""

    def __init__(self, spans: Any) -> None:
        self.found: list[tuple[str, int, int, str]] = []
        self._spans = spans
        self._scope: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        # What stands in annotations and under TYPE_CHECKING is never run.
        if isinstance(node, cst.Annotation | cst.Decorator) or _for_types(node):
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._scope.append(node.name.value)
        for kind, operator in OPERATORS:
            if isinstance(node, kind):
                self._replace(node, node, operator)
        if isinstance(node, cst.If | cst.While | cst.CompIf):
            # The condition alone is replaced, not the block under it.
            self._replace(node.test, node, negate)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._scope.pop()

    def _replace(self, place: cst.CSTNode, node: cst.CSTNode, operator: Callable[[Any], Iterable[cst.CSTNode]]) -> None:
        span = self._spans.get(place)
        for mutated in operator(node) if span else ():
            code = cst.Module([]).code_for_node(mutated if place is node else mutated.test)  # type: ignore[attr-defined]
            self.found.append((".".join(self._scope) or "module", span.start, span.start + span.length, code))


def _for_types(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.If) and isinstance(node.test, cst.Name) and node.test.value == "TYPE_CHECKING"
