"""Regulations from TOML files, refused with file and line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ledger.errors import Refusal
from ledger.rules.data import DataFault, Path
from ledger.rules.regulation import Regulation

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_HEADER = re.compile(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"-]+)\s*=")


def load(text: str, name: str) -> Regulation:
    """The regulation that a TOML text describes. Refuses (LGR-0407) what is not valid, naming `name` and the line."""
    import tomllib  # slow to import, and only the files need it

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise _refused(name, line, re.sub(r" \(at .*\)", "", str(error))) from error
    try:
        return Regulation(data)
    except DataFault as fault:
        raise _refused(name, line_of(text, fault.path), str(fault)) from fault


def load_file(file: Traversable) -> Regulation:
    """The regulation in a TOML file, held to what those of the seeds are. Refuses (LGR-0407) what is not valid, with the line."""
    return load(_decoded(file), str(file))


def load_folder(folder: Traversable) -> tuple[Regulation, ...]:
    """Every `*.toml` of a folder, by name of file. Refuses (LGR-0407) two regulations of one game in effect on one day."""
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    texts = [(file, _decoded(file)) for file in files]
    loaded = [(file, text, load(text, str(file))) for file, text in texts]
    for position, (file, text, regulation) in enumerate(loaded):
        for earlier_file, _, earlier in loaded[:position]:
            if regulation.order == earlier.order:
                raise _refused(str(file), line_of(text, ("order",)), f"{regulation.order} stands in {earlier_file} as well")
            if regulation.game == earlier.game and _overlap(regulation, earlier):
                line = line_of(text, ("dates", "effective_from"))
                raise _refused(str(file), line, f"{regulation.order} and {earlier.order} ({earlier_file}) are in effect at once")
    return tuple(regulation for *_, regulation in loaded)


def _decoded(file: Traversable) -> str:
    octets = file.read_bytes()
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError as error:
        line = octets[: error.start].count(b"\n") + 1
        raise _refused(str(file), line, f"the byte {octets[error.start]:#04x} is not UTF-8") from error


def line_of(text: str, path: Path) -> int:
    """The line on which a part of a TOML text stands, or the nearest above it that can be told; lines count from 1."""
    best, depth = 1, 0
    table: list[str | int] = []
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            name = header[2].strip()
            table = [*name.split(".")]
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
                table.append(counts[name])
            here: list[str | int] = table
        elif key := _KEY.match(line):
            here = [*table, *key[1].replace('"', "").split(".")]
        else:
            continue
        agreed = 0
        for ours, theirs in zip(here, path, strict=False):
            if ours != theirs:
                break
            agreed += 1
        if agreed > depth and agreed in (len(here), len(path)):
            best, depth = number, agreed
    return best


def _overlap(one: Regulation, other: Regulation) -> bool:
    first, second = sorted((one.dates, other.dates), key=lambda dates: dates.effective_from)
    return first.effective_to is None or second.effective_from <= first.effective_to


def _refused(name: str, line: int, detail: str) -> Refusal:
    return Refusal(
        "LGR-0407", f"{name}:{line}: {detail}", field=f"{name}:{line}", help="correct the file; nothing of it was used"
    )
